/* worker_stacks.c - stacks for the workers of tiles that run code from elsewhere. How large they
 * are is known once that code is linked. */
#include "programs/compiler/lower/lowered.h"

/* The largest stack that the calls of each tile need, in largest, by index in used_tile. */
static void find_largest(const struct lowered *l, const uint32_t *stack, uint32_t *largest)
{
    for (size_t i = 0; i < l->call.count; i++) {
        const struct call *c = &l->call.at[i];
        uint32_t *bytes = &largest[l->tile_index[c->tile]];

        if (l->codelet.at[c->codelet]->kind == CODELET_MULTI && stack[c->codelet] > *bytes)
            *bytes = stack[c->codelet];
    }
}

static enum emu_status add_object(struct lowered *l, uint32_t tile, uint32_t bytes)
{
    struct object o = { .tile = tile,
                        .bytes = WORKER_STACKS * bytes,
                        .align = 8,
                        .region = ANY,
                        .category = CATEGORY_STACK,
                        .owner = strings_id(&l->strings, "worker stacks"),
                        .live = LIVE_ALWAYS };

    if (o.owner == UINT32_MAX)
        return FAIL(NO_MEMORY, "a name");
    return VEC_PUSH(&l->object, o);
}

enum emu_status worker_stacks_add(struct lowered *l, const uint32_t *stack)
{
    uint32_t *largest = emu_alloc(l->used_tiles + 1, sizeof(*largest));
    enum emu_status s = EMU_OK;

    if (!largest)
        return FAIL(NO_MEMORY, "stacks of %u tiles", l->used_tiles);
    find_largest(l, stack, largest);
    for (uint32_t t = 0; t < l->used_tiles && s == EMU_OK; t++) {
        if (largest[t])
            s = add_object(l, l->used_tile[t], largest[t]);
    }
    ss_free(largest);
    return s;
}
