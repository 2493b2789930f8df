/* split_order.h - where the nodes of a graph are in it, before anybody says where it is cut;
 * private to models/split.
 *
 * A rank is a position among forward nodes. A node is behind a cut if its rank is not below that of
 * the cut, so ranks, and what crosses a place, do not depend on how many cuts there are.
 */
#ifndef MODELS_SPLIT_ORDER_H
#define MODELS_SPLIT_ORDER_H

#include "models/operators/operators.h"

/* Names with the first node that has each. A block also counts for the blocks that hold it. */
struct split_name {
    const char *at; /* borrowed from the graph; `length` characters */
    uint32_t length, node;
};
struct split_names {
    struct split_name *name; /* owned; in order of nodes */
    uint32_t names;
    size_t cap;
    uint32_t *slot, slots; /* owned hash table: indices + 1 */
};
/* OP_NONE: there is none. */
uint32_t split_names_find(const struct split_names *t, const char *name, size_t length);

struct split_order {
    const struct op_graph *g; /* borrowed */
    uint32_t forward;         /* nodes [0, forward) are forward: with the loss, if it is trained */
    int is_step;              /* 1: of training */
    struct split_names blocks, nodes; /* where a stage can begin; not the loss */
    uint32_t *forward_of; /* owned; by node behind the forward ones: that to which it belongs;
                             OP_NONE: it cannot be told */
    uint32_t *rank;       /* owned; by node; OP_NONE: of an update, which has none of its own */
};

/* Ranks by blocks, or, if `by_nodes` is set or there are no blocks, by the order of nodes.
 * EMU_NO_MEMORY. Free with split_order_free, also after an error. */
enum emu_status split_order_new(const struct op_graph *g, struct split_order *out) EMU_MUST_CHECK;
enum emu_status split_order_rank(struct split_order *o, int by_nodes) EMU_MUST_CHECK;
void split_order_free(struct split_order *o);

/* Whether the stages that read a value may not have a copy each: states, and large parameters. */
int split_is_single(const struct op_graph *g, uint32_t value);

#endif
