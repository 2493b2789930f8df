// random.S: rounding with the machine's stochastic rounding, and masks of dropout. random_ref.c has their meaning.

#define FAMILY "../random/random.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define x        $m1
#define y        $m2
#define n        $m3
#define last     $m4
#define count    $m5
#define in       $m6
#define out      $m7
#define t        $m8
#define seed     $m9
#define block    $m10
#define left     $m11

#define THROWN_AWAY  15
#define ESR          0x80000               // of $FP_CTL
#define BLOCK_WORDS  16                    // of 64 bits

// Begins a generator with the two words in $a0:1, $a2 and $a3.
.macro GENERATOR
        uput $PRNG_0_0, $a0
        { setzi t, THROWN_AWAY
          uput $PRNG_0_1, $a1 }
        uput $PRNG_1_0, $a2
        uput $PRNG_1_1, $a3
        REPEAT t, 1
        { nop
          urand32 $a4 }
.endm

ENTRY round_f32_f16
        get wid, $WSR
        ld32 n, $mvertex_base, $mzero, drawn__n
        ld32 x, $mvertex_base, $mzero, drawn__x
        ld32 y, $mvertex_base, $mzero, drawn__y
        ld32 seed, $mvertex_base, $mzero, drawn__seed
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, 2
        SHARE count, count, last, t
        add count, count, -1
        brneg count, .Lround_none
        shl t, wid, 2
        ld64 $a0:1, seed, $mzero, 0
        ld32 $a2, seed, t, 2
        ld32 $a3, $mvertex_base, $mzero, drawn__operation
        GENERATOR
        { shl in, wid, 4
          uget $a0, $FP_CTL }
        { shl out, wid, 3
          setzi $a1, ESR }
        or $a0, $a0, $a1
        uput $FP_CTL, $a0                  // until this worker ends
        ld64step $a0:1, x, in+=, 1
        EVEN ld64step $a2:3, x, in+=, 2 * CTXT_WORKERS - 1
        { rpt count, 2
          f32v4tof16 $a4:5, $a0:3 }
        { ld64step $a0:1, x, in+=, 1
          fnop }
        { ld64step $a2:3, x, in+=, 2 * CTXT_WORKERS - 1
          fnop }
        { st64step $a4:5, y, out+=, CTXT_WORKERS
          f32v4tof16 $a4:5, $a0:3 }
        st64 $a4:5, y, out, 0
.Lround_none:
        exitz $mzero
.size round_f32_f16, .-round_f32_f16

ENTRY mask_f16
        get wid, $WSR
        ld32 n, $mvertex_base, $mzero, mask__n
        ld32 y, $mvertex_base, $mzero, mask__y
        ld32 seed, $mvertex_base, $mzero, mask__seed
        ld32 block, $mvertex_base, $mzero, mask__first
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, 6
        SHARE count, count, last, t
        add count, count, -1
        brneg count, .Lmask_none
        add block, block, wid
        shl t, wid, 7
        add out, y, t
        setzi left, BLOCK_WORDS - 1
        ld32 $a5, $mvertex_base, $mzero, mask__keep
        ld32 $a6, $mvertex_base, $mzero, mask__factor
        ld32 $a7, $mvertex_base, $mzero, mask__factor
.Lmask_next:
        st32 block, out, $mzero, 0         // the way to the auxiliary lane
        ld64 $a0:1, seed, $mzero, 0
        ld32 $a2, out, $mzero, 0
        ld32 $a3, $mvertex_base, $mzero, mask__operation
        GENERATOR
        f16v4rmask $a0:1, $a6:7, $a5
        REPEAT left, 1
        { st64step $a0:1, $mzero, out+=, 1
          f16v4rmask $a0:1, $a6:7, $a5 }
        st64step $a0:1, $mzero, out+=, (CTXT_WORKERS - 1) * BLOCK_WORDS + 1
        add block, block, CTXT_WORKERS
        brnzdec count, .Lmask_next
.Lmask_none:
        exitz $mzero
.size mask_f16, .-mask_f16
