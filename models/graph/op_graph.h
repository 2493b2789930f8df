/* op_graph.h - a network as an operator graph: values with types and shapes, nodes with operators
 * and attributes. No tiles, no files.
 *
 * The vocabulary is ONNX's. Nodes are in order of execution. A value has one producer (a node, the
 * user, or nobody: a constant) and any number of readers. Values and nodes are indices; texts,
 * lists and data belong to the graph unless they are said to be borrowed.
 *
 * Canonical form: what a compiler must know (axes, pads, target shapes) is an attribute of the
 * node, whichever version of ONNX had it as an input; inputs are numbers to compute with. Nodes
 * are made by op_node() (models/operators/operators.h), which sees to it.
 */
#ifndef MODELS_OP_GRAPH_H
#define MODELS_OP_GRAPH_H

#include <stdio.h>

#include "models/graph/op_tensor.h"

enum { OP_NONE = UINT32_MAX }; /* no value, no node: an optional input that is absent */

enum op_value_kind {
    OP_INPUT, /* of the graph */
    OP_STATE, /* an input that a run gives a new value (op_graph_update()): what is trained. Or, if
               * it is no input, a parameter that lies in memory like anything else, and not in the
               * code of what reads it (block_parameters.h) */
    OP_PARAM, /* a constant with a name in weight files */
    OP_CONST, /* another constant: folded, or from an attribute */
    OP_RESULT /* of a node */
};

struct op_value {
    const char *name; /* unique in the graph; never "" */
    enum op_value_kind kind;
    struct op_shape shape; /* type OP_TYPE_UNKNOWN: its node cannot run (op_graph.problem) */
    uint32_t node;         /* that makes a RESULT, else OP_NONE */
    uint32_t readers;      /* inputs of nodes, and outputs of the graph */
    uint32_t twin;         /* 1 + the value that is this one, computed again; 0: there is none */
    const void *data;      /* of PARAM and CONST: op_shape_count() elements as in files, at any
                            * alignment; borrowed from the mapped file or the graph's. Of a PARAM
                            * NULL until somebody gives it numbers. Of a STATE those before the
                            * first run, or NULL */
};

enum op_attr_kind {
    OP_ATTR_NONE, /* absent */
    OP_ATTR_INT,
    OP_ATTR_FLOAT,
    OP_ATTR_STRING,
    OP_ATTR_INTS,
    OP_ATTR_FLOATS,
    OP_ATTR_TENSOR,
    OP_ATTR_STRINGS
};

struct op_attr {
    enum op_attr_kind kind;
    uint32_t count; /* of INTS, FLOATS, STRINGS */
    union {
        int64_t i;
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        uint32_t value; /* TENSOR: a constant of the graph */
        const char *const *texts;
    };
};

struct op_row; /* of operators.def */

/* What a node computes in where the floats of others are f16 on the chip (pass_precision()). */
enum op_precision {
    OP_AS_OTHERS,
    OP_WIDE_INSIDE, /* in f32; its results are rounded */
    OP_WIDE         /* in f32, and results stay so for what reads them in f32 */
};

struct op_node {
    const struct op_row *row; /* the newest of the operator */
    const char *name;         /* "layer1.0.conv1": as in its file, or made; never "" */
    const char *block;        /* "layer1.0": what reports add up; "" if it has none */
    const uint32_t *in, *out; /* values; OP_NONE: absent */
    uint32_t ins, outs;
    const struct op_attr *attr; /* in the row's order */
    uint32_t attrs;
    enum op_precision precision;
};

/* Nodes that cannot run, and why: collected, so that all are told at once. */
struct op_problem {
    const char *node, *op; /* the first of them */
    const char *inputs;    /* "f32 [1, 3, 300, 300], i64 [4]" */
    const char *why;
    uint32_t nodes; /* of this operator, for this reason */
};
enum { OP_PROBLEMS_MAX = 256 }; /* kinds that are kept; nodes of others are only counted */

/* After a run, a state has the numbers of a result, which is an output. */
struct op_update {
    uint32_t state, value;
};

struct op_graph {
    const char *name; /* of its file or network */
    struct op_value *value;
    struct op_node *node;
    uint32_t *input, *output; /* values, in the file's order; constants are no inputs */
    struct op_update *update;
    struct op_problem *problem;
    uint32_t values, nodes, inputs, outputs, updates, problems;
    uint32_t f32_nodes; /* the first nodes, whose floats are f32 on the chip whatever others are */
    uint32_t nodes_wrong;  /* that cannot run: not 0 if there is a problem */
    uint32_t nodes_read;   /* of the file, with those that are folded */
    uint32_t nodes_behind; /* left out since they read what a problem's node would have made */
    uint64_t fold_room;    /* bytes of numbers (8 each) that op_node() may still compute at once; a
                            * reader of files sets it, so that small files cannot ask for much */
    int parameters_change; /* 1: op_node() computes nothing from parameters of floats at once */
    /* Private. */
    size_t value_cap, node_cap, input_cap, output_cap, update_cap, problem_cap, owned_cap, owneds;
    void **owned;
    uint32_t *slot, slots; /* hash table of values by name: indices + 1 */
    uint32_t made_names;   /* numbers in names that were made */
};

/* An empty graph. EMU_NO_MEMORY. op_graph_free accepts NULL. */
enum emu_status op_graph_new(const char *name, struct op_graph **out) EMU_MUST_CHECK;
void op_graph_free(struct op_graph *g);

/* Zeroed memory that lives as long as the graph; NULL when out of memory. */
void *op_graph_alloc(struct op_graph *g, size_t count, size_t size);
/* Copies; NULL when out of memory. */
void *op_graph_copy(struct op_graph *g, const void *data, size_t bytes);
char *op_graph_text(struct op_graph *g, const char *fmt, ...) EMU_PRINTF(2, 3);

/* Adds a value. The name is copied; NULL or "": one is made. *out: its index. Errors: EMU_BAD_FILE
 * (the name is taken, the shape is refused), EMU_NO_MEMORY. */
enum emu_status op_value_new(struct op_graph *g, const char *name, enum op_value_kind kind,
                             const struct op_shape *shape, uint32_t *out) EMU_MUST_CHECK;
/* Adds a constant with the tensor's numbers, rounded to its type. */
enum emu_status op_value_constant(struct op_graph *g, const char *name, const struct op_tensor *t,
                                  uint32_t *out) EMU_MUST_CHECK;
/* Each of two values takes the other's name. */
void op_value_swap_names(struct op_graph *g, uint32_t a, uint32_t b);
/* OP_NONE: there is none. */
uint32_t op_value_find(const struct op_graph *g, const char *name);
/* The numbers of a PARAM, CONST or STATE that has some. EMU_NO_MEMORY. Free with op_tensor_free. */
enum emu_status op_value_read(const struct op_graph *g, uint32_t value,
                              struct op_tensor *out) EMU_MUST_CHECK;
static inline int op_value_constant_kind(const struct op_value *v)
{
    return v->kind == OP_PARAM || v->kind == OP_CONST;
}

/* Declares a value an input or output of the graph. EMU_NO_MEMORY. */
enum emu_status op_graph_input(struct op_graph *g, uint32_t value) EMU_MUST_CHECK;
enum emu_status op_graph_output(struct op_graph *g, uint32_t value) EMU_MUST_CHECK;
/* Which input or output of the graph a value is; it must be one. */
uint32_t op_graph_input_index(const struct op_graph *g, uint32_t value);
uint32_t op_graph_output_index(const struct op_graph *g, uint32_t value);
/* Makes a parameter a state, and so an input; its numbers stay what it begins with. Only before
 * nodes have been computed from it. EMU_NO_MEMORY. */
enum emu_status op_graph_state(struct op_graph *g, uint32_t value) EMU_MUST_CHECK;
/* Makes a result an output, and what a state is after a run. Both have one shape and type.
 * EMU_NO_MEMORY. */
enum emu_status op_graph_update(struct op_graph *g, uint32_t state, uint32_t value) EMU_MUST_CHECK;
/* The first result of a node that is not absent; OP_NONE: it has none. */
uint32_t op_node_result(const struct op_node *n);

/* Appends a node; n's lists and texts are the graph's already. For op_node() and passes. */
enum emu_status op_graph_append(struct op_graph *g, const struct op_node *n) EMU_MUST_CHECK;
/* Notes that a node cannot run. Texts are copied. EMU_NO_MEMORY. */
enum emu_status op_graph_problem(struct op_graph *g, const char *node, const char *op,
                                 const char *inputs, const char *why) EMU_MUST_CHECK;

/* Keeps values and nodes that are marked (by index), in their order, and numbers them anew. What a
 * kept node reads or makes must be kept; outputs are. EMU_NO_MEMORY: the graph is as before. */
enum emu_status op_graph_compact(struct op_graph *g, const uint8_t *keep_value,
                                 const uint8_t *keep_node) EMU_MUST_CHECK;

/* Proves that nodes read only inputs, constants and earlier results, that each result has one
 * producer, and that readers are counted. EMU_BAD_FILE names the first that is wrong. */
enum emu_status op_graph_check(const struct op_graph *g) EMU_MUST_CHECK;

#endif
