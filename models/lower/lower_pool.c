/* lower_pool.c - pools over windows of fields, and over whole fields.
 *
 * Windows that op_max_pool() does not have (it has square ones with equal pads), and averages, are
 * made of elementwise operations: first over the rows of a window, then over its columns, each tap
 * being a view of the padded field. */
#include <math.h>
#include <string.h>

#include "models/lower/arithmetic.h"
#include "models/operators/op_window.h"

/* The dimensions of a field [c16][n][h][w][16] that windows move along. */
enum { ROWS = 2, COLUMNS = 3 };

static struct activation input_of(struct lowering *l, uint32_t value)
{
    const struct op_shape *s = lower_shape(l, value);

    return lower_field(l, value, 1, s->dim[0], s->rank > 3 ? s->dim[2] : 1,
                       s->rank > 2 ? s->dim[s->rank - 1] : 1);
}

static int read_window(const struct op_graph *g, const struct op_node *n, struct op_window *w)
{
    struct op_call c = op_attrs_of(g, n);
    int ceil_mode = op_knows(&c, "ceil_mode") && op_int(&c, "ceil_mode");

    return op_window_read(&c, &g->value[n->in[0]].shape, NULL, w) == EMU_OK &&
           op_window_forward(&c, ceil_mode, w) == EMU_OK;
}

/* Whether the last window along a dimension ends within the padded input, as it need not where
 * sizes were rounded up. */
static int is_inside(const struct op_window *w, unsigned d)
{
    return (w->out[d] - 1) * w->stride[d] + op_window_reach(w, d) <=
           w->in[d] + w->begin[d] + w->end[d];
}

/* Whether op_max_pool() has such windows. */
static int is_square(const struct op_window *w)
{
    return w->dims == 2 && w->kernel[0] == w->kernel[1] && w->stride[0] == w->stride[1] &&
           w->dilation[0] == 1 && w->dilation[1] == 1 && w->begin[0] == w->begin[1] &&
           w->end[0] == w->begin[0] && w->end[1] == w->begin[0] && is_inside(w, 0) &&
           is_inside(w, 1);
}

/* ---- one axis ---- */

/* t with so many elements in front and behind, along a dimension. */
static struct tensor padded(struct lowering *l, struct tensor t, unsigned dim, int64_t before,
                            int64_t after, double fill)
{
    struct op_shape s = { .rank = tensor_rank(l->g, t) };
    struct tensor part[3];
    unsigned parts = 0;

    memcpy(s.dim, tensor_shape(l->g, t), s.rank * sizeof(s.dim[0]));
    if (before > 0) {
        s.dim[dim] = (uint32_t)before;
        part[parts++] = lower_filled(l, tensor_elem(l->g, t), &s, fill);
    }
    part[parts++] = t;
    if (after > 0) {
        s.dim[dim] = (uint32_t)after;
        part[parts++] = lower_filled(l, tensor_elem(l->g, t), &s, fill);
    }
    return parts > 1 ? tensor_concat(l->g, part, parts, dim) : t;
}

/* Elements first, first + stride, .. along a dimension: count of them. */
static struct tensor every(struct lowering *l, struct tensor t, unsigned dim, uint32_t first,
                           uint32_t stride, uint32_t count)
{
    uint32_t shape[OP_RANK_MAX + 1], rank = tensor_rank(l->g, t);
    uint32_t size = tensor_shape(l->g, t)[dim], end = first + count * stride;

    if (stride == 1)
        return tensor_slice(l->g, t, dim, first, first + count);
    if (end > size)
        t = padded(l, t, dim, 0, end - size, 0);
    t = tensor_slice(l->g, t, dim, first, end);
    memcpy(shape, tensor_shape(l->g, t), rank * sizeof(shape[0]));
    memmove(shape + dim + 2, shape + dim + 1, (rank - dim - 1) * sizeof(shape[0]));
    shape[dim] = count;
    shape[dim + 1] = stride;
    t = tensor_slice(l->g, tensor_reshape(l->g, t, rank + 1, shape), dim + 1, 0, 1);
    memmove(shape + dim + 1, shape + dim + 2, (rank - dim - 1) * sizeof(shape[0]));
    return tensor_reshape(l->g, t, rank, shape);
}

/* What windows along dimension d of w make of dimension dim of t. */
static struct tensor along(const struct formula *f, const struct op_window *w, unsigned d,
                           enum binary_op op, struct tensor t, unsigned dim)
{
    int64_t size = tensor_shape(f->l->g, t)[dim];
    int64_t need = (w->out[d] - 1) * w->stride[d] + op_window_reach(w, d);
    int64_t after = need - w->begin[d] - size;
    struct tensor y = { 0 };

    t = padded(f->l, t, dim, w->begin[d], after, op == BINARY_MAX ? -INFINITY : 0);
    for (int64_t k = 0; k < w->kernel[d]; k++) {
        struct tensor tap = every(f->l, t, dim, (uint32_t)(k * w->dilation[d]),
                                  (uint32_t)w->stride[d], (uint32_t)w->out[d]);

        y = k ? fn_two(f, op, y, tap) : tap;
    }
    return y;
}

/* ---- averages ---- */

/* How many inputs, or inputs and pads, the window of output o sees along dimension d. */
static double seen(const struct op_window *w, unsigned d, int64_t o, int with_pads)
{
    int64_t count = 0;

    for (int64_t k = 0; k < w->kernel[d]; k++) {
        int64_t at = o * w->stride[d] - w->begin[d] + k * w->dilation[d];

        if (with_pads ? at < w->in[d] + w->end[d] : at >= 0 && at < w->in[d])
            count++;
    }
    return count > 0 ? (double)count : 1;
}

/* Sums divided by what their windows see. */
static struct tensor averages(const struct formula *f, const struct op_window *w, struct tensor t,
                              const struct activation *y, int with_pads)
{
    struct op_shape s = { .type = OP_TYPE_F32, .rank = 5, .dim = { 1, 1, y->h, y->w, 1 } };
    struct op_shape all = { .rank = 5 };
    struct op_tensor factor;

    memcpy(all.dim, tensor_shape(f->l->g, t), sizeof(all.dim[0]) * 5);
    if (op_tensor_new(&s, &factor) != EMU_OK) {
        graph_fail(f->l->g, EMU_NO_MEMORY, "%s", f->name);
        return t;
    }
    for (uint32_t i = 0; i < y->h * y->w; i++) {
        double rows = w->dims == 2 ? seen(w, 0, i / y->w, with_pads) : 1;

        factor.f[i] = 1 / (rows * seen(w, w->dims - 1, i % y->w, with_pads));
    }
    t = fn_two(f, BINARY_MUL, t,
               lower_broadcast(f->l, lower_numbers(f->l, ELEM_F16, &factor, "parts"), &all));
    op_tensor_free(&factor);
    return t;
}

static struct activation over_windows(struct lowering *l, const struct op_node *n,
                                      struct activation x, const struct op_window *w)
{
    const struct formula f = { l, n->name };
    struct op_call c = lower_call(l, n);
    int max = op_node_is(n, "MaxPool");
    enum binary_op op = max ? BINARY_MAX : BINARY_ADD;
    struct activation y = x;

    if (w->dims == 2)
        y.t = along(&f, w, 0, op, y.t, ROWS);
    y.t = along(&f, w, w->dims - 1, op, y.t, COLUMNS);
    y.h = w->dims == 2 ? (uint32_t)w->out[0] : 1;
    y.w = (uint32_t)w->out[w->dims - 1];
    if (!max)
        y.t = averages(&f, w, y.t, &y, (int)op_int(&c, "count_include_pad"));
    return y;
}

/* ---- the family ---- */

enum emu_status lower_pool(struct lowering *l, const struct node_group *group,
                           const struct op_node *n)
{
    const struct op_shape *s = lower_shape(l, n->in[0]);
    struct activation x, y;
    struct op_window w;

    (void)group;
    if (op_node_is(n, "GlobalMaxPool")) {
        uint32_t rows = s->dim[0] * s->dim[1];
        struct tensor t =
            tensor_reshape(l->g, lower_view(l, n->in[0]), 2,
                           (const uint32_t[]){ rows, (uint32_t)op_shape_span(s, 2, s->rank) });

        lower_set_view(l, n->out[0], op_row_reduce(l->g, l->seq, ROW_OP_MAX, t, l->real, n->name));
        return EMU_OK;
    }
    x = input_of(l, n->in[0]);
    if (op_node_is(n, "GlobalAveragePool"))
        y = op_global_pool(l->nn, x, n->name);
    else if (!read_window(l->og, n, &w))
        return EMU_BAD_FILE;
    else if (op_node_is(n, "MaxPool") && is_square(&w))
        y = op_max_pool(l->nn, x, (uint32_t)w.kernel[0], (uint32_t)w.stride[0],
                        (uint32_t)w.begin[0], n->name);
    else
        y = over_windows(l, n, x, &w);
    if (y.t.view == x.t.view)
        lower_set_alias(l, n->out[0], n->in[0], lower_view(l, n->in[0]));
    else
        lower_set_field(l, n->out[0], y, 1);
    return EMU_OK;
}

const char *pool_obstacle(const struct op_graph *g, const struct op_node *n)
{
    static const char *const built[] = { "GlobalAveragePool", "GlobalMaxPool", "MaxPool",
                                         "AveragePool" };
    const struct op_shape *s = &g->value[n->in[0]].shape;
    struct op_window w;
    int found = 0;

    for (unsigned k = 0; k < EMU_COUNT_OF(built); k++)
        found |= op_node_is(n, built[k]);
    if (!found)
        return "this kind of pool is not lowered yet";
    if (op_type_kind(s->type) != OP_KIND_FLOAT)
        return "integers";
    if (op_node_is(n, "GlobalMaxPool"))
        return NULL;
    if (s->rank > 4 || s->rank < 3)
        return "more than two dimensions behind the channels";
    if (op_node_is(n, "GlobalAveragePool"))
        return NULL;
    if (!read_window(g, n, &w))
        return "its windows";
    for (unsigned d = 0; d < w.dims; d++) {
        if (w.begin[d] < 0)
            return "negative pads";
    }
    return NULL;
}
