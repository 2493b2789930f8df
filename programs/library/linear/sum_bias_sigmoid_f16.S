// sum_bias_sigmoid_f16: out = sigmoid(bias + the sum of p f32 partials).
#define NAME     sum_bias_sigmoid_f16
#define ACT      f16v2sigm $a4, $a4; f16v2sigm $a5, $a5
#include "sum_bias.inc"
