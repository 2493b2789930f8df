/* lab_conv_back.h - the gradients of a convolution in f64. */
#ifndef PROGRAMS_LAB_CONV_BACK_H
#define PROGRAMS_LAB_CONV_BACK_H

#include "programs/lab/lab.h"

/* A layer with numbers: x [n][c][h][w], dy [n][out][h][w], weights [out][in of a group][k][k]. Of
 * activations only the sizes count. */
struct conv_back {
    const struct conv_layer *layer;
    struct activation x, y;
    const float *in, *slope, *weights;
};

/* sum: the gradient of x, or of the weights, in their order; root: the root of the sum of the
 * squares of its products, which is how far rounding can carry it. Both zero before. */
void conv_back_data(const struct conv_back *b, double *sum, double *root);
void conv_back_weights(const struct conv_back *b, double *sum, double *root);

/* How far the machine may be from such a sum of products of random numbers: eight standard
 * deviations of what rounding every partial sum of 16 products does, and the rounding of the
 * result. */
double conv_back_data_bound(const struct conv_back *b, double sum, double root);
double conv_back_weights_bound(double sum, double root);

#endif
