// mul_inplace_f32: a = a mul b.
#include "binary.inc"

BINARY_INPLACE mul_inplace_f32, 2, f32v2mul, f32mul
