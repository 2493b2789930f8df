/* feed_list.h - lines of a file of names, or of stdin; files that never end, too. */
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
    uint64_t lines;   /* that were begun */
    int error;        /* errno */
    size_t begin, end;
    char buffer[LIST_BUFFER]; /* [begin, end) is still to be used */
};

enum list_line {
    LIST_NAME,
    LIST_LONG,   /* too long for a path */
    LIST_ZERO,   /* has a zero byte */
    LIST_BROKEN, /* cannot be read on; see error */
    LIST_END,
};

void list_init(struct feed_list *l);
/* name: borrowed. 0: see error. */
int list_open(struct feed_list *l, const char *name);
int list_is_open(const struct feed_list *l);
void list_close(struct feed_list *l);
/* The next line that is not empty, without its end (\n, or \r\n), as far as it fits. Waits for
 * pipes until *stop, and gives LIST_END then. */
enum list_line list_next(struct feed_list *l, const atomic_int *stop, char line[PATH_MAX]);

#endif
