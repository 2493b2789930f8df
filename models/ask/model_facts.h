/* model_facts.h - what reports say of a network besides cycles and memory.
 */
#ifndef MODELS_MODEL_FACTS_H
#define MODELS_MODEL_FACTS_H

#include <stdint.h>

#include "models/operators/operators.h"

enum { MODEL_INPUT_TEXT = 128 };

struct model_facts {
    const char *name;                   /* borrowed */
    char input[MODEL_INPUT_TEXT];       /* "380x380"; "f32 [1, 3, 224, 224]" */
    uint32_t batch;                     /* inputs of a run; at least 1 */
    uint32_t classes;                   /* of each; 0: the result is no list of scores */
    uint32_t resolution;                /* of square pictures; 0: something else */
    int takes_pictures;                 /* else an input is called "input" */
    uint64_t parameters, macs;          /* macs: for one input */
    uint64_t input_bytes, output_bytes; /* of a run, as the host moves them */
};

/* What an input is called, and how many of them a second. */
static inline const char *model_input_word(const struct model_facts *n)
{
    return n->takes_pictures ? "picture" : "input";
}

static inline const char *model_rate_unit(const struct model_facts *n)
{
    return n->takes_pictures ? "images/s" : "inputs/s";
}

/* Numbers in the parameters of a graph. */
uint64_t op_graph_parameters(const struct op_graph *g);

/* Pictures of a run: n, if one input alone is [n][3][h][w], [n][h][w][3], or [n][1][side][side];
 * else 0. */
uint32_t op_graph_pictures(const struct op_graph *g);

/* What reports say of a graph. name: borrowed. batch: inputs of a run, at least 1. parameters: of
 * the graph before norms were folded into weights. */
struct model_facts op_facts(const struct op_graph *g, const char *name, uint32_t batch,
                            uint64_t parameters);

#endif
