/* train_evaluate.h - how good a network is on pictures with labels; private to models/train.
 *
 * The evaluations of a training and of `superstep evaluate` are this one.
 */
#ifndef MODELS_TRAIN_EVALUATE_H
#define MODELS_TRAIN_EVALUATE_H

#include "emu/base/progress_meter.h"
#include "models/data/batches.h"
#include "models/train/train_chip.h"

struct evaluation {
    uint64_t pictures, right; /* right: whose largest score is that of their label */
    double loss;              /* the mean over them, without smoothing */
    uint64_t batches, cycles;
    uint32_t classes; /* of the network */
    uint64_t *taken;  /* owned; [label][class]: pictures of a label that were taken for a class */
};

/* Scores all pictures of `b`, from its first one on, on a chip of train_eval_make() whose states
 * have their numbers.
 *
 * meter   counts pictures; NULL: nobody looks
 * stop    is asked before each batch whether to end; NULL: never
 * Errors  those of train_chip_scores() and batches_next(). Free with evaluation_free, also after an
 *         error. */
enum emu_status train_evaluate(struct train_chip *chip, struct batches *b,
                               struct progress_meter *meter, int (*stop)(void),
                               struct evaluation *out) EMU_MUST_CHECK;
void evaluation_free(struct evaluation *e);
/* The share that is right; 0 without pictures. */
double evaluation_accuracy(const struct evaluation *e);

/* The place of the largest number of row k of scores. */
uint32_t scores_best(const struct op_tensor *scores, uint32_t k);

#endif
