/* conv_pack.c - weights in the order in which the codelets of convolutions read them. */
#include <string.h>

#include "programs/library/conv/dw_work.h"

uint32_t dw_pack_halves(struct dw_kind kind)
{
    uint32_t taps = 0;

    for (uint32_t i = 0; i < dw_passes(kind); i++)
        taps += dw_taps_loaded(kind, i);
    return taps * DW_CHANNELS * DW_LANES;
}

/* Packed: [pairs][passes][taps][4 channels][windows][2 halves of the pair][4 inputs], only the taps
 * that are loaded for a pass. Of the 4 inputs a channel's weight is not zero for its own only. */
void dw_pack(struct dw_kind kind, const uint16_t *w, uint16_t *packed)
{
    uint32_t pairs = DW_CHANNELS / DW_LANES / DW_HALVES, passes = dw_passes(kind);
    uint16_t *out = packed;

    memset(packed, 0, dw_pack_halves(kind) * sizeof(*packed));
    for (uint32_t i = 0; i < pairs * passes * DW_TAPS * DW_LANES * 2 * DW_HALVES; i++) {
        uint32_t half = i % DW_HALVES, second = i / DW_HALVES % 2;
        uint32_t lane = i / DW_HALVES / 2 % DW_LANES;
        uint32_t tap = i / DW_HALVES / 2 / DW_LANES % DW_TAPS;
        uint32_t pass = i / DW_HALVES / 2 / DW_LANES / DW_TAPS % passes;
        uint32_t pair = i / DW_HALVES / 2 / DW_LANES / DW_TAPS / passes;
        uint32_t channel = (pair * DW_HALVES + half) * DW_LANES + lane;
        struct dw_window at = dw_window(kind, 0, pass);
        uint32_t row = second ? at.second_row : at.row;
        int column = second ? at.second[tap] : at.column[tap];

        if (!dw_tap_is_loaded(kind, pass, tap, (int)second))
            continue;
        if (column >= 0)
            out[lane] = w[(channel * kind.k + row) * kind.k + (uint32_t)column];
        out += DW_LANES;
    }
}

/* The strides of st64pace that pack 8 channels: from the second vector of a lane to the next lane,
 * `step` bytes after this one, and from the last lane to the next half, `half` bytes after the
 * first lane. */
static uint32_t pack_strides(uint32_t step, uint32_t half)
{
    uint32_t lane = step / DW_PACK_VECTOR - 1;
    uint32_t next = (half - step * (DW_LANES - 1)) / DW_PACK_VECTOR - 1;

    return next << 10 | lane;
}

/* An entry for every loaded tap of every pass and window, for the first pair of blocks of four
 * channels; dw_pack_f16.S says what it consists of. */
uint32_t dw_pack_work(struct dw_kind kind, uint32_t work[DW_PACK_WORDS])
{
    uint32_t n = 0, at = 0, window = DW_HALVES * DW_PACK_VECTOR, half = dw_pack_halves(kind);

    for (uint32_t i = 0; i < dw_passes(kind) * DW_TAPS; i++) {
        uint32_t pass = i / DW_TAPS, tap = i % DW_TAPS;
        struct dw_window w = dw_window(kind, 0, pass);
        int loaded[2] = { dw_tap_is_loaded(kind, pass, tap, 0),
                          dw_tap_is_loaded(kind, pass, tap, 1) };
        uint32_t step = (uint32_t)(loaded[0] + loaded[1]) * window, to = at;

        for (int second = 0; second < 2; second++) {
            uint32_t row = second ? w.second_row : w.row;
            int column = second ? w.second[tap] : w.column[tap];

            if (!loaded[second])
                continue;
            work[n++] = column < 0 ? UINT32_MAX : (row * kind.k + (uint32_t)column) * DW_POSITION;
            work[n++] = to;
            work[n++] = pack_strides(step, half);
            to += window;
        }
        at += step * DW_LANES;
    }
    return n;
}

/* ---- sums in f32 ---- */

enum { UNITS_F32 = 8, UNITS_F16 = 16, INPUTS = 16 };

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

/* ---- first layers ---- */

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
    return conv_first_blocks(k) * DW_CHANNELS * DW_CHANNELS;
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
    for (uint32_t i = 0; i < conv_first_blocks(k) * DW_CHANNELS * channels; i++) {
        uint32_t channel = i % channels, out = i / channels % DW_CHANNELS;
        uint32_t block = i / channels / DW_CHANNELS;
        struct conv_first_pixels p = conv_first_pixels(k, block);

        for (uint32_t column = p.begin; column < p.end; column++)
            packed[(block * DW_CHANNELS + out) * DW_CHANNELS +
                   (column - p.begin + p.before) * CHANNELS + channel] =
                w[((out * channels + channel) * k + p.row) * k + column];
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

/* ---- windows ---- */

void conv_window_steps(uint32_t k, uint32_t blocks, uint32_t hp, uint32_t wp, int own,
                       int32_t *steps)
{
    uint32_t kb = blocks * k * k;
    int64_t here = 0;

    for (uint32_t i = 0; i < kb; i++) {
        uint32_t next = (i + 1) % kb, block = next / k / k;
        int64_t at = (int64_t)block * hp * wp + next / k % k * wp + next % k;

        if (!next && own)
            at = (int64_t)blocks * hp * wp;
        steps[i] = (int32_t)((at - here) * DW_POSITION);
        here = at;
    }
}
