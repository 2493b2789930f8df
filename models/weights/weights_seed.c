/* weights_seed.c - weights from a seed: the same bits on every host, whatever else is seeded. */
#include <math.h>
#include <string.h>

#include "models/weights/weights.h"

/* Variances; weights.h says why. */
static const double conv_gain = 2.0, classifier_gain = 64.0, small = 0.1;

/* splitmix64: turns numbers that differ little into states that differ in every bit. */
static uint64_t mix(uint64_t *x)
{
    uint64_t z = *x += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

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

static void fill(struct param *p, uint64_t seed, double mean, double deviation)
{
    uint64_t x = seed ^ hash64(p->name, strlen(p->name));
    struct prng g = { .s0 = mix(&x) };

    g.s1 = mix(&x);
    for (uint64_t i = 0; i < p->elements; i++)
        p->data[i] = (float)(mean + deviation * normal(&g));
}

/* Deviation of the values of a convolution or linear layer. */
static double deviation(const struct layer *l, const struct param *p)
{
    if (p->rank == 2)
        return sqrt(classifier_gain / l->in_c);
    return sqrt(conv_gain * l->groups / ((double)l->out_c * l->kernel * l->kernel));
}

void weights_seed(struct weights *w, const struct net *n, uint64_t seed)
{
    for (uint32_t i = 0; i < w->params; i++) {
        struct param *p = &w->param[i];
        const struct layer *l = &n->layer[p->layer];
        const char *suffix = strrchr(p->name, '.') + 1;

        if (!strcmp(suffix, "running_mean"))
            fill(p, 0, 0, 0);
        else if (!strcmp(suffix, "running_var"))
            fill(p, 0, 1, 0);
        else if (!strcmp(suffix, "bias"))
            fill(p, seed, 0, small);
        else if (l->op == LAYER_NORM)
            fill(p, seed, 1, small);
        else
            fill(p, seed, 0, deviation(l, p));
    }
    w->names = NULL;
}
