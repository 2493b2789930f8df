/* fast_weights.c - refreshes the weight cache. The 64 entries are a 16x16 matrix of f16, rows are
 * units and columns (n, lane), or a 16x8 matrix of f32, columns are phases; the cache has them
 * transposed.
 */
#include "emu/fast/fast_weights.h"

#include "emu/fast/fast_amp.h"

/* Transposes an 8x8 matrix of 16-bit words. */
static inline void transpose_u16(__m128i r[8])
{
    __m128i a[8], b[8];

    for (unsigned k = 0; k < 4; k++) {
        a[2 * k] = _mm_unpacklo_epi16(r[2 * k], r[2 * k + 1]);
        a[2 * k + 1] = _mm_unpackhi_epi16(r[2 * k], r[2 * k + 1]);
    }
    for (unsigned k = 0; k < 2; k++) {
        b[4 * k] = _mm_unpacklo_epi32(a[4 * k], a[4 * k + 2]);
        b[4 * k + 1] = _mm_unpackhi_epi32(a[4 * k], a[4 * k + 2]);
        b[4 * k + 2] = _mm_unpacklo_epi32(a[4 * k + 1], a[4 * k + 3]);
        b[4 * k + 3] = _mm_unpackhi_epi32(a[4 * k + 1], a[4 * k + 3]);
    }
    for (unsigned k = 0; k < 4; k++) {
        r[2 * k] = _mm_unpacklo_epi64(b[k], b[k + 4]);
        r[2 * k + 1] = _mm_unpackhi_epi64(b[k], b[k + 4]);
    }
}

/* Vectors n and n + 1 (n = 0 or 2) of units 8 * set .. 8 * set + 7; column[] receives the four
 * lanes of n, then of n + 1. */
static inline void load_columns(const struct tile *t, unsigned n, unsigned set, __m128i column[8])
{
    for (unsigned m = 0; m < 8; m++)
        column[m] = _mm_loadu_si128((const __m128i *)&t->weight[4 * (8 * set + m) + n]);
    transpose_u16(column);
}

static inline void store_f64(double *out, __m128i f16)
{
    __m256 f = _mm256_cvtph_ps(f16);

    _mm256_store_pd(out, _mm256_cvtps_pd(_mm256_castps256_ps128(f)));
    _mm256_store_pd(out + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(f, 1)));
}

static inline unsigned min_u16(__m128i v)
{
    return (unsigned)_mm_cvtsi128_si32(_mm_minpos_epu16(v)) & 0xffff;
}

/* Largest magnitude and smallest nonzero one less 1, of the units that `part` selects. */
static inline void store_range(struct weight_cache *c, unsigned n, __m128i max, __m128i min,
                               __m128i part)
{
    const __m128i ones = _mm_set1_epi16(-1);

    c->max[n] = (uint16_t)~min_u16(_mm_xor_si128(_mm_and_si128(max, part), ones));
    c->min[n] = (uint16_t)min_u16(_mm_or_si128(min, _mm_xor_si128(part, ones)));
}

static void refresh_f16(struct tile *t, unsigned units, unsigned sets)
{
    static const uint64_t first[3][2] = { { 0xffffffff, 0 },
                                          { UINT64_MAX, 0 },
                                          { UINT64_MAX, UINT64_MAX } };
    struct weight_cache *c = &t->fast->weights;
    const __m128i part = _mm_loadu_si128((const __m128i *)first[units / 4]);
    const __m128i magnitude = _mm_set1_epi16(0x7fff), one = _mm_set1_epi16(1);

    for (unsigned n = 0; n < 4; n += 2) {
        __m128i max[2] = { _mm_setzero_si128(), _mm_setzero_si128() };
        __m128i min[2] = { _mm_set1_epi16(-1), _mm_set1_epi16(-1) };

        for (unsigned set = 0; set < sets; set++) {
            __m128i column[8];

            load_columns(t, n, set, column);
            for (unsigned k = 0; k < 8; k++) {
                __m128i abs = _mm_and_si128(column[k], magnitude);

                store_f64(&c->f64[n + k / 4][k % 4][8 * set], column[k]);
                max[k / 4] = _mm_max_epu16(max[k / 4], abs);
                min[k / 4] = _mm_min_epu16(min[k / 4], _mm_sub_epi16(abs, one));
            }
        }
        store_range(c, n, max[0], min[0], part);
        store_range(c, n + 1, max[1], min[1], part);
    }
}

/* Subnormals become zero of the same sign. */
static inline __m256 flush(__m256 v)
{
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    const __m256i sign = _mm256_set1_epi32(INT32_MIN);
    __m256i bits = _mm256_castps_si256(v);
    __m256i normal = _mm256_cmpgt_epi32(_mm256_and_si256(bits, exponent), _mm256_setzero_si256());

    return _mm256_castsi256_ps(_mm256_and_si256(bits, _mm256_or_si256(normal, sign)));
}

/* Eight units: row m of the matrix holds the phases of unit m. */
static void refresh_f32_set(struct tile *t, unsigned set)
{
    __m256 r[8], a[8], b[8];

    for (unsigned m = 0; m < 8; m++)
        r[m] = flush(_mm256_loadu_ps((const float *)&t->weight[4 * (8 * set + m)]));
    for (unsigned k = 0; k < 4; k++) {
        a[2 * k] = _mm256_unpacklo_ps(r[2 * k], r[2 * k + 1]);
        a[2 * k + 1] = _mm256_unpackhi_ps(r[2 * k], r[2 * k + 1]);
    }
    for (unsigned k = 0; k < 2; k++) {
        b[4 * k] = _mm256_shuffle_ps(a[4 * k], a[4 * k + 2], 0x44);
        b[4 * k + 1] = _mm256_shuffle_ps(a[4 * k], a[4 * k + 2], 0xee);
        b[4 * k + 2] = _mm256_shuffle_ps(a[4 * k + 1], a[4 * k + 3], 0x44);
        b[4 * k + 3] = _mm256_shuffle_ps(a[4 * k + 1], a[4 * k + 3], 0xee);
    }
    for (unsigned k = 0; k < 4; k++) {
        float(*out)[16] = t->fast->weights.f32;

        _mm256_store_ps(&out[k][8 * set], _mm256_permute2f128_ps(b[k], b[k + 4], 0x20));
        _mm256_store_ps(&out[k + 4][8 * set], _mm256_permute2f128_ps(b[k], b[k + 4], 0x31));
    }
}

void fast_weights_refresh(struct tile *t, enum weights_key key)
{
    static const struct {
        uint8_t units, sets;
    } shape[] = {
        [WEIGHTS_F16_U2] = { 2, 1 }, [WEIGHTS_F16_U2_BOTH] = { 2, 2 },
        [WEIGHTS_F16_U4] = { 4, 1 }, [WEIGHTS_F16_U4_BOTH] = { 4, 2 },
        [WEIGHTS_F16_U8] = { 8, 1 }, [WEIGHTS_F16_U8_BOTH] = { 8, 2 },
    };

    if (key == WEIGHTS_F32) {
        refresh_f32_set(t, 0);
        refresh_f32_set(t, 1);
    } else {
        refresh_f16(t, shape[key].units, shape[key].sets);
    }
    if (key != WEIGHTS_F32)
        amp_window_products(&t->fast->window, &t->fast->weights);
    t->fast->weights.key = key;
    t->fast->weights.generation = t->weight_generation;
}
