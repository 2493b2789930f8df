/* embed_kernels.c - run while the library is built: assembles the kernels into one relocatable
 * object.
 *
 *   embed_kernels OUT SOURCE.S ...
 *
 * The object is for all machines: what differs between them is left to the linker.
 */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/embedded.h"

/* The tool is older than the embedded files: it makes one of them. */
const struct embedded_file embedded_files[] = { { NULL, NULL, 0 } };

static enum emu_status write_object(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    int bad;

    if (!f)
        return FAIL(IO, "%s: cannot be created", path);
    bad = fwrite(data, 1, bytes, f) != bytes;
    bad |= fclose(f) != 0;
    return bad ? FAIL(IO, "%s: cannot be written", path) : EMU_OK;
}

static enum emu_status assemble(struct asm_unit *u, const char *out, char **source, int n)
{
    enum emu_status s;
    uint8_t *data;
    size_t bytes;

    for (int i = 0; i < n; i++)
        TRY(asm_unit_add_file(u, source[i]));
    TRY(asm_unit_object(u, &data, &bytes));
    s = write_object(out, data, bytes);
    ss_free(data);
    return s;
}

int main(int argc, char **argv)
{
    static const char *const include[] = { "emu/asm/include", "." };
    struct asm_options o = { .include_dirs = include,
                             .include_dir_count = EMU_COUNT_OF(include),
                             .any_machine = 1 };
    struct asm_unit *u = NULL;
    enum emu_status s;

    if (argc < 3) {
        fprintf(stderr, "usage: embed_kernels OUT SOURCE.S ...\n");
        return 2;
    }
    s = asm_unit_new(&o, &u);
    if (s == EMU_OK)
        s = assemble(u, argv[1], argv + 2, argc - 2);
    if (u)
        asm_diag_print(u, stderr);
    if (s != EMU_OK)
        fprintf(stderr, "embed_kernels: %s\n", ss_error());
    asm_unit_free(u);
    return s != EMU_OK;
}
