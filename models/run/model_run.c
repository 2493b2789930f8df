/* model_run.c - takes a network, by name or from an ONNX file, from the request to the answer:
 * graph, parameters, inputs, program, machine. */
#include "models/run/model_run.h"

#include <inttypes.h>
#include <math.h>

#include "emu/base/alloc.h"
#include "emu/cli/execute_meter.h"
#include "emu/cli/request_look.h"
#include "emu/cli/step_session.h"
#include "emu/job/run_image.h"
#include "models/run/compare_graph.h"
#include "models/answer/model_chart.h"
#include "models/answer/model_dump.h"
#include "models/run/model_fit.h"
#include "models/answer/model_output.h"
#include "models/answer/model_profile.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"
#include "models/ask/model_source.h"
#include "models/ask/model_weights.h"
#include "models/keep/net_image.h"
#include "models/ask/net_pictures.h"
#include "models/system/system.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

enum { TEXT_MAX = 512 };

/* Everything that is made on the way; owned unless a member says otherwise. */
struct model_run {
    const struct request *q; /* borrowed */
    struct arch arch;
    struct model_source source;
    struct picture_recipe recipe; /* of the pictures of a network by name */
    struct model_input *in;       /* by input of the graph */
    struct op_tensor *out;        /* by output of the graph, after a run with values */
    struct system system;
    struct layer_range *ranges; /* owned; by row of layers; NULL: not asked for */
    float *scores;
    struct class_names classes;  /* --labels */
    struct progress_meter meter; /* of the execution */
    struct progress progress;
    struct model_files files;
    int code; /* to exit with */
};

static void model_run_free(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;

    model_files_close(&m->files);
    for (uint32_t k = 0; m->in && k < g->inputs; k++)
        model_input_free(&m->in[k]);
    for (uint32_t k = 0; m->out && k < g->outputs; k++)
        op_tensor_free(&m->out[k]);
    emu_free(m->in);
    emu_free(m->out);
    emu_free(m->scores);
    class_names_free(&m->classes);
    emu_free(m->ranges);
    system_free(&m->system);
    model_source_free(&m->source);
}

/* What messages begin with: the name of a network; a file is named by its own messages. */
static const char *subject_of(const struct model_run *m)
{
    return m->source.net ? m->source.net->name : NULL;
}

/* ---- numbers in and out ---- */

static enum emu_status read_inputs(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;

    m->in = emu_alloc(g->inputs + 1, sizeof(*m->in));
    m->out = emu_alloc(g->outputs + 1, sizeof(*m->out));
    if (!m->in || !m->out)
        return FAIL(NO_MEMORY, "inputs");
    TRY(model_inputs_read(m->q, g, m->source.net ? &m->recipe : NULL, m->in));
    for (uint32_t k = 0; k < g->inputs; k++)
        progress_report(&m->progress, "input", "%s: %s", g->value[g->input[k]].name, m->in[k].text);
    return EMU_OK;
}

/* Into tile memory, before a run. */
static enum emu_status write_inputs(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;
    enum emu_status s = EMU_OK;

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        s = system_write(&m->system, g->input[k], &m->in[k].numbers);
    return s;
}

/* A note in the image that says how it takes pictures. What is kept has none: another run may
 * prepare them in another way. */
static enum emu_status describe_image(struct model_run *m)
{
    struct image *kept = m->system.kept.image;

    return kept ? net_image_describe_kept(m->source.net, &m->recipe, kept)
                : net_image_describe(m->source.net, &m->recipe, system_compiled(&m->system));
}

/* The image, with these inputs. */
static enum emu_status write_image(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;
    enum emu_status s = EMU_OK;

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        s = system_write(&m->system, g->input[k], &m->in[k].numbers);
    if (s == EMU_OK && m->source.net)
        s = describe_image(m);
    if (s == EMU_OK)
        s = image_write_to(system_image(&m->system), m->files.image);
    TRY(output_finish(&m->files.image, s));
    progress_report(&m->progress, "write", "%s", m->q->output);
    return EMU_OK;
}

/* The first output as scores, if it is a list of them for each input of the batch. */
static enum emu_status read_scores(struct model_run *m)
{
    const struct model_facts f = model_source_facts(&m->source);
    uint64_t n = (uint64_t)f.batch * f.classes;

    if (!n)
        return EMU_OK;
    m->scores = emu_alloc(n, sizeof(*m->scores));
    if (!m->scores)
        return FAIL(NO_MEMORY, "scores");
    for (uint64_t k = 0; k < n; k++)
        m->scores[k] = (float)m->out[0].f[k];
    return EMU_OK;
}

static enum emu_status read_outputs(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;

    for (uint32_t k = 0; k < g->outputs; k++)
        TRY(system_read(&m->system, g->output[k], &m->out[k]));
    return read_scores(m);
}

/* ---- answer ---- */

/* How the pictures of the first input that takes some were prepared; NULL: there are none. */
static const char *recipe_text(const struct model_run *m)
{
    for (uint32_t k = 0; m->in && k < m->source.graph->inputs; k++) {
        if (*m->in[k].recipe)
            return m->in[k].recipe;
    }
    return NULL;
}

/* The first input with a file, or NULL. */
static const struct model_input *input_of_file(const struct model_run *m)
{
    for (uint32_t k = 0; m->in && k < m->source.graph->inputs; k++) {
        if (m->in[k].names)
            return &m->in[k];
    }
    return NULL;
}

static struct model_answer answer_of(const struct model_run *m)
{
    const struct model_input *named = input_of_file(m);

    return (struct model_answer){ .request = m->q,
                                  .facts = model_source_facts(&m->source),
                                  .memory = &m->system.memory,
                                  .arch = m->arch,
                                  .layers = &m->system.layers,
                                  .ranges = m->ranges,
                                  .weights = m->source.weights_text,
                                  .file = named ? named->name : NULL,
                                  .files = named ? named->names : 0,
                                  .recipe = recipe_text(m),
                                  .run = m->system.session ? system_machine(&m->system) : NULL,
                                  .classes = &m->classes,
                                  .scores = m->scores,
                                  .not_finite = &m->source.not_finite,
                                  .precision = &m->source.precision };
}

/* A line for each output that is no list of scores: its smallest, mean and largest number. */
static void print_outputs(const struct model_run *m, const struct model_answer *a)
{
    for (uint32_t k = a->scores ? 1 : 0; k < m->source.graph->outputs; k++) {
        const struct op_tensor *t = &m->out[k];
        uint64_t n = t->any ? op_shape_count(&t->shape) : 0;
        double low = INFINITY, high = -INFINITY, sum = 0;
        char shape[OP_SHAPE_TEXT];

        for (uint64_t i = 0; i < n; i++) {
            double v = op_tensor_number(t, i);

            low = fmin(low, v);
            high = fmax(high, v);
            sum += v;
        }
        if (n)
            printf("Output %s %s: from %.6g to %.6g, mean %.6g\n",
                   m->source.graph->value[m->source.graph->output[k]].name,
                   op_shape_text(&t->shape, shape), low, high, sum / (double)n);
    }
}

/* Prints one screen, and the reports that were asked for. */
static enum emu_status print_text(const struct model_run *m, const struct model_answer *a)
{
    if (program_request(m->q)->report)
        model_report(a, stdout);
    else if (model_request(m->q)->plan)
        model_report_plans(a, stdout);
    if (program_request(m->q)->report && a->run)
        TRY(run_print_bsp(a->run, model_request(m->q)->no_cache ? "" : m->q->cache, stdout));
    if (m->ranges)
        model_report_ranges(a, stdout);
    if (a->run && run_has_values(a->run))
        print_outputs(m, a);
    model_report_precision(a, stdout);
    if (!program_request(m->q)->report)
        model_summary(a, stdout);
    return EMU_OK;
}

static enum emu_status print_answer(const struct model_run *m)
{
    struct model_answer a = answer_of(m);
    json_t *o;

    if (!m->q->json) {
        TRY(a.run ? request_show(m->q, a.run, NULL, stdout) : EMU_OK);
        TRY(a.run ? request_put_steps(m->q, a.run, NULL, stdout) : EMU_OK);
        return print_text(m, &a);
    }
    o = model_report_json(&a);
    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    if (a.run && (request_show(m->q, a.run, o, stdout) != EMU_OK ||
                  request_put_steps(m->q, a.run, o, NULL) != EMU_OK)) {
        json_decref(o);
        return EMU_USAGE;
    }
    run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* Reports a file that could not be written, or what could not be printed: all others are still
 * written. */
static void note_failure(struct model_run *m, enum emu_status s)
{
    if (s != EMU_OK)
        m->code = request_failed(m->q, subject_of(m));
}

static void write_files(struct model_run *m)
{
    struct model_answer a = answer_of(m);

    if (m->files.chart)
        note_failure(
            m, output_finish(&m->files.chart, model_chart_draw(&a, output_stream(m->files.chart))));
    if (m->files.logits)
        note_failure(m, model_files_logits(&m->files, &m->in[0].numbers, &m->out[1]));
}

/* The results, before anything is said of them. */
static void write_results(struct model_run *m)
{
    for (size_t k = 0; k < m->files.saves; k++)
        note_failure(m, model_files_save(&m->files, k, m->out));
}

static enum emu_status write_profile(struct model_run *m)
{
    return model_profile_write(&(struct model_profile){ .request = m->q,
                                                        .layers = &m->system.layers,
                                                        .compiled = m->system.program.compiled,
                                                        .kept = m->system.kept.profile,
                                                        .kept_bytes = m->system.kept.profile_bytes,
                                                        .session = m->system.session },
                               &m->files.profile);
}

/* ---- warnings ---- */

/* The layer that computes in a superstep; borrowed. */
static const char *layer_of_superstep(const struct model_run *m, uint64_t superstep)
{
    for (size_t i = 0; i < m->system.layers.steps; i++) {
        const struct billed_step *s = &m->system.layers.step[i];

        if (s->superstep == superstep && s->computes)
            return m->system.layers.text[s->row].name;
    }
    return "(no layer)";
}

/* NaN and infinity, whoever made them: of weights and inputs, before a run. */
static void look_at_inputs(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;

    for (uint32_t k = 0; m->in && k < g->inputs; k++)
        not_finite_numbers(&m->source.not_finite, "input", g->value[g->input[k]].name,
                           &m->in[k].numbers);
    not_finite_print(&m->source.not_finite, 0, stderr);
}

/* The same of layers and outputs, after it. */
static void look_at_results(struct model_run *m)
{
    const struct op_graph *g = m->source.graph;
    struct session_not_finite made = session_not_finite(m->system.session);
    uint32_t before = m->source.not_finite.rows;

    if (made.nan || made.infinite)
        not_finite_add(&m->source.not_finite, "layer", layer_of_superstep(m, made.superstep),
                       made.nan, made.infinite);
    for (uint32_t k = 0; k < g->outputs; k++)
        not_finite_numbers(&m->source.not_finite, "output", g->value[g->output[k]].name,
                           &m->out[k]);
    not_finite_print(&m->source.not_finite, before, stderr);
}

/* --strict: numbers that are none, or that were clipped, are a failure. */
static void judge(struct model_run *m)
{
    int clipped = m->system.session && session_overflow(m->system.session).tiles;

    if (model_request(m->q)->strict && m->code == EXIT_RAN &&
        (m->source.not_finite.rows || clipped))
        m->code = EXIT_FAULTED;
}

/* Warns on stderr of sums that overflowed in f16. */
static void warn_of_range(const struct model_run *m)
{
    struct session_overflow o = session_overflow(m->system.session);

    if (!o.tiles)
        return;
    fprintf(stderr,
            "superstep run: warning: results beyond the range of f16 were clipped, first in layer "
            "%s (superstep %" PRIu64 ", %s tiles; %s of their results are +-65504 or no numbers); "
            "--ranges shows all\n",
            layer_of_superstep(m, o.superstep), o.superstep, count_text(o.tiles).at,
            count_text(o.values).at);
}

/* ---- execution ---- */

/* Of sync group 0. */
static uint64_t supersteps_of(const struct model_run *m)
{
    uint64_t most = 0;

    for (size_t i = 0; i < m->system.layers.steps; i++)
        most =
            m->system.layers.step[i].superstep > most ? m->system.layers.step[i].superstep : most;
    return m->system.layers.steps ? most + 1 : 0;
}

static enum emu_status run_machine(struct model_run *m)
{
    struct look_trace *trace;
    enum emu_status s;

    TRY(request_look_check(m->q, system_machine(&m->system)->im));
    TRY(request_trace_begin(m->q, system_machine(&m->system), &trace));
    execute_meter_begin(&m->meter, m->q, supersteps_of(m));
    s = system_run(&m->system);
    progress_meter_end(&m->meter);
    request_trace_end(trace);
    if (s == EMU_FAULT) {
        m->code = run_reached_limit(system_machine(&m->system)) ? EXIT_PARTIAL : EXIT_FAULTED;
        TRY(model_report_fault(m->q, subject_of(m), m->system.session));
        return write_profile(m);
    }
    TRY(s);
    progress_report(&m->progress, "execute", "%s cycles",
                    count_text(session_cycles(m->system.session)).at);
    if (request_findings(m->q, system_machine(&m->system), 0))
        m->code = EXIT_FAULTED;
    if (m->q->check)
        progress_report(&m->progress, "check", "%s findings",
                        count_text(run_check_findings(system_machine(&m->system))).at);
    if (run_has_values(system_machine(&m->system))) {
        TRY(read_outputs(m));
        write_results(m);
        warn_of_range(m);
        look_at_results(m);
    }
    TRY(layer_ranges_new(&m->system.layers, m->system.session, &m->ranges));
    TRY(system_bill(&m->system));
    note_failure(m, print_answer(m));
    write_files(m);
    return write_profile(m);
}

/* ---- stepping ---- */

/* Layers by superstep. */
struct layer_steps {
    const struct layer_cycles *layers; /* borrowed */
    uint32_t *row;                     /* owned */
    size_t count;
};

static const char *layer_name(void *ctx, uint64_t superstep)
{
    const struct layer_steps *l = ctx;

    return superstep < l->count && l->row[superstep] != UINT32_MAX
               ? l->layers->text[l->row[superstep]].name
               : NULL;
}

static enum emu_status step_machine(struct model_run *m)
{
    struct layer_steps l = { .layers = &m->system.layers };
    const struct step_names names = { &l, layer_name };
    enum emu_status s = layer_cycles_supersteps(&m->system.layers, &l.row, &l.count);

    if (s == EMU_OK)
        s = step_session(m->q, system_machine(&m->system), &names, &m->code);
    emu_free(l.row);
    return s;
}

/* Before the network is compiled. */
static enum emu_status make_ready(void *ctx)
{
    struct model_run *m = ctx;

    return model_source_finish(&m->source, &m->progress);
}

static void init_system(struct model_run *m)
{
    const struct system_options o = {
        .program = { .lower = network_lowering(&m->source.choice),
                     .compile = compile_options_of(m->q),
                     .give_up = !program_request(m->q)->report &&
                                !program_request(m->q)->allow_oom && !request_profiles(m->q) },
        .folder = m->source.choice.cache,
        .ready = make_ready,
        .ctx = m,
        .progress = &m->progress,
    };

    system_init(&m->system, &m->arch, m->source.graph, &o);
}

static enum emu_status execute(struct model_run *m)
{
    struct session_options o = session_options_of(m->q);
    enum emu_status s;

    o.record = 1;
    o.overflow = !o.timing && !request_steps(m->q);
    o.ranges = model_request(m->q)->ranges;
    o.digests = output_stream(m->files.digests);
    o.watch = execute_meter_watch;
    o.watch_ctx = &m->meter;
    s = system_start(&m->system, &o);
    /* Nothing in a network branches on values. */
    EMU_ASSERT(s != EMU_OK || !m->source.choice.blank ||
               !run_has_values(system_machine(&m->system)));
    if (s == EMU_OK)
        s = write_inputs(m);
    if (s == EMU_OK)
        s = request_steps(m->q) ? step_machine(m) : run_machine(m);
    return output_finish(&m->files.digests, s);
}

/* ---- the cache ---- */

/* A network that only --report compiles is not kept: other runs would find it. */
static void keep_program(struct model_run *m)
{
    /* A run from the cache does not look at the weights of a network by name. */
    if (m->source.net && m->source.not_finite.rows)
        return;
    fflush(stdout); /* people read the answer meanwhile */
    system_keep(&m->system, m->source.weights ? m->source.weights->names : NULL, NULL);
}

/* Whether nothing but cycles is asked for. */
static int needs_no_values(const struct request *q)
{
    return q->engine && q->use & USE_RUN && !q->output && !model_request(q)->write_weights &&
           !model_request(q)->weights;
}

/* Takes a network from the cache. Returns 0 when it is not there. Where values are not
 * needed, an entry that has them will do, too. */
static int find_program(struct model_run *m)
{
    struct network_choice *choice = &m->source.choice;
    const struct net_cache_input in = { .choice = choice,
                                        .net = m->source.net,
                                        .model = m->source.model,
                                        .request = m->q,
                                        .arch = &m->arch,
                                        .exchange = compile_options_of(m->q).exchange };
    char label[TEXT_MAX];
    int cycles_only = needs_no_values(m->q), found;

    if (model_request(m->q)->compare_layers || model_request(m->q)->ranges ||
        model_request(m->q)->logits || model_request(m->q)->write_weights)
        return 0; /* that needs weights, a graph, or what the compiler knows of steps */
    found = system_find(&m->system, &in, cycles_only);
    if (!found && cycles_only && m->source.net) {
        choice->blank = 1;
        found = system_find(&m->system, &in, cycles_only);
    }
    if (!found)
        return 0;
    if (m->source.net)
        model_weights_text(choice, m->system.kept.names, m->source.weights_text,
                           sizeof(m->source.weights_text));
    net_cache_label(&in, label, sizeof(label));
    progress_report(&m->progress, "cache",
                    "reused: %sgraph, lower, exchange, place, emit; ran: load; %s",
                    m->source.net ? "weights, " : "", label);
    return 1;
}

/* ---- the program, compiled or found ---- */

static enum emu_status with_image(struct model_run *m)
{
    m->code = EXIT_RAN;
    look_at_inputs(m);
    if (m->files.image)
        TRY(write_image(m));
    if (m->q->use & USE_RUN) {
        TRY(execute(m));
    } else {
        TRY(print_answer(m));
        write_files(m);
    }
    judge(m);
    return EMU_OK;
}

/* The plans alone need far more memory than there is. */
static enum emu_status report_hopeless(struct model_run *m)
{
    const struct model_facts f = model_source_facts(&m->source);
    const struct conv_plans *p = &m->system.program.network->plans;
    struct fit_findings found;
    json_t *o;

    m->code = EXIT_FAULTED;
    program_note_unwritten(m->q);
    model_fit_search(m->q, &m->arch, &m->source, system_need_bytes(&m->system), &found);
    if (!m->q->json) {
        model_hopeless(&f, p, &m->arch, &found, stdout);
        return EMU_OK;
    }
    o = model_hopeless_json(&f, p, &m->arch, &found);
    if (!o)
        return FAIL(NO_MEMORY, "the report");
    run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status report_unfit(struct model_run *m)
{
    struct compiled *c = system_compiled(&m->system);
    struct fit_findings found;

    model_fit_search(m->q, &m->arch, &m->source, system_need_bytes(&m->system), &found);
    TRY(fit_report(m->q, c, &found, stdout, &m->code));
    if (!request_profiles(m->q))
        return EMU_OK;
    TRY(system_bill_layers(&m->system));
    return model_profile_unfit(
        &(struct model_profile){ .request = m->q, .layers = &m->system.layers, .compiled = c },
        &m->files.profile);
}

static enum emu_status with_compiled(struct model_run *m)
{
    int writes = m->files.image != NULL;

    if (!system_compiled(&m->system))
        return report_hopeless(m);
    if (!system_fits(&m->system))
        return report_unfit(m);
    TRY(system_bill_layers(&m->system));
    if (writes)
        keep_program(m); /* while the image has no inputs and no note */
    TRY(with_image(m));
    if (!writes)
        keep_program(m);
    return EMU_OK;
}

/* --compare-layers. */
static enum emu_status compare(struct model_run *m)
{
    const struct op_program_options o = { .lower = network_lowering(&m->source.choice),
                                          .compile = compile_options_of(m->q) };
    const struct op_graph *g = m->source.graph;
    struct op_tensor *in = emu_alloc(g->inputs + 1, sizeof(*in));
    enum emu_status s =
        in ? model_source_finish(&m->source, &m->progress) : FAIL(NO_MEMORY, "inputs");

    for (uint32_t k = 0; in && k < g->inputs; k++)
        in[k] = m->in[k].numbers;
    if (s == EMU_OK)
        look_at_inputs(m);
    if (s == EMU_OK)
        s = compare_graph(m->q, &m->arch, g, &o, in, &m->code);
    emu_free(in);
    return s;
}

static enum emu_status read_class_names(struct model_run *m)
{
    uint32_t classes = model_source_facts(&m->source).classes;

    if (!classes)
        return FAIL(USAGE, "--labels: the network makes no list of scores");
    return class_names_read(model_request(m->q)->labels, classes, &m->classes);
}

static enum emu_status answer_request(struct model_run *m)
{
    const struct request *q = m->q;
    int compiles = !(q->use & USE_RUN);

    if (compiles && !q->output && !program_request(q)->allow_oom && !model_request(q)->layers &&
        !model_request(q)->plan && !program_request(q)->report)
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    TRY(request_arch(q, "mk2", &m->arch));
    m->progress = progress_begin(q->quiet ? NULL : stderr);
    TRY(model_source_open(q, &m->arch, &m->progress, &m->source));
    if (model_request(q)->layers) {
        net_print(m->source.net, stdout);
        m->code = EXIT_RAN;
        return EMU_OK;
    }
    TRY(model_files_open(q, m->source.graph, &m->files));
    if (model_request(q)->labels)
        TRY(read_class_names(m));
    if (m->source.net) {
        TRY(model_source_recipe(&m->source, &m->recipe));
        TRY(picture_choose(q, &m->recipe));
    }
    if (!compiles || q->output || model_request(q)->image.count)
        TRY(read_inputs(m));
    init_system(m);
    if (find_program(m))
        return with_image(m);
    if (model_request(q)->compare_layers)
        return compare(m);
    TRY(system_build(&m->system));
    return with_compiled(m);
}

int model_run(const struct request *q)
{
    struct model_run m = { .q = q, .code = EXIT_BAD };

    if (model_request(q)->stage)
        return model_dump(q) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
    if (answer_request(&m) != EMU_OK)
        m.code = request_failed(q, subject_of(&m));
    model_run_free(&m);
    return m.code;
}
