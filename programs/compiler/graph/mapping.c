/* mapping.c - which tile holds which element.
 *
 * ss_graph_map... only appends runs to the mapping of a variable. variable_map() brings them into
 * order when they are read: the run that was appended last wins, by a sweep over the beginnings
 * with a heap of the runs in force.
 */
#include "programs/compiler/graph/graph_private.h"

#include <stdlib.h>
#include <string.h>

/* ss_graph_tile_of() looks through so many new runs before it has them sorted. */
enum { UNSORTED_SCAN = 64 };

/* ---- normalisation ---- */

/* A run and its place in the order of mapping; later ones win. */
struct ranked {
    struct map_run run;
    size_t rank;
};

static int ranked_compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->run.begin != y->run.begin)
        return x->run.begin < y->run.begin ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

struct mapping_sweep {
    const struct ranked *item;
    uint32_t *heap; /* items in force and outdated ones, the latest mapping first */
    size_t heaped;
    VEC(struct map_run) out;
};

static int later(const struct mapping_sweep *s, size_t a, size_t b)
{
    return s->item[s->heap[a]].rank > s->item[s->heap[b]].rank;
}

static void heap_swap(struct mapping_sweep *s, size_t a, size_t b)
{
    uint32_t t = s->heap[a];

    s->heap[a] = s->heap[b];
    s->heap[b] = t;
}

static void heap_push(struct mapping_sweep *s, uint32_t item)
{
    size_t k = s->heaped++;

    s->heap[k] = item;
    for (; k && later(s, k, (k - 1) / 2); k = (k - 1) / 2)
        heap_swap(s, k, (k - 1) / 2);
}

static void heap_pop(struct mapping_sweep *s)
{
    size_t k = 0, child;

    s->heap[0] = s->heap[--s->heaped];
    while ((child = 2 * k + 1) < s->heaped) {
        if (child + 1 < s->heaped && later(s, child + 1, child))
            child++;
        if (!later(s, child, k))
            break;
        heap_swap(s, k, child);
        k = child;
    }
}

/* Appends elements [end of the last run, end) on a tile. */
static enum emu_status sweep_emit(struct mapping_sweep *s, uint64_t end, uint32_t tile)
{
    struct map_run *last = s->out.count ? &s->out.at[s->out.count - 1] : NULL;
    uint64_t begin = last ? last->end : 0;

    if (begin == end)
        return EMU_OK;
    if (last && last->tile == tile) {
        last->end = end;
        return EMU_OK;
    }
    return VEC_PUSH(&s->out, (struct map_run){ begin, end, tile });
}

/* Emits what is in force up to element `to`. */
static enum emu_status sweep_to(struct mapping_sweep *s, uint64_t to)
{
    uint64_t at = s->out.count ? s->out.at[s->out.count - 1].end : 0;

    while (at < to) {
        const struct map_run *top;

        while (s->heaped && s->item[s->heap[0]].run.end <= at)
            heap_pop(s);
        if (!s->heaped)
            return sweep_emit(s, to, GRAPH_NONE);
        top = &s->item[s->heap[0]].run;
        at = top->end < to ? top->end : to;
        TRY(sweep_emit(s, at, top->tile));
    }
    return EMU_OK;
}

static enum emu_status sweep_all(struct mapping_sweep *s, size_t items, uint64_t elements)
{
    for (size_t k = 0; k < items; k++) {
        TRY(sweep_to(s, s->item[k].run.begin));
        heap_push(s, (uint32_t)k);
    }
    return sweep_to(s, elements);
}

static enum emu_status normalise(struct variable *v)
{
    size_t n = v->map.count;
    struct ranked *item = emu_alloc(n + 1, sizeof(*item));
    struct mapping_sweep s = { .item = item, .heap = emu_alloc(n + 1, sizeof(*s.heap)) };
    enum emu_status status = EMU_NO_MEMORY;
    int sorted = 1;

    if (!item || !s.heap || n > UINT32_MAX) {
        status = FAIL(NO_MEMORY, "the mapping of %s: %zu runs", v->name, n);
        goto out;
    }
    for (size_t k = 0; k < n; k++) {
        item[k] = (struct ranked){ v->map.at[k], k };
        sorted &= !k || v->map.at[k - 1].begin <= v->map.at[k].begin;
    }
    if (!sorted)
        qsort(item, n, sizeof(*item), ranked_compare);
    status = sweep_all(&s, n, v->elements);
    if (status != EMU_OK)
        goto out;
    VEC_FREE(&v->map);
    v->map.at = s.out.at;
    v->map.count = s.out.count;
    v->map.cap = s.out.cap;
    v->unsorted = 0;
    s.out.at = NULL;
out:
    VEC_FREE(&s.out);
    ss_free(s.heap);
    ss_free(item);
    return status;
}

enum emu_status variable_map(struct graph *g, uint32_t var, const struct map_run **run,
                             size_t *runs)
{
    struct variable *v = &g->variable.at[var];

    *run = NULL;
    *runs = 0;
    if (v->unsorted || (!v->map.count && v->elements))
        TRY(normalise(v));
    *run = v->map.at;
    *runs = v->map.count;
    return EMU_OK;
}

/* ---- mapping ---- */

struct map_to {
    struct graph *g;
    uint32_t tile;
};

enum emu_status variable_map_run(struct variable *v, const struct map_run *run)
{
    struct map_run *last = v->unsorted ? &v->map.at[v->map.count - 1] : NULL;

    if (last && last->tile == run->tile && last->end == run->begin) {
        last->end = run->end;
        return EMU_OK;
    }
    if (VEC_PUSH(&v->map, *run) != EMU_OK)
        return EMU_NO_MEMORY;
    v->unsorted++;
    return EMU_OK;
}

static enum emu_status map_run(void *ctx, const struct view_run *run)
{
    const struct map_to *to = ctx;

    return variable_map_run(
        &to->g->variable.at[run->var],
        &(struct map_run){ run->offset, run->offset + run->elements, to->tile });
}

/* Maps elements [begin, end) of t. */
static void map_range(struct graph *g, struct tensor t, uint64_t begin, uint64_t end, uint32_t tile)
{
    struct map_to to = { g, tile };

    if (graph_works(g) && view_runs(g, t.view, begin, end, map_run, &to) != EMU_OK)
        graph_fail_memory(g, "a mapping");
}

void ss_graph_map(struct graph *g, struct tensor t, uint32_t tile)
{
    if (!graph_has_view(g, t, "ss_graph_map"))
        return;
    if (tile >= g->arch.tiles)
        GRAPH_FAIL(g, "ss_graph_map of %s: tile %u, expected less than %u",
                   view_text(g, t.view).text, tile, g->arch.tiles);
    else
        map_range(g, t, 0, ss_tensor_elements(g, t), tile);
}

static uint64_t round_up(uint64_t n, uint64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

void ss_graph_map_linear(struct graph *g, struct tensor t, uint32_t grain, uint32_t least,
                         uint32_t first, uint32_t tiles)
{
    uint64_t elements, size, used;
    uint32_t at = 0;

    if (!graph_has_view(g, t, "ss_graph_map_linear"))
        return;
    if (!grain || !tiles || first > g->arch.tiles || tiles > g->arch.tiles - first) {
        GRAPH_FAIL(g,
                   "ss_graph_map_linear of %s: grain %u, tiles [%u, %llu): expected a grain of at "
                   "least 1 and at least one of %u tiles",
                   view_text(g, t.view).text, grain, first, (unsigned long long)first + tiles,
                   g->arch.tiles);
        return;
    }
    elements = ss_tensor_elements(g, t);
    size = round_up((elements + tiles - 1) / tiles, grain);
    if (size < least)
        size = round_up(least, grain);
    used = (elements + size - 1) / size;
    if (!first && tiles == ss_graph_compute_tiles(g) && used < tiles)
        at = ss_graph_first_tile(g, (uint32_t)used);
    for (uint64_t begin = 0; begin < elements; begin += size, at = (at + 1) % tiles)
        map_range(g, t, begin, elements - begin < size ? elements : begin + size, first + at);
}

void ss_graph_map_like(struct graph *g, struct tensor t, struct tensor like)
{
    struct tile_run *run = NULL;
    size_t runs = 0;
    enum emu_status status;

    if (!graph_has_view(g, t, "ss_graph_map_like") || !graph_has_view(g, like, "ss_graph_map_like"))
        return;
    if (ss_tensor_elements(g, t) != ss_tensor_elements(g, like)) {
        GRAPH_FAIL(g, "ss_graph_map_like: %s has %llu elements, expected %llu like %s",
                   view_text(g, t.view).text, (unsigned long long)ss_tensor_elements(g, t),
                   (unsigned long long)ss_tensor_elements(g, like), view_text(g, like.view).text);
        return;
    }
    status = ss_graph_tile_runs(g, like, &run, &runs);
    if (status != EMU_OK)
        ss_graph_fail(g, status, "%s", ss_error());
    for (size_t k = 0; k < runs && graph_works(g); k++) {
        struct view_run at = view_at(g, like.view, run[k].begin);

        if (run[k].tile == GRAPH_NONE)
            GRAPH_FAIL(g, "ss_graph_map_like: %s is on no tile",
                       element_text(g, at.var, at.offset).text);
        else
            map_range(g, t, run[k].begin, run[k].end, run[k].tile);
    }
    ss_free(run);
}

/* ---- looking up ---- */

/* The run of a normalised mapping that holds an element. */
static size_t map_find(const struct map_run *run, size_t runs, uint64_t element)
{
    size_t low = 0;

    while (runs - low > 1) {
        size_t middle = low + (runs - low) / 2;

        if (run[middle].begin <= element)
            low = middle;
        else
            runs = middle;
    }
    return low;
}

uint32_t ss_graph_tile_of(const struct graph *g, struct tensor t, uint64_t element)
{
    struct view_run r;
    struct variable *v;
    size_t sorted;

    if (!graph_works(g) || t.view >= g->view.count || element >= ss_tensor_elements(g, t))
        return GRAPH_NONE;
    r = view_at(g, t.view, element);
    v = &g->variable.at[r.var];
    /* The order of the runs is no property that anybody sees: it may change in a const graph. */
    if (v->unsorted > UNSORTED_SCAN && normalise(v) != EMU_OK)
        return GRAPH_NONE;
    sorted = v->map.count - v->unsorted;
    for (size_t k = v->map.count; k-- > sorted;)
        if (v->map.at[k].begin <= r.offset && r.offset < v->map.at[k].end)
            return v->map.at[k].tile;
    if (!sorted)
        return GRAPH_NONE;
    return v->map.at[map_find(v->map.at, sorted, r.offset)].tile;
}
