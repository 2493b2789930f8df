/* report_json.c - the memory of a compiled program as one JSON object, in the order of the text
 * report. Units stand in the keys.
 */
#include "emu/base/json_text.h"
#include "programs/compiler/report/memory_report.h"
#include "programs/compiler/report/memory_advice.h"

enum { OWNERS_LISTED = 16 };

static json_t *integer(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* Takes value; 0 when it, or the key, could not be stored. */
static int put(json_t *o, const char *key, json_t *value)
{
    return json_object_set_new(o, key, value) == 0;
}

static json_t *total_json(const struct memory_report *a, const struct category_total *c)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "total_bytes", (json_int_t)c->bytes, "mean_bytes",
                     (json_int_t)(c->bytes / (a->tiles ? a->tiles : 1)), "max_bytes",
                     (json_int_t)c->most, "max_tile", (json_int_t)c->most_tile);
}

static json_t *categories_json(const struct memory_report *a)
{
    json_t *o = json_object();

    for (int i = 0; o && i < CATEGORY_COUNT; i++)
        if (!put(o, category_name((enum category)i), total_json(a, &a->category[i]))) {
            json_decref(o);
            return NULL;
        }
    return o;
}

static json_t *tile_categories(const uint64_t *bytes)
{
    json_t *o = json_object();

    for (int i = 0; o && i < CATEGORY_COUNT; i++)
        if (bytes[i] && !put(o, category_name((enum category)i), integer(bytes[i]))) {
            json_decref(o);
            return NULL;
        }
    return o;
}

static json_t *owners_json(const struct memory_report *a, uint32_t tile)
{
    struct owner_bytes *o = NULL;
    json_t *list = json_array();
    size_t n = 0;
    int bad = !list || memory_report_owners(a, tile, &o, &n) != EMU_OK;

    for (size_t i = 0; i < n && i < OWNERS_LISTED && !bad; i++)
        bad = json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "owner", o[i].owner,
                                                    "category", category_name(o[i].category),
                                                    "bytes", (json_int_t)o[i].bytes));
    ss_free(o);
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *tile_json(const struct memory_report *a, uint32_t tile)
{
    const struct tile_place *p = &a->c->place.tile[tile];
    const struct tile_usage *t = &a->tile[tile];
    json_t *o = json_object();
    char moment[160];
    int good;

    describe_step(a->c->lowered, p->peak_step, moment, sizeof(moment));
    good = o && put(o, "tile", integer(a->c->lowered->used_tile[tile])) &&
           put(o, "fits", json_boolean(tile_fits(a, tile))) &&
           put(o, "used_bytes", integer(t->used)) && put(o, "gap_bytes", integer(t->gap)) &&
           put(o, "free_bytes", integer(t->free)) && put(o, "need_bytes", integer(p->need_bytes)) &&
           put(o, "code_bytes", integer(p->code_bytes)) &&
           put(o, "by_category", tile_categories(t->category)) &&
           put(o, "peak_operation", integer(p->peak_step)) && put(o, "peak", json_text(moment)) &&
           put(o, "peak_bytes", integer(p->peak_bytes)) &&
           put(o, "peak_by_category", tile_categories(t->peak)) &&
           put(o, "peak_owners", owners_json(a, tile));
    if (good)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *tiles_json(const struct memory_report *a)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list && i < a->fullest_count; i++)
        if (json_array_append_new(list, tile_json(a, a->fullest[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* ---- out of memory ---- */

static json_t *over_json(const struct memory_report *a)
{
    struct over_tile *o = shortage_tiles(a);
    json_t *list = json_array();
    int bad = !o || !list;

    for (uint32_t i = 0; i < a->over && !bad; i++)
        bad = json_array_append_new(list, json_pack("{s:I, s:I, s:I}", "tile",
                                                    (json_int_t)a->c->lowered->used_tile[o[i].tile],
                                                    "need_bytes", (json_int_t)o[i].need_bytes,
                                                    "code_bytes", (json_int_t)o[i].code_need));
    ss_free(o);
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *advice_json(const struct memory_report *a)
{
    struct advice v;
    json_t *list = json_array();
    int bad = !list;

    bad |= shortage_advice(a, &v) != EMU_OK;
    for (size_t i = 0; i < v.line.count && !bad; i++)
        bad = json_array_append_new(list, json_text(v.line.at[i]));
    advice_free(&v);
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

/* All tiles that fit, by bytes used; the last byte of a bin belongs to it. */
static json_t *histogram_json(const struct memory_report *a)
{
    uint32_t bin[REPORT_BINS];
    uint64_t width = memory_report_histogram(a, bin);
    json_t *list = json_array();

    for (unsigned i = 0; list && i < REPORT_BINS; i++) {
        json_t *o = json_pack("{s:I, s:I, s:I}", "from_bytes", (json_int_t)(i * width), "to_bytes",
                              (json_int_t)((i + 1) * width - 1), "tiles", (json_int_t)bin[i]);

        if (json_array_append_new(list, o)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *report_json(const struct memory_report *a)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    json_t *o = json_object();
    uint64_t need = 0, code = 0;
    int good;

    for (uint32_t t = 0; t < a->tiles; t++) {
        const struct tile_place *p = &a->c->place.tile[t];

        need = p->need_bytes > need ? p->need_bytes : need;
        code = p->code_need > code ? p->code_need : code;
    }
    good = o && put(o, "fits", json_boolean(!a->over)) && put(o, "tiles_used", integer(a->tiles)) &&
           put(o, "tile_bytes", integer(arch->mem_bytes)) &&
           put(o, "max_tile_bytes", integer(a->used.most)) &&
           put(o, "mean_tile_bytes", integer(a->used.bytes / (a->tiles ? a->tiles : 1))) &&
           put(o, "total_bytes", integer(a->used.bytes)) &&
           put(o, "gap_bytes", integer(a->gap.bytes)) &&
           put(o, "free_bytes", integer(a->free.bytes)) && put(o, "need_bytes", integer(need)) &&
           put(o, "code_need_bytes", integer(code)) && put(o, "by_category", categories_json(a)) &&
           put(o, "histogram", histogram_json(a)) && put(o, "tiles", tiles_json(a)) &&
           put(o, "tiles_over", over_json(a)) && put(o, "advice", advice_json(a));
    if (good)
        return o;
    json_decref(o);
    return NULL;
}

static json_t *chip_json(const struct compiled *c)
{
    struct memory_report a;
    json_t *o = memory_report_init(c, &a) == EMU_OK ? report_json(&a) : NULL;

    memory_report_free(&a);
    return o;
}

/* Of several chips: what is said of all, and the report of each. */
static json_t *chips_json(const struct compiled *c)
{
    json_t *o = json_object(), *list = json_array();
    int good = list != NULL;

    for (uint32_t k = 0; good && k < c->chips; k++)
        good = !json_array_append_new(list, chip_json(c->chip[k]));
    if (o && good && put(o, "fits", json_boolean(ss_compiled_fits(c))) &&
        put(o, "need_bytes", integer(ss_compiled_need_bytes(c))) &&
        put(o, "code_need_bytes", integer(ss_compiled_code_bytes(c))) &&
        !json_object_set(o, "chips", list)) {
        json_decref(list);
        return o;
    }
    json_decref(list);
    json_decref(o);
    return NULL;
}

json_t *ss_compiled_report_json(const struct compiled *c)
{
    return c && c->chips > 1 ? chips_json(c) : chip_json(c);
}
