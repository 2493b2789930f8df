// pixels_u8: y = x scale + shift for three colours, the product rounded to f16, then the sum; x is exact. 0 for the fourth.
//
// factors: f16 scale [4], shift [4]; their fourth numbers must be 0: there the next pixel's first colour stands meanwhile.
// Behind 0x64 a byte is the f16 1024 + b. There is no way from $m to $a but memory: y is written twice.
#include "pixels.inc"

#define magic    $m1
#define w0       $m2
#define w1       $m10
#define w2       $m11
#define back     $m3                       // once n is not needed any more

// Four bytes in the word w to four f16 1024 + b at out.
.macro BYTES_OUT w
        shuf8x8lo t, \w, magic
        st32step t, $mzero, out+=, 1
        shuf8x8hi t, \w, magic
        st32step t, $mzero, out+=, 1
.endm

        PIXELS_HEAD pixels_u8, 12, 2
        ld32 factors, $mvertex_base, $mzero, 1
        setzi magic, 0x6464
        { sort4x16lo magic, magic, magic
          setzi $a8, 0x6400 }
        { ld64 $a10:11, factors, $mzero, 0
          sort4x16lo $a8, $a8, $a8 }
        { ld64 $a12:13, factors, $mzero, 1
          mov $a9, $a8 }
.Lpixels_u8_next:
        ld32step w0, $mzero, in+=, 1
        ld32step w1, $mzero, in+=, 1
        ld32step w2, $mzero, in+=, 3 * CTXT_WORKERS - 2
        mov back, out
        BYTES_OUT w0
        roll8l w0, w0, w1
        BYTES_OUT w0
        roll16 w1, w1, w2
        BYTES_OUT w1
        shr w2, w2, 8
        BYTES_OUT w2
        ld64 $a0:1, back, $mzero, 0
        { ld64 $a2:3, back, $mzero, 1
          f16v4sub $a0:1, $a0:1, $a8:9 }
        { ld64 $a4:5, back, $mzero, 2
          f16v4mul $a0:1, $a0:1, $a10:11 }
        { ld64 $a6:7, back, $mzero, 3
          f16v4add $a0:1, $a0:1, $a12:13 }
        { st64 $a0:1, back, $mzero, 0
          f16v4sub $a2:3, $a2:3, $a8:9 }
        { add out, out, (CTXT_WORKERS - 1) * GROUP_OUT_BYTES
          f16v4mul $a2:3, $a2:3, $a10:11 }
        { nop
          f16v4add $a2:3, $a2:3, $a12:13 }
        { st64 $a2:3, back, $mzero, 1
          f16v4sub $a4:5, $a4:5, $a8:9 }
        { nop
          f16v4mul $a4:5, $a4:5, $a10:11 }
        { nop
          f16v4add $a4:5, $a4:5, $a12:13 }
        { st64 $a4:5, back, $mzero, 2
          f16v4sub $a6:7, $a6:7, $a8:9 }
        { nop
          f16v4mul $a6:7, $a6:7, $a10:11 }
        { nop
          f16v4add $a6:7, $a6:7, $a12:13 }
        st64 $a6:7, back, $mzero, 3
        PIXELS_END pixels_u8
