/* lower_gather.c - picking elements, with indices that are constant; and types. */

#include "models/lower/arithmetic.h"

/* With more comparisons than this on a tile, a look-up fetches the indices once. */
enum { MANY = 256 };

/* The matrix [m][v], f32: 1 where the place, 0 .. v - 1, is the index of the row. */
static struct tensor compare_rows(struct lowering *l, const struct formula *f, struct tensor at,
                                  uint32_t m, uint32_t v)
{
    const struct op_shape row = { .type = OP_TYPE_F32, .rank = 2, .dim = { 1, v } };
    const struct op_shape all = { .type = OP_TYPE_F32, .rank = 2, .dim = { m, v } };
    struct op_tensor number;
    struct tensor places;

    if (op_tensor_new(&row, &number) != EMU_OK) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", f->name);
        return at;
    }
    for (uint32_t k = 0; k < v; k++)
        number.f[k] = k;
    places = lower_broadcast(l, lower_numbers(l, ELEM_F32, &number, "places"), &all);
    op_tensor_free(&number);
    at = ss_tensor_reshape(l->g, at, 2, (const uint32_t[]){ m, 1 });
    return fn_two(f, BINARY_EQUAL, places, ss_tensor_broadcast(l->g, at, 1, v));
}

/* The same for many comparisons: tiles have whole rows of [v][m] and fetch all indices once; above,
 * the tile of an index sends it again for every comparison, with one instruction each time. The
 * places are stored beside the rows from the beginning. */
static struct tensor compare_columns(struct lowering *l, const struct formula *f, struct tensor at,
                                     uint32_t m, uint32_t v)
{
    float *number = emu_alloc((size_t)v * m, sizeof(*number));
    struct tensor t;

    if (!number) {
        ss_graph_fail(l->g, EMU_NO_MEMORY, "%s", f->name);
        return at;
    }
    for (uint64_t k = 0; k < (uint64_t)v * m; k++)
        number[k] = (float)(k / m);
    t = ss_graph_constant(l->g, ELEM_F32, 2, (const uint32_t[]){ v, m }, number, "places");
    ss_free(number);
    ss_graph_map_linear(l->g, t, m, m, 0, ss_graph_compute_tiles(l->g));
    at = ss_tensor_reshape(l->g, at, 1, &m);
    t = fn_by(f, BINARY_EQUAL, fn_two(f, BINARY_SUB, t, at), 0);
    return ss_tensor_transpose(l->g, t, (const unsigned[]){ 1, 0 });
}

/* Rows of a table [v][d] by indices that are known at run time: a matrix [m][v] with a one for each
 * index, times the table. Negative indices count from the end. The result is exact, because only
 * one term of each sum is not zero. */
static void look_up(struct lowering *l, const struct op_node *n)
{
    const struct formula f = { l, n->name };
    const struct op_shape *s = lower_shape(l, n->in[0]);
    uint32_t v = s->dim[0], d = (uint32_t)op_shape_span(s, 1, s->rank);
    uint32_t m = (uint32_t)op_shape_count(lower_shape(l, n->in[1]));
    int many = m % 2 == 0 && (uint64_t)m * v / ss_graph_compute_tiles(l->g) >= MANY;
    struct tensor table =
        ss_tensor_reshape(l->g, lower_view(l, n->in[0]), 3, (const uint32_t[]){ 1, v, d });
    struct tensor at = ss_op_cast(l->g, l->seq, lower_view(l, n->in[1]), ELEM_F32, n->name), one;

    at = fn_select(&f, fn_by(&f, BINARY_LESS, at, 0), fn_by(&f, BINARY_ADD, at, v), at);
    one = many ? compare_columns(l, &f, at, m, v) : compare_rows(l, &f, at, m, v);
    if (l->real != ELEM_F32)
        one = ss_op_cast(l->g, l->seq, one, l->real, n->name);
    one = ss_tensor_reshape(l->g, one, 3, (const uint32_t[]){ 1, m, v });
    lower_set_view(l, n->out[0], ss_op_product(l->g, l->seq, one, table, n->name));
}

/* Rows or columns of a field by constant indices: a field. */
static int pick_positions(struct lowering *l, const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->in[0]), *list = lower_shape(l, n->in[1]);
    struct op_tensor at;
    struct activation x;

    if (!op_node_is(n, OP_Gather) || l->real != ELEM_F16 || s->rank != 4 || lower_axis(l, n) < 2 ||
        list->rank != 1 || !lower_has_field(l, n->in[0], 1) ||
        op_value_read(l->og, n->in[1], &at) != EMU_OK)
        return 0;
    x = lower_field(l, n->in[0], 1, s->dim[0], s->dim[2], s->dim[3]);
    for (uint32_t k = 0; k < list->dim[0]; k++)
        at.i[k] += at.i[k] < 0 ? s->dim[lower_axis(l, n)] : 0;
    x = lower_copied_field(l, lower_pick(l, x.t, lower_axis(l, n), at.i, list->dim[0], 0), x.c);
    op_tensor_free(&at);
    lower_set_field(l, n->out[0], x, 1);
    return 1;
}

enum emu_status lower_gather(struct lowering *l, const struct node_group *group,
                             const struct op_node *n)
{
    (void)group;
    if (lower_is_constant(l, n->in[1]))
        return pick_positions(l, n) ? EMU_OK : lower_moved(l, n, 0);
    look_up(l, n);
    return EMU_OK;
}

/* Why a TopK was not replaced by comparisons of all numbers with all. */
static const char *top_k_obstacle(const struct op_graph *g, const struct op_node *n)
{
    const struct op_shape *x = &g->value[n->in[0]].shape;
    struct op_call c = op_attrs_of(g, n);
    int64_t axis = op_int(&c, "axis");

    if (op_type_kind(x->type) != OP_KIND_FLOAT)
        return "integers: tiles compute with floats, so cast them before";
    return x->dim[axis < 0 ? axis + x->rank : axis] > 1024
               ? "the largest of more than 1,024 numbers"
               : "more than 4 million comparisons";
}

const char *gather_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const enum op_code built[] = { OP_Gather, OP_GatherElements, OP_GatherND };
    struct op_call c = op_attrs_of(g, n);
    int found = 0;

    for (unsigned k = 0; k < EMU_COUNT_OF(built); k++)
        found |= op_node_is(n, built[k]);
    if (op_node_is(n, OP_TopK))
        return top_k_obstacle(g, n);
    if (!found)
        return op_value_constant_kind(&g->value[n->in[1]])
                   ? "a reduction, or too many places"
                   : "places that are known at run time only: export them as constants, or as "
                     "Where "
                     "with a mask";
    if (op_value_constant_kind(&g->value[n->in[1]]))
        return NULL;
    if (!op_node_is(n, OP_Gather))
        return "indices that are known at run time only: export them as constants, or as Gather "
               "along axis 0, which looks them up";
    if (op_type_kind(g->value[n->in[0]].shape.type) != OP_KIND_FLOAT)
        return "integers picked by indices that are known at run time only: cast them to float "
               "before";
    return op_int(&c, "axis")
               ? "indices that are known at run time only, along another axis than 0: Transpose "
                 "before and after it, so that it picks along axis 0"
               : NULL; /* look_up() */
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
        t = ss_op_cast(l->g, l->seq, t, ELEM_F16, n->name);
        lower_set_view(l, n->out[0], ss_op_cast(l->g, l->seq, t, ELEM_F32, n->name));
        return EMU_OK;
    }
    if (from == to || (from == OP_KIND_BOOL && to == OP_KIND_FLOAT))
        return lower_alias(l, group, n);
    if (to == OP_KIND_INT) {
        t = ss_op_cast(l->g, l->seq, t, ELEM_I32, n->name);
    } else {
        if (from == OP_KIND_INT)
            t = ss_op_cast(l->g, l->seq, t, l->real, n->name);
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
