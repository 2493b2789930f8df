/* commands_models.h - the commands of this floor, and `run`, `compile` and `lab`, which accept
 * things of every floor. */
#ifndef MODELS_COMMANDS_MODELS_H
#define MODELS_COMMANDS_MODELS_H

#include "emu/cli/commands.h"
#include "models/ask/model_request.h"
#include "programs/programs.h"

enum { NAMES_NETWORKS = 2, NAMES_PROGRAMS = 4 };

/* Tables; the name of the last row is NULL. */
extern const struct command front_commands[], model_commands[];
/* Those of all floors, in the order of help; the last one is NULL. */
extern const struct command *const command_tables[];

/* The programs that `run` knows by name. */
extern const struct named_program *const *const front_programs[];

/* Prints the completion of a shell, "bash" or "zsh"; what it knows are the tables of commands,
 * options and names. */
int cmd_completion(const struct request *q);

#endif
