// reduce_sum_f16_f32: the sum of p values for each of n elements.
#define NAME     reduce_sum_f16_f32
#define IN_BITS  16
#define OUT_BITS 32
#define ADD      f16v8acc
#include "reduce.inc"
