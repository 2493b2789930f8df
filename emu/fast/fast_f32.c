/* fast_f32.c - f32 arithmetic, limits and comparisons for all workers at once.
 *
 * Host operations in round-to-nearest give the bits of emu/base/fp.h once operands and results are
 * flushed; results that are infinite or NaN, and NaN operands of the others, go to the plain
 * functions. */
#include "emu/fast/fast_fp.h"

/* One f32 in each worker lane; operands are flushed. Marks in *rare what the plain function must
 * decide. */
typedef v8u f32_lanes_fn(v8u a, v8u b, v8u *rare);

FAST_INLINE v8u settle(v8f r, v8u *rare)
{
    *rare |= f32_special((v8u)r);
    return f32_flush((v8u)r);
}

FAST_INLINE v8u f32_add(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a + (v8f)b, rare);
}

FAST_INLINE v8u f32_sub(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a - (v8f)b, rare);
}

FAST_INLINE v8u f32_mul(v8u a, v8u b, v8u *rare)
{
    return settle((v8f)a * (v8f)b, rare);
}

FAST_INLINE v8u f32_absadd(v8u a, v8u b, v8u *rare)
{
    return f32_add(a & 0x7fffffff, b & 0x7fffffff, rare);
}

/* The host gives the second of two equal operands, so the two orders differ for zeros of unlike
 * sign only. */
FAST_INLINE v8u f32_max(v8u a, v8u b, v8u *rare)
{
    __m256 x = (__m256)a, y = (__m256)b;

    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)_mm256_and_ps(_mm256_max_ps(x, y), _mm256_max_ps(y, x));
}

FAST_INLINE v8u f32_min(v8u a, v8u b, v8u *rare)
{
    __m256 x = (__m256)a, y = (__m256)b;

    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)_mm256_or_ps(_mm256_min_ps(x, y), _mm256_min_ps(y, x));
}

FAST_INLINE v8u f32_absmax(v8u a, v8u b, v8u *rare)
{
    return f32_max(a & 0x7fffffff, b & 0x7fffffff, rare);
}

FAST_INLINE v8u f32_cmpeq(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a == (v8f)b);
}

FAST_INLINE v8u f32_cmpne(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a != (v8f)b);
}

FAST_INLINE v8u f32_cmplt(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a < (v8f)b);
}

FAST_INLINE v8u f32_cmple(v8u a, v8u b, v8u *rare)
{
    *rare |= f32_nan(a) | f32_nan(b);
    return (v8u)((v8f)a <= (v8f)b);
}

FAST_INLINE v8u f32_cmpgt(v8u a, v8u b, v8u *rare)
{
    return f32_cmplt(b, a, rare);
}

FAST_INLINE v8u f32_cmpge(v8u a, v8u b, v8u *rare)
{
    return f32_cmple(b, a, rare);
}

/* aD, aA, aB of one register each. */
FAST_INLINE int one(struct tile *t, uint32_t lanes, const struct insn *in, f32_lanes_fn *op)
{
    v8u rare = { 0 };
    v8u r = op(f32_flush(fast_a(t, in->a)), f32_flush(fast_a(t, in->b)), &rare);

    if (is_rare(rare, lanes))
        return 0;
    put_a(t, lanes, in->d, 1, r, r);
    return 1;
}

/* aD, aA, aB of two registers each; the second of A is register a + a_step, so 0 broadcasts. */
FAST_INLINE int two(struct tile *t, uint32_t lanes, const struct insn *in, f32_lanes_fn *op,
                    unsigned a_step)
{
    v8u rare = { 0 };
    v8u r0 = op(f32_flush(fast_a(t, in->a)), f32_flush(fast_a(t, in->b)), &rare);
    v8u r1 = op(f32_flush(fast_a(t, in->a + a_step)), f32_flush(fast_a(t, in->b + 1u)), &rare);

    if (is_rare(rare, lanes))
        return 0;
    put_a(t, lanes, in->d, 2, r0, r1);
    return 1;
}

/* min(max(A, lo), hi) with the pair B as bounds, on one or two registers. */
FAST_INLINE int clamp(struct tile *t, uint32_t lanes, const struct insn *in, unsigned words)
{
    v8u lo = f32_flush(fast_a(t, in->b)), hi = f32_flush(fast_a(t, in->b + 1u)), rare = { 0 };
    v8u r0 = f32_min(f32_max(f32_flush(fast_a(t, in->a)), lo, &rare), hi, &rare), r1 = r0;

    if (words == 2)
        r1 = f32_min(f32_max(f32_flush(fast_a(t, in->a + 1u)), lo, &rare), hi, &rare);
    if (is_rare(rare, lanes))
        return 0;
    put_a(t, lanes, in->d, words, r0, r1);
    return 1;
}

int fast_f32add(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_add);
}

int fast_f32v2add(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_add, 1);
}

int fast_f32v2add_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_add, 0);
}

int fast_f32sub(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_sub);
}

int fast_f32v2sub(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_sub, 1);
}

int fast_f32v2sub_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_sub, 0);
}

int fast_f32mul(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_mul);
}

int fast_f32v2mul(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_mul, 1);
}

int fast_f32v2mul_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_mul, 0);
}

int fast_f32v2mul_bl(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_mul, 0);
}

int fast_f32absadd(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_absadd);
}

int fast_f32absmax(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_absmax);
}

int fast_f32max(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_max);
}

int fast_f32min(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_min);
}

int fast_f32cmpeq(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmpeq);
}

int fast_f32cmpne(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmpne);
}

int fast_f32cmplt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmplt);
}

int fast_f32cmple(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmple);
}

int fast_f32cmpgt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmpgt);
}

int fast_f32cmpge(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return one(t, lanes, in, f32_cmpge);
}

int fast_f32v2absadd(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_absadd, 1);
}

int fast_f32v2absmax(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_absmax, 1);
}

int fast_f32v2max(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_max, 1);
}

int fast_f32v2min(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_min, 1);
}

int fast_f32v2cmpeq(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpeq, 1);
}

int fast_f32v2cmpeq_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpeq, 0);
}

int fast_f32v2cmpne(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpne, 1);
}

int fast_f32v2cmpne_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpne, 0);
}

int fast_f32v2cmplt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmplt, 1);
}

int fast_f32v2cmplt_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmplt, 0);
}

int fast_f32v2cmple(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmple, 1);
}

int fast_f32v2cmple_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmple, 0);
}

int fast_f32v2cmpgt(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpgt, 1);
}

int fast_f32v2cmpgt_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpgt, 0);
}

int fast_f32v2cmpge(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpge, 1);
}

int fast_f32v2cmpge_b(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return two(t, lanes, in, f32_cmpge, 0);
}

int fast_f32clamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return clamp(t, lanes, in, 1);
}

int fast_f32v2clamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return clamp(t, lanes, in, 2);
}
