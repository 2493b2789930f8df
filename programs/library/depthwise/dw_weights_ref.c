/* dw_weights_ref.c - what the weights of a depthwise convolution get: meaning and cycles. */
#include <stddef.h>

#include "programs/library/depthwise/dw_work.h"
#include "programs/library/kernel/codelet_ref.h"

/* A call's numbers; those of x in elements. */
struct dw_sums_call {
    const uint16_t *x, *dy;
    uint32_t n, ho, wo;
    ptrdiff_t step, row, picture;
};

/* A field in bytes, which may be below 0. */
static ptrdiff_t elements(const struct codelet_call *call, unsigned field)
{
    return (int32_t)call->arg[field].value / (ptrdiff_t)sizeof(uint16_t);
}

/* The sum of a channel of a tap; x and dy: where the first position is. */
static uint32_t sum_of(const struct dw_sums_call *s, ptrdiff_t x, ptrdiff_t dy, struct fp_env *env)
{
    uint32_t sum = 0;

    for (uint32_t i = 0; i < s->n; i++, x += s->picture) {
        for (uint32_t r = 0; r < s->ho; r++, x += s->row) {
            for (uint32_t k = 0; k < s->wo; k++, x += s->step, dy += DW_CHANNELS) {
                uint16_t p = fp_f16_mul(s->x[x], s->dy[dy], dy % DW_LANES, env);

                sum = fp_f32_add(sum, fp_f16_to_f32(p, env), env);
            }
        }
    }
    return sum;
}

void dw_weights_f16_ref(const struct codelet_call *call)
{
    uint32_t *out = call->arg[dw_weights__out].data, columns = call->arg[dw_weights__columns].value;
    struct dw_sums_call s = { .x = call->arg[dw_weights__x].data,
                              .dy = call->arg[dw_weights__dy].data,
                              .n = call->arg[dw_weights__n].value,
                              .ho = call->arg[dw_weights__ho].value,
                              .wo = call->arg[dw_weights__wo].value,
                              .step = 8 * (ptrdiff_t)call->arg[dw_weights__x_step].value,
                              .row = elements(call, dw_weights__x_row),
                              .picture = elements(call, dw_weights__x_picture) };
    ptrdiff_t tap = elements(call, dw_weights__tap), tap_row = elements(call, dw_weights__tap_row);
    struct fp_env env = { 0 };

    for (uint32_t t = 0; t < call->arg[dw_weights__taps].value; t++) {
        for (uint32_t c = 0; c < DW_CHANNELS; c++)
            out[t * DW_CHANNELS + c] =
                sum_of(&s, t * tap + t / columns * tap_row + (ptrdiff_t)c, (ptrdiff_t)c, &env);
    }
}

/* ---- cycles: the instructions of dw_weights_f16.S, counted ---- */

static uint64_t dw_weights_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t taps = call->arg[dw_weights__taps].value, third = w / DW_HALVES, mine;
    uint64_t row = 3 + 3 * (call->arg[dw_weights__wo].value - 1) + 3;
    uint64_t tap =
        5 + call->arg[dw_weights__n].value * (2 + call->arg[dw_weights__ho].value * row + 3) + 5 +
        2;

    if (taps <= third)
        return 17 + 1;
    mine = (taps - third + DW_THIRDS - 1) / DW_THIRDS;
    return 27 + mine * tap + (mine - 1) * 5 +
           (third + DW_THIRDS * (mine - 1)) / call->arg[dw_weights__columns].value * 6 + 1;
}

uint64_t dw_weights_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, dw_weights_slots, call);
}
