// total_max_f32: out[w] = maximum of the share of worker w.
#define NAME     total_max_f32
#define BITS     32
#define MAX      f32v2max
#include "total.inc"
