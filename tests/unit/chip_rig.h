/* chip_rig.h - a whole machine whose tiles run programs given as assembly text, for tests of
 * emu/bsp: programs, results, the record of supersteps and the digest lines in one place.
 */
#ifndef TESTS_CHIP_RIG_H
#define TESTS_CHIP_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/bsp/digest.h"
#include "emu/bsp/machine_internal.h"
#include "emu/bsp/record.h"

struct chip {
    struct arch arch;
    struct machine *m;
    struct record *record;
    struct digests *digests;
    FILE *file; /* of the digest lines */
    char *lines;
    size_t line_bytes;
    long live; /* allocations before */
};

/* o: threads, plain and check count; NULL: one thread. */
static inline void chip_new(struct chip *c, const char *machine, const struct machine_options *o)
{
    struct machine_options mo = { .threads = 1 };

    *c = (struct chip){ .arch = *arch_preset(machine), .live = alloc_live() };
    if (o)
        mo = *o;
    c->file = open_memstream(&c->lines, &c->line_bytes);
    assert_non_null(c->file);
    assert_int_equal(record_new(c->arch.tiles, &c->record), EMU_OK);
    assert_int_equal(digests_new(&c->arch, c->file, &c->digests), EMU_OK);
    mo.record = c->record;
    mo.digests = c->digests;
    assert_int_equal(machine_new(&c->arch, &mo, &c->m), EMU_OK);
}

static inline void chip_free(struct chip *c)
{
    machine_free(c->m);
    record_free(c->record);
    digests_free(c->digests);
    fclose(c->file);
    free(c->lines);
    assert_int_equal(alloc_live(), c->live);
}

/* Assembles a program that begins in supervisor mode and may use TILE, its number, and BASE, the
 * start of the memory. Free with asm_unit_free. */
static inline struct asm_unit *chip_assemble(const struct arch *a, uint32_t tile, const char *text)
{
    struct asm_options o = { .arch = a, .raw = 1 };
    size_t room = strlen(text) + 96;
    char *all = emu_alloc(room, 1);
    struct asm_unit *u;

    assert_non_null(all);
    snprintf(all, room, ".set TILE, %u\n.set BASE, 0x%x\n.supervisor\n%s", tile, a->mem_base, text);
    assert_int_equal(asm_unit_new(&o, &u), EMU_OK);
    if (asm_unit_add_text(u, "program", all, strlen(all)) != EMU_OK ||
        asm_unit_link(u, NULL) != EMU_OK) {
        asm_diag_print(u, stderr);
        fail_msg("%s\ndoes not assemble", all);
    }
    emu_free(all);
    return u;
}

/* Writes a program into a tile and has the tile start at `start` in a group. */
static inline void chip_load(struct chip *c, uint32_t tile, unsigned group,
                             const struct asm_unit *u)
{
    const struct asm_image *image = asm_unit_image(u);
    const struct asm_symbol *start = asm_symbol_find(image, "start");

    assert_non_null(start);
    for (size_t i = 0; i < image->section_count; i++) {
        const struct asm_section *s = &image->section[i];

        assert_true(tile_write(machine_tile(c->m, tile), s->addr, s->bytes, s->size));
    }
    machine_use(c->m, tile, (uint32_t)start->value, group);
}

static inline void chip_program(struct chip *c, uint32_t tile, unsigned group, const char *text)
{
    struct asm_unit *u = chip_assemble(&c->arch, tile, text);

    chip_load(c, tile, group, u);
    asm_unit_free(u);
}

/* Runs until it stops, and complains when it stops for another reason. */
static inline void chip_stops(struct chip *c, enum machine_stop want)
{
    enum machine_stop got = machine_run(c->m, UINT64_MAX / 2);

    if (got != want && got == MACHINE_FAULT)
        print_error("tile %u: %s\n", machine_fault(c->m).tile, machine_fault(c->m).fault->detail);
    else if (got != want && got != MACHINE_HOST)
        print_error("%s\n", emu_error());
    assert_int_equal(got, want);
}

static inline uint32_t chip_word(struct chip *c, uint32_t tile, uint32_t addr)
{
    uint32_t v = 0;

    assert_true(tile_read(machine_tile(c->m, tile), addr, &v, sizeof(v)));
    return v;
}

#endif
