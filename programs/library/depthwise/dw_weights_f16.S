// dw_weights_f16: for each tap of a depthwise convolution the sum of x times dy over all positions, 16 channels.
//
// A worker has 8 channels, by its number the first or the last ones, of every third tap. A position takes three bundles: two
// products of four channels, rounded to f16, and their addition to eight sums in f32.

#define FAMILY "../depthwise/depthwise.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define THIRDS   (CTXT_WORKERS / 2)

#define x        $m0                       // of this worker's tap
#define dy       $m1
#define out      $m2
#define left     $m3                       // taps to come
#define behind   $m4                       // taps after this one in its row of the kernel; below 0: it is in a later row
#define x_at     $m5
#define dy_at    $m6
#define step     $m7
#define columns  $m8                       // of dy - 1
#define rows     $m9
#define pictures $m10
#define t        $m11
#define x_low    $a0:1
#define x_high   $a2:3
#define x_all    $a0:3
#define dy_low   $a4:5
#define dy_high  $a6:7
#define dy_all   $a4:7

#define HALF_SHIFT 4                       // bytes of 8 channels, and of 16 sums
#define TAP_SHIFT  6
#define POSITION   2                       // in loads of 16 bytes

ENTRY dw_weights_f16
        get t, $WSR
        { ld32 left, $mvertex_base, $mzero, dw_weights__taps
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 x, $mvertex_base, $mzero, dw_weights__x
          uput $FP_CLR, $a7 }
        ld32 dy, $mvertex_base, $mzero, dw_weights__dy
        ld32 out, $mvertex_base, $mzero, dw_weights__out
        and t, t, CSR_W_WSR__CTXTID_M1__MASK
        and rows, t, 1
        shl rows, rows, HALF_SHIFT
        add x, x, rows
        add dy, dy, rows
        add out, out, rows
        add out, out, rows
        shr t, t, 1
        sub left, left, t
        ld32 behind, $mvertex_base, $mzero, dw_weights__columns
        add left, left, -1
        brneg left, .Lnone
        sub behind, behind, t
        add behind, behind, -1
        shl rows, t, TAP_SHIFT
        add out, out, rows
        ld32 rows, $mvertex_base, $mzero, dw_weights__tap
        mul rows, rows, t
        add x, x, rows
        ld32 step, $mvertex_base, $mzero, dw_weights__x_step
        ld32 columns, $mvertex_base, $mzero, dw_weights__wo
        add columns, columns, -1
.Lplace:
        brneg behind, .Lwrap
        mov x_at, x
        mov dy_at, dy
        ld32 pictures, $mvertex_base, $mzero, dw_weights__n
        EVEN add pictures, pictures, -1
.Lpicture:
        { ld32 rows, $mvertex_base, $mzero, dw_weights__ho
          fnop }
        { add rows, rows, -1
          fnop }
.Lrow:
        { ld128step x_all, $mzero, x_at+=, step
          fnop }
        { ld128step dy_all, $mzero, dy_at+=, POSITION
          fnop }
        { rpt columns, 2
          fnop }
        { nop
          f16v4mul x_low, x_low, dy_low }
        { ld128step dy_all, $mzero, dy_at+=, POSITION
          f16v4mul x_high, x_high, dy_high }
        { ld128step x_all, $mzero, x_at+=, step
          f16v8acc x_all }
        { ld32 t, $mvertex_base, $mzero, dw_weights__x_row
          f16v4mul x_low, x_low, dy_low }
        { add x_at, x_at, t
          f16v4mul x_high, x_high, dy_high }
        { brnzdec rows, .Lrow
          f16v8acc x_all }
        { ld32 t, $mvertex_base, $mzero, dw_weights__x_picture
          fnop }
        { add x_at, x_at, t
          fnop }
        { brnzdec pictures, .Lpicture
          fnop }
        { nop
          f32v2gina dy_low, $azeros, 0 }
        { st64step dy_low, $mzero, out+=, 1
          f32v2gina dy_high, $azeros, 0 }
        { st64step dy_high, $mzero, out+=, 1
          f32v2gina dy_low, $azeros, 0 }
        { st64step dy_low, $mzero, out+=, 1
          f32v2gina dy_high, $azeros, 0 }
        { st64step dy_high, $mzero, out+=, (THIRDS << TAP_SHIFT) / 8 - 3
          fnop }
        add left, left, -THIRDS
        brneg left, .Lnone
        ld32 t, $mvertex_base, $mzero, dw_weights__tap
        mul t, t, THIRDS
        add x, x, t
        add behind, behind, -THIRDS
        bri .Lplace
.Lwrap:
        ld32 t, $mvertex_base, $mzero, dw_weights__columns
        add behind, behind, t
        ld32 t, $mvertex_base, $mzero, dw_weights__tap_row
        add x, x, t
        bri .Lplace
.Lnone:
        exitz $mzero
.size dw_weights_f16, .-dw_weights_f16
