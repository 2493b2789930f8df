/* system_stages.h - the stages of a network on the chips of a replica: each a graph and a program
 * of its own, and where the values of the whole graph are. Private to models/system.
 */
#ifndef MODELS_SYSTEM_STAGES_H
#define MODELS_SYSTEM_STAGES_H

#include "models/answer/layer_cycles.h"
#include "models/lower/op_program.h"
#include "models/split/split.h"
#include "models/system/system_ends.h"

/* A stage, on the chip of its number. */
struct system_stage {
    struct lower_stage place;
    struct system_ends ends;    /* owned; of its program */
    struct layer_cycles layers; /* owned; all zero before system_stages_bill() */
};

struct system_stages {
    unsigned count;
    char *cut;                  /* owned: where stages begin, as split_graph() takes it */
    struct split split;         /* owned */
    struct system_stage *at;    /* owned, like the next three; by stage */
    struct op_program *program; /* the first one's `compiled` is that of all */
    struct lower_edge *edge;    /* those of each stage, one after the other */
    char **name;                /* of channels, and of inputs that an earlier stage reads, too */
    size_t names;
};

/* Splits a graph, which must be ready, and plans and compiles all stages. cut: as split_graph()
 * takes it; NULL: chosen by split_auto(). EMU_OK also for stages that do not fit
 * (op_program.need_bytes). Errors: those of split_graph(), split_auto() and op_programs_new(). Free
 * with system_stages_free, also on failure. */
enum emu_status system_stages_new(const struct arch *a, const struct op_graph *g, const char *cut,
                                  unsigned stages, const struct op_program_options *o,
                                  struct system_stages *out) EMU_MUST_CHECK;
void system_stages_free(struct system_stages *s); /* s may be all zero */
/* Declares inputs and outputs of all stages in the image: op_program_describe(). */
enum emu_status system_stages_describe(struct system_stages *s) EMU_MUST_CHECK;

/* The rows of all stages, into *all, which may hold earlier ones; with the cycles of a run if it is
 * not NULL. Errors: those of op_bill_init(), layer_cycles_bill_chip(). */
enum emu_status system_stages_bill(struct system_stages *s, const struct arch *a,
                                   const struct run *r, struct layer_cycles *all) EMU_MUST_CHECK;
/* What a stage sends to others. */
uint64_t system_stage_sends(const struct system_stages *s, unsigned stage);

/* Where a stage has an input or output of the whole graph; NULL: it has none of it. */
struct system_place {
    const char *name; /* in the image, borrowed */
    const struct system_end *end;
};
int system_stages_find(const struct system_stages *s, unsigned stage, uint32_t value,
                       struct system_place *out);

#endif
