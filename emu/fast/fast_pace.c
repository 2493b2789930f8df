/* fast_pace.c - loads and stores at packed addresses for all workers at once. Plain meaning:
 * emu/exec/exec_pace.c. */
#include "emu/arch/arch_geometry.h"
#include "emu/fast/fast_access.h"

/* --- packed addresses: three 21-bit byte addresses in a register pair --- */

enum { PACK_MASK = 0x1fffff, PACK_LOW_BITS = 11 };

struct pace {
    v8u lo, hi, stride;
};

FAST_INLINE struct pace pace_read(const struct tile *t, const struct insn *in)
{
    struct pace p = { fast_m(t, in->x), fast_m(t, in->x + 1), fast_m(t, in->t) };

    return p;
}

/* Selector 0 is one unit of 8 bytes, k a signed 10-bit field of the stride register in units of 8
 * bytes. */
FAST_INLINE v8u pace_stride(const struct pace *p, unsigned selector)
{
    v8i field;

    if (!selector)
        return fast_splat(8);
    field = (v8i)(p->stride << (22 - 10 * (selector - 1)));
    return (v8u)(field >> 22) * 8;
}

FAST_INLINE v8u pace_third(const struct pace *p)
{
    return p->lo >> 21 | ((p->hi >> 21) & 0x3ff) << PACK_LOW_BITS;
}

FAST_INLINE void pace_move(v8u *reg, v8u by)
{
    *reg = (*reg & ~fast_splat(PACK_MASK)) | ((*reg + by) & PACK_MASK);
}

FAST_INLINE void pace_move_third(struct pace *p, v8u by)
{
    v8u a = (pace_third(p) + by) & PACK_MASK;

    p->lo = (p->lo & PACK_MASK) | a << 21;
    p->hi = (p->hi & (1u << 31 | PACK_MASK)) | (a >> PACK_LOW_BITS) << 21;
}

FAST_INLINE void pace_write(struct tile *t, uint32_t lanes, const struct insn *in,
                            const struct pace *p)
{
    fast_set_m(t, lanes, in->x, p->lo);
    fast_set_m(t, lanes, in->x + 1, p->hi);
}

/* A number for the memory element per lane, equal where that of arch_element_of() is. */
FAST_INLINE v8u element(const struct tile *t, v8u off)
{
    unsigned shift = (unsigned)__builtin_ctz(t->arch->element_bytes);
    v8u inner = off - t->region0_bytes;
    v8u paired = fast_splat(1u << 31) | (inner >> (shift + 1)) << 1 | ((inner >> 3) & 1);
    v8u in0 = (v8u)(off < t->region0_bytes);

    return ((off >> shift) & in0) | (paired & ~in0);
}

int fast_ld2x64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK;
    v8u o0 = addr0 - t->mem_base, o1 = addr1 - t->mem_base;
    uint32_t off0[TILE_LANES], off1[TILE_LANES];

    if ((in->d == in->e && in->d != 14) ||
        fast_any(bad_lanes(t, addr0, o0, 8, 0) | bad_lanes(t, addr1, o1, 8, 0) |
                     (v8u)(element(t, o0) == element(t, o1)),
                 lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    put_offsets(lanes, o1, off1);
    load_pair(t, lanes, off0, 0, in->d);
    load_pair(t, lanes, off1, 0, in->e);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

/* The loads of a lane see what lanes before it have stored in the same round. Only when a store of
 * one lane may meet a load of another does the order matter: all ones in such lanes, and the plain
 * functions run. Lanes that take no part may be flagged for nothing. */
FAST_INLINE v8u lanes_meet(v8u load0, v8u load1, v8u store)
{
    const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 0, 6, 7);
    v8u s = store, meet = { 0 };

#pragma GCC unroll 5
    for (unsigned k = 1; k < TILE_WORKERS; k++) {
        s = (v8u)_mm256_permutevar8x32_epi32((__m256i)s, next);
        meet |= (v8u)(load0 == s) | (v8u)(load1 == s);
    }
    return meet;
}

int fast_ldst64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr2 = pace_third(&p);
    v8u o0 = addr0 - t->mem_base, o2 = addr2 - t->mem_base;
    v8u lo = fast_a(t, in->s), hi = fast_a(t, in->s + 1u); /* loads may change the registers */
    uint32_t off0[TILE_LANES];

    if (fast_any(bad_lanes(t, addr0, o0, 8, 0) | bad_lanes(t, addr2, o2, 8, 0) |
                     (v8u)(element(t, o0) == element(t, o2)) | lanes_meet(o0, o0, o2),
                 lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    load_pair(t, lanes, off0, 0, in->d);
    put_pairs(t, lanes, o2, lo, hi);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 2 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_st64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);

    if (!v_st64(t, lanes, in, pace_third(&p)))
        return 0;
    pace_move_third(&p, pace_stride(&p, in->i & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_ld2xst64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK, addr2 = pace_third(&p);
    v8u o0 = addr0 - t->mem_base, o1 = addr1 - t->mem_base, o2 = addr2 - t->mem_base, e0, e1, e2;
    v8u lo = fast_a(t, in->s), hi = fast_a(t, in->s + 1u); /* loads may change the registers */
    uint32_t off0[TILE_LANES], off1[TILE_LANES];

    if (in->d >= 12)
        return 0;
    e0 = element(t, o0);
    e1 = element(t, o1);
    e2 = element(t, o2);
    if (fast_any(bad_lanes(t, addr0, o0, 8, 0) | bad_lanes(t, addr1, o1, 8, t->region0_bytes) |
                     bad_lanes(t, addr2, o2, 8, 0) | (v8u)(e0 == e1) | (v8u)(e0 == e2) |
                     (v8u)(e1 == e2) | lanes_meet(o0, o1, o2),
                 lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    put_offsets(lanes, o1, off1);
    load_pair(t, lanes, off0, 0, in->d);
    load_pair(t, lanes, off1, 0, in->d + 2);
    put_pairs(t, lanes, o2, lo, hi);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 4 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}
