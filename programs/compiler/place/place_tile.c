/* place_tile.c - addresses for the objects of one tile: first fit, in several orders.
 *
 * An item takes the first place that overlaps no placed item with which it is ever in use together.
 * First trials go downwards from the top of the memory, so that region 1 fills first and region 0
 * stays free for what needs it. An item that has wishes (place_wish.h) takes the first place where
 * they all come true, if there is one; if no order fits so, wishes are forgotten. If none fits
 * then, the same orders are tried upwards from the code, in a memory without end: the lowest result
 * says what the tile needs, and fits if that is no more than it has.
 *
 * Coordinates of a trial are addresses when it goes upwards, and distances of an item's end from
 * the end of the memory when it goes downwards; either way items are put as low as they fit.
 */
#include "programs/compiler/place/place_tile.h"

#include <immintrin.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "programs/compiler/base/key_sort.h"

enum { ORDER_SIZE, ORDER_ALWAYS_FIRST, ORDER_TIME, ORDERS };
#define NOWHERE     UINT64_MAX
#define FAR_AWAY    (UINT64_MAX / 4)
#define BESIDE_CODE (NOWHERE - 1) /* of a trial: an item that receives words came to lie there */

struct place_trial {
    const struct place_job *job;
    struct place_scratch *w;
    int down, wishful; /* wishful: wishes count for items that have a place where they come true */
    uint64_t base, code_end, region1, reach, loaded, top; /* addresses */
    uint64_t clean; /* the lowest address for items that receive words; 0: anywhere */
};

/* Where the search for a place stands: what may be in the way next. At first all 0, then what the
 * search for the same item with a lower place left. */
struct place_cursor {
    uint32_t placed, solid;
};

static uint64_t code_end_of(const struct place_job *job)
{
    return (uint64_t)ss_arch_loader_base(job->arch) + job->code_bytes;
}

/* ---- blocks of elements ---- */

uint64_t place_block_low(const struct arch *a, uint64_t addr)
{
    uint64_t region1 = (uint64_t)a->mem_base + a->region0_bytes;
    uint64_t group = (uint64_t)arch_region1_interleave(a) * a->element_bytes;

    if (addr < region1)
        return addr / a->element_bytes * a->element_bytes;
    return region1 + (addr - region1) / group * group;
}

uint64_t place_block_high(const struct arch *a, uint64_t end)
{
    uint64_t region1 = (uint64_t)a->mem_base + a->region0_bytes;
    uint64_t group = (uint64_t)arch_region1_interleave(a) * a->element_bytes;

    if (end <= region1)
        return (end + a->element_bytes - 1) / a->element_bytes * a->element_bytes;
    return region1 + (end - region1 + group - 1) / group * group;
}

/* The end of the elements from which code is fetched. */
static uint64_t fetched_end_of(const struct place_job *job)
{
    const struct arch *a = job->arch;
    uint64_t region1 = (uint64_t)a->mem_base + a->region0_bytes;
    uint64_t end = code_end_of(job) + arch_fetch_ahead_bytes(a);

    return place_block_high(a, end < region1 ? end : region1);
}

/* ---- one item ---- */

static uint64_t coordinate_of(const struct place_trial *t, uint64_t addr, uint64_t bytes)
{
    return t->down ? t->top - (addr + bytes) : addr;
}

/* The first aligned place at or after p; NOWHERE below address 0. */
static uint64_t align_place(const struct place_trial *t, uint64_t p, const struct place_item *it)
{
    uint64_t mask = it->align - 1u;

    if (!t->down)
        return (p + mask) & ~mask;
    if (p > t->top || t->top - p < it->bytes)
        return NOWHERE;
    return coordinate_of(t, (t->top - p - it->bytes) & ~mask, it->bytes);
}

/* The first place from c on that touches no solid range. */
static uint64_t pass_solid(const struct place_trial *t, uint64_t c, const struct place_item *it,
                           uint32_t *next)
{
    const struct solid_range *x = t->w->solid.at + *next, *end = t->w->solid.at + t->w->solid.count;

    for (; x < end && c != NOWHERE && x->low < c + it->bytes; x++)
        if (x->high > c)
            c = align_place(t, x->high, it);
    *next = (uint32_t)(x - t->w->solid.at);
    return c;
}

/* Of the lanes in mask, those whose live sets meet that of the row. */
static inline uint32_t lanes_that_meet(const struct live_row *row, const uint64_t *live,
                                       uint32_t mask)
{
    uint32_t meet = 0;

    if (row->bits) {
        __m256i set = _mm256_loadu_si256((const __m256i *)live);
        __m256i word = _mm256_i64gather_epi64((const long long *)row->bits,
                                              _mm256_srli_epi64(set, 6), sizeof(uint64_t));
        __m256i bit = _mm256_srlv_epi64(word, _mm256_and_si256(set, _mm256_set1_epi64x(63)));

        return mask & (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_slli_epi64(bit, 63)));
    }
    for (; mask; mask &= mask - 1) {
        uint32_t k = (uint32_t)__builtin_ctz(mask);

        meet |= (uint32_t)live_row_meets(row, (uint32_t)live[k]) << k;
    }
    return meet;
}

/* The first place from c on that overlaps no placed item in use together with this one. */
static uint64_t pass_placed(const struct place_trial *t, uint64_t c, const struct place_item *it,
                            uint32_t *next)
{
    const struct live_row row = live_table_row(t->job->live, it->live);
    const struct placed_items *p = &t->w->placed;
    uint32_t i = *next;

    while (c != NOWHERE) {
        __m256i from = _mm256_set1_epi64x((int64_t)c);
        __m256i to = _mm256_set1_epi64x((int64_t)(c + it->bytes));
        __m256i low = _mm256_loadu_si256((const __m256i *)(p->low + i));
        __m256i high = _mm256_loadu_si256((const __m256i *)(p->high + i));
        __m256i begins = _mm256_cmpgt_epi64(to, low);
        __m256i overlaps = _mm256_and_si256(begins, _mm256_cmpgt_epi64(high, from));
        uint32_t before = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(begins));
        uint32_t hit = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(overlaps));

        if (hit)
            hit = lanes_that_meet(&row, p->live + i, hit);
        if (hit) {
            uint32_t k = (uint32_t)__builtin_ctz(hit);

            c = align_place(t, (uint64_t)p->high[i + k], it);
            i += k + 1;
        } else if (before == (1u << PLACED_LANES) - 1) {
            i += PLACED_LANES;
        } else {
            i += (uint32_t)__builtin_ctz(~before);
            break;
        }
    }
    *next = i;
    return c;
}

/* The first place from p on that overlaps no item in use together with this one. Most of the time
 * of a placement is spent here. */
static uint64_t find_free(const struct place_trial *t, uint64_t p, const struct place_item *it,
                          struct place_cursor *next)
{
    uint64_t c = align_place(t, p, it), before;

    do {
        before = pass_solid(t, c, it, &next->solid);
        c = pass_placed(t, before, it, &next->placed);
    } while (c != before);
    return c;
}

/* The end of the blocks that an item at c would share with a partner; c if it shares none. */
static uint64_t skip_partners(const struct place_trial *t, const struct place_partners *p,
                              uint64_t c, uint32_t item)
{
    const struct place_item *it = &t->job->item[item];

    for (uint32_t i = p->first[item]; i < p->first[item + 1]; i++) {
        const struct place_item *x = &t->job->item[p->of[i]];
        uint64_t addr = t->w->addr[p->of[i]], low, high, from;

        if (addr == NOWHERE || !live_table_meet(t->job->live, it->live, x->live))
            continue;
        low = place_block_low(t->job->arch, addr);
        high = place_block_high(t->job->arch, addr + x->bytes);
        from = coordinate_of(t, low, high - low); /* blocks end where the memory does */
        if (c < from + (high - low) && c + it->bytes > from)
            return from + (high - low);
    }
    return c;
}

/* A place for an item in [low, high) of the coordinates, or NOWHERE. */
static uint64_t find_place(const struct place_trial *t, uint32_t item, uint64_t low, uint64_t high,
                           int wishful)
{
    const struct place_item *it = &t->job->item[item];
    struct place_cursor cursor = { 0 };

    for (;;) {
        uint64_t c = find_free(t, low, it, &cursor), next;

        if (c == NOWHERE || c + it->bytes > high)
            return NOWHERE;
        next = skip_partners(t, &t->w->apart, c, item);
        if (next == c && wishful)
            next = skip_partners(t, &t->w->wish, c, item);
        if (next == c)
            return c;
        low = next;
    }
}

/* Adds a range of what is always in use; it touches its neighbours at most at its ends. */
static void add_solid(struct solid_ranges *s, uint64_t low, uint64_t high)
{
    uint32_t at = 0, end = s->count;

    while (at < end) {
        uint32_t mid = (at + end) / 2;

        if (s->at[mid].low > low)
            end = mid;
        else
            at = mid + 1;
    }
    if (at && s->at[at - 1].high == low) {
        s->at[at - 1].high = high;
        if (at < s->count && s->at[at].low == high) {
            s->at[at - 1].high = s->at[at].high;
            memmove(s->at + at, s->at + at + 1, (--s->count - at) * sizeof(*s->at));
        }
    } else if (at < s->count && s->at[at].low == high) {
        s->at[at].low = low;
    } else {
        memmove(s->at + at + 1, s->at + at, (s->count++ - at) * sizeof(*s->at));
        s->at[at] = (struct solid_range){ low, high };
    }
}

/* Makes room for an entry. The lists end with entries that lie behind every place. */
static void insert_placed(struct placed_items *p, uint32_t at, int64_t low, int64_t high,
                          uint32_t live)
{
    size_t behind = p->count++ + PLACED_LANES - at;

    memmove(p->low + at + 1, p->low + at, behind * sizeof(*p->low));
    memmove(p->high + at + 1, p->high + at, behind * sizeof(*p->high));
    memmove(p->live + at + 1, p->live + at, behind * sizeof(*p->live));
    p->low[at] = low;
    p->high[at] = high;
    p->live[at] = live;
}

static void clear_placed(struct place_scratch *w)
{
    w->placed.count = w->solid.count = 0;
    for (uint32_t i = 0; i < PLACED_LANES; i++) {
        w->placed.low[i] = w->placed.high[i] = INT64_MAX;
        w->placed.live[i] = LIVE_ALWAYS;
    }
}

/* Places stay in the order of their low ends; an item comes behind those with its own. */
static void add_placed(struct place_trial *t, uint32_t item, uint64_t c)
{
    const struct place_item *it = &t->job->item[item];
    struct placed_items *p = &t->w->placed;
    uint32_t low = 0, high = p->count;

    t->w->addr[item] = t->down ? t->top - (c + it->bytes) : c;
    if (it->live == LIVE_ALWAYS) {
        add_solid(&t->w->solid, c, c + it->bytes);
        return;
    }
    while (low < high) {
        uint32_t mid = (low + high) / 2;

        if ((uint64_t)p->low[mid] > c)
            high = mid;
        else
            low = mid + 1;
    }
    insert_placed(p, low, (int64_t)c, (int64_t)(c + it->bytes), it->live);
}

/* The place of an item: a coordinate, NOWHERE when there is none, which happens downwards only. */
static uint64_t choose_place(const struct place_trial *t, uint32_t item, int wishful)
{
    enum field_region r = t->job->item[item].region;
    uint64_t from = t->code_end, to = t->down ? t->top : FAR_AWAY, c;

    if (t->job->item[item].limits & ITEM_NEAR)
        to = t->reach;
    if (t->down && t->job->item[item].limits & ITEM_LOADED && to > t->loaded)
        to = t->loaded;
    if (r == REGION0 && to > t->region1)
        to = t->region1;
    if (r == REGION1 && from < t->region1)
        from = t->region1;
    if (t->down)
        return from > to ? NOWHERE : find_place(t, item, t->top - to, t->top - from, wishful);
    c = find_place(t, item, from, to, wishful);
    if (c == NOWHERE) /* no room where it must be; a place past the memory tells */
        c = find_place(t, item, t->top > from ? t->top : from, FAR_AWAY, wishful);
    return c;
}

/* Returns 0, or why the trial has failed: NOWHERE or BESIDE_CODE. */
static uint64_t place_item(struct place_trial *t, uint32_t item)
{
    uint64_t c = NOWHERE;

    if (t->wishful && t->w->wish.first[item] != t->w->wish.first[item + 1])
        c = choose_place(t, item, 1);
    if (c == NOWHERE)
        c = choose_place(t, item, 0);
    if (c == NOWHERE)
        return NOWHERE;
    add_placed(t, item, c);
    if (t->job->item[item].limits & ITEM_RECEIVES && t->w->addr[item] < t->clean)
        return BESIDE_CODE;
    return 0;
}

/* ---- orders ---- */

/* A way to place a tile: whether wishes count, whether items that receive words are placed before
 * the others, and whether none of them may end up beside code. */
struct place_plan {
    uint8_t wishful, receivers_first, clean;
};

/* In the order in which they are tried, each with all orders. */
static const struct place_plan plans[] = {
    { .wishful = 1, .clean = 1 },
    { .wishful = 1, .receivers_first = 1, .clean = 1 },
    { .wishful = 1 },
    { .wishful = 0 },
};

/* The key by which items are placed, lowest first. Constrained items come before all others, then
 * items that receive words, if the plan says so. Among all of these, ORDER_ALWAYS_FIRST places what
 * is always in use before the rest, and ORDER_TIME what is in use early before what comes later.
 * What is equal so far goes by size, the largest first. */
static struct place_key key_of(const struct place_job *job, unsigned order,
                               const struct place_plan *plan, uint32_t item)
{
    const struct place_item *it = &job->item[item];
    uint32_t steps = (uint32_t)job->live->l->step.count, first = job->live->span[it->live].first;
    uint32_t class = 0, time = 0;

    if (plan->receivers_first && !(it->limits & ITEM_RECEIVES))
        class += 1;
    if (!(it->limits & ITEM_CONSTRAINED))
        class += 2;
    if (it->live != LIVE_ALWAYS && order == ORDER_ALWAYS_FIRST)
        time = 1;
    if (it->live != LIVE_ALWAYS && order == ORDER_TIME)
        time = (first < steps ? first : steps) + 1;
    return (struct place_key){ class * (steps + 2) + time, UINT32_MAX - it->bytes, item };
}

static void sort_keys(struct place_scratch *w, uint32_t items)
{
    key_sort_in(w->order, w->spare, items, sizeof(*w->order), offsetof(struct place_key, high), 2);
}

static void sort_items(const struct place_job *job, unsigned order, const struct place_plan *plan,
                       struct place_scratch *w)
{
    for (uint32_t i = 0; i < job->items; i++)
        w->order[i] = key_of(job, order, plan, i);
    sort_keys(w, job->items);
}

/* Where the memory has to end for an item: after it, or after the bytes that the loader cannot
 * fill.
 */
static uint64_t end_of(const struct place_job *job, uint32_t item, uint64_t addr)
{
    const struct place_item *it = &job->item[item];

    return addr + it->bytes + (it->limits & ITEM_LOADED ? arch_loader_tail_bytes(job->arch) : 0);
}

/* Places everything in one order and direction. Returns where the memory has to end, or why the
 * trial has failed. */
static uint64_t try_order(const struct place_job *job, struct place_scratch *w, unsigned order,
                          int down, const struct place_plan *plan)
{
    const struct arch *a = job->arch;
    struct place_trial t = { .job = job,
                             .w = w,
                             .down = down,
                             .wishful = plan->wishful,
                             .base = a->mem_base,
                             .code_end = code_end_of(job),
                             .region1 = (uint64_t)a->mem_base + a->region0_bytes,
                             .reach = PLACE_REACH,
                             .top = (uint64_t)a->mem_base + a->mem_bytes };
    uint64_t end = t.code_end;

    t.loaded = t.top - arch_loader_tail_bytes(a);
    t.clean = plan->clean ? fetched_end_of(job) : 0;
    sort_items(job, order, plan, w);
    clear_placed(w);
    for (uint32_t i = 0; i < job->items; i++)
        w->addr[i] = NOWHERE;
    for (uint32_t i = 0; i < job->items; i++) {
        uint64_t failed = place_item(&t, w->order[i].item);

        if (failed)
            return failed;
    }
    for (uint32_t i = 0; i < job->items; i++) {
        uint64_t item_end = end_of(job, i, w->addr[i]);

        end = item_end > end ? item_end : end;
    }
    return end;
}

/* Lists for every item the items it is paired with. */
static void list_partners(const struct object_pair *pair, uint32_t pairs, uint32_t items,
                          struct place_partners *p)
{
    uint32_t *first = p->first;

    memset(first, 0, (items + 1) * sizeof(*first));
    for (uint32_t i = 0; i < pairs; i++) {
        first[pair[i].a]++;
        first[pair[i].b]++;
    }
    for (uint32_t i = 1; i <= items; i++)
        first[i] += first[i - 1];
    for (uint32_t i = 0; i < pairs; i++) {
        p->of[--first[pair[i].a]] = pair[i].b;
        p->of[--first[pair[i].b]] = pair[i].a;
    }
}

static void keep(struct place_scratch *w)
{
    uint64_t *best = w->best;

    w->best = w->addr;
    w->addr = best;
}

/* Items that receive words in an element from which code is fetched. */
static uint32_t count_beside_code(const struct place_job *job, const uint64_t *addr)
{
    uint64_t end = fetched_end_of(job);
    uint32_t count = 0;

    for (uint32_t i = 0; i < job->items; i++)
        count += (job->item[i].limits & ITEM_RECEIVES) && addr[i] < end;
    return count;
}

/* Tries the plans downwards. Returns 0 when nothing fits. */
static int place_down(const struct place_job *job, struct place_scratch *w)
{
    int full[ORDERS] = { 0 }; /* orders that find no room with wishes, receivers not first */

    for (unsigned k = 0; k < EMU_COUNT_OF(plans) * ORDERS; k++) {
        const struct place_plan *plan = &plans[k / ORDERS];
        int plain_wishes = plan->wishful && !plan->receivers_first;
        uint64_t end;

        if (plain_wishes && full[k % ORDERS])
            continue;
        end = try_order(job, w, k % ORDERS, 1, plan);
        if (end < BESIDE_CODE) {
            keep(w);
            return 1;
        }
        full[k % ORDERS] |= plain_wishes && end == NOWHERE;
    }
    return 0;
}

void place_tile(const struct place_job *job, struct place_scratch *w)
{
    const struct place_plan *plain = &plans[EMU_COUNT_OF(plans) - 1];
    uint64_t best = NOWHERE;

    list_partners(job->apart, job->pairs, job->items, &w->apart);
    list_partners(job->wish, job->wishes, job->items, &w->wish);
    if (place_down(job, w))
        return;
    for (unsigned o = 0; o < ORDERS; o++) {
        uint64_t end = try_order(job, w, o, 0, plain);

        EMU_ASSERT(end != NOWHERE);
        if (end < best) {
            best = end;
            keep(w);
        }
    }
}

/* ---- figures ---- */

/* The step at which most bytes are in use. */
static void find_peak(const struct place_job *job, struct place_scratch *w, struct tile_place *p)
{
    const struct lowered *l = job->live->l;
    uint64_t most;

    memset(w->delta, 0, (l->step.count + 1) * sizeof(*w->delta));
    for (uint32_t i = 0; i < job->items; i++)
        live_add(l, job->item[i].live, job->item[i].bytes, w->delta);
    most = job->code_bytes + live_peak(l, w->delta, &p->peak_step);
    p->peak_bytes = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
}

/* Adds the bytes of a hole to those that are lost. The largest hole of each region is not lost: it
 * counts as free. */
static void add_hole(uint64_t low, uint64_t high, uint64_t *largest, uint64_t *lost)
{
    uint64_t bytes = high > low ? high - low : 0;

    if (bytes > *largest) {
        *lost += *largest;
        *largest = bytes;
    } else {
        *lost += bytes;
    }
}

/* Walks the holes between the items, in the order of addresses. */
static void find_holes(const struct place_job *job, struct place_scratch *w, struct tile_place *p)
{
    const struct arch *a = job->arch;
    uint64_t at = code_end_of(job), used = job->code_bytes, end = at;
    uint64_t region1 = (uint64_t)a->mem_base + a->region0_bytes, top = a->mem_base + a->mem_bytes;
    uint64_t largest[2] = { 0, 0 }, lost = arch_loader_head_bytes(a);

    for (uint32_t i = 0; i < job->items; i++) {
        uint64_t item_end = end_of(job, i, w->best[i]);

        w->order[i] = (struct place_key){ (uint32_t)(w->best[i] >> 32), (uint32_t)w->best[i], i };
        end = item_end > end ? item_end : end;
    }
    sort_keys(w, job->items);
    for (uint32_t i = 0; i <= job->items; i++) {
        uint64_t low = i < job->items ? w->best[w->order[i].item] : top;
        uint64_t high = i < job->items ? low + job->item[w->order[i].item].bytes : low;

        if (low > at) {
            add_hole(at, low < region1 ? low : region1, &largest[0], &lost);
            add_hole(at > region1 ? at : region1, low, &largest[1], &lost);
            at = low;
        }
        if (high > at) {
            used += high - at;
            at = high;
        }
    }
    p->used_bytes = used < UINT32_MAX ? (uint32_t)used : UINT32_MAX;
    if (end > top) {
        p->need_bytes = end - a->mem_base;
        lost = p->need_bytes - used;
    } else {
        p->need_bytes = used + lost;
    }
    p->gap_bytes = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
}

/* Wishes that did not come true: pairs that lie in one block. */
static uint32_t count_shared(const struct place_job *job, const uint64_t *addr)
{
    const struct arch *a = job->arch;
    uint32_t count = 0;

    for (uint32_t i = 0; i < job->wishes; i++) {
        uint32_t x = job->wish[i].a, y = job->wish[i].b;

        count += addr[x] < place_block_high(a, addr[y] + job->item[y].bytes) &&
                 addr[y] < place_block_high(a, addr[x] + job->item[x].bytes);
    }
    return count;
}

struct tile_place place_tile_measure(const struct place_job *job, struct place_scratch *w)
{
    struct tile_place p = { .code_bytes = job->code_bytes,
                            .code_need =
                                arch_loader_head_bytes(job->arch) + (uint64_t)job->code_bytes };

    find_holes(job, w, &p);
    find_peak(job, w, &p);
    p.shared_pairs = count_shared(job, w->best);
    p.beside_code = count_beside_code(job, w->best);
    return p;
}

/* ---- scratch ---- */

static int partners_init(struct place_partners *p, uint32_t items, uint32_t pairs)
{
    p->first = emu_alloc((size_t)items + 2, sizeof(*p->first));
    p->of = emu_alloc(2 * (size_t)pairs + 1, sizeof(*p->of));
    return p->first && p->of;
}

static void partners_free(struct place_partners *p)
{
    ss_free(p->first);
    ss_free(p->of);
}

enum emu_status place_scratch_init(struct place_scratch *w, const struct place_job *most,
                                   uint32_t steps)
{
    size_t items = most->items;

    *w = (struct place_scratch){
        .order = emu_alloc(items + 1, sizeof(*w->order)),
        .spare = emu_alloc(items + 1, sizeof(*w->spare)),
        .placed.low = emu_alloc(items + PLACED_LANES, sizeof(*w->placed.low)),
        .placed.high = emu_alloc(items + PLACED_LANES, sizeof(*w->placed.high)),
        .placed.live = emu_alloc(items + PLACED_LANES, sizeof(*w->placed.live)),
        .solid.at = emu_alloc(items + 1, sizeof(*w->solid.at)),
        .addr = emu_alloc(items + 1, sizeof(*w->addr)),
        .best = emu_alloc(items + 1, sizeof(*w->best)),
        .delta = emu_alloc((size_t)steps + 1, sizeof(*w->delta)),
    };
    if (w->order && w->spare && w->placed.low && w->placed.high && w->placed.live && w->solid.at &&
        w->addr && w->best && w->delta && partners_init(&w->apart, most->items, most->pairs) &&
        partners_init(&w->wish, most->items, most->wishes))
        return EMU_OK;
    place_scratch_free(w);
    return FAIL(NO_MEMORY, "placement of %zu objects", items);
}

void place_scratch_free(struct place_scratch *w)
{
    ss_free(w->order);
    ss_free(w->spare);
    ss_free(w->placed.low);
    ss_free(w->placed.high);
    ss_free(w->placed.live);
    ss_free(w->solid.at);
    ss_free(w->addr);
    ss_free(w->best);
    partners_free(&w->apart);
    partners_free(&w->wish);
    ss_free(w->delta);
    *w = (struct place_scratch){ 0 };
}
