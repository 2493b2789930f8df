/* front_options.c - the options of all floors as the tables of emu/cli/options.h. */
#include <pthread.h>

#include "emu/cli/options.h"
#include "emu/profile/profile_report.h"
#include "models/ask/model_request.h"

const size_t option_request_bytes = sizeof(struct model_request);
const unsigned option_count = OPTION_COUNT;

/* ---- rows ---- */

/* Where values are: in the request of the highest floor, which begins with those below. */
enum {
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    OFFSET_##field = offsetof(struct request, field),
#include "emu/cli/options_emu.def"
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    OFFSET_##field = offsetof(struct program_request, field),
#include "programs/cli/options_programs.def"
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    OFFSET_##field = offsetof(struct model_request, field),
#include "models/ask/options_models.def"
};

static const struct option_row marked[] = {
#define OPTION(field, kind, letter, name, arg, low, high, uses, help)                              \
    { OPTION_##field, KIND_##kind, letter, name, arg, low, high, uses, help, OFFSET_##field },
#define ALSO           OPTION
#define TAKES(uses, a) { OPTION_##a, KIND_TAKES, 0, "", NULL, 0, 0, uses, NULL, 0 },
#define AFTER(uses, a) { OPTION_##a, KIND_AFTER, 0, "", NULL, 0, 0, uses, NULL, 0 },
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
#define EITHER(uses, a, b) { uses, OPTION_##a, OPTION_##b },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_needs[] = {
#define NEEDS(uses, a, b) { uses, OPTION_##a, OPTION_##b },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_values[] = {
#define VALUES(uses, a) { uses, OPTION_##a, OPTION_engine },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_varies[] = {
#define VARIES(uses, a) { uses, OPTION_##a, OPTION_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_shows[] = {
#define SHOWS(a) { USE_ANY, OPTION_##a, OPTION_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_writes[] = {
#define WRITES(a) { USE_ANY, OPTION_##a, OPTION_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct option_rule option_typed[] = {
#define TYPED(a) { USE_ANY, OPTION_##a, OPTION_##a },
#include "models/cli/options_all.def"
    { .uses = 0 },
};

const struct use_word use_words[] = {
#define THING(use, one, many) { use, one, many },
#include "models/cli/options_all.def"
    { .use = 0 },
};
