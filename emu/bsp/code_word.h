/* code_word.h - a supervisor's instructions, decoded once: a table that is found by their words.
 *
 * Code of supervisors is long, mostly straight, and different on every tile, but made of few
 * different words. So its items are kept one by one, not in pages as worker code is (code.h). An
 * entry depends only on its words and on the machine, and is held against memory at every issue:
 * nobody need tell of writes into code.
 */
#ifndef EMU_CODE_WORD_H
#define EMU_CODE_WORD_H

#include "emu/exec/exec.h"

enum { SEND_WIDE = 4 /* bit of a send's ctl: beyond the chip */ };
enum { CODE_WORD_BITS = 10, CODE_WORDS = 1 << CODE_WORD_BITS };

/* What an instruction may do beyond its registers and memory. */
enum code_word_flags {
    WORD_JUMPS = 1,  /* set npc */
    WORD_STARTS = 2, /* start workers, or call code that does */
    WORD_SYNCS = 4,  /* set sync_zone */
    WORD_TESTS = 8,  /* jump if a register is 0, or if it is not */
    WORD_WIDE = 16   /* send beyond the chip: what is sent says how long that lasts */
};

/* All zero it is an entry that holds nothing. */
struct code_word {
    uint32_t word[2]; /* what was decoded; the second is 0 where the item has but one */
    struct insn in;
    uint16_t read, write; /* registers whose results are awaited, a bit each */
    uint32_t cycles;      /* to the next issue, of a branch if it is not taken; set by barrel.c */
    uint8_t unaligned;    /* bits that are 0 in an address where it may stand */
    uint8_t flags;        /* enum code_word_flags */
    uint8_t is_weights;   /* it is an ld128putcs of entries that exist: more of them may follow */
    exec_fn *exec;        /* NULL: the supervisor may not execute it */
};

/* Where the table, CODE_WORDS entries, keeps an item; the entry may hold another one. */
static inline struct code_word *code_word_at(struct code_word *table, const uint32_t word[2])
{
    uint32_t mixed = (word[0] ^ word[1] >> 7) * UINT32_C(0x9e3779b1);

    return &table[mixed >> (32 - CODE_WORD_BITS)];
}

/* Whether the entry holds the item, and it may be executed at that address. */
static inline int code_word_holds(const struct code_word *w, const uint32_t word[2], uint32_t pc)
{
    return w->word[0] == word[0] && w->word[1] == word[1] && w->exec && !(pc & w->unaligned);
}

/* Entries that an ld128putcs loads into are bits 7:0 of its word, even and below TILE_WEIGHTS.
 * Given one that is, whether a word is another. */
static inline int code_word_more_weights(uint32_t one, uint32_t word)
{
    return !((one ^ word) & ~(uint32_t)(TILE_WEIGHTS - 2));
}

static inline unsigned code_word_weights_entry(uint32_t word)
{
    return word & (TILE_WEIGHTS - 2);
}

/* Decodes an item for the supervisor; sets all of out but the cycles. Returns NULL, or why the
 * supervisor may not execute it. */
const char *code_word_decode(const struct arch *arch, const uint32_t word[2],
                             struct code_word *out);

#endif
