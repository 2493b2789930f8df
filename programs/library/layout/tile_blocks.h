/* tile_blocks.h - the part of an activation that lies on each tile, cut where a block of 16
 * channels or a picture begins: what operations with a value per channel work on.
 */
#ifndef PROGRAMS_FRAGMENTS_H
#define PROGRAMS_FRAGMENTS_H

#include "programs/compiler/base/arena.h"
#include "programs/library/layout/network.h"

/* Positions of neighbouring blocks of 16 channels of one picture on a tile, consecutive in its
 * memory: [blocks][f][16]. */
struct fragment {
    size_t share;
    uint64_t at; /* elements of the share before it */
    uint32_t block, blocks, n, f;
};

struct fragments {
    struct shares shares;
    VEC(struct fragment) list;
};

/* Of an activation [c16][n][h][w][16], in the order of tiles, then of blocks and pictures. Errors:
 * of the graph, EMU_NO_MEMORY. Free with fragments_free, also after an error. */
enum emu_status fragments_of(struct nn *nn, const struct feature *x,
                             struct fragments *out) EMU_MUST_CHECK;
void fragments_free(struct fragments *f);

/* [blocks][f][16] of a fragment, flat. */
struct tensor fragment_take(struct graph *g, const struct fragments *all, const struct fragment *f,
                            struct tensor t);
static inline uint32_t fragment_tile(const struct fragments *all, const struct fragment *f)
{
    return all->shares.at[f->share].tile;
}

/* The values of its channels in t, [c16][n][16] or of a shape like it; flat. */
struct tensor fragment_channels(struct graph *g, const struct fragment *f, struct tensor t);

/* Sums over the positions of every fragment on its tile, f32 [16] for each block, in the order of
 * fragments; squares: of squares, too, NULL: not wanted. One compute set. */
void fragments_sum(struct nn *nn, const struct feature *x, const struct fragments *all,
                   struct tensor *sum, struct tensor *squares);

#endif
