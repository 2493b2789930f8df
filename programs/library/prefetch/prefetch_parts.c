/* prefetch_parts.c - buffers on IO tiles (see prefetch_parts.h). */
#include "programs/library/prefetch/prefetch_parts.h"

/* 1 / RESERVED_PART of an IO tile's memory is left for code, vertex state and gaps [ASSUMED; only
 * the placement knows exactly]. */
enum { RESERVED_PART = 16 };

uint64_t prefetch_part_bytes(uint64_t bytes, uint32_t tiles)
{
    uint64_t grains = (bytes + PREFETCH_GRAIN_BYTES - 1) / PREFETCH_GRAIN_BYTES;

    return (grains + tiles - 1) / tiles * PREFETCH_GRAIN_BYTES;
}

uint64_t prefetch_room(const struct graph *g)
{
    const struct arch *a = graph_arch(g);

    return a->mem_bytes - a->mem_bytes / RESERVED_PART;
}

struct tensor prefetch_buffer(struct graph *g, enum elem e, uint32_t n, uint32_t first,
                              uint32_t tiles, const char *name)
{
    uint32_t grain = PREFETCH_GRAIN_BYTES / elem_bytes(e);
    struct tensor t = graph_variable(g, e, 1, &n, name);

    graph_map_linear(g, t, grain, grain, first, tiles);
    return t;
}

enum emu_status prefetch_reserve(struct graph *g, const struct prefetch_options *o)
{
    uint32_t all, least = o->depth ? o->depth : 1;

    TRY(graph_status(g));
    all = graph_arch(g)->tiles;
    if (o->depth > PREFETCH_MAX_DEPTH)
        return FAIL(USAGE, "a prefetch depth of %u: expected at most %d", o->depth,
                    PREFETCH_MAX_DEPTH);
    if (!o->tiles && !o->depth)
        return EMU_OK;
    if (o->tiles < least || o->tiles >= all)
        return FAIL(USAGE,
                    "%u IO tiles for a prefetch depth of %u: expected at least %u, one for each "
                    "batch, and at most %u of the %u tiles",
                    o->tiles, o->depth, least, all - 1, all);
    graph_set_group(g, prefetch_first(g, o->tiles), o->tiles, GROUP_IO);
    return graph_status(g);
}
