/* tile_blocks.h - the part of an activation that lies on each tile, cut where a block of 16
 * channels or a picture begins: what operations with a value per channel work on.
 */
#ifndef PROGRAMS_TILE_BLOCKS_H
#define PROGRAMS_TILE_BLOCKS_H

#include "programs/compiler/base/arena.h"
#include "programs/library/layout/network.h"

/* Positions of neighbouring blocks of 16 channels of one picture on a tile, consecutive in its
 * memory: [blocks][f][16]. */
struct tile_block {
    size_t share;
    uint64_t at; /* elements of the share before it */
    uint32_t block, blocks, n, f;
};

struct tile_blocks {
    struct tile_parts shares;
    VEC(struct tile_block) list;
};

/* Of an activation [c16][n][h][w][16], in the order of tiles, then of blocks and pictures. Errors:
 * of the graph, EMU_NO_MEMORY. Free with tile_blocks_free, also after an error. */
enum emu_status tile_blocks_of(struct nn *nn, const struct activation *x,
                               struct tile_blocks *out) EMU_MUST_CHECK;
void tile_blocks_free(struct tile_blocks *f);

/* [blocks][f][16] of a fragment, flat. */
struct tensor tile_block_take(struct graph *g, const struct tile_blocks *all,
                              const struct tile_block *f, struct tensor t);
static inline uint32_t tile_block_tile(const struct tile_blocks *all, const struct tile_block *f)
{
    return all->shares.at[f->share].tile;
}

/* The values of its channels in t, [c16][n][16] or of a shape like it; flat. */
struct tensor tile_block_channels(struct graph *g, const struct tile_block *f, struct tensor t);

/* Sums over the positions of every fragment on its tile, f32 [16] for each block, in the order of
 * fragments; squares: of squares, too, NULL: not wanted. One compute set. */
void tile_blocks_sum(struct nn *nn, const struct activation *x, const struct tile_blocks *all,
                     struct tensor *sum, struct tensor *squares);

#endif
