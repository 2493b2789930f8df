/* fuzz_manifest.c - any bytes as a manifest: refused with the file in the message, or read; values
 * that are read can be filled in for every tile. What stands after a zero byte is what users give
 * its parameters, NAME=VALUE, one to a line. Sources are not assembled. */
#include <stdint.h>
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TILES_TRIED = 4, BYTES_TRIED = 1 << 16, DEFINES_TRIED = 8 };

static void fill(const struct arch *arch, const struct manifest_data *d,
                 const struct tile_list *chips, const struct tile_list *l)
{
    size_t all = l->count * chips->count;
    uint32_t bytes = manifest_data_bytes(d);
    uint8_t *out = bytes <= BYTES_TRIED ? emu_alloc((size_t)bytes + 1, 1) : NULL;

    for (size_t k = 0; out && k < all && k < TILES_TRIED; k++) {
        size_t i = k % l->count;
        const struct data_place p = { .arch = arch,
                                      .chip = chips->tile[chips->count - 1 - k / l->count],
                                      .tile = l->tile[i],
                                      .index = (uint32_t)i,
                                      .count = (uint32_t)l->count };
        enum emu_status s = manifest_data_fill(d, &p, out);

        EMU_ASSERT(s == EMU_OK || s == EMU_BAD_FILE);
        EMU_ASSERT(out[bytes] == 0);
    }
    ss_free(out);
}

/* Cuts text, which is changed, into lines. */
static size_t cut_lines(char *text, const char *line[DEFINES_TRIED])
{
    char *rest = NULL;
    size_t n = 0;

    for (char *at = strtok_r(text, "\n", &rest); at && n < DEFINES_TRIED;
         at = strtok_r(NULL, "\n", &rest))
        line[n++] = at;
    return n;
}

static void read_manifest(const char *text, size_t size, const char *const *define, size_t defines)
{
    const struct manifest_options o = { .no_files = 1, .define = define, .defines = defines };
    uint32_t one_tile = 0;
    const struct tile_list one = { &one_tile, 1 };
    struct manifest *m;

    if (ss_manifest_read_text(text, size, "fuzz", &o, &m) != EMU_OK) {
        EMU_ASSERT(!m && ss_error()[0]);
        return;
    }
    for (size_t i = 0; i < m->programs; i++) {
        const struct manifest_program *p = &m->program[i];

        EMU_ASSERT(p->tiles.count && p->chips.count);
        EMU_ASSERT(manifest_program_of(m, p->chips.tile[0], p->tiles.tile[0]) == p);
        for (size_t k = 0; k < p->memories; k++)
            fill(&m->arch, &p->memory[k].init, &p->chips, &p->tiles);
    }
    for (size_t i = 0; i < m->expects; i++)
        fill(&m->arch, &m->expect[i].value, &m->expect[i].chips, &m->expect[i].tiles);
    for (size_t i = 0; i < m->streams; i++)
        fill(&m->arch, &m->stream[i].data, &one, &one);
    ss_manifest_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t bytes = zero ? (size_t)(zero - data) : size;
    char *rest = zero ? emu_strndup((const char *)zero + 1, size - bytes - 1) : NULL;
    const char *define[DEFINES_TRIED];

    read_manifest((const char *)data, bytes, define, rest ? cut_lines(rest, define) : 0);
    ss_free(rest);
    return 0;
}
