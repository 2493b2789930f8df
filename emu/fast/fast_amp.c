/* fast_amp.c - the f16 matrix and sliding instructions for all workers at once.
 *
 * Each function first decides, from the ranges of operands, whether and how the step can be done
 * with the bits of the plain functions and without exceptions, and only then changes anything. What
 * is left to the plain functions: NaN, infinities, results beyond f16, rounding modes other than
 * nearest and stochastic, accumulators of 2^34 and above or with bits below 2^-64.
 */
#include "emu/fast/fast_amp.h"

#include "emu/fast/fast_amp_step.h"
#include "emu/fast/fast_round.h"

/* What an instruction is; constant wherever it is used. */
struct amp_form {
    unsigned sets;
    bool half_in, half_out, slides;
};

enum method { METHOD_NONE, METHOD_F64, METHOD_WIDE };

/* ---- operands ---- */

FAST_INLINE struct amp_sources sources_of(const struct insn *in, struct amp_form form)
{
    return (struct amp_sources){
        .a = in->a, .b = in->b, .single_b = form.half_in && form.sets == 1, .f32 = !form.half_in
    };
}

/* Magnitudes of f16, zero for workers that do not take part. */
FAST_INLINE __m256i magnitudes(const struct tile *t, unsigned reg, __m256i mask)
{
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)t->a[reg]), mask);
}

/* Whether x and the partial sums lie in the windows. */
FAST_INLINE bool in_windows(const struct tile *t, uint32_t lanes, const struct insn *in,
                            struct amp_form form)
{
    const struct amp_window *win = &t->fast->window;
    const __m256i ones = _mm256_set1_epi16(-1);
    __m256i mask = (__m256i)fast_mask(lanes), mask16, a, b, out, min;

    mask16 = _mm256_and_si256(mask, _mm256_set1_epi16(0x7fff));
    a = magnitudes(t, in->a, mask16);
    b = magnitudes(t, in->a + 1, mask16);
    min = _mm256_min_epu16(_mm256_add_epi16(a, ones), _mm256_add_epi16(b, ones));
    out = _mm256_or_si256(
        _mm256_subs_epu16(_mm256_max_epu16(a, b), _mm256_load_si256((__m256i *)win->x_max)),
        _mm256_subs_epu16(_mm256_load_si256((__m256i *)win->x_min), min));
    if (form.half_in) {
        a = magnitudes(t, in->b, mask16);
        if (form.sets == 2)
            a = _mm256_max_epu16(a, magnitudes(t, in->b + 1, mask16));
        a = _mm256_subs_epu16(a, _mm256_load_si256((__m256i *)win->half_max));
    } else {
        __m256i mask32 = _mm256_and_si256(mask, _mm256_set1_epi32(INT32_MAX));
        __m256i most = _mm256_load_si256((__m256i *)win->single_max);
        __m256i least = _mm256_load_si256((__m256i *)win->single_min);

        a = magnitudes(t, in->b, mask32);
        b = magnitudes(t, in->b + 1, mask32);
        min = _mm256_min_epu32(_mm256_add_epi32(a, ones), _mm256_add_epi32(b, ones));
        a = _mm256_max_epu32(_mm256_max_epu32(a, b), most);
        a = _mm256_or_si256(_mm256_xor_si256(a, most),
                            _mm256_xor_si256(_mm256_min_epu32(min, least), least));
    }
    out = _mm256_or_si256(out, a);
    return _mm256_testz_si256(out, out);
}

/* Converts x and the partial sums. */
FAST_INLINE void load_operands(struct amp_operands *j, const struct tile *t, const struct insn *in,
                               struct amp_form form)
{
#pragma GCC unroll 2
    for (unsigned k = 0; k < 2; k++) {
        const __m128i *row = (const __m128i *)t->a[in->a + k];
        __m256 x = _mm256_cvtph_ps(_mm_loadu_si128(row));

        _mm256_store_pd(j->x[k][0], _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
        _mm256_store_pd(j->x[k][2], _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
        _mm256_store_pd(j->x[k][4], _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(row + 1))));
    }
    if (!form.half_in) {
        fast_store_pairs(j->pair[0], fast_a(t, in->b), fast_a(t, in->b + 1));
        return;
    }
    for (unsigned set = 0; set < form.sets; set++) {
        const __m128i *row = (const __m128i *)t->a[in->b + set];

        _mm256_store_ps((float *)j->pair[set], _mm256_cvtph_ps(_mm_loadu_si128(row)));
        _mm_store_ps((float *)(j->pair[set] + 4), _mm_cvtph_ps(_mm_loadl_epi64(row + 1)));
    }
}

/* ---- what is known of the accumulators ---- */

/* Bounds are read and written word by word: an 8-byte load of two 4-byte stores would wait. */
struct chains {
    struct acc_bounds even, odd;
};

FAST_INLINE struct acc_bounds bounds_get(const struct tile *t, unsigned odd)
{
    return (struct acc_bounds){ t->fast->bounds[odd].max, t->fast->bounds[odd].lsb };
}

FAST_INLINE void bounds_put(struct tile *t, unsigned odd, struct acc_bounds b)
{
    t->fast->bounds[odd].max = b.max;
    t->fast->bounds[odd].lsb = b.lsb;
}

/* Whether bounds_get() is true of the accumulators of these sets. */
FAST_INLINE bool bounds_known(const struct tile *t, unsigned sets)
{
    return t->fast->acc_sets == sets && t->fast->acc_generation == t->acc_generation;
}

/* What is known where nothing was believed: one look at both chains. */
static void look(struct tile *t, unsigned sets)
{
    bounds_put(t, 0, amp_measure(t, CHAIN_E, sets));
    bounds_put(t, 1, amp_measure(t, CHAIN_O, sets));
    t->fast->acc_sets = sets;
    t->fast->acc_generation = t->acc_generation;
}

FAST_INLINE struct acc_bounds running(const struct tile *t, const struct chains *c,
                                      enum amp_motion motion, struct amp_form form)
{
    struct acc_bounds b = motion == AMP_FIRST ? c->odd : c->even;

    if (form.slides)
        b = bounds_join(b, form.half_in ? t->fast->window.half : t->fast->window.single);
    return b;
}

/* What the chains are within after a step in f64. */
FAST_INLINE void record(struct tile *t, uint32_t lanes, struct chains c, struct acc_bounds run,
                        enum amp_motion motion, struct amp_form form)
{
    struct acc_bounds enter = form.half_in ? t->fast->window.half : t->fast->window.single;

    if (EMU_UNLIKELY(lanes != LANES_ALL)) { /* the other workers keep what they had */
        run = bounds_join(run, c.even);
        c.odd = bounds_join(c.odd, c.even);
        c.even = c.odd;
    }
    bounds_put(t, 0, run);
    if (motion != AMP_SLIC)
        bounds_put(t, 1, bounds_join(motion == AMP_FIRST ? c.even : c.odd, enter));
}

/* ---- the instructions ---- */

/* Results rounded stochastically, or perhaps beyond f16. */
static bool hand_out_carefully(struct tile *t, uint32_t lanes, const struct insn *in,
                               unsigned chain, unsigned sets)
{
    struct fast_rounding rounding;
    v8u row[2];

    if (!fast_rounding_begin(t, lanes, &rounding))
        return false;
    for (unsigned set = 0; set < sets; set++)
        if (!fast_round_pairs(&rounding, fast_acc_pairs(t, chain + SET_UNITS * set), set, lanes,
                              &row[set]))
            return false;
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, sets, row[0], row[sets - 1]);
    return true;
}

/* Reads the pairs that leave the chain at `chain`, whose values are within `bound`, and writes them
 * to the result registers. False, nothing changed, if they do not round to f16 in the ordinary way.
 */
FAST_INLINE bool hand_out(struct tile *t, uint32_t lanes, const struct insn *in, unsigned chain,
                          float bound, struct amp_form form)
{
    v8u first, last;

    if (!form.half_out) {
        fast_set_pairs(t, lanes, in->d, fast_acc_pairs(t, chain));
        return true;
    }
    if (EMU_UNLIKELY(!(bound < 65520) || f16_rounds_otherwise(t, lanes)))
        return hand_out_carefully(t, lanes, in, chain, form.sets);
    first = last = fast_round_nearest(fast_acc_pairs(t, chain));
    if (form.sets == 2)
        last = fast_round_nearest(fast_acc_pairs(t, chain + SET_UNITS));
    put_a(t, lanes, in->d, form.sets, first, last);
    return true;
}

FAST_INLINE unsigned leaving_chain(enum amp_motion motion)
{
    return motion == AMP_NEXT ? CHAIN_O : CHAIN_E;
}

/* A step by the wide method. */
static int wide_step(struct tile *t, uint32_t lanes, const struct insn *in, struct amp_form form,
                     unsigned units, unsigned n)
{
    const enum amp_motion motion = form.slides ? AMP_SLIC : n ? AMP_NEXT : AMP_FIRST;
    struct amp_operands operands;
    const struct amp_wide j = { t,         &operands, t->fast->weights.f64[n], lanes, motion,
                                form.sets, units };

    load_operands(&operands, t, in, form);
    if (!amp_wide_allowed(&j) ||
        !hand_out(t, lanes, in, leaving_chain(motion), __builtin_inff(), form))
        return 0;
    amp_step_wide(&j);
    acc_changed(t);
    return 1;
}

/* Phases of four or two units, always by the wide method. Immediates: 4, 5 four units, 6 two. */
static int few_units(struct tile *t, uint32_t lanes, const struct insn *in, struct amp_form form)
{
    unsigned i = (unsigned)in->i, units = i < 6 ? 4 : 2, n = i == 5;

    if (form.slides || i < 4 || i > 6)
        return 0;
    fast_weights(t, weights_key(units, form.sets));
    if (!amp_window_fit(t, lanes, sources_of(in, form), n, true))
        return 0;
    return wide_step(t, lanes, in, form, units, n);
}

/* Whether the step can be done in f64, with *c what is known before it and *run what comes out.
 * First by what is believed, then by looking. */
FAST_INLINE enum method choose(struct tile *t, uint32_t lanes, const struct insn *in,
                               struct chains *c, struct acc_bounds *run, enum amp_motion motion,
                               struct amp_form form)
{
    unsigned n = (unsigned)in->i;
    bool known = bounds_known(t, form.sets);

    if (EMU_UNLIKELY(!in_windows(t, lanes, in, form)) &&
        !amp_window_fit(t, lanes, sources_of(in, form), n, false))
        return METHOD_NONE;
    if (EMU_UNLIKELY(!known))
        look(t, form.sets);
    for (int retried = 0;; retried++) {
        *c = (struct chains){ bounds_get(t, 0), bounds_get(t, 1) };
        *run = running(t, c, motion, form);
        if (EMU_LIKELY(amp_exact(run, &t->fast->window, n)))
            return METHOD_F64;
        if (retried)
            return METHOD_WIDE;
        if (!amp_window_fit(t, lanes, sources_of(in, form), n, true))
            return METHOD_NONE;
        if (known)
            look(t, form.sets);
    }
}

/* An f16 instruction for the workers of a mask. */
FAST_INLINE int f16_instruction(struct tile *t, uint32_t lanes, const struct insn *in,
                                struct amp_form form)
{
    unsigned n = (unsigned)in->i;
    const enum amp_motion motion = form.slides ? AMP_SLIC : n ? AMP_NEXT : AMP_FIRST;
    const struct weight_cache *w;
    struct amp_operands operands;
    struct chains c;
    struct acc_bounds run;

    if (EMU_UNLIKELY(n >= (form.slides ? 2 : 4)))
        return few_units(t, lanes, in, form);
    w = fast_weights(t, weights_key(SET_UNITS, form.sets));
    switch (choose(t, lanes, in, &c, &run, motion, form)) {
    case METHOD_NONE:
        return 0;
    case METHOD_WIDE:
        return wide_step(t, lanes, in, form, SET_UNITS, n);
    case METHOD_F64:
        break;
    }
    load_operands(&operands, t, in, form);
    if (!hand_out(t, lanes, in, leaving_chain(motion), motion == AMP_NEXT ? c.odd.max : c.even.max,
                  form))
        return 0;
    record(t, lanes, c, run, motion, form);
    /* The motions are constants here: a copy of the loop for each. */
    if (form.slides)
        amp_step(t, &operands, w->f64[n], lanes, form.sets, AMP_SLIC);
    else if (n)
        amp_step(t, &operands, w->f64[n], lanes, form.sets, AMP_NEXT);
    else
        amp_step(t, &operands, w->f64[n], lanes, form.sets, AMP_FIRST);
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
