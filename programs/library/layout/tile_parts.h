/* tile_parts.h - the part of a tensor that lies on each tile: what operations cut their work by.
 */
#ifndef PROGRAMS_TILE_PARTS_H
#define PROGRAMS_TILE_PARTS_H

#include "programs/library/kernel/vertex_fields.h"
#include "programs/library/ops.h"
#include "programs/library/ops_nn.h"

struct tile_part {
    uint32_t tile;
    uint32_t first, runs; /* in shares.run */
    uint64_t elements;
};

/* Where part i of n things cut in `parts` begins: sizes differ by at most one. */
static inline uint32_t cut_at(uint32_t n, uint32_t parts, uint32_t i)
{
    return (uint32_t)((uint64_t)n * i / parts);
}

static inline uint32_t cut_size(uint32_t n, uint32_t parts, uint32_t i)
{
    return cut_at(n, parts, i + 1) - cut_at(n, parts, i);
}

/* The shares of a tensor, by tile; the runs of each in the order of the tensor. */
struct tile_parts {
    struct tile_part *at; /* owned, like run */
    struct tile_run *run; /* sorted by tile, then by element */
    size_t count;
};

/* Errors: of the graph, EMU_BAD_PROGRAM when an element is on no tile, EMU_NO_MEMORY. Free with
 * tile_parts_free. */
enum emu_status tile_parts_of(struct graph *g, struct tensor t,
                              struct tile_parts *out) EMU_MUST_CHECK;
void tile_parts_free(struct tile_parts *s);

/* The elements of share i, taken out of any tensor with as many elements (one dimension). */
struct tensor tile_part_take(struct graph *g, const struct tile_parts *s, size_t i,
                             struct tensor t);

/* "add_" and the type of t: the name of a codelet; lives in out. */
const char *codelet_name(char out[40], const char *family, enum elem e);

/* A new compute set, executed next in seq. */
uint32_t op_compute_set(struct graph *g, struct program seq, const char *name);

/* Whether two tensors have the same dimensions. */
int op_has_shape_of(const struct graph *g, struct tensor a, struct tensor b);

/* A variable like t in shape and mapping. */
struct tensor op_like(struct graph *g, struct tensor t, enum elem e, const char *name);

#endif
