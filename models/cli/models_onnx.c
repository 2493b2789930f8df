/* models_onnx.c - reads an ONNX file, and prints the graph that is left of it. */
#include "models/cli/models_onnx.h"

#include <stdlib.h>
#include <string.h>

#include "emu/base/output_file.h"
#include "emu/cli/options.h"
#include "models/onnx/onnx.h"
#include "models/operators/op_print.h"
#include "models/pass/op_pass.h"
#include "models/run/network_choice.h"

int models_name_is_onnx(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && !strcmp(dot, ".onnx");
}

int models_is_onnx(const struct request *q)
{
    return q->what && models_name_is_onnx(q->what) && !network_find(q->what);
}

/* Options that say how a network is built, which a file has settled. */
static enum emu_status refuse_others(const struct request *q)
{
    static const struct {
        enum option_id id;
        const char *name;
    } other[] = { { OPTION_resolution, "resolution" }, { OPTION_classes, "classes" },
                  { OPTION_padding, "padding" },       { OPTION_norm, "norm" },
                  { OPTION_weights, "weights" },       { OPTION_seed, "seed" } };

    for (unsigned k = 0; k < EMU_COUNT_OF(other); k++) {
        if (request_has(q, other[k].id))
            return FAIL(USAGE, "--%s is for networks that are known by name, and %s is a file",
                        other[k].name, q->what);
    }
    return EMU_OK;
}

/* "NAME=N" of --dim. dim: one for each. names: owned copies, freed by the caller. */
static enum emu_status read_dims(const struct request *q, struct onnx_dim *dim, char **names)
{
    for (size_t k = 0; k < q->dim.count; k++) {
        const char *text = q->dim.item[k], *equals = strrchr(text, '=');
        char *end = NULL;
        unsigned long long size = equals ? strtoull(equals + 1, &end, 10) : 0;

        if (!equals || equals == text || !end || *end || end == equals + 1 || !size ||
            size > UINT32_MAX)
            return FAIL(USAGE, "--dim %s: expected NAME=N with N from 1 on", text);
        names[k] = emu_strndup(text, (size_t)(equals - text));
        if (!names[k])
            return FAIL(NO_MEMORY, "options");
        dim[k] = (struct onnx_dim){ .name = names[k], .size = (uint32_t)size };
    }
    return EMU_OK;
}

static enum emu_status read_file(const struct request *q, struct onnx_model **out)
{
    struct onnx_dim *dim = emu_alloc(q->dim.count + 1, sizeof(*dim));
    char **names = emu_alloc(q->dim.count + 1, sizeof(*names));
    const struct onnx_options o = { .batch = (uint32_t)q->batch,
                                    .dim = dim,
                                    .dims = (unsigned)q->dim.count,
                                    .output = q->outputs.item,
                                    .outputs = (unsigned)q->outputs.count };
    enum emu_status s = dim && names ? EMU_OK : FAIL(NO_MEMORY, "options");

    *out = NULL;
    if (s == EMU_OK)
        s = read_dims(q, dim, names);
    if (s == EMU_OK)
        s = onnx_read_file(q->what, &o, out);
    for (size_t k = 0; names && k < q->dim.count; k++)
        emu_free(names[k]);
    emu_free(names);
    emu_free(dim);
    return s;
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
    TRY(output_open(q->output, &out));
    s = onnx_write(g, output_stream(out));
    return output_end(out, s);
}

enum emu_status models_show_onnx(const struct request *q)
{
    struct onnx_model *m;
    enum emu_status s;
    uint32_t folded;

    TRY(refuse_others(q));
    TRY(read_file(q, &m));
    if (m->graph->nodes_wrong) {
        op_graph_print_problems(m->graph, stdout);
        s = FAIL(BAD_FILE, "%s: %u of %u nodes cannot run", q->what,
                 m->graph->nodes_wrong + m->graph->nodes_behind, m->graph->nodes_read);
        onnx_model_free(m);
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
    onnx_model_free(m);
    return s;
}
