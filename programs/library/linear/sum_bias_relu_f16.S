// sum_bias_relu_f16: out = max(bias + the sum of p f32 partials, 0).
#define NAME     sum_bias_relu_f16
#define ACT      f16v4max $a4:5, $a4:5, $azeros
#include "sum_bias.inc"
