// max_scalar_f32: out = a max b, b a scalar.
#include "unary.inc"

UNARY max_scalar_f32 1 2 "f32v2max $a4:5, $a0:1, $a2:3"
UNARY_TAIL max_scalar_f32, 2, "f32max $a4, $a0, $a2"
