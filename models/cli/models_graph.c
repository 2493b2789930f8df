/* models_graph.c - the graph of a network with what each node takes, as text or JSON. */
#include "models/cli/models_graph.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/base/output_file.h"
#include "emu/cli/options.h"
#include "emu/job/run_image.h"
#include "models/answer/model_dump.h"
#include "models/answer/model_report.h"
#include "models/ask/model_request.h"
#include "models/ask/model_source.h"
#include "models/ask/onnx_request.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "programs/compiler/report/count_text.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, output)
OPTION_READ(TEXT, stage)
OPTION_READ(TEXT, weights)

/* What is shown. */
struct shown {
    const struct model_source *s;
    struct model_facts facts;
    struct op_work *work; /* owned: of each node, and their sum */
};

/* ---- text ---- */

static void print_values(const char *what, const struct op_graph *g, const uint32_t *list,
                         uint32_t n)
{
    char shape[OP_SHAPE_TEXT];

    for (uint32_t k = 0; k < n; k++)
        printf("%-7s %s %s\n", what, g->value[list[k]].name,
               op_shape_text(&g->value[list[k]].shape, shape));
}

static void print_work(const void *work, uint32_t node, FILE *f)
{
    const struct op_work *w = (const struct op_work *)work + node;

    fprintf(f, " %14s  %13s  %13s", count_text(w->macs).at, count_text(w->weight_bytes).at,
            count_text(w->result_bytes).at);
}

static void print_nodes(const struct shown *a)
{
    const struct op_columns columns = { " multiply-adds  weights bytes  results bytes  ",
                                        print_work, a->work };

    op_graph_print_with(a->s->graph, &columns, stdout);
}

static void print_file(const struct shown *a)
{
    const struct model_source *s = a->s;
    const struct onnx_model *m = s->model;
    const struct op_graph *g = s->graph;

    printf("%s: %s%sopset %u\n", s->choice.name, m->producer, *m->producer ? ", " : "",
           (unsigned)m->opset);
    printf("nodes   %u in the file, %u after folding, %u after fusing", g->nodes_read, s->folded,
           g->nodes);
    if (s->precision.nodes)
        printf("; %u compute in f32", s->precision.nodes);
    printf("\nweights %s parameters in %u tensors, %s bytes of the file\n",
           count_text(s->parameters).at, m->parameters, count_text(m->parameter_bytes).at);
    printf("work    %s multiply-adds for one input\n", count_text(a->facts.macs).at);
    print_values("input", g, g->input, g->inputs);
    print_values("output", g, g->output, g->outputs);
    printf("\n");
    print_nodes(a);
}

static void print_name(const struct shown *a)
{
    net_print_size(a->s->net, stdout);
    printf("\n");
    print_nodes(a);
}

/* ---- JSON ---- */

/* What names and files have; without the nodes. NULL: out of memory. */
static json_t *graph_json(const struct shown *a)
{
    const struct model_source *s = a->s;
    const struct op_graph *g = s->graph;
    const struct op_work *sum = &a->work[g->nodes];

    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "network",
                     json_text(s->choice.name), "batch", (json_int_t)a->facts.batch, "parameters",
                     (json_int_t)s->parameters, "macs_per_input", (json_int_t)a->facts.macs, "macs",
                     (json_int_t)sum->macs, "weight_bytes", (json_int_t)sum->weight_bytes,
                     "result_bytes", (json_int_t)sum->result_bytes, "inputs",
                     op_graph_values_json(g, g->input, g->inputs), "outputs",
                     op_graph_values_json(g, g->output, g->outputs));
}

/* What files alone have. */
static json_t *file_json(const struct model_source *s)
{
    const struct onnx_model *m = s->model;

    return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "producer",
                     json_text(m->producer), "opset", (json_int_t)m->opset, "nodes_in_file",
                     (json_int_t)s->graph->nodes_read, "nodes_folded", (json_int_t)s->folded,
                     "parameter_tensors", (json_int_t)m->parameters, "parameter_bytes",
                     (json_int_t)m->parameter_bytes, "f32_nodes", (json_int_t)s->precision.nodes,
                     "clamped_constants", model_clamped_json(&s->precision), "not_finite",
                     not_finite_json(&s->not_finite));
}

static json_t *name_json(const struct net *n)
{
    return json_pack("{s:I, s:I}", "resolution", (json_int_t)n->resolution, "classes",
                     (json_int_t)n->classes);
}

static enum emu_status print_json(const struct shown *a)
{
    json_t *o = graph_json(a), *more = a->s->model ? file_json(a->s) : name_json(a->s->net);
    int good = o && more && !json_object_update(o, more) &&
               !json_object_set_new(o, "nodes", op_graph_nodes_json(a->s->graph, a->work));

    if (good)
        ss_run_print_json(o, stdout);
    json_decref(o);
    json_decref(more);
    return good ? EMU_OK : FAIL(NO_MEMORY, "the answer");
}

/* ---- both ---- */

static enum emu_status write_file(const struct request *q, const struct op_graph *g)
{
    struct output_file *out;
    enum emu_status s;

    TRY(output_not_input(option_output(q), q->what));
    TRY(output_not_input(option_output(q), option_weights(q)));
    TRY(output_open(option_output(q), &out));
    s = onnx_write(g, output_stream(out));
    return output_end(out, s);
}

/* As `run` does, to the same verdict; a name is shown as its builder made it. */
static enum emu_status make_ready(const struct request *q, struct model_source *s)
{
    struct progress quiet = progress_begin(NULL);
    struct arch a;

    TRY(request_arch(q, "mk2", &a));
    TRY(model_source_open_seen(q, &a, &quiet, option_output(q) ? write_file : NULL, s));
    return s->net && s->choice.real == ELEM_F32 ? pass_widen(s->graph, NULL) : EMU_OK;
}

static enum emu_status show(const struct request *q, struct model_source *s)
{
    struct shown a = { .s = s };
    enum emu_status st;

    TRY(make_ready(q, s));
    a.facts = model_source_facts(s);
    st = op_graph_work(s->graph, &a.work);
    not_finite_print(&s->not_finite, 0, stderr);
    if (st == EMU_OK && option_json(q))
        st = print_json(&a);
    else if (st == EMU_OK && s->model)
        print_file(&a);
    else if (st == EMU_OK)
        print_name(&a);
    ss_free(a.work);
    return st;
}

enum emu_status models_show(const struct request *q)
{
    struct model_source s = { .net = NULL };
    enum emu_status st = onnx_is_meant(q->what) ? onnx_request_check(q) : EMU_OK;

    if (st == EMU_OK)
        st = option_stage(q) ? model_dump(q) : show(q, &s);
    model_source_free(&s);
    return st;
}
