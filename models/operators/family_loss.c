/* family_loss.c - NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: of scores [items][classes]
 * [positions..] and, for each item and position, the class that is right. CrossEntropy has targets
 * instead of the class: a number for each class, and together they are 1.
 */
#include <math.h>

#include "models/operators/op_families.h"
#include "models/operators/op_lanes.h"

static int from_scores(const struct op_call *c)
{
    return !op_named(c, OP_NegativeLogLikelihoodLoss);
}

static int has_targets(const struct op_call *c)
{
    return op_named(c, OP_CrossEntropy);
}

static enum emu_status loss_infer(struct op_call *c)
{
    const struct op_shape *x = c->in[0], *labels = c->in[1];
    struct op_shape each = { .type = x->type };

    if (x->rank < 2)
        return op_refuse(c, "of %u dimensions: item and class come first", x->rank);
    each.dim[each.rank++] = x->dim[0];
    for (unsigned k = 2; k < x->rank; k++)
        each.dim[each.rank++] = x->dim[k];
    if (has_targets(c) && !op_shape_equal(x, labels))
        return op_refuse(c, "the targets' dimensions are not those of the scores");
    if (!has_targets(c) && !op_shape_equal(&each, labels))
        return op_refuse(c, "the labels' dimensions are not those of the scores without classes");
    if (op_given(c, 2) && (c->in[2]->rank != 1 || c->in[2]->dim[0] != x->dim[1]))
        return op_refuse(c, "input 2 is not a list of %u, one for each class", x->dim[1]);
    if (!op_is(c, "reduction", "none") && !op_is(c, "reduction", "mean") &&
        !op_is(c, "reduction", "sum"))
        return op_refuse(c, "reduction %.20s is none of none, mean, sum",
                         op_string(c, "reduction"));
    c->out[0] = op_is(c, "reduction", "none") ? each : (struct op_shape){ .type = x->type };
    if (c->outs > 1)
        c->out[1] = *x;
    return EMU_OK;
}

static void log_softmax(double *x, uint64_t n)
{
    double m = -INFINITY, sum = 0;

    for (uint64_t k = 0; k < n; k++)
        m = fmax(m, x[k]);
    for (uint64_t k = 0; k < n; k++)
        sum += exp(x[k] - m);
    for (uint64_t k = 0; k < n; k++)
        x[k] = x[k] - m - log(sum);
}

/* What a position counts: nothing if its label is to be ignored. A label that names no class makes
 * the loss NaN. */
static double weight_of(const struct op_call *c, int64_t label, uint32_t classes,
                        const struct op_tensor *weight)
{
    if (op_has(c, "ignore_index") && label == op_int(c, "ignore_index"))
        return 0;
    if (label < 0 || label >= classes)
        return NAN;
    return weight ? weight->f[label] : 1;
}

/* - sum of target times logarithm of the probability, of each lane. */
static enum emu_status targets_ref(struct op_call *c, const struct op_tensor *const *in,
                                   struct op_tensor *out)
{
    int each = op_is(c, "reduction", "none");
    struct op_lanes x, t;
    enum emu_status s = op_lanes_new(c->in[0], 1u << 1, &x);
    double sum = 0;

    t = (struct op_lanes){ .count = 0 };
    if (s == EMU_OK)
        s = op_lanes_new(c->in[0], 1u << 1, &t);
    for (uint64_t k = 0; s == EMU_OK && k < x.count; k++) {
        double loss = 0;

        op_lane_read(&x, k, in[0]);
        op_lane_read(&t, k, in[1]);
        log_softmax(x.f, x.length);
        for (uint64_t j = 0; j < x.length; j++)
            loss -= t.f[j] == 0 ? 0 : t.f[j] * x.f[j];
        if (each)
            out->f[k] = loss;
        sum += loss;
    }
    if (!each)
        out->f[0] = op_is(c, "reduction", "mean") ? sum / (double)x.count : sum;
    op_lanes_free(&x);
    op_lanes_free(&t);
    return s;
}

static enum emu_status loss_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    int each = op_is(c, "reduction", "none"), mean = op_is(c, "reduction", "mean");
    const struct op_tensor *weight = op_given(c, 2) ? in[2] : NULL;
    uint32_t classes = c->in[0]->dim[1];
    double sum = 0, weights = 0;
    struct op_lanes l = { .count = 0 };
    enum emu_status s = EMU_OK;

    if (has_targets(c))
        return targets_ref(c, in, out);
    if (op_shape_count(c->in[1]))
        s = op_lanes_new(c->in[0], 1u << 1, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        int64_t label = in[1]->i[k];
        double w = weight_of(c, label, classes, weight), loss;

        op_lane_read(&l, k, in[0]);
        if (from_scores(c))
            log_softmax(l.f, l.length);
        if (c->outs > 1)
            op_lane_write(&l, k, &out[1]);
        loss = w == 0 ? 0 : isnan(w) ? NAN : -l.f[label] * w;
        if (each)
            out[0].f[k] = loss;
        sum += loss;
        weights += w;
    }
    op_lanes_free(&l);
    if (!each)
        out[0].f[0] = mean ? sum / weights : sum;
    return s;
}

const struct op_family family_loss = { .infer = loss_infer,
                                       .ref = loss_ref,
                                       .gradient = gradient_loss_node };
