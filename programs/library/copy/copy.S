// copy.S: dst[i] = src[i] for runs that begin anywhere an element may; they must not overlap.
//
// State: src, dst, n. The aligned 8-byte vectors inside dst are dealt out in blocks of neighbours; the last worker
// copies what lies before them, the last but one what lies after them (if the run lies within one vector, the last copies all).
// How a vector is made depends on where it begins in src:
//
//   multiple of 8      one slot a vector where one instruction can load and store: src and dst are far apart, or in region 1;
//                      else two
//   multiple of 4, 2   two slots: words and halves are put together in the auxiliary lane
//   odd                six slots: bytes are put together word by word in the main lane
//
// Reads of src reach to the ends of its 8-byte vectors.

#define FAMILY "../copy/copy.def"
#include "../kernel/fields.inc"
#include "copy_word.inc"
#include "../kernel/worker.inc"

#define wid      $m0
#define from     $m2
#define full     $m4
#define count    $m6
#define first    $m7
#define tail     $m5
// vectors
#define to       $m4
#define phase    $m5
#define address  $m8:9
#define odd      $m3

#define PACED_LEAST  13                         // vectors of a worker from which on region 1 is looked for

// Pieces [at, end) of one vector of dst. Bytes: word by word.
.macro COPY_EDGE_8 name
.L\name\()_word:
        COPY_WORD_8
        cmpult t, at, end
        brnz t, .L\name\()_word
.endm

// Halves: an upper half, a word, a lower half, each if there is one.
.macro COPY_EDGE_16 name
        add u, at, delta
        and t, at, 2
        brz t, .L\name\()_word
        ldz16step value, $mzero, u+=, 1
        add at, at, -2
        ldz16 t, at, $mzero, 0
        sort4x16lo t, t, value
        st32step t, $mzero, at+=, 1
.L\name\()_word:
        sub t, end, at
        brz t, .L\name\()_vectors
        ldz16step value, $mzero, u+=, 1
        cmpult s, t, 4
        brnz s, .L\name\()_lower
        ldz16step s, $mzero, u+=, 1
        sort4x16lo value, value, s
        st32step value, $mzero, at+=, 1
        cmpult t, t, 5
        brnz t, .L\name\()_vectors
        ldz16 value, u, $mzero, 0
.L\name\()_lower:
        ldz16 t, at, $mzero, 1
        sort4x16lo t, value, t
        st32 t, at, $mzero, 0
.endm

.macro COPY_EDGE_32 name
        add u, at, delta
        ld32 value, u, 0
        st32 value, at, $mzero, 0
.endm

// count + 1 vectors that begin at a vector of src; t: how far src and dst are apart. An instruction can load and store where
// they are far apart, and in region 1 where the vectors are of different parity: that is always so one vector, or two, later.
.macro COPY_ALIGNED name
        cmpult t, t, ELEMENT_PAIR + VECTOR_BYTES
        brz t, .L\name\()_paced
        add u, count, 1 - PACED_LEAST
        brneg u, .L\name\()_slow
        min u, from, to
        setzi t, REGION1_BASE
        cmpult u, u, t
        brnz u, .L\name\()_slow
        xor u, from, to
        and u, u, VECTOR_BYTES
        brnz u, .L\name\()_cross
.L\name\()_paced:
        ld64step $a0:1, $mzero, from+=, 1
        tapack address, from, $mzero, to
        REPEAT count, 1
        { ldst64pace $a0:1, $a0:1, address+=, $mzero, 0
          fnop }
        st64pace $a0:1, address+=, $mzero, 0
.L\name\()_none:
        exitz $mzero
.L\name\()_slow:
        ld64step $a0:1, $mzero, from+=, 1
        REPEAT count, 2
        { st64step $a0:1, $mzero, to+=, 1
          fnop }
        { ld64step $a0:1, $mzero, from+=, 1
          fnop }
        st64 $a0:1, $mzero, to, 0
        exitz $mzero
.L\name\()_cross:
        ld64step $a0:1, $mzero, from+=, 1
        ld64step $a2:3, $mzero, from+=, 1
        tapack address, from, $mzero, to
        add count, count, -1
        and odd, count, 1
        shr count, count, 1
        REPEAT count, 2
        { ldst64pace $a0:1, $a0:1, address+=, $mzero, 0
          fnop }
        { ldst64pace $a2:3, $a2:3, address+=, $mzero, 0
          fnop }
        brnz odd, .L\name\()_cross_odd
        st64pace $a0:1, address+=, $mzero, 0
        st64pace $a2:3, address+=, $mzero, 0
        exitz $mzero
.L\name\()_cross_odd:
        ldst64pace $a0:1, $a0:1, address+=, $mzero, 0
        st64pace $a2:3, address+=, $mzero, 0
        st64pace $a0:1, address+=, $mzero, 0
        exitz $mzero
.endm

// The second word of one vector and the first of the next.
.macro COPY_WORDS name
.L\name\()_words:
        ld64step $a0:1, $mzero, from+=, 1
        EVEN ld64step $a2:3, $mzero, from+=, 1
        { rpt count, 1
          roll32 $a4:5, $a0:1, $a2:3 }
        { ld64step $a2:3, $mzero, from+=, 1
          mov $a0:1, $a2:3 }
        { st64step $a4:5, $mzero, to+=, 1
          roll32 $a4:5, $a0:1, $a2:3 }
        st64 $a4:5, $mzero, to, 0
        exitz $mzero
.endm

// From a half on, 2 or 6 bytes into a vector: two vectors a turn, since the one before is needed and registers cannot be
// renamed.
.macro COPY_HALVES name
.L\name\()_halves:
        and odd, count, 1
        shr count, count, 1
        cmpeq t, phase, 6
        EVEN brnz t, .L\name\()_halves6
        { ld64step $a0:1, $mzero, from+=, 1
          roll16 $a6, $a2, $a3 }
        { rpt count, 3
          roll16 $a7, $a3, $a0 }
        { ld64step $a2:3, $mzero, from+=, 1
          roll16 $a4, $a0, $a1 }
        { st64step $a6:7, $mzero, to+=, 1
          roll16 $a5, $a1, $a2 }
        { ld64step $a0:1, $mzero, from+=, 1
          roll16 $a6, $a2, $a3 }
        { st64step $a4:5, $mzero, to+=, 1
          roll16 $a7, $a3, $a0 }
        brz odd, .L\name\()_halves_end
        { ld64step $a2:3, $mzero, from+=, 1
          roll16 $a4, $a0, $a1 }
        { st64step $a6:7, $mzero, to+=, 1
          roll16 $a5, $a1, $a2 }
        mov $a6:7, $a4:5
.L\name\()_halves_end:
        st64 $a6:7, $mzero, to, 0
        exitz $mzero

.L\name\()_halves6:
        EVEN ld64step $a0:1, $mzero, from+=, 1
        { rpt count, 3
          roll16 $a6, $a3, $a0 }
        { ld64step $a2:3, $mzero, from+=, 1
          roll16 $a7, $a0, $a1 }
        { st64step $a6:7, $mzero, to+=, 1
          roll16 $a4, $a1, $a2 }
        { ld64step $a0:1, $mzero, from+=, 1
          roll16 $a5, $a2, $a3 }
        { st64step $a4:5, $mzero, to+=, 1
          roll16 $a6, $a3, $a0 }
        { brz odd, .L\name\()_halves_end
          roll16 $a7, $a0, $a1 }
        ld64step $a2:3, $mzero, from+=, 1
        { st64step $a6:7, $mzero, to+=, 1
          roll16 $a6, $a1, $a2 }
        { bri .L\name\()_halves_end
          roll16 $a7, $a2, $a3 }
.endm

// Three slots a word.
.macro COPY_BYTES_LOOP roll
        EVEN add count, count, 1
        { rpt count, 5
          fnop }
        { ld32step u, $mzero, from+=, 1
          fnop }
        { \roll value, t, u
          fnop }
        { st32step value, $mzero, to+=, 1
          fnop }
        { ld32step t, $mzero, from+=, 1
          fnop }
        { \roll value, u, t
          fnop }
        { st32step value, $mzero, to+=, 1
          fnop }
        exitz $mzero
.endm

.macro COPY_BYTES name
.L\name\()_bytes:
        and phase, from, 3
        andc from, from, 3
        ld32step t, $mzero, from+=, 1
        cmpeq phase, phase, 3
        brnz phase, .L\name\()_bytes3
        COPY_BYTES_LOOP roll8r
.L\name\()_bytes3:
        COPY_BYTES_LOOP roll8l
.endm

// shift: log2 of the bytes of an element; bits: 8 << shift
.macro COPY name shift bits
ENTRY \name
        get wid, $WSR
        ld32 from, $mvertex_base, $mzero, copy__src
        ld32 at, $mvertex_base, $mzero, copy__dst
        ld32 end, $mvertex_base, $mzero, copy__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        sub delta, from, at
.if \shift
        shl end, end, \shift
.endif
        add end, at, end
        add full, at, 7
        andc full, full, 7
        andc tail, end, 7
        sub t, tail, full
        shrs t, t, 3
        max t, t, 0
        BLOCK first count t wid
        cmpult t, wid, LAST_WORKER - 1
        brz t, .L\name\()_edge
.L\name\()_vectors:
        add count, count, -1
        brneg count, .L\name\()_none
        shl first, first, 3
        add to, full, first
        abs t, delta
        add from, to, delta
        and phase, from, 7
        brnz phase, .L\name\()_shifted
        COPY_ALIGNED \name
.L\name\()_shifted:
.if \bits == 8
        and t, phase, 1
        brnz t, .L\name\()_bytes
.endif
        andc from, from, 7
.if \bits < 32
        and t, phase, 2
        brz t, .L\name\()_words
        ld64step $a2:3, $mzero, from+=, 1
        COPY_HALVES \name
.endif
        COPY_WORDS \name
.if \bits == 8
        COPY_BYTES \name
.endif

.L\name\()_edge:
        cmpeq t, wid, LAST_WORKER
        brnz t, .L\name\()_before
        max at, tail, full
        bri .L\name\()_some
.L\name\()_before:
        min end, end, full
.L\name\()_some:
        cmpult t, at, end
        brz t, .L\name\()_vectors
        COPY_EDGE_\bits \name
        bri .L\name\()_vectors
.size \name, .-\name
.endm

// Both runs begin at a multiple of 8; the last worker copies an odd word at the end.
.macro COPY_64 name
ENTRY \name
        get wid, $WSR
        ld32 from, $mvertex_base, $mzero, copy__src
        ld32 to, $mvertex_base, $mzero, copy__dst
        ld32 end, $mvertex_base, $mzero, copy__n
        and wid, wid, CSR_W_WSR__CTXTID_M1__MASK
        shr u, end, 1
        BLOCK first count u wid
        cmpeq t, wid, LAST_WORKER
        brnz t, .L\name\()_edge
.L\name\()_vectors:
        add count, count, -1
        brneg count, .L\name\()_none
        sub t, from, to
        abs t, t
        shl first, first, 3
        add to, to, first
        add from, from, first
        COPY_ALIGNED \name

.L\name\()_edge:
        and t, end, 1
        brz t, .L\name\()_vectors
        add end, end, -1
        ld32 $a0, from, end
        st32 $a0, to, end
        bri .L\name\()_vectors
.size \name, .-\name
.endm

COPY_64 copy_64
COPY copy_32 2 32
COPY copy_16 1 16
COPY copy_8 0 8
