// cast_f32_i32: y = x as i32, toward zero; what is too large becomes the largest, NaN 0.
#include "unary.inc"

.equ TOWARD_ZERO, TFPU_ROUND_ZERO

UNARY cast_f32_i32 0 2 "f32int $a0, $a0, TOWARD_ZERO" "f32int $a1, $a1, TOWARD_ZERO" "f32toi32 $a4, $a0" "f32toi32 $a5, $a1"
UNARY_TAIL cast_f32_i32, 2, "f32int $a0, $a0, TOWARD_ZERO", "f32toi32 $a4, $a0"
