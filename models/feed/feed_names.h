/* feed_names.h - names of files, one after the other, from arguments, lists and directories.
 *
 * Of a directory only a part of the names is held at a time: the next ones in order, found by
 * reading the directory again when they are used up. So the memory does not grow with the number of
 * names, and a file that comes or goes meanwhile is met once or not at all.
 */
#ifndef MODELS_FEED_NAMES_H
#define MODELS_FEED_NAMES_H

#include <stdatomic.h>
#include <stdint.h>

#include "programs/programs.h"

/* Names of directories that are held, in all; and how deep directories may lie. */
enum { FEED_NAMES_HELD = 1 << 16, FEED_NAMES_DEEP = 128 };

struct feed_names;

/* A file to try, or something that gives none. */
struct feed_name {
    const char *name;   /* borrowed until the next call */
    const char *reason; /* NULL: to be tried; else why it cannot be */
};

/* path: as of feed_open(). stop, borrowed, ends waiting for the names of a list when it becomes 1.
 * held: FEED_NAMES_HELD, or less in tests. EMU_IO for a list that cannot be read, EMU_NO_MEMORY. */
enum emu_status feed_names_open(const char *const *path, size_t paths, const atomic_int *stop,
                                size_t held, struct feed_names **out) EMU_MUST_CHECK;
/* *more = 0: there is none. EMU_NO_MEMORY. */
enum emu_status feed_names_next(struct feed_names *n, struct feed_name *out,
                                int *more) EMU_MUST_CHECK;
void feed_names_close(struct feed_names *n);

/* Names in directories, so far, that do not end like a picture's. The first of them: NULL or
 * borrowed. */
uint64_t feed_names_other(const struct feed_names *n);
const char *feed_names_other_first(const struct feed_names *n);

#endif
