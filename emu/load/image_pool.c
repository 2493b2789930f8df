/* image_pool.c - how an image stores equal things once: arena, hash index, interning.
 *
 * A hash match is only a candidate; bytes are always compared, so no collision, hostile or not, can
 * merge two different things.
 */
#include "emu/load/image_internal.h"

#include <string.h>

#include "emu/base/alloc.h"

enum {
    SLAB_BYTES_MIN = 16 << 10,
    SLAB_BYTES_MAX = 4 << 20,
    ARENA_ALIGN = 16,
    INDEX_SLOTS_MIN = 16
};

struct arena_slab {
    struct arena_slab *before;
    size_t bytes; /* after this header */
    _Alignas(ARENA_ALIGN) uint8_t data[];
};

void *arena_alloc(struct arena *a, size_t bytes)
{
    size_t want = (bytes + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    size_t size = a->total_bytes;
    struct arena_slab *s = a->last;

    if (want < bytes)
        return NULL;
    if (!s || s->bytes - a->used < want) {
        if (size < SLAB_BYTES_MIN)
            size = SLAB_BYTES_MIN;
        if (size > SLAB_BYTES_MAX)
            size = SLAB_BYTES_MAX;
        if (size < want)
            size = want;
        if (size > SIZE_MAX - sizeof(*s))
            return NULL;
        s = emu_alloc(1, sizeof(*s) + size);
        if (!s)
            return NULL;
        s->before = a->last;
        s->bytes = size;
        a->last = s;
        a->used = 0;
        a->total_bytes += size;
    }
    a->used += want;
    return s->data + a->used - want;
}

void arena_free(struct arena *a)
{
    while (a->last) {
        struct arena_slab *before = a->last->before;

        ss_free(a->last);
        a->last = before;
    }
}

uint32_t index_next(const struct image_index *x, uint64_t hash, size_t *cursor)
{
    uint32_t h = (uint32_t)hash;

    while (*cursor < x->slots) {
        const struct image_index_slot *s = &x->slot[(h + *cursor) & (x->slots - 1)];

        (*cursor)++;
        if (!s->id_plus_1)
            break;
        if (s->hash == h)
            return s->id_plus_1 - 1;
    }
    return INDEX_NONE;
}

static void index_place(struct image_index_slot *slot, size_t slots, struct image_index_slot s)
{
    size_t i = s.hash & (slots - 1);

    while (slot[i].id_plus_1)
        i = (i + 1) & (slots - 1);
    slot[i] = s;
}

enum emu_status index_reserve(struct image_index *x)
{
    size_t slots = x->slots ? 2 * x->slots : INDEX_SLOTS_MIN;
    struct image_index_slot *slot;

    if (3 * (x->used + 1) <= 2 * x->slots)
        return EMU_OK;
    slot = emu_alloc(slots, sizeof(*slot));
    if (!slot)
        return FAIL(NO_MEMORY, "a hash index of %zu slots", slots);
    for (size_t i = 0; i < x->slots; i++) {
        if (x->slot[i].id_plus_1)
            index_place(slot, slots, x->slot[i]);
    }
    ss_free(x->slot);
    x->slot = slot;
    x->slots = slots;
    return EMU_OK;
}

void index_add(struct image_index *x, uint64_t hash, uint32_t id)
{
    EMU_ASSERT(x->used < x->slots && id != INDEX_NONE);
    index_place(x->slot, x->slots, (struct image_index_slot){ (uint32_t)hash, id + 1 });
    x->used++;
}

void index_free(struct image_index *x)
{
    ss_free(x->slot);
}

int bytes_are_zero(const void *data, size_t bytes)
{
    const uint8_t *p = data;
    uint64_t word[8];

    for (; bytes >= sizeof(word); p += sizeof(word), bytes -= sizeof(word)) {
        memcpy(word, p, sizeof(word));
        if (word[0] | word[1] | word[2] | word[3] | word[4] | word[5] | word[6] | word[7])
            return 0;
    }
    while (bytes > 0 && !*p) {
        p++;
        bytes--;
    }
    return bytes == 0;
}

void copy_nonzero_pages(void *to, const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += IMAGE_PAGE_BYTES) {
        size_t n = bytes - at < IMAGE_PAGE_BYTES ? bytes - at : IMAGE_PAGE_BYTES;

        if (!bytes_are_zero((const uint8_t *)from + at, n))
            memcpy((uint8_t *)to + at, (const uint8_t *)from + at, n);
    }
}

static uint32_t find_hashed(const struct image_pool *p, uint64_t hash, const void *data,
                            uint32_t bytes)
{
    size_t cursor = 0;
    uint32_t id;

    while ((id = index_next(&p->index, hash, &cursor)) != INDEX_NONE) {
        const struct pool_item *i = &p->item[id];

        if (i->bytes == bytes && (!bytes || memcmp(i->data, data, bytes) == 0))
            break;
    }
    return id;
}

uint32_t pool_find(const struct image_pool *p, const void *data, uint32_t bytes)
{
    return find_hashed(p, hash64(data, bytes), data, bytes);
}

enum emu_status pool_append_blank(struct image_pool *p, struct arena *a, uint32_t bytes,
                                  uint8_t **data)
{
    *data = NULL;
    if (p->items >= INDEX_NONE)
        return FAIL(BAD_IMAGE, "more than %u things of one kind", INDEX_NONE);
    TRY(emu_grow((void **)&p->item, p->items, &p->cap, sizeof(*p->item)));
    if (bytes) {
        *data = arena_alloc(a, bytes);
        if (!*data)
            return FAIL(NO_MEMORY, "%u bytes of an image", bytes);
    }
    p->item[p->items++] = (struct pool_item){ *data, bytes };
    return EMU_OK;
}

enum emu_status pool_index_item(struct image_pool *p, uint32_t id, uint64_t hash, uint32_t *equal)
{
    *equal = find_hashed(p, hash, p->item[id].data, p->item[id].bytes);
    if (*equal != INDEX_NONE)
        return EMU_OK;
    TRY(index_reserve(&p->index));
    index_add(&p->index, hash, id);
    *equal = id;
    return EMU_OK;
}

enum emu_status pool_intern(struct image_pool *p, struct arena *a, const void *data, uint32_t bytes,
                            uint32_t *id)
{
    uint64_t hash = hash64(data, bytes);
    uint8_t *copy;

    *id = find_hashed(p, hash, data, bytes);
    if (*id != INDEX_NONE)
        return EMU_OK;
    TRY(index_reserve(&p->index));
    TRY(pool_append_blank(p, a, a ? bytes : 0, &copy));
    *id = (uint32_t)(p->items - 1);
    if (a)
        copy_nonzero_pages(copy, data, bytes);
    else
        p->item[*id] = (struct pool_item){ data, bytes };
    index_add(&p->index, hash, *id);
    return EMU_OK;
}

void pool_free(struct image_pool *p)
{
    ss_free(p->item);
    index_free(&p->index);
}
