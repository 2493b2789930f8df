// linear_swish_f16: y = swish(bias + a x) for each x.
#define NAME     linear_swish_f16
#define BIAS
#define ACT      f16v2sigm $a5, $a4; f16v2mul $a4, $a4, $a5
#include "linear.inc"
