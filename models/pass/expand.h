/* expand.h - what the parts of pass_expand() share: nodes that are made in place of another, which
 * keep its block; private to models/pass.
 */
#ifndef MODELS_EXPAND_H
#define MODELS_EXPAND_H

#include "models/pass/op_pass.h"

enum {
    EXPAND_INS = 3,
    EXPAND_ATTRS = 6,
    EXPAND_SQUARE = 1024 /* numbers that are compared or added up by a matrix of their square */
};

/* A node of one result; `suffix` is appended to the name of the one it is for, "": the same name.
 * Inputs end at the first OP_NONE. */
struct expand_part {
    enum op_code op;
    const char *suffix;
    uint32_t in[EXPAND_INS];
    struct op_named_attr attr[EXPAND_ATTRS];
    uint32_t attrs;
};

/* All: *out is the result. Errors: those of op_node(). */
enum emu_status expand_put(struct op_pass *p, const struct op_node *n,
                           const struct expand_part *part, uint32_t *out) EMU_MUST_CHECK;
enum emu_status expand_unary(struct op_pass *p, const struct op_node *n, enum op_code op,
                             const char *suffix, uint32_t x, uint32_t *out) EMU_MUST_CHECK;
enum emu_status expand_binary(struct op_pass *p, const struct op_node *n, enum op_code op,
                              const char *suffix, uint32_t x, uint32_t y,
                              uint32_t *out) EMU_MUST_CHECK;
enum emu_status expand_where(struct op_pass *p, const struct op_node *n, const char *suffix,
                             uint32_t condition, uint32_t x, uint32_t y,
                             uint32_t *out) EMU_MUST_CHECK;
enum emu_status expand_reshape(struct op_pass *p, const struct op_node *n, uint32_t in,
                               const struct op_shape *to, uint32_t *out) EMU_MUST_CHECK;
/* A float constant of one number. */
enum emu_status expand_number(struct op_pass *p, enum op_type type, double v,
                              uint32_t *out) EMU_MUST_CHECK;
enum emu_status expand_cast(struct op_pass *p, const struct op_node *n, const char *suffix,
                            uint32_t x, enum op_type to, uint32_t *out) EMU_MUST_CHECK;
/* from, from + 1, .. along an axis of a shape that is 1 in all others: a constant. */
enum emu_status expand_places(struct op_pass *p, enum op_type type, unsigned rank, unsigned axis,
                              uint32_t count, int64_t from, uint32_t *out) EMU_MUST_CHECK;
/* A reduction over an axis, which goes; -1: over all. */
enum emu_status expand_reduce(struct op_pass *p, const struct op_node *n, enum op_code op,
                              const char *suffix, uint32_t x, int64_t axis,
                              uint32_t *out) EMU_MUST_CHECK;
/* Transpose, unless all axes stay where they are. */
enum emu_status expand_transpose(struct op_pass *p, const struct op_node *n, const char *suffix,
                                 unsigned rank, const int64_t *perm, uint32_t x,
                                 uint32_t *out) EMU_MUST_CHECK;
/* Whether so many elements of a shape may be picked: a pass keeps a number for each. */
int expand_can_pick(const struct op_shape *from, uint64_t places);
/* Elements of x by a constant list of places in it, as a shape. EMU_NO_MEMORY. */
enum emu_status expand_picked(struct op_pass *p, const struct op_node *n, uint32_t x,
                              const struct op_tensor *places, const struct op_shape *to,
                              uint32_t *out) EMU_MUST_CHECK;
/* Swaps an axis and the last one. */
enum emu_status expand_swap_last(struct op_pass *p, const struct op_node *n, const char *suffix,
                                 unsigned rank, unsigned axis, uint32_t x,
                                 uint32_t *out) EMU_MUST_CHECK;

/* Makes the nodes for one; out: by its results, which stay OP_NONE if it stays as it is. */
typedef enum emu_status expand_op(struct op_pass *p, const struct op_node *n, uint32_t *out);
expand_op expand_resize, expand_lp_norm, expand_global_lp_pool, expand_lp_pool, expand_triangle;
expand_op expand_reduction;
expand_op expand_function, expand_is_inf, expand_power, expand_dropout; /* expand_function.c */
expand_op expand_scatter, expand_top_k;                                 /* expand_pick.c */
expand_op expand_einsum;                                                /* expand_einsum.c */

/* expand_transposed.c: any; of constant weights whose windows do not overlap. */
expand_op expand_conv_transpose, expand_upsampling;

#endif
