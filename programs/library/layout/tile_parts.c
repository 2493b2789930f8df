/* tile_parts.c - sorts the runs of a tensor by tile, and takes the same elements out of another
 * tensor.
 */
#include "programs/library/layout/tile_parts.h"

#include <stdlib.h>
#include <string.h>

static int by_tile(const void *a, const void *b)
{
    const struct tile_run *x = a, *y = b;

    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

enum emu_status tile_parts_of(struct graph *g, struct tensor t, struct tile_parts *out)
{
    size_t runs;

    memset(out, 0, sizeof(*out));
    TRY(graph_status(g));
    TRY(graph_tile_runs(g, t, &out->run, &runs));
    if (runs)
        qsort(out->run, runs, sizeof(*out->run), by_tile);
    out->at = emu_alloc(runs + 1, sizeof(*out->at));
    if (!out->at) {
        tile_parts_free(out);
        return FAIL(NO_MEMORY, "the parts of %zu runs", runs);
    }
    if (runs && out->run[runs - 1].tile == UINT32_MAX) { /* the largest number: sorted to the end */
        struct tile_run r = out->run[runs - 1];

        tile_parts_free(out);
        return FAIL(BAD_PROGRAM, "elements [%llu, %llu) of the operand are on no tile",
                    (unsigned long long)r.begin, (unsigned long long)r.end);
    }
    for (size_t i = 0; i < runs; i++) {
        struct tile_part *s = out->count ? &out->at[out->count - 1] : NULL;

        if (!s || s->tile != out->run[i].tile) {
            s = &out->at[out->count++];
            *s = (struct tile_part){ .tile = out->run[i].tile, .first = (uint32_t)i };
        }
        s->runs++;
        s->elements += out->run[i].end - out->run[i].begin;
    }
    return EMU_OK;
}

void tile_parts_free(struct tile_parts *s)
{
    emu_free(s->at);
    emu_free(s->run);
    memset(s, 0, sizeof(*s));
}

struct tensor tile_part_take(struct graph *g, const struct tile_parts *s, size_t i, struct tensor t)
{
    const struct tile_part *from = &s->at[i];
    const struct tile_run *run = &s->run[from->first];
    struct tensor flat = tensor_flatten(g, t), all = flat;
    struct tensor *part;

    if (from->runs == 1)
        return tensor_slice(g, flat, 0, (uint32_t)run->begin, (uint32_t)run->end);
    part = emu_alloc(from->runs, sizeof(*part));
    if (!part) {
        graph_fail(g, EMU_NO_MEMORY, "the runs of a tile");
        return flat;
    }
    for (uint32_t k = 0; k < from->runs; k++)
        part[k] = tensor_slice(g, flat, 0, (uint32_t)run[k].begin, (uint32_t)run[k].end);
    all = tensor_concat(g, part, from->runs, 0);
    emu_free(part);
    return all;
}

uint32_t op_compute_set(struct graph *g, struct program seq, const char *name)
{
    uint32_t cs = graph_compute_set(g, name);

    program_add(g, seq, program_execute(g, cs));
    return cs;
}

int op_has_shape_of(const struct graph *g, struct tensor a, struct tensor b)
{
    unsigned rank = tensor_rank(g, a);

    return rank == tensor_rank(g, b) &&
           !memcmp(tensor_shape(g, a), tensor_shape(g, b), rank * sizeof(*tensor_shape(g, a)));
}

struct tensor op_like(struct graph *g, struct tensor t, enum elem e, const char *name)
{
    struct tensor out = graph_variable(g, e, tensor_rank(g, t), tensor_shape(g, t), name);

    graph_map_like(g, out, t);
    return out;
}
