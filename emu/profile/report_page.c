/* report_page.c - the page of emu/profile/page: its style, its scripts, and the data that these
 * draw, each in the place of its mark. */
#include "emu/profile/report_page.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/embedded.h"
#include "emu/base/json_text.h"
#include "emu/profile/colours.h"
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
            bad = json_array_append_new(t->columns, json_text(profile_column(c, i)));
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
    TRY(put_table(p, o, "tiles",
                  "SELECT tile, sync_group, \"row\", \"column\", used_bytes, exchange, link, "
                  "compute, wait, words_in, words_out, messages_in, messages_out FROM tiles "
                  "ORDER BY tile"));
    tiles = json_object_get(o, "tiles");
    t.rows = json_object_get(tiles, "rows");
    t.column = json_array_size(json_object_get(tiles, "columns"));
    json_array_append_new(json_object_get(tiles, "columns"), json_string("categories"));
    json_array_foreach(t.rows, i, row) json_array_append_new(row, json_array());
    return profile_query(p, "SELECT tile, category, bytes FROM tile_bytes ORDER BY tile", fill_tile,
                         &t);
}

/* ---- a run ---- */

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

/* The texts of the table names: id 1 first. */
static enum emu_status put_names(struct profile *p, json_t *o)
{
    json_t *names = json_array();

    if (json_object_set_new(o, "names", names))
        return FAIL(NO_MEMORY, "a page");
    return profile_query(p, "SELECT text FROM names ORDER BY id", add_category, names);
}

static const struct {
    const char *key, *sql;
} tables[] = {
    { "options", "SELECT name, value FROM options" },
    { "supersteps",
      "SELECT supersteps.id, sync_group, number, starts, ends, tiles, joins, host, exchange, "
      "link, compute, wait, sync, \"outer\", "
      "imbalance, largest_compute, mean_compute, h_words, words_in, words_out, messages_in, "
      "messages_out, exchange_id, slowest_tile, text AS operation, scope, layer FROM supersteps "
      "JOIN names ON names.id = operation ORDER BY supersteps.id" },
    { "layers",
      "SELECT *, reason(exchange, compute, imbalance, sync, bound, supersteps) AS why FROM layers "
      "ORDER BY layer" },
    { "operations",
      "SELECT name, reason(sum(exchange), sum(compute), sum(imbalance), sum(sync), 0, count(*)) AS "
      "why FROM (SELECT CASE WHEN scope <> '' THEN scope WHEN text <> '' THEN text ELSE "
      "'(no name)' END AS name, exchange, compute, imbalance, sync FROM supersteps JOIN names ON "
      "names.id = operation WHERE sync_group = 0) GROUP BY name" },
    { "faults", "SELECT * FROM faults" },
    { "saturations", "SELECT * FROM saturations ORDER BY superstep" },
    { "streams", "SELECT * FROM streams ORDER BY stream" },
    { "transfers", "SELECT * FROM transfers ORDER BY rowid LIMIT 20000" },
    { "program",
      "SELECT position, step, superstep, kind, text AS name, fullest_tile, fullest_bytes FROM "
      "program JOIN names ON id = name ORDER BY position" },
    { "lifetimes", "SELECT * FROM lifetimes" },
    { "needs", "SELECT * FROM tile_needs ORDER BY need_bytes DESC, tile" },
    { "peaks",
      "SELECT tile, o.text AS owner, c.text AS category, bytes FROM peak_owners p JOIN names o ON "
      "o.id = owner JOIN names c ON c.id = category ORDER BY p.rowid" },
    { "advice", "SELECT text FROM advice ORDER BY chip, position" },
};

static enum emu_status put_run(struct profile *p, json_t *o)
{
    TRY(put_pairs(p, o, "meta", "SELECT key, value FROM meta"));
    TRY(put_pairs(p, o, "machine", "SELECT field, value FROM machine"));
    TRY(put_names(p, o));
    TRY(put_tiles(p, o));
    for (size_t i = 0; i < EMU_COUNT_OF(tables); i++)
        TRY(put_table(p, o, tables[i].key, tables[i].sql));
    return EMU_OK;
}

/* What joins the chips of a system. */
static const struct {
    const char *key, *sql;
} system_tables[] = {
    { "chips", "SELECT * FROM chips ORDER BY chip" },
    { "outer_syncs", "SELECT * FROM outer_syncs ORDER BY outer_sync" },
    { "links",
      "SELECT kind, chip, sum(bytes) AS bytes, sum(busy_cycles) AS busy_cycles FROM link_loads "
      "GROUP BY kind, chip ORDER BY busy_cycles DESC, kind, chip" },
};

static enum emu_status put_system(struct profile *p, json_t *o)
{
    json_t *system = json_object();

    if (json_object_set_new(o, "system", system))
        return FAIL(NO_MEMORY, "a page");
    for (size_t i = 0; i < EMU_COUNT_OF(system_tables); i++)
        TRY(put_table(p, system, system_tables[i].key, system_tables[i].sql));
    return EMU_OK;
}

/* ---- the page ---- */

enum { PAGE_CHIPS = 16 /* of a system, the first of which have views */ };

/* A page being written. */
struct page {
    struct profile *run[2]; /* the second may be NULL */
    json_t *data;           /* owned: a list of runs */
    FILE *f;
};

static void print_embedded(const char *const *file, FILE *f)
{
    for (; *file; file++) {
        const struct embedded_file *e = embedded_find(*file);

        EMU_ASSERT(e);
        fputs((const char *)e->data, f);
    }
}

static enum emu_status print_style(struct page *x)
{
    static const char *const file[] = { "emu/profile/page/page.css", NULL };

    print_embedded(file, x->f);
    return EMU_OK;
}

static enum emu_status print_colours(struct page *x)
{
    colours_print_css(x->f);
    return EMU_OK;
}

/* In the order in which one uses what another declares. */
static enum emu_status print_script(struct page *x)
{
#define PAGE(name) "emu/profile/page/" name ".js"
    static const char *const file[] = { PAGE("data"),    PAGE("draw"),
                                        PAGE("summary"), PAGE("system"),
                                        PAGE("oom"),     PAGE("compare"),
                                        PAGE("floor"),   PAGE("tile"),
                                        PAGE("memory"),  PAGE("time"),
                                        PAGE("layers"),  PAGE("traffic"),
                                        PAGE("main"),    NULL };
#undef PAGE

    print_embedded(file, x->f);
    return EMU_OK;
}

/* The rows of a run, or of the chosen chip of it, under the name of its blobs. */
static enum emu_status print_run(struct page *x, struct profile *p, const char *letter, json_t **o)
{
    json_t *lists;
    enum emu_status s = report_blobs_write(p, letter, &lists, x->f);

    *o = json_pack("{s:s}", "letter", letter);
    if (json_object_set_new(*o, "lists", lists) && s == EMU_OK)
        s = FAIL(NO_MEMORY, "a page");
    if (json_array_append_new(x->data, *o) && s == EMU_OK)
        s = FAIL(NO_MEMORY, "a page");
    TRY(s);
    return put_run(p, *o);
}

/* A system: each chip as if it was alone, and, with the first, what joins them. */
static enum emu_status print_system(struct page *x, struct profile *p, char letter, uint32_t chips)
{
    for (uint32_t chip = 0; chip < chips && chip < PAGE_CHIPS; chip++) {
        char name[16];
        json_t *o;

        snprintf(name, sizeof(name), "%c%u", letter, chip);
        TRY(profile_choose_chip(p, chip));
        TRY(print_run(x, p, name, &o));
        if (!chip)
            TRY(put_system(p, o));
    }
    return profile_choose_chip(p, PROFILE_ALL_CHIPS);
}

static enum emu_status print_blobs(struct page *x)
{
    for (int i = 0; i < 2 && x->run[i]; i++) {
        uint32_t chips = profile_chips(x->run[i]);
        char letter[2] = { (char)('A' + i) };
        json_t *o;

        TRY(chips > 1 ? print_system(x, x->run[i], letter[0], chips)
                      : print_run(x, x->run[i], letter, &o));
    }
    return EMU_OK;
}

/* Inside a script element a '<' could end it. */
enum emu_status page_print_data(const json_t *data, FILE *f)
{
    char *json = json_dumps(data, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_PRESERVE_ORDER);

    if (!json)
        return FAIL(NO_MEMORY, "a page");
    for (const char *c = json; *c; c++) {
        if (*c == '<')
            fputs("\\u003c", f);
        else
            fputc(*c, f);
    }
    free(json); /* allocated by jansson */
    return EMU_OK;
}

static enum emu_status print_data(struct page *x)
{
    return page_print_data(x->data, x->f);
}

static enum emu_status print_page(struct page *x)
{
    static const struct {
        const char *mark;
        enum emu_status (*print)(struct page *x);
    } part[] = { { "@COLOURS@", print_colours },
                 { "@STYLE@", print_style },
                 { "@BLOBS@", print_blobs },
                 { "@DATA@", print_data },
                 { "@SCRIPT@", print_script } };
    const struct embedded_file *page = embedded_find("emu/profile/page/page.html");
    const char *text = page ? (const char *)page->data : "";

    for (size_t i = 0; i < EMU_COUNT_OF(part); i++) {
        const char *at = strstr(text, part[i].mark);

        EMU_ASSERT(at);
        fwrite(text, 1, (size_t)(at - text), x->f);
        TRY(part[i].print(x));
        text = at + strlen(part[i].mark);
    }
    fputs(text, x->f);
    return EMU_OK;
}

enum emu_status report_page_write(struct profile *a, struct profile *b, FILE *f)
{
    struct page x = { .run = { a, b }, .data = json_array(), .f = f };
    enum emu_status s = x.data ? print_page(&x) : FAIL(NO_MEMORY, "a page");

    json_decref(x.data);
    return s;
}
