/* fuzz_onnx.c - any bytes as an ONNX file: refused with the file in the message, or a graph that
 * holds together, also after all passes, whose outputs keep their shapes; a small one that can run
 * is run before and after. The bytes are read as one tensor, too. */
#include <stdint.h>
#include <string.h>

#include "models/onnx/onnx.h"
#include "models/pass/op_pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RUN_MAX = 4096, PORTS_MAX = 16 }; /* elements of all values, inputs and outputs */

static int is_small(const struct op_graph *g)
{
    uint64_t n = 0;

    for (uint32_t v = 0; v < g->values; v++) {
        n += op_shape_count(&g->value[v].shape);
        if (n > RUN_MAX)
            return 0;
    }
    return g->inputs <= PORTS_MAX && g->outputs <= PORTS_MAX;
}

/* With zeros for inputs. */
static void run(const struct op_graph *g)
{
    struct op_tensor in[PORTS_MAX] = { 0 }, out[PORTS_MAX] = { 0 };
    enum emu_status s = EMU_OK;

    for (uint32_t k = 0; s == EMU_OK && k < g->inputs; k++)
        s = op_tensor_new(&g->value[g->input[k]].shape, &in[k]);
    if (s == EMU_OK)
        s = op_graph_run(g, in, 1, out);
    if (s != EMU_OK && s != EMU_NO_MEMORY)
        emu_abort(__FILE__, __LINE__, ss_error());
    for (uint32_t k = 0; k < PORTS_MAX; k++) {
        op_tensor_free(&in[k]);
        op_tensor_free(&out[k]);
    }
}

/* Only memory may be missing. */
static void passes(struct op_graph *g)
{
    struct op_shape before[PORTS_MAX];
    enum emu_status s;

    if (g->outputs > PORTS_MAX)
        return;
    for (uint32_t k = 0; k < g->outputs; k++)
        before[k] = g->value[g->output[k]].shape;
    s = pass_all(g);
    EMU_ASSERT(s == EMU_OK || s == EMU_NO_MEMORY);
    if (s != EMU_OK || g->problems)
        return;
    for (uint32_t k = 0; k < g->outputs; k++) {
        const struct op_shape *now = &g->value[g->output[k]].shape;

        EMU_ASSERT(op_shape_equal(&before[k], now) && before[k].type == now->type);
    }
    if (is_small(g))
        run(g);
}

static void as_model(const uint8_t *data, size_t size)
{
    const struct onnx_options o = { .batch = 2 };
    struct onnx_model *m;
    enum emu_status s = onnx_read_bytes(data, size, "fuzz", &o, &m);

    if (s != EMU_OK) {
        EMU_ASSERT(!m && strstr(ss_error(), "fuzz"));
        EMU_ASSERT(s == EMU_BAD_FILE || s == EMU_USAGE || s == EMU_NO_MEMORY);
        return;
    }
    EMU_ASSERT(op_graph_check(m->graph) == EMU_OK);
    if (!m->graph->problems && op_graph_tidy(m->graph) == EMU_OK) {
        EMU_ASSERT(op_graph_check(m->graph) == EMU_OK);
        if (is_small(m->graph))
            run(m->graph);
        passes(m->graph);
    }
    onnx_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct op_tensor t;

    as_model(data, size);
    if (onnx_tensor_read(data, size, "fuzz", &t) == EMU_OK)
        op_tensor_free(&t);
    EMU_ASSERT(alloc_live() == 0);
    return 0;
}
