/* fast_mem.c - loads and stores for all workers at once. Plain meaning: emu/exec/exec_mem.c and exec_pace.c.
 *
 * Addresses are computed and checked as vectors; if any lane would fault, nothing is done and the plain functions find out which.
 * Lanes are served in ascending order, which is barrel order unless the round begins elsewhere: round.c then falls back for stores.
 */
#include "emu/bsp/fast.h"

static inline v8u splat(uint32_t v)
{
    v8u z = { 0 };

    return z + v;
}

/* Offsets of accesses of `bytes` (a power of two); 0 when a lane is misaligned, out of memory or below lowest. */
static inline int offsets(const struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes,
                          uint32_t lowest, uint32_t off[TILE_LANES])
{
    v8u o = addr - t->mem_base;
    v8u bad = (v8u)(o > t->mem_bytes - bytes) | (v8u)((addr & (bytes - 1)) != 0);

    if (lowest)
        bad |= (v8u)(o < lowest);
    memcpy(off, &o, sizeof(o));
    return !fast_any(bad, lanes);
}

static inline uint32_t get32(const struct tile *t, uint32_t off)
{
    uint32_t v;

    memcpy(&v, t->mem + off, 4);
    return v;
}

static inline uint32_t get16(const struct tile *t, uint32_t off)
{
    uint16_t v;

    memcpy(&v, t->mem + off, 2);
    return v;
}

static inline uint32_t get16_twice(const struct tile *t, uint32_t off)
{
    return get16(t, off) * 0x10001u;
}

static inline uint32_t get16_signed(const struct tile *t, uint32_t off)
{
    return (uint32_t)(int16_t)get16(t, off);
}

static inline uint32_t get8(const struct tile *t, uint32_t off)
{
    return t->mem[off];
}

typedef uint32_t get_fn(const struct tile *t, uint32_t off);

#define FOR_LANES(lane, lanes)                                                                     \
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)                                           \
        if ((lanes) >> lane & 1)

/* Loads one value per lane into a register row; row NULL: a zero register, the access alone counts. */
static inline int load_row(struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes, uint32_t *row,
                           get_fn *get)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, bytes, 0, off))
        return 0;
    if (row) {
        FOR_LANES(lane, lanes)
            row[lane] = get(t, off[lane]);
    }
    return 1;
}

static inline uint32_t *row_m(struct tile *t, unsigned r)
{
    return r < 12 ? t->m[r] : NULL;
}

static inline uint32_t *row_a(struct tile *t, unsigned r)
{
    return r < 14 ? t->a[r] : NULL;
}

/* words (2 or 4) of 32 bits into consecutive rows from d; $a14:15 swallows a pair. */
static inline void load_words(struct tile *t, uint32_t lanes, const uint32_t *off, unsigned d,
                              unsigned words)
{
    if (d >= 14)
        return;
    FOR_LANES(lane, lanes) {
        for (unsigned k = 0; k < words; k++)
            t->a[d + k][lane] = get32(t, off[lane] + 4 * k);
    }
}

static inline int load64(struct tile *t, uint32_t lanes, v8u addr, unsigned d)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 8, 0, off))
        return 0;
    load_words(t, lanes, off, d, 2);
    return 1;
}

static inline int load128(struct tile *t, uint32_t lanes, v8u addr, unsigned d)
{
    uint32_t off[TILE_LANES];

    if (d >= 12 || !offsets(t, lanes, addr, 16, t->region0_bytes, off))
        return 0;
    load_words(t, lanes, off, d, 4);
    return 1;
}

static inline void put_words(struct tile *t, uint32_t lanes, const uint32_t *off,
                             const uint32_t *lo, const uint32_t *hi)
{
    FOR_LANES(lane, lanes) {
        memcpy(t->mem + off[lane], &lo[lane], 4);
        if (hi)
            memcpy(t->mem + off[lane] + 4, &hi[lane], 4);
        tile_written(t, off[lane], hi ? 8 : 4);
    }
}

static inline int store32(struct tile *t, uint32_t lanes, v8u addr, const uint32_t *row)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 4, 0, off))
        return 0;
    put_words(t, lanes, off, row, NULL);
    return 1;
}

static inline int store64(struct tile *t, uint32_t lanes, v8u addr, unsigned s)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 8, 0, off))
        return 0;
    put_words(t, lanes, off, t->a[s], t->a[s + 1]);
    return 1;
}

/* --- plain addresses ------------------------------------------------------------------------------------------------------- */

static inline v8u address_i(const struct tile *t, const struct insn *in, uint32_t size)
{
    return fast_m(t, in->a) + fast_m(t, in->b) + (uint32_t)in->i * size;
}

static inline v8u address_r(const struct tile *t, const struct insn *in, uint32_t size)
{
    return fast_m(t, in->a) + fast_m(t, in->b) + fast_m(t, in->c) * size;
}

int fast_ld32_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 4), 4, row_m(t, in->d), get32);
}

int fast_ld32_mr(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_r(t, in, 4), 4, row_m(t, in->d), get32);
}

int fast_ld32_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 4), 4, row_a(t, in->d), get32);
}

int fast_ld32_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_r(t, in, 4), 4, row_a(t, in->d), get32);
}

int fast_ldz16_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 2), 2, row_m(t, in->d), get16);
}

int fast_lds16_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 2), 2, row_m(t, in->d), get16_signed);
}

int fast_ldz8_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 1), 1, row_m(t, in->d), get8);
}

int fast_ldb16_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load_row(t, lanes, address_i(t, in, 2), 2, row_a(t, in->d), get16_twice);
}

int fast_ld64_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load64(t, lanes, address_i(t, in, 8), in->d);
}

int fast_ld64_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load64(t, lanes, address_r(t, in, 8), in->d);
}

int fast_ld128_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return load128(t, lanes, address_i(t, in, 16), in->d);
}

int fast_st32_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return store32(t, lanes, address_i(t, in, 4), t->m[in->s]);
}

int fast_st32_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return store32(t, lanes, address_i(t, in, 4), t->a[in->s]);
}

int fast_st64_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    return store64(t, lanes, address_i(t, in, 8), in->s);
}

/* --- step forms: the delta register moves after the access -------------------------------------------------------------------- */

static inline v8u address_step(const struct tile *t, const struct insn *in)
{
    return fast_m(t, in->a) + fast_m(t, in->x);
}

/* The delta is read before the destination is written and moved after it: a load into its own delta register ends moved. */
static inline int step_i(struct tile *t, uint32_t lanes, const struct insn *in, v8u x, uint32_t size)
{
    fast_set_m(t, lanes, in->x, x + (uint32_t)in->i * size);
    return 1;
}

static inline int step_r(struct tile *t, uint32_t lanes, const struct insn *in, v8u x, v8u by,
                         uint32_t size)
{
    fast_set_m(t, lanes, in->x, x + by * size);
    return 1;
}

/* Loads into the main file that hit a register of the address are left to the plain function. */
static inline int overlaps(const struct insn *in)
{
    return in->d == in->x || in->d == in->t;
}

int fast_ld32step_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return !overlaps(in) && load_row(t, lanes, address_step(t, in), 4, row_m(t, in->d), get32) &&
           step_i(t, lanes, in, x, 4);
}

int fast_ld32step_mr(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return !overlaps(in) && load_row(t, lanes, address_step(t, in), 4, row_m(t, in->d), get32) &&
           step_r(t, lanes, in, x, by, 4);
}

int fast_ldz16step_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return !overlaps(in) && load_row(t, lanes, address_step(t, in), 2, row_m(t, in->d), get16) &&
           step_i(t, lanes, in, x, 2);
}

int fast_ldz16step_mr(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return !overlaps(in) && load_row(t, lanes, address_step(t, in), 2, row_m(t, in->d), get16) &&
           step_r(t, lanes, in, x, by, 2);
}

int fast_ld32step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return load_row(t, lanes, address_step(t, in), 4, row_a(t, in->d), get32) &&
           step_i(t, lanes, in, x, 4);
}

int fast_ld32step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return load_row(t, lanes, address_step(t, in), 4, row_a(t, in->d), get32) &&
           step_r(t, lanes, in, x, by, 4);
}

int fast_ldb16step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return load_row(t, lanes, address_step(t, in), 2, row_a(t, in->d), get16_twice) &&
           step_i(t, lanes, in, x, 2);
}

int fast_ldb16step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return load_row(t, lanes, address_step(t, in), 2, row_a(t, in->d), get16_twice) &&
           step_r(t, lanes, in, x, by, 2);
}

int fast_ld64step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return load64(t, lanes, address_step(t, in), in->d) && step_i(t, lanes, in, x, 8);
}

int fast_ld64step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return load64(t, lanes, address_step(t, in), in->d) && step_r(t, lanes, in, x, by, 8);
}

int fast_ld128step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return load128(t, lanes, address_step(t, in), in->d) && step_i(t, lanes, in, x, 16);
}

int fast_ld128step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return load128(t, lanes, address_step(t, in), in->d) && step_r(t, lanes, in, x, by, 16);
}

int fast_st32step_mi(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return store32(t, lanes, address_step(t, in), t->m[in->s]) && step_i(t, lanes, in, x, 4);
}

int fast_st32step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return store32(t, lanes, address_step(t, in), t->a[in->s]) && step_i(t, lanes, in, x, 4);
}

int fast_st32step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return store32(t, lanes, address_step(t, in), t->a[in->s]) && step_r(t, lanes, in, x, by, 4);
}

int fast_st64step_ai(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x);

    return store64(t, lanes, address_step(t, in), in->s) && step_i(t, lanes, in, x, 8);
}

int fast_st64step_ar(struct tile *t, uint32_t lanes, const struct insn *in)
{
    v8u x = fast_m(t, in->x), by = fast_m(t, in->t);

    return store64(t, lanes, address_step(t, in), in->s) && step_r(t, lanes, in, x, by, 8);
}

/* --- packed addresses: three 21-bit byte addresses in a register pair -------------------------------------------------------- */

enum { PACK_MASK = 0x1fffff, PACK_LOW_BITS = 11 };

struct pace {
    v8u lo, hi, stride;
};

static inline struct pace pace_read(const struct tile *t, const struct insn *in)
{
    struct pace p = { fast_m(t, in->x), fast_m(t, in->x + 1), fast_m(t, in->t) };

    return p;
}

/* Selector 0 is one unit of 8 bytes, k a signed 10-bit field of the stride register in units of 8 bytes. */
static inline v8u pace_stride(const struct pace *p, unsigned selector)
{
    v8i field;

    if (!selector)
        return splat(8);
    field = (v8i)(p->stride << (22 - 10 * (selector - 1)));
    return (v8u)(field >> 22) * 8;
}

static inline v8u pace_third(const struct pace *p)
{
    return p->lo >> 21 | ((p->hi >> 21) & 0x3ff) << PACK_LOW_BITS;
}

static inline void pace_move(v8u *reg, v8u by)
{
    *reg = (*reg & ~splat(PACK_MASK)) | ((*reg + by) & PACK_MASK);
}

static inline void pace_move_third(struct pace *p, v8u by)
{
    v8u a = (pace_third(p) + by) & PACK_MASK;

    p->lo = (p->lo & PACK_MASK) | a << 21;
    p->hi = (p->hi & (1u << 31 | PACK_MASK)) | (a >> PACK_LOW_BITS) << 21;
}

static inline void pace_write(struct tile *t, uint32_t lanes, const struct insn *in,
                              const struct pace *p)
{
    fast_set_m(t, lanes, in->x, p->lo);
    fast_set_m(t, lanes, in->x + 1, p->hi);
}

/* Number of the memory element per lane, for the interleaving by two of all chips. */
static inline v8u element(const struct tile *t, v8u addr, unsigned shift)
{
    v8u off = addr - t->mem_base, inner = off - t->region0_bytes;
    v8u linear = off >> shift;
    v8u paired = splat(1u << 31) | (inner >> (shift + 1)) << 1 | ((inner >> 3) & 1);
    v8u in0 = (v8u)(off < t->region0_bytes);

    return (linear & in0) | (paired & ~in0);
}

/* 1 when no lane's two addresses share an element. */
static inline int apart(const struct tile *t, uint32_t lanes, v8u addr1, v8u addr2)
{
    uint32_t bytes = t->arch->element_bytes;
    unsigned shift = (unsigned)__builtin_ctz(bytes);

    if ((bytes & (bytes - 1)) || t->arch->region1_interleave != 2 ||
        t->arch->element_word_bytes != 8)
        return 0; /* unusual machine: the plain function knows */
    return !fast_any((v8u)(element(t, addr1, shift) == element(t, addr2, shift)), lanes);
}

int fast_ld2x64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK;
    uint32_t off0[TILE_LANES], off1[TILE_LANES];

    if ((in->d == in->e && in->d != 14) || !offsets(t, lanes, addr0, 8, 0, off0) ||
        !offsets(t, lanes, addr1, 8, 0, off1) || !apart(t, lanes, addr0, addr1))
        return 0;
    load_words(t, lanes, off0, in->d, 2);
    load_words(t, lanes, off1, in->e, 2);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_ldst64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr2 = pace_third(&p);
    v8u lo = fast_a(t, in->s), hi = fast_a(t, in->s + 1);
    uint32_t off0[TILE_LANES], off2[TILE_LANES];

    if (!offsets(t, lanes, addr0, 8, 0, off0) || !offsets(t, lanes, addr2, 8, 0, off2) ||
        !apart(t, lanes, addr0, addr2))
        return 0;
    FOR_LANES(lane, lanes) {
        if (in->d < 14) {
            t->a[in->d][lane] = get32(t, off0[lane]);
            t->a[in->d + 1][lane] = get32(t, off0[lane] + 4);
        }
        put_words(t, 1u << lane, off2, (const uint32_t *)&lo, (const uint32_t *)&hi);
    }
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 2 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_st64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);

    if (!store64(t, lanes, pace_third(&p), in->s))
        return 0;
    pace_move_third(&p, pace_stride(&p, in->i & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}

int fast_ld2xst64pace(struct tile *t, uint32_t lanes, const struct insn *in)
{
    struct pace p = pace_read(t, in);
    v8u addr0 = p.lo & PACK_MASK, addr1 = p.hi & PACK_MASK, addr2 = pace_third(&p);
    v8u lo = fast_a(t, in->s), hi = fast_a(t, in->s + 1);
    uint32_t off0[TILE_LANES], off1[TILE_LANES], off2[TILE_LANES];

    if (in->d >= 12 || !offsets(t, lanes, addr0, 8, 0, off0) ||
        !offsets(t, lanes, addr1, 8, t->region0_bytes, off1) ||
        !offsets(t, lanes, addr2, 8, 0, off2) || !apart(t, lanes, addr0, addr1) ||
        !apart(t, lanes, addr0, addr2) || !apart(t, lanes, addr1, addr2))
        return 0;
    FOR_LANES(lane, lanes) {
        for (unsigned k = 0; k < 2; k++) {
            t->a[in->d + k][lane] = get32(t, off0[lane] + 4 * k);
            t->a[in->d + 2 + k][lane] = get32(t, off1[lane] + 4 * k);
        }
        put_words(t, 1u << lane, off2, (const uint32_t *)&lo, (const uint32_t *)&hi);
    }
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 4 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}
