// tanh_f32: y = tanh x.
#include "unary.inc"

UNARY tanh_f32 0 2 "f32tanh $a4, $a0" "f32tanh $a5, $a1"
UNARY_TAIL tanh_f32, 2, "f32tanh $a4, $a0"
