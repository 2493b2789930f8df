/* model_source.c - a network by name or from a file, up to the graph that is lowered. */
#include "models/ask/model_source.h"

#include <inttypes.h>

#include "emu/base/alloc.h"
#include "emu/base/json_text.h"
#include "emu/base/output_file.h"
#include "emu/job/run_image.h"
#include "models/ask/model_request.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/ask/model_weights.h"
#include "models/ask/onnx_request.h"

/* What is read of the command line. */
OPTION_READ(FLAG, json)
OPTION_READ(TEXT, weights)
OPTION_READ(TEXT, logits)

/* ---- files ---- */

void model_print_problems(const struct op_graph *g, int json, FILE *f)
{
    json_t *o;

    if (!json) {
        op_graph_print_problems(g, f);
        return;
    }
    o = json_pack("{s:s, s:o, s:I, s:I, s:o}", "status", "refused", "network", json_text(g->name),
                  "nodes_refused", (json_int_t)g->nodes_wrong, "nodes_behind",
                  (json_int_t)g->nodes_behind, "problems", op_graph_problems_json(g));
    if (o)
        ss_run_print_json(o, f);
    json_decref(o);
}

/* All nodes that cannot run are reported together. */
static enum emu_status refuse(const struct model_source *s)
{
    model_print_problems(s->graph, s->json, s->answers);
    return op_graph_refused(s->graph, "");
}

static enum emu_status read_file(const struct request *q, struct model_source *s)
{
    TRY(onnx_request_read(q, 0, &s->replaced, &s->model));
    s->graph = s->model->graph;
    snprintf(s->weights_text, sizeof(s->weights_text), "of the file");
    if (option_weights(q))
        snprintf(s->weights_text, sizeof(s->weights_text), "%u of %u initializers from %s",
                 s->replaced.taken, s->model->parameters, option_weights(q));
    return s->graph->nodes_wrong ? refuse(s) : EMU_OK;
}

enum emu_status model_source_pass(struct model_source *s)
{
    enum emu_status st;

    TRY(pass_all(s->graph));
    if (s->choice.real == ELEM_F16)
        TRY(pass_precision(s->graph, &s->precision));
    if (s->choice.real == ELEM_F16 && !s->choice.f32_until)
        return EMU_OK;
    st = pass_widen(s->graph, s->choice.f32_until);
    if (st != EMU_OK)
        return ss_fail(st, "--f32-until: %s (--dump groups prints the names)", ss_error());
    return pass_spell_windows(s->graph);
}

/* Between reading and passes: removes nodes that no output needs, notes NaN and infinity, and warns
 * on stderr where the file contradicts itself. */
static enum emu_status fold(struct model_source *s, struct progress *progress)
{
    struct op_graph *g = s->graph;

    TRY(op_graph_tidy(g));
    not_finite_weights(&s->not_finite, g, s->choice.real == ELEM_F16);
    s->folded = g->nodes;
    s->parameters = s->model->numbers;
    progress_report(
        progress, "read",
        "%u nodes, %u after folding; %" PRIu64 " parameters in %u tensors, %" PRIu64 " bytes",
        g->nodes_read, s->folded, s->parameters, s->model->parameters, s->model->parameter_bytes);
    if (s->model->warning)
        fprintf(s->notes, "superstep: warning: %s\n", s->model->warning);
    return EMU_OK;
}

static enum emu_status prepare_file(const struct request *q, struct progress *progress,
                                    model_folded_fn *folded, struct model_source *s)
{
    TRY(fold(s, progress));
    if (folded)
        TRY(folded(q, s->graph));
    TRY(model_source_pass(s));
    progress_report(progress, "passes", "%u nodes", s->graph->nodes);
    return EMU_OK;
}

/* ---- names ---- */

static enum emu_status find_name(const struct request *q, struct model_source *s)
{
    TRY(net_new(s->choice.name, &s->choice.net, &s->net));
    s->graph = s->net->graph;
    s->parameters = net_params(s->net);
    return option_logits(q) ? op_graph_output(s->graph, op_value_find(s->graph, net_logits))
                            : EMU_OK;
}

enum emu_status model_source_attach(struct model_source *s, struct progress *progress)
{
    if (s->model)
        return EMU_OK;
    TRY(model_weights_get(&s->choice, s->net, &s->weights, s->weights_text,
                          sizeof(s->weights_text)));
    progress_report(progress, "weights", "%s", s->weights_text);
    weights_attach(s->weights, s->net);
    not_finite_weights(&s->not_finite, s->graph, s->choice.real == ELEM_F16);
    return EMU_OK;
}

enum emu_status model_source_finish(struct model_source *s, struct progress *progress)
{
    if (s->model || s->weights)
        return EMU_OK;
    TRY(model_source_attach(s, progress));
    return model_source_pass(s);
}

enum emu_status model_source_recipe(const struct model_source *s, struct picture_recipe *out)
{
    const char *family = NULL;

    TRY(output_not_input(s->choice.write_weights, s->choice.weights));
    if (s->choice.weights)
        TRY(weights_family(s->net, s->choice.weights, &family));
    *out = picture_recipe_of(s->net, family);
    return EMU_OK;
}

/* ---- either ---- */

enum emu_status model_source_check(struct model_source *s, const struct arch *a)
{
    if (s->model)
        TRY(op_lower_check(s->graph));
    return s->graph->nodes_wrong ? refuse(s) : op_lower_check_machine(a, s->graph);
}

enum emu_status model_source_read(const struct request *q, struct model_source *out)
{
    *out = (struct model_source){ .choice = network_choice_of(q),
                                  .json = option_json(q),
                                  .notes = request_notes(q),
                                  .answers = request_answers(q) };
    return network_find(q->what) ? find_name(q, out) : read_file(q, out);
}

enum emu_status model_source_open_seen(const struct request *q, const struct arch *a,
                                       struct progress *progress, model_folded_fn *folded,
                                       struct model_source *out)
{
    TRY(model_source_read(q, out));
    if (out->model)
        TRY(prepare_file(q, progress, folded, out));
    return model_source_check(out, a);
}

enum emu_status model_source_open(const struct request *q, const struct arch *a,
                                  struct progress *progress, struct model_source *out)
{
    return model_source_open_seen(q, a, progress, NULL, out);
}

void model_source_free(struct model_source *s)
{
    weights_free(s->weights);
    net_free(s->net);
    onnx_model_free(s->model);
    onnx_weights_free(&s->replaced);
    *s = (struct model_source){ .net = NULL };
}

/* A file may fix its batch. Of what is no picture the first dimension may be anything then. */
static uint32_t batch_of(const struct model_source *s)
{
    const struct op_shape *in =
        s->graph->inputs ? &s->graph->value[s->graph->input[0]].shape : NULL;
    uint32_t pictures = op_graph_pictures(s->graph);

    if (s->net)
        return s->net->batch;
    if (pictures)
        return pictures;
    return in && in->rank && in->dim[0] && s->model->batched ? in->dim[0] : 1;
}

struct model_facts model_source_facts(const struct model_source *s)
{
    struct model_facts f = op_facts(s->graph, s->choice.name, batch_of(s), s->parameters);

    if (s->net) {
        f.resolution = s->net->resolution;
        snprintf(f.input, sizeof(f.input), "%ux%u", f.resolution, f.resolution);
    }
    return f;
}
