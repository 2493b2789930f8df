// reduce_max_f32_f32: the largest of p values for each of n elements.
#define NAME     reduce_max_f32_f32
#define IN_BITS  32
#define OUT_BITS 32
#define MAX2     f32v2max
#define MAX1     f32max
#include "reduce.inc"
