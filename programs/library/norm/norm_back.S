// norm_back.S: out = dy times a factor + x times a factor + a summand, in f32, for each channel of [blocks][f][16] f16.
//
// State and shares: positions.inc; factors [blocks][8][3][2], of norm_back_factors_f32, are the operand. A pair of channels takes
// six slots: the accumulators add both products to the summand, which enters their chain of four pairs four pairs early. A
// pair's result leaves while the next one enters, and is stored by it.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../elementwise/positions.inc"

#define BLOCK_FACTORS  192                 // bytes
#define PAIR           3                   // vectors
#define SUMMAND        16                  // bytes before that of a pair
#define AHEAD          (4 * 24 + SUMMAND)  // from the factors of a pair to the summand that enters
#define to       operand                   // once the operand is in `all`
#define all      $m11                      // the factors of this block
#define factors  t
#define dy       u
#define summand  $m10
#define value    $a0:1
#define factor   $a2:3
#define enters   $a4:5
#define result   $a6:7

// A pair, with what stores the one before and makes f16 of it.
.macro PAIR_STEPS narrow:req store:vararg
        { ld32step $a0, $mzero, dy+=, 1
          \narrow }
        { ld64step factor, $mzero, factors+=, 1
          f16v2tof32 value, $a0 }
        { ld32step $a0, $mzero, x+=, 1
          f32v2mac value, factor }
        { ld64step factor, $mzero, factors+=, PAIR - 1
          f16v2tof32 value, $a0 }
        { ld64step enters, $mzero, summand+=, PAIR
          f32v2mac value, factor }
        { \store
          f32v2gina result, enters, 0 }
.endm
.macro PAIRS count
        REPEAT \count, 6
        PAIR_STEPS "f32v2tof16 $a6, $a6:7", st32step $a6, $mzero, to+=, 1
.endm

ENTRY norm_back_f16
        POSITIONS norm_back, norm_back__factors, .Lback_none
        mul t, of, BLOCK_FACTORS / POSITION_BYTES
        add all, operand, t
        ld32 to, $mvertex_base, $mzero, norm_back__out
        ld32 dy, $mvertex_base, $mzero, norm_back__dy
        add to, to, in
        add dy, dy, in
        add x, x, in
        sub count, count, n
        add n, n, -1
        add summand, all, SUMMAND
        mov factors, all
        ld64step enters, $mzero, summand+=, PAIR
        EVEN ld64step factor, $mzero, summand+=, PAIR
        { ld64step enters, $mzero, summand+=, PAIR
          f32v2gina result, enters, 0 }
        { ld64step factor, $mzero, summand+=, PAIR
          f32v2gina result, factor, 0 }
        { nop
          f32v2gina result, enters, 0 }
        { nop
          f32v2gina result, factor, 0 }
        PAIR_STEPS fnop, nop
        PAIRS 3
        bri .Lback_half
.Lback_position:
        mov factors, all
        add summand, all, AHEAD
        PAIRS 4
.Lback_half:
        // Summands of the next position enter, which may be one of the next block.
        brnz n, .Lback_same
        min n, f, count
        brz n, .Lback_same
        sub count, count, n
        add all, all, BLOCK_FACTORS
.Lback_same:
        add summand, all, SUMMAND
        PAIRS 4
        brnzdec n, .Lback_position
        f32v2tof16 $a6, result
        st32step $a6, $mzero, to+=, 1
.Lback_none:
        exitz $mzero
.size norm_back_f16, .-norm_back_f16
