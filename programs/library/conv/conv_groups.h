/* conv_groups.h - turns convolutions whose groups are not whole blocks of 16 channels into ones
 * with fewer groups, which are. Private to convolutions. */
#ifndef PROGRAMS_CONV_GROUPS_H
#define PROGRAMS_CONV_GROUPS_H

#include "programs/library/ops_nn.h"

/* Joins neighbouring groups of s until 16 divides the channels of each, or until there is one
 * group. If the last group has fewer channels than the others, in_c and out_c of s grow by the
 * channels that it lacks, which lie in memory as zeros. Does nothing if all is well: for depthwise
 * convolutions that ss_conv_slides(), and for numbers that do not fit each other. */
void conv_join_shape(struct conv_shape *s);
/* The weights of a layer for input of in_c channels, in the shape `joined`:
 * [out_c][in_c / groups][kernel_h][kernel_w], with zeros for channels of another original group.
 * The caller must ss_free() them; NULL when out of memory. */
float *conv_join_weights(uint32_t in_c, const struct conv_layer *l,
                         const struct conv_shape *joined);
/* The same for weights that are a tensor: a view of l->w, in f16. */
struct tensor conv_join_tensor(struct nn *nn, uint32_t in_c, const struct conv_layer *l,
                               const struct conv_shape *joined);

#endif
