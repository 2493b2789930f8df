/* check_list.h - one source file against a list of manifests and cases that run it: the hidden
 * checks of an exercise.
 *
 * The list is JSON, [{"title": "4 words on toy4", "manifest": {...}}, ...]; a manifest or case
 * names "@" where the source stands. All run in the checking mode, and what that finds is a
 * failure, too.
 */
#ifndef EMU_CHECK_LIST_H
#define EMU_CHECK_LIST_H

#include <jansson.h>
#include <stddef.h>

#include "emu/base/fail.h"

struct run;

/* Whoever wants to look at the runs of whole machines: called after each of them. */
struct check_look {
    enum emu_status (*at)(void *ctx, const char *title, const struct run *r);
    void *ctx;
    int pairs; /* exchange_count_pairs() before they run */
};

/* Runs all checks. *out receives a new array of {"title", "status": "ok" or "wrong", "cycles",
 * "why"}; *wrong counts those that are wrong.
 *
 * A run is given up after 20 times the cycles that are expected at most, or a million.
 *
 * source    path of the file; name: of the list, in messages
 * messages  where the assembler complains
 * look      NULL: nobody looks
 *
 * Errors    EMU_IO, EMU_BAD_ASM (of the source), EMU_BAD_FILE (the list), EMU_NO_MEMORY, those of
 *           look->at() */
enum emu_status check_list_run(const char *text, size_t bytes, const char *name, const char *source,
                               FILE *messages, const struct check_look *look, json_t **out,
                               size_t *wrong) EMU_MUST_CHECK;

#endif
