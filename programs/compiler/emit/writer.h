/* writer.h - the layer between operations and words: instructions, addresses that are in registers
 * already, waits that are written late, votes for syncs.
 *
 * What a launch, an exchange or a vote has to wait for is kept until something that needs it, so
 * that constants of what follows are loaded before the wait, while workers or the fabric are busy.
 * Syncs in which the tile has no part are counted and become one `sans`. Both are settled before
 * any label and any branch.
 */
#ifndef PROGRAMS_WRITER_H
#define PROGRAMS_WRITER_H

#include "programs/compiler/emit/code_buffer.h"
#include "programs/compiler/emit/emit_index.h"

/* Registers of the supervisor. */
enum {
    M_SUPERVISOR_STATE = 0, /* vertex state of a supervisor codelet */
    M_STATE = 1,            /* of a launch */
    M_ENTRY = 2,            /* the first of those that hold entries of launches */
    M_ENTRIES = 3,
    M_CACHED = 5,  /* $m0 .. $m4: what they hold is remembered */
    M_SCRATCH = 5, /* predicates, counters in memory */
    M_COUNTER = 6, /* the first of the counters of outer loops */
    M_COUNTERS = 4,
    M_RETURN = 10,
    M_STACK = 11, /* address of the words of the stack */
    M_ZERO = 15
};

/* What a register holds: the address of an object or of a codelet, by number. */
enum known_kind { KNOWN_NOT, KNOWN_OBJECT, KNOWN_ENTRY };
struct known {
    enum known_kind kind;
    uint32_t number;
};

enum wait { WAIT_NONE, WAIT_WORKERS, WAIT_WORDS, WAIT_VOTES };

struct writer {
    struct code_buffer *b;       /* borrowed, like the following */
    const struct object *object; /* NULL: none has an address yet */
    const uint32_t *entry;       /* of codelets */
    struct known known[M_CACHED];
    unsigned next_entry; /* of M_ENTRIES, the one to be given away next */
    enum wait wait;
    struct code_range wait_for; /* category and owner of the wait */
    uint32_t votes, votes_owner;
};

/* ---- instructions ---- */

void writer_insn(struct writer *w, struct insn in);
void writer_sync(struct writer *w, int zone);
void writer_nop(struct writer *w);
void writer_constant(struct writer *w, unsigned m, uint32_t value); /* $m = value; 1 or 2 words */
/* The word at 4 * word bytes from the address in a register. */
void writer_load(struct writer *w, unsigned m, unsigned base, uint32_t word);
void writer_store(struct writer *w, unsigned m, unsigned base, uint32_t word);
void writer_branch(struct writer *w, enum insn_op op, unsigned m, uint32_t label);

/* ---- addresses ---- */

uint32_t writer_address_of(const struct writer *w, uint32_t object); /* 0 as long as it has none */
/* $m = address of an object; $m is not one that is remembered. */
void writer_address(struct writer *w, unsigned m, uint32_t object);
/* The same for one that is: nothing is written if it holds the address. */
void writer_object(struct writer *w, unsigned m, uint32_t object);
/* The register that holds the entry of a codelet. */
unsigned writer_entry(struct writer *w, uint32_t codelet);
/* After code that may change the registers. */
void writer_forget(struct writer *w);

/* ---- waits ---- */

/* Something has begun that must be over before what follows. */
void writer_await(struct writer *w, enum wait wait, enum category category, uint32_t owner);
/* The tile has no part in that many syncs of its group, at most VOTES_MAX. */
void writer_vote(struct writer *w, int32_t votes, uint32_t owner);
/* To be called before constants of what follows are loaded: votes are given first, so that nobody
 * waits for those constants. */
void writer_prepare(struct writer *w);
/* Everything is over when what follows begins. */
void writer_settle(struct writer *w);
uint32_t writer_settle_words(const struct writer *w); /* that it will write */
/* Settles, and places a label: what registers hold is not known there. */
void writer_label(struct writer *w, uint32_t label);

/* ---- loops ---- */

/* A loop that begins with a launch. Its addresses are loaded in front of the loop and again at its
 * end, so that they are there when the workers can be launched. */
struct writer_loop {
    int launches; /* 0: it begins with something else, and the functions only do the label */
    uint32_t codelet, state;
    unsigned entry; /* register; set by writer_loop_begin */
};

void writer_loop_begin(struct writer *w, uint32_t label, struct writer_loop *l);
/* To be called before the last settling and the branch to the label. */
void writer_loop_end(struct writer *w, const struct writer_loop *l);

#endif
