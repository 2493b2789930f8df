/* onnx.h - ONNX files as operator graphs.
 *
 * The reader trusts nothing: every length, number, name and shape is checked, and what a file makes
 * it keep and compute is bounded by the file's size (onnx_reader.h). What a file does wrong is one
 * error, "FILE: node NAME (Op): ..."; what is well formed but not built is a problem of the graph
 * (op_graph.problem), so that all problems can be reported together.
 */
#ifndef MODELS_ONNX_H
#define MODELS_ONNX_H

#include "emu/base/hash.h"
#include "models/operators/operators.h"

/* A size for a dimension that the file leaves open, by the name that it has there, or
 * "INPUT.AXIS" if it has none. */
struct onnx_dim {
    const char *name;
    uint32_t size;
};

/* An input that is a constant. */
struct onnx_binding {
    const char *name;
    const struct op_tensor *tensor;
};

/* Other numbers for an initializer: *data is set to elements as in files, which outlive the model,
 * or is left alone. If it is set, the initializer's own numbers are not read and need not exist. */
typedef enum emu_status onnx_replace(void *ctx, const char *name, const struct op_shape *s,
                                     const void **data);

/* All pointers are borrowed; zeros are defaults. */
struct onnx_options {
    uint32_t batch; /* of an input's first dimension if it is the only open one; 0: 1 */
    const struct onnx_dim *dim;
    unsigned dims;
    const struct onnx_binding *bound;
    unsigned bounds;
    onnx_replace *replace; /* NULL: none */
    void *replace_ctx;
    /* Names of values that are the graph's outputs; 0: the file's. Nodes that these do not need are
     * not read, and inputs that they do not need are left out. */
    const char *const *output;
    unsigned outputs;
    int trained; /* 1: initializers of floats are not folded: nodes that read them stay */
};

struct onnx_model {
    struct op_graph *graph; /* owned; initializers are PARAMs that lie in the mapped files */
    const char *producer;   /* "pytorch 1.13.0"; "" */
    const char *warning;    /* one line: shapes that the file states wrongly; NULL: none */
    uint64_t ir_version, opset;
    uint64_t parameter_bytes; /* of initializers in the graph, folded or not */
    uint64_t numbers;         /* floats among them */
    int newer;                /* 1: fields that are not in onnx_fields.def were skipped */
    uint32_t parameters;
    uint32_t batched;         /* inputs whose first dimension took the batch */
    struct onnx_files *files; /* private */
};

/* Reads a file; values of the graph point into it, so it must not change while the model is there.
 * options NULL: defaults.
 *
 * Errors: EMU_IO; EMU_BAD_FILE; EMU_USAGE (open dimensions, each with the option to give; an option
 * that names nothing in the file); EMU_NO_MEMORY. *out is NULL then. Free with onnx_model_free. */
enum emu_status onnx_read_file(const char *path, const struct onnx_options *options,
                               struct onnx_model **out) EMU_MUST_CHECK;
/* The same of bytes that outlive the model; tensors in other files are refused. name: for messages.
 */
enum emu_status onnx_read_bytes(const void *data, size_t bytes, const char *name,
                                const struct onnx_options *options,
                                struct onnx_model **out) EMU_MUST_CHECK;
void onnx_model_free(struct onnx_model *m); /* accepts NULL */
/* A hash of all bytes of the file and of those in other files that were mapped for it, with their
 * names. A model of bytes has none. Reads all of them. */
struct hash128 onnx_model_hash(const struct onnx_model *m);

/* Writes a graph as an ONNX file, weights included, of version 17 of the operator set, or of the
 * first later one that has all its operators; whoever owns f asks it for errors. EMU_USAGE: a node
 * is of an operator that none has (what passes recognise); EMU_BAD_FILE: more than 2 GiB;
 * EMU_NO_MEMORY. */
enum emu_status onnx_write(const struct op_graph *g, FILE *f) EMU_MUST_CHECK;

/* The numbers of a file that is one TensorProto ("input_0.pb"). EMU_BAD_FILE, EMU_NO_MEMORY. Free
 * with op_tensor_free. */
enum emu_status onnx_tensor_read(const void *data, size_t bytes, const char *name,
                                 struct op_tensor *out) EMU_MUST_CHECK;

#endif
