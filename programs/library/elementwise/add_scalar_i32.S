// add_scalar_i32: x += b. State: x, b, n. Workers take every sixth word.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid    $m0
#define x      $m1
#define b      $m2
#define count  $m3
#define last   $m4
#define t      $m5

ENTRY add_scalar_i32
        get wid, $WSR
        ld32 x, $mvertex_base, $mzero, add_scalar_i32__x
        ld32 b, $mvertex_base, $mzero, add_scalar_i32__b
        ld32 count, $mvertex_base, $mzero, add_scalar_i32__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        SHARE count, count, last, t
        shl wid, wid, 2
        add x, x, wid
        REPEAT count, 3
        { ld32 t, x, $mzero, 0
          fnop }
        { add t, t, b
          fnop }
        { st32step t, $mzero, x+=, CTXT_WORKERS
          fnop }
        exitz $mzero
.size add_scalar_i32, .-add_scalar_i32
