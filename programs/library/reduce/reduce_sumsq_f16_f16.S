// reduce_sumsq_f16_f16: the sum of squares of p values for each of n elements.
#define NAME     reduce_sumsq_f16_f16
#define IN_BITS  16
#define OUT_BITS 16
#define ADD      f16v8sqacc
#include "reduce.inc"
