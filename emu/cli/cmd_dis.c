/* cmd_dis.c - prints a linked unit as assembly, or objects as they are. */
#include "emu/cli/emu_commands.h"

#include <stdio.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/json_read.h"
#include "emu/cli/commands.h"

static enum emu_status print_object(const char *path, const char *data, size_t bytes)
{
    enum emu_status st;
    struct asm_unit *u;

    TRY(asm_unit_new(NULL, &u));
    st = asm_unit_add_object(u, path, data, bytes);
    if (st == EMU_OK)
        st = asm_object_print(u, stdout);
    if (st == EMU_OK) /* warnings; the error is said by who asked */
        asm_diag_print(u, stderr);
    asm_unit_free(u);
    return st;
}

static enum emu_status print_unit(const char *path, const char *text, size_t bytes)
{
    struct asm_image image;
    enum emu_status st;

    TRY(asm_image_read_text(path, text, bytes, &image));
    st = asm_disassemble(&image, stdout);
    asm_image_free(&image);
    return st;
}

static enum emu_status run(const char *path)
{
    enum emu_status st;
    size_t bytes;
    char *data;

    st = json_read_file(path, &data, &bytes);
    if (st == EMU_OK)
        st = asm_is_object(data, bytes) ? print_object(path, data, bytes)
                                        : print_unit(path, data, bytes);
    emu_free(data);
    return st;
}

int cmd_dis(const struct request *q)
{
    return run(q->what) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
