/* lower_gather.c - picking elements, with indices that are constant; and types. */
#include <string.h>

#include "models/lower/arithmetic.h"

enum emu_status lower_gather(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    (void)group;
    return lower_moved(l, n, 0);
}

const char *gather_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const char *const built[] = { "Gather", "GatherElements", "GatherND" };
    int found = 0;

    for (unsigned k = 0; k < EMU_COUNT_OF(built); k++)
        found |= !strcmp(n->row->name, built[k]);
    if (!found)
        return "no lowering of the operator is built yet";
    return op_value_constant_kind(&g->value[n->in[1]]) ? NULL
                                                       : "indices that are known at run time only";
}

/* Nearest neighbours are elements of the input. */
enum emu_status lower_resize(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    (void)group;
    return lower_moved(l, n, 0);
}

const char *resize_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);

    return op_is(&c, "mode", "nearest") &&
                   !op_is(&c, "coordinate_transformation_mode", "tf_crop_and_resize")
               ? NULL
               : "interpolation";
}

/* What an element becomes; floats of all types are one type on the chip, and so are integers. */
enum emu_status lower_cast(struct lowering *l, const struct node_group *group,
                           const struct op_node *n)
{
    const struct formula f = { l, n->name };
    enum op_kind from = op_type_kind(lower_shape(l, n->in[0])->type);
    enum op_kind to = op_type_kind(lower_shape(l, n->out[0])->type);
    struct tensor t = lower_view(l, n->in[0]);

    (void)group;
    if (from == OP_KIND_FLOAT && lower_shape(l, n->out[0])->type == OP_TYPE_F16 &&
        l->real == ELEM_F32) {
        t = op_cast(l->g, l->seq, t, ELEM_F16, n->name);
        lower_set_view(l, n->out[0], op_cast(l->g, l->seq, t, ELEM_F32, n->name));
        return EMU_OK;
    }
    if (from == to || (from == OP_KIND_BOOL && to == OP_KIND_FLOAT))
        return lower_alias(l, group, n);
    if (to == OP_KIND_INT) {
        t = op_cast(l->g, l->seq, t, ELEM_I32, n->name);
    } else {
        if (from == OP_KIND_INT)
            t = op_cast(l->g, l->seq, t, l->real, n->name);
        if (to == OP_KIND_BOOL)
            t = fn_from(&f, BINARY_SUB, 1, fn_by(&f, BINARY_EQUAL, t, 0));
    }
    lower_set_view(l, n->out[0], t);
    return EMU_OK;
}

const char *cast_obstacle(const struct op_graph *g, const struct op_node *n)
{
    enum op_kind to = op_type_kind(g->value[n->out[0]].shape.type);

    return to == OP_KIND_NONE || g->value[n->out[0]].shape.type == OP_TYPE_BF16 ? "that type"
                                                                                : NULL;
}
