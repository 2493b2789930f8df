/* conv_groups.h - turns convolutions whose groups are not whole blocks of 16 channels into ones
 * with fewer groups, which are. Private to programs/library/conv. */
#ifndef PROGRAMS_CONV_GROUPS_H
#define PROGRAMS_CONV_GROUPS_H

#include "programs/library/ops_nn.h"

/* How many groups remain if neighbours are joined until 16 divides the channels of each, or until
 * there is one group. Returns `groups` if nothing is to be joined: for depthwise convolutions, and
 * for numbers that do not fit each other. */
uint32_t conv_whole_groups(uint32_t in_c, uint32_t out_c, uint32_t groups);
/* The weights of a layer with `joined` groups: [out_c][in_c / joined][kernel][kernel], with zeros
 * for channels of another original group. The caller must emu_free() them; NULL when out of memory.
 */
float *conv_join_groups(uint32_t in_c, const struct conv_layer *l, uint32_t joined);

#endif
