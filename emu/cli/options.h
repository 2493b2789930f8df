/* options.h - the options of all floors as tables, for what reads command lines and explains them.
 * models/cli/front_options.c has them; options_begin.inc says what the rows mean. */
#ifndef EMU_OPTIONS_H
#define EMU_OPTIONS_H

#include "emu/cli/request.h"

/* TAKES, AFTER: no option, but a mark for options_join(). */
enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_NUMBER,
    KIND_PART,
    KIND_REAL,
    KIND_WORD,
    KIND_LIST,
    KIND_TAKES,
    KIND_AFTER
};

struct option_row {
    unsigned number; /* OPTION_x */
    enum option_kind kind;
    char letter;      /* 0: none */
    const char *name; /* without dashes */
    const char *arg;  /* NULL: none; in brackets: may be left out */
    uint64_t low, high;
    use_set uses;
    const char *help;
};

/* Two options that are refused together, or of which the first needs the second. */
struct option_rule {
    use_set uses;
    unsigned a, b;
};

/* An option that has no meaning for these uses, and why. */
struct option_refusal {
    use_set uses;
    unsigned option;
    const char *why;
};

/* What messages call what a use is for. */
struct use_word {
    use_set use;
    const char *one, *many;
};

/* All options, in the order of lists; they end with a row without a name. */
const struct option_row *option_rows(void);
/* These end with a row without uses. */
extern const struct option_rule option_either[], option_needs[], option_values[], option_varies[],
    option_shows[], option_writes[], option_typed[];
extern const struct option_refusal option_without[];
extern const struct use_word use_words[];

/* Joins the rows of several floors, the lowest first, among which are marks, to one list in order.
 * out: room for as many. */
void options_join(const struct option_row *marked, struct option_row *out);

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
const char *option_name(unsigned option, use_set use);
/* The value of an option of KIND_TEXT; NULL: none. */
const char *option_text(const struct request *q, unsigned option);
/* Whether a rule of these is about the option. */
int option_in(const struct option_rule *rules, unsigned option);

/* "an image" for the one thing of a use; "images" or "manifests, source files and images" for the
 * things of several. */
const char *use_name(use_set use);
void uses_print(use_set uses, char *out, size_t bytes);

#endif
