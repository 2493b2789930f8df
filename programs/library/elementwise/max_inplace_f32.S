// max_inplace_f32: a = a max b.
#include "binary.inc"

BINARY_INPLACE max_inplace_f32, 2, f32v2max, f32max
