// rsqrt_f32: y = 1 / root of x.
#include "unary.inc"

UNARY rsqrt_f32 0 2 "f32oorx $a4, $a0" "f32oorx $a5, $a1"
UNARY_TAIL rsqrt_f32, 2, "f32oorx $a4, $a0"
