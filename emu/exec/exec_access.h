/* exec_access.h - loads and stores of one lane at an address, as lanes.def names them. exec_lanes.c
 * computes the addresses. Private to emu/exec. */
#ifndef EMU_EXEC_ACCESS_H
#define EMU_EXEC_ACCESS_H

#include "emu/exec/exec.h"

static inline enum fault access_ld32_m(struct tile *t, unsigned lane, const struct insn *in,
                                       uint32_t addr)
{
    uint32_t v;
    enum fault f = tile_load32(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static inline enum fault access_ldz16(struct tile *t, unsigned lane, const struct insn *in,
                                      uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static inline enum fault access_lds16(struct tile *t, unsigned lane, const struct insn *in,
                                      uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, (uint32_t)(int16_t)v);
    return f;
}

static inline enum fault access_ldz8(struct tile *t, unsigned lane, const struct insn *in,
                                     uint32_t addr)
{
    uint8_t v;
    enum fault f = tile_load8(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, v);
    return f;
}

static inline enum fault access_lds8(struct tile *t, unsigned lane, const struct insn *in,
                                     uint32_t addr)
{
    uint8_t v;
    enum fault f = tile_load8(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->d, (uint32_t)(int8_t)v);
    return f;
}

static inline enum fault access_ld32_a(struct tile *t, unsigned lane, const struct insn *in,
                                       uint32_t addr)
{
    uint32_t v;
    enum fault f = tile_load32(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_a(t, lane, in->d, v);
    return f;
}

/* Both halves of the register receive the value. */
static inline enum fault access_ldb16(struct tile *t, unsigned lane, const struct insn *in,
                                      uint32_t addr)
{
    uint16_t v;
    enum fault f = tile_load16(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_a(t, lane, in->d, v | (uint32_t)v << 16);
    return f;
}

/* All four bytes of the register receive the value. */
static inline enum fault access_ldb8(struct tile *t, unsigned lane, const struct insn *in,
                                     uint32_t addr)
{
    uint8_t v;
    enum fault f = tile_load8(t, lane, addr, &v);

    if (f == FAULT_NONE)
        tile_set_a(t, lane, in->d, v * 0x01010101u);
    return f;
}

static inline enum fault access_ld64(struct tile *t, unsigned lane, const struct insn *in,
                                     uint32_t addr)
{
    uint32_t v[2];
    enum fault f = tile_load64(t, lane, addr, v);

    if (f != FAULT_NONE)
        return f;
    for (unsigned k = 0; k < 2; k++)
        tile_set_a(t, lane, in->d + k, v[k]);
    return FAULT_NONE;
}

static inline enum fault access_ld128(struct tile *t, unsigned lane, const struct insn *in,
                                      uint32_t addr)
{
    uint32_t v[4];
    enum fault f = tile_load128(t, lane, addr, v);

    if (f != FAULT_NONE)
        return f;
    for (unsigned k = 0; k < 4; k++)
        tile_set_a(t, lane, in->d + k, v[k]);
    return FAULT_NONE;
}

static inline enum fault access_st32_m(struct tile *t, unsigned lane, const struct insn *in,
                                       uint32_t addr)
{
    return tile_store32(t, lane, addr, tile_m(t, lane, in->s));
}

static inline enum fault access_st32_a(struct tile *t, unsigned lane, const struct insn *in,
                                       uint32_t addr)
{
    return tile_store32(t, lane, addr, tile_a(t, lane, in->s));
}

static inline enum fault access_st64(struct tile *t, unsigned lane, const struct insn *in,
                                     uint32_t addr)
{
    uint32_t v[2] = { tile_a(t, lane, in->s), tile_a(t, lane, in->s + 1u) };

    return tile_store64(t, lane, addr, v);
}

#endif
