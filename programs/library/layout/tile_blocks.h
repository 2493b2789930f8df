/* tile_blocks.h - the part of an activation on each tile, cut wherever a block of 16 channels or a
 * picture begins. Operations with a value per channel work on the results, tile blocks.
 */
#ifndef PROGRAMS_TILE_BLOCKS_H
#define PROGRAMS_TILE_BLOCKS_H

#include "programs/compiler/base/arena.h"
#include "programs/library/layout/network.h"

/* f positions of neighbouring blocks of 16 channels of picture n, consecutive in the memory of a
 * tile: [blocks][f][16]. */
struct tile_block {
    size_t part;                  /* the part of the tensor it belongs to, in tile_blocks.parts */
    uint64_t at;                  /* elements of that part before it */
    uint32_t block, blocks, n, f; /* block: the first */
};

struct tile_blocks {
    struct tile_parts parts; /* the parts of the tensor, by tile */
    VEC(struct tile_block) list;
};

/* The tile blocks of an activation [c16][n][h][w][16], in the order of tiles, then of blocks and
 * pictures. Where 16 channels of a position lie on several tiles, as ss_op_linear() leaves them, x
 * becomes a copy in which they lie together. Errors: those of the graph, EMU_NO_MEMORY. Free with
 * tile_blocks_free, also after an error. */
enum emu_status tile_blocks_of(struct nn *nn, struct activation *x,
                               struct tile_blocks *out) EMU_MUST_CHECK;
void tile_blocks_free(struct tile_blocks *f);

/* The elements [blocks][f][16] of a tile block in t, which has the activation's shape; flat. */
struct tensor tile_block_take(struct graph *g, const struct tile_blocks *all,
                              const struct tile_block *f, struct tensor t);
static inline uint32_t tile_block_tile(const struct tile_blocks *all, const struct tile_block *f)
{
    return all->parts.at[f->part].tile;
}

/* The values of its channels in t, which is [c16][n][16] in any shape; flat. */
struct tensor tile_block_channels(struct graph *g, const struct tile_block *f, struct tensor t);

/* Adds one compute set with sums over the positions of every tile block, on its tile: f32 [16] for
 * each block of channels, in the order of the list. squares: gets sums of squares, too; NULL: not
 * wanted. */
void tile_blocks_sum(struct nn *nn, const struct activation *x, const struct tile_blocks *all,
                     struct tensor *sum, struct tensor *squares);

#endif
