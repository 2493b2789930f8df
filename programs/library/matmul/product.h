/* product.h - how a batched product of matrices is cut over tiles: c [batch][m][n] =
 * a [batch][m][k] b [batch][k][n].
 *
 * Blocks are what one weight state of the matrix unit holds: 32 bytes of terms for 32 bytes of
 * columns, so 16 x 16 in f16 and 8 x 8 in f32. Every tile computes k/sk terms of the sums of m/sm
 * rows and n/sn columns of batch/sb matrices; n and k are cut between blocks.
 */
#ifndef PROGRAMS_PRODUCT_H
#define PROGRAMS_PRODUCT_H

#include "programs/compiler/compiler.h"
#include "programs/library/layout/plan.h"

enum { PRODUCT_BLOCK_BYTES = 32 };

struct product_shape {
    enum elem elem;
    uint32_t batch, m, n, k; /* above 0 */
};

struct product_plan {
    struct product_shape shape;
    uint32_t nb, kb; /* blocks of columns and of terms */
    uint32_t sb, sm, sn, sk;
    struct plan_cost cost;
};

/* Elements of a block's row. */
static inline uint32_t product_block(enum elem e)
{
    return PRODUCT_BLOCK_BYTES / ss_elem_bytes(e);
}

static inline uint32_t product_blocks(enum elem e, uint32_t n)
{
    return (uint32_t)(((uint64_t)n + product_block(e) - 1) / product_block(e));
}

/* The cheapest plan on `tiles` tiles that takes at most a quarter of their memory; if there is
 * none, the plan that takes least. EMU_USAGE for an operand or a result of 2^32 elements and more,
 * whole blocks counted. */
enum emu_status plan_product(const struct arch *a, const struct product_shape *s, uint32_t tiles,
                             struct product_plan *out) EMU_MUST_CHECK;

/* The tile of part i of so many, which are spread evenly over the compute tiles, beginning at
 * `first`; if there are more parts than tiles, neighbours share a tile. */
uint32_t product_tile(const struct graph *g, uint32_t first, uint32_t i, uint32_t parts);
/* Where they begin: those that do not need all tiles take turns (ss_graph_take_turns()). */
uint32_t product_first_tile(struct graph *g, uint32_t parts);

/* An operand [batch][rows][terms], with elements, for a product, which reads rows. If terms are
 * neighbours in memory that is t. If rows are, all tiles fetch blocks of t and transpose them, in a
 * step of its own; the terms of the result are filled up with zeros to whole blocks. zeros:
 * [tiles][block], on each tile. */
struct tensor product_rows(struct graph *g, struct program seq, struct tensor t,
                           struct tensor zeros, const char *name);

#endif
