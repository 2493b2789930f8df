/* fuzz_safetensors.c - any bytes as a file of weights: refused with the file in the message, or
 * read; then every number of it can be looked at, and a small network takes it or refuses it. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/net/net_build.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(const struct safetensor *t)
{
    float *out = emu_alloc(t->elements + 1, sizeof(*out));

    if (out && safetensors_is_real(t))
        safetensors_to_f32(t, out);
    EMU_ASSERT(!out || out[t->elements] == 0);
    ss_free(out);
}

/* A network with the 1x1 convolution of 3 to 2 channels called a and the batch norm called b. */
static struct net *small_net(void)
{
    struct net *n = emu_alloc(1, sizeof(*n));
    struct net_builder b = { .net = n, .batch_eps = 1e-3 };
    uint32_t x;

    if (!n)
        return NULL;
    n->batch = n->classes = 1;
    n->resolution = NET_SIDE_MIN;
    b.status = op_graph_new("fuzz", &n->graph);
    build_block(&b, "small", "small");
    x = build_picture(&b);
    x = build_conv(&b, x, "a", "a", (struct build_kernels){ 2, 1, 1, 1 });
    build_norm(&b, x, "b", "b", PARAM_NORM);
    EMU_ASSERT(b.status == EMU_OK || b.status == EMU_NO_MEMORY);
    return n;
}

static void as_weights(const uint8_t *data, size_t size)
{
    struct net *n = small_net();
    struct weights *w;
    enum emu_status s = n ? weights_new(n, &w) : EMU_NO_MEMORY;

    if (s == EMU_OK) {
        s = weights_read_bytes(w, n, data, size, "fuzz", NULL);
        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        for (uint32_t i = 0; i < w->params; i++) {
            for (uint64_t k = 0; k < w->param[i].elements; k++)
                EMU_ASSERT(isfinite(w->param[i].data[k]));
        }
        weights_free(w);
    }
    net_free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors f;
    char text[200];

    as_weights(data, size);
    if (safetensors_open(data, size, "fuzz", &f) != EMU_OK) {
        EMU_ASSERT(!f.tensor && strstr(ss_error(), "fuzz"));
        return 0;
    }
    for (size_t i = 0; i < f.tensors; i++) {
        const struct safetensor *t = &f.tensor[i];

        EMU_ASSERT((const uint8_t *)t->data >= data &&
                   (const uint8_t *)t->data + t->bytes <= data + size);
        safetensors_text(t, text);
        convert(t);
    }
    safetensors_free(&f);
    return 0;
}
