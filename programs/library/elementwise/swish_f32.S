// swish_f32: y = x / (1 + e^-x).
#include "unary.inc"

UNARY swish_f32 0 2 "f32sigm $a4, $a0" "f32sigm $a5, $a1" "f32v2mul $a4:5, $a4:5, $a0:1"
UNARY_TAIL swish_f32, 2, "f32sigm $a4, $a0", "f32mul $a4, $a4, $a0"
