// reduce_bias_relu_f16: out = max(b + the sum of p partials, 0).
#define NAME     reduce_bias_relu_f16
#define ACTIVE0
#define FINISH0  f16v4max $a4:5, $a4:5, $azeros
#define ACTIVE1
#define FINISH1  f16v4max $a6:7, $a6:7, $azeros
#include "reduce_bias.inc"
