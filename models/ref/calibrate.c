/* calibrate.c - measures on drawn pictures what trained networks learn from theirs: running
 * statistics of batch norms, and the mean that the classifier subtracts. Layer by layer: the input
 * of each norm has gone through the calibrated norms before it. */
#include <string.h>

#include "emu/base/alloc.h"
#include "models/ref/ref_layers.h"

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

/* Mean and variance of each channel over all pictures. Pictures are equally large, so the mean is
 * the mean of their means, and the variance is the mean of their variances plus the variance of
 * their means. */
static void measure(const struct layer *l, uint32_t batch, const double *in, float *mean,
                    float *var)
{
    size_t plane = (size_t)l->in_h * l->in_w;

#pragma omp parallel for if (layer_elements(l) * batch > REF_SMALL)
    for (uint32_t c = 0; c < l->in_c; c++) {
        double sum = 0, within = 0, between = 0, m, v;

        for (uint32_t b = 0; b < batch; b++) {
            ref_moments(in + ((size_t)b * l->in_c + c) * plane, plane, &m, &v);
            sum += m;
            within += v;
        }
        sum /= batch;
        for (uint32_t b = 0; b < batch; b++) {
            ref_moments(in + ((size_t)b * l->in_c + c) * plane, plane, &m, &v);
            between += (m - sum) * (m - sum);
        }
        mean[c] = (float)sum;
        var[c] = (float)((within + between) / batch);
    }
}

static void raise_variances(const struct layer *l, float *var)
{
    double sum = 0;

    for (uint32_t c = 0; c < l->in_c; c++)
        sum += var[c];
    for (uint32_t c = 0; c < l->in_c; c++)
        var[c] = (float)(var[c] + variance_floor * sum / l->in_c);
}

/* ---- classifier ---- */

/* Subtracts the mean over the batch from each of the in_c numbers of a picture. mean: in_c numbers,
 * written. */
static void centre(const struct layer *l, uint32_t batch, const double *in, double *mean,
                   double *out)
{
    for (uint32_t c = 0; c < l->in_c; c++) {
        double sum = 0;

        for (uint32_t b = 0; b < batch; b++)
            sum += in[(size_t)b * l->in_c + c];
        mean[c] = sum / batch;
        for (uint32_t b = 0; b < batch; b++)
            out[(size_t)b * l->in_c + c] = in[(size_t)b * l->in_c + c] - mean[c];
    }
}

static double product(const struct layer *l, const float *row, const double *x)
{
    double sum = 0;

    for (uint32_t c = 0; c < l->in_c; c++)
        sum += row[c] * x[c];
    return sum;
}

/* The deviation of a picture's logits, averaged over pictures. in: centred. */
static double mean_deviation(const struct layer *l, uint32_t batch, const float *weight,
                             const double *in)
{
    double sum = 0;

    for (uint32_t b = 0; b < batch; b++) {
        double squares = 0;

        for (uint32_t o = 0; o < l->out_c; o++) {
            double y = product(l, weight + (size_t)o * l->in_c, in + (size_t)b * l->in_c);

            squares += y * y;
        }
        sum += sqrt(squares / l->out_c);
    }
    return sum / batch;
}

void weights_scale_classifier(struct weights *w, const struct net *n, float gain)
{
    struct param *weight = weights_find(w, net_classifier(n), "weight");

    for (uint64_t i = 0; i < weight->elements; i++)
        weight->data[i] *= gain;
    w->classifier_gain = gain;
}

static enum emu_status fit_classifier(struct calibration *k, uint32_t layer, const double *in)
{
    const struct layer *l = &k->net->layer[layer];
    const float *weight = weights_find(k->w, layer, "weight")->data;
    float *bias = weights_find(k->w, layer, "bias")->data;
    uint32_t batch = k->net->batch;
    double *mean = emu_alloc((size_t)(batch + 1) * l->in_c, sizeof(*mean)), *from = mean + l->in_c;
    double deviation;

    if (!mean)
        return FAIL(NO_MEMORY, "the mean of %s", l->name);
    centre(l, batch, in, mean, from);
    deviation = mean_deviation(l, batch, weight, from);
    if (deviation > 0)
        weights_scale_classifier(k->w, k->net, (float)(logit_deviation / deviation));
    for (uint32_t o = 0; o < l->out_c; o++)
        bias[o] = (float)(bias[o] - product(l, weight + (size_t)o * l->in_c, mean));
    emu_free(mean);
    return EMU_OK;
}

/* ---- walk ---- */

/* A layer has run: sets the statistics of the norms, and of the classifier, that read it. */
static enum emu_status measure_readers(void *arg, uint32_t layer, const double *const in[2],
                                       const double *out)
{
    struct calibration *k = arg;
    const struct net *n = k->net;

    (void)in;
    for (uint32_t i = layer + 1; i < n->layers; i++) {
        const struct layer *l = &n->layer[i];

        if (l->input[0] != layer)
            continue;
        if (l->op == LAYER_NORM && l->norm == NORM_BATCH) {
            struct param *var = weights_find(k->w, i, "running_var");

            measure(l, n->batch, out, weights_find(k->w, i, "running_mean")->data, var->data);
            raise_variances(l, var->data);
        }
        if (i == net_classifier(n))
            TRY(fit_classifier(k, i, out));
    }
    return EMU_OK;
}

uint32_t calibration_side(const struct net *n)
{
    return n->resolution < CALIBRATION_SIDE ? n->resolution : CALIBRATION_SIDE;
}

enum emu_status weights_calibrate(struct weights *w, const struct net *n, uint32_t pictures)
{
    struct calibration k = { .w = w };
    uint32_t side = calibration_side(n);
    float *input = emu_alloc(3ull * pictures * side * side, sizeof(*input));
    struct net *m = NULL;
    enum emu_status s;

    EMU_ASSERT(pictures);
    s = input ? net_resized(n, side, pictures, &m) : FAIL(NO_MEMORY, "%u pictures", pictures);
    if (s == EMU_OK) {
        k.net = m;
        ref_pictures(side, calibration_seed, pictures, input);
        s = ref_walk(m, w, input, measure_readers, &k);
    }
    net_free(m);
    emu_free(input);
    return s;
}
