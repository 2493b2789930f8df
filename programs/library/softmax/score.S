// score.S: scores, each with one number that is the same for all.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"
#include "../elementwise/unary.inc"

UNARY exp_sub_f16 2 4 "f16v2tof32 $a4:5, $a0" "f16v2tof32 $a6:7, $a1" "f32v2sub $a4:5, $a4:5, $a2:3" \
    "f32v2sub $a6:7, $a6:7, $a2:3" "f32v4tof16 $a6:7, $a4:7" "f16v2exp $a4, $a6" "f16v2exp $a5, $a7"
UNARY_TAIL exp_sub_f16, 4, "f16v2tof32 $a4:5, $a0", "f32v2sub $a4:5, $a4:5, $a2:3", "f32v2tof16 $a4, $a4:5", "f16v2exp $a4, $a4"

UNARY exp_sub_f32 2 2 "f32v2sub $a6:7, $a0:1, $a2:3" "f32exp $a4, $a6" "f32exp $a5, $a7"
UNARY_TAIL exp_sub_f32, 2, "f32sub $a4, $a0, $a2", "f32exp $a4, $a4"

UNARY mul_by_f16 2 4 "f16v2tof32 $a4:5, $a0" "f16v2tof32 $a6:7, $a1" "f32v2mul $a4:5, $a4:5, $a2:3" \
    "f32v2mul $a6:7, $a6:7, $a2:3" "f32v4tof16 $a4:5, $a4:7"
UNARY_TAIL mul_by_f16, 4, "f16v2tof32 $a4:5, $a0", "f32v2mul $a4:5, $a4:5, $a2:3", "f32v2tof16 $a4, $a4:5"

UNARY mul_by_f32 2 2 "f32v2mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_by_f32, 2, "f32mul $a4, $a0, $a2"

UNARY reciprocal_f32 0 2 "f32oox $a4, $a0" "f32oox $a5, $a1"
UNARY_TAIL reciprocal_f32, 2, "f32oox $a4, $a0"
