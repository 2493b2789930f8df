/* conv_groups.h - convolutions in groups of channels that are no whole blocks of 16, as ones in
 * fewer groups that are. Private to programs/library/conv. */
#ifndef PROGRAMS_CONV_GROUPS_H
#define PROGRAMS_CONV_GROUPS_H

#include "programs/library/ops_nn.h"

/* How many groups are left when neighbours are joined until 16 divides the channels of each, 1 at
 * the end; `groups` itself where nothing is to be joined (depthwise, and what cannot be right). */
uint32_t conv_whole_groups(uint32_t in_c, uint32_t out_c, uint32_t groups);
/* The weights of a layer for so many groups: [out_c][in_c / joined][kernel][kernel], zeros between
 * the old groups. Owned by the caller (emu_free); NULL when out of memory. */
float *conv_join_groups(uint32_t in_c, const struct conv_layer *l, uint32_t joined);

#endif
