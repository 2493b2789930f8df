/* op_lanes.h - a tensor as lanes: the elements along some axes, for each index of the other axes.
 * Reductions, softmax and norms compute lane by lane.
 */
#ifndef MODELS_OP_LANES_H
#define MODELS_OP_LANES_H

#include "models/graph/op_tensor.h"

struct op_lanes {
    uint64_t count;  /* lanes, in row-major order of the other axes */
    uint64_t length; /* elements of each, in row-major order of its axes */
    union {          /* owned: room for one lane, the kind as the tensor's */
        double *f;
        int64_t *i;
        void *any;
    };
    /* Private. */
    struct op_shape others;
    uint64_t stride[OP_RANK_MAX]; /* of the other axes */
    uint64_t *offset;             /* owned: of a lane's elements from its first one */
};

/* The lanes of a shape along a set of axes; no axes: each element is one. EMU_NO_MEMORY. Free with
 * op_lanes_free, also after an error. */
enum emu_status op_lanes_new(const struct op_shape *s, uint32_t axes,
                             struct op_lanes *out) EMU_MUST_CHECK;
void op_lanes_free(struct op_lanes *l);
/* Copies lane k of a tensor of that shape to l->f or l->i, and back. */
void op_lane_read(const struct op_lanes *l, uint64_t k, const struct op_tensor *t);
void op_lane_write(const struct op_lanes *l, uint64_t k, struct op_tensor *t);

/* How a group norm sees [items][channels] and more: [items][groups][channels of a group][rest], or,
 * strided, [items][channels of a group][groups][rest]. Returns the axes of its lanes: lane
 * item * groups + group. x has two dimensions at least, its channels are a multiple of groups. */
uint32_t op_lanes_of_groups(const struct op_shape *x, uint32_t groups, int strided,
                            struct op_shape *seen);
/* The channel of an element of a lane of these. */
uint32_t op_lanes_channel(const struct op_shape *seen, uint32_t axes, uint64_t lane,
                          uint64_t element);

#endif
