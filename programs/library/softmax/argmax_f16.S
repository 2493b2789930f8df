// argmax_f16: the largest of every worker's share of x, and where it is.
#define NAME     argmax_f16
#define BITS     16
#include "argmax.inc"
