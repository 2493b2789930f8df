// pixels_f16: y = x for three channels, 0 for the fourth.
#include "pixels.inc"

#define w0       $m1
#define w1       $m2
#define w2       $m10

// Two pixels, three words of x.
.macro PAIR step
        ld32step w0, $mzero, in+=, 1
        ld32step w1, $mzero, in+=, 1
        ld32step w2, $mzero, in+=, \step
        st32step w0, $mzero, out+=, 1
        sort4x16lo t, w1, $mzero
        st32step t, $mzero, out+=, 1
        roll16 t, w1, w2
        st32step t, $mzero, out+=, 1
        roll16 t, w2, $mzero
        st32step t, $mzero, out+=, 1
.endm

        PIXELS_HEAD pixels_f16, 24, pixels
.Lpixels_f16_next:
        PAIR 1
        PAIR 6 * CTXT_WORKERS - 5
        add out, out, (CTXT_WORKERS - 1) * GROUP_OUT_BYTES
        PIXELS_END pixels_f16
