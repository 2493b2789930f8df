// softmax_scale_f32: y = x / S, S the sum of sums.
//
// State: x, 8-byte aligned, sums, 16-byte aligned in region 1, y, 8-byte aligned, elements of x, a multiple of 4,
// of sums, even, 4 at least. Every worker adds up all sums: four chains, then pairs of these, two that are left, and the two. Then workers take
// vectors of four elements in turn. Slots: scores_ref.c.

#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define y        $m1
#define sums     $m2
#define left     $m3
#define count    $m4
#define t        $m5
#define x        $m6

ENTRY softmax_scale_f32
        get wid, $WSR
        { ld32 count, $mvertex_base, $mzero, softmax_scale__parts
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 left, $mvertex_base, $mzero, softmax_scale__n
          uput $FP_CLR, $a7 }
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shr left, left, 2
        sub left, left, wid
        add left, left, -1
        brneg left, .Lnone
        ld32 sums, $mvertex_base, $mzero, softmax_scale__sums
        ld32 x, $mvertex_base, $mzero, softmax_scale__x
        ld32 y, $mvertex_base, $mzero, softmax_scale__y
        and t, count, 2
        shr count, count, 2
        add count, count, -1
        EVEN ld128step $a0:3, $mzero, sums+=, 1
        { rpt count, 0
          fnop }
        { ld128step $a0:3, $mzero, sums+=, 1
          f32v4acc $a0:3 }
        f32v4acc $a0:3
        { nop
          f32v2gina $a0:1, $azeros, 0 }
        { brz t, .Leven
          f32v2gina $a2:3, $azeros, 0 }
        { ld64step $a4:5, $mzero, sums+=, 1
          f32v2add $a0:1, $a0:1, $a2:3 }
        { bri .Lsum
          f32v2add $a0:1, $a0:1, $a4:5 }
.Leven:
        f32v2add $a0:1, $a0:1, $a2:3
.Lsum:
        { shl t, wid, 4
          f32add $a0, $a0, $a1 }
        { add x, x, t
          f32oox $a6, $a0 }
        add y, y, t
.Lvector:
        ld64step $a0:1, $mzero, x+=, 1
        { ld64step $a2:3, $mzero, x+=, 2 * CTXT_WORKERS - 1
          f32v2mul $a0:1, $a6:B, $a0:1 }
        { st64step $a0:1, $mzero, y+=, 1
          f32v2mul $a2:3, $a6:B, $a2:3 }
        st64step $a2:3, $mzero, y+=, 2 * CTXT_WORKERS - 1
        add left, left, -CTXT_WORKERS
        brpos left, .Lvector
.Lnone:
        exitz $mzero
.size softmax_scale_f32, .-softmax_scale_f32
