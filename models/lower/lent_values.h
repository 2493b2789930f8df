/* lent_values.h - results of functions that are read where the function has made them; private to
 * models/lower.
 *
 * Equal blocks are calls of one function (lower_call.h), and the next call overwrites the results
 * of the one before. Where all readers of a result come before the next call, the result is lent:
 * it stays in the memory of the function instead of being copied out. An example are blocks that
 * are computed again, whose results only the backward part after them reads. If all stretches of a
 * second function read a value that the first one lends, that function reads it there, too.
 */
#ifndef MODELS_LENT_VALUES_H
#define MODELS_LENT_VALUES_H

#include "models/lower/equal_blocks.h"

/* A value as a result of a function. */
struct lent_value {
    uint32_t class;  /* of blocks; OP_NONE: it cannot be lent */
    uint32_t number; /* of the value in them */
    uint32_t reads;  /* of the stretch that makes it */
};

/* By value of the graph; free with ss_free. NULL: no memory. */
struct lent_value *lent_values_find(const struct op_graph *g, const struct equal_blocks *b);

/* The function of another class that lends value `number` to all stretches of a class. class
 * OP_NONE: there is none. only: set to whether nothing else reads it. */
struct lent_value lent_to_all(const struct op_graph *g, const struct equal_blocks *b,
                              const struct lent_value *lent, uint32_t class, uint32_t number,
                              int *only);

#endif
