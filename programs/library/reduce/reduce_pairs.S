// reduce_pairs.S: sums of a few columns of f32, as short as they get: reduce.S takes 7 slots more, but 16 bytes a load.
//
// State: partials [p][n], out, n, which is even, p. Workers take pairs of columns in turn, a slot a partial, and add in the order of
// the partials. reduce_own_f32 has one of them, own [n], apart from the others: `before` of these come before it, p after it.

#define FAMILY "../reduce/reduce.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define pair     $m0
#define n        $m1                       // pairs
#define rows     $m2
#define out      $m3
#define at       $m4
#define of       $m5                       // bytes before the pair
#define t        $m6
#define own      $m7
#define rows0    $m8

// Adds $a0:1 and so many rows but the last, which is in $a0:1 then.
.macro ROWS count
        REPEAT \count, 1
        { ld64step $a0:1, $mzero, at+=, n
          f32v2add $a2:3, $a2:3, $a0:1 }
.endm

.macro PAIRS name state apart
ENTRY \name
        get pair, $WSR
        ld32 n, $mvertex_base, $mzero, \state\()__n
        and pair, pair, CSR_W_WSR__CTXTID_M1__MASK
        shr n, n, 1
        cmpult t, pair, n
        brz t, .L\name\()_none
        ld32 rows, $mvertex_base, $mzero, \state\()__p
        ld32 out, $mvertex_base, $mzero, \state\()__out
.ifnb \apart
        ld32 rows0, $mvertex_base, $mzero, \state\()__before
        ld32 own, $mvertex_base, $mzero, \state\()__own
.endif
.L\name\()_next:
        ld32 at, $mvertex_base, $mzero, \state\()__partials
        { shl of, pair, 3
          zero $a2:3 }
        { add at, at, of
          zero $a0:1 }
.ifnb \apart
        ROWS rows0
        { ld64 $a0:1, own, of, 0
          f32v2add $a2:3, $a2:3, $a0:1 }
.endif
        ROWS rows
        { add pair, pair, CTXT_WORKERS
          f32v2add $a2:3, $a2:3, $a0:1 }
        cmpult t, pair, n
        st64 $a2:3, out, of, 0
        brnz t, .L\name\()_next
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

PAIRS reduce_pairs_f32, reduce_pairs
PAIRS reduce_own_f32, reduce_own, apart
