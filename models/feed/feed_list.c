/* feed_list.c - reads lines without stdio: a read from a pipe must end when the feed is stopped. */
#include "models/feed/feed_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MS = 50 }; /* how late *stop may be noticed */

void list_init(struct feed_list *l)
{
    l->fd = -1;
}

int list_is_open(const struct feed_list *l)
{
    return l->fd >= 0;
}

int list_open(struct feed_list *l, const char *name)
{
    l->name = name;
    l->lines = l->begin = l->end = 0;
    /* Does not block on a pipe that has no writer yet; list_next() waits for it. */
    l->fd = strcmp(name, "-") ? open(name + 1, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : STDIN_FILENO;
    l->error = errno;
    return l->fd >= 0;
}

void list_close(struct feed_list *l)
{
    if (l->fd >= 0 && l->fd != STDIN_FILENO)
        close(l->fd);
    l->fd = -1;
}

/* Reads more bytes. Returns LIST_NAME if there are some. */
static enum list_line fill(struct feed_list *l, const atomic_int *stop)
{
    struct pollfd p = { .fd = l->fd, .events = POLLIN };
    ssize_t got;

    l->begin = l->end = 0;
    do {
        int ready = poll(&p, 1, POLL_MS);

        if (atomic_load(stop))
            return LIST_END;
        if (ready == 0)
            errno = EAGAIN;
        got = ready > 0 ? read(l->fd, l->buffer, sizeof(l->buffer)) : -1;
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    l->error = errno;
    l->end = got > 0 ? (size_t)got : 0;
    return got < 0 ? LIST_BROKEN : got == 0 ? LIST_END : LIST_NAME;
}

/* Bytes up to the end of a line, as they come. */
struct line_rest {
    char *to;
    size_t bytes; /* of the line, including those for which there was no room */
    int zero;
};

static void take(struct line_rest *r, const char *s, size_t n)
{
    size_t at = r->bytes < PATH_MAX - 1 ? r->bytes : PATH_MAX - 1, room = PATH_MAX - 1 - at;

    memcpy(r->to + at, s, n < room ? n : room);
    r->zero |= memchr(s, 0, n) != NULL;
    r->bytes += n;
}

/* One line, perhaps empty; LIST_END: there is none. */
static enum list_line read_line(struct feed_list *l, const atomic_int *stop, struct line_rest *r)
{
    const char *end = NULL;

    while (!end) {
        const char *from;
        size_t n;

        if (l->begin == l->end) {
            enum list_line more = fill(l, stop);

            if (more == LIST_END && r->bytes && !atomic_load(stop))
                break; /* the last line may have no end */
            if (more != LIST_NAME)
                return more;
        }
        from = l->buffer + l->begin;
        end = memchr(from, '\n', l->end - l->begin);
        n = end ? (size_t)(end - from) : l->end - l->begin;
        take(r, from, n);
        l->begin += n + (end != NULL);
    }
    l->lines++;
    return LIST_NAME;
}

enum list_line list_next(struct feed_list *l, const atomic_int *stop, char line[PATH_MAX])
{
    struct line_rest r;

    do {
        enum list_line got;

        r = (struct line_rest){ .to = line };
        got = read_line(l, stop, &r);
        if (got != LIST_NAME)
            return got;
        if (r.bytes && r.bytes < PATH_MAX && line[r.bytes - 1] == '\r')
            r.bytes--;
    } while (!r.bytes);
    line[r.bytes < PATH_MAX ? r.bytes : PATH_MAX - 1] = 0;
    return r.zero ? LIST_ZERO : r.bytes < PATH_MAX ? LIST_NAME : LIST_LONG;
}
