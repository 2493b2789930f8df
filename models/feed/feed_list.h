/* feed_list.h - the lines of a file of names or of stdin, which may be a pipe that never ends. */
#ifndef MODELS_FEED_LIST_H
#define MODELS_FEED_LIST_H

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>

#include "programs/programs.h"

enum { LIST_BUFFER = 1 << 14 };

struct feed_list {
    int fd;           /* -1: closed */
    const char *name; /* borrowed: "@FILE" or "-" */
    uint64_t lines;   /* begun so far */
    int error;        /* errno of the last failure */
    size_t begin, end;
    char buffer[LIST_BUFFER]; /* bytes [begin, end) are still to be used */
};

enum list_line {
    LIST_NAME,
    LIST_LONG,   /* too long for a path */
    LIST_ZERO,   /* has a zero byte */
    LIST_BROKEN, /* reading failed; see error */
    LIST_END,
};

void list_init(struct feed_list *l);
/* name is borrowed. Returns 0 on failure; see error. */
int list_open(struct feed_list *l, const char *name);
int list_is_open(const struct feed_list *l);
void list_close(struct feed_list *l);
/* The next line that is not empty, without its end (\n or \r\n), cut where it does not fit. Waits
 * for a pipe until *stop is set; then returns LIST_END. */
enum list_line list_next(struct feed_list *l, const atomic_int *stop, char line[PATH_MAX]);

#endif
