/* fp_math_core.h - the six functions on doubles, without special cases; private to fp_math*.c.
 *
 * Each function has two forms. The fast one is a double within FP_FAST_ERROR of the true value,
 * relative; the _dd one is within 2^-100 and decides the few cases that the fast one leaves open.
 *
 * x   finite, not 0, at most 24 significant bits (any normal f32, any f16);
 *     |x| <= 150, for tanh 30; ln and log2 take every positive normal f32
 */
#ifndef EMU_FP_MATH_CORE_H
#define EMU_FP_MATH_CORE_H

#include "emu/base/fp_dd.h"

/* The analysis beside each fast form gives at most 2^-50.4. */
#define FP_FAST_ERROR 0x1p-49

/* ln 2, as nearest double and rest. */
#define FP_LN2_HI 0x1.62e42fefa39efp-1
#define FP_LN2_LO 0x1.abc9e3b39803fp-56

double fp_exp_fast(double x);
double fp_exp2_fast(double x);
double fp_tanh_fast(double x);
double fp_sigm_fast(double x);
double fp_ln_fast(double x);
double fp_log2_fast(double x);

struct dd fp_exp_dd(double x);
struct dd fp_exp2_dd(double x);
struct dd fp_tanh_dd(double x);
struct dd fp_sigm_dd(double x);
struct dd fp_ln_dd(double x);
struct dd fp_log2_dd(double x);

#endif
