/* reduce_ref.c - reduce_{sum,sumsq,max}_{f16_f16,f16_f32,f32_f32}: meaning and time. */
#include "programs/codelets/codelet_ref.h"

enum { PARTIALS, OUT, N, P };

enum op { SUM, SUMSQ, MAX };

/* Sums are f32, maxima of the type of the partials. */
static uint32_t element(const struct codelet_call *call, unsigned bits, size_t i)
{
    const void *data = call->arg[PARTIALS].data;

    return bits == 16 ? ((const uint16_t *)data)[i] : ((const uint32_t *)data)[i];
}

static uint32_t fold(enum op op, unsigned bits, uint32_t acc, uint32_t x, struct fp_env *env)
{
    uint16_t h = (uint16_t)x;

    switch (op) {
    case SUM:
        return fp_f32_add(acc, bits == 16 ? fp_f16_to_f32(h, env) : x, env);
    case SUMSQ:
        return bits == 16 ? fp_f32_add_exact_f16_products(acc, &h, &h, 1, env)
                          : fp_f32_fma(x, x, acc, env);
    default: /* the first partial meets itself, so that a signalling NaN alone becomes quiet */
        return bits == 16 ? fp_f16_max((uint16_t)acc, h, env) : fp_f32_max(acc, x, env);
    }
}

static void reduce(const struct codelet_call *call, enum op op, unsigned in, unsigned out)
{
    uint32_t n = call->arg[N].value, p = call->arg[P].value;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        uint32_t acc = op == MAX ? element(call, in, i) : 0;

        for (uint32_t k = 0; k < p; k++)
            acc = fold(op, in, acc, element(call, in, (size_t)k * n + i), &env);
        if (op == MAX && in != out)
            acc = fp_f16_to_f32((uint16_t)acc, &env);
        else if (op != MAX && out == 16)
            acc = fp_f16_from_f32(acc, 0, &env);
        if (out == 16)
            ((uint16_t *)call->arg[OUT].data)[i] = (uint16_t)acc;
        else
            ((uint32_t *)call->arg[OUT].data)[i] = acc;
    }
}

/* ---- time: the instructions of reduce.inc, counted ---- */

struct reduce_shape {
    const struct arch *arch;
    enum op op;
    unsigned in, out; /* bits */
    unsigned width;   /* bytes a load brings: 16, 8, 4, 2 */
    uint64_t n, p;
};

enum { START_SLOTS = 7, WIDE_SLOTS = 2, COLUMNS_SLOTS = 8 };

/* A column up to its sums. */
static uint64_t column_slots(const struct reduce_shape *s)
{
    return s->p + (s->op == MAX ? 3 : 2);
}

/* From the sums to the branch back. */
static uint64_t take_slots(const struct reduce_shape *s)
{
    if (s->width == 16)
        return s->in == s->out ? 4 - (s->in == 32) : 5;
    return s->width == 8 && s->in != s->out ? 3 : 2;
}

static uint64_t pairs_slots(const struct reduce_shape *s, unsigned w)
{
    uint64_t last = w == s->arch->workers - 1 ? column_slots(s) + 9 : 0;

    return 8 + last + 3 + codelet_share(s->arch, s->n / 2, w) * (2 * column_slots(s) + 6) + 2;
}

static uint64_t reduce_slots(const void *shape, unsigned w)
{
    const struct reduce_shape *s = shape;
    uint64_t columns = codelet_share(s->arch, s->n * s->in / 8 / s->width, w);
    uint64_t slots = START_SLOTS + (s->op == MAX ? 1 : WIDE_SLOTS);

    if (s->width < 16)
        slots += s->width < 8 && s->in == 16 ? 4 : 2;
    if (s->width == 2 && s->out == 16)
        return slots + pairs_slots(s, w);
    slots += COLUMNS_SLOTS + (s->in == s->out ? 1 : 2);
    if (!columns)
        return slots + 1;
    return slots + columns * (column_slots(s) + take_slots(s) + 1) + 1;
}

static uint64_t reduce_cycles(const struct codelet_call *call, enum op op, unsigned in,
                              unsigned out)
{
    const struct arch *a = call->arch;
    uint32_t n = call->arg[N].value, row = n * in / 8;
    struct reduce_shape s = { a, op, in, out, 2, n, call->arg[P].value };

    if (row % 8 == 0)
        s.width = op != MAX && row % 16 == 0 ? 16 : 8;
    else if (row % 4 == 0)
        s.width = 4;
    return codelet_workers_cycles(a, reduce_slots, &s);
}

void reduce_sum_f16_f16_ref(const struct codelet_call *call)
{
    reduce(call, SUM, 16, 16);
}

uint64_t reduce_sum_f16_f16_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUM, 16, 16);
}

void reduce_sum_f16_f32_ref(const struct codelet_call *call)
{
    reduce(call, SUM, 16, 32);
}

uint64_t reduce_sum_f16_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUM, 16, 32);
}

void reduce_sum_f32_f32_ref(const struct codelet_call *call)
{
    reduce(call, SUM, 32, 32);
}

uint64_t reduce_sum_f32_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUM, 32, 32);
}

void reduce_sumsq_f16_f16_ref(const struct codelet_call *call)
{
    reduce(call, SUMSQ, 16, 16);
}

uint64_t reduce_sumsq_f16_f16_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUMSQ, 16, 16);
}

void reduce_sumsq_f16_f32_ref(const struct codelet_call *call)
{
    reduce(call, SUMSQ, 16, 32);
}

uint64_t reduce_sumsq_f16_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUMSQ, 16, 32);
}

void reduce_sumsq_f32_f32_ref(const struct codelet_call *call)
{
    reduce(call, SUMSQ, 32, 32);
}

uint64_t reduce_sumsq_f32_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, SUMSQ, 32, 32);
}

void reduce_max_f16_f16_ref(const struct codelet_call *call)
{
    reduce(call, MAX, 16, 16);
}

uint64_t reduce_max_f16_f16_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, MAX, 16, 16);
}

void reduce_max_f16_f32_ref(const struct codelet_call *call)
{
    reduce(call, MAX, 16, 32);
}

uint64_t reduce_max_f16_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, MAX, 16, 32);
}

void reduce_max_f32_f32_ref(const struct codelet_call *call)
{
    reduce(call, MAX, 32, 32);
}

uint64_t reduce_max_f32_f32_cycles(const struct codelet_call *call)
{
    return reduce_cycles(call, MAX, 32, 32);
}
