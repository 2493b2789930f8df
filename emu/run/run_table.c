/* run_table.c - supersteps as tables: one line for each, or one for each of its tiles. */
#include <inttypes.h>

#include "emu/run/run_image.h"

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

            if (!machine_tile_used(r->machine, tile) ||
                machine_tile_group(r->machine, tile) != s->group)
                continue;
            t = record_tile(r->record, i, tile);
            print_tile(s, tile, &t, f);
        }
    }
}
