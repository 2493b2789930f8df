/* cmd_dis.c - prints a linked unit as assembly, or objects as they are. */
#include "emu/cli/emu_commands.h"

#include <stdio.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/base/json_read.h"
#include "emu/cli/commands.h"
#include "emu/isa/insn_ops.h"
#include "emu/load/image.h"
#include "emu/step/tile_place.h"

/* What is read of the command line. */
OPTION_READ(NUMBER, tile)
OPTION_READ(NUMBER, of_chip)

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

/* ---- a tile of an image ---- */

/* The bytes of a tile as the program begins. Owned by the caller. */
static enum emu_status tile_bytes(const struct image *im, const struct image_tile *t, uint8_t **out)
{
    const struct arch *a = ss_image_arch(im);

    *out = emu_alloc(a->mem_bytes, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "the memory of a tile");
    for (uint32_t k = 0; k < t->segments; k++) {
        const struct image_segment *s = image_segment_at(im, t->first_segment + k);
        uint32_t bytes;
        const uint8_t *blob = image_blob_bytes(im, s->blob, &bytes);

        if (blob)
            memcpy(*out + (s->addr - a->mem_base), blob, s->bytes < bytes ? s->bytes : bytes);
    }
    return EMU_OK;
}

static int is_code(const char *category)
{
    return strstr(category, "code") != NULL || !strcmp(category, ".text");
}

static void print_code(const struct image *im, const struct image_tile *t, const uint8_t *mem,
                       const struct image_range *r)
{
    uint32_t base = ss_image_arch(im)->mem_base, at = r->addr & ~3u;

    while (at + 4 <= r->addr + r->bytes) {
        uint32_t word[2] = { 0, 0 };
        struct insn main, aux;
        char text[2][160] = { "", "" }, place[240];
        int is_bundle;
        unsigned n;

        memcpy(word, mem + (at - base), r->addr + r->bytes - at < 8 ? 4 : 8);
        n = isa_decode(word, &main, &aux, &is_bundle);
        place_text(im, t->chip, t->tile, at, place, sizeof(place));
        if (main.op == INSN_ILLEGAL) {
            printf("  0x%05x %-28s .int 0x%08x\n", at, place, word[0]);
            at += ISA_WORD_BYTES;
            continue;
        }
        isa_print(&main, NULL, text[0], sizeof(text[0]));
        if (is_bundle)
            isa_print(&aux, NULL, text[1], sizeof(text[1]));
        printf(is_bundle ? "  0x%05x %-28s { %s ; %s }\n" : "  0x%05x %-28s %s\n", at, place,
               text[0], text[1]);
        at += n;
    }
}

static enum emu_status print_tile(const struct image *im, const struct image_tile *t)
{
    enum emu_status s;
    uint8_t *mem;
    size_t n;
    const struct image_range *r = image_map_of(im, t->map, &n);

    s = tile_bytes(im, t, &mem);
    if (s == EMU_OK && image_chip_count(im) > 1)
        printf("chip %u, ", t->chip);
    if (s == EMU_OK)
        printf("tile %u, group %u, entry 0x%x\n", t->tile, t->group, t->entry);
    for (size_t i = 0; i < n && s == EMU_OK; i++) {
        printf("0x%05x..0x%05x %8u %s: %s\n", r[i].addr, r[i].addr + r[i].bytes, r[i].bytes,
               image_text(im, r[i].category), image_text(im, r[i].owner));
        if (is_code(image_text(im, r[i].category)))
            print_code(im, t, mem, &r[i]);
    }
    ss_free(mem);
    return s;
}

/* The tile of one chip, or of all chips where it takes part. */
static enum emu_status print_chips(const struct request *q, const struct image *im)
{
    uint32_t tile = (uint32_t)option_tile(q), chips = image_chip_count(im), chip = 0, printed = 0;

    if (request_has(q, OPTION_of_chip)) {
        chip = (uint32_t)option_of_chip(q);
        if (chip >= chips)
            return FAIL(USAGE, "%s: expected a chip below %u, got %u", q->what, chips, chip);
        chips = chip + 1;
    }
    for (; chip < chips; chip++) {
        const struct image_tile *t = image_find_tile(im, chip, tile);

        if (t && printed++)
            printf("\n");
        if (t)
            TRY(print_tile(im, t));
    }
    return printed ? EMU_OK : FAIL(USAGE, "tile %u takes no part in the program", tile);
}

static enum emu_status print_image(const struct request *q)
{
    struct image *im;
    enum emu_status s;

    TRY(ss_image_read(q->what, &im));
    s = print_chips(q, im);
    ss_image_free(im);
    return s;
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
    ss_free(data);
    return st;
}

int cmd_dis(const struct request *q)
{
    enum emu_status s = request_has(q, OPTION_tile) ? print_image(q) : run(q->what);

    return s == EMU_OK ? EXIT_RAN : request_failed(q, NULL);
}
