/* ref_layers.h - one function of the reference for each kind of layer; private to models/ref.
 *
 * Tensors are [batch][c][h][w] in f64. Each number of an output is computed by one thread, in an
 * order that depends on the layer only, so bits do not depend on threads.
 */
#ifndef MODELS_REF_LAYERS_H
#define MODELS_REF_LAYERS_H

#include "models/ref/ref.h"

/* bias: NULL where there is none. */
void ref_conv(const struct layer *l, uint32_t batch, const float *weight, const float *bias,
              const double *in, double *out);

/* Mean of n numbers, and their variance as a whole population, not as a sample. */
void ref_moments(const double *x, uint64_t n, double *mean, double *variance);

/* e^x within 2 units in the last place; no host libm, so the same bits everywhere. 0 below the
 * smallest normal number, inf above the greatest. */
double ref_exp(double x);

static inline double ref_sigmoid(double x)
{
    return 1 / (1 + ref_exp(-x));
}

#endif
