// linear_f16_f32: y = a x for each x, sums of f32.
#define NAME     linear_f16_f32
#include "linear.inc"
