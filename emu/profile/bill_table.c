/* bill_table.c - supersteps as tables: one line for each, or one for each of its tiles. */
#include <inttypes.h>

#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/profile/bill.h"

/* chips: the run joins several. */
static void print_parts(const struct bill *b, uint64_t cycles, int chips, FILE *f)
{
    const struct {
        uint64_t cycles;
        int of_chips;
    } part[] = { { cycles, 0 },  { b->exchange, 0 }, { b->link, 1 },  { b->compute, 0 },
                 { b->wait, 0 }, { b->sync, 0 },     { b->outer, 1 }, { b->imbalance, 0 } };

    for (size_t i = 0; i < EMU_COUNT_OF(part); i++) {
        if (chips || !part[i].of_chips)
            fprintf(f, " %10" PRIu64, part[i].cycles);
    }
}

/* w, the mean of w, and h. */
static void print_model(const struct bill *b, FILE *f)
{
    fprintf(f, " %10" PRIu64 " %10" PRIu64 " %9" PRIu64, b->largest_compute, b->mean_compute,
            b->h_words);
}

static void print_step(const struct record *r, size_t i, const struct image *im, int chips, FILE *f)
{
    const struct record_step *s = record_at(r, i);
    struct bill b = ss_bill_of_step(r, i);
    struct bill_name name = ss_bill_name_of_step(r, i, im);

    fprintf(f, "%5u %9" PRIu64 " %12" PRIu64, s->group, s->index, s->release);
    print_parts(&b, s->end - s->release, chips, f);
    fprintf(f, " %8" PRIu32, ss_bill_slowest_tile(r, i));
    print_model(&b, f);
    if (*name.operation)
        fprintf(f, "  %s", name.operation);
    fprintf(f, "\n");
}

static void print_sum(const struct record *r, unsigned group, int chips, FILE *f)
{
    struct bill b = ss_bill_of_group(r, group);

    if (!b.total)
        return;
    fprintf(f, "%5u %9s %12s", group, "all", "");
    print_parts(&b, b.total - b.host, chips, f);
    fprintf(f, " %8s", "");
    print_model(&b, f);
    fprintf(f, "\n");
}

static void print_headings(int chips, FILE *f)
{
    fprintf(f, "%5s %9s %12s %10s %10s", "group", "superstep", "starts", "cycles", "exchange");
    if (chips)
        fprintf(f, " %10s", "link");
    fprintf(f, " %10s %10s %10s", "compute", "wait", "sync");
    if (chips)
        fprintf(f, " %10s", "outer");
    fprintf(f, " %10s %8s %10s %10s %9s\n", "imbalance", "slowest", "w", "mean_w", "h_words");
}

void ss_bill_print_steps(const struct record *r, const struct image *im, FILE *f)
{
    int chips = ss_bill_joins_chips(r);

    fprintf(f,
            "cycles of every superstep: exchange + %scompute + wait + sync%s; imbalance is a part "
            "of compute; w is the most that one tile computes, h the most words that one sends or "
            "receives\n",
            chips ? "link + " : "", chips ? " + outer" : "");
    print_headings(chips, f);
    for (size_t i = 0; i < ss_bill_step_count(r); i++)
        print_step(r, i, im, chips, f);
    for (unsigned g = 0; g < MACHINE_MAX_GROUPS; g++)
        print_sum(r, g, chips, f);
}

static void print_tile(const struct record_step *s, uint32_t tile, const struct tile_step *t,
                       int chips, FILE *f)
{
    fprintf(f, "%5u %9" PRIu64 " %12" PRIu64 " %6" PRIu32 " %10" PRIu32, s->group, s->index,
            s->release, tile, t->exchange_cycles);
    if (chips)
        fprintf(f, " %10" PRIu32, t->link_cycles);
    fprintf(f, " %10" PRIu32 " %10" PRIu32 " %10" PRIu32 " %10" PRIu32 "\n", t->compute_cycles,
            t->wait_cycles, t->words_in, t->words_out);
}

void ss_bill_print_tiles(const struct record *r, const uint32_t *tile, size_t tiles, FILE *f)
{
    int chips = ss_bill_joins_chips(r);

    fprintf(f, "cycles and words of every tile; a superstep lasts exchange + %scompute + wait\n",
            chips ? "link + " : "");
    fprintf(f, "%5s %9s %12s %6s %10s", "group", "superstep", "starts", "tile", "exchange");
    if (chips)
        fprintf(f, " %10s", "link");
    fprintf(f, " %10s %10s %10s %10s\n", "compute", "wait", "words_in", "words_out");
    for (size_t i = 0; i < ss_bill_step_count(r); i++) {
        for (size_t k = 0; k < tiles; k++) {
            struct tile_step t = record_tile(r, i, tile[k]);

            if (record_has_tile(r, i, tile[k]))
                print_tile(record_at(r, i), tile[k], &t, chips, f);
        }
    }
}
