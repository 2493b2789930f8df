/* view_runs.c - where the elements of a view lie: as runs, and one by one.
 *
 * A block is walked row by row. Any other view is cut into chunks, each of which is a stretch of
 * consecutive elements of one of its parts; so a range of a view becomes ranges of its parts, down
 * to the blocks. What continues in memory is joined at the end, across rows and parts.
 */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

void view_fold(const struct view *v, struct view_fold *f)
{
    unsigned rank = 0;

    for (unsigned k = 0; k < v->rank; k++) {
        if (v->shape[k] == 1)
            continue;
        if (rank && f->stride[rank - 1] == (int64_t)v->shape[k] * v->stride[k]) {
            f->size[rank - 1] *= v->shape[k];
            f->stride[rank - 1] = v->stride[k];
            continue;
        }
        f->size[rank] = v->shape[k];
        f->stride[rank++] = v->stride[k];
    }
    f->rank = rank;
}

/* ---- chunks ---- */

/* Elements [at, at + elements) of a part, which are consecutive in the view, too. */
struct view_chunk {
    uint32_t part;
    uint64_t at, elements;
};

static uint64_t inner_elements(const struct view *v, unsigned dim)
{
    uint64_t n = 1;

    for (unsigned k = dim + 1; k < v->rank; k++)
        n *= v->shape[k];
    return n;
}

/* The part has size 1 in the dimension that is repeated. */
static void chunk_broadcast(const struct view *v, uint64_t i, struct view_chunk *c)
{
    uint64_t inner = inner_elements(v, v->dim), period = inner * v->shape[v->dim];

    c->at = i / period * inner + i % inner;
    c->elements = inner - i % inner;
}

static void chunk_slice(const struct graph *g, const struct view *v, uint64_t i,
                        struct view_chunk *c)
{
    uint64_t inner = inner_elements(v, v->dim), period = inner * v->shape[v->dim];
    uint64_t whole = inner * g->view.at[v->part[0]].shape[v->dim];

    c->at = i / period * whole + v->begin * inner + i % period;
    c->elements = period - i % period;
}

static void chunk_concat(const struct view *v, uint64_t i, struct view_chunk *c)
{
    uint64_t inner = inner_elements(v, v->dim), period = inner * v->shape[v->dim];
    uint64_t outer = i / period, rest = i % period;
    uint32_t low = 0, high = v->parts;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (v->edge[middle] * inner <= rest)
            low = middle;
        else
            high = middle;
    }
    c->part = v->part[low];
    c->at = outer * (v->edge[low + 1] - v->edge[low]) * inner + rest - v->edge[low] * inner;
    c->elements = v->edge[low + 1] * inner - rest;
}

/* Trailing dimensions that stay where they are move as one. */
static void chunk_transpose(const struct graph *g, const struct view *v, uint64_t i,
                            struct view_chunk *c)
{
    const uint32_t *shape = g->view.at[v->part[0]].shape;
    uint64_t step[TENSOR_MAX_RANK], inner = 1, outer;
    unsigned rank = v->rank;

    while (rank && v->order[rank - 1] == rank - 1)
        inner *= v->shape[--rank];
    outer = i / inner;
    c->at = i % inner;
    c->elements = inner - c->at;
    for (unsigned k = rank; k-- > 0; inner *= shape[k])
        step[k] = inner;
    for (unsigned k = rank; k-- > 0; outer /= v->shape[k])
        c->at += outer % v->shape[k] * step[v->order[k]];
}

/* The chunk that begins with element i of a view that is not a block. */
static struct view_chunk chunk_at(const struct graph *g, const struct view *v, uint64_t i)
{
    struct view_chunk c = { v->part[0], i, v->elements - i };

    switch (v->kind) {
    case VIEW_CONCAT:
        chunk_concat(v, i, &c);
        break;
    case VIEW_SLICE:
        chunk_slice(g, v, i, &c);
        break;
    case VIEW_TRANSPOSE:
        chunk_transpose(g, v, i, &c);
        break;
    case VIEW_BROADCAST:
        chunk_broadcast(v, i, &c);
        break;
    default: /* reshape: all of it */
        break;
    }
    return c;
}

/* ---- runs ---- */

struct view_walk {
    const struct graph *g;
    view_visit *visit;
    void *ctx;
    struct view_run run; /* not reported yet; elements 0: none */
};

static enum emu_status walk_flush(struct view_walk *w)
{
    return w->run.elements ? w->visit(w->ctx, &w->run) : EMU_OK;
}

static inline enum emu_status walk_run(struct view_walk *w, uint32_t var, uint64_t offset,
                                       uint64_t elements)
{
    if (w->run.elements && w->run.var == var && w->run.offset + w->run.elements == offset) {
        w->run.elements += elements;
        return EMU_OK;
    }
    TRY(walk_flush(w));
    w->run = (struct view_run){ var, offset, elements };
    return EMU_OK;
}

/* Row length of a folded block and number of dimensions before it. */
static uint64_t fold_row(const struct view_fold *f, unsigned *outer)
{
    *outer = f->rank;
    if (!f->rank || f->stride[f->rank - 1] != 1)
        return 1;
    return f->size[--*outer];
}

/* Offset of row r of a folded block, and its index in each dimension. */
static uint64_t fold_index(const struct view *v, const struct view_fold *f, unsigned outer,
                           uint64_t r, uint64_t *index)
{
    uint64_t offset = v->offset;

    for (unsigned k = outer; k-- > 0; r /= f->size[k]) {
        index[k] = r % f->size[k];
        offset += index[k] * (uint64_t)f->stride[k];
    }
    return offset;
}

static enum emu_status walk_block(struct view_walk *w, const struct view *v, uint64_t begin,
                                  uint64_t end)
{
    uint64_t index[TENSOR_MAX_RANK], offset, row, at, n;
    uint32_t var = v->var;
    struct view_fold f;
    unsigned outer;

    view_fold(v, &f);
    row = fold_row(&f, &outer);
    at = begin % row;
    offset = fold_index(v, &f, outer, begin / row, index);
    for (;;) {
        n = row - at < end - begin ? row - at : end - begin;
        TRY(walk_run(w, var, offset + at, n));
        begin += n;
        at = 0;
        if (begin == end)
            return EMU_OK;
        for (unsigned k = outer; k-- > 0;) {
            offset += (uint64_t)f.stride[k];
            if (++index[k] < f.size[k])
                break;
            offset -= f.size[k] * (uint64_t)f.stride[k];
            index[k] = 0;
        }
    }
}

static enum emu_status walk_view(struct view_walk *w, uint32_t view, uint64_t begin, uint64_t end)
{
    while (begin < end) {
        const struct view *v = &w->g->view.at[view]; /* again: a visitor may have made views */
        struct view_chunk c;

        if (v->kind == VIEW_BLOCK)
            return walk_block(w, v, begin, end);
        c = chunk_at(w->g, v, begin);
        if (c.elements > end - begin)
            c.elements = end - begin;
        TRY(walk_view(w, c.part, c.at, c.at + c.elements));
        begin += c.elements;
    }
    return EMU_OK;
}

enum emu_status view_runs(const struct graph *g, uint32_t view, uint64_t begin, uint64_t end,
                          view_visit *visit, void *ctx)
{
    struct view_walk w = { .g = g, .visit = visit, .ctx = ctx };

    EMU_ASSERT(view < g->view.count && begin <= end && end <= g->view.at[view].elements);
    TRY(walk_view(&w, view, begin, end));
    return walk_flush(&w);
}

static enum emu_status count_run(void *ctx, const struct view_run *run)
{
    (void)run;
    ++*(uint64_t *)ctx;
    return EMU_OK;
}

uint64_t ss_tensor_memory_runs(const struct graph *g, struct tensor t)
{
    uint64_t runs = 0;

    if (graph_works(g) && t.view < g->view.count)
        EMU_ASSERT(view_runs(g, t.view, 0, g->view.at[t.view].elements, count_run, &runs) ==
                   EMU_OK);
    return runs;
}

/* Sorts dimensions by their steps; those of one element stay where they are. */
static void order_of_block(const struct view *v, unsigned *order)
{
    for (unsigned k = 0; k < v->rank; k++) {
        unsigned at = k;

        for (; at > 0 && v->shape[k] > 1 && v->shape[order[at - 1]] > 1 &&
               v->stride[k] > v->stride[order[at - 1]];
             at--)
            order[at] = order[at - 1];
        order[at] = k;
    }
}

static void order_of_view(const struct graph *g, uint32_t view, unsigned *order)
{
    const struct view *v = &g->view.at[view];
    unsigned other[TENSOR_MAX_RANK];

    for (unsigned k = 0; k < v->rank; k++)
        order[k] = k;
    if (v->kind == VIEW_BLOCK) {
        order_of_block(v, order);
    } else if (v->kind == VIEW_TRANSPOSE) {
        for (unsigned k = 0; k < v->rank; k++)
            order[v->order[k]] = k;
    } else if (v->kind == VIEW_CONCAT && v->parts) {
        order_of_view(g, v->part[0], order);
        for (uint32_t p = 1; p < v->parts; p++) {
            order_of_view(g, v->part[p], other);
            for (unsigned k = 0; k < v->rank && memcmp(order, other, v->rank * sizeof(*order)) != 0;
                 k++)
                order[k] = k;
        }
    }
}

void ss_tensor_memory_order(const struct graph *g, struct tensor t, unsigned *order)
{
    if (graph_works(g) && t.view < g->view.count)
        order_of_view(g, t.view, order);
}

struct view_run view_at(const struct graph *g, uint32_t view, uint64_t i)
{
    const struct view *v = &g->view.at[view];
    uint64_t index[TENSOR_MAX_RANK], limit, row, at;
    struct view_fold f;
    unsigned outer;

    EMU_ASSERT(i < v->elements);
    limit = v->elements - i;
    while (v->kind != VIEW_BLOCK) {
        struct view_chunk c = chunk_at(g, v, i);

        if (c.elements < limit)
            limit = c.elements;
        i = c.at;
        v = &g->view.at[c.part];
    }
    view_fold(v, &f);
    row = fold_row(&f, &outer);
    at = i % row;
    if (row - at < limit)
        limit = row - at;
    return (struct view_run){ v->var, fold_index(v, &f, outer, i / row, index) + at, limit };
}

/* ---- variables ---- */

void view_vars(const struct graph *g, uint32_t view, view_visit_var *visit, void *ctx)
{
    const struct view *v = &g->view.at[view];

    if (v->kind == VIEW_BLOCK) {
        visit(ctx, v->var);
        return;
    }
    for (uint32_t k = 0; k < v->parts; k++)
        view_vars(g, v->part[k], visit, ctx);
}

uint32_t view_first_var(const struct graph *g, uint32_t view)
{
    const struct view *v = &g->view.at[view];

    while (v->kind != VIEW_BLOCK)
        v = &g->view.at[v->part[0]];
    return v->var;
}
