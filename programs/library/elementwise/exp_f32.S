// exp_f32: y = e^x.
#include "unary.inc"

UNARY exp_f32 0 2 "f32exp $a4, $a0" "f32exp $a5, $a1"
UNARY_TAIL exp_f32, 2, "f32exp $a4, $a0"
