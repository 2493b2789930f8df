// channel.S: out[i][k] = f(a[i][k], b[k]), rows of c elements, c a multiple of the elements of a vector, not 0; out may be a.
//
// State: a, b, out, n (elements of a), c. A worker goes down columns of vectors with the vector of b in a
// register. With 2 workers' columns or more, or no more rows than columns, workers take every sixth column; else all columns
// of a block of rows. A vector takes 2 slots, 1 where a and out are so far apart that one instruction can load and store;
// then two columns at once, if all columns of a block are an even number.

#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define pa       $m1
#define pb       $m2
#define pc       $m3
#define row      $m4                       // vectors of a row
#define rows     $m5
#define columns  $m6
#define column   $m7                       // byte in a row
#define in       $m8
#define out      $m9
#define address  $m8:9
#define next     $m10                      // bytes from column to column
#define back     $m10                      // vectors from the second of two columns to the first in the next row
#define t        $m11

#define FAST_ROWS  5                            // rows from which on the fast loop pays
#define STEP_MOST  511                          // vectors, what a paced address can step
#define FAR        (ELEMENT_PAIR + 2 * VECTOR_BYTES * (STEP_MOST + 1))   // loads run ahead of stores by two rows at most

.macro CHANNEL_NEAR label
        cmpult t, row, STEP_MOST + 1
        brz t, \label
        sub t, pa, pc
        abs t, t
        cmpult t, t, FAR
        brnz t, \label
.endm

.macro CHANNEL name width op
ENTRY \name
        // n / c, exact: both are below 2^24.
        ld32 $a0, $mvertex_base, $mzero, channel__n
        { ld32 $a1, $mvertex_base, $mzero, channel__c
          f32fromui32 $a0, $a0 }
        { get wid, $WSR
          f32fromui32 $a1, $a1 }
        { ld32 pa, $mvertex_base, $mzero, channel__a
          f32div $a0, $a0, $a1 }
        { ld32 pb, $mvertex_base, $mzero, channel__b
          f32toui32 $a0, $a0 }
        ld32 pc, $mvertex_base, $mzero, channel__out
        ld32 row, $mvertex_base, $mzero, channel__c
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shr row, row, \width / 2
        atom columns, $a0                  // all rows
        cmpult t, row, 2 * CTXT_WORKERS
        brz t, .L\name\()_columns
        cmpult t, row, columns
        brz t, .L\name\()_columns

        // A block of rows.
        BLOCK column, rows, columns, wid
        mul column, column, row
        shl column, column, 3
        add pa, pa, column
        add pc, pc, column
        add rows, rows, -1
        brneg rows, .L\name\()_none
        CHANNEL_NEAR .L\name\()_rows
        and t, row, 1
        brnz t, .L\name\()_rows_far

        // Columns in pairs.
        shr columns, row, 1
        add columns, columns, -1
        add back, row, -1
        setzi column, 0
.L\name\()_pair:
        ld64 $a2:3, pb, column, 0
        ld64 $a6:7, pb, column, 1
        add in, pa, column
        add out, pc, column
        ld64step $a0:1, $mzero, in+=, 1
        { ld64step $a0:1, $mzero, in+=, back
          \op $a4:5, $a0:1, $a2:3 }
        tapack address, in, $mzero, out
        REPEAT rows, 2
        { ldst64pace $a0:1, $a4:5, address+=, back, 0b0000
          \op $a4:5, $a0:1, $a6:7 }
        { ldst64pace $a0:1, $a4:5, address+=, back, 0b0101
          \op $a4:5, $a0:1, $a2:3 }
        { st64pace $a4:5, address+=, back, 0b00
          \op $a4:5, $a0:1, $a6:7 }
        st64pace $a4:5, address+=, back, 0b00
        add column, column, 2 * VECTOR_BYTES
        brnzdec columns, .L\name\()_pair
        exitz $mzero

.L\name\()_rows_far:
        add columns, row, -1
        setzi column, 0
        setzi next, VECTOR_BYTES
        bri .L\name\()_far
.L\name\()_rows:
        add columns, row, -1
        setzi column, 0
        setzi next, VECTOR_BYTES
        bri .L\name\()_near

.L\name\()_columns:
        mov rows, columns
        sub t, LAST_WORKER, wid
        SHARE columns, row, t, next
        shl column, wid, 3
        setzi next, VECTOR_BYTES * CTXT_WORKERS
        add columns, columns, -1
        brneg columns, .L\name\()_none
        add rows, rows, -1
        brneg rows, .L\name\()_none
        CHANNEL_NEAR .L\name\()_near
.L\name\()_far:
        cmpult t, rows, FAST_ROWS - 1
        brz t, .L\name\()_fast
.L\name\()_near:
        ld64 $a2:3, pb, column, 0
        mov in, column
        mov out, column
        EVEN ld64step $a0:1, pa, in+=, row
        { rpt rows, 1
          \op $a4:5, $a0:1, $a2:3 }
        { ld64step $a0:1, pa, in+=, row
          fnop }
        { st64step $a4:5, pc, out+=, row
          \op $a4:5, $a0:1, $a2:3 }
        st64 $a4:5, pc, out, 0
        add column, column, next
        brnzdec columns, .L\name\()_near
.L\name\()_none:
        exitz $mzero

.L\name\()_fast:
        add rows, rows, -1
.L\name\()_fast_column:
        ld64 $a2:3, pb, column, 0
        add in, pa, column
        add out, pc, column
        ld64step $a0:1, $mzero, in+=, row
        { ld64step $a0:1, $mzero, in+=, row
          \op $a4:5, $a0:1, $a2:3 }
        tapack address, in, $mzero, out
        REPEAT rows, 1
        { ldst64pace $a0:1, $a4:5, address+=, row, 0b0101
          \op $a4:5, $a0:1, $a2:3 }
        { st64pace $a4:5, address+=, row, 0b01
          \op $a4:5, $a0:1, $a2:3 }
        st64pace $a4:5, address+=, row, 0b01
        add column, column, next
        brnzdec columns, .L\name\()_fast_column
        exitz $mzero
.size \name, .-\name
.endm

CHANNEL add_channel_f16, 4, f16v4add
CHANNEL add_channel_f32, 2, f32v2add
CHANNEL sub_channel_f16, 4, f16v4sub
CHANNEL sub_channel_f32, 2, f32v2sub
CHANNEL mul_channel_f16, 4, f16v4mul
CHANNEL mul_channel_f32, 2, f32v2mul
CHANNEL max_channel_f16, 4, f16v4max
CHANNEL max_channel_f32, 2, f32v2max
CHANNEL min_channel_f16, 4, f16v4min
CHANNEL min_channel_f32, 2, f32v2min
