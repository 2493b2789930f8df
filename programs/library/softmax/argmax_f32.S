// argmax_f32: the largest of every worker's share of x, and where it is.
#define NAME     argmax_f32
#define BITS     32
#include "argmax.inc"
