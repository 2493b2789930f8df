// transpose16_f16: every 16 x 16 block of f16 transposed. transpose16_at_f16: blocks of x that begin anywhere.
//
// State: x [blocks][16][16], y, both 8-byte aligned and in different elements, blocks; at: how many bytes behind x each block
// begins. Workers take neighbouring blocks of y. A block is 16 squares of 4 x 4, moved by the accumulators, four steps a square:
//
//   step 0, 1   two rows each enter, rows 2 and 3 of the square before leave transposed
//   step 2, 3   rows 0 and 1 leave
//
// Every step also loads a row of a coming square and stores the one that left in the step before. Squares come in rows of
// x, so in columns of y: row l of x is loaded three steps before its step, row q of y stored three steps after. 64 steps a
// block and four slots; four more where blocks lie anywhere: six steps before the end of a block x moves to the next one.

#define FAMILY "../transpose/transpose.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define x        $m1
#define y        $m2
#define blocks   $m3
#define count    $m4
#define first    $m5
#define strides  $m6
#define here     $m7                       // where the first block of x begins
#define list     $m10
#define at       $m11                      // then where a block behind this one would begin
#define next     $m3                       // where the next block begins
#define gap      $m7
#define x_at     $m8
#define y_at     $m9
#define address  $m8:9
#define row0     $a0:1
#define row1     $a2:3
#define row2     $a4:5
#define row3     $a0:1                     // loaded as row 0 of its square enters, read as row 0 of the next is loaded
#define left     $a6:7

// Words: a row further; from the last row of a square to the first of the next in x; from the last of a column of squares to
// the next column in y.
#define ROW      4
#define SQUARE   (1 - 3 * ROW)
#define COLUMN   (1 - 15 * ROW)
#define STRIDES  (ROW | (SQUARE & 0x3ff) << 10 | (COLUMN & 0x3ff) << 20)
#define BLOCK_BYTES 512

// selectors: what after this row of x and of y
#define X_ROW    1
#define X_SQUARE 2
#define X_LINE   0
#define Y_ROW    (1 << 2)
#define Y_COLUMN (3 << 2)

.macro STEP into selectors insn:vararg
        { ldst64pace \into, left, address+=, strides, \selectors
          \insn }
.endm
// The four steps of a square, from the last one on: rows 2 and 3 of the square after the next, 0 and 1 of the one after it.
.macro SQUARE_STEPS after y_behind
        STEP row2, X_ROW | Y_ROW, f16v4stacc left, TSTACC_P1
        STEP row3, \after | Y_ROW, f16v4istacc left, row0, row1, TISTACC_P0
        STEP row0, X_ROW | Y_ROW, f16v4istacc left, row2, row3, TISTACC_P1
        STEP row1, X_ROW | \y_behind, f16v4stacc left, TSTACC_P0
.endm

// The first rows of the first block, of which x_at is the next one; count: blocks behind it.
.macro BEGIN from last
        ld64 row0, \from, $mzero, 0
        ld64 row1, \from, $mzero, ROW
        EVEN ld64 row2, \from, $mzero, 2 * ROW
        { ld64 row3, \from, $mzero, 3 * ROW
          f16v4istacc left, row0, row1, TISTACC_P0 }
        { ld64 row0, \from, $mzero, 1
          f16v4istacc left, row2, row3, TISTACC_P1 }
        { ld64 row1, \from, $mzero, 1 + ROW
          f16v4stacc left, TSTACC_P0 }
        { brz count, \last
          fnop }
        { add count, count, -1
          fnop }
.endm
// A row of squares, times of them.
.macro SQUARES times
        { rpt \times, 15
          fnop }
        SQUARE_STEPS X_SQUARE, Y_ROW
        SQUARE_STEPS X_SQUARE, Y_ROW
        SQUARE_STEPS X_LINE, Y_ROW
        SQUARE_STEPS X_SQUARE, Y_COLUMN
.endm
// The next block of y.
.macro NEXT block
        { add y, y, BLOCK_BYTES
          fnop }
        { tapack address, x_at, $mzero, y
          fnop }
        { brnzdec count, \block
          fnop }
.endm
// The last block.
.macro END
        SQUARES 3
        SQUARE_STEPS X_SQUARE, Y_ROW
        SQUARE_STEPS X_SQUARE, Y_ROW
        STEP row2, X_ROW | Y_ROW, f16v4stacc left, TSTACC_P1
        STEP row3, X_ROW | Y_ROW, f16v4istacc left, row0, row1, TISTACC_P0
        { st64pace left, address+=, strides, 1
          f16v4istacc left, row2, row3, TISTACC_P1 }
        { st64pace left, address+=, strides, 1
          f16v4stacc left, TSTACC_P0 }
        { st64pace left, address+=, strides, 1
          f16v4stacc left, TSTACC_P1 }
        { st64pace left, address+=, strides, 1
          f16v4istacc left, row0, row1, TISTACC_P0 }
        { st64pace left, address+=, strides, 1
          f16v4istacc left, row0, row1, TISTACC_P1 }
        st64pace left, address+=, strides, 1
.endm

ENTRY transpose16_f16
        get wid, $WSR
        ld32 blocks, $mvertex_base, $mzero, transpose16__blocks
        ld32 x, $mvertex_base, $mzero, transpose16__x
        ld32 y, $mvertex_base, $mzero, transpose16__y
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        BLOCK first count blocks wid
        add count, count, -1
        brneg count, .Lnone
        mul first, first, BLOCK_BYTES
        add x, x, first
        add y, y, first
        add x_at, x, 8 * (1 + 2 * ROW)
        tapack address, x_at, $mzero, y
        ldconst strides, STRIDES
        BEGIN x, .Llast
.Lblock:
        SQUARES 4
        NEXT .Lblock
.Llast:
        END
.Lnone:
        exitz $mzero
.size transpose16_f16, .-transpose16_f16

ENTRY transpose16_at_f16
        get wid, $WSR
        ld32 blocks, $mvertex_base, $mzero, transpose16_at__blocks
        ld32 x, $mvertex_base, $mzero, transpose16_at__x
        ld32 y, $mvertex_base, $mzero, transpose16_at__y
        ld32 list, $mvertex_base, $mzero, transpose16_at__at
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        BLOCK first count blocks wid
        add count, count, -1
        brneg count, .Lat_none
        shl at, first, 2
        add list, list, at
        mul first, first, BLOCK_BYTES
        ld32step at, $mzero, list+=, 1
        add y, y, first
        add here, x, at
        add at, at, BLOCK_BYTES
        add x_at, here, 8 * (1 + 2 * ROW)
        tapack address, x_at, $mzero, y
        ldconst strides, STRIDES
        BEGIN here, .Lat_last
.Lat_block:
        { ld32step next, $mzero, list+=, 1
          fnop }
        { sub gap, next, at
          fnop }
        { add at, next, BLOCK_BYTES
          fnop }
        SQUARES 3
        SQUARE_STEPS X_SQUARE, Y_ROW
        SQUARE_STEPS X_SQUARE, Y_ROW
        STEP row2, X_ROW | Y_ROW, f16v4stacc left, TSTACC_P1
        STEP row3, X_LINE | Y_ROW, f16v4istacc left, row0, row1, TISTACC_P0
        { add x_at, x_at, gap
          fnop }
        STEP row0, X_ROW | Y_ROW, f16v4istacc left, row2, row3, TISTACC_P1
        STEP row1, X_ROW | Y_ROW, f16v4stacc left, TSTACC_P0
        SQUARE_STEPS X_SQUARE, Y_COLUMN
        NEXT .Lat_block
.Lat_last:
        END
.Lat_none:
        exitz $mzero
.size transpose16_at_f16, .-transpose16_at_f16
