/* codelet_code.c - links the codelets that a program uses for one address.
 *
 * The codelets are assembled when this library is built. The result, one ELF object in which the
 * code of codelet NAME is section .text.NAME, is embedded. */
#include <string.h>

#include "programs/library/kernel/codelet_table.h"

/* An end of region 0 that kernels can still name, with room for the code of all of them. */
enum { ROOMY_END = (1 << 20) - (1 << 14) };

/* The names of the codelets in a set: kernels in the order of the table, then those of the graph.
 * order has room for all rows and the set. */
static enum emu_status order_set(const struct codelet *const *set, size_t n, const char **order)
{
    size_t names = 0;

    for (size_t i = 0; i < n; i++) {
        if (set[i]->files)
            order[codelet_count + i] = set[i]->name;
        else if (codelet_find(set[i]->name) == set[i])
            order[set[i] - codelet_table] = set[i]->name;
        else
            return FAIL(BAD_PROGRAM, "%s is no codelet of the library", set[i]->name);
    }
    for (size_t i = 0; i < codelet_count + n; i++) {
        if (order[i])
            order[names++] = order[i];
    }
    return EMU_OK;
}

/* Whether a codelet before number k has this file, too. */
static int has_file(const struct codelet *const *set, size_t k, const struct codelet_file *file)
{
    for (size_t i = 0; i < k; i++) {
        for (unsigned f = 0; f < set[i]->files; f++) {
            if (set[i]->file[f] == file)
                return 1;
        }
    }
    return 0;
}

/* The kernels, and the files of the codelets that are none. */
static enum emu_status add_files(struct asm_unit *u, const struct codelet *const *set, size_t n)
{
    const struct embedded_file *kernels = embedded_find("kernels");

    EMU_ASSERT(kernels);
    TRY(asm_unit_add_object(u, "kernels", kernels->data, kernels->bytes));
    for (size_t i = 0; i < n; i++) {
        for (unsigned f = 0; f < set[i]->files; f++) {
            const struct codelet_file *file = set[i]->file[f];

            if (!has_file(set, i, file))
                TRY(asm_unit_add_object(u, file->name, file->data, file->bytes));
        }
    }
    return EMU_OK;
}

static enum emu_status link_set(const struct arch *arch, const struct codelet *const *set, size_t n,
                                const char **order, uint32_t addr, struct codelet_code *out)
{
    const struct asm_options o = { .arch = arch };
    struct asm_unit *u;
    enum emu_status s;

    TRY(order_set(set, n, order));
    TRY(asm_unit_new(&o, &u));
    s = add_files(u, set, n);
    if (s == EMU_OK)
        return codelet_code_link(u, set, order, n, addr, out);
    asm_unit_free(u);
    return s;
}

/* Codelets that are longer than region 0 are linked as if it were larger: that the program does not
 * fit is found out, and told, where its other code is known, too. */
static enum emu_status link_somehow(const struct arch *arch, const struct codelet *const *set,
                                    size_t n, const char **order, uint32_t addr,
                                    struct codelet_code *out)
{
    struct arch roomy = *arch;
    enum emu_status s = link_set(arch, set, n, order, addr, out);

    if (s != EMU_BAD_ASM || arch->mem_base + arch->region0_bytes >= ROOMY_END)
        return s;
    memset((void *)order, 0, (codelet_count + n) * sizeof(*order));
    roomy.mem_bytes = roomy.region0_bytes = ROOMY_END - arch->mem_base;
    return link_set(&roomy, set, n, order, addr, out);
}

enum emu_status codelet_link(const struct arch *arch, const struct codelet *const *set, size_t n,
                             uint32_t addr, struct codelet_code *out)
{
    const char **order = emu_alloc(codelet_count + n + 1, sizeof(*order));
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = order ? link_somehow(arch, set, n, order, addr, out)
              : FAIL(NO_MEMORY, "a set of %zu codelets", n);
    ss_free((void *)order);
    return s;
}
