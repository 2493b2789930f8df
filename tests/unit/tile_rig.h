/* tile_rig.h - one tile with a program given as assembly text, for tests. Aborts on anything
 * unexpected: tests show no mercy. */
#ifndef TILE_RIG_H
#define TILE_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm.h"
#include "emu/base/alloc.h"
#include "emu/bsp/barrel.h"

struct tile_rig {
    struct arch arch;
    struct asm_unit *unit;
    const struct asm_image *image;
    struct tile *tile;
    uint8_t *mem;
    struct code_cache *cache;
    struct barrel barrel;
};

static void rig_must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "rig: %s: %s\n", what, emu_error());
    abort();
}

/* Puts the tile back to its first state: program in memory, supervisor at `start`, cycle 0. */
static inline void rig_reset(struct tile_rig *r, const struct barrel_options *o)
{
    if (r->tile->mem)
        tile_free(r->tile);
    memset(r->mem, 0, r->arch.mem_bytes);
    rig_must(tile_init(r->tile, &r->arch, 0, r->mem) == EMU_OK, "tile");
    for (size_t i = 0; i < r->image->section_count; i++) {
        const struct asm_section *s = &r->image->section[i];

        rig_must(tile_write(r->tile, s->addr, s->bytes, s->size), "section");
    }
    barrel_init(&r->barrel, r->cache, o, 0);
    r->tile->pc[LANE_SUPER] = (uint32_t)asm_symbol_find(r->image, "start")->value;
    r->tile->state[LANE_SUPER] = CONTEXT_ACTIVE;
}

static inline struct tile_rig *rig_new(const char *machine, const char *text)
{
    struct tile_rig *r = emu_alloc(1, sizeof(*r));
    struct asm_options o = { .raw = 1 };

    r->arch = *arch_preset(machine);
    o.arch = &r->arch;
    rig_must(asm_unit_new(&o, &r->unit) == EMU_OK, "unit");
    if (asm_unit_add_text(r->unit, "rig", text, strlen(text)) != EMU_OK ||
        asm_unit_link(r->unit, NULL) != EMU_OK) {
        asm_diag_print(r->unit, stderr);
        abort();
    }
    r->image = asm_unit_image(r->unit);
    r->mem = emu_alloc(1, r->arch.mem_bytes);
    r->tile = emu_alloc_aligned(1, sizeof(*r->tile), 64);
    rig_must(code_cache_new(&r->arch, &r->cache) == EMU_OK, "cache");
    rig_reset(r, NULL);
    return r;
}

static inline void rig_free(struct tile_rig *r)
{
    tile_free(r->tile);
    emu_free(r->tile);
    emu_free(r->mem);
    code_cache_free(r->cache);
    asm_unit_free(r->unit);
    emu_free(r);
}

static inline uint32_t rig_symbol(const struct tile_rig *r, const char *name)
{
    const struct asm_symbol *s = asm_symbol_find(r->image, name);

    rig_must(s != NULL, name);
    return (uint32_t)s->value;
}

/* Runs to the label `stop`. */
static inline enum barrel_stop rig_run(struct tile_rig *r)
{
    return barrel_run(&r->barrel, r->tile, rig_symbol(r, "stop"), 10000000);
}

#endif
