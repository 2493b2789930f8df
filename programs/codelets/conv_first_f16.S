// conv_first_f16: first layer of a network, 4 input channels, kernel k x k, stride 2.
//
// Supervisor codelet. State: as matmul_f16 (its `in` being +0 patches [kb][f][16]), +24 x [hp][wp][4], +28 rows, +32 ho, +36 wo.
// x and patches, patches and y in memory elements of their own.
//
// Workers first copy from x what each output position sees, 4 pixels a block; the rest is matmul.inc. A row of the list `rows`
// is a run of output positions of a block: {bytes from x, bytes from patches}, see conv_first_rows(). Time: conv_first_ref.c.
#define NAME       conv_first_f16
#define SECTION    .text.conv_first_f16
#define ACCUMULATE 0
#define UNITS      16
#define MATRIX     f16v4hihov4amp
#define BEFORE     setzi $m1, .Lpatch; runall $m1, $m0, 0; sync TEXCH_SYNCZONE_LOCAL
#include "matmul.inc"

#define STATE_PATCHES 0
#define STATE_X       6
#define STATE_ROWS    7
#define STATE_HO      8
#define STATE_WO      9

#define ROW_SHIFT     3                    // two words
#define BACK          0x3ff                // selector 1: one pixel back, positions are two pixels apart

#define pixels    $m0
#define patches   $m1
#define rows      $m2
#define count     $m3
#define width     $m4                      // positions of a row but one
#define worker    $m5
#define back_one  $m6
#define run       $m8:9
#define source    $m8
#define target    $m9
#define pixel     $a0:1

.align 8
.Lpatch:
        get worker, $WSR
        ld32 count, $mvertex_base, $mzero, STATE_KB
        ld32 rows, $mvertex_base, $mzero, STATE_HO
        and worker, worker, CSR_W_WSR__CTXTID_M1__MASK
        mul count, count, rows
        sub count, count, worker
        add count, count, CTXT_WORKERS - 1
        setzi width, (1 << 18) / CTXT_WORKERS + 1
        mul count, count, width
        ld32 rows, $mvertex_base, $mzero, STATE_ROWS
        shr count, count, 18
        ld32 width, $mvertex_base, $mzero, STATE_WO
        add count, count, -1
        add width, width, -1
        brneg count, .Lpatched
        brneg width, .Lpatched
        ld32 pixels, $mvertex_base, $mzero, STATE_X
        ld32 patches, $mvertex_base, $mzero, STATE_PATCHES
        shl worker, worker, ROW_SHIFT
        add rows, rows, worker
        setzi back_one, BACK
        nop
.align 8
.Lrow:
        { ld32 source, rows, $mzero, 0
          fnop }
        { ld32 target, rows, $mzero, 1
          fnop }
        { add source, source, pixels
          fnop }
        { add target, target, patches
          fnop }
        { ld64 pixel, source, $mzero, 0
          fnop }
        { add source, source, 8
          fnop }
        { tapack run, source, $mzero, target
          fnop }
        { rpt width, 3
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 1
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { ldst64pace pixel, pixel, run+=, back_one, 0
          fnop }
        { st64pace pixel, run+=, back_one, 0
          fnop }
        { add rows, rows, CTXT_WORKERS << ROW_SHIFT
          fnop }
        { brnzdec count, .Lrow
          fnop }
.Lpatched:
        exitz $mzero
