/* commands_models.h - the commands of this floor, and `run`, `compile` and `lab`, which accept
 * things of every floor. */
#ifndef MODELS_COMMANDS_MODELS_H
#define MODELS_COMMANDS_MODELS_H

#include "emu/cli/commands.h"
#include "programs/programs.h"

/* Tables; the name of the last row is NULL. */
extern const struct command front_commands[], model_commands[];

/* The programs that `run` knows by name. */
extern const struct named_program *const *const front_programs[];

#endif
