/* cmd_program.c - `run` and `compile` of a named program: builds its graph, compiles it, runs it,
 * and says what came out.
 */
#include <inttypes.h>
#include <string.h>

#include "emu/cli/execute_meter.h"
#include "emu/cli/request_look.h"
#include "emu/cli/step_session.h"
#include "programs/cli/cmd_lesson.h"
#include "programs/cli/cmd_mistake.h"
#include "programs/cli/graph_program.h"
#include "programs/cli/program_options.h"
#include "programs/cli/program_ports.h"
#include "programs/cli/program_request.h"
#include "programs/programs.h"

/* What is read of the command line. */
OPTION_READ(LIST, input)
OPTION_READ(FLAG, json)
OPTION_READ(FLAG, steps)
OPTION_READ(TEXT, digests)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, chart)
OPTION_READ(FLAG, report)
OPTION_READ(FLAG, dump)
OPTION_READ(FLAG, allow_oom)

/* No program that people write runs so long, and a loop without an end comes there in minutes. */
enum { ENDLESS_CYCLES = 1000000000 };

/* Opened before the work; NULL: not wanted, or in its place. */
struct outputs {
    struct output_file *image, *digests;
    struct profile_files profile;
    struct port_files ports;
};

static const struct named_program *program(const struct request *q)
{
    return q->known;
}

static int is_file(const struct request *q)
{
    return q->known == &graph_program;
}

static const char *program_name(const struct request *q)
{
    return is_file(q) ? q->what : program(q)->name;
}

/* ---- the answer ---- */

/* Where the cycles of all supersteps of the tiles that compute went, on one chip. */
static json_t *bill_of_chip(const struct run *r, uint32_t chip)
{
    struct bill b = ss_bill_of_group(r->chip[chip].record, 0);

    return ss_bill_json(&b);
}

/* Of several chips each has its own. */
static int put_bills(const struct run *r, json_t *o)
{
    json_t *each = json_object_get(o, "each_chip");
    int bad = 0;

    if (r->chips == 1)
        return json_object_set_new(o, "bill", bill_of_chip(r, 0));
    for (uint32_t chip = 0; chip < r->chips && !bad; chip++)
        bad = json_object_set_new(json_array_get(each, chip), "bill", bill_of_chip(r, chip));
    return bad;
}

/* For the text answer: keeps only the numbers of bytes of all tiles; --report has the rest. */
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
    struct run *run = ss_session_run_image(s);
    json_t *o = ss_run_report(run, status, NULL, 0, 0);
    int bad, printed = 0;
    enum emu_status st;

    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    bad = json_object_set_new(o, "program", json_string(program_name(q))) || put_bills(run, o) ||
          json_object_set(o, "answer", answer) ||
          json_object_set_new(o, "memory", ss_compiled_report_json(c));
    st = bad ? FAIL(NO_MEMORY, "the answer") : EMU_OK;
    if (st == EMU_OK && option_json(q) && option_steps(q))
        st = run_put_steps(run, NULL, o);
    if (st == EMU_OK)
        st = request_show(q, run, o, stdout);
    if (st == EMU_OK)
        st = lesson_of_run(q, run, o, &printed);
    if (st != EMU_OK || printed) {
        json_decref(o);
        return st;
    }
    if (option_json(q)) {
        ss_run_print_json(o, stdout);
    } else {
        short_memory(json_object_get(o, "memory"));
        if (option_steps(q))
            run_print_steps(run, NULL, stdout);
        if (option_steps(q))
            st = run_print_bsp(run, NULL, stdout);
        ss_run_print(o, stdout);
        if (option_report(q))
            ss_compiled_report(c, stdout);
    }
    json_decref(o);
    return st;
}

/* ---- the way from a graph to an answer ---- */

/* What happens before a run: inputs into tile memory, and, with --output, the image that holds
 * them. */
static enum emu_status prepare(const struct request *q, struct compiled *c, struct session *s,
                               void *state, struct outputs *files)
{
    enum emu_status st;

    if (program(q)->before)
        TRY(program(q)->before(s, state));
    if (!files->image)
        return EMU_OK;
    st = ss_session_image_inputs(s, c);
    if (st == EMU_OK)
        st = image_write_to(ss_compiled_image(c), files->image);
    return output_finish(&files->image, st);
}

/* Runs the program, and prints the answer even when the results are wrong. */
static enum emu_status run_and_print(const struct request *q, const struct compiled *c,
                                     struct session *s, void *state, struct progress_meter *meter,
                                     json_t *answer, int *code)
{
    struct look_trace *trace;
    const char *status;
    enum emu_status wrong;

    TRY(request_look_check(q, ss_compiled_image(c)));
    TRY(request_trace_begin(q, ss_session_run_image(s), &trace));
    execute_meter_begin(meter, q, 0);
    wrong = ss_session_run(s);
    progress_meter_end(meter);
    request_trace_end(trace);
    if (wrong == EMU_OK && program(q)->after && ss_run_has_values(ss_session_run_image(s)))
        wrong = program(q)->after(s, state, answer);
    if (wrong != EMU_OK && wrong != EMU_FAULT)
        return wrong;
    if (wrong == EMU_FAULT)
        request_failed(q, program_name(q));
    status = wrong == EMU_OK ? "ok" : "failed";
    if (ss_run_reached_limit(ss_session_run_image(s)))
        status = "limit";
    if (wrong == EMU_OK && request_findings(q, ss_session_run_image(s), 1))
        status = "check";
    *code = !strcmp(status, "ok")      ? EXIT_RAN
            : !strcmp(status, "limit") ? EXIT_PARTIAL
                                       : EXIT_FAULTED;
    return print_answer(q, s, answer, c, status);
}

static enum emu_status run_session(const struct request *q, const struct compiled *c,
                                   struct session *s, void *state, struct progress_meter *meter,
                                   int *code)
{
    json_t *answer = json_object();
    enum emu_status st;

    if (!answer)
        return FAIL(NO_MEMORY, "the answer");
    st = request_steps(q) ? program_step(q, c, s, code)
                          : run_and_print(q, c, s, state, meter, answer, code);
    json_decref(answer);
    return st;
}

/* A session of the program, which `run` runs; `compile` needs it for the inputs of the image. */
static enum emu_status with_session(const struct request *q, struct compiled *c, void *state,
                                    struct outputs *files, int *code)
{
    struct session_options o = session_options_of(q);
    struct progress_meter meter = { .f = NULL };
    struct session *s = NULL;
    enum emu_status st;

    o.watch = execute_meter_watch;
    o.watch_ctx = &meter;
    if (!o.max_cycles)
        o.max_cycles = ENDLESS_CYCLES;
    o.record = (q->use & USE_RUN) != 0;
    o.digests = output_stream(files->digests);
    st = ss_session_new(c, &o, &s);
    if (st == EMU_OK && option_chart(q))
        st = run_count_pairs(ss_session_run_image(s));
    if (st == EMU_OK)
        st = prepare(q, c, s, state, files);
    if (st == EMU_OK && q->use & USE_RUN)
        st = run_session(q, c, s, state, &meter, code);
    if (st == EMU_OK && q->use & USE_RUN)
        st = program_profile(q, c, s, &files->profile);
    if (st == EMU_OK && q->use & USE_RUN && *code != EXIT_BAD)
        st = port_files_write(q, s, &files->ports);
    ss_session_free(s);
    return output_finish(&files->digests, st);
}

/* Of a program that does not fit: its parameters are what a user can make smaller. */
static enum emu_status answer_shortage(const struct request *q, const struct compiled *c,
                                       struct outputs *files, int *code)
{
    const struct named_program *n = program(q);
    const struct mistake *m = option_json(q) ? NULL : mistake_of_request(q);

    if (m)
        mistake_print_before(m);
    TRY(program_out_of_memory(q, c, stdout, code));
    TRY(program_profile_unfit(q, c, NULL, NULL, &files->profile));
    for (unsigned k = 0; k < n->params && !option_json(q); k++)
        printf("%s%s", k ? ", " : "Its parameters: ", n->param[k].name);
    if (n->params && !option_json(q))
        printf(" (superstep run %s --help)\n", n->name);
    if (!m)
        return EMU_OK;
    printf("\n");
    mistake_print_after(m);
    printf("status ok: does not fit, as expected\n");
    *code = EXIT_RAN;
    return EMU_OK;
}

static enum emu_status with_compiled(const struct request *q, struct compiled *c, void *state,
                                     struct outputs *files, int *code)
{
    if (!ss_compiled_fits(c))
        return answer_shortage(q, c, files, code);
    *code = EXIT_RAN;
    if (q->use & USE_RUN || files->image)
        TRY(with_session(q, c, state, files, code));
    return q->use & USE_RUN ? EMU_OK : program_print_memory(q, c, stdout);
}

static enum emu_status compile_and_answer(const struct request *q, const struct program_graphs *g,
                                          void *state, struct outputs *files, int *code)
{
    const struct compile_options o = compile_options_of(q);
    struct compiled *c = NULL;
    enum emu_status s;

    TRY(port_files_check(q, g, &files->ports));
    s = ss_graphs_compile(g->g, g->chips, &o, &c);
    if (s != EMU_OK && is_file(q)) /* what is found when all of it is there has no line */
        s = ss_fail(s, "%s: %s", q->what, ss_error());
    if (s == EMU_OK)
        s = with_compiled(q, c, state, files, code);
    ss_compiled_free(c);
    return s;
}

/* The graph of a program that is known by name; *out, which is to be freed also after an error. */
static enum emu_status build_graph(const struct request *q, struct program_graphs *out,
                                   void **state)
{
    uint64_t value[PROGRAM_MAX_PARAMS];
    struct arch a;

    if (request_has(q, OPTION_input))
        return FAIL(USAGE, "--input is for graph files");
    TRY(request_arch(q, "mk2", &a));
    out->g = emu_alloc(1, sizeof(struct graph *));
    if (!out->g)
        return FAIL(NO_MEMORY, "a graph");
    out->chips = 1;
    TRY(ss_graph_new(&a, &ss_kernel_library, &out->g[0]));
    TRY(program_values(q, value));
    TRY(program(q)->build(out->g[0], value, state));
    return ss_graph_status(out->g[0]);
}

static enum emu_status build_and_answer(const struct request *q, struct outputs *files, int *code)
{
    struct program_graphs g = { NULL, 0 };
    void *state = NULL;
    enum emu_status s;

    if (!(q->use & USE_RUN) && !option_output(q) && !option_allow_oom(q) && !option_dump(q))
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    s = (is_file(q) ? graph_program_read : build_graph)(q, &g, &state);
    if (s == EMU_OK && option_dump(q)) {
        *code = EXIT_RAN;
        s = ss_graphs_write((const struct graph *const *)g.g, g.chips, stdout);
    } else if (s == EMU_OK) {
        s = compile_and_answer(q, &g, state, files, code);
    }
    if (program(q)->done && state)
        program(q)->done(state);
    ss_graphs_free(g.g, g.chips);
    return s;
}

/* An output that cannot be written is found before the work. */
static enum emu_status answer_request(const struct request *q, int *code)
{
    struct outputs files = { .image = NULL };
    enum emu_status s = output_open(option_output(q), &files.image);

    if (s == EMU_OK)
        s = output_open(option_digests(q), &files.digests);
    if (s == EMU_OK)
        s = profile_files_open(q, &files.profile);
    if (s == EMU_OK)
        s = port_files_open(q, &files.ports);
    if (s == EMU_OK)
        s = build_and_answer(q, &files, code);
    output_discard(files.image);
    output_discard(files.digests);
    profile_files_close(&files.profile);
    port_files_close(&files.ports);
    return s;
}

int program_run(const struct request *q)
{
    int code = EXIT_BAD;

    if (answer_request(q, &code) == EMU_OK)
        return code;
    return request_failed(q, is_file(q) ? NULL : program_name(q)); /* a file is in the message */
}

/* ---- programs of somebody else ---- */

#define EXIT_DOC                                                                                   \
    "Exit status: 0 ran, 1 fault, wrong results, reports of --check or too little memory, "        \
    "2 bad usage or file."

/* A caller's table is short enough to be listed. */
static enum emu_status refuse_name(const char *name, const struct named_program *const *const *t)
{
    struct nearest meant = { .word = name, .n = strlen(name) };
    char names[300] = "";
    size_t n = 0;

    program_nearest(&meant, t);
    for (; *t; t++) {
        for (const struct named_program *const *p = *t; *p && n < sizeof(names); p++)
            n += (size_t)snprintf(names + n, sizeof(names) - n, " %s", (*p)->name);
    }
    return FAIL(USAGE, "no program '%.200s';%s programs are%s", name, nearest_hint(&meant).text,
                names);
}

static enum emu_status look(struct request *q, const struct option_list *candidates)
{
    for (size_t i = 0; i < candidates->count && !q->known; i++) {
        q->what = candidates->item[i];
        q->known = program_find(q->what, q->command->context);
    }
    q->use = q->known ? q->command->uses : 0;
    return q->known || !candidates->count ? EMU_OK
                                          : refuse_name(candidates->item[0], q->command->context);
}

int ss_program_command(int argc, char **argv, const struct named_program *const *const *tables)
{
    int compiles = !strcmp(argv[0], "compile");
    const struct command c = {
        .name = argv[0],
        .uses = THING_PROGRAM << (compiles ? USE_COMPILE_SHIFT : 0),
        .run = program_run,
        .noun = "one program",
        .min = 1,
        .max = 1,
        .args = "NAME",
        .doc = "Compile a program that is known by name, run it and compare its results with a "
               "plain calculation.\v" EXIT_DOC,
        .look = look,
        .is_parameter = program_is_parameter,
        .print_parameters = program_print_parameters,
        .context = tables,
    };

    return command_main(&c, argc, argv);
}

static enum emu_status look_one(struct request *q, const struct option_list *candidates)
{
    const struct named_program *only = q->command->context;

    (void)candidates;
    q->known = only;
    q->what = only->name;
    q->use = q->command->uses;
    return EMU_OK;
}

int ss_program_main(int argc, char **argv, const struct named_program *program)
{
    const struct command c = {
        .name = program->name,
        .uses = THING_PROGRAM,
        .run = program_run,
        .noun = "one program",
        .args = "",
        .doc = "Compile the program, run it, and say where its cycles went.\v" EXIT_DOC,
        .look = look_one,
        .is_parameter = program_is_parameter,
        .print_parameters = program_print_parameters,
        .context = program,
    };

    return command_main(&c, argc, argv);
}
