// sigmoid_f32: y = 1 / (1 + e^-x).
#include "unary.inc"

UNARY sigmoid_f32 0 2 "f32sigm $a4, $a0" "f32sigm $a5, $a1"
UNARY_TAIL sigmoid_f32, 2, "f32sigm $a4, $a0"
