/* report_page.c - the data of report_page.html, which draws them: JSON in the place of its mark. */
#include "emu/profile/report_page.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/profile/profile_table.h"

/* Tables are lists of rows in the order of their columns: names would be most of the file. */
struct table_rows {
    json_t *columns, *rows; /* borrowed */
};

static enum emu_status add_row(void *ctx, const struct profile_cursor *c)
{
    struct table_rows *t = ctx;
    json_t *row = json_array();
    int bad = !row;

    for (unsigned i = 0; i < profile_columns(c) && !bad; i++) {
        if (json_array_size(t->columns) == i)
            bad = json_array_append_new(t->columns, json_string(profile_column(c, i)));
        bad = bad || json_array_append_new(row, profile_cell_json(c, i));
    }
    return json_array_append_new(t->rows, row) || bad ? FAIL(NO_MEMORY, "a page") : EMU_OK;
}

static enum emu_status put_table(struct profile *p, json_t *o, const char *key, const char *sql)
{
    json_t *table = json_pack("{s:[], s:[]}", "columns", "rows");
    struct table_rows t = { json_object_get(table, "columns"), json_object_get(table, "rows") };

    if (json_object_set_new(o, key, table))
        return FAIL(NO_MEMORY, "a page");
    return profile_query(p, sql, add_row, &t);
}

/* ---- tiles ---- */

static enum emu_status add_category(void *ctx, const struct profile_cursor *c)
{
    return json_array_append_new(ctx, profile_cell_json(c, 0)) ? FAIL(NO_MEMORY, "a page") : EMU_OK;
}

/* Gives a tile its bytes in the order of the categories; rows come by tile. */
struct tile_filler {
    json_t *categories, *rows; /* borrowed */
    size_t row, column;        /* where the bytes stand */
};

static enum emu_status fill_tile(void *ctx, const struct profile_cursor *c)
{
    struct tile_filler *t = ctx;
    json_t *row = json_array_get(t->rows, t->row), *bytes;
    size_t n = json_array_size(t->categories), i = 0;

    while (row && json_integer_value(json_array_get(row, 0)) != (json_int_t)profile_integer(c, 0))
        row = json_array_get(t->rows, ++t->row);
    bytes = json_array_get(row, t->column);
    for (size_t k = bytes ? json_array_size(bytes) : n; k < n; k++)
        json_array_append_new(bytes, json_integer(0));
    while (i < n && strcmp(json_string_value(json_array_get(t->categories, i)), profile_text(c, 1)))
        i++;
    if (bytes && i < n)
        json_array_set_new(bytes, i, json_integer((json_int_t)profile_integer(c, 2)));
    return EMU_OK;
}

static enum emu_status put_tiles(struct profile *p, json_t *o)
{
    struct tile_filler t = { .categories = json_array() };
    json_t *tiles, *row;
    size_t i;

    if (json_object_set_new(o, "categories", t.categories))
        return FAIL(NO_MEMORY, "a page");
    TRY(profile_query(p,
                      "SELECT category FROM tile_bytes GROUP BY category ORDER BY sum(bytes) DESC",
                      add_category, t.categories));
    TRY(put_table(p, o, "tiles", "SELECT * FROM tiles ORDER BY tile"));
    tiles = json_object_get(o, "tiles");
    t.rows = json_object_get(tiles, "rows");
    t.column = json_array_size(json_object_get(tiles, "columns"));
    json_array_append_new(json_object_get(tiles, "columns"), json_string("categories"));
    json_array_foreach(t.rows, i, row) json_array_append_new(row, json_array());
    return profile_query(p, "SELECT tile, category, bytes FROM tile_bytes ORDER BY tile", fill_tile,
                         &t);
}

/* ---- all of it ---- */

static enum emu_status put_pair(void *ctx, const struct profile_cursor *c)
{
    json_object_set_new(ctx, profile_text(c, 0), profile_cell_json(c, 1));
    return EMU_OK;
}

static enum emu_status put_pairs(struct profile *p, json_t *o, const char *key, const char *sql)
{
    json_t *pairs = json_object();

    if (json_object_set_new(o, key, pairs))
        return FAIL(NO_MEMORY, "a page");
    return profile_query(p, sql, put_pair, pairs);
}

static enum emu_status put_all(struct profile *p, json_t *o)
{
    TRY(put_pairs(p, o, "meta", "SELECT key, value FROM meta"));
    TRY(put_pairs(p, o, "machine", "SELECT field, value FROM machine"));
    TRY(put_tiles(p, o));
    TRY(put_table(
        p, o, "supersteps",
        "SELECT number, starts, ends, host, supersteps.exchange, supersteps.compute, wait, "
        "supersteps.sync, supersteps.imbalance, largest_compute, h_words, slowest_tile, "
        "text AS operation, layers.name AS layer FROM supersteps JOIN names ON names.id "
        "= supersteps.operation LEFT JOIN layers USING (layer) WHERE sync_group = 0 "
        "ORDER BY supersteps.id"));
    TRY(put_table(p, o, "layers", "SELECT * FROM layers ORDER BY layer"));
    return put_table(p, o, "faults", "SELECT kind, text FROM faults");
}

/* Inside a script element a '<' could end it. */
static void print_data(const char *json, FILE *f)
{
    for (; *json; json++) {
        if (*json == '<')
            fputs("\\u003c", f);
        else
            fputc(*json, f);
    }
}

static enum emu_status print_page(const json_t *o, FILE *f)
{
    static const char mark[] = "@DATA@";
    const struct embedded_file *page = embedded_find("emu/profile/report_page.html");
    const char *text = page ? (const char *)page->data : "", *at = strstr(text, mark);
    char *json = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);

    EMU_ASSERT(at);
    if (!json)
        return FAIL(NO_MEMORY, "a page");
    fwrite(text, 1, (size_t)(at - text), f);
    print_data(json, f);
    fputs(at + strlen(mark), f);
    free(json); /* allocated by jansson */
    return EMU_OK;
}

enum emu_status report_page_write(struct profile *p, FILE *f)
{
    json_t *o = json_object();
    enum emu_status s = o ? put_all(p, o) : FAIL(NO_MEMORY, "a page");

    if (s == EMU_OK)
        s = print_page(o, f);
    json_decref(o);
    return s;
}
