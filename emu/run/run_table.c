/* run_table.c - supersteps as tables: one line for each, or one for each of its tiles. */
#include <inttypes.h>

#include "emu/run/run_image.h"

static int takes_part(const struct run *r, const struct record_step *s, uint32_t tile)
{
    return machine_tile_used(r->machine, tile) && machine_tile_group(r->machine, tile) == s->group;
}

static void print_tile(const struct record_step *s, uint32_t tile, const struct tile_step *t,
                       FILE *f)
{
    fprintf(f,
            "%5u %9" PRIu64 " %12" PRIu64 " %6" PRIu32 " %10" PRIu32 " %10" PRIu32 " %10" PRIu32
            " %10" PRIu32 " %10" PRIu32 "\n",
            s->group, s->index, s->release, tile, t->exchange_cycles, t->compute_cycles,
            t->wait_cycles, t->words_in, t->words_out);
}

void run_print_steps(const struct run *r, const struct tile_list *tiles, FILE *f)
{
    record_print(r->record, f);
    if (!tiles || !tiles->count)
        return;
    fprintf(f, "\ncycles and words of every tile; a superstep lasts exchange + compute + wait\n");
    fprintf(f, "%5s %9s %12s %6s %10s %10s %10s %10s %10s\n", "group", "superstep", "starts",
            "tile", "exchange", "compute", "wait", "words_in", "words_out");
    for (size_t i = 0; i < record_count(r->record); i++) {
        const struct record_step *s = record_at(r->record, i);

        for (size_t k = 0; k < tiles->count; k++) {
            uint32_t tile = tiles->tile[k];
            struct tile_step t;

            if (!takes_part(r, s, tile))
                continue;
            t = record_tile(r->record, i, tile);
            print_tile(s, tile, &t, f);
        }
    }
}

/* ---- the same as JSON ---- */

static json_t *tile_json(uint32_t tile, const struct tile_step *t)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "tile", (int)tile, "exchange",
                     (int)t->exchange_cycles, "compute", (int)t->compute_cycles, "wait",
                     (int)t->wait_cycles, "words_in", (int)t->words_in, "words_out",
                     (int)t->words_out);
}

static json_t *step_json(const struct run *r, size_t i, const struct tile_list *tiles)
{
    const struct record_step *s = record_at(r->record, i);
    json_t *list = json_array();

    for (size_t k = 0; tiles && k < tiles->count; k++) {
        struct tile_step t;

        if (!takes_part(r, s, tiles->tile[k]))
            continue;
        t = record_tile(r->record, i, tiles->tile[k]);
        json_array_append_new(list, tile_json(tiles->tile[k], &t));
    }
    return json_pack("{s:i, s:I, s:I, s:I, s:i, s:o}", "group", (int)s->group, "superstep",
                     (json_int_t)s->index, "starts", (json_int_t)s->release, "ends",
                     (json_int_t)s->end, "tiles", (int)s->tiles, "tile_steps", list);
}

json_t *run_steps_json(const struct run *r, const struct tile_list *tiles)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < record_count(r->record); i++) {
        if (json_array_append_new(list, step_json(r, i, tiles))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}
