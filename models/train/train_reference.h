/* train_reference.h - steps of training in f64: what a chip is compared with. */
#ifndef MODELS_TRAIN_REFERENCE_H
#define MODELS_TRAIN_REFERENCE_H

#include "models/train/train_step.h"

struct train_reference {
    const struct op_graph *g; /* borrowed: made by train_step_make(), states with numbers */
    struct train_step step;
    struct op_tensor *in; /* owned; by input of g: states as they are now */
    uint32_t steps;       /* done */
    uint64_t seed;        /* of masks: that of the chip; 1 at first */
};

enum emu_status train_reference_new(const struct op_graph *g, const struct train_step *step,
                                    struct train_reference *out) EMU_MUST_CHECK;
void train_reference_free(struct train_reference *r); /* r may be all zero */

/* One step. data, targets: of the shapes of the step's inputs. scores: [pictures][classes], owned
 * by the caller; NULL: not wanted. EMU_NO_MEMORY. */
enum emu_status train_reference_step(struct train_reference *r, const struct op_tensor *data,
                                     const struct op_tensor *targets, double rate, double *loss,
                                     struct op_tensor *scores) EMU_MUST_CHECK;

/* The numbers of a state by its value in the graph; borrowed. */
const struct op_tensor *train_reference_state(const struct train_reference *r, uint32_t value);

#endif
