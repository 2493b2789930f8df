/* model_facts.c - what a graph of operators is, in numbers. */
#include "models/ask/model_facts.h"

#include <stdio.h>

/* The length of the list of scores: the last dimension of the first output, if that has one list
 * for each input of the batch. */
static uint32_t classes_of(const struct op_graph *g, uint32_t batch)
{
    const struct op_shape *s = g->outputs ? &g->value[g->output[0]].shape : NULL;

    if (!s || !s->rank || op_type_kind(s->type) != OP_KIND_FLOAT ||
        op_shape_span(s, 0, s->rank - 1) != batch || s->dim[s->rank - 1] < 2)
        return 0;
    return s->dim[s->rank - 1];
}

uint32_t op_graph_pictures(const struct op_graph *g)
{
    uint32_t pictures = 0, inputs = 0;

    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];
        const uint32_t *d = v->shape.dim;

        if (v->kind == OP_INPUT && v->shape.rank == 4 &&
            (d[1] == 3 || d[3] == 3 || (d[1] == 1 && d[2] == d[3]))) {
            pictures = d[0];
            inputs++;
        }
    }
    return inputs == 1 ? pictures : 0;
}

uint64_t op_graph_parameters(const struct op_graph *g)
{
    uint64_t n = 0;

    for (uint32_t v = 0; v < g->values; v++)
        n += g->value[v].kind == OP_PARAM ? op_shape_count(&g->value[v].shape) : 0;
    return n;
}

struct model_facts op_facts(const struct op_graph *g, const char *name, uint32_t batch,
                            uint64_t parameters)
{
    enum { F16_BYTES = 2 };
    struct model_facts f = {
        .name = name, .batch = batch, .classes = classes_of(g, batch), .parameters = parameters
    };
    size_t used = 0;

    f.takes_pictures = op_graph_pictures(g) > 0;
    f.macs = op_graph_macs(g) / batch;
    for (uint32_t k = 0; k < g->inputs; k++) {
        char shape[OP_SHAPE_TEXT];

        f.input_bytes += F16_BYTES * op_shape_count(&g->value[g->input[k]].shape);
        if (used < sizeof(f.input))
            used += (size_t)snprintf(f.input + used, sizeof(f.input) - used, "%s%s", k ? ", " : "",
                                     op_shape_text(&g->value[g->input[k]].shape, shape));
    }
    for (uint32_t k = 0; k < g->outputs; k++)
        f.output_bytes += F16_BYTES * op_shape_count(&g->value[g->output[k]].shape);
    return f;
}
