/* exec_bits.c - moves that are not one operation per lane: none at all, the conditional move of the
 * main lane, and permutations of register pairs of the auxiliary lane. No arithmetic, no faults.
 *
 * A pair is the registers n and n + 1.
 */
#include "emu/exec/exec_rows.h"

/* nop: the word of `setzi $m14, 0`, a register that does not exist */
enum fault exec_nop(struct tile *t, unsigned lane, const struct insn *in)
{
    (void)t, (void)lane, (void)in;
    return FAULT_NONE;
}

/* fnop: the word of `setzi $a13, 0`, likewise */
enum fault exec_fnop(struct tile *t, unsigned lane, const struct insn *in)
{
    return exec_nop(t, lane, in);
}

/* movnz $mD, $mA, $mB: if $mA is not 0 */
enum fault exec_movnz(struct tile *t, unsigned lane, const struct insn *in)
{
    if (tile_m(t, lane, in->a))
        tile_set_m(t, lane, in->d, tile_m(t, lane, in->b));
    return FAULT_NONE;
}

/* Register i of the pair A and register j of the pair B become D. */
static inline enum fault join(struct tile *t, unsigned lane, const struct insn *in, unsigned i,
                              unsigned j)
{
    uint32_t v0 = tile_a(t, lane, in->a + i), v1 = tile_a(t, lane, in->b + j);

    tile_set_a(t, lane, in->d, v0);
    tile_set_a(t, lane, in->d + 1u, v1);
    return FAULT_NONE;
}

/* roll32 $aD:2, $aA:2, $aB:2: second of $aA, first of $aB */
enum fault exec_roll32(struct tile *t, unsigned lane, const struct insn *in)
{
    return join(t, lane, in, 1, 0);
}

/* sort4x32lo $aD:2, $aA:2, $aB:2: first of each */
enum fault exec_sort4x32lo(struct tile *t, unsigned lane, const struct insn *in)
{
    return join(t, lane, in, 0, 0);
}

/* sort4x32hi $aD:2, $aA:2, $aB:2: second of each */
enum fault exec_sort4x32hi(struct tile *t, unsigned lane, const struct insn *in)
{
    return join(t, lane, in, 1, 1);
}
