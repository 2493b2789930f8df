// reduce_bias_f32: out = b + the sum of p partials, halves of 16 channels apart.
#define NAME     reduce_bias_f32
#include "reduce_bias_f32.inc"
