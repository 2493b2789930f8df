// norm_fold_f32: sums of channels become sums of groups of channels: totals[g][k] = sum over the channels of group g of sum
// (k = 0), sumsq (k = 1).
//
// State: sum, sumsq, totals, first, each, channels, n = 2 groups. Groups have `each` channels; `first`
// of the first one lie before sum[0], what is after `channels` is left out. Workers take totals in turn, a slot a channel.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define task     $m0
#define n        $m1
#define first    $m2
#define each     $m3
#define channels $m4
#define begin    $m5
#define count    $m6
#define at       $m7
#define out      $m8
#define t        $m9

ENTRY norm_fold_f32
        get task, $WSR
        ld32 n, $mvertex_base, $mzero, norm_fold__n
        and task, task, CSR_W_WSR__CTXTID_M1__MASK
        cmpult t, task, n
        brz t, .Lnone
        ld32 out, $mvertex_base, $mzero, norm_fold__totals
        ld32 first, $mvertex_base, $mzero, norm_fold__first
        ld32 each, $mvertex_base, $mzero, norm_fold__each
        ld32 channels, $mvertex_base, $mzero, norm_fold__channels
.Lnext:
        shr t, task, 1
        mul begin, t, each
        sub begin, begin, first
        add count, begin, each
        max begin, begin, $mzero
        min count, count, channels
        sub count, count, begin
        and t, task, 1
        ld32 at, $mvertex_base, $mzero, t
        shl begin, begin, 2
        add count, count, -1
        { ld32step $a0, at, begin+=, 1
          mov $a1, $azero }
        REPEAT count, 1
        { ld32step $a0, at, begin+=, 1
          f32add $a1, $a1, $a0 }
        { add t, task, CTXT_WORKERS
          f32add $a1, $a1, $a0 }
        st32 $a1, out, $mzero, task
        mov task, t
        cmpult t, task, n
        brnz t, .Lnext
.Lnone:
        exitz $mzero
.size norm_fold_f32, .-norm_fold_f32
