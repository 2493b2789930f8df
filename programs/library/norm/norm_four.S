// norm_four.S: norm_stats4_f16, norm_params4_f16, norm_train4_f16: group norm with four groups, channel c in group c mod 4. A vector of four or eight
// channels then has channels of all groups, whatever block it belongs to: statistics need no sums by channel, and every worker has two
// groups all the time.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define PARTS    (CTXT_WORKERS / 2)
#if CTXT_WORKERS % 2
#error workers with an even number add up, those with an odd number squares
#endif

// Below so many elements it takes longer to add up parts than to make none.
#define FEW      384

#define state    $m0
#define at_once  $m1
#define in_parts $m2
#define together $m3
#define n        $m4

// State: x, totals [4][2], scratch [CTXT_WORKERS][8], n. Worker 2 k adds up vectors k, k + PARTS, .. of 8 elements, worker 2 k + 1 their
// squares, and two workers add up the parts; of few elements two workers have all.
ENTRY norm_stats4_f16, supervisor
        ld32 n, state, $mzero, norm_stats4__n
        setzi at_once, .Lwhole
        setzi in_parts, .Lparts
        setzi together, .Ladd
        cmpult n, n, FEW
        brnz n, .Lat_once
        runall in_parts, state, 0
        sync TEXCH_SYNCZONE_LOCAL
        runall together, state, 0
        sync TEXCH_SYNCZONE_LOCAL
        br $lr
.Lat_once:
        runall at_once, state, 0
        sync TEXCH_SYNCZONE_LOCAL
        br $lr
.size norm_stats4_f16, .-norm_stats4_f16

.worker
#define wid      $m0
#define count    $m1
#define at       $m2
#define out      $m3
#define t        $m4
#define u        $m5

// A worker's number, the state but for what it writes to, and accumulators and $a0:1 that are zero.
.macro OPEN to
        get wid, $WSR
        { ld32 count, $mvertex_base, $mzero, norm_stats4__n
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 at, $mvertex_base, $mzero, norm_stats4__x
          uput $FP_CLR, $a7 }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          zero $a0:1 }
        ld32 out, $mvertex_base, $mzero, \to
.endm

// Adds up vectors with $a0:1 zero.
.macro SUMS add step
        { rpt count, 0
          zero $a2:3 }
        { ld128step $a0:3, $mzero, at+=, \step
          \add $a0:3 }
        { nop
          \add $a0:3 }
.endm

// Of all vectors. The second half of a vector has the same groups.
.macro WHOLE add
        SUMS \add, 1
        f32v2gina $a2:3, $azeros, 0
        f32v2gina $a4:5, $azeros, 0
        f32v2gina $a6:7, $azeros, 0
        f32v2gina $a0:1, $azeros, 0
        f32v2add $a2:3, $a2:3, $a6:7
        { st32step $a2, $mzero, out+=, 2
          f32v2add $a4:5, $a4:5, $a0:1 }
        st32step $a3, $mzero, out+=, 2
        st32step $a4, $mzero, out+=, 2
        st32 $a5, $mzero, out, 0
        exitz $mzero
.endm

.align 8
.Lwhole:
        OPEN norm_stats4__totals
        cmpult t, wid, 2
        brz t, .Lnone
        shr count, count, 3
        brnz wid, .Lwhole_squares
        WHOLE f16v8acc
.align 8
.Lwhole_squares:
        EVEN add out, out, 4
        WHOLE f16v8sqacc

.macro PART add
        SUMS \add, PARTS
        f32v2gina $a4:5, $azeros, 0
        { st64step $a4:5, $mzero, out+=, 1
          f32v2gina $a4:5, $azeros, 0 }
        { st64step $a4:5, $mzero, out+=, 1
          f32v2gina $a4:5, $azeros, 0 }
        { st64step $a4:5, $mzero, out+=, 1
          f32v2gina $a4:5, $azeros, 0 }
        st64 $a4:5, $mzero, out, 0
        exitz $mzero
.endm

.align 8
.Lparts:
        OPEN norm_stats4__scratch
        andc t, wid, 1                     // twice the part
        shr count, count, 2
        add count, count, CTXT_WORKERS - 2
        sub count, count, t
        setzi u, RECIPROCAL
        mul count, count, u
        shr count, count, 18
        shl t, t, 3
        add at, at, t
        shl t, wid, 5
        add out, out, t
        and t, wid, 1
        EVEN brnz t, .Lpart_squares
        PART f16v8acc
.align 8
.Lpart_squares:
        PART f16v8sqacc

.align 8
.Ladd:
        get wid, $WSR
        { ld32 at, $mvertex_base, $mzero, norm_stats4__scratch
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 out, $mvertex_base, $mzero, norm_stats4__totals
          uput $FP_CLR, $a7 }
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        cmpult t, wid, 2
        brz t, .Lnone
        shl t, wid, 5
        add at, at, t
        shl t, wid, 2
        add out, out, t
        ld128step $a0:3, $mzero, at+=, 1
.rept PARTS - 1
        { ld128step $a0:3, $mzero, at+=, 3
          f32v4acc $a0:3 }
        { ld128step $a0:3, $mzero, at+=, 1
          f32v4acc $a0:3 }
.endr
        { ld128step $a0:3, $mzero, at+=, 1
          f32v4acc $a0:3 }
        f32v4acc $a0:3
        f32v2gina $a2:3, $azeros, 0
        { st32step $a2, $mzero, out+=, 2
          f32v2gina $a4:5, $azeros, 0 }
        st32step $a3, $mzero, out+=, 2
        st32step $a4, $mzero, out+=, 2
        st32 $a5, $mzero, out, 0
.Lnone:
        exitz $mzero

#define total    $m2
#define own      $m6
#define p        $m3
#define gamma    $m7
#define beta     $m8
#define scale    $m9
#define shift    $m10
#define means    $m2                       // once totals are added up
#define rstds    $m6                       // as own
#define mean     $a6:7
#define rstd     $a4:5

// Scale and shift of a pair of channels; gamma is in $a0:1. next: loads the next one. keep: keeps what they are made of.
.macro CHANNELS keep next:vararg
        { ld64step $a2:3, $mzero, beta+=, CTXT_WORKERS
          f32v2mul $a0:1, rstd, $a0:1 }
.if \keep
        { st64step mean, $mzero, means+=, CTXT_WORKERS
          f32v2tof16 $a0, $a0:1 }
        { st32step $a0, $mzero, scale+=, CTXT_WORKERS
          f16v2tof32 $a0:1, $a0 }
        { st64step rstd, $mzero, rstds+=, CTXT_WORKERS
          f32v2mul $a0:1, mean, $a0:1 }
.else
        { nop
          f32v2tof16 $a0, $a0:1 }
        { st32step $a0, $mzero, scale+=, CTXT_WORKERS
          f16v2tof32 $a0:1, $a0 }
        { nop
          f32v2mul $a0:1, mean, $a0:1 }
.endif
        { \next
          f32v2sub $a2:3, $a2:3, $a0:1 }
        { nop
          f32v2tof16 $a2, $a2:3 }
        { st32step $a2, $mzero, shift+=, CTXT_WORKERS
          fnop }
.endm

// State: own, totals, gamma, beta, scale, shift, inverse, eps, before, p, n; training has mean and rstd [n] besides. Workers take pairs of
// channels in turn, those with an even number of the first two groups, the others of the last two.
.macro PARAMS name state keep
ENTRY \name
        get wid, $WSR
        { ld32 count, $mvertex_base, $mzero, \state\()__n
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          uput $FP_CLR, $a7 }
        shr count, count, 1
        sub t, LAST_WORKER, wid
        SHARE count, count, t, u
        add count, count, -1
        brneg count, .L\name\()_none
        ld32 own, $mvertex_base, $mzero, \state\()__own
        and t, wid, 1
        ld32 total, $mvertex_base, $mzero, \state\()__totals
        shl t, t, 4
        { ld32 p, $mvertex_base, $mzero, \state\()__before
          zero $a0:1 }
        { add total, total, t
          zero $a2:3 }
        REPEAT p, 1
        { ld128step $a0:3, $mzero, total+=, 2
          f32v4acc $a0:3 }
        { ld32 p, $mvertex_base, $mzero, \state\()__p
          f32v4acc $a0:3 }
        ld64 $a0:1, own, t, 0
        ld64 $a2:3, own, t, 1
        REPEAT p, 1
        { ld128step $a0:3, $mzero, total+=, 2
          f32v4acc $a0:3 }
        { ld32 gamma, $mvertex_base, $mzero, \state\()__gamma
          f32v4acc $a0:3 }
        { ld32 $a0, $mvertex_base, $mzero, \state\()__inverse
          f32v2gina $a2:3, $azeros, 0 }
        { ld32 $a1, $mvertex_base, $mzero, \state\()__eps
          f32v2gina $a4:5, $azeros, 0 }
        { ld32 beta, $mvertex_base, $mzero, \state\()__beta
          f32v2mul $a2:3, $a0:B, $a2:3 }
        { ld32 scale, $mvertex_base, $mzero, \state\()__scale
          f32v2mul $a4:5, $a0:B, $a4:5 }
        { ld32 shift, $mvertex_base, $mzero, \state\()__shift
          mov $a6, $a2 }
        { shl t, wid, 3
          mov $a7, $a4 }
        { add gamma, gamma, t
          mov $a4, $a3 }
        { add beta, beta, t
          f32v2mul $a2:3, mean, mean }
        { shl t, wid, 2
          f32v2sub $a4:5, $a4:5, $a2:3 }
        { add scale, scale, t
          f32v2max $a4:5, $a4:5, $azeros }
        { add shift, shift, t
          f32v2add $a4:5, $a1:B, $a4:5 }
        { ld64step $a0:1, $mzero, gamma+=, CTXT_WORKERS
          f32oorx $a4, $a4 }
        f32oorx $a5, $a5
.if \keep
        ld32 means, $mvertex_base, $mzero, \state\()__mean
        ld32 rstds, $mvertex_base, $mzero, \state\()__rstd
        shl t, wid, 3
        add means, means, t
        add rstds, rstds, t
.endif
        REPEAT count, 7
        CHANNELS \keep, ld64step $a0:1, $mzero, gamma+=, CTXT_WORKERS
        CHANNELS \keep, nop
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

PARAMS norm_params4_f16, norm_params4, 0
PARAMS norm_train4_f16, norm_train4, 1
