/* family_pool.c - MaxPool, AveragePool, LpPool, their global forms, whose window is the whole
 * plane, and the gradients of the first two.
 *
 * Padding is never the largest, adds nothing to sums, and counts in averages only if
 * count_include_pad says so; what ceil_mode adds behind the padding never counts. A window that
 * sees no input (dilated, over padding) is the least number of its type, its index -1. The gradient
 * of MaxPool goes to the first of the largest.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_window.h"

enum { PARALLEL_MIN = 1 << 16 }; /* numbers looked at from which on threads pay */

enum pool_kind { POOL_MAX, POOL_AVERAGE, POOL_LP };

struct pool {
    struct op_window w;
    enum pool_kind kind;
    int with_padding; /* AveragePool: padding counts */
    int column_major; /* MaxPool: how indices count elements of a plane */
    int64_t p;        /* LpPool */
    double least;     /* of the type */
};

/* --- shapes ------------------------------------------------------------------------------- */

/* The window of the global forms: all of the plane. */
static enum emu_status read_global(struct op_call *c, struct op_window *w)
{
    const struct op_shape *x = c->in[0];

    if (x->rank < 3)
        return op_refuse(c, "an input of %u dimensions: batch, channels and one more are needed",
                         x->rank);
    *w = (struct op_window){ .dims = x->rank - 2 };
    for (unsigned d = 0; d < w->dims; d++) {
        if (!x->dim[2 + d])
            return op_refuse(c, "a plane of no elements");
        w->in[d] = w->kernel[d] = x->dim[2 + d];
        w->out[d] = w->stride[d] = w->dilation[d] = 1;
    }
    return EMU_OK;
}

static enum emu_status read_window(struct op_call *c, const struct op_shape *x, struct op_window *w)
{
    TRY(op_window_read(c, x, NULL, w));
    TRY(op_window_forward(c, op_knows(c, "ceil_mode") && op_int(c, "ceil_mode"), w));
    for (unsigned d = 0; d < w->dims; d++) {
        int64_t reach = op_window_reach(w, d);

        if (w->begin[d] >= reach || w->end[d] >= reach)
            return op_refuse(c, "pads of %lld and %lld hide a window of %lld",
                             (long long)w->begin[d], (long long)w->end[d], (long long)reach);
    }
    return EMU_OK;
}

/* Floats, and what else MaxPool takes. */
static enum emu_status read_type(struct op_call *c, struct pool *v)
{
    enum op_type type = c->in[0]->type;

    v->least = type == OP_TYPE_U8 ? 0 : type == OP_TYPE_I8 ? INT8_MIN : -INFINITY;
    if (op_type_kind(type) != OP_KIND_FLOAT && type != OP_TYPE_U8 && type != OP_TYPE_I8)
        return op_refuse(c, "input 0 is %s, expected a float, i8 or u8", op_type_text(type));
    return EMU_OK;
}

static enum pool_kind kind_of(const struct op_call *c)
{
    switch (c->row->code) {
    case OP_MaxPool:
    case OP_GlobalMaxPool:
    case OP_MaxPoolGradient:
        return POOL_MAX;
    case OP_LpPool:
    case OP_GlobalLpPool:
        return POOL_LP;
    default:
        return POOL_AVERAGE;
    }
}

/* x: what is pooled. */
static enum emu_status pool_read(struct op_call *c, const struct op_shape *x, struct pool *v)
{
    int global = op_named(c, OP_GlobalMaxPool) || op_named(c, OP_GlobalAveragePool) ||
                 op_named(c, OP_GlobalLpPool);

    *v = (struct pool){ .kind = kind_of(c) };
    TRY(read_type(c, v));
    if (global)
        TRY(read_global(c, &v->w));
    else
        TRY(read_window(c, x, &v->w));
    v->with_padding = op_knows(c, "count_include_pad") && op_int(c, "count_include_pad");
    v->column_major = op_knows(c, "storage_order") && op_int(c, "storage_order");
    v->p = v->kind == POOL_LP ? op_int(c, "p") : 1;
    return v->p < 1 ? op_refuse(c, "p %lld is below 1", (long long)v->p) : EMU_OK;
}

static int is_gradient(const struct op_call *c)
{
    return op_named(c, OP_MaxPoolGradient) || op_named(c, OP_AveragePoolGradient);
}

/* What was pooled, of a gradient. */
static enum emu_status pooled_shape(struct op_call *c, struct op_shape *x)
{
    const struct op_shape *dy = c->in[c->ins - 1];
    struct op_shape plane;

    *x = *c->in[0];
    if (dy->rank < 3)
        return op_refuse(c, "of %u dimensions: batch, channels and one more are needed", dy->rank);
    if (op_named(c, OP_MaxPoolGradient))
        return EMU_OK;
    TRY(op_dims(c, "input_shape", &plane));
    if (plane.rank + 2 != dy->rank)
        return op_refuse(c, "input_shape has %u numbers, expected %u", plane.rank, dy->rank - 2);
    *x = *dy;
    for (unsigned d = 0; d < plane.rank; d++)
        x->dim[2 + d] = plane.dim[d];
    return EMU_OK;
}

static enum emu_status gradient_infer(struct op_call *c)
{
    const struct op_shape *dy = c->in[c->ins - 1];
    struct op_shape want;
    struct pool v;

    TRY(pooled_shape(c, &c->out[0]));
    TRY(pool_read(c, &c->out[0], &v));
    want = op_window_shape(&v.w, dy->type, c->out[0].dim[0], c->out[0].dim[1]);
    return op_shape_equal(&want, dy)
               ? EMU_OK
               : op_refuse(c, "the gradient has not the dimensions of the pool's result");
}

static enum emu_status pool_infer(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    struct pool v;

    if (is_gradient(c))
        return gradient_infer(c);
    TRY(pool_read(c, x, &v));
    c->out[0] = op_window_shape(&v.w, x->type, x->dim[0], x->dim[1]);
    if (c->outs > 1) {
        c->out[1] = c->out[0];
        c->out[1].type = OP_TYPE_I64;
    }
    return EMU_OK;
}

/* --- numbers ------------------------------------------------------------------------------ */

/* The part of one window that lies inside the input. */
struct window_view {
    int64_t first[OP_WINDOW_DIMS]; /* the first tap that does, as an index of the input */
    int64_t count[OP_WINDOW_DIMS]; /* of such taps */
    uint64_t taps;                 /* in all */
    uint64_t divisor;              /* of an average */
};

/* How many of indices at, at + step, .. (n of them) are below `end`. */
static int64_t count_below(int64_t at, int64_t step, int64_t n, int64_t end)
{
    int64_t below = at >= end ? 0 : (end - at + step - 1) / step;

    return below < n ? below : n;
}

/* The window at output position o of the plane. */
static void look(const struct pool *v, uint64_t o, struct window_view *out)
{
    const struct op_window *w = &v->w;

    out->taps = out->divisor = 1;
    for (unsigned d = w->dims; d-- > 0;) {
        int64_t step = w->dilation[d];
        int64_t at = (int64_t)(o % (uint64_t)w->out[d]) * w->stride[d] - w->begin[d];
        int64_t hidden = count_below(at, step, w->kernel[d], 0);

        o /= (uint64_t)w->out[d];
        out->first[d] = at + hidden * step;
        out->count[d] = count_below(out->first[d], step, w->kernel[d] - hidden, w->in[d]);
        out->taps *= (uint64_t)out->count[d];
        out->divisor *=
            (uint64_t)(v->with_padding ? count_below(at, step, w->kernel[d], w->in[d] + w->end[d])
                                       : out->count[d]);
    }
}

/* What is known of a window after some taps. */
struct found {
    double sum, most;
    uint64_t most_at; /* an element of the plane */
    int any;
};

static void take(const struct pool *v, double x, uint64_t element, struct found *f)
{
    if (v->kind == POOL_AVERAGE) {
        f->sum += x;
    } else if (v->kind == POOL_LP) {
        f->sum += v->p == 1 ? fabs(x) : v->p == 2 ? x * x : pow(fabs(x), (double)v->p);
    } else if (!f->any || x > f->most || (isnan(x) && !isnan(f->most))) {
        f->most = x;
        f->most_at = element;
        f->any = 1;
    }
}

/* Row `row` of what a window sees: its first element of the plane. */
static uint64_t row_at(const struct op_window *w, const struct window_view *at, uint64_t row)
{
    unsigned last = w->dims - 1;
    uint64_t step = (uint64_t)w->in[last], element = (uint64_t)at->first[last];

    for (unsigned d = last; d-- > 0;) {
        uint64_t k = row % (uint64_t)at->count[d];

        row /= (uint64_t)at->count[d];
        element += ((uint64_t)at->first[d] + k * (uint64_t)w->dilation[d]) * step;
        step *= (uint64_t)w->in[d];
    }
    return element;
}

/* Adds g to all that a window sees. */
static void deal_out(const struct pool *v, const struct window_view *at, double g, double *plane)
{
    const struct op_window *w = &v->w;
    unsigned last = w->dims - 1;
    uint64_t rows = at->taps ? at->taps / (uint64_t)at->count[last] : 0;

    for (uint64_t row = 0; row < rows; row++) {
        double *to = plane + row_at(w, at, row);

        for (int64_t k = 0; k < at->count[last]; k++)
            to[k * w->dilation[last]] += g;
    }
}

/* All taps of a window in row-major order, by rows of the last dimension. plane: its first element
 * in x. */
static struct found visit(const struct pool *v, const struct op_tensor *x, uint64_t plane,
                          const struct window_view *at)
{
    const struct op_window *w = &v->w;
    unsigned last = w->dims - 1;
    uint64_t rows = at->taps ? at->taps / (uint64_t)at->count[last] : 0;
    struct found f = { .most = v->least };

    for (uint64_t row = 0; row < rows; row++) {
        uint64_t element = row_at(w, at, row);

        for (int64_t k = 0; k < at->count[last]; k++, element += (uint64_t)w->dilation[last])
            take(v, op_tensor_number(x, plane + element), element, &f);
    }
    return f;
}

static double result(const struct pool *v, const struct window_view *at, const struct found *f)
{
    if (v->kind == POOL_AVERAGE)
        return f->sum / (double)at->divisor;
    if (v->kind == POOL_LP)
        return v->p == 1 ? f->sum : v->p == 2 ? sqrt(f->sum) : pow(f->sum, 1 / (double)v->p);
    return f->most;
}

/* Element k of a plane in row-major order, counted in column-major order. */
static uint64_t column_major(const struct op_window *w, uint64_t k)
{
    uint64_t at[OP_WINDOW_DIMS], element = 0;

    for (unsigned d = w->dims; d-- > 0; k /= (uint64_t)w->in[d])
        at[d] = k % (uint64_t)w->in[d];
    for (unsigned d = w->dims; d-- > 0;)
        element = element * (uint64_t)w->in[d] + at[d];
    return element;
}

/* All windows of plane i. */
static void pool_plane(const struct pool *v, uint64_t i, const struct op_tensor *x,
                       struct op_tensor *y, struct op_tensor *index)
{
    uint64_t plane = i * op_window_span(&v->w, v->w.in), outs = op_window_span(&v->w, v->w.out);

    for (uint64_t o = 0; o < outs; o++) {
        struct window_view at;
        struct found f;

        look(v, o, &at);
        f = visit(v, x, plane, &at);
        if (op_type_kind(y->shape.type) == OP_KIND_FLOAT)
            y->f[i * outs + o] = result(v, &at, &f);
        else
            y->i[i * outs + o] = (int64_t)f.most;
        if (!index)
            continue;
        if (v->column_major)
            f.most_at = column_major(&v->w, f.most_at);
        index->i[i * outs + o] = f.any ? (int64_t)(plane + f.most_at) : -1;
    }
}

/* The gradients of a plane's windows go to its first largest element, or in equal shares to what
 * they see. */
static void plane_back(const struct pool *v, uint64_t i, const struct op_tensor *x,
                       const struct op_tensor *dy, struct op_tensor *dx)
{
    uint64_t plane = i * op_window_span(&v->w, v->w.in), outs = op_window_span(&v->w, v->w.out);

    for (uint64_t o = 0; o < outs; o++) {
        double g = dy->f[i * outs + o];
        struct window_view at;

        look(v, o, &at);
        if (v->kind == POOL_AVERAGE) {
            deal_out(v, &at, g / (double)at.divisor, dx->f + plane);
        } else {
            struct found f = visit(v, x, plane, &at);

            if (f.any)
                dx->f[plane + f.most_at] += g;
        }
    }
}

static enum emu_status gradient_ref(struct op_call *c, const struct op_tensor *const *in,
                                    struct op_tensor *out)
{
    const struct op_tensor *dy = in[c->ins - 1];
    int64_t planes = (int64_t)out->shape.dim[0] * out->shape.dim[1];
    struct pool v;

    TRY(pool_read(c, &out->shape, &v));
#pragma omp parallel for schedule(                                                                 \
    dynamic) if (op_shape_count(&dy->shape) * op_window_span(&v.w, v.w.kernel) >= PARALLEL_MIN)
    for (int64_t i = 0; i < planes; i++)
        plane_back(&v, (uint64_t)i, in[0], dy, out);
    return EMU_OK;
}

static enum emu_status pool_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    struct op_tensor *index = c->outs > 1 && out[1].any ? &out[1] : NULL;
    uint64_t looked = op_shape_count(&out->shape);
    int64_t planes = looked ? (int64_t)out->shape.dim[0] * out->shape.dim[1] : 0;
    struct pool v;

    if (is_gradient(c))
        return op_shape_count(&out->shape) ? gradient_ref(c, in, out) : EMU_OK;
    TRY(pool_read(c, c->in[0], &v));
    looked *= op_window_span(&v.w, v.w.kernel);
#pragma omp parallel for schedule(dynamic) if (looked >= PARALLEL_MIN)
    for (int64_t i = 0; i < planes; i++)
        pool_plane(&v, (uint64_t)i, in[0], &out[0], index);
    return EMU_OK;
}

const struct op_family family_pool = { .infer = pool_infer,
                                       .ref = pool_ref,
                                       .gradient = gradient_pool_node };

/* --- older versions ----------------------------------------------------------------------- */

/* LpPool and GlobalLpPool of version 1, whose p is a float and whose kernel may be absent. */
enum emu_status upgrade_lp_pool_1(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_attr p = op_request_attr(r, "p");
    struct op_named_attr attr[8];
    struct op_request now = *r;

    if (!(p.f >= 1 && p.f <= 1 << 20) || p.f != floor(p.f))
        return op_node_refuse(g, r, out, "p %g is no whole number from 1 on", p.f);
    now.version = 0;
    now.attr = attr;
    now.attrs = 1;
    attr[0] = (struct op_named_attr){ "p", { .kind = OP_ATTR_INT, .i = (int64_t)p.f } };
    for (uint32_t k = 0; k < r->attrs && now.attrs < EMU_COUNT_OF(attr); k++) {
        if (strcmp(r->attr[k].name, "p"))
            attr[now.attrs++] = r->attr[k];
    }
    return op_node(g, &now, out);
}
