// binary.S: out[i] = f(a[i], b[i]); out may be the same memory as a or b.
//
// State: BINARY a, b, out, n; BINARY_INPLACE a, b, n, a is out; AXPY scalar, and x and y, n,
// y is out. Workers take every sixth 8-byte vector (4 f16, 2 f32), in place a block of neighbours; the last worker, which
// never has more than the others, also does the elements after the last whole vector.
//
// An operation makes $a4:5 from the vectors in $a0:1 and $a2:3: one instruction, or two if it goes through the accumulators.
// A vector takes 3 slots, 2 where a and b are so far apart that one instruction can load both. In place it takes 1 where a
// lies in region 1 besides: a store an odd number of vectors after a load is in the other element of the pair.

#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "elementwise.inc"

#define pa       $m1
#define pb       $m2
#define pc       $m10
#define pace     $m0                       // once wid is not needed any more
#define odd      $m0

// c: the register of out, pa or pb if it is the same; step: vectors from one to the next of a worker, 1: a block; steps:
// instructions of the operation, o2 is fnop if it is one
.macro BINARY_BODY name width c step steps o1 o2
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
.if \step == 1
        shr t, n, \width / 2
        BLOCK in, count, t, wid
        add count, count, -1
        shl in, in, 3
.else
        shr count, n, \width / 2
        SHARE count, count, last, t
        add count, count, -1
        shl in, wid, 3
.endif
        TRY_FAST pa, pb, \name
        ld64 $a0:1, pa, in, 0
        EVEN ld64 $a2:3, pb, in, 0
        { rpt count, 2
          \o1 }
        { ld64 $a0:1, pa, in, \step
          \o2 }
        { ld64 $a2:3, pb, in, \step
          fnop }
        { st64step $a4:5, \c, in+=, \step
          \o1 }
.if \steps == 2
        \o2
.endif
        st64 $a4:5, \c, in, 0
        FINISH \name

.L\name\()_fast:
.if \step == 1
        setzi t, REGION1_BASE
        cmpult t, pa, t
        brz t, .L\name\()_paced
.endif
        add $m8, pa, in
        add $m9, pb, in
        setzi pace, \step
        tapack address, $m8, $m9, $mzero
        EVEN ld2x64pace $a0:1, $a2:3, address+=, pace, 0b0101
        { rpt count, 1
          \o1 }
        { ld2x64pace $a0:1, $a2:3, address+=, pace, 0b0101
          \o2 }
        { st64step $a4:5, \c, in+=, \step
          \o1 }
.if \steps == 2
        \o2
.endif
        st64 $a4:5, \c, in, 0
        brz last, .L\name\()_tail
        exitz $mzero
.endm

// What is left: $a4 from $a0 and $a2, two f16 or one f32; q: beside the load of $a2.
.macro BINARY_TAIL name width c q p1 p2 p3 p4 p5 p6
.L\name\()_tail:
.if \width == 4
        and t, n, 3
        brz t, .L\name\()_done
        and t, n, 2
        brz t, .L\name\()_single
        andc u, n, 3
        shr u, u, 1
        ld32 $a0, pa, u
        { ld32 $a2, pb, u
          \q }
        { and t, n, 1
          \p1 }
        SINGLES "\p2", "\p3", "\p4", "\p5", "\p6"
        st32 $a4, \c, u
        brz t, .L\name\()_done
.L\name\()_single:
        add u, n, -1
        ldb16 $a0, pa, $mzero, u
        { ldb16 $a2, pb, $mzero, u
          \q }
        { ldb16 $a7, \c, $mzero, n         // what else is in its word
          \p1 }
        SINGLES "\p2", "\p3", "\p4", "\p5", "\p6"
        { shr u, n, 1
          sort4x16lo $a4, $a4, $a7 }
        st32 $a4, \c, u
.else
        and t, n, 1
        brz t, .L\name\()_done
        add u, n, -1
        ld32 $a0, pa, u
        { ld32 $a2, pb, u
          \q }
        SINGLES "\p1", "\p2", "\p3"
        st32 $a4, \c, u
.endif
.L\name\()_done:
        exitz $mzero
.size \name, .-\name
.endm

// Vectors of b and a in $a0:1 and $a2:3, results in $a4:5 and $a6:7 in turn, so that a store is three vectors after its load.
.macro PACED_BINARY name op
.L\name\()_paced:
        add $m8, pa, in
        add $m9, pb, in
        tapack address, $m9, $m8, $m8
        ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
        add count, count, -2
        and odd, count, 1
        shr count, count, 1
        REPEAT count, 2
        { ld2xst64pace $a0:3, $a4:5, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        { ld2xst64pace $a0:3, $a6:7, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
        brnz odd, .L\name\()_paced_odd
        { st64pace $a4:5, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        st64pace $a6:7, address+=, $mzero, 0
        st64pace $a4:5, address+=, $mzero, 0
        brz last, .L\name\()_tail
        exitz $mzero
.L\name\()_paced_odd:
        { ld2xst64pace $a0:3, $a4:5, address+=, $mzero, 0
          \op $a4:5, $a2:3, $a0:1 }
        { st64pace $a6:7, address+=, $mzero, 0
          \op $a6:7, $a2:3, $a0:1 }
        st64pace $a4:5, address+=, $mzero, 0
        st64pace $a6:7, address+=, $mzero, 0
        brz last, .L\name\()_tail
        exitz $mzero
.endm

// The same through the accumulators, which hand out a result one vector later. p, q: the operands, of a pair of vectors of x
// and y in $a0:1 and $a2:3.
.macro PACED_AXPY name op p q
.L\name\()_paced:
        add $m8, pa, in
        add $m9, pb, in
        tapack address, $m9, $m8, $m8
        ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $azeros, \p, \q }
        { ld2x64pace $a0:1, $a2:3, address+=, $mzero, 0
          \op $a4:5, \p, \q }
        add count, count, -2
        REPEAT count, 1
        { ld2xst64pace $a0:3, $a4:5, address+=, $mzero, 0
          \op $a4:5, \p, \q }
        { st64pace $a4:5, address+=, $mzero, 0
          \op $a4:5, \p, \q }
        { st64pace $a4:5, address+=, $mzero, 0
          \op $a4:5, $azeros, $azeros }
        st64pace $a4:5, address+=, $mzero, 0
        brz last, .L\name\()_tail
        exitz $mzero
.endm

// op, op1: the instruction on vectors, and on two f16 or one f32.
.macro BINARY name width op op1
ENTRY \name
        get wid, $WSR
        ld32 pa, $mvertex_base, $mzero, binary__a
        ld32 pb, $mvertex_base, $mzero, binary__b
        ld32 pc, $mvertex_base, $mzero, binary__out
        ld32 n, $mvertex_base, $mzero, binary__n
        BINARY_BODY \name, \width, pc, CTXT_WORKERS, 1, "\op $a4:5, $a0:1, $a2:3", "fnop"
        BINARY_TAIL \name, \width, pc, "fnop", "\op1 $a4, $a0, $a2"
.endm

.macro BINARY_INPLACE name width op op1
ENTRY \name
        get wid, $WSR
        ld32 pa, $mvertex_base, $mzero, inplace__a
        ld32 pb, $mvertex_base, $mzero, inplace__b
        ld32 n, $mvertex_base, $mzero, inplace__n
        BINARY_BODY \name, \width, pa, 1, 1, "\op $a4:5, $a0:1, $a2:3", "fnop"
        PACED_BINARY \name, \op
        BINARY_TAIL \name, \width, pa, "fnop", "\op1 $a4, $a0, $a2"
.endm

// $TAS, and the accumulators cleared: the first instruction delivers what they hold.
.macro AXPY_F16 name
ENTRY \name
        { ld32 $a6, $mvertex_base, $mzero, axpy__a
          setzi $a7, 0x3c00 }
        { get wid, $WSR
          sort4x16lo $a6, $a7, $a6 }       // 1 and the scalar
        { ld32 pb, $mvertex_base, $mzero, axpy__x
          uput $TAS, $a6 }
        { ld32 pa, $mvertex_base, $mzero, axpy__y
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 n, $mvertex_base, $mzero, axpy__n
          uput $FP_CLR, $a7 }
        BINARY_BODY \name, 4, pa, 1, 2, "f16v4mix $azeros, $a0:1, $a2:3", "f16v4mix $a4:5, $azeros, $azeros"
        PACED_AXPY \name, f16v4mix, $a2:3, $a0:1
        BINARY_TAIL \name, 4, pa, "mov $a1, $a0", "mov $a3, $a2", "f16v4mix $azeros, $a0:1, $a2:3", \
            "f16v4mix $a4:5, $azeros, $azeros"
.endm

.macro AXPY_F32 name
ENTRY \name
        ld32 $a6, $mvertex_base, $mzero, axpy__a
        { get wid, $WSR
          setzi $a7, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
        { ld32 pb, $mvertex_base, $mzero, axpy__x
          uput $TAS, $a6 }
        { ld32 pa, $mvertex_base, $mzero, axpy__y
          uput $FP_CLR, $a7 }
        ld32 n, $mvertex_base, $mzero, axpy__n
        BINARY_BODY \name, 2, pa, 1, 2, "f32v2axpy $azeros, $a2:3, $a0:1", "f32v2axpy $a4:5, $azeros, $azeros"
        PACED_AXPY \name, f32v2axpy, $a0:1, $a2:3
        BINARY_TAIL \name, 2, pa, "mov $a1, $a0", "mov $a3, $a2", "f32v2axpy $azeros, $a2:3, $a0:1", \
            "f32v2axpy $a4:5, $azeros, $azeros"
.endm

// 1 where a condition holds, else 0: its mask, and 1 in $a6:7.
.macro COMPARE_F16 name how
ENTRY \name
        { get wid, $WSR
          setzi $a6, 0x03c00 }
        { ld32 pa, $mvertex_base, $mzero, binary__a
          or $a6, $a6, 0x3c000000 }
        { ld32 pb, $mvertex_base, $mzero, binary__b
          mov $a7, $a6 }
        ld32 pc, $mvertex_base, $mzero, binary__out
        ld32 n, $mvertex_base, $mzero, binary__n
        BINARY_BODY \name, 4, pc, CTXT_WORKERS, 2, "f16v4\how $a4:5, $a0:1, $a2:3", "and64 $a4:5, $a4:5, $a6:7"
        BINARY_TAIL \name, 4, pc, "fnop", "f16v2\how $a4, $a0, $a2", "and $a4, $a4, $a6"
.endm

.macro COMPARE_F32 name how
ENTRY \name
        { get wid, $WSR
          or $a6, $azero, 0x3f800000 }
        { ld32 pa, $mvertex_base, $mzero, binary__a
          mov $a7, $a6 }
        ld32 pb, $mvertex_base, $mzero, binary__b
        ld32 pc, $mvertex_base, $mzero, binary__out
        ld32 n, $mvertex_base, $mzero, binary__n
        BINARY_BODY \name, 2, pc, CTXT_WORKERS, 2, "f32v2\how $a4:5, $a0:1, $a2:3", "and64 $a4:5, $a4:5, $a6:7"
        BINARY_TAIL \name, 2, pc, "fnop", "f32\how $a4, $a0, $a2", "and $a4, $a4, $a6"
.endm

BINARY add_f16, 4, f16v4add, f16v2add
BINARY_INPLACE add_inplace_f16, 4, f16v4add, f16v2add
BINARY add_f32, 2, f32v2add, f32add
BINARY_INPLACE add_inplace_f32, 2, f32v2add, f32add
BINARY sub_f16, 4, f16v4sub, f16v2sub
BINARY_INPLACE sub_inplace_f16, 4, f16v4sub, f16v2sub
BINARY sub_f32, 2, f32v2sub, f32sub
BINARY_INPLACE sub_inplace_f32, 2, f32v2sub, f32sub
BINARY mul_f16, 4, f16v4mul, f16v2mul
BINARY_INPLACE mul_inplace_f16, 4, f16v4mul, f16v2mul
BINARY mul_f32, 2, f32v2mul, f32mul
BINARY_INPLACE mul_inplace_f32, 2, f32v2mul, f32mul
BINARY max_f16, 4, f16v4max, f16v2max
BINARY_INPLACE max_inplace_f16, 4, f16v4max, f16v2max
BINARY max_f32, 2, f32v2max, f32max
BINARY_INPLACE max_inplace_f32, 2, f32v2max, f32max
BINARY min_f16, 4, f16v4min, f16v2min
BINARY_INPLACE min_inplace_f16, 4, f16v4min, f16v2min
BINARY min_f32, 2, f32v2min, f32min
BINARY_INPLACE min_inplace_f32, 2, f32v2min, f32min
COMPARE_F16 less_f16, cmplt
COMPARE_F32 less_f32, cmplt
COMPARE_F16 less_or_equal_f16, cmple
COMPARE_F32 less_or_equal_f32, cmple
COMPARE_F16 equal_f16, cmpeq
COMPARE_F32 equal_f32, cmpeq
AXPY_F16 axpy_f16
AXPY_F32 axpy_f32

// Two instructions a vector, so nothing is gained by more than two slots.
ENTRY add_relu_f16
        get wid, $WSR
        ld32 pa, $mvertex_base, $mzero, inplace__a
        ld32 pb, $mvertex_base, $mzero, inplace__b
        ld32 n, $mvertex_base, $mzero, inplace__n
        BINARY_BODY add_relu_f16, 4, pa, CTXT_WORKERS, 2, "f16v4add $a4:5, $a0:1, $a2:3", "f16v4max $a4:5, $a4:5, $azeros"
        BINARY_TAIL add_relu_f16, 4, pa, "fnop", "f16v2add $a4, $a0, $a2", "f16v2max $a4, $a4, $azero"

// b where a > 0, else 0
ENTRY relu_slope_f16
        get wid, $WSR
        ld32 pa, $mvertex_base, $mzero, binary__a
        ld32 pb, $mvertex_base, $mzero, binary__b
        ld32 pc, $mvertex_base, $mzero, binary__out
        ld32 n, $mvertex_base, $mzero, binary__n
        BINARY_BODY relu_slope_f16, 4, pc, CTXT_WORKERS, 2, "f16v4cmplt $a4:5, $azeros, $a0:1", "and64 $a4:5, $a4:5, $a2:3"
        BINARY_TAIL relu_slope_f16, 4, pc, "fnop", "f16v2cmplt $a4, $azero, $a0", "and $a4, $a4, $a2"

// b s (1 + a (1 - s)), s the sigmoid of a. 1 - s is exact from a half on, where an error of it would count most. $a6: 1. The
// instructions of a vector take longer than its loads and its store beside them; b is loaded where a has been.
ENTRY swish_slope_f16
        { get wid, $WSR
          setzi $a6, 0x03c00 }
        ld32 pa, $mvertex_base, $mzero, binary__a
        ld32 pb, $mvertex_base, $mzero, binary__b
        ld32 pc, $mvertex_base, $mzero, binary__out
        ld32 n, $mvertex_base, $mzero, binary__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, 2
        SHARE count, count, last, t
        add count, count, -1
        shl in, wid, 3
        brneg count, .Lswish_slope_f16_end
        EVEN ld64 $a0:1, pa, in, 0
        { rpt count, 6
          f16v2sigm $a4, $a0 }
        { nop
          f16v2sigm $a5, $a1 }
        { nop
          f16v4sub $a2:3, $a6:BL, $a4:5 }
        { nop
          f16v4mul $a2:3, $a2:3, $a0:1 }
        { ld64 $a0:1, pb, in, 0
          f16v4add $a2:3, $a6:BL, $a2:3 }
        { nop
          f16v4mul $a4:5, $a4:5, $a2:3 }
        { ld64 $a0:1, pa, in, CTXT_WORKERS
          f16v4mul $a4:5, $a4:5, $a0:1 }
        { st64step $a4:5, pc, in+=, CTXT_WORKERS
          f16v2sigm $a4, $a0 }
        f16v2sigm $a5, $a1
        f16v4sub $a2:3, $a6:BL, $a4:5
        f16v4mul $a2:3, $a2:3, $a0:1
        { ld64 $a0:1, pb, in, 0
          f16v4add $a2:3, $a6:BL, $a2:3 }
        f16v4mul $a4:5, $a4:5, $a2:3
        f16v4mul $a4:5, $a4:5, $a0:1
        st64 $a4:5, pc, in, 0
.Lswish_slope_f16_end:
        brz last, .Lswish_slope_f16_tail
        exitz $mzero
        BINARY_TAIL swish_slope_f16, 4, pc, "fnop", "f16v2sigm $a4, $a0", "f16v2sub $a1, $a6:BL, $a4", "f16v2mul $a1, $a1, $a0", \
            "f16v2add $a1, $a6:BL, $a1", "f16v2mul $a4, $a4, $a1", "f16v2mul $a4, $a4, $a2"
