// linear_relu_f16: y = max(bias + a x, 0) for each x.
#define NAME     linear_relu_f16
#define BIAS
#define ACT      f16v2max $a4, $a4, $azero
#include "linear.inc"
