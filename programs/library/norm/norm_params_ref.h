/* norm_params_ref.h - what the parameters of a norm are made of, wherever a group's channels lie:
 * norm_params_f16 and norm_params_strided_f16 differ in that alone.
 */
#ifndef PROGRAMS_NORM_PARAMS_REF_H
#define PROGRAMS_NORM_PARAMS_REF_H

#include "programs/library/kernel/codelet_ref.h"

/* Mean and inverse deviation of a group; all are f32. sum: of its numbers, and of their squares;
 * inverse: 1 / how many there are. */
static inline void norm_moments(const uint32_t sum[2], uint32_t inverse, uint32_t eps,
                                uint32_t *mean, uint32_t *rstd)
{
    struct fp_env env = { 0 };
    uint32_t v;

    *mean = fp_f32_mul(inverse, sum[0], &env);
    v = fp_f32_sub(fp_f32_mul(inverse, sum[1], &env), fp_f32_mul(*mean, *mean, &env), &env);
    v = fp_f32_add(fp_f32_max(v, 0, &env), eps, &env);
    *rstd = fp_f32_oorx(v, &env);
}

/* Scale and shift of a channel, f16. The shift takes the scale as it was rounded. */
static inline void norm_scale_shift(uint32_t mean, uint32_t rstd, uint32_t gamma, uint32_t beta,
                                    uint16_t *scale, uint16_t *shift)
{
    struct fp_env env = { 0 };
    uint32_t s;

    *scale = fp_f16_from_f32(fp_f32_mul(rstd, gamma, &env), 0, &env);
    s = fp_f32_mul(mean, fp_f16_to_f32(*scale, &env), &env);
    *shift = fp_f16_from_f32(fp_f32_sub(beta, s, &env), 0, &env);
}

#endif
