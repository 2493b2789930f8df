/* pass_windows.c - convolutions and pools spelt without windows, for numbers that the kernels of
 * windows do not have: each tap sees a slice of the padded input,
 *
 *   convolution   the slices side by side, positions in rows, times a matrix of weights
 *   depthwise     the sum over taps of slice times weight
 *   pools         the largest, or the sum times a constant, of all slices
 *
 * Moving elements only makes views, so that products and sums are all that remains to be computed.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_window.h"
#include "models/pass/expand.h"

/* A node with windows. Slices are taken of rows, [batch][positions..][channels]: what lies side by
 * side on a tile then moves together. */
struct spelt_windows {
    struct op_pass *p;
    const struct op_node *n;
    struct op_call c;
    struct op_shape x; /* of the input */
    struct op_shape y; /* of the result */
    struct op_window w;
    uint64_t taps;
    uint32_t rows; /* the input with all that a window sees */
};

static struct op_named_attr ints_attr(const char *name, unsigned count, const int64_t *v)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_INTS, .count = count, .ints = v } };
}

static enum emu_status transpose(const struct spelt_windows *s, const char *suffix, uint32_t x,
                                 unsigned rank, const int64_t *perm, uint32_t *out)
{
    const struct expand_part part = { .op = OP_Transpose,
                                      .suffix = suffix,
                                      .in = { x, OP_NONE, OP_NONE },
                                      .attr = { ints_attr("perm", rank, perm) },
                                      .attrs = 1 };

    return expand_put(s->p, s->n, &part, out);
}

/* ---- windows ---- */

/* What lies around the input up to the end of the last window; 0: nothing. -1: a window begins
 * within the input, which slices do not need. */
static int pads_of(const struct spelt_windows *s, int64_t pads[2 * OP_RANK_MAX])
{
    int some = 0;

    memset(pads, 0, 2 * OP_RANK_MAX * sizeof(*pads));
    for (unsigned d = 0; d < s->w.dims; d++) {
        int64_t reach = (s->w.out[d] - 1) * s->w.stride[d] + op_window_reach(&s->w, d);
        int64_t end = reach - s->w.begin[d] - s->w.in[d];

        if (s->w.begin[d] < 0)
            return -1;
        pads[2 + d] = s->w.begin[d];
        pads[s->x.rank + 2 + d] = end > 0 ? end : 0;
        some |= pads[2 + d] || end > 0;
    }
    return some;
}

static enum emu_status pad(const struct spelt_windows *s, const int64_t *pads, double fill,
                           uint32_t *out)
{
    struct expand_part part = { .op = OP_Pad,
                                .suffix = ".padded",
                                .in = { op_pass_now(s->p, s->n->in[0]), OP_NONE, OP_NONE },
                                .attr = { ints_attr("pads", 2 * s->x.rank, pads),
                                          { "value", { .kind = OP_ATTR_TENSOR } } },
                                .attrs = 2 };

    TRY(expand_number(s->p, s->x.type, fill, &part.attr[1].attr.value));
    return expand_put(s->p, s->n, &part, out);
}

/* x [batch][channels][positions..] with the channels last, or back. */
static enum emu_status channels_last(const struct spelt_windows *s, uint32_t x, uint32_t *out)
{
    int64_t perm[OP_RANK_MAX] = { 0 };

    for (unsigned d = 1; d < s->x.rank; d++)
        perm[d] = d + 1 < s->x.rank ? d + 1 : 1;
    return transpose(s, ".rows", x, s->x.rank, perm, out);
}

static enum emu_status channels_second(const struct spelt_windows *s, uint32_t x, uint32_t *out)
{
    int64_t perm[OP_RANK_MAX] = { 0 };

    for (unsigned d = 1; d < s->x.rank; d++)
        perm[d] = d > 1 ? d - 1 : s->x.rank - 1;
    return transpose(s, "", x, s->x.rank, perm, out);
}

/* Reads the windows of a node; *fits 0: they are none that slices can have. kernel: of the weights,
 * or NULL. */
static enum emu_status begin(struct op_pass *p, const struct op_node *n, const uint32_t *kernel,
                             double fill, struct spelt_windows *s, int *fits)
{
    int64_t pads[2 * OP_RANK_MAX];
    int some;

    *s = (struct spelt_windows){ .p = p,
                                 .n = n,
                                 .c = op_attrs_of(p->g, n),
                                 .x = p->g->value[n->in[0]].shape,
                                 .y = p->g->value[n->out[0]].shape };
    TRY(op_window_read(&s->c, &s->x, kernel, &s->w));
    TRY(op_window_forward(&s->c, op_knows(&s->c, "ceil_mode") && op_int(&s->c, "ceil_mode"),
                          &s->w));
    s->taps = op_window_span(&s->w, s->w.kernel);
    s->rows = op_pass_now(p, n->in[0]);
    some = pads_of(s, pads);
    *fits = some >= 0 && op_shape_count(&s->x) && op_shape_count(&s->y);
    if (*fits && some)
        TRY(pad(s, pads, fill, &s->rows));
    return *fits ? channels_last(s, s->rows, &s->rows) : EMU_OK;
}

/* What a tap sees at every output, [batch][outputs..][channels]. */
static enum emu_status slice(const struct spelt_windows *s, uint64_t tap, uint32_t *out)
{
    int64_t starts[OP_WINDOW_DIMS], ends[OP_WINDOW_DIMS], axes[OP_WINDOW_DIMS];
    struct expand_part part = { .op = OP_Slice,
                                .suffix = ".tap",
                                .in = { s->rows, OP_NONE, OP_NONE } };
    int whole = 1;

    for (unsigned d = s->w.dims; d-- > 0; tap /= (uint64_t)s->w.kernel[d]) {
        axes[d] = 1 + d;
        starts[d] = (int64_t)(tap % (uint64_t)s->w.kernel[d]) * s->w.dilation[d];
        ends[d] = starts[d] + (s->w.out[d] - 1) * s->w.stride[d] + 1;
        whole &= s->w.stride[d] == 1 && !starts[d] &&
                 ends[d] == s->p->g->value[s->rows].shape.dim[1 + d];
    }
    *out = s->rows;
    if (whole)
        return EMU_OK;
    part.attr[part.attrs++] = ints_attr("starts", s->w.dims, starts);
    part.attr[part.attrs++] = ints_attr("ends", s->w.dims, ends);
    part.attr[part.attrs++] = ints_attr("axes", s->w.dims, axes);
    part.attr[part.attrs++] = ints_attr("steps", s->w.dims, s->w.stride);
    return expand_put(s->p, s->n, &part, out);
}

/* ---- products ---- */

/* A convolution: per group `in` channels make `out`. */
struct window_conv {
    struct spelt_windows s;
    uint32_t groups, in, out;
    uint32_t positions; /* of all pictures */
};

/* All slices side by side, channels last: [positions][taps][groups * in]. */
static enum emu_status put_patches(struct window_conv *v, uint32_t *out)
{
    const struct spelt_windows *s = &v->s;
    const struct op_shape rows = { .type = s->x.type,
                                   .rank = 3,
                                   .dim = { v->positions, (uint32_t)s->taps, s->x.dim[1] } };
    const struct op_named_attr axis = { "axis", { .kind = OP_ATTR_INT, .i = s->x.rank - 1 } };
    struct op_request join = { .op = op_name(OP_Concat),
                               .block = s->n->block,
                               .ins = (uint32_t)s->taps,
                               .outs = 1,
                               .attr = &axis,
                               .attrs = 1 };
    uint32_t *part = emu_alloc(s->taps, sizeof(*part)), last;
    enum emu_status st = part ? EMU_OK : FAIL(NO_MEMORY, "%s", s->n->name);

    for (uint64_t k = 0; k < s->taps && st == EMU_OK; k++)
        st = slice(s, k, &part[k]);
    join.in = part;
    if (st == EMU_OK && s->taps > 1)
        st = op_node(s->p->g, &join, &last);
    else if (st == EMU_OK)
        last = part[0];
    ss_free(part);
    return st == EMU_OK ? expand_reshape(s->p, s->n, last, &rows, out) : st;
}

/* Weights [groups * out][in][taps] as matrices [groups][taps * in][out], without the first
 * dimension if there is one group. */
static enum emu_status put_weights(const struct window_conv *v, uint32_t *out)
{
    static const int64_t perm[] = { 0, 3, 2, 1 };
    const struct spelt_windows *s = &v->s;
    const struct op_shape apart = { .type = s->x.type,
                                    .rank = 4,
                                    .dim = { v->groups, v->out, v->in, (uint32_t)s->taps } };
    const struct op_shape by_group = { .type = s->x.type,
                                       .rank = 3,
                                       .dim = { v->groups, (uint32_t)s->taps * v->in, v->out } };
    const struct op_shape one = { .type = s->x.type,
                                  .rank = 2,
                                  .dim = { (uint32_t)s->taps * v->in, v->out } };

    TRY(expand_reshape(s->p, s->n, op_pass_now(s->p, s->n->in[1]), &apart, out));
    TRY(transpose(s, ".weights", *out, 4, perm, out));
    return expand_reshape(s->p, s->n, *out, v->groups > 1 ? &by_group : &one, out);
}

/* The product, [positions][groups * out]. */
static enum emu_status put_product(struct window_conv *v, uint32_t *out)
{
    static const int64_t first[] = { 2, 0, 1, 3 }, back[] = { 1, 0, 2 };
    const struct spelt_windows *s = &v->s;
    uint32_t taps = (uint32_t)s->taps, x, weights;
    const struct op_shape rows = { .type = s->x.type,
                                   .rank = 2,
                                   .dim = { v->positions, taps * v->in } };
    const struct op_shape apart = { .type = s->x.type,
                                    .rank = 4,
                                    .dim = { v->positions, taps, v->groups, v->in } };
    const struct op_shape batch = { .type = s->x.type,
                                    .rank = 3,
                                    .dim = { v->groups, v->positions, taps * v->in } };
    const struct op_shape columns = { .type = s->x.type,
                                      .rank = 2,
                                      .dim = { v->positions, v->groups * v->out } };

    TRY(put_patches(v, &x));
    TRY(put_weights(v, &weights));
    if (v->groups == 1) {
        TRY(expand_reshape(s->p, s->n, x, &rows, &x));
        return expand_binary(s->p, s->n, OP_MatMul, ".product", x, weights, out);
    }
    TRY(expand_reshape(s->p, s->n, x, &apart, &x));
    TRY(transpose(s, ".groups", x, 4, first, &x));
    TRY(expand_reshape(s->p, s->n, x, &batch, &x));
    TRY(expand_binary(s->p, s->n, OP_MatMul, ".product", x, weights, out));
    TRY(transpose(s, ".joined", *out, 3, back, out));
    return expand_reshape(s->p, s->n, *out, &columns, out);
}

static int has_bias(const struct op_node *n)
{
    return n->ins > 2 && n->in[2] != OP_NONE;
}

static enum emu_status put_dense(struct window_conv *v, uint32_t *out)
{
    const struct spelt_windows *s = &v->s;
    struct op_shape field = s->y;

    TRY(put_product(v, out));
    if (has_bias(s->n))
        TRY(expand_binary(s->p, s->n, OP_Add, ".sum", *out, op_pass_now(s->p, s->n->in[2]), out));
    for (unsigned d = 1; d < field.rank; d++)
        field.dim[d] = d + 1 < field.rank ? s->y.dim[d + 1] : s->y.dim[1];
    TRY(expand_reshape(s->p, s->n, *out, &field, out));
    return channels_second(s, *out, out);
}

/* One channel in, one out in each group. */
static enum emu_status put_depthwise(const struct window_conv *v, uint32_t *out)
{
    static const int64_t turned[] = { 1, 0 };
    const struct spelt_windows *s = &v->s;
    const struct op_shape by_channel = { .type = s->x.type,
                                         .rank = 2,
                                         .dim = { v->groups, (uint32_t)s->taps } };
    const struct op_shape row = { .type = s->x.type, .rank = 1, .dim = { v->groups } };
    uint32_t weights, x, w;

    TRY(expand_reshape(s->p, s->n, op_pass_now(s->p, s->n->in[1]), &by_channel, &weights));
    TRY(transpose(s, ".weights", weights, 2, turned, &weights));
    for (uint64_t k = 0; k < s->taps; k++) {
        const int64_t from = (int64_t)k, to = from + 1, axis = 0;
        const struct expand_part part = { .op = OP_Slice,
                                          .suffix = ".weight",
                                          .in = { weights, OP_NONE, OP_NONE },
                                          .attr = { ints_attr("starts", 1, &from),
                                                    ints_attr("ends", 1, &to),
                                                    ints_attr("axes", 1, &axis) },
                                          .attrs = 3 };

        TRY(expand_put(s->p, s->n, &part, &w));
        TRY(expand_reshape(s->p, s->n, w, &row, &w));
        TRY(slice(s, k, &x));
        TRY(expand_binary(s->p, s->n, OP_Mul, ".part", x, w, &x));
        if (k)
            TRY(expand_binary(s->p, s->n, OP_Add, ".sum", *out, x, out));
        else
            *out = x;
    }
    if (has_bias(s->n))
        TRY(expand_binary(s->p, s->n, OP_Add, ".bias", *out, op_pass_now(s->p, s->n->in[2]), out));
    return channels_second(s, *out, out);
}

static enum emu_status spell_conv(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_shape weights = p->g->value[n->in[1]].shape;
    struct window_conv v = { .groups = 0 };
    int fits;

    TRY(begin(p, n, weights.dim + 2, 0, &v.s, &fits));
    if (!fits)
        return EMU_OK;
    v.groups = (uint32_t)op_int(&v.s.c, "group");
    v.in = weights.dim[1];
    v.out = weights.dim[0] / v.groups;
    v.positions = v.s.y.dim[0] * (uint32_t)op_shape_span(&v.s.y, 2, v.s.y.rank);
    return v.in == 1 && v.out == 1 ? put_depthwise(&v, out) : put_dense(&v, out);
}

/* ---- pools ---- */

/* All slices, joined by an operator of two inputs. */
static enum emu_status join_taps(const struct spelt_windows *s, enum op_code op, uint32_t *out)
{
    uint32_t x;

    TRY(slice(s, 0, out));
    for (uint64_t k = 1; k < s->taps; k++) {
        TRY(slice(s, k, &x));
        TRY(expand_binary(s->p, s->n, op, ".window", *out, x, out));
    }
    return EMU_OK;
}

static enum emu_status spell_max(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct spelt_windows s;
    int fits;

    if (n->outs > 1 && n->out[1] != OP_NONE)
        return EMU_OK;
    TRY(begin(p, n, NULL, -INFINITY, &s, &fits));
    if (!fits)
        return EMU_OK;
    TRY(join_taps(&s, OP_Max, out));
    return channels_second(&s, *out, out);
}

/* How many of a window's taps count along a dimension at output o. */
static int64_t counted(const struct spelt_windows *s, unsigned d, int64_t o)
{
    int with_pads = op_int(&s->c, "count_include_pad") != 0;
    int64_t low = with_pads ? -s->w.begin[d] : 0;
    int64_t high = s->w.in[d] + (with_pads ? s->w.end[d] : 0), n = 0;

    for (int64_t k = 0; k < s->w.kernel[d]; k++) {
        int64_t at = o * s->w.stride[d] - s->w.begin[d] + k * s->w.dilation[d];

        n += at >= low && at < high;
    }
    return n;
}

/* 1 / how many taps count, [1][outputs..][1]. */
static enum emu_status put_shares(const struct spelt_windows *s, uint32_t *out)
{
    struct op_shape shape = s->y;
    uint32_t index[OP_RANK_MAX] = { 0 };
    uint64_t at = 0;
    struct op_tensor t;
    enum emu_status st;

    shape.dim[0] = shape.dim[shape.rank - 1] = 1;
    for (unsigned d = 0; d < s->w.dims; d++)
        shape.dim[1 + d] = s->y.dim[2 + d];
    TRY(op_tensor_new(&shape, &t));
    do {
        t.f[at] = 1;
        for (unsigned d = 0; d < s->w.dims; d++)
            t.f[at] /= (double)counted(s, d, index[1 + d]);
        at++;
    } while (op_index_next(&shape, index));
    st = op_value_constant(s->p->g, NULL, &t, out);
    op_tensor_free(&t);
    return st;
}

static enum emu_status spell_mean(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct spelt_windows s;
    uint32_t share;
    int fits;

    TRY(begin(p, n, NULL, 0, &s, &fits));
    if (!fits)
        return EMU_OK;
    TRY(join_taps(&s, OP_Add, out));
    TRY(put_shares(&s, &share));
    TRY(expand_binary(p, n, OP_Mul, ".mean", *out, share, out));
    return channels_second(&s, *out, out);
}

static enum emu_status over_positions(struct op_pass *p, const struct op_node *n, enum op_code op,
                                      uint32_t *out)
{
    unsigned rank = p->g->value[n->in[0]].shape.rank;
    int64_t axis[OP_RANK_MAX];
    const struct expand_part part = { .op = op,
                                      .suffix = "",
                                      .in = { op_pass_now(p, n->in[0]), OP_NONE, OP_NONE },
                                      .attr = { ints_attr("axes", rank - 2, axis) },
                                      .attrs = 1 };

    for (unsigned d = 2; d < rank; d++)
        axis[d - 2] = d;
    return rank > 2 ? expand_put(p, n, &part, out) : EMU_OK;
}

static enum emu_status spell_global_mean(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    return over_positions(p, n, OP_ReduceMean, out);
}

static enum emu_status spell_global_max(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    return over_positions(p, n, OP_ReduceMax, out);
}

/* ---- the pass ---- */

struct window_spelling {
    enum op_code op;
    expand_op *spell;
};

static enum emu_status spell(struct op_pass *p, uint32_t node, const struct window_spelling *of,
                             unsigned count, int *replaced)
{
    const struct op_node *n = &p->old[node];
    uint32_t by = OP_NONE;

    if (node >= p->f32_nodes || !n->ins || n->in[0] == OP_NONE ||
        op_type_kind(p->g->value[n->in[0]].shape.type) != OP_KIND_FLOAT)
        return EMU_OK;
    for (unsigned k = 0; k < count; k++) {
        if (op_node_is(n, of[k].op))
            TRY(of[k].spell(p, n, &by));
    }
    if (by == OP_NONE)
        return EMU_OK;
    op_pass_replace(p, n->out[0], by);
    *replaced = 1;
    return EMU_OK;
}

static enum emu_status visit_transposed(struct op_pass *p, uint32_t node, int *replaced)
{
    static const struct window_spelling transposed[] = { { OP_ConvTranspose,
                                                           expand_conv_transpose } };

    return spell(p, node, transposed, EMU_COUNT_OF(transposed), replaced);
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    static const struct window_spelling windowed[] = { { OP_Conv, spell_conv },
                                                       { OP_MaxPool, spell_max },
                                                       { OP_AveragePool, spell_mean },
                                                       { OP_GlobalAveragePool, spell_global_mean },
                                                       { OP_GlobalMaxPool, spell_global_max } };

    return spell(p, node, windowed, EMU_COUNT_OF(windowed), replaced);
}

enum emu_status pass_spell_windows(struct op_graph *g)
{
    TRY(op_pass_run(g, visit_transposed)); /* which makes convolutions */
    return op_pass_run(g, visit);
}
