/* operators.h - operators of a graph: one row of operators.def per operator and version, one family
 * of functions per kind of operator. Nodes are made here.
 */
#ifndef MODELS_OPERATORS_H
#define MODELS_OPERATORS_H

#include "models/graph/op_graph.h"

enum { OP_MANY = 4096 }; /* inputs or outputs of a node, at most */

struct op_family;
struct op_request;
struct op_gradient;

/* Makes nodes of newer rows, with op_node(), that mean what a node of an older version means.
 * Errors: those of op_node(). */
typedef enum emu_status op_upgrade(struct op_graph *g, const struct op_request *r, uint32_t *out);

/* What a node can be: OP_Conv and so on, one for each name in operators.def. */
enum op_code {
    OP_NO_OPERATOR,
#define OPERATOR(name, ...) OP_##name,
#define OLDER(...)
#include "models/operators/operators.def"
#undef OLDER
#undef OPERATOR
    OP_CODES
};

/* Families of operators, and what holds of all operators of one: op_families.def. */
enum op_family_code {
#define FAMILY(name, flags) FAMILY_##name,
#include "models/operators/op_families.def"
#undef FAMILY
    FAMILIES
};
enum op_family_flag {
    OP_ASKS_READ = 1 << 0,
    OP_ASKS_SCORES = 1 << 1,
    OP_IS_ALIAS = 1 << 2,
    OP_IS_DENSE = 1 << 3,
    OP_IS_FREE = 1 << 4,
    OP_IS_VIEW = 1 << 5,
    OP_MORE_RESULTS = 1 << 6,
    OP_MULTIPLIES = 1 << 7,
    OP_OF_SHAPES = 1 << 8,
    OP_READS_F32 = 1 << 9
};

/* One version of an operator. */
struct op_row {
    enum op_code code;
    const char *name;
    unsigned since;            /* first version of ONNX's operator set */
    unsigned ins_min, ins_max; /* as in files; OP_MANY: any number */
    unsigned outs_min, outs_max;
    const char *types;      /* of inputs: operators.def */
    const char *attributes; /* operators.def */
    enum op_family_code family_code;
    const struct op_family *family; /* functions of that family */
    op_upgrade *upgrade;            /* NULL in rows that mean what the newest means */
};

/* The row that holds for a version of the operator set, 0: the newest. NULL: there is none. */
const struct op_row *op_row_find(const char *name, unsigned version);
/* The newest row of an operator, and its name; it is not OP_NO_OPERATOR. */
const struct op_row *op_row_of(enum op_code code);
static inline const char *op_name(enum op_code code)
{
    return op_row_of(code)->name;
}
/* All rows, in the table's order; NULL after the last one. */
const struct op_row *op_row(unsigned i);
enum {
    OP_VERSION_MIN = 1, /* of operator sets that the table knows */
    OP_VERSION_MAX = 26,
    OP_VERSION_WRITTEN = 17, /* of files that are written, if it has all that they need */
    OP_VERSION_OURS = 1000   /* of rows that no operator set has */
};

/* One attribute of a row. */
struct op_attr_spec {
    char name[32];
    enum op_attr_kind kind;
    int required;
    int input;             /* in files it is this input, which must be constant; -1: an attribute */
    struct op_attr preset; /* kind OP_ATTR_NONE: absent */
    char text[24];         /* of a preset string */
};
/* Attribute k of a row; 0 after the last one. */
int op_row_attr(const struct op_row *row, unsigned k, struct op_attr_spec *out);
/* Whether an attribute has its default: it is equal to the preset, or absent where there is none.
 */
int op_attr_is_preset(const struct op_attr *a, const struct op_attr *preset);
/* How many of the inputs in files are inputs in canonical form: those before the first that is an
 * attribute. */
unsigned op_row_inputs(const struct op_row *row);

/* --- a node while it is made or computed ----------------------------------------------------- */

/* In canonical form. */
struct op_call {
    const struct op_row *row;
    const struct op_attr *attr;       /* in the row's order */
    const struct op_graph *g;         /* of values that attributes name */
    const struct op_shape *const *in; /* NULL: absent */
    struct op_shape *out;             /* infer() sets those that are wanted, and may set others */
    uint32_t ins, outs;
    char why[200]; /* set by op_refuse() */
};

/* A call in which the attributes of a node can be asked for; it has no shapes. */
static inline struct op_call op_attrs_of(const struct op_graph *g, const struct op_node *n)
{
    return (struct op_call){ .row = n->row, .attr = n->attr, .g = g };
}

/* Whether a node is this operator. */
static inline int op_node_is(const struct op_node *n, enum op_code code)
{
    return n->row->code == code;
}

/* Whether a node's operator is of a family; whether its family has a flag. */
static inline int op_node_is_of(const struct op_node *n, enum op_family_code code)
{
    return n->row->family_code == code;
}
unsigned op_family_flags(enum op_family_code code);
static inline int op_node_has(const struct op_node *n, enum op_family_flag flag)
{
    return (op_family_flags(n->row->family_code) & flag) != 0;
}
/* "conv": the file is family_conv.c. */
const char *op_family_name(enum op_family_code code);

/* The attributes. A name that the row lacks, or of another kind, is a defect of the caller, except
 * to op_knows(). */
int op_knows(const struct op_call *c, const char *name);
int op_has(const struct op_call *c, const char *name);
int64_t op_int(const struct op_call *c, const char *name);        /* 0 if absent */
double op_float(const struct op_call *c, const char *name);       /* 0 if absent */
const char *op_string(const struct op_call *c, const char *name); /* "" if absent */
int op_is(const struct op_call *c, const char *name, const char *text);
/* *list: the numbers, NULL if absent. Returns how many. */
uint32_t op_ints(const struct op_call *c, const char *name, const int64_t **list);
uint32_t op_floats(const struct op_call *c, const char *name, const double **list);
uint32_t op_texts(const struct op_call *c, const char *name, const char *const **list);
/* OP_NONE: absent. */
uint32_t op_tensor_value(const struct op_call *c, const char *name);

/* Says why the node cannot run: "mode cubic is not built; nearest and linear are". Returns
 * EMU_BAD_FILE, which infer() forwards. */
enum emu_status op_refuse(struct op_call *c, const char *fmt, ...) EMU_MUST_CHECK EMU_PRINTF(2, 3);

/* Helpers of families. */
/* Whether the node is this operator. */
static inline int op_named(const struct op_call *c, enum op_code code)
{
    return c->row->code == code;
}
/* Whether input k is there. */
static inline int op_given(const struct op_call *c, uint32_t k)
{
    return k < c->ins && c->in[k];
}
/* A float as an integer: truncated; the bits of a u64 from 2^63 on; INT64_MAX and INT64_MIN beyond,
 * 0 for NaN. */
int64_t op_whole(double v);
/* An axis in [-rank, rank) as one in [0, rank). */
enum emu_status op_axis(struct op_call *c, int64_t axis, unsigned rank,
                        unsigned *out) EMU_MUST_CHECK;
/* The list `name` as a set of axes, negative ones resolved; absent or empty: all. A repeated one is
 * refused. */
enum emu_status op_axes(struct op_call *c, const char *name, unsigned rank,
                        uint32_t *set) EMU_MUST_CHECK;
/* A dimension, if it fits. */
enum emu_status op_dim(struct op_call *c, uint64_t size, uint32_t *dim) EMU_MUST_CHECK;
/* The list `name` as dimensions; the type is unknown. */
enum emu_status op_dims(struct op_call *c, const char *name, struct op_shape *out) EMU_MUST_CHECK;
/* numpy's broadcast of a and b; the type is a's. */
enum emu_status op_broadcast(struct op_call *c, const struct op_shape *a, const struct op_shape *b,
                             struct op_shape *out) EMU_MUST_CHECK;
/* For each of `to`'s elements in order, the element of `from` that broadcasting reads there:
 * strides of from, 0 where it is broadcast, by to's dimensions. */
void op_broadcast_strides(const struct op_shape *from, const struct op_shape *to,
                          uint64_t stride[OP_RANK_MAX]);
/* Counts index[] up in row-major order. Returns 0 after the last. */
int op_index_next(const struct op_shape *s, uint32_t index[OP_RANK_MAX]);

/* What operators of a kind do. Rows of several names share one and look at c->row->code. */
struct op_family {
    /* Sets c->out from c->in and the attributes, or refuses. */
    enum emu_status (*infer)(struct op_call *c);
    /* The meaning in f64 and i64: out[] are zeros of the inferred shapes; absent: any is NULL.
     * Integers wrap as their type. EMU_NO_MEMORY. */
    enum emu_status (*ref)(struct op_call *c, const struct op_tensor *const *in,
                           struct op_tensor *out);
    /* Makes the gradients of the inputs that are wanted, or refuses (op_gradient.h). NULL: none is
     * built. Results that do not depend smoothly on an input have the gradient 0. */
    void (*gradient)(struct op_gradient *x);
};

/* --- making and computing -------------------------------------------------------------------- */

struct op_named_attr {
    const char *name;
    struct op_attr attr; /* lists and texts are copied */
};

/* What a node is to be, as in a file of some version. */
struct op_request {
    const char *op;    /* op_name(), or as a file has it */
    unsigned version;  /* of the operator set; 0: the newest row in canonical form, where attributes
                        * that files have as inputs are given as attributes */
    const char *name;  /* NULL or "": one is made of the operator's name and a number */
    const char *block; /* NULL: none */
    const uint32_t *in; /* values; OP_NONE: absent */
    uint32_t ins;
    const char *const *out_name; /* NULL: made; an entry NULL or "": not wanted */
    uint32_t outs;
    const struct op_named_attr *attr;
    uint32_t attrs;
};

/* Appends a node: finds the row, checks and completes attributes, makes inputs that must be
 * constant attributes, upgrades old versions, infers types and shapes. A node whose inputs are
 * constant (or which asks for shapes only) is computed at once, and its results are constants; but
 * one whose results have more than 64 KiB and are larger than its inputs stays a node.
 *
 * out: r->outs values; OP_NONE where not wanted. A node that cannot run is not appended: op_problem
 * says why, its results have the type OP_TYPE_UNKNOWN, nodes that read these are left out, too,
 * and counted, and the status is EMU_OK. Errors: EMU_BAD_FILE (a result's name is taken),
 * EMU_NO_MEMORY. */
enum emu_status op_node(struct op_graph *g, const struct op_request *r,
                        uint32_t *out) EMU_MUST_CHECK;

/* For upgrades: notes why the node cannot run; its results have the type OP_TYPE_UNKNOWN.
 * EMU_NO_MEMORY. */
enum emu_status op_node_refuse(struct op_graph *g, const struct op_request *r, uint32_t *out,
                               const char *fmt, ...) EMU_MUST_CHECK EMU_PRINTF(4, 5);
/* For upgrades: a constant. numbers: op_shape_count() of 8 bytes each, as in struct op_tensor; the
 * type has a kind. EMU_NO_MEMORY. */
enum emu_status op_constant_new(struct op_graph *g, const struct op_shape *s, const void *numbers,
                                uint32_t *out) EMU_MUST_CHECK;
/* Whether a value's numbers are known for good: constants, but not parameters that will change. */
int op_value_settled(const struct op_graph *g, uint32_t value);
/* For upgrades: an attribute of a request, or what the row of its version presets; a preset is no
 * string. */
struct op_attr op_request_attr(const struct op_request *r, const char *name);
/* For upgrades: Reshape of a value. Its block and the result's name are those of r. As op_node().
 */
enum emu_status op_reshape(struct op_graph *g, const struct op_request *r, uint32_t in,
                           const struct op_shape *to, uint32_t *out) EMU_MUST_CHECK;

/* Multiply-adds of a node, and of all nodes, for all inputs of the batch. As published tables count
 * them: those with padding count. */
uint64_t op_node_macs(const struct op_graph *g, const struct op_node *n);
uint64_t op_graph_macs(const struct op_graph *g);

/* What a node takes: multiply-adds, bytes of the constants that it reads and of what it makes, as
 * numbers lie on the chip where floats are f16 but for those that the graph says are f32. A
 * constant counts where it is read first; views (op_node_is_view()) make nothing of their own. */
struct op_work {
    uint64_t macs, weight_bytes, result_bytes;
};
/* *out: of each node, and behind them their sum; owned by the caller (ss_free), also after an
 * error. EMU_NO_MEMORY. */
enum emu_status op_graph_work(const struct op_graph *g, struct op_work **out) EMU_MUST_CHECK;
/* Whether a node only says where numbers are that its inputs have: it has no memory of its own. */
int op_node_is_view(const struct op_node *n);

/* Removes nodes and values that no output needs, and aliases; order and names stay, indices change.
 * EMU_NO_MEMORY. */
enum emu_status op_graph_tidy(struct op_graph *g) EMU_MUST_CHECK;

/* Computes the outputs in f64 and i64. in: by g->input; shapes as declared. out: by g->output,
 * owned by the caller (op_tensor_free), also after an error. Integers wrap as their type; floats
 * are rounded to theirs if `rounded`. EMU_NO_MEMORY. */
enum emu_status op_graph_run(const struct op_graph *g, const struct op_tensor *in, int rounded,
                             struct op_tensor *out) EMU_MUST_CHECK;

/* The same, but keeps nothing: visit is called before every node, in order, with the numbers of its
 * first input (NULL: absent). It may change the numbers of constants that the node alone reads. An
 * error of visit ends the walk. */
typedef enum emu_status op_visit(void *arg, const struct op_node *n, const struct op_tensor *x);
enum emu_status op_graph_walk(const struct op_graph *g, const struct op_tensor *in, op_visit *visit,
                              void *arg) EMU_MUST_CHECK;

/* One node on given numbers; out[] is owned by the caller. For op_graph_run() and folding. */
enum emu_status op_node_run(const struct op_graph *g, const struct op_node *n,
                            const struct op_tensor *const *in,
                            struct op_tensor *out) EMU_MUST_CHECK;

#endif
