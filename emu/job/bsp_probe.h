/* bsp_probe.h - g and l of the BSP model, as a machine has them: a superstep in which every tile
 * sends and receives h words takes about w + g h + l cycles, w being what the slowest tile
 * computes. A superstep between chips has a g and an l of its own, and h is what a chip sends and
 * receives: all its tiles share the links.
 */
#ifndef EMU_BSP_PROBE_H
#define EMU_BSP_PROBE_H

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

struct bsp_cost {
    double g; /* cycles a word */
    double
        l; /* cycles of a superstep: sync, and the way to the farthest tile, or to the next chip */
};

/* On one chip: runs the probe, a program of a few supersteps in which every tile sends h words to
 * the tile half a chip away, for several h, and fits a line to what they take. threads: 0: all
 * cores. Errors: those of assembling and running; EMU_FAULT when the program does not end. */
enum emu_status bsp_probe(const struct arch *a, unsigned threads,
                          struct bsp_cost *out) EMU_MUST_CHECK;

/* The same between the chips of a system, of which there are several: every tile sends to the same
 * tile of the next chip. */
enum emu_status bsp_probe_chips(const struct arch *a, unsigned threads,
                                struct bsp_cost *out) EMU_MUST_CHECK;

/* The same from the cache, if this program has probed such a machine before; else it is kept there.
 * cache: the folder, as disk_cache_of() takes it; "": none. */
enum emu_status bsp_cost_of(const struct arch *a, unsigned threads, const char *cache,
                            struct bsp_cost *out) EMU_MUST_CHECK;
enum emu_status bsp_cost_of_chips(const struct arch *a, unsigned threads, const char *cache,
                                  struct bsp_cost *out) EMU_MUST_CHECK;

#endif
