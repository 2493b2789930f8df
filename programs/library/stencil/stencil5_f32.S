// stencil5_f32: one step of the 5-point stencil on h rows of w, those above and below included in x; the first and the last
// column stay as they are.
//
//   y[r][c] = c0 x[r + 1][c] + c1 ((x[r + 1][c - 1] + x[r + 1][c + 1]) + (x[r][c] + x[r + 2][c]))
//
// State: x [h + 2][w], y [h][w], c0, c1, h, w (even). A worker takes a block of neighbouring pairs of
// columns in all rows: eight bundles a pair, 17 to 30 slots more a row. The two constants are loaded for every pair: the
// north row, the sum and the pair itself leave no registers for them. The store of a pair overlaps the first sum of the next.
#define FAMILY "../stencil/stencil.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define bytes   $m0                        // of the worker's part of a row
#define above   $m1
#define below   $m2
#define next    $m3                        // in the middle row, after what is loaded
#define to      $m4
#define count   $m5
#define rows    $m6
#define skip    $m7                        // from the end of its part to its part of the next row
#define inner   $m8                        // not 0: the first pair is not the row's first
#define outer   $m9                        // 0: the last pair is the row's last
#define s       $m10
#define back    $m11                       // -4: from next to the element before it
#define x01     $a0:1                      // the pair in work
#define x0      $a0
#define x1      $a1
#define side    $a2:3                      // first the elements beside the pair, then their sums with its own
#define side0   $a2
#define side1   $a3
#define sum     $a4:5                      // first the pair of the south
#define fixed   $a4
#define north   $a6:7                      // between the uses of the constants
#define c0      $a6
#define c1      $a7

ENTRY stencil5_f32
        get s, $WSR
        ld32 outer, $mvertex_base, $mzero, stencil5__w
        and s, s, CSR_W_WSR__CTXTID_M1__MASK
        shl skip, outer, 2
        shr outer, outer, 1
        BLOCK inner count outer s
        sub outer, outer, count            // BLOCK left the pairs from inner on
        cmpslt s, $mzero, count
        ld32 rows, $mvertex_base, $mzero, stencil5__h
        brz s, .Lstencil5_none
        brz rows, .Lstencil5_none
        ld32 above, $mvertex_base, $mzero, stencil5__x
        ld32 to, $mvertex_base, $mzero, stencil5__y
        ld32 c0, $mvertex_base, $mzero, stencil5__c0
        add back, $mzero, -4
        shl s, inner, 3
        add above, above, s
        add to, to, s
        add next, above, skip
        add below, next, skip
        shl bytes, count, 3
        sub skip, skip, bytes
        add rows, rows, -1
.Lstencil5_row:
        ld32 side0, next, back, 0
        EVEN ld64step x01, $mzero, next+=, 1
        { rpt count, 7
          f32add side0, side0, x1 }
        { ld32 side1, next, $mzero, 0
          fnop }
        { ld64step sum, $mzero, below+=, 1
          f32add side1, x0, side1 }
        { ld64step north, $mzero, above+=, 1
          f32v2mul x01, c0:B, x01 }
        { ld32 c1, $mvertex_base, $mzero, stencil5__c1
          f32v2add sum, north, sum }
        { ld32 side0, next, back, 0
          f32v2add sum, side, sum }
        { ld32 c0, $mvertex_base, $mzero, stencil5__c0
          f32v2mul sum, c1:B, sum }
        { ld64step x01, $mzero, next+=, 1
          f32v2add sum, x01, sum }
        { st64step sum, $mzero, to+=, 1
          f32add side0, side0, x1 }
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
        add above, above, skip
        add below, below, skip
        add next, next, skip
        add next, next, -8
        add to, to, skip
        brnzdec rows, .Lstencil5_row
.Lstencil5_none:
        exitz $mzero
.size stencil5_f32, .-stencil5_f32
