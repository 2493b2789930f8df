/* options.c - the table of options, and what can be asked of it. */
#include "emu/cli/options.h"

#include <stdio.h>
#include <string.h>

#include "emu/base/fail.h"

const struct option_row option_rows[] = {
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    { OPTION_##field,                                                                              \
      KIND_##kind,                                                                                 \
      letter,                                                                                      \
      name,                                                                                        \
      arg,                                                                                         \
      low,                                                                                         \
      high,                                                                                        \
      uses,                                                                                        \
      help,                                                                                        \
      offsetof(struct request, field) },
#define ALSO OPTION
#include "emu/cli/options.def"
    { .name = NULL },
};

const struct option_rule option_either[] = {
#define EITHER(uses, a, b) { uses, OPTION_##a, OPTION_##b },
#include "emu/cli/options.def"
    { .uses = 0 },
};

const struct option_rule option_needs[] = {
#define NEEDS(uses, a, b) { uses, OPTION_##a, OPTION_##b },
#include "emu/cli/options.def"
    { .uses = 0 },
};

const struct option_rule option_values[] = {
#define VALUES(uses, a) { uses, OPTION_##a, OPTION_engine },
#include "emu/cli/options.def"
    { .uses = 0 },
};

int option_is_of(use_set row_uses, use_set command_uses)
{
    return (row_uses & command_uses) != 0 &&
           (!(command_uses & USE_STEP) || (row_uses & USE_STEP) != 0);
}

const struct option_rule option_varies[] = {
#define VARIES(uses, a) { uses, OPTION_##a, OPTION_##a },
#include "emu/cli/options.def"
    { .uses = 0 },
};

const struct option_row *option_find(const char *name, size_t length, use_set uses)
{
    for (const struct option_row *o = option_rows; o->name; o++) {
        if (o->uses & uses && strlen(o->name) == length && !strncmp(o->name, name, length))
            return o;
    }
    return NULL;
}

const struct option_row *option_find_letter(char letter, use_set uses)
{
    for (const struct option_row *o = option_rows; o->name; o++) {
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
        for (const struct option_row *o = option_rows; o->name; o++) {
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

const char *option_name(enum option_id o, use_set use)
{
    for (const struct option_row *r = option_rows; r->name; r++) {
        if (r->number == o && r->uses & use)
            return r->name;
    }
    return "";
}

/* ---- uses in words ---- */

static const struct {
    use_set uses;
    const char *one, *many;
} words[] = {
    { THING_MANIFEST | THING_MANIFEST << USE_COMPILE_SHIFT, "a manifest", "manifests" },
    { THING_SOURCE | THING_SOURCE << USE_COMPILE_SHIFT, "a source file", "source files" },
    { THING_IMAGE | THING_IMAGE << USE_COMPILE_SHIFT, "an image", "images" },
    { THING_PROGRAM | THING_PROGRAM << USE_COMPILE_SHIFT | THING_PROGRAM << USE_SWEEP_SHIFT,
      "a program", "programs" },
    { THING_NETWORK | THING_NETWORK << USE_COMPILE_SHIFT | THING_NETWORK << USE_SWEEP_SHIFT,
      "a network", "networks" },
    { THING_ONNX | THING_ONNX << USE_COMPILE_SHIFT | THING_ONNX << USE_SWEEP_SHIFT, "an ONNX file",
      "ONNX files" },
    { USE_CASE, "a case", "cases" },
    { USE_LAB, "the list of programs", "the list of programs" },
};

const char *use_name(use_set use)
{
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++) {
        if (words[i].uses & use)
            return words[i].one;
    }
    return "this command";
}

void uses_print(use_set uses, char *out, size_t bytes)
{
    size_t n = 0, left = 0;

    out[0] = 0;
    for (size_t i = 0; i < EMU_COUNT_OF(words); i++)
        left += (words[i].uses & uses) != 0;
    for (size_t i = 0; i < EMU_COUNT_OF(words) && n < bytes; i++) {
        if (!(words[i].uses & uses))
            continue;
        left--;
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", words[i].many,
                              left > 1    ? ", "
                              : left == 1 ? " and "
                                          : "");
    }
}
