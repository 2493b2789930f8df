/* profile_table.c - rows of queries as text, CSV and JSON. */
#include "emu/profile/profile_table.h"

#include <inttypes.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"

/* ---- for people ---- */

struct table_cell {
    char *text; /* owned */
    int number; /* stands on the right */
};

/* A table that is wholly known before it is printed. */
struct text_table {
    struct table_cell *cell; /* owned; the names of the columns first */
    size_t cells, cap;
    unsigned columns;
};

static enum emu_status add_cell(struct text_table *t, const char *text, int number)
{
    TRY(emu_grow((void **)&t->cell, t->cells, &t->cap, sizeof(*t->cell)));
    t->cell[t->cells] = (struct table_cell){ emu_strdup(text), number };
    return t->cell[t->cells++].text ? EMU_OK : FAIL(NO_MEMORY, "a table");
}

static enum emu_status add_names(struct text_table *t, const struct profile_cursor *c)
{
    for (unsigned i = 0; i < profile_columns(c); i++) {
        if (profile_is_shown(c, i))
            TRY(add_cell(t, profile_column(c, i), 0));
    }
    t->columns = (unsigned)t->cells;
    return EMU_OK;
}

static enum emu_status add_row(void *ctx, const struct profile_cursor *c)
{
    struct text_table *t = ctx;

    if (!t->columns)
        TRY(add_names(t, c));
    for (unsigned i = 0; i < profile_columns(c); i++) {
        enum profile_kind kind = profile_kind_of(c, i);

        if (!profile_is_shown(c, i))
            continue;
        TRY(add_cell(t, kind == PROFILE_NONE ? "-" : profile_text(c, i),
                     kind == PROFILE_INTEGER || kind == PROFILE_REAL));
    }
    return EMU_OK;
}

/* A column with a number in any row stands on the right, its name, too. */
static void print_column(const struct text_table *t, size_t row, unsigned column, FILE *f)
{
    const struct table_cell *c = &t->cell[row * t->columns + column];
    int width = 0, number = 0;

    for (size_t i = column; i < t->cells; i += t->columns) {
        int n = (int)strlen(t->cell[i].text);

        width = n > width ? n : width;
        number |= t->cell[i].number;
    }
    if (!number && column + 1 == t->columns)
        width = 0;
    fprintf(f, number ? "  %*s" : "  %-*s", width, c->text);
}

static void print_rows(const struct text_table *t, const char *title, FILE *f)
{
    if (!t->cells)
        return;
    fprintf(f, "\n%s\n", title);
    for (size_t row = 0; row < t->cells / t->columns; row++) {
        for (unsigned i = 0; i < t->columns; i++)
            print_column(t, row, i, f);
        fputc('\n', f);
    }
}

enum emu_status profile_print_table(struct profile *p, const char *title, const char *sql, FILE *f)
{
    struct text_table t = { .cell = NULL };
    enum emu_status s = profile_query(p, sql, add_row, &t);

    if (s == EMU_OK)
        print_rows(&t, title, f);
    for (size_t i = 0; i < t.cells; i++)
        ss_free(t.cell[i].text);
    ss_free(t.cell);
    return s;
}

/* ---- CSV ---- */

struct csv {
    FILE *f;
    int began;
};

static void print_field(const char *text, int first, FILE *f)
{
    int quoted = strpbrk(text, ",\"\r\n") != NULL;

    fputs(first ? "" : ",", f);
    if (quoted)
        fputc('"', f);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', f);
        fputc(*text, f);
    }
    fputs(quoted ? "\"" : "", f);
}

/* The shown columns, by text(). */
static void print_line(const struct profile_cursor *c,
                       const char *(*text)(const struct profile_cursor *, unsigned), FILE *f)
{
    int first = 1;

    for (unsigned i = 0; i < profile_columns(c); i++) {
        if (!profile_is_shown(c, i))
            continue;
        print_field(text(c, i), first, f);
        first = 0;
    }
    fputc('\n', f);
}

static enum emu_status print_csv_row(void *ctx, const struct profile_cursor *c)
{
    struct csv *x = ctx;

    if (!x->began)
        print_line(c, profile_column, x->f);
    x->began = 1;
    print_line(c, profile_text, x->f);
    return EMU_OK;
}

enum emu_status profile_print_csv(struct profile *p, const char *sql, FILE *f)
{
    struct csv x = { .f = f };

    return profile_query(p, sql, print_csv_row, &x);
}

/* ---- JSON ---- */

/* Names may have any bytes: what is no text is left out. */
json_t *profile_cell_json(const struct profile_cursor *c, unsigned i)
{
    json_t *text;

    switch (profile_kind_of(c, i)) {
    case PROFILE_INTEGER:
        return json_integer((json_int_t)profile_integer(c, i));
    case PROFILE_REAL:
        return json_real(profile_real(c, i));
    case PROFILE_NONE:
        return json_null();
    default:
        text = json_text(profile_text(c, i));
        return text ? text : json_string("");
    }
}

static enum emu_status add_object(void *ctx, const struct profile_cursor *c)
{
    json_t *o = json_object();

    for (unsigned i = 0; i < profile_columns(c); i++) {
        if (profile_is_shown(c, i) &&
            json_object_set_new(o, profile_column(c, i), profile_cell_json(c, i))) {
            json_decref(o);
            return FAIL(NO_MEMORY, "the answer");
        }
    }
    return json_array_append_new(ctx, o) ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

enum emu_status profile_rows_json(struct profile *p, const char *sql, json_t **out)
{
    enum emu_status s;

    *out = json_array();
    s = *out ? profile_query(p, sql, add_object, *out) : FAIL(NO_MEMORY, "the answer");
    if (s == EMU_OK)
        return EMU_OK;
    json_decref(*out);
    *out = NULL;
    return s;
}

/* ---- sections ---- */

enum emu_status profile_print_sections(struct profile *p, const struct profile_section *s, size_t n,
                                       FILE *f)
{
    for (size_t i = 0; i < n; i++)
        TRY(profile_print_table(p, s[i].title, s[i].sql, f));
    return EMU_OK;
}

enum emu_status profile_put_sections(struct profile *p, const struct profile_section *s, size_t n,
                                     json_t *o)
{
    for (size_t i = 0; i < n; i++) {
        json_t *rows;

        TRY(profile_rows_json(p, s[i].all ? s[i].all : s[i].sql, &rows));
        if (json_object_set_new(o, s[i].key, rows))
            return FAIL(NO_MEMORY, "the answer");
    }
    return EMU_OK;
}

enum emu_status profile_object_json(struct profile *p, profile_fill *put, json_t **out)
{
    enum emu_status s;

    *out = json_object();
    s = *out ? put(p, *out) : FAIL(NO_MEMORY, "the answer");
    if (s == EMU_OK)
        return EMU_OK;
    json_decref(*out);
    *out = NULL;
    return s;
}
