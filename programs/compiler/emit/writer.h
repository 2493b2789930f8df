/* writer.h - the layer between steps and words. It writes instructions, remembers which
 * addresses are in registers already, writes waits as late as possible and counts votes for syncs.
 *
 * The wait for the end of a launch, an exchange or a vote is written only when something needs that
 * end. So the constants for the following code are loaded before the wait, while workers or the
 * fabric are busy. Syncs in which the tile has no part are counted; of a row of them, the tile
 * votes ahead for the last two and waits in the others. Both are settled before any label and any
 * branch.
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
    unsigned next_entry; /* which of M_ENTRIES is given away next */
    enum wait wait;
    struct code_range
        wait_for;         /* category and owner of the wait, and the word at which it begins */
    uint32_t wait_events; /* WAIT_WORDS: from there until the last word is in memory */
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
void writer_put(struct writer *w, unsigned csr, unsigned m); /* supervisor register = $m */
void writer_branch(struct writer *w, unsigned op, unsigned m, uint32_t label);

/* ---- addresses ---- */

uint32_t writer_address_of(const struct writer *w, uint32_t object); /* 0 while it has none */
/* $m = address of an object. $m must be a register whose contents are not remembered. */
void writer_address(struct writer *w, unsigned m, uint32_t object);
/* The same for a register whose contents are remembered: writes nothing if it already holds the
 * address. */
void writer_object(struct writer *w, unsigned m, uint32_t object);
/* The register that holds the entry of a codelet. */
unsigned writer_entry(struct writer *w, uint32_t codelet);
/* Forgets what registers hold; call it after code that may change them. */
void writer_forget(struct writer *w);

/* ---- waits ---- */

/* Something has begun that must be over before the following code needs it. */
void writer_await(struct writer *w, enum wait wait, enum category category, uint32_t owner);
/* The same for words of the fabric, the last of which is in memory `events` events after the code
 * so far (0: by then). RECV is not left alone with the wait for it: it issues when the word is
 * there, so that nothing depends on what RECV waits for (docs/exchange.md 4), and nothing takes
 * longer. */
void writer_await_words(struct writer *w, uint32_t events, enum category category, uint32_t owner);
/* The tile has no part in that many syncs of its group. */
void writer_vote(struct writer *w, int32_t votes, uint32_t owner);
/* Call this before loading the constants of the following code: it gives the votes first, so that
 * no other tile waits while constants are loaded. */
void writer_prepare(struct writer *w);
/* Writes all waits and votes that are still open, so that everything is over when the following
 * code begins. */
void writer_settle(struct writer *w);
uint32_t writer_settle_words(const struct writer *w); /* the words it will write */
/* Settles and places a label, after which it is unknown what registers hold. */
void writer_label(struct writer *w, uint32_t label);

/* ---- loops ---- */

/* A loop that begins with a launch. Its addresses are loaded in front of the loop and again at its
 * end, so that they are there when the workers can be launched. */
struct writer_loop {
    int launches; /* 0: it begins with something else, and the functions only handle the label */
    uint32_t codelet, state;
    unsigned entry; /* register; set by writer_loop_begin */
};

void writer_loop_begin(struct writer *w, uint32_t label, struct writer_loop *l);
/* Call this before the last writer_settle() and the branch to the label. */
void writer_loop_end(struct writer *w, const struct writer_loop *l);

#endif
