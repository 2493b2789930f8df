/* fast_rows.h - host vectors over register rows: eight 32-bit lanes, of which six are workers and
 * one the supervisor. */
#ifndef EMU_FAST_ROWS_H
#define EMU_FAST_ROWS_H

#include <immintrin.h>

#include "emu/fast/fast.h"

typedef int32_t v8i __attribute__((vector_size(32)));

static inline v8u fast_load(const uint32_t row[TILE_LANES])
{
    v8u v;

    memcpy(&v, row, sizeof(v));
    return v;
}

static inline v8u fast_splat(uint32_t v)
{
    return (v8u){ 0 } + v;
}

/* All ones in the lanes of a mask, for the 64 masks of six workers. */
extern const uint32_t fast_masks[1 << TILE_WORKERS][TILE_LANES];

static inline v8u fast_mask(uint32_t lanes)
{
    return fast_load(fast_masks[lanes]);
}

/* Writes v to the lanes of a row; the supervisor's lane and workers outside the mask keep their
 * value. Almost always all workers take part, and the mask is then a constant. */
static inline void fast_store(uint32_t row[TILE_LANES], uint32_t lanes, v8u v)
{
    __m256i old = (__m256i)fast_load(row), new;

    if (EMU_LIKELY(lanes == LANES_ALL))
        new = _mm256_blend_epi32(old, (__m256i)v, LANES_ALL);
    else
        new = _mm256_blendv_epi8(old, (__m256i)v, (__m256i)fast_mask(lanes));
    memcpy(row, &new, sizeof(new));
}

static inline v8u fast_m(const struct tile *t, unsigned r)
{
    return fast_load(t->m[r]);
}

static inline void fast_set_m(struct tile *t, uint32_t lanes, unsigned r, v8u v)
{
    if (EMU_LIKELY(r < 12))
        fast_store(t->m[r], lanes, v);
}

static inline v8u fast_a(const struct tile *t, unsigned r)
{
    return fast_load(t->a[r]);
}

static inline void fast_set_a(struct tile *t, uint32_t lanes, unsigned r, v8u v)
{
    if (EMU_LIKELY(r < 14))
        fast_store(t->a[r], lanes, v);
}

/* (a, b) of every worker as neighbours, in the order of the workers. out has 16-byte alignment. */
static inline void fast_store_pairs(uint64_t out[TILE_LANES], v8u a, v8u b)
{
    __m256i low = _mm256_unpacklo_epi32((__m256i)a, (__m256i)b);
    __m256i high = _mm256_unpackhi_epi32((__m256i)a, (__m256i)b);

    _mm_store_si128((__m128i *)out, _mm256_castsi256_si128(low));
    _mm_store_si128((__m128i *)out + 1, _mm256_castsi256_si128(high));
    _mm_store_si128((__m128i *)out + 2, _mm256_extracti128_si256(low, 1));
    _mm_store_si128((__m128i *)out + 3, _mm256_extracti128_si256(high, 1));
}

/* Whether any participating lane has its sign bit set. */
static inline int fast_any_negative(v8u v, uint32_t lanes)
{
    return !_mm256_testz_ps((__m256)v, (__m256)fast_mask(lanes));
}

/* Whether any participating lane of a comparison result (all ones / zero) is set. */
static inline int fast_any(v8u cond, uint32_t lanes)
{
    return !_mm256_testz_si256((__m256i)cond, (__m256i)fast_mask(lanes));
}

#endif
