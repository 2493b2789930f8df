/* report_blobs.c - numbers of tiles for the page: planes of supersteps, maps, objects, who sends to
 * whom (see report_page.h). Differences instead of addresses halve what is left of them. */
#include "emu/profile/report_page.h"

#include <inttypes.h>
#include <string.h>
#include <zlib.h>

#include "emu/base/alloc.h"

enum { TILES_PER_BLOB = 64, LEVEL = 6 /* of zlib */, NUMBERS_MAX = 1 << 28, TILES_MAX = 1 << 14 };
enum { MAP_PLANES = 4, OBJECT_PLANES = 5, PLANES_MAX = 8, LINK_PLANE = PROFILE_PLANES - 1 };

/* ---- elements ---- */

static void print_base64(const uint8_t *data, size_t bytes, FILE *f)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes; i += 3) {
        uint32_t v = (uint32_t)data[i] << 16;
        char text[4];

        v |= i + 1 < bytes ? (uint32_t)data[i + 1] << 8 : 0;
        v |= i + 2 < bytes ? data[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            text[k] = digit[v >> (18 - 6 * k) & 63];
        if (i + 1 >= bytes)
            text[2] = '=';
        if (i + 2 >= bytes)
            text[3] = '=';
        fwrite(text, 1, sizeof(text), f);
    }
}

static enum emu_status print_blob(const char *letter, const char *name, const uint32_t *number,
                                  size_t n, FILE *f)
{
    uLong bytes = n * sizeof(*number);
    uLongf packed = compressBound(bytes);
    uint8_t *data = emu_alloc(packed, 1);

    if (!data)
        return FAIL(NO_MEMORY, "a page");
    if (compress2(data, &packed, (const Bytef *)number, bytes, LEVEL) != Z_OK) {
        ss_free(data);
        return FAIL(NO_MEMORY, "a page");
    }
    fprintf(f, "<script type=\"application/octet-stream\" id=\"blob-%s-%s\">", letter, name);
    print_base64(data, packed, f);
    fputs("</script>\n", f);
    ss_free(data);
    return EMU_OK;
}

/* ---- columns that grow ---- */

struct columns {
    uint32_t *at[PLANES_MAX]; /* owned */
    size_t count, cap;
    unsigned planes;
};

static void columns_free(struct columns *c)
{
    for (unsigned k = 0; k < c->planes; k++)
        ss_free(c->at[k]);
}

/* Room for n more. */
static enum emu_status reserve(struct columns *c, size_t n)
{
    size_t cap = c->cap ? c->cap : 4096;

    if (n > NUMBERS_MAX || c->count > NUMBERS_MAX - n)
        return FAIL(BAD_FILE, "a profile that is too large for a page");
    while (cap < c->count + n)
        cap *= 2;
    if (cap == c->cap)
        return EMU_OK;
    for (unsigned k = 0; k < c->planes; k++) {
        uint32_t *grown = emu_realloc(c->at[k], cap, sizeof(*grown));

        if (!grown)
            return FAIL(NO_MEMORY, "a page");
        c->at[k] = grown;
    }
    c->cap = cap;
    return EMU_OK;
}

/* All columns, one after the other, as one element; empties them. */
static enum emu_status print_columns(const char *letter, const char *name, struct columns *c,
                                     FILE *f)
{
    uint32_t *all = emu_alloc(c->count * c->planes + 1, sizeof(*all));
    enum emu_status s;

    if (!all)
        return FAIL(NO_MEMORY, "a page");
    for (unsigned k = 0; k < c->planes && c->count; k++)
        memcpy(all + k * c->count, c->at[k], c->count * sizeof(*all));
    s = print_blob(letter, name, all, c->count * c->planes, f);
    ss_free(all);
    c->count = 0;
    return s;
}

/* ---- what all lists need ---- */

struct blobs {
    struct profile *p; /* borrowed, like f and lists */
    FILE *f;
    const char *letter; /* borrowed */
    json_t *lists;
    struct columns c;
    uint32_t *number; /* owned: a list as the profile has it */
    size_t cap;
    size_t row; /* tiles that were seen */
};

static enum emu_status unpack(struct blobs *b, const struct profile_cursor *c, unsigned column,
                              uint64_t n)
{
    if (n > NUMBERS_MAX)
        return FAIL(BAD_FILE, "%.200s: a damaged profile: a list of %" PRIu64 " numbers",
                    profile_path(b->p), n);
    if (n > b->cap) {
        ss_free(b->number);
        b->number = emu_alloc(n, sizeof(*b->number));
        b->cap = b->number ? n : 0;
        if (!b->number)
            return FAIL(NO_MEMORY, "a page");
    }
    return profile_numbers(c, column, b->number, n);
}

/* ---- supersteps ---- */

static enum emu_status add_superstep(void *ctx, const struct profile_cursor *c)
{
    struct blobs *b = ctx;
    uint64_t n = profile_integer(c, 0);

    if (n > TILES_MAX)
        return FAIL(BAD_FILE, "%.200s: a damaged profile: tiles of a superstep",
                    profile_path(b->p));
    TRY(unpack(b, c, 1, PROFILE_PLANES * n));
    TRY(reserve(&b->c, n));
    for (unsigned k = 0; k < PROFILE_PLANES; k++)
        memcpy(b->c.at[k] + b->c.count, b->number + k * n, n * sizeof(*b->number));
    b->c.count += n;
    return EMU_OK;
}

static enum emu_status print_supersteps(struct blobs *b)
{
    static const char *const name[PROFILE_PLANES] = { "exchange",     "compute",   NULL,
                                                      "words_in",     "words_out", "messages_in",
                                                      "messages_out", "link" };

    b->c = (struct columns){ .planes = PROFILE_PLANES };
    TRY(profile_query(b->p,
                      "SELECT tiles, cycles FROM supersteps JOIN superstep_tiles ON superstep = id "
                      "ORDER BY id",
                      add_superstep, b));
    for (unsigned k = 0; k < PROFILE_PLANES; k++) {
        if (name[k] && (k < LINK_PLANE || profile_chips(b->p) > 1))
            TRY(print_blob(b->letter, name[k], b->c.at[k], b->c.count, b->f));
    }
    return EMU_OK;
}

/* ---- lists of tiles ---- */

/* A list of one tile, whose first column are addresses. */
static enum emu_status add_list(struct blobs *b, const struct profile_cursor *c)
{
    uint64_t n = profile_integer(c, 0);
    uint32_t before = 0;

    if (!n || profile_is_none(c, 1))
        return EMU_OK;
    TRY(unpack(b, c, 1, n * b->c.planes));
    TRY(reserve(&b->c, n));
    for (unsigned k = 0; k < b->c.planes; k++)
        memcpy(b->c.at[k] + b->c.count, b->number + k * n, n * sizeof(*b->number));
    for (size_t i = 0; i < n; i++) {
        uint32_t *at = &b->c.at[0][b->c.count + i], address = *at;

        *at = address - before;
        before = address + b->number[n + i];
    }
    b->c.count += n;
    return EMU_OK;
}

static enum emu_status end_tile(struct blobs *b, const char *name, uint64_t entries, int last)
{
    json_t *counts = json_object_get(b->lists, name);
    char text[40];

    if (!last && json_array_append_new(counts, json_integer((json_int_t)entries)))
        return FAIL(NO_MEMORY, "a page");
    b->row += !last;
    if (last ? b->row % TILES_PER_BLOB == 0 : b->row % TILES_PER_BLOB != 0)
        return EMU_OK;
    snprintf(text, sizeof(text), "%s-%zu", name, (b->row - 1) / TILES_PER_BLOB);
    return print_columns(b->letter, text, &b->c, b->f);
}

static enum emu_status add_map(void *ctx, const struct profile_cursor *c)
{
    TRY(add_list(ctx, c));
    return end_tile(ctx, "maps", profile_integer(c, 0), 0);
}

static enum emu_status add_objects(void *ctx, const struct profile_cursor *c)
{
    TRY(add_list(ctx, c));
    return end_tile(ctx, "objects", profile_integer(c, 0), 0);
}

/* One list for each tile, in the order of the table tiles. */
static enum emu_status print_lists(struct blobs *b, const char *name, unsigned planes,
                                   const char *sql, profile_visit *visit)
{
    columns_free(&b->c);
    b->c = (struct columns){ .planes = planes };
    b->row = 0;
    if (json_object_set_new(b->lists, name, json_array()))
        return FAIL(NO_MEMORY, "a page");
    TRY(profile_query(b->p, sql, visit, b));
    return end_tile(b, name, 0, 1);
}

/* ---- who sends to whom ---- */

/* Turns a list of pairs into differences, in place. */
static void pair_differences(uint32_t *to, uint32_t *from, size_t n)
{
    uint32_t last_to = 0, last_from = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t t = to[i], s = from[i];

        to[i] = t - last_to;
        from[i] = s - last_from;
        last_to = t;
        last_from = s;
    }
}

static enum emu_status add_exchange(void *ctx, const struct profile_cursor *c)
{
    struct blobs *b = ctx;
    uint64_t n = profile_integer(c, 1);
    char name[40];

    if (n > NUMBERS_MAX / PROFILE_PAIR_PLANES)
        return FAIL(BAD_FILE, "%.200s: a damaged profile: pairs of an exchange",
                    profile_path(b->p));
    TRY(unpack(b, c, 2, n * PROFILE_PAIR_PLANES));
    pair_differences(b->number, b->number + n, n);
    snprintf(name, sizeof(name), "pairs-%" PRIu64, profile_integer(c, 0));
    return print_blob(b->letter, name, b->number, n * PROFILE_PAIR_PLANES, b->f);
}

static enum emu_status print_exchanges(struct blobs *b)
{
    return profile_query(b->p,
                         "SELECT exchange, pairs, list FROM exchanges WHERE exchange IN (SELECT "
                         "exchange_id FROM supersteps) ORDER BY exchange",
                         add_exchange, b);
}

/* ---- all of it ---- */

static enum emu_status print_all(struct blobs *b)
{
    TRY(print_supersteps(b));
    TRY(print_lists(b, "maps", MAP_PLANES,
                    "SELECT ifnull(ranges, 0), map FROM tiles LEFT JOIN tile_maps USING (tile) "
                    "ORDER BY tile",
                    add_map));
    TRY(print_lists(b, "objects", OBJECT_PLANES,
                    "SELECT ifnull(variables, 0), objects FROM tiles LEFT JOIN tile_variables "
                    "USING (tile) ORDER BY tile",
                    add_objects));
    return print_exchanges(b);
}

enum emu_status report_blobs_write(struct profile *p, const char *letter, json_t **lists, FILE *f)
{
    struct blobs b = { .p = p, .f = f, .letter = letter };
    enum emu_status s;

    *lists = b.lists = json_pack("{s:i}", "tiles_per_blob", TILES_PER_BLOB);
    s = b.lists ? print_all(&b) : FAIL(NO_MEMORY, "a page");
    columns_free(&b.c);
    ss_free(b.number);
    return s;
}
