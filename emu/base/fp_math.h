/* fp_math.h - exp, exp2, ln, log2, tanh and sigm on bit patterns, for f32 and for one lane of f16.
 *
 * The chip's own bits are not published. Here the result is defined as the true value, rounded
 * once; so it depends on no libm, compiler or host. Operands, NaN and exceptions follow
 * emu/base/fp.h.
 */
#ifndef EMU_FP_MATH_H
#define EMU_FP_MATH_H

#include "emu/base/fp.h"

/* f32: rounded to nearest even; env->rnd and env->stochastic are ignored.
 *
 *   function  means           special operands
 *   exp       e^x             -inf: +0     overflow: +inf and OFLO
 *   exp2      2^x             the same
 *   ln        log base e      +-0: -inf and DIV0     below zero: NaN and INV     1: +0
 *   log2      log base 2      the same
 *   tanh      tanh x          +-inf: +-1   -0: -0
 *   sigm      1/(1 + e^-x)    -inf: +0     +inf: 1
 *
 * Underflow gives +0 and raises nothing. A quiet NaN gives NaN; a signalling one raises INV too.
 *
 * Cost     6 to 9 ns, f16 20 ns; one f32 operand in 2^24 and f16 sigm below 2^-14: 300 ns
 * Source   ISA names; the algorithm is ASSUMED
 * Tested   tests/emu/test_fp_math.c against MPFR; with SUPERSTEP_LONG=1 on all 2^32 operands
 */
uint32_t fp_f32_exp(uint32_t x, struct fp_env *env);
uint32_t fp_f32_exp2(uint32_t x, struct fp_env *env);
uint32_t fp_f32_ln(uint32_t x, struct fp_env *env);
uint32_t fp_f32_log2(uint32_t x, struct fp_env *env);
uint32_t fp_f32_tanh(uint32_t x, struct fp_env *env);
uint32_t fp_f32_sigm(uint32_t x, struct fp_env *env);

/* f16: as above, but subnormals are ordinary operands and results, and the true value is rounded as
 * by fp_f16_from_f64(): by env->rnd or stochastically, with lane (0..3) choosing the PRNG bits, and
 * overflow of exp and exp2 clipped or NaN by env->nanoo, with OFLO. e^inf is inf and raises
 * nothing. Tested on all operands, lanes and modes. */
uint16_t fp_f16_exp(uint16_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_exp2(uint16_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_ln(uint16_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_log2(uint16_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_tanh(uint16_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_sigm(uint16_t x, unsigned lane, struct fp_env *env);

#endif
