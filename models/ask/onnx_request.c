/* onnx_request.c - the ONNX file of a request, read as its options say. */
#include "models/ask/onnx_request.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "models/ask/model_request.h"
#include "models/ask/network_choice.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, batch)
OPTION_READ(LIST, dim)
OPTION_READ(LIST, outputs)
OPTION_READ(NUMBER, resolution)
OPTION_READ(NUMBER, classes)
OPTION_READ(FLAG, torch_padding)
OPTION_READ(WORD, padding)
OPTION_READ(TEXT, norm)
OPTION_READ(TEXT, weights)
OPTION_READ(NUMBER, seed)
OPTION_READ(FLAG, no_calibration)
OPTION_READ(TEXT, write_weights)

int onnx_is_named(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot && !strcmp(dot, ".onnx");
}

/* A protocol buffer that begins as an ONNX model does: with the version, then the producer or the
 * model itself. */
int onnx_is_file(const char *path, const char *head, size_t n)
{
    return (onnx_is_named(path) && strlen(path) > strlen(".onnx")) ||
           (n > 3 && head[0] == 8 && head[1] > 0 && head[1] < 32 &&
            (head[2] == 0x12 || head[2] == 0x3a));
}

int onnx_is_meant(const char *what)
{
    struct stat st;

    return !network_find(what) &&
           (onnx_is_named(what) || (!stat(what, &st) && S_ISREG(st.st_mode)));
}

enum emu_status onnx_request_check(const struct request *q)
{
    const struct {
        unsigned id;
        const char *name;
    } other[] = { { OPTION_resolution, "resolution" },
                  { OPTION_classes, "classes" },
                  { OPTION_padding, "padding" },
                  { OPTION_torch_padding, "torch-padding" },
                  { OPTION_norm, "norm" },
                  { OPTION_write_weights, "write-weights" },
                  { OPTION_seed, "seed" },
                  { OPTION_no_calibration, "no-calibration" } };

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
    for (size_t k = 0; k < option_dim(q)->count; k++) {
        const char *text = option_dim(q)->item[k], *equals = strrchr(text, '=');
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

/* A batch that the file fixes is another than the one that was asked for. */
static enum emu_status check_batch(const struct request *q, const struct onnx_model *m)
{
    const struct op_graph *g = m->graph;
    char text[OP_SHAPE_TEXT];

    if (!request_has(q, OPTION_batch) || m->batched)
        return EMU_OK;
    for (uint32_t k = 0; k < g->inputs; k++) {
        const struct op_value *v = &g->value[g->input[k]];

        if (v->shape.rank && v->shape.dim[0] == option_batch(q))
            return EMU_OK;
    }
    if (!g->inputs)
        return FAIL(USAGE, "--batch %" PRIu64 ": the network has no input", option_batch(q));
    return FAIL(USAGE,
                "--batch %" PRIu64 ": the file fixes the batch: its input %s is %s; to choose it, "
                "write the file with the first dimension left open (of torch.onnx.export: "
                "dynamic_axes)",
                option_batch(q), g->value[g->input[0]].name,
                op_shape_text(&g->value[g->input[0]].shape, text));
}

enum emu_status onnx_request_read(const struct request *q, int trained, struct onnx_weights *w,
                                  struct onnx_model **out)
{
    struct onnx_dim *dim = emu_alloc(option_dim(q)->count + 1, sizeof(*dim));
    char **names = emu_alloc(option_dim(q)->count + 1, sizeof(*names));
    const struct onnx_options o = { .batch = (uint32_t)option_batch(q),
                                    .dim = dim,
                                    .dims = (unsigned)option_dim(q)->count,
                                    .output = option_outputs(q)->item,
                                    .outputs = (unsigned)option_outputs(q)->count,
                                    .replace = option_weights(q) ? onnx_weights_replace : NULL,
                                    .replace_ctx = w,
                                    .trained = trained };
    enum emu_status s = dim && names ? EMU_OK : FAIL(NO_MEMORY, "options");

    *out = NULL;
    *w = (struct onnx_weights){ .path = NULL };
    if (s == EMU_OK)
        s = onnx_weights_open(option_weights(q), w);
    if (s == EMU_OK)
        s = read_dims(q, dim, names);
    if (s == EMU_OK)
        s = onnx_read_file(q->what, &o, out);
    if (s == EMU_OK)
        s = onnx_weights_check(w);
    if (s == EMU_OK)
        s = check_batch(q, *out);
    for (size_t k = 0; names && k < option_dim(q)->count; k++)
        ss_free(names[k]);
    ss_free(names);
    ss_free(dim);
    return s;
}
