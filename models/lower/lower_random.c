/* lower_random.c - masks of dropout, drawn on the chip. */
#include "models/lower/lowering.h"
#include "models/operators/op_random.h"

_Static_assert(OP_MASK_OPERATION == RANDOM_OPERATION, "masks of the chip are those of the host");

enum emu_status lower_random(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->out[0]);
    struct op_call c = lower_call(l, n);
    double keep = op_float(&c, "keep");
    float factor = l->real == ELEM_F16 ? (float)(1 / keep) : 1;
    struct tensor t =
        ss_op_mask(l->g, l->seq, (uint32_t)op_shape_count(s), op_mask_keep(keep), factor,
                   lower_seed(l, n->in[0]), (uint32_t)op_int(&c, "operation"), n->name);

    (void)group;
    if (l->real != ELEM_F16) {
        t = ss_op_cast(l->g, l->seq, t, l->real, n->name);
        t = ss_op_binary_scalar(l->g, l->seq, BINARY_MUL, t, (float)(1 / keep), n->name);
    }
    lower_set_view(l, n->out[0], lower_reshape(l, t, s));
    return EMU_OK;
}

const char *random_obstacle(const struct op_graph *g, const struct op_node *n)
{
    return g->value[n->in[0]].kind == OP_INPUT ? NULL : "a seed that is no input of the graph";
}
