// mul_inplace_f32: a = a mul b.
#include "binary.inc"

BINARY_INPLACE mul_inplace_f32, 2, "f32v2mul $a4:5, $a0:1, $a2:3"
