// norm_back.S: out = dy times a factor + x times a factor + a summand, in f32, for each channel of [blocks][f][16] f16.
//
// State and shares: positions.inc; factors [blocks][8][3][2], of norm_back_factors_f32, are the operand. A pair of channels takes nine
// slots.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../elementwise/positions.inc"

#define BLOCK_FACTORS  192                 // bytes
#define to       operand                   // once the operand is in `all`
#define all      $m11                      // the factors of this block
#define factors  t
#define dy       u

ENTRY norm_back_f16
        POSITIONS norm_back, norm_back__factors, .Lback_none
        mul t, of, BLOCK_FACTORS / POSITION_BYTES
        add all, operand, t
        ld32 to, $mvertex_base, $mzero, norm_back__out
        ld32 dy, $mvertex_base, $mzero, norm_back__dy
        add to, to, in
        add dy, dy, in
        add x, x, in
.Lback_block:
        sub count, count, n
        add n, n, -1
.Lback_position:
        mov factors, all
        REPEAT 8, 9
        { ld32step $a0, $mzero, dy+=, 1
          fnop }
        { ld64step $a2:3, $mzero, factors+=, 1
          f16v2tof32 $a4:5, $a0 }
        { ld32step $a6, $mzero, x+=, 1
          f32v2mul $a4:5, $a2:3, $a4:5 }
        { ld64step $a2:3, $mzero, factors+=, 1
          f16v2tof32 $a6:7, $a6 }
        { ld64step $a0:1, $mzero, factors+=, 1
          f32v2mul $a6:7, $a2:3, $a6:7 }
        { nop
          f32v2add $a4:5, $a4:5, $a6:7 }
        { nop
          f32v2add $a4:5, $a4:5, $a0:1 }
        { nop
          f32v2tof16 $a4, $a4:5 }
        { st32step $a4, $mzero, to+=, 1
          fnop }
        brnzdec n, .Lback_position
        add all, all, BLOCK_FACTORS
        min n, f, count
        brnz n, .Lback_block
.Lback_none:
        exitz $mzero
.size norm_back_f16, .-norm_back_f16
