// dw_pack_f16: weights of depthwise convolutions, [blocks][taps][16], in the order of dw.inc: dw_pack() for weights that change.
//
// State: x, y, both 8-byte aligned, work, entries, blocks, above 0, x_bytes and y_bytes: of a block. A block of y is two halves, for
// the first and the last 8 channels. The list `work` has three words an entry, which stands for 8 vectors of a half: bytes from x to
// the tap, or -1 for zeros; bytes from y; strides of st64pace, to the next pair of vectors and to the next half. A vector has the
// weight of its channel in the channel's lane, the others are zero. Workers take entries in turn, each in all blocks.

#define FAMILY "../depthwise/depthwise.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define count    $m0
#define x        $m1
#define y        $m2
#define work     $m3
#define x_next   $m4                       // 8 bytes from the end of a block's tap to the next block's
#define blocks   $m5
#define from     $m6
#define left     $m7
#define address  $m8:9
#define strides  $m10
#define t        $m11
#define weights0 $a0:1                     // of channels 0 to 3 of a half
#define c01      $a0                       // two weights
#define c23      $a1
#define weights1 $a2:3
#define c45      $a2
#define c67      $a3
#define in_low   $a4:5                     // a vector for the first two lanes: a word and 0
#define low      $a4
#define in_high  $a6:7                     // for the last two: 0 and a word
#define high     $a7

#define ENTRY_WORDS 3
#define STEP_LANE   1                      // strides of st64pace
#define STEP_HALF   2

// 8 channels of a tap: of each lane a vector of the first four and one of the others. `next`: 8 bytes from the last four on.
.macro CHANNELS next
        ld64step weights0, $mzero, from+=, 1
        { ld64step weights1, $mzero, from+=, \next
          sort4x16lo low, c01, $azero }
        { st64pace in_low, address+=, strides, 0
          sort4x16lo low, c45, $azero }
        { st64pace in_low, address+=, strides, STEP_LANE
          sort4x16hi low, $azero, c01 }
        { st64pace in_low, address+=, strides, 0
          sort4x16hi low, $azero, c45 }
        { st64pace in_low, address+=, strides, STEP_LANE
          sort4x16lo high, c23, $azero }
        { st64pace in_high, address+=, strides, 0
          sort4x16lo high, c67, $azero }
        { st64pace in_high, address+=, strides, STEP_LANE
          sort4x16hi high, $azero, c23 }
        { st64pace in_high, address+=, strides, 0
          sort4x16hi high, $azero, c67 }
        st64pace in_high, address+=, strides, STEP_HALF
.endm

// The same for zeros, in as many slots.
.macro NOTHING
        nop
        nop
        .rept 3
        st64pace $azeros, address+=, strides, 0
        st64pace $azeros, address+=, strides, STEP_LANE
        .endr
        st64pace $azeros, address+=, strides, 0
        st64pace $azeros, address+=, strides, STEP_HALF
.endm

ENTRY dw_pack_f16
        get t, $WSR
        ld32 count, $mvertex_base, $mzero, dw_pack__entries
        ld32 work, $mvertex_base, $mzero, dw_pack__work
        and t, t, CSR_W_WSR__CTXTID_M1__MASK
        mul x, t, ENTRY_WORDS * 4
        add work, work, x
        sub t, $mzero, t
        add t, t, LAST_WORKER
        SHARE count, count, t, x
        add count, count, -1
        brneg count, .Lnone
        ld32 x, $mvertex_base, $mzero, dw_pack__x
        ld32 y, $mvertex_base, $mzero, dw_pack__y
        ld32 x_next, $mvertex_base, $mzero, dw_pack__x_bytes
        ld32 blocks, $mvertex_base, $mzero, dw_pack__blocks
        shr x_next, x_next, 3
        add x_next, x_next, -3
        add blocks, blocks, -1
        mov $a5, $azero
        mov $a6, $azero
.Lentry:
        ld32step from, $mzero, work+=, 1
        ld32step t, $mzero, work+=, 1
        ld32step strides, $mzero, work+=, 1 + LAST_WORKER * ENTRY_WORDS
        add t, t, y
        tapack address, $mzero, $mzero, t
        mov left, blocks
        brneg from, .Lzeros
        add from, from, x
.Lblock:
        CHANNELS 1
        CHANNELS x_next
        brnzdec left, .Lblock
        brnzdec count, .Lentry
        exitz $mzero
.Lzeros:
        nop
.Lnothing:
        NOTHING
        NOTHING
        brnzdec left, .Lnothing
        brnzdec count, .Lentry
.Lnone:
        exitz $mzero
.size dw_pack_f16, .-dw_pack_f16
