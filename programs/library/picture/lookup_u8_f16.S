// lookup_u8_f16: y = what the table says of each byte.
//
// table: [256] f16.
#include "pixels.inc"

#define table    $m9
#define a        $m1
#define b        $m2
#define c        $m8
#define d        $m0 // once wid is not needed any more

        PIXELS_HEAD lookup_u8_f16, 4, lookup_u8, 2, 3
        ld32 table, $mvertex_base, $mzero, lookup_u8__table
.Llookup_u8_f16_next:
        ldz8step a, $mzero, in+=, 1
        ldz8step b, $mzero, in+=, 1
        ldz8step c, $mzero, in+=, 1
        ldz8step d, $mzero, in+=, 4 * CTXT_WORKERS - 3
        ldz16 a, table, $mzero, a
        ldz16 b, table, $mzero, b
        ldz16 c, table, $mzero, c
        ldz16 d, table, $mzero, d
        sort4x16lo a, a, b
        sort4x16lo c, c, d
        st32step a, $mzero, out+=, 1
        st32step c, $mzero, out+=, 2 * CTXT_WORKERS - 1
        PIXELS_END lookup_u8_f16
