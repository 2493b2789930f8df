// sub_scalar_f32: out = a sub b, b a scalar.
#include "unary.inc"

UNARY sub_scalar_f32 1 2 "f32v2sub $a4:5, $a0:1, $a2:3"
UNARY_TAIL sub_scalar_f32, 2, "f32sub $a4, $a0, $a2"
