/* look_file.c - kinds of files, by their first bytes; source files by their name, too. */
#include "emu/cli/look_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/file_kind.h"
#include "emu/base/json_read.h"
#include "emu/base/name_text.h"
#include "emu/job/manifest.h"

enum { HEAD_BYTES = 512, CHUNK_BYTES = 1 << 16 };
#define PIPE_BYTES_MAX ((size_t)1 << 30)

/* What others take. An empty file may be a source. */
static enum emu_status refuse_others(const struct request *q, const char *head, size_t n)
{
    const char *kind = n ? file_kind(head, n, FILE_TO_RUN) : NULL;

    return kind ? FAIL(USAGE, "%s is %s", look_file_name(q), kind) : EMU_OK;
}

/* A manifest begins with a brace, an object with its own letters; what is text without one is
 * assembly when it comes through a pipe or is called so. */
static enum emu_status kind_of(const struct request *q, const struct look_kind *above,
                               const char *head, size_t n, use_set *thing)
{
    size_t at = 0;

    TRY(refuse_others(q, head, n));
    while (at < n && strchr(" \t\r\n", head[at]) && head[at])
        at++;
    while (above->is && !above->is(q->what, head, n))
        above++;
    if (above->is)
        *thing = above->thing;
    else if (n && head[0] == '\x89')
        *thing = THING_IMAGE;
    else if (!q->bytes && asm_is_object(head, n))
        *thing = THING_SOURCE;
    else if (name_ends_with(q->what, ".S") || name_ends_with(q->what, ".s"))
        *thing = THING_SOURCE;
    else if (q->bytes && at < n && head[at] != '{' && !memchr(head, 0, n))
        *thing = THING_SOURCE;
    else
        *thing = THING_MANIFEST;
    return EMU_OK;
}

static enum emu_status read_pipe(struct request *q, FILE *f)
{
    size_t n = CHUNK_BYTES, capacity = 0;

    while (n == CHUNK_BYTES) {
        if (capacity < q->byte_count + CHUNK_BYTES + 1) {
            char *bytes = emu_realloc(q->bytes, 2 * capacity + CHUNK_BYTES + 1, 1);

            if (!bytes)
                return FAIL(NO_MEMORY, "%s", look_file_name(q));
            q->bytes = bytes;
            capacity = 2 * capacity + CHUNK_BYTES + 1;
        }
        n = fread(q->bytes + q->byte_count, 1, CHUNK_BYTES, f);
        q->byte_count += n;
        if (n && !q->bytes[0])
            break; /* nothing that is read here; a device may go on for ever */
        if (q->byte_count > PIPE_BYTES_MAX)
            return FAIL(IO, "%s: more than %zu bytes", look_file_name(q), PIPE_BYTES_MAX);
    }
    q->bytes[q->byte_count] = 0;
    return EMU_OK;
}

static int is_file(FILE *f)
{
    struct stat st;

    return f != stdin && (fstat(fileno(f), &st) || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static enum emu_status look_open(struct request *q, const struct look_kind *above, FILE *f,
                                 use_set *thing)
{
    char head[HEAD_BYTES];
    size_t n;

    errno = 0;
    if (is_file(f)) {
        n = fread(head, 1, sizeof(head), f);
    } else {
        TRY(read_pipe(q, f));
        n = q->byte_count < sizeof(head) ? q->byte_count : sizeof(head);
        memcpy(head, q->bytes, n);
    }
    if (ferror(f))
        return FAIL(IO, "%s: %s", look_file_name(q), strerror(errno));
    return kind_of(q, above, head, n, thing);
}

/* A case is told from a manifest by its keys, anywhere in the file. What is no JSON is left to the
 * reader of manifests, which says where it is wrong. */
static enum emu_status tell_case(const struct request *q, use_set *thing)
{
    char *text = NULL;
    size_t bytes = 0;
    json_t *root = NULL;

    if (!q->bytes)
        TRY(json_read_file(q->what, &text, &bytes));
    if (q->bytes)
        root = json_loadb(q->bytes, q->byte_count, 0, NULL);
    else
        root = json_loadb(text, bytes, 0, NULL);
    if (manifest_is_case(root))
        *thing = USE_CASE;
    json_decref(root);
    ss_free(text);
    return EMU_OK;
}

enum emu_status look_file(struct request *q, const char *path, const struct look_kind *above,
                          use_set *thing)
{
    int is_input = !strcmp(path, "-");
    FILE *f = is_input ? stdin : embedded_fopen(path);
    enum emu_status s;

    q->what = path;
    if (!f)
        return FAIL(IO, "%s: %s", path, strerror(errno));
    s = look_open(q, above, f, thing);
    if (!is_input)
        fclose(f);
    return s == EMU_OK && *thing == THING_MANIFEST ? tell_case(q, thing) : s;
}

const char *look_file_name(const struct request *q)
{
    return strcmp(q->what, "-") ? q->what : "standard input";
}
