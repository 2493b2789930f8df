// dw_pack_f16: weights of depthwise convolutions, [blocks][taps][16], in the order of dw.inc: dw_pack() for weights that change.
//
// State: x, y, both 8-byte aligned, work, entries, blocks, above 0, x_bytes and y_bytes: of a block. A block of y is two halves, for
// the first and the last 8 channels. The list `work` has two words an entry, which stands for 8 vectors of a half: bytes from x to the
// tap, or -1 for zeros; bytes from y in the upper half, in the lower one the step from channel to channel. A vector has the weight of
// its channel in the channel's lane, the others are zero. Workers take entries in turn, each in all blocks.

#define FAMILY "../conv/conv.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define count    $m0
#define x        $m1
#define y        $m2
#define work     $m3
#define step     $m4
#define blocks   $m5
#define x_bytes  $m6
#define half     $m7
#define from     $m8
#define to       $m9
#define left     $m10
#define at       $m11
#define low      $a0                       // two weights
#define high     $a1
#define in_high  $a2:3                     // a vector for the last two lanes: 0 and a word
#define second   $a3
#define mask     $a4
#define in_low   $a6:7                     // for the first two: a word and 0
#define first    $a6

// Four lanes of four channels, `place` 8 bytes from `at` on.
.macro LANES place
        and first, low, mask
        { st64 in_low, at, $mzero, \place
          andc first, low, mask }
        add at, at, step
        { st64 in_low, at, $mzero, \place
          and second, high, mask }
        add at, at, step
        { st64 in_high, at, $mzero, \place
          andc second, high, mask }
        add at, at, step
        st64 in_high, at, $mzero, \place
.endm
// 8 channels of a tap, from word `word` of it on.
.macro CHANNELS word
        ld32 low, from, $mzero, \word
        ld32 high, from, $mzero, \word + 1
        mov at, to
        LANES 0
        ld32 low, from, $mzero, \word + 2
        ld32 high, from, $mzero, \word + 3
        mov at, to
        LANES 1
.endm
// The same for zeros, in as many slots.
.macro NOTHING
        .rept 2
        nop
        .endr
        mov at, to
        LANES 0
        .rept 2
        nop
        .endr
        mov at, to
        LANES 1
.endm

ENTRY dw_pack_f16
        get x, $WSR
        ld32 count, $mvertex_base, $mzero, dw_pack__entries
        ld32 work, $mvertex_base, $mzero, dw_pack__work
        and x, x, CSR_W_WSR__CTXTID_M1__MASK
        shl step, x, 3
        add work, work, step
        sub step, $mzero, x
        add step, step, LAST_WORKER
        SHARE count, count, step, half
        add count, count, -1
        brneg count, .Lnone
        ld32 half, $mvertex_base, $mzero, dw_pack__y_bytes
        ld32 x_bytes, $mvertex_base, $mzero, dw_pack__x_bytes
        shr half, half, 1
        setzi mask, 0xffff
        mov $a2, $azero
        mov $a7, $azero
.Lentry:
        ld32 from, work, $mzero, 0
        ld32 to, work, $mzero, 1
        ld32 x, $mvertex_base, $mzero, dw_pack__x
        ld32 y, $mvertex_base, $mzero, dw_pack__y
        ld32 blocks, $mvertex_base, $mzero, dw_pack__blocks
        add work, work, CTXT_WORKERS * 8
        add left, blocks, -1
        shl step, to, 16
        shr step, step, 16
        shr to, to, 16
        add to, to, y
        brneg from, .Lzeros
        add from, from, x
        nop
.Lblock:
        CHANNELS 0
        add to, to, half
        CHANNELS 4
        add to, to, half
        add from, from, x_bytes
        brnzdec left, .Lblock
        brnzdec count, .Lentry
        exitz $mzero
.Lzeros:
        mov low, $azero
        mov high, $azero
.Lnothing:
        NOTHING
        add to, to, half
        NOTHING
        add to, to, half
        nop
        brnzdec left, .Lnothing
        brnzdec count, .Lentry
.Lnone:
        exitz $mzero
.size dw_pack_f16, .-dw_pack_f16
