/* onnx_run.c - takes a network from an ONNX file to the answer: graph, passes, program, machine. */
#include "models/run/onnx_run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/progress.h"
#include "emu/load/image.h"
#include "emu/job/run_image.h"
#include "models/graph/npy.h"
#include "models/lower/op_program.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/run/compare_graph.h"
#include "models/run/model_chart.h"
#include "models/run/model_report.h"
#include "models/run/onnx_numbers.h"
#include "models/run/onnx_request.h"
#include "models/run/op_bill.h"
#include "programs/cli/program_request.h"
#include "programs/compiler/report/count_text.h"

enum { TEXT_MAX = 256 };

/* Everything that is made on the way; owned unless a member says otherwise. */
struct onnx_job {
    const struct request *q; /* borrowed */
    struct arch arch;
    struct onnx_model *model;
    struct op_graph *g;  /* of the model */
    uint32_t folded;     /* nodes after folding */
    uint64_t parameters; /* numbers, before norms are folded into weights */
    struct onnx_input *in;
    struct op_tensor *out;
    struct onnx_save *save;
    struct op_program p;
    struct session *session;
    struct layer_cycles layers;
    struct memory_facts memory;
    char weights[TEXT_MAX];
    float *scores;
    const char **picture;
    char **label, *label_text;
    uint32_t labels;
    struct progress progress;
    struct output_file *image, *digests, *chart; /* NULL: not wanted, or already committed */
    int code;                                    /* to exit with */
};

static void job_free(struct onnx_job *j)
{
    output_discard(j->image);
    output_discard(j->digests);
    output_discard(j->chart);
    for (size_t k = 0; j->save && k < j->q->save.count; k++)
        output_discard(j->save[k].file);
    for (uint32_t k = 0; j->in && k < j->g->inputs; k++)
        op_tensor_free(&j->in[k].numbers);
    for (uint32_t k = 0; j->out && k < j->g->outputs; k++)
        op_tensor_free(&j->out[k]);
    emu_free(j->save);
    emu_free(j->in);
    emu_free(j->out);
    emu_free(j->scores);
    emu_free(j->picture);
    emu_free(j->label);
    emu_free(j->label_text);
    layer_cycles_free(&j->layers);
    session_free(j->session);
    memory_facts_free(&j->memory);
    op_program_free(&j->p);
    onnx_model_free(j->model);
}

/* ---- the graph ---- */

/* What cannot run is told at once, on stdout. */
static enum emu_status refuse(const struct onnx_job *j)
{
    op_graph_print_problems(j->g, stdout);
    return FAIL(BAD_FILE, "%u of %u nodes cannot run", j->g->nodes_wrong + j->g->nodes_behind,
                j->g->nodes_read);
}

static enum emu_status read_graph(struct onnx_job *j)
{
    TRY(onnx_request_read(j->q, &j->model));
    j->g = j->model->graph;
    if (j->g->nodes_wrong)
        return refuse(j);
    TRY(op_graph_tidy(j->g));
    j->folded = j->g->nodes;
    j->parameters = op_graph_parameters(j->g);
    snprintf(j->weights, sizeof(j->weights), "of the file");
    progress_report(&j->progress, "read", "%u nodes, %u after folding; %u parameters, %.1f MB",
                    j->g->nodes_read, j->folded, j->model->parameters,
                    (double)j->model->parameter_bytes / 1e6);
    if (j->model->warning)
        fprintf(stderr, "superstep: warning: %s\n", j->model->warning);
    TRY(pass_all(j->g));
    TRY(op_lower_check(j->g));
    if (j->g->nodes_wrong)
        return refuse(j);
    progress_report(&j->progress, "passes", "%u nodes", j->g->nodes);
    return EMU_OK;
}

static enum emu_status get_inputs(struct onnx_job *j)
{
    j->in = emu_alloc(j->g->inputs + 1, sizeof(*j->in));
    j->out = emu_alloc(j->g->outputs + 1, sizeof(*j->out));
    if (!j->in || !j->out)
        return FAIL(NO_MEMORY, "inputs");
    TRY(onnx_inputs_read(j->q, j->g, j->in));
    for (uint32_t k = 0; k < j->g->inputs; k++)
        progress_report(&j->progress, "input", "%s: %s", j->g->value[j->g->input[k]].name,
                        j->in[k].text);
    return EMU_OK;
}

/* ---- the answer ---- */

static uint32_t batch_of(const struct onnx_job *j)
{
    const struct op_shape *s = j->g->inputs ? &j->g->value[j->g->input[0]].shape : NULL;

    return s && s->rank && s->dim[0] && j->model->batched ? s->dim[0] : 1;
}

static struct model_facts facts_of(const struct onnx_job *j)
{
    return op_facts(j->g, j->q->what, batch_of(j), j->parameters);
}

static struct model_answer answer_of(const struct onnx_job *j)
{
    return (struct model_answer){ .request = j->q,
                                  .facts = facts_of(j),
                                  .memory = &j->memory,
                                  .arch = j->arch,
                                  .layers = &j->layers,
                                  .weights = j->weights,
                                  .picture = j->picture,
                                  .run = j->session ? session_run_image(j->session) : NULL,
                                  .scores = j->scores };
}

/* One line for each output: its smallest, mean and largest number. */
static void print_outputs(const struct onnx_job *j)
{
    printf("\n");
    for (uint32_t k = 0; k < j->g->outputs; k++) {
        const struct op_tensor *t = &j->out[k];
        uint64_t n = op_shape_count(&t->shape);
        double low = INFINITY, high = -INFINITY, sum = 0;
        char shape[OP_SHAPE_TEXT];

        for (uint64_t i = 0; i < n; i++) {
            double v = op_tensor_number(t, i);

            low = fmin(low, v);
            high = fmax(high, v);
            sum += v;
        }
        printf("Output %s %s: from %.6g to %.6g, mean %.6g\n", j->g->value[j->g->output[k]].name,
               op_shape_text(&t->shape, shape), low, high, n ? sum / (double)n : 0);
    }
}

static void print_labels(const struct onnx_job *j, const struct model_answer *a)
{
    for (uint32_t p = 0; p < a->facts.batch && j->label; p++) {
        uint32_t top[MODEL_TOP];

        model_top(a, p, top);
        if (top[0] < j->labels)
            printf("input %u: %s\n", p, j->label[top[0]]);
    }
}

static enum emu_status print_answer(const struct onnx_job *j)
{
    struct model_answer a = answer_of(j);
    json_t *o;

    if (j->q->json) {
        o = model_report_json(&a);
        if (!o)
            return FAIL(NO_MEMORY, "the answer");
        run_print_json(o, stdout);
        json_decref(o);
        return EMU_OK;
    }
    if (j->q->report)
        model_report(&a, stdout);
    else if (j->q->plan)
        model_report_plans(&a, stdout);
    if (a.run && run_has_values(a.run))
        print_outputs(j);
    if (!j->q->report)
        model_summary(&a, stdout);
    print_labels(j, &a);
    return EMU_OK;
}

/* The first output as scores, if it is a list of them for each input of the batch. */
static enum emu_status take_scores(struct onnx_job *j)
{
    struct model_facts f = facts_of(j);
    uint64_t n = (uint64_t)f.batch * f.classes;

    if (!f.classes)
        return EMU_OK;
    j->scores = emu_alloc(n, sizeof(*j->scores));
    j->picture = emu_alloc(f.batch, sizeof(*j->picture));
    if (!j->scores || !j->picture)
        return FAIL(NO_MEMORY, "scores");
    for (uint64_t k = 0; k < n; k++)
        j->scores[k] = (float)j->out[0].f[k];
    for (uint32_t p = 0; p < f.batch; p++)
        j->picture[p] = j->in[0].name ? j->in[0].name : j->in[0].text;
    return EMU_OK;
}

/* ---- stages ---- */

static enum emu_status write_inputs(struct onnx_job *j)
{
    for (uint32_t k = 0; k < j->g->inputs; k++)
        TRY(op_program_write(&j->p, j->session, k, &j->in[k].numbers));
    return EMU_OK;
}

static enum emu_status read_outputs(struct onnx_job *j)
{
    struct session_overflow o = session_overflow(j->session);

    for (uint32_t k = 0; k < j->g->outputs; k++)
        TRY(op_program_read(&j->p, j->session, k, &j->out[k]));
    for (size_t k = 0; k < j->q->save.count; k++) {
        struct output_file *f = j->save[k].file;
        enum emu_status s = npy_write(&j->out[j->save[k].output], output_stream(f));

        j->save[k].file = NULL;
        TRY(output_end(f, s));
    }
    if (o.tiles)
        fprintf(stderr,
                "superstep run: warning: results beyond the range of f16 were clipped, first in "
                "superstep %" PRIu64 " on %s tiles\n",
                o.superstep, count_text(o.tiles).at);
    return take_scores(j);
}

static enum emu_status write_chart(struct onnx_job *j)
{
    struct model_answer a = answer_of(j);

    return j->chart ? output_finish(&j->chart, model_chart_draw(&a, output_stream(j->chart)))
                    : EMU_OK;
}

static enum emu_status execute(struct onnx_job *j)
{
    struct session_options o = session_options_of(j->q);
    enum emu_status s;

    o.record = 1;
    o.overflow = !o.timing;
    o.digests = output_stream(j->digests);
    TRY(session_new(j->p.compiled, &o, &j->session));
    TRY(write_inputs(j));
    s = session_run(j->session);
    if (s == EMU_FAULT) {
        j->code = EXIT_FAULTED;
        return model_report_fault(j->q, NULL, j->session);
    }
    TRY(s);
    progress_report(&j->progress, "execute", "%s cycles",
                    count_text(session_cycles(j->session)).at);
    TRY(output_finish(&j->digests, EMU_OK));
    if (run_has_values(session_run_image(j->session)))
        TRY(read_outputs(j));
    TRY(layer_cycles_bill(&j->layers, session_run_image(j->session)));
    TRY(print_answer(j));
    return write_chart(j);
}

/* The image, with its inputs and outputs by name. */
static enum emu_status write_image(struct onnx_job *j)
{
    const struct lowered_network *n = j->p.network;

    for (uint32_t k = 0; k < j->g->outputs; k++)
        TRY(compiled_add_output(j->p.compiled, n->out[k].view, n->out[k].name));
    for (uint32_t k = 0; k < j->g->inputs; k++)
        TRY(op_program_fill(&j->p, k, &j->in[k].numbers));
    return output_finish(&j->image, image_write_to(compiled_image(j->p.compiled), j->image));
}

static struct op_program_options options_of(const struct request *q)
{
    return (struct op_program_options){
        .lower = { .real = q->precision ? ELEM_F32 : ELEM_F16,
                   .memory_proportion = q->memory_proportion,
                   .parameter_proportion = q->parameter_memory,
                   .depthwise = (enum conv_depthwise)q->depthwise,
                   .partials = q->partials ? PARTIALS_F32 : PARTIALS_F16 },
        .compile = compile_options_of(q),
    };
}

static enum emu_status compare_all(struct onnx_job *j, const struct op_program_options *o)
{
    struct op_tensor *in = emu_alloc(j->g->inputs + 1, sizeof(*in));
    enum emu_status s = in ? EMU_OK : FAIL(NO_MEMORY, "inputs");

    for (uint32_t k = 0; in && k < j->g->inputs; k++)
        in[k] = j->in[k].numbers;
    if (s == EMU_OK)
        s = compare_graph(j->q, &j->arch, j->g, o, in, &j->code);
    emu_free(in);
    return s;
}

static enum emu_status with_program(struct onnx_job *j)
{
    if (!compiled_fits(j->p.compiled))
        return program_out_of_memory(j->q, j->p.compiled, stdout, &j->code);
    j->memory.compiled = j->p.compiled;
    TRY(op_bill_init(j->p.network, j->p.compiled, &j->arch, &j->layers));
    j->code = EXIT_RAN;
    if (j->image)
        TRY(write_image(j));
    if (j->q->use & USE_RUN)
        return execute(j);
    TRY(print_answer(j));
    return write_chart(j);
}

static enum emu_status open_output(const struct request *q, const char *path,
                                   struct output_file **out)
{
    TRY(onnx_output_check(q, path));
    return output_open(path, out);
}

/* Opens the outputs first, so that one that cannot be written is found before the work. */
static enum emu_status open_outputs(struct onnx_job *j)
{
    TRY(open_output(j->q, j->q->output, &j->image));
    TRY(open_output(j->q, j->q->digests, &j->digests));
    TRY(open_output(j->q, j->q->chart, &j->chart));
    j->save = emu_alloc(j->q->save.count + 1, sizeof(*j->save));
    if (!j->save)
        return FAIL(NO_MEMORY, "outputs");
    TRY(onnx_saves_open(j->q, j->g, j->save));
    return j->q->labels ? onnx_labels_read(j->q->labels, &j->label, &j->labels, &j->label_text)
                        : EMU_OK;
}

static enum emu_status answer_request(struct onnx_job *j)
{
    const struct op_program_options o = options_of(j->q);

    if (!(j->q->use & USE_RUN) && !j->q->output && !j->q->allow_oom && !j->q->plan && !j->q->report)
        return FAIL(USAGE, "compile writes an image: -o FILE.img");
    TRY(request_arch(j->q, "mk2", &j->arch));
    j->progress = progress_begin(j->q->quiet ? NULL : stderr);
    TRY(read_graph(j));
    TRY(open_outputs(j));
    TRY(get_inputs(j));
    if (j->q->compare_layers)
        return compare_all(j, &o);
    TRY(op_program_new(&j->arch, j->g, &o, &j->p));
    progress_skip(&j->progress);
    return with_program(j);
}

int onnx_run(const struct request *q)
{
    struct onnx_job j = { .q = q, .code = EXIT_BAD };

    if (answer_request(&j) != EMU_OK)
        j.code = request_failed(q, NULL);
    job_free(&j);
    return j.code;
}
