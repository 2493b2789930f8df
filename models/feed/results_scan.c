/* results_scan.c - finds the end of the last whole result. In CSV a quoted name may have newlines.
 */
#include "emu/base/alloc.h"
#include "models/feed/results_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCAN_BYTES = 1 << 16, LINE_BYTES_MAX = 1 << 20 };

static enum emu_status scan_failed(const char *path)
{
    return FAIL(IO, "%.400s: %s", path, strerror(errno));
}

/* Where the last whole line begins and ends, and how many there are. */
struct result_scan {
    uint64_t at, begin, end, lines;
    uint64_t next; /* number of whole lines so far; where the next one begins */
    int quoted;    /* CSV: between quotes */
};

static void scan_bytes(struct result_scan *s, const char *data, size_t n,
                       enum results_format format)
{
    for (size_t i = 0; i < n; i++) {
        s->at++;
        if (data[i] == '"' && format == RESULTS_CSV)
            s->quoted = !s->quoted;
        if (data[i] != '\n' || s->quoted)
            continue;
        s->begin = s->next;
        s->end = s->next = s->at;
        s->lines++;
    }
}

static enum emu_status scan_file(int fd, const char *path, enum results_format format,
                                 struct result_scan *s)
{
    char *data = emu_alloc(SCAN_BYTES, 1);
    ssize_t n = -1;

    if (!data)
        return FAIL(NO_MEMORY, "a file of results");
    for (;;) {
        n = pread(fd, data, SCAN_BYTES, (off_t)s->at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        scan_bytes(s, data, (size_t)n, format);
    }
    ss_free(data);
    return n < 0 ? scan_failed(path) : EMU_OK;
}

/* Reads bytes [begin, end) and adds a zero. */
static enum emu_status read_part(int fd, const char *path, uint64_t begin, uint64_t end,
                                 struct text_line *out)
{
    size_t bytes = (size_t)(end - begin);
    char *data;
    ssize_t n;

    out->count = 0;
    if (end - begin > LINE_BYTES_MAX)
        return FAIL(BAD_FILE, "%.400s: a line of %zu bytes: not a file of results", path, bytes);
    data = emu_alloc(bytes + 1, 1);
    if (!data)
        return FAIL(NO_MEMORY, "a line of results");
    n = pread(fd, data, bytes, (off_t)begin);
    text_add(out, data, bytes + 1);
    ss_free(data);
    if (n < 0)
        return scan_failed(path);
    if ((size_t)n != bytes)
        return FAIL(IO, "%.400s: changed while it was read", path);
    return out->failed ? FAIL(NO_MEMORY, "a line of results") : EMU_OK;
}

/* The end of the CSV field or the JSON string that begins at s; NULL if it has none. */
static const char *end_of_name(const char *s, enum results_format format)
{
    if (format == RESULTS_CSV && *s != '"')
        return strchr(s, ',');
    if (*s++ != '"')
        return NULL;
    for (; *s; s++) {
        if (*s == '\\' && format == RESULTS_JSONL && s[1])
            s++;
        else if (*s == '"' && format == RESULTS_CSV && s[1] == '"')
            s++;
        else if (*s == '"')
            return s + 1;
    }
    return NULL;
}

/* Returns 0 if this is not a line of results. */
static int parse_line(const char *line, enum results_format format, struct text_line *name,
                      uint64_t *index)
{
    const char *begin = format == RESULTS_CSV ? "" : RESULTS_JSON_BEGIN, *end;
    const char *between = format == RESULTS_CSV ? "," : RESULTS_JSON_INDEX;
    char *rest;

    if (strncmp(line, begin, strlen(begin)))
        return 0;
    line += strlen(begin);
    end = end_of_name(line, format);
    if (!end || strncmp(end, between, strlen(between)))
        return 0;
    name->count = 0;
    text_add(name, line, (size_t)(end - line));
    end += strlen(between);
    errno = 0;
    *index = strtoull(end, &rest, 10);
    return *end >= '0' && *end <= '9' && *rest == ',' && !errno && *index < UINT64_MAX;
}

/* Checks that the file begins as its format does. A file that ends within that beginning holds no
 * results. */
static enum emu_status check_begin(int fd, const char *path, const char *begin, uint64_t lines)
{
    char text[sizeof(RESULTS_CSV_HEADER_NAMES)];
    size_t bytes = strlen(begin);
    ssize_t n = pread(fd, text, bytes, 0);

    EMU_ASSERT(bytes <= sizeof(text));
    if (n < 0)
        return scan_failed(path);
    if (memcmp(text, begin, (size_t)n) || (lines && (size_t)n < bytes))
        return FAIL(BAD_FILE, "%.400s: does not begin as results do; not resumed", path);
    return EMU_OK;
}

const char *results_csv_header(int names)
{
    return names ? RESULTS_CSV_HEADER_NAMES : RESULTS_CSV_HEADER;
}

enum emu_status results_scan(int fd, const char *path, enum results_format format, int names,
                             struct text_line *last_name, struct results_found *out)
{
    int csv = format == RESULTS_CSV;
    struct text_line line = { 0 };
    struct result_scan s = { 0 };
    enum emu_status st;

    TRY(scan_file(fd, path, format, &s));
    TRY(check_begin(fd, path, csv ? results_csv_header(names) : RESULTS_JSON_BEGIN, s.lines));
    out->bytes = s.end;
    out->results = s.lines - (csv && s.lines);
    if (!out->results)
        return EMU_OK;
    st = read_part(fd, path, s.begin, s.end, &line);
    if (st == EMU_OK && !parse_line(line.at, format, last_name, &out->last_index))
        st = FAIL(BAD_FILE, "%.400s: its last line is no result; not resumed", path);
    text_free(&line);
    return st;
}
