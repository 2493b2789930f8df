/* tile_program.c - what a tile runs, code and memories: read, placed, and the addresses in its
 * values.
 */
#include <string.h>

#include "emu/base/alloc.h"
#include "emu/job/manifest.h"

enum emu_status program_read_code(const struct json_reader *r, const struct json_path *at,
                                  const json_t *v, struct manifest_program *p)
{
    struct json_path source_at = { at, "source", 0 }, entry_at = { at, "entry", 0 };
    struct json_path defines_at = { at, "defines", 0 };
    const json_t *source = json_object_get(v, "source"), *entry = json_object_get(v, "entry");

    if (!source == !json_object_get(v, "asm"))
        return json_wrong(r, at, NULL, "expected either \"source\" or \"asm\"");
    if (source)
        TRY(json_read_strings(r, &source_at, source, &p->source, &p->sources));
    if (source && !p->sources)
        return json_wrong(r, &source_at, NULL, "expected at least one file");
    TRY(json_optional_string(r, at, v, "asm", &p->text));
    if (entry || !p->entry)
        TRY(json_read_string(r, &entry_at, entry, &p->entry));
    return json_read_defines(r, &defines_at, json_object_get(v, "defines"), &p->define,
                             &p->defines);
}

/* What the function that reads one memory reads into. */
struct memory_reading {
    struct manifest_program *p;
    const char *const *taken;
};

static enum emu_status check_name(const struct json_reader *r, const struct json_path *at,
                                  const char *name)
{
    const struct memory_reading *m = r->ctx;
    struct json_path here = { at, "name", 0 };
    int used = 0;

    for (size_t i = 0; m->taken && m->taken[i]; i++)
        used |= !strcmp(m->taken[i], name);
    for (size_t i = 0; i + 1 < m->p->memories; i++)
        used |= !strcmp(m->p->memory[i].place.name, name);
    return used ? json_wrong(r, &here, NULL, "expected a name not used before, got \"%s\"", name)
                : EMU_OK;
}

static enum emu_status read_one(const struct json_reader *r, const struct json_path *at,
                                const json_t *v)
{
    static const char *const keys[] = { "name",  "region", "align", "at",
                                        "bytes", "count",  "note",  NULL };
    struct memory_reading *reading = r->ctx;
    struct manifest_program *p = reading->p;
    struct manifest_memory *m = &p->memory[p->memories++];

    TRY(json_refuse_unknown(r, at, v, keys, manifest_data_key));
    TRY(case_read_place(r, at, v, &m->place));
    TRY(check_name(r, at, m->place.name));
    return manifest_read_data(r, at, v, &p->tiles, &m->init);
}

enum emu_status program_read_memory(const struct json_reader *r, const struct json_path *at,
                                    const json_t *v, const char *const *taken,
                                    struct manifest_program *p)
{
    struct json_path memory_at = { at, "memory", 0 };
    struct memory_reading reading = { p, taken };
    const struct json_reader one = { r->file, &reading };
    const json_t *list = json_object_get(v, "memory");

    if (json_array_size(list) <= JSON_LIST_MAX)
        p->memory = emu_alloc(json_array_size(list) + 1, sizeof(*p->memory));
    if (json_array_size(list) <= JSON_LIST_MAX && !p->memory)
        return FAIL(NO_MEMORY, "%zu memories", json_array_size(list));
    return json_read_list(&one, &memory_at, list, read_one);
}

enum emu_status program_place(struct manifest_program *p, struct case_layout *l)
{
    for (size_t i = 0; i < p->memories; i++) {
        const struct manifest_memory *m = &p->memory[i];

        if (m->place.is_fixed)
            TRY(case_layout_fix(l, m->place.address, manifest_data_bytes(&m->init), m->place.name));
    }
    for (size_t i = 0; i < p->memories; i++) {
        struct manifest_memory *m = &p->memory[i];

        if (!m->place.is_fixed)
            TRY(case_layout_fit(l, m->place.region ? CASE_REGION1 : CASE_REGION0,
                                manifest_data_bytes(&m->init), m->place.align, m->place.name,
                                &m->place.address));
    }
    return EMU_OK;
}

/* ---- addresses ---- */

int program_symbol(const struct manifest_program *p, const struct asm_image *code, const char *name,
                   size_t len, uint32_t *address)
{
    char *text = emu_strndup(name, len);
    const struct manifest_memory *m = text ? manifest_find_memory(p, text) : NULL;
    const struct asm_symbol *s = text && !m ? asm_symbol_find(code, text) : NULL;

    ss_free(text);
    if (m)
        *address = m->place.address;
    else if (s)
        *address = (uint32_t)(uint64_t)s->value;
    return m || s;
}

enum emu_status program_check_names(const struct manifest_program *p, const struct asm_image *code,
                                    const struct manifest_data *d, const char *file,
                                    const char *what)
{
    uint32_t ignored;

    for (size_t i = 0; i < d->data.reloc_count; i++) {
        const struct case_reloc *l = &d->data.reloc[i];

        if (!program_symbol(p, code, l->symbol, l->symbol_len, &ignored))
            return FAIL(
                BAD_FILE,
                "%s: %s: element %u: expected a memory or a symbol of the code, got \"%.*s\"", file,
                what, l->index, (int)l->symbol_len, l->symbol);
    }
    return EMU_OK;
}

enum emu_status program_fill_values(const struct manifest_program *p, const struct asm_image *code,
                                    const struct manifest_data *d, const struct data_place *place,
                                    const char *file, const char *what, uint8_t *out)
{
    enum emu_status s = manifest_data_fill(d, place, out);

    if (s == EMU_BAD_FILE)
        return FAIL(BAD_FILE, "%s: %s: %s", file, what, ss_error());
    TRY(s);
    TRY(program_check_names(p, code, d, file, what));
    for (size_t i = 0; i < d->data.reloc_count; i++) {
        const struct case_reloc *l = &d->data.reloc[i];
        uint32_t address = 0, word;

        program_symbol(p, code, l->symbol, l->symbol_len, &address);
        memcpy(&word, out + l->offset, 4);
        word += address;
        memcpy(out + l->offset, &word, 4);
    }
    return EMU_OK;
}

void program_free(struct manifest_program *p)
{
    for (size_t i = 0; i < p->memories; i++)
        manifest_data_free(&p->memory[i].init);
    for (size_t i = 0; i < p->defines; i++)
        ss_free(p->define[i]);
    ss_free(p->memory);
    ss_free(p->define);
    ss_free((void *)p->source);
    tile_list_free(&p->chips);
    tile_list_free(&p->tiles);
}
