/* ref.c - runs a network in f64, layer by layer: pools, norms, activations and linear layers here,
 * convolutions in ref_conv.c. Plain loops; exp is ours, everything else is IEEE arithmetic. */
#include "models/ref/ref.h"

#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/ref/ref_layers.h"

/* ---- kinds of layers ---- */

static const float *param_of(const struct weights *w, uint32_t layer, const char *suffix)
{
    const struct param *p = weights_find(w, layer, suffix);

    return p ? p->data : NULL;
}

void ref_moments(const double *x, uint64_t n, double *mean, double *variance)
{
    double sum = 0, squares = 0;

    for (uint64_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (uint64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *variance = squares / (double)n;
}

static void batch_norm(const struct layer *l, uint32_t batch, uint32_t layer,
                       const struct weights *w, const double *in, double *out)
{
    const float *gamma = param_of(w, layer, "weight"), *beta = param_of(w, layer, "bias");
    const float *mean = param_of(w, layer, "running_mean");
    const float *var = param_of(w, layer, "running_var");
    size_t plane = (size_t)l->out_h * l->out_w;
    int64_t planes = (int64_t)batch * l->out_c;

#pragma omp parallel for if (planes * (int64_t)plane > REF_SMALL)
    for (int64_t i = 0; i < planes; i++) {
        size_t c = (size_t)i % l->out_c;
        double scale = gamma[c] / sqrt(var[c] + l->eps);

        for (size_t k = (size_t)i * plane; k < (size_t)(i + 1) * plane; k++)
            out[k] = (in[k] - mean[c]) * scale + beta[c];
    }
}

static void group_norm(const struct layer *l, uint32_t batch, uint32_t layer,
                       const struct weights *w, const double *in, double *out)
{
    const float *gamma = param_of(w, layer, "weight"), *beta = param_of(w, layer, "bias");
    size_t plane = (size_t)l->out_h * l->out_w, width = l->out_c / l->norm_groups;
    int64_t groups = (int64_t)batch * l->norm_groups;

#pragma omp parallel for if (groups * (int64_t)(width * plane) > REF_SMALL)
    for (int64_t i = 0; i < groups; i++) {
        size_t first = (size_t)i % l->norm_groups * width, at = (size_t)i * width * plane;
        double mean, variance, scale;

        ref_moments(in + at, width * plane, &mean, &variance);
        scale = 1 / sqrt(variance + l->eps);
        for (size_t k = 0; k < width * plane; k++)
            out[at + k] =
                (in[at + k] - mean) * scale * gamma[first + k / plane] + beta[first + k / plane];
    }
}

static void activation(enum layer_op op, int64_t n, const double *in, double *out)
{
    if (op == LAYER_RELU) {
#pragma omp parallel for if (n > REF_SMALL)
        for (int64_t i = 0; i < n; i++)
            out[i] = in[i] > 0 ? in[i] : 0;
    } else if (op == LAYER_SIGMOID) {
#pragma omp parallel for if (n > REF_SMALL)
        for (int64_t i = 0; i < n; i++)
            out[i] = ref_sigmoid(in[i]);
    } else {
#pragma omp parallel for if (n > REF_SMALL)
        for (int64_t i = 0; i < n; i++)
            out[i] = in[i] * ref_sigmoid(in[i]);
    }
}

/* The largest value in the window; padding does not count. */
static double window_max(const struct layer *l, const double *in, uint32_t y, uint32_t x)
{
    int64_t top = (int64_t)y * l->stride - l->pad.before_h;
    int64_t left = (int64_t)x * l->stride - l->pad.before_w;
    double best = -INFINITY;

    for (int64_t r = top < 0 ? 0 : top; r < top + l->kernel && r < l->in_h; r++) {
        for (int64_t c = left < 0 ? 0 : left; c < left + l->kernel && c < l->in_w; c++) {
            double v = in[r * l->in_w + c];

            best = v > best ? v : best;
        }
    }
    return best;
}

static void maxpool(const struct layer *l, uint32_t batch, const double *in, double *out)
{
    size_t from = (size_t)l->in_h * l->in_w, to = (size_t)l->out_h * l->out_w;
    int64_t planes = (int64_t)batch * l->out_c;

#pragma omp parallel for if (planes * (int64_t)from > REF_SMALL)
    for (int64_t i = 0; i < planes; i++) {
        for (uint32_t y = 0; y < l->out_h; y++) {
            for (uint32_t x = 0; x < l->out_w; x++)
                out[(size_t)i * to + (size_t)y * l->out_w + x] =
                    window_max(l, in + (size_t)i * from, y, x);
        }
    }
}

static void avgpool(const struct layer *l, uint32_t batch, const double *in, double *out)
{
    size_t plane = (size_t)l->in_h * l->in_w;
    int64_t planes = (int64_t)batch * l->out_c;

#pragma omp parallel for if (planes * (int64_t)plane > REF_SMALL)
    for (int64_t i = 0; i < planes; i++) {
        double variance;

        ref_moments(in + (size_t)i * plane, plane, &out[i], &variance);
    }
}

/* A scale or an addition; y has one number for each plane, or the shape of x. */
static void binary(const struct layer *l, uint32_t batch, const double *x, const double *y,
                   double *out)
{
    size_t plane = (size_t)l->out_h * l->out_w;
    int64_t planes = (int64_t)batch * l->out_c;

#pragma omp parallel for if (planes * (int64_t)plane > REF_SMALL)
    for (int64_t i = 0; i < planes; i++) {
        for (size_t k = (size_t)i * plane; k < (size_t)(i + 1) * plane; k++)
            out[k] = l->op == LAYER_ADD ? x[k] + y[k] : x[k] * y[i];
    }
}

static void softmax(uint32_t n, const double *in, double *out)
{
    double top = in[0], sum = 0;

    for (uint32_t i = 1; i < n; i++)
        top = in[i] > top ? in[i] : top;
    for (uint32_t i = 0; i < n; i++)
        sum += out[i] = ref_exp(in[i] - top);
    for (uint32_t i = 0; i < n; i++)
        out[i] /= sum;
}

void ref_layer(const struct net *n, const struct weights *w, uint32_t layer,
               const double *const in[2], double *out)
{
    const struct layer *l = &n->layer[layer];
    int64_t elements = (int64_t)(layer_elements(l) * n->batch);

    switch (l->op) {
    case LAYER_CONV:
    case LAYER_LINEAR: /* a 1x1 convolution of a field of one */
        ref_conv(l, n->batch, param_of(w, layer, "weight"), param_of(w, layer, "bias"), in[0], out);
        break;
    case LAYER_NORM:
        if (l->norm == NORM_GROUP)
            group_norm(l, n->batch, layer, w, in[0], out);
        else
            batch_norm(l, n->batch, layer, w, in[0], out);
        break;
    case LAYER_SWISH:
    case LAYER_RELU:
    case LAYER_SIGMOID:
        activation(l->op, elements, in[0], out);
        break;
    case LAYER_MAXPOOL:
        maxpool(l, n->batch, in[0], out);
        break;
    case LAYER_AVGPOOL:
        avgpool(l, n->batch, in[0], out);
        break;
    case LAYER_SCALE:
    case LAYER_ADD:
        binary(l, n->batch, in[0], in[1], out);
        break;
    case LAYER_SOFTMAX:
        for (uint32_t b = 0; b < n->batch; b++)
            softmax(l->out_c, in[0] + (size_t)b * l->in_c, out + (size_t)b * l->out_c);
        break;
    default:
        EMU_ASSERT(l->op == LAYER_INPUT && in[0]);
        memcpy(out, in[0], (size_t)elements * sizeof(*out));
    }
}

/* ---- whole networks ---- */

/* Outputs that later layers still read, and which layer is the last to do so. */
struct ref_walk {
    const struct net *net;
    double **out;   /* owned, and what it points to */
    uint32_t *last; /* owned; by layer */
};

static enum emu_status walk_new(const struct net *n, struct ref_walk *k)
{
    *k = (struct ref_walk){ .net = n,
                            .out = emu_alloc(n->layers, sizeof(*k->out)),
                            .last = emu_alloc(n->layers, sizeof(*k->last)) };
    if (!k->out || !k->last)
        return FAIL(NO_MEMORY, "the reference of %s", n->name);
    for (uint32_t i = 0; i < n->layers; i++) {
        for (int j = 0; j < 2; j++) {
            if (n->layer[i].input[j] != LAYER_NONE)
                k->last[n->layer[i].input[j]] = i;
        }
    }
    return EMU_OK;
}

static void walk_free(struct ref_walk *k)
{
    for (uint32_t i = 0; k->out && i < k->net->layers; i++)
        emu_free(k->out[i]);
    emu_free(k->out);
    emu_free(k->last);
}

/* Makes the output of a layer. */
static enum emu_status walk_layer(struct ref_walk *k, const struct weights *w, uint32_t i,
                                  const float *input)
{
    const struct layer *l = &k->net->layer[i];
    uint64_t elements = layer_elements(l) * k->net->batch;
    const double *in[2] = { NULL, NULL };

    k->out[i] = emu_alloc_aligned(elements, sizeof(double), 64);
    if (!k->out[i])
        return FAIL(NO_MEMORY, "the reference of %s: %s", k->net->name, l->name);
    if (l->op == LAYER_INPUT) {
        for (uint64_t e = 0; e < elements; e++)
            k->out[i][e] = input[e];
        return EMU_OK;
    }
    for (int j = 0; j < 2; j++)
        in[j] = l->input[j] == LAYER_NONE ? NULL : k->out[l->input[j]];
    ref_layer(k->net, w, i, in, k->out[i]);
    return EMU_OK;
}

/* Frees the outputs that no later layer reads. */
static void walk_drop(struct ref_walk *k, uint32_t i)
{
    const struct layer *l = &k->net->layer[i];

    for (int j = 0; j < 2; j++) {
        uint32_t from = l->input[j];

        if (from != LAYER_NONE && k->last[from] == i) {
            emu_free(k->out[from]);
            k->out[from] = NULL;
        }
    }
}

enum emu_status ref_walk(const struct net *n, const struct weights *w, const float *input,
                         ref_visit *visit, void *arg)
{
    struct ref_walk k;
    enum emu_status s = walk_new(n, &k);

    for (uint32_t i = 0; s == EMU_OK && i < n->layers; i++) {
        const struct layer *l = &n->layer[i];
        const double *in[2] = { NULL, NULL };

        s = walk_layer(&k, w, i, input);
        if (s != EMU_OK)
            break;
        for (int j = 0; j < 2; j++)
            in[j] = l->input[j] == LAYER_NONE ? NULL : k.out[l->input[j]];
        s = visit(arg, i, in, k.out[i]);
        walk_drop(&k, i);
    }
    walk_free(&k);
    return s;
}

enum emu_status ref_run(const struct net *n, const struct weights *w, const float *input, int keep,
                        struct ref *out)
{
    struct ref_walk k;
    enum emu_status s = walk_new(n, &k);

    *out = (struct ref){ 0 };
    for (uint32_t i = 0; s == EMU_OK && i < n->layers; i++) {
        s = walk_layer(&k, w, i, input);
        if (s == EMU_OK && !keep)
            walk_drop(&k, i);
    }
    if (s == EMU_OK) {
        *out = (struct ref){ .out = k.out, .layers = n->layers };
        k.out = NULL;
    }
    walk_free(&k);
    return s;
}

void ref_free(struct ref *r)
{
    for (uint32_t i = 0; i < r->layers; i++)
        emu_free(r->out[i]);
    emu_free(r->out);
    *r = (struct ref){ 0 };
}
