/* dw_pack.c - weights in the order in which the codelets of depthwise convolutions read them. */
#include <string.h>

#include "programs/library/depthwise/dw_work.h"

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
