// reduce_sum_f16_f16: the sum of p values for each of n elements.
#define NAME     reduce_sum_f16_f16
#define IN_BITS  16
#define OUT_BITS 16
#define ADD      f16v8acc
#include "reduce.inc"
