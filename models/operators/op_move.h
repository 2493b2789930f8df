/* op_move.h - moves elements without looking at them: 8 bytes each, whatever their kind. */
#ifndef MODELS_OP_MOVE_H
#define MODELS_OP_MOVE_H

#include "models/operators/operators.h"

/* An element of either kind. */
typedef uint64_t op_bits __attribute__((may_alias));

/* Fills `to` (row-major, of shape s) with from[index . stride]; strides are in elements and may be
 * 0 or negative. */
void op_move_strided(const struct op_shape *s, const op_bits *from,
                     const int64_t stride[OP_RANK_MAX], op_bits *to);

/* Row-major strides of a shape, in elements. */
void op_move_strides(const struct op_shape *s, int64_t stride[OP_RANK_MAX]);

/* Which index of an input each index along a dimension of the result takes; -1: none. */
struct op_picks {
    int64_t *index[OP_RANK_MAX]; /* by dimension, as long as the result is there; owned */
};

/* Room for the picks of a result, which has elements. EMU_NO_MEMORY; free in any case. */
enum emu_status op_picks_new(const struct op_shape *result, struct op_picks *out) EMU_MUST_CHECK;
void op_picks_free(struct op_picks *p);

/* Fills `to` (of shape s) with what the picks take of `from` (shape `of`, of the same rank), and
 * with `rest` where a dimension picks none. */
void op_move_picked(const struct op_shape *s, const struct op_shape *of, const struct op_picks *p,
                    const op_bits *from, op_bits rest, op_bits *to);

/* Elements of part k of a dimension of `whole` that a Split (whose attributes c has) cuts in
 * `parts`: as given, or equal, but of the last one what is left. */
int64_t op_split_size(const struct op_call *c, uint32_t whole, uint32_t parts, uint32_t k);

#endif
