/* feed_file.c - regular files only: pipes could block, devices could do anything. */
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "models/feed/feed_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The most bytes a file may have for each pixel, far more than real ones have. A file of up to
 * SMALL_BYTES is allowed whatever its picture. */
enum { PIXEL_BYTES_MAX = 4, SMALL_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a pipe";
    case S_IFSOCK:
        return "a socket";
    default:
        return "a device";
    }
}

/* Says why a path could not be opened; errno is set. */
static enum emu_status fail_open(const char *path)
{
    int error = errno;
    struct stat st;

    if (error == ENOENT && !lstat(path, &st) && S_ISLNK(st.st_mode))
        return FAIL(IO, "a link to a file that does not exist");
    if (error == ENXIO && !stat(path, &st))
        return FAIL(IO, "%s, not a file", kind_of(st.st_mode));
    return FAIL(IO, "%s", strerror(error));
}

/* Reads to the end of a file whose size is said to be `bytes` bytes, which may be wrong. */
static enum emu_status read_whole(int fd, size_t bytes, uint64_t most, uint8_t **data, size_t *got)
{
    size_t cap = bytes + 1; /* one more, so that the end is seen before the buffer must grow */

    *got = 0;
    *data = emu_alloc(cap, 1);
    for (;;) {
        ssize_t n;

        if (!*data)
            return FAIL(NO_MEMORY, "%zu bytes of a file", cap);
        n = read(fd, *data + *got, cap - *got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return FAIL(IO, "%s", strerror(errno));
        if (!n)
            return EMU_OK;
        *got += (size_t)n;
        if (*got > most)
            return FAIL(BAD_FILE, "more than %" PRIu64 " bytes", most);
        if (*got == cap) {
            uint8_t *grown = emu_realloc(*data, cap + READ_BYTES, 1);

            if (!grown)
                return FAIL(NO_MEMORY, "%zu bytes of a file", cap);
            *data = grown;
            cap += READ_BYTES;
        }
    }
}

static enum emu_status read_open(int fd, uint64_t most, uint8_t **data, size_t *bytes)
{
    struct stat st;

    if (fstat(fd, &st))
        return FAIL(IO, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return FAIL(IO, "%s, not a file", kind_of(st.st_mode));
    if ((uint64_t)st.st_size > most)
        return FAIL(BAD_FILE, "%" PRIu64 " bytes; at most %" PRIu64 " are read",
                    (uint64_t)st.st_size, most);
    TRY(read_whole(fd, (size_t)st.st_size, most, data, bytes));
    return *bytes ? EMU_OK : FAIL(BAD_FILE, "an empty file");
}

enum emu_status feed_file_bytes(const char *path, uint64_t most, uint8_t **data, size_t *bytes)
{
    int fd = embedded_open(path, O_NONBLOCK | O_NOCTTY);
    enum emu_status s;

    *data = NULL;
    *bytes = 0;
    if (fd < 0)
        return fail_open(path);
    s = read_open(fd, most, data, bytes);
    close(fd);
    if (s != EMU_OK) {
        ss_free(*data);
        *data = NULL;
    }
    return s;
}

enum emu_status feed_file_decode(const char *path, uint64_t pixels_max, struct picture *whole)
{
    uint8_t *data;
    size_t bytes;
    enum emu_status s;

    memset(whole, 0, sizeof(*whole));
    TRY(feed_file_bytes(path, PIXEL_BYTES_MAX * pixels_max + SMALL_BYTES, &data, &bytes));
    s = picture_decode(data, bytes, pixels_max, whole);
    ss_free(data);
    return s;
}

enum emu_status feed_file_read(const char *path, const struct picture_recipe *r,
                               uint64_t pixels_max, struct picture *cut)
{
    struct picture whole;
    enum emu_status s;

    memset(cut, 0, sizeof(*cut));
    TRY(feed_file_decode(path, pixels_max, &whole));
    s = picture_crop(&whole, r, cut);
    picture_free(&whole);
    return s;
}
