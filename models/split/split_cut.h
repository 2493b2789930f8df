/* split_cut.h - a list of names as places where stages begin; private to models/split. */
#ifndef MODELS_SPLIT_CUT_H
#define MODELS_SPLIT_CUT_H

#include "models/split/split_order.h"

struct split_cut {
    const char *at; /* borrowed from the list; `length` characters */
    uint32_t length;
    uint32_t node; /* rising */
};
struct split_cuts {
    struct split_cut *cut; /* owned */
    unsigned cuts;
    int by_nodes; /* 1: one of them is a node, and no block */
};

/* names NULL: no cuts. EMU_USAGE says what is wrong with a name; EMU_NO_MEMORY. out->cut is the
 * caller's to free, also after an error. */
enum emu_status split_cuts_read(const struct split_order *o, const char *names,
                                struct split_cuts *out) EMU_MUST_CHECK;

#endif
