// row.S: row_get copies rows[at[0]] to row, row_put copies row to rows[at[0]]; row_next moves at to the next row.
//
// State: rows, at, row, n. Rows are n elements, whole 8-byte vectors; workers take every sixth vector.

#define FAMILY "../copy/copy.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid     $m0
#define rows    $m1
#define row     $m2
#define at      $m3
#define n       $m4
#define last    $m5
#define t       $m6

// shift: log2 of the bytes of an element; from, to: rows and row
.macro ROW name state shift from to
ENTRY \name
        get wid, $WSR
        ld32 at, $mvertex_base, $mzero, \state\()__at
        ld32 n, $mvertex_base, $mzero, \state\()__n
        ld32 rows, $mvertex_base, $mzero, \state\()__rows
        ld32 row, $mvertex_base, $mzero, \state\()__row
        ld32 at, at, $mzero, 0
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shl n, n, \shift
        mul at, at, n
        add rows, rows, at
        shl t, wid, 3
        add rows, rows, t
        add row, row, t
        shr n, n, 3
        sub last, LAST_WORKER, wid
        SHARE n, n, last, t
        REPEAT n, 2
        { ld64step $a0:1, $mzero, \from+=, CTXT_WORKERS
          fnop }
        { st64step $a0:1, $mzero, \to+=, CTXT_WORKERS
          fnop }
        exitz $mzero
.size \name, .-\name
.endm

ROW row_get_f16 row_get 1 rows row
ROW row_get_f32 row_get 2 rows row
ROW row_put_f16 row_put 1 row rows
ROW row_put_f32 row_put 2 row rows

// For one word no worker is worth its launch.
ENTRY row_next supervisor
        ld32 at, $m0, $mzero, row_next__at
        ld32 n, $m0, $mzero, row_next__rows
        ld32 row, at, $mzero, 0
        add row, row, 1
        cmpeq last, row, n
        movnz row, last, $mzero
        st32 row, at, $mzero, 0
        br $lr
.size row_next, .-row_next
