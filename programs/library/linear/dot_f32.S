// dot_f32: out[w] = sum of products over the share of worker w.
#define NAME     dot_f32
#define BITS     32
#define MAC      f32v2mac
#include "dot.inc"
