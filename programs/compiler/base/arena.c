/* arena.c - slabs of growing size; a hash table over interned texts. */
#include "programs/compiler/base/arena.h"

#include <string.h>

enum { SLAB_BYTES = 1 << 16, ALIGN = 16 };

struct prog_arena_slab {
    struct prog_arena_slab *before;
    size_t used, bytes;
    _Alignas(16) uint8_t data[];
};

void *prog_alloc(struct prog_arena *a, size_t count, size_t size)
{
    struct prog_arena_slab *s = a->last;
    size_t bytes, room;
    void *p;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!s || s->bytes - s->used < bytes) {
        room = bytes > SLAB_BYTES ? bytes : SLAB_BYTES;
        s = emu_alloc(1, sizeof(*s) + room);
        if (!s)
            return NULL;
        s->bytes = room;
        s->before = a->last;
        a->last = s;
    }
    p = s->data + s->used;
    s->used += bytes;
    return p;
}

void *prog_memdup(struct prog_arena *a, const void *data, size_t bytes)
{
    void *p = prog_alloc(a, bytes, 1);

    if (p && bytes)
        memcpy(p, data, bytes);
    return p;
}

char *prog_strdup(struct prog_arena *a, const char *s)
{
    return prog_memdup(a, s, strlen(s) + 1);
}

void prog_arena_free(struct prog_arena *a)
{
    while (a->last) {
        struct prog_arena_slab *s = a->last;

        a->last = s->before;
        ss_free(s);
    }
}

/* The slot of a text: of it, or the free one where it belongs. */
static uint32_t *slot_of(const struct strings *s, const char *text)
{
    uint32_t i = (uint32_t)hash64(text, strlen(text));

    for (;; i++) {
        uint32_t *slot = &s->slot[i & (s->slots - 1)];

        if (!*slot || !strcmp(s->text[*slot - 1], text))
            return slot;
    }
}

static enum emu_status grow_slots(struct strings *s)
{
    uint32_t *old = s->slot, slots = s->slots ? 2 * s->slots : 64;
    uint32_t *slot = emu_alloc(slots, sizeof(*slot));

    if (!slot)
        return FAIL(NO_MEMORY, "a table of %u texts", slots);
    s->slot = slot;
    s->slots = slots;
    for (uint32_t i = 0; i < s->count; i++)
        *slot_of(s, s->text[i]) = i + 1;
    ss_free(old);
    return EMU_OK;
}

static uint32_t strings_add(struct strings *s, const char *text)
{
    uint32_t *slot;

    if (2 * s->count >= s->slots && grow_slots(s) != EMU_OK)
        return UINT32_MAX;
    slot = slot_of(s, text);
    if (*slot)
        return *slot - 1;
    if (emu_grow((void **)&s->text, s->count, &s->cap, sizeof(*s->text)) != EMU_OK)
        return UINT32_MAX;
    s->text[s->count] = prog_strdup(&s->arena, text);
    if (!s->text[s->count])
        return UINT32_MAX;
    *slot = ++s->count;
    return s->count - 1;
}

uint32_t strings_id(struct strings *s, const char *text)
{
    if (!s->count && strings_add(s, "") == UINT32_MAX)
        return UINT32_MAX;
    return strings_add(s, text);
}

const char *strings_text(const struct strings *s, uint32_t id)
{
    return id < s->count ? s->text[id] : "";
}

void strings_free(struct strings *s)
{
    prog_arena_free(&s->arena);
    ss_free(s->text);
    ss_free(s->slot);
    memset(s, 0, sizeof(*s));
}
