/* fast_amp.c - the f16 matrix and sliding instructions for all workers at once.
 *
 * Each function first decides, from the ranges of operands, whether and how the step can be done
 * with the bits of the plain functions and without exceptions, and only then changes anything. What
 * is left to the plain functions: NaN, infinities, results beyond f16, rounding modes other than
 * nearest and stochastic, accumulators of 2^34 and above or with bits below 2^-64.
 */
#include "emu/bsp/fast_amp.h"

#include "emu/bsp/fast_amp_step.h"
#include "emu/bsp/fast_round.h"

/* What an instruction is; constant wherever it is used. */
struct amp_form {
    unsigned sets;
    bool half_in, half_out, slides;
};

enum method { METHOD_NONE, METHOD_F64, METHOD_WIDE };

/* ---- operands ---- */

FAST_INLINE struct amp_rows rows_of(const struct tile *t, uint32_t lanes, const struct insn *in,
                                    struct amp_form form)
{
    v8u mask = fast_mask(lanes);
    unsigned last = form.half_in && form.sets == 1 ? in->b : in->b + 1;

    return (struct amp_rows){
        .x = { fast_a(t, in->a) & mask, fast_a(t, in->a + 1) & mask },
        .partial = { fast_a(t, in->b) & mask, fast_a(t, last) & mask },
    };
}

/* Zero where a magnitude lies in the window. */
FAST_INLINE __m256i outside_u16(const v8u row[2], const uint16_t max[16])
{
    const __m256i magnitude = _mm256_set1_epi16(0x7fff);
    __m256i a = _mm256_and_si256((__m256i)row[0], magnitude);
    __m256i b = _mm256_and_si256((__m256i)row[1], magnitude);

    return _mm256_subs_epu16(_mm256_max_epu16(a, b), _mm256_load_si256((const __m256i *)max));
}

FAST_INLINE __m256i below_u16(const v8u row[2], const uint16_t min[16])
{
    const __m256i magnitude = _mm256_set1_epi16(0x7fff), ones = _mm256_set1_epi16(-1);
    __m256i a = _mm256_add_epi16(_mm256_and_si256((__m256i)row[0], magnitude), ones);
    __m256i b = _mm256_add_epi16(_mm256_and_si256((__m256i)row[1], magnitude), ones);

    return _mm256_subs_epu16(_mm256_load_si256((const __m256i *)min), _mm256_min_epu16(a, b));
}

/* Nonzero where f32 magnitudes leave their window. */
FAST_INLINE __m256i outside_f32(const v8u row[2], const struct amp_window *win)
{
    __m256i a = (__m256i)(row[0] & 0x7fffffff), b = (__m256i)(row[1] & 0x7fffffff);
    __m256i ones = _mm256_set1_epi32(-1);
    __m256i most = _mm256_load_si256((const __m256i *)win->single_max);
    __m256i least = _mm256_load_si256((const __m256i *)win->single_min);
    __m256i max = _mm256_max_epu32(_mm256_max_epu32(a, b), most);
    __m256i min = _mm256_min_epu32(_mm256_add_epi32(a, ones), _mm256_add_epi32(b, ones));

    return _mm256_or_si256(_mm256_xor_si256(max, most),
                           _mm256_xor_si256(_mm256_min_epu32(min, least), least));
}

FAST_INLINE bool in_windows(const struct amp_rows *rows, const struct amp_window *win, bool half_in)
{
    __m256i out = _mm256_or_si256(outside_u16(rows->x, win->x_max), below_u16(rows->x, win->x_min));

    out = _mm256_or_si256(out, half_in ? outside_u16(rows->partial, win->half_max)
                                       : outside_f32(rows->partial, win));
    return _mm256_testz_si256(out, out);
}

/* Converts x and the partial sums. Rows go straight from memory: rubbish of workers that do not
 * take part is not used. */
FAST_INLINE void load_operands(struct amp_job *j, const struct tile *t, const struct insn *in,
                               struct amp_form form)
{
    _Alignas(32) float x[2][TILE_LANES][2];

#pragma GCC unroll 2
    for (unsigned k = 0; k < 2; k++) {
        const __m128i *row = (const __m128i *)t->a[in->a + k];

        _mm256_store_ps(x[k][0], _mm256_cvtph_ps(_mm_loadu_si128(row)));
        _mm_store_ps(x[k][4], _mm_cvtph_ps(_mm_loadl_epi64(row + 1)));
#pragma GCC unroll 3
        for (unsigned lane = 0; lane < TILE_WORKERS; lane += 2)
            _mm256_store_pd(j->x[k][lane], _mm256_cvtps_pd(_mm_load_ps(x[k][lane])));
    }
    if (!form.half_in)
        fast_store_pairs(j->pair[0], fast_a(t, in->b), fast_a(t, in->b + 1));
    for (unsigned set = 0; form.half_in && set < form.sets; set++) {
        const __m128i *row = (const __m128i *)t->a[in->b + set];

        _mm256_store_ps((float *)j->pair[set], _mm256_cvtph_ps(_mm_loadu_si128(row)));
        _mm_store_ps((float *)(j->pair[set] + 4), _mm_cvtph_ps(_mm_loadl_epi64(row + 1)));
    }
}

/* ---- what is known of the accumulators ---- */

struct chains {
    struct acc_bounds even, odd;
};

/* Bounds are read and written word by word: an 8-byte load of two 4-byte stores would wait. */
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

/* Chooses how the sums are computed; *run: what they start with, then what they come to. First by
 * what is believed, then by looking. */
FAST_INLINE enum method choose(const struct amp_job *j, const struct amp_rows *rows,
                               struct chains *c, struct acc_bounds *run, unsigned n, bool half_in)
{
    struct tile *t = j->t;
    struct amp_window *win = &t->amp_window;
    bool slides = j->motion == AMP_SLIC, first = j->motion == AMP_FIRST;

    *run = first ? c->odd : c->even;
    if (slides)
        *run = bounds_join(*run, half_in ? win->half : win->single);
    if (EMU_LIKELY(amp_exact(run, win, n)))
        return METHOD_F64;
    if (!amp_window_fit(t, rows, !half_in, true, n))
        return METHOD_NONE;
    *run = amp_measure(t, first ? CHAIN_O : CHAIN_E, j->sets);
    if (first)
        c->odd = *run;
    else
        c->even = *run;
    if (slides)
        *run = bounds_join(*run, half_in ? win->half : win->single);
    if (amp_exact(run, win, n))
        return METHOD_F64;
    return amp_wide_allowed(j, SET_UNITS) ? METHOD_WIDE : METHOD_NONE;
}

/* What the chains are within after a step in f64. */
FAST_INLINE void record(const struct amp_job *j, struct chains c, struct acc_bounds run,
                        unsigned sets, bool half_in)
{
    struct tile *t = j->t;
    bool first = j->motion == AMP_FIRST;

    if (EMU_UNLIKELY(j->lanes != LANES_ALL)) { /* the other workers keep what they had */
        run = bounds_join(run, c.even);
        if (first)
            c.even = bounds_join(c.even, c.odd);
    }
    bounds_put(t, sets, 0, run);
    if (j->motion != AMP_SLIC)
        bounds_put(t, sets, 1,
                   bounds_join(first ? c.even : c.odd,
                               half_in ? t->amp_window.half : t->amp_window.single));
}

/* ---- the instructions ---- */

/* Reads the pairs that leave the chain at `chain`, whose values are within `bound`, and writes them
 * to the result registers. False, nothing changed, if they do not round to f16 in the ordinary way.
 */
FAST_INLINE bool hand_out(struct tile *t, uint32_t lanes, const struct insn *in, unsigned chain,
                          float bound, struct amp_form form)
{
    struct fast_rounding rounding; /* large, so set by fast_rounding_begin() only */
    v8u row[2];

    if (!form.half_out) {
        fast_set_pairs(t, lanes, in->d, fast_acc_pairs(t, chain));
        return true;
    }
    if (!fast_rounding_begin(t, lanes, &rounding))
        return false;
#pragma GCC unroll 2
    for (unsigned set = 0; set < form.sets; set++) {
        struct f32_pairs v = fast_acc_pairs(t, chain + SET_UNITS * set);

        if (EMU_LIKELY(bound < 65520 && !rounding.draws))
            row[set] = fast_round_nearest(v);
        else if (!fast_round_pairs(&rounding, v, set, lanes, &row[set]))
            return false;
    }
    fast_rounding_end(t, lanes, &rounding);
    put_a(t, lanes, in->d, form.sets, row[0], row[form.sets - 1]);
    return true;
}

FAST_INLINE void begin(struct amp_job *j, struct tile *t, uint32_t lanes, struct amp_form form,
                       unsigned units, unsigned n)
{
    j->t = t;
    j->lanes = lanes;
    j->sets = form.sets;
    j->motion = form.slides ? AMP_SLIC : n ? AMP_NEXT : AMP_FIRST;
    j->w = fast_weights(t, weights_key(units, form.sets))->f64[n];
}

/* Phases of four or two units, always by the wide method. Immediates: 4, 5 four units, 6 two. */
static int few_units(struct tile *t, uint32_t lanes, const struct insn *in, struct amp_form form)
{
    struct amp_rows rows = rows_of(t, lanes, in, form);
    unsigned i = (unsigned)in->i, units = i < 6 ? 4 : 2, n = i == 5;
    struct amp_job j;

    if (form.slides || i < 4 || i > 6)
        return 0;
    begin(&j, t, lanes, form, units, n);
    if (!amp_window_fit(t, &rows, !form.half_in, true, n))
        return 0;
    load_operands(&j, t, in, form);
    if (!amp_wide_allowed(&j, units) ||
        !hand_out(t, lanes, in, amp_route_of(j.motion).leaving, __builtin_inff(), form))
        return 0;
    amp_step_wide(&j, units);
    acc_forget(t);
    return 1;
}

/* An f16 instruction for the workers of a mask. */
FAST_INLINE int f16_instruction(struct tile *t, uint32_t lanes, const struct insn *in,
                                struct amp_form form)
{
    unsigned n = (unsigned)in->i;
    struct amp_job j;
    struct amp_rows rows;
    struct amp_route route;
    struct chains c;
    struct acc_bounds run;
    enum method method;

    if (form.sets == 2 && t->arch->accumulators < TILE_ACC)
        return 0;
    if (EMU_UNLIKELY(n >= (form.slides ? 2 : 4)))
        return few_units(t, lanes, in, form);
    begin(&j, t, lanes, form, SET_UNITS, n);
    route = amp_route_of(j.motion);
    rows = rows_of(t, lanes, in, form);
    if (EMU_UNLIKELY(!in_windows(&rows, &t->amp_window, form.half_in)) &&
        !amp_window_fit(t, &rows, !form.half_in, false, n))
        return 0;
    load_operands(&j, t, in, form);
    c.even = bounds_get(t, form.sets, 0);
    c.odd = bounds_get(t, form.sets, 1);
    method = choose(&j, &rows, &c, &run, n, form.half_in);
    if (EMU_UNLIKELY(method == METHOD_NONE))
        return 0;
    if (!hand_out(t, lanes, in, route.leaving, j.motion == AMP_NEXT ? c.odd.max : c.even.max, form))
        return 0;
    if (EMU_UNLIKELY(method == METHOD_WIDE)) {
        amp_step_wide(&j, SET_UNITS);
        acc_forget(t);
        return 1;
    }
    record(&j, c, run, form.sets, form.half_in);
    /* The routes are constants here: a copy of the loop for each. */
    if (form.slides)
        amp_step(t, &j, lanes, form.sets, AMP_SLIC);
    else if (n)
        amp_step(t, &j, lanes, form.sets, AMP_NEXT);
    else
        amp_step(t, &j, lanes, form.sets, AMP_FIRST);
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
