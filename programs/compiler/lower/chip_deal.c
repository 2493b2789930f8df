/* chip_deal.c - whether what goes through a channel leaves from where it lies, or arrives there, or
 * is dealt over the chip first.
 *
 * The tiles of a chip are bundles of neighbours of which one at a time sends to links, and one
 * receives (docs/timing.md 9). A tensor that lies in few of them keeps the others idle. An exchange
 * on the chip spreads it; but a tile that holds much has to send it there as well, at one word a
 * cycle, which is hardly faster than to a link: a tensor on one tile stays where it is. A tensor
 * that is not in whole words has no choice.
 */
#include "emu/arch/arch_numbers.h"
#include "programs/compiler/lower/lower_private.h"

enum {
    LEAST_WORDS = 16, /* a tile gets at least so many, if it gets any */
    EXCHANGE_EVENTS =
        112 /* of an exchange beyond those of its words (docs/programs/schedules.md) */
};

/* The words of a tensor: in all, on the fullest tile, in the fullest bundle; and how long the tile
 * that needs longest sends. */
struct chip_load {
    uint64_t words, tile, bundle, events;
};

uint32_t chip_deal_tile(const struct graph *g, uint32_t k, uint32_t tiles)
{
    return (uint32_t)((uint64_t)k * ss_graph_compute_tiles(g) / tiles);
}

uint64_t chip_deal_begin(uint64_t words, uint32_t k, uint32_t tiles)
{
    return words * k / tiles;
}

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return (n + by - 1) / by;
}

uint32_t chip_packet_words(const struct arch *a)
{
    return arch_link_packet_words(a);
}

/* How long a tile sends so many words that follow each other. */
static uint64_t send_events(const struct arch *a, uint64_t words)
{
    uint64_t most = chip_packet_words(a), least = arch_host_send_min_events(a), header = 2;
    uint64_t last = words % most, all = words / most * (header + most);

    if (words / most && header + most < least)
        all = words / most * least;
    return last ? all + (header + last < least ? least : header + last) : all;
}

/* ---- how long it takes ---- */

/* Cycles of so many words on the links between two chips, where they are fastest; 0: there are
 * none. */
static uint64_t link_cycles(const struct arch *a, uint64_t words)
{
    uint64_t rate = (uint64_t)arch_links_pair(a) * arch_link_mbytes_per_s(a);

    return rate ? divide_up(4 * words * a->clock_mhz * 1000, rate * arch_link_payload_permille(a))
                : 0;
}

static uint64_t bundle_cycles(const struct arch *a, uint64_t words)
{
    return divide_up(words * (chip_packet_words(a) + arch_link_header_words(a)),
                     chip_packet_words(a));
}

static uint64_t largest(uint64_t a, uint64_t b, uint64_t c)
{
    a = a > b ? a : b;
    return a > c ? a : c;
}

static uint64_t straight_cycles(const struct arch *a, const struct chip_load *x)
{
    return largest(link_cycles(a, x->words), bundle_cycles(a, x->bundle), x->events);
}

static uint64_t dealt_cycles(const struct arch *a, const struct chip_load *x, uint32_t tiles)
{
    uint64_t share = divide_up(x->words, tiles), bundles = arch_link_bundles(a);
    uint64_t bundle = divide_up(x->words, tiles < bundles ? tiles : bundles);

    return a->sync_chip_cycles + EXCHANGE_EVENTS + (x->tile > share ? x->tile : share) +
           largest(link_cycles(a, x->words), bundle_cycles(a, bundle), send_events(a, share));
}

/* ---- where the words lie ---- */

/* Whether runs are whole words, of memory and of the channel. Only the last word may be in part
 * that of nobody. */
static int is_straight(const struct graph_lowering *w, const struct memory_run_list *run,
                       int receives)
{
    uint64_t at = 0;

    for (size_t i = 0; i < run->count; i++) {
        const struct memory_run *p = &run->at[i];

        if ((at | p->offset) & 3)
            return 0;
        at += p->bytes;
        if (p->bytes & 3 &&
            (i + 1 < run->count ||
             (receives && p->offset + p->bytes != w->note.at[p->object].data_bytes)))
            return 0;
    }
    return 1;
}

static enum emu_status find_load(const struct graph_lowering *w, const struct memory_run_list *run,
                                 struct chip_load *out)
{
    const struct arch *a = &w->g->arch;
    uint32_t wide = (uint32_t)divide_up(a->tiles, arch_link_bundles(a));
    uint64_t *tile = emu_alloc(3 * (size_t)a->tiles, sizeof(*tile)), *events, *bundle;

    if (!tile)
        return FAIL(NO_MEMORY, "%u tiles", a->tiles);
    events = tile + a->tiles;
    bundle = events + a->tiles;
    *out = (struct chip_load){ 0 };
    for (size_t i = 0; i < run->count; i++) {
        uint32_t t = lower_object(w, run->at[i].object)->tile;
        uint64_t words = divide_up(run->at[i].bytes, 4);

        out->words += words;
        tile[t] += words;
        events[t] += send_events(a, words);
        bundle[t / wide] += words;
        out->tile = tile[t] > out->tile ? tile[t] : out->tile;
        out->events = events[t] > out->events ? events[t] : out->events;
        out->bundle = bundle[t / wide] > out->bundle ? bundle[t / wide] : out->bundle;
    }
    ss_free(tile);
    return EMU_OK;
}

/* ---- what is best ---- */

static uint32_t deal_tiles(const struct graph_lowering *w, uint64_t words)
{
    uint32_t all = ss_graph_compute_tiles(w->g);
    uint64_t most = divide_up(words, LEAST_WORDS);

    return most < all ? (uint32_t)most : all;
}

static enum emu_status choose(struct graph_lowering *w, const struct channel_use *u,
                              struct chip_deal *out)
{
    const struct channel *c = &w->g->channel.at[u->channel];
    const struct arch *a = &w->g->arch;
    uint32_t tiles = deal_tiles(w, divide_up(c->elements * ss_elem_bytes(c->elem), 4));
    struct chip_load x = { 0 };
    int straight;

    w->run.count = 0;
    TRY(storage_runs(w, u->t.view, &w->run));
    TRY(find_load(w, &w->run, &x));
    straight = is_straight(w, &w->run, c->way == CHANNEL_RECEIVE);
    if (!tiles && !straight)
        return FAIL(BAD_PROGRAM,
                    "channel %s: the tensor is not in whole words, and no tile is before those of "
                    "sync groups, over which to deal it",
                    c->name);
    if (tiles && (!straight || dealt_cycles(a, &x, tiles) < straight_cycles(a, &x)))
        out->tiles = tiles;
    return EMU_OK;
}

enum emu_status chip_deals(struct graph_lowering *w, const struct node *n)
{
    for (uint32_t i = n->a; i < n->a + n->b; i++) {
        TRY(choose(w, &w->g->use.at[i], &w->deal[i]));
        for (uint32_t k = 0; k < w->deal[i].tiles; k++)
            w->l->tile_index[chip_deal_tile(w->g, k, w->deal[i].tiles)] = 0;
    }
    return EMU_OK;
}
