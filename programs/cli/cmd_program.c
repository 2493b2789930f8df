/* cmd_program.c - `superstep run NAME` and `superstep compile NAME`: builds the graph of a named
 * program, compiles it, runs it, and says what came out.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "programs/programs.h"

enum { KEY_DEFINE = 'D', KEY_STEPS = 0x100, KEY_DUMP };

struct request {
    const struct named_program *program;
    struct machine_choice machine;
    struct run_choice choice;
    struct compile_options compile;
    struct session_options run;
    uint64_t value[PROGRAM_MAX_PARAMS];
    char **argument; /* owned; [arguments], of which the texts below are parts */
    int arguments;
    const char *output, *digests;
    int compile_only, steps, json, report, allow_oom, dump;
};

/* ---- command line ---- */

/* The parameter of a name that is `length` characters long; params: there is none. */
static unsigned find_param(const struct named_program *n, const char *name, size_t length)
{
    unsigned k = 0;

    while (k < n->params &&
           (strlen(n->param[k].name) != length || strncmp(n->param[k].name, name, length)))
        k++;
    return k;
}

/* The words of parameter k; NULL: it is a number. */
static const char *const *words_of(const struct named_program *n, unsigned k)
{
    for (const struct param_words *w = n->words; w && w->param; w++) {
        if (!strcmp(w->param, n->param[k].name))
            return w->word;
    }
    return NULL;
}

static uint64_t param_number(const struct named_program *program, unsigned k, const char *text,
                             struct argp_state *state)
{
    const char *const *word = words_of(program, k);
    const struct program_param *p = &program->param[k];
    uint64_t n;

    for (n = 0; word && n <= p->max; n++) {
        if (!strcmp(word[n], text))
            return n;
    }
    if (word) {
        argp_error(state, "%s is not '%s': expected %s, %s%s", p->name, text, word[0], word[1],
                   p->max > 1 ? " or another word that --help lists" : "");
        return 0;
    }
    n = option_number(state, text, p->max);
    if (n < p->min)
        argp_error(state, "%s is at least %" PRIu64, p->name, p->min);
    return n;
}

/* "56", or "56x28" for a parameter and its pair. */
static void set_param(struct request *q, unsigned k, const char *text, struct argp_state *state)
{
    const struct named_program *p = q->program;
    int pair = p->pair[0] && !strcmp(p->pair[0], p->param[k].name);
    const char *x = pair ? strchr(text, 'x') : NULL;
    char first[24] = "";

    if (x && (size_t)(x - text) < sizeof(first)) {
        unsigned other = find_param(p, p->pair[1], strlen(p->pair[1]));

        memcpy(first, text, (size_t)(x - text));
        q->value[other] = param_number(p, other, x + 1, state);
        text = first;
    }
    q->value[k] = param_number(p, k, text, state);
}

static void define(struct request *q, const char *arg, struct argp_state *state)
{
    const char *equals = strchr(arg, '=');
    size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
    unsigned k = find_param(q->program, arg, length);

    if (equals && k < q->program->params) {
        set_param(q, k, equals + 1, state);
        return;
    }
    if (!equals)
        argp_error(state, "-D %s: expected NAME=VALUE", arg);
    else
        argp_error(state, "%s has no parameter '%.*s'; `superstep run %s --help` lists them",
                   q->program->name, (int)length, arg, q->program->name);
}

static error_t parse_flag(int key, struct request *q)
{
    switch (key) {
    case KEY_STEPS:
        q->steps = 1;
        return 0;
    case KEY_DUMP:
        q->dump = 1;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct request *q = state->input;

    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &q->machine;
        state->child_inputs[1] = &q->choice;
        return 0;
    case ARGP_KEY_ARG:
        if (strcmp(arg, q->program->name) || state->arg_num)
            argp_error(state, "one program at a time: '%s' is one too many", arg);
        return 0;
    case KEY_DEFINE:
        define(q, arg, state);
        return 0;
    case ARGP_KEY_END:
        if (q->compile_only && !q->output && !q->allow_oom && !q->dump)
            argp_error(state, "compile writes an image: -o FILE.img");
        return 0;
    default:
        return parse_flag(key, q);
    }
}

static const struct argp_option options[] = {
    { "define", KEY_DEFINE, "NAME=VALUE", 0, "a parameter of the program; may be repeated", 0 },
    { "steps", KEY_STEPS, NULL, 0, "print a table of all supersteps", 0 },
    { "dump", KEY_DUMP, NULL, 0, "print the graph and stop", 0 },
    { 0 },
};

static void print_param(const struct named_program *program, unsigned k, FILE *f)
{
    const struct program_param *p = &program->param[k];
    const char *const *word = words_of(program, k);

    fprintf(f, "  %s: %s", p->name, p->text);
    if (!word) {
        fprintf(f, " (default %" PRIu64 ", %" PRIu64 " to %" PRIu64 ")\n", p->value, p->min,
                p->max);
        return;
    }
    fprintf(f, " (default %s; of", word[p->value]);
    for (uint64_t n = 0; n <= p->max; n++)
        fprintf(f, "%s %s", n ? "," : "", word[n]);
    fprintf(f, ")\n");
}

/* The parameters of the program, behind the options. The text is owned by argp, which frees it. */
static char *help_filter(int key, const char *text, void *input)
{
    const struct request *q = input;
    char *out = NULL;
    size_t bytes = 0;
    FILE *f;

    if (key != ARGP_KEY_HELP_POST_DOC || !q)
        return (char *)text;
    f = open_memstream(&out, &bytes);
    if (!f)
        return (char *)text;
    fprintf(f, "%s\n\nParameters of %s (--NAME VALUE, or -D NAME=VALUE):\n", text ? text : "",
            q->program->name);
    for (unsigned k = 0; k < q->program->params; k++)
        print_param(q->program, k, f);
    fclose(f);
    return out;
}

static const struct argp_child children[] = { { &machine_choice_argp, 0, NULL, 0 },
                                              { &run_choice_argp, 0, NULL, 0 },
                                              { 0 } };

static const struct argp parser = {
    .options = options,
    .parser = parse_option,
    .children = children,
    .args_doc = "NAME",
    .doc = "Compile a program that is known by name, run it and compare its results with a plain "
           "calculation.\v"
           "Exit status: 0 ran, 1 fault, wrong results, reports of --check or too little memory, "
           "2 bad usage or file.",
    .help_filter = help_filter,
};

/* ---- the answer ---- */

/* Where the cycles of all supersteps of the tiles that compute went. */
static json_t *bill_of_run(const struct run *r)
{
    struct bill b = bill_of_group(r->record, 0);

    return bill_json(&b);
}

/* For people: what is not a number of bytes of all tiles is in --report. */
static void short_memory(json_t *memory)
{
    const char *key;
    json_t *v;
    void *next;

    json_object_foreach_safe(memory, next, key, v)
    {
        if (!json_is_integer(v) || !strcmp(key, "code_need_bytes") || !strcmp(key, "need_bytes"))
            json_object_del(memory, key);
    }
}

static enum emu_status print_answer(const struct request *q, struct session *s, json_t *answer,
                                    const struct compiled *c, const char *status)
{
    struct run *run = session_run_image(s);
    json_t *o = run_report(run, status, NULL, 0, 0);
    int bad;

    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    bad = json_object_set_new(o, "program", json_string(q->program->name)) ||
          json_object_set_new(o, "bill", bill_of_run(run)) ||
          json_object_set(o, "answer", answer) ||
          json_object_set_new(o, "memory", compiled_report_json(c)) ||
          (q->json && q->steps && json_object_set_new(o, "steps", run_steps_json(run, NULL)));
    if (!bad && q->json) {
        run_print_json(o, stdout);
    } else if (!bad) {
        short_memory(json_object_get(o, "memory"));
        if (q->steps)
            run_print_steps(run, NULL, stdout);
        run_print(o, stdout);
        if (q->report)
            compiled_report(c, stdout);
    }
    json_decref(o);
    return bad ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
}

/* ---- the way from a graph to an answer ---- */

/* Runs the program, and prints the answer even when the results are wrong. */
static enum emu_status run_and_print(const struct request *q, const struct compiled *c,
                                     struct session *s, void *state, json_t *answer, int *code)
{
    enum emu_status wrong = q->program->before ? q->program->before(s, state) : EMU_OK;
    const char *status;

    if (wrong == EMU_OK)
        wrong = session_run(s);
    if (wrong == EMU_OK && q->program->after)
        wrong = q->program->after(s, state, answer);
    if (wrong != EMU_OK && wrong != EMU_FAULT)
        return wrong;
    if (wrong == EMU_FAULT)
        fprintf(stderr, "superstep run: %s: %s\n", q->program->name, emu_error());
    status = wrong == EMU_OK ? "ok" : "failed";
    if (wrong == EMU_OK && run_check_reports(session_run_image(s)))
        status = "check";
    *code = strcmp(status, "ok") ? EXIT_FAULTED : EXIT_RAN;
    return print_answer(q, s, answer, c, status);
}

static enum emu_status run_session(const struct request *q, const struct compiled *c,
                                   struct session *s, void *state, int *code)
{
    json_t *answer = json_object();
    enum emu_status st;

    if (!answer)
        return FAIL(NO_MEMORY, "the answer");
    st = run_and_print(q, c, s, state, answer, code);
    json_decref(answer);
    return st;
}

static enum emu_status execute(const struct request *q, const struct compiled *c, void *state,
                               int *code)
{
    struct session_options o = q->run;
    struct session *s = NULL;
    enum emu_status st;

    o.record = 1;
    if (q->digests) {
        o.digests = fopen(q->digests, "w");
        if (!o.digests)
            return FAIL(IO, "%s: %s", q->digests, strerror(errno));
    }
    st = session_new(c, &o, &s);
    if (st == EMU_OK)
        st = run_session(q, c, s, state, code);
    session_free(s);
    if (o.digests && fclose(o.digests) && st == EMU_OK)
        st = FAIL(IO, "%s: %s", q->digests, strerror(errno));
    return st;
}

static enum emu_status print_memory(const struct request *q, const struct compiled *c)
{
    json_t *o;

    if (!q->json) {
        compiled_report(c, stdout);
        return EMU_OK;
    }
    o = compiled_report_json(c);
    if (!o)
        return FAIL(NO_MEMORY, "the report");
    run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status with_compiled(const struct request *q, const struct compiled *c, void *state,
                                     int *code)
{
    if (!compiled_fits(c)) {
        *code = q->allow_oom ? EXIT_RAN : EXIT_FAULTED;
        return print_memory(q, c);
    }
    *code = EXIT_RAN;
    if (q->output)
        TRY(image_write(compiled_image(c), q->output));
    if (!q->compile_only)
        return execute(q, c, state, code);
    return print_memory(q, c);
}

static enum emu_status with_graph(const struct request *q, struct graph *g, int *code)
{
    struct compiled *c = NULL;
    void *state = NULL;
    enum emu_status s = q->program->build(g, q->value, &state);

    if (s == EMU_OK)
        s = graph_status(g);
    if (s == EMU_OK && q->dump) {
        graph_dump(g, stdout);
        *code = EXIT_RAN;
    } else if (s == EMU_OK) {
        s = graph_compile(g, &q->compile, &c);
        if (s == EMU_OK)
            s = with_compiled(q, c, state, code);
    }
    compiled_free(c);
    if (q->program->done && state)
        q->program->done(state);
    return s;
}

static enum emu_status answer_request(const struct request *q, int *code)
{
    struct graph *g = NULL;
    struct arch a;
    enum emu_status s;

    TRY(machine_choice_arch(&q->machine, "mk2", &a));
    TRY(graph_new(&a, &kernel_library, &g));
    s = with_graph(q, g, code);
    graph_free(g);
    return s;
}

/* ---- names ---- */

/* Whether an option of a table that has a value begins with `name` (getopt takes short forms of
 * long names), or has the letter `key`. */
static int table_has_value(const struct argp_option *o, const char *name, int key)
{
    for (; o->name; o++) {
        if (o->arg && !(o->flags & OPTION_ARG_OPTIONAL) &&
            (name ? !strncmp(o->name, name, strlen(name)) : o->key == key))
            return 1;
    }
    return 0;
}

static int has_value(const char *name, int key)
{
    return table_has_value(options, name, key) ||
           table_has_value(machine_choice_argp.options, name, key) ||
           table_has_value(work_choice_argp.options, name, key) ||
           table_has_value(run_choice_argp.options, name, key);
}

/* Whether an option takes the next argument as its value: `-o FILE`, `-kD n=1`, `--set tiles=4`. */
static int takes_next(const char *arg)
{
    if (arg[1] == '-')
        return arg[2] && has_value(arg + 2, 0);
    for (const char *c = arg + 1; *c; c++) {
        if (has_value(NULL, *c))
            return !c[1];
    }
    return 0;
}

/* The next argument from i on that is neither an option nor the value of one; argc: none. */
static int next_argument(int argc, char **argv, int i)
{
    while (i < argc && argv[i][0] == '-' && argv[i][1])
        i += 1 + takes_next(argv[i]);
    return i < argc ? i : argc;
}

static const struct named_program *find(const char *name,
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

/* What is neither a program nor could be a file. */
static int refuse(const char *command, const char *name,
                  const struct named_program *const *const *tables)
{
    fprintf(stderr, "superstep %s: no file and no program '%s'; programs are", command, name);
    for (; *tables; tables++) {
        for (const struct named_program *const *p = *tables; *p; p++)
            fprintf(stderr, " %s", (*p)->name);
    }
    fprintf(stderr, "; superstep --help lists all names\n");
    return EXIT_BAD;
}

/* What argp knows: "--steps 4" and "--steps=4" become "--define=steps=4" where steps is a parameter
 * of the program. named: [argc + 1], its new texts owned; returns how many arguments there are. */
static int name_params(const struct named_program *p, int argc, char **argv, char **named)
{
    int n = 0;

    for (int i = 0; i < argc; i++) {
        const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
        size_t length = equals ? (size_t)(equals - name) : strlen(argv[i]) - 2;
        int is = i && !strncmp(argv[i], "--", 2) && find_param(p, name, length) < p->params;
        const char *value = equals ? equals + 1 : i + 1 < argc ? argv[i + 1] : "";

        if (!is) {
            named[n++] = emu_strdup(argv[i]);
            continue;
        }
        named[n] = emu_alloc(sizeof("--define==") + length + strlen(value), 1);
        if (named[n])
            sprintf(named[n], "--define=%.*s=%s", (int)length, name, value);
        n++;
        i += !equals;
    }
    return n;
}

static int parse_named(int argc, char **argv, struct request *q)
{
    char **named = emu_alloc((size_t)argc + 1, sizeof(*named));
    int n = named ? name_params(q->program, argc, argv, named) : 0, bad = !named;

    for (int i = 0; i < n; i++)
        bad |= !named[i];
    if (bad)
        fprintf(stderr, "superstep %s: out of host memory\n", argv[0]);
    else
        bad = command_line_parse(&parser, n, named, q);
    q->argument = named;
    q->arguments = n;
    return bad;
}

static void free_arguments(struct request *q)
{
    for (int i = 0; i < q->arguments; i++)
        emu_free(q->argument[i]);
    emu_free(q->argument);
}

int program_command(int argc, char **argv, const struct named_program *const *const *tables)
{
    struct request q = { 0 };
    int code = EXIT_BAD, first = next_argument(argc, argv, 1);

    for (int i = first; i < argc && !q.program; i = next_argument(argc, argv, i + 1))
        q.program = find(argv[i], tables);
    if (!q.program)
        return first < argc && !strpbrk(argv[first], "./") && access(argv[first], F_OK)
                   ? refuse(argv[0], argv[first], tables)
                   : -1;
    for (unsigned k = 0; k < q.program->params; k++)
        q.value[k] = q.program->param[k].value;
    q.compile_only = !strcmp(argv[0], "compile");
    q.compile.progress = stderr;
    q.choice = (struct run_choice){ .compile = &q.compile,
                                    .run = &q.run,
                                    .output = &q.output,
                                    .digests = &q.digests,
                                    .json = &q.json,
                                    .report = &q.report,
                                    .allow_oom = &q.allow_oom };
    if (!parse_named(argc, argv, &q) && answer_request(&q, &code) != EMU_OK) {
        fprintf(stderr, "superstep %s: %s: %s\n", argv[0], q.program->name, emu_error());
        code = EXIT_BAD;
    }
    free_arguments(&q);
    return code;
}
