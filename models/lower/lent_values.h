/* lent_values.h - results of functions that are read where the function has made them; private to
 * models/lower.
 *
 * Equal blocks are calls of one function (lower_call.h), and what one of them makes must be out of
 * its way before the next call. Where everybody who reads a result comes before that, it is lent:
 * it stays in the memory of the function. Of blocks that are computed again, say, only the backward
 * part behind them reads what they make. A function whose stretches all read a value that another
 * function lends them reads it right there, too.
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

/* By value of the graph; free with emu_free. NULL: no memory. */
struct lent_value *lent_values_find(const struct op_graph *g, const struct equal_blocks *b);

/* Where all stretches of a class have value `number` from: a function of another class that lends
 * it to each of them. class OP_NONE: there is none. only: gets whether nobody else reads it. */
struct lent_value lent_to_all(const struct op_graph *g, const struct equal_blocks *b,
                              const struct lent_value *lent, uint32_t class, uint32_t number,
                              int *only);

#endif
