/* cut_list.h - `--cut all` and `--cut auto`: cuts of a network by the cycles that its layers
 * take, in a run of the timing engine on as few chips as hold it.
 */
#ifndef MODELS_CUT_LIST_H
#define MODELS_CUT_LIST_H

#include <jansson.h>
#include <stdio.h>

#include "emu/arch/arch.h"
#include "emu/cli/request.h"
#include "models/system/system_cuts.h"

struct cut_list {
    struct system_cuts cuts;
    unsigned measured; /* chips of the run; 0: so many as a cut may have do not hold the network,
                          there are no cuts */
    uint64_t layers;   /* cycles of all layers in it */
};

/* Whether --cut asks for cuts instead of naming them. */
int cut_is_all(const struct request *q);
int cut_is_auto(const struct request *q);
/* The names that it gives, borrowed; NULL: none, or it asks for them. */
const char *cut_names(const struct request *q);
/* For both: EMU_USAGE, the options do not go together. */
enum emu_status cut_check(const struct request *q) EMU_MUST_CHECK;

/* Runs the network of the request on the machine, of which chips are those of the cuts. Errors:
 * those of model_source_open(), system_build(), system_run(), system_cuts_new(). Free with
 * cut_list_free, also on failure. */
enum emu_status cut_choose(const struct request *q, const struct arch *a,
                           struct cut_list *out) EMU_MUST_CHECK;
void cut_list_free(struct cut_list *c); /* c may be all zero */
/* The first one that breaks nothing; NULL: there is none. */
const struct system_cut *cut_best(const struct cut_list *c);

/* The answer of --cut all: to f, or as JSON. Returns how to exit: EXIT_FAULTED, nothing fits. Out
 * of memory: EXIT_BAD. */
int cut_print(const struct cut_list *c, const struct request *q, FILE *f);

#endif
