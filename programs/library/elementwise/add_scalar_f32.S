// add_scalar_f32: out = a add b, b a scalar.
#include "unary.inc"

UNARY add_scalar_f32 1 2 "f32v2add $a4:5, $a0:1, $a2:3"
UNARY_TAIL add_scalar_f32, 2, "f32add $a4, $a0, $a2"
