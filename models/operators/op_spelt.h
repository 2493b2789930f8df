/* op_spelt.h - operators that are read as what they are made of: nodes in the place of one, named
 * after it. Shape inference, meaning, gradients, bounds and lowerings are those of the parts.
 *
 * The first error stays in `status`, and nothing is made behind it: values are OP_NONE then.
 * Private to models/operators.
 */
#ifndef MODELS_OP_SPELT_H
#define MODELS_OP_SPELT_H

#include "models/operators/op_families.h"

enum { SPELT_INS = 3, SPELT_ATTRS = 4, SPELT_PART = -1 };

/* What is spelt. */
struct spelling {
    struct op_graph *g;
    const struct op_request *r; /* of a file */
    uint32_t *out;              /* its results */
    enum emu_status status;
};

/* A node of one result; inputs end at the first OP_NONE. */
struct spelt_part {
    enum op_code op;
    const char *suffix; /* of its name */
    uint32_t in[SPELT_INS];
    struct op_named_attr attr[SPELT_ATTRS];
    uint32_t attrs;
    int result; /* SPELT_PART, or which result of what is spelt it makes */
};

/* All: the value that is made. */
uint32_t spelt_put(struct spelling *s, const struct spelt_part *part);
uint32_t spelt_unary(struct spelling *s, enum op_code op, const char *suffix, uint32_t x);
uint32_t spelt_binary(struct spelling *s, enum op_code op, const char *suffix, uint32_t x,
                      uint32_t y);
/* By a number of x's type. */
uint32_t spelt_by(struct spelling *s, enum op_code op, const char *suffix, uint32_t x, double y);
uint32_t spelt_reshape(struct spelling *s, const char *suffix, uint32_t x,
                       const struct op_shape *to);
/* `last` axes are exchanged by perm, of four. */
uint32_t spelt_transpose(struct spelling *s, const char *suffix, uint32_t x, const int64_t perm[4]);
/* A value as result k of what is spelt, if that is wanted. */
void spelt_give(struct spelling *s, unsigned k, uint32_t value);

/* Whether result k is wanted; input k, or OP_NONE; its shape, which it has. */
int spelt_wants(const struct spelling *s, unsigned k);
uint32_t spelt_input(const struct spelling *s, unsigned k);
struct op_shape spelt_shape(const struct spelling *s, uint32_t value);

#endif
