/* feed_names.h - names of files, one after the other, from arguments, lists and directories.
 *
 * Only some names of a directory are held at a time; when they are used up, the directory is read
 * again for the next ones in order. So memory does not grow with the number of names, and a file
 * that is added or removed meanwhile is met once or not at all.
 */
#ifndef MODELS_FEED_NAMES_H
#define MODELS_FEED_NAMES_H

#include <stdatomic.h>
#include <stdint.h>

#include "programs/programs.h"

/* Most names that are held at a time, and how deep directories may be nested. */
enum { FEED_NAMES_HELD = 1 << 16, FEED_NAMES_DEEP = 128 };

struct feed_names;

/* A file to try, or a name that cannot be one. */
struct feed_name {
    const char *name;   /* borrowed until the next call */
    const char *reason; /* why it cannot be tried; NULL: it can */
};

/* path: as for feed_open(). stop: borrowed; when it becomes 1, a call no longer waits for the lines
 * of a list. held: FEED_NAMES_HELD, or less in tests. EMU_IO when a list cannot be read,
 * EMU_NO_MEMORY. */
enum emu_status feed_names_open(const char *const *path, size_t paths, const atomic_int *stop,
                                size_t held, struct feed_names **out) EMU_MUST_CHECK;
/* *more = 0: there are no more names. EMU_NO_MEMORY. */
enum emu_status feed_names_next(struct feed_names *n, struct feed_name *out,
                                int *more) EMU_MUST_CHECK;
void feed_names_close(struct feed_names *n);

/* Whether a name ends like that of a picture: .jpg, .jpeg, .png, small or large. */
int feed_is_picture_name(const char *name);

/* How many files in directories so far did not have the name of a picture; and the first of them,
 * borrowed, or NULL. */
uint64_t feed_names_other(const struct feed_names *n);
const char *feed_names_other_first(const struct feed_names *n);

#endif
