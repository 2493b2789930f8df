// mul_scalar_f32: out = a mul b, b a scalar.
#include "unary.inc"

UNARY mul_scalar_f32 1 2 "f32v2mul $a4:5, $a0:1, $a2:3"
