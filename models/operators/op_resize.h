/* op_resize.h - what Resize does to each dimension, for passes. */
#ifndef MODELS_OP_RESIZE_H
#define MODELS_OP_RESIZE_H

#include "models/operators/operators.h"

/* Of a call with the shape of its first input, which infer() took. */
/* Whether a dimension is left alone. */
int op_resize_keeps(struct op_call *c, unsigned d);
/* The weights of inputs in outputs along a dimension, [in][out], of the input's type; modes that
 * extrapolate have none. EMU_NO_MEMORY. Free with op_tensor_free. */
enum emu_status op_resize_weights(struct op_call *c, unsigned d,
                                  struct op_tensor *out) EMU_MUST_CHECK;

/* The two inputs between which each output lies along a dimension, as indices i64 [out], and how
 * far it is from the first to the second, as [out], 0 to 1. *found = 0: it is not such a mixture
 * (modes but linear, and where what lies outside counts less); nothing is made then. EMU_NO_MEMORY.
 * Free with op_tensor_free. */
enum emu_status op_resize_neighbours(struct op_call *c, unsigned d, struct op_tensor index[2],
                                     struct op_tensor *part, int *found) EMU_MUST_CHECK;

#endif
