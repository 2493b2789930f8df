/* onnx_weights.c - tensors of a safetensors file in place of initializers, as the model's types. */
#include "models/ask/onnx_weights.h"

#include <string.h>

enum emu_status onnx_weights_open(const char *path, struct onnx_weights *out)
{
    *out = (struct onnx_weights){ .path = path };
    if (!path)
        return EMU_OK;
    TRY(onnx_map(path, &out->file));
    TRY(safetensors_open(out->file.at, out->file.bytes, path, &out->tensors));
    out->used = emu_alloc(out->tensors.tensors + 1, 1);
    return out->used ? EMU_OK : FAIL(NO_MEMORY, "%s", path);
}

void onnx_weights_free(struct onnx_weights *w)
{
    for (size_t k = 0; k < w->mades; k++)
        ss_free(w->made[k]);
    ss_free(w->made);
    ss_free(w->used);
    safetensors_free(&w->tensors);
    onnx_unmap(&w->file);
    *w = (struct onnx_weights){ .path = NULL };
}

static int same_shape(const struct op_shape *s, const struct safetensor *t)
{
    if (s->rank != t->rank)
        return 0;
    for (unsigned k = 0; k < s->rank; k++) {
        if (s->dim[k] != t->shape[k])
            return 0;
    }
    return 1;
}

/* Numbers of a tensor as the elements of a type. */
static enum emu_status convert(struct onnx_weights *w, const struct safetensor *t,
                               const struct op_shape *s, const void **data)
{
    uint8_t *to = emu_alloc(t->elements + 1, op_type_bytes(s->type));
    float *from = emu_alloc(t->elements + 1, sizeof(*from));
    struct op_tensor numbers = { .any = NULL };
    enum emu_status st = to && from
                             ? emu_grow((void **)&w->made, w->mades, &w->made_cap, sizeof(*w->made))
                             : FAIL(NO_MEMORY, "%s", t->name);

    if (st == EMU_OK)
        st = op_tensor_new(s, &numbers);
    if (st == EMU_OK) {
        safetensors_to_f32(t, from);
        for (uint64_t k = 0; k < t->elements; k++)
            numbers.f[k] = (double)from[k];
        op_tensor_pack(&numbers, to);
        w->made[w->mades++] = to;
        *data = to;
        to = NULL;
    }
    op_tensor_free(&numbers);
    ss_free(from);
    ss_free(to);
    return st;
}

enum emu_status onnx_weights_replace(void *ctx, const char *name, const struct op_shape *s,
                                     const void **data)
{
    struct onnx_weights *w = ctx;
    const struct safetensor *t;
    char have[200], want[OP_SHAPE_TEXT];
    size_t k = 0;

    while (k < w->tensors.tensors && strcmp(w->tensors.tensor[k].name, name))
        k++;
    if (k == w->tensors.tensors)
        return EMU_OK;
    t = &w->tensors.tensor[k];
    safetensors_text(t, have);
    if (!same_shape(s, t) || !safetensors_is_real(t) || op_type_kind(s->type) != OP_KIND_FLOAT)
        return FAIL(BAD_FILE, "it is %s, %s has %s", op_shape_text(s, want), w->path, have);
    w->used[k] = 1;
    w->taken++;
    *data = t->data;
    return s->type == OP_TYPE_F32 && t->type == SAFETENSORS_F32 ? EMU_OK : convert(w, t, s, data);
}

enum emu_status onnx_weights_check(const struct onnx_weights *w)
{
    static const char counter[] = ".num_batches_tracked";

    for (size_t k = 0; k < w->tensors.tensors; k++) {
        const char *name = w->tensors.tensor[k].name;
        size_t n = strlen(name);

        if (!w->used[k] && (n < sizeof(counter) || strcmp(name + n + 1 - sizeof(counter), counter)))
            return FAIL(BAD_FILE, "%s: the model has no initializer %s", w->path, name);
    }
    return EMU_OK;
}
