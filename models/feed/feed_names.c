/* feed_names.c - walks arguments, lists and directories without holding more than a part of them.
 */
#include "models/feed/feed_names.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "models/feed/feed_folder.h"
#include "models/feed/feed_list.h"

enum { FOLDER_NAMES_LEAST = 16, REASON_BYTES = 256 };

struct feed_names {
    char **argument; /* owned */
    size_t arguments, next;
    const atomic_int *stop; /* borrowed */
    struct feed_list list;  /* of the last argument that named one */
    struct folder folder[FEED_NAMES_DEEP];
    unsigned depth;                     /* number of open folders */
    size_t held;                        /* most names that may be held */
    char path[PATH_MAX + NAME_MAX + 2]; /* of the innermost folder, or of an entry in it */
    char reason[REASON_BYTES];
    uint64_t other;
    char *other_first; /* owned */
};

uint64_t feed_names_other(const struct feed_names *n)
{
    return n->other;
}

const char *feed_names_other_first(const struct feed_names *n)
{
    return n->other_first;
}

/* ---- what a call gives ---- */

static void give_file(const char *name, struct feed_name *out)
{
    *out = (struct feed_name){ .name = name };
}

static void EMU_PRINTF(4, 5)
    give_reason(struct feed_names *n, const char *name, struct feed_name *out, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(n->reason, sizeof(n->reason), fmt, ap);
    va_end(ap);
    *out = (struct feed_name){ .name = name, .reason = n->reason };
}

/* ---- directories ---- */

/* How many names the innermost folder may hold: half of what the outer ones leave. */
static size_t folder_share(const struct feed_names *n)
{
    size_t used = 0, share;

    for (unsigned i = 0; i + 1 < n->depth; i++)
        used += n->folder[i].count;
    share = used < n->held ? (n->held - used) / 2 : 0;
    return share > FOLDER_NAMES_LEAST ? share : FOLDER_NAMES_LEAST;
}

/* The outer folder that is the same directory as the innermost one (a link leads back to it); NULL
 * if there is none. */
static const struct folder *find_loop(const struct feed_names *n)
{
    const struct folder *f = &n->folder[n->depth - 1];

    for (unsigned i = 0; i + 1 < n->depth; i++) {
        if (n->folder[i].device == f->device && n->folder[i].inode == f->inode)
            return &n->folder[i];
    }
    return NULL;
}

static void leave_folder(struct feed_names *n)
{
    folder_free(&n->folder[--n->depth]);
}

/* Reads the next names of the innermost folder. *given = 1: that failed; the folder is left, and
 * *out says why. */
static enum emu_status read_folder(struct feed_names *n, struct feed_name *out, int *given)
{
    struct folder *f = &n->folder[n->depth - 1];
    const struct folder *loop;
    enum emu_status s;

    n->path[f->base] = 0;
    s = folder_read(f, n->path, folder_share(n));
    loop = s == EMU_OK ? find_loop(n) : NULL;
    *given = s != EMU_OK || loop;
    if (s == EMU_NO_MEMORY)
        return s;
    if (loop)
        give_reason(n, n->path, out, "a loop of links: a directory within itself");
    else if (s != EMU_OK)
        give_reason(n, n->path, out, "%.200s", ss_error());
    if (*given)
        leave_folder(n);
    return EMU_OK;
}

/* Opens n->path, which is a directory, as the innermost folder. */
static enum emu_status enter_folder(struct feed_names *n, struct feed_name *out, int *given)
{
    size_t length = strlen(n->path);

    *given = 1;
    if (n->depth == FEED_NAMES_DEEP) {
        give_reason(n, n->path, out, "more than %d directories deep", FEED_NAMES_DEEP);
        return EMU_OK;
    }
    if (length && n->path[length - 1] != '/')
        strcpy(n->path + length++, "/");
    n->folder[n->depth++] = (struct folder){ .base = length };
    return read_folder(n, out, given);
}

/* ---- files ---- */

/* Gives n->path, which is not too long for a path. If it is a directory, opens that. A path that
 * does not exist is given as a file; opening it will tell why it cannot be read. */
static enum emu_status give_path(struct feed_names *n, struct feed_name *out, int *given)
{
    struct stat st;

    if (!stat(n->path, &st) && S_ISDIR(st.st_mode))
        return enter_folder(n, out, given);
    give_file(n->path, out);
    *given = 1;
    return EMU_OK;
}

int feed_is_picture_name(const char *name)
{
    static const char *const ending[] = { ".jpg", ".jpeg", ".png" };
    size_t length = strlen(name);

    for (size_t i = 0; i < EMU_COUNT_OF(ending); i++) {
        size_t n = strlen(ending[i]);

        if (length >= n && !strcasecmp(name + length - n, ending[i]))
            return 1;
    }
    return 0;
}

static enum emu_status count_other(struct feed_names *n)
{
    if (!n->other++)
        n->other_first = emu_strdup(n->path);
    return n->other_first ? EMU_OK : FAIL(NO_MEMORY, "a name");
}

/* Entry e of the innermost folder. */
static enum emu_status give_entry(struct feed_names *n, const struct folder_entry *e,
                                  struct feed_name *out, int *given)
{
    struct stat st;
    int type = e->type;

    strcpy(n->path + n->folder[n->depth - 1].base, e->name);
    *given = 1;
    if (strlen(n->path) >= PATH_MAX) {
        give_reason(n, n->path, out, "a path of more than %d bytes", PATH_MAX - 1);
        return EMU_OK;
    }
    if (type == DT_LNK || type == DT_UNKNOWN) {
        if (stat(n->path, &st))
            type = DT_LNK; /* of an unknown type: to be looked at */
        else
            type = S_ISDIR(st.st_mode) ? DT_DIR : DT_REG;
    }
    if (type == DT_DIR)
        return enter_folder(n, out, given);
    if (type == DT_LNK || feed_is_picture_name(e->name)) {
        give_file(n->path, out);
        return EMU_OK;
    }
    *given = 0;
    return count_other(n);
}

static enum emu_status give_from_folder(struct feed_names *n, struct feed_name *out, int *given)
{
    struct folder *f = &n->folder[n->depth - 1];

    *given = 0;
    if (f->next < f->count)
        return give_entry(n, &f->entry[f->next++], out, given);
    if (f->more)
        return read_folder(n, out, given);
    leave_folder(n);
    return EMU_OK;
}

/* ---- lists and arguments ---- */

static enum emu_status give_from_list(struct feed_names *n, struct feed_name *out, int *given)
{
    enum list_line line = list_next(&n->list, n->stop, n->path);

    *given = line != LIST_END;
    switch (line) {
    case LIST_NAME:
        return give_path(n, out, given);
    case LIST_LONG:
        give_reason(n, n->path, out, "line %" PRIu64 " of %.100s: more than %d bytes",
                    n->list.lines, n->list.name, PATH_MAX - 1);
        return EMU_OK;
    case LIST_ZERO:
        give_reason(n, n->path, out, "line %" PRIu64 " of %.100s: a zero byte", n->list.lines,
                    n->list.name);
        return EMU_OK;
    case LIST_BROKEN:
        give_reason(n, n->list.name, out, "after line %" PRIu64 ": %s", n->list.lines,
                    strerror(n->list.error));
        list_close(&n->list);
        return EMU_OK;
    default:
        list_close(&n->list);
        return EMU_OK;
    }
}

static enum emu_status give_argument(struct feed_names *n, const char *a, struct feed_name *out,
                                     int *given)
{
    *given = 0;
    if (!strcmp(a, "-") || a[0] == '@') {
        if (list_open(&n->list, a))
            return EMU_OK;
        give_reason(n, a, out, "%s", strerror(n->list.error));
        *given = 1;
        return EMU_OK;
    }
    if (strlen(a) < PATH_MAX) {
        strcpy(n->path, a);
        return give_path(n, out, given);
    }
    give_reason(n, a, out, "a path of more than %d bytes", PATH_MAX - 1);
    *given = 1;
    return EMU_OK;
}

enum emu_status feed_names_next(struct feed_names *n, struct feed_name *out, int *more)
{
    int given = 0;

    for (*more = 1; !given;) {
        if (n->depth)
            TRY(give_from_folder(n, out, &given));
        else if (list_is_open(&n->list))
            TRY(give_from_list(n, out, &given));
        else if (n->next < n->arguments)
            TRY(give_argument(n, n->argument[n->next++], out, &given));
        else
            break;
        if (atomic_load(n->stop))
            break;
    }
    *more = given;
    return EMU_OK;
}

/* ---- begin and end ---- */

static enum emu_status check_list(const char *a)
{
    struct stat st;

    if (a[0] != '@')
        return EMU_OK;
    if (stat(a + 1, &st) || (!S_ISDIR(st.st_mode) && access(a + 1, R_OK)))
        return FAIL(IO, "%s: %s", a + 1, strerror(errno));
    return S_ISDIR(st.st_mode) ? FAIL(IO, "%s: a directory, not a list of names", a + 1) : EMU_OK;
}

static enum emu_status copy_arguments(struct feed_names *n, const char *const *path, size_t paths)
{
    n->argument = emu_alloc(paths, sizeof(*n->argument));
    if (!n->argument)
        return FAIL(NO_MEMORY, "%zu names", paths);
    for (; n->arguments < paths; n->arguments++) {
        TRY(check_list(path[n->arguments]));
        n->argument[n->arguments] = emu_strdup(path[n->arguments]);
        if (!n->argument[n->arguments])
            return FAIL(NO_MEMORY, "%zu names", paths);
    }
    return EMU_OK;
}

enum emu_status feed_names_open(const char *const *path, size_t paths, const atomic_int *stop,
                                size_t held, struct feed_names **out)
{
    struct feed_names *n = emu_alloc(1, sizeof(*n));
    enum emu_status s;

    *out = NULL;
    if (!n)
        return FAIL(NO_MEMORY, "the names of pictures");
    n->stop = stop;
    n->held = held;
    list_init(&n->list);
    s = copy_arguments(n, path, paths);
    if (s == EMU_OK)
        *out = n;
    else
        feed_names_close(n);
    return s;
}

void feed_names_close(struct feed_names *n)
{
    if (!n)
        return;
    while (n->depth)
        leave_folder(n);
    list_close(&n->list);
    for (size_t i = 0; i < n->arguments; i++)
        ss_free(n->argument[i]);
    ss_free(n->argument);
    ss_free(n->other_first);
    ss_free(n);
}
