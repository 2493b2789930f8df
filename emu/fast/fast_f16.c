/* fast_f16.c - f16 arithmetic, limits and comparisons for all workers at once, two lanes of f16 in
 * each worker lane.
 *
 * Arithmetic is done in f32 and rounded a second time. That gives the bits of one rounding: a
 * product of two f16 is exact in f32; a sum that is not has 24 = 2 * 11 + 2 bits in f32, enough for
 * the second rounding to be harmless (Figueroa 1995), and sums below the normal range of f16 are
 * exact. Compared once with the plain sum and product for all pairs of finite operands. Other
 * rounding modes and stochastic rounding go to the plain functions. */
#include "emu/fast/fast_fp.h"

typedef v8u f16_lanes_fn(v8u a, v8u b);

FAST_INLINE v8u f16_add(v8u a, v8u b)
{
    return f16_narrow(_mm256_add_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_add_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u f16_sub(v8u a, v8u b)
{
    return f16_narrow(_mm256_sub_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_sub_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u f16_mul(v8u a, v8u b)
{
    return f16_narrow(_mm256_mul_ps(f16_widen_low(a), f16_widen_low(b)),
                      _mm256_mul_ps(f16_widen_high(a), f16_widen_high(b)));
}

FAST_INLINE v8u f16_absadd(v8u a, v8u b)
{
    return f16_add(a & 0x7fff7fff, b & 0x7fff7fff);
}

/* Numbers as integers of the same order, -0 below +0; the map is its own inverse. */
FAST_INLINE __m256i rank(v8u x)
{
    return (__m256i)((v16s)x ^ ((v16s)x >> 15 & 0x7fff));
}

FAST_INLINE v8u f16_max(v8u a, v8u b)
{
    return (v8u)rank((v8u)_mm256_max_epi16(rank(a), rank(b)));
}

FAST_INLINE v8u f16_min(v8u a, v8u b)
{
    return (v8u)rank((v8u)_mm256_min_epi16(rank(a), rank(b)));
}

FAST_INLINE v8u f16_absmax(v8u a, v8u b)
{
    return (v8u)_mm256_max_epi16((__m256i)(a & 0x7fff7fff), (__m256i)(b & 0x7fff7fff));
}

/* Numbers as integers of the same order, both zeros 0: the magnitude with its sign. */
FAST_INLINE v16s number(v8u x)
{
    return (v16s)_mm256_sign_epi16((__m256i)(x & 0x7fff7fff), (__m256i)x);
}

FAST_INLINE v8u f16_cmpeq(v8u a, v8u b)
{
    return (v8u)(number(a) == number(b));
}

FAST_INLINE v8u f16_cmpne(v8u a, v8u b)
{
    return (v8u)(number(a) != number(b));
}

FAST_INLINE v8u f16_cmplt(v8u a, v8u b)
{
    return (v8u)(number(a) < number(b));
}

FAST_INLINE v8u f16_cmple(v8u a, v8u b)
{
    return (v8u)(number(a) <= number(b));
}

FAST_INLINE v8u f16_cmpgt(v8u a, v8u b)
{
    return f16_cmplt(b, a);
}

FAST_INLINE v8u f16_cmpge(v8u a, v8u b)
{
    return f16_cmple(b, a);
}

/* How the first source is read. */
enum source { PLAIN, LOW, HIGH };

FAST_INLINE v8u first_source(const struct tile *t, const struct insn *in, unsigned k,
                             enum source source)
{
    if (source == LOW)
        return f16_twice_low(fast_a(t, in->a));
    if (source == HIGH)
        return f16_twice_high(fast_a(t, in->a));
    return fast_a(t, in->a + k);
}

/* Operations that round, on one or two registers. Operands that are infinite or NaN show in the
 * result. */
FAST_INLINE int rounding(struct tile *t, uint32_t lanes, const struct insn *in, f16_lanes_fn *op,
                         unsigned words, enum source source)
{
    v8u r0, r1, rare;

    if (f16_rounds_otherwise(t, lanes))
        return 0;
    r0 = r1 = op(first_source(t, in, 0, source), fast_a(t, in->b));
    if (words == 2)
        r1 = op(first_source(t, in, 1, source), fast_a(t, in->b + 1u));
    rare = f16_special(r0) | f16_special(r1);
    if (is_rare(rare, lanes))
        return 0;
    put_a(t, lanes, in->d, words, r0, r1);
    return 1;
}

/* Operations that choose or compare, on one or two registers. */
FAST_INLINE int picking(struct tile *t, uint32_t lanes, const struct insn *in, f16_lanes_fn *op,
                        unsigned words, enum source source)
{
    v8u a0 = first_source(t, in, 0, source), b0 = fast_a(t, in->b), a1 = a0, b1 = b0;
    v8u rare = f16_nan(a0) | f16_nan(b0);

    if (words == 2) {
        a1 = first_source(t, in, 1, source);
        b1 = fast_a(t, in->b + 1u);
        rare |= f16_nan(a1) | f16_nan(b1);
    }
    if (is_rare(rare, lanes))
        return 0;
    put_a(t, lanes, in->d, words, op(a0, b0), op(a1, b1));
    return 1;
}

/* min(max(A, lo), hi) with the halves of B as bounds, on one or two registers. */
FAST_INLINE int clamp(struct tile *t, uint32_t lanes, const struct insn *in, unsigned words)
{
    v8u a0 = fast_a(t, in->a), a1 = words == 2 ? fast_a(t, in->a + 1u) : a0;
    v8u b = fast_a(t, in->b), lo = f16_twice_low(b), hi = f16_twice_high(b);

    if (is_rare(f16_nan(a0) | f16_nan(a1) | f16_nan(b), lanes))
        return 0;
    put_a(t, lanes, in->d, words, f16_min(f16_max(a0, lo), hi), f16_min(f16_max(a1, lo), hi));
    return 1;
}

int fast_f16v2add(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 1, PLAIN);
}

int fast_f16v2add_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 1, LOW);
}

int fast_f16v2add_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 1, HIGH);
}

int fast_f16v4add(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 2, PLAIN);
}

int fast_f16v4add_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 2, LOW);
}

int fast_f16v4add_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_add, 2, HIGH);
}

int fast_f16v2sub(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 1, PLAIN);
}

int fast_f16v2sub_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 1, LOW);
}

int fast_f16v2sub_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 1, HIGH);
}

int fast_f16v4sub(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 2, PLAIN);
}

int fast_f16v4sub_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 2, LOW);
}

int fast_f16v4sub_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_sub, 2, HIGH);
}

int fast_f16v2mul(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 1, PLAIN);
}

int fast_f16v2mul_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 1, LOW);
}

int fast_f16v2mul_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 1, HIGH);
}

int fast_f16v4mul(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 2, PLAIN);
}

int fast_f16v4mul_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 2, LOW);
}

int fast_f16v4mul_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 2, HIGH);
}

int fast_f16v4mul_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_mul, 2, LOW);
}

int fast_f16v2absadd(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_absadd, 1, PLAIN);
}

int fast_f16v2absmax(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_absmax, 1, PLAIN);
}

int fast_f16v2max(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_max, 1, PLAIN);
}

int fast_f16v2min(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_min, 1, PLAIN);
}

int fast_f16v2cmpeq(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 1, PLAIN);
}

int fast_f16v2cmpeq_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 1, LOW);
}

int fast_f16v2cmpeq_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 1, HIGH);
}

int fast_f16v2cmpne(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 1, PLAIN);
}

int fast_f16v2cmpne_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 1, LOW);
}

int fast_f16v2cmpne_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 1, HIGH);
}

int fast_f16v2cmplt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 1, PLAIN);
}

int fast_f16v2cmplt_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 1, LOW);
}

int fast_f16v2cmplt_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 1, HIGH);
}

int fast_f16v2cmple(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 1, PLAIN);
}

int fast_f16v2cmple_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 1, LOW);
}

int fast_f16v2cmple_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 1, HIGH);
}

int fast_f16v2cmpgt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 1, PLAIN);
}

int fast_f16v2cmpgt_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 1, LOW);
}

int fast_f16v2cmpgt_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 1, HIGH);
}

int fast_f16v2cmpge(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 1, PLAIN);
}

int fast_f16v2cmpge_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 1, LOW);
}

int fast_f16v2cmpge_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 1, HIGH);
}

int fast_f16v4absadd(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return rounding(t, lanes, in, f16_absadd, 2, PLAIN);
}

int fast_f16v4absmax(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_absmax, 2, PLAIN);
}

int fast_f16v4max(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_max, 2, PLAIN);
}

int fast_f16v4min(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_min, 2, PLAIN);
}

int fast_f16v4cmpeq(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 2, PLAIN);
}

int fast_f16v4cmpeq_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 2, LOW);
}

int fast_f16v4cmpeq_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpeq, 2, HIGH);
}

int fast_f16v4cmpne(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 2, PLAIN);
}

int fast_f16v4cmpne_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 2, LOW);
}

int fast_f16v4cmpne_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpne, 2, HIGH);
}

int fast_f16v4cmplt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 2, PLAIN);
}

int fast_f16v4cmplt_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 2, LOW);
}

int fast_f16v4cmplt_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmplt, 2, HIGH);
}

int fast_f16v4cmple(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 2, PLAIN);
}

int fast_f16v4cmple_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 2, LOW);
}

int fast_f16v4cmple_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmple, 2, HIGH);
}

int fast_f16v4cmpgt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 2, PLAIN);
}

int fast_f16v4cmpgt_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 2, LOW);
}

int fast_f16v4cmpgt_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpgt, 2, HIGH);
}

int fast_f16v4cmpge(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 2, PLAIN);
}

int fast_f16v4cmpge_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 2, LOW);
}

int fast_f16v4cmpge_bu(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return picking(t, lanes, in, f16_cmpge, 2, HIGH);
}

int fast_f16v2clamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return clamp(t, lanes, in, 1);
}

int fast_f16v4clamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return clamp(t, lanes, in, 2);
}
