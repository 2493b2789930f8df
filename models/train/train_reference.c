/* train_reference.c - steps of training in f64, by the operators' plain meaning. */
#include "models/train/train_reference.h"

#include <string.h>

#include "models/operators/operators.h"
#include "models/train/train_chip.h"

enum emu_status train_reference_new(const struct op_graph *g, const struct train_step *step,
                                    struct train_reference *out)
{
    *out = (struct train_reference){ .g = g, .step = *step, .seed = 1 };
    out->in = emu_alloc(g->inputs + 1, sizeof(*out->in));
    if (!out->in)
        return FAIL(NO_MEMORY, "steps of training");
    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];

        TRY(v->kind == OP_STATE && v->data ? op_value_read(g, g->input[k], &out->in[k])
                                           : op_tensor_new(&v->shape, &out->in[k]));
    }
    return EMU_OK;
}

void train_reference_free(struct train_reference *r)
{
    for (uint32_t k = 0; r->in && k < r->g->inputs; k++)
        op_tensor_free(&r->in[k]);
    ss_free(r->in);
    memset(r, 0, sizeof(*r));
}

static void set(struct train_reference *r, uint32_t value, const struct op_tensor *t)
{
    struct op_tensor *to = &r->in[op_graph_input_index(r->g, value)];

    EMU_ASSERT(op_shape_equal(&to->shape, &t->shape));
    memcpy(to->any, t->any, op_shape_count(&t->shape) * sizeof(*t->f));
}

static void set_number(struct train_reference *r, uint32_t value, double number)
{
    r->in[op_graph_input_index(r->g, value)].f[0] = number;
}

/* Takes what the step has made: new states, loss and scores. Frees the rest. */
static void take(struct train_reference *r, struct op_tensor *out, double *loss,
                 struct op_tensor *scores)
{
    const struct op_graph *g = r->g;
    double sum[2] = { 0, 0 };

    for (uint32_t k = 0; k < g->outputs; k++) {
        for (unsigned j = 0; j < EMU_COUNT_OF(sum); j++)
            sum[j] = g->output[k] == r->step.sum[j] ? out[k].f[0] : sum[j];
    }
    for (uint32_t k = 0; k < g->outputs; k++) {
        if (g->output[k] == r->step.loss)
            *loss = out[k].f[0];
        for (uint32_t u = 0; u < g->updates && train_sums_finite(sum); u++) {
            if (g->update[u].value == g->output[k])
                set(r, g->update[u].state, &out[k]);
        }
        if (scores && g->output[k] == r->step.scores)
            *scores = out[k];
        else
            op_tensor_free(&out[k]);
    }
}

enum emu_status train_reference_step(struct train_reference *r, const struct op_tensor *data,
                                     const struct op_tensor *targets, double rate, double *loss,
                                     struct op_tensor *scores)
{
    struct op_tensor *out = emu_alloc(r->g->outputs + 1, sizeof(*out));
    enum emu_status s;

    if (!out)
        return FAIL(NO_MEMORY, "a step of training");
    set(r, r->step.data, data);
    set(r, r->step.targets, targets);
    set_number(r, r->step.loss_scale, 1);
    set_number(r, r->step.scale, 1);
    set_number(r, r->step.rate, rate);
    set_number(r, r->step.number, ++r->steps);
    if (r->step.masks != OP_NONE)
        train_seed(r->seed, MASKS, r->steps - 1,
                   r->in[op_graph_input_index(r->g, r->step.masks)].i);
    s = op_graph_run(r->g, r->in, 0, out);
    if (s == EMU_OK) {
        take(r, out, loss, scores);
    } else {
        for (uint32_t k = 0; k < r->g->outputs; k++)
            op_tensor_free(&out[k]);
    }
    ss_free(out);
    return s;
}

const struct op_tensor *train_reference_state(const struct train_reference *r, uint32_t value)
{
    return &r->in[op_graph_input_index(r->g, value)];
}
