/* cmd_train.h - `superstep train`: trains a network on pictures with labels. */
#ifndef MODELS_CMD_TRAIN_H
#define MODELS_CMD_TRAIN_H

#include "emu/cli/request.h"

/* Returns the exit code. */
int cmd_train(const struct request *q);

#endif
