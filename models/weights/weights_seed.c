/* weights_seed.c - draws weights from a seed. The bits of a parameter are the same on every host
 * and do not depend on other parameters. */
#include <math.h>
#include <string.h>

#include "emu/base/hash.h"
#include "emu/base/name_text.h"
#include "emu/base/prng.h"
#include "emu/base/random.h"
#include "models/weights/weights.h"

/* weights.h says why these. Variances times fan-out and fan-in; a deviation. */
static const double conv_gain = 2.0, classifier_gain = 64.0, small = 0.1;
/* The scale of a residual branch; the deviation of shifts in networks without squeeze and
 * excitation. */
static const double branch = 0.3, ungated_shift = 1;
/* Squeeze and excitation: sums of the means, and variances times fan-in. Pooled numbers are about
 * 0.2, so the squeezed ones are about 2, and gates are open as far as 1 - 0.6 x 1.8 says: half. */
static const double squeeze_mean = 10, squeeze_gain = 6;
static const double gate_mean = -0.6, gate_gain = 0.12, gate_bias = 1;

/* About N(0, 1): twelve uniform 16-bit numbers less their mean, so within +-6; exact in f64. */
static double normal(struct prng *p)
{
    int64_t sum = 0;

    for (int i = 0; i < 3; i++) {
        uint64_t out = prng_next(p);

        sum +=
            (int64_t)((out & 0xffff) + (out >> 16 & 0xffff) + (out >> 32 & 0xffff) + (out >> 48));
    }
    return (double)(2 * sum - 12 * 0xffff) * 0x1p-17;
}

/* What the values of a parameter are drawn from. */
struct draw {
    double mean, deviation;
};

static void fill(struct param *p, uint64_t seed, struct draw d)
{
    uint64_t x = seed ^ hash64(p->name, strlen(p->name));
    struct prng g = { .s0 = random_next(&x) };

    g.s1 = random_next(&x);
    for (uint64_t i = 0; i < p->elements; i++)
        p->data[i] = (float)(d.mean + d.deviation * normal(&g));
}

/* A layer of squeeze and excitation, or the classifier. */
static struct draw linear_draw(const struct net *n, uint32_t i)
{
    double in_c = net_param_shape(n, i)->dim[1];
    enum param_role role = n->param[i].role;

    if (!strcmp(n->param[i].suffix, "bias"))
        return (struct draw){ role == PARAM_GATE ? gate_bias : 0, small };
    if (role == PARAM_CLASSIFIER)
        return (struct draw){ 0, sqrt(classifier_gain / in_c) };
    return role == PARAM_GATE ? (struct draw){ gate_mean / in_c, sqrt(gate_gain / in_c) }
                              : (struct draw){ squeeze_mean / in_c, sqrt(squeeze_gain / in_c) };
}

static struct draw norm_draw(const struct net *n, uint32_t i)
{
    const char *suffix = n->param[i].suffix;
    double scale = n->param[i].role == PARAM_BRANCH_NORM ? branch : 1;

    if (!strcmp(suffix, "running_mean"))
        return (struct draw){ 0, 0 };
    if (!strcmp(suffix, "running_var"))
        return (struct draw){ 1, 0 };
    if (!strcmp(suffix, "bias"))
        return (struct draw){ 0, scale * (n->gated ? small : ungated_shift) };
    return (struct draw){ scale, scale * small };
}

static struct draw conv_draw(const struct net *n, uint32_t i)
{
    const uint32_t *dim = net_param_shape(n, i)->dim; /* [out][in][kernel][kernel] */

    return (struct draw){ 0, sqrt(conv_gain * n->param[i].groups /
                                  ((double)dim[0] * dim[2] * dim[3])) };
}

static struct draw draw_of(const struct net *n, uint32_t i)
{
    switch (n->param[i].role) {
    case PARAM_CONV:
        return conv_draw(n, i);
    case PARAM_NORM:
    case PARAM_BRANCH_NORM:
        return norm_draw(n, i);
    default:
        return linear_draw(n, i);
    }
}

void weights_seed(struct weights *w, const struct net *n, uint64_t seed)
{
#pragma omp parallel for schedule(dynamic, 1)
    for (uint32_t i = 0; i < w->params; i++)
        fill(&w->param[i], seed, draw_of(n, i));
    w->names = NULL;
}

void weights_blank(struct weights *w)
{
    for (uint32_t i = 0; i < w->params; i++) {
        struct param *p = &w->param[i];

        if (!name_ends_with(p->name, ".bias") && !name_ends_with(p->name, ".running_var"))
            continue;
        for (uint64_t k = 0; k < p->elements; k++)
            p->data[k] = 1;
    }
}
