/* expand_weighted.c - operators that tiles compute as several (pass_expand()):
 *
 *   Resize           for each dimension that changes, those that shrink first: linear, two picks
 *                    and what lies between them; cubic, a product with the weights of its inputs,
 *                    [in][out]
 *   LpNormalization  x over its length along an axis, p 1 and 2
 *   GlobalLpPool     the length of all behind the channels, p 1 and 2
 *   LpPool           root(elements of a window * mean of x^2), p 2; the same of |x|, p 1
 *   Trilu            x where a constant triangle says so, else 0
 *   Reduce..         over no axes, noop_with_empty_axes: what is done to each number
 */
#include <string.h>

#include "models/operators/op_resize.h"
#include "models/operators/op_window.h"
#include "models/pass/expand.h"

enum { WEIGHTS_MAX = 1 << 22 };

/* ---- Resize ---- */

/* Elements of now by a list of indices along a dimension. */
static enum emu_status pick(struct op_pass *p, const struct op_node *n, const char *suffix,
                            const struct op_tensor *index, unsigned d, uint32_t now, uint32_t *out)
{
    struct expand_part part = { .op = OP_Gather,
                                .suffix = suffix,
                                .attr = { { "axis", { .kind = OP_ATTR_INT, .i = d } } },
                                .attrs = 1 };
    uint32_t at;

    TRY(op_value_constant(p->g, NULL, index, &at));
    memcpy(part.in, (uint32_t[]){ now, at, OP_NONE }, sizeof(part.in));
    return expand_put(p, n, &part, out);
}

/* Dimension d as index[0] + part (index[1] - index[0]): an even surface stays even, whatever the
 * numbers are rounded to. */
static enum emu_status mix_dim(struct op_pass *p, const struct op_node *n,
                               const struct op_tensor index[2], struct op_tensor *part, unsigned d,
                               uint32_t *now)
{
    unsigned rank = p->g->value[*now].shape.rank;
    uint32_t first, step, w;

    part->shape.rank = rank - d; /* beside the dimensions behind it */
    for (unsigned k = 1; k < rank - d; k++)
        part->shape.dim[k] = 1;
    TRY(op_value_constant(p->g, NULL, part, &w));
    TRY(pick(p, n, ".here", &index[0], d, *now, &first));
    TRY(pick(p, n, ".next", &index[1], d, *now, &step));
    TRY(expand_binary(p, n, OP_Sub, ".step", step, first, &step));
    TRY(expand_binary(p, n, OP_Mul, ".part", step, w, &step));
    return expand_binary(p, n, OP_Add, ".between", step, first, now);
}

/* Dimension d by a product with the weights of its inputs; *now OP_NONE: they are too many. */
static enum emu_status weigh_dim(struct op_pass *p, const struct op_node *n, struct op_call *c,
                                 unsigned d, uint32_t *now)
{
    const struct op_shape *y = &p->g->value[n->out[0]].shape;
    unsigned rank = c->in[0]->rank;
    struct op_tensor weights;
    enum emu_status s;
    uint32_t w;

    if ((uint64_t)c->in[0]->dim[d] * y->dim[d] > WEIGHTS_MAX) {
        *now = OP_NONE;
        return EMU_OK;
    }
    TRY(op_resize_weights(c, d, &weights));
    s = op_value_constant(p->g, NULL, &weights, &w);
    op_tensor_free(&weights);
    TRY(s);
    if (d + 1 < rank)
        TRY(expand_swap_last(p, n, ".last", rank, d, *now, now));
    TRY(expand_binary(p, n, OP_MatMul, ".weights", *now, w, now));
    return d + 1 < rank ? expand_swap_last(p, n, ".back", rank, d, *now, now) : EMU_OK;
}

/* Dimension d of now in its new size. */
static enum emu_status resize_dim(struct op_pass *p, const struct op_node *n, struct op_call *c,
                                  unsigned d, uint32_t *now)
{
    struct op_tensor index[2], part;
    enum emu_status s;
    int found;

    TRY(op_resize_neighbours(c, d, index, &part, &found));
    if (!found)
        return weigh_dim(p, n, c, d, now);
    s = mix_dim(p, n, index, &part, d, now);
    op_tensor_free(&index[0]);
    op_tensor_free(&index[1]);
    op_tensor_free(&part);
    return s;
}

enum emu_status expand_resize(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape, y = p->g->value[n->out[0]].shape;
    const struct op_shape *in[] = { &x };
    uint32_t now = op_pass_now(p, n->in[0]);

    c.in = in;
    c.ins = 1;
    if (op_is(&c, "mode", "nearest") ||
        op_is(&c, "coordinate_transformation_mode", "tf_crop_and_resize") || !op_shape_count(&y))
        return EMU_OK;
    for (int grows = 0; grows < 2; grows++) {
        for (unsigned d = 0; d < x.rank && now != OP_NONE; d++) {
            if (!op_resize_keeps(&c, d) && (y.dim[d] > x.dim[d]) == grows)
                TRY(resize_dim(p, n, &c, d, &now));
        }
    }
    if (now == OP_NONE)
        return EMU_OK;
    return expand_unary(p, n, OP_Identity, "", now, out);
}

/* ---- lengths ---- */

/* ReduceL1 or ReduceL2 of x over some axes, which stay. Others than 1 and 2: OP_NONE. */
static enum emu_status length_over(struct op_pass *p, const struct op_node *n, const char *suffix,
                                   unsigned axes, const int64_t *axis, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    int64_t power = op_int(&c, "p");
    const struct expand_part part = {
        .op = power == 1 ? OP_ReduceL1 : OP_ReduceL2,
        .suffix = suffix,
        .in = { op_pass_now(p, n->in[0]), OP_NONE, OP_NONE },
        .attr = { { "axes", { .kind = OP_ATTR_INTS, .count = axes, .ints = axis } } },
        .attrs = 1
    };

    *out = OP_NONE;
    return power == 1 || power == 2 ? expand_put(p, n, &part, out) : EMU_OK;
}

enum emu_status expand_lp_norm(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    int64_t axis = op_int(&c, "axis");
    enum op_type type = p->g->value[n->in[0]].shape.type;
    uint32_t length, zero, one, none;

    TRY(length_over(p, n, ".length", 1, &axis, &length));
    if (length == OP_NONE)
        return EMU_OK;
    TRY(expand_number(p, type, 0, &zero));
    TRY(expand_number(p, type, 1, &one));
    TRY(expand_binary(p, n, OP_Equal, ".none", length, zero, &none));
    TRY(expand_where(p, n, ".divisor", none, one, length, &length)); /* zeros stay zeros */
    return expand_binary(p, n, OP_Div, "", op_pass_now(p, n->in[0]), length, out);
}

enum emu_status expand_global_lp_pool(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    int64_t axis[OP_RANK_MAX];
    unsigned rank = p->g->value[n->in[0]].shape.rank;

    for (unsigned d = 2; d < rank; d++)
        axis[d - 2] = d;
    return rank > 2 ? length_over(p, n, "", rank - 2, axis, out) : EMU_OK;
}

enum emu_status expand_lp_pool(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    static const char *const same[] = { "auto_pad", "dilations", "kernel_shape", "pads",
                                        "strides" };
    struct op_call c = op_attrs_of(p->g, n);
    enum op_type type = p->g->value[n->in[0]].shape.type;
    uint32_t x = op_pass_now(p, n->in[0]), count;
    int64_t power = op_int(&c, "p"), elements = 1;
    struct expand_part mean = { .op = OP_AveragePool,
                                .suffix = ".mean",
                                .attr = { { "count_include_pad",
                                            { .kind = OP_ATTR_INT, .i = 1 } } },
                                .attrs = 1 };
    struct op_attr_spec spec;
    const int64_t *kernel;
    uint32_t dims = op_ints(&c, "kernel_shape", &kernel);

    if ((power != 1 && power != 2) || op_int(&c, "ceil_mode")) /* whose last window is cut */
        return EMU_OK;
    for (uint32_t d = 0; d < dims; d++)
        elements *= kernel[d];
    for (unsigned k = 0; op_row_attr(n->row, k, &spec); k++) {
        for (unsigned i = 0; i < EMU_COUNT_OF(same); i++) {
            if (!strcmp(spec.name, same[i]) && n->attr[k].kind != OP_ATTR_NONE)
                mean.attr[mean.attrs++] = (struct op_named_attr){ same[i], n->attr[k] };
        }
    }
    TRY(power == 1 ? expand_unary(p, n, OP_Abs, ".parts", x, &x)
                   : expand_binary(p, n, OP_Mul, ".parts", x, x, &x));
    mean.in[0] = x;
    mean.in[1] = OP_NONE;
    TRY(expand_put(p, n, &mean, &x));
    TRY(expand_number(p, type, (double)elements, &count));
    TRY(expand_binary(p, n, OP_Mul, power == 1 ? "" : ".sum", x, count, out));
    return power == 1 ? EMU_OK : expand_unary(p, n, OP_Sqrt, "", *out, out);
}

/* ---- reductions of nothing ---- */

enum emu_status expand_reduction(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    static const enum op_code each[][2] = { { OP_ReduceL1, OP_Abs },
                                            { OP_ReduceL2, OP_Abs },
                                            { OP_ReduceLogSum, OP_Log } };
    const struct op_call c = op_attrs_of(p->g, n);
    uint32_t x = op_pass_now(p, n->in[0]);
    const int64_t *axes;

    if (op_ints(&c, "axes", &axes) || !op_int(&c, "noop_with_empty_axes"))
        return EMU_OK;
    if (op_node_is(n, OP_ReduceSumSquare))
        return expand_binary(p, n, OP_Mul, "", x, x, &out[0]);
    for (unsigned k = 0; k < EMU_COUNT_OF(each); k++) {
        if (op_node_is(n, each[k][0]))
            return expand_unary(p, n, each[k][1], "", x, &out[0]);
    }
    return expand_unary(p, n, OP_Identity, "", x, &out[0]);
}

/* ---- Trilu ---- */

enum emu_status expand_triangle(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape;
    int64_t k = op_int(&c, "k"), upper = op_int(&c, "upper");
    struct op_shape s = { .type = OP_TYPE_BOOL, .rank = 2 };
    struct op_tensor t;
    uint32_t mask, zero;
    enum emu_status st;

    if (op_type_kind(x.type) != OP_KIND_FLOAT)
        return EMU_OK;
    s.dim[0] = x.dim[x.rank - 2];
    s.dim[1] = x.dim[x.rank - 1];
    TRY(op_tensor_new(&s, &t));
    for (int64_t i = 0; i < s.dim[0]; i++) {
        for (int64_t j = 0; j < s.dim[1]; j++)
            t.i[i * s.dim[1] + j] = upper ? j - i >= k : j - i <= k;
    }
    st = op_value_constant(p->g, NULL, &t, &mask);
    op_tensor_free(&t);
    TRY(st);
    TRY(expand_number(p, x.type, 0, &zero));
    return expand_where(p, n, "", mask, op_pass_now(p, n->in[0]), zero, out);
}
