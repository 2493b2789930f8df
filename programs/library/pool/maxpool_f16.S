// maxpool_f16: y[b][i][j] = the largest of x[b][stride i ... + k - 1][stride j ... + k - 1], 16 channels a position.
//
// State: x [blocks][hp][wp][16], y [blocks][ho][wo][16], blocks, ho, wo, hp, wp, k, stride.
// Workers take positions of y in turn, counted through all blocks. The channels of a position are done in two halves, since there are
// registers for the maxima of one. A position takes a slot for every vector of its window, 4 for each row of that, 11, and 5 for every
// row of y between it and the worker's position before.

#define FAMILY "../pool/pool.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define POSITION_BYTES  32
#define HALF            (POSITION_BYTES / VECTOR_BYTES / 2)

#define wid      $m0
#define in       $m1                       // the window
#define out      $m2
#define count    $m3                       // positions to come
#define column   $m4                       // of y, less wo
#define left     $m5                       // rows of y in this block after this one
#define more     $m6                       // columns and rows of the window after the first
#define row      $m7                       // rows of the window to come
#define at       $m8
#define on       $m0                       // bytes of x from position to position of the worker
#define down     $m9                       // to the beginning of the next row of y
#define under    $m10                      // vectors from the last one of a row of the window to the next row
#define t        $m11
#define most0    $a0:1
#define most1    $a2:3
#define x        $a4:5
#define lowest   $a6:7

// The maxima of half a window; the last vector that it reads joins them later.
.macro WINDOW loop
\loop:
        REPEAT more, 2
        { ld64step x, $mzero, at+=, 1
          f16v4max most1, most1, x }
        { ld64step x, $mzero, at+=, 2 * HALF - 1
          f16v4max most0, most0, x }
        { ld64step x, $mzero, at+=, 1
          f16v4max most1, most1, x }
        { ld64step x, $mzero, at+=, under
          f16v4max most0, most0, x }
        brnzdec row, \loop
.endm

ENTRY maxpool_f16
        get wid, $WSR
        { ld32 t, $mvertex_base, $mzero, maxpool__blocks
          setzi $a6, 0xfc00 }
        { ld32 left, $mvertex_base, $mzero, maxpool__ho
          or $a6, $a6, 0xfc000000 }
        { ld32 column, $mvertex_base, $mzero, maxpool__wo
          mov $a7, $a6 }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          mov most0, lowest }
        { mul t, t, left
          mov most1, lowest }
        { mul t, t, column
          mov x, lowest }
        sub at, LAST_WORKER, wid
        SHARE count, t, at, in
        ld32 in, $mvertex_base, $mzero, maxpool__x
        brz count, .Lnone
        ld32 out, $mvertex_base, $mzero, maxpool__y
        ld32 more, $mvertex_base, $mzero, maxpool__k
        ld32 t, $mvertex_base, $mzero, maxpool__stride
        ld32 under, $mvertex_base, $mzero, maxpool__wp
        add left, left, -1
        add more, more, -1
        shl t, t, 5
        sub down, under, column
        mul down, down, t
        sub under, under, more
        shl under, under, 2
        add under, under, -1
        mul at, wid, t
        add in, in, at
        shl at, wid, 5
        add out, out, at
        sub column, wid, column
        mul on, t, CTXT_WORKERS
        add count, count, -1
        brpos column, .Lwrap

.Lposition:
        mov at, in
        mov row, more
        WINDOW .Llower
        { st64step most0, $mzero, out+=, 1
          f16v4max most1, most1, x }
        { st64step most1, $mzero, out+=, 1
          mov most0, lowest }
        { add at, in, HALF * VECTOR_BYTES
          mov most1, lowest }
        { mov row, more
          mov x, lowest }
        WINDOW .Lupper
        { st64step most0, $mzero, out+=, 1
          f16v4max most1, most1, x }
        { st64step most1, $mzero, out+=, POSITION_BYTES / VECTOR_BYTES * CTXT_WORKERS - 3
          mov most0, lowest }
        { add in, in, on
          mov most1, lowest }
        { add column, column, CTXT_WORKERS
          mov x, lowest }
        brnzdec count, .Lnext
.Lnone:
        exitz $mzero
.Lnext:
        brneg column, .Lposition

        // The next row of y, perhaps of the next block.
.Lwrap:
        ld32 t, $mvertex_base, $mzero, maxpool__wo
        add in, in, down
        sub column, column, t
        brnzdec left, .Lnext
        ld32 left, $mvertex_base, $mzero, maxpool__ho
        ld32 t, $mvertex_base, $mzero, maxpool__stride
        ld32 at, $mvertex_base, $mzero, maxpool__hp
        ld32 row, $mvertex_base, $mzero, maxpool__wp
        mul t, t, left
        sub at, at, t
        mul at, at, row
        shl at, at, 5
        add in, in, at
        add left, left, -1
        bri .Lnext
.size maxpool_f16, .-maxpool_f16
