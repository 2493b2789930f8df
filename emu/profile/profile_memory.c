/* profile_memory.c - ranges of bytes as packed maps of tiles, summed by category and by owner. */
#include "emu/profile/profile_memory.h"

#include "emu/base/alloc.h"

enum { MAP_PLANES = 4, OWNERS_FIRST = 1024 };

/* Bytes of an owner and category. */
struct owner_sum {
    uint32_t owner, category;       /* strings of the image */
    uint32_t owner_id, category_id; /* names of the profile; 0: a free entry */
    unsigned kind;                  /* of the category, in profile_memory.kind */
    uint32_t tiles, most_tile;
    uint64_t bytes, most_bytes;
    uint64_t here; /* on the last tile, */
    uint32_t tile; /* which is this one */
    uint32_t next; /* entry that followed it last */
};

enum emu_status profile_memory_init(struct profile *p, const struct image *im, uint32_t chip,
                                    struct profile_memory *out)
{
    *out = (struct profile_memory){ .p = p, .im = im, .chip = chip, .owner_cap = OWNERS_FIRST };
    out->owner = emu_alloc(out->owner_cap, sizeof(*out->owner));
    return out->owner ? EMU_OK : FAIL(NO_MEMORY, "owners of a profile");
}

void profile_memory_free(struct profile_memory *m)
{
    ss_free(m->owner);
    ss_free(m->plane);
}

/* ---- owners ---- */

static uint32_t place_of_owner(const struct profile_memory *m, uint32_t owner, uint32_t category)
{
    size_t h = (owner * 31u + category) * 2654435761u & (m->owner_cap - 1);

    while (m->owner[h].owner_id && (m->owner[h].owner != owner || m->owner[h].category != category))
        h = (h + 1) & (m->owner_cap - 1);
    return (uint32_t)h;
}

static enum emu_status grow_owners(struct profile_memory *m)
{
    struct owner_sum *old = m->owner;
    size_t cap = m->owner_cap;

    m->owner = emu_alloc(2 * cap, sizeof(*m->owner));
    if (!m->owner) {
        m->owner = old;
        return FAIL(NO_MEMORY, "owners of a profile");
    }
    m->owner_cap = 2 * cap;
    m->last = 0;
    for (size_t i = 0; i < cap; i++) {
        if (old[i].owner_id) {
            struct owner_sum *o = &m->owner[place_of_owner(m, old[i].owner, old[i].category)];

            *o = old[i];
            o->next = 0;
        }
    }
    ss_free(old);
    return EMU_OK;
}

/* The kind of a category: they are few, and further ones count as the last. */
static unsigned kind_of(struct profile_memory *m, uint32_t category)
{
    unsigned k = 0;

    while (k < m->kinds && m->kind[k].category != category)
        k++;
    if (k == m->kinds && m->kinds < PROFILE_KINDS)
        m->kind[m->kinds++].category = category;
    return k < PROFILE_KINDS ? k : PROFILE_KINDS - 1;
}

static enum emu_status new_owner(struct profile_memory *m, const struct image_range *r,
                                 uint32_t *at)
{
    if (2 * m->owners >= m->owner_cap)
        TRY(grow_owners(m));
    *at = place_of_owner(m, r->owner, r->category);
    m->owner[*at] = (struct owner_sum){
        .owner = r->owner,
        .category = r->category,
        .owner_id = profile_name(m->p, image_text(m->im, r->owner)),
        .category_id = profile_name(m->p, image_text(m->im, r->category)),
        .kind = kind_of(m, r->category),
    };
    m->owners++;
    return m->owner[*at].owner_id ? EMU_OK : FAIL(NO_MEMORY, "names of a profile");
}

/* The entry of a range. Tiles are much alike, so the next one is mostly that which followed the
 * last one before. */
static enum emu_status find_owner(struct profile_memory *m, const struct image_range *r,
                                  struct owner_sum **out)
{
    uint32_t at = m->owner[m->last].next;

    if (m->owner[at].owner != r->owner || m->owner[at].category != r->category ||
        !m->owner[at].owner_id) {
        at = place_of_owner(m, r->owner, r->category);
        if (!m->owner[at].owner_id)
            TRY(new_owner(m, r, &at));
        m->owner[m->last].next = at;
    }
    m->last = at;
    *out = &m->owner[at];
    return EMU_OK;
}

static void add_to_owner(struct owner_sum *o, uint32_t tile, uint32_t bytes)
{
    if (!o->tiles || o->tile != tile) {
        o->tile = tile;
        o->here = 0;
        o->tiles++;
    }
    o->bytes += bytes;
    o->here += bytes;
    if (o->here > o->most_bytes) {
        o->most_bytes = o->here;
        o->most_tile = tile;
    }
}

void profile_memory_owners(struct profile_memory *m)
{
    for (size_t i = 0; i < m->owner_cap; i++) {
        const struct owner_sum *o = &m->owner[i];

        if (o->owner_id)
            PROFILE_ROW(m->p, "owners", PROFILE_I(m->chip), PROFILE_I(o->owner_id),
                        PROFILE_I(o->category_id), PROFILE_I(image_scope_of(m->im, o->owner)),
                        PROFILE_I(o->tiles), PROFILE_I(o->bytes), PROFILE_I(o->most_bytes),
                        PROFILE_I(o->most_tile));
    }
}

/* ---- tiles ---- */

static enum emu_status reach_planes(struct profile_memory *m, size_t numbers)
{
    if (numbers <= m->plane_cap)
        return EMU_OK;
    ss_free(m->plane);
    m->plane = emu_alloc(numbers, sizeof(*m->plane));
    m->plane_cap = m->plane ? numbers : 0;
    return m->plane ? EMU_OK : FAIL(NO_MEMORY, "maps of a profile");
}

static enum emu_status add_ranges(struct profile_memory *m, uint32_t tile,
                                  const struct image_range *r, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t *plane = m->plane + i;
        struct owner_sum *o;

        TRY(find_owner(m, &r[i], &o));
        add_to_owner(o, tile, r[i].bytes);
        m->kind[o->kind].bytes += r[i].bytes;
        plane[0] = r[i].addr;
        plane[n] = r[i].bytes;
        plane[2 * n] = o->category_id;
        plane[3 * n] = o->owner_id;
    }
    return EMU_OK;
}

enum emu_status profile_memory_tile(struct profile_memory *m, const struct image_tile *t,
                                    uint64_t *used)
{
    size_t n;
    const struct image_range *r = image_map_of(m->im, t->map, &n);

    *used = 0;
    TRY(reach_planes(m, MAP_PLANES * n + 1));
    TRY(add_ranges(m, t->tile, r, n));
    for (unsigned i = 0; i < m->kinds; i++) {
        struct profile_kind_bytes *k = &m->kind[i];

        if (k->bytes)
            PROFILE_ROW(m->p, "tile_bytes", PROFILE_I(m->chip), PROFILE_I(t->tile),
                        PROFILE_T(image_text(m->im, k->category)), PROFILE_I(k->bytes));
        *used += k->bytes;
        k->bytes = 0;
    }
    return profile_put_numbers(
        m->p, "tile_maps",
        (const struct profile_value[]){ PROFILE_I(m->chip), PROFILE_I(t->tile), PROFILE_I(n) }, 3,
        m->plane, MAP_PLANES * n);
}
