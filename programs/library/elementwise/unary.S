// unary.S: one operand, or a tensor and a scalar.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "unary.inc"

.equ TOWARD_ZERO, TFPU_ROUND_ZERO

UNARY cast_i32_f32 0 2 "f32fromi32 $a4, $a0" "f32fromi32 $a5, $a1"
UNARY_TAIL cast_i32_f32, 2, "f32fromi32 $a4, $a0"

UNARY cast_f32_i32 0 2 "f32int $a0, $a0, TOWARD_ZERO" "f32int $a1, $a1, TOWARD_ZERO" "f32toi32 $a4, $a0" "f32toi32 $a5, $a1"
UNARY_TAIL cast_f32_i32, 2, "f32int $a0, $a0, TOWARD_ZERO", "f32toi32 $a4, $a0"

UNARY add_scalar_f16 1 4 "f16v4add $a4:5, $a0:1, $a2:3"
UNARY_TAIL add_scalar_f16, 4, "f16v2add $a4, $a0, $a2"

UNARY add_scalar_f32 1 2 "f32v2add $a4:5, $a0:1, $a2:3"
UNARY_TAIL add_scalar_f32, 2, "f32add $a4, $a0, $a2"

UNARY sub_scalar_f16 1 4 "f16v4sub $a4:5, $a0:1, $a2:3"
UNARY_TAIL sub_scalar_f16, 4, "f16v2sub $a4, $a0, $a2"

UNARY sub_scalar_f32 1 2 "f32v2sub $a4:5, $a0:1, $a2:3"
UNARY_TAIL sub_scalar_f32, 2, "f32sub $a4, $a0, $a2"

UNARY mul_scalar_f16 1 4 "f16v4mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_scalar_f16, 4, "f16v2mul $a4, $a0, $a2"

UNARY mul_scalar_f32 1 2 "f32v2mul $a4:5, $a0:1, $a2:3"
UNARY_TAIL mul_scalar_f32, 2, "f32mul $a4, $a0, $a2"

UNARY max_scalar_f16 1 4 "f16v4max $a4:5, $a0:1, $a2:3"
UNARY_TAIL max_scalar_f16, 4, "f16v2max $a4, $a0, $a2"

UNARY max_scalar_f32 1 2 "f32v2max $a4:5, $a0:1, $a2:3"
UNARY_TAIL max_scalar_f32, 2, "f32max $a4, $a0, $a2"

UNARY relu_f16 0 4 "f16v4max $a4:5, $a0:1, $azeros"
UNARY_TAIL relu_f16, 4, "f16v2max $a4, $a0, $azero"

UNARY relu_f32 0 2 "f32v2max $a4:5, $a0:1, $azeros"
UNARY_TAIL relu_f32, 2, "f32max $a4, $a0, $azero"

UNARY sigmoid_f16 0 4 "f16v2sigm $a4, $a0" "f16v2sigm $a5, $a1"
UNARY_TAIL sigmoid_f16, 4, "f16v2sigm $a4, $a0"

UNARY sigmoid_f32 0 2 "f32sigm $a4, $a0" "f32sigm $a5, $a1"
UNARY_TAIL sigmoid_f32, 2, "f32sigm $a4, $a0"

UNARY swish_f16 0 4 "f16v2sigm $a4, $a0" "f16v2sigm $a5, $a1" "f16v4mul $a4:5, $a4:5, $a0:1"
UNARY_TAIL swish_f16, 4, "f16v2sigm $a4, $a0", "f16v2mul $a4, $a4, $a0"

UNARY swish_f32 0 2 "f32sigm $a4, $a0" "f32sigm $a5, $a1" "f32v2mul $a4:5, $a4:5, $a0:1"
UNARY_TAIL swish_f32, 2, "f32sigm $a4, $a0", "f32mul $a4, $a4, $a0"

UNARY tanh_f16 0 4 "f16v2tanh $a4, $a0" "f16v2tanh $a5, $a1"
UNARY_TAIL tanh_f16, 4, "f16v2tanh $a4, $a0"

UNARY tanh_f32 0 2 "f32tanh $a4, $a0" "f32tanh $a5, $a1"
UNARY_TAIL tanh_f32, 2, "f32tanh $a4, $a0"

UNARY exp_f16 0 4 "f16v2exp $a4, $a0" "f16v2exp $a5, $a1"
UNARY_TAIL exp_f16, 4, "f16v2exp $a4, $a0"

UNARY exp_f32 0 2 "f32exp $a4, $a0" "f32exp $a5, $a1"
UNARY_TAIL exp_f32, 2, "f32exp $a4, $a0"

UNARY sqrt_f16 0 4 "f16v2tof32 $a2:3, $a1" "f16v2tof32 $a0:1, $a0" "f32sqrt $a0, $a0" "f32sqrt $a1, $a1" "f32sqrt $a2, $a2" \
    "f32sqrt $a3, $a3" "f32v4tof16 $a4:5, $a0:3"
UNARY_TAIL sqrt_f16, 4, "f16v2tof32 $a0:1, $a0", "f32sqrt $a0, $a0", "f32sqrt $a1, $a1", "f32v2tof16 $a4, $a0:1"

UNARY sqrt_f32 0 2 "f32sqrt $a4, $a0" "f32sqrt $a5, $a1"
UNARY_TAIL sqrt_f32, 2, "f32sqrt $a4, $a0"

UNARY rsqrt_f16 0 4 "f16v2tof32 $a2:3, $a1" "f16v2tof32 $a0:1, $a0" "f32oorx $a0, $a0" "f32oorx $a1, $a1" \
    "f32oorx $a2, $a2" "f32oorx $a3, $a3" "f32v4tof16 $a4:5, $a0:3"
UNARY_TAIL rsqrt_f16, 4, "f16v2tof32 $a0:1, $a0", "f32oorx $a0, $a0", "f32oorx $a1, $a1", "f32v2tof16 $a4, $a0:1"

UNARY rsqrt_f32 0 2 "f32oorx $a4, $a0" "f32oorx $a5, $a1"
UNARY_TAIL rsqrt_f32, 2, "f32oorx $a4, $a0"
