/* memory_facts.c - the report of the compiler, or the one that was kept: { "report": text,
 * "memory": object, "tiles": [[tile, bytes of each category, ...], ...] }. */
#include "models/answer/memory_facts.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/fail.h"

enum { CATEGORIES_MAX = 64 };

static unsigned categories(void)
{
    unsigned n = 0;

    while (ss_compiled_category(n))
        n++;
    EMU_ASSERT(n <= CATEGORIES_MAX);
    return n;
}

/* ---- answers ---- */

/* Adds a number of one chip to that of all: to the sum, or the larger of both. 0: no memory. */
static int join_number(json_t *all, const char *key, const json_t *chip, int is_sum)
{
    json_int_t a = json_integer_value(json_object_get(all, key)),
               b = json_integer_value(json_object_get(chip, key));

    return !json_object_set_new(all, key, json_integer(is_sum ? a + b : a > b ? a : b));
}

/* Bytes on all tiles are added, those of the fullest tile are the largest. */
static int join_categories(json_t *all, json_t *chip)
{
    json_t *category, *number, *sum;
    const char *name, *key;
    int good = 1;

    json_object_foreach(chip, name, category)
    {
        sum = json_object_get(all, name);
        if (!sum)
            good = good && !json_object_set_new(all, name, json_object());
        sum = json_object_get(all, name);
        json_object_foreach(category, key, number)
        {
            good = good && (!json_is_integer(number) ||
                            join_number(sum, key, category, !strcmp(key, "total_bytes")));
        }
    }
    return good;
}

/* Of several chips, all together beside the list of them. */
static json_t *join_chips(json_t *all)
{
    static const char *const sums[] = { "tiles_used", "total_bytes", "gap_bytes", "free_bytes" };
    json_t *chips = json_object_get(all, "chips"), *chip;
    int good = all != NULL;
    size_t i;

    if (good && chips)
        good = !json_object_set_new(all, "by_category", json_object());
    json_array_foreach(chips, i, chip)
    {
        for (size_t k = 0; k < EMU_COUNT_OF(sums); k++)
            good = good && join_number(all, sums[k], chip, 1);
        good = good && join_number(all, "tile_bytes", chip, 0) &&
               join_number(all, "max_tile_bytes", chip, 0) &&
               join_categories(json_object_get(all, "by_category"),
                               json_object_get(chip, "by_category"));
    }
    if (good)
        return all;
    json_decref(all);
    return NULL;
}

json_t *memory_facts_json(const struct memory_facts *m)
{
    return m->compiled ? join_chips(ss_compiled_report_json(m->compiled))
                       : json_deep_copy(json_object_get(m->kept, "memory"));
}

void memory_facts_print(const struct memory_facts *m, FILE *f)
{
    if (m->compiled)
        ss_compiled_report(m->compiled, f);
    else
        fputs(json_string_value(json_object_get(m->kept, "report")), f);
}

uint64_t memory_facts_need(const struct memory_facts *m)
{
    const json_t *o = json_object_get(m->kept, "memory");

    return m->compiled ? ss_compiled_need_bytes(m->compiled)
                       : (uint64_t)json_integer_value(json_object_get(o, "need_bytes"));
}

enum emu_status memory_facts_tiles(const struct memory_facts *m, tile_bytes_visit *visit, void *ctx)
{
    unsigned n = categories();
    json_t *tile;
    size_t i;

    if (m->compiled)
        return ss_compiled_tiles(m->compiled, visit, ctx);
    json_array_foreach(json_object_get(m->kept, "tiles"), i, tile)
    {
        uint64_t bytes[CATEGORIES_MAX];

        for (unsigned k = 0; k < n; k++)
            bytes[k] = (uint64_t)json_integer_value(json_array_get(tile, k + 1));
        visit(ctx, (uint32_t)json_integer_value(json_array_get(tile, 0)), bytes);
    }
    return EMU_OK;
}

/* ---- keeping them ---- */

static void add_tile(void *ctx, uint32_t tile, const uint64_t *bytes)
{
    json_t *row = json_pack("[I]", (json_int_t)tile);

    for (unsigned k = 0; k < categories(); k++)
        json_array_append_new(row, json_integer((json_int_t)bytes[k]));
    json_array_append_new(ctx, row);
}

static char *report_text(const struct compiled *c)
{
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);

    if (!f)
        return NULL;
    ss_compiled_report(c, f);
    if (!fclose(f))
        return text;
    free(text); /* allocated by open_memstream */
    return NULL;
}

json_t *memory_facts_pack(const struct compiled *c)
{
    json_t *tiles = json_array();
    char *report = report_text(c);
    json_t *o = report && ss_compiled_tiles(c, add_tile, tiles) == EMU_OK
                    ? json_pack("{s:s, s:o, s:O}", "report", report, "memory",
                                ss_compiled_report_json(c), "tiles", tiles)
                    : NULL;

    json_decref(tiles);
    free(report);
    return o;
}

static int is_tile(const json_t *row, uint32_t tiles)
{
    size_t n = json_array_size(row);
    int good = n == categories() + 1 && json_integer_value(json_array_get(row, 0)) < tiles;

    for (size_t k = 0; k < n && good; k++) {
        const json_t *v = json_array_get(row, k);

        good = json_is_integer(v) && json_integer_value(v) >= 0;
    }
    return good;
}

/* What the answers look for in the report as JSON. */
static int is_report(json_t *o)
{
    json_t *by = json_object_get(o, "by_category"), *category;
    int good = json_is_object(by);
    const char *name;

    json_object_foreach(by, name, category)
    {
        good = good && json_is_integer(json_object_get(category, "total_bytes"));
    }
    return good;
}

int memory_facts_unpack(json_t *o, uint32_t tiles, struct memory_facts *out)
{
    const json_t *list = json_object_get(o, "tiles"), *row;
    int good = json_is_string(json_object_get(o, "report")) &&
               is_report(json_object_get(o, "memory")) && json_is_array(list) &&
               json_array_size(list) <= tiles;
    size_t i;

    *out = (struct memory_facts){ .kept = o };
    json_array_foreach(list, i, row)
    {
        good = good && is_tile(row, tiles);
    }
    return good;
}

void memory_facts_free(struct memory_facts *m)
{
    json_decref(m->kept);
    *m = (struct memory_facts){ .compiled = NULL };
}
