/* fuzz_list.c - any bytes as a list of names, against lines found in the simplest way. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/base/fail.h"
#include "models/feed/feed_list.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What list_next() must give for a line of n bytes. */
static void check_line(struct feed_list *l, const atomic_int *stop, const char *line, size_t n)
{
    char got[PATH_MAX];
    enum list_line kind, want = LIST_NAME;
    size_t fits;

    if (n && n < PATH_MAX && line[n - 1] == '\r')
        n--;
    if (!n)
        return;
    if (memchr(line, 0, n))
        want = LIST_ZERO;
    else if (n >= PATH_MAX)
        want = LIST_LONG;
    kind = list_next(l, stop, got);
    EMU_ASSERT(kind == want);
    fits = n < PATH_MAX ? n : PATH_MAX - 1;
    EMU_ASSERT(!memcmp(got, line, fits) && !got[fits]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const atomic_int stop;
    const char *at = (const char *)data, *end = at + size;
    int fd = memfd_create("list", 0);
    char path[64], got[PATH_MAX];
    struct feed_list l;

    EMU_ASSERT(fd >= 0 && (!size || write(fd, data, size) == (ssize_t)size));
    snprintf(path, sizeof(path), "@/proc/self/fd/%d", fd);
    list_init(&l);
    EMU_ASSERT(list_open(&l, path));
    while (at < end) {
        const char *stop_at = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop_at ? stop_at : end) - at);

        check_line(&l, &stop, at, n);
        at += n + 1;
    }
    EMU_ASSERT(list_next(&l, &stop, got) == LIST_END);
    list_close(&l);
    close(fd);
    return 0;
}
