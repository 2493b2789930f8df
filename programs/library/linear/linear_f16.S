// linear_f16: y = bias + a x for each x.
#define NAME     linear_f16
#define BIAS
#define ACT
#include "linear.inc"
