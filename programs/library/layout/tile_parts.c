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

static int by_first_element(const void *a, const void *b, void *runs)
{
    const struct tile_part *x = a, *y = b;
    const struct tile_run *run = runs;

    return (run[x->first].begin > run[y->first].begin) -
           (run[x->first].begin < run[y->first].begin);
}

enum emu_status tile_parts_of(struct graph *g, struct tensor t, struct tile_parts *out)
{
    size_t runs;

    memset(out, 0, sizeof(*out));
    TRY(ss_graph_status(g));
    TRY(ss_graph_tile_runs(g, t, &out->run, &runs));
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
    if (ss_graph_takes_turns(g))
        qsort_r(out->at, out->count, sizeof(*out->at), by_first_element, out->run);
    return EMU_OK;
}

void tile_parts_free(struct tile_parts *s)
{
    ss_free(s->at);
    ss_free(s->run);
    memset(s, 0, sizeof(*s));
}

struct tensor tile_part_take(struct graph *g, const struct tile_parts *s, size_t i, struct tensor t)
{
    const struct tile_part *from = &s->at[i];
    const struct tile_run *run = &s->run[from->first];
    struct tensor flat = ss_tensor_flatten(g, t), all = flat;
    struct tensor *part;

    if (from->runs == 1)
        return ss_tensor_slice(g, flat, 0, (uint32_t)run->begin, (uint32_t)run->end);
    part = emu_alloc(from->runs, sizeof(*part));
    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "the runs of a tile");
        return flat;
    }
    for (uint32_t k = 0; k < from->runs; k++)
        part[k] = ss_tensor_slice(g, flat, 0, (uint32_t)run[k].begin, (uint32_t)run[k].end);
    all = ss_tensor_concat(g, part, from->runs, 0);
    ss_free(part);
    return all;
}

uint32_t op_compute_set(struct graph *g, struct program seq, const char *name)
{
    uint32_t cs = ss_graph_compute_set(g, name);

    ss_program_add(g, seq, ss_program_execute(g, cs));
    return cs;
}

int op_has_shape_of(const struct graph *g, struct tensor a, struct tensor b)
{
    unsigned rank = ss_tensor_rank(g, a);

    return rank == ss_tensor_rank(g, b) && !memcmp(ss_tensor_shape(g, a), ss_tensor_shape(g, b),
                                                   rank * sizeof(*ss_tensor_shape(g, a)));
}

struct tensor op_like(struct graph *g, struct tensor t, enum elem e, const char *name)
{
    struct tensor out = ss_graph_variable(g, e, ss_tensor_rank(g, t), ss_tensor_shape(g, t), name);

    ss_graph_map_like(g, out, t);
    return out;
}

/* Elements on the fullest tile; UINT64_MAX if t repeats some, or after an error. */
static uint64_t fullest_tile(struct graph *g, struct tensor t, const char *name)
{
    struct tile_parts s;
    uint64_t most = 0;
    enum emu_status st;

    if (ss_tensor_repeats(g, t))
        return UINT64_MAX;
    st = tile_parts_of(g, t, &s);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return UINT64_MAX;
    }
    for (size_t i = 0; i < s.count; i++)
        most = s.at[i].elements > most ? s.at[i].elements : most;
    tile_parts_free(&s);
    return most;
}

struct tensor op_in_order(struct graph *g, const struct dim_order *o, struct tensor t)
{
    return o->rank ? ss_tensor_transpose(g, t, o->to) : t;
}

static struct tensor out_of_order(struct graph *g, const struct dim_order *o, struct tensor t)
{
    unsigned back[TENSOR_MAX_RANK];

    for (unsigned k = 0; k < o->rank; k++)
        back[o->to[k]] = k;
    return o->rank ? ss_tensor_transpose(g, t, back) : t;
}

/* The order in which t lies in memory, if it has fewer runs of neighbours in that one. */
static struct dim_order memory_order(struct graph *g, struct tensor t)
{
    struct dim_order o = { .rank = ss_tensor_rank(g, t) }, none = { .rank = 0 };
    int moves = 0;

    ss_tensor_memory_order(g, t, o.to);
    for (unsigned k = 0; k < o.rank; k++)
        moves |= o.to[k] != k;
    return moves && ss_tensor_memory_runs(g, op_in_order(g, &o, t)) < ss_tensor_memory_runs(g, t)
               ? o
               : none;
}

struct tensor op_like_one_of(struct graph *g, const struct tensor *t, unsigned n, enum elem e,
                             struct dim_order *order, const char *name)
{
    uint32_t tiles = ss_graph_compute_tiles(g), vector = 8 / ss_elem_bytes(e);
    uint64_t share, least = UINT64_MAX;
    struct dim_order o = { .rank = 0 };
    struct tensor like, out;
    unsigned best = 0;

    if (order)
        *order = o;
    if (ss_graph_status(g) != EMU_OK)
        return t[0];
    share = ss_tensor_elements(g, t[0]) / tiles + 1;
    for (unsigned k = 0; k < n; k++) {
        uint64_t most = fullest_tile(g, t[k], name);

        if (most < least) {
            least = most;
            best = k;
        }
    }
    if (order)
        *order = o = memory_order(g, t[best]);
    like = op_in_order(g, &o, t[best]);
    out = ss_graph_variable(g, e, ss_tensor_rank(g, like), ss_tensor_shape(g, like), name);
    if (least <= LIKE_FEW || least / LIKE_UNEVEN <= share)
        ss_graph_map_like(g, out, like);
    else
        ss_graph_map_linear(g, out, vector, vector * ss_graph_arch(g)->workers, 0, tiles);
    return out_of_order(g, &o, out);
}
