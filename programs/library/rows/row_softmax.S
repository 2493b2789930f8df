// row_softmax.S: the steps of softmax after the maxima: exponentials and their sums, then quotients or logarithms.
//
// Sums and logarithms are f32; exponentials have the type of the rows. Slots: row_softmax_ref.c.
#define FAMILY "../rows/rows.def"
#include "../kernel/fields.inc"
#include "rows.inc"

#define LOWEST   or $a2, $azero, 0xff800000
.equ CLEAR, 1 << CSR_W_FP_CLR__ZAACC__SHIFT

// y = e^(x - M): a vector of f16, M in $a2 with its sign changed, or of f32, M in $a2:3. `sum` adds it up.
.macro EXP_VECTOR bits sum:vararg
        LOAD_VECTOR \bits, x
.if \bits == 16
        { nop
          f16v4add $a0:1, $a2:BL, $a0:1 }
        { nop
          f16v2exp $a4, $a0 }
        { nop
          f16v2exp $a5, $a1 }
.else
        { nop
          f32v2sub $a4:5, $a4:5, $a2:3 }
        { nop
          f32exp $a4, $a4 }
        { nop
          f32exp $a5, $a5 }
.endif
        { st64step $a4:5, y, to+=, 1
          \sum }
.endm

// Sums of f16 are in four accumulators, which come out in pairs. Elements after the last whole vector are added to the first of two
// sums, the last one first.
.macro ROW_EXP name bits
ENTRY \name
        ROWS row_exp, 32 / \bits, .L\name\()_none
        ROW_PARTIALS row_exp
        { ld32 y, $mvertex_base, $mzero, row_exp__y
          setzi $a7, CLEAR }
        uput $FP_CLR, $a7
        ROW_OUT row_exp__sum
.L\name\()_row:
        PARTIALS row_exp, max, f32max, LOWEST
.if \bits == 16
        { mov in, at
          f32sub $a2, $azero, $a2 }
        f32tof16 $a2, $a2
.else
        { mov in, at
          mov $a3, $a2 }
.endif
        EVEN mov to, at
        VECTORS \name, zero $a6:7
.if \bits == 16
        EXP_VECTOR 16, f16v4acc $a4:5
.L\name\()_stop:
        f32v2gina $a4:5, $azeros, 0
        f32v2gina $a6:7, $azeros, 0
        f32v2add $a6:7, $a4:5, $a6:7
.else
        EXP_VECTOR 32, f32v2add $a6:7, $a6:7, $a4:5
.L\name\()_stop:
.endif
        brz tail, .L\name\()_sum
        EXP_VECTOR \bits, fnop
        add to, to, -8
        add in, tail, -1
.L\name\()_tail:
        LOAD_ELEMENT \bits, y, in, to
        { brnzdec in, .L\name\()_tail
          f32add $a6, $a6, $a0 }
.L\name\()_sum:
        { add at, at, pitch
          f32add $a6, $a6, $a7 }
        st32step $a6, $mzero, out+=, CTXT_WORKERS
        add sub_at, sub_at, sub_step
        brnzdec left, .L\name\()_row
.L\name\()_none:
        exitz $mzero
.size \name, .-\name
.endm

ROW_EXP row_exp_f16 16
ROW_EXP row_exp_f32 32

// The factor of f16 is the sum of two f16 in $TAS; an accumulator delivers the sum of both products.
.macro ROW_SCALE name bits
ENTRY \name
        ROWS row_scale, 32 / \bits, .L\name\()_none
        WHOLE_VECTORS
        ROW_PARTIALS row_scale
        { ld32 y, $mvertex_base, $mzero, row_scale__y
          setzi $a7, CLEAR }
        uput $FP_CLR, $a7
.L\name\()_row:
        PARTIALS row_scale, sum, f32add, NONE
        { mov in, at
          f32oox $a2, $a2 }
.if \bits == 16
        f32tof16 $a3, $a2
        f16tof32 $a4, $a3
        f32sub $a4, $a2, $a4
        f32tof16 $a4, $a4
        sort4x16lo $a3, $a3, $a4
        uput $TAS, $a3
.endif
        EVEN mov to, at
        VECTORS \name, fnop
        LOAD_VECTOR \bits, x
.if \bits == 16
        { nop
          f16v4mix $azeros, $a0:1, $a0:1 }
        { nop
          f16v4mix $a4:5, $azeros, $azeros }
        { st64step $a4:5, y, to+=, 1
          fnop }
.else
        { nop
          f32v2mul $a4:5, $a2:B, $a4:5 }
        { st64step $a4:5, y, to+=, 1
          fnop }
.endif
.L\name\()_stop:
        ROWS_END \name
.endm

ROW_SCALE row_scale_f16 16
ROW_SCALE row_scale_f32 32

.macro ROW_LOG name bits
ENTRY \name
        ROWS row_log, 32 / \bits, .L\name\()_none
        WHOLE_VECTORS
        ROW_PARTIALS row_log
        ld32 y, $mvertex_base, $mzero, row_log__y
.L\name\()_row:
        PARTIALS row_log, sum, f32add, NONE
        f32ln $a2, $a2
        f32sub $a3, $azero, $a2
        PARTIALS row_log, max, f32max, LOWEST
        { mov in, at
          f32sub $a2, $azero, $a2 }
        EVEN mov to, at
        VECTORS \name, fnop
        SHIFTED \bits, x, nop
        EACH_PAIR \bits, f32v2add, $a3, nop
        STORE_VECTOR \bits
.L\name\()_stop:
        ROWS_END \name
.endm

ROW_LOG row_log_f16 16
ROW_LOG row_log_f32 32
