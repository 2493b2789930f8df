/* tile_runs.c - where the elements of a view lie: the intersection of its runs with the mappings of
 * its variables.
 */
#include "programs/compiler/graph/graph.h"

struct collector {
    struct graph *g;
    VEC(struct tile_run) run;
    uint64_t at; /* elements of the view seen so far */
};

static enum emu_status add_run(struct collector *c, uint64_t elements, uint32_t tile)
{
    struct tile_run *last = c->run.count ? &c->run.at[c->run.count - 1] : NULL;

    c->at += elements;
    if (last && last->tile == tile) {
        last->end = c->at;
        return EMU_OK;
    }
    return VEC_PUSH(&c->run, (struct tile_run){ c->at - elements, c->at, tile });
}

/* The first run of a mapping that ends after element e. */
static size_t find_run(const struct map_run *map, size_t runs, uint64_t e)
{
    size_t low = 0, high = runs;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (map[mid].end > e)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

static enum emu_status collect(void *ctx, const struct view_run *run)
{
    struct collector *c = ctx;
    const struct map_run *map;
    uint64_t e = run->offset, end = run->offset + run->elements;
    size_t runs;

    TRY(variable_map(c->g, run->var, &map, &runs));
    for (size_t i = find_run(map, runs, e); e < end; i++) {
        uint64_t stop = i < runs && map[i].end < end ? map[i].end : end;

        TRY(add_run(c, stop - e, i < runs ? map[i].tile : GRAPH_NONE));
        e = stop;
    }
    return EMU_OK;
}

enum emu_status ss_graph_tile_runs(struct graph *g, struct tensor t, struct tile_run **out,
                                   size_t *runs)
{
    struct collector c = { .g = g };
    enum emu_status s;

    *out = NULL;
    *runs = 0;
    TRY(ss_graph_status(g));
    if (t.view >= g->view.count)
        return FAIL(BAD_PROGRAM, "ss_graph_tile_runs: the tensor is not one of this graph");
    s = view_runs(g, t.view, 0, ss_tensor_elements(g, t), collect, &c);
    if (s != EMU_OK) {
        VEC_FREE(&c.run);
        return s;
    }
    *out = c.run.at;
    *runs = c.run.count;
    return EMU_OK;
}
