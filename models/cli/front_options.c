/* front_options.c - the options of all floors as the tables of emu/cli/options.h. */
#include <pthread.h>

#include "emu/cli/options.h"
#include "emu/profile/profile_report.h"
#include "models/ask/model_request.h"

/* ---- rows ---- */

enum {
#define OPTION(field, ...) NUMBER_##field,
#include "models/cli/options_all.def"
    NUMBER_COUNT
};
_Static_assert((int)NUMBER_COUNT <= (int)OPTIONS_MAX, "a request has room for all options");

/* What OPTION_READ() takes: the number of every option, by its name and by kind and name. */
#define OPTION(field, kind, ...)                                                                   \
    extern const unsigned OPTION_##field, OPTION_##kind##_##field;                                 \
    const unsigned OPTION_##field = NUMBER_##field, OPTION_##kind##_##field = NUMBER_##field;
#include "models/cli/options_all.def"

static const struct option_row marked[] = {
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    { NUMBER_##field, KIND_##kind, letter, name, arg, low, high, uses, help },
#define ALSO           OPTION
#define TAKES(uses, a) { NUMBER_##a, KIND_TAKES, 0, "", NULL, 0, 0, uses, NULL },
#define AFTER(uses, a) { NUMBER_##a, KIND_AFTER, 0, "", NULL, 0, 0, uses, NULL },
#include "models/cli/options_all.def"
    { .name = NULL },
};

static struct option_row joined[EMU_COUNT_OF(marked)];

static void join(void)
{
    options_join(marked, joined);
}

const struct option_row *option_rows(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, join);
    return joined;
}

/* ---- rules ---- */

const struct option_rule option_either[] = {
#define EITHER(uses, a, b) { uses, NUMBER_##a, NUMBER_##b },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_needs[] = {
#define NEEDS(uses, a, b) { uses, NUMBER_##a, NUMBER_##b },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_values[] = {
#define VALUES(uses, a) { uses, NUMBER_##a, NUMBER_engine },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_refusal option_without[] = {
#define WITHOUT(uses, a, why) { uses, NUMBER_##a, why },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_varies[] = {
#define VARIES(uses, a) { uses, NUMBER_##a, NUMBER_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_shows[] = {
#define SHOWS(a) { USE_ANY, NUMBER_##a, NUMBER_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_writes[] = {
#define WRITES(a) { USE_ANY, NUMBER_##a, NUMBER_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_typed[] = {
#define TYPED(a) { USE_ANY, NUMBER_##a, NUMBER_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct use_word use_words[] = {
#define THING(use, one, many) { use, one, many },
#include "models/cli/options_all.def"
    { .use = 0 },
};
