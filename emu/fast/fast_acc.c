/* fast_acc.c - sums, squares and products into the even accumulators, for all workers at once.
 * Plain meaning: emu/exec/exec_acc.c.
 *
 * Accumulators are contiguous per worker, so operands are brought into that order: quads hold four
 * accumulators of each worker, pairs two, octets eight. A new accumulator that is NaN or infinite
 * leaves the instruction to the plain functions.
 */
#include "emu/fast/fast_exact.h"
#include "emu/fast/fast_round.h"

/* ---- four values of every worker ---- */

/* v[k]: worker 2k in the low half, 2k + 1 in the high one. */
struct quads {
    v8u v[TILE_WORKERS / 2];
};

#define FOR_QUADS(k) _Pragma("GCC unroll 3") for (unsigned k = 0; k < TILE_WORKERS / 2; k++)

FAST_INLINE __m128i load4(const uint32_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}

FAST_INLINE struct quads quads_even(const struct tile *t)
{
    struct quads q;

    FOR_QUADS(k)
    q.v[k] = (v8u)_mm256_set_m128i(load4(t->acc[2 * k + 1]), load4(t->acc[2 * k]));
    return q;
}

/* Four rows, transposed. */
FAST_INLINE struct quads quads_of_rows(v8u r0, v8u r1, v8u r2, v8u r3)
{
    __m256i a = _mm256_unpacklo_epi32((__m256i)r0, (__m256i)r1);
    __m256i b = _mm256_unpackhi_epi32((__m256i)r0, (__m256i)r1);
    __m256i c = _mm256_unpacklo_epi32((__m256i)r2, (__m256i)r3);
    __m256i d = _mm256_unpackhi_epi32((__m256i)r2, (__m256i)r3);
    /* workers 0 and 4, 1 and 5, 2, 3 */
    __m256i w0 = _mm256_unpacklo_epi64(a, c), w1 = _mm256_unpackhi_epi64(a, c);
    __m256i w2 = _mm256_unpacklo_epi64(b, d), w3 = _mm256_unpackhi_epi64(b, d);

    return (struct quads){ { (v8u)_mm256_permute2x128_si256(w0, w1, 0x20),
                             (v8u)_mm256_permute2x128_si256(w2, w3, 0x20),
                             (v8u)_mm256_permute2x128_si256(w0, w1, 0x31) } };
}

/* The four f16 of two rows, widened. */
FAST_INLINE struct quads quads_of_f16(v8u r0, v8u r1)
{
    __m256i low = _mm256_unpacklo_epi32((__m256i)r0, (__m256i)r1);
    __m256i high = _mm256_unpackhi_epi32((__m256i)r0, (__m256i)r1);

    return (struct quads){ { (v8u)_mm256_cvtph_ps(_mm256_castsi256_si128(low)),
                             (v8u)_mm256_cvtph_ps(_mm256_castsi256_si128(high)),
                             (v8u)_mm256_cvtph_ps(_mm256_extracti128_si256(low, 1)) } };
}

/* Whether a participating worker has a NaN or infinity. */
FAST_INLINE bool quads_special(struct quads q, uint32_t lanes)
{
    v8u any = f32_special(q.v[0]) | f32_special(q.v[1]) | f32_special(q.v[2]);

    if (EMU_LIKELY(_mm256_testz_si256((__m256i)any, (__m256i)any)))
        return false;
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        unsigned m = (unsigned)_mm256_movemask_ps((__m256)f32_special(q.v[lane / 2]));

        if (lanes >> lane & 1 && m >> 4 * (lane % 2) & 15)
            return true;
    }
    return false;
}

/* The first four even accumulators become q, subnormals flushed. 0, nothing changed, if one is
 * special. */
FAST_INLINE int set_even(struct tile *t, uint32_t lanes, struct quads q)
{
    if (EMU_UNLIKELY(quads_special(q, lanes)))
        return 0;
    FOR_QUADS(k)
    {
        __m256i v = (__m256i)f32_flush(q.v[k]);

        if (lanes >> 2 * k & 1)
            _mm_storeu_si128((__m128i *)t->acc[2 * k], _mm256_castsi256_si128(v));
        if (lanes >> (2 * k + 1) & 1)
            _mm_storeu_si128((__m128i *)t->acc[2 * k + 1], _mm256_extracti128_si256(v, 1));
    }
    acc_changed(t);
    return 1;
}

/* ---- arithmetic on lanes ---- */

enum fast_term { TERM_PLAIN, TERM_ABS, TERM_SQUARE };

FAST_INLINE v8u add8(v8u a, v8u b)
{
    return (v8u)_mm256_add_ps((__m256)a, (__m256)b);
}

FAST_INLINE v8u mul8(v8u a, v8u b)
{
    return (v8u)_mm256_mul_ps((__m256)a, (__m256)b);
}

FAST_INLINE v8u fma8(v8u a, v8u b, v8u c)
{
    return (v8u)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}

/* acc + term(x), rounded once. The square of a widened f16 is exact in f32, so that this holds for
 * both formats. */
FAST_INLINE v8u accumulate8(v8u acc, v8u x, enum fast_term term)
{
    acc = f32_flush(acc);
    if (term == TERM_SQUARE)
        return fma8(x, x, acc);
    return add8(acc, term == TERM_ABS ? x & 0x7fffffff : x);
}

/* ---- f32v4acc, f16v4acc and their variants ---- */

FAST_INLINE int accumulate4(struct tile *t, uint32_t lanes, struct quads x, enum fast_term term)
{
    struct quads q = quads_even(t);

    FOR_QUADS(k)
    q.v[k] = accumulate8(q.v[k], x.v[k], term);
    return set_even(t, lanes, q);
}

FAST_INLINE int f32_accumulate(struct tile *t, uint32_t lanes, const struct insn *in,
                               enum fast_term term)
{
    v8u r[4];

#pragma GCC unroll 8
    for (unsigned k = 0; k < 4; k++)
        r[k] = f32_flush(fast_a(t, in->a + k));
    return accumulate4(t, lanes, quads_of_rows(r[0], r[1], r[2], r[3]), term);
}

int fast_f32v4acc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_accumulate(t, lanes, in, TERM_PLAIN);
}

int fast_f32v4absacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_accumulate(t, lanes, in, TERM_ABS);
}

int fast_f32v4sqacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_accumulate(t, lanes, in, TERM_SQUARE);
}

int fast_f16v4acc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return accumulate4(t, lanes, quads_of_f16(fast_a(t, in->a), fast_a(t, in->a + 1)), TERM_PLAIN);
}

int fast_f16v4absacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return accumulate4(t, lanes, quads_of_f16(fast_a(t, in->a), fast_a(t, in->a + 1)), TERM_ABS);
}

/* ---- f16v8acc and its variants: a vector per worker ---- */

FAST_INLINE int accumulate_octets(struct tile *t, uint32_t lanes, const struct insn *in,
                                  enum fast_term term)
{
    struct quads words = quads_of_rows(fast_a(t, in->a), fast_a(t, in->a + 1), fast_a(t, in->a + 2),
                                       fast_a(t, in->a + 3));
    v8u sum[TILE_WORKERS], special = { 0 };

#pragma GCC unroll 8
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        __m256i w = (__m256i)words.v[lane / 2];
        __m128i half = lane % 2 ? _mm256_extracti128_si256(w, 1) : _mm256_castsi256_si128(w);

        if (!(lanes >> lane & 1))
            continue;
        sum[lane] = accumulate8(fast_load(t->acc[lane]), (v8u)_mm256_cvtph_ps(half), term);
        special |= f32_special(sum[lane]);
    }
    if (EMU_UNLIKELY(!_mm256_testz_si256((__m256i)special, (__m256i)special)))
        return 0;
#pragma GCC unroll 8
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        if (lanes >> lane & 1)
            _mm256_storeu_si256((__m256i *)t->acc[lane], (__m256i)f32_flush(sum[lane]));
    acc_changed(t);
    return 1;
}

int fast_f16v8acc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return accumulate_octets(t, lanes, in, TERM_PLAIN);
}

int fast_f16v8absacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return accumulate_octets(t, lanes, in, TERM_ABS);
}

int fast_f16v8sqacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return accumulate_octets(t, lanes, in, TERM_SQUARE);
}

/* ---- one accumulator of every worker as a row ---- */

FAST_INLINE v8u even_row(const struct tile *t, unsigned unit)
{
    v8u v = { 0 };

#pragma GCC unroll 8
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        v[lane] = t->acc[lane][unit];
    return v;
}

/* Sets E(0) .. E(n - 1), subnormals flushed. 0, nothing changed, if one is special. */
FAST_INLINE int set_even_rows(struct tile *t, uint32_t lanes, const v8u *row, unsigned n)
{
    v8u special = f32_special(row[0]);

#pragma GCC unroll 8
    for (unsigned k = 1; k < n; k++)
        special |= f32_special(row[k]);
    if (is_rare(special, lanes))
        return 0;
#pragma GCC unroll 8
    for (unsigned k = 0; k < n; k++) {
        v8u v = f32_flush(row[k]);

#pragma GCC unroll 8
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            if (lanes >> lane & 1)
                t->acc[lane][k] = v[lane];
    }
    acc_changed(t);
    return 1;
}

/* E(k) += the two products of row k of A and of B, by the method of fast_exact.h. */
FAST_INLINE int f16_cmac(struct tile *t, uint32_t lanes, const struct insn *in, unsigned words)
{
    v8u sum[2], mask = fast_mask(lanes);

#pragma GCC unroll 8
    for (unsigned k = 0; k < words; k++) {
        v8u a = fast_a(t, in->a + k) & mask, b = fast_a(t, in->b + k) & mask;
        v8u acc = even_row(t, k) & mask;
        __m128 part[2];

        if (is_rare(f16_special(a) | f16_special(b), lanes))
            return 0;
#pragma GCC unroll 2
        for (unsigned h = 0; h < 2; h++) {
            /* Four workers: halves in the order lane 0, lane 1 of each. */
            __m256i wide = h ? _mm256_permute4x64_epi64((__m256i)acc, 0xee) : (__m256i)acc;
            __m256 x = h ? f16_widen_high(a) : f16_widen_low(a);
            __m256 y = h ? f16_widen_high(b) : f16_widen_low(b);
            __m128 s = _mm_castsi128_ps(_mm256_castsi256_si128(wide));

            if (!exact_acc_ok(s))
                return 0;
            part[h] = exact_dot2(s, x, y);
        }
        sum[k] = (v8u)_mm256_set_m128(part[1], part[0]);
    }
    return set_even_rows(t, lanes, sum, words);
}

int fast_f16v2cmac(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_cmac(t, lanes, in, 1);
}

int fast_f16v4cmac(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_cmac(t, lanes, in, 2);
}

FAST_INLINE int f32_mac(struct tile *t, uint32_t lanes, const struct insn *in, unsigned words)
{
    v8u sum[2];

#pragma GCC unroll 8
    for (unsigned k = 0; k < words; k++)
        sum[k] = fma8(f32_flush(fast_a(t, in->a + k)), f32_flush(fast_a(t, in->b + k)),
                      f32_flush(even_row(t, k)));
    return set_even_rows(t, lanes, sum, words);
}

int fast_f32mac(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_mac(t, lanes, in, 1);
}

int fast_f32v2mac(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f32_mac(t, lanes, in, 2);
}

int fast_f32v2axpy(struct tile *t, uint32_t lanes, const struct insn *in)
{
    const struct f32_pairs old = fast_acc_pairs(t, 0);
    v8u scale = f32_flush(fast_load(t->tas)), sum[2];

#pragma GCC unroll 8
    for (unsigned k = 0; k < 2; k++)
        sum[k] = fma8(scale, f32_flush(fast_a(t, in->a + k)), f32_flush(fast_a(t, in->b + k)));
    if (!set_even_rows(t, lanes, sum, 2))
        return 0;
    fast_set_pairs(t, lanes, in->d, old);
    return 1;
}

int fast_f32v2aop(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u sum[4];

#pragma GCC unroll 8
    for (unsigned k = 0; k < 4; k++)
        sum[k] = fma8(f32_flush(fast_a(t, in->a + k % 2)), f32_flush(fast_a(t, in->b + k / 2)),
                      f32_flush(even_row(t, k)));
    return set_even_rows(t, lanes, sum, 4);
}

/* ---- f16v4mix, f16v4gacc ---- */

/* E(0) .. E(3) as f16 rows. */
FAST_INLINE bool round_even(const struct tile *t, uint32_t lanes, struct fast_rounding *rounding,
                            v8u row[2])
{
    return fast_rounding_begin(t, lanes, rounding) &&
           fast_round_pairs(rounding, fast_acc_pairs(t, 0), 0, lanes, &row[0]) &&
           fast_round_pairs(rounding, fast_acc_pairs(t, 2), 1, lanes, &row[1]);
}

/* The products of f16 are exact in f32, so a sum of two rounds once. */
int fast_f16v4mix(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct fast_rounding rounding;
    struct quads x = quads_of_f16(fast_a(t, in->a), fast_a(t, in->a + 1));
    struct quads y = quads_of_f16(fast_a(t, in->b), fast_a(t, in->b + 1));
    v8u tas = fast_load(t->tas), low = f16_twice_low(tas), high = f16_twice_high(tas), row[2];
    struct quads p = quads_of_f16(low, low), q = quads_of_f16(high, high), sum;

    if (!round_even(t, lanes, &rounding, row))
        return 0;
    FOR_QUADS(k)
    sum.v[k] = add8(mul8(p.v[k], x.v[k]), mul8(q.v[k], y.v[k]));
    if (!set_even(t, lanes, sum))
        return 0;
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, 2, row[0], row[1]);
    return 1;
}

int fast_f16v4gacc(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct fast_rounding rounding;
    v8u row[2];

    if (!round_even(t, lanes, &rounding, row))
        return 0;
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, 2, row[0], row[1]);
    return 1;
}
