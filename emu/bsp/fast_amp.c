/* fast_amp.c - the f16 matrix and sliding instructions for all workers at once.
 *
 * Each function first decides, from the ranges of operands, whether and how the step can be done
 * with the bits of the plain functions and without exceptions, and only then changes anything. What
 * is left to the plain functions: NaN, infinities, results beyond f16, rounding modes other than
 * nearest and stochastic, accumulators of 2^34 and above or with bits below 2^-64.
 */
#include "emu/bsp/fast_amp.h"

#include "emu/bsp/fast_fp.h"
#include "emu/bsp/fast_round.h"
#include "emu/bsp/fast_weights.h"

/* ---- ranges ---- */

/* Magnitudes of f16 operands. */
struct f16_range {
    unsigned max; /* bits of the largest */
    unsigned min; /* bits of the smallest nonzero less 1, 0xffff if all are zero */
};

FAST_INLINE unsigned min_u16(__m256i v)
{
    __m128i m = _mm_min_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(m)) & 0xffff;
}

FAST_INLINE unsigned f16_max(__m256i a, __m256i b)
{
    const __m256i magnitude = _mm256_set1_epi16(0x7fff);
    __m256i max = _mm256_max_epu16(_mm256_and_si256(a, magnitude), _mm256_and_si256(b, magnitude));

    return 0xffff - min_u16(_mm256_xor_si256(max, _mm256_set1_epi16(-1)));
}

FAST_INLINE struct f16_range f16_range(__m256i a, __m256i b)
{
    const __m256i magnitude = _mm256_set1_epi16(0x7fff), ones = _mm256_set1_epi16(-1);
    __m256i x = _mm256_add_epi16(_mm256_and_si256(a, magnitude), ones);
    __m256i y = _mm256_add_epi16(_mm256_and_si256(b, magnitude), ones);

    return (struct f16_range){ f16_max(a, b), min_u16(_mm256_min_epu16(x, y)) };
}

/* All values are multiples of 2^this; 39 if there is none but zero. */
FAST_INLINE int f16_lsb(unsigned min)
{
    int e = (int)(min + 1) >> 10;

    return (e ? e : 1) - 25;
}

FAST_INLINE float power_of_two(int e)
{
    return fp_float((uint32_t)(e + 127) << 23);
}

/* The bounds that the largest magnitudes and the smallest less 1 (zero: all ones) give. */
static struct acc_bounds bounds_of(__m256i max, __m256i min)
{
    __m128i a = _mm_max_epu32(_mm256_castsi256_si128(max), _mm256_extracti128_si256(max, 1));
    __m128i b = _mm_min_epu32(_mm256_castsi256_si128(min), _mm256_extracti128_si256(min, 1));
    uint32_t top, bottom;

    a = _mm_max_epu32(a, _mm_shuffle_epi32(a, 0x4e));
    b = _mm_min_epu32(b, _mm_shuffle_epi32(b, 0x4e));
    a = _mm_max_epu32(a, _mm_shuffle_epi32(a, 0xb1));
    b = _mm_min_epu32(b, _mm_shuffle_epi32(b, 0xb1));
    top = (uint32_t)_mm_cvtsi128_si32(a);
    bottom = ((uint32_t)_mm_cvtsi128_si32(b) + 1) >> 23;
    if (!top)
        return (struct acc_bounds){ 0, 0 };
    return (struct acc_bounds){ fp_float(top < FP_F32_INF ? top : FP_F32_INF),
                                (int)(bottom ? bottom : 1) - 150 };
}

/* Looks at one chain of all workers, in set 0 or in both. About 40 host cycles. */
static struct acc_bounds bounds_measure(const struct tile *t, unsigned chain, unsigned sets)
{
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX), ones = _mm256_set1_epi32(-1);
    __m256i max = _mm256_setzero_si256(), min = ones;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned set = 0; set < sets; set++) {
            const __m256i *v = (const __m256i *)&t->acc[lane][chain + SET_UNITS * set];
            __m256i abs = _mm256_and_si256(_mm256_loadu_si256(v), magnitude);

            max = _mm256_max_epu32(max, abs);
            min = _mm256_min_epu32(min, _mm256_add_epi32(abs, ones));
        }
    }
    return bounds_of(max, min);
}

FAST_INLINE struct acc_bounds bounds_join(struct acc_bounds a, struct acc_bounds b)
{
    return (struct acc_bounds){ a.max > b.max ? a.max : b.max, a.lsb < b.lsb ? a.lsb : b.lsb };
}

/* ---- one step ---- */

/* What an instruction is; all constant where these are used. */
struct amp_form {
    unsigned sets;
    bool half_in, half_out, slides;
};

FAST_INLINE v8u masked(v8u v, uint32_t lanes)
{
    return v & fast_mask(lanes);
}

/* Spreads x over the job and gives its range. */
FAST_INLINE struct f16_range load_x(struct amp_job *j, const struct insn *in)
{
    __m256i a = (__m256i)masked(fast_a(j->t, in->a), j->lanes);
    __m256i b = (__m256i)masked(fast_a(j->t, in->a + 1), j->lanes);
    __m256i low = _mm256_unpacklo_epi32(a, b), high = _mm256_unpackhi_epi32(a, b);
    const __m256 x[3] = { _mm256_cvtph_ps(_mm256_castsi256_si128(low)),
                          _mm256_cvtph_ps(_mm256_castsi256_si128(high)),
                          _mm256_cvtph_ps(_mm256_extracti128_si256(low, 1)) };

#pragma GCC unroll 3
    for (unsigned k = 0; k < 3; k++) {
        _mm256_store_pd(j->x[2 * k], _mm256_cvtps_pd(_mm256_castps256_ps128(x[k])));
        _mm256_store_pd(j->x[2 * k + 1], _mm256_cvtps_pd(_mm256_extractf128_ps(x[k], 1)));
    }
    return f16_range(a, b);
}

/* Loads the f16 partial sums that enter. Infinite bounds if one is NaN or infinite. */
FAST_INLINE struct acc_bounds load_half_partials(struct amp_job *j, const struct insn *in,
                                                 unsigned sets)
{
    __m256i row[2];
    unsigned max;

#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++) {
        float *out = (float *)j->pair[set];

        row[set] = (__m256i)masked(fast_a(j->t, in->b + set), j->lanes);
        _mm256_store_ps(out, _mm256_cvtph_ps(_mm256_castsi256_si128(row[set])));
        _mm256_store_ps(out + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(row[set], 1)));
    }
    max = f16_max(row[0], row[sets - 1]);
    return (struct acc_bounds){ max < FP_F16_INF ? power_of_two((int)(max >> 10) - 14)
                                                 : __builtin_inff(),
                                -24 };
}

/* Loads the f32 partial sums that enter. */
FAST_INLINE struct acc_bounds load_f32_partials(struct amp_job *j, const struct insn *in)
{
    const __m256i magnitude = _mm256_set1_epi32(INT32_MAX), ones = _mm256_set1_epi32(-1);
    __m256i a = (__m256i)masked(fast_a(j->t, in->b), j->lanes);
    __m256i b = (__m256i)masked(fast_a(j->t, in->b + 1), j->lanes);
    __m256i x = _mm256_and_si256(a, magnitude), y = _mm256_and_si256(b, magnitude);

    fast_store_pairs(j->pair[0], (v8u)a, (v8u)b);
    return bounds_of(_mm256_max_epu32(x, y),
                     _mm256_min_epu32(_mm256_add_epi32(x, ones), _mm256_add_epi32(y, ones)));
}

/* Whether sums of products of the given ranges with accumulators within *acc are exact in f64; if
 * so, *acc becomes what the results are within. */
FAST_INLINE bool exact_in_f64(struct acc_bounds *acc, struct f16_range x, struct f16_range w)
{
    /* The four products are below 2^(ex + ew - 26), multiples of 2^products. */
    float sum = acc->max + power_of_two((int)(x.max >> 10) + (int)(w.max >> 10) - 26);
    int products = f16_lsb(x.min) + f16_lsb(w.min);
    int q = acc->lsb < products ? acc->lsb : products;

    if (q > 40) /* keeps the limit below the largest f32 */
        q = 40;
    /* For q below -126, where results could be f32 subnormals, the limit is below any sum. */
    if (!(sum < power_of_two(q + 53)))
        return false;
    acc->max = sum * (1 + 0x1p-20f); /* more than rounding can add */
    acc->lsb = q;
    return true;
}

enum method { METHOD_NONE, METHOD_F64, METHOD_WIDE };

/* What is known of a chain in the sets that take part. Bounds are read and written word by word: an
 * 8-byte load of two 4-byte stores would wait for them. */
FAST_INLINE struct acc_bounds bounds_get(const struct tile *t, unsigned sets, unsigned odd)
{
    const struct acc_bounds *b = &t->acc_bounds[0][odd], *c = &t->acc_bounds[sets - 1][odd];
    struct acc_bounds first = { b->max, b->lsb }, last = { c->max, c->lsb };

    return sets == 1 ? first : bounds_join(first, last);
}

FAST_INLINE void bounds_put(struct tile *t, unsigned sets, unsigned odd, struct acc_bounds b)
{
#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++) {
        t->acc_bounds[set][odd].max = b.max;
        t->acc_bounds[set][odd].lsb = b.lsb;
    }
}

/* Chooses how the sums are computed, and for METHOD_F64 records the bounds of the results. */
FAST_INLINE enum method choose(const struct amp_job *j, unsigned sets, struct f16_range x,
                               struct f16_range w, struct acc_bounds partial)
{
    struct tile *t = j->t;
    struct acc_bounds even = bounds_get(t, sets, 0), odd = bounds_get(t, sets, 1);
    bool first = j->motion == AMP_FIRST;
    struct acc_bounds run = { first ? odd.max : even.max, first ? odd.lsb : even.lsb };

    if (j->motion == AMP_SLIC)
        run = bounds_join(run, partial);
    if (EMU_UNLIKELY(!exact_in_f64(&run, x, w))) {
        run = bounds_measure(t, first ? CHAIN_O : CHAIN_E, sets);
        if (first)
            odd = run;
        else
            even = run;
        if (j->motion == AMP_SLIC)
            run = bounds_join(run, partial);
        if (!exact_in_f64(&run, x, w))
            return amp_wide_allowed(j, SET_UNITS) ? METHOD_WIDE : METHOD_NONE;
    }
    if (EMU_UNLIKELY(j->lanes != LANES_ALL)) { /* the other workers keep what they had */
        run = bounds_join(run, even);
        if (first)
            even = bounds_join(even, odd);
    }
    bounds_put(t, sets, 0, run);
    if (j->motion != AMP_SLIC)
        bounds_put(t, sets, 1, bounds_join(first ? even : odd, partial));
    return METHOD_F64;
}

/* The phase immediate of an AMP instruction: units per set, vector of the weights. */
struct phase {
    unsigned units, n;
};

FAST_INLINE bool decode(const struct insn *in, bool slides, struct phase *p)
{
    unsigned i = (unsigned)in->i;

    if (EMU_LIKELY(i < (slides ? 2 : 4))) {
        *p = (struct phase){ SET_UNITS, i };
        return true;
    }
    *p = i < 6 ? (struct phase){ 4, i - 4 } : (struct phase){ 2, 0 };
    return !slides && i < 7;
}

/* Reads the pairs that leave the chain at `chain` and writes them to the result registers. False,
 * nothing changed, if they do not round to f16 in the ordinary way. */
FAST_INLINE bool hand_out(struct tile *t, uint32_t lanes, const struct insn *in, unsigned chain,
                          unsigned sets, bool half)
{
    struct fast_rounding rounding; /* large, so set by fast_rounding_begin() only */
    v8u row[2];

    if (!half) {
        fast_set_pairs(t, lanes, in->d, fast_acc_pairs(t, chain));
        return true;
    }
    if (!fast_rounding_begin(t, lanes, &rounding))
        return false;
#pragma GCC unroll 2
    for (unsigned set = 0; set < sets; set++)
        if (!fast_round_pairs(&rounding, fast_acc_pairs(t, chain + SET_UNITS * set), set, lanes,
                              &row[set]))
            return false;
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, sets, row[0], row[sets - 1]);
    return true;
}

/* An f16 instruction for the workers of a mask; the form is constant. */
FAST_INLINE int f16_instruction(struct tile *t, uint32_t lanes, const struct insn *in,
                                struct amp_form form)
{
    struct amp_job j;
    struct phase p;
    struct f16_range x, wr;
    struct acc_bounds partial;
    const struct weight_cache *w;
    enum method method;

    if (!decode(in, form.slides, &p) || (form.sets == 2 && t->arch->accumulators < TILE_ACC))
        return 0;
    j.t = t;
    j.lanes = lanes;
    j.sets = form.sets;
    j.motion = form.slides ? AMP_SLIC : p.n ? AMP_NEXT : AMP_FIRST;
    x = load_x(&j, in);
    partial = form.half_in ? load_half_partials(&j, in, form.sets) : load_f32_partials(&j, in);
    w = fast_weights(t, weights_key(p.units, form.sets));
    wr = (struct f16_range){ w->max[p.n], w->min[p.n] };
    j.w = w->f64[p.n];
    if (x.max >= FP_F16_INF || wr.max >= FP_F16_INF ||
        (form.half_in && partial.max == __builtin_inff()))
        return 0;
    if (EMU_LIKELY(p.units == SET_UNITS))
        method = choose(&j, form.sets, x, wr, partial);
    else
        method = amp_wide_allowed(&j, p.units) ? METHOD_WIDE : METHOD_NONE;
    if (EMU_UNLIKELY(method == METHOD_NONE))
        return 0;
    if (!hand_out(t, lanes, in, j.motion == AMP_NEXT ? CHAIN_O : CHAIN_E, form.sets,
                  form.half_out)) {
        acc_forget(t); /* the step that was recorded does not happen */
        return 0;
    }
    if (EMU_UNLIKELY(method == METHOD_WIDE)) {
        amp_step_wide(&j, p.units);
        acc_forget(t);
        return 1;
    }
    amp_step(&j);
    return 1;
}

int fast_f16v4hihoamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, true, true, false });
}

int fast_f16v4sihoamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, false, true, false });
}

int fast_f16v4sisoamp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, false, false, false });
}

int fast_f16v4hihov4amp(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 2, true, true, false });
}

int fast_f16v4hihoslic(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, true, true, true });
}

int fast_f16v4sihoslic(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, false, true, true });
}

int fast_f16v4sisoslic(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 1, false, false, true });
}

int fast_f16v4hihov4slic(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return f16_instruction(t, lanes, in, (struct amp_form){ 2, true, true, true });
}
