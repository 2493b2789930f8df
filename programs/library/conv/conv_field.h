/* conv_field.h - what depthwise convolutions and first layers share: a tile computes a part of the
 * field, one call of the kernel for each picture. Private to convolutions.
 */
#ifndef PROGRAMS_CONV_FIELD_H
#define PROGRAMS_CONV_FIELD_H

#include "programs/library/conv/conv.h"
#include "programs/library/conv/field_partition.h"

/* One call of the kernel: a part of a picture. */
struct field_call {
    uint32_t cs;
    struct tensor x, weights, y;
    uint32_t hp, wp; /* rows and columns of x */
};

/* A field convolution under construction. */
struct conv_field {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct activation x, y;
    struct tensor weights; /* constant [copies][blocks][values]; tensors: [blocks * values] */
    uint32_t blocks, values;
    int has_sums; /* 1: calls leave sums in f32, to which bias and activation are still to come */
    /* Adds the vertex of a call. */
    void (*add)(const struct conv_field *d, const struct field_call *c, const struct field_part *p);
};

/* Computes y, all members being set. */
void conv_field_run(const struct conv_field *d);

/* The weights of 16 output channels from `first` on as f16, n of each; zeros after the last
 * channel. */
void conv_gather_block(const struct conv_layer *l, uint32_t first, uint32_t n, uint16_t *out);
/* The constant with the parameters of all blocks, once per copy. Takes over packed
 * [blocks][values]; NULL: there was no memory for them. */
struct tensor conv_field_constant(const struct conv_field *d, uint16_t *packed);

#endif
