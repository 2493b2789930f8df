/* first_pack.c - weights in the order in which the codelets of first layers read them. */
#include <string.h>

#include "programs/library/first/first_pack.h"

enum { UNITS_F32 = 8, UNITS_F16 = 16, INPUTS = 16 };
enum { PIXELS = 4, CHANNELS = 4, PIXEL_BYTES = 8, BLOCK_BYTES = PIXELS * PIXEL_BYTES };

/* Block b of a kernel row has 4 pixels, from column first_column() on. The last block of a row
 * shares pixels with the one before, so that nothing after the kernel is read. If a row has one
 * block only, it begins before the row, except in the first row. */
static uint32_t row_blocks(uint32_t k)
{
    return (k + PIXELS - 1) / PIXELS;
}

static int32_t first_column(uint32_t k, uint32_t block)
{
    uint32_t row = block / row_blocks(k), i = block % row_blocks(k);

    if (i + 1 < row_blocks(k) || (!i && !row))
        return (int32_t)(i * PIXELS);
    return (int32_t)k - PIXELS;
}

uint32_t conv_first_blocks(uint32_t k)
{
    return k * row_blocks(k);
}

uint32_t conv_first_pack_halves(uint32_t k)
{
    return conv_first_blocks(k) * UNITS_F16 * INPUTS;
}

struct conv_first_pixels conv_first_pixels(uint32_t k, uint32_t block)
{
    int32_t first = first_column(k, block), own = (int32_t)(block % row_blocks(k) * PIXELS);
    /* The first pixels of the last block of a row belong to the block before. */
    int32_t begin = first > own ? first : own, end = first + PIXELS;

    return (struct conv_first_pixels){ .row = block / row_blocks(k),
                                       .begin = (uint32_t)begin,
                                       .end = end < (int32_t)k ? (uint32_t)end : k,
                                       .before = (uint32_t)(begin - first) };
}

void conv_first_pack(uint32_t k, uint32_t channels, const uint16_t *w, uint16_t *packed)
{
    memset(packed, 0, conv_first_pack_halves(k) * sizeof(*packed));
    for (uint32_t i = 0; i < conv_first_blocks(k) * UNITS_F16 * channels; i++) {
        uint32_t channel = i % channels, out = i / channels % UNITS_F16;
        uint32_t block = i / channels / UNITS_F16;
        struct conv_first_pixels p = conv_first_pixels(k, block);

        for (uint32_t column = p.begin; column < p.end; column++)
            packed[(block * UNITS_F16 + out) * INPUTS + (column - p.begin + p.before) * CHANNELS +
                   channel] = w[((out * channels + channel) * k + p.row) * k + column];
    }
}

uint32_t conv_first_row_words(uint32_t k, uint32_t ho)
{
    return 2 * conv_first_blocks(k) * ho;
}

void conv_first_rows(uint32_t k, uint32_t ho, uint32_t wo, uint32_t wp, uint32_t *words)
{
    for (uint32_t i = 0; i < conv_first_blocks(k) * ho; i++) {
        uint32_t block = i / ho, o = i % ho;
        uint32_t pixel = (2 * o + block / row_blocks(k)) * wp + (uint32_t)first_column(k, block);

        words[2 * i] = pixel * PIXEL_BYTES;
        words[2 * i + 1] = (block * ho + o) * wo * BLOCK_BYTES;
    }
}

void conv_pack_f32(uint32_t kb, const uint16_t *packed, uint16_t *out)
{
    for (uint32_t k = 0; k < kb; k++) {
        for (uint32_t row = 0; row < UNITS_F16; row++) {
            uint32_t half = row / UNITS_F32;

            memcpy(out + ((half * kb + k) * UNITS_F32 + row % UNITS_F32) * INPUTS,
                   packed + (k * UNITS_F16 + row) * INPUTS, INPUTS * sizeof(*out));
        }
    }
}
