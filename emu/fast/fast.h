/* fast.h - instructions executed for all workers in lock step at once (host vectors over lanes).
 *
 * Rows LANES of insn.def have a fast function where emu/exec/lanes.def names a vector function;
 * fast.def lists the rows INSN that have their own. The plain exec_ functions are the reference;
 * tests/emu/test_fast_*.c compare.
 */
#ifndef EMU_FAST_H
#define EMU_FAST_H

#include <stdbool.h>

#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

enum { LANES_ALL = (1 << TILE_WORKERS) - 1 }; /* of the workers */

/* Executes one instruction for all lanes of the mask at once and returns 1, or changes nothing and
 * returns 0: then the plain exec_ function must run lane by lane. Same bits as the plain function,
 * $FP_STS included. */
typedef int fast_fn(struct tile *t, uint32_t lanes, const struct insn *in);

#define FAST(id) fast_fn fast_##id;
#include "emu/fast/fast.def"
#undef FAST

/* The rows LANES; NULL elsewhere. */
extern fast_fn *const fast_lanes[INSN_COUNT];

/* Before any fast function of a tile is called: makes t->fast if there is none. False when out of
 * memory: then only the plain functions may be used. */
bool fast_begin(struct tile *t);

/* Which workers' slots come after those of the others in a round: the lowest few. Stores of one
 * round are done in the order of its slots. Does nothing without t->fast. */
void fast_begin_rounds(struct tile *t, uint32_t late_lanes);

/* The fast function of an operation, or NULL where there is only the plain one. */
fast_fn *fast_find(unsigned op);

#endif
