/* train_step.h - an operator graph as one step of training: forward, loss, backward, update.
 *
 * A step is a function: what changes (parameters, the optimiser's states, running statistics) goes
 * in as states and comes out as new values (op_graph_update()). Everything else that a recipe
 * changes from step to step, the rate say, is an input, so that one program serves a whole
 * schedule.
 */
#ifndef MODELS_TRAIN_STEP_H
#define MODELS_TRAIN_STEP_H

#include "models/train/train_dropout.h"

/* How parameters change, once for each step, and what is left out meanwhile. */
struct train_optimiser {
    const char *method; /* of op_update.h: "sgd", "rmsprop", "lars", "adamw" */
    double alpha, beta, epsilon, eta;
    struct train_dropout drop;
    double decay; /* of weights; lists (biases, scales and shifts of norms) do not decay */
    int nesterov;
};
/* The usual numbers of a method: those of torch, of TensorFlow's RMSProp, of published LARS.
 * EMU_USAGE: there is no such method; the message lists them. */
enum emu_status train_optimiser_of(const char *method, struct train_optimiser *out) EMU_MUST_CHECK;

/* Where the step's values are: inputs, and from the loss on outputs. If one of the sums is no
 * number the step has changed no state. */
struct train_step {
    uint32_t data;       /* what the network reads: [pictures] and more dimensions */
    uint32_t targets;    /* [pictures][classes], each row adds up to 1 */
    uint32_t loss_scale; /* f32; what the loss is multiplied with before its gradients are made */
    uint32_t rate;       /* f32 */
    uint32_t scale;      /* f32; what gradients are multiplied with: 1 / loss_scale */
    uint32_t number;     /* f32: which step it is; the first is 1 */
    uint32_t masks;      /* u32 [2]: the seed of what is left out; OP_NONE: nothing is */
    uint32_t seed;       /* u32 [2], of the rounding of states; another one for each step */
    uint32_t loss;       /* f32; the mean over the pictures */
    uint32_t scores;     /* [pictures][classes], before softmax */
    uint32_t sum[2];     /* f32; of gradients; OP_NONE: there are none */
};

/* Turns a network into a step. g: one input, whose first dimension is pictures, and scores of them
 * as its first output [pictures][classes]; a softmax that makes these is left out, other outputs
 * go. Parameters are floats with a name and a dimension; batch norms get statistics of the batch,
 * and their running ones are updated. Names of new states are "PARAMETER.momentum" and the like.
 * Errors: EMU_USAGE (more inputs, other scores), EMU_BAD_FILE (a node without a gradient),
 * EMU_NO_MEMORY; g is then of no use. */
enum emu_status train_step_make(struct op_graph *g, const struct train_optimiser *o,
                                struct train_step *out) EMU_MUST_CHECK;

/* Turns a network into one that computes scores with parameters that can be changed: they become
 * states, which no run changes. out: data and scores; the rest is OP_NONE. g and errors as for
 * train_step_make(). */
enum emu_status train_eval_make(struct op_graph *g, struct train_step *out) EMU_MUST_CHECK;

/* By the sums of a step, whether it has changed its states. */
int train_sums_finite(const double sum[2]);

#endif
