/* asm_headers.c - writes the embedded headers as files where the C preprocessor finds them, in a
 * folder of their own that exists only while it runs. Signals that would end the program are
 * blocked meanwhile, so that the folder is always removed.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/asm/asm_headers.h"
#include "emu/base/embedded.h"

static int is_header(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot && (!strcmp(dot, ".h") || !strcmp(dot, ".hpp"));
}

static int write_file(const char *path, const struct embedded_file *f)
{
    FILE *out = fopen(path, "w");
    int bad = !out || fwrite(f->data, 1, f->bytes, out) != f->bytes;

    return (out && fclose(out)) || bad ? -1 : 0;
}

/* Calls back for every folder of a path below the folder of headers, the outermost first. */
static int for_each_folder(char *path, size_t from, int (*act)(const char *folder))
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        int bad;

        *slash = 0;
        bad = act(path);
        *slash = '/';
        if (bad)
            return -1;
    }
    return 0;
}

static int make_folder(const char *folder)
{
    return mkdir(folder, 0700) && errno != EEXIST ? -1 : 0;
}

static int write_one(const struct header_folder *h, const struct embedded_file *f)
{
    char path[PATH_MAX];

    if (snprintf(path, sizeof(path), "%s/%s", h->path, f->name) >= (int)sizeof(path))
        return -1;
    return for_each_folder(path, strlen(h->path) + 1, make_folder) || write_file(path, f) ? -1 : 0;
}

enum emu_status headers_write(struct header_folder *h)
{
    const char *tmp = getenv("TMPDIR");
    sigset_t ending;

    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    snprintf(h->path, sizeof(h->path), "%s/superstep-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    sigprocmask(SIG_BLOCK, &ending, &h->signals);
    h->made = mkdtemp(h->path) != NULL;
    if (!h->made)
        return FAIL(IO, "%s: a folder for headers: %s", h->path, strerror(errno));
    for (const struct embedded_file *f = embedded_files; f->name; f++) {
        if (is_header(f->name) && write_one(h, f))
            return FAIL(IO, "%s/%s: %s", h->path, f->name, strerror(errno));
    }
    return EMU_OK;
}

/* Removes the folders of a path, the innermost first; those that are not empty stay. */
static void remove_folders(char *path, size_t from)
{
    for (char *slash = strrchr(path, '/'); slash >= path + from; slash = strrchr(path, '/')) {
        *slash = 0;
        rmdir(path);
    }
}

void headers_remove(struct header_folder *h)
{
    char path[PATH_MAX];

    for (const struct embedded_file *f = embedded_files; h->made && f->name; f++) {
        if (is_header(f->name) &&
            snprintf(path, sizeof(path), "%s/%s", h->path, f->name) < (int)sizeof(path)) {
            unlink(path);
            remove_folders(path, strlen(h->path) + 1);
        }
    }
    if (h->made)
        rmdir(h->path);
    h->made = 0;
    sigprocmask(SIG_SETMASK, &h->signals, NULL);
}

void headers_forget(const struct header_folder *h, char *text, size_t *len)
{
    size_t n = strlen(h->path) + 1;
    char *from = text, *end = text + *len, *to = text, *hit;

    while ((hit = memmem(from, (size_t)(end - from), h->path, n - 1))) {
        memmove(to, from, (size_t)(hit - from));
        to += hit - from;
        from = hit + n < end ? hit + n : end;
    }
    memmove(to, from, (size_t)(end - from));
    *len = (size_t)(to + (end - from) - text);
    text[*len] = 0;
}
