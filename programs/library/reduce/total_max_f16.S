// total_max_f16: out[w] = maximum of the share of worker w.
#define NAME     total_max_f16
#define BITS     16
#define MAX      f16v4max
#include "total.inc"
