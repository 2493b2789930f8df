/* look_file.h - what a file that `run` or `compile` was given is. */
#ifndef EMU_LOOK_FILE_H
#define EMU_LOOK_FILE_H

#include "emu/cli/request.h"

/* A kind of file that a floor above runs: whether one with this path and these first n bytes is. */
struct look_kind {
    use_set thing;
    int (*is)(const char *path, const char *head, size_t n);
};

/* Looks at the first bytes of a file ("-": standard input) and sets q->what, and *thing to
 * the thing of a kind above (the last has no is()), THING_MANIFEST, THING_SOURCE, THING_IMAGE or
 * USE_CASE. What is no regular file is read whole,
 * into q->bytes, as it cannot be read twice. Errors: EMU_IO; EMU_USAGE for what another command
 * takes, with its name; EMU_NO_MEMORY. */
enum emu_status look_file(struct request *q, const char *path, const struct look_kind *above,
                          use_set *thing) EMU_MUST_CHECK;

/* What messages call it. */
const char *look_file_name(const struct request *q);

#endif
