/* amp_oracle.h - for tests of the matrix unit: exact sums by MPFR rounded once to f32 or f16, and
 * random operands. Nothing here uses the arithmetic of emu/base/fp.h. */
#ifndef AMP_ORACLE_H
#define AMP_ORACLE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

enum { ORACLE_BITS = 512 }; /* from 2^128 down to 2^-149 times 2^-149 */

struct oracle {
    mpfr_t sum, term, factor, f16;
    int minus_zero; /* every term so far was -0 */
};

static inline void oracle_init(struct oracle *o)
{
    mpfr_inits2(ORACLE_BITS, o->sum, o->term, o->factor, (mpfr_ptr)0);
    mpfr_init2(o->f16, 11);
}

static inline void oracle_clear(struct oracle *o)
{
    mpfr_clears(o->sum, o->term, o->factor, o->f16, (mpfr_ptr)0);
    mpfr_free_cache();
}

static inline float oracle_f32_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static inline uint32_t oracle_bits_of_f32(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

static inline uint32_t oracle_flush(uint32_t v)
{
    return v & 0x7f800000 ? v : v & 0x80000000;
}

/* Value of a finite f16. */
static inline double oracle_f16(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    double v = e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);

    return h & 0x8000 ? -v : v;
}

static inline void oracle_begin(struct oracle *o, uint32_t acc)
{
    acc = oracle_flush(acc);
    mpfr_set_flt(o->sum, oracle_f32_of_bits(acc), MPFR_RNDN);
    o->minus_zero = acc == 0x80000000;
}

/* sum += x * y, exactly */
static inline void oracle_add(struct oracle *o, double x, double y)
{
    mpfr_set_d(o->term, x, MPFR_RNDN);
    mpfr_set_d(o->factor, y, MPFR_RNDN);
    mpfr_mul(o->term, o->term, o->factor, MPFR_RNDN);
    o->minus_zero &= mpfr_zero_p(o->term) && mpfr_signbit(o->term);
    mpfr_add(o->sum, o->sum, o->term, MPFR_RNDN);
}

static inline void oracle_add_f32(struct oracle *o, uint32_t x, uint32_t y)
{
    oracle_add(o, oracle_f32_of_bits(oracle_flush(x)), oracle_f32_of_bits(oracle_flush(y)));
}

/* The sum, rounded to nearest even; subnormals flushed. */
static inline uint32_t oracle_end(struct oracle *o)
{
    if (mpfr_zero_p(o->sum))
        return o->minus_zero ? 0x80000000 : 0;
    return oracle_flush(oracle_bits_of_f32(mpfr_get_flt(o->sum, MPFR_RNDN)));
}

/* acc + four f16 products */
static inline uint32_t oracle_dot(struct oracle *o, uint32_t acc, const uint16_t x[4],
                                  const uint16_t w[4])
{
    oracle_begin(o, acc);
    for (int i = 0; i < 4; i++)
        oracle_add(o, oracle_f16(x[i]), oracle_f16(w[i]));
    return oracle_end(o);
}

/* A finite f32 to f16, nearest even, clipped. */
static inline uint16_t oracle_to_f16(struct oracle *o, uint32_t v)
{
    uint16_t sign = (uint16_t)(v >> 16 & 0x8000);
    mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    double m;
    int t, e;

    v = oracle_flush(v);
    if (!(v << 1))
        return sign;
    mpfr_set_emin(-23); /* 2^-24 is 0.5 times 2^-23 */
    mpfr_set_emax(16);
    t = mpfr_set_flt(o->f16, oracle_f32_of_bits(v & 0x7fffffff), MPFR_RNDN);
    t = mpfr_check_range(o->f16, t, MPFR_RNDN);
    mpfr_subnormalize(o->f16, t, MPFR_RNDN);
    m = mpfr_get_d(o->f16, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    if (m > 65504)
        return sign | 0x7bff;
    if (m < 0x1p-14)
        return sign | (uint16_t)ldexp(m, 24);
    m = frexp(m, &e); /* in [0.5, 1) */
    return sign | (uint16_t)(((unsigned)(e + 14) << 10) + (unsigned)ldexp(m, 11) - 1024);
}

/* The same with 13 random bits r: what f16 stochastic rounding is defined as (docs/arithmetic.md
 * 3). */
static inline uint16_t oracle_to_f16_stochastic(uint32_t v, unsigned r)
{
    uint16_t sign = (uint16_t)(v >> 16 & 0x8000);
    double m = fabs((double)oracle_f32_of_bits(oracle_flush(v))), steps, q;
    int e;

    if (m == 0)
        return sign;
    (void)frexp(m, &e);
    e = e - 1 < -14 ? -14 : e - 1;
    q = ldexp(1, e - 10);
    steps = floor(m / q * 8192);
    if (steps != m / q * 8192) /* something cut off: it sets the last bit, if that is not set */
        steps = 2 * floor(steps / 2) + 1;
    m = floor((steps + r) / 8192) * q;
    if (m >= 65536)
        return sign | 0x7bff;
    if (m < 0x1p-14)
        return sign | (uint16_t)ldexp(m, 24);
    m = frexp(m, &e);
    return sign | (uint16_t)(((unsigned)(e + 14) << 10) + (unsigned)ldexp(m, 11) - 1024);
}

/* ---- random operands ---- */

static inline uint64_t oracle_random(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline unsigned oracle_below(uint64_t *seed, unsigned n)
{
    return (unsigned)((oracle_random(seed) >> 32) * n >> 32);
}

/* An integer in -limit .. limit as f16; limit at most 2048. */
static inline uint16_t oracle_integer(uint64_t *seed, int limit)
{
    int n = (int)oracle_below(seed, 2 * (unsigned)limit + 1) - limit, m = abs(n), e;
    double f = frexp(m, &e);

    if (!m)
        return 0;
    return (uint16_t)((n < 0 ? 0x8000u : 0) + ((unsigned)(e + 14) << 10) + (unsigned)ldexp(f, 11) -
                      1024);
}

/* A finite f16 of exponent field lo .. hi (0: subnormal), any sign, sometimes zero. */
static inline uint16_t oracle_half(uint64_t *seed, unsigned lo, unsigned hi)
{
    uint64_t z = oracle_random(seed);

    if ((z >> 60) == 0)
        return (uint16_t)(z & 0x8000);
    return (uint16_t)((z & 0x83ff) | (lo + oracle_below(seed, hi - lo + 1)) << 10);
}

/* A finite f32 of exponent field lo .. hi. */
static inline uint32_t oracle_single(uint64_t *seed, unsigned lo, unsigned hi)
{
    return (uint32_t)(oracle_random(seed) & 0x807fffff) | (lo + oracle_below(seed, hi - lo + 1))
                                                              << 23;
}

#endif
