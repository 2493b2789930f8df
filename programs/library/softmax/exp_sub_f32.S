// exp_sub_f32: y = e^(x - s[0]).
#include "../elementwise/unary.inc"

UNARY exp_sub_f32 2 2 "f32v2sub $a6:7, $a0:1, $a2:3" "f32exp $a4, $a6" "f32exp $a5, $a7"
UNARY_TAIL exp_sub_f32, 2, "f32sub $a4, $a0, $a2", "f32exp $a4, $a4"
