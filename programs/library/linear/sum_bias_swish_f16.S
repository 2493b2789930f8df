// sum_bias_swish_f16: out = swish(bias + the sum of p f32 partials).
#define NAME     sum_bias_swish_f16
#define ACT      f16v2sigm $a12, $a4; f16v2sigm $a13, $a5; f16v4mul $a4:5, $a12:13, $a4:5
#include "sum_bias.inc"
