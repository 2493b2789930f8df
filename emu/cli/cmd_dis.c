/* cmd_dis.c - prints a unit as assembly. */
#include "emu/cli/emu_commands.h"

#include <stdio.h>

#include "emu/asm/asm.h"
#include "emu/cli/commands.h"

static enum emu_status run(const char *path)
{
    struct asm_image image;
    enum emu_status st;

    TRY(asm_image_read(path, &image));
    st = asm_disassemble(&image, stdout);
    asm_image_free(&image);
    return st;
}

int cmd_dis(const struct request *q)
{
    return run(q->what) == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
