/* family_norm.c - normalization: BatchNormalization, GroupNormalization,
 * InstanceNormalization, LayerNormalization, LpNormalization, LRN, MeanVarianceNormalization.
 * Variances are those of the population and computed in two passes.
 */
#include <math.h>

#include "models/operators/op_families.h"
#include "models/operators/op_lanes.h"

/* Input `k` has one number for each channel. */
static enum emu_status check_channels(struct op_call *c, uint32_t k, uint32_t channels)
{
    const struct op_shape *s = c->in[k];

    if (s->rank != 1 || s->dim[0] != channels)
        return op_refuse(c, "input %u is not a list of %u, one for each channel", k, channels);
    return EMU_OK;
}

enum { PARALLEL_MIN = 1 << 16 }; /* numbers from which on threads pay */

static void moments(const double *x, uint64_t n, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (uint64_t k = 0; k < n; k++)
        sum += x[k];
    *mean = sum / (double)n;
    for (uint64_t k = 0; k < n; k++)
        squares += (x[k] - *mean) * (x[k] - *mean);
    *variance = squares / (double)n;
}

/* --- BatchNormalization ------------------------------------------------------------------- */

/* Channels of a batch, and elements of each in an item: a list of numbers has one channel. */
static uint32_t batch_channels(const struct op_shape *s, uint64_t *elements)
{
    *elements = s->rank > 1 ? op_shape_span(s, 2, s->rank) : 1;
    return s->rank > 1 ? s->dim[1] : 1;
}

static enum emu_status batch_infer(struct op_call *c)
{
    uint64_t elements;

    if (!op_int(c, "training_mode") && c->outs > 1)
        return op_refuse(c, "statistics are results of the training mode only");
    if (!c->in[0]->rank)
        return op_refuse(c, "of a single number");
    for (uint32_t k = 1; k < c->ins; k++)
        TRY(check_channels(c, k, batch_channels(c->in[0], &elements)));
    c->out[0] = *c->in[0];
    for (uint32_t k = 1; k < c->outs; k++)
        c->out[k] = *c->in[2 + k];
    return EMU_OK;
}

/* Mean and variance of a channel over the batch. */
static void batch_moments(const struct op_tensor *x, uint64_t channel, uint64_t channels,
                          uint64_t elements, double *mean, double *variance)
{
    uint64_t count = op_shape_count(&x->shape), items = count / (channels * elements);
    double n = (double)(items * elements), sum = 0, squares = 0;

    for (uint64_t i = channel * elements; i < count; i += channels * elements) {
        for (uint64_t k = i; k < i + elements; k++)
            sum += x->f[k];
    }
    *mean = sum / n;
    for (uint64_t i = channel * elements; i < count; i += channels * elements) {
        for (uint64_t k = i; k < i + elements; k++)
            squares += (x->f[k] - *mean) * (x->f[k] - *mean);
    }
    *variance = squares / n;
}

/* With the batch's own statistics; running averages move towards them. */
static enum emu_status batch_train(struct op_call *c, const struct op_tensor *const *in,
                                   struct op_tensor *out)
{
    double epsilon = op_float(c, "epsilon"), momentum = op_float(c, "momentum");
    uint64_t elements, count = op_shape_count(c->in[0]);
    int64_t channels = batch_channels(c->in[0], &elements);

    if (!count)
        return EMU_OK;
#pragma omp parallel for if (count >= PARALLEL_MIN)
    for (int64_t ch = 0; ch < channels; ch++) {
        uint64_t step = (uint64_t)channels * elements;
        double moment[2], factor;

        batch_moments(in[0], (uint64_t)ch, (uint64_t)channels, elements, &moment[0], &moment[1]);
        factor = in[1]->f[ch] / sqrt(moment[1] + epsilon);
        for (uint64_t i = (uint64_t)ch * elements; i < count; i += step) {
            for (uint64_t k = i; k < i + elements; k++)
                out[0].f[k] = (in[0]->f[k] - moment[0]) * factor + in[2]->f[ch];
        }
        for (uint32_t k = 1; k < c->outs; k++) {
            if (out[k].any)
                out[k].f[ch] = in[2 + k]->f[ch] * momentum + moment[k - 1] * (1 - momentum);
        }
    }
    return EMU_OK;
}

static enum emu_status batch_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    const double *scale = in[1]->f, *shift = in[2]->f, *mean = in[3]->f, *variance = in[4]->f;
    double epsilon = op_float(c, "epsilon");
    uint64_t elements;
    uint32_t channels = batch_channels(c->in[0], &elements);
    int64_t rows = elements ? (int64_t)(op_shape_count(c->in[0]) / elements) : 0;

    if (op_int(c, "training_mode"))
        return batch_train(c, in, out);
#pragma omp parallel for if (rows * (int64_t)elements >= PARALLEL_MIN)
    for (int64_t i = 0; i < rows; i++) {
        uint64_t ch = (uint64_t)i % channels, first = (uint64_t)i * elements;
        double factor = scale[ch] / sqrt(variance[ch] + epsilon);

        for (uint64_t k = first; k < first + elements; k++)
            out->f[k] = (in[0]->f[k] - mean[ch]) * factor + shift[ch];
    }
    return EMU_OK;
}

/* --- InstanceNormalization ---------------------------------------------------------------- */

static enum emu_status instance_infer(struct op_call *c)
{
    if (c->in[0]->rank < 3)
        return op_refuse(c, "of %u dimensions: item, channel, and what is normalized",
                         c->in[0]->rank);
    c->out[0] = *c->in[0];
    TRY(check_channels(c, 1, c->in[0]->dim[1]));
    return check_channels(c, 2, c->in[0]->dim[1]);
}

static enum emu_status instance_ref(struct op_call *c, const struct op_tensor *const *in,
                                    struct op_tensor *out)
{
    double epsilon = op_float(c, "epsilon"), mean, variance;
    uint32_t channels = c->in[0]->dim[1];
    struct op_lanes l;
    enum emu_status s;

    if (!op_shape_count(c->in[0]))
        return EMU_OK;
    s = op_lanes_new(c->in[0], ~3u, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        double scale = in[1]->f[k % channels], shift = in[2]->f[k % channels];

        op_lane_read(&l, k, in[0]);
        moments(l.f, l.length, &mean, &variance);
        for (uint64_t j = 0; j < l.length; j++)
            l.f[j] = (l.f[j] - mean) / sqrt(variance + epsilon) * scale + shift;
        op_lane_write(&l, k, out);
    }
    op_lanes_free(&l);
    return s;
}

/* --- GroupNormalization: scale and shift of each channel, as from version 21 on ----------- */

static enum emu_status group_infer(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    int64_t groups = op_int(c, "num_groups");

    if (x->rank < 2)
        return op_refuse(c, "of %u dimensions: item and channel come first", x->rank);
    if (groups < 1 || groups > x->dim[1] || x->dim[1] % groups)
        return op_refuse(c, "%u channels in %lld groups", x->dim[1], (long long)groups);
    c->out[0] = *x;
    TRY(check_channels(c, 1, x->dim[1]));
    return check_channels(c, 2, x->dim[1]);
}

/* An attribute of ours: with "strided" not 0, group k has channels k, k + groups, ..; otherwise
 * groups are neighbours. */
static enum emu_status group_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    double epsilon = op_float(c, "epsilon"), mean, variance;
    struct op_shape seen;
    uint32_t axes = op_lanes_of_groups(c->in[0], (uint32_t)op_int(c, "num_groups"),
                                       op_int(c, "strided") != 0, &seen);
    struct op_lanes l;
    enum emu_status s;

    if (!op_shape_count(c->in[0]))
        return EMU_OK;
    s = op_lanes_new(&seen, axes, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, in[0]);
        moments(l.f, l.length, &mean, &variance);
        for (uint64_t j = 0; j < l.length; j++) {
            uint32_t channel = op_lanes_channel(&seen, axes, k, j);

            l.f[j] =
                (l.f[j] - mean) / sqrt(variance + epsilon) * in[1]->f[channel] + in[2]->f[channel];
        }
        op_lane_write(&l, k, out);
    }
    op_lanes_free(&l);
    return s;
}

/* --- LayerNormalization: outputs Y, Mean, InvStdDev --------------------------------------- */

static enum emu_status layer_infer(struct op_call *c)
{
    enum op_type stash = op_type_number((uint64_t)op_int(c, "stash_type"));
    const struct op_shape *x = c->in[0];
    struct op_shape both;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    for (uint32_t k = 1; k < 3; k++) {
        if (!op_given(c, k))
            continue;
        TRY(op_broadcast(c, x, c->in[k], &both));
        if (!op_shape_equal(&both, x))
            return op_refuse(c, "input %u has more dimensions or elements than the data", k);
    }
    if (op_type_kind(stash) != OP_KIND_FLOAT)
        return op_refuse(c, "stash_type %lld is no float", (long long)op_int(c, "stash_type"));
    c->out[0] = *x;
    for (uint32_t k = 1; k < c->outs; k++) {
        c->out[k] = *x;
        c->out[k].type = stash;
        for (unsigned d = axis; d < x->rank; d++)
            c->out[k].dim[d] = 1;
    }
    return EMU_OK;
}

/* out = out * scale + shift, broadcast. */
static void scale_and_shift(const struct op_tensor *scale, const struct op_tensor *shift,
                            struct op_tensor *out)
{
    uint64_t scale_stride[OP_RANK_MAX], shift_stride[OP_RANK_MAX] = { 0 };
    uint32_t index[OP_RANK_MAX] = { 0 };

    op_broadcast_strides(&scale->shape, &out->shape, scale_stride);
    if (shift)
        op_broadcast_strides(&shift->shape, &out->shape, shift_stride);
    for (uint64_t k = 0; k < op_shape_count(&out->shape); k++) {
        uint64_t i = 0, j = 0;

        for (unsigned d = 0; d < out->shape.rank; d++) {
            i += index[d] * scale_stride[d];
            j += index[d] * shift_stride[d];
        }
        out->f[k] = out->f[k] * scale->f[i] + (shift ? shift->f[j] : 0);
        op_index_next(&out->shape, index);
    }
}

static enum emu_status layer_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    double epsilon = op_float(c, "epsilon"), mean, variance;
    struct op_lanes l;
    enum emu_status s;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), c->in[0]->rank, &axis));
    if (!op_shape_count(c->in[0]))
        return EMU_OK;
    s = op_lanes_new(c->in[0], ~0u << axis, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, in[0]);
        moments(l.f, l.length, &mean, &variance);
        for (uint64_t j = 0; j < l.length; j++)
            l.f[j] = (l.f[j] - mean) / sqrt(variance + epsilon);
        op_lane_write(&l, k, &out[0]);
        if (c->outs > 1)
            out[1].f[k] = mean;
        if (c->outs > 2)
            out[2].f[k] = 1 / sqrt(variance + epsilon);
    }
    op_lanes_free(&l);
    if (s == EMU_OK)
        scale_and_shift(in[1], op_given(c, 2) ? in[2] : NULL, &out[0]);
    return s;
}

/* --- along axes, without parameters: y of n numbers x -------------------------------------- */

typedef void lane_function(const struct op_call *c, const double *x, double *y, uint64_t n);

static void mean_variance(const struct op_call *c, const double *x, double *y, uint64_t n)
{
    double mean, variance;

    (void)c;
    moments(x, n, &mean, &variance);
    for (uint64_t k = 0; k < n; k++)
        y[k] = (x[k] - mean) / (sqrt(variance) + 1e-9); /* as the operator is defined */
}

/* Numbers that are all 0 stay. */
static void unit_length(const struct op_call *c, const double *x, double *y, uint64_t n)
{
    int absolute = op_int(c, "p") == 1;
    double length = 0;

    for (uint64_t k = 0; k < n; k++)
        length += absolute ? fabs(x[k]) : x[k] * x[k];
    if (!absolute)
        length = sqrt(length);
    for (uint64_t k = 0; k < n; k++)
        y[k] = length == 0 ? x[k] : x[k] / length;
}

/* Over the (size - 1) / 2 channels before each, and with an even size one more behind it. */
static void local_response(const struct op_call *c, const double *x, double *y, uint64_t n)
{
    double alpha = op_float(c, "alpha"), beta = op_float(c, "beta"), bias = op_float(c, "bias");
    uint64_t size = (uint64_t)op_int(c, "size"), before = (size - 1) / 2, behind = size / 2;

    for (uint64_t k = 0; k < n; k++) {
        uint64_t first = k > before ? k - before : 0;
        uint64_t last = k + behind < n ? k + behind : n - 1;
        double sum = 0;

        for (uint64_t j = first; j <= last; j++)
            sum += x[j] * x[j];
        y[k] = x[k] / pow(bias + alpha / (double)size * sum, beta);
    }
}

enum { LRN_MAX = 1024 }; /* channels of a window, which bound the work for a number */

static enum emu_status lrn_axes(struct op_call *c, uint32_t *axes)
{
    int64_t size = op_int(c, "size");

    *axes = 1u << 1;
    if (c->in[0]->rank < 2)
        return op_refuse(c, "of %u dimensions: item and channel come first", c->in[0]->rank);
    if (size < 1 || size > LRN_MAX)
        return op_refuse(c, "a window of %lld channels: 1 to %d are built", (long long)size,
                         LRN_MAX);
    return EMU_OK;
}

static enum emu_status lp_axes(struct op_call *c, uint32_t *axes)
{
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), c->in[0]->rank, &axis));
    *axes = 1u << axis;
    if (op_int(c, "p") != 1 && op_int(c, "p") != 2)
        return op_refuse(c, "p is %lld: 1 and 2 are defined", (long long)op_int(c, "p"));
    return EMU_OK;
}

/* Without a list: all but the channels. */
static enum emu_status mvn_axes(struct op_call *c, uint32_t *axes)
{
    *axes = 1u << 0 | 1u << 2 | 1u << 3;
    if (op_has(c, "axes"))
        return op_axes(c, "axes", c->in[0]->rank, axes);
    if (c->in[0]->rank != 4)
        return op_refuse(c, "of %u dimensions: without axes 4 are expected", c->in[0]->rank);
    return EMU_OK;
}

static const struct lane_norm {
    enum op_code code;
    enum emu_status (*axes)(struct op_call *c, uint32_t *axes); /* that a lane runs along */
    lane_function *compute;
} lane_norms[] = {
    { OP_LRN, lrn_axes, local_response },
    { OP_LpNormalization, lp_axes, unit_length },
    { OP_MeanVarianceNormalization, mvn_axes, mean_variance },
};

static const struct lane_norm *lane_norm_of(const struct op_call *c)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(lane_norms); k++) {
        if (op_named(c, lane_norms[k].code))
            return &lane_norms[k];
    }
    emu_abort(__FILE__, __LINE__, c->row->name);
}

static enum emu_status lane_infer(struct op_call *c)
{
    uint32_t axes;

    c->out[0] = *c->in[0];
    return lane_norm_of(c)->axes(c, &axes);
}

static enum emu_status lane_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    const struct lane_norm *norm = lane_norm_of(c);
    struct op_lanes from, to;
    enum emu_status s;
    uint32_t axes;

    TRY(norm->axes(c, &axes));
    if (!op_shape_count(c->in[0]))
        return EMU_OK;
    s = op_lanes_new(c->in[0], axes, &from);
    to = (struct op_lanes){ .count = 0 };
    if (s == EMU_OK)
        s = op_lanes_new(c->in[0], axes, &to);
    for (uint64_t k = 0; s == EMU_OK && k < from.count; k++) {
        op_lane_read(&from, k, in[0]);
        norm->compute(c, from.f, to.f, from.length);
        op_lane_write(&to, k, out);
    }
    op_lanes_free(&from);
    op_lanes_free(&to);
    return s;
}

/* --- the family --------------------------------------------------------------------------- */

static const struct norm_shape {
    enum op_code code;
    enum emu_status (*infer)(struct op_call *c);
    enum emu_status (*ref)(struct op_call *c, const struct op_tensor *const *in,
                           struct op_tensor *out);
} norms[] = {
    { OP_BatchNormalization, batch_infer, batch_ref },
    { OP_GroupNormalization, group_infer, group_ref },
    { OP_InstanceNormalization, instance_infer, instance_ref },
    { OP_LRN, lane_infer, lane_ref },
    { OP_LayerNormalization, layer_infer, layer_ref },
    { OP_LpNormalization, lane_infer, lane_ref },
    { OP_MeanVarianceNormalization, lane_infer, lane_ref },
};

static const struct norm_shape *norm_of(const struct op_call *c)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(norms); k++) {
        if (op_named(c, norms[k].code))
            return &norms[k];
    }
    emu_abort(__FILE__, __LINE__, c->row->name);
}

static enum emu_status norm_infer(struct op_call *c)
{
    return norm_of(c)->infer(c);
}

static enum emu_status norm_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    return norm_of(c)->ref(c, in, out);
}

const struct op_family family_norm = { .infer = norm_infer,
                                       .ref = norm_ref,
                                       .gradient = gradient_norm_node };

/* --- older versions of BatchNormalization ------------------------------------------------- */

/* Where each element of an item is a channel: the item becomes one list, and back. */
static enum emu_status by_element(struct op_graph *g, const struct op_request *r,
                                  struct op_request *now, uint32_t *out)
{
    const struct op_shape x = g->value[r->in[0]].shape;
    struct op_shape items = { .rank = 2, .dim = { x.dim[0] } }, list = { .rank = 1 };
    struct op_request part = { .block = r->block };
    uint32_t in[5], normalized;

    list.dim[0] = items.dim[1] = (uint32_t)op_shape_span(&x, 1, x.rank);
    for (unsigned k = 0; k < EMU_COUNT_OF(in); k++)
        TRY(op_reshape(g, &part, r->in[k], k ? &list : &items, &in[k]));
    now->in = in;
    now->out_name = NULL;
    TRY(op_node(g, now, &normalized));
    return op_reshape(g, r, normalized, &x, out);
}

/* Before 7, is_test told inference from training; before 9, without `spatial` each element of an
 * item was a channel. */
enum emu_status upgrade_batch_norm(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_named_attr attr[] = { { "epsilon", op_request_attr(r, "epsilon") },
                                          { "momentum", op_request_attr(r, "momentum") } };
    struct op_request now = *r;

    if (r->outs > 1 || (r->version < 7 && !op_request_attr(r, "is_test").i))
        return op_node_refuse(g, r, out, "training mode: only inference is built");
    now.version = 0;
    now.attr = attr;
    now.attrs = EMU_COUNT_OF(attr);
    if (op_request_attr(r, "spatial").i || g->value[r->in[0]].shape.rank < 2)
        return op_node(g, &now, out);
    return by_element(g, r, &now, out);
}

/* Numbers of groups as those of their channels. */
static enum emu_status by_channel(struct op_graph *g, const struct op_request *r, uint32_t value,
                                  uint32_t channels, uint32_t *out)
{
    const struct op_request part = { .block = r->block, .outs = 1 };
    const struct op_shape s = g->value[value].shape, list = { .rank = 1, .dim = { channels } };
    const struct op_shape column = { .rank = 2, .dim = { s.dim[0], 1 } };
    const int64_t wide[] = { s.dim[0], channels / s.dim[0] };
    uint32_t narrow;
    const struct op_named_attr shape = { "shape",
                                         { .kind = OP_ATTR_INTS, .count = 2, .ints = wide } };
    struct op_request expand = { .op = op_name(OP_Expand),
                                 .block = r->block,
                                 .in = &narrow,
                                 .ins = 1,
                                 .outs = 1,
                                 .attr = &shape,
                                 .attrs = 1 };

    TRY(op_reshape(g, &part, value, &column, &narrow));
    TRY(op_node(g, &expand, &value));
    return op_reshape(g, &part, value, &list, out);
}

/* Before 21, scale and shift were those of groups. */
enum emu_status upgrade_group_norm_18(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_shape x = g->value[r->in[0]].shape;
    int64_t groups = op_request_attr(r, "num_groups").i;
    uint32_t in[3] = { r->in[0] };
    struct op_request now = *r;

    if (x.rank < 2 || groups < 1 || groups > x.dim[1] || x.dim[1] % groups)
        return op_node_refuse(g, r, out, "%u channels in %lld groups", x.rank < 2 ? 0 : x.dim[1],
                              (long long)groups);
    for (unsigned k = 1; k < 3; k++) {
        const struct op_shape *s = &g->value[r->in[k]].shape;

        if (s->rank != 1 || s->dim[0] != groups)
            return op_node_refuse(g, r, out, "input %u is not a list of %lld, one for each group",
                                  k, (long long)groups);
        TRY(by_channel(g, r, r->in[k], x.dim[1], &in[k]));
    }
    now.version = 0;
    now.in = in;
    return op_node(g, &now, out);
}
