/* machine_choice.c - parses --machine and --set, and numbers of options. */
#include "emu/cli/machine_choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { KEY_MACHINE = 'm', KEY_SET = 's' };

static error_t parse_choice(int key, char *arg, struct argp_state *state)
{
    struct machine_choice *c = state->input;

    switch (key) {
    case KEY_MACHINE:
        c->name = arg;
        return 0;
    case KEY_SET:
        if (c->sets == MACHINE_CHOICE_SETS)
            argp_error(state, "more than %d --set options", MACHINE_CHOICE_SETS);
        else
            c->set[c->sets++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    { "machine", KEY_MACHINE, "NAME|FILE", 0, "run on this machine instead", 0 },
    { "set", KEY_SET, "FIELD=VALUE", 0, "change a field of the machine; may be repeated", 0 },
    { 0 },
};

const struct argp machine_choice_argp = { .options = options, .parser = parse_choice };

enum emu_status machine_choice_arch(const struct machine_choice *c, const char *fallback,
                                    struct arch *out)
{
    TRY(arch_from_name_or_file(c->name ? c->name : fallback, out));
    for (size_t i = 0; i < c->sets; i++)
        TRY(arch_set(out, c->set[i]));
    return arch_check(out);
}

uint64_t option_number(struct argp_state *state, const char *arg, uint64_t max)
{
    uint64_t n;
    char *end;

    errno = 0;
    n = strtoull(arg, &end, 0);
    if (arg[0] >= '0' && arg[0] <= '9' && !*end && !errno && n <= max)
        return n;
    argp_error(state, "'%s' is not a number from 0 to %" PRIu64, arg, max);
    return 0;
}

uint64_t option_positive(struct argp_state *state, const char *arg, uint64_t max)
{
    uint64_t n = option_number(state, arg, max);

    if (!n)
        argp_error(state, "'%s' is not a number from 1 to %" PRIu64, arg, max);
    return n ? n : 1;
}
