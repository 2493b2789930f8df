/* row_softmax_ref.c - row_exp_*, row_scale_*, row_log_*: meaning and cycles. */
#include "programs/library/rows/row_ref.h"

/* ---- exponentials ---- */

/* Elements [begin, end) of a row. */
static void exp_range(const struct codelet_call *call, unsigned bits, size_t begin, size_t end,
                      uint32_t max, struct fp_env *env)
{
    uint32_t *y = call->arg[row_exp__y].data;

    for (size_t i = begin; i < end; i++)
        y[i] = fp_f32_exp(
            fp_f32_sub(row_element(call->arg[row_exp__x].data, bits, i, env), max, env), env);
}

/* The sum of a part of a row at y: of even elements and what comes last, of odd ones, of both. */
static uint32_t exp_sum(const uint32_t *y, struct row_part p, struct fp_env *env)
{
    uint32_t sum[2] = { 0, 0 };

    for (uint32_t i = p.begin; i < p.whole; i++)
        sum[i % 2] = fp_f32_add(sum[i % 2], y[i], env);
    for (uint32_t i = p.end; i-- > p.whole;)
        sum[0] = fp_f32_add(sum[0], y[i], env);
    return fp_f32_add(sum[0], sum[1], env);
}

static void exponentials(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    uint32_t *sum = call->arg[row_exp__sum].data, p = call->arg[row_exp__p].value;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        size_t from = (size_t)r * s.pitch;
        uint32_t max = row_total(call->arg[row_exp__max].data, p, r, row_max, ROW_LOWEST, &env);

        exp_range(call, bits, from, from + s.pitch, max, &env);
        for (uint32_t k = 0; k < s.parts; k++)
            *sum++ =
                exp_sum((const uint32_t *)call->arg[row_exp__y].data + from, row_part(&s, k), &env);
    }
}

static uint64_t exp_cycles(const struct codelet_call *call, unsigned bits)
{
    unsigned e = call->arch->slots_f32exp;
    unsigned vector = bits == 16 ? 1 + 2 * (3 + 2 * e) : 3 + 2 * e;
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 4,
                                     .row = 14 + call->arg[row_exp__p].value,
                                     .vector = vector,
                                     .element = 2,
                                     .end = vector + 2 };

    return row_cycles(call, bits, &slots);
}

/* ---- quotients and logarithms: y of whole rows, filled up ---- */

static void scale(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    const uint32_t *x = call->arg[row_scale__x].data;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        uint32_t by = fp_f32_oox(row_total(call->arg[row_scale__sum].data,
                                           call->arg[row_scale__p].value, r, row_add, 0, &env),
                                 &env);

        for (size_t i = (size_t)r * s.pitch; i < (size_t)(r + 1) * s.pitch; i++)
            row_write(call->arg[row_scale__y].data, bits, i, fp_f32_mul(by, x[i], &env), &env);
    }
}

static uint64_t scale_cycles(const struct codelet_call *call, unsigned bits)
{
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 3,
                                     .row = 11 + call->arg[row_scale__p].value +
                                            call->arch->slots_f32oox,
                                     .vector = bits == 16 ? 5 : 3,
                                     .padded = 1 };

    return row_cycles(call, bits, &slots);
}

static void logarithms(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    uint32_t p = call->arg[row_log__p].value;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        uint32_t sum = row_total(call->arg[row_log__sum].data, p, r, row_add, 0, &env);
        uint32_t max = row_total(call->arg[row_log__max].data, p, r, row_max, ROW_LOWEST, &env);
        uint32_t less_sum = fp_f32_sub(0, fp_f32_ln(sum, &env), &env);
        uint32_t less_max = fp_f32_sub(0, max, &env);

        for (size_t i = (size_t)r * s.pitch; i < (size_t)(r + 1) * s.pitch; i++) {
            uint32_t v =
                fp_f32_add(less_max, row_element(call->arg[row_log__x].data, bits, i, &env), &env);

            row_write(call->arg[row_log__y].data, bits, i, fp_f32_add(less_sum, v, &env), &env);
        }
    }
}

static uint64_t log_cycles(const struct codelet_call *call, unsigned bits)
{
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 3,
                                     .row = 19 + 2 * call->arg[row_log__p].value +
                                            call->arch->slots_f32log,
                                     .vector = bits == 16 ? 9 : 4,
                                     .padded = 1 };

    return row_cycles(call, bits, &slots);
}

#define STEP(name, meaning, time, bits)                                                            \
    void row_##name##_ref(const struct codelet_call *call)                                         \
    {                                                                                              \
        meaning(call, bits);                                                                       \
    }                                                                                              \
    uint64_t row_##name##_cycles(const struct codelet_call *call)                                  \
    {                                                                                              \
        return time(call, bits);                                                                   \
    }

STEP(exp_f16, exponentials, exp_cycles, 16)
STEP(exp_f32, exponentials, exp_cycles, 32)
STEP(scale_f16, scale, scale_cycles, 16)
STEP(scale_f32, scale, scale_cycles, 32)
STEP(log_f16, logarithms, log_cycles, 16)
STEP(log_f32, logarithms, log_cycles, 32)
