/* fast_amp_range.c - ranges of operands and accumulators of the f16 matrix path, measured where the
 * current windows do not hold. fast_amp.h explains what they are used for.
 *
 * Only exponents matter, so windows are widened to whole binades and soon stop changing.
 */
#include "emu/fast/fast_amp.h"

/* Magnitudes of f16 values: bits of the largest, bits of the smallest nonzero less 1 (0xffff: all
 * zero). */
struct f16_range {
    unsigned max, min;
};

static unsigned min_u16(__m256i v)
{
    __m128i m = _mm_min_epu16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(m)) & 0xffff;
}

static struct f16_range range_of(const v8u row[2])
{
    const __m256i magnitude = _mm256_set1_epi16(0x7fff), ones = _mm256_set1_epi16(-1);
    __m256i a = _mm256_and_si256((__m256i)row[0], magnitude);
    __m256i b = _mm256_and_si256((__m256i)row[1], magnitude);
    __m256i max = _mm256_max_epu16(a, b);
    __m256i min = _mm256_min_epu16(_mm256_add_epi16(a, ones), _mm256_add_epi16(b, ones));

    return (struct f16_range){ 0xffff - min_u16(_mm256_xor_si256(max, ones)), min_u16(min) };
}

/* f16 of exponent field e and above are multiples of 2^this; 38 or so if there are none. */
static int f16_lsb(unsigned min)
{
    int e = (int)(min + 1) >> 10;

    return (e ? e : 1) - 25;
}

/* Above every f16 of magnitude bits up to max; infinite for NaN and infinities. */
static float f16_above(unsigned max)
{
    return max < FP_F16_INF ? fp_float((uint32_t)((max >> 10) + 127 - 14) << 23) : __builtin_inff();
}

/* The bounds that largest magnitudes, and smallest nonzero ones less 1, of f32 give. */
static struct acc_bounds bounds_of(uint32_t max, uint32_t min)
{
    uint32_t e = (min + 1) >> 23;

    if (!max)
        return (struct acc_bounds){ 0, 0 };
    return (struct acc_bounds){ fp_float(max < FP_F32_INF ? max : FP_F32_INF),
                                (int)(e ? e : 1) - 150 };
}

static uint32_t max_u32(__m256i v)
{
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));

    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    return (uint32_t)_mm_cvtsi128_si32(_mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1)));
}

static uint32_t min_u32(__m256i v)
{
    return ~max_u32(_mm256_xor_si256(v, _mm256_set1_epi32(-1)));
}

struct acc_bounds amp_measure(const struct tile *t, unsigned chain, unsigned sets)
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
    return bounds_of(max_u32(max), min_u32(min));
}

void amp_window_products(struct amp_window *win, const struct weight_cache *w)
{
    for (unsigned n = 0; n < 4; n++) {
        /* Four products, each below the product of two powers of two. */
        win->product_max[n] = 4 * f16_above(win->x_max[0]) * f16_above(w->max[n]);
        win->product_lsb[n] = f16_lsb(win->x_min[0]) + f16_lsb(w->min[n]);
    }
}

static void fill_u16(uint16_t out[16], unsigned v)
{
    for (unsigned k = 0; k < 16; k++)
        out[k] = (uint16_t)v;
}

static void fill_u32(uint32_t out[8], uint32_t v)
{
    for (unsigned k = 0; k < 8; k++)
        out[k] = v;
}

static unsigned larger(unsigned a, unsigned b)
{
    return a > b ? a : b;
}

static unsigned smaller(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* The least value, less 1, of the binade of min + 1; below the first binade 1, less 1. */
static uint32_t binade_floor(uint32_t min, unsigned mantissa_bits)
{
    uint32_t v = (min + 1) >> mantissa_bits << mantissa_bits;

    if (min == UINT32_MAX || (mantissa_bits == 10 && min == 0xffff))
        return min;
    return v ? v - 1 : 0;
}

static bool fit_x(struct amp_window *win, const v8u row[2], bool anew)
{
    struct f16_range x = range_of(row);

    if (x.max >= FP_F16_INF)
        return false;
    x.max = x.max ? x.max | 0x3ff : 0;
    x.min = binade_floor(x.min, 10);
    fill_u16(win->x_max, anew ? x.max : larger(x.max, win->x_max[0]));
    fill_u16(win->x_min, anew ? x.min : smaller(x.min, win->x_min[0]));
    return true;
}

static bool fit_half(struct amp_window *win, const v8u row[2], bool anew)
{
    unsigned max = range_of(row).max;

    if (max >= FP_F16_INF)
        return false;
    max = max ? max | 0x3ff : 0;
    fill_u16(win->half_max, anew ? max : larger(max, win->half_max[0]));
    win->half = (struct acc_bounds){ f16_above(win->half_max[0]), -24 };
    return true;
}

static void fit_single(struct amp_window *win, const v8u row[2], bool anew)
{
    v8u a = row[0] & 0x7fffffff, b = row[1] & 0x7fffffff;
    uint32_t max = larger(max_u32((__m256i)a), max_u32((__m256i)b));
    uint32_t min = smaller(min_u32((__m256i)(a - 1)), min_u32((__m256i)(b - 1)));

    max = max ? max | 0x7fffff : 0;
    min = binade_floor(min, 23);
    fill_u32(win->single_max, anew ? max : larger(max, win->single_max[0]));
    fill_u32(win->single_min, anew ? min : smaller(min, win->single_min[0]));
    win->single = bounds_of(win->single_max[0], win->single_min[0]);
}

bool amp_window_fit(struct tile *t, uint32_t lanes, struct amp_sources from, unsigned n, bool anew)
{
    struct amp_window *win = &t->fast->window;
    v8u mask = fast_mask(lanes);
    const v8u x[2] = { fast_a(t, from.a) & mask, fast_a(t, from.a + 1) & mask };
    const v8u p[2] = { fast_a(t, from.b) & mask, fast_a(t, from.b + !from.single_b) & mask };

    bool ok = t->fast->weights.max[n] < FP_F16_INF && fit_x(win, x, anew);

    if (ok && from.f32)
        fit_single(win, p, anew);
    else if (ok)
        ok = fit_half(win, p, anew);
    amp_window_products(win, &t->fast->weights);
    return ok;
}
