/* calibrate.c - running statistics of batch norms from what a network sees on synthetic pictures.
 * Layer by layer: each norm is measured on inputs that went through the calibrated norms before it.
 */
#include <string.h>

#include "models/ref/ref_layers.h"

static const uint64_t calibration_seed = 0x5eed;

struct calibration {
    struct weights *w; /* borrowed */
    const struct net *net;
};

/* Mean and variance over all pictures of each channel. Pictures are equally large, so the mean of
 * means is the mean, and the variance is the mean of variances plus that of the means. */
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

/* A layer has run: the norms that will read it get their statistics. */
static enum emu_status measure_readers(void *arg, uint32_t layer, const double *const in[2],
                                       const double *out)
{
    struct calibration *k = arg;
    const struct net *n = k->net;

    (void)in;
    for (uint32_t i = layer + 1; i < n->layers; i++) {
        const struct layer *l = &n->layer[i];

        if (l->op == LAYER_NORM && l->norm == NORM_BATCH && l->input[0] == layer)
            measure(l, n->batch, out, weights_find(k->w, i, "running_mean")->data,
                    weights_find(k->w, i, "running_var")->data);
    }
    return EMU_OK;
}

enum emu_status weights_calibrate(struct weights *w, const struct net *n, uint32_t pictures)
{
    struct net m = *n;
    struct calibration k = { .w = w, .net = &m };
    float *input = emu_alloc(3ull * pictures * n->resolution * n->resolution, sizeof(*input));
    enum emu_status s;

    EMU_ASSERT(pictures);
    if (!input)
        return FAIL(NO_MEMORY, "%u pictures", pictures);
    m.batch = pictures;
    ref_pictures(n->resolution, calibration_seed, pictures, input);
    s = ref_walk(&m, w, input, measure_readers, &k);
    emu_free(input);
    return s;
}
