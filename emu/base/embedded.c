/* embedded.c - finds and opens embedded files by name. */
#include "emu/base/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const struct embedded_file *embedded_find(const char *name)
{
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        if (!strcmp(f->name, name))
            return f;
    }
    return NULL;
}

/* A file descriptor that reads an embedded file from its start. */
static int open_copy(const struct embedded_file *f)
{
    int fd = memfd_create("embedded", MFD_CLOEXEC);

    if (fd < 0)
        return -1;
    if (write(fd, f->data, f->bytes) == (ssize_t)f->bytes && !lseek(fd, 0, SEEK_SET))
        return fd;
    close(fd);
    errno = EIO;
    return -1;
}

int embedded_open(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags), error = errno;
    const struct embedded_file *f = fd < 0 && error == ENOENT ? embedded_find(path) : NULL;

    errno = error;
    return f ? open_copy(f) : fd;
}

FILE *embedded_fopen(const char *path)
{
    int fd = embedded_open(path, 0);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "rb");

    if (fd >= 0 && !f)
        close(fd);
    return f;
}
