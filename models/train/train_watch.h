/* train_watch.h - finds the node in which a step first made NaN or infinity. */
#ifndef MODELS_TRAIN_WATCH_H
#define MODELS_TRAIN_WATCH_H

#include "models/train/train_chip.h"

/* The node that first made NaN or infinity in the last step of chip, which has changed no state, as
 * a text: executes that step again, in a second program that adds up every result. a, o: what chip
 * was made with. feed: the micro batches of that step; nothing is told of them. where: "" if
 * nothing was found, or the second program does not fit. Compiles, which takes as long as the first
 * time. Errors: those of train_chip_new() and of a step. */
enum emu_status train_watch(const struct arch *a, struct train_chip *chip,
                            const struct train_chip_options *o, const struct session_options *so,
                            const struct train_feed *feed, double rate,
                            char where[256]) EMU_MUST_CHECK;

#endif
