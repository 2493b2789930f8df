/* split_build.h - the graphs of stages, once it is known where everything is; private to
 * models/split.
 */
#ifndef MODELS_SPLIT_BUILD_H
#define MODELS_SPLIT_BUILD_H

#include "models/split/split.h"
#include "models/split/split_cut.h"

struct splitting {
    const struct op_graph *g; /* borrowed */
    struct split_order order;
    struct split_cuts cuts;
    struct split *out;
    size_t edge_cap;
};

/* The lists of a ParameterUpdate. */
struct split_lists {
    uint32_t n;     /* parameters */
    uint32_t slots; /* states of each */
    uint32_t sum;   /* value; OP_NONE: it makes none */
};
struct split_lists split_lists_of(const struct op_graph *g, const struct op_node *n);
/* Whether a stage has some of the parameters of a ParameterUpdate. */
int split_has_part(const struct splitting *s, const struct op_node *n, uint32_t stage);

/* Makes graphs and edges. EMU_NO_MEMORY; those of op_graph_check(), which are defects. */
enum emu_status split_build(struct splitting *s) EMU_MUST_CHECK;

#endif
