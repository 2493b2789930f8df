/* codelet_code.c - links the codelets that a program uses for one address.
 *
 * The codelets are assembled when this library is built. The result, one relocatable object
 * (emu/asm/asm_object.h) in which the code of codelet NAME is section .text.NAME, is embedded. */
#include <string.h>

#include "programs/library/kernel/codelet_table.h"

/* Copies all sections into one block: code has no writable parts. */
static enum emu_status copy_sections(const struct asm_image *image, struct codelet_code *out)
{
    uint8_t *code;

    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        if (s->addr + s->size - out->addr > out->bytes)
            out->bytes = s->addr + s->size - out->addr;
    }
    code = emu_alloc(out->bytes ? out->bytes : 1, 1);
    if (!code)
        return FAIL(NO_MEMORY, "the code of codelets");
    for (size_t i = 0; i < image->section_count; i++)
        memcpy(code + (image->section[i].addr - out->addr), image->section[i].bytes,
               image->section[i].size);
    out->code = code;
    return EMU_OK;
}

static enum emu_status find_entries(const struct asm_image *image, const struct codelet *const *set,
                                    size_t n, struct codelet_code *out)
{
    for (size_t i = 0; i < n; i++) {
        const struct asm_symbol *s = asm_symbol_find(image, set[i]->name);

        if (!s)
            return FAIL(BAD_ASM, "section .text.%s: no entry point %s", set[i]->name, set[i]->name);
        out->entry[i] = (uint32_t)s->value;
    }
    return EMU_OK;
}

/* The names of the codelets in a set, in the order of the table. root has room for all rows. */
static enum emu_status order_set(const struct codelet *const *set, size_t n, const char **root,
                                 size_t *roots)
{
    for (size_t i = 0; i < n; i++) {
        if (codelet_find(set[i]->name) != set[i])
            return FAIL(BAD_PROGRAM, "%s is no codelet of the library", set[i]->name);
        root[set[i] - codelet_table] = set[i]->name;
    }
    for (unsigned i = 0; i < codelet_count; i++) {
        if (root[i])
            root[(*roots)++] = root[i];
    }
    return EMU_OK;
}

static enum emu_status link_set(const struct arch *arch, const struct codelet *const *set, size_t n,
                                const char **root, struct codelet_code *out)
{
    const struct embedded_file *kernels = embedded_find("kernels");
    struct object_request request = {
        .arch = arch, .addr = out->addr, .prefix = ".text.", .root = root
    };
    struct asm_object object;

    EMU_ASSERT(kernels);
    TRY(order_set(set, n, root, &request.roots));
    TRY(asm_object_read(kernels->data, kernels->bytes, &object));
    TRY(asm_object_link(&object, &request, &out->image));
    TRY(copy_sections(&out->image, out));
    return find_entries(&out->image, set, n, out);
}

enum emu_status codelet_link(const struct arch *arch, const struct codelet *const *set, size_t n,
                             uint32_t addr, struct codelet_code *out)
{
    const char **root = emu_alloc(codelet_count, sizeof(*root));
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    out->addr = addr;
    out->entry = emu_alloc(n + 1, sizeof(*out->entry));
    s = root && out->entry ? link_set(arch, set, n, root, out)
                           : FAIL(NO_MEMORY, "a set of %zu codelets", n);
    emu_free(root);
    if (s != EMU_OK)
        codelet_code_free(out);
    return s;
}
