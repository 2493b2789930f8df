// norm_fold_strided_f32, norm_params_strided_f16: as norm_fold_f32 and norm_params_f16 for groups whose channels are `groups` apart:
// channel 0 of a call belongs to group `first`, the next one to the group after it, and so on.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define task     $m0
#define n        $m1
#define first    $m2
#define groups   $m3
#define rows     $m4
#define rest     $m5
#define at       $m6
#define count    $m7
#define out      $m8
#define t        $m9

// State: sum, sumsq, totals, first, groups, rows, rest, n = 2 groups. The channels are `rows` times all groups, and the first `rest`
// of another time. Workers take totals in turn, a slot a channel.
ENTRY norm_fold_strided_f32
        get task, $WSR
        ld32 n, $mvertex_base, $mzero, norm_fold_strided__n
        and task, task, CSR_W_WSR__CTXTID_M1__MASK
        cmpult t, task, n
        brz t, .Lnone
        ld32 out, $mvertex_base, $mzero, norm_fold_strided__totals
        ld32 first, $mvertex_base, $mzero, norm_fold_strided__first
        ld32 groups, $mvertex_base, $mzero, norm_fold_strided__groups
        ld32 rows, $mvertex_base, $mzero, norm_fold_strided__rows
        ld32 rest, $mvertex_base, $mzero, norm_fold_strided__rest
.Lnext:
        shr at, task, 1
        sub at, at, first
        shrs t, at, 31
        and t, t, groups
        { add at, at, t
          mov $a0:1, $azeros }
        cmpult count, at, rest
        add count, count, rows
        and t, task, 1
        ld32 t, $mvertex_base, $mzero, t
        shl at, at, 2
        add at, at, t
        REPEAT count, 1
        { ld32step $a0, $mzero, at+=, groups
          f32add $a1, $a1, $a0 }
        { add t, task, CTXT_WORKERS
          f32add $a1, $a1, $a0 }
        st32 $a1, out, $mzero, task
        mov task, t
        cmpult t, task, n
        brnz t, .Lnext
.Lnone:
        exitz $mzero
.size norm_fold_strided_f32, .-norm_fold_strided_f32
#undef n
#undef rows
#undef rest
#undef out

#define left     $m0                       // pairs still to come
#define total    $m1
#define p        $m4
#define gamma    $m5
#define beta     $m8
#define scale    $m10
#define shift    $m11
#define g        $m2                       // group of the pair's first channel; groups is $m3, at $m6, t $m9
#define have     $m7                       // the group for which means and deviations are there

// Mean and deviation of a group. Changes $a0 to $a3 and at.
.macro STATISTICS group mean rstd
        { shl at, \group, 3
          mov $a0:1, $azeros }
        { add at, at, total
          mov $a2:3, $azeros }
        REPEAT p, 1
        { ld64step $a0:1, $mzero, at+=, groups
          f32v2add $a2:3, $a2:3, $a0:1 }
        { ld32 $a0, $mvertex_base, $mzero, norm_params_strided__inverse
          f32v2add $a2:3, $a2:3, $a0:1 }
        { ld32 $a1, $mvertex_base, $mzero, norm_params_strided__eps
          f32v2mul $a2:3, $a0:B, $a2:3 }
        f32mul $a0, $a2, $a2
        f32sub $a3, $a3, $a0
        f32max $a3, $a3, $azero
        f32add $a3, $a3, $a1
        mov \mean, $a2
        f32oorx \rstd, $a3
.endm

// State: totals [p][groups][2], gamma, beta, scale, shift, inverse, eps, first, p, groups, n, which is even. Workers take pairs of
// channels in turn, and find means and deviations of two groups where these are others than before.
ENTRY norm_params_strided_f16
        get g, $WSR
        ld32 left, $mvertex_base, $mzero, norm_params_strided__n
        and g, g, CSR_W_WSR__CTXTID_M1__MASK
        shr left, left, 1
        add left, left, LAST_WORKER
        sub left, left, g
        setzi t, RECIPROCAL
        mul left, left, t
        shr left, left, 18
        add left, left, -1
        brneg left, .Lleave
        ld32 total, $mvertex_base, $mzero, norm_params_strided__totals
        ld32 p, $mvertex_base, $mzero, norm_params_strided__p
        ld32 groups, $mvertex_base, $mzero, norm_params_strided__groups
        ld32 gamma, $mvertex_base, $mzero, norm_params_strided__gamma
        ld32 beta, $mvertex_base, $mzero, norm_params_strided__beta
        ld32 scale, $mvertex_base, $mzero, norm_params_strided__scale
        ld32 shift, $mvertex_base, $mzero, norm_params_strided__shift
        ld32 have, $mvertex_base, $mzero, norm_params_strided__first
        shl t, g, 3
        add gamma, gamma, t
        add beta, beta, t
        shl t, g, 2
        add scale, scale, t
        add shift, shift, t
        shl g, g, 1
        add g, g, have
        setzi have, 0xfffff                // no group
.Lwrap:
        cmpult t, g, groups
        brnz t, .Lgroup
        sub g, g, groups
        bri .Lwrap
.Lgroup:
        cmpeq t, g, have
        brnz t, .Lready
        mov have, g
        STATISTICS g, $a4, $a6
        add t, g, 1
        cmpult at, t, groups
        mul t, t, at                       // the group after the last one is the first
        STATISTICS t, $a5, $a7
.Lready:
        ld64step $a0:1, $mzero, gamma+=, CTXT_WORKERS
        { ld64step $a2:3, $mzero, beta+=, CTXT_WORKERS
          f32v2mul $a0:1, $a6:7, $a0:1 }
        { add g, g, 2 * CTXT_WORKERS
          f32v2tof16 $a0, $a0:1 }
        { st32step $a0, $mzero, scale+=, CTXT_WORKERS
          f16v2tof32 $a0:1, $a0 }
        f32v2mul $a0:1, $a4:5, $a0:1
        f32v2sub $a2:3, $a2:3, $a0:1
        f32v2tof16 $a2, $a2:3
        st32step $a2, $mzero, shift+=, CTXT_WORKERS
        brnzdec left, .Lwrap
.Lleave:
        exitz $mzero
.size norm_params_strided_f16, .-norm_params_strided_f16
