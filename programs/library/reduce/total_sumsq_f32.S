// total_sumsq_f32: out[w] = sum of squares of the share of worker w.
#define NAME     total_sumsq_f32
#define BITS     32
#define ADD      f32v4sqacc
#define SQUARE
#include "total.inc"
