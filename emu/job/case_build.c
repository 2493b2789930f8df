/* case_build.c - assembles a case and lays it out: code, stub, fixed memories, named memories,
 * vertex state, stacks.
 *
 * The stub is the supervisor program that starts the codelet. It lies in region 0 after the code
 * and is written by case_load().
 */
#include "emu/job/case_run.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/tile/tile_check.h"

enum {
    STUB_BYTES = 64,  /* room for the longest stub, six words */
    STATE_ALIGN = 16, /* vertex state may start with a 64-bit field */
    STACK_ALIGN = 8
};

/* Joins the directory of the case file and a relative path. The result is owned by the caller. */
static char *beside_case(const struct tile_case *c, const char *path)
{
    const char *slash = strrchr(c->path, '/');
    size_t dir = slash ? (size_t)(slash + 1 - c->path) : 0;
    size_t n = strlen(path);
    char *out = emu_alloc(dir + n + 1, 1);

    if (!out)
        return NULL;
    if (path[0] == '/')
        dir = 0;
    memcpy(out, c->path, dir);
    memcpy(out + dir, path, n);
    return out;
}

static enum emu_status choose_machine(struct case_run *r)
{
    const char *name = r->options.machine ? r->options.machine : r->c->machine;

    TRY(arch_from_name_or_file(name ? name : "mk2", &r->arch));
    for (size_t i = 0; i < r->options.set_count; i++)
        TRY(arch_set(&r->arch, r->options.set[i]));
    return arch_check(&r->arch);
}

static enum emu_status add_sources(struct case_run *r)
{
    const struct tile_case *c = r->c;

    if (c->program.text)
        return asm_unit_add_text(r->unit, "asm", c->program.text, strlen(c->program.text));
    for (size_t i = 0; i < c->program.sources; i++) {
        char *path = beside_case(c, c->program.source[i]);
        enum emu_status s =
            path ? asm_unit_add_file(r->unit, path) : FAIL(NO_MEMORY, "the path of a source");

        emu_free(path);
        TRY(s);
    }
    return EMU_OK;
}

/* Include directories are relative to the case file, and its own directory comes first. */
static enum emu_status assemble_with(struct case_run *r, const char **dir)
{
    const struct tile_case *c = r->c;
    struct asm_options options = {
        .arch = &r->arch,
        .include_dirs = dir,
        .include_dir_count = c->include_count + 1,
        .defines = (const char *const *)c->program.define,
        .define_count = c->program.defines,
        .raw = r->options.raw,
        .no_files = r->options.raw,
    };

    TRY(asm_unit_new(&options, &r->unit));
    TRY(add_sources(r));
    TRY(asm_unit_link(r->unit, NULL));
    r->image = asm_unit_image(r->unit);
    return EMU_OK;
}

static enum emu_status assemble(struct case_run *r)
{
    size_t n = r->c->include_count + 1;
    const char **dir = emu_alloc(n, sizeof(*dir));
    enum emu_status s;
    int complete = dir != NULL;

    for (size_t i = 0; complete && i < n; i++) {
        dir[i] = beside_case(r->c, i ? r->c->include[i - 1] : ".");
        complete = dir[i] != NULL;
    }
    s = complete ? assemble_with(r, dir) : FAIL(NO_MEMORY, "include directories");
    if (r->unit && r->options.messages)
        asm_diag_print(r->unit, r->options.messages);
    for (size_t i = 0; dir && i < n; i++)
        emu_free((void *)(uintptr_t)dir[i]);
    emu_free((void *)dir);
    return s;
}

static enum emu_status place_code(struct case_run *r)
{
    uint32_t end0 = r->arch.mem_base + r->arch.region0_bytes;

    for (size_t i = 0; i < r->image->section_count; i++) {
        const struct asm_section *s = &r->image->section[i];

        if (s->flags & ASM_EXEC && (s->addr > end0 || s->size > end0 - s->addr))
            return FAIL(BAD_FILE, "section %s: 0x%x with %u bytes leaves region 0, 0x%x to 0x%x",
                        s->name, s->addr, s->size, r->arch.mem_base, end0);
        TRY(case_layout_fix(&r->layout, s->addr, s->size, s->name));
    }
    return case_layout_fit(&r->layout, CASE_REGION0, STUB_BYTES, 8, "the stub", &r->stub_at);
}

static enum emu_status place_memories(struct case_run *r)
{
    const struct manifest_program *p = &r->c->program;

    r->memory_at = emu_alloc(p->memories + 1, sizeof(r->memory_at[0]));
    if (!r->memory_at)
        return FAIL(NO_MEMORY, "%zu memories", p->memories);
    return program_place(p, &r->layout, r->memory_at);
}

static enum emu_status place_rest(struct case_run *r)
{
    uint32_t stack = r->c->stack_bytes / STACK_ALIGN * STACK_ALIGN;
    uint32_t scratch = (r->c->scratch_bytes + STACK_ALIGN - 1) / STACK_ALIGN * STACK_ALIGN;

    TRY(case_layout_fit(&r->layout, CASE_REGION0_OR_1, (r->c->state.bytes + 3) / 4 * 4, STATE_ALIGN,
                        "the vertex state", &r->state_at));
    TRY(case_layout_fit(&r->layout, CASE_REGION1_OR_0, stack, STACK_ALIGN, "the supervisor's stack",
                        &r->stack_low));
    r->stack_high = r->stack_low + stack;
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        TRY(case_layout_fit(&r->layout, CASE_REGION1_OR_0, scratch, STACK_ALIGN,
                            "a worker's scratch area", &r->scratch_at[w]));
    return EMU_OK;
}

/* Every name in the data, before anything runs. */
static enum emu_status check_symbols(const struct case_run *r, const struct case_data *d,
                                     const char *what)
{
    uint32_t ignored;

    for (size_t i = 0; i < d->reloc_count; i++) {
        const struct case_reloc *l = &d->reloc[i];

        if (!case_symbol(r, l->symbol, l->symbol_len, &ignored))
            return FAIL(
                BAD_FILE,
                "%s: %s: element %u: expected a memory or a symbol of the code, got \"%.*s\"",
                r->c->path, what, l->index, (int)l->symbol_len, l->symbol);
    }
    return EMU_OK;
}

static enum emu_status check_names(struct case_run *r)
{
    const struct tile_case *c = r->c;

    if (!case_symbol(r, c->program.entry, strlen(c->program.entry), &r->entry))
        return FAIL(BAD_FILE, "%s: entry: expected a symbol of the code, got \"%s\"", c->path,
                    c->program.entry);
    TRY(check_symbols(r, &c->state, "state"));
    for (size_t i = 0; i < c->program.memories; i++)
        TRY(check_symbols(r, &c->program.memory[i].init.data, c->program.memory[i].place.name));
    for (size_t i = 0; i < c->set_count; i++)
        TRY(check_symbols(r, &c->set[i].value, c->set[i].name));
    for (size_t i = 0; i < c->expect_count; i++)
        TRY(check_symbols(r, &c->expect[i].value, "expect"));
    for (size_t i = 0; i < c->expect_register_count; i++)
        TRY(check_symbols(r, &c->expect_register[i].value, c->expect_register[i].name));
    return EMU_OK;
}

static enum emu_status build(struct case_run *r)
{
    TRY(choose_machine(r));
    TRY(assemble(r));
    r->layout.arch = &r->arch;
    TRY(place_code(r));
    TRY(place_memories(r));
    TRY(place_rest(r));
    TRY(check_names(r));
    r->mem = emu_alloc(r->arch.mem_bytes, 1);
    if (!r->mem)
        return FAIL(NO_MEMORY, "%u bytes of tile memory", r->arch.mem_bytes);
    return code_cache_new(&r->arch, &r->cache);
}

enum emu_status case_build(const struct tile_case *c, const struct case_options *options,
                           struct case_run **out)
{
    struct case_run *r = emu_alloc_aligned(1, sizeof(*r), _Alignof(struct case_run));
    enum emu_status s;

    *out = NULL;
    if (!r)
        return FAIL(NO_MEMORY, "a case");
    r->c = c;
    r->options = *options;
    r->as = c->as;
    s = build(r);
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
    emu_free(r->memory_at);
    emu_free(r->mem);
    emu_free(r);
}

int case_symbol(const struct case_run *r, const char *name, size_t len, uint32_t *address)
{
    const struct asm_symbol *s;
    char *text;

    for (size_t i = 0; i < r->c->program.memories; i++) {
        if (!strncmp(r->c->program.memory[i].place.name, name, len) &&
            !r->c->program.memory[i].place.name[len]) {
            *address = r->memory_at[i];
            return 1;
        }
    }
    text = emu_strndup(name, len);
    s = text ? asm_symbol_find(r->image, text) : NULL;
    emu_free(text);
    if (!s)
        return 0;
    *address = (uint32_t)(uint64_t)s->value;
    return 1;
}

/* Adds the addresses to the words at out that stand for them. */
static enum emu_status add_addresses(const struct case_run *r, const struct case_data *d,
                                     const char *what, uint8_t *out)
{
    TRY(check_symbols(r, d, what));
    for (size_t i = 0; i < d->reloc_count; i++) {
        uint32_t offset = d->reloc[i].offset, address = 0, word;

        case_symbol(r, d->reloc[i].symbol, d->reloc[i].symbol_len, &address);
        memcpy(&word, out + offset, 4);
        word += address;
        memcpy(out + offset, &word, 4);
    }
    return EMU_OK;
}

enum emu_status case_resolve(const struct case_run *r, const struct case_data *d, const char *what,
                             uint8_t *out)
{
    if (!d->bytes)
        return EMU_OK;
    if (!d->data) {
        memset(out, 0, d->bytes);
        return EMU_OK;
    }
    memcpy(out, d->data, d->bytes);
    return add_addresses(r, d, what, out);
}

enum emu_status case_fill_memory(const struct case_run *r, const struct manifest_memory *m,
                                 uint8_t *out)
{
    const struct data_place place = { .arch = &r->arch, .count = 1 };
    enum emu_status s = manifest_data_fill(&m->init, &place, out);

    if (s == EMU_BAD_FILE)
        return FAIL(BAD_FILE, "%s: %s: %s", r->c->path, m->place.name, emu_error());
    TRY(s);
    return add_addresses(r, &m->init.data, m->place.name, out);
}
