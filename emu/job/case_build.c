/* case_build.c - assembles a case and lays it out: code, stub, fixed memories, named memories,
 * vertex state, stacks.
 *
 * The stub is the supervisor program that starts the codelet. It lies in region 0 after the code
 * and is written by case_load().
 */
#include "emu/job/case_run.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest_internal.h"
#include "emu/tile/tile_check.h"

enum {
    STUB_BYTES = 64,  /* room for the longest stub, six words */
    STATE_ALIGN = 16, /* vertex state may start with a 64-bit field */
    STACK_ALIGN = 8
};

static enum emu_status assemble(struct case_run *r)
{
    struct program_text text;
    enum emu_status s = program_preprocess(r->m, r->p, r->options.messages, &text);

    if (s == EMU_OK)
        s = program_assemble(&text, 0, 0, &r->unit);
    program_text_free(&text);
    if (r->unit && r->options.messages)
        asm_diag_print(r->unit, r->options.messages);
    TRY(s);
    r->image = asm_unit_image(r->unit);
    return EMU_OK;
}

static enum emu_status place_code(struct case_run *r)
{
    uint32_t end0 = r->arch->mem_base + r->arch->region0_bytes;

    for (size_t i = 0; i < r->image->section_count; i++) {
        const struct asm_section *s = &r->image->section[i];

        if (s->flags & ASM_EXEC && (s->addr > end0 || s->size > end0 - s->addr))
            return FAIL(BAD_FILE, "section %s: 0x%x with %u bytes leaves region 0, 0x%x to 0x%x",
                        s->name, s->addr, s->size, r->arch->mem_base, end0);
        TRY(case_layout_fix(&r->layout, s->addr, s->size, s->name));
    }
    return case_layout_fit(&r->layout, CASE_REGION0, STUB_BYTES, 8, "the stub", &r->stub_at);
}

/* The stack of a worker, by what the code says of it: it lies below its scratch area, at whose
 * start $mworker_base points. 0 where nothing is known. */
static enum emu_status worker_stack(const struct case_run *r, uint32_t *bytes)
{
    const struct asm_symbol *entry = asm_entry_find(r->image, r->p->entry);
    enum emu_status s = EMU_OK;

    *bytes = 0;
    if (entry)
        s = asm_stack_bytes(r->image, entry, bytes);
    if (s == EMU_BAD_ASM) /* functions that call each other in a circle */
        return EMU_OK;
    *bytes = (*bytes + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;
    return s;
}

static enum emu_status place_rest(struct case_run *r)
{
    const struct tile_case *c = r->m->tile_case;
    uint32_t stack = c->stack_bytes / STACK_ALIGN * STACK_ALIGN;
    uint32_t scratch = (c->scratch_bytes + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN, below;

    TRY(case_layout_fit(&r->layout, CASE_REGION0_OR_1,
                        (manifest_data_bytes(&c->state.init) + 3) / 4 * 4, STATE_ALIGN,
                        "the vertex state", &r->state_at));
    TRY(case_layout_fit(&r->layout, CASE_REGION1_OR_0, stack, STACK_ALIGN, "the supervisor's stack",
                        &r->stack_low));
    r->stack_high = r->stack_low + stack;
    TRY(worker_stack(r, &below));
    r->stack_below = below;
    for (unsigned w = 0; w < TILE_WORKERS; w++) {
        TRY(case_layout_fit(&r->layout, CASE_REGION1_OR_0, below + scratch, STACK_ALIGN,
                            "a worker's stack and scratch area", &r->scratch_at[w]));
        r->scratch_at[w] += below;
    }
    return EMU_OK;
}

static enum emu_status check_names(const struct case_run *r, const struct manifest_data *d,
                                   const char *what)
{
    return program_check_names(r->p, r->image, d, r->m->path, what);
}

/* The entry, and every name in the data, before anything runs. */
static enum emu_status check_all_names(struct case_run *r)
{
    const struct asm_symbol *entry = asm_entry_find(r->image, r->p->entry);
    const struct tile_case *c = r->m->tile_case;

    if (!entry)
        return FAIL(BAD_FILE, "%s: entry: expected a symbol of the code, got \"%s\"", r->m->path,
                    r->p->entry);
    r->entry = (uint32_t)entry->value;
    TRY(check_names(r, &c->state.init, c->state.place.name));
    for (size_t i = 0; i < r->p->memories; i++)
        TRY(check_names(r, &r->p->memory[i].init, r->p->memory[i].place.name));
    for (size_t i = 0; i < c->set_count; i++)
        TRY(check_names(r, &c->set[i].value, c->set[i].name));
    for (size_t i = 0; i < r->m->expects; i++)
        TRY(check_names(r, &r->m->expect[i].value, "expect"));
    for (size_t i = 0; i < c->expect_register_count; i++)
        TRY(check_names(r, &c->expect_register[i].value, c->expect_register[i].name));
    return EMU_OK;
}

static enum emu_status build(struct case_run *r)
{
    TRY(assemble(r));
    TRY(place_code(r));
    TRY(program_place(r->p, &r->layout));
    TRY(place_rest(r));
    TRY(check_all_names(r));
    r->mem = emu_alloc(r->arch->mem_bytes, 1);
    if (!r->mem)
        return FAIL(NO_MEMORY, "%u bytes of tile memory", r->arch->mem_bytes);
    return code_cache_new(r->arch, 1, &r->cache);
}

enum emu_status case_build(struct manifest *m, const struct case_options *options,
                           struct case_run **out)
{
    struct case_run *r = emu_alloc_aligned(1, sizeof(*r), _Alignof(struct case_run));
    enum emu_status s;

    *out = NULL;
    if (!r)
        return FAIL(NO_MEMORY, "a case");
    r->m = m;
    r->p = m->program;
    r->arch = r->layout.arch = &m->arch;
    r->options = *options;
    r->as = m->tile_case ? m->tile_case->as : CASE_WORKER;
    s = m->tile_case
            ? build(r)
            : FAIL(BAD_FILE,
                   "%s: expected a case of one tile; this is a manifest: superstep run FILE",
                   m->path);
    if (s == EMU_OK)
        *out = r;
    else
        case_run_free(r);
    return s;
}

void case_run_free(struct case_run *r)
{
    if (!r)
        return;
    if (r->tile_ready) {
        tile_check_free(&r->tile);
        tile_free(&r->tile);
    }
    if (r->cache)
        code_cache_free(r->cache);
    asm_unit_free(r->unit);
    case_layout_free(&r->layout);
    ss_free(r->mem);
    ss_free(r);
}

int case_symbol(const struct case_run *r, const char *name, size_t len, uint32_t *address)
{
    return program_symbol(r->p, r->image, name, len, address);
}

enum emu_status case_values(const struct case_run *r, const struct manifest_data *d,
                            const char *what, uint8_t *out)
{
    const struct data_place place = { .arch = r->arch, .count = 1 };

    return program_fill_values(r->p, r->image, d, &place, r->m->path, what, out);
}
