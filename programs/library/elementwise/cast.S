// cast.S: y = x between f16 and f32, and from u8.
//
// State: x, y, n. Workers take every sixth vector of 4 elements (u8: 8); the last worker, which never has more than
// the others, also does the elements after the last whole vector. f16 to f32 and back take 3 slots a vector, 2 where x and y
// are so far apart that one instruction can load and store.

#define FAMILY "../elementwise/elementwise.def"
#include "../kernel/fields.inc"
#include "elementwise.inc"

#define x        $m1
#define y        $m2
#define out      $m7
#define two      $m8
#define one      $m9
#define tail     $m11
#define pace     $m0                       // once wid is not needed any more
#define in2      $m4                       // once last is not needed any more

// How far apart: loads run ahead three vectors, and one address moves twice as fast as the other.
#define CAST_APART  (ELEMENT_PAIR + 3 * 2 * CTXT_WORKERS * VECTOR_BYTES)

// 1 to 3 f16 after the last whole vector, if there are: where they begin, whether there are two, and one.
.macro TAIL_FIND main
        and t, n, 3
        brz t, \main
        andc tail, n, 3
        shl tail, tail, 1
        and one, n, 1
        and two, n, 2
.endm

// Their results in $a4:5: stored at y + tail, the last one beside what its word has.
.macro TAIL_STORE y main single
        brz two, \single
        st32 $a4, \y, tail, 0
        { brz one, \main
          mov $a4, $a5 }
        add tail, tail, 4
\single:
        ldb16 $a6, \y, tail, 1
        sort4x16lo $a4, $a4, $a6
        st32 $a4, \y, tail, 0
        bri \main
.endm

// elements: log2 of those of a vector; xbytes, ybytes: log2 of its bytes; o1 to o8: constants of the auxiliary lane, or none
.macro CAST_HEAD name elements xbytes ybytes o1 o2 o3 o4 o5 o6 o7 o8
ENTRY \name
.ifb \o1
        get wid, $WSR
        ld32 x, $mvertex_base, $mzero, unary__x
        ld32 y, $mvertex_base, $mzero, unary__y
        ld32 n, $mvertex_base, $mzero, unary__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, \elements
.else
        { get wid, $WSR
          \o1 }
        { ld32 x, $mvertex_base, $mzero, unary__x
          \o2 }
        { ld32 y, $mvertex_base, $mzero, unary__y
          \o3 }
        { ld32 n, $mvertex_base, $mzero, unary__n
          \o4 }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          \o5 }
        { sub last, LAST_WORKER, wid
          \o6 }
        { shr count, n, \elements
          \o7 }
.endif
        SHARE count, count, last, t
        add count, count, -1
        shl in, wid, \xbytes
        shl out, wid, \ybytes
        brz last, .L\name\()_tail
.L\name\()_main:
.ifb \o8
        brneg count, .L\name\()_none
.else
        { brneg count, .L\name\()_none
          \o8 }
.endif
.endm

.macro CAST_TRY_FAST name
        add t, count, 1 - FAST_LEAST
        brneg t, .L\name\()_near
        sub t, x, y
        abs t, t
        shl u, n, 1
        sub t, t, u
        setzi u, CAST_APART
        cmpslt t, t, u
        brz t, .L\name\()_fast
.L\name\()_near:
.endm

.macro CAST_F16_F32 name
        CAST_HEAD \name, 2, 3, 4
        CAST_TRY_FAST \name
        EVEN ld64step $a0:1, x, in+=, CTXT_WORKERS
        { rpt count, 2
          f16v2tof32 $a2:3, $a0 }
        { ld64step $a0:1, x, in+=, CTXT_WORKERS
          f16v2tof32 $a4:5, $a1 }
        { st64step $a2:3, y, out+=, 1
          fnop }
        { st64step $a4:5, y, out+=, 2 * CTXT_WORKERS - 1
          f16v2tof32 $a2:3, $a0 }
        { st64step $a2:3, y, out+=, 1
          f16v2tof32 $a4:5, $a1 }
        st64 $a4:5, y, out, 0
.L\name\()_none:
        exitz $mzero

.L\name\()_fast:
        add in, x, in
        add out, y, out
        setzi pace, (2 * CTXT_WORKERS - 1) << 10 | CTXT_WORKERS
        ld64step $a0:1, $mzero, in+=, CTXT_WORKERS
        EVEN tapack address, in, $mzero, out
        { rpt count, 1
          f16v2tof32 $a2:3, $a0 }
        { ldst64pace $a0:1, $a2:3, address+=, pace, 0b0001
          f16v2tof32 $a4:5, $a1 }
        { st64pace $a4:5, address+=, pace, 0b10
          f16v2tof32 $a2:3, $a0 }
        { st64pace $a2:3, address+=, pace, 0b00
          f16v2tof32 $a4:5, $a1 }
        st64pace $a4:5, address+=, pace, 0b00
        exitz $mzero

        // Halves one by one.
.L\name\()_tail:
        and t, n, 3
        brz t, .L\name\()_main
        andc u, n, 3
        shl u, u, 1
        add tail, u, u
        add tail, y, tail
        add u, x, u
.L\name\()_tail_next:
        ldb16step $a0, $mzero, u+=, 1
        { add t, t, -1
          f16tof32 $a0, $a0 }
        st32step $a0, $mzero, tail+=, 1
        brnz t, .L\name\()_tail_next
        bri .L\name\()_main
.size \name, .-\name
.endm

.macro CAST_F32_F16 name
        CAST_HEAD \name, 2, 4, 3
        CAST_TRY_FAST \name
        ld64step $a0:1, x, in+=, 1
        EVEN ld64step $a2:3, x, in+=, 2 * CTXT_WORKERS - 1
        { rpt count, 2
          f32v4tof16 $a4:5, $a0:3 }
        { ld64step $a0:1, x, in+=, 1
          fnop }
        { ld64step $a2:3, x, in+=, 2 * CTXT_WORKERS - 1
          fnop }
        { st64step $a4:5, y, out+=, CTXT_WORKERS
          f32v4tof16 $a4:5, $a0:3 }
        st64 $a4:5, y, out, 0
.L\name\()_none:
        exitz $mzero

.L\name\()_fast:
        add in, x, in
        add in2, in, VECTOR_BYTES
        add out, y, out
        setzi pace, CTXT_WORKERS << 10 | 2 * CTXT_WORKERS
        ld64step $a0:1, $mzero, in+=, 2 * CTXT_WORKERS
        ld64step $a2:3, $mzero, in2+=, 2 * CTXT_WORKERS
        { ld64step $a0:1, $mzero, in+=, 2 * CTXT_WORKERS
          f32v4tof16 $a4:5, $a0:3 }
        ld64step $a2:3, $mzero, in2+=, 2 * CTXT_WORKERS
        tapack address, in, $mzero, out
        add count, count, -1
        REPEAT count, 2
        { ldst64pace $a0:1, $a4:5, address+=, pace, 0b1001
          f32v4tof16 $a4:5, $a0:3 }
        { ld64step $a2:3, $mzero, in2+=, 2 * CTXT_WORKERS
          fnop }
        { st64pace $a4:5, address+=, pace, 0b10
          f32v4tof16 $a4:5, $a0:3 }
        st64pace $a4:5, address+=, pace, 0b10
        exitz $mzero

.L\name\()_tail:
        TAIL_FIND .L\name\()_main
        shl in2, tail, 1
        brz two, .L\name\()_tail1
        ld32 $a0, x, in2, 0
        ld32 $a1, x, in2, 1
        { brz one, .L\name\()_tail_store
          f32v2tof16 $a4, $a0:1 }
        ld32 $a2, x, in2, 2
        { bri .L\name\()_tail_store
          f32tof16 $a5, $a2 }
.L\name\()_tail1:
        ld32 $a0, x, in2, 0
        f32tof16 $a4, $a0
.L\name\()_tail_store:
        TAIL_STORE y, .L\name\()_main, .L\name\()_tail_single
.size \name, .-\name
.endm

// Bytes. There are no shifts in the auxiliary lane, so numbers are read off their place in a number: with the exponent put in
// front, a byte below is 2^23 + b or 1024 + b, one 8 bits up 2^15 + b.
//
//   $a12:13 mask of the even bytes of a word     $a9 0x4700: half an f32 of 2^15 and more
//   f32: $a8 0x4b00, of 2^23 and more            $a10:11 -2^23, -2^15
//   f16: $a8 -2^15                               $a10:11 four f16 1024

// The odd bytes of vector $a0:1. more: loads the next vector.
.macro U8_ODD more to
.if \more
        { ld64step $a0:1, x, in+=, CTXT_WORKERS
          andc64 \to, $a0:1, $a12:13 }
.else
        { nop
          andc64 \to, $a0:1, $a12:13 }
.endif
.endm

// Two f32 in $a6:7: op puts exponents in front of an even and an odd byte. store: of the two before.
.macro U8_PAIR store op even odd
.if \store
        { st64step $a6:7, y, out+=, 1
          \op $a6, \even, $a8 }
.else
        { nop
          \op $a6, \even, $a8 }
.endif
        { nop
          \op $a7, \odd, $a9 }
        { nop
          f32v2add $a6:7, $a6:7, $a10:11 }
.endm

// Vector $a0:1 to f32, from the odd bytes on: the last pair in $a6:7, the others stored. more: loads the next vector.
.macro U8_F32 more
        U8_ODD \more $a4:5
        U8_PAIR 0, sort4x16lo, $a2, $a4
        U8_PAIR 1, roll16, $a2, $a4
        U8_PAIR 1, sort4x16lo, $a3, $a5
        U8_PAIR 1, roll16, $a3, $a5
.endm

.macro CAST_U8_F32 name
        CAST_HEAD \name, 3, 3, 5, "setzi $a12, 0xf00ff", "or $a12, $a12, 0x00f00000", "mov $a13, $a12", \
            "setzi $a8, 0x4b00", "setzi $a9, 0x4700", "or $a10, $azero, 0xcb000000", "or $a11, $azero, 0xc7000000"
        EVEN ld64step $a0:1, x, in+=, CTXT_WORKERS
        { rpt count, 13
          and64 $a2:3, $a0:1, $a12:13 }
        U8_F32 1
        { st64step $a6:7, y, out+=, 4 * CTXT_WORKERS - 3
          and64 $a2:3, $a0:1, $a12:13 }
        U8_F32 0
        st64 $a6:7, y, out, 0
.L\name\()_none:
        exitz $mzero

        // Word by word, and its results one by one.
.L\name\()_tail:
        and t, n, 7
        brz t, .L\name\()_main
        andc u, n, 7
        shl tail, u, 2
        add tail, y, tail
        add u, x, u
.L\name\()_tail_word:
        ld32step $a0, $mzero, u+=, 1
        min pace, t, 4
        { sub t, t, pace
          and $a2, $a0, $a12 }
        andc $a3, $a0, $a12
        sort4x16lo $a4, $a2, $a8
        sort4x16lo $a5, $a3, $a9
        roll16 $a6, $a2, $a8
        roll16 $a7, $a3, $a9
        f32v2add $a4:5, $a4:5, $a10:11
        f32v2add $a6:7, $a6:7, $a10:11
.L\name\()_tail_next:
        { st32step $a4, $mzero, tail+=, 1
          mov $a4, $a5 }
        { add pace, pace, -1
          mov $a5, $a6 }
        { brnz pace, .L\name\()_tail_next
          mov $a6, $a7 }
        brnz t, .L\name\()_tail_word
        bri .L\name\()_main
.size \name, .-\name
.endm

// Vector $a0:1 to f16, from the odd bytes on: the second half in $a6:7, the first stored. more: loads the next vector; store: of
// the first half.
.macro U8_F16 more
        U8_ODD \more $a6:7
        { nop
          or64 $a2:3, $a2:3, $a10:11 }
        { nop
          f16v4sub $a2:3, $a2:3, $a10:11 }
        { nop
          sort4x16lo $a4, $a6, $a9 }
        { nop
          roll16 $a5, $a6, $a9 }
        { nop
          sort4x16lo $a6, $a7, $a9 }
        { nop
          roll16 $a7, $a7, $a9 }
        { nop
          f32v2add $a4:5, $a8:B, $a4:5 }
        { nop
          f32v2add $a6:7, $a8:B, $a6:7 }
        { nop
          f32v4tof16 $a4:5, $a4:7 }
        { nop
          sort4x16lo $a6, $a2, $a4 }
        { nop
          sort4x16hi $a7, $a2, $a4 }
.endm

.macro CAST_U8_F16 name
        CAST_HEAD \name, 3, 3, 4, "setzi $a12, 0xf00ff", "or $a12, $a12, 0x00f00000", "mov $a13, $a12", \
            "setzi $a10, 0x06400", "sort4x16lo $a10, $a10, $a10", "setzi $a9, 0x4700", "or $a8, $azero, 0xc7000000", \
                "mov $a11, $a10"
        EVEN ld64step $a0:1, x, in+=, CTXT_WORKERS
        { rpt count, 14
          and64 $a2:3, $a0:1, $a12:13 }
        U8_F16 1
        { st64step $a6:7, y, out+=, 1
          sort4x16lo $a6, $a3, $a5 }
        { nop
          sort4x16hi $a7, $a3, $a5 }
        { st64step $a6:7, y, out+=, 2 * CTXT_WORKERS - 1
          and64 $a2:3, $a0:1, $a12:13 }
        U8_F16 0
        { st64step $a6:7, y, out+=, 1
          sort4x16lo $a6, $a3, $a5 }
        sort4x16hi $a7, $a3, $a5
        st64 $a6:7, y, out, 0
.L\name\()_none:
        exitz $mzero

.L\name\()_tail:
        and t, n, 7
        { brz t, .L\name\()_main
          mov $a11, $a10 }
        andc tail, n, 7
        ld64 $a0:1, x, tail, 0
        { shl tail, tail, 1
          and64 $a2:3, $a0:1, $a12:13 }
        U8_F16 0
        and u, n, 4
        { brz u, .L\name\()_tail_rest
          mov $a4, $a6 }
        { st64 $a6:7, y, tail, 0
          sort4x16lo $a4, $a3, $a5 }
        { add tail, tail, 8
          sort4x16hi $a7, $a3, $a5 }
.L\name\()_tail_rest:
        { and t, n, 3
          mov $a5, $a7 }
        brz t, .L\name\()_main
        and one, n, 1
        and two, n, 2
        TAIL_STORE y, .L\name\()_main, .L\name\()_tail_single
.size \name, .-\name
.endm

CAST_U8_F16 cast_u8_f16
CAST_U8_F32 cast_u8_f32
CAST_F16_F32 cast_f16_f32
CAST_F32_F16 cast_f32_f16
