/* safetensors_write.c - writes tensors as a safetensors file. */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/base/output_file.h"
#include "models/weights/safetensors.h"

static json_t *tensor_json(const struct safetensor *t, uint64_t begin)
{
    json_t *shape = json_array();
    int bad = 0;

    for (unsigned i = 0; shape && i < t->rank; i++)
        bad |= json_array_append_new(shape, json_integer((json_int_t)t->shape[i]));
    if (bad || !shape) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", safetensors_type_name(t->type), "shape",
                     shape, "data_offsets", (json_int_t)begin, (json_int_t)(begin + t->bytes));
}

/* The text of the header, padded with spaces so that the data begin at a multiple of 8. The caller
 * must free() it. */
static char *header_text(const struct safetensor *t, size_t tensors, uint64_t *bytes)
{
    json_t *root = json_object();
    uint64_t at = 0;
    char *text = NULL, *padded;
    size_t n;
    int bad = !root;

    for (size_t i = 0; !bad && i < tensors; i++) {
        bad = json_object_set_new(root, t[i].name, tensor_json(&t[i], at));
        at += t[i].bytes;
    }
    if (!bad)
        text = json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(root);
    if (!text)
        return NULL;
    n = strlen(text);
    *bytes = (n + 7) / 8 * 8;
    padded = realloc(text, (size_t)*bytes + 1);
    if (!padded) {
        free(text);
        return NULL;
    }
    memset(padded + n, ' ', (size_t)*bytes - n);
    return padded;
}

static int put(const char *header, uint64_t bytes, const struct safetensor *t, size_t tensors,
               FILE *f)
{
    uint8_t length[8];

    for (unsigned i = 0; i < 8; i++)
        length[i] = (uint8_t)(bytes >> 8 * i);
    if (fwrite(length, 1, 8, f) != 8 || fwrite(header, 1, (size_t)bytes, f) != bytes)
        return -1;
    for (size_t i = 0; i < tensors; i++) {
        if (fwrite(t[i].data, 1, (size_t)t[i].bytes, f) != t[i].bytes)
            return -1;
    }
    return fflush(f);
}

enum emu_status safetensors_write_to(const struct safetensor *t, size_t tensors,
                                     const struct output_file *out)
{
    uint64_t bytes = 0;
    char *header = header_text(t, tensors, &bytes);
    enum emu_status s = EMU_OK;

    if (!header)
        return FAIL(NO_MEMORY, "%.200s: a header for %zu tensors", output_path(out), tensors);
    errno = 0;
    if (put(header, bytes, t, tensors, output_stream(out)))
        s = FAIL(IO, "%.200s: %s", output_path(out), strerror(errno ? errno : EIO));
    free(header);
    return s;
}

enum emu_status safetensors_write(const struct safetensor *t, size_t tensors, const char *path)
{
    struct output_file *out;

    TRY(output_open(path, &out));
    return output_end(out, safetensors_write_to(t, tensors, out));
}
