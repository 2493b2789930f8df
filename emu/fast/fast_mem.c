/* fast_mem.c - loads and stores for all workers at once. Plain meaning: emu/exec/exec_mem.c and
 * exec_pace.c.
 *
 * Addresses are computed and checked as vectors; if any lane would fault, nothing is done and the
 * plain functions find out which. Stores are done in the order of the slots of the round.
 */
#include "emu/fast/fast.h"
#include "emu/fast/fast_rows.h"

static inline v8u splat(uint32_t v)
{
    v8u z = { 0 };

    return z + v;
}

/* Lanes in which an access of `bytes` (a power of two) is misaligned, out of memory or below
 * `lowest`. */
static inline v8u bad_lanes(const struct tile *t, v8u addr, v8u off, uint32_t bytes,
                            uint32_t lowest)
{
    v8u bad = (v8u)(off > t->mem_bytes - bytes) | (v8u)((addr & (bytes - 1)) != 0);

    return lowest ? bad | (v8u)(off < lowest) : bad;
}

/* Stores the offsets of lanes, 0 for those that take no part: they may be read, but never written.
 */
static inline void put_offsets(uint32_t lanes, v8u off, uint32_t out[TILE_LANES])
{
    off &= fast_mask(lanes);
    memcpy(out, &off, sizeof(off));
}

/* Offsets of accesses; 0 when a lane would fault. */
static inline int offsets(const struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes,
                          uint32_t lowest, uint32_t off[TILE_LANES])
{
    v8u o = addr - t->mem_base;

    put_offsets(lanes, o, off);
    return !fast_any(bad_lanes(t, addr, o, bytes, lowest), lanes);
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

/* Loads one value per lane into a register row; row NULL: a zero register, the access alone counts.
 * The row is written as one vector: a row written lane by lane could not be forwarded to the vector
 * load that comes next. */
static inline int load_row(struct tile *t, uint32_t lanes, v8u addr, uint32_t bytes, uint32_t *row,
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

static inline uint32_t *row_m(struct tile *t, unsigned r)
{
    return r < 12 ? t->m[r] : NULL;
}

static inline uint32_t *row_a(struct tile *t, unsigned r)
{
    return r < 14 ? t->a[r] : NULL;
}

/* 64 bits per lane as two rows: low words and high words. */
static inline void get64(const uint8_t *mem, const uint32_t *off, v8u *lo, v8u *hi)
{
    const __m256i order = _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
    __m128 p[3];
    __m256 first, last;

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

/* A pair of registers from d per lane; $a14:15 swallows it. */
static inline void load_pair(struct tile *t, uint32_t lanes, const uint32_t *off, uint32_t more,
                             unsigned d)
{
    v8u lo, hi;

    if (d >= 14)
        return;
    get64(t->mem + more, off, &lo, &hi);
    fast_store(t->a[d], lanes, lo);
    fast_store(t->a[d + 1], lanes, hi);
}

static inline int load64(struct tile *t, uint32_t lanes, v8u addr, unsigned d)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 8, 0, off))
        return 0;
    load_pair(t, lanes, off, 0, d);
    return 1;
}

static inline int load128(struct tile *t, uint32_t lanes, v8u addr, unsigned d)
{
    uint32_t off[TILE_LANES];

    if (d >= 12 || !offsets(t, lanes, addr, 16, t->region0_bytes, off))
        return 0;
    load_pair(t, lanes, off, 0, d);
    load_pair(t, lanes, off, 8, d + 2);
    return 1;
}

static inline void put32(struct tile *t, uint32_t off, uint32_t v)
{
    memcpy(t->mem + off, &v, 4);
    tile_written(t, off, 4);
}

static inline void put64(struct tile *t, uint32_t off, uint32_t lo, uint32_t hi)
{
    uint64_t v = lo | (uint64_t)hi << 32;

    memcpy(t->mem + off, &v, 8);
    tile_written(t, off, 8);
}

static inline int store32(struct tile *t, uint32_t lanes, v8u addr, const uint32_t *row)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 4, 0, off))
        return 0;
    FOR_LANES(lane, lanes & ~t->late_lanes)
        put32(t, off[lane], row[lane]);
    FOR_LANES(lane, lanes & t->late_lanes)
        put32(t, off[lane], row[lane]);
    return 1;
}

static inline void put_pairs(struct tile *t, uint32_t lanes, const uint32_t *off,
                             const uint32_t *lo, const uint32_t *hi)
{
    FOR_LANES(lane, lanes & ~t->late_lanes)
        put64(t, off[lane], lo[lane], hi[lane]);
    FOR_LANES(lane, lanes & t->late_lanes)
        put64(t, off[lane], lo[lane], hi[lane]);
}

static inline int store64(struct tile *t, uint32_t lanes, v8u addr, unsigned s)
{
    uint32_t off[TILE_LANES];

    if (!offsets(t, lanes, addr, 8, 0, off))
        return 0;
    put_pairs(t, lanes, off, t->a[s], t->a[s + 1]);
    return 1;
}

/* --- plain addresses --- */

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

/* --- step forms: the delta register moves after the access --- */

static inline v8u address_step(const struct tile *t, const struct insn *in)
{
    return fast_m(t, in->a) + fast_m(t, in->x);
}

/* The delta is read before the destination is written and moved after it: a load into its own delta
 * register ends moved. */
static inline int step_i(struct tile *t, uint32_t lanes, const struct insn *in, v8u x,
                         uint32_t size)
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

/* --- packed addresses: three 21-bit byte addresses in a register pair --- */

enum { PACK_MASK = 0x1fffff, PACK_LOW_BITS = 11 };

struct pace {
    v8u lo, hi, stride;
};

static inline struct pace pace_read(const struct tile *t, const struct insn *in)
{
    struct pace p = { fast_m(t, in->x), fast_m(t, in->x + 1), fast_m(t, in->t) };

    return p;
}

/* Selector 0 is one unit of 8 bytes, k a signed 10-bit field of the stride register in units of 8
 * bytes. */
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

/* A number for the memory element per lane, equal where that of arch_element_of() is. */
static inline v8u element(const struct tile *t, v8u off)
{
    unsigned shift = (unsigned)__builtin_ctz(t->arch->element_bytes);
    v8u inner = off - t->region0_bytes;
    v8u paired = splat(1u << 31) | (inner >> (shift + 1)) << 1 | ((inner >> 3) & 1);
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
static inline v8u lanes_meet(v8u load0, v8u load1, v8u store)
{
    const __m256i next = _mm256_setr_epi32(1, 2, 3, 4, 5, 0, 6, 7);
    v8u s = store, meet = { 0 };

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
    uint32_t lo[TILE_LANES], hi[TILE_LANES]; /* loads may change the registers */
    uint32_t off0[TILE_LANES], off2[TILE_LANES];

    if (fast_any(bad_lanes(t, addr0, o0, 8, 0) | bad_lanes(t, addr2, o2, 8, 0) |
                     (v8u)(element(t, o0) == element(t, o2)) | lanes_meet(o0, o0, o2),
                 lanes))
        return 0;
    put_offsets(lanes, o0, off0);
    put_offsets(lanes, o2, off2);
    memcpy(lo, t->a[in->s], sizeof(lo));
    memcpy(hi, t->a[in->s + 1], sizeof(hi));
    load_pair(t, lanes, off0, 0, in->d);
    put_pairs(t, lanes, off2, lo, hi);
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
    v8u o0 = addr0 - t->mem_base, o1 = addr1 - t->mem_base, o2 = addr2 - t->mem_base, e0, e1, e2;
    uint32_t lo[TILE_LANES], hi[TILE_LANES]; /* loads may change the registers */
    uint32_t off0[TILE_LANES], off1[TILE_LANES], off2[TILE_LANES];

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
    put_offsets(lanes, o2, off2);
    memcpy(lo, t->a[in->s], sizeof(lo));
    memcpy(hi, t->a[in->s + 1], sizeof(hi));
    load_pair(t, lanes, off0, 0, in->d);
    load_pair(t, lanes, off1, 0, in->d + 2);
    put_pairs(t, lanes, off2, lo, hi);
    pace_move(&p.lo, pace_stride(&p, in->i & 3));
    pace_move(&p.hi, pace_stride(&p, in->i >> 2 & 3));
    pace_move_third(&p, pace_stride(&p, in->i >> 4 & 3));
    pace_write(t, lanes, in, &p);
    return 1;
}
