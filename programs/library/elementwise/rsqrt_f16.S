// rsqrt_f16: y = 1 / root of x, made in f32.
#include "unary.inc"

UNARY rsqrt_f16 0 4 "f16v2tof32 $a2:3, $a1" "f16v2tof32 $a0:1, $a0" "f32oorx $a0, $a0" "f32oorx $a1, $a1" \
    "f32oorx $a2, $a2" "f32oorx $a3, $a3" "f32v4tof16 $a4:5, $a0:3"
UNARY_TAIL rsqrt_f16, 4, "f16v2tof32 $a0:1, $a0", "f32oorx $a0, $a0", "f32oorx $a1, $a1", "f32v2tof16 $a4, $a0:1"
