/* torch_dump.c - for torch.sh: seeds and calibrates a network, runs the reference, and writes the
 * weights (FILE.weights) and the picture, selected outputs and scores (FILE.reference) as
 * safetensors. */
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/weights/calibrate.h"
#include "models/weights/safetensors.h"

enum { OUTPUTS_MAX = 64 };

struct dump {
    struct net *net;
    const char *name[OUTPUTS_MAX]; /* of the outputs of the graph behind the scores */
    struct op_tensor out[OUTPUTS_MAX];
    uint32_t outs;
};

/* The last result of each block, and the numbers before softmax. */
static enum emu_status choose_outputs(struct dump *d)
{
    struct op_graph *g = d->net->graph;

    for (uint32_t i = 0; i + 1 < g->nodes; i++) {
        const struct op_node *n = &g->node[i];
        int logits = !strcmp(n->name, net_logits);

        if (!logits && !strcmp(n->block, n[1].block))
            continue;
        EMU_ASSERT(g->outputs < OUTPUTS_MAX);
        d->name[g->outputs] = logits ? net_logits : n->block;
        TRY(op_graph_output(g, n->out[0]));
    }
    d->outs = g->outputs;
    return EMU_OK;
}

/* The picture as f32, and the chosen outputs as f64. */
static enum emu_status write_reference(const struct dump *d, const struct op_tensor *input,
                                       const char *path)
{
    struct safetensor t[OUTPUTS_MAX];
    uint64_t n = op_shape_count(&input->shape);
    float *picture = emu_alloc(n, sizeof(*picture));
    enum emu_status s;

    if (!picture)
        return FAIL(NO_MEMORY, "a picture");
    for (uint64_t i = 0; i < n; i++)
        picture[i] = (float)input->f[i];
    for (uint32_t k = 0; k < d->outs; k++) {
        const struct op_shape *shape = k ? &d->out[k].shape : &input->shape;

        t[k] = (struct safetensor){ .name = k ? d->name[k] : "input",
                                    .type = k ? SAFETENSORS_F64 : SAFETENSORS_F32,
                                    .rank = 4,
                                    .shape = { 1, 1, 1, 1 },
                                    .elements = op_shape_count(shape),
                                    .data = k ? (const void *)d->out[k].f : picture };
        t[k].bytes = t[k].elements * (k ? 8 : 4);
        for (unsigned i = 0; i < shape->rank; i++)
            t[k].shape[i] = shape->dim[i];
    }
    s = safetensors_write(t, d->outs, path);
    ss_free(picture);
    return s;
}

static enum emu_status draw(const struct net *n, struct op_tensor *out)
{
    float *picture = emu_alloc((size_t)3 * n->batch * n->resolution * n->resolution, 4);

    TRY(op_tensor_new(&n->graph->value[n->graph->input[0]].shape, out));
    if (!picture)
        return FAIL(NO_MEMORY, "a picture");
    synthetic_pictures(n->resolution, 99, n->batch, picture);
    for (uint64_t i = 0; i < op_shape_count(&out->shape); i++)
        out->f[i] = (double)picture[i];
    ss_free(picture);
    return EMU_OK;
}

static enum emu_status dump(const char *name, const struct net_options *o, const char *file)
{
    struct dump d = { 0 };
    struct op_tensor input;
    struct weights *w;
    char path[4096];

    TRY(net_new(name, o, &d.net));
    TRY(weights_new(d.net, &w));
    weights_seed(w, d.net, 1);
    TRY(weights_calibrate(w, d.net, CALIBRATION_PICTURES));
    weights_attach(w, d.net);
    TRY(draw(d.net, &input));
    TRY(choose_outputs(&d));
    TRY(op_graph_run(d.net->graph, &input, 0, d.out));
    snprintf(path, sizeof(path), "%.4000s.weights", file);
    TRY(weights_write(w, d.net, path));
    snprintf(path, sizeof(path), "%.4000s.reference", file);
    TRY(write_reference(&d, &input, path));
    for (uint32_t k = 0; k < d.outs; k++)
        op_tensor_free(&d.out[k]);
    op_tensor_free(&input);
    weights_free(w);
    net_free(d.net);
    return EMU_OK;
}

/* torch_dump NETWORK same|torch batch|group RESOLUTION FILE */
int main(int argc, char **argv)
{
    struct net_options o = { .batch = 2 };

    if (argc != 6)
        return 2;
    o.torch_padding = !strcmp(argv[2], "torch");
    o.norm = argv[3];
    o.resolution = (uint32_t)atoi(argv[4]);
    if (dump(argv[1], &o, argv[5]) == EMU_OK)
        return 0;
    fprintf(stderr, "torch_dump: %s\n", ss_error());
    return 1;
}
