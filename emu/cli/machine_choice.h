/* machine_choice.h - the options --machine and --set, the same for every command that takes them.
 */
#ifndef EMU_MACHINE_CHOICE_H
#define EMU_MACHINE_CHOICE_H

#include <argp.h>
#include <stddef.h>

#include "emu/arch/arch.h"

enum { MACHINE_CHOICE_SETS = 128 };

struct machine_choice {
    const char *name; /* preset or file; NULL: not given */
    const char *set[MACHINE_CHOICE_SETS];
    size_t sets;
};

/* A child parser: input is a struct machine_choice. Hand it over in ARGP_KEY_INIT as
 * state->child_inputs[0]. */
extern const struct argp machine_choice_argp;

/* The machine of the options, `fallback` where none was named. Errors: EMU_BAD_MACHINE, EMU_IO,
 * EMU_NO_MEMORY. */
enum emu_status machine_choice_arch(const struct machine_choice *c, const char *fallback,
                                    struct arch *out) EMU_MUST_CHECK;

/* The number of an option, 0 .. max; complains through argp_error and returns 0 else. */
uint64_t option_number(struct argp_state *state, const char *arg, uint64_t max);
/* The same from 1 on; on error 1. */
uint64_t option_positive(struct argp_state *state, const char *arg, uint64_t max);

#endif
