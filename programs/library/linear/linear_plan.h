/* linear_plan.h - how a fully connected layer is cut over tiles, and how partial results on many
 * tiles are added up.
 *
 * The layer multiplies rows of weights by vectors. There are cut_out parts of the rows, and cut_in
 * parts of each row. With a cut_in of 1 a tile computes results; else it computes partial results
 * in f32, and a second step adds them up, `columns` columns on a tile.
 */
#ifndef PROGRAMS_LINEAR_PLAN_H
#define PROGRAMS_LINEAR_PLAN_H

#include "programs/library/layout/plan.h"

enum { LINEAR_ROWS = 2, LINEAR_IN = 4 }; /* rows and inputs are cut in multiples of these */

struct linear_shape {
    uint32_t n;       /* vectors: pictures */
    uint32_t in, out; /* in is a multiple of LINEAR_IN, out of 16 */
    /* The codelets for whole rows and for the sum of partial results. */
    const struct codelet *whole, *sum;
};

struct linear_plan {
    struct linear_shape shape;
    uint32_t cut_in, cut_out;
    uint32_t columns; /* that a tile adds up, a multiple of 4; 0: no second step */
    struct plan_cost cost;
};

/* The cheapest plan on so many tiles. EMU_USAGE for empty shapes. Cost: tries some thousand plans.
 */
enum emu_status plan_linear(const struct arch *a, const struct linear_shape *s, uint32_t tiles,
                            struct linear_plan *out) EMU_MUST_CHECK;

/* Stages that add up partial results of 16 f32 columns each. In a stage a vertex adds up to fan_in
 * partial results, `columns` of their columns. */
enum { SUMS_MAX_STAGES = 3, SUMS_COLUMNS = 16 };
struct sums_plan {
    unsigned stages;
    uint32_t fan_in[SUMS_MAX_STAGES], columns[SUMS_MAX_STAGES];
    struct plan_cost cost;
};

/* The cheapest stages for `groups` sums of up to p partial results each. The last stage makes f16.
 * p and groups must not be 0. */
void plan_sums(const struct arch *a, uint32_t p, uint32_t groups, struct sums_plan *out);

#endif
