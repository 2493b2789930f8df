// pixels_u8: y = what the table says of each byte, for three channels, 0 for the fourth.
//
// table: [3][256] f16. As fast as a product and a sum in f16, which would round three times; the table is rounded once.
#include "pixels.inc"

#define red      $m9
#define green    $m0 // once wid, n and t are not needed any more
#define blue     $m3
#define a        $m1
#define b        $m2
#define c        $m8
#define TABLE_BYTES  512 // of a channel

// xstep, ystep: from here to the next pixel.
.macro PIXEL xstep ystep
        ldz8step a, $mzero, in+=, 1
        ldz8step b, $mzero, in+=, 1
        ldz8step c, $mzero, in+=, \xstep
        ldz16 a, red, $mzero, a
        ldz16 b, green, $mzero, b
        ldz16 c, blue, $mzero, c
        sort4x16lo a, a, b
        st32step a, $mzero, out+=, 1
        st32step c, $mzero, out+=, \ystep
.endm

        PIXELS_HEAD pixels_u8, 12, pixels_u8
        ld32 red, $mvertex_base, $mzero, pixels_u8__table
        add green, red, TABLE_BYTES
        add blue, green, TABLE_BYTES
.Lpixels_u8_next:
        PIXEL 1, 1
        PIXEL 1, 1
        PIXEL 1, 1
        PIXEL 12 * CTXT_WORKERS - 11, 8 * CTXT_WORKERS - 7
        PIXELS_END pixels_u8
