// cast_i32_f32: y = x as f32, rounded.
#include "unary.inc"

UNARY cast_i32_f32 0 2 "f32fromi32 $a4, $a0" "f32fromi32 $a5, $a1"
UNARY_TAIL cast_i32_f32, 2, "f32fromi32 $a4, $a0"
