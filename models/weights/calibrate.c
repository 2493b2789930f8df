/* calibrate.c - measures on drawn pictures what trained networks learn from theirs: running
 * statistics of batch norms, and the mean that the classifier subtracts. Layer by layer: the input
 * of each norm has gone through the calibrated norms before it. */
#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/weights/calibrate.h"

enum { PARALLEL_MIN = 1 << 16 }; /* numbers from which on threads pay */

static const uint64_t calibration_seed = 0x5eed;

/* The part of a layer's mean variance that is added to the variance of each channel, so that a
 * channel which these pictures hardly move is not amplified for another picture. */
static const double variance_floor = 0.1;

/* Mean deviation of a picture's logits from the mean of all pictures. Photographs have up to twice
 * as much, most of all those that are flat or all edges. */
static const double logit_deviation = 2;

struct calibration {
    struct weights *w; /* borrowed */
    const struct net *net;
};

/* ---- norms ---- */

static void moments(const double *x, uint64_t n, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *variance = squares / (double)n;
}

/* Mean and variance of each channel over all pictures. Pictures are equally large, so the mean is
 * the mean of their means, and the variance is the mean of their variances plus the variance of
 * their means. */
static void measure(const struct op_tensor *x, float *mean, float *var)
{
    uint32_t batch = x->shape.dim[0], channels = x->shape.dim[1];
    size_t plane = (size_t)x->shape.dim[2] * x->shape.dim[3];

#pragma omp parallel for if (batch * channels * plane > PARALLEL_MIN)
    for (uint32_t c = 0; c < channels; c++) {
        double sum = 0, within = 0, between = 0, m, v;

        for (uint32_t b = 0; b < batch; b++) {
            moments(x->f + ((size_t)b * channels + c) * plane, plane, &m, &v);
            sum += m;
            within += v;
        }
        sum /= batch;
        for (uint32_t b = 0; b < batch; b++) {
            moments(x->f + ((size_t)b * channels + c) * plane, plane, &m, &v);
            between += (m - sum) * (m - sum);
        }
        mean[c] = (float)sum;
        var[c] = (float)((within + between) / batch);
    }
}

static void raise_variances(uint32_t channels, float *var)
{
    double sum = 0;

    for (uint32_t c = 0; c < channels; c++)
        sum += var[c];
    for (uint32_t c = 0; c < channels; c++)
        var[c] = (float)(var[c] + variance_floor * sum / channels);
}

/* ---- classifier ---- */

/* The parameters of the classifier, [out][in] and [out]. */
struct classifier {
    uint32_t in, out;
    float *weight, *bias;
};

static struct classifier classifier_of(const struct weights *w, const struct net *n)
{
    const struct param *weight = weights_find(w, n, net_logits, "weight");

    return (struct classifier){ weight->shape[1], weight->shape[0], weight->data,
                                weights_find(w, n, net_logits, "bias")->data };
}

/* Subtracts the mean over the batch from each of the numbers of a picture. mean: [in], written. */
static void centre(const struct classifier *l, uint32_t batch, const double *in, double *mean,
                   double *out)
{
    for (uint32_t c = 0; c < l->in; c++) {
        double sum = 0;

        for (uint32_t b = 0; b < batch; b++)
            sum += in[(size_t)b * l->in + c];
        mean[c] = sum / batch;
        for (uint32_t b = 0; b < batch; b++)
            out[(size_t)b * l->in + c] = in[(size_t)b * l->in + c] - mean[c];
    }
}

static double product(const struct classifier *l, uint32_t row, const double *x)
{
    double sum = 0;

    for (uint32_t c = 0; c < l->in; c++)
        sum += l->weight[(size_t)row * l->in + c] * x[c];
    return sum;
}

/* The deviation of a picture's logits, averaged over pictures. in: centred. */
static double mean_deviation(const struct classifier *l, uint32_t batch, const double *in)
{
    double sum = 0;

    for (uint32_t b = 0; b < batch; b++) {
        double squares = 0;

        for (uint32_t o = 0; o < l->out; o++) {
            double y = product(l, o, in + (size_t)b * l->in);

            squares += y * y;
        }
        sum += sqrt(squares / l->out);
    }
    return sum / batch;
}

void weights_scale_classifier(struct weights *w, const struct net *n, float gain)
{
    const struct classifier l = classifier_of(w, n);

    for (uint64_t i = 0; i < (uint64_t)l.in * l.out; i++)
        l.weight[i] *= gain;
    w->classifier_gain = gain;
}

/* in: what the classifier reads, [batch][in]. */
static enum emu_status fit_classifier(struct calibration *k, const double *in)
{
    const struct classifier l = classifier_of(k->w, k->net);
    uint32_t batch = k->net->batch;
    double *mean = emu_alloc((size_t)(batch + 1) * l.in, sizeof(*mean)), *from = mean + l.in;
    double deviation;

    if (!mean)
        return FAIL(NO_MEMORY, "the mean of the classifier's inputs");
    centre(&l, batch, in, mean, from);
    deviation = mean_deviation(&l, batch, from);
    if (deviation > 0)
        weights_scale_classifier(k->w, k->net, (float)(logit_deviation / deviation));
    for (uint32_t o = 0; o < l.out; o++)
        l.bias[o] = (float)(l.bias[o] - product(&l, o, mean));
    ss_free(mean);
    return EMU_OK;
}

/* ---- walk ---- */

/* Sets what a norm or the classifier multiplies its input with, before it runs. */
static enum emu_status measure_input(void *arg, const struct op_node *n, const struct op_tensor *x)
{
    struct calibration *k = arg;

    if (!strcmp(n->name, net_logits))
        return fit_classifier(k, x->f);
    if (op_node_is(n, OP_BatchNormalization)) {
        struct param *var = weights_find(k->w, k->net, n->name, "running_var");

        measure(x, weights_find(k->w, k->net, n->name, "running_mean")->data, var->data);
        raise_variances(x->shape.dim[1], var->data);
    }
    return EMU_OK;
}

uint32_t calibration_side(const struct net *n)
{
    return n->resolution < CALIBRATION_SIDE ? n->resolution : CALIBRATION_SIDE;
}

/* Drawn pictures as the input of a network. */
static enum emu_status draw(const struct net *n, struct op_tensor *out)
{
    const struct op_shape *s = &n->graph->value[n->graph->input[0]].shape;
    uint64_t count = op_shape_count(s);
    float *pixel = emu_alloc(count, sizeof(*pixel));
    enum emu_status st = pixel ? op_tensor_new(s, out) : FAIL(NO_MEMORY, "%u pictures", n->batch);

    if (st == EMU_OK) {
        synthetic_pictures(n->resolution, calibration_seed, n->batch, pixel);
        for (uint64_t i = 0; i < count; i++)
            out->f[i] = pixel[i];
    }
    ss_free(pixel);
    return st;
}

enum emu_status weights_calibrate(struct weights *w, const struct net *n, uint32_t pictures)
{
    struct calibration k = { .w = w };
    struct op_tensor input = { .any = NULL };
    struct net *m = NULL;
    enum emu_status s;

    EMU_ASSERT(pictures);
    s = net_resized(n, calibration_side(n), pictures, &m);
    if (s == EMU_OK)
        s = draw(m, &input);
    if (s == EMU_OK) {
        k.net = m;
        weights_attach(w, m);
        s = op_graph_walk(m->graph, &input, measure_input, &k);
    }
    op_tensor_free(&input);
    net_free(m);
    return s;
}
