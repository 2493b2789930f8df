// fill.S: out[i] = value for a run that begins anywhere an element may.
//
// State: out, value, n. Workers take every sixth of the aligned 8-byte vectors inside the run. If it begins at a multiple
// of 8 the last worker, which never has more vectors than the others, writes what lies after them; else the last worker writes
// what lies before them, and the last but one what lies after them (if the run lies within one vector, the last writes all). Words that
// belong to the run in part are read, changed and written back.

#define FAMILY "../copy/copy.def"
#include "../kernel/fields.inc"
#include "../kernel/worker.inc"

#define wid     $m0
#define out     $m1
#define end     $m2
#define full    $m3
#define tail    $m4
#define count   $m5
#define last    $m6
#define s       $m7
#define t       $m8
#define word    $m9
#define mask    $m10
#define value   $m11
#define VALUE64 $a0:1

// Bytes [out, end) of one vector, word by word.
.macro FILL_EDGE_8 name
        atom value, $a0
.L\name\()_word:
        andc word, out, 3
        and s, out, 3
        shl s, s, 3
        add t, $mzero, -1
        shl mask, t, s
        sub s, end, word
        min s, s, 4
        shl s, s, 3
        shl t, t, s
        andc mask, mask, t
        ld32 t, word, 0
        andc t, t, mask
        and s, value, mask
        or t, t, s
        st32 t, word, $mzero, 0
        add out, word, 4
        cmpult t, out, end
        brnz t, .L\name\()_word
.endm

// Halves: an upper half, a word, a lower half, each if there is one.
.macro FILL_EDGE_16 name
        atom value, $a0
        and t, out, 2
        brz t, .L\name\()_word
        add out, out, -2
        ldz16 t, out, $mzero, 0
        sort4x16lo t, t, value
        st32 t, out, $mzero, 0
        add out, out, 4
.L\name\()_word:
        sub t, end, out
        brz t, .L\name\()_main
        cmpult s, t, 4
        brnz s, .L\name\()_lower
        st32 value, out, $mzero, 0
        add out, out, 4
        cmpult t, t, 5
        brnz t, .L\name\()_main
.L\name\()_lower:
        ldz16 t, out, $mzero, 1
        sort4x16lo t, value, t
        st32 t, out, $mzero, 0
.endm

.macro FILL_EDGE_32 name
        st32 $a0, out, $mzero, 0
.endm

// What lies after the vectors of a run that begins at a multiple of 8; end: its bytes.
.macro FILL_TAIL_8 name
        andc s, end, 7
        and t, end, 4
        brz t, .L\name\()_tail_bytes
        st32 $a0, out, s, 0
        add s, s, 4
.L\name\()_tail_bytes:
        and t, end, 3
        brz t, .L\name\()_done
        add out, out, s
        shl t, t, 3
        add mask, $mzero, -1
        shl mask, mask, t
        atom value, $a0
        ld32 s, out, 0
        and s, s, mask
        andc value, value, mask
        or s, s, value
        st32 s, out, $mzero, 0
.endm

.macro FILL_TAIL_16 name
        and t, end, 4
        brz t, .L\name\()_tail_half
        andc s, end, 7
        st32 $a0, out, s, 0
.L\name\()_tail_half:
        and t, end, 2
        brz t, .L\name\()_done
        ldb16 $a1, out, end, 0             // what else is in its word
        { add s, end, -2
          sort4x16lo $a0, $a0, $a1 }
        st32 $a0, out, s, 0
.endm

.macro FILL_TAIL_32 name
        and t, end, 4
        brz t, .L\name\()_done
        andc s, end, 7
        st32 $a0, out, s, 0
.endm

// state: that of its fields; shift: log2 of the bytes of an element; bits: 8 << shift
.macro FILL name state shift bits
ENTRY \name
        ld32 $a0, $mvertex_base, $mzero, \state\()__value
.if \bits == 8
        // The byte four times. There is no way from the main to the auxiliary file, so by arithmetic: 257 b in both halves.
        { get wid, $WSR
          setzi $a2, 0x8000 }
        { ld32 out, $mvertex_base, $mzero, \state\()__out
          or $a2, $a2, 0x43800000 }
        { ld32 end, $mvertex_base, $mzero, \state\()__n
          and $a0, $a0, 0xff }
        { and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
          f32fromui32 $a0, $a0 }
        { sub last, LAST_WORKER, wid
          f32mul $a0, $a0, $a2 }
        { and t, out, 7
          f32toui32 $a0, $a0 }
        { brnz t, .L\name\()_unaligned
          sort4x16lo $a0, $a0, $a0 }
.else
        get wid, $WSR
        ld32 out, $mvertex_base, $mzero, \state\()__out
        ld32 end, $mvertex_base, $mzero, \state\()__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub last, LAST_WORKER, wid
        shl end, end, \shift
        and t, out, 7
        brnz t, .L\name\()_unaligned
.endif
        { shr count, end, 3
          mov $a1, $a0 }
        SHARE count, count, last, t
        shl s, wid, 3
        REPEAT count, 1
        { st64step VALUE64, out, s+=, CTXT_WORKERS
          fnop }
        brz last, .L\name\()_tail
.L\name\()_done:
        exitz $mzero
.L\name\()_tail:
        FILL_TAIL_\bits \name
        exitz $mzero

.L\name\()_unaligned:
        { add end, out, end
          mov $a1, $a0 }
        add full, out, 7
        andc full, full, 7
        andc tail, end, 7
        sub count, tail, full
        shrs count, count, 3
        max count, count, 0
        SHARE count, count, last, t
        shl s, wid, 3
        add full, full, s
        add t, last, -2
        brneg t, .L\name\()_edge
.L\name\()_main:
        REPEAT count, 1
        { st64step VALUE64, $mzero, full+=, CTXT_WORKERS
          fnop }
        exitz $mzero

.L\name\()_edge:
        brz last, .L\name\()_before
        sub s, full, s
        max out, tail, s
        bri .L\name\()_some
.L\name\()_before:
        sub s, full, s
        min end, end, s
.L\name\()_some:
        cmpult t, out, end
        brz t, .L\name\()_main
        FILL_EDGE_\bits \name
        bri .L\name\()_main
.size \name, .-\name
.endm

FILL fill_u8 fill_u8 0 8
FILL fill_f16 fill 1 16
FILL fill_f32 fill 2 32
