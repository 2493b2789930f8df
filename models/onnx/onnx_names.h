/* onnx_names.h - tables of names that lie in a file, and names of modules in those of nodes. */
#ifndef MODELS_ONNX_NAMES_H
#define MODELS_ONNX_NAMES_H

#include "emu/base/alloc.h"
#include "models/onnx/onnx_text.h"

enum { ONNX_NAME_NONE = UINT32_MAX };

/* Names by index, in the order in which they were added. Zero it before use. */
struct onnx_names {
    struct wire_span *name; /* owned; the texts are borrowed */
    uint32_t names;
    size_t cap;
    uint32_t *slot, slots; /* owned hash table: indices + 1 */
};

void onnx_names_free(struct onnx_names *t);
uint32_t onnx_names_find(const struct onnx_names *t, struct wire_span name); /* or ONNX_NAME_NONE */
/* Adds a name that is not there. *out: its index. EMU_NO_MEMORY. */
enum emu_status onnx_names_add(struct onnx_names *t, struct wire_span name,
                               uint32_t *out) EMU_MUST_CHECK;

/* --- modules ------------------------------------------------------------------------------ */

/* Exporters name a node by the path of its module and its operator: "/layer1/layer1.0/conv1/Conv".
 * A folder is left out if the next one begins with its name and a dot. So the module here is
 * layer1.0.conv1, with which the names of its parameters begin, too. Zero it before use. */
struct onnx_modules {
    struct onnx_names path;     /* "/layer1/layer1.0/conv1" */
    struct onnx_module *module; /* owned; by index of path */
    size_t cap;
};

struct onnx_module {
    uint32_t nodes; /* right in it */
    int holds;      /* other modules */
};

void onnx_modules_free(struct onnx_modules *m);
/* Notes the path of a node's name, if it is one. EMU_NO_MEMORY. */
enum emu_status onnx_modules_add(struct onnx_modules *m, struct wire_span node) EMU_MUST_CHECK;

/* What a node is called, after all names have been added: the module if it has this node only
 * ("layer1.0.conv1"), else the module and the last part ("layer1.0.Add"); a name that is no path as
 * it is. block: the module that holds others ("layer1.0"), "" if there is none. */
void onnx_modules_name(const struct onnx_modules *m, struct wire_span node,
                       char name[ONNX_TEXT_MAX + 1], char block[ONNX_TEXT_MAX + 1]);
/* The block of a name like "layer1.0.conv1" or "layer1.0.downsample.0": numbers count members of
 * what is before them, so both are in "layer1.0". */
void onnx_block_of(const char *name, char block[ONNX_TEXT_MAX + 1]);

#endif
