/* feed_folder.c - picks the next names of a directory in order, in one pass over all of them. */
#include "emu/base/alloc.h"
#include "models/feed/feed_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void drop_from(struct folder *f, size_t first)
{
    for (size_t i = first; i < f->count; i++)
        ss_free(f->entry[i].name);
    f->count = f->count < first ? f->count : first;
}

void folder_free(struct folder *f)
{
    drop_from(f, 0);
    ss_free(f->entry);
    memset(f, 0, sizeof(*f));
}

static int by_name(const void *x, const void *y)
{
    const struct folder_entry *a = x, *b = y;

    return strcmp(a->name, b->name);
}

/* Sorts the entries and keeps the first `most`. */
static void cut(struct folder *f, size_t most)
{
    if (f->count)
        qsort(f->entry, f->count, sizeof(*f->entry), by_name);
    if (f->count > most) {
        drop_from(f, most);
        f->more = 1;
    }
}

/* *limit: once there are `most` entries, the last of their names; NULL: there are fewer. */
static enum emu_status add_entry(struct folder *f, const struct dirent *d, size_t most,
                                 const char **limit)
{
    struct folder_entry e = { .type = d->d_type };

    if (*limit && strcmp(d->d_name, *limit) > 0)
        return EMU_OK;
    TRY(emu_grow((void **)&f->entry, f->count, &f->cap, sizeof(*f->entry)));
    e.name = emu_strdup(d->d_name);
    if (!e.name)
        return FAIL(NO_MEMORY, "the names of a directory");
    f->entry[f->count++] = e;
    if (f->count == 2 * most) {
        cut(f, most);
        *limit = f->entry[most - 1].name;
    }
    return EMU_OK;
}

/* All names after `after`. */
static enum emu_status read_entries(struct folder *f, DIR *dir, const char *after, size_t most)
{
    const char *limit = NULL;
    const struct dirent *d;

    for (;;) {
        errno = 0;
        d = readdir(dir);
        if (!d)
            break;
        if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
            (!after || strcmp(d->d_name, after) > 0))
            TRY(add_entry(f, d, most, &limit));
    }
    if (errno)
        return FAIL(IO, "%s", strerror(errno));
    cut(f, most);
    return EMU_OK;
}

static enum emu_status read_open(struct folder *f, int fd, DIR *dir, const char *after, size_t most)
{
    struct stat st;

    if (fstat(fd, &st))
        return FAIL(IO, "%s", strerror(errno));
    f->device = st.st_dev;
    f->inode = st.st_ino;
    return read_entries(f, dir, after, most);
}

enum emu_status folder_read(struct folder *f, const char *path, size_t most)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    char *after = NULL;
    enum emu_status s;

    if (f->count) {
        after = f->entry[--f->count].name;
        drop_from(f, 0);
    }
    f->next = 0;
    f->more = 0;
    if (dir)
        s = read_open(f, fd, dir, after, most);
    else
        s = FAIL(IO, "%s", strerror(errno));
    if (s != EMU_OK)
        drop_from(f, 0);
    ss_free(after);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return s;
}
