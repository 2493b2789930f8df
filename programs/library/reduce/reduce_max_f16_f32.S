// reduce_max_f16_f32: the largest of p values for each of n elements.
#define NAME     reduce_max_f16_f32
#define IN_BITS  16
#define OUT_BITS 32
#define MAX2     f16v4max
#define MAX1     f16v2max
#include "reduce.inc"
