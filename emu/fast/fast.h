/* fast.h - executes an instruction for all workers in lock step at once, with host vectors over
 * lanes.
 *
 * LANES rows of insn.def have a fast function where emu/exec/lanes.def names a vector function;
 * fast.def lists the INSN rows that have one of their own. The plain exec_ functions are the
 * reference; tests/emu/test_fast_*.c compare the two.
 */
#ifndef EMU_FAST_H
#define EMU_FAST_H

#include <stdbool.h>

#include "emu/isa/isa.h"
#include "emu/tile/tile.h"

/* Eight 32-bit lanes of a register row. */
typedef uint32_t v8u __attribute__((vector_size(32)));

enum { LANES_ALL = (1 << TILE_WORKERS) - 1 }; /* of the workers */

/* Executes one instruction for all lanes of the mask at once and returns 1, or changes nothing and
 * returns 0; the caller then runs the plain exec_ function lane by lane. Gives the same bits as the
 * plain function, $FP_STS included. */
typedef int fast_fn(struct tile *t, uint32_t lanes, const struct insn *in);

/* The same for instructions that read no $a register but a pair $aS:2, which they store: what they
 * store is given, for all lanes. They do it in slot order. */
typedef int fast_put_fn(struct tile *t, uint32_t lanes, const struct insn *in, v8u low, v8u high);

#define FAST(id)     fast_fn fast_##id;
#define FAST_PUT(id) fast_put_fn fast_put_##id;
#include "emu/fast/fast.def"
#undef FAST
#undef FAST_PUT

/* The fast functions of LANES rows, by operation; NULL for other rows. */
extern fast_fn *const fast_lanes[];

/* Call it before any fast function on a tile: makes t->fast if there is none. Returns false when
 * out of memory; then only the plain functions may be used. */
bool fast_begin(struct tile *t);

/* Sets which workers, always the lowest few, issue after the others in a round: fast functions
 * store in the order of a round's slots. Does nothing without t->fast. */
void fast_begin_rounds(struct tile *t, uint32_t late_lanes);

/* Of an operation that has only a plain function: returns 0. */
fast_fn fast_none;

/* The fast function of an operation, or fast_none(). */
fast_fn *fast_find(unsigned op);
/* NULL if there is none. */
fast_put_fn *fast_find_put(unsigned op);

#endif
