/* fast_pace.c - loads and stores at packed addresses for all workers at once. Plain meaning:
 * emu/exec/exec_pace.c.
 *
 * Whatever forbids an access is collected in the sign bits of one vector and tested once.
 */
#include "emu/arch/arch_geometry.h"
#include "emu/fast/fast_access.h"

/* --- packed addresses: three 21-bit byte addresses in a register pair --- */

enum { PACK_MASK = 0x1fffff, PACK_HIGH = 0x1ff800 /* of address 2, in hi */ };

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
    return p->lo >> 21 | (p->hi >> 10 & PACK_HIGH);
}

FAST_INLINE void pace_move(v8u *reg, v8u by)
{
    *reg = (*reg & ~fast_splat(PACK_MASK)) | ((*reg + by) & PACK_MASK);
}

FAST_INLINE void pace_move_third(struct pace *p, v8u by)
{
    v8u a = pace_third(p) + by;

    p->lo = (p->lo & PACK_MASK) | a << 21;
    p->hi = (p->hi & (1u << 31 | PACK_MASK)) | (a & PACK_HIGH) << 10;
}

FAST_INLINE void pace_write(struct tile *t, uint32_t lanes, const struct insn *in,
                            const struct pace *p)
{
    fast_set_m(t, lanes, in->x, p->lo);
    fast_set_m(t, lanes, in->x + 1, p->hi);
}

/* --- what forbids an access: sign bits --- */

/* Offsets out of memory for 8 bytes. They are below 2^31, or addresses below the base. */
FAST_INLINE v8u outside(const struct tile *t, v8u off)
{
    return off | (t->mem_bytes - 8 - off);
}

/* Of addresses, or-ed together. */
FAST_INLINE v8u misaligned(v8u addr)
{
    return 0 - (addr & 7);
}

/* Offsets from region 1 on, negative in region 0, decide which of two accesses meet in a memory
 * element: arch_element_of() is equal where these bits of both offsets are. */
struct elements {
    v8u in0, in1;
};

FAST_INLINE struct elements elements_of(const struct tile *t)
{
    uint32_t bytes = t->arch->element_bytes;

    return (struct elements){ fast_splat(0 - bytes), fast_splat((0 - 2 * bytes) | 8) };
}

FAST_INLINE v8u pick(v8u if_negative, v8u otherwise, v8u sign)
{
    return (v8u)_mm256_blendv_ps((__m256)otherwise, (__m256)if_negative, (__m256)sign);
}

FAST_INLINE v8u conflict(v8u inner0, v8u inner1, v8u bits)
{
    return (v8u)(((inner0 ^ inner1) & bits) == 0);
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

/* --- the instructions --- */

int fast_ld2x64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    const struct elements e = elements_of(t);
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK;
    v8u o0 = addr0 - t->mem_base, o1 = addr1 - t->mem_base;
    v8u i0 = o0 - t->region0_bytes, i1 = o1 - t->region0_bytes;
    uint32_t off0[TILE_LANES], off1[TILE_LANES];

    if ((in->d == in->e && in->d != 14) ||
        fast_any_negative(outside(t, o0) | outside(t, o1) | misaligned(addr0 | addr1) |
                              conflict(i0, i1, pick(e.in0, e.in1, i0)),
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

int fast_put_ldst64pace(struct tile *t, uint32_t lanes, const struct insn *in, v8u low, v8u high)
{
    const struct elements e = elements_of(t);
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr2 = pace_third(&p);
    v8u o0 = addr0 - t->mem_base, o2 = addr2 - t->mem_base;
    v8u i0 = o0 - t->region0_bytes, i2 = o2 - t->region0_bytes;
    uint32_t off0[TILE_LANES];

    if (fast_any_negative(outside(t, o0) | outside(t, o2) | misaligned(addr0 | addr2) |
                              conflict(i0, i2, pick(e.in0, e.in1, i0)) | lanes_meet(o0, o0, o2),
                          lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    load_pair(t, lanes, off0, 0, in->d);
    put_pairs(t, lanes, o2, low, high);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 2 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_put_st64pace(struct tile *t, uint32_t lanes, const struct insn *in, v8u low, v8u high)
{
    struct pace p = pace_read(t, in);
    v8u addr2 = pace_third(&p), o2 = addr2 - t->mem_base;

    if (fast_any_negative(outside(t, o2) | misaligned(addr2), lanes))
        return 0;
    put_pairs(t, lanes, o2, low, high);
    pace_move_third(&p, pace_stride(&p, in->i & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_put_ld2xst64pace(struct tile *t, uint32_t lanes, const struct insn *in, v8u low, v8u high)
{
    const struct elements e = elements_of(t);
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK, addr2 = pace_third(&p);
    v8u o0 = addr0 - t->mem_base, o1 = addr1 - t->mem_base, o2 = addr2 - t->mem_base;
    v8u i0 = o0 - t->region0_bytes, i1 = o1 - t->region0_bytes, i2 = o2 - t->region0_bytes;
    v8u bits = pick(e.in0, e.in1, i0);
    uint32_t off0[TILE_LANES], off1[TILE_LANES];

    if (in->d >= 12) /* the second load must come from region 1 */
        return 0;
    if (fast_any_negative(outside(t, o0) | outside(t, o1) | outside(t, o2) | i1 |
                              misaligned(addr0 | addr1 | addr2) | conflict(i0, i1, bits) |
                              conflict(i0, i2, bits) | conflict(i1, i2, e.in1) |
                              lanes_meet(o0, o1, o2),
                          lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    put_offsets(lanes, o1, off1);
    load_pair(t, lanes, off0, 0, in->d);
    load_pair(t, lanes, off1, 0, in->d + 2);
    put_pairs(t, lanes, o2, low, high);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 4 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

/* Alone, they store what is in their registers: before the loads change them. */
#define STORES_ITS_PAIR(id)                                                                        \
    int fast_##id(struct tile *t, uint32_t lanes, const struct insn *in)                           \
    {                                                                                              \
        return fast_put_##id(t, lanes, in, fast_a(t, in->s), fast_a(t, in->s + 1u));               \
    }
STORES_ITS_PAIR(ldst64pace)
STORES_ITS_PAIR(st64pace)
STORES_ITS_PAIR(ld2xst64pace)
