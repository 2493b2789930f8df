/* family_norm_back.c - gradients of norms whose statistics come from the data: from x, scale and
 * the gradient dy of the result it computes the gradients by x, scale and shift.
 *
 * All three norms are one: x is seen with other dimensions, lanes along some axes share mean and
 * variance, and the scale is broadcast. With r = 1 / root(variance + epsilon), h = (x - mean) r and
 * g = dy scale, over the n elements of a lane:
 *
 *   dx = r (g - (sum g + h sum(g h)) / n)    dscale = sum(dy h)    dshift = sum dy
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_lanes.h"

/* How a norm sees its input. */
struct seen {
    struct op_shape x;
    struct op_shape scale; /* of x's rank: 1 where it is broadcast */
    uint32_t axes;         /* along which lanes run */
};

static enum emu_status check_channels(struct op_call *c, uint32_t channels)
{
    if (c->in[1]->rank != 1 || c->in[1]->dim[0] != channels)
        return op_refuse(c, "the scale is not a list of %u, one for each channel", channels);
    return EMU_OK;
}

/* Lanes: all of a channel. */
static enum emu_status see_batch(struct op_call *c, struct seen *s)
{
    const struct op_shape *x = c->in[0];

    if (x->rank < 2)
        return op_refuse(c, "of %u dimensions: item and channel come first", x->rank);
    s->x = *x;
    s->scale.rank = x->rank;
    for (unsigned d = 0; d < x->rank; d++)
        s->scale.dim[d] = d == 1 ? x->dim[1] : 1;
    s->axes = ((1u << x->rank) - 1) & ~2u;
    return check_channels(c, x->dim[1]);
}

/* Lanes: groups of channels of an item. */
static enum emu_status see_group(struct op_call *c, struct seen *s)
{
    const struct op_shape *x = c->in[0];
    int64_t groups = op_int(c, "num_groups");

    if (x->rank < 2)
        return op_refuse(c, "of %u dimensions: item and channel come first", x->rank);
    if (groups < 1 || groups > x->dim[1] || x->dim[1] % groups)
        return op_refuse(c, "%u channels in %lld groups", x->dim[1], (long long)groups);
    s->axes = op_lanes_of_groups(x, (uint32_t)groups, op_int(c, "strided") != 0, &s->x);
    TRY(op_dim(c, op_shape_span(x, 2, x->rank), &s->x.dim[3]));
    s->scale = (struct op_shape){ x->type, 4, { 1, s->x.dim[1], s->x.dim[2], 1 } };
    return check_channels(c, x->dim[1]);
}

/* Lanes: what is behind the axis. */
static enum emu_status see_layer(struct op_call *c, struct seen *s)
{
    const struct op_shape *x = c->in[0], *scale = c->in[1];
    struct op_shape both;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    TRY(op_broadcast(c, x, scale, &both));
    if (!op_shape_equal(&both, x))
        return op_refuse(c, "the scale has more dimensions or elements than the data");
    s->x = *x;
    s->scale.rank = x->rank;
    for (unsigned d = 0; d < x->rank; d++)
        s->scale.dim[d] = d + scale->rank < x->rank ? 1 : scale->dim[d + scale->rank - x->rank];
    s->axes = ((1u << x->rank) - 1) & ~((1u << axis) - 1);
    return EMU_OK;
}

static enum emu_status see(struct op_call *c, struct seen *s)
{
    *s = (struct seen){ .scale.type = c->in[0]->type };
    if (op_named(c, OP_BatchNormalizationGradient))
        return see_batch(c, s);
    if (op_named(c, OP_GroupNormalizationGradient))
        return see_group(c, s);
    return see_layer(c, s);
}

static enum emu_status norm_back_infer(struct op_call *c)
{
    struct seen s;

    TRY(see(c, &s));
    if (!op_shape_equal(c->in[0], c->in[2]))
        return op_refuse(c, "the gradient has other dimensions than the data");
    c->out[0] = *c->in[0];
    for (uint32_t k = 1; k < c->outs; k++)
        c->out[k] = *c->in[1];
    return EMU_OK;
}

/* --- numbers ------------------------------------------------------------------------------ */

/* The scale, seen as x, element by element. */
static void spread(const struct seen *s, const double *scale, double *to)
{
    uint64_t stride[OP_RANK_MAX];
    uint32_t index[OP_RANK_MAX] = { 0 };
    uint64_t n = op_shape_count(&s->x);

    op_broadcast_strides(&s->scale, &s->x, stride);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t at = 0;

        for (unsigned d = 0; d < s->x.rank; d++)
            at += index[d] * stride[d];
        to[k] = scale[at];
        op_index_next(&s->x, index);
    }
}

/* Adds up x, element by element, where the scale is broadcast. */
static void gather(const struct seen *s, const double *x, double *to)
{
    uint64_t stride[OP_RANK_MAX];
    uint32_t index[OP_RANK_MAX] = { 0 };
    uint64_t n = op_shape_count(&s->x);

    op_broadcast_strides(&s->scale, &s->x, stride);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t at = 0;

        for (unsigned d = 0; d < s->x.rank; d++)
            at += index[d] * stride[d];
        to[at] += x[k];
        op_index_next(&s->x, index);
    }
}

/* Of a lane: x becomes h, g becomes dx. */
static void lane_back(double *x, double *g, uint64_t n, double epsilon)
{
    double mean = 0, variance = 0, r, s1 = 0, s2 = 0;

    for (uint64_t k = 0; k < n; k++)
        mean += x[k];
    mean /= (double)n;
    for (uint64_t k = 0; k < n; k++)
        variance += (x[k] - mean) * (x[k] - mean);
    r = 1 / sqrt(variance / (double)n + epsilon);
    for (uint64_t k = 0; k < n; k++) {
        x[k] = (x[k] - mean) * r;
        s1 += g[k];
        s2 += g[k] * x[k];
    }
    for (uint64_t k = 0; k < n; k++)
        g[k] = r * (g[k] - (s1 + x[k] * s2) / (double)n);
}

/* h: x of all lanes, on return normalised; dx: dy times scale, on return the gradient. */
static enum emu_status lanes_back(const struct seen *s, double epsilon, struct op_tensor *h,
                                  struct op_tensor *dx)
{
    struct op_lanes x, g;
    enum emu_status st = op_lanes_new(&s->x, s->axes, &x);

    g = (struct op_lanes){ .count = 0 };
    if (st == EMU_OK)
        st = op_lanes_new(&s->x, s->axes, &g);
    for (uint64_t k = 0; st == EMU_OK && k < x.count; k++) {
        op_lane_read(&x, k, h);
        op_lane_read(&g, k, dx);
        lane_back(x.f, g.f, x.length, epsilon);
        op_lane_write(&x, k, h);
        op_lane_write(&g, k, dx);
    }
    op_lanes_free(&x);
    op_lanes_free(&g);
    return st;
}

static enum emu_status norm_back_ref(struct op_call *c, const struct op_tensor *const *in,
                                     struct op_tensor *out)
{
    uint64_t n = op_shape_count(c->in[0]);
    struct op_tensor h;
    struct seen s;
    enum emu_status st;

    TRY(see(c, &s));
    if (!n)
        return EMU_OK;
    TRY(op_tensor_new(c->in[0], &h));
    memcpy(h.f, in[0]->f, n * sizeof(*h.f));
    spread(&s, in[1]->f, out[0].f);
    for (uint64_t k = 0; k < n; k++)
        out[0].f[k] *= in[2]->f[k];
    st = lanes_back(&s, op_float(c, "epsilon"), &h, &out[0]);
    for (uint64_t k = 0; k < n; k++)
        h.f[k] *= in[2]->f[k];
    if (st == EMU_OK && c->outs > 1 && out[1].any)
        gather(&s, h.f, out[1].f);
    if (st == EMU_OK && c->outs > 2 && out[2].any)
        gather(&s, in[2]->f, out[2].f);
    op_tensor_free(&h);
    return st;
}

const struct op_family family_norm_back = { .infer = norm_back_infer, .ref = norm_back_ref };
