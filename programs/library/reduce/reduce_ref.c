/* reduce_ref.c - reduce_{sum,sumsq,max}_{f16_f16,f16_f32,f32_f32}: meaning and cycles. */
#include "programs/library/reduce/fold_ref.h"

/* Sums are f32, maxima of the type of the partials. */
static void reduce(const struct codelet_call *call, enum fold_op op, unsigned in, unsigned out)
{
    uint32_t n = call->arg[reduce__n].value, p = call->arg[reduce__p].value;
    const void *x = call->arg[reduce__partials].data;
    struct fp_env env = { 0 };

    for (uint32_t i = 0; i < n; i++) {
        /* The maximum of the first partial and itself: so even a lone signalling NaN becomes quiet.
         */
        uint32_t acc = op == FOLD_MAX ? fold_element(x, in, i) : 0;

        for (uint32_t k = 0; k < p; k++)
            acc = fold(op, in, acc, fold_element(x, in, (size_t)k * n + i), &env);
        if (op == FOLD_MAX && in != out)
            acc = fp_f16_to_f32((uint16_t)acc, &env);
        else if (op != FOLD_MAX && out == 16)
            acc = fp_f16_from_f32(acc, 0, &env);
        if (out == 16)
            ((uint16_t *)call->arg[reduce__out].data)[i] = (uint16_t)acc;
        else
            ((uint32_t *)call->arg[reduce__out].data)[i] = acc;
    }
}

/* ---- cycles: the instructions of reduce.inc, counted ---- */

struct reduce_shape {
    const struct arch *arch;
    enum fold_op op;
    unsigned in, out; /* bits */
    unsigned width;   /* bytes of a load: 16, 8, 4 or 2 */
    uint64_t n, p;
};

enum { START_SLOTS = 7, WIDE_SLOTS = 2, COLUMNS_SLOTS = 8 };

/* Slots of a column, up to its sums. */
static uint64_t column_slots(const struct reduce_shape *s)
{
    return s->p + (s->op == FOLD_MAX ? 3 : 2);
}

/* Slots from the sums to the branch back. */
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
    uint64_t slots = START_SLOTS + (s->op == FOLD_MAX ? 1 : WIDE_SLOTS);

    if (s->width < 16)
        slots += s->width < 8 && s->in == 16 ? 4 : 2;
    if (s->width == 2 && s->out == 16)
        return slots + pairs_slots(s, w);
    slots += COLUMNS_SLOTS + (s->in == s->out ? 1 : 2);
    if (!columns)
        return slots + 1;
    return slots + columns * (column_slots(s) + take_slots(s) + 1) + 1;
}

static uint64_t reduce_cycles(const struct codelet_call *call, enum fold_op op, unsigned in,
                              unsigned out)
{
    const struct arch *a = call->arch;
    uint32_t n = call->arg[reduce__n].value, row = n * in / 8;
    struct reduce_shape s = { a, op, in, out, 2, n, call->arg[reduce__p].value };

    if (row % 8 == 0)
        s.width = op != FOLD_MAX && row % 16 == 0 ? 16 : 8;
    else if (row % 4 == 0)
        s.width = 4;
    return codelet_workers_cycles(a, reduce_slots, &s);
}

#define REDUCE(name, op, in, out)                                                                  \
    void reduce_##name##_ref(const struct codelet_call *call)                                      \
    {                                                                                              \
        reduce(call, op, in, out);                                                                 \
    }                                                                                              \
    uint64_t reduce_##name##_cycles(const struct codelet_call *call)                               \
    {                                                                                              \
        return reduce_cycles(call, op, in, out);                                                   \
    }

REDUCE(sum_f16_f16, FOLD_SUM, 16, 16)
REDUCE(sum_f16_f32, FOLD_SUM, 16, 32)
REDUCE(sum_f32_f32, FOLD_SUM, 32, 32)
REDUCE(sumsq_f16_f16, FOLD_SUMSQ, 16, 16)
REDUCE(sumsq_f16_f32, FOLD_SUMSQ, 16, 32)
REDUCE(sumsq_f32_f32, FOLD_SUMSQ, 32, 32)
REDUCE(max_f16_f16, FOLD_MAX, 16, 16)
REDUCE(max_f16_f32, FOLD_MAX, 16, 32)
REDUCE(max_f32_f32, FOLD_MAX, 32, 32)
