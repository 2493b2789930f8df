// unary.S: one operand, or a tensor and a scalar.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "unary.inc"

.equ TOWARD_ZERO, TFPU_ROUND_ZERO
.equ NEAREST, 0
.equ UP, 1
.equ DOWN, 2

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

UNARY min_scalar_f16 1 4 "f16v4min $a4:5, $a0:1, $a2:3"
UNARY_TAIL min_scalar_f16, 4, "f16v2min $a4, $a0, $a2"

UNARY min_scalar_f32 1 2 "f32v2min $a4:5, $a0:1, $a2:3"
UNARY_TAIL min_scalar_f32, 2, "f32min $a4, $a0, $a2"

UNARY scalar_sub_f16 1 4 "f16v4sub $a4:5, $a2:3, $a0:1"
UNARY_TAIL scalar_sub_f16, 4, "f16v2sub $a4, $a2, $a0"

UNARY scalar_sub_f32 1 2 "f32v2sub $a4:5, $a2:3, $a0:1"
UNARY_TAIL scalar_sub_f32, 2, "f32sub $a4, $a2, $a0"

// 1 where a condition holds, else 0: its mask, and 1 in $a6:7. how: of the tensor and the scalar, or the other way round.
.macro COMPARE name how p q p1 q1
UNARY \name\()_f16 1 4 "f16v4\how $a4:5, \p, \q" "and64 $a4:5, $a4:5, $a6:7" s1="setzi $a6, 0x03c00" s2="or $a6, $a6, 0x3c000000" \
    s3="mov $a7, $a6"
UNARY_TAIL \name\()_f16, 4, "f16v2\how $a4, \p1, \q1", "and $a4, $a4, $a6"

UNARY \name\()_f32 1 2 "f32v2\how $a4:5, \p, \q" "and64 $a4:5, $a4:5, $a6:7" s1="or $a6, $azero, 0x3f800000" s2="mov $a7, $a6"
UNARY_TAIL \name\()_f32, 2, "f32\how $a4, \p1, \q1", "and $a4, $a4, $a6"
.endm

COMPARE less_scalar, cmplt, "$a0:1", "$a2:3", "$a0", "$a2"
COMPARE less_or_equal_scalar, cmple, "$a0:1", "$a2:3", "$a0", "$a2"
COMPARE equal_scalar, cmpeq, "$a0:1", "$a2:3", "$a0", "$a2"
COMPARE scalar_less, cmplt, "$a2:3", "$a0:1", "$a2", "$a0"
COMPARE scalar_less_or_equal, cmple, "$a2:3", "$a0:1", "$a2", "$a0"

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

UNARY abs_f16 0 4 "f16v4absmax $a4:5, $a0:1, $a0:1"
UNARY_TAIL abs_f16, 4, "f16v2absmax $a4, $a0, $a0"

UNARY abs_f32 0 2 "f32v2absmax $a4:5, $a0:1, $a0:1"
UNARY_TAIL abs_f32, 2, "f32absmax $a4, $a0, $a0"

UNARY log_f16 0 4 "f16v2ln $a4, $a0" "f16v2ln $a5, $a1"
UNARY_TAIL log_f16, 4, "f16v2ln $a4, $a0"

UNARY log_f32 0 2 "f32ln $a4, $a0" "f32ln $a5, $a1"
UNARY_TAIL log_f32, 2, "f32ln $a4, $a0"

UNARY reciprocal_f16 0 4 "f16v2tof32 $a2:3, $a1" "f16v2tof32 $a0:1, $a0" "f32oox $a0, $a0" "f32oox $a1, $a1" \
    "f32oox $a2, $a2" "f32oox $a3, $a3" "f32v4tof16 $a4:5, $a0:3"
UNARY_TAIL reciprocal_f16, 4, "f16v2tof32 $a0:1, $a0", "f32oox $a0, $a0", "f32oox $a1, $a1", "f32v2tof16 $a4, $a0:1"

// A whole number, in one of the directions above.
.macro WHOLE name direction
UNARY \name\()_f16 0 4 "f16v2tof32 $a2:3, $a1" "f16v2tof32 $a0:1, $a0" "f32int $a0, $a0, \direction" \
    "f32int $a1, $a1, \direction" "f32int $a2, $a2, \direction" "f32int $a3, $a3, \direction" "f32v4tof16 $a4:5, $a0:3"
UNARY_TAIL \name\()_f16, 4, "f16v2tof32 $a0:1, $a0", "f32int $a0, $a0, \direction", "f32int $a1, $a1, \direction", \
    "f32v2tof16 $a4, $a0:1"

UNARY \name\()_f32 0 2 "f32int $a4, $a0, \direction" "f32int $a5, $a1, \direction"
UNARY_TAIL \name\()_f32, 2, "f32int $a4, $a0, \direction"
.endm

WHOLE floor, DOWN
WHOLE ceil, UP
WHOLE round, NEAREST

// x min(max(x + 3, 0), 6) / 6: in this order every step is exact to a rounding. $a2: 3, $a3: 0 and 6. 1/6 is the sum of two f16 in
// $TAS: one alone is off by 2^-12, to the same side in every layer. An accumulator delivers the sum of both products.
.equ CLEAR, 1 << CSR_W_FP_CLR__ZAACC__SHIFT
UNARY hard_swish_f16 0 4 "f16v4add $a4:5, $a2:BL, $a0:1" "f16v4clamp $a4:5, $a4:5, $a3" "f16v4mix $azeros, $a4:5, $a4:5" \
    "f16v4mix $a4:5, $azeros, $azeros" "f16v4mul $a4:5, $a4:5, $a0:1" s1="setzi $a2, 0x4200" s2="or $a3, $azero, 0x46000000" \
    s3="setzi $a6, 0xb3155" s4="or $a6, $a6, 0x02a00000" s5="uput $TAS, $a6" \
    s6="setzi $a7, CLEAR" s7="uput $FP_CLR, $a7"
UNARY_TAIL hard_swish_f16, 4, "f16v2add $a4, $a2:BL, $a0", "f16v2clamp $a4, $a4, $a3", "mov $a5, $a4", \
    "f16v4mix $azeros, $a4:5, $a4:5", "f16v4mix $a4:5, $azeros, $azeros", "f16v2mul $a4, $a4, $a0"

// $a2:3: 0 and 6, $a6: 3, $a7: 1/6.
UNARY hard_swish_f32 0 2 "f32v2add $a4:5, $a6:B, $a0:1" "f32v2clamp $a4:5, $a4:5, $a2:3" "f32v2mul $a4:5, $a7:B, $a4:5" \
    "f32v2mul $a4:5, $a4:5, $a0:1" s1="setzi $a2, 0" s2="or $a3, $azero, 0x40c00000" s3="or $a6, $azero, 0x40400000" \
    s4="setzi $a7, 0xaaaab" s5="or $a7, $a7, 0x3e200000"
UNARY_TAIL hard_swish_f32, 2, "f32add $a4, $a6, $a0", "f32clamp $a4, $a4, $a2:3", "f32mul $a4, $a7, $a4", "f32mul $a4, $a4, $a0"

// x sigmoid(x (c0 + c1 u + c2 u^2)), u = x^2, at most 25, where the sigmoid is 1: fitted to 2e-5. $a2: c1 and c0, $a3: c2 and 25.
UNARY gelu_f16 0 4 "f16v4mul $a6:7, $a0:1, $a0:1" "f16v4clamp $a6:7, $a6:7, $a3" "f16v4mul $a4:5, $a3:BL, $a6:7" \
    "f16v4add $a4:5, $a2:BL, $a4:5" "f16v4mul $a4:5, $a4:5, $a6:7" "f16v4add $a4:5, $a2:BU, $a4:5" "f16v4mul $a4:5, $a4:5, $a0:1" \
    "f16v2sigm $a4, $a4" "f16v2sigm $a5, $a5" "f16v4mul $a4:5, $a4:5, $a0:1" \
    s1="setzi $a2, 0x22cb6" s2="or $a2, $a2, 0x3e600000" s3="setzi $a3, 0x0912d" s4="or $a3, $a3, 0x4e400000"
UNARY_TAIL gelu_f16, 4, "f16v2mul $a6, $a0, $a0", "f16v2clamp $a6, $a6, $a3", "f16v2mul $a4, $a3:BL, $a6", \
    "f16v2add $a4, $a2:BL, $a4", "f16v2mul $a4, $a4, $a6", "f16v2add $a4, $a2:BU, $a4", "f16v2mul $a4, $a4, $a0", \
    "f16v2sigm $a4, $a4", "f16v2mul $a4, $a4, $a0"

// Slopes up to 1: the larger of x and slope x, which is NaN if x is.
UNARY leaky_relu_f16 1 4 "f16v4mul $a4:5, $a0:1, $a2:3" "f16v4max $a4:5, $a4:5, $a0:1"
UNARY_TAIL leaky_relu_f16, 4, "f16v2mul $a4, $a0, $a2", "f16v2max $a4, $a4, $a0"

UNARY leaky_relu_f32 1 2 "f32v2mul $a4:5, $a0:1, $a2:3" "f32v2max $a4:5, $a4:5, $a0:1"
UNARY_TAIL leaky_relu_f32, 2, "f32mul $a4, $a0, $a2", "f32max $a4, $a4, $a0"

UNARY clamp_f16 3 4 "f16v4clamp $a4:5, $a0:1, $a2" s2="sort4x16lo $a2, $a2, $a3"
UNARY_TAIL clamp_f16, 4, "f16v2clamp $a4, $a0, $a2"

UNARY clamp_f32 3 2 "f32v2clamp $a4:5, $a0:1, $a2:3"
UNARY_TAIL clamp_f32, 2, "f32clamp $a4, $a0, $a2:3"

// $a6, f32 $a6:7: 0 and 1.
UNARY hard_sigmoid_f16 3 4 "f16v4mul $a4:5, $a2:BL, $a0:1" "f16v4add $a4:5, $a3:BL, $a4:5" "f16v4clamp $a4:5, $a4:5, $a6" \
    s1="or $a6, $azero, 0x3c000000"
UNARY_TAIL hard_sigmoid_f16, 4, "f16v2mul $a4, $a2:BL, $a0", "f16v2add $a4, $a3:BL, $a4", "f16v2clamp $a4, $a4, $a6"

UNARY hard_sigmoid_f32 3 2 "f32v2mul $a4:5, $a2:B, $a0:1" "f32v2add $a4:5, $a3:B, $a4:5" "f32v2clamp $a4:5, $a4:5, $a6:7" \
    s1="setzi $a6, 0" s2="or $a7, $azero, 0x3f800000"
UNARY_TAIL hard_sigmoid_f32, 2, "f32mul $a4, $a2, $a0", "f32add $a4, $a3, $a4", "f32clamp $a4, $a4, $a6:7"
