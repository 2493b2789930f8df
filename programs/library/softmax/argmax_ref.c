/* argmax_ref.c - argmax_f16, argmax_f32, argmax_final: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

enum { NO_INDEX = 0xffffffff };

static const uint32_t lowest[] = { 0xfc00, 0xff800000 }; /* -infinity */

static uint32_t element(const void *data, unsigned bits, size_t i)
{
    return bits == 16 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

static uint32_t larger(unsigned bits, uint32_t a, uint32_t b, struct fp_env *env)
{
    return bits == 16 ? fp_f16_max((uint16_t)a, (uint16_t)b, env) : fp_f32_max(a, b, env);
}

static int equal(unsigned bits, uint32_t a, uint32_t b, struct fp_env *env)
{
    return bits == 16 ? fp_f16_cmpeq((uint16_t)a, (uint16_t)b, env) != 0
                      : fp_f32_cmpeq(a, b, env) != 0;
}

/* The maximum of 8-byte vectors first, first + step, ... and of an element after the last full
 * vector (UINT32_MAX: none), in the order of the codelets: a maximum for each lane, lane 0 (and 1)
 * with the element, then the maximum of all lanes. */
static uint32_t largest(const void *x, unsigned bits, uint32_t first, uint32_t step, uint32_t full,
                        uint32_t rest, struct fp_env *env)
{
    uint32_t lane[4], lanes = 64 / bits;

    for (uint32_t k = 0; k < lanes; k++)
        lane[k] = lowest[bits == 32];
    for (uint32_t i = first * lanes; i < full; i += step * lanes) {
        for (uint32_t k = 0; k < lanes; k++)
            lane[k] = larger(bits, lane[k], element(x, bits, i + k), env);
    }
    if (rest != UINT32_MAX) {
        for (uint32_t k = 0; k < lanes / 2; k++)
            lane[k] = larger(bits, lane[k], element(x, bits, rest), env);
    }
    for (uint32_t k = lanes / 2; k; k /= 2) {
        for (uint32_t i = 0; i < k; i++)
            lane[i] = larger(bits, lane[i], lane[i + k], env);
    }
    return lane[0];
}

static void argmax(const struct codelet_call *call, unsigned bits)
{
    const void *x = call->arg[argmax__x].data;
    uint32_t n = call->arg[argmax__n].value, lanes = 64 / bits, full = n / lanes * lanes;
    unsigned workers = call->arch->workers;
    struct fp_env env = { 0 };

    for (uint32_t w = 0; w < workers; w++) {
        uint32_t rest = full + w < n ? full + w : UINT32_MAX, at = NO_INDEX;
        uint32_t best = largest(x, bits, w, workers, full, rest, &env);

        if (rest != UINT32_MAX && equal(bits, element(x, bits, rest), best, &env))
            at = rest;
        for (uint32_t i = 0; i < full; i++) {
            uint32_t k = full - 1 - i;

            if (k / lanes % workers == w && equal(bits, element(x, bits, k), best, &env))
                at = k;
        }
        ((uint32_t *)call->arg[argmax__value].data)[w] =
            bits == 16 ? fp_f16_to_f32((uint16_t)best, &env) : best;
        ((uint32_t *)call->arg[argmax__index].data)[w] =
            at == NO_INDEX ? NO_INDEX : at + call->arg[argmax__base].value;
    }
}

void argmax_f16_ref(const struct codelet_call *call)
{
    argmax(call, 16);
}

void argmax_f32_ref(const struct codelet_call *call)
{
    argmax(call, 32);
}

void argmax_final_ref(const struct codelet_call *call)
{
    uint32_t n = call->arg[argmax_final__n].value, at = NO_INDEX, best;
    const uint32_t *value = call->arg[argmax_final__value].data,
                   *index = call->arg[argmax_final__index].data;
    struct fp_env env = { 0 };

    best = largest(value, 32, 0, 1, n & ~1u, n & 1 ? n - 1 : UINT32_MAX, &env);
    for (uint32_t i = 0; i < n; i++) {
        if (equal(32, value[i], best, &env) && index[i] < at)
            at = index[i];
    }
    *(uint32_t *)call->arg[argmax_final__best_value].data = best;
    *(uint32_t *)call->arg[argmax_final__best_index].data = at;
}

/* ---- cycles: the instructions of argmax.inc and argmax_final.S, counted; an upper bound ---- */

struct argmax_shape {
    const struct arch *arch;
    unsigned bits;
    uint64_t n;
};

static uint64_t argmax_slots(const void *shape, unsigned w)
{
    const struct argmax_shape *s = shape;
    unsigned lanes = 64 / s->bits;
    uint64_t vectors = codelet_share(s->arch, s->n / lanes, w), rest = w < s->n % lanes;
    uint64_t start = 21 + vectors + 1 + 2 * rest + (s->bits == 16 ? 3 : 2) + 6 + 6 * vectors;
    uint64_t after = 2 + (rest ? 6 : 0);
    uint64_t found = vectors ? 6 + (s->bits == 16 ? 3 : 0) - 1 + 1 : 0;

    return start + (after > found ? after : found) + 4;
}

static uint64_t argmax_cycles(const struct codelet_call *call, unsigned bits)
{
    struct argmax_shape s = { call->arch, bits, call->arg[argmax__n].value };

    return codelet_workers_cycles(call->arch, argmax_slots, &s);
}

uint64_t argmax_f16_cycles(const struct codelet_call *call)
{
    return argmax_cycles(call, 16);
}

uint64_t argmax_f32_cycles(const struct codelet_call *call)
{
    return argmax_cycles(call, 32);
}

uint64_t argmax_final_cycles(const struct codelet_call *call)
{
    uint64_t n = call->arg[argmax_final__n].value, pairs = n / 2, odd = n % 2;

    return codelet_multi_cycles(call->arch, 10 + pairs + 1 + 2 * odd + 3 + (pairs ? 1 : 0) +
                                                14 * pairs + 1 + 7 * odd + 5);
}
