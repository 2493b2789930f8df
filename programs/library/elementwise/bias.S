// bias.S: x = act(x op b): one operation with a vector of channels, then an activation function, in place.
//
// State and shares: positions.inc. Without an activation function x lies in region 1, where a vector takes 1 slot: each is
// loaded by the instruction that stores the third one before it, which is in the other element of the pair; workers with few
// positions take 2. With one a vector takes 2 slots, or what the instructions of the auxiliary lane need.

#define FAMILY "../elementwise/positions.def"
#include "../kernel/fields.inc"
#include "positions.inc"

#define PACED_LEAST  4                     // positions of a worker from which on the paced loop pays
#define address      $m10:11

.macro OPERAND
        ld64step b0, operand, of+=, 1
        ld64step b1, operand, of+=, 1
        ld64step b2, operand, of+=, 1
        ld64step b3, operand, of+=, 1
.endm

// Two vectors in place.
.macro PAIR op p q
        { ld64 $a0:1, x, in, 0
          fnop }
        { ld64 $a2:3, x, in, 1
          \op $a0:1, $a0:1, \p }
        { st64step $a0:1, x, in+=, 1
          \op $a2:3, $a2:3, \q }
        { st64step $a2:3, x, in+=, 1
          fnop }
.endm

// Two vectors: results of the two before them are stored, the next one is loaded.
.macro PACED_PAIR op p q
        { ldst64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a2:3, $a0:1, \p }
        { ldst64pace $a0:1, $a4:5, address+=, $mzero, 0
          \op $a4:5, $a0:1, \q }
.endm

// Without an activation function; state, and the operand in it: bias or scale.
.macro BIAS name op state=bias
ENTRY \name
        POSITIONS \state, \state\()__\state, .L\name\()_none
        add t, count, -PACED_LEAST
        brpos t, .L\name\()_paced
.L\name\()_block:
        OPERAND
        sub count, count, n
        REPEAT n, 8
        PAIR \op, b0, b1
        PAIR \op, b2, b3
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero

        // One stream of vectors through all blocks; the first and the last position are by themselves. left: of this block.
.L\name\()_paced:
        OPERAND
        ld64 $a0:1, x, in, 0
        add t, x, in
        add u, t, 3 * VECTOR_BYTES
        { ld64 $a0:1, x, in, 1
          \op $a2:3, $a0:1, b0 }
        { ld64 $a0:1, x, in, 2
          \op $a4:5, $a0:1, b1 }
        tapack address, u, $mzero, t
        PACED_PAIR \op, b2, b3
        add left, left, -1
        add count, count, -2
.L\name\()_stream:
        min n, left, count
        sub count, count, n
        sub left, left, n
        REPEAT n, 4
        PACED_PAIR \op, b0, b1
        PACED_PAIR \op, b2, b3
        brnz left, .L\name\()_last
        OPERAND
        mov left, f
        brnz count, .L\name\()_stream
.L\name\()_last:
        PACED_PAIR \op, b0, b1
        { ldst64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a2:3, $a0:1, b2 }
        { st64pace $a4:5, address+=, $mzero, 0
          \op $a4:5, $a0:1, b3 }
        st64pace $a2:3, address+=, $mzero, 0
        st64pace $a4:5, address+=, $mzero, 0
        exitz $mzero
.size \name, .-\name
.endm

// With sigmoid: vector v of a position, x op b in $a2:3; its results are stored while the next vector in $a0:1 meets b.
.macro SIGMOID_VECTOR v op b
.if \v < 3
        { ld64 $a0:1, x, in, 1
          f16v2sigm $a4, $a2 }
.else
        { ld64 $a0:1, x, t, 0
          f16v2sigm $a4, $a2 }
.endif
.if \v == 1
        { add t, in, POSITION_BYTES - VECTOR_BYTES
          f16v2sigm $a5, $a3 }
.elseif \v == 2
        { min t, t, last
          f16v2sigm $a5, $a3 }
.else
        { nop
          f16v2sigm $a5, $a3 }
.endif
        { st64step $a4:5, x, in+=, 1
          \op $a2:3, $a0:1, \b }
.endm

// The first vector of the next position is loaded ahead, of the last position that of itself.
.macro BIAS_SIGMOID name op
ENTRY \name
        POSITIONS bias, bias__bias, .L\name\()_none
        add last, count, -1
        shl last, last, 5
        add last, last, in
        ld64 $a0:1, x, in, 0
.L\name\()_block:
        ld64step b0, operand, of+=, 1
        ld64step b1, operand, of+=, 1
        ld64step b2, operand, of+=, 1
        { ld64step b3, operand, of+=, 1
          \op $a2:3, $a0:1, b0 }
        sub count, count, n
        REPEAT n, 12
        SIGMOID_VECTOR 0, \op, b1
        SIGMOID_VECTOR 1, \op, b2
        SIGMOID_VECTOR 2, \op, b3
        SIGMOID_VECTOR 3, \op, b0
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// With swish, of a sum: vector v, h in $a2:3; the vector after the next, at from + 8 ahead, meets b.
.macro SWISH_VECTOR v from ahead b
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
        { nop
          f16v4add $a4:5, $a4:5, $a2:3 }
        { st64step $a4:5, x, in+=, 1
          f16v4mix $a2:3, $a0:1, \b }
.endm

// Two vectors of the next position are loaded ahead, of the last position those of itself.
.macro BIAS_SWISH name
ENTRY \name
        SWISH_POSITIONS bias, bias__bias, .L\name\()_none
.L\name\()_block:
        ld64step b0, operand, of+=, 1
        ld64 $a0:1, x, in, 0
        { ld64step b1, operand, of+=, 1
          f16v4mix $azeros, $a0:1, b0 }
        ld64 $a0:1, x, in, 1
        { ld64step b2, operand, of+=, 1
          f16v4mix $a2:3, $a0:1, b1 }
        ld64step b3, operand, of+=, 1
        sub count, count, n
        REPEAT n, 20
        SWISH_VECTOR 0, in, 2, b2
        SWISH_VECTOR 1, in, 2, b3
        SWISH_VECTOR 2, t, 0, b0
        SWISH_VECTOR 3, t, 1, b1
        min n, f, count
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// max(x op b, 0). The last position of a block loads nothing ahead.
.macro BIAS_RELU name op
ENTRY \name
        POSITIONS bias, bias__bias, .L\name\()_none
.L\name\()_block:
        ld64step b0, operand, of+=, 1
        ld64 $a0:1, x, in, 0
        ld64step b1, operand, of+=, 1
        ld64step b2, operand, of+=, 1
        { ld64step b3, operand, of+=, 1
          \op $a2:3, $a0:1, b0 }
        sub count, count, n
        add n, n, -1
        REPEAT n, 8
        RELU_VECTORS \op
        { ld64 $a0:1, x, in, 1
          f16v4max $a4:5, $a2:3, $azeros }
        { st64step $a4:5, x, in+=, 1
          \op $a2:3, $a0:1, b0 }
        RELU_VECTORS \op
        { min n, f, count
          f16v4max $a4:5, $a2:3, $azeros }
        st64step $a4:5, x, in+=, 1
        brnz n, .L\name\()_block
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

// The first three vectors of a position.
.macro RELU_VECTORS op
        { ld64 $a0:1, x, in, 1
          f16v4max $a4:5, $a2:3, $azeros }
        { st64step $a4:5, x, in+=, 1
          \op $a2:3, $a0:1, b1 }
        { ld64 $a0:1, x, in, 1
          f16v4max $a4:5, $a2:3, $azeros }
        { st64step $a4:5, x, in+=, 1
          \op $a2:3, $a0:1, b2 }
        { ld64 $a0:1, x, in, 1
          f16v4max $a4:5, $a2:3, $azeros }
        { st64step $a4:5, x, in+=, 1
          \op $a2:3, $a0:1, b3 }
.endm

BIAS bias_f16, f16v4add
BIAS_RELU bias_relu_f16, f16v4add
BIAS_SWISH bias_swish_f16
BIAS_SIGMOID bias_sigmoid_f16, f16v4add
BIAS scale_f16, f16v4mul, scale
