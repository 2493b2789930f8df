/* matrix_check.c - whether commands ended as they should, and files are what their names say. */
#include "tests/matrix/matrix.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "models/graph/npy.h"

/* ---- files ---- */

static void path_of(const struct group *g, const char *name, char out[PATH_BYTES + 64])
{
    snprintf(out, PATH_BYTES + 64, "%s/%s", g->folder, name);
}

/* The whole file, with a zero behind it; NULL: it cannot be read. */
static char *read_all(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    struct stat s;

    *bytes = 0;
    if (f && !fstat(fileno(f), &s)) {
        text = calloc((size_t)s.st_size + 1, 1);
        *bytes = text ? fread(text, 1, (size_t)s.st_size, f) : 0;
    }
    if (f)
        fclose(f);
    return text;
}

static int begins(const char *text, const char *with)
{
    return !strncasecmp(text, with, strlen(with));
}

/* Whether a text ends so, but for white space. */
static int ends(const char *text, size_t bytes, const char *with)
{
    size_t n = strlen(with);

    while (bytes && isspace((unsigned char)text[bytes - 1]))
        bytes--;
    return bytes >= n && !strncasecmp(text + bytes - n, with, n);
}

static const char *wrong_json(const char *text)
{
    json_t *o = json_loads(text, 0, NULL);
    int empty = !o || (!json_object_size(o) && !json_array_size(o));

    json_decref(o);
    return empty ? "is no JSON" : NULL;
}

static const char *wrong_npy(const char *data, size_t bytes)
{
    struct op_tensor t = { .any = NULL };
    enum emu_status s = npy_read(data, bytes, "it", &t);

    op_tensor_free(&t);
    return s == EMU_OK ? NULL : "is no array of numpy";
}

static const char *wrong_db(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    int good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
               sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &q, NULL) == SQLITE_OK &&
               sqlite3_step(q) == SQLITE_ROW &&
               !strcmp((const char *)sqlite3_column_text(q, 0), "ok");

    sqlite3_finalize(q);
    sqlite3_close(db);
    return good ? NULL : "is no database";
}

static const char *wrong_contents(const char *name, const char *path, const char *data,
                                  size_t bytes)
{
    if (!bytes)
        return "is empty";
    if (ends(name, strlen(name), ".json"))
        return wrong_json(data);
    if (ends(name, strlen(name), ".npy"))
        return wrong_npy(data, bytes);
    if (ends(name, strlen(name), ".db"))
        return wrong_db(path);
    if (ends(name, strlen(name), ".svg"))
        return begins(data, "<svg") && ends(data, bytes, "</svg>") ? NULL : "is no whole SVG";
    if (ends(name, strlen(name), ".html"))
        return begins(data, "<!doctype html") && ends(data, bytes, "</html>") ? NULL
                                                                              : "is no whole page";
    return NULL;
}

const char *check_file(const struct group *g, const char *name)
{
    char path[PATH_BYTES + 64];
    const char *why;
    size_t bytes;
    char *data;

    path_of(g, name, path);
    data = read_all(path, &bytes);
    why = data ? wrong_contents(name, path, data, bytes) : "is not there";
    free(data);
    return why;
}

/* ---- numbers ---- */

uint64_t json_number(const char *text, const char *key)
{
    json_t *o = json_loads(text, 0, NULL), *v = o;
    char list[64], *rest = list;
    uint64_t n;

    snprintf(list, sizeof(list), "%s", key);
    for (char *name; (name = strtok_r(rest, ".", &rest));)
        v = json_object_get(v, name);
    n = json_is_number(v) ? (uint64_t)json_number_value(v) : UINT64_MAX;
    json_decref(o);
    return n;
}

uint64_t json_sum(const char *text, const char *list, const char *key)
{
    json_t *o = json_loads(text, 0, NULL), *rows = json_object_get(o, list), *row;
    uint64_t sum = json_array_size(rows) ? 0 : UINT64_MAX;
    size_t k;

    json_array_foreach(rows, k, row)
    {
        const json_t *v = json_object_get(row, key);

        if (sum != UINT64_MAX)
            sum = json_is_number(v) ? sum + (uint64_t)json_number_value(v) : UINT64_MAX;
    }
    json_decref(o);
    return sum;
}

uint64_t db_number(const struct group *g, const char *name, const char *sql)
{
    char path[PATH_BYTES + 64];
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    uint64_t n = UINT64_MAX;

    path_of(g, name, path);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW)
        n = (uint64_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

int read_numbers(const struct group *g, const char *name, struct op_tensor *out)
{
    char path[PATH_BYTES + 64], *data;
    size_t bytes;
    int good;

    *out = (struct op_tensor){ .any = NULL };
    path_of(g, name, path);
    data = read_all(path, &bytes);
    good = data && npy_read(data, bytes, name, out) == EMU_OK;
    free(data);
    return good;
}

int same_numbers(const struct op_tensor *a, const struct op_tensor *b)
{
    return op_shape_equal(&a->shape, &b->shape) &&
           !memcmp(a->any, b->any, op_shape_count(&a->shape) * 8);
}

/* "1,153" */
static uint64_t number_at(const char *text)
{
    uint64_t n = 0;

    for (; isdigit((unsigned char)*text) || *text == ','; text++)
        n = *text == ',' ? n : 10 * n + (uint64_t)(*text - '0');
    return n;
}

/* "1,153 cycles, 0.000001 s": of the screen and of --report. */
static uint64_t screen_cycles(const char *text)
{
    static const char words[] = " cycles, ";

    for (const char *at = text; (at = strstr(at, words)); at++) {
        const char *begin = at, *after = at + strlen(words);

        while (begin > text && (isdigit((unsigned char)begin[-1]) || begin[-1] == ','))
            begin--;
        after += strspn(after, "0123456789.");
        if (begin < at && !strncmp(after, " s", 2) && !isalpha((unsigned char)after[2]))
            return number_at(begin);
    }
    return UINT64_MAX;
}

/* ---- promises ---- */

static int check_status(const struct group *g, const struct words *w, const struct ended *e,
                        const struct promise *p)
{
    if (e->signal == SIGALRM)
        say_wrong(g, WRONG_CRASH, w, "does not end");
    else if (e->code < 0)
        say_wrong(g, WRONG_CRASH, w, "signal %d", e->signal);
    else if (e->code != p->code)
        say_wrong(g, WRONG_STATUS, w, "exit status %d, expected %d: %s", e->code, p->code, e->err);
    else if (p->refused && !strstr(e->err, p->refused) && !strstr(e->out, p->refused))
        say_wrong(g, WRONG_STATUS, w, "its message does not name %s: %s", p->refused, e->err);
    else
        return 1;
    return 0;
}

/* All files of a list are well-formed; of what was refused none is there. */
static int check_files(const struct group *g, const struct words *w, const struct promise *p)
{
    char list[256], *rest = list;
    int good = 1;

    snprintf(list, sizeof(list), "%s", p->files ? p->files : "");
    for (char *name; (name = strtok_r(rest, " ", &rest));) {
        const char *why = check_file(g, name);
        int there = !why || strcmp(why, "is not there") != 0;

        if (!p->code && why)
            say_wrong(g, WRONG_LOST, w, "%s %s", name, why);
        else if (p->code && there)
            say_wrong(g, WRONG_LOST, w, "refused, and yet there is %s", name);
        else
            continue;
        good = 0;
    }
    return good;
}

/* y.npy, t.npy. */
static int check_values(const struct group *g, const struct words *w)
{
    unsigned outputs = 0;

    for (const char *c = g->out->output; *c; c++) {
        char name[] = { *c, '.', 'n', 'p', 'y', '\0' };
        struct op_tensor t;
        int good;

        if (*c == ',')
            continue;
        good = read_numbers(g, name, &t) && same_numbers(&t, &g->truth.value[outputs++]);
        op_tensor_free(&t);
        if (good)
            continue;
        say_wrong(g, WRONG_NUMBER, w, "%s is not that of the plain run", name);
        return 0;
    }
    return 1;
}

/* What screens and answers say of the fullest tile, if they do. */
static int is_fullest(const struct group *g, const struct promise *p, const char *text)
{
    static const char words[] = "the fullest has ";
    const char *at = strstr(text, words);
    uint64_t n = UINT64_MAX;

    if (!g->truth.known || !(p->has & HAS_CYCLES))
        return 1;
    if (p->has & HAS_JSON)
        n = json_number(text, "memory.max_tile_bytes");
    else if (at)
        n = number_at(at + strlen(words));
    return n == UINT64_MAX || n == g->truth.fullest;
}

static int check_numbers(const struct group *g, const struct words *w, const struct ended *e,
                         const struct promise *p)
{
    uint64_t cycles = p->has & HAS_JSON ? json_number(e->out, "cycles") : screen_cycles(e->out);

    if (p->has & HAS_CYCLES && cycles != g->truth.cycles) {
        say_wrong(g, WRONG_NUMBER, w, "%" PRIu64 " cycles, the plain run has %" PRIu64, cycles,
                  g->truth.cycles);
        return 0;
    }
    if (!is_fullest(g, p, e->out)) {
        say_wrong(g, WRONG_NUMBER, w, "the fullest tile has not %" PRIu64 " bytes",
                  g->truth.fullest);
        return 0;
    }
    if (p->has & HAS_DIGEST && !strstr(e->out, g->truth.digest)) {
        say_wrong(g, WRONG_NUMBER, w, "the digest is not %s", g->truth.digest);
        return 0;
    }
    return !(p->has & HAS_VALUES) || check_values(g, w);
}

int check_ended(const struct group *g, const struct words *w, const struct ended *e,
                const struct promise *p)
{
    if (!check_status(g, w, e, p) || !check_files(g, w, p))
        return 0;
    if (p->code)
        return 1;
    if (p->has & HAS_TEXT && !*e->out) {
        say_wrong(g, WRONG_LOST, w, "nothing is printed");
        return 0;
    }
    if (p->has & HAS_JSON && wrong_json(e->out)) {
        say_wrong(g, WRONG_LOST, w, "the answer is no JSON");
        return 0;
    }
    return check_numbers(g, w, e, p);
}
