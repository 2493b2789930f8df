/* program_options.h - the things and commands of this floor, as uses of options. */
#ifndef PROGRAMS_PROGRAM_OPTIONS_H
#define PROGRAMS_PROGRAM_OPTIONS_H

#include "emu/cli/request.h"

#define THING_PROGRAM USE_BIT(3)  /* known by name, or a graph file: compiled */
#define USE_LAB       USE_BIT(40) /* the list; a program of the lab is run */

#endif
