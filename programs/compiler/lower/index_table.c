/* index_table.c - a hash table of numbers; the caller keeps what they mean. */
#include "programs/compiler/lower/lower_private.h"

#include <string.h>

struct index_slot {
    uint64_t hash;
    uint32_t index; /* + 1; 0: free */
};

int index_table_next(const struct index_table *t, uint64_t hash, uint32_t *probe, uint32_t *index)
{
    if (!t->slots)
        return 0;
    for (;;) {
        const struct index_slot *s = &t->slot[(hash + (*probe)++) & (t->slots - 1)];

        if (!s->index)
            return 0;
        if (s->hash == hash) {
            *index = s->index - 1;
            return 1;
        }
    }
}

static void put(struct index_table *t, struct index_slot s)
{
    uint64_t i = s.hash;

    while (t->slot[i & (t->slots - 1)].index)
        i++;
    t->slot[i & (t->slots - 1)] = s;
}

enum emu_status index_table_add(struct index_table *t, uint64_t hash, uint32_t index)
{
    if (2 * t->used >= t->slots) {
        struct index_table old = *t;

        t->slots = old.slots ? 2 * old.slots : 256;
        t->slot = emu_alloc(t->slots, sizeof(*t->slot));
        if (!t->slot) {
            *t = old;
            return FAIL(NO_MEMORY, "a table of %u", old.slots);
        }
        for (uint32_t i = 0; i < old.slots; i++) {
            if (old.slot[i].index)
                put(t, old.slot[i]);
        }
        ss_free(old.slot);
    }
    put(t, (struct index_slot){ hash, index + 1 });
    t->used++;
    return EMU_OK;
}

void index_table_clear(struct index_table *t)
{
    if (t->used)
        memset(t->slot, 0, t->slots * sizeof(*t->slot));
    t->used = 0;
}

void index_table_free(struct index_table *t)
{
    ss_free(t->slot);
    memset(t, 0, sizeof(*t));
}
