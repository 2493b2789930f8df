// copy_list_8: the k-th run of dst = the k-th run of src, bytes.
//
// A run is a part of a word, words, a part of a word; words are put together from two words of src, or copied.

#include "copy_word.inc"
#undef t
#undef u
#undef value
#include "copy_list.inc"

// index = the next row from it on that shares no word of dst with the row before.
.macro BOUNDARY index label
.L\label:
        cmpult t, \index, runs
        brz t, .L\label\()_end
        brz \index, .L\label\()_end
        shl t, \index, 3
        add t, dsts, t
        ld32 u, t, 0
        add t, t, -8
        ld32 value, t, 0
        ld32 t, t, 1
        add value, value, t
        add value, value, -1
        xor value, value, u
        shr value, value, 2
        brnz value, .L\label\()_end
        add \index, \index, 1
        bri .L\label
.L\label\()_end:
.endm

        LIST_BLOCK copy_list_8
        BOUNDARY n, copy_list_8_from
        BOUNDARY some, copy_list_8_until
        min some, some, runs
        BLOCK_ROWS copy_list_8
.Lcopy_list_8_run:
        NEXT_ROW
        brz n, .Lcopy_list_8_next
        cmpult u, n, 4
        and t, at, 3
        or t, t, u
        sub delta, from, at
        add end, at, n                     // in place of n
        brz t, .Lcopy_list_8_words
        COPY_WORD_8
.Lcopy_list_8_words:
        sub some, end, at
        max some, some, 0
        shr some, some, 2
        add u, at, delta
        and t, u, 3
        brnz t, .Lcopy_list_8_shifted
        REPEAT some, 2
        { ld32step $a0, $mzero, u+=, 1
          fnop }
        { st32step $a0, $mzero, at+=, 1
          fnop }
        bri .Lcopy_list_8_last
.Lcopy_list_8_shifted:
        brz some, .Lcopy_list_8_last
        andc u, u, 3
        shl t, t, 3
        sub s, 32, t
        EVEN ld32step value, $mzero, u+=, 1
        { rpt some, 5
          fnop }
        { shr value, value, t
          fnop }
        { ld32step mask, $mzero, u+=, 1
          fnop }
        { shl some, mask, s
          fnop }
        { or value, value, some
          fnop }
        { st32step value, $mzero, at+=, 1
          fnop }
        { mov value, mask
          fnop }
.Lcopy_list_8_last:
        cmpult t, at, end
        brz t, .Lcopy_list_8_next
        COPY_WORD_8
.Lcopy_list_8_next:
        LIST_END copy_list_8
