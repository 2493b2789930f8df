/* commands_models.h - the commands of the networks: a table, joined with the others in main.c. */
#ifndef MODELS_COMMANDS_MODELS_H
#define MODELS_COMMANDS_MODELS_H

#include "programs/programs.h"

extern const struct command model_commands[]; /* ends with a row whose name is NULL */

#endif
