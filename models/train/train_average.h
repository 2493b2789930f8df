/* train_average.h - moving averages of parameters and running statistics, on the host. */
#ifndef MODELS_TRAIN_AVERAGE_H
#define MODELS_TRAIN_AVERAGE_H

#include "models/train/train_chip.h"

enum { TRAIN_AVERAGE_NAME = 512 };

struct train_average {
    double share; /* of what was before; 0: there are no averages */
    const struct op_graph *g;
    struct op_tensor *mean;           /* owned; by input of g: of states that are no optimiser's */
    char (*name)[TRAIN_AVERAGE_NAME]; /* owned; by input of g: in checkpoints */
    uint64_t taken;                   /* how often */
};

/* Whether a state belongs to the optimiser: its name is another state's with a slot behind. */
int train_state_is_slot(const struct op_graph *g, uint32_t value);

/* Averages of the states of a step's graph, which is borrowed. EMU_NO_MEMORY. Free with
 * train_average_free. */
enum emu_status train_average_new(const struct op_graph *g, double share,
                                  struct train_average *out) EMU_MUST_CHECK;
void train_average_free(struct train_average *a); /* a may be all zero */

/* The new averages are `share` of the old ones plus 1 - share of the chip's present states; the
 * first time they are the present states. */
enum emu_status train_average_take(struct train_average *a, struct train_chip *chip) EMU_MUST_CHECK;
/* Gives the states of a chip the averages of the same name. */
enum emu_status train_average_give(const struct train_average *a,
                                   struct train_chip *chip) EMU_MUST_CHECK;

#endif
