// norm_params_f16: scale and shift of every channel, f16, from the partial sums of its group: scale = gamma / root(variance + eps),
// shift = beta - mean scale with scale as rounded. All in f32 but the results.
//
// State: totals [groups][p][2], gamma, beta, scale, shift, inverse, eps, first, each, p,
// groups, n. totals: sums and sums of squares; inverse: 1 / how many values a sum has. Groups have `each` channels, `first`
// of the first one lie before gamma[0]; the last one has no end. n is even. Workers take blocks of neighbouring pairs of
// channels, and find mean and deviation of each group that they meet. Slots: norm_ref.c.

#define FAMILY "../norm/norm.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define t        $m0
#define count    $m1                       // pairs still to come
#define left     $m2                       // channels of this group still to come
#define more     $m3                       // groups after it
#define total    $m4                       // of the next group
#define each     $m5
#define p        $m6
#define gamma    $m7
#define beta     $m8
#define scale    $m9
#define shift    $m10
#define u        $m11
#define mean     $a4
#define rstd     $a5

#define ENDLESS  0xfffff                   // channels of the last group

// Mean and deviation of the next group, of which `here` channels are still to come. Changes $a0 to $a3 and t.
.macro GROUP here
        { ld64step $a0:1, $mzero, total+=, 1
          mov $a2:3, $azeros }
        add t, p, -1
        REPEAT t, 1
        { ld64step $a0:1, $mzero, total+=, 1
          f32v2add $a2:3, $a2:3, $a0:1 }
        { ld32 $a0, $mvertex_base, $mzero, norm_params__inverse
          f32v2add $a2:3, $a2:3, $a0:1 }
        { ld32 $a1, $mvertex_base, $mzero, norm_params__eps
          f32v2mul $a4:5, $a0:B, $a2:3 }
        { setzi left, ENDLESS
          f32mul $a0, mean, mean }
        f32sub $a0, $a5, $a0
        f32max $a0, $a0, $azero
        f32add $a0, $a0, $a1
        { movnz left, more, \here
          f32oorx rstd, $a0 }
.endm

ENTRY norm_params_f16
        get u, $WSR
        ld32 t, $mvertex_base, $mzero, norm_params__n
        and u, u, CSR_W_WSR__CTXTID_M1__MASK
        shr t, t, 1
        BLOCK left, count, t, u
        add count, count, -1
        brneg count, .Lnone
        ld32 more, $mvertex_base, $mzero, norm_params__groups
        ld32 t, $mvertex_base, $mzero, norm_params__first
        shl u, left, 1
        add t, t, u
        ld32 each, $mvertex_base, $mzero, norm_params__each
        ld32 p, $mvertex_base, $mzero, norm_params__p
        ld32 total, $mvertex_base, $mzero, norm_params__totals
        ld32 gamma, $mvertex_base, $mzero, norm_params__gamma
        ld32 beta, $mvertex_base, $mzero, norm_params__beta
        ld32 scale, $mvertex_base, $mzero, norm_params__scale
        ld32 shift, $mvertex_base, $mzero, norm_params__shift
        shl u, left, 3
        add gamma, gamma, u
        add beta, beta, u
        shl u, left, 2
        add scale, scale, u
        add shift, shift, u
        shl u, p, 3
        // Position t counts from the beginning of the first group.
.Lskip:
        add more, more, -1
        cmpult left, t, each
        brnz left, .Lfound
        brz more, .Lfound
        sub t, t, each
        add total, total, u
        bri .Lskip
.Lfound:
        sub u, each, t
        GROUP u
.Lpair:
        cmpult t, left, 2
        brnz t, .Lborder
        ld64step $a0:1, $mzero, gamma+=, 1
        { ld64step $a2:3, $mzero, beta+=, 1
          f32v2mul $a0:1, rstd:B, $a0:1 }
        { add left, left, -2
          f32v2tof16 $a0, $a0:1 }
        { st32step $a0, $mzero, scale+=, 1
          f16v2tof32 $a6:7, $a0 }
        f32v2mul $a6:7, mean:B, $a6:7
        f32v2sub $a2:3, $a2:3, $a6:7
        f32v2tof16 $a2, $a2:3
        st32step $a2, $mzero, shift+=, 1
        brnzdec count, .Lpair
        exitz $mzero

.Lborder:
        brnz left, .Lsplit
        add more, more, -1
        GROUP each
        bri .Lpair

        // One channel of either group.
.Lsplit:
        ld32step $a0, $mzero, gamma+=, 1
        { ld32step $a7, $mzero, beta+=, 1
          f32mul $a6, rstd, $a0 }
        f32tof16 $a6, $a6
        f16tof32 $a6, $a6
        { add more, more, -1
          f32mul $a0, mean, $a6 }
        f32sub $a7, $a7, $a0
        GROUP each
        add left, left, -1
        ld32step $a0, $mzero, gamma+=, 1
        { ld32step $a3, $mzero, beta+=, 1
          f32mul $a0, rstd, $a0 }
        f32tof16 $a0, $a0
        f16tof32 $a0, $a0
        f32mul $a1, mean, $a0
        mov $a2, $a7
        mov $a7, $a0
        f32sub $a3, $a3, $a1
        f32v2tof16 $a0, $a6:7
        { st32step $a0, $mzero, scale+=, 1
          f32v2tof16 $a2, $a2:3 }
        st32step $a2, $mzero, shift+=, 1
        brnzdec count, .Lpair
.Lnone:
        exitz $mzero
.size norm_params_f16, .-norm_params_f16
