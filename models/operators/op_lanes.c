/* op_lanes.c - walks a tensor along some of its axes. */
#include <string.h>

#include "models/operators/op_lanes.h"
#include "models/operators/operators.h"

enum { ELEMENT = 8 }; /* bytes of a double, and of an int64_t */

/* The strides of the axes in a set, one after the other, and their dimensions. */
static void pick_axes(const struct op_shape *s, uint32_t axes, struct op_shape *dims,
                      uint64_t stride[OP_RANK_MAX])
{
    *dims = (struct op_shape){ .type = s->type };
    for (unsigned k = 0; k < s->rank; k++) {
        if (!(axes >> k & 1))
            continue;
        stride[dims->rank] = op_shape_span(s, k + 1, s->rank);
        dims->dim[dims->rank++] = s->dim[k];
    }
}

enum emu_status op_lanes_new(const struct op_shape *s, uint32_t axes, struct op_lanes *out)
{
    uint32_t index[OP_RANK_MAX] = { 0 };
    uint64_t stride[OP_RANK_MAX];
    struct op_shape along;

    *out = (struct op_lanes){ .count = 0 };
    pick_axes(s, axes, &along, stride);
    pick_axes(s, ~axes, &out->others, out->stride);
    out->count = op_shape_count(&out->others);
    out->length = op_shape_count(&along);
    out->any = emu_alloc(out->length, ELEMENT);
    out->offset = emu_alloc(out->length, sizeof(*out->offset));
    if (!out->any || !out->offset)
        return FAIL(NO_MEMORY, "a lane of %llu numbers", (unsigned long long)out->length);
    for (uint64_t j = 0; j < out->length; j++) {
        for (unsigned k = 0; k < along.rank; k++)
            out->offset[j] += index[k] * stride[k];
        op_index_next(&along, index);
    }
    return EMU_OK;
}

void op_lanes_free(struct op_lanes *l)
{
    ss_free(l->any);
    ss_free(l->offset);
    l->any = NULL;
    l->offset = NULL;
}

/* The first element of lane k. */
static uint64_t lane_first(const struct op_lanes *l, uint64_t k)
{
    uint64_t at = 0;

    for (unsigned axis = l->others.rank; axis-- > 0;) {
        at += k % l->others.dim[axis] * l->stride[axis];
        k /= l->others.dim[axis];
    }
    return at;
}

void op_lane_read(const struct op_lanes *l, uint64_t k, const struct op_tensor *t)
{
    const char *from = (const char *)t->any + lane_first(l, k) * ELEMENT;
    char *to = l->any;

    for (uint64_t j = 0; j < l->length; j++)
        memcpy(to + j * ELEMENT, from + l->offset[j] * ELEMENT, ELEMENT);
}

void op_lane_write(const struct op_lanes *l, uint64_t k, struct op_tensor *t)
{
    char *to = (char *)t->any + lane_first(l, k) * ELEMENT;
    const char *from = l->any;

    for (uint64_t j = 0; j < l->length; j++)
        memcpy(to + l->offset[j] * ELEMENT, from + j * ELEMENT, ELEMENT);
}

/* ---- groups of channels ---- */

enum { BY_GROUP = 0xc, BY_STRIDE = 0xa };

uint32_t op_lanes_of_groups(const struct op_shape *x, uint32_t groups, int strided,
                            struct op_shape *seen)
{
    uint32_t each = x->dim[1] / groups;

    *seen = (struct op_shape){ x->type,
                               4,
                               { x->dim[0], strided ? each : groups, strided ? groups : each,
                                 (uint32_t)op_shape_span(x, 2, x->rank) } };
    return strided ? BY_STRIDE : BY_GROUP;
}

uint32_t op_lanes_channel(const struct op_shape *seen, uint32_t axes, uint64_t lane,
                          uint64_t element)
{
    uint32_t in_group = (uint32_t)(element / seen->dim[3]);

    if (axes == BY_STRIDE)
        return in_group * seen->dim[2] + (uint32_t)(lane % seen->dim[2]);
    return (uint32_t)(lane % seen->dim[1]) * seen->dim[2] + in_group;
}
