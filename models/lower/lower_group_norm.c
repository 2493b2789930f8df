/* lower_group_norm.c - norms of groups of channels, with the activation function that follows. */
#include <string.h>

#include "models/lower/lowering.h"
#include "models/operators/op_lanes.h"

/* ---- in f32 ---- */

/* Scale or shift of each channel, in a shape that goes with the values. */
static enum emu_status channel_numbers(const struct lowering *l, const struct op_node *n,
                                       uint32_t value, struct op_tensor *out)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);

    TRY(op_value_read(l->og, value, out));
    out->shape.rank = s->rank;
    for (unsigned k = 0; k < s->rank; k++)
        out->shape.dim[k] = k == 1 ? s->dim[1] : 1;
    return EMU_OK;
}

/* Every group of channels of every item with mean 0 and variance 1, in the shape of the input. */
static struct tensor normed_groups(struct lowering *l, const struct op_node *n)
{
    static const unsigned turned[] = { 0, 2, 1, 3 };
    struct op_call c = lower_call(l, n);
    int strided = op_int(&c, "strided") != 0;
    struct op_shape seen;
    struct tensor t = lower_view(l, n->in[0]);
    uint32_t items, shape[4];

    op_lanes_of_groups(lower_shape(l, n->in[0]), (uint32_t)op_int(&c, "num_groups"), strided,
                       &seen);
    t = lower_reshape(l, t, &seen);
    if (strided)
        t = ss_tensor_transpose(l->g, t, turned);
    memcpy(shape, ss_tensor_shape(l->g, t), sizeof(shape));
    items = shape[0] * shape[1];
    t = ss_tensor_reshape(l->g, t, 2, (const uint32_t[]){ items, shape[2] * shape[3] });
    t = ss_op_row_norm(l->g, l->seq, t, ROW_BY_ROW, NULL, NULL, (float)op_float(&c, "epsilon"),
                       n->name);
    t = ss_tensor_reshape(l->g, t, 4, shape);
    return lower_reshape(l, strided ? ss_tensor_transpose(l->g, t, turned) : t,
                         lower_shape(l, n->in[0]));
}

static enum emu_status norm_in_f32(struct lowering *l, const struct node_group *group,
                                   const struct op_node *n)
{
    struct op_tensor number[2] = { 0 };
    enum emu_status s = channel_numbers(l, n, n->in[1], &number[0]);

    if (s == EMU_OK)
        s = channel_numbers(l, n, n->in[2], &number[1]);
    if (s == EMU_OK)
        lower_scaled(l, group, normed_groups(l, n), number, n->name);
    op_tensor_free(&number[0]);
    op_tensor_free(&number[1]);
    return s;
}

/* ---- in f16 ---- */

/* A field is changed in place. */
static enum emu_status norm_field(struct lowering *l, const struct node_group *group,
                                  const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    struct op_call c = lower_call(l, n);
    uint32_t w = s->rank > 3 ? (uint32_t)op_shape_span(s, 3, s->rank) : 1;
    struct activation x =
        lower_field_to_change(l, n->in[0], 1, s->dim[0], s->rank > 2 ? s->dim[2] : 1, w);
    struct group_norm_layer layer = { .groups = (uint32_t)op_int(&c, "num_groups"),
                                      .strided = op_int(&c, "strided") != 0,
                                      .eps = (float)op_float(&c, "epsilon") };
    float *gamma = NULL, *beta = NULL;
    enum emu_status st = value_floats(l->og, n->in[1], &gamma);

    if (st == EMU_OK)
        st = value_floats(l->og, n->in[2], &beta);
    layer.gamma = gamma;
    layer.beta = beta;
    if (st == EMU_OK)
        lower_set_field(l, node_group_result(l->og, group),
                        ss_op_group_norm(l->nn, x, &layer, group->act, n->name), 1);
    ss_free(gamma);
    ss_free(beta);
    return st;
}

enum emu_status lower_group_norm(struct lowering *l, const struct node_group *group,
                                 const struct op_node *n)
{
    return l->real == ELEM_F32 ? norm_in_f32(l, group, n) : norm_field(l, group, n);
}
