/* conv_rotation.h - rotates the parts of a plan around the chip, so that as few tiles as possible
 * need data that they hold themselves. Such data would be copied in calls of their own, at some 200
 * cycles; words from other tiles are part of an exchange that happens anyway.
 */
#ifndef PROGRAMS_CONV_ROTATION_H
#define PROGRAMS_CONV_ROTATION_H

#include "programs/library/layout/network.h"

/* Sets p->rotation, for input x, and p->sum_rotation, for the residual `add` (NULL: there is none),
 * so that the least data stays on its tile. pad_top and pad_left: padding of the input. Errors:
 * those of the graph, EMU_NO_MEMORY. */
enum emu_status conv_rotation_choose(struct nn *nn, const struct activation *x,
                                     const struct activation *add, uint32_t pad_top,
                                     uint32_t pad_left, struct conv_plan *p) EMU_MUST_CHECK;

#endif
