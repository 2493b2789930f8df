/* maxpool_ref.c - maxpool_f16, add_relu_f16: meaning and cycles. */
#include "programs/library/elementwise/positions_ref.h"

enum { CHANNELS = 16 };

static uint16_t window_max(const uint16_t *x, uint32_t wp, uint32_t k, struct fp_env *env)
{
    uint16_t most = FP_F16_SIGN | FP_F16_INF;

    for (uint32_t r = 0; r < k; r++) {
        for (uint32_t c = 0; c < k; c++)
            most = fp_f16_max(most, x[((size_t)r * wp + c) * CHANNELS], env);
    }
    return most;
}

void maxpool_f16_ref(const struct codelet_call *call)
{
    uint32_t ho = call->arg[maxpool__ho].value, wo = call->arg[maxpool__wo].value,
             wp = call->arg[maxpool__wp].value;
    size_t n = (size_t)call->arg[maxpool__blocks].value * ho * wo * CHANNELS;
    const uint16_t *x = call->arg[maxpool__x].data;
    uint16_t *y = call->arg[maxpool__y].data;
    struct fp_env env = { 0 };

    for (size_t i = 0; i < n; i++) {
        size_t position = i / CHANNELS, row = position / wo, block = row / ho;
        size_t at =
            block * call->arg[maxpool__hp].value + row % ho * call->arg[maxpool__stride].value;

        at = at * wp + position % wo * call->arg[maxpool__stride].value;
        y[i] = window_max(x + at * CHANNELS + i % CHANNELS, wp, call->arg[maxpool__k].value, &env);
    }
}

static uint64_t maxpool_slots(const void *shape, unsigned w)
{
    const struct codelet_call *call = shape;
    uint64_t ho = call->arg[maxpool__ho].value, wo = call->arg[maxpool__wo].value,
             k = call->arg[maxpool__k].value;
    uint64_t n = codelet_share(call->arch, call->arg[maxpool__blocks].value * ho * wo, w), rows;

    if (!n)
        return 14 + 1;
    rows = (w + (n - 1) * call->arch->workers) / wo; /* rows down to the worker's last position */
    return 34 + n * (2 + 4 + 2 * k * (2 * k + 2) + 5) + (n - 1) + rows * 5 + rows / ho * 11 + 1;
}

uint64_t maxpool_f16_cycles(const struct codelet_call *call)
{
    return codelet_workers_cycles(call->arch, maxpool_slots, call);
}

/* ---- add_relu ---- */

void add_relu_f16_ref(const struct codelet_call *call)
{
    const uint16_t *b = call->arg[inplace__b].data;
    uint16_t *a = call->arg[inplace__a].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < call->arg[inplace__n].value; i++)
        a[i] = fp_f16_max(fp_f16_add(a[i], b[i], 0, &env), 0, &env);
}

/* As BINARY with two instructions, but without the load of the result's address. */
uint64_t add_relu_cycles_at(const struct arch *a, uint32_t n, enum elementwise_place place)
{
    const struct elementwise e = { ELEMENTWISE_BINARY, 4, 2, { 0 }, 2, { 0 } };

    return elementwise_cycles_at(a, &e, n, 0, place) - a->workers;
}

uint64_t add_relu_f16_cycles(const struct codelet_call *call)
{
    uint32_t n = call->arg[inplace__n].value;
    uint64_t near = add_relu_cycles_at(call->arch, n, PLACE_NEAR);
    uint64_t far = add_relu_cycles_at(call->arch, n, PLACE_FAR);

    return near > far ? near : far;
}
