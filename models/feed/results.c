/* results.c - writes each result with one write; finds out what an earlier run has left in the
 * file.
 */
#include "models/feed/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/base/alloc.h"
#include "emu/base/name_text.h"
#include "models/feed/results_scan.h"

struct results {
    enum results_format format;
    const char *const *names; /* borrowed; of classes, or NULL */
    char *path;               /* owned */
    int fd;                   /* stdout is borrowed */
    int regular;
    int created;           /* by results_open() */
    int begun;             /* the file ends with its header or whole lines */
    int failed;            /* nothing more is written */
    uint64_t bytes, kept;  /* of whole lines in the file: bytes, the header included; results */
    uint64_t done;         /* files that an earlier run has dealt with */
    struct text_line last; /* of an earlier run: the name in its last result, as written there */
    struct text_line line;
    const struct results_maker *maker; /* borrowed; NULL: not said */
};

/* ---- lines ---- */

struct top {
    uint32_t class[RESULTS_TOP];
    float score[RESULTS_TOP];
    unsigned count;
};

/* A score that is no number is the worst. */
static int better(float a, float b)
{
    return a > b || (isnan(b) && !isnan(a));
}

static void pick_top(const float *score, uint32_t classes, struct top *t)
{
    t->count = 0;
    for (uint32_t i = 0; i < classes; i++) {
        unsigned k;

        if (t->count == RESULTS_TOP && !better(score[i], t->score[RESULTS_TOP - 1]))
            continue;
        k = t->count < RESULTS_TOP ? t->count++ : RESULTS_TOP - 1;
        for (; k && better(score[i], t->score[k - 1]); k--) {
            t->class[k] = t->class[k - 1];
            t->score[k] = t->score[k - 1];
        }
        t->class[k] = i;
        t->score[k] = score[i];
    }
}

/* names: of classes, or NULL. */
static void add_csv(struct text_line *l, const char *name, uint64_t index, const struct top *t,
                    const char *const *names)
{
    name_add_csv(l, name);
    text_format(l, ",%" PRIu64, index);
    for (unsigned i = 0; i < RESULTS_TOP; i++) {
        text_format(l, ",");
        if (i < t->count)
            text_format(l, "%" PRIu32, t->class[i]);
        if (names)
            text_format(l, ",");
        if (names && i < t->count)
            name_add_csv(l, names[t->class[i]]);
        text_format(l, ",");
        if (i < t->count && isfinite(t->score[i]))
            text_format(l, "%.9g", (double)t->score[i]);
    }
    text_format(l, ",");
    if (!name_is_utf8(name))
        name_add_hex(l, name);
    text_format(l, "\n");
}

static void add_jsonl(struct text_line *l, const char *name, uint64_t index, const struct top *t,
                      const char *const *names)
{
    text_format(l, RESULTS_JSON_BEGIN);
    name_add_json(l, name);
    text_format(l, RESULTS_JSON_INDEX "%" PRIu64 ", \"classes\": [", index);
    for (unsigned i = 0; i < t->count; i++)
        text_format(l, "%s%" PRIu32, i ? ", " : "", t->class[i]);
    if (names)
        text_format(l, "], \"names\": [");
    for (unsigned i = 0; names && i < t->count; i++) {
        text_format(l, i ? ", " : "");
        name_add_json(l, names[t->class[i]]);
    }
    text_format(l, "], \"scores\": [");
    for (unsigned i = 0; i < t->count; i++) {
        if (isfinite(t->score[i]))
            text_format(l, "%s%.9g", i ? ", " : "", (double)t->score[i]);
        else
            text_format(l, "%snull", i ? ", " : "");
    }
    text_format(l, "]");
    if (!name_is_utf8(name)) {
        text_format(l, ", \"file_hex\": \"");
        name_add_hex(l, name);
        text_format(l, "\"");
    }
    text_format(l, "}\n");
}

/* ---- writing ---- */

static const char *name_of(const struct results *r)
{
    return r->fd == STDOUT_FILENO ? "stdout" : r->path;
}

/* Only `written` bytes of a line could be written: removes them if possible, and says why. */
static enum emu_status fail_write(struct results *r, int error, size_t written)
{
    int torn = written && (!r->regular || ftruncate(r->fd, (off_t)r->bytes) ||
                           lseek(r->fd, (off_t)r->bytes, SEEK_SET) < 0);

    r->failed = 1;
    return FAIL(IO, "%.400s: %s; %" PRIu64 " results are kept%s", name_of(r), strerror(error),
                r->kept, torn ? ", and a part of one more" : "");
}

/* Writes the whole line or nothing. */
static enum emu_status write_line(struct results *r)
{
    size_t written = 0;

    if (r->failed)
        return FAIL(IO, "%.400s: closed by an earlier error; %" PRIu64 " results are kept",
                    name_of(r), r->kept);
    if (r->line.failed)
        return FAIL(NO_MEMORY, "a line of results");
    while (written < r->line.count) {
        ssize_t n = write(r->fd, r->line.at + written, r->line.count - written);

        if (n > 0)
            written += (size_t)n;
        else if (n < 0 && errno != EINTR)
            return fail_write(r, errno, written);
    }
    r->bytes += written;
    return EMU_OK;
}

enum emu_status results_put(struct results *r, const char *name, uint64_t index, const float *score,
                            uint32_t classes)
{
    struct top t;

    EMU_ASSERT(r->begun);
    pick_top(score, classes, &t);
    r->line.count = 0;
    if (r->format == RESULTS_CSV)
        add_csv(&r->line, name, index, &t, r->names);
    else
        add_jsonl(&r->line, name, index, &t, r->names);
    TRY(write_line(r));
    r->kept++;
    return EMU_OK;
}

uint64_t results_kept(const struct results *r)
{
    return r->kept;
}

/* ---- an earlier run ---- */

uint64_t results_done(const struct results *r)
{
    return r->done;
}

enum emu_status results_check_last(const struct results *r, const char *name)
{
    struct text_line now = { 0 };
    int same, out_of_memory;

    if (!r->done)
        return EMU_OK;
    if (r->format == RESULTS_CSV)
        name_add_csv(&now, name);
    else
        name_add_json(&now, name);
    same = text_equal(&now, &r->last);
    out_of_memory = now.failed;
    text_free(&now);
    if (out_of_memory)
        return FAIL(NO_MEMORY, "a name");
    return same ? EMU_OK
                : FAIL(BAD_FILE,
                       "%.300s: its last result, number %" PRIu64 ", is of %.*s, but that picture "
                       "is now %.300s: not the same pictures",
                       r->path, r->done - 1, (int)(r->last.count < 300 ? r->last.count : 300),
                       r->last.at, name);
}

/* Finds the end of the last whole line. */
static enum emu_status scan(struct results *r)
{
    struct results_found found = { 0 };

    TRY(results_scan(r->fd, r->path, r->format, r->names != NULL, &r->last, &found));
    r->bytes = found.bytes;
    r->kept = found.results;
    r->done = found.results ? found.last_index + 1 : 0;
    return EMU_OK;
}

/* ---- begin and end ---- */

/* Not 0 when closing the file fails; errno says why. */
static int results_free(struct results *r)
{
    int bad = r->fd >= 0 && r->fd != STDOUT_FILENO && close(r->fd), error = errno;

    if (r->created && !r->begun)
        unlink(r->path);
    ss_free(r->path);
    text_free(&r->last);
    text_free(&r->line);
    ss_free(r);
    errno = error;
    return bad;
}

static enum emu_status choose_format(struct results *r, enum results_format wanted)
{
    r->format = wanted;
    if (wanted != RESULTS_BY_NAME)
        return EMU_OK;
    r->format = name_ends_with(r->path, ".jsonl") ? RESULTS_JSONL : RESULTS_CSV;
    if (r->format == RESULTS_CSV && !name_ends_with(r->path, ".csv") && strcmp(r->path, "-"))
        return FAIL(USAGE, "%.400s: results are CSV or JSON lines: .csv or .jsonl", r->path);
    return EMU_OK;
}

/* Creates a file that does not exist; it is removed again if results_begin() is never called. */
static int open_or_create(struct results *r)
{
    int fd = open(r->path, O_RDWR | O_CLOEXEC);

    if (fd >= 0 || errno != ENOENT)
        return fd;
    fd = open(r->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno == EEXIST) /* a link to nothing */
        return open(r->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    r->created = fd >= 0;
    return fd;
}

/* Two processes would write over each other's lines. Where there are no locks there is none: the
 * results are good without. */
static enum emu_status lock(const struct results *r)
{
    return r->regular && flock(r->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK
               ? FAIL(USAGE, "%.400s: another stream is writing it", r->path)
               : EMU_OK;
}

static enum emu_status open_file(struct results *r, int resumes)
{
    struct stat st;
    int to_stdout = !strcmp(r->path, "-");

    if (to_stdout && resumes)
        return FAIL(USAGE, "results on stdout cannot be resumed");
    r->fd = to_stdout ? STDOUT_FILENO : open_or_create(r);
    if (r->fd < 0 || fstat(r->fd, &st))
        return FAIL(IO, "%.400s: %s", r->path, strerror(errno));
    /* stdout may be a file that already holds something else. */
    r->regular = S_ISREG(st.st_mode) && !to_stdout;
    if (resumes && !r->regular)
        return FAIL(USAGE, "%.400s: not a file; its results cannot be resumed", r->path);
    TRY(lock(r));
    return resumes ? scan(r) : EMU_OK;
}

enum emu_status results_made_by(struct results *r, const struct results_maker *m)
{
    if (!r->regular)
        return EMU_OK;
    if (r->kept)
        TRY(results_maker_check(r->path, m));
    r->maker = m;
    return EMU_OK;
}

enum emu_status results_begin(struct results *r)
{
    if (r->maker)
        TRY(results_maker_write(r->path, r->maker));
    if (r->regular &&
        (ftruncate(r->fd, (off_t)r->bytes) || lseek(r->fd, (off_t)r->bytes, SEEK_SET) < 0))
        return FAIL(IO, "%.400s: %s", r->path, strerror(errno));
    r->begun = 1;
    r->line.count = 0;
    if (r->format != RESULTS_CSV || r->bytes)
        return EMU_OK;
    text_format(&r->line, "%s", results_csv_header(r->names != NULL));
    return write_line(r);
}

enum emu_status results_open(const char *path, const struct results_options *o,
                             struct results **out)
{
    struct results *r = emu_alloc(1, sizeof(*r));
    enum emu_status s;

    *out = NULL;
    if (!r)
        return FAIL(NO_MEMORY, "results");
    r->fd = -1;
    r->names = o->names;
    r->path = emu_strdup(path);
    s = r->path ? choose_format(r, o->format) : FAIL(NO_MEMORY, "results");
    if (s == EMU_OK)
        s = open_file(r, o->resume);
    if (s == EMU_OK)
        *out = r;
    else
        results_free(r);
    return s;
}

enum emu_status results_close(struct results *r)
{
    enum emu_status s = EMU_OK;

    if (!r)
        return EMU_OK;
    if (r->regular && r->begun && fsync(r->fd))
        s = FAIL(IO, "%.400s: %s", r->path, strerror(errno));
    if (results_free(r) && s == EMU_OK)
        s = FAIL(IO, "results: %s", strerror(errno));
    return s;
}
