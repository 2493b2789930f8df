/* onnx_names.c - a hash table of names, and modules by the paths in names of nodes. */
#include <string.h>

#include "emu/base/hash.h"
#include "models/onnx/onnx_names.h"

void onnx_names_free(struct onnx_names *t)
{
    ss_free(t->name);
    ss_free(t->slot);
    *t = (struct onnx_names){ .name = NULL };
}

/* The slot of a name: that where it is, or the free one where it belongs. */
static uint32_t slot_of(const struct onnx_names *t, struct wire_span name)
{
    uint32_t at = (uint32_t)hash64(name.at, wire_length(name)) & (t->slots - 1);

    while (t->slot[at] && !onnx_text_same(t->name[t->slot[at] - 1], name))
        at = (at + 1) & (t->slots - 1);
    return at;
}

uint32_t onnx_names_find(const struct onnx_names *t, struct wire_span name)
{
    return t->slots ? t->slot[slot_of(t, name)] - 1 : ONNX_NAME_NONE;
}

/* Makes room for one more name: the table is at most half full. */
static enum emu_status grow(struct onnx_names *t)
{
    uint32_t slots = t->slots ? 2 * t->slots : 16;

    TRY(emu_grow((void **)&t->name, t->names, &t->cap, sizeof(*t->name)));
    if (2 * (t->names + 1) <= t->slots)
        return EMU_OK;
    ss_free(t->slot);
    t->slots = 0;
    t->slot = emu_alloc(slots, sizeof(*t->slot));
    if (!t->slot)
        return FAIL(NO_MEMORY, "%u names", t->names);
    t->slots = slots;
    for (uint32_t k = 0; k < t->names; k++)
        t->slot[slot_of(t, t->name[k])] = k + 1;
    return EMU_OK;
}

enum emu_status onnx_names_add(struct onnx_names *t, struct wire_span name, uint32_t *out)
{
    uint32_t at;

    *out = ONNX_NAME_NONE;
    TRY(grow(t));
    at = slot_of(t, name);
    EMU_ASSERT(!t->slot[at]);
    *out = t->names;
    t->name[t->names++] = name;
    t->slot[at] = t->names;
    return EMU_OK;
}

/* --- modules ------------------------------------------------------------------------------ */

enum { DEPTH_MAX = 32 }; /* of modules; a name with more of them is no path */

/* What is in front of the last part of "/a/b/Op": "/a/b"; "" of "/Op". 0: the name is no path. */
static int path_of(struct wire_span node, struct wire_span *path)
{
    unsigned depth = 0;

    *path = (struct wire_span){ node.at, node.at };
    for (const uint8_t *p = node.at; p < node.end; p++) {
        if (*p != '/')
            continue;
        if (p + 1 == node.end || p[1] == '/' || ++depth > DEPTH_MAX + 1)
            return 0;
        path->end = p;
    }
    return node.at < node.end && *node.at == '/';
}

void onnx_modules_free(struct onnx_modules *m)
{
    onnx_names_free(&m->path);
    ss_free(m->module);
    m->module = NULL;
}

static enum emu_status module_at(struct onnx_modules *m, struct wire_span path,
                                 struct onnx_module **out)
{
    uint32_t at = onnx_names_find(&m->path, path);

    if (at == ONNX_NAME_NONE) {
        TRY(emu_grow((void **)&m->module, m->path.names, &m->cap, sizeof(*m->module)));
        TRY(onnx_names_add(&m->path, path, &at));
        m->module[at] = (struct onnx_module){ 0 };
    }
    *out = &m->module[at];
    return EMU_OK;
}

enum emu_status onnx_modules_add(struct onnx_modules *m, struct wire_span node)
{
    struct onnx_module *at;
    struct wire_span path;

    if (!path_of(node, &path))
        return EMU_OK;
    TRY(module_at(m, path, &at));
    at->nodes++;
    for (const uint8_t *p = path.end; p-- > path.at + 1;) {
        if (*p != '/')
            continue;
        TRY(module_at(m, (struct wire_span){ path.at, p }, &at));
        if (at->holds)
            break; /* and so do those above it */
        at->holds = 1;
    }
    return EMU_OK;
}

/* "/layer1/layer1.0/conv1" as "layer1.0.conv1". Returns the length. */
static size_t join(struct wire_span path, char *out)
{
    size_t n = 0;

    for (const uint8_t *part = path.at + 1, *end; part < path.end; part = end + 1) {
        size_t length;

        end = memchr(part, '/', (size_t)(path.end - part));
        end = end ? end : path.end;
        length = (size_t)(end - part);
        if ((size_t)(path.end - end) > length + 1 && !memcmp(part, end + 1, length) &&
            end[1 + length] == '.')
            continue;
        if (n)
            out[n++] = '.';
        memcpy(out + n, part, length);
        n += length;
    }
    out[n] = '\0';
    return n;
}

void onnx_modules_name(const struct onnx_modules *m, struct wire_span node,
                       char name[ONNX_TEXT_MAX + 1], char block[ONNX_TEXT_MAX + 1])
{
    const struct onnx_module *at;
    struct wire_span path;
    size_t n;

    if (!path_of(node, &path)) {
        onnx_text_copy(node, name);
        onnx_block_of(name, block);
        return;
    }
    n = join(path, name);
    at = &m->module[onnx_names_find(&m->path, path)];
    if (at->holds)
        memcpy(block, name, n + 1);
    else
        onnx_block_of(name, block);
    if (n && (at->holds || at->nodes > 1))
        name[n++] = '.';
    else if (n)
        return;
    onnx_text_copy((struct wire_span){ path.end + 1, node.end }, name + n);
}

void onnx_block_of(const char *name, char block[ONNX_TEXT_MAX + 1])
{
    size_t n = strlen(name), begin;
    int number;

    memcpy(block, name, n + 1);
    do {
        for (begin = n; begin && block[begin - 1] != '.' && block[begin - 1] != '/'; begin--)
            ;
        number = begin < n && strspn(block + begin, "0123456789") == n - begin;
        n = begin ? begin - 1 : 0;
        block[n] = '\0';
    } while (number && n);
}
