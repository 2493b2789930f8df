/* onnx_reference.c - an ONNX file in f64, as it is and after all passes, beside the answer of
 * somebody else: onnx_reference FILE.onnx INPUT.pb OUTPUT.pb
 *
 * Prints both errors as parts of the largest number, and fails if one is above 1e-4: exporters
 * compute in f32.
 */
#include <math.h>
#include <stdio.h>

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_map.h"
#include "models/pass/op_pass.h"

static enum emu_status read_tensor(const char *path, struct op_tensor *out)
{
    struct onnx_mapped m;
    enum emu_status s;

    TRY(onnx_map(path, &m));
    s = onnx_tensor_read(m.at, m.bytes, path, out);
    onnx_unmap(&m);
    return s;
}

/* The largest difference to `want`, as a part of its largest number. */
static double error_of(const struct op_tensor *got, const struct op_tensor *want)
{
    double largest = 0, error = 0;

    if (!op_shape_equal(&got->shape, &want->shape))
        return INFINITY;
    for (uint64_t k = 0; k < op_shape_count(&want->shape); k++) {
        double e = fabs(got->f[k] - want->f[k]);

        largest = fmax(largest, fabs(want->f[k]));
        error = e <= error ? error : isnan(e) ? INFINITY : e;
    }
    return error / largest;
}

static enum emu_status run(const struct op_graph *g, const struct op_tensor *x,
                           const struct op_tensor *want, const char *what, int *good)
{
    struct op_tensor y;
    double error;

    TRY(op_graph_run(g, x, 0, &y));
    error = error_of(&y, want);
    printf("  %4u nodes %-12s %.1e of the largest output\n", g->nodes, what, error);
    *good &= error <= 1e-4;
    op_tensor_free(&y);
    return EMU_OK;
}

static enum emu_status compare(char **argv, int *good)
{
    struct op_tensor x, y;
    struct onnx_model *m;
    enum emu_status s;

    TRY(onnx_read_file(argv[1], NULL, &m));
    if (m->graph->nodes_wrong || m->graph->inputs != 1 || m->graph->outputs != 1)
        return FAIL(USAGE, "%s: cannot run, or has not one input and one output", argv[1]);
    TRY(read_tensor(argv[2], &x));
    TRY(read_tensor(argv[3], &y));
    TRY(op_graph_tidy(m->graph));
    s = run(m->graph, &x, &y, "as read", good);
    if (s == EMU_OK)
        s = pass_all(m->graph);
    if (s == EMU_OK)
        s = run(m->graph, &x, &y, "after passes", good);
    op_tensor_free(&x);
    op_tensor_free(&y);
    onnx_model_free(m);
    return s;
}

int main(int argc, char **argv)
{
    int good = 1;

    if (argc != 4 || compare(argv, &good) != EMU_OK) {
        fprintf(stderr, "onnx_reference: %s\n",
                argc == 4 ? ss_error() : "FILE.onnx INPUT.pb OUTPUT.pb");
        return 2;
    }
    return !good;
}
