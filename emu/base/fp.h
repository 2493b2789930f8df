/* fp.h - scalar floating point on bit patterns: what one lane of an instruction computes.
 *
 * A value is a uint32_t (f32) or a uint16_t (f16); rounding mode, PRNG bits and raised exceptions
 * are in struct fp_env. These functions are the reference meaning; fast paths are compared with
 * them. They use only IEEE operations of the host in its default rounding, so their bits depend on
 * neither compiler nor libm, and MXCSR is never read or written.
 *
 * Rules shared by all (docs/arithmetic.md 1 to 3; docs/facts.md, rows "fp:", lists what is not
 * published and therefore defined here):
 *
 * - f32 operands: subnormals are read as zero of the same sign, except by fp_f32_class().
 * - f32 results: the IEEE result, rounded to nearest even at subnormal precision, then replaced by
 *   zero of the same sign if it is subnormal; so a value that rounds up to 2^-126 stays 2^-126.
 *   Rounding is never stochastic and never by RND, except from integers to f32.
 * - f16: subnormals are ordinary operands and results.
 * - NaN: results are FP_F32_NAN or FP_F16_NAN, whatever the operands' payloads.
 * - INV: a NaN made of operands that are not NaN, or any signalling operand. A quiet NaN raises
 *   nothing, except in conversions to integers, where every NaN and every saturation raises INV.
 * - OFLO: infinity (f16: the overflow result) made of finite operands.
 * - DIV0: infinity made of a finite operand and a zero divisor; then not OFLO.
 */
#ifndef EMU_FP_H
#define EMU_FP_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "emu/base/fail.h"

enum { FP_INV = 1, FP_DIV0 = 2, FP_OFLO = 4 }; /* as bits 0..2 of $FP_STS */

enum { FP_RND_NEAREST, FP_RND_UP, FP_RND_DOWN, FP_RND_ZERO }; /* $FP_CTL.RND, immediate of f32int */

struct fp_env {
    uint8_t flags;      /* out: exceptions raised, or-ed in */
    uint8_t rnd;        /* $FP_CTL.RND: FP_RND_*; other codes are as nearest */
    uint8_t stochastic; /* $FP_CTL.ESR */
    uint8_t nanoo;      /* $FP_CTL.NANOO: overflow to f16 gives NaN, not the largest finite */
    uint64_t random;    /* PRNG output when stochastic: lane i has (random >> 16*i) & 0x1fff */
};

#define FP_F32_SIGN 0x80000000u
#define FP_F32_INF  0x7f800000u
#define FP_F32_NAN  0x7fc00000u
#define FP_F32_ONE  0x3f800000u
#define FP_F16_SIGN 0x8000u
#define FP_F16_INF  0x7c00u
#define FP_F16_NAN  0x7e00u
#define FP_F16_MAX  0x7bffu

/* Class codes of f32class and f16v*class. They look at the bits: f32 subnormals are seen, nothing
 * is raised. */
enum fp_class {
    FP_CLASS_NONE,
    FP_CLASS_SNAN,
    FP_CLASS_QNAN,
    FP_CLASS_NEG_INF,
    FP_CLASS_NEG_NORMAL,
    FP_CLASS_NEG_ZERO,
    FP_CLASS_NEG_SUBNORMAL,
    FP_CLASS_POS_SUBNORMAL,
    FP_CLASS_POS_ZERO,
    FP_CLASS_POS_NORMAL,
    FP_CLASS_POS_INF
};

/* ---- bits ---- */

static inline float fp_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t fp_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline uint64_t fp_f64_bits(double f)
{
    uint64_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline double fp_f64(uint64_t bits)
{
    double f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t fp_f32_abs(uint32_t a)
{
    return a & ~FP_F32_SIGN;
}

static inline bool fp_f32_is_nan(uint32_t a)
{
    return fp_f32_abs(a) > FP_F32_INF;
}

static inline bool fp_f32_is_snan(uint32_t a)
{
    return fp_f32_is_nan(a) && !(a & 0x00400000u);
}

static inline bool fp_f32_is_inf(uint32_t a)
{
    return fp_f32_abs(a) == FP_F32_INF;
}

/* Subnormals become zero of the same sign; everything else is unchanged. */
static inline uint32_t fp_f32_flush(uint32_t a)
{
    return a & FP_F32_INF ? a : a & FP_F32_SIGN;
}

static inline uint16_t fp_f16_abs(uint16_t a)
{
    return a & 0x7fffu;
}

static inline bool fp_f16_is_nan(uint16_t a)
{
    return fp_f16_abs(a) > FP_F16_INF;
}

static inline bool fp_f16_is_snan(uint16_t a)
{
    return fp_f16_is_nan(a) && !(a & 0x0200u);
}

static inline bool fp_f16_is_inf(uint16_t a)
{
    return fp_f16_abs(a) == FP_F16_INF;
}

/* Lane 0 is bits 15:0, lane 1 bits 31:16. */
static inline uint16_t fp_f16_lo(uint32_t pair)
{
    return (uint16_t)pair;
}

static inline uint16_t fp_f16_hi(uint32_t pair)
{
    return (uint16_t)(pair >> 16);
}

static inline uint32_t fp_f16_pack(uint16_t lo, uint16_t hi)
{
    return lo | (uint32_t)hi << 16;
}

/* ---- f32 arithmetic ---- */

/* What a host result r becomes when it is NaN, infinite, subnormal or zero. a, b, c: the operands
 * as the operation saw them (flushed), 0 where it has fewer. Raises INV and OFLO by the rules
 * above; the functions that divide raise DIV0. */
uint32_t fp_f32_settle(uint32_t r, uint32_t a, uint32_t b, uint32_t c, struct fp_env *env);

/* Exponent field neither 0 nor 255: nothing to flush, nothing to raise. */
static inline bool fp_f32_is_normal(uint32_t r)
{
    return ((r + 0x00800000u) & FP_F32_INF) > 0x00800000u;
}

static inline uint32_t fp_f32_add(uint32_t a, uint32_t b, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    r = fp_bits(fp_float(a) + fp_float(b));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, b, 0, env);
}

static inline uint32_t fp_f32_sub(uint32_t a, uint32_t b, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    r = fp_bits(fp_float(a) - fp_float(b));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, b, 0, env);
}

static inline uint32_t fp_f32_mul(uint32_t a, uint32_t b, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    r = fp_bits(fp_float(a) * fp_float(b));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, b, 0, env);
}

/* a * b + c, rounded once. */
static inline uint32_t fp_f32_fma(uint32_t a, uint32_t b, uint32_t c, struct fp_env *env)
{
    uint32_t r;

    a = fp_f32_flush(a);
    b = fp_f32_flush(b);
    c = fp_f32_flush(c);
    r = fp_bits(_mm_cvtss_f32(
        _mm_fmadd_ss(_mm_set_ss(fp_float(a)), _mm_set_ss(fp_float(b)), _mm_set_ss(fp_float(c)))));
    return EMU_LIKELY(fp_f32_is_normal(r)) ? r : fp_f32_settle(r, a, b, c, env);
}

/* |a| + |b| */
static inline uint32_t fp_f32_absadd(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_add(fp_f32_abs(a), fp_f32_abs(b), env);
}

/* a / b, correctly rounded. Finite nonzero / 0 gives a signed infinity and DIV0; 0/0 and inf/inf
 * give NaN and INV. */
uint32_t fp_f32_div(uint32_t a, uint32_t b, struct fp_env *env);

/* Correctly rounded. sqrt(-0) is -0; below zero NaN and INV. */
uint32_t fp_f32_sqrt(uint32_t a, struct fp_env *env);

/* 1/a, correctly rounded: fp_f32_div(1, a). */
uint32_t fp_f32_oox(uint32_t a, struct fp_env *env);

/* 1/sqrt(a), correctly rounded. +-0 gives +-inf and DIV0; below zero NaN and INV; +inf gives +0. */
uint32_t fp_f32_oorx(uint32_t a, struct fp_env *env);

/* IEEE 754-2008 maxNum and minNum: a number wins over a quiet NaN, +0 > -0. A signalling operand
 * gives NaN and INV. */
uint32_t fp_f32_max(uint32_t a, uint32_t b, struct fp_env *env);
uint32_t fp_f32_min(uint32_t a, uint32_t b, struct fp_env *env);

static inline uint32_t fp_f32_absmax(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_max(fp_f32_abs(a), fp_f32_abs(b), env);
}

/* min(max(a, lo), hi); NaN for a NaN a. A bound that is a quiet NaN has no effect. hi wins if lo >
 * hi. */
uint32_t fp_f32_clamp(uint32_t a, uint32_t lo, uint32_t hi, struct fp_env *env);

/* -1, 0, 1 for a <, ==, > b; FP_UNORDERED if either is NaN. Raises INV for signalling operands
 * only. */
enum { FP_UNORDERED = 2 };
int fp_f32_order(uint32_t a, uint32_t b, struct fp_env *env);

/* Lane masks 0xffffffff or 0. Unordered is false, except for ne. */
static inline uint32_t fp_f32_cmpeq(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_order(a, b, env) == 0 ? 0xffffffffu : 0;
}

static inline uint32_t fp_f32_cmpne(uint32_t a, uint32_t b, struct fp_env *env)
{
    return ~fp_f32_cmpeq(a, b, env);
}

static inline uint32_t fp_f32_cmplt(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_order(a, b, env) < 0 ? 0xffffffffu : 0;
}

static inline uint32_t fp_f32_cmple(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_order(a, b, env) <= 0 ? 0xffffffffu : 0;
}

static inline uint32_t fp_f32_cmpgt(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_order(a, b, env) == 1 ? 0xffffffffu : 0;
}

static inline uint32_t fp_f32_cmpge(uint32_t a, uint32_t b, struct fp_env *env)
{
    return fp_f32_cmpeq(a, b, env) | fp_f32_cmpgt(a, b, env);
}

enum fp_class fp_f32_class(uint32_t a);

/* ---- f32 and integers (fp_round.c) ---- */

/* Whether a magnitude whose kept part is keep must grow by one unit. rest: the part cut off, half:
 * half a unit of it, both in the same scale, half > 0. */
static inline bool fp_round_grows(uint64_t keep, uint64_t rest, uint64_t half, bool negative,
                                  unsigned rnd)
{
    switch (rnd) {
    case FP_RND_UP:
        return rest && !negative;
    case FP_RND_DOWN:
        return rest && negative;
    case FP_RND_ZERO:
        return false;
    default:
        return rest > half || (rest == half && (keep & 1));
    }
}

/* f32int: the integral f32 by mode (FP_RND_*, other codes nearest even). Keeps the sign of zero
 * results and infinities. */
uint32_t fp_f32_int(uint32_t a, unsigned mode, struct fp_env *env);

/* Rounded by env->rnd, then saturated. Saturation and infinities raise INV; NaN gives 0 and INV. */
uint32_t fp_f32_to_i32(uint32_t a, struct fp_env *env);
uint32_t fp_f32_to_u32(uint32_t a, struct fp_env *env);

/* Rounded by env->rnd; raise nothing. */
uint32_t fp_f32_from_i32(uint32_t i, const struct fp_env *env);
uint32_t fp_f32_from_u32(uint32_t u, const struct fp_env *env);

/* (u + 0.5)/2^32 - 0.5, rounded to nearest even; never zero. */
uint32_t fp_f32_sufromui(uint32_t u);

/* ---- f16 (f16.c); lane 0..3 chooses the 13 PRNG bits of a stochastic rounding ---- */

/* The value times 2^24, an integer below 2^40 in magnitude. h must be finite; the sign of zero is
 * lost. */
static inline int64_t fp_f16_fixed(uint16_t h)
{
    unsigned e = h >> 10 & 31;
    int64_t m = e ? (int64_t)((h & 0x3ff) | 0x400) << (e - 1) : h & 0x3ff;

    return h & FP_F16_SIGN ? -m : m;
}

/* Exact for finite values and infinities; any NaN becomes a quiet one. Raises nothing. */
double fp_f16_value(uint16_t h);

/* Exact, subnormals included. NaN gives FP_F32_NAN, and INV if it was signalling. */
uint32_t fp_f16_to_f32(uint16_t h, struct fp_env *env);

/* Rounds a value to f16, once.
 *
 * By env->rnd, or stochastically if env->stochastic: with q the unit of the last f16 place,
 * 2^(max(e, -14) - 10) for a magnitude in [2^e, 2^(e+1)) (so q = 2^-24 for every f16-subnormal
 * result), the magnitude is first cut to a multiple of q/2^13, setting the lowest bit kept if
 * anything nonzero was cut off; then r * q/2^13 is added, r being the 13 PRNG bits, and the sum is
 * cut to a multiple of q. An exact f16 value never changes.
 *
 * Overflow: if the result so rounded, with unbounded exponent, exceeds 65504, it is +-65504, or
 * FP_F16_NAN with env->nanoo; both raise OFLO. An infinite x gives infinity in all modes and raises
 * nothing. NaN gives FP_F16_NAN.
 *
 * from_f32 flushes subnormal x to zero first; a signalling x raises INV. from_f64 takes an exact
 * result (or one rounded to odd at 53 bits) and raises nothing for NaN: the operation that made the
 * NaN has raised what is due. */
uint16_t fp_f16_from_f32(uint32_t x, unsigned lane, struct fp_env *env);
uint16_t fp_f16_from_f64(double exact, unsigned lane, struct fp_env *env);

/* Exact, then rounded once as fp_f16_from_f64. An exact zero sum of opposite operands is +0 in all
 * rounding modes. */
uint16_t fp_f16_add(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env);
uint16_t fp_f16_sub(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env);
uint16_t fp_f16_mul(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env);

static inline uint16_t fp_f16_absadd(uint16_t a, uint16_t b, unsigned lane, struct fp_env *env)
{
    return fp_f16_add(fp_f16_abs(a), fp_f16_abs(b), lane, env);
}

/* As the f32 functions of the same name, without flushing; masks are 0xffff. */
uint16_t fp_f16_max(uint16_t a, uint16_t b, struct fp_env *env);
uint16_t fp_f16_min(uint16_t a, uint16_t b, struct fp_env *env);
uint16_t fp_f16_clamp(uint16_t a, uint16_t lo, uint16_t hi, struct fp_env *env);
int fp_f16_order(uint16_t a, uint16_t b, struct fp_env *env);
enum fp_class fp_f16_class(uint16_t a);

static inline uint16_t fp_f16_absmax(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_max(fp_f16_abs(a), fp_f16_abs(b), env);
}

static inline uint16_t fp_f16_cmpeq(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_order(a, b, env) == 0 ? 0xffffu : 0;
}

static inline uint16_t fp_f16_cmpne(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_order(a, b, env) != 0 ? 0xffffu : 0;
}

static inline uint16_t fp_f16_cmplt(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_order(a, b, env) < 0 ? 0xffffu : 0;
}

static inline uint16_t fp_f16_cmple(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_order(a, b, env) <= 0 ? 0xffffu : 0;
}

static inline uint16_t fp_f16_cmpgt(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_order(a, b, env) == 1 ? 0xffffu : 0;
}

static inline uint16_t fp_f16_cmpge(uint16_t a, uint16_t b, struct fp_env *env)
{
    return fp_f16_cmpeq(a, b, env) | fp_f16_cmpgt(a, b, env);
}

/* (u + 0.5)/2^16 - 0.5, rounded as every f16 result; never zero, because it is a multiple of 2^-17.
 */
uint16_t fp_f16_sufromui(uint16_t u, unsigned lane, struct fp_env *env);

/* ---- exact sums of f16 products (fp_dot.c) ---- */

/* acc + the sum of x[i] * w[i], exact, rounded once to f32, nearest even.
 *
 * acc  f32 bits; a subnormal one is read as zero. n 0..4 products.
 *
 * NaN and infinities as in a chain of IEEE additions: any NaN operand gives NaN (INV if one is
 * signalling); 0 * inf and opposite infinities give NaN and INV. A zero sum is -0 only if acc and
 * every product are -0. Cost: about 5 ns per product. */
uint32_t fp_f32_add_exact_f16_products(uint32_t acc, const uint16_t *x, const uint16_t *w, int n,
                                       struct fp_env *env);

/* The sum of n products alone, rounded once (f16v4mix: n = 2, w the halves of $TAS). -0 is the
 * neutral accumulator. */
static inline uint32_t fp_f32_sum_exact_f16_products(const uint16_t *x, const uint16_t *w, int n,
                                                     struct fp_env *env)
{
    return fp_f32_add_exact_f16_products(FP_F32_SIGN, x, w, n, env);
}

/* a + b, exact, rounded once to f32 (f16v2sum). */
uint32_t fp_f32_sum_exact_f16(uint16_t a, uint16_t b, struct fp_env *env);

#endif
