// row_norm.S: norms of rows after the sums: sums of squared deviations from the mean, then scale and shift.
//
// Everything is f32 until the result. Slots: row_norm_ref.c.
#define FAMILY "../rows/rows.def"
#include "../kernel/fields.inc"
#include "rows.inc"

// $a2 = - mean.
.macro MEAN state
        PARTIALS \state, sum, f32add, NONE
        ld32 $a0, $mvertex_base, $mzero, \state\()__inverse
        f32mul $a2, $a2, $a0
        f32sub $a2, $azero, $a2
.endm

// Elements after the last whole vector come last, the last one first.
.macro ROW_DEVIATION name bits
ENTRY \name
        ROWS row_deviation, 32 / \bits, .L\name\()_none
        ROW_PARTIALS row_deviation
        { ld32 in, $mvertex_base, $mzero, row_deviation__out
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { shl wid, wid, 2
          uput $FP_CLR, $a7 }
        add out, in, wid
.L\name\()_row:
        MEAN row_deviation
        EVEN add in, x, at
        VECTORS \name, zero $a6:7
        SHIFTED \bits, $mzero, nop
        { nop
          f32v4sqacc $a4:7 }
.L\name\()_stop:
        { add to, tail, -1
          f32v2gina $a4:5, $azeros, 0 }
.if \bits == 16
        f32v2gina $a6:7, $azeros, 0
        f32v2add $a4:5, $a4:5, $a6:7
.endif
        { brz tail, .L\name\()_store
          f32add $a4, $a4, $a5 }
.L\name\()_tail:
        LOAD_ELEMENT \bits, in, to
        f32add $a0, $a0, $a2
        f32mul $a0, $a0, $a0
        { brnzdec to, .L\name\()_tail
          f32add $a4, $a4, $a0 }
.L\name\()_store:
        st32step $a4, $mzero, out+=, CTXT_WORKERS
        ROWS_END \name
.endm

ROW_DEVIATION row_deviation_f16 16
ROW_DEVIATION row_deviation_f32 32

#define params   $m5                       // by row: of this one; by column: bytes of a row before the part
#define next     $m2                       // by row: bytes to the worker's next one; by column: the cursor

// $a2 = - mean, $a3 = 1 / root(mean square of the deviations + eps).
.macro MOMENTS
        PARTIALS row_norm, squares, f32add, NONE
        ld32 $a0, $mvertex_base, $mzero, row_norm__inverse
        { ld32 $a1, $mvertex_base, $mzero, row_norm__eps
          f32mul $a2, $a2, $a0 }
        f32add $a2, $a2, $a1
        f32oorx $a3, $a2
        MEAN row_norm
.endm

.macro NORM_BEGIN name bits
ENTRY \name
        ROWS row_norm, 32 / \bits, .L\name\()_none
        WHOLE_VECTORS
.endm

.macro ROW_NORM name bits
NORM_BEGIN \name, \bits
        ld32 params, $mvertex_base, $mzero, row_norm__params
        shl u, row, 3
        add params, params, u
        shl next, step, 3
        ROW_PARTIALS row_norm
        ld32 y, $mvertex_base, $mzero, row_norm__y
.L\name\()_row:
        MOMENTS
        ld32 $a0, params, $mzero, 0
        { mov in, at
          f32mul $a3, $a3, $a0 }
        EVEN mov to, at
        VECTORS \name, fnop
        SHIFTED \bits, x, ld32 $a0, params, $mzero, 1
.if \bits == 16
        EACH_PAIR 16, f32v2mul, $a3, ld32 $a0, params, $mzero, 1
.else
        EACH_PAIR 32, f32v2mul, $a3, nop
.endif
        EACH_PAIR \bits, f32v2add, $a0, nop
        STORE_VECTOR \bits
.L\name\()_stop:
        add params, params, next
        ROWS_END \name
.endm

ROW_NORM row_norm_f16 16
ROW_NORM row_norm_f32 32

.macro ROW_NORM_COLUMNS name bits
NORM_BEGIN \name, \bits
.if \bits == 16
        shl params, first, 5
.else
        shl params, first, 4
.endif
        ROW_PARTIALS row_norm
        ld32 y, $mvertex_base, $mzero, row_norm__y
.L\name\()_row:
        MOMENTS
        ld32 next, $mvertex_base, $mzero, row_norm__params
        add next, next, params
        mov in, at
        EVEN mov to, at
        VECTORS \name, fnop
        SHIFTED \bits, x, nop
        EACH_PAIR \bits, f32v2mul, $a3, ld64step $a0:1, $mzero, next+=, 1
.if \bits == 16
        { ld64step $a0:1, $mzero, next+=, 1
          f32v2mul $a4:5, $a4:5, $a0:1 }
        { ld64step $a0:1, $mzero, next+=, 1
          f32v2add $a4:5, $a4:5, $a0:1 }
        { ld64step $a0:1, $mzero, next+=, 1
          f32v2mul $a6:7, $a6:7, $a0:1 }
        { nop
          f32v2add $a6:7, $a6:7, $a0:1 }
.else
        { ld64step $a0:1, $mzero, next+=, 1
          f32v2mul $a4:5, $a4:5, $a0:1 }
        { nop
          f32v2add $a4:5, $a4:5, $a0:1 }
.endif
        STORE_VECTOR \bits
.L\name\()_stop:
        ROWS_END \name
.endm

ROW_NORM_COLUMNS row_norm_columns_f16 16
ROW_NORM_COLUMNS row_norm_columns_f32 32
