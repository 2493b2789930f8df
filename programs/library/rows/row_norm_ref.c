/* row_norm_ref.c - row_deviation_*, row_norm_*, row_norm_columns_*: meaning and cycles. */
#include "emu/arch/arch_numbers.h"
#include "programs/library/rows/row_ref.h"

enum { LANES = 4, PARTIALS_SLOTS = 6 }; /* PARTIALS of rows.inc, without p */

/* Minus the mean of a row. */
static uint32_t less_mean(const void *sum, uint32_t p, uint32_t row, uint32_t inverse,
                          struct fp_env *env)
{
    uint32_t total = row_total(sum, p, row, row_add, 0, env);

    return fp_f32_sub(0, fp_f32_mul(total, inverse, env), env);
}

/* ---- squares of deviations ---- */

static uint32_t squares_of_part(const void *x, unsigned bits, struct row_part p, uint32_t less,
                                struct fp_env *env)
{
    uint32_t lane[LANES] = { 0 }, lanes = 64 / bits, sum;

    for (uint32_t i = p.begin; i < p.whole; i++) {
        uint32_t d = fp_f32_add(less, row_element(x, bits, i, env), env);

        lane[i % lanes] = fp_f32_fma(d, d, lane[i % lanes], env);
    }
    for (uint32_t k = 0; k < 2 && lanes == LANES; k++)
        lane[k] = fp_f32_add(lane[k], lane[k + 2], env);
    sum = fp_f32_add(lane[0], lane[1], env);
    for (uint32_t i = p.end; i-- > p.whole;) {
        uint32_t d = fp_f32_add(row_element(x, bits, i, env), less, env);

        sum = fp_f32_add(sum, fp_f32_mul(d, d, env), env);
    }
    return sum;
}

static void deviation(const struct codelet_call *call, unsigned bits)
{
    struct row_share s = row_share(call, bits);
    uint32_t *out = call->arg[row_deviation__out].data;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        const uint8_t *x =
            (const uint8_t *)call->arg[row_deviation__x].data + (size_t)r * s.pitch * (bits / 8);
        uint32_t less =
            less_mean(call->arg[row_deviation__sum].data, call->arg[row_deviation__p].value, r,
                      call->arg[row_deviation__inverse].value, &env);

        for (uint32_t k = 0; k < s.parts; k++)
            *out++ = squares_of_part(x, bits, row_part(&s, k), less, &env);
    }
}

static uint64_t deviation_cycles(const struct codelet_call *call, unsigned bits)
{
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 3,
                                     .row = PARTIALS_SLOTS + call->arg[row_deviation__p].value +
                                            (bits == 16 ? 13 : 11),
                                     .vector = bits == 16 ? 6 : 3,
                                     .element = bits == 16 ? 5 : 4 };

    return row_cycles(call, bits, &slots);
}

/* ---- scale and shift ---- */

/* 1 / the root of the mean square of the deviations of a row, plus eps. */
static uint32_t less_deviation(const struct codelet_call *call, uint32_t row, struct fp_env *env)
{
    uint32_t total = row_total(call->arg[row_norm__squares].data, call->arg[row_norm__p].value, row,
                               row_add, 0, env);
    uint32_t square = fp_f32_mul(total, call->arg[row_norm__inverse].value, env);

    return fp_f32_oorx(fp_f32_add(square, call->arg[row_norm__eps].value, env), env);
}

static void norm(const struct codelet_call *call, unsigned bits, int by_columns)
{
    struct row_share s = row_share(call, bits);
    const uint32_t *params = call->arg[row_norm__params].data;
    struct fp_env env = { 0 };

    for (uint32_t r = 0; r < s.rows; r++) {
        uint32_t by = less_deviation(call, r, &env);
        uint32_t less = less_mean(call->arg[row_norm__sum].data, call->arg[row_norm__p].value, r,
                                  call->arg[row_norm__inverse].value, &env);

        if (!by_columns)
            by = fp_f32_mul(by, params[2 * r], &env);
        for (uint32_t c = 0; c < s.pitch; c++) {
            const uint32_t *own = params + c / 2 * 4 + c % 2; /* scale; shift two further */
            size_t i = (size_t)r * s.pitch + c;
            uint32_t v =
                fp_f32_add(less, row_element(call->arg[row_norm__x].data, bits, i, &env), &env);

            v = fp_f32_mul(by, v, &env);
            v = by_columns ? fp_f32_add(fp_f32_mul(v, own[0], &env), own[2], &env)
                           : fp_f32_add(params[2 * r + 1], v, &env);
            row_write(call->arg[row_norm__y].data, bits, i, v, &env);
        }
    }
}

static void norm_by_rows(const struct codelet_call *call, unsigned bits)
{
    norm(call, bits, 0);
}

static void norm_by_columns(const struct codelet_call *call, unsigned bits)
{
    norm(call, bits, 1);
}

static uint64_t norm_cycles(const struct codelet_call *call, unsigned bits, unsigned once,
                            unsigned row, unsigned vector)
{
    unsigned moments =
        2 * (PARTIALS_SLOTS + call->arg[row_norm__p].value) + 6 + arch_slots_f32oorx(call->arch);
    const struct row_slots slots = { .once = ROW_SHARE_SLOTS + ROW_PARTIALS_SLOTS + 3 + once,
                                     .row = moments + row,
                                     .vector = vector,
                                     .padded = 1 };

    return row_cycles(call, bits, &slots);
}

static uint64_t by_rows_cycles(const struct codelet_call *call, unsigned bits)
{
    return norm_cycles(call, bits, 4, 8, bits == 16 ? 11 : 5);
}

static uint64_t by_columns_cycles(const struct codelet_call *call, unsigned bits)
{
    return norm_cycles(call, bits, 1, 8, bits == 16 ? 13 : 6);
}

ROW_KERNEL(deviation_f16, deviation, deviation_cycles, 16)
ROW_KERNEL(deviation_f32, deviation, deviation_cycles, 32)
ROW_KERNEL(norm_f16, norm_by_rows, by_rows_cycles, 16)
ROW_KERNEL(norm_f32, norm_by_rows, by_rows_cycles, 32)
ROW_KERNEL(norm_columns_f16, norm_by_columns, by_columns_cycles, 16)
ROW_KERNEL(norm_columns_f32, norm_by_columns, by_columns_cycles, 32)
