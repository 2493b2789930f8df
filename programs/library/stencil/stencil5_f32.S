// stencil5_f32: one step of the 5-point stencil on h rows of w, those above and below included in x; the first and the last
// column stay as they are.
//
//   y[r][c] = c0 x[r + 1][c] + c1 ((x[r + 1][c - 1] + x[r + 1][c + 1]) + (x[r][c] + x[r + 2][c]))
//
// State: x [h + 2][w], y [h][w], c0, c1, h, w (even). A worker takes a block of neighbouring pairs of
// columns in all rows: nine bundles a pair, 18 to 31 slots more a row.
#define FAMILY "../stencil/stencil.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define bytes   $m0                        // of the worker's part of a row
#define north   $m1
#define south   $m2
#define next    $m3                        // in the middle row, after what is loaded
#define to      $m4
#define count   $m5
#define rows    $m6
#define skip    $m7                        // from the end of its part to its part of the next row
#define inner   $m8                        // not 0: the first pair is not the row's first
#define outer   $m9                        // 0: the last pair is the row's last
#define s       $m10
#define t       $m11
#define x01     $a0:1                      // the pair in work
#define x0      $a0
#define x1      $a1
#define x23     $a2:3                      // the one after it
#define x2      $a2
#define before  $a4
#define sum     $a6:7
#define fixed   $a6
#define side    $a8:9
#define side0   $a8
#define side1   $a9
#define below   $a10:11
#define c0      $a12
#define c1      $a13

ENTRY stencil5_f32
        get s, $WSR
        ld32 outer, $mvertex_base, $mzero, stencil5__w
        and s, s, CSR_W_WSR__CTXTID_M1__MASK
        shl skip, outer, 2
        shr outer, outer, 1
        BLOCK inner count outer s
        sub outer, outer, count            // BLOCK left the pairs from inner on
        cmpslt t, $mzero, count
        ld32 rows, $mvertex_base, $mzero, stencil5__h
        brz t, .Lstencil5_none
        brz rows, .Lstencil5_none
        ld32 north, $mvertex_base, $mzero, stencil5__x
        ld32 to, $mvertex_base, $mzero, stencil5__y
        ld32 c0, $mvertex_base, $mzero, stencil5__c0
        ld32 c1, $mvertex_base, $mzero, stencil5__c1
        shl s, inner, 3
        add north, north, s
        add to, to, s
        add next, north, skip
        add south, next, skip
        shl bytes, count, 3
        sub skip, skip, bytes
        add rows, rows, -1
.Lstencil5_row:
        add s, next, -4
        ld32 before, s, $mzero, 0
        ld64step x01, $mzero, next+=, 1
        REPEAT count, 9
        { ld64step sum, $mzero, north+=, 1
          f32add side0, before, x1 }
        { ld64step below, $mzero, south+=, 1
          mov before, x1 }
        { ld64step x23, $mzero, next+=, 1
          f32v2add sum, sum, below }
        { nop
          f32add side1, x0, x2 }
        { nop
          f32v2add sum, side, sum }
        { nop
          f32v2mul side, c0:B, x01 }
        { nop
          f32v2mul sum, c1:B, sum }
        { nop
          f32v2add sum, side, sum }
        { st64step sum, $mzero, to+=, 1
          mov x01, x23 }
        brnz inner, .Lstencil5_last
        sub s, next, bytes
        add s, s, -8
        ld32 fixed, s, $mzero, 0
        sub s, to, bytes
        st32 fixed, s, $mzero, 0
.Lstencil5_last:
        brnz outer, .Lstencil5_next
        add s, next, -12
        ld32 fixed, s, $mzero, 0
        add s, to, -4
        st32 fixed, s, $mzero, 0
.Lstencil5_next:
        add north, north, skip
        add south, south, skip
        add next, next, skip
        add next, next, -8
        add to, to, skip
        brnzdec rows, .Lstencil5_row
.Lstencil5_none:
        exitz $mzero
.size stencil5_f32, .-stencil5_f32
