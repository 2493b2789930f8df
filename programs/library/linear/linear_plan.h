/* linear_plan.h - how a fully connected layer is cut over tiles, and sums of partial results that
 * lie on many tiles.
 *
 * Rows times vectors: cut_out parts of the rows, cut_in of each row. With cut_in of 1 a tile makes
 * results; else partial results in f32, which a second step adds up, so many columns to a tile.
 */
#ifndef PROGRAMS_PLAN_LINEAR_H
#define PROGRAMS_PLAN_LINEAR_H

#include "programs/library/layout/plan.h"

enum { LINEAR_ROWS = 2, LINEAR_IN = 4 }; /* rows and inputs are cut in multiples of these */

struct linear_shape {
    uint32_t n;       /* vectors: pictures */
    uint32_t in, out; /* multiples of LINEAR_IN and of 16 */
    /* Codelets of whole rows and of the sum of partial results. */
    const struct codelet *whole, *sum;
};

struct linear_plan {
    struct linear_shape shape;
    uint32_t cut_in, cut_out;
    uint32_t columns; /* of a sum, a multiple of 4; 0: there is none */
    struct plan_cost cost;
};

/* The cheapest plan on so many tiles. EMU_USAGE for shapes of nothing. Cost: some thousand plans
 * are tried. */
enum emu_status plan_linear(const struct arch *a, const struct linear_shape *s, uint32_t tiles,
                            struct linear_plan *out) EMU_MUST_CHECK;

/* Sums of up to p partial results of 16 f32 columns each, `groups` such sums: stages of so many
 * partial results each; a vertex takes so many of the columns. */
enum { SUMS_MAX_STAGES = 3, SUMS_COLUMNS = 16 };
struct sums_plan {
    unsigned stages;
    uint32_t fan_in[SUMS_MAX_STAGES], columns[SUMS_MAX_STAGES];
    struct plan_cost cost;
};

/* The cheapest stages; the last one makes f16. p and groups are not 0. */
void plan_sums(const struct arch *a, uint32_t p, uint32_t groups, struct sums_plan *out);

#endif
