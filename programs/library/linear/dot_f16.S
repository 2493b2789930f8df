// dot_f16: out[w] = sum of products over the share of worker w.
#define NAME     dot_f16
#define BITS     16
#define MAC      f16v4cmac
#include "dot.inc"
