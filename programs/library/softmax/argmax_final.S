// argmax_final: best_value = largest of n values, best_index = the lowest of the indices of these.
//
// State: value f32 [n], 8-byte aligned, index [n], best_value, best_index, n. The work of worker 0: the maximum, one
// slot for two values, then the pairs that hold it are looked for, eight slots each and three for an equal value.
// -infinity and 0xffffffff where there is no number.

#define FAMILY "../softmax/softmax.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define at       $m1
#define index    $m2
#define n        $m3
#define pairs    $m4
#define t        $m5
#define u        $m6
#define lowest   $m7
#define odd      $m8
#define x        $a2:3
#define best     $a4:5

ENTRY argmax_final
        get wid, $WSR
        ld32 n, $mvertex_base, $mzero, argmax_final__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        { brnz wid, .Lnone
          or $a4, $azero, 0xff800000 }
        { ld32 at, $mvertex_base, $mzero, argmax_final__value
          mov $a5, $a4 }
        { ld32 index, $mvertex_base, $mzero, argmax_final__index
          mov x, best }
        shr pairs, n, 1
        and odd, n, 1
        mov t, at
        REPEAT pairs, 1
        { ld64step x, $mzero, t+=, 1
          f32v2max best, best, x }
        { brz odd, .Lfolded
          f32v2max best, best, x }
        ld32 $a2, t, 0
        f32max $a4, $a4, $a2
.Lfolded:
        f32max $a0, $a4, $a5
        add lowest, $mzero, -1
        brz pairs, .Llast
        add pairs, pairs, -1
.Lsearch:
        ld64step x, $mzero, at+=, 1
        f32v2cmpeq $a2:3, $a0:B, x
        atom t, $a2
        brz t, .Lsecond
        ld32 u, index, $mzero, 0
        cmpult t, u, lowest
        movnz lowest, t, u
.Lsecond:
        atom t, $a3
        brz t, .Lnext
        ld32 u, index, $mzero, 1
        cmpult t, u, lowest
        movnz lowest, t, u
.Lnext:
        add index, index, 8
        brnzdec pairs, .Lsearch
.Llast:
        brz odd, .Lstore
        ld32 $a2, at, 0
        f32cmpeq $a2, $a2, $a0
        atom t, $a2
        brz t, .Lstore
        ld32 u, index, $mzero, 0
        cmpult t, u, lowest
        movnz lowest, t, u
.Lstore:
        ld32 t, $mvertex_base, $mzero, argmax_final__best_value
        ld32 u, $mvertex_base, $mzero, argmax_final__best_index
        st32 $a0, t, $mzero, 0
        st32 lowest, u, $mzero, 0
.Lnone:
        exitz $mzero
.size argmax_final, .-argmax_final
