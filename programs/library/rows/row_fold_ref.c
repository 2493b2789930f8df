/* row_fold_ref.c - row_{sum,sumsq,max,min,prod}_{f16,f32}: meaning and cycles. */
#include "programs/library/rows/row_ref.h"

enum row_fold_op { SUM, SUMSQ, MAX, MIN, PROD };
enum { LANES = 4 };

/* What a fold of the type begins with. */
static uint32_t begin_with(enum row_fold_op op, unsigned bits)
{
    static const uint32_t one[] = {
        [SUM] = 0, [SUMSQ] = 0, [MAX] = ROW_LOWEST, [MIN] = 0x7f800000, [PROD] = 0x3f800000
    };

    if (bits == 16 && (op == MAX || op == MIN))
        return one[op] >> 16 & 0xfc00; /* infinities have the same sign and ones in f16 */
    return one[op];
}

/* One more element of a vector; maxima and minima are of the type of x, all else is f32. */
static uint32_t take(enum row_fold_op op, unsigned bits, uint32_t acc, const void *x, size_t i,
                     struct fp_env *env)
{
    const uint16_t *h = (const uint16_t *)x + i;
    uint32_t v;

    if (bits == 16) {
        if (op == MAX)
            return fp_f16_max((uint16_t)acc, *h, env);
        if (op == MIN)
            return fp_f16_min((uint16_t)acc, *h, env);
        if (op == SUMSQ)
            return fp_f32_add_exact_f16_products(acc, h, h, 1, env);
    }
    v = row_element(x, bits, i, env);
    return op == SUM     ? fp_f32_add(acc, v, env)
           : op == SUMSQ ? fp_f32_fma(v, v, acc, env)
           : op == MAX   ? fp_f32_max(acc, v, env)
           : op == MIN   ? fp_f32_min(acc, v, env)
                         : fp_f32_mul(acc, v, env);
}

/* Two results of lanes, or a result and one more element. */
static uint32_t join(enum row_fold_op op, uint32_t a, uint32_t b, struct fp_env *env)
{
    return op == MAX    ? fp_f32_max(a, b, env)
           : op == MIN  ? fp_f32_min(a, b, env)
           : op == PROD ? fp_f32_mul(a, b, env)
                        : fp_f32_add(a, b, env);
}

static uint32_t fold_part(enum row_fold_op op, unsigned bits, const void *x, struct row_part p,
                          struct fp_env *env)
{
    uint32_t lane[LANES], lanes = 64 / bits, acc;

    for (uint32_t k = 0; k < lanes; k++)
        lane[k] = begin_with(op, bits);
    for (size_t i = p.begin; i < p.whole; i++)
        lane[i % lanes] = take(op, bits, lane[i % lanes], x, i, env);
    for (uint32_t k = 0; k < lanes && bits == 16 && (op == MAX || op == MIN); k++)
        lane[k] = fp_f16_to_f32((uint16_t)lane[k], env);
    for (uint32_t k = 0; k < lanes / 2 && lanes == LANES; k++)
        lane[k] = join(op, lane[k], lane[k + 2], env);
    acc = join(op, lane[0], lane[1], env);
    for (size_t i = p.end; i-- > p.whole;) {
        uint32_t v = row_element(x, bits, i, env);

        acc = join(op, acc, op == SUMSQ ? fp_f32_mul(v, v, env) : v, env);
    }
    return acc;
}

static void fold(const struct codelet_call *call, enum row_fold_op op, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    uint32_t *out = call->arg[row_fold__out].data;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        const uint8_t *x =
            (const uint8_t *)call->arg[row_fold__x].data + (size_t)r * s.pitch * (bits / 8);

        for (uint32_t k = 0; k < s.parts; k++)
            *out++ = fold_part(op, bits, x, row_part(&s, k), &env);
    }
}

/* ---- cycles ---- */

static uint64_t fold_cycles(const struct codelet_call *call, enum row_fold_op op, unsigned bits)
{
    int accumulators = op == SUMSQ || (op == SUM && bits == 16), wide = op == PROD && bits == 16;
    const struct row_slots slots = {
        .once = ROW_SHARE_SLOTS + 7,
        .row = wide ? 9
                    : (bits == 16     ? 11
                       : accumulators ? 9
                                      : 8),
        .vector = wide ? 5 : 1,
        .element = (bits == 16 ? 3 : 2) + (op == SUMSQ),
    };

    return row_cycles(call, bits, &slots);
}

#define FOLD(name, op, bits)                                                                       \
    void row_##name##_ref(const struct codelet_call *call)                                         \
    {                                                                                              \
        fold(call, op, bits);                                                                      \
    }                                                                                              \
    uint64_t row_##name##_cycles(const struct codelet_call *call)                                  \
    {                                                                                              \
        return fold_cycles(call, op, bits);                                                        \
    }

FOLD(sum_f16, SUM, 16)
FOLD(sum_f32, SUM, 32)
FOLD(sumsq_f16, SUMSQ, 16)
FOLD(sumsq_f32, SUMSQ, 32)
FOLD(max_f16, MAX, 16)
FOLD(max_f32, MAX, 32)
FOLD(min_f16, MIN, 16)
FOLD(min_f32, MIN, 32)
FOLD(prod_f16, PROD, 16)
FOLD(prod_f32, PROD, 32)
