/* conv_rotation.h - on which tiles the pieces of a plan lie: turned around the chip, so that no
 * tile needs data that it holds itself. Such data would be copied in calls of their own, at some
 * 200 cycles; words from other tiles are part of an exchange that is made anyway.
 */
#ifndef PROGRAMS_CONV_TURN_H
#define PROGRAMS_CONV_TURN_H

#include "programs/library/layout/network.h"

/* Sets p->turn for input x, and p->sum_rotation for what is added up besides partial results (NULL:
 * nothing): to those with the least data that stay on their tile. pad_top and pad_left: of the
 * input. Errors: of the graph, EMU_NO_MEMORY. */
enum emu_status conv_rotation_choose(struct nn *nn, const struct activation *x,
                                     const struct activation *add, uint32_t pad_top,
                                     uint32_t pad_left, struct conv_plan *p) EMU_MUST_CHECK;

#endif
