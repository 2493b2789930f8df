/* lower_view.c - what only moves values: views, which cost nothing until somebody reads them. */

#include "models/lower/lowering.h"

/* The result has the field of the first input, if that has one, with channels along an axis. */
static void share_field(struct lowering *l, const struct op_node *n, unsigned axis)
{
    const struct placed *from = &l->at[n->in[0]];
    struct placed *to = &l->at[n->out[0]];

    if (!placed_as_field(from))
        return;
    to->field = from->field;
    to->axis = axis;
    to->has_field = 1;
}

enum emu_status lower_alias(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    (void)group;
    lower_set_alias(l, n->out[0], n->in[0], lower_view(l, n->in[0]));
    share_field(l, n, l->at[n->in[0]].axis);
    return EMU_OK;
}

static struct tensor transposed(struct lowering *l, const struct op_node *n, struct tensor t)
{
    struct op_call c = lower_call(l, n);
    unsigned rank = ss_tensor_rank(l->g, t), order[OP_RANK_MAX];
    const int64_t *perm;
    uint32_t count = op_ints(&c, "perm", &perm);

    for (unsigned k = 0; k < rank; k++)
        order[k] = count ? (unsigned)perm[k] : rank - 1 - k;
    return rank > 1 ? ss_tensor_transpose(l->g, t, order) : t;
}

/* Every dimension r times after itself. */
static struct tensor tiled(struct lowering *l, const struct op_node *n, struct tensor t)
{
    const struct op_shape *to = lower_shape(l, n->out[0]);

    for (unsigned k = 0; k < to->rank; k++) {
        uint32_t size = ss_tensor_shape(l->g, t)[k], times = size ? to->dim[k] / size : 0;
        struct tensor *part = emu_alloc(times + 1, sizeof(*part));

        if (!part) {
            ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", n->name);
            return t;
        }
        for (uint32_t i = 0; i < times; i++)
            part[i] = t;
        if (times > 1)
            t = ss_tensor_concat(l->g, part, times, k);
        ss_free(part);
    }
    return t;
}

/* [n][c][h][w] with c in blocks x blocks parts, or the other way round. */
static struct tensor blocks_to_space(struct lowering *l, const struct op_node *n, struct tensor t)
{
    struct op_call c = lower_call(l, n);
    const uint32_t *s = ss_tensor_shape(l->g, t);
    uint32_t b = (uint32_t)op_int(&c, "blocksize"), depth = s[1] / b / b;
    int columns_first = op_is(&c, "mode", "DCR");
    const uint32_t dcr[] = { s[0], b, b, depth, s[2], s[3] };
    const uint32_t crd[] = { s[0], depth, b, b, s[2], s[3] };
    static const unsigned from_dcr[] = { 0, 3, 4, 1, 5, 2 }, from_crd[] = { 0, 1, 4, 2, 5, 3 };

    t = ss_tensor_reshape(l->g, t, 6, columns_first ? dcr : crd);
    return ss_tensor_transpose(l->g, t, columns_first ? from_dcr : from_crd);
}

static struct tensor space_to_blocks(struct lowering *l, const struct op_node *n, struct tensor t)
{
    struct op_call c = lower_call(l, n);
    const uint32_t *s = ss_tensor_shape(l->g, t);
    uint32_t b = (uint32_t)op_int(&c, "blocksize");

    t = ss_tensor_reshape(l->g, t, 6, (const uint32_t[]){ s[0], s[1], s[2] / b, b, s[3] / b, b });
    return ss_tensor_transpose(l->g, t, (const unsigned[]){ 0, 3, 5, 1, 2, 4 });
}

/* A reshape that leaves the channels of a field alone leaves the field: other dimensions are only
 * joined or cut, on either side of the channels. */
static void keep_field(struct lowering *l, const struct op_node *n)
{
    const struct op_shape *from = lower_shape(l, n->in[0]), *to = lower_shape(l, n->out[0]);
    unsigned axis = l->at[n->in[0]].axis;

    for (unsigned k = 0; placed_as_field(&l->at[n->in[0]]) && k < to->rank; k++) {
        if (to->dim[k] == from->dim[axis] &&
            op_shape_span(to, 0, k) == op_shape_span(from, 0, axis)) {
            share_field(l, n, k);
            return;
        }
    }
}

/* Expand of a field of one position over the positions of another: what reads it computes on
 * fields. */
static int expand_field(struct lowering *l, const struct op_node *n)
{
    const struct op_shape *from = lower_shape(l, n->in[0]), *to = lower_shape(l, n->out[0]);

    if (!op_node_is(n, OP_Expand) || !lower_has_field(l, n->in[0], 1) || from->rank != 4 ||
        to->rank != 4 || op_shape_span(from, 2, 4) != 1 || op_shape_span(to, 2, 4) == 1 ||
        from->dim[0] != to->dim[0] || from->dim[1] != to->dim[1])
        return 0;
    lower_set_field(l, n->out[0], lower_spread_field(l, l->at[n->in[0]].field, to, n->name), 1);
    return 1;
}

enum emu_status lower_view_node(struct lowering *l, const struct node_group *group,
                                const struct op_node *n)
{
    struct tensor t;
    int is_reshape = 0;

    (void)group;
    if (expand_field(l, n))
        return EMU_OK;
    t = lower_view(l, n->in[0]);
    if (op_node_is(n, OP_Transpose))
        t = transposed(l, n, t);
    else if (op_node_is(n, OP_Expand))
        t = lower_broadcast(l, t, lower_shape(l, n->out[0]));
    else if (op_node_is(n, OP_Tile))
        t = tiled(l, n, t);
    else if (op_node_is(n, OP_DepthToSpace))
        t = blocks_to_space(l, n, t);
    else if (op_node_is(n, OP_SpaceToDepth))
        t = space_to_blocks(l, n, t);
    else
        is_reshape = 1;
    lower_set_alias(l, n->out[0], n->in[0], t);
    if (is_reshape)
        keep_field(l, n);
    return EMU_OK;
}
