/* train_step_reference.c - one step of training in f64, by the operators' plain meaning, at sizes
 * that no chip holds: train_step_reference FILE.onnx DATA GRADIENTS
 *
 * DATA: f64, what the network reads, then its targets. Prints the loss, then a line "NAME COUNT"
 * for each parameter, whose gradient follows the others in GRADIENTS as f64.
 */
#include <stdio.h>
#include <string.h>

#include "models/onnx/onnx.h"
#include "models/onnx/onnx_map.h"
#include "models/pass/op_pass.h"
#include "models/train/train_reference.h"

static enum emu_status take_numbers(const struct op_graph *g, uint32_t value, const double **from,
                                    const double *end, struct op_tensor *out)
{
    uint64_t n = op_shape_count(&g->value[value].shape);

    if (n > (uint64_t)(end - *from))
        return FAIL(BAD_FILE, "DATA is too short for %s", g->value[value].name);
    TRY(op_tensor_new(&g->value[value].shape, out));
    memcpy(out->f, *from, n * sizeof(*out->f));
    *from += n;
    return EMU_OK;
}

/* After a first step without a past, momenta are gradients. */
static enum emu_status write_gradients(const struct train_reference *r, FILE *f)
{
    static const char suffix[] = ".momentum";

    for (uint32_t k = 0; k < r->g->inputs; k++) {
        const struct op_value *v = &r->g->value[r->g->input[k]];
        size_t length = strlen(v->name), n = op_shape_count(&v->shape);

        if (v->kind != OP_STATE || length < sizeof(suffix) ||
            strcmp(v->name + length - sizeof(suffix) + 1, suffix))
            continue;
        printf("%.*s %zu\n", (int)(length - sizeof(suffix) + 1), v->name, n);
        if (fwrite(train_reference_state(r, r->g->input[k])->f, sizeof(double), n, f) != n)
            return FAIL(IO, "gradients cannot be written");
    }
    return EMU_OK;
}

static enum emu_status step(struct op_graph *g, const char *data, FILE *f)
{
    struct train_optimiser o;
    struct train_step t;
    struct train_reference r;
    struct op_tensor x, targets;
    struct onnx_mapped m;
    const double *at;
    double loss;

    TRY(op_graph_tidy(g));
    TRY(pass_join_pads(g));
    TRY(pass_recognise(g));
    TRY(pass_group_norms(g));
    TRY(train_optimiser_of("sgd", &o));
    TRY(train_step_make(g, &o, &t));
    TRY(train_reference_new(g, &t, &r));
    TRY(onnx_map(data, &m));
    at = (const double *)m.at;
    TRY(take_numbers(g, t.data, &at, (const double *)m.at + m.bytes / sizeof(double), &x));
    TRY(take_numbers(g, t.targets, &at, (const double *)m.at + m.bytes / sizeof(double), &targets));
    TRY(train_reference_step(&r, &x, &targets, 0, &loss, NULL));
    printf("%.17g\n", loss);
    TRY(write_gradients(&r, f));
    op_tensor_free(&x);
    op_tensor_free(&targets);
    onnx_unmap(&m);
    train_reference_free(&r);
    return EMU_OK;
}

static enum emu_status run(char **argv)
{
    const struct onnx_options o = { .trained = 1 };
    struct onnx_model *m;
    FILE *f = fopen(argv[3], "wb");

    if (!f)
        return FAIL(IO, "%s cannot be written", argv[3]);
    TRY(onnx_read_file(argv[1], &o, &m));
    TRY(step(m->graph, argv[2], f));
    onnx_model_free(m);
    return fclose(f) ? FAIL(IO, "%s cannot be written", argv[3]) : EMU_OK;
}

int main(int argc, char **argv)
{
    if (argc != 4 || run(argv) != EMU_OK) {
        fprintf(stderr, "train_step_reference: %s\n",
                argc == 4 ? ss_error() : "FILE.onnx DATA GRADIENTS");
        return 2;
    }
    return 0;
}
