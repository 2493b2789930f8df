/* tile_parts.h - the part of a tensor that lies on each tile, by which operations divide their
 * work.
 */
#ifndef PROGRAMS_TILE_PARTS_H
#define PROGRAMS_TILE_PARTS_H

#include "programs/library/kernel/vertex_fields.h"
#include "programs/library/ops.h"
#include "programs/library/ops_nn.h"

struct tile_part {
    uint32_t tile;
    uint32_t first, runs; /* in tile_parts.run */
    uint64_t elements;
};

/* Where part i begins if n things are cut into `parts` parts whose sizes differ by at most one. */
static inline uint32_t cut_at(uint32_t n, uint32_t parts, uint32_t i)
{
    return (uint32_t)((uint64_t)n * i / parts);
}

/* The part that thing k is in. */
static inline uint32_t part_with(uint32_t n, uint32_t parts, uint32_t k)
{
    return (uint32_t)((((uint64_t)k + 1) * parts - 1) / n);
}

static inline uint32_t cut_size(uint32_t n, uint32_t parts, uint32_t i)
{
    return cut_at(n, parts, i + 1) - cut_at(n, parts, i);
}

/* The parts of a tensor, by tile, or, if operations take turns (ss_graph_take_turns()), by their
 * first element; the runs of each are in the order of the tensor. */
struct tile_parts {
    struct tile_part *at; /* owned, like run */
    struct tile_run *run; /* sorted by tile, then by element */
    size_t count;
};

/* Errors: those of the graph, EMU_BAD_PROGRAM when an element is on no tile, EMU_NO_MEMORY. Free
 * with tile_parts_free. */
enum emu_status tile_parts_of(struct graph *g, struct tensor t,
                              struct tile_parts *out) EMU_MUST_CHECK;
void tile_parts_free(struct tile_parts *s);

/* The elements of t that have the places of part i; flat. t has as many elements as the tensor that
 * the parts are of. */
struct tensor tile_part_take(struct graph *g, const struct tile_parts *s, size_t i,
                             struct tensor t);

/* The name of a codelet, family and type: "add_f16". Written into out and returned. */
const char *codelet_name(char out[40], const char *family, enum elem e);

/* A tensor of nothing, for results that cannot be made. */
static inline struct tensor op_nothing(void)
{
    return (struct tensor){ UINT32_MAX };
}

/* A new compute set, appended to seq. */
uint32_t op_compute_set(struct graph *g, struct program seq, const char *name);

/* Whether two tensors have the same dimensions. */
int op_has_shape_of(const struct graph *g, struct tensor a, struct tensor b);

/* Dimensions in another order, or as they are (rank 0). */
struct dim_order {
    unsigned rank, to[TENSOR_MAX_RANK];
};
struct tensor op_in_order(struct graph *g, const struct dim_order *o, struct tensor t);

/* A new variable of type e with the shape and mapping of t. */
struct tensor op_like(struct graph *g, struct tensor t, enum elem e, const char *name);

/* So many elements may lie on a tile, or so many times its share, in what is laid out like another.
 */
enum { LIKE_FEW = 1024, LIKE_UNEVEN = 8 };
/* A new variable of type e and the shape of the n tensors, laid out like one of them: the one of
 * which the fullest tile has the fewest elements, the first of equal ones, none that repeats
 * elements. If there is none, or one tile would have much more than its share, in equal parts over
 * all tiles. order: NULL, or its dimensions lie in memory in the order of that one, and this is
 * which: work that is divided with all operands in this order has neighbours beside each other. */
struct tensor op_like_one_of(struct graph *g, const struct tensor *t, unsigned n, enum elem e,
                             struct dim_order *order, const char *name);

#endif
