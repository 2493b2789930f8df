/* options.h - the rows of options.def as a table, for what reads command lines and explains them.
 */
#ifndef EMU_OPTIONS_H
#define EMU_OPTIONS_H

#include "emu/cli/request.h"

enum option_kind { KIND_FLAG, KIND_TEXT, KIND_NUMBER, KIND_PART, KIND_REAL, KIND_WORD, KIND_LIST };

struct option_row {
    enum option_id number;
    enum option_kind kind;
    char letter;      /* 0: none */
    const char *name; /* without dashes */
    const char *arg;  /* NULL: none; in brackets: may be left out */
    uint64_t low, high;
    use_set uses;
    const char *help;
    size_t offset; /* in struct request */
};

/* Two options that are refused together, or of which the first needs the second. */
struct option_rule {
    use_set uses;
    enum option_id a, b;
};

/* They end with a row without a name, and rules without uses. */
extern const struct option_row option_rows[];
extern const struct option_rule option_either[], option_needs[], option_values[], option_varies[];

/* Whether a command with these uses takes an option of these rows at all: of the options of run,
 * `step` takes those that are for it, too. */
int option_is_of(use_set row_uses, use_set command_uses);

/* The row of an option for one of these uses: by its name, `length` characters long, or by its
 * letter. NULL: there is none. */
const struct option_row *option_find(const char *name, size_t length, use_set uses);
const struct option_row *option_find_letter(char letter, use_set uses);
/* Whether the next argument is the value of this one: `-o FILE`, `-kD n=1`, `--set tiles=4`; of a
 * name that is cut short, whether it may be. */
int option_takes_next(const char *arg, use_set uses);
/* The name that the option has for a use. */
const char *option_name(enum option_id o, use_set use);

/* "an image" for the one thing of a use; "networks" or "manifests, source files and images" for the
 * things of several. */
const char *use_name(use_set use);
void uses_print(use_set uses, char *out, size_t bytes);

#endif
