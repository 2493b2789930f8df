/* fp8.h - 8-bit floating point of instruction set ipu21, on bit patterns: the reference meaning of
 * its conversions and of its sums of products.
 *
 * A byte is one of two formats, sign, exponent and fraction from the highest bit down: F143 with
 * exponent bias 8, F152 with bias 16. Every exponent counts, the highest too; an exponent of 0 is
 * subnormal. 0x80 is the only NaN, and there is neither -0 nor infinity. A scale, a power of two,
 * belongs to the instruction, not to the byte. Source: docs/arithmetic.md 10.
 */
#ifndef EMU_FP8_H
#define EMU_FP8_H

#include "emu/base/fp.h"

enum fp8_format { FP8_F152, FP8_F143 }; /* as in $FP_NFMT */

enum { FP8_NAN = 0x80, FP8_MAX = 0x7f };

/* The value times 2^17, an integer below 2^33 in magnitude. q must not be NaN. */
int64_t fp8_fixed(uint8_t q, enum fp8_format format);

/* q * 2^scale as f16, rounded as fp_f16_from_f64() does; NaN gives FP_F16_NAN and raises nothing.
 */
uint16_t fp8_to_f16(uint8_t q, enum fp8_format format, int scale, unsigned lane,
                    struct fp_env *env);

/* h * 2^scale, rounded to FP8, once.
 *
 * By env->rnd, or stochastically if env->stochastic: with u the unit of the last place, the
 * magnitude is cut to a multiple of u/2^8, setting the lowest bit kept if anything nonzero was cut
 * off; then r * u/2^8 is added, r being the 8 PRNG bits of the lane (0..7), and the sum is cut to a
 * multiple of u.
 *
 * Overflow: a result beyond the largest number is that number, or NaN with env->nanoo; both raise
 * OFLO. An infinite h gives NaN and raises INV; NaN gives NaN, and INV if it was signalling. What
 * rounds to zero is 0, whatever its sign. */
uint8_t fp8_from_f16(uint16_t h, enum fp8_format format, int scale, unsigned lane,
                     struct fp_env *env);

/* Eight factors, decoded. */
struct fp8_vector {
    int64_t fixed[8]; /* fp8_fixed(), 0 for NaN */
    bool nan;         /* one of them is NaN */
};
struct fp8_vector fp8_vector_of(uint64_t bytes, enum fp8_format format);

/* acc + 2^scale times the sum of x[i] * w[i], exact, rounded once to f32, nearest even.
 *
 * acc  f32 bits; a subnormal one is read as zero. scale -32..31. NaN among the factors gives NaN
 * and raises nothing. A zero sum is +0. The rest as fp_f32_add_exact_f16_products(). */
uint32_t fp8_add_exact_products(uint32_t acc, const struct fp8_vector *x,
                                const struct fp8_vector *w, int scale, struct fp_env *env);

#endif
