/* onnx_map.c - maps a model's files. Other files than the model itself must lie below its folder
 * and are reached through no link. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/onnx/onnx_map.h"

/* O_NONBLOCK: opening a pipe does not wait. */
enum {
    OPEN_FILE = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
    OPEN_FOLDER = O_RDONLY | O_CLOEXEC | O_DIRECTORY
};

/* Maps what fd is open for, and closes it. */
static enum emu_status map_fd(int fd, const char *name, struct onnx_mapped *out)
{
    struct stat st = { .st_size = 0 };
    int why = fd < 0 || fstat(fd, &st) ? errno : 0;
    void *p = MAP_FAILED;

    if (!why && S_ISREG(st.st_mode)) {
        p = mmap(NULL, st.st_size ? (size_t)st.st_size : 1, PROT_READ, MAP_PRIVATE, fd, 0);
        why = p == MAP_FAILED ? errno : 0;
    }
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return FAIL(IO, "%s: %s", name, why ? strerror(why) : "no regular file");
    out->at = p;
    out->bytes = (size_t)st.st_size;
    return EMU_OK;
}

enum emu_status onnx_map(const char *path, struct onnx_mapped *out)
{
    *out = (struct onnx_mapped){ .at = NULL };
    return map_fd(open(path, OPEN_FILE), path, out);
}

void onnx_unmap(struct onnx_mapped *m)
{
    if (m->at)
        munmap((void *)m->at, m->bytes ? m->bytes : 1);
    ss_free(m->location);
    *m = (struct onnx_mapped){ .at = NULL };
}

enum emu_status onnx_folder_open(const char *path, struct onnx_folder *out)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? emu_strndup(path, (size_t)(slash - path) + 1) : emu_strdup(".");

    *out = (struct onnx_folder){ .fd = -1 };
    if (!folder)
        return FAIL(NO_MEMORY, "a path");
    out->fd = open(folder, OPEN_FOLDER);
    ss_free(folder);
    return out->fd < 0 ? FAIL(IO, "the folder of %s: %s", path, strerror(errno)) : EMU_OK;
}

void onnx_folder_free(struct onnx_folder *d)
{
    for (size_t k = 0; k < d->files; k++)
        onnx_unmap(&d->file[k]);
    ss_free(d->file);
    if (d->fd >= 0)
        close(d->fd);
    *d = (struct onnx_folder){ .fd = -1 };
}

/* Opens a file below the folder, one part of its path at a time. -1: errno says why. */
static int open_below(int folder, char *location)
{
    char *rest = location, *slash;
    int at = dup(folder), next;

    while (at >= 0 && (slash = strchr(rest, '/'))) {
        *slash = '\0';
        next = openat(at, rest, OPEN_FOLDER | O_NOFOLLOW);
        close(at);
        at = next;
        *slash = '/';
        rest = slash + 1;
    }
    if (at < 0)
        return -1;
    next = openat(at, rest, OPEN_FILE | O_NOFOLLOW);
    close(at);
    return next;
}

/* Whether a path stays below its folder whatever is there: no part is empty or "..". */
static int stays_below(const char *location)
{
    for (;;) {
        size_t n = strcspn(location, "/");

        if (n == 0 || (n == 2 && !memcmp(location, "..", 2)))
            return 0;
        if (!location[n])
            return 1;
        location += n + 1;
    }
}

enum emu_status onnx_folder_map(struct onnx_folder *d, const char *location, struct wire_span *out)
{
    struct onnx_mapped *m;
    size_t k = 0;

    if (d->fd < 0)
        return FAIL(BAD_FILE, "its data are in the file %s, which is not looked for", location);
    if (!stays_below(location))
        return FAIL(BAD_FILE, "its data are in %s, which is not below the model's folder",
                    location);
    while (k < d->files && strcmp(d->file[k].location, location))
        k++;
    if (k == d->files) {
        TRY(emu_grow((void **)&d->file, k, &d->cap, sizeof(*d->file)));
        d->file[k] = (struct onnx_mapped){ .location = emu_strdup(location) };
        if (!d->file[k].location)
            return FAIL(NO_MEMORY, "a path");
        d->files++; /* freed with the folder, mapped or not */
        TRY(map_fd(open_below(d->fd, d->file[k].location), location, &d->file[k]));
        d->bytes += d->file[k].bytes;
    }
    m = &d->file[k];
    *out = (struct wire_span){ m->at, (const uint8_t *)m->at + m->bytes };
    return EMU_OK;
}
