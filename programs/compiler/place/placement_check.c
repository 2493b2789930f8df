/* placement_check.c - proves a placement: every object lies where it may, and no two are in each
 * other's way. Shares no code with the search; needs only the addresses, the objects and the
 * machine.
 */
#include "emu/arch/arch_numbers.h"
#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/base/parallel.h"
#include "programs/compiler/place/place.h"
#include "programs/compiler/place/place_wish.h"

struct placed_object {
    uint64_t end; /* address, like begin */
    uint32_t begin, object;
};

struct checker {
    const struct lowered *l;
    const struct placement *p;
    const struct arch *arch;
    unsigned threads;
    size_t *first;            /* by tile, and one more: in at */
    struct placed_object *at; /* in the order of tiles, then of addresses */
    uint8_t *near;            /* by object */
};

/* Fails with tile, name, category and place of an object. why: text with the machine's figures. */
static enum emu_status refuse(const struct checker *c, uint32_t object, const char *why)
{
    const struct object *o = &c->l->object.at[object];

    return FAIL(BAD_PROGRAM, "tile %u: %s '%s', %u bytes at 0x%x: %s", o->tile,
                category_name(o->category), strings_text(&c->l->strings, o->owner), o->bytes,
                o->addr, why);
}

static enum emu_status refuse_pair(const struct checker *c, uint32_t a, uint32_t b,
                                   const char *what)
{
    const struct object *x = &c->l->object.at[a], *y = &c->l->object.at[b];

    return FAIL(BAD_PROGRAM,
                "tile %u: %s '%s', %u bytes at 0x%x, and %s '%s', %u bytes at 0x%x, are in use at "
                "the same time and %s",
                x->tile, category_name(x->category), strings_text(&c->l->strings, x->owner),
                x->bytes, x->addr, category_name(y->category),
                strings_text(&c->l->strings, y->owner), y->bytes, y->addr, what);
}

/* ---- one object ---- */

static int tile_fits(const struct checker *c, uint32_t t)
{
    return c->p->tile[t].need_bytes <= c->arch->mem_bytes &&
           c->p->tile[t].code_need <= c->arch->region0_bytes;
}

/* Whether all addresses of a tile fit 32 bits. Those of a tile that does not fit may not. */
static int has_addresses(const struct checker *c, uint32_t t)
{
    return c->p->tile[t].need_bytes < UINT32_MAX - c->arch->mem_base;
}

static enum emu_status check_object(const struct checker *c, uint32_t t,
                                    const struct placed_object *x)
{
    const struct object *o = &c->l->object.at[x->object];
    const struct tile_place *place = &c->p->tile[t];
    uint64_t base = c->arch->mem_base, region1 = base + c->arch->region0_bytes;
    uint64_t top = base + c->arch->mem_bytes;

    if (x->begin % o->align)
        return refuse(c, x->object, "not aligned");
    if (x->begin < ss_arch_loader_base(c->arch) + (uint64_t)place->code_bytes)
        return refuse(c, x->object, "overlaps the code");
    if (tile_fits(c, t) && x->end > top)
        return refuse(c, x->object, "outside the memory of a tile that is said to fit");
    if (x->end > base + place->need_bytes && x->end > top)
        return refuse(c, x->object, "after what the tile is said to need");
    if (o->region == REGION0 && x->end > region1 && x->begin < top)
        return refuse(c, x->object, "not in region 0");
    if (o->region == REGION1 && x->begin < region1)
        return refuse(c, x->object, "not in region 1");
    if (object_is_loaded(o) && tile_fits(c, t) && x->end > top - arch_loader_tail_bytes(c->arch))
        return refuse(c, x->object, "where the loader cannot fill the memory");
    if (c->near[x->object] && x->end > PLACE_REACH && tile_fits(c, t))
        return refuse(c, x->object, "beyond the addresses that instructions can name");
    return EMU_OK;
}

/* ---- two objects ---- */

/* The number of the block of memory elements that holds an address: an element of region 0, or the
 * interleaved ones of region 1. It ascends with the address, also past the end of the memory. */
static uint64_t block_of(const struct arch *a, uint64_t addr)
{
    uint64_t off = addr - a->mem_base, elements0 = a->region0_bytes / a->element_bytes;

    if (off < a->region0_bytes)
        return off / a->element_bytes;
    return elements0 +
           (off - a->region0_bytes) / ((uint64_t)arch_region1_interleave(a) * a->element_bytes);
}

static int share_block(const struct checker *c, struct object_pair pair)
{
    const struct object *x = &c->l->object.at[pair.a], *y = &c->l->object.at[pair.b];

    return x->bytes && y->bytes &&
           block_of(c->arch, x->addr) <= block_of(c->arch, (uint64_t)y->addr + y->bytes - 1) &&
           block_of(c->arch, y->addr) <= block_of(c->arch, (uint64_t)x->addr + x->bytes - 1);
}

static enum emu_status check_apart(const struct checker *c, struct object_pair pair)
{
    const struct object *x = &c->l->object.at[pair.a], *y = &c->l->object.at[pair.b];

    if (live_sets_meet(c->l, x->live, y->live) && share_block(c, pair))
        return refuse_pair(c, pair.a, pair.b, "share a memory element they must not share");
    return EMU_OK;
}

/* Pairs that are kept apart are proven so many at a time. */
enum { PAIRS = 4096 };

static enum emu_status check_pairs(void *ctx, uint32_t part, unsigned thread)
{
    const struct checker *c = ctx;
    const struct lowered *l = c->l;
    size_t first = (size_t)part * PAIRS, end = first + PAIRS;

    (void)thread;
    for (size_t i = first; i < end && i < l->apart.count; i++)
        if (has_addresses(c, l->tile_index[l->object.at[l->apart.at[i].a].tile]))
            TRY(check_apart(c, l->apart.at[i]));
    return EMU_OK;
}

static enum emu_status check_objects(const struct checker *c, uint32_t t)
{
    const struct placed_object *at = c->at + c->first[t];
    size_t n = c->first[t + 1] - c->first[t];

    for (size_t i = 0; i < n; i++) {
        uint32_t live = c->l->object.at[at[i].object].live;

        TRY(check_object(c, t, &at[i]));
        for (size_t k = i + 1; k < n && at[k].begin < at[i].end; k++)
            if (at[k].end > at[k].begin &&
                live_sets_meet(c->l, live, c->l->object.at[at[k].object].live))
                return refuse_pair(c, at[i].object, at[k].object, "share bytes");
    }
    return EMU_OK;
}

static enum emu_status check_tile(void *ctx, uint32_t t, unsigned thread)
{
    const struct checker *c = ctx;
    size_t first = c->first[t], n = c->first[t + 1] - first;

    (void)thread;
    TRY(key_sort(c->at + first, n, sizeof(*c->at), offsetof(struct placed_object, begin), 1));
    if (has_addresses(c, t))
        TRY(check_objects(c, t));
    if (c->p->fits && !tile_fits(c, t))
        return FAIL(BAD_PROGRAM, "tile %u does not fit, but everything is said to",
                    c->l->used_tile[t]);
    return EMU_OK;
}

/* ---- wishes ---- */

/* Whether an object has bytes in an element from which the code of its tile is fetched. */
static int is_beside_code(const struct checker *c, uint32_t object)
{
    const struct object *o = &c->l->object.at[object];
    const struct tile_place *place = &c->p->tile[c->l->tile_index[o->tile]];
    uint64_t last = (uint64_t)arch_loader_head_bytes(c->arch) + place->code_bytes +
                    arch_fetch_ahead_bytes(c->arch) - 1;

    if (last >= c->arch->region0_bytes)
        last = c->arch->region0_bytes - 1;
    return block_of(c->arch, o->addr) <= block_of(c->arch, c->arch->mem_base + last);
}

/* Wishes that did not come true on one tile. */
struct unmet {
    uint32_t shared_pairs, beside_code;
};

static void count_unmet(const struct checker *c, const struct place_wishes *w, struct unmet *unmet)
{
    const struct lowered *l = c->l;

    for (size_t i = 0; i < w->pair.count; i++)
        unmet[l->tile_index[l->object.at[w->pair.at[i].a].tile]].shared_pairs +=
            (uint32_t)share_block(c, w->pair.at[i]);
    for (uint32_t i = 0; i < l->object.count; i++)
        if (w->receives[i])
            unmet[l->tile_index[l->object.at[i].tile]].beside_code +=
                (uint32_t)is_beside_code(c, i);
}

static enum emu_status check_wishes(const struct checker *c)
{
    struct place_wishes w;
    struct unmet *unmet = emu_alloc((size_t)c->l->used_tiles + 1, sizeof(*unmet));
    enum emu_status s = place_wishes_init(&w, c->l);

    if (s == EMU_OK && !unmet)
        s = FAIL(NO_MEMORY, "wishes of %u tiles", c->l->used_tiles);
    if (s == EMU_OK)
        count_unmet(c, &w, unmet);
    for (uint32_t t = 0; s == EMU_OK && t < c->l->used_tiles; t++) {
        const struct tile_place *p = &c->p->tile[t];

        if (has_addresses(c, t) &&
            (p->shared_pairs != unmet[t].shared_pairs || p->beside_code != unmet[t].beside_code))
            s = FAIL(BAD_PROGRAM,
                     "tile %u: %u pairs of an object sent from and one received into share a "
                     "memory element, %u of the latter lie beside code; said to be %u and %u",
                     c->l->used_tile[t], unmet[t].shared_pairs, unmet[t].beside_code,
                     p->shared_pairs, p->beside_code);
    }
    place_wishes_free(&w);
    ss_free(unmet);
    return s;
}

static enum emu_status check_all(struct checker *c)
{
    const struct lowered *l = c->l;

    for (size_t i = 0; i < l->object.count; i++)
        c->first[l->tile_index[l->object.at[i].tile]]++;
    for (uint32_t t = 1; t <= l->used_tiles; t++)
        c->first[t] += c->first[t - 1];
    for (size_t i = l->object.count; i--;) {
        const struct object *o = &l->object.at[i];
        size_t at = --c->first[l->tile_index[o->tile]];

        c->at[at] = (struct placed_object){ (uint64_t)o->addr + o->bytes, o->addr, (uint32_t)i };
    }
    TRY(parallel_each(l->used_tiles, c->threads, check_tile, c));
    TRY(parallel_each((uint32_t)((l->apart.count + PAIRS - 1) / PAIRS), c->threads, check_pairs,
                      c));
    return check_wishes(c);
}

enum emu_status placement_check(const struct lowered *l, const struct placement *p,
                                unsigned threads)
{
    struct checker c = { .l = l, .p = p, .arch = ss_graph_arch(l->graph), .threads = threads };
    enum emu_status s;

    if (p->tiles != l->used_tiles)
        return FAIL(BAD_PROGRAM, "placement of %u tiles for %u", p->tiles, l->used_tiles);
    c.first = emu_alloc((size_t)l->used_tiles + 2, sizeof(*c.first));
    c.at = emu_alloc(l->object.count + 1, sizeof(*c.at));
    c.near = emu_alloc(l->object.count + 1, sizeof(*c.near));
    if (c.near)
        place_mark_near(l, c.near);
    s = c.first && c.at && c.near ? check_all(&c)
                                  : FAIL(NO_MEMORY, "proof of %zu objects", l->object.count);
    ss_free(c.first);
    ss_free(c.at);
    ss_free(c.near);
    return s;
}
