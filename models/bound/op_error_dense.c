/* op_error_dense.c - sums of products, and pools (see op_error.h). */
#include <string.h>

#include "models/lower/groups.h"
#include "models/operators/op_window.h"
#include "models/bound/op_error_rules.h"

/* How often the sums of a node are rounded: by u of partial sums P; by v of P; by v of S; and by u
 * of the result. Of the first, with_added may be of P and of what is added to it. */
struct sums {
    double halves, wides, within, results, with_added;
};

enum {
    BLOCK = 16,     /* products that the matrix unit adds in f32 */
    ROUNDS_MORE = 4 /* sums of several tiles, bias, residual, result */
};
static const double block_sum = 0x1p-20; /* relative error of the sums of blocks */

static double blocks_of(double n)
{
    return ceil(n / BLOCK);
}

/* Of a convolution with so many input channels in a group, and places in its window; alone: those
 * of a group of one are multiplied by themselves. Neighbouring groups are joined otherwise, so that
 * channels of a group may lie in one block more. */
static struct sums conv_sums(const struct op_error *o, double channels, double places, int alone)
{
    int across = channels > BLOCK && fmod(channels, BLOCK) != 0;
    double blocks = (blocks_of(channels) + across) * places;

    if (o->partials == PARTIALS_F32 && !alone)
        return (struct sums){ .wides = blocks, .within = block_sum, .results = 2 };
    return (struct sums){ .halves = blocks + ROUNDS_MORE,
                          .within = block_sum,
                          .with_added = alone ? 0 : blocks + 1 };
}

static struct sums product_sums(const struct op_error *o, const struct op_node *n, double terms)
{
    struct dense_layer l;

    if (o->elem == ELEM_F32)
        return (struct sums){ .wides = terms + 4, .within = F32_UNIT, .results = ROUNDS_MORE };
    if (!dense_layer_of(o->g, n, &l))
        return (struct sums){ .halves = blocks_of(terms) + ROUNDS_MORE, .within = block_sum };
    if (l.linear)
        return (struct sums){ .wides = terms, .within = F32_UNIT, .results = 2 };
    return conv_sums(o, terms, 1, 0);
}

/* ---- sums of products ---- */

/* |x|, plus a part of something else; owned. NULL: no memory. */
static double *magnitudes(const struct bounded_value *x, double times, const double *more)
{
    uint64_t n = count_of(x);
    double *out = emu_alloc(n + 1, sizeof(*out));

    for (uint64_t i = 0; out && i < n; i++)
        out[i] = times * fabs(x->t.f[i]) + (more ? more[i] : 0);
    return out;
}

/* Adds what the node makes of x and w, without a bias, to bounds. */
static enum emu_status add_run(const struct op_error *o, const struct op_node *n,
                               const struct bounded_value *const *in, double *x, double *w,
                               struct bounded_value *out)
{
    struct op_tensor t[2] = { in[0]->t, in[1]->t };
    const struct op_tensor *from[] = { &t[0], &t[1] };
    struct op_node without_bias = *n;
    enum emu_status s;
    double *more;

    if (!x || !w)
        return FAIL(NO_MEMORY, "%s", n->name);
    t[0].f = x;
    t[1].f = w;
    without_bias.ins = 2;
    s = op_error_run(o, &without_bias, from, &more);
    for (uint64_t i = 0; s == EMU_OK && i < count_of(out); i++)
        out->e[i] += fabs(more[i]);
    ss_free(more);
    return s;
}

/* What all results have: roundings of P = (S + |y|) / 2 with y without its bias b, of b, and of the
 * result; and b's own error. S is added elsewhere. */
static void add_roundings(const struct op_error *o, const struct sums *s, struct bounded b,
                          struct bounded_value *out, uint64_t i)
{
    const struct rounding rounding = rounding_of(o->elem), *r = &rounding;
    double y = fabs(out->t.f[i]), bias = fabs(b.v);
    double partial = s->halves * r->u + s->wides * F32_UNIT;

    if (o->added)
        out->e[i] += s->with_added * r->u * fabs(o->added->t.f[i]);
    out->e[i] += partial / 2 * (y + bias) + partial * bias + b.e;
    out->e[i] += s->results * (r->u * (y + bias) + r->t) + s->halves * r->t;
}

/* Bounds of x * w without bias, through `s`. x_error: of x, or NULL. */
static enum emu_status product_error(const struct op_error *o, const struct op_node *n,
                                     const struct sums *s, const struct bounded_value *const *in,
                                     const double *x_error, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    double by_s = (s->halves * r.u + s->wides * F32_UNIT) / 2 + s->within;
    double *x = magnitudes(in[0], 1, NULL), *w = magnitudes(in[1], by_s, in[1]->e);
    enum emu_status st = add_run(o, n, in, x, w, out);

    ss_free(w);
    if (st == EMU_OK && x_error) {
        memcpy(x, x_error, count_of(in[0]) * sizeof(*x));
        w = magnitudes(in[1], 1, in[1]->e);
        st = add_run(o, n, in, x, w, out);
        ss_free(w);
    }
    ss_free(x);
    return st;
}

/* Whether the groups of a convolution, of one channel each, are not joined (conv_groups.h). */
static int is_alone(const struct op_error *o, const struct op_node *n, double channels)
{
    struct dense_layer l;

    if (channels > 1 || !dense_layer_of(o->g, n, &l))
        return channels <= 1;
    return l.conv.groups > 1 && l.conv.groups == l.conv.out_c &&
           ss_conv_slides(&(struct conv_shape){ .kernel_h = l.conv.kernel_h,
                                                .kernel_w = l.conv.kernel_w,
                                                .stride_h = l.conv.stride_h,
                                                .stride_w = l.conv.stride_w,
                                                .dilation_h = l.conv.dilation_h,
                                                .dilation_w = l.conv.dilation_w });
}

/* Input channels of a group; weights of a transposed one are [in][out of a group].. */
static double channels_of(const struct op_error *o, const struct op_node *n,
                          const struct op_shape *w)
{
    struct op_call c = op_attrs_of(o->g, n);

    return op_node_is(n, OP_ConvTranspose) ? (double)w->dim[0] / (double)op_int(&c, "group")
                                           : (double)w->dim[1];
}

/* Fields and weights are f16. Of constants that is known already. */
static enum emu_status as_fields(const struct op_error *o, const struct op_node *n,
                                 const struct bounded_value *const *in, double **x_error,
                                 struct bounded_value *w)
{
    *w = *in[1];
    TRY(op_error_as_f16(in[0], x_error));
    if (op_value_constant_kind(&o->g->value[n->in[1]]))
        return EMU_OK;
    w->e = NULL;
    return op_error_as_f16(in[1], &w->e);
}

enum emu_status conv_error(const struct op_error *o, const struct op_node *n,
                           const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct op_shape *w = &in[1]->t.shape;
    double channels = channels_of(o, n, w), places = (double)op_shape_span(w, 2, w->rank);
    const struct sums s = conv_sums(o, channels, places, is_alone(o, n, channels));
    uint64_t plane = op_shape_span(&out->t.shape, 2, out->t.shape.rank);
    struct bounded_value weights = { .e = NULL };
    const struct bounded_value *pair[] = { in[0], &weights };
    double *x_error = NULL;
    enum emu_status st = as_fields(o, n, in, &x_error, &weights);

    if (st == EMU_OK)
        st = product_error(o, n, &s, pair, x_error, out);
    ss_free(x_error);
    if (weights.e != in[1]->e)
        ss_free(weights.e);
    for (uint64_t i = 0; st == EMU_OK && i < count_of(out); i++)
        add_roundings(o, &s,
                      has_input(n, in, 2) ? bounded_at(in[2], i / plane % out->t.shape.dim[1])
                                          : exactly(0),
                      out, i);
    return st;
}

/* Of the weights of a convolution, from x and dy: products of 16 positions are added in f32, at
 * most 16 such sums, or those of one row, in f16, and all of these in f32. Of a depthwise one every
 * product is rounded to f16, and all are added in f32. */
static struct sums weight_sums(const struct op_error *o, const struct op_node *n,
                               const struct op_shape *dy)
{
    struct op_call c = op_attrs_of(o->g, n);
    double positions = (double)(dy->dim[0] * op_shape_span(dy, 2, dy->rank));
    double row = blocks_of(dy->dim[dy->rank - 1]);
    int64_t groups = op_int(&c, "group");
    const struct op_shape *w = &o->g->value[n->out[0]].shape;

    if (groups > 1 && w->dim[1] == 1 && w->dim[0] == groups)
        return (struct sums){ .halves = 1, .wides = 2 * positions };
    return (struct sums){ .halves = fmin(fmax(BLOCK, row), positions),
                          .wides = positions,
                          .within = block_sum };
}

/* Partial sums P of several tiles are together not larger than S. */
enum emu_status conv_back_error(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem), half = rounding_of(ELEM_F16);
    const struct sums s = weight_sums(o, n, &in[1]->t.shape);
    double positions =
        (double)(in[1]->t.shape.dim[0] * op_shape_span(&in[1]->t.shape, 2, in[1]->t.shape.rank));
    struct bounded_value dy = *in[1];
    const struct bounded_value *pair[] = { in[0], &dy };
    double by_s = 1.001 * (s.halves * half.u + s.wides * F32_UNIT) + s.within;
    double *x_error = NULL, *x, *w;
    enum emu_status st;

    dy.e = NULL;
    TRY(op_error_as_f16(in[0], &x_error));
    st = op_error_as_f16(in[1], &dy.e);
    if (st == EMU_OK) {
        x = magnitudes(in[0], 1, NULL);
        w = magnitudes(&dy, by_s, dy.e);
        st = add_run(o, n, pair, x, w, out);
        if (st == EMU_OK && x_error) {
            ss_free(w);
            w = magnitudes(&dy, 1, dy.e);
            st = add_run(o, n, pair, x_error, w, out);
        }
        ss_free(x);
        ss_free(w);
    }
    for (uint64_t i = 0; st == EMU_OK && i < count_of(out); i++) {
        struct bounded y = { out->t.f[i], out->e[i] + positions * half.t };

        out->e[i] = bounded_round(&r, y, 1.001).e;
    }
    ss_free(x_error);
    ss_free(dy.e);
    return st;
}

/* The number that a Gemm adds to result i, which is a row and a column. */
static struct bounded added_by(const struct op_error *o, const struct op_node *n,
                               const struct bounded_value *const *in, uint64_t row, uint64_t column)
{
    struct op_call c = op_attrs_of(o->g, n);
    const struct op_shape *s = &in[2]->t.shape;
    uint64_t columns = s->rank ? s->dim[s->rank - 1] : 1, rows = s->rank > 1 ? s->dim[0] : 1;
    struct bounded b =
        bounded_at(in[2], (rows > 1 ? row * columns : 0) + (columns > 1 ? column : 0));
    const struct rounding r = rounding_of(o->elem);
    double beta = op_float(&c, "beta");

    return (struct bounded){ beta * b.v, fabs(beta) * b.e + bounded_constant(&r, beta * b.v).e };
}

/* Weights that a factor has become part of before they were rounded. EMU_NO_MEMORY; e is owned. */
static enum emu_status scaled_weights(const struct rounding *r, const struct bounded_value *w,
                                      double alpha, struct bounded_value *out)
{
    *out = (struct bounded_value){ .t = w->t };
    out->e = emu_alloc(count_of(w) + 1, sizeof(*out->e));
    if (!out->e)
        return FAIL(NO_MEMORY, "weights");
    for (uint64_t i = 0; i < count_of(w); i++)
        out->e[i] =
            (w->e ? w->e[i] : 0) + 1.001 * bounded_constant(r, alpha * w->t.f[i]).e / fabs(alpha);
    return EMU_OK;
}

enum emu_status matmul_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct op_shape *a = &in[0]->t.shape, *y = &out->t.shape;
    int gemm = op_node_is(n, OP_Gemm);
    struct op_call c = op_attrs_of(o->g, n);
    double terms = a->dim[gemm && op_int(&c, "transA") ? 0 : a->rank - 1];
    const struct sums s = product_sums(o, n, terms);
    const struct rounding r = rounding_of(o->elem);
    double alpha = gemm ? op_float(&c, "alpha") : 1;
    const struct bounded_value *pair[] = { in[0], in[1] };
    struct bounded_value scaled = { .e = NULL };
    enum emu_status st = EMU_OK;

    if (alpha != 1 && alpha != 0) {
        st = scaled_weights(&r, in[1], alpha, &scaled);
        pair[1] = &scaled;
    }
    if (st == EMU_OK)
        st = product_error(o, n, &s, pair, in[0]->e, out);
    ss_free(scaled.e);
    for (uint64_t i = 0; st == EMU_OK && i < count_of(out); i++)
        add_roundings(o, &s,
                      gemm && has_input(n, in, 2) ? added_by(o, n, in, i / y->dim[1], i % y->dim[1])
                                                  : exactly(0),
                      out, i);
    return st;
}

/* ---- pools ---- */

/* Roundings to f16 of a mean, and additions in f32. */
struct mean {
    double halves, wides;
};

static struct mean mean_of(const struct op_error *o, const struct op_node *n,
                           const struct op_shape *x)
{
    struct op_call c = op_attrs_of(o->g, n);
    struct mean m = { .halves = 2 };
    struct op_window w;

    if (!op_knows(&c, "kernel_shape")) {
        m.wides = (double)op_shape_span(x, 2, x->rank);
    } else if (op_window_read(&c, x, NULL, &w) == EMU_OK) {
        for (unsigned d = 0; d < w.dims; d++)
            m.halves += (double)w.kernel[d];
    }
    return m;
}

/* Adds what the pool makes of x, times a factor, to bounds. */
static enum emu_status add_pool(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, double *x, double times,
                                struct bounded_value *out)
{
    struct op_tensor t = in[0]->t;
    const struct op_tensor *from[] = { &t };
    enum emu_status s;
    double *more;

    if (!x)
        return FAIL(NO_MEMORY, "%s", n->name);
    t.f = x;
    s = op_error_run(o, n, from, &more);
    for (uint64_t i = 0; s == EMU_OK && i < count_of(out); i++)
        out->e[i] += times * more[i];
    ss_free(more);
    return s;
}

/* ---- gradients of pools ---- */

/* How many windows see a position, at most. */
static double windows_of(const struct op_error *o, const struct op_node *n,
                         const struct op_shape *x)
{
    struct op_call c = op_attrs_of(o->g, n);
    struct op_window w;
    double windows = 1;

    if (op_window_read(&c, x, NULL, &w) != EMU_OK)
        return INFINITY;
    for (unsigned d = 0; d < w.dims; d++)
        windows *= w.dilation[d] == 1 ? ceil((double)w.kernel[d] / (double)w.stride[d])
                                      : (double)w.kernel[d];
    return windows;
}

/* What the node makes of numbers in place of dy, which is its last input, and of x; owned. */
static enum emu_status back_run(const struct op_error *o, const struct op_node *n,
                                const struct bounded_value *const *in, double *x, double *dy,
                                double **out)
{
    struct op_tensor t[2] = { in[0]->t, in[n->ins - 1]->t };
    const struct op_tensor *from[] = { &t[0], &t[1] };

    *out = NULL;
    if (!dy)
        return FAIL(NO_MEMORY, "%s", n->name);
    if (x)
        t[0].f = x;
    t[n->ins - 1].f = dy;
    return op_error_run(o, n, from, out);
}

/* x as f16 has it; owned, NULL: it is so already. */
static enum emu_status rounded_input(const struct bounded_value *x, double **out)
{
    uint64_t n = count_of(x);
    int any = 0;

    *out = emu_alloc(n + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "an input");
    for (uint64_t i = 0; i < n; i++) {
        (*out)[i] = rounded_number(ELEM_F16, x->t.f[i]);
        any |= (*out)[i] != x->t.f[i];
    }
    if (!any) {
        ss_free(*out);
        *out = NULL;
    }
    return EMU_OK;
}

/* What becomes of dy's own errors and of the roundings on the way: one for each of `windows` sums,
 * and for a mean those of the share and of the product. x: for the largest of rounded numbers, or
 * NULL. */
static enum emu_status add_shares(const struct op_error *o, const struct op_node *n,
                                  const struct bounded_value *const *in, double *x,
                                  struct bounded_value *out)
{
    const struct rounding r = rounding_of(ELEM_F16);
    const struct bounded_value *dy = in[n->ins - 1];
    double windows = windows_of(o, n, &out->t.shape),
           share = op_node_is(n, OP_MaxPoolGradient) ? 0 : 2;
    double *e = NULL, *sizes = NULL, *size = magnitudes(dy, 1, NULL);
    enum emu_status s = back_run(o, n, in, x, size, &sizes);

    for (uint64_t i = 0; s == EMU_OK && i < count_of(out); i++) {
        out->e[i] += 1.001 * r.u * (windows - 1 + share) * sizes[i];
        out->e[i] += share > 0 ? windows * r.t : 0;
    }
    ss_free(sizes);
    ss_free(size);
    if (s == EMU_OK)
        s = op_error_as_f16(dy, &e);
    if (s == EMU_OK && e) {
        s = back_run(o, n, in, x, e, &sizes);
        for (uint64_t i = 0; s == EMU_OK && i < count_of(out); i++)
            out->e[i] += 1.01 * sizes[i];
        ss_free(sizes);
    }
    ss_free(e);
    return s;
}

static enum emu_status pool_back_error(const struct op_error *o, const struct op_node *n,
                                       const struct bounded_value *const *in,
                                       struct bounded_value *out)
{
    double *x = NULL, *now = NULL;
    enum emu_status s = EMU_OK;

    if (op_node_is(n, OP_MaxPoolGradient))
        s = rounded_input(in[0], &x);
    if (s == EMU_OK && x) { /* others may be the largest now */
        s = back_run(o, n, in, x, in[1]->t.f, &now);
        for (uint64_t i = 0; s == EMU_OK && i < count_of(out); i++)
            out->e[i] += fabs(now[i] - out->t.f[i]);
    }
    if (s == EMU_OK)
        s = add_shares(o, n, in, x, out);
    ss_free(now);
    ss_free(x);
    return s;
}

/* ---- the family of pools ---- */

enum emu_status pool_error(const struct op_error *o, const struct op_node *n,
                           const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(ELEM_F16);
    int max = op_node_is(n, OP_MaxPool) || op_node_is(n, OP_GlobalMaxPool);
    struct mean m = max ? (struct mean){ 0, 0 } : mean_of(o, n, &in[0]->t.shape);
    enum emu_status s = EMU_OK;
    double *x;

    if (op_node_is(n, OP_MaxPoolGradient) || op_node_is(n, OP_AveragePoolGradient))
        return pool_back_error(o, n, in, out);
    if (o->elem == ELEM_F16) {
        TRY(op_error_as_f16(in[0], &x));
        if (x)
            s = add_pool(o, n, in, x, 1, out);
        ss_free(x);
    }
    if (s == EMU_OK && !max) {
        x = magnitudes(in[0], 1, NULL);
        s = add_pool(o, n, in, x, m.halves * r.u + m.wides * F32_UNIT, out);
        ss_free(x);
    }
    for (uint64_t i = 0; s == EMU_OK && !max && i < count_of(out); i++)
        out->e[i] += m.halves * r.t;
    return s;
}
