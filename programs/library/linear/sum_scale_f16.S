// sum_scale_f16: out = scale times the sum of p f32 partials.
#define NAME     sum_scale_f16
#define SCALE
#define ACT
#include "sum_bias.inc"
