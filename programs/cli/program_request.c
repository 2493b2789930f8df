/* program_request.c - options for compiling and running; names and parameters of programs. */
#include "programs/cli/program_request.h"

#include <inttypes.h>
#include <string.h>

#include "emu/cli/options.h"
#include "programs/cli/program_options.h"
#include "programs/lab/lab.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, threads)
OPTION_READ(WORD, engine)
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, plain)
OPTION_READ(NUMBER, max_cycles)
OPTION_READ(LIST, define)
OPTION_READ(FLAG, json)
OPTION_READ(WORD, exchange)
OPTION_READ(FLAG, report)
OPTION_READ(FLAG, allow_oom)

struct compile_options compile_options_of(const struct request *q)
{
    int lesson = !strcmp(q->command->name, "lab"); /* which shall be all that is seen */

    return (struct compile_options){ .exchange =
                                         option_exchange(q) ? EXCHANGE_MEMORY : EXCHANGE_CYCLES,
                                     .threads = (unsigned)option_threads(q),
                                     .progress = lesson ? NULL : request_progress(q) };
}

struct session_options session_options_of(const struct request *q)
{
    return (struct session_options){ .threads = (unsigned)option_threads(q),
                                     .timing = option_engine(q) != 0,
                                     .plain = option_plain(q),
                                     .check = option_check(q),
                                     .max_cycles = option_max_cycles(q),
                                     .record_exchanges = request_profiles(q),
                                     .host = { .keep_transfers = request_profiles(q) } };
}

/* ---- memory ---- */

enum emu_status program_print_memory(const struct request *q, const struct compiled *c, FILE *f)
{
    json_t *o;

    if (!option_json(q)) {
        (option_report(q) || ss_compiled_fits(c) ? ss_compiled_report : ss_compiled_shortage)(c, f);
        return EMU_OK;
    }
    o = ss_compiled_report_json(c);
    if (!o)
        return FAIL(NO_MEMORY, "the report");
    ss_run_print_json(o, f);
    json_decref(o);
    return EMU_OK;
}

void program_note_unwritten(const struct request *q)
{
    for (const struct option_rule *r = option_writes; r->uses; r++) {
        const char *file = option_text(q, r->a);

        if (file && strcmp(file, "-"))
            fprintf(stderr, "superstep %s: %s is not written: the program does not fit\n",
                    q->command->name, file);
    }
}

enum emu_status program_out_of_memory(const struct request *q, const struct compiled *c, FILE *f,
                                      int *code)
{
    *code = option_allow_oom(q) ? EXIT_RAN : EXIT_FAULTED;
    program_note_unwritten(q);
    return program_print_memory(q, c, f);
}

/* ---- names ---- */

const struct named_program *program_find(const char *name,
                                         const struct named_program *const *const *tables)
{
    for (; *tables; tables++) {
        for (const struct named_program *const *p = *tables; *p; p++) {
            if (!strcmp((*p)->name, name))
                return *p;
        }
    }
    return NULL;
}

void program_nearest(struct nearest *s, const struct named_program *const *const *tables)
{
    for (; *tables; tables++) {
        for (const struct named_program *const *p = *tables; *p; p++)
            nearest_try(s, (*p)->name);
    }
}

/* ---- parameters ---- */

/* The index of the parameter whose name has `length` characters; params if there is none. */
static unsigned find_param(const struct named_program *n, const char *name, size_t length)
{
    unsigned k = 0;

    while (k < n->params &&
           (strlen(n->param[k].name) != length || strncmp(n->param[k].name, name, length)))
        k++;
    return k;
}

int program_is_parameter(const struct request *q, const char *name, size_t length)
{
    const struct named_program *n = q->known;

    return find_param(n, name, length) < n->params;
}

/* The words of parameter k; NULL if it is a number. */
static const char *const *words_of(const struct named_program *n, unsigned k)
{
    for (const struct param_words *w = n->words; w && w->param; w++) {
        if (!strcmp(w->param, n->param[k].name))
            return w->word;
    }
    return NULL;
}

static enum emu_status word_refused(const struct program_param *p, const char *const *word,
                                    const char *text)
{
    char list[200] = "";
    size_t n = 0;

    for (uint64_t i = 0; i <= p->max && n < sizeof(list); i++)
        n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "", word[i]);
    return FAIL(USAGE, "%s is not '%s': expected %s", p->name, text, list);
}

static enum emu_status set_value(const struct named_program *n, unsigned k, const char *text,
                                 uint64_t *out)
{
    const char *const *word = words_of(n, k);
    const struct program_param *p = &n->param[k];

    for (*out = 0; word && *out <= p->max; ++*out) {
        if (!strcmp(word[*out], text))
            return EMU_OK;
    }
    if (word)
        return word_refused(p, word, text);
    if (request_number(text, p->min, p->max, out))
        return EMU_OK;
    return FAIL(USAGE, "%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, p->name, text,
                p->min, p->max);
}

static enum emu_status param_refused(const struct named_program *n, const char *text, size_t length)
{
    char list[300] = "";
    size_t bytes = 0;

    for (unsigned k = 0; k < n->params && bytes < sizeof(list); k++)
        bytes += (size_t)snprintf(list + bytes, sizeof(list) - bytes, "%s%s", k ? ", " : "",
                                  n->param[k].name);
    return FAIL(USAGE, "%s has no parameter '%.*s', it has %s", n->name, (int)length, text,
                n->params ? list : "none");
}

/* "56", or "56x28" for a parameter and its pair. */
static enum emu_status set_param(const struct named_program *n, unsigned k, const char *text,
                                 uint64_t *value)
{
    int pair = n->pair[0] && !strcmp(n->pair[0], n->param[k].name);
    const char *x = pair ? strchr(text, 'x') : NULL;
    char first[24] = "";

    if (x && (size_t)(x - text) < sizeof(first)) {
        unsigned other = find_param(n, n->pair[1], strlen(n->pair[1]));

        memcpy(first, text, (size_t)(x - text));
        TRY(set_value(n, other, x + 1, &value[other]));
        text = first;
    }
    return set_value(n, k, text, &value[k]);
}

enum emu_status program_values(const struct request *q, uint64_t *value)
{
    const struct named_program *n = q->known;
    struct arch a;

    for (unsigned k = 0; k < n->params; k++)
        value[k] = n->param[k].value;
    TRY(request_arch(q, "mk2", &a));
    lab_defaults(n, &a, value);
    for (size_t i = 0; i < option_define(q)->count; i++) {
        const char *text = option_define(q)->item[i];
        size_t length = strcspn(text, "=");
        unsigned k = find_param(n, text, length);

        if (!text[length])
            return FAIL(USAGE, "-D %s: expected NAME=VALUE", text);
        if (k == n->params)
            return param_refused(n, text, length);
        TRY(set_param(n, k, text + length + 1, value));
    }
    return EMU_OK;
}

void program_value_text(const struct named_program *n, unsigned k, uint64_t value,
                        char text[PROGRAM_VALUE_TEXT])
{
    const char *const *word = words_of(n, k);

    if (word && value <= n->param[k].max)
        snprintf(text, PROGRAM_VALUE_TEXT, "%s", word[value]);
    else
        snprintf(text, PROGRAM_VALUE_TEXT, "%" PRIu64, value);
}

static void print_range(const struct named_program *n, unsigned k, FILE *f)
{
    const struct program_param *p = &n->param[k];
    const char *const *word = words_of(n, k);

    if (!word) {
        fprintf(f, ", %" PRIu64 " to %" PRIu64, p->min, p->max);
        return;
    }
    fprintf(f, "; of");
    for (uint64_t i = 0; i <= p->max; i++)
        fprintf(f, "%s %s", i ? "," : "", word[i]);
}

/* Whether the default of a parameter is another one on a machine that is much smaller than mk2. */
static int default_follows_machine(const struct named_program *n, unsigned k)
{
    uint64_t value[PROGRAM_MAX_PARAMS];

    for (unsigned i = 0; i < n->params; i++)
        value[i] = n->param[i].value;
    lab_defaults(n, ss_arch_preset("toy4"), value);
    return value[k] != n->param[k].value;
}

static void print_param(const struct request *q, unsigned k, uint64_t value, const char *machine,
                        FILE *f)
{
    const struct named_program *n = q->known;
    const struct program_param *p = &n->param[k];
    char text[PROGRAM_VALUE_TEXT];

    program_value_text(n, k, value, text);
    fprintf(f, "  %s: %s (default %s", p->name, p->text, text);
    if (default_follows_machine(n, k))
        fprintf(f, " on %s, less on machines with less memory", machine);
    print_range(n, k, f);
    fprintf(f, ")");
    if (option_find(p->name, strlen(p->name), q->use))
        fprintf(f, "; only with -D: --%s is an option", p->name);
    fprintf(f, "\n");
}

void program_print_parameters(const struct request *q, FILE *f)
{
    const struct named_program *n = q->known;
    struct request plain = *q; /* without -D: defaults */
    uint64_t value[PROGRAM_MAX_PARAMS];
    struct arch a = *ss_arch_preset("mk2");

    if (!n->params)
        return;
    plain.value[OPTION_LIST_define].list.count = 0;
    if (request_arch(q, "mk2", &a) != EMU_OK || program_values(&plain, value) != EMU_OK) {
        for (unsigned k = 0; k < n->params; k++) /* the machine is refused later, with words */
            value[k] = n->param[k].value;
    }
    fprintf(f, "Parameters of %s (--NAME VALUE, or -D NAME=VALUE):\n", n->name);
    for (unsigned k = 0; k < n->params; k++)
        print_param(q, k, value[k], ss_arch_title(&a).at, f);
}
