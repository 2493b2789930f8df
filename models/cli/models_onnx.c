/* models_onnx.c - reads an ONNX file, and prints the graph that is left of it. */
#include "models/cli/models_onnx.h"

#include <string.h>

#include "emu/base/output_file.h"
#include "emu/cli/options.h"
#include "models/onnx/onnx.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/run/model_dump.h"
#include "models/run/network_choice.h"
#include "models/run/onnx_request.h"

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

static enum emu_status show(const struct request *q, const struct onnx_model *m)
{
    enum emu_status s;
    uint32_t folded;

    if (m->graph->nodes_wrong) {
        op_graph_print_problems(m->graph, stdout);
        s = FAIL(BAD_FILE, "%s: %u of %u nodes cannot run", q->what,
                 m->graph->nodes_wrong + m->graph->nodes_behind, m->graph->nodes_read);
        return s;
    }
    s = op_graph_tidy(m->graph);
    folded = m->graph->nodes;
    if (s == EMU_OK && q->output)
        s = write_file(q, m->graph);
    if (s == EMU_OK)
        s = pass_all(m->graph);
    if (s == EMU_OK)
        print_model(q->what, m, folded);
    return s;
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
