/* isa_program.h - a block of an .isa file as an assembled program. */
#ifndef TESTS_ISA_PROGRAM_H
#define TESTS_ISA_PROGRAM_H

#include "tests/isa/isa_run.h"

enum { ISA_SHAPE_SUPER = 3 }; /* what {v} is in the supervisor's code */

/* The other half of the bundle: writes register number of file with a constant, or with the old
 * value of $a<from>. */
struct isa_companion {
    char file; /* 'm' or 'a' */
    uint8_t number;
    uint32_t value;
    int from; /* -1: the constant */
};

struct isa_companion isa_companion_of(const struct isa_block *b);

/* Whether the code is one instruction, so that it can be put into a bundle. */
int isa_block_is_single(const struct isa_block *b);

#endif
