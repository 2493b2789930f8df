/* commands_models.h - the commands of this floor, and `run`, `compile` and `lab`, which are for
 * things of all floors. */
#ifndef MODELS_COMMANDS_MODELS_H
#define MODELS_COMMANDS_MODELS_H

#include "emu/cli/commands.h"
#include "programs/programs.h"

/* Tables that end with a row whose name is NULL. */
extern const struct command front_commands[], model_commands[];

/* The named programs of `run`. */
extern const struct named_program *const *const front_programs[];

#endif
