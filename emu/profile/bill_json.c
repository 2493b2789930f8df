/* bill_json.c - bills and supersteps as JSON. */
#include "emu/profile/bill.h"

#include <jansson.h>

#include "emu/base/json_text.h"
#include "emu/bsp/record.h"

/* Only of systems of several chips: without them everything reads as it always did. */
static json_t *with_chips(json_t *o, const struct bill *b)
{
    if (!o || (!b->link && !b->outer))
        return o;
    if (!json_object_set_new(o, "link_cycles", json_integer((json_int_t)b->link)) &&
        !json_object_set_new(o, "outer_cycles", json_integer((json_int_t)b->outer)))
        return o;
    json_decref(o);
    return NULL;
}

json_t *ss_bill_json(const struct bill *b)
{
    json_t *o = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total_cycles", (json_int_t)b->total,
        "exchange_cycles", (json_int_t)b->exchange, "compute_cycles", (json_int_t)b->compute,
        "wait_cycles", (json_int_t)b->wait, "sync_cycles", (json_int_t)b->sync, "host_cycles",
        (json_int_t)b->host, "imbalance_cycles", (json_int_t)b->imbalance, "largest_compute_cycles",
        (json_int_t)b->largest_compute, "mean_compute_cycles", (json_int_t)b->mean_compute,
        "h_words", (json_int_t)b->h_words);

    return with_chips(o, b);
}

static json_t *tile_json(uint32_t tile, const struct tile_step *t)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:o*}", "tile", (int)tile, "exchange",
                     (int)t->exchange_cycles, "compute", (int)t->compute_cycles, "wait",
                     (int)t->wait_cycles, "words_in", (int)t->words_in, "words_out",
                     (int)t->words_out, "link",
                     t->link_cycles ? json_integer((json_int_t)t->link_cycles) : NULL);
}

/* NULL when out of memory. */
static json_t *tiles_json(const struct record *r, size_t i, const uint32_t *tile, size_t tiles)
{
    json_t *list = json_array();

    for (size_t k = 0; list && k < tiles; k++) {
        struct tile_step t = record_tile(r, i, tile[k]);

        if (!record_has_tile(r, i, tile[k]))
            continue;
        if (json_array_append_new(list, tile_json(tile[k], &t))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *step_json(const struct record *r, size_t i, const struct image *im,
                         const uint32_t *tile, size_t tiles)
{
    const struct record_step *s = record_at(r, i);
    struct bill b = ss_bill_of_step(r, i);
    struct bill_name name = ss_bill_name_of_step(r, i, im);

    return json_pack("{s:i, s:I, s:o, s:o, s:I, s:I, s:i, s:o, s:i, s:o}", "group", (int)s->group,
                     "superstep", (json_int_t)s->index, "operation", json_text(name.operation),
                     "scope", json_text(name.scope), "starts", (json_int_t)s->release, "ends",
                     (json_int_t)s->end, "tiles", (int)s->tiles, "bill", ss_bill_json(&b),
                     "slowest", (int)ss_bill_slowest_tile(r, i), "tile_steps",
                     tiles_json(r, i, tile, tiles));
}

json_t *ss_bill_steps_json(const struct record *r, const struct image *im, const uint32_t *tile,
                           size_t tiles)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < ss_bill_step_count(r); i++) {
        if (json_array_append_new(list, step_json(r, i, im, tile, tiles))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
