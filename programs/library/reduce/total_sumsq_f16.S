// total_sumsq_f16: out[w] = sum of squares of the share of worker w.
#define NAME     total_sumsq_f16
#define BITS     16
#define ADD      f16v8sqacc
#define SQUARE
#include "total.inc"
