/* train_options.h - the options that a training must be asked for again to go on with the same
 * bits, as lines of text that a checkpoint keeps; private to models/train.
 *
 * Others may differ: what is written, how it is executed, and --epochs, on which nothing depends
 * but the schedule of what is left.
 */
#ifndef MODELS_TRAIN_OPTIONS_H
#define MODELS_TRAIN_OPTIONS_H

#include <stddef.h>

#include "models/train/training.h"

/* Lines "--rate=0.1" of everything that changes results. Returns out. */
char *training_options(const struct training *t, char out[TRAINING_OPTIONS]);

#endif
