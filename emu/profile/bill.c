/* bill.c - from the cycles of every tile to the parts of a superstep (see bill.h). */
#include "emu/profile/bill.h"

#include "emu/bsp/record.h"
#include "emu/load/image.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

size_t ss_bill_step_count(const struct record *r)
{
    return r ? record_count(r) : 0;
}

/* Whether the sync that ends a superstep joins several chips. */
static int is_outer(const struct record_step *s)
{
    return s->scope == SCOPE_REPLICA || s->scope == SCOPE_POD;
}

/* What a superstep costs before its last arrival: the work of a tile is its exchange, then what it
 * waits for words of other chips, then the rest. */
static uint64_t until_arrival(uint64_t cycles, const struct tile_step *t)
{
    return cycles < t->arrival_cycles ? cycles : t->arrival_cycles;
}

struct bill ss_bill_of_step(const struct record *r, size_t i)
{
    uint64_t arrived = 0, computed = 0, received = 0, mean;
    const struct record_step *s;
    struct bill b = { 0 };

    if (i >= ss_bill_step_count(r))
        return b;
    s = record_at(r, i);
    b.host = s->host_cycles;
    *(is_outer(s) ? &b.outer : &b.sync) = s->sync_cycles;
    for (uint32_t k = 0; k < s->tiles; k++) {
        uint32_t tile;
        struct tile_step t = record_tile_at(r, i, k, &tile);

        b.exchange = larger(b.exchange, until_arrival(t.exchange_cycles, &t));
        received = larger(received, until_arrival((uint64_t)t.exchange_cycles + t.link_cycles, &t));
        arrived = larger(arrived, t.arrival_cycles);
        computed += t.compute_cycles;
        b.largest_compute = larger(b.largest_compute, t.compute_cycles);
        b.h_words = larger(b.h_words, larger(t.words_in, t.words_out));
        b.words_in += t.words_in;
        b.words_out += t.words_out;
    }
    mean = computed / (s->tiles ? s->tiles : 1);
    b.mean_compute = mean;
    b.link = received - b.exchange;
    b.compute = arrived - received;
    b.imbalance = b.compute > mean ? b.compute - mean : 0;
    b.wait = s->end - s->release - s->sync_cycles - arrived;
    b.total = b.host + b.exchange + b.link + b.compute + b.wait + b.sync + b.outer;
    return b;
}

void ss_bill_add(struct bill *sum, const struct bill *b)
{
    sum->total += b->total;
    sum->host += b->host;
    sum->exchange += b->exchange;
    sum->link += b->link;
    sum->compute += b->compute;
    sum->wait += b->wait;
    sum->sync += b->sync;
    sum->outer += b->outer;
    sum->imbalance += b->imbalance;
    sum->largest_compute += b->largest_compute;
    sum->mean_compute += b->mean_compute;
    sum->h_words += b->h_words;
    sum->words_in += b->words_in;
    sum->words_out += b->words_out;
}

struct bill ss_bill_of_group(const struct record *r, unsigned group)
{
    struct bill sum = { 0 }, b;

    for (size_t i = 0; i < ss_bill_step_count(r); i++) {
        if (record_at(r, i)->group != group)
            continue;
        b = ss_bill_of_step(r, i);
        ss_bill_add(&sum, &b);
    }
    return sum;
}

int ss_bill_joins_chips(const struct record *r)
{
    for (size_t i = 0; i < ss_bill_step_count(r); i++) {
        if (is_outer(record_at(r, i)))
            return 1;
    }
    return 0;
}

uint32_t ss_bill_slowest_tile(const struct record *r, size_t i)
{
    uint32_t tiles = i < ss_bill_step_count(r) ? record_at(r, i)->tiles : 0, slowest = 0,
             latest = 0;

    for (uint32_t k = 0; k < tiles; k++) {
        uint32_t tile;
        struct tile_step t = record_tile_at(r, i, k, &tile);

        if (k && t.arrival_cycles <= latest)
            continue;
        latest = t.arrival_cycles;
        slowest = tile;
    }
    return slowest;
}

struct bill_name ss_bill_name_of_step(const struct record *r, size_t i, const struct image *im)
{
    const struct record_step *s = im && i < ss_bill_step_count(r) ? record_at(r, i) : NULL;
    const struct image_tile *t = s ? image_find_tile(im, record_stage(r), s->tile) : NULL;
    const struct image_range *range = t ? image_range_at(im, t, s->pc) : NULL;
    uint32_t scope = range ? image_scope_of(im, range->owner) : 0;

    return (struct bill_name){
        .operation = range ? image_text(im, range->owner) : "",
        .scope = scope ? image_text(im, image_scope_at(im, scope)->path) : "",
    };
}
