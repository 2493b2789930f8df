// sum_bias_f16: out = bias + the sum of p f32 partials.
#define NAME     sum_bias_f16
#define ACT
#include "sum_bias.inc"
