// scale_shift.S: act(x scale + shift), the product rounded to f16, then the sum: scale_shift in place, affine from x to y.
//
// State and shares: positions.inc; scale and shift [blocks][16] are the operands. A vector takes 3 slots, 6 with swish.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../elementwise/positions.inc"

#define scale    operand
#define shift    $m0                       // once wid is not needed any more
#define stride   $m2                       // once scale is packed; field 1: BACK
#define address  $m10:11                   // of x and scale
#define y        $m11                      // with swish, from x to y

// Without an activation function, or with one of one instruction on $a4:5: a vector. It lies in $a4:5, multiplied already, its
// shift in $a6:7; the shift of the next one is at 8 w from that of the block.
.macro SHIFT_VECTOR w act selectors=0
        { ld2x64pace $a0:1, $a2:3, address+=, stride, \selectors
          f16v4add $a4:5, $a4:5, $a6:7 }
        { ld64 $a6:7, shift, of, \w
          \act }
        { st64step $a4:5, x, in+=, 1
          f16v4mul $a4:5, $a0:1, $a2:3 }
.endm

// The last position of a block loads nothing ahead. to: the field of y, if it is another one than x.
.macro SCALE_SHIFT name state act to
ENTRY \name
        POSITIONS \state, \state\()__scale, .L\name\()_none
        ld32 shift, $mvertex_base, $mzero, \state\()__shift
        add t, x, in
        add u, scale, of
        tapack address, t, u, $mzero
        setzi stride, BACK
.ifnb \to
        ld32 x, $mvertex_base, $mzero, \to
.endif
.L\name\()_block:
        ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
        { ld64 $a6:7, shift, of, 0
          f16v4mul $a4:5, $a0:1, $a2:3 }
        sub count, count, n
        add n, n, -1
        REPEAT n, 12
        SHIFT_VECTOR 1, "\act"
        SHIFT_VECTOR 2, "\act"
        SHIFT_VECTOR 3, "\act", 0b0100
        SHIFT_VECTOR 0, "\act"
        SHIFT_VECTOR 1, "\act"
        SHIFT_VECTOR 2, "\act"
        SHIFT_VECTOR 3, "\act"
        { add of, of, POSITION_BYTES
          f16v4add $a4:5, $a4:5, $a6:7 }
        { min n, f, count
          \act }
        st64step $a4:5, x, in+=, 1
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// With swish: vector v, h in $a2:3; the vector after the next, at from + 8 ahead, and its operands at 8 w. to: where y begins.
.macro SWISH_VECTOR v from ahead w to
        { ld64 $a0:1, x, \from, \ahead
          f16v2tanh $a4, $a2 }
        { ld64 $a6:7, scale, of, \w
          f16v2tanh $a5, $a3 }
.if \v == 0
        { add t, in, POSITION_BYTES
          f16v4mul $a4:5, $a2:3, $a4:5 }
        { min t, t, last
          f16v4add $a4:5, $a4:5, $a2:3 }
.else
        { nop
          f16v4mul $a4:5, $a2:3, $a4:5 }
        { nop
          f16v4add $a4:5, $a4:5, $a2:3 }
.endif
        { ld64 $a6:7, shift, of, \w
          f16v4mul $a0:1, $a0:1, $a6:7 }
        { st64step $a4:5, \to, in+=, 1
          f16v4mix $a2:3, $a0:1, $a6:7 }
.endm

// Two vectors of the next position are loaded ahead, of the last position those of itself.
.macro SCALE_SHIFT_SWISH name state to field
ENTRY \name
        SWISH_POSITIONS \state, \state\()__scale, .L\name\()_none
        ld32 shift, $mvertex_base, $mzero, \state\()__shift
.ifnb \field
        ld32 \to, $mvertex_base, $mzero, \field
.endif
.L\name\()_block:
        ld64 $a0:1, x, in, 0
        ld64 $a6:7, scale, of, 0
        { ld64 $a6:7, shift, of, 0
          f16v4mul $a2:3, $a0:1, $a6:7 }
        { ld64 $a0:1, x, in, 1
          f16v4mix $azeros, $a2:3, $a6:7 }
        ld64 $a6:7, scale, of, 1
        { ld64 $a6:7, shift, of, 1
          f16v4mul $a0:1, $a0:1, $a6:7 }
        { sub count, count, n
          f16v4mix $a2:3, $a0:1, $a6:7 }
        REPEAT n, 24
        SWISH_VECTOR 0, in, 2, 2, \to
        SWISH_VECTOR 1, in, 2, 3, \to
        SWISH_VECTOR 2, t, 0, 0, \to
        SWISH_VECTOR 3, t, 1, 1, \to
        add of, of, POSITION_BYTES
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

SCALE_SHIFT scale_shift_f16, scale_shift, "fnop"
SCALE_SHIFT scale_shift_relu_f16, scale_shift, "f16v4max $a4:5, $a4:5, $azeros"
SCALE_SHIFT_SWISH scale_shift_swish_f16, scale_shift, x
SCALE_SHIFT affine_f16, affine, "fnop", affine__y
SCALE_SHIFT affine_relu_f16, affine, "f16v4max $a4:5, $a4:5, $azeros", affine__y
SCALE_SHIFT_SWISH affine_swish_f16, affine, y, affine__y
