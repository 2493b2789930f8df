/* memory_report.c - adds up the memory of every tile (see memory_report.h).
 *
 * The image says what each byte of code is for. A program that does not fit has no image; its code
 * is then the codelets, the exchange code as it was scheduled, and a rest that counts as control
 * code.
 */
#include "programs/compiler/report/memory_report.h"

#include <stdlib.h>
#include <string.h>

#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/base/parallel.h"
#include "programs/compiler/place/place_live.h"

int tile_fits(const struct memory_report *a, uint32_t tile)
{
    const struct arch *arch = ss_graph_arch(a->c->graph);
    const struct tile_place *p = &a->c->place.tile[tile];

    return p->need_bytes <= arch->mem_bytes && p->code_need <= arch->region0_bytes;
}

/* ---- code ---- */

/* The strings of an image that are names of categories; UINT32_MAX: it has no range of this one. */
static void find_categories(const struct image *im, uint32_t text[CATEGORY_COUNT])
{
    for (int i = 0; i < CATEGORY_COUNT; i++)
        text[i] = image_find_string(im, category_name((enum category)i));
}

/* CATEGORY_COUNT: the string is no category. */
static enum category category_of(const uint32_t text[CATEGORY_COUNT], uint32_t string)
{
    int i = 0;

    while (i < CATEGORY_COUNT && text[i] != string)
        i++;
    return (enum category)i;
}

struct owner_list {
    VEC(struct owner_bytes) owner;
};

static enum emu_status code_of_image(const struct compiled *c, uint32_t tile,
                                     struct owner_list *out)
{
    const struct image_tile *it =
        image_find_tile(compiled_image(c), c->number, c->lowered->used_tile[tile]);
    uint64_t end =
        (uint64_t)ss_arch_loader_base(ss_graph_arch(c->graph)) + c->place.tile[tile].code_bytes;
    uint32_t text[CATEGORY_COUNT];
    size_t n;
    const struct image_range *r;

    if (!it)
        return FAIL(BAD_PROGRAM, "tile %u is not in the image", c->lowered->used_tile[tile]);
    find_categories(compiled_image(c), text);
    r = image_map_of(compiled_image(c), it->map, &n);
    for (size_t i = 0; i < n && r[i].addr < end; i++) {
        enum category category = category_of(text, r[i].category);

        if (category == CATEGORY_COUNT)
            return FAIL(BAD_PROGRAM, "tile %u: a category '%s' in the image", it->tile,
                        image_text(compiled_image(c), r[i].category));
        TRY(VEC_PUSH(&out->owner, (struct owner_bytes){ image_text(compiled_image(c), r[i].owner),
                                                        category, r[i].bytes }));
    }
    return EMU_OK;
}

static enum emu_status code_of_stages(const struct compiled *c, uint32_t tile,
                                      struct owner_list *out)
{
    const struct lowered *l = c->lowered;
    uint64_t left = c->place.tile[tile].code_bytes, codelets = c->codelets.bytes;

    if (codelets > left)
        codelets = left;
    TRY(VEC_PUSH(&out->owner,
                 (struct owner_bytes){ "all codelets", CATEGORY_VERTEX_CODE, codelets }));
    left -= codelets;
    for (uint32_t step = 0; step < l->step.count; step++) {
        const struct tile_schedule *t =
            c->schedule ? exchange_schedule_of(&c->schedule[step], l->used_tile[tile]) : NULL;
        uint64_t bytes = t ? t->bytes : 0;

        if (bytes > left) /* code that several steps share */
            bytes = left;
        left -= bytes;
        if (bytes)
            TRY(VEC_PUSH(&out->owner,
                         (struct owner_bytes){ strings_text(&l->strings, l->step.at[step].name),
                                               CATEGORY_EXCHANGE_CODE, bytes }));
    }
    return VEC_PUSH(&out->owner, (struct owner_bytes){ "program", CATEGORY_CONTROL_CODE, left });
}

/* Lists the code of a tile by owner. Code has no gaps. */
static enum emu_status list_code(const struct compiled *c, uint32_t tile, struct owner_list *out)
{
    return compiled_image(c) ? code_of_image(c, tile, out) : code_of_stages(c, tile, out);
}

/* ---- objects ---- */

/* The bytes that an object lies in. Where several objects share a byte, it counts for the one with
 * the lowest rank. */
struct byte_claim {
    uint64_t end;
    uint32_t begin, rank, object;
};

/* Counts the bytes [from, to) for the n active claims, none of which begins after `from`. Drops
 * claims that end before `to`, and returns how many are left. */
static size_t divide(const struct lowered *l, struct byte_claim *active, size_t n, uint64_t from,
                     uint64_t to, struct tile_usage *t)
{
    while (n && from < to) {
        uint64_t end = to;
        size_t first = 0, left = 0;

        for (size_t i = 0; i < n; i++) {
            if (active[i].end < end)
                end = active[i].end;
            if (active[i].rank < active[first].rank)
                first = i;
        }
        t->category[l->object.at[active[first].object].category] += end - from;
        for (size_t i = 0; i < n; i++)
            if (active[i].end > end)
                active[left++] = active[i];
        n = left;
        from = end;
    }
    return n;
}

/* Bytes by category of objects with addresses; claims come by rank. active: room for n claims. */
static void count_claims(const struct lowered *l, struct byte_claim *claim, size_t n,
                         struct byte_claim *active, struct tile_usage *t)
{
    size_t open = 0;

    key_sort_in(claim, active, n, sizeof(*claim), offsetof(struct byte_claim, begin), 1);
    for (size_t i = 0; i < n; i++) {
        uint64_t next = i + 1 < n ? claim[i + 1].begin : UINT64_MAX;

        if (claim[i].end > claim[i].begin)
            active[open++] = claim[i];
        open = divide(l, active, open, claim[i].begin, next, t);
    }
}

/* Whether addresses of 32 bits reach all objects of a tile: it may be asked to hold more than 4 GB.
 */
static int has_addresses(const struct compiled *c, uint32_t tile)
{
    return c->place.tile[tile].need_bytes < UINT32_MAX - ss_graph_arch(c->graph)->mem_base;
}

/* Lists the objects of a tile, those that are in use at its worst moment first. Returns how many
 * these are. spare: room for as many claims again. */
static size_t list_claims(const struct memory_report *a, uint32_t tile, struct byte_claim *claim,
                          struct byte_claim *spare)
{
    const struct lowered *l = a->c->lowered;
    uint32_t step = a->c->place.tile[tile].peak_step;
    size_t used = 0, others = 0;

    for (size_t i = a->first[tile]; i < a->first[tile + 1]; i++) {
        const struct object *o = &l->object.at[a->object[i]];
        struct byte_claim *to = object_in_use(l, o, step) ? &claim[used++] : &spare[others++];

        *to = (struct byte_claim){ (uint64_t)o->addr + o->bytes, o->addr, 0, a->object[i] };
    }
    memcpy(claim + used, spare, others * sizeof(*spare));
    for (size_t i = 0; i < used + others; i++)
        claim[i].rank = (uint32_t)i;
    return used;
}

static void count_objects(const struct memory_report *a, uint32_t tile, struct byte_claim *room,
                          struct tile_usage *t)
{
    const struct lowered *l = a->c->lowered;
    size_t n = a->first[tile + 1] - a->first[tile], used = list_claims(a, tile, room, room + n);

    for (size_t i = 0; i < used; i++) {
        const struct object *o = &l->object.at[room[i].object];

        t->peak[o->category] += o->bytes;
    }
    if (has_addresses(a->c, tile))
        count_claims(l, room, n, room + n, t);
    else
        for (size_t i = 0; i < CATEGORY_COUNT; i++)
            t->category[i] = t->peak[i];
}

/* ---- one tile ---- */

/* Checks that the image has as many bytes in every category, and as many that belong to none. */
static enum emu_status compare_image(const struct compiled *c, uint32_t tile,
                                     const struct tile_usage *t)
{
    uint32_t number = c->lowered->used_tile[tile];
    const struct image_tile *it = image_find_tile(compiled_image(c), c->number, number);
    uint32_t text[CATEGORY_COUNT], bytes[CATEGORY_COUNT + 1] = { 0 }, named = 0, gaps;
    size_t n;
    const struct image_range *r = image_map_of(compiled_image(c), it->map, &n);

    find_categories(compiled_image(c), text);
    for (size_t i = 0; i < n; i++) {
        bytes[category_of(text, r[i].category)] += r[i].bytes;
        named += r[i].bytes;
    }
    gaps = ss_graph_arch(c->graph)->mem_bytes - named;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        if (bytes[i] != t->category[i])
            return FAIL(BAD_PROGRAM, "tile %u: %llu bytes of category '%s', %u in the image",
                        number, (unsigned long long)t->category[i], category_name((enum category)i),
                        bytes[i]);
    }
    if (gaps != t->gap + t->free)
        return FAIL(BAD_PROGRAM, "tile %u: %llu bytes without a use, %u in the image", number,
                    (unsigned long long)(t->gap + t->free), gaps);
    return EMU_OK;
}

static enum emu_status prove_tile(const struct compiled *c, uint32_t tile,
                                  const struct tile_usage *t)
{
    const struct tile_place *p = &c->place.tile[tile];
    uint64_t peak = 0;

    for (int i = 0; i < CATEGORY_COUNT; i++)
        peak += t->peak[i];
    if (has_addresses(c, tile) && (t->used != p->used_bytes || peak != p->peak_bytes))
        return FAIL(BAD_PROGRAM,
                    "tile %u: categories add up to %llu bytes, %llu at the worst moment; the "
                    "placement says %u and %u",
                    c->lowered->used_tile[tile], (unsigned long long)t->used,
                    (unsigned long long)peak, p->used_bytes, p->peak_bytes);
    if (t->used + t->gap + t->free != t->total)
        return FAIL(BAD_PROGRAM, "tile %u: %llu bytes used, %llu lost, %llu free: not %llu in all",
                    c->lowered->used_tile[tile], (unsigned long long)t->used,
                    (unsigned long long)t->gap, (unsigned long long)t->free,
                    (unsigned long long)t->total);
    return compiled_image(c) ? compare_image(c, tile, t) : EMU_OK;
}

static enum emu_status count_tile(const struct memory_report *a, uint32_t tile,
                                  struct byte_claim *room, struct owner_list *code)
{
    const struct compiled *c = a->c;
    const struct tile_place *p = &c->place.tile[tile];
    struct tile_usage *t = &a->tile[tile];

    *t = (struct tile_usage){ .total = ss_graph_arch(c->graph)->mem_bytes };
    if (p->need_bytes > t->total)
        t->total = p->need_bytes;
    count_objects(a, tile, room, t);
    code->owner.count = 0;
    TRY(list_code(c, tile, code));
    for (size_t i = 0; i < code->owner.count; i++) {
        t->category[code->owner.at[i].category] += code->owner.at[i].bytes;
        t->peak[code->owner.at[i].category] += code->owner.at[i].bytes;
    }
    for (int i = 0; i < CATEGORY_COUNT; i++)
        t->used += t->category[i];
    t->free = p->need_bytes < t->total ? t->total - p->need_bytes : 0;
    t->gap = has_addresses(c, tile) ? p->gap_bytes : t->total - t->used;
    return prove_tile(c, tile, t);
}

/* ---- all tiles ---- */

static void add_total(struct category_total *c, uint64_t bytes, uint32_t tile)
{
    if (bytes > c->most) {
        c->most = bytes;
        c->most_tile = tile;
    }
    c->bytes += bytes;
}

/* What the fullest tiles are chosen by: tiles that do not fit come first, by the memory they need,
 * then the others, by the memory they use. */
static uint64_t fullness(const struct memory_report *a, uint32_t tile)
{
    return tile_fits(a, tile) ? a->tile[tile].used
                              : (UINT64_C(1) << 40) + a->c->place.tile[tile].need_bytes;
}

static void note_fullest(struct memory_report *a, uint32_t tile)
{
    uint32_t i = a->fullest_count;

    while (i && fullness(a, a->fullest[i - 1]) < fullness(a, tile))
        i--;
    if (i == FULLEST_TILES)
        return;
    if (a->fullest_count < FULLEST_TILES)
        a->fullest_count++;
    memmove(a->fullest + i + 1, a->fullest + i, (a->fullest_count - i - 1) * sizeof(*a->fullest));
    a->fullest[i] = tile;
}

static void add_up(struct memory_report *a)
{
    for (uint32_t k = 0; k < a->tiles; k++) {
        const struct tile_usage *t = &a->tile[k];
        uint32_t number = a->c->lowered->used_tile[k];

        for (int i = 0; i < CATEGORY_COUNT; i++)
            add_total(&a->category[i], t->category[i], number);
        add_total(&a->used, t->used, number);
        add_total(&a->gap, t->gap, number);
        add_total(&a->free, t->free, number);
        a->over += !tile_fits(a, k);
        note_fullest(a, k);
    }
}

/* The largest number of objects on a tile. */
static size_t most_objects(const struct memory_report *a)
{
    size_t most = 0;

    for (uint32_t t = 0; t < a->tiles; t++)
        if (most < a->first[t + 1] - a->first[t])
            most = a->first[t + 1] - a->first[t];
    return most;
}

/* What a thread needs to count a tile. */
struct count_scratch {
    struct byte_claim *room; /* owned */
    struct owner_list code;
};

struct count_work {
    const struct memory_report *a;
    struct count_scratch *scratch; /* by thread; owned */
};

static enum emu_status count_next(void *ctx, uint32_t tile, unsigned thread)
{
    const struct count_work *w = ctx;

    return count_tile(w->a, tile, w->scratch[thread].room, &w->scratch[thread].code);
}

static enum emu_status count_tiles(const struct memory_report *a)
{
    unsigned threads = parallel_threads(a->c->threads);
    size_t room = 2 * most_objects(a) + 1;
    struct count_work w = { a, emu_alloc(threads, sizeof(*w.scratch)) };
    enum emu_status s = w.scratch ? EMU_OK : FAIL(NO_MEMORY, "%u threads", threads);

    for (unsigned i = 0; i < threads && s == EMU_OK; i++) {
        w.scratch[i].room = emu_alloc(room, sizeof(*w.scratch[i].room));
        if (!w.scratch[i].room)
            s = FAIL(NO_MEMORY, "a memory report of a tile");
    }
    if (s == EMU_OK)
        s = parallel_each(a->tiles, threads, count_next, &w);
    for (unsigned i = 0; w.scratch && i < threads; i++) {
        ss_free(w.scratch[i].room);
        VEC_FREE(&w.scratch[i].code.owner);
    }
    ss_free(w.scratch);
    return s;
}

enum emu_status memory_report_list(const struct compiled *c, struct memory_report *out)
{
    size_t objects;

    *out = (struct memory_report){ .c = c };
    if (!c)
        return FAIL(BAD_PROGRAM, "there is no compiled program: ss_graph_compile() has failed");
    objects = c->lowered->object.count;
    out->tiles = c->lowered->used_tiles;
    out->tile = emu_alloc((size_t)out->tiles + 1, sizeof(*out->tile));
    out->first = emu_alloc((size_t)out->tiles + 2, sizeof(*out->first));
    out->object = emu_alloc(objects + 1, sizeof(*out->object));
    if (!out->tile || !out->first || !out->object)
        return FAIL(NO_MEMORY, "a memory report of %zu objects", objects);
    live_list_objects(c->lowered, out->first, out->object);
    return EMU_OK;
}

enum emu_status memory_report_init(const struct compiled *c, struct memory_report *out)
{
    TRY(memory_report_list(c, out));
    TRY(count_tiles(out));
    add_up(out);
    return EMU_OK;
}

void memory_report_free(struct memory_report *a)
{
    ss_free(a->tile);
    ss_free(a->first);
    ss_free(a->object);
    *a = (struct memory_report){ 0 };
}

/* ---- owners ---- */

static int compare_names(const void *x, const void *y)
{
    const struct owner_bytes *a = x, *b = y;
    int order = strcmp(a->owner, b->owner);

    return order ? order : (int)a->category - (int)b->category;
}

static int compare_sizes(const void *x, const void *y)
{
    const struct owner_bytes *a = x, *b = y;

    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return compare_names(x, y);
}

static size_t merge_owners(struct owner_bytes *o, size_t n)
{
    size_t kept = 0;

    qsort(o, n, sizeof(*o), compare_names);
    for (size_t i = 0; i < n; i++)
        if (kept && !compare_names(&o[kept - 1], &o[i]))
            o[kept - 1].bytes += o[i].bytes;
        else
            o[kept++] = o[i];
    qsort(o, kept, sizeof(*o), compare_sizes);
    return kept;
}

enum emu_status memory_report_owners(const struct memory_report *a, uint32_t tile,
                                     struct owner_bytes **out, size_t *owners)
{
    const struct lowered *l = a->c->lowered;
    struct owner_list list = { 0 };
    enum emu_status s = list_code(a->c, tile, &list);

    for (size_t i = a->first[tile]; i < a->first[tile + 1] && s == EMU_OK; i++) {
        const struct object *o = &l->object.at[a->object[i]];

        if (object_in_use(l, o, a->c->place.tile[tile].peak_step))
            s = VEC_PUSH(&list.owner, (struct owner_bytes){ strings_text(&l->strings, o->owner),
                                                            (enum category)o->category, o->bytes });
    }
    if (s != EMU_OK) {
        VEC_FREE(&list.owner);
        return s;
    }
    *owners = merge_owners(list.owner.at, list.owner.count);
    *out = list.owner.at;
    return EMU_OK;
}

void describe_step(const struct lowered *l, uint32_t step, char *out, size_t bytes)
{
    static const char *const kinds[] = {
        [STEP_CALLS] = "compute", [STEP_EXCHANGE] = "exchange", [STEP_HOST] = "host stream",
        [STEP_REPEAT] = "repeat", [STEP_LOOP] = "loop",         [STEP_BREAK] = "loop",
        [STEP_IF] = "if",         [STEP_ELSE] = "if",           [STEP_END] = "end",
        [STEP_CALL] = "call",     [STEP_AWAIT] = "host stream", [STEP_CHIPS] = "exchange of chips"
    };

    if (step >= l->step.count)
        snprintf(out, bytes, "start");
    else
        snprintf(out, bytes, "step %u '%s' (%s)", step,
                 strings_text(&l->strings, l->step.at[step].name), kinds[l->step.at[step].kind]);
}

uint64_t memory_report_histogram(const struct memory_report *a, uint32_t bin[REPORT_BINS])
{
    uint64_t memory = ss_graph_arch(a->c->graph)->mem_bytes;
    uint64_t width = (memory + REPORT_BINS - 1) / REPORT_BINS;

    memset(bin, 0, REPORT_BINS * sizeof(*bin));
    for (uint32_t t = 0; t < a->tiles; t++) {
        uint64_t k = a->tile[t].used / width;

        if (tile_fits(a, t))
            bin[k < REPORT_BINS ? k : REPORT_BINS - 1]++;
    }
    return width;
}

struct chip_name report_chip(const struct compiled *c)
{
    struct chip_name name = { "" };

    if (c->first || c->chips > 1)
        snprintf(name.at, sizeof(name.at), "chip %u: ", c->number);
    return name;
}
