// maxpool_f16: y[b][i][j] = the largest of x[b][stride i ... + k - 1][stride j ... + k - 1], 16 channels a position.
//
// State: x [blocks][hp][wp][16], y [blocks][ho][wo][16], blocks, ho, wo, hp, wp, k, stride.
// Workers take positions of y in turn, counted through all blocks. A position takes a slot for every vector of its window, 3 for
// each row of that, 9, and 5 for every row of y between it and the worker's position before.

#define FAMILY "../pool/pool.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define POSITION_BYTES  32

#define wid      $m0
#define in       $m1                       // the window
#define out      $m2
#define count    $m3                       // positions to come
#define column   $m4                       // of y, less wo
#define left     $m5                       // rows of y in this block after this one
#define k        $m6
#define row      $m7                       // rows of the window to come
#define at       $m8
#define on       $m0                       // bytes of x from position to position of the worker
#define down     $m9                       // to the beginning of the next row of y
#define under    $m10                      // from the end of a row of the window to the next
#define t        $m11
#define x        $a0:1
#define lowest   $a12:13


ENTRY maxpool_f16
        get wid, $WSR
        { ld32 t, $mvertex_base, $mzero, maxpool__blocks
          setzi $a12, 0xfc00 }
        { ld32 left, $mvertex_base, $mzero, maxpool__ho
          or $a12, $a12, 0xfc000000 }
        { ld32 column, $mvertex_base, $mzero, maxpool__wo
          mov $a13, $a12 }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          mov x, lowest }
        { mul t, t, left
          mov $a4:5, lowest }
        { mul t, t, column
          mov $a6:7, lowest }
        { sub at, LAST_WORKER, wid
          mov $a8:9, lowest }
        SHARE count, t, at, in
        { ld32 in, $mvertex_base, $mzero, maxpool__x
          mov $a10:11, lowest }
        brz count, .Lnone
        ld32 out, $mvertex_base, $mzero, maxpool__y
        ld32 k, $mvertex_base, $mzero, maxpool__k
        ld32 t, $mvertex_base, $mzero, maxpool__stride
        ld32 under, $mvertex_base, $mzero, maxpool__wp
        add left, left, -1
        shl t, t, 5
        sub down, under, column
        mul down, down, t
        sub under, under, k
        shl under, under, 5
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
        add row, k, -1
.Lrow:
        REPEAT k, 4
        { ld64step x, $mzero, at+=, 1
          f16v4max $a10:11, $a10:11, x }
        { ld64step x, $mzero, at+=, 1
          f16v4max $a4:5, $a4:5, x }
        { ld64step x, $mzero, at+=, 1
          f16v4max $a6:7, $a6:7, x }
        { ld64step x, $mzero, at+=, 1
          f16v4max $a8:9, $a8:9, x }
        add at, at, under
        brnzdec row, .Lrow
        { st64step $a4:5, $mzero, out+=, 1
          f16v4max $a10:11, $a10:11, x }
        { st64step $a6:7, $mzero, out+=, 1
          mov $a4:5, lowest }
        { st64step $a8:9, $mzero, out+=, 1
          mov $a6:7, lowest }
        { st64step $a10:11, $mzero, out+=, POSITION_BYTES / VECTOR_BYTES * CTXT_WORKERS - 3
          mov $a8:9, lowest }
        { add in, in, on
          mov $a10:11, lowest }
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
