/* output_file.c - outputs beside their place, renamed at the end; and a list of the temporary
 * files, which a signal handler reads.
 *
 * The list is the only mutable variable at file scope: a handler gets no other argument. A name is
 * entered before its file is created and leaves after the rename, so at worst the handler unlinks a
 * file that is not there.
 */
#include "emu/base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"

enum { TEMPORARIES = 256 /* more stay after a signal */, NAMES_TRIED = 100, SUFFIX_BYTES = 48 };

struct output_file {
    FILE *f;
    char *path;      /* owned: as the user wrote it, for messages */
    char *target;    /* owned: where links lead; NULL: written directly */
    char *temporary; /* owned; NULL: written directly */
    int slot;        /* in the list */
    int fd;          /* owned by f */
    int error;       /* errno of the first write that failed, which f does not keep; 0: none did */
};

static _Atomic(const char *) temporaries[TEMPORARIES];

/* ---- signals ---- */

void output_remove_temporaries(void)
{
    int error = errno;

    for (int i = 0; i < TEMPORARIES; i++) {
        const char *name = atomic_load(&temporaries[i]);

        if (name)
            unlink(name);
    }
    errno = error;
}

/* The signal gets its default action only when the files are gone: timeout(1) sends two, and the
 * second may come to another thread while the first one is here. It ends the process on return. */
static void end_by_signal(int signal_number)
{
    output_remove_temporaries();
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void output_handle_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGABRT };
    struct sigaction mine = { .sa_handler = end_by_signal }, old;

    for (size_t i = 0; i < EMU_COUNT_OF(signals); i++) {
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(signals[i], &mine, NULL);
    }
}

/* Enters a name; -1: the list is full. */
static int enter(const char *name)
{
    for (int i = 0; i < TEMPORARIES; i++) {
        const char *none = NULL;

        if (atomic_compare_exchange_strong(&temporaries[i], &none, name))
            return i;
    }
    return -1;
}

static void leave(int slot)
{
    if (slot >= 0)
        atomic_store(&temporaries[slot], NULL);
}

/* ---- opening ---- */

static enum emu_status failed(const struct output_file *o, int error)
{
    return FAIL(IO, "%.200s: %s", o->path, strerror(error ? error : EIO));
}

/* A descriptor that leads to the same open file as standard output or standard error, if the path
 * names one of them: a second opening would begin at its start. -1: it names neither. */
static int standard_stream(const struct stat *target)
{
    struct stat st;

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        if (!fstat(fd, &st) && st.st_dev == target->st_dev && st.st_ino == target->st_ino)
            return dup(fd);
    }
    return -1;
}

static ssize_t stream_write(void *cookie, const char *data, size_t bytes)
{
    struct output_file *o = cookie;
    size_t done = 0;

    /* What a disk takes of the last piece is no error: the next write says why not more. */
    while (done < bytes) {
        ssize_t n = write(o->fd, data + done, bytes - done);

        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            break;
    }
    if (done < bytes && !o->error)
        o->error = errno;
    return (ssize_t)done;
}

static int stream_seek(void *cookie, off64_t *offset, int whence)
{
    const struct output_file *o = cookie;

    *offset = lseek64(o->fd, *offset, whence);
    return *offset < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
    struct output_file *o = cookie;

    if (!close(o->fd))
        return 0;
    o->error = o->error ? o->error : errno;
    return -1;
}

static enum emu_status attach(struct output_file *o, int fd)
{
    static const cookie_io_functions_t io = { .write = stream_write,
                                              .seek = stream_seek,
                                              .close = stream_close };

    o->fd = fd;
    o->f = fd < 0 ? NULL : fopencookie(o, "w", io);
    if (o->f)
        return EMU_OK;
    (void)failed(o, errno);
    if (fd >= 0)
        close(fd);
    return EMU_IO;
}

static enum emu_status open_directly(struct output_file *o, const struct stat *st)
{
    int fd = standard_stream(st);

    return attach(o, fd >= 0 ? fd : open(o->path, O_WRONLY | O_CLOEXEC));
}

/* Creates a file of a new name beside the target. */
static int create_beside(struct output_file *o, size_t bytes)
{
    int fd = -1;

    for (int i = 0; i < NAMES_TRIED && fd < 0; i++) {
        snprintf(o->temporary, bytes, "%s.%ld-%d.tmp", o->target, (long)getpid(), i);
        o->slot = enter(o->temporary);
        fd = open(o->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            break;
        leave(o->slot);
        if (errno != EEXIST)
            break;
    }
    return fd;
}

/* old: the file that is replaced, whose permissions stay; NULL: there is none. */
static enum emu_status open_beside(struct output_file *o, const struct stat *old)
{
    size_t bytes = strlen(o->target) + SUFFIX_BYTES;
    int fd;

    o->temporary = emu_alloc(bytes, 1);
    if (!o->temporary)
        return FAIL(NO_MEMORY, "a name beside %.200s", o->path);
    output_handle_signals();
    fd = create_beside(o, bytes);
    if (fd < 0) {
        ss_free(o->temporary);
        o->temporary = NULL;
    } else if (old && fchmod(fd, old->st_mode & 0777)) {
        /* the file system has no permissions */
    }
    return attach(o, fd);
}

static enum emu_status open_output(struct output_file *o, const char *path)
{
    char target[PATH_MAX];
    struct stat st;
    int there;

    o->path = emu_strdup(path);
    if (!o->path)
        return FAIL(NO_MEMORY, "a path");
    there = !stat(path, &st);
    if (there && (!S_ISREG(st.st_mode) || !strncmp(path, "/dev/", 5)))
        return open_directly(o, &st);
    if (there && access(path, W_OK))
        return failed(o, errno);
    o->target = emu_strdup(realpath(path, target) ? target : path);
    if (!o->target)
        return FAIL(NO_MEMORY, "a path");
    return open_beside(o, there ? &st : NULL);
}

enum emu_status output_open(const char *path, struct output_file **out)
{
    struct output_file *o;
    enum emu_status s;

    *out = NULL;
    if (!path)
        return EMU_OK;
    if (!*path)
        return FAIL(IO, "an output without a name");
    o = emu_alloc(1, sizeof(*o));
    if (!o)
        return FAIL(NO_MEMORY, "an output");
    o->slot = -1;
    s = open_output(o, path);
    if (s == EMU_OK)
        *out = o;
    else
        output_discard(o);
    return s;
}

const char *output_path(const struct output_file *o)
{
    return o->path;
}

FILE *output_stream(const struct output_file *o)
{
    return o ? o->f : NULL;
}

int output_fd(const struct output_file *o)
{
    return o->fd;
}

/* ---- the end ---- */

/* Frees o. The temporary file, if it is still there, goes away. */
static void end(struct output_file *o)
{
    if (o->f)
        fclose(o->f);
    if (o->temporary)
        unlink(o->temporary);
    leave(o->slot);
    ss_free(o->temporary);
    ss_free(o->target);
    ss_free(o->path);
    ss_free(o);
}

void output_discard(struct output_file *o)
{
    if (o)
        end(o);
}

/* Everything written has reached the file, which is closed. */
static enum emu_status close_output(struct output_file *o)
{
    int bad = ferror(o->f);

    bad |= fflush(o->f);
    bad |= fclose(o->f);
    o->f = NULL;
    return bad ? failed(o, o->error) : EMU_OK;
}

enum emu_status output_commit(struct output_file *o)
{
    enum emu_status s;

    if (!o)
        return EMU_OK;
    s = close_output(o);
    if (s == EMU_OK && o->temporary) {
        if (rename(o->temporary, o->target)) {
            s = failed(o, errno);
        } else {
            leave(o->slot);
            o->slot = -1;
            ss_free(o->temporary);
            o->temporary = NULL;
        }
    }
    end(o);
    return s;
}

enum emu_status output_end(struct output_file *o, enum emu_status s)
{
    if (s == EMU_OK)
        return output_commit(o);
    output_discard(o);
    return s;
}

enum emu_status output_finish(struct output_file **o, enum emu_status s)
{
    struct output_file *mine = *o;

    *o = NULL;
    return output_end(mine, s);
}

enum emu_status output_not_input(const char *output, const char *input)
{
    struct stat a, b;

    if (!output || !input || stat(output, &a) || stat(input, &b) || !S_ISREG(a.st_mode))
        return EMU_OK;
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return EMU_OK;
    return FAIL(USAGE, "%.200s: the output is the same file as the input %.200s", output, input);
}
