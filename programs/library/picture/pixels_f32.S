// pixels_f32: y = x for three channels, rounded to f16, 0 for the fourth.
#include "pixels.inc"

// Two pixels, three vectors of x; the first in $a0:1 already.
.macro PAIR step
        { ld64step $a2:3, $mzero, in+=, 1
          f32v2tof16 $a4, $a0:1 }
        { ld64step $a0:1, $mzero, in+=, \step
          f32v2tof16 $a6, $a2:3 }
        { nop
          f32v2tof16 $a7, $a0:1 }
        { nop
          sort4x16lo $a5, $a6, $azero }
        { st64step $a4:5, $mzero, out+=, 1
          roll16 $a6, $a6, $a7 }
        { nop
          roll16 $a7, $a7, $azero }
.endm

        PIXELS_HEAD pixels_f32, 48, pixels
.Lpixels_f32_next:
        ld64step $a0:1, $mzero, in+=, 1
        PAIR 1
        { ld64step $a0:1, $mzero, in+=, 1
          fnop }
        st64step $a6:7, $mzero, out+=, 1
        PAIR 6 * CTXT_WORKERS - 5
        st64step $a6:7, $mzero, out+=, 4 * CTXT_WORKERS - 3
        PIXELS_END pixels_f32
