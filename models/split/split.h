/* split.h - an operator graph in stages, one for each chip of a pipeline: a graph of its own for
 * each, and the values that go from one to the other.
 *
 *   split_graph      cuts a graph where the user says
 *   split_auto       says where, for stages that multiply and add as equally as possible
 *   split_places     all places where a graph can be cut, and what would cross there
 *
 * The graph is that of a network, or a step of training (train_step_make(), train_recompute()). A
 * stage computes forward nodes, then backward ones (with those that are computed again), then its
 * update; of a network all nodes are forward. Forward values go to later stages only, everything
 * that backward nodes make to earlier stages only. A value that several stages read goes straight
 * to each of them.
 *
 * Where a node is. If all cuts name blocks: with its block (op_node.block), but never before what
 * it reads, and without a block as early as that lets it be; a view that is read later only, as its
 * input is, is made there. If a cut names a node, or the graph has no blocks: where the order
 * of nodes puts it. Backward nodes, and those that are computed again, are with the forward node
 * that they belong to, the loss is in the last stage, and states are where they are read. The lists
 * of a ParameterUpdate are parted: each stage has one with its own parameters.
 */
#ifndef MODELS_SPLIT_H
#define MODELS_SPLIT_H

#include "models/operators/operators.h"

/* A stage. Names of nodes, values and blocks are those of the whole graph, and values and nodes are
 * in its order. Inputs are those of the whole graph that the stage reads, in their order, then what
 * comes from other stages; outputs are those of the whole graph that it makes, in their order, then
 * what goes to other stages and is no output already. All lists are owned. */
struct split_stage {
    struct op_graph *graph; /* owned, but for texts, attributes and numbers of constants, which are
                               the whole graph's */
    uint32_t *whole;        /* by value of `graph`: the value of the whole graph that it is */
    uint32_t *own;          /* by value of the whole graph: that of `graph`; OP_NONE: not here */
    uint32_t f_nodes;       /* nodes [0, f_nodes) are forward, */
    uint32_t b_nodes;       /* the next b_nodes backward, the rest is the update */
    /* What backward nodes read of a micro batch that they do not make: results of forward nodes,
     * values of earlier stages, inputs with dimensions. By value of `graph`, rising. */
    uint32_t *stash, stashes;
};

/* A value that one stage makes and another reads. On the chips its two ends may be of different
 * types: each is what its own graph makes of it. */
struct split_edge {
    uint32_t from, to; /* stages */
    uint32_t value;    /* of the whole graph */
    uint32_t made;     /* in from's graph: an output */
    uint32_t read;     /* in to's graph: an input */
    int backward;      /* 1: to is before from */
};

struct split {
    unsigned stages;
    struct split_stage *stage; /* owned */
    struct split_edge *edge;   /* owned; by `to`, then in the order of the stage's inputs */
    uint32_t edges;
    uint32_t *of_node;  /* owned; by node of the whole graph: its stage; OP_NONE: it was parted */
    uint32_t *of_value; /* owned; by value of the whole graph: the stage that makes it or, of an
                           input or constant, the first that reads it. Of what a parted node makes
                           of a parameter: the parameter's. The sum that such a node makes is one in
                           every stage that has a part, each of its own gradients */
};

/* Splits a graph into one stage more than `cut` has names: "block4a", "block2d,block4d,block6a".
 * Each is a block (also one that holds other blocks: "layer.6") or a node, where a stage begins.
 * NULL: one stage. g is borrowed until split_free().
 *
 * Errors: EMU_USAGE names what is wrong: no such block or node (with the nearest), names out of
 * order or twice, an empty stage, a parameter that two stages read (constants beside states and
 * parameters of more than SPLIT_COPIED_BYTES are copied to each instead). EMU_NO_MEMORY. */
enum emu_status split_graph(const struct op_graph *g, const char *cut,
                            struct split *out) EMU_MUST_CHECK;
void split_free(struct split *s); /* s may be all zero, and is all zero afterwards */
enum { SPLIT_COPIED_BYTES = 1 << 16 };

/* How many stages a list of cuts makes; NULL: 1. */
unsigned split_stages_of(const char *cut);

/* A place where a stage can begin. */
struct split_place {
    char *name;    /* owned; one for split_graph() */
    uint32_t node; /* the first that belongs there */
    uint64_t work; /* of forward nodes before it: multiply-adds and elements of results */
    /* Of values that cross it, on the chip (op_value_bytes()): from nodes before it to nodes behind
     * it, and back. */
    uint64_t forward_bytes, backward_bytes;
    const char *tied; /* the parameter that nodes on both sides read; NULL: there is none */
};
struct split_places {
    struct split_place *at; /* owned; in order */
    uint32_t count;         /* 0: the graph cannot be cut */
    uint64_t work;          /* of all forward nodes */
};
/* The blocks of a graph but its first or, if `nodes` is set or there are none, its nodes. Cost:
 * nodes. EMU_NO_MEMORY. Free with split_places_free. */
enum emu_status split_places(const struct op_graph *g, int nodes,
                             struct split_places *out) EMU_MUST_CHECK;
void split_places_free(struct split_places *p);

/* Chooses cuts for a number of stages, so that the work of the largest is as little as possible
 * and, up to one part in twenty more, what crosses the cuts is few bytes. Cuts are blocks, unless
 * nodes make the largest stage smaller by a quarter. *cut: the list, owned by the caller (ss_free);
 * NULL for one stage. EMU_USAGE: the graph has fewer places; EMU_NO_MEMORY. */
enum emu_status split_auto(const struct op_graph *g, unsigned stages, char **cut) EMU_MUST_CHECK;

#endif
