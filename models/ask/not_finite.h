/* not_finite.h - NaN and infinity wherever they come into a run of a network: in its weights, its
 * inputs, the results of layers, its outputs.
 */
#ifndef MODELS_NOT_FINITE_H
#define MODELS_NOT_FINITE_H

#include <jansson.h>
#include <stdio.h>

#include "models/graph/op_graph.h"

enum { NOT_FINITE_ROWS = 16, NOT_FINITE_NAME = 128 };

/* One place with NaN or infinity. */
struct not_finite_row {
    const char *what;            /* "weights", "input", "layer", "output" */
    char name[NOT_FINITE_NAME];  /* of the value or the layer */
    char layer[NOT_FINITE_NAME]; /* that reads such weights first; else "" */
    uint64_t nan, infinite;
    uint64_t beyond; /* of weights: numbers beyond the range of f16, which become infinite in it */
};

struct not_finite {
    struct not_finite_row row[NOT_FINITE_ROWS]; /* the first of them */
    uint32_t rows; /* all: more than NOT_FINITE_ROWS are only counted */
};

/* Looks at the weights of a graph as it was read: constants of floats. Infinite ones count where a
 * layer multiplies by them, and not where a mask may have them. In a network in f16 so do those
 * beyond its range. */
void not_finite_weights(struct not_finite *to, const struct op_graph *g, int half);
/* Looks at numbers; those that are no floats are finite. */
void not_finite_numbers(struct not_finite *to, const char *what, const char *name,
                        const struct op_tensor *t);
/* Adds a row unless both are 0. */
void not_finite_add(struct not_finite *to, const char *what, const char *name, uint64_t nan,
                    uint64_t infinite);

/* One line of warning for each row from the given one on. */
void not_finite_print(const struct not_finite *of, uint32_t first, FILE *f);
/* A list of rows; NULL: out of memory. */
json_t *not_finite_json(const struct not_finite *of);

#endif
