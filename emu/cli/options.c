/* options.c - what can be asked of the table of options. */
#include "emu/cli/options.h"

#include <stdio.h>
#include <string.h>

#include "emu/base/fail.h"

int option_is_of(use_set row_uses, use_set command_uses)
{
    return (row_uses & command_uses) != 0 &&
           (!(command_uses & USE_STEP) || (row_uses & USE_STEP) != 0);
}

const struct option_row *option_find(const char *name, size_t length, use_set uses)
{
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (o->uses & uses && strlen(o->name) == length && !strncmp(o->name, name, length))
            return o;
    }
    return NULL;
}

const struct option_row *option_find_letter(char letter, use_set uses)
{
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (o->uses & uses && o->letter == letter)
            return o;
    }
    return NULL;
}

static int takes_value(const struct option_row *o)
{
    return o && o->arg && o->arg[0] != '[';
}

int option_takes_next(const char *arg, use_set uses)
{
    size_t length = strlen(arg + 1) - 1;

    if (arg[1] == '-') {
        if (!length || option_find(arg + 2, length, uses))
            return length && takes_value(option_find(arg + 2, length, uses));
        for (const struct option_row *o = option_rows(); o->name; o++) {
            if (o->uses & uses && takes_value(o) && !strncmp(o->name, arg + 2, length))
                return 1;
        }
        return 0;
    }
    for (const char *c = arg + 1; *c; c++) {
        if (takes_value(option_find_letter(*c, uses)))
            return !c[1];
    }
    return 0;
}

const char *option_name(unsigned option, use_set use)
{
    for (const struct option_row *r = option_rows(); r->name; r++) {
        if (r->number == option && r->uses & use)
            return r->name;
    }
    return "";
}

const char *option_text(const struct request *q, unsigned option)
{
    for (const struct option_row *r = option_rows(); r->name; r++) {
        if (r->number == option)
            return q->value[option].text;
    }
    return NULL;
}

int option_in(const struct option_rule *rules, unsigned option)
{
    while (rules->uses && rules->a != option)
        rules++;
    return rules->uses != 0;
}

/* ---- uses in words ---- */

/* Those of run for those of compile and sweep. */
static use_set things_of(use_set uses)
{
    use_set things = (uses | uses >> USE_COMPILE_SHIFT | uses >> USE_SWEEP_SHIFT) & THING_ALL;

    return things | (uses & ~(USE_RUN | USE_COMPILE | USE_SWEEP));
}

const char *use_name(use_set use)
{
    for (const struct use_word *w = use_words; w->use; w++) {
        if (w->use & things_of(use))
            return w->one;
    }
    return "this command";
}

/* The word of the lowest of the uses that has one. */
static const struct use_word *lowest_word(use_set uses)
{
    const struct use_word *lowest = NULL;

    for (const struct use_word *w = use_words; w->use; w++) {
        if (w->use & uses && (!lowest || w->use < lowest->use))
            lowest = w;
    }
    return lowest;
}

void uses_print(use_set uses, char *out, size_t bytes)
{
    const struct use_word *w;
    size_t n = 0;

    out[0] = 0;
    uses = things_of(uses);
    while ((w = lowest_word(uses)) && n < bytes) {
        const struct use_word *next = lowest_word(uses &= ~w->use);

        n += (size_t)snprintf(out + n, bytes - n, "%s%s", w->many,
                              !next                            ? ""
                              : lowest_word(uses & ~next->use) ? ", "
                                                               : " and ");
    }
}
