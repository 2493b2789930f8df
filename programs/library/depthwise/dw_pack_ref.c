/* dw_pack_ref.c - weights of depthwise convolutions in the order of dw.inc: meaning and cycles. */
#include <string.h>

#include "programs/library/depthwise/dw_work.h"
#include "programs/library/kernel/codelet_ref.h"

/* 8 channels of a tap: x, or NULL for zeros. Strides in bytes, from lane to lane. */
static void spread(const uint16_t *x, uint32_t step, uint16_t *y)
{
    for (uint32_t c = 0; c < DW_HALVES * DW_LANES; c++) {
        uint32_t half = c / DW_LANES, lane = c % DW_LANES;
        uint16_t *vector = y + lane * (step / sizeof(*y)) + half * DW_LANES;

        memset(vector, 0, DW_LANES * sizeof(*vector));
        if (x)
            vector[lane] = x[c];
    }
}

void dw_pack_f16_ref(const struct codelet_call *call)
{
    const uint16_t *x = call->arg[dw_pack__x].data;
    const uint32_t *work = call->arg[dw_pack__work].data;
    uint16_t *y = call->arg[dw_pack__y].data;
    uint32_t x_block = call->arg[dw_pack__x_bytes].value / 2;
    uint32_t y_half = call->arg[dw_pack__y_bytes].value / 4;

    for (uint32_t i = 0; i < 2 * call->arg[dw_pack__blocks].value; i++) {
        for (uint32_t e = 0; e < call->arg[dw_pack__entries].value; e++) {
            const uint32_t *entry = work + e * DW_PACK_ENTRY;

            spread(entry[0] == UINT32_MAX
                       ? NULL
                       : x + i / 2 * x_block + entry[0] / 2 + i % 2 * DW_HALVES * DW_LANES,
                   DW_PACK_VECTOR + (entry[2] & 0x3ff) * DW_PACK_VECTOR,
                   y + i * y_half + entry[1] / 2);
        }
    }
}

static uint64_t dw_pack_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t entries = codelet_share(call->arch, call->arg[dw_pack__entries].value, w);
    uint64_t blocks = call->arg[dw_pack__blocks].value, channels = 2 + 8;

    return 8 + 4 + 2 + (entries ? 9 : 0) + entries * (8 + blocks * (2 * channels + 1) + 1) + 1;
}

uint64_t dw_pack_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, dw_pack_slots, call);
}
