// reduce_bias_f16: out = b + the sum of p partials.
#define NAME     reduce_bias_f16
#include "reduce_bias.inc"
