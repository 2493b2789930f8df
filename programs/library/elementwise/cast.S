// cast.S: y = x between f16 and f32, and from u8.
//
// State: x, y, n. Workers take every sixth vector of 4 elements; the last worker, which never has more than
// the others, also does the elements after the last whole vector. f16 to f32 and back take 3 slots a vector, 2 where x and y
// are so far apart that one instruction can load and store; u8 to f16 takes 6, to f32 7.

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
#define word     $m10

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
        ldb16 $a0, \y, tail, 1
        sort4x16lo $a4, $a4, $a0
        st32 $a4, \y, tail, 0
        bri \main
.endm

// xbytes, ybytes: log2 of the bytes of a vector; o1 to o5: constants of the auxiliary lane, or none
.macro CAST_HEAD name xbytes ybytes o1 o2 o3 o4 o5
ENTRY \name
.ifb \o1
        get wid, $WSR
        ld32 x, $mvertex_base, $mzero, unary__x
        ld32 y, $mvertex_base, $mzero, unary__y
        ld32 n, $mvertex_base, $mzero, unary__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shr count, n, 2
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
        sub last, LAST_WORKER, wid
        shr count, n, 2
.endif
        SHARE count, count, last, t
        add count, count, -1
        shl in, wid, \xbytes
        shl out, wid, \ybytes
        brz last, .L\name\()_tail
.L\name\()_main:
        brneg count, .L\name\()_none
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
        CAST_HEAD \name, 3, 4
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
        CAST_HEAD \name, 4, 3
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

// Bytes. The auxiliary lane has no shifts, and the main lane no way to it but through memory: it shifts a word by a byte and
// leaves it where its first results will be. Halves of the word and of the shifted one, with their upper bytes cleared, are the four
// bytes as f16 that are not normal, b 2^-24: exact in all that follows.
#define bytes    $a0                       // a word of x
#define shifted  $a2                       // the same, less its lowest byte
#define wide     $a0:1                     // two f32
#define scale    $a3                       // f16: 2^15 and 2^9, whose product is no f16; f32: 2^24
#define halves   $a4:5
#define halves0  $a4
#define halves1  $a5
#define lower    $a6:7                     // mask of the lower bytes of halves

// The first word, up to the loop of `bundles` bundles for each of the others.
.macro U8_BEGIN bundles
        ld32 word, x, in, 0
        shr word, word, 8
        st32 word, y, out, 0
        ld32 shifted, y, out, 0
        EVEN ld32step bytes, x, in+=, CTXT_WORKERS
        { rpt count, \bundles - 1
          sort4x16lo halves0, bytes, shifted }
.endm

// The four bytes of a word of x for the tail, zeros for the upper `cut` bits: bytes beyond the end are none of x. Goes through the word
// at y + at.
.macro U8_TAIL from cut y at
        ld32 word, x, \from, 0
        shl word, word, \cut
        shr word, word, \cut
        st32 word, \y, \at, 0
        ld32 bytes, \y, \at, 0
        shr word, word, 8
        st32 word, \y, \at, 0
        ld32 shifted, \y, \at, 0
        sort4x16lo halves0, bytes, shifted
        sort4x16hi halves1, bytes, shifted
.endm

.macro CAST_U8_F32 name
        CAST_HEAD \name, 2, 4, "setzi $a6, 0xf00ff", "or $a6, $a6, 0x00f00000", "mov $a7, $a6", \
            "or $a3, $azero, 0x4b800000", fnop
        U8_BEGIN 7
        { ld32 word, x, in, 0
          sort4x16hi halves1, bytes, shifted }
        { shr word, word, 8
          and64 halves, halves, lower }
        { st32 word, y, out, 4 * CTXT_WORKERS
          f16v2tof32 wide, halves0 }
        { ld32 shifted, y, out, 4 * CTXT_WORKERS
          f32v2mul wide, scale:B, wide }
        { st64step wide, y, out+=, 1
          f16v2tof32 halves, halves1 }
        { ld32step bytes, x, in+=, CTXT_WORKERS
          f32v2mul halves, scale:B, halves }
        { st64step halves, y, out+=, 2 * CTXT_WORKERS - 1
          sort4x16lo halves0, bytes, shifted }
        sort4x16hi halves1, bytes, shifted
        and64 halves, halves, lower
        f16v2tof32 wide, halves0
        f32v2mul wide, scale:B, wide
        { st64step wide, y, out+=, 1
          f16v2tof32 halves, halves1 }
        f32v2mul halves, scale:B, halves
        st64 halves, y, out, 0
.L\name\()_none:
        exitz $mzero

        // A word, and its results one by one.
.L\name\()_tail:
        and t, n, 3
        brz t, .L\name\()_main
        andc u, n, 3
        shl tail, u, 2
        add tail, y, tail
        shl in2, t, 3
        sub in2, 32, in2
        U8_TAIL u, in2, tail, $mzero
        and64 halves, halves, lower
        f16v2tof32 wide, halves0
        f32v2mul wide, scale:B, wide
        f16v2tof32 halves, halves1
        f32v2mul halves, scale:B, halves
.L\name\()_tail_next:
        { st32step $a0, $mzero, tail+=, 1
          mov $a0, $a1 }
        { add t, t, -1
          mov $a1, halves0 }
        brnz t, .L\name\()_tail_next
        bri .L\name\()_main
.size \name, .-\name
.endm

.macro CAST_U8_F16 name
        CAST_HEAD \name, 2, 3, "setzi $a6, 0xf00ff", "or $a6, $a6, 0x00f00000", "mov $a7, $a6", \
            "setzi $a3, 0x07800", "or $a3, $a3, 0x60000000"
        U8_BEGIN 6
        { ld32 word, x, in, 0
          sort4x16hi halves1, bytes, shifted }
        { shr word, word, 8
          and64 halves, halves, lower }
        { st32 word, y, out, 2 * CTXT_WORKERS
          f16v4mul halves, scale:BL, halves }
        { ld32 shifted, y, out, 2 * CTXT_WORKERS
          f16v4mul halves, scale:BU, halves }
        { ld32step bytes, x, in+=, CTXT_WORKERS
          fnop }
        { st64step halves, y, out+=, CTXT_WORKERS
          sort4x16lo halves0, bytes, shifted }
        sort4x16hi halves1, bytes, shifted
        and64 halves, halves, lower
        f16v4mul halves, scale:BL, halves
        f16v4mul halves, scale:BU, halves
        st64 halves, y, out, 0
.L\name\()_none:
        exitz $mzero

        // One byte alone needs no shifted word, and there may be no word of y for it.
.L\name\()_tail:
        TAIL_FIND .L\name\()_main
        shr in2, tail, 1
        ldb16 halves0, x, in2, 0
        { brz two, .L\name\()_tail_halves
          mov halves1, $azero }
        shl t, one, 3
        sub t, 16, t
        U8_TAIL in2, t, y, tail
.L\name\()_tail_halves:
        and64 halves, halves, lower
        f16v4mul halves, scale:BL, halves
        f16v4mul halves, scale:BU, halves
        TAIL_STORE y, .L\name\()_main, .L\name\()_tail_single
.size \name, .-\name
.endm

CAST_U8_F16 cast_u8_f16
CAST_U8_F32 cast_u8_f32
CAST_F16_F32 cast_f16_f32
CAST_F32_F16 cast_f32_f16
