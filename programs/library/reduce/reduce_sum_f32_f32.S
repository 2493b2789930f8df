// reduce_sum_f32_f32: the sum of p values for each of n elements.
#define NAME     reduce_sum_f32_f32
#define IN_BITS  32
#define OUT_BITS 32
#define ADD      f32v4acc
#include "reduce.inc"
