/* lab.c - the table of programs that `superstep run NAME` knows for teaching and measuring. */
#include "programs/programs.h"

const struct named_program lab_programs[] = {
    { .name = NULL },
};
