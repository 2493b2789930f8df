/* run_choice.h - the options of compiling and running, the same for programs and networks: what is
 * optimised for, threads, checks, what is printed and written.
 */
#ifndef PROGRAMS_RUN_CHOICE_H
#define PROGRAMS_RUN_CHOICE_H

#include <argp.h>

#include "programs/programs.h"

/* Where the options go; all borrowed. */
struct run_choice {
    struct compile_options *compile; /* exchange, threads; progress: NULL with --quiet */
    struct session_options *run;     /* threads, check, plain */
    const char **output, **digests;  /* files; left alone when not given */
    int *json, *report, *allow_oom;  /* 1 when given */
};

/* A child parser: input is a struct run_choice. */
extern const struct argp run_choice_argp;

#endif
