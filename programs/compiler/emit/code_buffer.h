/* code_buffer.h - the words of a stretch of code while it is written: its labels and the words that
 * refer to them, the purpose of each word, and names of places.
 *
 * Errors are sticky: after the first one nothing more is stored, and code_buffer_link() reports it.
 * The buffer begins at a multiple of 8 bytes of tile memory.
 */
#ifndef PROGRAMS_CODE_BUFFER_H
#define PROGRAMS_CODE_BUFFER_H

#include "programs/compiler/lower/lowered.h"
#include "programs/compiler/schedule/schedule.h"

/* Words from here to the next entry. */
struct code_range {
    uint32_t word;     /* index of the first one */
    uint32_t category; /* enum category */
    uint32_t owner;    /* string of the lowered program */
};

struct code_mark {
    uint32_t word;
    uint32_t words; /* up to where code_unmark() closed it */
    uint32_t name;  /* string of the lowered program */
};

/* A word whose address operand is that of a label. */
struct code_fix {
    uint32_t word, label;
};

/* A word that launches workers or calls a codelet, or a branch with a usual side. */
enum { CODE_RARE = UINT32_MAX };
struct code_call {
    uint32_t word;
    uint32_t call; /* index in lowered.call; CODE_RARE: a branch */
};

/* The first word of the code of an exchange. */
struct code_exchange {
    uint32_t word;
    uint32_t step;                    /* of the lowered program */
    const struct tile_schedule *tile; /* borrowed from its schedule */
};

/* The first word of the header of a transfer to another chip, whose replica is so many further. */
struct code_link {
    uint32_t word;
    int32_t replica;
};

struct code_buffer {
    VEC(uint32_t) word;
    VEC(struct code_range) range;
    VEC(struct code_mark) mark;
    VEC(struct code_fix) fix;
    VEC(struct code_call) call; /* ascending, like the following */
    VEC(struct code_exchange) exchange;
    VEC(struct code_link) link;
    VEC(uint32_t) label; /* the word at which it is placed */
    enum emu_status status;
};

/* Frees what the buffer owns and empties it. */
void code_buffer_free(struct code_buffer *b);
/* Empties it, but keeps the memory for other code. */
void code_buffer_clear(struct code_buffer *b);

/* Sets category and owner of the following words. */
void code_range(struct code_buffer *b, enum category category, uint32_t owner);
/* Opens a name for the following words; the result closes it. */
uint32_t code_mark(struct code_buffer *b, uint32_t name);
void code_unmark(struct code_buffer *b, uint32_t mark);

void code_word(struct code_buffer *b, uint32_t word);
/* Appends n words of 0. Returns them, to be filled in before anything else is written; NULL after
 * an error. */
uint32_t *code_words(struct code_buffer *b, uint32_t n);
/* One instruction of one word. */
void code_insn(struct code_buffer *b, const struct insn *in);
/* The same with the address of a label as operand: setzi, a branch, a call, send. */
void code_insn_label(struct code_buffer *b, struct insn in, uint32_t label);

/* The next word launches or calls what a call of the program needs, or, CODE_RARE, is a branch on a
 * predicate that is usually 0. */
void code_call(struct code_buffer *b, uint32_t call);

/* The next words are what a tile does in an exchange. */
void code_exchange(struct code_buffer *b, uint32_t step, const struct tile_schedule *tile);

/* The next two words are the header of a transfer to a chip. */
void code_link(struct code_buffer *b, int32_t replica);

/* code_label() makes a label, code_place() puts it here. Every label that is used must be placed
 * before linking. */
uint32_t code_label(struct code_buffer *b);
void code_place(struct code_buffer *b, uint32_t label);
/* Byte address of a placed label. */
uint32_t code_label_addr(const struct code_buffer *b, uint32_t label, uint32_t base);

/* Fills in the addresses of labels for code that begins at byte address base. Errors:
 * EMU_BAD_PROGRAM when an address does not fit its instruction; else the first error of the
 * functions above. */
enum emu_status code_buffer_link(struct code_buffer *b, uint32_t base) EMU_MUST_CHECK;

#endif
