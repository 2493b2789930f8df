// sqrt_f32: y = root of x.
#include "unary.inc"

UNARY sqrt_f32 0 2 "f32sqrt $a4, $a0" "f32sqrt $a5, $a1"
UNARY_TAIL sqrt_f32, 2, "f32sqrt $a4, $a0"
