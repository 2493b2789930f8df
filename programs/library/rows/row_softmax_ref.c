/* row_softmax_ref.c - row_exp_*, row_scale_*, row_log_*: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/rows/row_ref.h"

/* ---- exponentials ---- */

/* Elements [begin, end) of a row. */
static void exp_range(const struct codelet_call *call, unsigned bits, size_t begin, size_t end,
                      uint32_t max, struct fp_env *env)
{
    uint32_t *y = call->arg[row_exp__y].data;
    uint16_t *half = call->arg[row_exp__y].data;
    uint16_t less = fp_f16_from_f32(fp_f32_sub(0, max, env), 0, env);

    for (size_t i = begin; i < end; i++) {
        if (bits == 16)
            half[i] = fp_f16_exp(
                fp_f16_add(less, ((const uint16_t *)call->arg[row_exp__x].data)[i], 0, env), 0,
                env);
        else
            y[i] = fp_f32_exp(
                fp_f32_sub(((const uint32_t *)call->arg[row_exp__x].data)[i], max, env), env);
    }
}

/* The sum of a part of a row that begins with element `from` of y: of even elements and what comes
 * last, of odd ones, of both; of f16 by place in a vector first. */
static uint32_t exp_sum(const void *y, unsigned bits, size_t from, struct row_part p,
                        struct fp_env *env)
{
    uint32_t sum[4] = { 0, 0, 0, 0 }, lanes = 64 / bits;

    for (uint32_t i = p.begin; i < p.whole; i++)
        sum[i % lanes] = fp_f32_add(sum[i % lanes], row_element(y, bits, from + i, env), env);
    for (uint32_t k = 0; k < 2 && bits == 16; k++)
        sum[k] = fp_f32_add(sum[k], sum[k + 2], env);
    for (uint32_t i = p.end; i-- > p.whole;)
        sum[0] = fp_f32_add(sum[0], row_element(y, bits, from + i, env), env);
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
            *sum++ = exp_sum(call->arg[row_exp__y].data, bits, from, row_part(&s, k), &env);
    }
}

static uint64_t exp_cycles(const struct codelet_call *call, unsigned bits)
{
    unsigned half = bits == 16;
    unsigned vector =
        3 + 2 * (half ? arch_slots_f16exp(call->arch) : arch_slots_f32exp(call->arch));
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 5,
                                     .row = 14 + 4 * half + call->arg[row_exp__p].value,
                                     .vector = vector,
                                     .element = 2 + half,
                                     .end = vector + 2 };

    return row_cycles(call, bits, &slots);
}

/* ---- quotients and logarithms: y of whole rows, filled up ---- */

/* x times a factor that is taken as the sum of two f16. */
static uint32_t times_f16(uint16_t x, uint32_t by, struct fp_env *env)
{
    uint16_t high = fp_f16_from_f32(by, 0, env);
    uint16_t low = fp_f16_from_f32(fp_f32_sub(by, fp_f16_to_f32(high, env), env), 0, env);

    return fp_f32_sum_exact_f16_products((const uint16_t[]){ x, x },
                                         (const uint16_t[]){ high, low }, 2, env);
}

static void scale(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    const uint32_t *x = call->arg[row_scale__x].data;
    const uint16_t *half = call->arg[row_scale__x].data;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        uint32_t by = fp_f32_oox(row_total(call->arg[row_scale__sum].data,
                                           call->arg[row_scale__p].value, r, row_add, 0, &env),
                                 &env);

        for (size_t i = (size_t)r * s.pitch; i < (size_t)(r + 1) * s.pitch; i++)
            row_write(call->arg[row_scale__y].data, bits, i,
                      bits == 16 ? times_f16(half[i], by, &env) : fp_f32_mul(by, x[i], &env), &env);
    }
}

static uint64_t scale_cycles(const struct codelet_call *call, unsigned bits)
{
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 4,
                                     .row = 11 + (bits == 16 ? 6 : 0) +
                                            call->arg[row_scale__p].value +
                                            arch_slots_f32oox(call->arch),
                                     .vector = bits == 16 ? 4 : 3,
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
                                            arch_slots_f32log(call->arch),
                                     .vector = bits == 16 ? 9 : 4,
                                     .padded = 1 };

    return row_cycles(call, bits, &slots);
}

ROW_KERNEL(exp_f16, exponentials, exp_cycles, 16)
ROW_KERNEL(exp_f32, exponentials, exp_cycles, 32)
ROW_KERNEL(scale_f16, scale, scale_cycles, 16)
ROW_KERNEL(scale_f32, scale, scale_cycles, 32)
ROW_KERNEL(log_f16, logarithms, log_cycles, 16)
ROW_KERNEL(log_f32, logarithms, log_cycles, 32)
