/* lower_loss.c - losses of scores; in f32. */
#include "models/lower/arithmetic.h"

/* CrossEntropy: of each row, minus the sum of target times logarithm of the probability. */
enum emu_status lower_loss(struct lowering *l, const struct node_group *group,
                           const struct op_node *n)
{
    const struct formula f = { l, n->name };
    struct op_call c = lower_call(l, n);
    struct tensor x = fn_wide(&f, lower_rows(l, lower_view(l, n->in[0]), 1)), t;
    uint32_t rows = ss_tensor_shape(l->g, x)[0];

    (void)group;
    t = fn_wide(&f, lower_rows(l, lower_view(l, n->in[1]), 1));
    t = fn_two(&f, BINARY_MUL, t, ss_op_row_softmax(l->g, l->seq, x, ROW_LOG_SOFTMAX, n->name));
    t = ss_op_row_reduce(l->g, l->seq, ROW_OP_SUM, t, ELEM_F32, n->name);
    if (!op_is(&c, "reduction", "none"))
        t = ss_op_total(l->g, l->seq, REDUCE_SUM, t, n->name);
    lower_set_view(l, n->out[0],
                   fn_by(&f, BINARY_MUL, t, op_is(&c, "reduction", "mean") ? -1.0 / rows : -1));
    return EMU_OK;
}

const char *loss_obstacle(const struct op_graph *g, const struct op_node *n)
{
    (void)g;
    return op_node_is(n, OP_CrossEntropy) ? NULL : "no lowering of the operator is built yet";
}
