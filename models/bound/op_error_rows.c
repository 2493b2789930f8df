/* op_error_rows.c - what depends on all numbers along some axes (see op_error.h).
 *
 * Operands are the machine's numbers, so they are exact; where they are not, nothing is known of
 * results. Sums of n numbers are f32: n v A, A the sum of magnitudes. With m the mean, d = x - m
 * and s = 1 / root(variance + eps), a norm y = d s g + b has
 *
 *   of m     (n + 2) v A / n
 *   of s     relative: half that of the variance, (n + 4) v + (error of m)^2 s^2, and two roundings
 *   of y     |g| s (error of m + v |x| + |d| (error of s + 2 v)) + 2 v |b| + v |y|, and then
 * rounded
 */
#include <string.h>

#include "models/lower/op_lower.h"
#include "models/operators/op_lanes.h"
#include "models/bound/op_error_rules.h"

/* ---- lanes ---- */

/* Whether all of a value is exact; if not, its results may be anything. */
static int is_exact(const struct bounded_value *x, struct bounded_value *out)
{
    int exact = 1;

    for (uint64_t i = 0; x->e && i < count_of(x); i++)
        exact &= x->e[i] == 0;
    for (uint64_t i = 0; !exact && i < count_of(out); i++)
        out->e[i] = INFINITY;
    return exact;
}

static double sum_of_magnitudes(const double *x, uint64_t n)
{
    double sum = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += fabs(x[i]);
    return sum;
}

/* The bounds of a lane of results of the same shape. */
static void write_bounds(const struct op_lanes *l, uint64_t lane, const double *e,
                         struct bounded_value *out)
{
    struct op_tensor bounds = { .shape = out->t.shape, .f = out->e };
    struct op_lanes room = *l;

    memcpy(room.f, e, l->length * sizeof(*e));
    op_lane_write(&room, lane, &bounds);
}

/* ---- reductions ---- */

/* log(sum e^(x - m)) + m, kernel by kernel. */
static struct bounded log_sum_exp(const struct rounding *r, const double *x, uint64_t n)
{
    struct bounded most = exactly(x[0]), sum = exactly(0);

    for (uint64_t i = 1; i < n; i++)
        most.v = fmax(most.v, x[i]);
    for (uint64_t i = 0; i < n; i++) {
        struct bounded part = bounded_binary(r, BINARY_SUB, exactly(x[i]), most);

        part = bounded_unary(r, UNARY_EXP, part);
        sum.v += part.v;
        sum.e += part.e;
    }
    sum.e += (double)n * F32_UNIT * (sum.v + sum.e);
    sum = bounded_unary(r, UNARY_LOG, bounded_round(r, sum, 1));
    return bounded_binary(r, BINARY_ADD, sum, most);
}

/* A sum of numbers whose magnitudes add up to `size`. */
static struct bounded row_sum(const struct rounding *r, double y, double size, uint64_t n)
{
    return bounded_round(r, (struct bounded){ y, (double)n * F32_UNIT * size }, 1.001);
}

/* A function of such a sum, in f32 up to the result. */
static struct bounded of_wide_sum(const struct rounding *r, enum unary_op op, double y, double size,
                                  uint64_t n)
{
    const struct rounding wide = rounding_of(ELEM_F32);
    struct bounded x = bounded_unary(&wide, op, row_sum(&wide, y, size, n));

    return r->elem == ELEM_F32 ? x : bounded_round(r, x, 1);
}

static struct bounded reduced(const struct rounding *r, const struct op_node *n, const double *x,
                              uint64_t count)
{
    double sum = 0, squares = 0, product = 1, size = sum_of_magnitudes(x, count);

    for (uint64_t i = 0; i < count; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        product *= x[i];
    }
    if (op_node_is(n, OP_ReduceMax) || op_node_is(n, OP_ReduceMin))
        return exactly(0);
    if (op_node_is(n, OP_ReduceLogSumExp))
        return log_sum_exp(r, x, count);
    if (op_node_is(n, OP_ReduceL1))
        return row_sum(r, size, size, count);
    if (op_node_is(n, OP_ReduceL2))
        return of_wide_sum(r, UNARY_SQRT, squares, squares, count + 1);
    if (op_node_is(n, OP_ReduceLogSum))
        return of_wide_sum(r, UNARY_LOG, sum, size, count);
    if (op_node_is(n, OP_ReduceSumSquare))
        return row_sum(r, squares, squares, count + 1);
    if (op_node_is(n, OP_ReduceProd))
        return row_sum(r, product, product, count + 1);
    if (op_node_is(n, OP_ReduceMean)) /* of a field: two roundings */
        return bounded_round(r, row_sum(r, sum / (double)count, size / (double)count, count + 2),
                             1);
    return row_sum(r, sum, size, count);
}

enum emu_status reduce_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_call c = op_attrs_of(o->g, n);
    struct op_lanes l;
    enum emu_status s;
    uint32_t set;

    if (!is_exact(in[0], out) || op_node_is(n, OP_ArgMax) || op_node_is(n, OP_ArgMin))
        return EMU_OK;
    TRY(op_axes(&c, "axes", in[0]->t.shape.rank, &set));
    s = op_lanes_new(&in[0]->t.shape, set, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, &in[0]->t);
        out->e[k] = reduced(&r, n, l.f, l.length).e;
    }
    op_lanes_free(&l);
    return s;
}

/* ---- softmax ---- */

/* The relative error of e^-far: in f16 that of its operand and its own rounding, without r->t. */
static double exp_error(const struct rounding *r, double far)
{
    return r->elem == ELEM_F16 ? 1.01 * r->u * (far + 1) : F32_UNIT * far;
}

/* Replaces the numbers of a lane by their bounds. */
static void softmax_lane(const struct rounding *r, int logarithm, double *x, uint64_t n)
{
    double most = x[0], sum = 0, parts = (double)n + 5, off = 0;
    double least = r->elem == ELEM_F16 ? r->t : 0;

    for (uint64_t i = 1; i < n; i++)
        most = fmax(most, x[i]);
    for (uint64_t i = 0; i < n; i++) {
        double far = most - x[i];

        sum += exp(-far);
        off += far < INFINITY ? exp(-far) * exp_error(r, far) + least : 0;
    }
    off = 1.01 * off / sum;
    for (uint64_t i = 0; i < n; i++) {
        double far = most - x[i], y = exp(-far) / sum;
        struct bounded b = { y, 0 };

        if (logarithm) {
            b.v = -far - log(sum);
            b.e = off + F32_UNIT * (2 * far + 2 * log(sum) + parts + fabs(b.v));
        } else if (far < INFINITY) {
            /* The factor 1 / sum is off by as little as the smallest numbers of f16. */
            b.e = y * (1.01 * exp_error(r, far) + off + F32_UNIT * parts) +
                  least * (exp(-far) + 1 / sum);
        }
        x[i] = bounded_round(r, b, 1.001).e + 0x1p-126;
    }
}

enum emu_status softmax_error(const struct op_error *o, const struct op_node *n,
                              const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_call c = op_attrs_of(o->g, n);
    int64_t axis = op_int(&c, "axis");
    struct op_lanes l;
    enum emu_status s;

    if (!is_exact(in[0], out) || op_node_is(n, OP_Hardmax))
        return EMU_OK;
    axis += axis < 0 ? in[0]->t.shape.rank : 0;
    s = op_lanes_new(&in[0]->t.shape, 1u << axis, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, &in[0]->t);
        softmax_lane(&r, op_node_is(n, OP_LogSoftmax), l.f, l.length);
        write_bounds(&l, k, l.f, out);
    }
    op_lanes_free(&l);
    return s;
}

/* ---- losses ---- */

/* Of a row of scores, - sum of target times logarithm of the probability; *size: of the terms.
 * Replaces the scores by the bounds of their logarithms. */
static struct bounded cross_entropy(struct op_lanes *x, const struct op_lanes *target,
                                    const double *target_error, double *size)
{
    const struct rounding r = rounding_of(ELEM_F32);
    double most = x->f[0], sum = 0, log_sum;
    struct bounded y = exactly(0);

    *size = 0;
    for (uint64_t i = 1; i < x->length; i++)
        most = fmax(most, x->f[i]);
    for (uint64_t i = 0; i < x->length; i++)
        sum += exp(x->f[i] - most);
    log_sum = most + log(sum);
    for (uint64_t i = 0; i < x->length; i++) {
        double term = target->f[i] * (x->f[i] - log_sum);

        y.v -= term;
        *size += fabs(term);
        y.e += target_error ? target_error[i] * fabs(x->f[i] - log_sum) : 0;
    }
    softmax_lane(&r, 1, x->f, x->length);
    for (uint64_t i = 0; i < x->length; i++)
        y.e += error_times(target->f[i], x->f[i]);
    return y;
}

/* All in f32: logarithms, products, sums of n terms, those of all rows, and a factor. */
enum emu_status loss_error(const struct op_error *o, const struct op_node *n,
                           const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_call c = op_attrs_of(o->g, n);
    int each = op_is(&c, "reduction", "none");
    struct op_tensor errors = { .shape = in[1]->t.shape, .f = in[1]->e };
    struct op_lanes x, t = { .count = 0 }, e = { .count = 0 };
    struct bounded all = exactly(0);
    enum emu_status s;

    if (!is_exact(in[0], out))
        return EMU_OK;
    s = op_lanes_new(&in[0]->t.shape, 1u << 1, &x);
    if (s == EMU_OK)
        s = op_lanes_new(&in[0]->t.shape, 1u << 1, &t);
    if (s == EMU_OK)
        s = op_lanes_new(&in[0]->t.shape, 1u << 1, &e);
    for (uint64_t k = 0; s == EMU_OK && k < x.count; k++) {
        struct bounded y;
        double size;

        op_lane_read(&x, k, &in[0]->t);
        op_lane_read(&t, k, &in[1]->t);
        if (errors.f)
            op_lane_read(&e, k, &errors);
        y = cross_entropy(&x, &t, errors.f ? e.f : NULL, &size);
        y.e += (double)(x.length + 3) * F32_UNIT * size;
        if (each)
            out->e[k] = bounded_round(&r, y, 1.001).e;
        all.v += y.v;
        all.e += y.e + (double)x.count * F32_UNIT * size;
    }
    if (s == EMU_OK && !each) {
        double share = op_is(&c, "reduction", "mean") ? 1 / (double)x.count : 1;

        all = (struct bounded){ share * all.v, share * (all.e + F32_UNIT * fabs(all.v)) };
        out->e[0] = bounded_round(&r, all, 1.001).e;
    }
    op_lanes_free(&x);
    op_lanes_free(&t);
    op_lanes_free(&e);
    return s;
}

/* ---- norms ---- */

/* A lane of numbers with its statistics, in f64, and their errors on the machine. */
struct norm_lane {
    const double *x;
    uint64_t n;
    double mean, scale;             /* 1 / root(variance + eps) */
    double mean_error, scale_error; /* the second relative */
};

static struct norm_lane norm_lane(const double *x, uint64_t n, double eps)
{
    struct norm_lane l = { .x = x, .n = n };
    double count = (double)n, variance = 0;

    for (uint64_t i = 0; i < n; i++)
        l.mean += x[i] / count;
    for (uint64_t i = 0; i < n; i++)
        variance += (x[i] - l.mean) * (x[i] - l.mean) / count;
    l.scale = 1 / sqrt(variance + eps);
    l.mean_error = (count + 2) * F32_UNIT * sum_of_magnitudes(x, n) / count;
    l.scale_error = ((count + 4) * F32_UNIT + l.mean_error * l.mean_error * l.scale * l.scale) / 2 +
                    2 * F32_UNIT;
    return l;
}

/* Of (x[i] - mean) scale g + b. */
static double norm_bound(const struct rounding *r, const struct norm_lane *l, uint64_t i, double g,
                         double b)
{
    double d = fabs(l->x[i] - l->mean);
    struct bounded y = { fabs(g) * l->scale * d + fabs(b), 0 };

    y.e = fabs(g) * l->scale *
              (l->mean_error + F32_UNIT * fabs(l->x[i]) + d * (l->scale_error + 2 * F32_UNIT)) +
          F32_UNIT * (2 * fabs(b) + y.v);
    return bounded_round(r, y, 1.001).e;
}

static double parameter(const struct op_node *n, const struct bounded_value *const *in, uint32_t k,
                        uint64_t i, double otherwise)
{
    return has_input(n, in, k) ? in[k]->t.f[i] : otherwise;
}

/* The mean, and 1 over the deviation, which is made of kernels. */
static void statistics_bounds(const struct rounding *r, const struct norm_lane *l, double eps,
                              uint64_t lane, const struct op_node *n, struct bounded_value *out)
{
    struct bounded mean = bounded_round(r, (struct bounded){ l->mean, l->mean_error }, 1.001);
    struct bounded sum = exactly(0);

    if (n->outs > 1 && out[1].e)
        out[1].e[lane] = mean.e;
    if (n->outs < 3 || !out[2].e)
        return;
    for (uint64_t i = 0; i < l->n; i++) {
        struct bounded d = bounded_binary(r, BINARY_SUB, exactly(l->x[i]), mean);

        sum.v += d.v * d.v;
        sum.e += 2 * fabs(d.v) * d.e + d.e * d.e;
    }
    sum.e += (double)(l->n + 1) * F32_UNIT * (sum.v + sum.e);
    sum = bounded_binary(r, BINARY_MUL, bounded_round(r, sum, 1.001),
                         bounded_constant(r, 1 / (double)l->n));
    sum = bounded_binary(r, BINARY_ADD, sum, bounded_constant(r, eps));
    out[2].e[lane] = bounded_unary(r, UNARY_RSQRT, sum).e;
}

static const double variance_eps = 1e-9;

/* MeanVarianceNormalization adds variance_eps to the deviation, but the machine adds it to the
 * variance. Returns by how much that changes 1 over the deviation, relative to it. */
static double eps_error(const struct norm_lane *l)
{
    double variance = fmax(1 / (l->scale * l->scale) - variance_eps, 0);

    return fabs(1 / ((sqrt(variance) + variance_eps) * l->scale) - 1);
}

/* Norms over lanes: scale and shift by place in the lane, or, of instances, by channel. */
static enum emu_status lanes_error(const struct op_error *o, const struct op_node *n,
                                   const struct bounded_value *const *in, struct bounded_value *out,
                                   uint32_t set, double eps)
{
    const struct rounding r = rounding_of(o->elem);
    int instances = op_node_is(n, OP_InstanceNormalization);
    struct op_lanes l;
    enum emu_status s = op_lanes_new(&in[0]->t.shape, set, &l);
    double *e = emu_alloc(l.length + 1, sizeof(*e));

    if (s == EMU_OK && !e)
        s = FAIL(NO_MEMORY, "%s", n->name);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        struct norm_lane lane;

        op_lane_read(&l, k, &in[0]->t);
        lane = norm_lane(l.f, l.length, eps);
        if (op_node_is(n, OP_MeanVarianceNormalization))
            lane.scale_error += eps_error(&lane);
        if (op_node_is(n, OP_LayerNormalization))
            statistics_bounds(&r, &lane, eps, k, n, out);
        for (uint64_t i = 0; i < l.length; i++) {
            uint64_t at = instances ? k % in[0]->t.shape.dim[1] : i;

            e[i] = norm_bound(&r, &lane, i, parameter(n, in, 1, at, 1), parameter(n, in, 2, at, 0));
        }
        write_bounds(&l, k, e, out);
    }
    ss_free(e);
    op_lanes_free(&l);
    return s;
}

/* a x + b, one operation after the other. */
static void batch_norm_error(const struct op_error *o, const struct op_node *n,
                             const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    const struct op_shape *s = &out->t.shape;
    struct op_call c = op_attrs_of(o->g, n);
    uint64_t plane = op_shape_span(s, 2, s->rank);

    for (uint64_t i = 0; i < count_of(out); i++) {
        uint64_t k = i / plane % s->dim[1];
        double a = in[1]->t.f[k] / sqrt(in[4]->t.f[k] + op_float(&c, "epsilon"));
        struct bounded b = bounded_constant(&r, in[2]->t.f[k] - in[3]->t.f[k] * a);
        struct bounded y =
            bounded_binary(&r, BINARY_MUL, bounded_at(in[0], i), bounded_constant(&r, a));

        out->e[i] = bounded_binary(&r, BINARY_ADD, y, b).e;
    }
}

/* One number of a norm of groups. In f16 x, mean and shift are rounded at most six times; in f32 it
 * is a norm of rows, then scaled and shifted. */
static double group_norm_bound(const struct rounding *r, const struct norm_lane *l, uint64_t i,
                               double gamma, double beta)
{
    double scale = l->scale * fabs(gamma);
    struct bounded y = { (l->x[i] - l->mean) * l->scale, 0 };

    if (r->elem == ELEM_F16)
        return 6 * (r->u * (scale * (fabs(l->x[i]) + fabs(l->mean)) + fabs(beta)) + r->t);
    y.e = norm_bound(r, l, i, 1, 0);
    y = bounded_binary(r, BINARY_MUL, y, bounded_constant(r, gamma));
    return bounded_binary(r, BINARY_ADD, y, bounded_constant(r, beta)).e;
}

/* Groups of channels of each item. */
static enum emu_status group_norm_error(const struct op_error *o, const struct op_node *n,
                                        const struct bounded_value *const *in,
                                        struct bounded_value *out)
{
    const struct rounding r = rounding_of(o->elem);
    struct op_call c = op_attrs_of(o->g, n);
    struct op_shape seen;
    uint32_t axes = op_lanes_of_groups(&in[0]->t.shape, (uint32_t)op_int(&c, "num_groups"),
                                       op_int(&c, "strided") != 0, &seen);
    struct op_lanes l;
    enum emu_status s = op_lanes_new(&seen, axes, &l);
    double *e = s == EMU_OK ? emu_alloc(l.length + 1, sizeof(*e)) : NULL;

    if (s == EMU_OK && !e)
        s = FAIL(NO_MEMORY, "bounds");
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        struct norm_lane lane;

        op_lane_read(&l, k, &in[0]->t);
        lane = norm_lane(l.f, l.length, op_float(&c, "epsilon"));
        for (uint64_t j = 0; j < l.length; j++) {
            uint32_t channel = op_lanes_channel(&seen, axes, k, j);

            e[j] = group_norm_bound(&r, &lane, j, in[1]->t.f[channel], in[2]->t.f[channel]);
        }
        write_bounds(&l, k, e, out);
    }
    ss_free(e);
    op_lanes_free(&l);
    return s;
}

enum emu_status norm_error(const struct op_error *o, const struct op_node *n,
                           const struct bounded_value *const *in, struct bounded_value *out)
{
    const struct op_shape *s = &in[0]->t.shape;
    struct op_call c = op_attrs_of(o->g, n);
    uint32_t all = (1u << s->rank) - 1, set = 0xd; /* what MeanVarianceNormalization presets */
    int64_t axis;

    if (norm_trains(o->g, n))
        return norm_train_error(o, n, in, out);
    if (op_node_is(n, OP_BatchNormalization)) {
        batch_norm_error(o, n, in, out);
        return EMU_OK;
    }
    if (!is_exact(in[0], out))
        return EMU_OK;
    if (op_node_is(n, OP_GroupNormalization))
        return group_norm_error(o, n, in, out);
    if (op_node_is(n, OP_InstanceNormalization))
        return lanes_error(o, n, in, out, all & ~3u, op_float(&c, "epsilon"));
    if (op_node_is(n, OP_LayerNormalization)) {
        axis = op_int(&c, "axis") + (op_int(&c, "axis") < 0 ? s->rank : 0);
        return lanes_error(o, n, in, out, all & ~((1u << axis) - 1), op_float(&c, "epsilon"));
    }
    if (op_has(&c, "axes"))
        TRY(op_axes(&c, "axes", s->rank, &set));
    return lanes_error(o, n, in, out, set, variance_eps);
}
