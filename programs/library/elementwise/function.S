// function.S: div, pow, slopes, erf, gelu of f32, sign, sin, cos; casts between f16 and i32.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "function.inc"

.equ NEAREST, 0
.equ TOWARD_ZERO, TFPU_ROUND_ZERO

// $a4:5 = c0 + c1 u + ... + ck u^k, u the pair in $a2:3, by Horner's rule; the constants begin with c0. HORNER begins with the last
// two, and makes u of the pair in $a0:1: its square.
.macro HORNER k
        { ld32 $a6, table, \k
          f32v2mul $a2:3, $a0:1, $a0:1 }
        { ld32 $a7, table, \k - 1
          f32v2mul $a4:5, $a6:B, $a2:3 }
        { ld32 $a6, table, \k - 2
          f32v2add $a4:5, $a7:B, $a4:5 }
        HORNER_REST (\k - 2)
.endm

.macro HORNER_REST k
        f32v2mul $a4:5, $a4:5, $a2:3
.if \k
        { ld32 $a6, table, \k - 1
          f32v2add $a4:5, $a6:B, $a4:5 }
        HORNER_REST (\k - 1)
.else
        f32v2add $a4:5, $a6:B, $a4:5
.endif
.endm

// ---- division and powers ----

.macro DIV_PAIR
        f32div $a4, $a0, $a2
        f32div $a5, $a1, $a3
.endm

// 2^(y log2 |x|); 1 where y is 0; of negative x NaN where y is no whole number, and negative where it is odd.
.macro POW_PAIR
        f32v2absmax $a4:5, $a0:1, $a0:1
        f32log2 $a4, $a4
        f32log2 $a5, $a5
        f32v2mul $a4:5, $a4:5, $a2:3
        f32exp2 $a4, $a4
        f32exp2 $a5, $a5
        f32v2cmplt $a0:1, $a0:1, $azeros   // mask: x is negative
        f32int $a6, $a2, NEAREST
        f32int $a7, $a3, NEAREST
        f32v2cmpne $a6:7, $a6:7, $a2:3
        and64 $a6:7, $a6:7, $a0:1
        or64 $a4:5, $a4:5, $a6:7           // all bits are a NaN
        or $a6, $azero, 0x3f000000
        f32v2mul $a6:7, $a6:B, $a2:3       // y / 2
        f32int $a6, $a6, NEAREST
        f32int $a7, $a7, NEAREST
        f32v2add $a6:7, $a6:7, $a6:7
        f32v2cmpne $a6:7, $a6:7, $a2:3
        and64 $a6:7, $a6:7, $a0:1
        and $a6, $a6, 0x80000000
        and $a7, $a7, 0x80000000
        or64 $a4:5, $a4:5, $a6:7           // the sign
        f32v2cmpeq $a6:7, $a2:3, $azeros
        andc64 $a4:5, $a4:5, $a6:7
        and $a6, $a6, 0x3f800000
        and $a7, $a7, 0x3f800000
        or64 $a4:5, $a4:5, $a6:7
.endm

.macro TWO_OPERANDS name body
FUNCTION \name\()_f16, two, f16, f16, \body
FUNCTION \name\()_f32, two, f32, f32, \body
FUNCTION \name\()_scalar_f16, second, f16, f16, \body
FUNCTION \name\()_scalar_f32, second, f32, f32, \body
FUNCTION scalar_\name\()_f16, first, f16, f16, \body
FUNCTION scalar_\name\()_f32, first, f32, f32, \body
.endm

TWO_OPERANDS div, DIV_PAIR
TWO_OPERANDS pow, POW_PAIR

// ---- slopes: $a2:3 times that of a function, of its operand or, if that is simpler, its result in $a0:1 ----

.macro RELU_SLOPE_PAIR
        f32v2cmplt $a4:5, $azeros, $a0:1
        and64 $a4:5, $a4:5, $a2:3
.endm

.macro SIGMOID_SLOPE_PAIR
        f32v2mul $a4:5, $a0:1, $a0:1
        f32v2sub $a4:5, $a0:1, $a4:5
        f32v2mul $a4:5, $a4:5, $a2:3
.endm

.macro TANH_SLOPE_PAIR
        f32v2mul $a4:5, $a0:1, $a0:1
        f32v2mul $a4:5, $a4:5, $a2:3
        f32v2sub $a4:5, $a2:3, $a4:5
.endm

// s + s (a - a s)
.macro SWISH_SLOPE_PAIR
        f32sigm $a4, $a0
        f32sigm $a5, $a1
        f32v2mul $a6:7, $a0:1, $a4:5
        f32v2sub $a6:7, $a0:1, $a6:7
        f32v2mul $a6:7, $a6:7, $a4:5
        f32v2add $a4:5, $a4:5, $a6:7
        f32v2mul $a4:5, $a4:5, $a2:3
.endm

// Those of f16 that are not here are in binary.S.
FUNCTION relu_slope_f32, two, f32, f32, RELU_SLOPE_PAIR
FUNCTION sigmoid_slope_f16, two, f16, f16, SIGMOID_SLOPE_PAIR
FUNCTION sigmoid_slope_f32, two, f32, f32, SIGMOID_SLOPE_PAIR
FUNCTION tanh_slope_f16, two, f16, f16, TANH_SLOPE_PAIR
FUNCTION tanh_slope_f32, two, f32, f32, TANH_SLOPE_PAIR
FUNCTION swish_slope_f32, two, f32, f32, SWISH_SLOPE_PAIR

// ---- functions of one number ----

.macro ONE_OPERAND name body constants
FUNCTION \name\()_f16, one, f16, f16, \body, \constants
FUNCTION \name\()_f32, one, f32, f32, \body, \constants
.endm

// tanh(x p(x^2)): p was fitted to artanh(erf x) / x up to x = 4.2, so that tanh is at most 3e-7 off; beyond, p grows, and tanh is 1.
.macro ERF_CONSTANTS
        .float 1.1283786296844482, 0.10277942568063736, -0.00021549250232055783, -0.0006013773963786662
        .float 8.177063864422962e-05, -4.9072777983383276e-06, 1.1053025872342914e-07
.endm

.macro ERF_PAIR
        HORNER 6
        f32v2mul $a4:5, $a4:5, $a0:1
        f32tanh $a4, $a4
        f32tanh $a5, $a5
.endm

// x sigmoid(2 artanh(erf(x / sqrt 2))), by the same p: its constants times sqrt 2 / 2^k.
.macro GELU_CONSTANTS
        .float 1.5957682865073521, 0.07267602666124928, -7.618810270240929e-05, -0.00010630951003759541
        .float 7.227571374790215e-06, -2.16873078508509e-07, 2.4423968048563298e-09
.endm

.macro GELU_PAIR
        HORNER 6
        f32v2mul $a4:5, $a4:5, $a0:1
        f32sigm $a4, $a4
        f32sigm $a5, $a5
        f32v2mul $a4:5, $a4:5, $a0:1
.endm

// Between -1 and 1, times 2^126, between -1 and 1 again: the smallest number becomes 1.
.macro SIGN_CONSTANTS
        .float -1, 1, 8.507059173023462e+37
.endm

.macro SIGN_PAIR
        ld32 $a6, table, 0
        ld32 $a7, table, 1
        { ld32 $a2, table, 2
          f32v2clamp $a4:5, $a0:1, $a6:7 }
        f32v2mul $a4:5, $a2:B, $a4:5
        f32v2clamp $a4:5, $a4:5, $a6:7
.endm

// $a0:1 less the nearest multiple of 2 pi. The constants: 1 / 2 pi, and 2 pi in three parts, the first two so short that their
// products with multiples up to 2^13 are exact.
.macro TURN_CONSTANTS
        .float 0.15915494309189535, 6.28125, 0.0019350051879882812, 3.0199159795074593e-07
.endm

.macro TURN_PAIR k
        ld32 $a6, table, \k
        { ld32 $a7, table, \k + 1
          f32v2mul $a2:3, $a6:B, $a0:1 }
        f32int $a2, $a2, NEAREST
        f32int $a3, $a3, NEAREST
        { ld32 $a6, table, \k + 2
          f32v2mul $a4:5, $a7:B, $a2:3 }
        { ld32 $a7, table, \k + 3
          f32v2sub $a0:1, $a0:1, $a4:5 }
        f32v2mul $a4:5, $a6:B, $a2:3
        f32v2sub $a0:1, $a0:1, $a4:5
        f32v2mul $a4:5, $a7:B, $a2:3
        f32v2sub $a0:1, $a0:1, $a4:5
.endm

// x p(x^2) between -pi and pi; p was fitted to 1e-7.
.macro SIN_CONSTANTS
        .float 0.999999641580043, -0.16666555544084277, 0.008332403017417169, -0.00019808366026906826
        .float 2.699224636761223e-06, -2.0337171840331435e-08
        TURN_CONSTANTS
.endm

.macro SIN_PAIR
        TURN_PAIR 6
        HORNER 5
        f32v2mul $a4:5, $a4:5, $a0:1
.endm

// p(x^2), fitted to 2e-8.
.macro COS_CONSTANTS
        .float 0.9999999881955328, -0.4999998835542127, 0.04166647904867595, -0.0013887753850723775
        .float 2.4768799761428064e-05, -2.706827635734414e-07, 1.7205457329534068e-09
        TURN_CONSTANTS
.endm

.macro COS_PAIR
        TURN_PAIR 7
        HORNER 6
.endm

ONE_OPERAND erf, ERF_PAIR, ERF_CONSTANTS
FUNCTION gelu_f32, one, f32, f32, GELU_PAIR, GELU_CONSTANTS
ONE_OPERAND sign, SIGN_PAIR, SIGN_CONSTANTS
ONE_OPERAND sin, SIN_PAIR, SIN_CONSTANTS
ONE_OPERAND cos, COS_PAIR, COS_CONSTANTS

// ---- casts ----

.macro TO_I32_PAIR
        f32int $a0, $a0, TOWARD_ZERO
        f32int $a1, $a1, TOWARD_ZERO
        f32toi32 $a4, $a0
        f32toi32 $a5, $a1
.endm

.macro FROM_I32_PAIR
        f32fromi32 $a4, $a0
        f32fromi32 $a5, $a1
.endm

FUNCTION cast_f16_i32, one, f16, i32, TO_I32_PAIR
FUNCTION cast_i32_f16, one, i32, f16, FROM_I32_PAIR
