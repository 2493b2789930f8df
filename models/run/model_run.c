/* model_run.c - takes a network, by name or from an ONNX file, from the request to the answer:
 * graph, parameters, inputs, program, machine. */
#include "models/run/model_run.h"

#include <math.h>
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/cli/request_look.h"
#include "emu/cli/step_session.h"
#include "emu/job/run_image.h"
#include "models/run/compare_graph.h"
#include "models/run/cut_list.h"
#include "models/answer/model_chart.h"
#include "models/answer/model_dump.h"
#include "models/run/model_fit.h"
#include "models/answer/model_profile.h"
#include "models/ask/model_request.h"
#include "models/keep/net_image.h"
#include "models/run/network_run.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, check)
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, cache)
OPTION_READ(FLAG, report)
OPTION_READ(FLAG, allow_oom)
OPTION_READ(TEXT, stage)
OPTION_READ(FLAG, no_cache)
OPTION_READ(LIST, image)
OPTION_READ(FLAG, layers)
OPTION_READ(FLAG, plan)
OPTION_READ(FLAG, compare_layers)
OPTION_READ(FLAG, strict)

struct model_run {
    struct network_run r;
    struct model_files files;
    int code; /* to exit with */
};

static void model_run_free(struct model_run *m)
{
    model_files_close(&m->files);
    network_run_free(&m->r);
}

/* A note in the image that says how it takes pictures. What is kept has none: another run may
 * prepare them in another way. */
static enum emu_status describe_image(struct model_run *m)
{
    char *text = net_image_note(m->r.source.net, &m->r.recipe);
    enum emu_status s = text ? system_note(&m->r.system, NET_IMAGE_NOTE, text)
                             : FAIL(NO_MEMORY, "a note of the image");

    free(text);
    return s;
}

/* The image, with these inputs. */
static enum emu_status write_image(struct model_run *m)
{
    const struct op_graph *g = m->r.source.graph;
    enum emu_status s = EMU_OK;

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        s = system_write(&m->r.system, g->input[k], &m->r.in[k].numbers);
    if (s == EMU_OK && m->r.source.net)
        s = describe_image(m);
    if (s == EMU_OK)
        s = system_write_image(&m->r.system, m->files.image);
    TRY(output_finish(&m->files.image, s));
    progress_report(&m->r.progress, "write", "%s", option_output(m->r.q));
    return EMU_OK;
}

/* ---- answer ---- */

/* A line for each output that is no list of scores: its smallest, mean and largest number. */
static void print_outputs(const struct model_run *m, const struct model_answer *a)
{
    for (uint32_t k = a->scores ? 1 : 0; k < m->r.source.graph->outputs; k++) {
        const struct op_tensor *t = &m->r.out[k];
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
                   m->r.source.graph->value[m->r.source.graph->output[k]].name,
                   op_shape_text(&t->shape, shape), low, high, sum / (double)n);
    }
}

/* Prints one screen, and the reports that were asked for. */
static enum emu_status print_text(const struct model_run *m, const struct model_answer *a)
{
    if (option_report(m->r.q))
        model_report(a, stdout);
    else if (option_plan(m->r.q))
        model_report_plans(a, stdout);
    if (option_report(m->r.q) && a->run)
        TRY(run_print_bsp(a->run, option_no_cache(m->r.q) ? "" : option_cache(m->r.q), stdout));
    if (m->r.ranges)
        layer_ranges_print(a->layers, m->r.ranges, stdout);
    if (a->run && ss_run_has_values(a->run))
        print_outputs(m, a);
    model_report_precision(a, stdout);
    if (!option_report(m->r.q))
        model_summary(a, stdout);
    return EMU_OK;
}

static enum emu_status print_answer(const struct model_run *m)
{
    struct model_answer a = network_run_answer(&m->r);
    json_t *o;

    if (!option_json(m->r.q)) {
        TRY(a.run ? request_show(m->r.q, a.run, NULL, stdout) : EMU_OK);
        TRY(a.run ? request_put_steps(m->r.q, a.run, NULL, stdout) : EMU_OK);
        return print_text(m, &a);
    }
    o = model_report_json(&a);
    if (!o)
        return FAIL(NO_MEMORY, "the answer");
    if (a.run && (request_show(m->r.q, a.run, o, stdout) != EMU_OK ||
                  request_put_steps(m->r.q, a.run, o, NULL) != EMU_OK)) {
        json_decref(o);
        return EMU_USAGE;
    }
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

/* Reports a file that could not be written, or what could not be printed: all others are still
 * written. */
static void note_failure(struct model_run *m, enum emu_status s)
{
    if (s != EMU_OK)
        m->code = request_failed(m->r.q, network_run_subject(&m->r));
}

static void write_files(struct model_run *m)
{
    struct model_answer a = network_run_answer(&m->r);

    if (m->files.chart)
        note_failure(
            m, output_finish(&m->files.chart, model_chart_draw(&a, output_stream(m->files.chart))));
    if (m->files.logits)
        note_failure(m, model_files_logits(&m->files, &m->r.in[0].numbers, &m->r.out[1]));
}

/* The results, before anything is said of them. */
static void write_results(struct model_run *m)
{
    for (size_t k = 0; k < m->files.saves; k++)
        note_failure(m, model_files_save(&m->files, k, m->r.out));
}

/* ---- execution ---- */

/* --strict: numbers that are none, or that were clipped, are a failure. */
static void judge(struct model_run *m)
{
    uint32_t chip;

    if (option_strict(m->r.q) && m->code == EXIT_RAN &&
        (m->r.source.not_finite.rows || network_run_clipped(&m->r, &chip)))
        m->code = EXIT_FAULTED;
}

static enum emu_status run_machine(struct model_run *m)
{
    struct look_trace *trace;
    enum emu_status s;

    TRY(request_look_check(m->r.q, system_machine(&m->r.system)->im));
    TRY(request_trace_begin(m->r.q, system_machine(&m->r.system), &trace));
    s = network_run_execute(&m->r);
    request_trace_end(trace);
    if (s == EMU_FAULT) {
        m->code = ss_run_reached_limit(system_machine(&m->r.system)) ? EXIT_PARTIAL : EXIT_FAULTED;
        TRY(model_report_fault(m->r.q, network_run_subject(&m->r), m->r.system.session));
        return network_run_profile(&m->r, &m->files.profile);
    }
    TRY(s);
    network_run_tell(&m->r);
    if (request_findings(m->r.q, system_machine(&m->r.system), 0))
        m->code = EXIT_FAULTED;
    if (option_check(m->r.q))
        progress_report(&m->r.progress, "check", "%s findings",
                        count_text(run_check_findings(system_machine(&m->r.system))).at);
    if (ss_run_has_values(system_machine(&m->r.system))) {
        TRY(network_run_outputs(&m->r));
        write_results(m);
        network_run_look(&m->r);
    }
    TRY(network_run_bill(&m->r));
    note_failure(m, print_answer(m));
    write_files(m);
    return network_run_profile(&m->r, &m->files.profile);
}

/* ---- stepping ---- */

/* Layers by superstep. */
struct layer_steps {
    const struct layer_cycles *layers; /* borrowed */
    uint32_t *row;                     /* owned */
    size_t count;
};

static const char *layer_name(void *ctx, uint32_t chip, uint64_t superstep)
{
    const struct layer_steps *l = ctx;

    (void)chip;
    return superstep < l->count && l->row[superstep] != UINT32_MAX
               ? l->layers->text[l->row[superstep]].name
               : NULL;
}

static enum emu_status step_machine(struct model_run *m)
{
    struct layer_steps l = { .layers = &m->r.system.layers };
    const struct step_names names = { &l, layer_name };
    enum emu_status s = layer_cycles_supersteps(&m->r.system.layers, &l.row, &l.count);

    if (s == EMU_OK)
        s = step_session(m->r.q, system_machine(&m->r.system), &names, &m->code);
    ss_free(l.row);
    return s;
}

static enum emu_status execute(struct model_run *m)
{
    enum emu_status s = network_run_start(&m->r, output_stream(m->files.digests));

    if (s == EMU_OK)
        s = request_steps(m->r.q) ? step_machine(m) : run_machine(m);
    return output_finish(&m->files.digests, s);
}

/* ---- the program, compiled or found ---- */

static enum emu_status with_image(struct model_run *m)
{
    m->code = EXIT_RAN;
    network_run_look_at_inputs(&m->r);
    if (m->files.image)
        TRY(write_image(m));
    if (m->r.q->use & USE_RUN) {
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
    const struct model_facts f = model_source_facts(&m->r.source);
    const struct conv_plans *p = &m->r.system.program.network->plans;
    struct fit_findings found;
    json_t *o;

    m->code = EXIT_FAULTED;
    program_note_unwritten(m->r.q);
    model_fit_search(m->r.q, &m->r.arch, &m->r.source, system_need_bytes(&m->r.system), &found);
    if (!option_json(m->r.q)) {
        model_hopeless(&f, p, &m->r.arch, &found, stdout);
        return EMU_OK;
    }
    o = model_hopeless_json(&f, p, &m->r.arch, &found);
    if (!o)
        return FAIL(NO_MEMORY, "the report");
    ss_run_print_json(o, stdout);
    json_decref(o);
    return EMU_OK;
}

static enum emu_status report_unfit(struct model_run *m)
{
    struct compiled *c = system_compiled(&m->r.system);
    struct fit_findings found;

    model_fit_search(m->r.q, &m->r.arch, &m->r.source, system_need_bytes(&m->r.system), &found);
    TRY(fit_report(m->r.q, c, &found, stdout, &m->code));
    if (!request_profiles(m->r.q))
        return EMU_OK;
    TRY(network_run_layers(&m->r));
    return model_profile_unfit(
        &(struct model_profile){ .request = m->r.q, .layers = &m->r.system.layers, .compiled = c },
        &m->files.profile);
}

static void keep_program(struct model_run *m)
{
    fflush(stdout); /* people read the answer meanwhile */
    network_run_keep(&m->r);
}

static enum emu_status with_compiled(struct model_run *m)
{
    int writes = m->files.image != NULL;

    if (!system_compiled(&m->r.system))
        return report_hopeless(m);
    if (!system_fits(&m->r.system))
        return report_unfit(m);
    TRY(network_run_layers(&m->r));
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
    const struct op_program_options o = { .lower = network_lowering(&m->r.source.choice),
                                          .compile = compile_options_of(m->r.q) };
    const struct op_graph *g = m->r.source.graph;
    struct op_tensor *in = emu_alloc(g->inputs + 1, sizeof(*in));
    enum emu_status s =
        in ? model_source_finish(&m->r.source, &m->r.progress) : FAIL(NO_MEMORY, "inputs");

    for (uint32_t k = 0; in && k < g->inputs; k++)
        in[k] = m->r.in[k].numbers;
    if (s == EMU_OK)
        network_run_look_at_inputs(&m->r);
    if (s == EMU_OK)
        s = compare_graph(m->r.q, &m->r.arch, m->r.system.options.cut, g, &o, in, &m->code);
    ss_free(in);
    return s;
}

/* --cut all. */
static enum emu_status list_cuts(struct model_run *m)
{
    struct cut_list c;
    enum emu_status s = cut_choose(m->r.q, &m->r.arch, &c);

    if (s == EMU_OK)
        m->code = cut_print(&c, m->r.q, request_answers(m->r.q));
    cut_list_free(&c);
    return s;
}

static enum emu_status answer_request(struct model_run *m, const struct request *q)
{
    int compiles = !(q->use & USE_RUN);

    if (compiles && !option_output(q) && !option_allow_oom(q) && !option_layers(q) &&
        !option_plan(q) && !option_report(q) && !cut_is_all(q))
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    TRY(network_run_open(&m->r, q));
    if (option_layers(q)) {
        net_print(m->r.source.net, stdout);
        m->code = EXIT_RAN;
        return EMU_OK;
    }
    if (cut_is_all(q))
        return list_cuts(m);
    TRY(model_files_open(q, m->r.source.graph, &m->files));
    TRY(network_run_prepare(&m->r));
    if (!compiles || option_output(q) || option_image(q)->count)
        TRY(network_run_inputs(&m->r));
    network_run_init(&m->r);
    if (network_run_find(&m->r))
        return with_image(m);
    if (option_compare_layers(q))
        return compare(m);
    TRY(system_build(&m->r.system));
    return with_compiled(m);
}

int model_run(const struct request *q)
{
    struct model_run m = { .r.q = q, .code = EXIT_BAD };

    if (option_stage(q))
        return model_dump(q) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
    if (answer_request(&m, q) != EMU_OK)
        m.code = request_failed(q, network_run_subject(&m.r));
    model_run_free(&m);
    return m.code;
}
