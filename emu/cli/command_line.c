/* command_line.c - argp, fed from the table of options: what a command takes, in groups by what the
 * options are for; with the parameters of a named program, whose exact names win over options that
 * are cut short.
 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/nearest.h"
#include "emu/cli/commands.h"
#include "emu/cli/docs_folder.h"
#include "emu/cli/request_store.h"

enum {
    NAME_MAX_BYTES = 64,
    KEY_HELP = 'h',
    KEY_ROW = 0x100,
    TITLE_BYTES = 160,
    COMPLAINT_BYTES = 1024
};

/* What is at work while a command line is read. */
struct command_line {
    struct request *q; /* owned */
    int called;        /* a program asks: what argp would complain of is an error */
    enum emu_status error;
    FILE *complaints;
    int hinted;                 /* argp's hint began */
    size_t rows;                /* of the table */
    struct argp_option *option; /* owned: of the command, with titles of groups */
    char (*title)[TITLE_BYTES]; /* owned */
    size_t options, titles;
    char **argv; /* owned list of owned texts: parameters as --define */
    int argc;
};

/* ---- the options of a command, for argp ---- */

static void add_title(struct command_line *c, use_set uses, int group)
{
    char *title = c->title[c->titles++], things[128];

    uses_print(uses, things, sizeof(things));
    snprintf(title, TITLE_BYTES, "For %s:", things);
    c->option[c->options++] = (struct argp_option){ .doc = title, .group = group };
}

static void add_option(struct command_line *c, const struct option_row *o, int group)
{
    use_set shown = c->q->use ? c->q->use : c->q->command->uses;
    int optional = o->arg && o->arg[0] == '[';

    int is_shown = o->uses & shown && option_is_of(o->uses, c->q->command->uses);

    c->option[c->options++] =
        (struct argp_option){ .name = o->name,
                              .key = o->letter ? o->letter : KEY_ROW + (int)(o - option_rows()),
                              .arg = optional ? "LIST" : o->arg,
                              .flags = (optional ? OPTION_ARG_OPTIONAL : 0) |
                                       (is_shown ? 0 : OPTION_HIDDEN),
                              .doc = o->help,
                              .group = group };
}

/* Whether what the command was given takes an option by this name, but another one. */
static int is_another_here(const struct command_line *c, const struct option_row *o)
{
    const struct option_row *here = option_find(o->name, strlen(o->name), c->q->use);

    return here && !(o->uses & c->q->use);
}

static void add_group(struct command_line *c, use_set uses, int group)
{
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (uses && (o->uses & c->q->command->uses) == uses && !is_another_here(c, o))
            add_option(c, o, group);
    }
}

/* Hidden: what the command knows only to say why it has no meaning there. */
static void list_refused(struct command_line *c, int group)
{
    for (const struct option_refusal *r = option_without; r->uses; r++) {
        const struct option_row *o = option_rows();

        while (o->number != r->option)
            o++;
        if (r->uses & c->q->command->uses)
            add_option(c, o, group);
    }
}

/* Those for everything that the command takes first, then a group for each set of things; without
 * titles where it is known what the command was given, and what is for other things is hidden. */
static void list_options(struct command_line *c)
{
    const struct request *q = c->q;
    use_set all = q->command->uses;
    int group = 0;

    add_group(c, all, 0);
    for (const struct option_row *o = option_rows(); o->name; o++) {
        const struct option_row *first = option_rows();
        use_set uses = o->uses & all;

        while (first < o && (first->uses & all) != uses)
            first++;
        if (!uses || uses == all || first < o)
            continue;
        if (!q->use && option_is_of(uses, all) && uses != USE_STEP)
            add_title(c, uses & ~USE_STEP, ++group);
        add_group(c, uses, uses == USE_STEP ? 0 : group);
    }
    for (const struct option_row *o = option_rows(); o->name; o++) {
        if (!(o->uses & all) && o->uses & q->command->others)
            add_option(c, o, group);
    }
    list_refused(c, group);
    c->option[c->options++] = (struct argp_option){ .key = KEY_HELP, .flags = OPTION_HIDDEN };
}

/* Uses whose options are known, if only to be refused. */
static use_set known_uses(const struct request *q)
{
    return q->command->uses | q->command->others;
}

/* ---- what argp calls ---- */

/* Ends the process of a command that was typed; of what a program asks the first complaint is the
 * error. */
static EMU_PRINTF(3, 4) void complain(struct command_line *c, struct argp_state *state,
                                      const char *fmt, ...)
{
    char text[COMPLAINT_BYTES];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (!c->called)
        argp_error(state, "%s", text);
    else if (c->error == EMU_OK)
        c->error = FAIL(USAGE, "%s", text);
}

/* In the words of getopt, which cannot be asked for them, why it did not take a word: */
static void complain_of_letters(struct command_line *c, struct argp_state *state, const char *word)
{
    for (const char *at = word + 1; *at; at++) {
        const struct option_row *o = option_find_letter(*at, known_uses(c->q));

        if (!o)
            complain(c, state, "invalid option -- '%c'", *at);
        else if (o->arg)
            complain(c, state, "option requires an argument -- '%c'", *at);
    }
}

static void complain_of_name(struct command_line *c, struct argp_state *state, const char *word)
{
    size_t n = strcspn(word, "=");
    const char *name = NULL, *arg = NULL;
    unsigned count = 0;

    for (size_t k = 0; k < c->options; k++) {
        const struct argp_option *o = &c->option[k];

        if (!o->name || strncmp(o->name, word + 2, n - 2))
            continue;
        name = o->name;
        arg = o->arg;
        count++;
    }
    if (!count)
        complain(c, state, "unrecognized option '%s'", word);
    else if (count > 1)
        complain(c, state, "option '%s' is ambiguous", word);
    else if (arg)
        complain(c, state, "option '--%s' requires an argument", name);
    else
        complain(c, state, "option '--%s' doesn't allow an argument", name);
}

static void add_argument(struct command_line *c, const char *arg, struct argp_state *state)
{
    struct request *q = c->q;
    const struct command *command = q->command;
    const char **item = emu_realloc(q->argument.item, q->argument.count + 1, sizeof(*item));

    if (!item) {
        complain(c, state, "out of host memory: the command line");
        return;
    }
    q->argument.item = item;
    item[q->argument.count++] = arg;
    if (q->argument.count <= command->max)
        return;
    for (const struct option_row *o = option_rows(); o->name && command->is_parameter; o++) {
        if (q->given[o->number] && q->known && command->is_parameter(q, o->name, strlen(o->name)))
            complain(c, state,
                     "'%s' is one too many: --%s is an option; -D %s=%s sets the parameter of %s",
                     arg, o->name, o->name, arg, q->what);
    }
    complain(c, state, "%s at a time: '%s' is one too many", command->noun, arg);
}

static void finish(struct command_line *c, struct argp_state *state)
{
    struct request *q = c->q;
    const struct command *command = q->command;

    if (q->argument.count < command->min)
        complain(c, state, "which %s? superstep %s %s",
                 command->noun + strcspn(command->noun, " ") + 1, command->name, command->args);
    if (!q->what && q->argument.count)
        q->what = q->argument.item[0];
    if (!q->use)
        q->use = command->uses;
    if (c->error == EMU_OK &&
        (request_check(q) != EMU_OK || (c->called && request_check_called(q) != EMU_OK)))
        complain(c, state, "%s", ss_error());
}

static const struct option_row *row_of(const struct command_line *c, int key)
{
    return key >= KEY_ROW ? &option_rows()[key - KEY_ROW]
                          : option_find_letter((char)key, known_uses(c->q));
}

static void refuse_word(struct command_line *c, struct argp_state *state, const char *word)
{
    (strncmp(word, "--", 2) ? complain_of_letters : complain_of_name)(c, state, word);
}

static error_t failed(const struct command_line *c)
{
    return c->error == EMU_OK ? 0 : EINVAL;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct command_line *c = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        if (c->complaints)
            state->err_stream = c->complaints;
        return 0;
    case ARGP_KEY_ARG:
        add_argument(c, arg, state);
        return failed(c);
    case ARGP_KEY_END:
        finish(c, state);
        return failed(c);
    case ARGP_KEY_ERROR:
        if (c->called && c->error == EMU_OK)
            refuse_word(c, state, state->argv[state->next - 1]);
        return 0;
    case KEY_HELP:
        if (c->called)
            return ARGP_ERR_UNKNOWN;
        argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
        return 0;
    default:
        if (key <= 0 || key >= KEY_ROW + (int)c->rows || !row_of(c, key))
            return ARGP_ERR_UNKNOWN;
        if (request_store(c->q, row_of(c, key), arg) != EMU_OK)
            complain(c, state, "%s", ss_error());
        return failed(c);
    }
}

/* A text of help, in which "docs/" is where the pages are. */
static void print_help(const char *text, FILE *f)
{
    for (const char *at; (at = strstr(text, "docs/")); text = at + strlen("docs/"))
        fprintf(f, "%.*s%s/", (int)(at - text), text, docs_folder());
    fputs(text, f);
}

/* The parameters of the program come before the options, examples after them. argp frees the text.
 */
static char *help_filter(int key, const char *text, void *input)
{
    const struct command_line *c = input;
    const struct request *q = c ? c->q : NULL;
    char *out = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&out, &bytes);

    if (!f)
        return (char *)text;
    print_help(text ? text : "", f);
    if (key == ARGP_KEY_HELP_PRE_DOC && q && q->command->print_parameters &&
        (q->known || q->path)) {
        fputs("\n\n", f);
        q->command->print_parameters(q, f);
    }
    if (key == ARGP_KEY_HELP_POST_DOC && q && q->command->examples)
        fprintf(f, "%sExamples:\n%s", text ? "\n\n" : "", q->command->examples);
    fclose(f);
    if (text || bytes)
        return out;
    free(out); /* allocated by open_memstream */
    return NULL;
}

/* What argp says, line by line, up to the hint "Try `NAME --help' ...", which comes last. */
static ssize_t write_complaint(void *cookie, const char *text, size_t bytes)
{
    static const char hint[] = "Try `";
    struct command_line *c = cookie;

    c->hinted |= bytes >= sizeof(hint) - 1 && !memcmp(text, hint, sizeof(hint) - 1);
    if (!c->hinted)
        fwrite(text, 1, bytes, stderr);
    return (ssize_t)bytes;
}

/* ---- before argp: what it is about, and its parameters ---- */

/* The arguments that are neither options nor their values, as far as that is known; owned. */
static enum emu_status list_candidates(const struct request *q, int argc, char **argv,
                                       struct option_list *out)
{
    int options = 1;

    out->item = emu_alloc((size_t)argc + 1, sizeof(*out->item));
    if (!out->item)
        return FAIL(NO_MEMORY, "the command line");
    for (int i = 1; i < argc; i++) {
        int is_option = options && argv[i][0] == '-' && argv[i][1];

        if (!is_option)
            out->item[out->count++] = argv[i];
        else if (!strcmp(argv[i], "--"))
            options = 0;
        else
            i += option_takes_next(argv[i], known_uses(q));
    }
    return EMU_OK;
}

/* Whether "--name" or "--name=value" is a parameter of what is known, and no option of its own. */
static int is_parameter(const struct request *q, const char *arg)
{
    size_t length = strcspn(arg, "=");

    return q->known && q->command->is_parameter && !strncmp(arg, "--", 2) && length > 2 &&
           !option_find(arg + 2, length - 2, q->use) &&
           q->command->is_parameter(q, arg + 2, length - 2);
}

/* What argp knows: "--m 4" and "--m=4" become "--define=m=4" where m is a parameter. */
static enum emu_status name_parameters(struct command_line *c, int argc, char **argv)
{
    c->argv = emu_alloc((size_t)argc + 1, sizeof(*c->argv));
    for (int i = 0; c->argv && i < argc; i++) {
        const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
        const char *value = equals ? equals + 1 : i + 1 < argc ? argv[i + 1] : "";
        size_t bytes = strlen(argv[i]) + strlen(value) + sizeof("--define==");
        char *text = NULL;

        if (!i || !is_parameter(c->q, argv[i])) {
            text = emu_strdup(argv[i]);
        } else if ((text = emu_alloc(bytes, 1))) {
            snprintf(text, bytes, "--define=%.*s=%s", (int)strcspn(name, "="), name, value);
            i += !equals;
        }
        c->argv[c->argc++] = text;
        if (!text)
            return FAIL(NO_MEMORY, "the command line");
    }
    return c->argv ? EMU_OK : FAIL(NO_MEMORY, "the command line");
}

static enum emu_status look(struct request *q, int argc, char **argv)
{
    struct option_list candidates = { .count = 0 };
    enum emu_status s;

    if (!q->command->look) {
        q->use = q->command->uses;
        return EMU_OK;
    }
    s = list_candidates(q, argc, argv, &candidates);
    if (s == EMU_OK)
        s = q->command->look(q, &candidates);
    ss_free(candidates.item);
    return s;
}

/* ---- misspelt options ---- */

/* The option that "--iamge" was meant to be; NULL: argp knows the word, or none is near. */
static const char *option_meant(const struct command_line *c, const char *arg)
{
    struct nearest meant = { .word = arg + 2, .n = strcspn(arg + 2, "=") };

    for (size_t k = 0; k < c->options; k++) {
        const char *name = c->option[k].name;

        if (name && !strncmp(name, meant.word, meant.n))
            return NULL;
        if (name)
            nearest_try(&meant, name);
    }
    return strncmp("help", meant.word, meant.n) && strncmp("usage", meant.word, meant.n)
               ? meant.best
               : NULL;
}

/* What argp would refuse too, but without a suggestion. */
static enum emu_status check_spelling(const struct command_line *c)
{
    for (int i = 1; i < c->argc && strcmp(c->argv[i], "--") != 0; i++) {
        const char *arg = c->argv[i], *meant;

        if (arg[0] == '-' && arg[1] && option_takes_next(arg, known_uses(c->q))) {
            i++;
            continue;
        }
        meant = strncmp(arg, "--", 2) ? NULL : option_meant(c, arg);
        if (meant)
            return FAIL(USAGE, "unrecognized option '%.*s'; did you mean '--%s'?",
                        (int)strcspn(arg, "="), arg, meant);
    }
    return EMU_OK;
}

/* ---- the command ---- */

static int parse(struct command_line *c)
{
    static const cookie_io_functions_t io = { .write = write_complaint };
    const struct command *command = c->q->command;
    const struct argp argp = { .options = c->option,
                               .parser = parse_option,
                               .args_doc = command->args,
                               .doc = command->doc,
                               .help_filter = help_filter };
    const unsigned silent = ARGP_NO_ERRS | ARGP_NO_HELP | ARGP_NO_EXIT;
    char name[NAME_MAX_BYTES], *old = c->argv[0];
    int bad;

    c->complaints = c->called ? NULL : fopencookie(c, "w", io);
    if (c->complaints)
        setvbuf(c->complaints, NULL, _IOLBF, 0);
    snprintf(name, sizeof(name), "superstep %s", command->name);
    c->argv[0] = name; /* what argp begins its complaints with */
    argp_err_exit_status = EXIT_BAD;
    bad = argp_parse(&argp, c->argc, c->argv, c->called ? silent : 0, NULL, c);
    c->argv[0] = old;
    if (c->complaints)
        fclose(c->complaints);
    return bad;
}

/* Each row once, a title before each, and the end. */
static enum emu_status make_room(struct command_line *c)
{
    while (option_rows()[c->rows].name)
        c->rows++;
    c->option = emu_alloc(2 * c->rows + 2, sizeof(*c->option));
    c->title = emu_alloc(c->rows + 1, sizeof(*c->title));
    return c->option && c->title ? EMU_OK : FAIL(NO_MEMORY, "the command line");
}

/* All that is looked at before argp. */
static enum emu_status prepare(struct command_line *c, int argc, char **argv)
{
    TRY(make_room(c));
    TRY(look(c->q, argc, argv));
    TRY(name_parameters(c, argc, argv));
    list_options(c);
    return check_spelling(c);
}

static void free_line(struct command_line *c)
{
    for (int i = 0; i < c->argc; i++)
        ss_free(c->argv[i]);
    ss_free(c->argv);
    ss_free(c->option);
    ss_free(c->title);
    request_free(c->q);
}

int command_main(const struct command *command, int argc, char **argv)
{
    struct command_line c = { .q = request_new(command) };
    int code;

    if (!c.q) {
        fprintf(stderr, "superstep %s: out of host memory: the command line\n", command->name);
        return EXIT_BAD;
    }
    if (prepare(&c, argc, argv) != EMU_OK)
        code = request_failed(c.q, NULL);
    else
        code = parse(&c) ? EXIT_BAD : command->run(c.q);
    free_line(&c);
    return code;
}

/* ---- a program instead of a person ---- */

static enum emu_status read_called(struct command_line *c, FILE *heard, int argc, char **argv)
{
    c->q->heard = heard;
    TRY(prepare(c, argc, argv));
    if (!parse(c))
        return EMU_OK;
    return c->error != EMU_OK ? c->error : FAIL(USAGE, "%s: not understood", c->q->command->name);
}

enum emu_status command_call(const struct command *command, FILE *heard, int argc, char **argv,
                             struct command_line **out)
{
    struct command_line *c = emu_alloc(1, sizeof(*c));
    enum emu_status s;

    *out = c;
    if (c)
        *c = (struct command_line){ .q = request_new(command), .called = 1 };
    s = c && c->q ? read_called(c, heard, argc, argv) : FAIL(NO_MEMORY, "the command line");
    if (s == EMU_OK)
        return EMU_OK;
    command_call_free(c);
    *out = NULL;
    return s;
}

struct request *command_call_request(const struct command_line *c)
{
    return c->q;
}

void command_call_free(struct command_line *c)
{
    if (!c)
        return;
    free_line(c);
    ss_free(c);
}
