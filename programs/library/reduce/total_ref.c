/* total_ref.c - total_{sum,sumsq,max}_{f16,f32}: meaning and cycles. */
#include "programs/library/reduce/fold_ref.h"

enum { VECTOR_BYTES_SUM = 16, VECTOR_BYTES_MAX = 8, LANES = 8 };

static unsigned vector_elements(enum fold_op op, unsigned bits)
{
    return (op == FOLD_MAX ? VECTOR_BYTES_MAX : VECTOR_BYTES_SUM) * 8 / bits;
}

/* Takes an element after the last whole vector into the sum of all lanes. */
static uint32_t fold_rest(enum fold_op op, unsigned bits, uint32_t acc, uint32_t x,
                          struct fp_env *env)
{
    if (op == FOLD_MAX)
        return fold(op, bits, acc, x, env);
    x = bits == 16 ? fp_f16_to_f32((uint16_t)x, env) : x;
    return fp_f32_add(acc, op == FOLD_SUMSQ ? fp_f32_mul(x, x, env) : x, env);
}

/* Adds up the lanes: first those 2 apart; if there are 8, then those 4 apart; at last neighbours.
 */
static uint32_t join_sums(uint32_t *lane, unsigned lanes, struct fp_env *env)
{
    uint32_t a[2], b[2];

    for (unsigned i = 0; i < 2; i++) {
        a[i] = fp_f32_add(lane[i], lane[2 + i], env);
        if (lanes == LANES) {
            b[i] = fp_f32_add(lane[4 + i], lane[6 + i], env);
            a[i] = fp_f32_add(a[i], b[i], env);
        }
    }
    return fp_f32_add(a[0], a[1], env);
}

/* The share of worker w. */
static uint32_t total_worker(const struct codelet_call *call, enum fold_op op, unsigned bits,
                             unsigned w)
{
    unsigned workers = call->arch->workers, lanes = vector_elements(op, bits);
    uint32_t n = call->arg[total__n].value, lane[LANES], lowest = bits == 16 ? 0xfc00 : 0xff800000,
             acc;
    uint32_t full = n / lanes * lanes;
    const void *x = call->arg[total__x].data;
    struct fp_env env = { 0 };

    for (unsigned k = 0; k < LANES; k++)
        lane[k] = op == FOLD_MAX ? lowest : 0;
    for (uint32_t i = w * lanes; i < full; i += workers * lanes) {
        for (unsigned k = 0; k < lanes; k++)
            lane[k] = fold(op, bits, lane[k], fold_element(x, bits, i + k), &env);
    }
    if (op != FOLD_MAX) {
        acc = join_sums(lane, lanes, &env);
        for (uint32_t i = full + w; i < n; i += workers)
            acc = fold_rest(op, bits, acc, fold_element(x, bits, i), &env);
        return acc;
    }
    if (bits == 32) {
        acc = fold(op, bits, lane[0], lane[1], &env);
        return full + w < n ? fold(op, bits, acc, fold_element(x, bits, full + w), &env) : acc;
    }
    for (unsigned k = 0; k < 2; k++) {
        lane[k] = fold(op, bits, lane[k], lane[2 + k], &env);
        if (full + w < n)
            lane[k] = fold(op, bits, lane[k], fold_element(x, bits, full + w), &env);
    }
    return fp_f16_to_f32((uint16_t)fold(op, bits, lane[0], lane[1], &env), &env);
}

static void total(const struct codelet_call *call, enum fold_op op, unsigned bits)
{
    for (unsigned w = 0; w < call->arch->workers; w++)
        ((uint32_t *)call->arg[total__out].data)[w] = total_worker(call, op, bits, w);
}

/* ---- cycles: the instructions of total.inc, counted ---- */

struct total_shape {
    const struct arch *arch;
    enum fold_op op;
    unsigned bits;
    int wide; /* 1: loads of 16 bytes are possible */
    uint64_t n;
};

static uint64_t total_slots(const void *shape, unsigned w)
{
    const struct total_shape *s = shape;
    unsigned lanes = vector_elements(s->op, s->bits);
    uint64_t vectors = codelet_share(s->arch, s->n / lanes, w);
    uint64_t rest = codelet_share(s->arch, s->n % lanes, w);

    if (s->op == FOLD_MAX)
        return 16 + 2 + 1 + vectors + 2 + (rest ? 2 : 0) + (s->bits == 16 ? 4 : 2);
    return 16 + 7 + (s->wide ? 2 + vectors : 1 + 2 * vectors) + (s->bits == 16 ? 8 : 4) + 2 +
           rest * (s->bits == 16 ? 4 : 2) + (s->op == FOLD_SUMSQ ? rest : 0) + 2;
}

static uint64_t total_cycles_of(const struct codelet_call *call, enum fold_op op, unsigned bits,
                                int wide)
{
    struct total_shape s = { call->arch, op, bits, wide, call->arg[total__n].value };

    return codelet_workers_cycles(call->arch, total_slots, &s);
}

static uint64_t total_cycles_most(const struct codelet_call *call, enum fold_op op, unsigned bits)
{
    uint64_t a = total_cycles_of(call, op, bits, 0), b = total_cycles_of(call, op, bits, 1);

    return a > b ? a : b;
}

/* By row of the table: what the codelet does. */
static const struct total_kind {
    enum fold_op op;
    unsigned bits;
} total_kinds[CODELET_ROWS] = {
    [ROW_total_sum_f16] = { FOLD_SUM, 16 },     [ROW_total_sum_f32] = { FOLD_SUM, 32 },
    [ROW_total_sumsq_f16] = { FOLD_SUMSQ, 16 }, [ROW_total_sumsq_f32] = { FOLD_SUMSQ, 32 },
    [ROW_total_max_f16] = { FOLD_MAX, 16 },     [ROW_total_max_f32] = { FOLD_MAX, 32 },
};

uint64_t total_cycles_at(const struct codelet_call *call, const struct codelet *codelet, uint32_t x)
{
    const struct total_kind *k = &total_kinds[codelet - codelet_table];
    int wide = x % 16 == 0 && x >= call->arch->mem_base + call->arch->region0_bytes;

    EMU_ASSERT(k->bits);
    return total_cycles_of(call, k->op, k->bits, wide);
}

#define TOTAL(name, op, bits)                                                                      \
    void total_##name##_ref(const struct codelet_call *call)                                       \
    {                                                                                              \
        total(call, op, bits);                                                                     \
    }                                                                                              \
    uint64_t total_##name##_cycles(const struct codelet_call *call)                                \
    {                                                                                              \
        return total_cycles_most(call, op, bits);                                                  \
    }

TOTAL(sum_f16, FOLD_SUM, 16)
TOTAL(sum_f32, FOLD_SUM, 32)
TOTAL(sumsq_f16, FOLD_SUMSQ, 16)
TOTAL(sumsq_f32, FOLD_SUMSQ, 32)
TOTAL(max_f16, FOLD_MAX, 16)
TOTAL(max_f32, FOLD_MAX, 32)
