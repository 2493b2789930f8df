/* op_lower.h - an operator graph as a program for the tiles of a chip: its nodes' operations in a
 * graph of the compiler.
 */
#ifndef MODELS_OP_LOWER_H
#define MODELS_OP_LOWER_H

#include "models/lower/conv_plans.h"
#include "models/lower/groups.h"

/* Of what a ParameterUpdate changes. f16 ones are rounded once for each step. */
enum lower_states { STATES_F32, STATES_F16_STOCHASTIC, STATES_F16_NEAREST };

/* Which blocks of a network are one function of the program (lower_call.h). */
enum lower_sharing {
    SHARE_NONE,
    SHARE_EQUAL, /* those that are the same but for what they read */
    SHARE_ALIKE, /* and but for their parameters, which become states (block_parameters.h) */
    SHARE_AUTO   /* SHARE_ALIKE where code does not fit otherwise */
};

/* How batches come to the chip, and how their results leave it. In a loop the values of a batch
 * (lowered_value.is_streamed) come and go by streams while the program runs. */
struct lower_loop {
    /* Batches of a run. 0 and 1: one batch, and a loop only if there are IO tiles. More (a step of
     * training): micro batches, whose gradients are added up before parameters are updated. */
    uint32_t batches;
    int is_open;      /* 1: the host says before each batch whether it comes (struct prefetch) */
    uint32_t results; /* outputs that go to the host, the first ones; 0: all */
    struct prefetch_options link; /* IO tiles, which are reserved, and what they hold */
    /* NULL: pictures come as numbers. Else the first input is pictures in this format, which the
     * network turns into numbers. */
    const struct pixel_format *pixels;
};

/* A value that one stage makes and another reads. */
struct lower_edge {
    uint32_t value;      /* of this stage's graph: an input that comes, or an output that goes */
    uint32_t from, to;   /* stages */
    const char *channel; /* borrowed; different for all edges of a network */
    enum elem elem;      /* that travels: op_input_elem() of the reader */
};
/* One stage of several, each on a chip of its own (lower_stage.h). */
struct lower_stage {
    uint32_t number, stages;
    const struct lower_edge *edge; /* borrowed; those that begin or end here */
    uint32_t edges;
    uint32_t results; /* outputs that the host reads, the first ones; the others only go on */
};

struct lower_options {
    enum elem real; /* ELEM_F16 or ELEM_F32: of floats. Convolutions and pools are f16:
                       pass_spell_windows() */
    /* Shares of a tile's memory, 0 to 1; 0: what the rest leaves. */
    double memory_proportion;    /* for the temporaries of one layer */
    double parameter_proportion; /* for the parameters of convolutions */
    enum lower_states states;    /* f16 needs real to be ELEM_F16 */
    uint64_t reserve_bytes;      /* of a tile, kept free beyond the expected need */
    int least_memory;            /* 1: the plans that need least, whatever they cost in time */
    enum conv_depthwise depthwise;
    enum conv_partials partials;
    /* Results of groups [keep_begin, keep_end), and what these read, can be read after a run; they
     * take memory to the end. Equal: none. */
    uint32_t keep_begin, keep_end;
    enum lower_sharing share_blocks; /* ALIKE and AUTO are for op_program_new() */
    /* 1: the sum of everything that floats become can be read after a run: lowered_network.watched.
     */
    int watch;
    int gradients; /* 1: those of parameters can be read after a run: lowered_network.gradient */
    struct lower_loop loop; /* all zero: inputs are written before a run, outputs read after it */
    const struct lower_stage *stage; /* borrowed; NULL: the chip computes the whole graph */
};

/* An input or output of the program, or a value that is kept. */
struct lowered_value {
    uint32_t value;     /* of the operator graph */
    const char *name;   /* borrowed from it */
    struct tensor view; /* elements in the order of the view */
    enum elem elem;
    unsigned lanes; /* not 0: an input that lies as [n][h][w][lanes], though its shape is
                       [n][c][h][w] */
    /* 1: of a batch of a loop, a transfer of `stream` for each of them. raw: what the transfer goes
     * to or comes from, maybe filled up; of several that IO tiles hold the first. */
    int is_streamed;
    uint32_t stream;
    struct tensor raw;
    int is_edge; /* 1: it comes from another stage, into raw */
};

/* The sum of a result, f32, which is no number where the result has one that is none. */
struct lowered_sum {
    const char *node; /* borrowed from the graph: which made it */
    struct tensor sum;
};

/* A group of nodes in the program. */
struct lowered_group {
    uint32_t scope;        /* of everything that was made for it */
    struct conv_plan plan; /* of a convolution; cut_n is 0 for others */
};

/* Groups that are a call of a function, which was lowered for earlier groups. */
struct lowered_call {
    uint32_t first;         /* group: the first of those that it was lowered for */
    uint32_t begin, groups; /* those of the call */
    uint32_t function;
};

struct lowered_network {
    const struct op_graph *graph; /* borrowed */
    struct node_groups groups;    /* owned, like what follows */
    struct lowered_group *group;  /* by group */
    struct lowered_call *call;    /* in order */
    uint32_t calls, functions;
    struct lowered_value *in, *out;
    struct lowered_value *kept; /* those of lower_options.keep_begin, in the order they are made */
    uint32_t kepts;
    struct lowered_sum *watched; /* if the options say so, in the order they are made */
    uint32_t watches;
    /* If the options say so: by parameter in the order of inputs, whose value and name it has.
     * Numbers are those of the program: times the loss scale, the sum over micro batches. */
    struct lowered_value *gradient;
    uint32_t gradients;
    struct conv_plans plans; /* by convolution, in the order of groups */
    struct prefetch loop;    /* if the options say so; its lists are owned */
};

/* Whether every node can be lowered; those that cannot are collected in g as problems (op_graph.h).
 * EMU_NO_MEMORY. */
enum emu_status op_lower_check(struct op_graph *g) EMU_MUST_CHECK;
/* Whether the machine has the instructions that the kernels of all convolutions need. Cheap:
 * nothing is planned, and parameters may have no numbers yet. EMU_USAGE names the first node whose
 * kernel needs an instruction that is not there, and that instruction. */
enum emu_status op_lower_check_machine(const struct arch *a,
                                       const struct op_graph *g) EMU_MUST_CHECK;

/* Whether a node computes in f32 even where floats are f16, or hands on what it reads unchanged:
 * losses, norms that train, gradients of norms, updates, views. All other nodes read f16 there, and
 * values that were made in f32 are rounded for them. */
int lower_reads_f32(const struct op_graph *g, const struct op_node *n);
/* Whether the statistics of a norm come from its data, or its parameters are no constants. */
int norm_trains(const struct op_graph *g, const struct op_node *n);

/* The type in which a program takes the numbers of an input. */
enum elem op_input_elem(const struct op_graph *og, const struct lower_options *o, uint32_t value);

/* Builds the program in g, which becomes its program; passes have been run (pass_all()). Outputs
 * may be read after a run. Errors: those of the graph and of plans; EMU_BAD_FILE names a node that
 * cannot be lowered; EMU_NO_MEMORY. Free with op_lower_free. */
enum emu_status op_lower(struct graph *g, const struct op_graph *og, const struct lower_options *o,
                         struct lowered_network **out) EMU_MUST_CHECK;
void op_lower_free(struct lowered_network *n); /* accepts NULL */

/* Marks the values that lower_options.keep_begin names. kept: by value, zeros at first. */
void lower_mark_kept(const struct op_graph *g, const struct node_groups *groups,
                     const struct lower_options *o, uint8_t *kept);
/* Where a value can be read after a run; NULL: it was not kept. */
const struct lowered_value *lower_kept(const struct lowered_network *n, uint32_t value);

#endif
