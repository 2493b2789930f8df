/* place.c - the objects of all tiles get their addresses.
 *
 * A tile's placement depends on its list of objects only (bytes, alignment, region, live set, pairs
 * kept apart, wishes) and on its code. Tiles with equal lists share one computation; different ones
 * are computed by all threads.
 */
#include "programs/compiler/place/place.h"

#include <omp.h>
#include <stdlib.h>

#include "programs/compiler/place/place_tile.h"
#include "programs/compiler/place/place_wish.h"

struct tile_key {
    struct hash128 hash;
    uint32_t tile; /* index in used_tile */
};

/* Work on all tiles. Lists of a tile are entries [first[t], first[t + 1]). */
struct placer {
    struct lowered *l;
    const uint32_t *code_bytes;
    int threads;
    uint32_t tiles;
    struct live_table live;
    struct place_wishes wishes;
    size_t *item_first, *pair_first, *wish_first; /* by tile */
    uint32_t *object;                             /* in the order of tiles, then of numbers */
    uint32_t *place_in_tile; /* by object: its number in the list of its tile */
    uint8_t *near;           /* by object */
    struct place_item *item;
    struct object_pair *pair, *wish;
    struct tile_key *key; /* sorted: equal tiles stand together, the lowest first */
    uint32_t *group;      /* first entry of key of every different tile */
    uint32_t groups;
    struct tile_place *out; /* borrowed */
};

static uint32_t tile_of(const struct placer *p, uint32_t object)
{
    return p->l->tile_index[p->l->object.at[object].tile];
}

/* first[t] becomes where the list of tile t ends, from counts at first[t]; filling backwards makes
 * it the beginning. first has tiles + 1 entries. */
static void add_up(size_t *first, uint32_t tiles)
{
    for (uint32_t t = 1; t <= tiles; t++)
        first[t] += first[t - 1];
}

/* Objects that only codelets and the host access may lie anywhere. */
static int is_anywhere(uint8_t category)
{
    return category == CATEGORY_VARIABLE || category == CATEGORY_CONSTANT ||
           category == CATEGORY_WORK_LIST || category == CATEGORY_MESSAGE_BUFFER ||
           category == CATEGORY_REARRANGEMENT;
}

void place_mark_near(const struct lowered *l, uint8_t *near)
{
    const struct arch *a = ss_graph_arch(l->graph);

    if ((uint64_t)a->mem_base + a->mem_bytes <= PLACE_REACH)
        return;
    for (size_t i = 0; i < l->object.count; i++)
        near[i] = !is_anywhere(l->object.at[i].category);
    for (size_t i = 0; i < l->message.count; i++)
        near[l->message.at[i].object] = 1;
    for (size_t i = 0; i < l->message_dest.count; i++)
        near[l->message_dest.at[i].object] = 1;
    for (size_t i = 0; i < l->host_request.count; i++)
        near[l->host_request.at[i].object] = 1;
    for (size_t i = 0; i < l->predicate.count; i++) {
        if (l->predicate.at[i] != LOWERED_NONE)
            near[l->predicate.at[i]] = 1;
    }
}

static void list_items(struct placer *p)
{
    const struct lowered *l = p->l;

    for (size_t i = 0; i < l->object.count; i++)
        p->item_first[tile_of(p, (uint32_t)i)]++;
    add_up(p->item_first, p->tiles);
    for (size_t i = l->object.count; i--;) {
        const struct object *o = &l->object.at[i];
        size_t at = --p->item_first[tile_of(p, (uint32_t)i)];

        p->object[at] = (uint32_t)i;
        p->item[at] = (struct place_item){ o->bytes, o->live, o->align, o->region, 0 };
        p->item[at].limits =
            (o->region != ANY ? ITEM_CONSTRAINED : 0) | (p->near[i] ? ITEM_NEAR : 0) |
            (object_is_loaded(o) ? ITEM_LOADED : 0) | (p->wishes.receives[i] ? ITEM_RECEIVES : 0);
    }
    for (uint32_t t = 0; t < p->tiles; t++)
        for (size_t k = p->item_first[t]; k < p->item_first[t + 1]; k++)
            p->place_in_tile[p->object[k]] = (uint32_t)(k - p->item_first[t]);
}

/* Pairs of objects by tile, as pairs of places in the lists of items; first has tiles + 1 entries
 * that are 0. */
static void list_pairs(const struct placer *p, const struct object_pair *from, size_t pairs,
                       size_t *first, struct object_pair *out)
{
    for (size_t i = 0; i < pairs; i++)
        first[tile_of(p, from[i].a)]++;
    add_up(first, p->tiles);
    for (size_t i = pairs; i--;)
        out[--first[tile_of(p, from[i].a)]] =
            (struct object_pair){ p->place_in_tile[from[i].a], p->place_in_tile[from[i].b] };
}

static void list_all_pairs(struct placer *p)
{
    const struct lowered *l = p->l;

    list_pairs(p, l->apart.at, l->apart.count, p->pair_first, p->pair);
    list_pairs(p, p->wishes.pair.at, p->wishes.pair.count, p->wish_first, p->wish);
    for (uint32_t t = 0; t < p->tiles; t++)
        for (size_t k = p->pair_first[t]; k < p->pair_first[t + 1]; k++) {
            p->item[p->item_first[t] + p->pair[k].a].limits |= ITEM_CONSTRAINED;
            p->item[p->item_first[t] + p->pair[k].b].limits |= ITEM_CONSTRAINED;
        }
}

static struct place_job job_of(const struct placer *p, uint32_t t)
{
    return (struct place_job){
        .arch = ss_graph_arch(p->l->graph),
        .live = &p->live,
        .code_bytes = p->code_bytes[t],
        .items = (uint32_t)(p->item_first[t + 1] - p->item_first[t]),
        .pairs = (uint32_t)(p->pair_first[t + 1] - p->pair_first[t]),
        .wishes = (uint32_t)(p->wish_first[t + 1] - p->wish_first[t]),
        .item = p->item + p->item_first[t],
        .apart = p->pair + p->pair_first[t],
        .wish = p->wish + p->wish_first[t],
    };
}

/* ---- equal tiles ---- */

static struct tile_key key_of_tile(const struct placer *p, uint32_t t)
{
    struct place_job job = job_of(p, t);
    struct hash128 part[3] = { hash128(job.item, job.items * sizeof(*job.item)),
                               hash128(job.apart, job.pairs * sizeof(*job.apart)),
                               hash128(job.wish, job.wishes * sizeof(*job.wish)) };
    uint64_t all[] = { part[0].lo, part[0].hi, part[1].lo,     part[1].hi, part[2].lo,
                       part[2].hi, job.items,  job.code_bytes, job.pairs,  job.wishes };

    return (struct tile_key){ hash128(all, sizeof(all)), t };
}

static int compare_tile_keys(const void *x, const void *y)
{
    const struct tile_key *a = x, *b = y;

    if (a->hash.hi != b->hash.hi)
        return a->hash.hi < b->hash.hi ? -1 : 1;
    if (a->hash.lo != b->hash.lo)
        return a->hash.lo < b->hash.lo ? -1 : 1;
    return a->tile < b->tile ? -1 : a->tile > b->tile;
}

static void find_groups(struct placer *p)
{
#pragma omp parallel for schedule(static) num_threads(p->threads)
    for (uint32_t t = 0; t < p->tiles; t++)
        p->key[t] = key_of_tile(p, t);
    qsort(p->key, p->tiles, sizeof(*p->key), compare_tile_keys);
    for (uint32_t t = 0; t < p->tiles; t++)
        if (!t || !hash128_equal(p->key[t].hash, p->key[t - 1].hash))
            p->group[p->groups++] = t;
}

/* ---- placement ---- */

/* Addresses too large for 32 bits are stored as the largest one; such a tile does not fit anyway.
 */
static void set_addresses(struct placer *p, uint32_t t, const uint64_t *addr)
{
    for (size_t k = p->item_first[t]; k < p->item_first[t + 1]; k++) {
        uint64_t a = addr[k - p->item_first[t]];

        p->l->object.at[p->object[k]].addr = a < UINT32_MAX ? (uint32_t)a : UINT32_MAX;
    }
}

static void place_group(struct placer *p, uint32_t g, struct place_scratch *w)
{
    uint32_t end = g + 1 < p->groups ? p->group[g + 1] : p->tiles;
    struct place_job job = job_of(p, p->key[p->group[g]].tile);
    struct tile_place place;

    place_tile(&job, w);
    place = place_tile_measure(&job, w);
    for (uint32_t i = p->group[g]; i < end; i++) {
        set_addresses(p, p->key[i].tile, w->best);
        p->out[p->key[i].tile] = place;
    }
}

static uint32_t longest(const size_t *first, uint32_t tiles)
{
    size_t most = 0;

    for (uint32_t t = 0; t < tiles; t++)
        if (first[t + 1] - first[t] > most)
            most = first[t + 1] - first[t];
    return (uint32_t)most;
}

static enum emu_status place_groups(struct placer *p)
{
    const struct place_job most = { .items = longest(p->item_first, p->tiles),
                                    .pairs = longest(p->pair_first, p->tiles),
                                    .wishes = longest(p->wish_first, p->tiles) };
    struct place_scratch *w = emu_alloc((size_t)p->threads, sizeof(*w));
    enum emu_status s = w ? EMU_OK : FAIL(NO_MEMORY, "%d threads", p->threads);

    for (int i = 0; i < p->threads && s == EMU_OK; i++)
        s = place_scratch_init(&w[i], &most, (uint32_t)p->l->step.count);
    if (s == EMU_OK) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->threads)
        for (uint32_t g = 0; g < p->groups; g++)
            place_group(p, g, &w[omp_get_thread_num()]);
    }
    for (int i = 0; w && i < p->threads; i++)
        place_scratch_free(&w[i]);
    ss_free(w);
    return s;
}

static enum emu_status placer_init(struct placer *p)
{
    const struct lowered *l = p->l;
    size_t objects = l->object.count;

    TRY(place_wishes_init(&p->wishes, l));
    p->item_first = emu_alloc(p->tiles + 2, sizeof(*p->item_first));
    p->pair_first = emu_alloc(p->tiles + 2, sizeof(*p->pair_first));
    p->wish_first = emu_alloc(p->tiles + 2, sizeof(*p->wish_first));
    p->object = emu_alloc(objects + 1, sizeof(*p->object));
    p->place_in_tile = emu_alloc(objects + 1, sizeof(*p->place_in_tile));
    p->near = emu_alloc(objects + 1, sizeof(*p->near));
    p->item = emu_alloc(objects + 1, sizeof(*p->item));
    p->pair = emu_alloc(l->apart.count + 1, sizeof(*p->pair));
    p->wish = emu_alloc(p->wishes.pair.count + 1, sizeof(*p->wish));
    p->key = emu_alloc(p->tiles + 1, sizeof(*p->key));
    p->group = emu_alloc(p->tiles + 1, sizeof(*p->group));
    if (!p->item_first || !p->pair_first || !p->wish_first || !p->wish || !p->object ||
        !p->place_in_tile || !p->near || !p->item || !p->pair || !p->key || !p->group)
        return FAIL(NO_MEMORY, "placement of %zu objects", objects);
    return live_table_init(&p->live, l, p->threads);
}

static void placer_free(struct placer *p)
{
    ss_free(p->item_first);
    ss_free(p->pair_first);
    ss_free(p->wish_first);
    ss_free(p->wish);
    place_wishes_free(&p->wishes);
    ss_free(p->object);
    ss_free(p->place_in_tile);
    ss_free(p->near);
    ss_free(p->item);
    ss_free(p->pair);
    ss_free(p->key);
    ss_free(p->group);
    live_table_free(&p->live);
}

enum emu_status place_objects(struct lowered *l, const uint32_t *code_bytes, unsigned threads,
                              struct placement *out)
{
    unsigned cores = (unsigned)omp_get_num_procs();
    struct placer p = { .l = l, .code_bytes = code_bytes, .tiles = l->used_tiles };
    enum emu_status s;

    *out = (struct placement){ .tiles = l->used_tiles };
    out->tile = emu_alloc(l->used_tiles + 1, sizeof(*out->tile));
    if (!out->tile)
        return FAIL(NO_MEMORY, "placement of %u tiles", l->used_tiles);
    p.out = out->tile;
    p.threads = (int)(threads && threads < cores ? threads : cores);
    s = placer_init(&p);
    if (s == EMU_OK) {
        place_mark_near(l, p.near);
        list_items(&p);
        list_all_pairs(&p);
        find_groups(&p);
        s = place_groups(&p);
    }
    placer_free(&p);
    if (s != EMU_OK) {
        placement_free(out);
        return s;
    }
    placement_conclude(out, ss_graph_arch(l->graph));
    return EMU_OK;
}

void placement_conclude(struct placement *p, const struct arch *a)
{
    p->fits = 1;
    p->fullest = p->longest = 0;
    for (uint32_t t = 0; t < p->tiles; t++) {
        const struct tile_place *x = &p->tile[t];

        if (x->need_bytes > p->tile[p->fullest].need_bytes)
            p->fullest = t;
        if (x->code_need > p->tile[p->longest].code_need)
            p->longest = t;
        if (x->need_bytes > a->mem_bytes || x->code_need > a->region0_bytes)
            p->fits = 0;
    }
}

void placement_free(struct placement *p)
{
    ss_free(p->tile);
    *p = (struct placement){ 0 };
}
