/* run_choice.h - the options of compiling and running, the same for programs and networks: what is
 * optimised for, threads, checks, what is printed and written.
 */
#ifndef PROGRAMS_RUN_CHOICE_H
#define PROGRAMS_RUN_CHOICE_H

#include <argp.h>

#include "programs/programs.h"

/* Where the options go; all borrowed; those of the last two lines for run_choice_argp only. */
struct run_choice {
    struct compile_options *compile; /* exchange, threads; progress: NULL with --quiet */
    struct session_options *run;     /* threads, check, plain */
    int *json;                       /* 1 when given, like the following */
    int *report, *allow_oom;
    const char **output, **digests; /* files; left alone when not given */
};

/* Child parsers: input is a struct run_choice. How to compile and run: exchange, threads, check,
 * plain, json, quiet; and all of them. */
extern const struct argp work_choice_argp, run_choice_argp;

#endif
