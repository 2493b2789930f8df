/* models_onnx.c - reads an ONNX file, and prints the graph that is left of it. */
#include "models/cli/models_onnx.h"

#include <string.h>

#include "emu/base/output_file.h"
#include "emu/cli/options.h"
#include "models/lower/op_lower.h"
#include "models/onnx/onnx.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/answer/model_dump.h"
#include "models/ask/network_choice.h"
#include "models/ask/onnx_request.h"

int models_is_onnx(const struct request *q)
{
    return q->what && onnx_is_named(q->what) && !network_find(q->what);
}

static void print_values(const char *what, const struct op_graph *g, const uint32_t *list,
                         uint32_t n)
{
    char shape[OP_SHAPE_TEXT];

    for (uint32_t k = 0; k < n; k++)
        printf("%-7s %s %s\n", what, g->value[list[k]].name,
               op_shape_text(&g->value[list[k]].shape, shape));
}

static void print_model(const char *file, const struct onnx_model *m, uint32_t folded)
{
    const struct op_graph *g = m->graph;

    printf("%s: %s%sopset %u\n", file, m->producer, *m->producer ? ", " : "", (unsigned)m->opset);
    printf("nodes   %u in the file, %u after folding, %u after fusing\n", g->nodes_read, folded,
           g->nodes);
    printf("weights %u parameters, %.1f MB\n", m->parameters, (double)m->parameter_bytes / 1e6);
    printf("work    %.1f M multiply-adds\n", (double)op_graph_macs(g) / 1e6);
    if (m->warning)
        printf("warning: %s\n", m->warning);
    print_values("input", g, g->input, g->inputs);
    print_values("output", g, g->output, g->outputs);
    printf("\n");
    op_graph_print(g, stdout);
}

static enum emu_status write_file(const struct request *q, const struct op_graph *g)
{
    struct output_file *out;
    enum emu_status s;

    TRY(output_not_input(q->output, q->what));
    TRY(output_not_input(q->output, q->weights));
    TRY(output_open(q->output, &out));
    s = onnx_write(g, output_stream(out));
    return output_end(out, s);
}

/* As `run` does, with the same verdict. */
static enum emu_status refuse(const struct request *q, const struct op_graph *g)
{
    op_graph_print_problems(g, stdout);
    return emu_fail(op_graph_refused(g, ""), "%s: %s", q->what, emu_error());
}

static enum emu_status show(const struct request *q, const struct onnx_model *m)
{
    uint32_t folded;

    if (m->graph->nodes_wrong)
        return refuse(q, m->graph);
    TRY(op_graph_tidy(m->graph));
    folded = m->graph->nodes;
    if (q->output)
        TRY(write_file(q, m->graph));
    TRY(pass_all(m->graph));
    TRY(op_lower_check(m->graph));
    if (m->graph->nodes_wrong)
        return refuse(q, m->graph);
    print_model(q->what, m, folded);
    return EMU_OK;
}

enum emu_status models_show_onnx(const struct request *q)
{
    struct onnx_model *m;
    struct onnx_weights w;
    enum emu_status s;

    TRY(onnx_request_check(q));
    if (q->stage)
        return model_dump(q);
    s = onnx_request_read(q, 0, &w, &m);
    if (s == EMU_OK)
        s = show(q, m);
    onnx_model_free(m);
    onnx_weights_free(&w);
    return s;
}
