// lookup_u8_f32: y = what the table says of each byte.
//
// table: [256] f32.
#include "pixels.inc"

#define table    $m9
#define a        $m1
#define b        $m2
#define c        $m8
#define d        $m0 // once wid is not needed any more

        PIXELS_HEAD lookup_u8_f32, 4, lookup_u8, 2, 4
        ld32 table, $mvertex_base, $mzero, lookup_u8__table
.Llookup_u8_f32_next:
        ldz8step a, $mzero, in+=, 1
        ldz8step b, $mzero, in+=, 1
        ldz8step c, $mzero, in+=, 1
        ldz8step d, $mzero, in+=, 4 * CTXT_WORKERS - 3
        ld32 a, table, $mzero, a
        ld32 b, table, $mzero, b
        ld32 c, table, $mzero, c
        ld32 d, table, $mzero, d
        st32step a, $mzero, out+=, 1
        st32step b, $mzero, out+=, 1
        st32step c, $mzero, out+=, 1
        st32step d, $mzero, out+=, 4 * CTXT_WORKERS - 3
        PIXELS_END lookup_u8_f32
