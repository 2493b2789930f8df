/* dot_ref.c - dot_{f16,f32}, matvec_{f16,f32}: meaning and cycles. */
#include "programs/library/kernel/codelet_ref.h"

/* Adds the products of a vector of 8 bytes of each operand to the two sums of a worker. */
static void add_products(uint32_t *acc, unsigned bits, const void *x, const void *y, size_t i,
                         struct fp_env *env)
{
    for (unsigned k = 0; k < 2; k++) {
        if (bits == 16)
            acc[k] = fp_f32_add_exact_f16_products(acc[k], (const uint16_t *)x + i + 2 * k,
                                                   (const uint16_t *)y + i + 2 * k, 2, env);
        else
            acc[k] =
                fp_f32_fma(((const uint32_t *)x)[i + k], ((const uint32_t *)y)[i + k], acc[k], env);
    }
}

static uint32_t element(const void *data, unsigned bits, size_t i, struct fp_env *env)
{
    return bits == 16 ? fp_f16_to_f32(((const uint16_t *)data)[i], env)
                      : ((const uint32_t *)data)[i];
}

static void dot(const struct codelet_call *call, unsigned bits)
{
    const void *x = call->arg[dot__x].data, *y = call->arg[dot__y].data;
    unsigned workers = call->arch->workers, lanes = 64 / bits;
    uint32_t n = call->arg[dot__n].value, full = n / lanes * lanes;
    struct fp_env env = { 0 };

    for (unsigned w = 0; w < workers; w++) {
        uint32_t acc[2] = { 0, 0 };

        for (uint32_t i = w * lanes; i < full; i += workers * lanes)
            add_products(acc, bits, x, y, i, &env);
        acc[0] = fp_f32_add(acc[0], acc[1], &env);
        if (full + w < n)
            acc[0] = fp_f32_add(acc[0],
                                fp_f32_mul(element(x, bits, full + w, &env),
                                           element(y, bits, full + w, &env), &env),
                                &env);
        ((uint32_t *)call->arg[dot__out].data)[w] = acc[0];
    }
}

static void matvec(const struct codelet_call *call, unsigned bits)
{
    uint32_t m = call->arg[matvec__m].value, k = call->arg[matvec__k].value;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < m; i++) {
        const uint8_t *row =
            (const uint8_t *)call->arg[matvec__a].data + (size_t)i * k * (bits / 8);
        uint32_t acc[2] = { 0, 0 };

        for (uint32_t j = 0; j < k; j += 64 / bits)
            add_products(acc, bits, row, call->arg[matvec__x].data, j, &env);
        acc[0] = fp_f32_add(acc[0], acc[1], &env);
        if (bits == 16)
            ((uint16_t *)call->arg[matvec__y].data)[i] = fp_f16_from_f32(acc[0], 0, &env);
        else
            ((uint32_t *)call->arg[matvec__y].data)[i] = acc[0];
    }
}

/* ---- cycles: the instructions of dot.inc and matvec.inc, counted ---- */

struct dot_shape {
    const struct arch *arch;
    unsigned bits;
    uint64_t m, k;
};

static uint64_t dot_slots(const void *shape, unsigned w)
{
    const struct dot_shape *s = shape;
    unsigned lanes = 64 / s->bits;

    return 23 + codelet_share(s->arch, s->k / lanes, w) +
           (w < s->k % lanes ? (s->bits == 16 ? 6 : 5) : 0) + 3;
}

static uint64_t dot_cycles(const struct codelet_call *call, unsigned bits)
{
    struct dot_shape s = { call->arch, bits, 1, call->arg[dot__n].value };

    return codelet_workers_cycles(call->arch, dot_slots, &s);
}

static uint64_t matvec_slots(const void *shape, unsigned w)
{
    const struct dot_shape *s = shape;
    uint64_t vectors = s->k * s->bits / 64, slots = 11, rows;

    if (s->bits == 16) {
        slots += 7 + s->m % 2 + 1;
        if (s->m % 2 && w == s->arch->workers - 1)
            slots += 7 + vectors + 3 + 6;
        rows = codelet_share(s->arch, s->m / 2, w);
        return slots + 2 + (rows ? 7 + rows * (2 * vectors + 9) : 0) + 1;
    }
    rows = codelet_share(s->arch, s->m, w);
    return slots + 5 + 2 + (rows ? 7 + rows * (vectors + 5) : 0) + 1;
}

static uint64_t matvec_cycles(const struct codelet_call *call, unsigned bits)
{
    struct dot_shape s = { call->arch, bits, call->arg[matvec__m].value,
                           call->arg[matvec__k].value };

    return codelet_workers_cycles(call->arch, matvec_slots, &s);
}

void dot_f16_ref(const struct codelet_call *call)
{
    dot(call, 16);
}

uint64_t dot_f16_cycles(const struct codelet_call *call)
{
    return dot_cycles(call, 16);
}

void dot_f32_ref(const struct codelet_call *call)
{
    dot(call, 32);
}

uint64_t dot_f32_cycles(const struct codelet_call *call)
{
    return dot_cycles(call, 32);
}

void matvec_f16_ref(const struct codelet_call *call)
{
    matvec(call, 16);
}

uint64_t matvec_f16_cycles(const struct codelet_call *call)
{
    return matvec_cycles(call, 16);
}

void matvec_f32_ref(const struct codelet_call *call)
{
    matvec(call, 32);
}

uint64_t matvec_f32_cycles(const struct codelet_call *call)
{
    return matvec_cycles(call, 32);
}
