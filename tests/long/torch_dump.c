/* torch_dump.c - for torch.sh: seeds and calibrates a network, runs the reference, and writes the
 * weights (FILE.weights) and the picture, selected outputs and scores (FILE.reference) as
 * safetensors. */
#include <stdlib.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/ref/ref.h"
#include "models/weights/safetensors.h"

enum { OUTPUTS_MAX = 64 };

struct dump {
    const struct net *net;
    struct safetensor tensor[OUTPUTS_MAX];
    size_t tensors;
};

static enum emu_status keep(struct dump *d, const char *name, enum safetensors_type type,
                            const struct layer *l, const void *data)
{
    struct safetensor *t = &d->tensor[d->tensors++];
    uint64_t elements = layer_elements(l) * d->net->batch;
    size_t bytes = elements * (type == SAFETENSORS_F64 ? 8 : 4);
    void *copy = emu_alloc(bytes, 1);

    EMU_ASSERT(d->tensors < OUTPUTS_MAX);
    if (!copy)
        return FAIL(NO_MEMORY, "%s", name);
    memcpy(copy, data, bytes);
    *t = (struct safetensor){ name,     type,  4,   { d->net->batch, l->out_c, l->out_h, l->out_w },
                              elements, bytes, copy };
    return EMU_OK;
}

/* The last layer of each block, and the scores before softmax. */
static enum emu_status keep_output(void *arg, uint32_t layer, const double *const in[2],
                                   const double *out)
{
    struct dump *d = arg;
    const struct layer *l = &d->net->layer[layer];

    (void)in;
    if (l->op == LAYER_INPUT || l->op == LAYER_SOFTMAX ||
        (l->op != LAYER_LINEAR && !strcmp(l->block, l[1].block)) || strstr(l->name, ".se."))
        return EMU_OK;
    return keep(d, l->op == LAYER_LINEAR ? "fc" : l->block, SAFETENSORS_F64, l, out);
}

static enum emu_status dump(const char *name, const struct net_options *o, const char *file)
{
    struct dump d = { 0 };
    struct weights *w;
    struct net *n;
    float *input;
    char path[4096];

    TRY(net_new(name, o, &n));
    TRY(weights_new(n, &w));
    weights_seed(w, n, 1);
    TRY(weights_calibrate(w, n, CALIBRATION_PICTURES));
    input = emu_alloc((size_t)3 * n->batch * n->resolution * n->resolution, sizeof(*input));
    if (!input)
        return FAIL(NO_MEMORY, "a picture");
    ref_pictures(n->resolution, 99, n->batch, input);
    d.net = n;
    TRY(keep(&d, "input", SAFETENSORS_F32, &n->layer[0], input));
    TRY(ref_walk(n, w, input, keep_output, &d));
    snprintf(path, sizeof(path), "%.4000s.weights", file);
    TRY(weights_write(w, n, path));
    snprintf(path, sizeof(path), "%.4000s.reference", file);
    TRY(safetensors_write(d.tensor, d.tensors, path));
    for (size_t i = 0; i < d.tensors; i++)
        emu_free((void *)d.tensor[i].data);
    emu_free(input);
    weights_free(w);
    net_free(n);
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
    fprintf(stderr, "torch_dump: %s\n", emu_error());
    return 1;
}
