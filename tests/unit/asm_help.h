/* asm_help.h - what the tests of the assembler share: text in, a linked unit out. */
#ifndef TESTS_UNIT_ASM_HELP_H
#define TESTS_UNIT_ASM_HELP_H

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"

enum { MK2_BASE = 0x4c000 };

static inline struct asm_unit *new_unit(void)
{
    const struct asm_options o = { .raw = 1, .expansion_bytes = 1 << 20 };
    struct asm_unit *u;

    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    return u;
}

static inline enum emu_status add(struct asm_unit *u, const char *name, const char *text)
{
    return asm_unit_add_text(u, name, text, strlen(text));
}

/* Assembles and links; prints what went wrong. */
static inline struct asm_unit *assemble(const char *text)
{
    struct asm_unit *u = new_unit();

    if (add(u, "t.S", text) != EMU_OK || asm_unit_link(u, NULL) != EMU_OK) {
        print_error("%s\n", text);
        asm_diag_print(u, stderr);
        fail_msg("does not assemble");
    }
    return u;
}

/* Not inlined: gcc 12 takes the memory stream's buffer for a local variable. */
__attribute__((noinline)) static char *diag_text(const struct asm_unit *u)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    asm_diag_print(u, f);
    fclose(f);
    return text;
}

/* All bytes of the unit, sections in order. */
static inline size_t bytes_of(const char *source, uint8_t *out, size_t room)
{
    struct asm_unit *u = assemble(source);
    const struct asm_image *image = asm_unit_image(u);
    size_t n = 0;

    for (size_t i = 0; i < image->section_count; i++) {
        assert_true(n + image->section[i].size <= room);
        memcpy(out + n, image->section[i].bytes, image->section[i].size);
        n += image->section[i].size;
    }
    asm_unit_free(u);
    return n;
}

static inline void check_same(const char *a, const char *b)
{
    uint8_t x[4096], y[4096];
    size_t n = bytes_of(a, x, sizeof(x)), m = bytes_of(b, y, sizeof(y));

    if (n != m || memcmp(x, y, n)) {
        print_error("%s\nand\n%s\ndiffer: %zu and %zu bytes\n", a, b, n, m);
        fail();
    }
}

#endif
