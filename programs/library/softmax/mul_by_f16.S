// mul_by_f16: y = x s[0], made in f32.
#include "../elementwise/unary.inc"

UNARY mul_by_f16 2 4 "f16v2tof32 $a4:5, $a0" "f16v2tof32 $a6:7, $a1" "f32v2mul $a4:5, $a4:5, $a2:3" \
    "f32v2mul $a6:7, $a6:7, $a2:3" "f32v4tof16 $a4:5, $a4:7"
UNARY_TAIL mul_by_f16, 4, "f16v2tof32 $a4:5, $a0", "f32v2mul $a4:5, $a4:5, $a2:3", "f32v2tof16 $a4, $a4:5"
