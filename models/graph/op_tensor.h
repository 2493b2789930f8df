/* op_tensor.h - types, shapes, and numbers of values in an operator graph, and of files. */
#ifndef MODELS_OP_TENSOR_H
#define MODELS_OP_TENSOR_H

#include <stdint.h>

#include "emu/base/alloc.h"

enum op_type {
    OP_TYPE_UNKNOWN,
#define OP_TYPE(name, number, bytes, kind, text) OP_TYPE_##name,
#include "models/graph/op_types.def"
#undef OP_TYPE
    OP_TYPE_COUNT
};

/* What numbers of a type are computed with. */
enum op_kind {
    OP_KIND_NONE,
    OP_KIND_FLOAT, /* f64 */
    OP_KIND_INT,   /* i64; u64 as its bits */
    OP_KIND_BOOL   /* i64, 0 or 1 */
};

const char *op_type_text(enum op_type type); /* "f32"; "unknown" */
enum op_kind op_type_kind(enum op_type type);
size_t op_type_bytes(enum op_type type);         /* of an element; 0 if there is none */
enum op_type op_type_number(uint64_t number);    /* by ONNX's number; OP_TYPE_UNKNOWN */
unsigned op_type_onnx_number(enum op_type type); /* 0 for OP_TYPE_UNKNOWN */

enum { OP_RANK_MAX = 8 };
#define OP_ELEMENTS_MAX ((uint64_t)1 << 32) /* of one value */

struct op_shape {
    enum op_type type;
    unsigned rank;             /* 0: a scalar */
    uint32_t dim[OP_RANK_MAX]; /* zeros beyond rank */
};

/* Elements of a shape that op_shape_check() accepts. */
uint64_t op_shape_count(const struct op_shape *s);
/* The product of dim[begin..end). */
uint64_t op_shape_span(const struct op_shape *s, unsigned begin, unsigned end);
/* EMU_BAD_FILE: more than OP_RANK_MAX dimensions or OP_ELEMENTS_MAX elements. */
enum emu_status op_shape_check(const struct op_shape *s) EMU_MUST_CHECK;
/* Equal dimensions; types are not compared. */
int op_shape_equal(const struct op_shape *a, const struct op_shape *b);
/* "f32 [1, 3, 224, 224]". Returns buf. */
enum { OP_SHAPE_TEXT = 128 };
char *op_shape_text(const struct op_shape *s, char buf[OP_SHAPE_TEXT]);

/* Numbers of a value on the host, row-major. */
struct op_tensor {
    struct op_shape shape;
    union {
        double *f;  /* owned: kind FLOAT */
        int64_t *i; /* owned: kinds INT and BOOL */
        void *any;
    };
};

/* Zeros of a shape, whose type has a kind. EMU_NO_MEMORY. Free with op_tensor_free. */
enum emu_status op_tensor_new(const struct op_shape *s, struct op_tensor *out) EMU_MUST_CHECK;
void op_tensor_free(struct op_tensor *t);
/* From and to the little-endian elements of a file, at any alignment: op_shape_count() of the
 * shape's type. Packing rounds to nearest even and wraps integers. */
enum emu_status op_tensor_unpack(const struct op_shape *s, const void *data,
                                 struct op_tensor *out) EMU_MUST_CHECK;
void op_tensor_pack(const struct op_tensor *t, void *data);
/* Rounds every number to what its type can hold. */
void op_tensor_round(struct op_tensor *t);

/* Element k as a double, whatever its kind. */
static inline double op_tensor_number(const struct op_tensor *t, uint64_t k)
{
    if (op_type_kind(t->shape.type) == OP_KIND_FLOAT)
        return t->f[k];
    return t->shape.type == OP_TYPE_U64 ? (double)(uint64_t)t->i[k] : (double)t->i[k];
}

#endif
