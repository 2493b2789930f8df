/* fuzz_safetensors.c - any bytes as a file of weights: refused with the file in the message, or
 * read; then every number of it can be looked at, and a small network takes it or refuses it. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "models/weights/safetensors.h"
#include "models/weights/weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void convert(const struct safetensor *t)
{
    float *out = emu_alloc(t->elements + 1, sizeof(*out));

    if (out && safetensors_is_real(t))
        safetensors_to_f32(t, out);
    EMU_ASSERT(!out || out[t->elements] == 0);
    emu_free(out);
}

/* A picture, a 1x1 convolution of 3 to 2 channels called a, and a batch norm called b. */
static void as_weights(const uint8_t *data, size_t size)
{
    struct layer l[3] = {
        { .op = LAYER_INPUT, .in_c = 3, .out_c = 3 },
        { .op = LAYER_CONV,
          .param = "a",
          .in_c = 3,
          .out_c = 2,
          .kernel = 1,
          .groups = 1,
          .weight_rank = 4 },
        { .op = LAYER_NORM, .param = "b", .in_c = 2, .out_c = 2, .weight_rank = 1 },
    };
    const struct net n = { .name = "fuzz", .batch = 1, .layer = l, .layers = 3 };
    struct weights *w;
    enum emu_status s = weights_new(&n, &w);

    if (s != EMU_OK)
        return;
    s = weights_read_bytes(w, &n, data, size, "fuzz", NULL);
    EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
    for (uint32_t i = 0; i < w->params; i++) {
        for (uint64_t k = 0; k < w->param[i].elements; k++)
            EMU_ASSERT(isfinite(w->param[i].data[k]));
    }
    weights_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors f;
    char text[200];

    as_weights(data, size);
    if (safetensors_open(data, size, "fuzz", &f) != EMU_OK) {
        EMU_ASSERT(!f.tensor && strstr(emu_error(), "fuzz"));
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
