/* onnx_reader.h - what the parts of the reader share: the reading, bodies of nodes, and calls.
 *
 * A body is the nodes of the graph or of a function. It is checked once: order, names, and which
 * nodes the outputs need. Building it makes nodes of the operator graph; a function is built at
 * each call. Messages of errors get their context on the way out: "node NAME (Op): ..." here, the
 * file in onnx_read.c.
 */
#ifndef MODELS_ONNX_READER_H
#define MODELS_ONNX_READER_H

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_fields.h"
#include "models/onnx/onnx_names.h"
#include "models/onnx/onnx_tensor.h"

enum {
    ONNX_NODES_MAX = 1 << 20, /* in all, with calls and what they make */
    ONNX_PORTS_MAX = 4096,    /* inputs or outputs of a node, a function, the graph */
    ONNX_ATTRIBUTES_MAX = 64, /* of a node */
    ONNX_FUNCTIONS_MAX = 4096,
    ONNX_DEPTH_MAX = 8, /* of calls */
    ONNX_WHY = 160      /* bytes of the reason of a problem */
};

/* Parts of a file, in its order. */
struct onnx_spans {
    struct wire_span *at; /* owned */
    uint32_t count;
    size_t cap;
};

struct onnx_body {
    struct onnx_spans node;
    struct onnx_names names; /* of values */
    uint8_t *wanted;         /* owned; by name: an output or a node that is live reads it */
    uint8_t *live;           /* owned; by node: it makes something that is wanted */
};

struct onnx_function {
    struct wire_span name, domain;
    struct onnx_body body;
    struct onnx_spans input, output; /* names */
    struct onnx_spans attribute;     /* names */
    struct onnx_spans preset;        /* attributes with a default */
    uint64_t version;                /* of ai.onnx's operators in it; 0: none is named */
};

struct onnx_reader {
    struct wire_source source;
    const struct onnx_options *options;
    struct onnx_model *model;   /* half made */
    struct op_graph *g;         /* the model's */
    struct onnx_folder *folder; /* where other files are; the model's */
    size_t outside;             /* bytes of those that were found */
    uint64_t room;              /* bytes that may still be kept */
    uint32_t nodes;             /* made so far, with calls */
    struct onnx_body body;      /* of the graph */
    struct onnx_spans initializer, input, output, value_info; /* of the graph */
    struct onnx_function *function;                           /* owned; sorted by name and domain */
    uint32_t functions;
    size_t function_cap;
    struct onnx_modules modules;  /* of the graph's nodes */
    struct onnx_names node_names; /* that are taken; the texts are the graph's */
    void **scratch;               /* owned; of the node that is made */
    size_t scratches, scratch_cap;
};

/* Takes bytes from the room, which depends on the file's size. The bytes are roughly what is kept
 * in memory, so that a hostile file ends here instead of exhausting the host. EMU_BAD_FILE. */
enum emu_status onnx_keep(struct onnx_reader *r, uint64_t bytes) EMU_MUST_CHECK;
enum { ONNX_KEPT_NAME = 48, ONNX_KEPT_VALUE = 160, ONNX_KEPT_NODE = 320, ONNX_KEPT_PORT = 16 };
/* Files beside the model count as parts of it once they are found. */
void onnx_more_data(struct onnx_reader *r);

/* Zeroed memory until a node is made; NULL when out of memory. */
void *onnx_scratch(struct onnx_reader *r, size_t count, size_t size);
/* Frees what was taken since r->scratches was `mark`. */
void onnx_scratch_free(struct onnx_reader *r, size_t mark);

/* --- onnx_body.c --- */

enum emu_status onnx_spans_add(struct onnx_reader *r, struct onnx_spans *s, struct wire_span span,
                               uint32_t most, const char *what) EMU_MUST_CHECK;
void onnx_spans_free(struct onnx_spans *s);

/* A node without its lists. */
struct onnx_node {
    struct wire_span message, name, op, domain;
    struct wire_span made; /* its first output; "": none */
    uint32_t ins, outs, attrs;
};
enum emu_status onnx_node_read(struct onnx_reader *r, struct wire_span message,
                               struct onnx_node *out) EMU_MUST_CHECK;
/* Puts "node NAME (Op): " in front of the message of EMU_BAD_FILE and EMU_IO; "node of OUTPUT (Op):
 * " if it has no name. Returns s. */
enum emu_status onnx_node_failed(const struct onnx_node *n, enum emu_status s) EMU_MUST_CHECK;

/* Adds a name that no node makes: an input, an initializer. EMU_BAD_FILE: it is there. */
enum emu_status onnx_body_source(struct onnx_reader *r, struct onnx_body *b,
                                 struct wire_span name) EMU_MUST_CHECK;
/* Adds the names that nodes make and proves that each reads only what is there before it. */
enum emu_status onnx_body_check(struct onnx_reader *r, struct onnx_body *b) EMU_MUST_CHECK;
/* Marks what outputs need. EMU_BAD_FILE: one that is not there. */
enum emu_status onnx_body_mark(struct onnx_reader *r, struct onnx_body *b,
                               const struct wire_span *output, uint32_t outputs) EMU_MUST_CHECK;
void onnx_body_free(struct onnx_body *b);

/* --- onnx_attribute.c --- */

/* An attribute that a call gives, or the function's default for it. */
struct onnx_argument {
    struct wire_span name, message;
};
struct onnx_call;
/* The name of an attribute, and its message: that of the caller if it only names one of those. A
 * message of NULL: the caller gives none, the attribute is absent. */
enum emu_status onnx_argument_read(struct onnx_reader *r, const struct onnx_call *call,
                                   struct wire_span message,
                                   struct onnx_argument *out) EMU_MUST_CHECK;
/* Makes an attribute of op_node(); lists and texts are scratch. why: set if it is not built. */
enum emu_status onnx_attribute_make(struct onnx_reader *r, const struct onnx_argument *a,
                                    struct op_named_attr *out, char why[ONNX_WHY]) EMU_MUST_CHECK;

/* --- onnx_value.c --- */

/* The name in a ValueInfoProto. */
enum emu_status onnx_input_name(struct onnx_reader *r, struct wire_span message,
                                struct wire_span *out) EMU_MUST_CHECK;
/* Makes the values of the graph's inputs and initializers that are wanted. value: by name. */
enum emu_status onnx_sources_make(struct onnx_reader *r, uint32_t *value) EMU_MUST_CHECK;
/* A constant of a tensor whose data are known; name NULL: one is made. */
enum emu_status onnx_constant_make(struct onnx_reader *r, const char *name, enum op_value_kind kind,
                                   struct onnx_tensor *t, uint32_t *out) EMU_MUST_CHECK;
/* Compares what the file says of values with what they are: model->warning. */
enum emu_status onnx_hints_compare(struct onnx_reader *r, const uint32_t *value) EMU_MUST_CHECK;

/* --- onnx_build.c --- */

/* A body while it is built. */
struct onnx_call {
    const struct onnx_body *body;
    const struct onnx_function *function; /* NULL: the graph */
    const struct onnx_call *caller;       /* NULL: the graph */
    uint32_t *value;                      /* by name of the body; OP_NONE: absent */
    const char *const *result; /* by name: what the caller calls it, or NULL; NULL: the graph */
    const struct onnx_argument *argument; /* attributes */
    uint32_t arguments;
    const char *prefix; /* of names; NULL: the graph */
    uint64_t version;   /* of ai.onnx's operators */
    unsigned depth;
};
enum emu_status onnx_build(struct onnx_reader *r, const struct onnx_call *c) EMU_MUST_CHECK;
/* The name of a result: the file's, what the caller calls it, or one of the call's own. Scratch;
 * NULL when out of memory. */
const char *onnx_result_name(struct onnx_reader *r, const struct onnx_call *c, uint32_t at);
/* A node's name in the graph, and its block: those that its own name gives; one that is empty or
 * taken is made of the operator and a number. The texts are the graph's, or scratch. */
enum emu_status onnx_node_name(struct onnx_reader *r, const struct onnx_call *c,
                               const struct onnx_node *n, const char **name,
                               const char **block) EMU_MUST_CHECK;

/* --- onnx_function.c --- */

enum emu_status onnx_function_read(struct onnx_reader *r, struct wire_span message) EMU_MUST_CHECK;
/* Sorts and checks the functions. EMU_BAD_FILE: two have one name. */
enum emu_status onnx_functions_check(struct onnx_reader *r) EMU_MUST_CHECK;
/* NULL: the node is no call. */
const struct onnx_function *onnx_function_find(const struct onnx_reader *r,
                                               const struct onnx_node *n);
/* Builds a call in the place of its node. */
enum emu_status onnx_call_make(struct onnx_reader *r, const struct onnx_call *caller,
                               const struct onnx_function *f,
                               const struct onnx_node *n) EMU_MUST_CHECK;
/* Adds a version of ai.onnx's operators. EMU_BAD_FILE: none that is known, or another one. That of
 * the model may be too new: what it bears on is told when the nodes are known. */
enum emu_status onnx_opset_read(struct onnx_reader *r, struct wire_span message,
                                uint64_t *version) EMU_MUST_CHECK;

#endif
