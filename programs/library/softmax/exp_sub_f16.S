// exp_sub_f16: y = e^(x - s[0]), the difference made in f32 and rounded to f16.
#include "../elementwise/unary.inc"

UNARY exp_sub_f16 2 4 "f16v2tof32 $a4:5, $a0" "f16v2tof32 $a6:7, $a1" "f32v2sub $a4:5, $a4:5, $a2:3" \
    "f32v2sub $a6:7, $a6:7, $a2:3" "f32v4tof16 $a6:7, $a4:7" "f16v2exp $a4, $a6" "f16v2exp $a5, $a7"
UNARY_TAIL exp_sub_f16, 4, "f16v2tof32 $a4:5, $a0", "f32v2sub $a4:5, $a4:5, $a2:3", "f32v2tof16 $a4, $a4:5", "f16v2exp $a4, $a4"
