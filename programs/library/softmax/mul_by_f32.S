// mul_by_f32: y = x s[0].
#include "../elementwise/unary.inc"

UNARY mul_by_f32 2 2 "f32v2mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_by_f32, 2, "f32mul $a4, $a0, $a2"
