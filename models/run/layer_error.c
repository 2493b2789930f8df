/* layer_error.c - bounds of what f16 does to each layer (see layer_error.h). */
#include "emu/base/alloc.h"
#include "models/run/layer_error.h"

#include <math.h>
#include <string.h>

static const double u = 0x1p-11, t = 0x1p-25;

enum { ROUNDINGS_AFTER = 4 };

enum emu_status layer_bounds_init(struct layer_bounds *b, const struct net *n,
                                  const struct weights *w)
{
    *b = (struct layer_bounds){ .net = n, .weights = w };
    TRY(weights_new(n, &b->magnitude));
    for (uint32_t i = 0; i < w->params; i++) {
        for (uint64_t k = 0; k < w->param[i].elements; k++)
            b->magnitude->param[i].data[k] = fabsf(w->param[i].data[k]);
    }
    return EMU_OK;
}

void layer_bounds_free(struct layer_bounds *b)
{
    weights_free(b->magnitude);
    b->magnitude = NULL;
}

void layer_value_free(struct layer_value *x)
{
    emu_free(x->v);
    emu_free(x->e);
    memset(x, 0, sizeof(*x));
}

void layer_value_round(struct layer_value *x, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        x->e[i] += u * fabs(x->v[i]) + t;
}

static uint64_t in_elements(const struct net *n, const struct layer *l)
{
    return (uint64_t)n->batch * l->in_c * l->in_h * l->in_w;
}

/* ---- sums of products ---- */

/* Turns e, |weights| times |inputs| and |weights| times the inputs' bounds, into bounds. */
static enum emu_status product_error(const struct layer_bounds *b, uint32_t layer,
                                     const struct layer_value *in, struct layer_value *out,
                                     uint64_t n)
{
    const struct layer *l = &b->net->layer[layer];
    uint64_t inputs = in_elements(b->net, l);
    uint32_t terms = l->in_c / l->groups * l->kernel * l->kernel;
    uint32_t blocks =
        (l->in_c / l->groups + CHANNEL_BLOCK - 1) / CHANNEL_BLOCK * l->kernel * l->kernel;
    double *size = emu_alloc(inputs, sizeof(*size)), *more = NULL, largest = 0;
    double factor = (blocks + ROUNDINGS_AFTER + 1) * u + 0x1p-20;

    if (!size)
        return FAIL(NO_MEMORY, "%s", l->name);
    for (uint64_t i = 0; i < inputs; i++) {
        size[i] = fabs(in->v[i]) + (in->e ? in->e[i] : 0);
        largest = fmax(largest, size[i]);
    }
    ref_layer(b->net, b->magnitude, layer, (const double *const[2]){ size, NULL }, out->e);
    emu_free(size);
    for (uint64_t i = 0; i < n; i++)
        out->e[i] = out->e[i] * factor + t * (terms * largest + ROUNDINGS_AFTER + blocks);
    if (!in->e)
        return EMU_OK;
    more = emu_alloc(n, sizeof(*more));
    if (!more)
        return FAIL(NO_MEMORY, "%s", l->name);
    ref_layer(b->net, b->magnitude, layer, (const double *const[2]){ in->e, NULL }, more);
    for (uint64_t i = 0; i < n; i++)
        out->e[i] += more[i];
    emu_free(more);
    return EMU_OK;
}

/* ---- norms ---- */

static enum emu_status fold_error(const struct layer_bounds *b, uint32_t layer,
                                  const struct layer_value *in, struct layer_value *out, uint64_t n)
{
    const struct layer *l = &b->net->layer[layer];
    uint64_t plane = (uint64_t)l->out_h * l->out_w;
    float *scale = emu_alloc(2 * (size_t)l->out_c, sizeof(*scale)), *shift = scale + l->out_c;

    if (!scale)
        return FAIL(NO_MEMORY, "%s", l->name);
    weights_fold(b->weights, b->net, layer, scale, shift);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t c = i / plane % l->out_c;

        out->e[i] =
            fabs((double)scale[c]) * (in->e ? in->e[i] : 0) + 4 * (u * fabs((double)shift[c]) + t);
    }
    emu_free(scale);
    return EMU_OK;
}

/* A group of channels of one picture: n numbers from number `at` on, `plane` of each channel. */
static void group_error(const struct layer *l, const float *gamma, const float *beta,
                        const struct layer_value *in, struct layer_value *out, uint64_t at,
                        uint64_t n)
{
    uint64_t plane = (uint64_t)l->out_h * l->out_w;
    double mean = 0, variance = 0, error = 0, s;

    for (uint64_t i = at; i < at + n; i++) {
        mean += in->v[i];
        error += in->e ? in->e[i] : 0;
    }
    mean /= (double)n;
    error /= (double)n;
    for (uint64_t i = at; i < at + n; i++)
        variance += (in->v[i] - mean) * (in->v[i] - mean);
    s = 1 / sqrt(variance / (double)n + l->eps);
    for (uint64_t i = at; i < at + n; i++) {
        uint64_t c = i / plane % l->out_c;
        double g = fabs(s * gamma[c]), x = fabs(in->v[i]);

        out->e[i] = 6 * (u * (g * x + g * fabs(mean) + fabs((double)beta[c])) + t) +
                    g * ((in->e ? in->e[i] : 0) + error * (1 + s * fabs(in->v[i] - mean)));
    }
}

static void groups_error(const struct layer_bounds *b, uint32_t layer, const struct layer_value *in,
                         struct layer_value *out, uint64_t n)
{
    const struct layer *l = &b->net->layer[layer];
    const float *gamma = weights_find(b->weights, layer, "weight")->data;
    const float *beta = weights_find(b->weights, layer, "bias")->data;
    uint64_t size = (uint64_t)l->out_c / l->norm_groups * l->out_h * l->out_w;

    for (uint64_t at = 0; at < n; at += size)
        group_error(l, gamma, beta, in, out, at, size);
}

/* ---- the others ---- */

static void function_error(enum layer_op op, const struct layer_value *in, struct layer_value *out,
                           uint64_t n)
{
    double slope = op == LAYER_SWISH ? 1.1 : op == LAYER_SIGMOID ? 0.25 : 1;
    double own = op == LAYER_RELU ? 0 : 4 * u, small = op == LAYER_RELU ? 0 : 16 * t;

    for (uint64_t i = 0; i < n; i++)
        out->e[i] = slope * (in->e ? in->e[i] : 0) + own * fabs(out->v[i]) + small;
}

static enum emu_status pool_error(const struct layer_bounds *b, uint32_t layer,
                                  const struct layer_value *in, struct layer_value *out, uint64_t n)
{
    const struct layer *l = &b->net->layer[layer];
    uint64_t inputs = in_elements(b->net, l), field = (uint64_t)l->in_h * l->in_w;
    double sums = l->op == LAYER_AVGPOOL ? (double)field * 0x1p-24 : 0;
    double *each = emu_alloc(inputs, sizeof(*each));

    if (!each)
        return FAIL(NO_MEMORY, "%s", l->name);
    for (uint64_t i = 0; i < inputs; i++)
        each[i] = (in->e ? in->e[i] : 0) + sums * fabs(in->v[i]);
    ref_layer(b->net, b->weights, layer, (const double *const[2]){ each, NULL }, out->e);
    for (uint64_t i = 0; i < n && sums > 0; i++)
        out->e[i] += 2 * u * fabs(out->v[i]) + t;
    emu_free(each);
    return EMU_OK;
}

static double error_at(const struct layer_value *x, uint64_t i)
{
    return x->e ? x->e[i] : 0;
}

static void pair_error(const struct layer *l, const struct layer_value in[2],
                       struct layer_value *out, uint64_t n)
{
    uint64_t plane = l->op == LAYER_SCALE ? (uint64_t)l->out_h * l->out_w : 1;

    for (uint64_t i = 0; i < n; i++) {
        double x = fabs(in[0].v[i]), y = fabs(in[1].v[i / plane]);
        double ex = error_at(&in[0], i), ey = error_at(&in[1], i / plane);

        if (l->op == LAYER_SCALE)
            out->e[i] = x * ey + y * ex + ex * ey + 2 * u * fabs(out->v[i]) + t;
        else
            out->e[i] = ex + ey + 2 * u * (x + y) + t;
    }
}

static enum emu_status error_of(const struct layer_bounds *b, uint32_t layer,
                                const struct layer_value in[2], struct layer_value *out, uint64_t n)
{
    const struct layer *l = &b->net->layer[layer];

    switch (l->op) {
    case LAYER_CONV:
    case LAYER_LINEAR:
        return product_error(b, layer, &in[0], out, n);
    case LAYER_NORM:
        if (l->norm == NORM_BATCH)
            return fold_error(b, layer, &in[0], out, n);
        groups_error(b, layer, &in[0], out, n);
        return EMU_OK;
    case LAYER_MAXPOOL:
    case LAYER_AVGPOOL:
        return pool_error(b, layer, &in[0], out, n);
    case LAYER_SCALE:
    case LAYER_ADD:
        pair_error(l, in, out, n);
        return EMU_OK;
    case LAYER_SOFTMAX:
        for (uint64_t i = 0; i < n; i++)
            out->e[i] = 0x1p-16 * out->v[i] + 0x1p-40;
        return EMU_OK;
    default:
        function_error(l->op, &in[0], out, n);
        return EMU_OK;
    }
}

enum emu_status layer_value(const struct layer_bounds *b, uint32_t layer,
                            const struct layer_value in[2], struct layer_value *out)
{
    uint64_t n = layer_elements(&b->net->layer[layer]) * b->net->batch;

    out->v = emu_alloc(n, sizeof(*out->v));
    out->e = emu_alloc(n, sizeof(*out->e));
    if (!out->v || !out->e) {
        layer_value_free(out);
        return FAIL(NO_MEMORY, "%s", b->net->layer[layer].name);
    }
    ref_layer(b->net, b->weights, layer, (const double *const[2]){ in[0].v, in[1].v }, out->v);
    return error_of(b, layer, in, out, n);
}
