/* exec_mem.c - the two stores that address memory by words; all other loads and stores with one
 * address are LANES rows (exec_lanes.c). */
#include "emu/exec/exec_rows.h"

/* stm32 $mS, $mA, $mB: the second register counts words */
enum fault exec_stm32(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = tile_m(t, lane, in->a) + 4 * tile_m(t, lane, in->b);

    return tile_store32(t, lane, addr, tile_m(t, lane, in->s));
}

/* stm32step $mS, $mX, $mT: the address is $mX itself */
enum fault exec_stm32step(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t addr = tile_m(t, lane, in->x);
    enum fault f = tile_store32(t, lane, addr, tile_m(t, lane, in->s));

    if (f == FAULT_NONE)
        tile_set_m(t, lane, in->x, addr + 4 * tile_m(t, lane, in->t));
    return f;
}
