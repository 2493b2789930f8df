/* program_options.h - what compiled programs are asked for: the options of options_programs.def,
 * and the things and commands of this floor. */
#ifndef PROGRAMS_PROGRAM_OPTIONS_H
#define PROGRAMS_PROGRAM_OPTIONS_H

#include "emu/cli/request.h"

#define THING_PROGRAM USE_BIT(3)  /* known by name, or a graph file: compiled */
#define USE_LAB       USE_BIT(40) /* the list; a program of the lab is run */

struct program_request {
    struct request q;
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) FIELD_##kind field;
#include "programs/cli/options_programs.def"
};

enum program_option_id {
    OPTION_PROGRAMS = OPTION_EMU_END - 1,
#define OPTION(field, kind, letter, name, arg, low, high, uses, help) OPTION_##field,
#include "programs/cli/options_programs.def"
    OPTION_PROGRAMS_END
};

/* A request of request_new(), or the first member of a struct program_request. */
static inline const struct program_request *program_request(const struct request *q)
{
    return (const struct program_request *)q;
}

#endif
