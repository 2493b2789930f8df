// total_sum_f32: out[w] = sum of the share of worker w.
#define NAME     total_sum_f32
#define BITS     32
#define ADD      f32v4acc
#include "total.inc"
