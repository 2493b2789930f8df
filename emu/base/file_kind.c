/* file_kind.c - the one table of files that people give in place of others: of programs, networks,
 * weights. */
#include "emu/base/file_kind.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "emu/base/fail.h"

enum { MAGIC_MAX = 24 };

#define EXPORT  "export the network with torch.onnx.export()"
#define SAVE    "save its weights with safetensors.torch.save_file(model.state_dict(), FILE)"
#define PICTURE "superstep run NETWORK --image FILE takes it"

static const struct kind {
    size_t at; /* of the magic bytes */
    size_t length;
    char magic[MAGIC_MAX];
    /* What it is; what to do for a network, for weights. NULL: that is what was wanted. */
    const char *what, *network, *weights;
} kinds[] = {
#define KIND(at, magic, what, network, weights)                                                    \
    {                                                                                              \
        at, sizeof(magic) - 1, magic, what, network, weights                                       \
    }
    KIND(0, "\xff\xd8\xff", "a JPEG picture", PICTURE, PICTURE),
    KIND(0, "\x89PNG\r\n\x1a\n", "a PNG picture", PICTURE, PICTURE),
    KIND(0, "superstep-digests ", "what --digests wrote", "superstep diff FILE OTHER",
         "superstep diff FILE OTHER"),
    KIND(0, "superstep-unit ", "a unit of assembled code", "superstep dis FILE",
         "superstep dis FILE"),
    KIND(0, "version https://git-lfs", "a Git LFS pointer, not the file itself",
         "fetch it with git lfs pull", "fetch it with git lfs pull"),
    KIND(0, "PK\x03\x04", "a zip archive, as torch.save() writes", EXPORT, SAVE),
    KIND(0, "\x80\x02", "a pickle, as torch.save() once wrote", EXPORT, SAVE),
    KIND(0, "\x80\x03", "a pickle", EXPORT, SAVE),
    KIND(0, "\x80\x04", "a pickle", EXPORT, SAVE),
    KIND(0, "\x80\x05", "a pickle", EXPORT, SAVE),
    KIND(4, "TFL3", "a TensorFlow Lite model", "convert it with tf2onnx (--tflite FILE)",
         "convert it with tf2onnx (--tflite FILE)"),
    KIND(4, "ORTM", "a model in ONNX Runtime's own format", "give the .onnx that it was made of",
         "give the .onnx that it was made of"),
    KIND(0, "\x89HDF\r\n", "an HDF5 file, as Keras writes",
         "convert it with tf2onnx (--keras FILE)", "save its weights as safetensors"),
    KIND(0, "GGUF", "a GGUF file", "it has weights, but no network: export it to ONNX",
         "save its weights as safetensors"),
    KIND(0, "\x1f\x8b", "compressed by gzip", "unpack it with gunzip", "unpack it with gunzip"),
    KIND(0, "\x93NUMPY", "a NumPy array", "it has no network: --input takes it",
         "save the weights as safetensors"),
    KIND(4, "\0\0\0\0{", "a safetensors file",
         "it has weights, but no network: superstep run NETWORK --weights FILE takes it", NULL),
#undef KIND
};

/* Whether text is the beginning of a page, behind blanks. */
static int is_page(const char *text, size_t bytes)
{
    static const char *const tags[] = { "<!doctype", "<html", "<?xml" };
    size_t at = 0;

    while (at < bytes && text[at] && strchr(" \t\r\n", text[at]))
        at++;
    for (unsigned k = 0; k < EMU_COUNT_OF(tags); k++) {
        if (bytes - at >= strlen(tags[k]) && !strncasecmp(text + at, tags[k], strlen(tags[k])))
            return 1;
    }
    return 0;
}

const char *file_kind(const void *data, size_t bytes, enum file_use use)
{
    static _Thread_local char text[200];
    const char *is = data;

    if (!bytes)
        return "an empty file: it was not written, or not fetched, to its end";
    if (is_page(is, bytes))
        return "a page of a website (HTML or XML), not the file itself: fetch what its download "
               "link gives";
    for (unsigned k = 0; k < EMU_COUNT_OF(kinds); k++) {
        const struct kind *kind = &kinds[k];
        const char *to_do = use == FILE_OF_WEIGHTS ? kind->weights : kind->network;

        if (!to_do || bytes < kind->at + kind->length ||
            memcmp(is + kind->at, kind->magic, kind->length))
            continue;
        snprintf(text, sizeof(text), "%s: %s", kind->what, to_do);
        return text;
    }
    return NULL;
}
