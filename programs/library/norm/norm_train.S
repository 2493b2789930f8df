// norm_train.S: norms in training. Lists have a number for each column, a channel (of a picture, if each has its statistics):
//
//   norm_train_f32        what becomes of sums and sums of squares: mean, variance, 1 / deviation, scale and shift
//   norm_back_sums_f32    of the gradient, and of its product with x: those of scale, and of the normed x
//   norm_back_factors_f32 factors of the gradient, of x, and a summand, from such sums
//   lerp_f32              a + t (b - a): running statistics
//
// and dot_columns_f16, which makes these sums of a field [blocks][f][16] f16. norm_back.S uses the factors.
//
// Lists have an even number of columns; workers take every sixth pair. All in f32 but scale and shift.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define count    $m10
#define t        $m11

// A pointer to the worker's first pair of a list; size: log2 of a pair's bytes.
.macro LIST p field size=3
        ld32 \p, $mvertex_base, $mzero, \field
        shl t, wid, \size
        add \p, \p, t
.endm

// The worker, and how many pairs it has, less 1; to none if there are none.
.macro PAIRS length none
        get wid, $WSR
        ld32 count, $mvertex_base, $mzero, \length
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shr count, count, 1
        sub $m1, LAST_WORKER, wid
        SHARE count, count, $m1, t
        add count, count, -1
        brneg count, \none
.endm

.macro TAKE a p
        ld64step \a, $mzero, \p+=, CTXT_WORKERS
.endm

.macro GIVE a p
        st64step \a, $mzero, \p+=, CTXT_WORKERS
.endm

// shift is made with scale as rounded.
ENTRY norm_train_f32
        PAIRS norm_train__n, .Ltrain_none
        LIST $m1, norm_train__sum
        LIST $m2, norm_train__squares
        LIST $m3, norm_train__gamma
        LIST $m4, norm_train__beta
        LIST $m5, norm_train__mean
        LIST $m6, norm_train__variance
        LIST $m7, norm_train__rstd
        LIST $m8, norm_train__scale, 2
        LIST $m9, norm_train__shift, 2
        ld32 $a6, $mvertex_base, $mzero, norm_train__inverse
        ld32 $a7, $mvertex_base, $mzero, norm_train__eps
.Ltrain_pair:
        TAKE $a0:1, $m1
        { TAKE $a2:3, $m2
          f32v2mul $a0:1, $a6:B, $a0:1 }
        { GIVE $a0:1, $m5
          f32v2mul $a2:3, $a6:B, $a2:3 }
        f32v2mul $a4:5, $a0:1, $a0:1
        f32v2sub $a2:3, $a2:3, $a4:5
        { TAKE $a4:5, $m3
          f32v2max $a2:3, $a2:3, $azeros }
        { GIVE $a2:3, $m6
          f32v2add $a2:3, $a7:B, $a2:3 }
        f32oorx $a2, $a2
        f32oorx $a3, $a3
        { GIVE $a2:3, $m7
          f32v2mul $a4:5, $a2:3, $a4:5 }
        { TAKE $a2:3, $m4
          f32v2tof16 $a4, $a4:5 }
        { st32step $a4, $mzero, $m8+=, CTXT_WORKERS
          f16v2tof32 $a4:5, $a4 }
        f32v2mul $a4:5, $a0:1, $a4:5
        f32v2sub $a2:3, $a2:3, $a4:5
        f32v2tof16 $a2, $a2:3
        st32step $a2, $mzero, $m9+=, CTXT_WORKERS
        brnzdec count, .Ltrain_pair
.Ltrain_none:
        exitz $mzero
.size norm_train_f32, .-norm_train_f32

ENTRY norm_back_sums_f32
        PAIRS norm_back_sums__n, .Lsums_none
        LIST $m1, norm_back_sums__sum
        LIST $m2, norm_back_sums__dot
        LIST $m3, norm_back_sums__mean
        LIST $m4, norm_back_sums__rstd
        LIST $m5, norm_back_sums__gamma
        LIST $m6, norm_back_sums__slope
        LIST $m7, norm_back_sums__sum_g
        LIST $m8, norm_back_sums__dot_g
.Lsums_pair:
        TAKE $a0:1, $m1
        TAKE $a2:3, $m3
        { TAKE $a4:5, $m2
          f32v2mul $a2:3, $a0:1, $a2:3 }
        { TAKE $a6:7, $m4
          f32v2sub $a4:5, $a4:5, $a2:3 }
        { TAKE $a2:3, $m5
          f32v2mul $a4:5, $a4:5, $a6:7 }
        { GIVE $a4:5, $m6
          f32v2mul $a0:1, $a0:1, $a2:3 }
        { GIVE $a0:1, $m7
          f32v2mul $a4:5, $a4:5, $a2:3 }
        GIVE $a4:5, $m8
        brnzdec count, .Lsums_pair
.Lsums_none:
        exitz $mzero
.size norm_back_sums_f32, .-norm_back_sums_f32

// factors: of a pair of columns the two factors of the gradient, those of x, the summands.
#define FACTORS_BYTES  24

ENTRY norm_back_factors_f32
        PAIRS norm_back_factors__n, .Lfactors_none
        LIST $m1, norm_back_factors__sum_g
        LIST $m2, norm_back_factors__dot_g
        LIST $m3, norm_back_factors__mean
        LIST $m4, norm_back_factors__rstd
        LIST $m5, norm_back_factors__gamma
        ld32 $m6, $mvertex_base, $mzero, norm_back_factors__factors
        mul t, wid, FACTORS_BYTES
        add $m6, $m6, t
        ld32 $a6, $mvertex_base, $mzero, norm_back_factors__minus
.Lfactors_pair:
        TAKE $a0:1, $m4
        TAKE $a2:3, $m5
        { TAKE $a4:5, $m2
          f32v2mul $a2:3, $a0:1, $a2:3 }
        { st64step $a2:3, $mzero, $m6+=, 1
          f32v2mul $a4:5, $a6:B, $a4:5 }
        f32v2mul $a4:5, $a0:1, $a4:5
        { TAKE $a2:3, $m3
          f32v2mul $a4:5, $a0:1, $a4:5 }
        { st64step $a4:5, $mzero, $m6+=, 1
          f32v2mul $a2:3, $a2:3, $a4:5 }
        TAKE $a4:5, $m1
        f32v2mul $a4:5, $a6:B, $a4:5
        f32v2mul $a4:5, $a0:1, $a4:5
        f32v2sub $a4:5, $a4:5, $a2:3
        st64step $a4:5, $mzero, $m6+=, FACTORS_BYTES / VECTOR_BYTES * (CTXT_WORKERS - 1) + 1
        brnzdec count, .Lfactors_pair
.Lfactors_none:
        exitz $mzero
.size norm_back_factors_f32, .-norm_back_factors_f32

ENTRY lerp_f32
        PAIRS lerp__n, .Llerp_none
        LIST $m1, lerp__a
        LIST $m2, lerp__b
        LIST $m3, lerp__out
        ld32 $a6, $mvertex_base, $mzero, lerp__t
.Llerp_pair:
        TAKE $a0:1, $m1
        TAKE $a2:3, $m2
        f32v2sub $a2:3, $a2:3, $a0:1
        f32v2mul $a2:3, $a6:B, $a2:3
        f32v2add $a0:1, $a0:1, $a2:3
        GIVE $a0:1, $m3
        brnzdec count, .Llerp_pair
.Llerp_none:
        exitz $mzero
.size lerp_f32, .-lerp_f32

// Sums over the positions of each block: sum of x, dot of x y. Workers take pairs of channels in turn, and go down their
// positions: four slots each.
#define pairs    $m1                       // still to come, less 1
#define pair     $m2
#define f        $m3
#define px       $m4
#define py       $m5
#define at       $m6
#define x        $m7
#define y        $m8
#define sum      $m9

#define POSITION_BYTES  32

ENTRY dot_columns_f16
        get wid, $WSR
        { ld32 pairs, $mvertex_base, $mzero, dot_columns__blocks
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          uput $FP_CLR, $a7 }
        shl pairs, pairs, 3
        sub t, LAST_WORKER, wid
        SHARE pairs, pairs, t, at
        add pairs, pairs, -1
        brneg pairs, .Ldot_none
        mov pair, wid
        ld32 f, $mvertex_base, $mzero, dot_columns__f
        ld32 x, $mvertex_base, $mzero, dot_columns__x
        ld32 y, $mvertex_base, $mzero, dot_columns__y
        ld32 sum, $mvertex_base, $mzero, dot_columns__sum
        ld32 $m10, $mvertex_base, $mzero, dot_columns__dot
        shl t, wid, 3
        add sum, sum, t
        add $m10, $m10, t
.Ldot_column:
        shr at, pair, 3
        mul at, at, f
        shl at, at, 5
        and t, pair, 7
        shl t, t, 2
        add at, at, t
        { add px, x, at
          zero $a2:3 }
        { add py, y, at
          zero $a4:5 }
        { add pair, pair, CTXT_WORKERS
          zero $a6:7 }
        REPEAT f, 4
        { ld32step $a0, $mzero, px+=, POSITION_BYTES / 4
          f32v2mac $a4:5, $a6:7 }
        { ld32step $a1, $mzero, py+=, POSITION_BYTES / 4
          f16v2tof32 $a4:5, $a0 }
        { nop
          f16v2tof32 $a6:7, $a1 }
        { nop
          f32v2add $a2:3, $a2:3, $a4:5 }
        { GIVE $a2:3, sum
          f32v2mac $a4:5, $a6:7 }
        f32v2gina $a4:5, $azeros, 0
        GIVE $a4:5, $m10
        brnzdec pairs, .Ldot_column
.Ldot_none:
        exitz $mzero
.size dot_columns_f16, .-dot_columns_f16
