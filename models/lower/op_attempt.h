/* op_attempt.h - attempts to plan a network for a machine, one after the other, until the program
 * fits; private to op_program.c and op_programs.c.
 */
#ifndef MODELS_OP_ATTEMPT_H
#define MODELS_OP_ATTEMPT_H

#include "emu/base/progress.h"
#include "models/lower/op_program.h"

/* What an attempt leaves room for. */
enum attempt_room {
    ROOM_AS_EXPECTED,
    ROOM_FOR_ERROR,   /* by how much the last plans needed more than was expected */
    ROOM_FOR_MISSING, /* as much as was missing */
    ROOM_MOST         /* the plans need least, whatever they cost in time */
};

struct lowering_attempt {
    enum attempt_room room;
    uint64_t reserve; /* lower_options.reserve_bytes */
    int to_the_end;   /* 1: it is compiled whatever it turns out to need */
    uint64_t need;    /* what came of it: bytes; UINT64_MAX: it was not compiled */
};

struct fitting {
    const struct arch *a; /* borrowed, like the next two */
    const struct op_graph *og;
    const struct op_program_options *o;
    int code_must_fit;                  /* 1: if it does not, the first attempt is the last one */
    unsigned compiled;                  /* attempts that were compiled */
    struct lowering_attempt best, base; /* base: the last one that was compiled */
    uint64_t base_peak;                 /* what was expected of it, without its reserve, */
    uint64_t base_cycles;               /* and the time of its plans */
};

/* Plans and lowers. Errors: those of op_lower(). */
enum emu_status op_attempt_lower(const struct fitting *f, const struct lowering_attempt *t,
                                 struct op_program *p) EMU_MUST_CHECK;
void op_attempt_report(const struct op_program *p, struct progress *progress);
/* Notes what a program, which is compiled, needs. */
void op_attempt_note(struct fitting *f, struct lowering_attempt *t, const struct op_program *p);
/* What comes after an attempt that does not fit. Returns 0 when nothing is left to try. */
int op_attempt_next(const struct fitting *f, struct lowering_attempt *t);
/* Graph, network and program of an attempt are gone. */
void op_attempt_forget(struct op_program *p);
/* The graph with parameters of blocks that are alike as states; *out NULL: there are none. It
 * shares all but its values. EMU_NO_MEMORY. op_program_free() frees it. */
enum emu_status op_attempt_alike(const struct op_graph *og, enum elem real,
                                 struct op_graph **out) EMU_MUST_CHECK;

#endif
