/* profile_memory.c - ranges of bytes as packed maps of tiles, summed by category and by owner. */
#include "emu/profile/profile_memory.h"

#include <string.h>

#include "emu/base/alloc.h"

enum { MAP_PLANES = 4, OWNERS_FIRST = 1024 };

/* Bytes of an owner and category. */
struct owner_sum {
    uint32_t owner, category; /* strings of the image */
    int used;                 /* 0: a free entry */
    uint64_t bytes, most_bytes;
    uint32_t tiles, most_tile;
    uint64_t here; /* on the last tile, */
    uint32_t tile; /* which is this one */
};

enum emu_status profile_memory_init(struct profile *p, const struct image *im,
                                    struct profile_memory *out)
{
    *out = (struct profile_memory){ .p = p, .im = im, .owner_cap = OWNERS_FIRST };
    out->owner = emu_alloc(out->owner_cap, sizeof(*out->owner));
    return out->owner ? EMU_OK : FAIL(NO_MEMORY, "owners of a profile");
}

void profile_memory_free(struct profile_memory *m)
{
    emu_free(m->name.at);
    emu_free(m->owner);
    emu_free(m->plane);
}

/* ---- names ---- */

static enum emu_status reach(struct known_ids *k, uint32_t id)
{
    size_t count = k->count ? k->count : 256;
    uint32_t *at;

    while (count <= id)
        count *= 2;
    if (count == k->count)
        return EMU_OK;
    at = emu_realloc(k->at, count, sizeof(*at));
    if (!at)
        return FAIL(NO_MEMORY, "names of a profile");
    memset(at + k->count, 0, (count - k->count) * sizeof(*at));
    *k = (struct known_ids){ at, count };
    return EMU_OK;
}

static enum emu_status find_name(struct profile_memory *m, uint32_t string, uint32_t *id)
{
    TRY(reach(&m->name, string));
    if (!m->name.at[string])
        m->name.at[string] = profile_name(m->p, image_text(m->im, string));
    *id = m->name.at[string];
    return EMU_OK;
}

/* ---- owners ---- */

static struct owner_sum *find_owner(const struct profile_memory *m, uint32_t owner,
                                    uint32_t category)
{
    size_t h = (owner * 31u + category) * 2654435761u & (m->owner_cap - 1);

    while (m->owner[h].used && (m->owner[h].owner != owner || m->owner[h].category != category))
        h = (h + 1) & (m->owner_cap - 1);
    return &m->owner[h];
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
    for (size_t i = 0; i < cap; i++) {
        if (old[i].used)
            *find_owner(m, old[i].owner, old[i].category) = old[i];
    }
    emu_free(old);
    return EMU_OK;
}

static enum emu_status add_to_owner(struct profile_memory *m, uint32_t tile,
                                    const struct image_range *r)
{
    struct owner_sum *o;

    if (2 * m->owners >= m->owner_cap)
        TRY(grow_owners(m));
    o = find_owner(m, r->owner, r->category);
    if (!o->used) {
        *o = (struct owner_sum){ .owner = r->owner, .category = r->category, .used = 1 };
        m->owners++;
    }
    if (!o->tiles || o->tile != tile) {
        o->tile = tile;
        o->here = 0;
        o->tiles++;
    }
    o->bytes += r->bytes;
    o->here += r->bytes;
    if (o->here > o->most_bytes) {
        o->most_bytes = o->here;
        o->most_tile = tile;
    }
    return EMU_OK;
}

void profile_memory_owners(struct profile_memory *m)
{
    for (size_t i = 0; i < m->owner_cap; i++) {
        const struct owner_sum *o = &m->owner[i];

        if (o->used)
            PROFILE_ROW(m->p, "owners", PROFILE_I(m->name.at[o->owner]),
                        PROFILE_I(m->name.at[o->category]),
                        PROFILE_I(image_scope_of(m->im, o->owner)), PROFILE_I(o->tiles),
                        PROFILE_I(o->bytes), PROFILE_I(o->most_bytes), PROFILE_I(o->most_tile));
    }
}

/* ---- tiles ---- */

/* The categories of a tile are few: each range is looked for from the first on. */
struct category_bytes {
    uint32_t category;
    uint64_t bytes;
};
enum { CATEGORIES_MAX = 64 };

static void add_to_category(struct category_bytes c[CATEGORIES_MAX], const struct image_range *r)
{
    unsigned i = 0;

    while (i + 1 < CATEGORIES_MAX && c[i].bytes && c[i].category != r->category)
        i++;
    if (!c[i].bytes)
        c[i].category = r->category;
    c[i].bytes += r->bytes; /* further ones count as the last */
}

static enum emu_status reach_planes(struct profile_memory *m, size_t numbers)
{
    if (numbers <= m->plane_cap)
        return EMU_OK;
    emu_free(m->plane);
    m->plane = emu_alloc(numbers, sizeof(*m->plane));
    m->plane_cap = m->plane ? numbers : 0;
    return m->plane ? EMU_OK : FAIL(NO_MEMORY, "maps of a profile");
}

static enum emu_status add_range(struct profile_memory *m, uint32_t tile,
                                 const struct image_range *r, uint32_t *plane, size_t ranges)
{
    uint32_t owner, category;

    TRY(find_name(m, r->category, &category));
    TRY(find_name(m, r->owner, &owner));
    plane[0] = r->addr;
    plane[ranges] = r->bytes;
    plane[2 * ranges] = category;
    plane[3 * ranges] = owner;
    return add_to_owner(m, tile, r);
}

enum emu_status profile_memory_tile(struct profile_memory *m, const struct image_tile *t,
                                    uint64_t *used)
{
    struct category_bytes c[CATEGORIES_MAX] = { { 0, 0 } };
    size_t n;
    const struct image_range *r = image_map_of(m->im, t->map, &n);

    *used = 0;
    TRY(reach_planes(m, MAP_PLANES * n + 1));
    for (size_t i = 0; i < n; i++) {
        TRY(add_range(m, t->tile, &r[i], m->plane + i, n));
        add_to_category(c, &r[i]);
        *used += r[i].bytes;
    }
    for (unsigned i = 0; i < CATEGORIES_MAX && c[i].bytes; i++)
        PROFILE_ROW(m->p, "tile_bytes", PROFILE_I(t->tile),
                    PROFILE_T(image_text(m->im, c[i].category)), PROFILE_I(c[i].bytes));
    return profile_put_numbers(m->p, "tile_maps",
                               (const struct profile_value[]){ PROFILE_I(t->tile), PROFILE_I(n) },
                               2, m->plane, MAP_PLANES * n);
}
