/* exec_pace.c - instructions with several simultaneous accesses: packed triple addresses (tapack,
 * *pace) and delta loads.
 *
 * A packed triple lives in a register pair: address 0 in bits 20:0 of the low register, address 1
 * in bits 20:0 of the high one, address 2 in the 22 bits above them: its bits 10:0 in low[31:21],
 * its bits 20:11 in high[30:21]; high[31] is not used [ASSUMED, docs/isa.md 6]. Every load is
 * checked, then the element conflicts, then a store; registers are written last.
 */
#include "emu/exec/exec_rows.h"

enum { TRIPLE_BITS = 21, TRIPLE_MASK = (1 << TRIPLE_BITS) - 1, TRIPLE_HIGH_MASK = 0x3ff };

struct triple {
    uint32_t low, high;
};

static struct triple triple_read(const struct tile *t, unsigned lane, const struct insn *in)
{
    return (struct triple){ tile_m(t, lane, in->x), tile_m(t, lane, in->x + 1u) };
}

static void triple_write(struct tile *t, unsigned lane, const struct insn *in, struct triple p)
{
    tile_set_m(t, lane, in->x, p.low);
    tile_set_m(t, lane, in->x + 1u, p.high);
}

static uint32_t triple_get(struct triple p, unsigned which)
{
    if (which == 0)
        return p.low & TRIPLE_MASK;
    if (which == 1)
        return p.high & TRIPLE_MASK;
    return p.low >> TRIPLE_BITS | (p.high >> TRIPLE_BITS & TRIPLE_HIGH_MASK) << 11;
}

/* Replaces one address, modulo 2^21; the other bits keep their values. */
static struct triple triple_set(struct triple p, unsigned which, uint32_t addr)
{
    const uint32_t mask = TRIPLE_MASK, high_mask = (uint32_t)TRIPLE_HIGH_MASK << TRIPLE_BITS;

    if (which == 0) {
        p.low = (p.low & ~mask) | (addr & mask);
    } else if (which == 1) {
        p.high = (p.high & ~mask) | (addr & mask);
    } else {
        p.low = (p.low & mask) | addr << TRIPLE_BITS;
        p.high = (p.high & ~high_mask) | (addr >> 11 << TRIPLE_BITS & high_mask);
    }
    return p;
}

/* Moves one address: selector 0 is one unit, 1..3 the signed 10-bit field below bit 10 * selector
 * of the stride register. */
static struct triple triple_step(struct triple p, unsigned which, uint32_t strides, unsigned sel,
                                 uint32_t unit_bytes)
{
    uint32_t step = 1;

    sel &= 3;
    if (sel) {
        step = strides >> 10 * (sel - 1) & 0x3ff;
        step = (step ^ 0x200) - 0x200;
    }
    return triple_set(p, which, triple_get(p, which) + step * unit_bytes);
}

/* Two-bit stride selector n of the immediate. */
static unsigned selector(const struct insn *in, unsigned n)
{
    return (uint32_t)in->i >> 2 * n & 3;
}

static void set_a2(struct tile *t, unsigned lane, unsigned r, const uint32_t v[2])
{
    tile_set_a(t, lane, r, v[0]);
    tile_set_a(t, lane, r + 1, v[1]);
}

static void get_a2(const struct tile *t, unsigned lane, unsigned r, uint32_t v[2])
{
    v[0] = tile_a(t, lane, r);
    v[1] = tile_a(t, lane, r + 1);
}

static enum fault same_destination(struct tile *t, unsigned lane)
{
    return tile_fault(t, lane, FAULT_INVALID_OP, 0, "two results go to one register");
}

/* tapack $mD:2, $mA, $mB, $mC: each address is truncated to 21 bits */
enum fault exec_tapack(struct tile *t, unsigned lane, const struct insn *in)
{
    struct triple p = { 0, 0 };

    p = triple_set(p, 0, tile_m(t, lane, in->a));
    p = triple_set(p, 1, tile_m(t, lane, in->b));
    p = triple_set(p, 2, tile_m(t, lane, in->c));
    tile_set_m(t, lane, in->d, p.low);
    tile_set_m(t, lane, in->d + 1u, p.high);
    return FAULT_NONE;
}

/* ld2x64pace $aD:2, $aE:2, $mX:2+=, $mT, strides: loads from addresses 0 and 1 */
enum fault exec_ld2x64pace(struct tile *t, unsigned lane, const struct insn *in)
{
    struct triple p = triple_read(t, lane, in);
    uint32_t addr0 = triple_get(p, 0), addr1 = triple_get(p, 1), strides = tile_m(t, lane, in->t);
    uint32_t v0[2], v1[2];
    enum fault f;

    if (in->d == in->e && in->d < 14)
        return same_destination(t, lane);
    if ((f = tile_load64(t, lane, addr0, v0)) != FAULT_NONE ||
        (f = tile_load64(t, lane, addr1, v1)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, addr0, addr1)) != FAULT_NONE)
        return f;
    p = triple_step(p, 0, strides, selector(in, 0), 8);
    p = triple_step(p, 1, strides, selector(in, 1), 8);
    set_a2(t, lane, in->d, v0);
    set_a2(t, lane, in->e, v1);
    triple_write(t, lane, in, p);
    return FAULT_NONE;
}

/* CONFLICT if any two of three simultaneous accesses collide. */
static enum fault conflict3(struct tile *t, unsigned lane, uint32_t a0, uint32_t a1, uint32_t a2)
{
    enum fault f;

    if ((f = tile_conflict(t, lane, a0, a1)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, a0, a2)) != FAULT_NONE)
        return f;
    return tile_conflict(t, lane, a1, a2);
}

/* ld2xst64pace $aD:4, $aS:2, $mX:2+=, $mT, strides: loads from addresses 0 and 1, store to
 * address 2.
 *
 * The second load may not come from executable memory. A store to a loaded word is a CONFLICT. */
enum fault exec_ld2xst64pace(struct tile *t, unsigned lane, const struct insn *in)
{
    struct triple p = triple_read(t, lane, in);
    uint32_t addr0 = triple_get(p, 0), addr1 = triple_get(p, 1), addr2 = triple_get(p, 2);
    uint32_t strides = tile_m(t, lane, in->t), v0[2], v1[2], stored[2];
    enum fault f;

    get_a2(t, lane, in->s, stored);
    if ((f = tile_load64(t, lane, addr0, v0)) != FAULT_NONE ||
        (f = tile_load64(t, lane, addr1, v1)) != FAULT_NONE)
        return f;
    if (addr1 - t->mem_base < t->region0_bytes)
        return tile_fault(t, lane, FAULT_INVALID_ADDR, addr1,
                          "second load of ld2xst64pace from executable memory (region 0)");
    if ((f = conflict3(t, lane, addr0, addr1, addr2)) != FAULT_NONE ||
        (f = tile_store64(t, lane, addr2, stored)) != FAULT_NONE)
        return f;
    for (unsigned n = 0; n < 3; n++)
        p = triple_step(p, n, strides, selector(in, n), 8);
    set_a2(t, lane, in->d, v0);
    set_a2(t, lane, in->d + 2u, v1);
    triple_write(t, lane, in, p);
    return FAULT_NONE;
}

/* ldst64pace $aD:2, $aS:2, $mX:2+=, $mT, strides: load from address 0, store to address 2 */
enum fault exec_ldst64pace(struct tile *t, unsigned lane, const struct insn *in)
{
    struct triple p = triple_read(t, lane, in);
    uint32_t addr0 = triple_get(p, 0), addr2 = triple_get(p, 2), strides = tile_m(t, lane, in->t);
    uint32_t v[2], stored[2];
    enum fault f;

    get_a2(t, lane, in->s, stored);
    if ((f = tile_load64(t, lane, addr0, v)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, addr0, addr2)) != FAULT_NONE ||
        (f = tile_store64(t, lane, addr2, stored)) != FAULT_NONE)
        return f;
    p = triple_step(p, 0, strides, selector(in, 0), 8);
    p = triple_step(p, 2, strides, selector(in, 1), 8);
    set_a2(t, lane, in->d, v);
    triple_write(t, lane, in, p);
    return FAULT_NONE;
}

/* st64pace $aS:2, $mX:2+=, $mT, stride: store to address 2 */
enum fault exec_st64pace(struct tile *t, unsigned lane, const struct insn *in)
{
    struct triple p = triple_read(t, lane, in);
    uint32_t stored[2];
    enum fault f;

    get_a2(t, lane, in->s, stored);
    f = tile_store64(t, lane, triple_get(p, 2), stored);
    if (f != FAULT_NONE)
        return f;
    triple_write(t, lane, in, triple_step(p, 2, tile_m(t, lane, in->t), selector(in, 0), 8));
    return FAULT_NONE;
}

/* A word, or a half in both halves of the register. */
static enum fault load_single(struct tile *t, unsigned lane, uint32_t addr, uint32_t unit_bytes,
                              uint32_t *out)
{
    uint16_t half;
    enum fault f;

    if (unit_bytes == 4)
        return tile_load32(t, lane, addr, out);
    f = tile_load16(t, lane, addr, &half);
    if (f == FAULT_NONE)
        *out = half | (uint32_t)half << 16;
    return f;
}

static int single_in_pair(const struct insn *in)
{
    return in->e >> 1 == in->d >> 1 && in->e < 14;
}

/* What ld64a32pace and ld64b16pace share: 64 bits from address 0, a single register from address 1.
 */
static enum fault pair_and_single(struct tile *t, unsigned lane, const struct insn *in,
                                  uint32_t unit_bytes)
{
    struct triple p = triple_read(t, lane, in);
    uint32_t addr0 = triple_get(p, 0), strides = tile_m(t, lane, in->t), v[2], single;
    enum fault f;

    if (single_in_pair(in))
        return same_destination(t, lane);
    if ((f = tile_load64(t, lane, addr0, v)) != FAULT_NONE ||
        (f = load_single(t, lane, triple_get(p, 1), unit_bytes, &single)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, addr0, triple_get(p, 1))) != FAULT_NONE)
        return f;
    p = triple_step(p, 0, strides, selector(in, 0), 8);
    p = triple_step(p, 1, strides, selector(in, 1), unit_bytes);
    set_a2(t, lane, in->d, v);
    tile_set_a(t, lane, in->e, single);
    triple_write(t, lane, in, p);
    return FAULT_NONE;
}

/* ld64a32pace $aD:2, $aE, $mX:2+=, $mT, strides: 64 bits from address 0, 32 from address 1, which
 * moves in words [ASSUMED] */
enum fault exec_ld64a32pace(struct tile *t, unsigned lane, const struct insn *in)
{
    return pair_and_single(t, lane, in, 4);
}

/* ld64b16pace $aD:2, $aE, $mX:2+=, $mT, strides: the same with a broadcast half, which moves in
 * halves [ASSUMED] */
enum fault exec_ld64b16pace(struct tile *t, unsigned lane, const struct insn *in)
{
    return pair_and_single(t, lane, in, 2);
}

/* ld64a32 $aD:4, $mP++, $mB, $mY: 64 bits from $mP into registers 2 and 3, 32 bits from $mB +
 * $mY.lo into register 1 */
enum fault exec_ld64a32(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t dense = tile_m(t, lane, in->p);
    uint32_t sparse = tile_m(t, lane, in->b) + (tile_m(t, lane, in->y) & 0xffff), v[2], single;
    enum fault f;

    if ((f = tile_load64(t, lane, dense, v)) != FAULT_NONE ||
        (f = tile_load32(t, lane, sparse, &single)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, dense, sparse)) != FAULT_NONE)
        return f;
    tile_set_a(t, lane, in->d + 1u, single);
    set_a2(t, lane, in->d + 2u, v);
    tile_set_m(t, lane, in->p, dense + 8);
    return FAULT_NONE;
}

static int delta_is_pointer(const struct insn *in)
{
    return in->x == in->p && in->x < 12;
}

/* Second half of ldd16*: loads the next delta and moves the pointer. Data was loaded from `data`;
 * nothing is written yet. */
static enum fault next_delta(struct tile *t, unsigned lane, const struct insn *in, uint32_t data)
{
    uint32_t pointer = tile_m(t, lane, in->p);
    uint16_t delta;
    enum fault f;

    if ((f = tile_load16(t, lane, pointer, &delta)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, data, pointer)) != FAULT_NONE)
        return f;
    tile_set_m(t, lane, in->x, delta);
    tile_set_m(t, lane, in->p, pointer + 2);
    return FAULT_NONE;
}

/* Address of the data of ldd16*: the delta is that of the previous reload. */
static uint32_t delta_address(const struct tile *t, unsigned lane, const struct insn *in)
{
    return tile_m(t, lane, in->b) + (tile_m(t, lane, in->x) & 0xffff);
}

/* ldd16a32 $aD, $mP++, $mB, $mX@ */
enum fault exec_ldd16a32(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = delta_address(t, lane, in), v;
    enum fault f;

    if (delta_is_pointer(in))
        return same_destination(t, lane);
    if ((f = tile_load32(t, lane, addr, &v)) != FAULT_NONE ||
        (f = next_delta(t, lane, in, addr)) != FAULT_NONE)
        return f;
    tile_set_a(t, lane, in->d, v);
    return FAULT_NONE;
}

/* ldd16a64 $aD:2, $mP++, $mB, $mX@ */
enum fault exec_ldd16a64(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = delta_address(t, lane, in), v[2];
    enum fault f;

    if (delta_is_pointer(in))
        return same_destination(t, lane);
    if ((f = tile_load64(t, lane, addr, v)) != FAULT_NONE ||
        (f = next_delta(t, lane, in, addr)) != FAULT_NONE)
        return f;
    set_a2(t, lane, in->d, v);
    return FAULT_NONE;
}

/* ldd16b16 $aD, $mP++, $mB, $mX@: both halves receive the value */
enum fault exec_ldd16b16(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = delta_address(t, lane, in);
    uint16_t v;
    enum fault f;

    if (delta_is_pointer(in))
        return same_destination(t, lane);
    if ((f = tile_load16(t, lane, addr, &v)) != FAULT_NONE ||
        (f = next_delta(t, lane, in, addr)) != FAULT_NONE)
        return f;
    tile_set_a(t, lane, in->d, v | (uint32_t)v << 16);
    return FAULT_NONE;
}

/* ldd16v2a32 $aD, $mP++, $mB, $mX@: the delta is $mX.hi; two new deltas are loaded at once */
enum fault exec_ldd16v2a32(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = tile_m(t, lane, in->b) + (tile_m(t, lane, in->x) >> 16), v, deltas;
    uint32_t pointer = tile_m(t, lane, in->p);
    enum fault f;

    if (delta_is_pointer(in))
        return same_destination(t, lane);
    if ((f = tile_load32(t, lane, addr, &v)) != FAULT_NONE ||
        (f = tile_load32(t, lane, pointer, &deltas)) != FAULT_NONE ||
        (f = tile_conflict(t, lane, addr, pointer)) != FAULT_NONE)
        return f;
    tile_set_a(t, lane, in->d, v);
    tile_set_m(t, lane, in->x, deltas);
    tile_set_m(t, lane, in->p, pointer + 4);
    return FAULT_NONE;
}

/* ldb16b16 $aD:2, $mA, $mX++, $mY>>: which of its two deltas moves by which step is not public */
enum fault exec_ldb16b16(struct tile *t, unsigned lane, const struct insn *in)
{
    (void)in;
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "the meaning of ldb16b16 is not public");
}
