// total_sum_f16: out[w] = sum of the share of worker w.
#define NAME     total_sum_f16
#define BITS     16
#define ADD      f16v8acc
#include "total.inc"
