// mul_scalar_f32: out = a mul b, b a scalar.
#include "unary.inc"

UNARY mul_scalar_f32 1 2 "f32v2mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_scalar_f32, 2, "f32mul $a4, $a0, $a2"
