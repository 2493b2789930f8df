// select.S: out[i] = cond[i] is 0 ? b[i] : a[i], bit by bit; out may be the same memory as an operand.
//
// State: select. Workers take every sixth 8-byte vector (4 f16, 2 f32); the last worker, which never has more than the others, also
// does the elements after the last whole vector. A vector takes five slots.
#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "elementwise.inc"

#define pcond    $m1
#define pa       $m2
#define pout     $m7
#define pb       $m10

// $a4:5 from a mask in $a0:1, a in $a2:3 and b in $a4:5.
.macro SELECT_LAST compare load at:vararg
        \load $a0, pcond, \at
        { \load $a2, pa, \at
          \compare $a0, $a0, $azero }
        { \load $a4, pb, \at
          and $a2, $a2, $a0 }
        andc $a4, $a4, $a0
        or $a4, $a4, $a2
.endm

.macro SELECT name width vectors compare
ENTRY \name
        get wid, $WSR
        ld32 pcond, $mvertex_base, $mzero, select__cond
        ld32 pa, $mvertex_base, $mzero, select__a
        ld32 pb, $mvertex_base, $mzero, select__b
        ld32 pout, $mvertex_base, $mzero, select__out
        ld32 n, $mvertex_base, $mzero, select__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, \width / 2
        SHARE count, count, last, t
        add count, count, -1
        shl in, wid, 3
        brneg count, .L\name\()_end
        ld64 $a0:1, pcond, in, 0
        REPEAT count, 5
        { ld64 $a2:3, pa, in, 0
          \vectors $a0:1, $a0:1, $azeros }
        { ld64 $a4:5, pb, in, 0
          and64 $a2:3, $a2:3, $a0:1 }
        { ld64 $a0:1, pcond, in, CTXT_WORKERS
          andc64 $a4:5, $a4:5, $a0:1 }
        { nop
          or64 $a4:5, $a4:5, $a2:3 }
        { st64step $a4:5, pout, in+=, CTXT_WORKERS
          fnop }
        { ld64 $a2:3, pa, in, 0
          \vectors $a0:1, $a0:1, $azeros }
        { ld64 $a4:5, pb, in, 0
          and64 $a2:3, $a2:3, $a0:1 }
        andc64 $a4:5, $a4:5, $a0:1
        or64 $a4:5, $a4:5, $a2:3
        st64 $a4:5, pout, in, 0
.L\name\()_end:
        brz last, .L\name\()_tail
        exitz $mzero
.L\name\()_tail:
.if \width == 4
        and t, n, 2
        brz t, .L\name\()_single
        andc u, n, 3
        shr u, u, 1
        SELECT_LAST \compare, ld32, u
        st32 $a4, pout, u
.L\name\()_single:
        and t, n, 1
        brz t, .L\name\()_done
        add u, n, -1
        SELECT_LAST \compare, ldb16, $mzero, u
        ldb16 $a7, pout, $mzero, n         // what else is in its word
        { shr u, n, 1
          sort4x16lo $a4, $a4, $a7 }
        st32 $a4, pout, u
.else
        and t, n, 1
        brz t, .L\name\()_done
        add u, n, -1
        SELECT_LAST \compare, ld32, u
        st32 $a4, pout, u
.endif
.L\name\()_done:
        exitz $mzero
.size \name, .-\name
.endm

SELECT select_f16, 4, f16v4cmpne, f16v2cmpne
SELECT select_f32, 2, f32v2cmpne, f32cmpne
