// bias.S: x = act(x op b): one operation with a vector of channels, then an activation function, in place.
//
// State and shares: positions.inc. Without an activation function x lies in region 1, where a vector takes 1 slot: each is
// loaded by the instruction that stores the third one before it, which is in the other element of the pair. With relu it takes 2,
// else what the instructions of the auxiliary lane need. There are registers for one vector of b, two with sigmoid: they are loaded
// again for every position, without an activation function and with relu by the instruction that loads x.

#define FAMILY "../elementwise/positions.def"
#include "../kernel/fields.inc"
#include "positions.inc"

#define address      $m10:11               // of operand, x and results
#define stride       $m0                   // field 1: BACK

// Addresses of the operand, of x, and of results.
.macro PACE
        add t, x, in
        add u, operand, of
        tapack address, u, t, t
        setzi stride, BACK
.endm

// Loads vector 3 of a position; then vectors 0 to 2 of the next one. What is stored is the third vector before the one that is loaded.
.macro LAST_VECTOR op selectors=0
        { ld2xst64pace $a0:3, $a4:5, address+=, stride, \selectors
          \op $a4:5, $a2:3, $a0:1 }
.endm
.macro FIRST_VECTORS op
        { ld2xst64pace $a0:3, $a6:7, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
        { ld2xst64pace $a0:3, $a4:5, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        { ld2xst64pace $a0:3, $a6:7, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
.endm

// Without an activation function: one stream of vectors through all blocks. state: bias or scale.
.macro BIAS name op state=bias
ENTRY \name
        POSITIONS \state, \state\()__\state, .L\name\()_none
        PACE
        ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
.L\name\()_block:
        sub count, count, n
        add n, n, -1
        REPEAT n, 4
        LAST_VECTOR \op, 1
        FIRST_VECTORS \op
        brz count, .L\name\()_last
        LAST_VECTOR \op
        FIRST_VECTORS \op
        min n, f, count
        bri .L\name\()_block
.L\name\()_last:
        LAST_VECTOR \op
        { st64pace $a6:7, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
        st64pace $a4:5, address+=, $mzero, 0
        st64pace $a6:7, address+=, $mzero, 0
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// With sigmoid: vector v of a position, x + b in $a2:3; its results are stored while the next vector in $a0:1 meets b.
.macro SIGMOID_VECTOR v op b
.if \v < 3
        { ld64step $a0:1, x, t+=, 1
          f16v2sigm $a2, $a2 }
        { ld64 $a6:7, operand, of, \v + 1
          f16v2sigm $a3, $a3 }
.else
        { min t, t, last
          f16v2sigm $a2, $a2 }
        { ld64step $a0:1, x, t+=, 1
          f16v2sigm $a3, $a3 }
.endif
        { st64step $a2:3, x, in+=, 1
          \op $a2:3, $a0:1, \b }
.endm

// The first vector of the next position is loaded ahead, of the last position that of itself. t: where to load x.
.macro BIAS_SIGMOID name op
ENTRY \name
        POSITIONS bias, bias__bias, .L\name\()_none
        add last, count, -1
        shl last, last, 5
        add last, last, in
        mov t, in
        ld64step $a0:1, x, t+=, 1
.L\name\()_block:
        ld64 $a4:5, operand, of, 0
        { sub count, count, n
          \op $a2:3, $a0:1, $a4:5 }
        REPEAT n, 12
        SIGMOID_VECTOR 0, \op, $a6:7
        SIGMOID_VECTOR 1, \op, $a6:7
        SIGMOID_VECTOR 2, \op, $a6:7
        SIGMOID_VECTOR 3, \op, $a4:5
        add of, of, POSITION_BYTES
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// With swish, of a sum: vector v, h in $a2:3; the vector after the next, at from + 8 ahead, meets the one of b at 8 w.
.macro SWISH_VECTOR v from ahead w
        { ld64 $a0:1, x, \from, \ahead
          f16v2tanh $a4, $a2 }
.if \v == 0
        { add t, in, POSITION_BYTES
          f16v2tanh $a5, $a3 }
        { min t, t, last
          f16v4mul $a4:5, $a2:3, $a4:5 }
.else
        { nop
          f16v2tanh $a5, $a3 }
        { nop
          f16v4mul $a4:5, $a2:3, $a4:5 }
.endif
        { ld64 $a6:7, operand, of, \w
          f16v4add $a4:5, $a4:5, $a2:3 }
        { st64step $a4:5, x, in+=, 1
          f16v4mix $a2:3, $a0:1, $a6:7 }
.endm

// Two vectors of the next position are loaded ahead, of the last position those of itself.
.macro BIAS_SWISH name
ENTRY \name
        SWISH_POSITIONS bias, bias__bias, .L\name\()_none
.L\name\()_block:
        ld64 $a6:7, operand, of, 0
        ld64 $a0:1, x, in, 0
        { ld64 $a0:1, x, in, 1
          f16v4mix $azeros, $a0:1, $a6:7 }
        ld64 $a6:7, operand, of, 1
        { sub count, count, n
          f16v4mix $a2:3, $a0:1, $a6:7 }
        REPEAT n, 20
        SWISH_VECTOR 0, in, 2, 2
        SWISH_VECTOR 1, in, 2, 3
        SWISH_VECTOR 2, t, 0, 0
        SWISH_VECTOR 3, t, 1, 1
        add of, of, POSITION_BYTES
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// max(x op b, 0): vector v, the sum in $a4:5; the next vector and its operand are loaded.
.macro RELU_VECTOR op selectors=0
        { ld2x64pace $a2:3, $a0:1, address+=, stride, \selectors
          f16v4max $a4:5, $a4:5, $azeros }
        { st64step $a4:5, x, in+=, 1
          \op $a4:5, $a0:1, $a2:3 }
.endm

// The last position of a block loads nothing ahead.
.macro BIAS_RELU name op
ENTRY \name
        POSITIONS bias, bias__bias, .L\name\()_none
        PACE
.L\name\()_block:
        ld2x64pace $a2:3, $a0:1, address+=, $mzero, 0
        { sub count, count, n
          \op $a4:5, $a0:1, $a2:3 }
        add n, n, -1
        REPEAT n, 8
        RELU_VECTOR \op
        RELU_VECTOR \op
        RELU_VECTOR \op, 1
        RELU_VECTOR \op
        RELU_VECTOR \op
        RELU_VECTOR \op
        RELU_VECTOR \op
        { min n, f, count
          f16v4max $a4:5, $a4:5, $azeros }
        st64step $a4:5, x, in+=, 1
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

BIAS bias_f16, f16v4add
BIAS_RELU bias_relu_f16, f16v4add
BIAS_SWISH bias_swish_f16
BIAS_SIGMOID bias_sigmoid_f16, f16v4add
BIAS scale_f16, f16v4mul, scale
