// softmax_exp_f16: y[i] = e^(x[i] - M) in f32, M the largest of max; sum[w] = the sum of worker w's share of y.
//
// State: x, max, y, all 8-byte aligned, sum [workers], the number of elements of x, a multiple of 4, and of max, even, not 0.
// Workers take vectors of four elements in turn; of the four two are added to each of two sums. Slots: scores_ref.c.

#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define x        $m1
#define max      $m2
#define y        $m3
#define sum      $m4
#define left     $m5                       // vectors after this one
#define more     $m6
#define t        $m7

// Two elements; step: of y.
.macro PAIR from step
        f16v2tof32 $a4:5, \from
        f32v2sub $a4:5, $a4:5, $a2:3
        f32exp $a4, $a4
        f32exp $a5, $a5
        { st64step $a4:5, $mzero, y+=, \step
          f32v2add $a6:7, $a6:7, $a4:5 }
.endm

ENTRY softmax_exp_f16
        get wid, $WSR
        ld32 max, $mvertex_base, $mzero, softmax_exp__max
        ld32 more, $mvertex_base, $mzero, softmax_exp__maxima
        ld32 left, $mvertex_base, $mzero, softmax_exp__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shr more, more, 1
        add more, more, -1
        ld64step $a0:1, $mzero, max+=, 1
        mov $a2:3, $a0:1
        REPEAT more, 1
        { ld64step $a0:1, $mzero, max+=, 1
          f32v2max $a2:3, $a2:3, $a0:1 }
        { shr left, left, 2
          f32v2max $a2:3, $a2:3, $a0:1 }
        { sub left, left, wid
          f32max $a2, $a2, $a3 }
        { add left, left, -1
          mov $a3, $a2 }
        { ld32 sum, $mvertex_base, $mzero, softmax_exp__sum
          zero $a6:7 }
        brneg left, .Lend
        ld32 x, $mvertex_base, $mzero, softmax_exp__x
        ld32 y, $mvertex_base, $mzero, softmax_exp__y
        shl t, wid, 3
        add x, x, t
        shl t, wid, 4
        add y, y, t
.Lvector:
        ld64step $a0:1, $mzero, x+=, CTXT_WORKERS
        PAIR $a0, 1
        PAIR $a1, 2 * CTXT_WORKERS - 1
        add left, left, -CTXT_WORKERS
        brpos left, .Lvector
.Lend:
        f32add $a6, $a6, $a7
        st32 $a6, sum, $mzero, wid
        exitz $mzero
.size softmax_exp_f16, .-softmax_exp_f16
