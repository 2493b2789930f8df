/* fast_access.h - loads and stores for all workers at once: addresses checked as vectors, values
 * gathered and scattered, and the vector functions that lanes.def names.
 *
 * If any lane would fault, nothing is done, and the plain functions find out which lane it is.
 * Stores are done in the order of the slots of the round.
 */
#ifndef EMU_FAST_ACCESS_H
#define EMU_FAST_ACCESS_H

#include "emu/fast/fast_fp.h"
#include "emu/fast/fast_state.h"

/* Lanes in which an access of `bytes` (a power of two) is misaligned, out of memory or below
 * `lowest`. */
FAST_INLINE v8u bad_lanes(const struct tile *t, v8u addr, v8u off, uint32_t bytes, uint32_t lowest)
{
    v8u bad = (v8u)(off > t->mem_bytes - bytes) | (v8u)((addr & (bytes - 1)) != 0);

    return lowest ? bad | (v8u)(off < lowest) : bad;
}

/* Stores the offsets of lanes, 0 for those that take no part: they may be read, but never written.
 */
FAST_INLINE void put_offsets(uint32_t lanes, v8u off, uint32_t out[TILE_LANES])
{
    off &= fast_mask(lanes);
    memcpy(out, &off, sizeof(off));
}

/* Offsets of accesses; 0 when a lane would fault. */
FAST_INLINE int offsets(const struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes,
                        uint32_t lowest, uint32_t off[TILE_LANES])
{
    v8u o = addr - t->mem_base;

    put_offsets(lanes, o, off);
    return !fast_any(bad_lanes(t, addr, o, bytes, lowest), lanes);
}

FAST_INLINE uint32_t get32(const struct tile *t, uint32_t off)
{
    uint32_t v;

    memcpy(&v, t->mem + off, 4);
    return v;
}

FAST_INLINE uint32_t get16(const struct tile *t, uint32_t off)
{
    uint16_t v;

    memcpy(&v, t->mem + off, 2);
    return v;
}

FAST_INLINE uint32_t get16_twice(const struct tile *t, uint32_t off)
{
    return get16(t, off) * 0x10001u;
}

FAST_INLINE uint32_t get16_signed(const struct tile *t, uint32_t off)
{
    return (uint32_t)(int16_t)get16(t, off);
}

FAST_INLINE uint32_t get8(const struct tile *t, uint32_t off)
{
    return t->mem[off];
}

FAST_INLINE uint32_t get8_four_times(const struct tile *t, uint32_t off)
{
    return get8(t, off) * 0x01010101u;
}

FAST_INLINE uint32_t get8_signed(const struct tile *t, uint32_t off)
{
    return (uint32_t)(int8_t)t->mem[off];
}

typedef uint32_t get_fn(const struct tile *t, uint32_t off);

/* Loads one value per lane into a register row; row is NULL for a zero register: only the access
 * itself has an effect. The row is written as one vector: a row written lane by lane could not be
 * forwarded to the vector load that comes next. */
FAST_INLINE int load_row(struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes, uint32_t *row,
                         get_fn *get)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, bytes, 0, off))
        return 0;
    if (row) {
        v8u v = { get(t, off[0]),
                  get(t, off[1]),
                  get(t, off[2]),
                  get(t, off[3]),
                  get(t, off[4]),
                  get(t, off[5]),
                  0,
                  0 };

        fast_store(row, lanes, v);
    }
    return 1;
}

FAST_INLINE uint32_t *row_m(struct tile *t, unsigned r)
{
    return r < 12 ? t->m[r] : NULL;
}

FAST_INLINE uint32_t *row_a(struct tile *t, unsigned r)
{
    return r < 14 ? t->a[r] : NULL;
}

/* 64 bits per lane as two rows: low words and high words. */
FAST_INLINE void get64(const uint8_t *mem, const uint32_t *off, v8u *lo, v8u *hi)
{
    const __m256i order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    __m128 p[3];
    __m256 first, last;

#pragma GCC unroll 3
    for (unsigned k = 0; k < 3; k++) {
        p[k] = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)(mem + off[2 * k])));
        p[k] = _mm_loadh_pi(p[k], (const __m64 *)(const void *)(mem + off[2 * k + 1]));
    }
    first = _mm256_insertf128_ps(_mm256_castps128_ps256(p[0]), p[1], 1);
    last = _mm256_insertf128_ps(_mm256_setzero_ps(), p[2], 0);
    *lo = (v8u)_mm256_permutevar8x32_epi32(
        _mm256_castps_si256(_mm256_shuffle_ps(first, last, 0x88)), order);
    *hi = (v8u)_mm256_permutevar8x32_epi32(
        _mm256_castps_si256(_mm256_shuffle_ps(first, last, 0xdd)), order);
}

/* Loads a pair of registers from d on, per lane; a load to $a14:15 is dropped. */
FAST_INLINE void load_pair(struct tile *t, uint32_t lanes, const uint32_t *off, uint32_t more,
                           unsigned d)
{
    v8u lo, hi;

    if (d >= 14)
        return;
    get64(t->mem + more, off, &lo, &hi);
    fast_store(t->a[d], lanes, lo);
    fast_store(t->a[d + 1], lanes, hi);
}

/* Stores one by one, in slot order, where not all workers take part or code may be hit. */
void fast_put32_some(struct tile *t, uint32_t lanes, v8u off, v8u v);
void fast_put64_some(struct tile *t, uint32_t lanes, v8u off, v8u lo, v8u hi);

/* Whether all workers store, and none of them below the end of decoded code. */
FAST_INLINE int stores_are_plain(const struct tile *t, uint32_t lanes, v8u off)
{
    return lanes == LANES_ALL && !fast_any((v8u)(off < t->code_end), LANES_ALL);
}

/* The place in slot order of worker 0's first neighbour: late workers are always the lowest few. */
FAST_INLINE unsigned first_in_round(const struct tile *t)
{
    return (unsigned)__builtin_ctz(~(uint32_t)t->fast->late_lanes);
}

/* Stores a register in slot order. Values lie twice one after the other, so that the slots of a
 * round are neighbours whichever worker comes first. */
FAST_INLINE void put_words(struct tile *t, uint32_t lanes, v8u off, v8u v)
{
    uint32_t at[TILE_WORKERS + TILE_LANES], value[TILE_WORKERS + TILE_LANES];
    uint8_t *mem = t->mem, *dirty = t->dirty;
    unsigned first = first_in_round(t);

    if (EMU_UNLIKELY(!stores_are_plain(t, lanes, off))) {
        fast_put32_some(t, lanes, off, v);
        return;
    }
    memcpy(at, &off, sizeof(off));
    memcpy(at + TILE_WORKERS, &off, sizeof(off));
    memcpy(value, &v, sizeof(v));
    memcpy(value + TILE_WORKERS, &v, sizeof(v));
#pragma GCC unroll 6
    for (unsigned k = first; k < first + TILE_WORKERS; k++) {
        memcpy(mem + at[k], &value[k], 4);
        dirty[at[k] >> DIRTY_PAGE_BITS] = 1;
    }
}

/* The same with a pair of registers. */
FAST_INLINE void put_pairs(struct tile *t, uint32_t lanes, v8u off, v8u lo, v8u hi)
{
    uint32_t at[TILE_WORKERS + TILE_LANES];
    _Alignas(16) uint64_t value[TILE_WORKERS + TILE_LANES];
    uint8_t *mem = t->mem, *dirty = t->dirty;
    unsigned first = first_in_round(t);

    if (EMU_UNLIKELY(!stores_are_plain(t, lanes, off))) {
        fast_put64_some(t, lanes, off, lo, hi);
        return;
    }
    memcpy(at, &off, sizeof(off));
    memcpy(at + TILE_WORKERS, &off, sizeof(off));
    fast_store_pairs(value, lo, hi);
    fast_store_pairs(value + TILE_WORKERS, lo, hi);
#pragma GCC unroll 6
    for (unsigned k = first; k < first + TILE_WORKERS; k++) {
        memcpy(mem + at[k], &value[k], 8);
        dirty[at[k] >> DIRTY_PAGE_BITS] = 1;
    }
}

FAST_INLINE int store32(struct tile *t, uint32_t lanes, v8u addr, const uint32_t *row)
{
    v8u off = addr - t->mem_base;

    if (fast_any(bad_lanes(t, addr, off, 4, 0), lanes))
        return 0;
    put_words(t, lanes, off, fast_load(row));
    return 1;
}

/* ---- what lanes.def names: loads into D, stores of S ---- */

FAST_INLINE int v_ld32_m(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 4, row_m(t, in->d), get32);
}

FAST_INLINE int v_ldz16(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 2, row_m(t, in->d), get16);
}

FAST_INLINE int v_lds16(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 2, row_m(t, in->d), get16_signed);
}

FAST_INLINE int v_ldz8(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 1, row_m(t, in->d), get8);
}

FAST_INLINE int v_lds8(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 1, row_m(t, in->d), get8_signed);
}

FAST_INLINE int v_ld32_a(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 4, row_a(t, in->d), get32);
}

FAST_INLINE int v_ldb16(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 2, row_a(t, in->d), get16_twice);
}

FAST_INLINE int v_ldb8(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return load_row(t, lanes, addr, 1, row_a(t, in->d), get8_four_times);
}

FAST_INLINE int v_ld64(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 8, 0, off))
        return 0;
    load_pair(t, lanes, off, 0, in->d);
    return 1;
}

FAST_INLINE int v_ld128(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    uint32_t off[TILE_LANES];

    if (in->d >= 12 || !offsets(t, lanes, addr, 16, t->region0_bytes, off))
        return 0;
    load_pair(t, lanes, off, 0, in->d);
    load_pair(t, lanes, off, 8, in->d + 2u);
    return 1;
}

FAST_INLINE int v_st32_m(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return store32(t, lanes, addr, t->m[in->s]);
}

FAST_INLINE int v_st32_a(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    return store32(t, lanes, addr, t->a[in->s]);
}

FAST_INLINE int v_st64(struct tile *t, uint32_t lanes, const struct insn *in, v8u addr)
{
    v8u off = addr - t->mem_base;

    if (fast_any(bad_lanes(t, addr, off, 8, 0), lanes))
        return 0;
    put_pairs(t, lanes, off, fast_a(t, in->s), fast_a(t, in->s + 1u));
    return 1;
}

#endif
