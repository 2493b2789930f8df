/* lower_group_norm.c - norms of groups of channels, with the activation function that follows. */
#include "models/lower/lowering.h"

/* A field is changed in place. */
enum emu_status lower_group_norm(struct lowering *l, const struct node_group *group,
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
                        op_group_norm(l->nn, x, &layer, group->act, n->name), 1);
    emu_free(gamma);
    emu_free(beta);
    return st;
}
