/* asm_object_link.c - places the sections of an object that a program needs, and fills in their
 * relocations. */
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/asm/asm_object.h"
#include "emu/base/alloc.h"

struct object_link {
    const struct asm_object *o;
    const struct object_request *request;
    uint32_t *order, taken; /* sections in the order of their placement; owned */
    uint32_t *addr;         /* by section; 0: not taken; owned */
    uint32_t *index;        /* by section: its place in the image; owned */
    struct asm_image *image;
};

static const char *text_of(const struct asm_object *o, uint32_t at)
{
    return o->strings + at;
}

/* What differs between machines, under the names the headers of emu/asm/include use. */
static int machine_symbol(const struct arch *a, const char *name, int64_t *value)
{
    const struct {
        const char *name;
        uint32_t value;
    } row[] = {
        { "SUPERSTEP_REGION1_BASE", a->mem_base + a->region0_bytes },
        { "SUPERSTEP_ELEMENT_PAIR_BYTES", 2 * a->element_bytes },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        if (!strcmp(row[i].name, name)) {
            *value = row[i].value;
            return 1;
        }
    }
    return 0;
}

/* The definition of a symbol: itself, or a global one of its name. NULL: no section has it. */
static const struct object_symbol *definition(const struct asm_object *o,
                                              const struct object_symbol *s)
{
    if (s->section != OBJECT_UNDEFINED)
        return s;
    for (uint32_t k = o->sections; k < o->symbols; k++) {
        const struct object_symbol *d = &o->symbol[k];

        if (d->global && d->section != OBJECT_UNDEFINED &&
            !strcmp(text_of(o, d->name), text_of(o, s->name)))
            return d;
    }
    return NULL;
}

/* ---- which sections ---- */

static void take(struct object_link *l, uint32_t section)
{
    if (l->addr[section])
        return;
    l->addr[section] = 1;
    l->order[l->taken++] = section;
}

static enum emu_status take_root(struct object_link *l, const char *root)
{
    const char *prefix = l->request->prefix;
    size_t n = strlen(prefix);

    for (uint32_t k = 0; k < l->o->sections; k++) {
        const char *name = text_of(l->o, l->o->section[k].name);

        if (!strncmp(name, prefix, n) && !strcmp(name + n, root)) {
            take(l, k);
            return EMU_OK;
        }
    }
    return FAIL(BAD_ASM, "no section '%s%s'", prefix, root);
}

static enum emu_status take_all(struct object_link *l)
{
    for (size_t i = 0; i < l->request->roots; i++)
        TRY(take_root(l, l->request->root[i]));
    for (uint32_t i = 0; i < l->taken; i++) {
        const struct object_section *s = &l->o->section[l->order[i]];

        for (uint32_t k = 0; k < s->relocs; k++) {
            const struct object_reloc *r = &l->o->reloc[s->first_reloc + k];
            const struct object_symbol *d = definition(l->o, &l->o->symbol[r->symbol]);

            if (d)
                take(l, d->section);
        }
    }
    return EMU_OK;
}

/* ---- where ---- */

/* Places the executable sections, or all others. Returns where they end. */
static uint64_t place_sections(struct object_link *l, uint64_t at, uint32_t exec)
{
    for (uint32_t i = 0; i < l->taken; i++) {
        const struct object_section *s = &l->o->section[l->order[i]];

        if ((s->flags & ASM_EXEC) != exec)
            continue;
        at = (at + s->align - 1) / s->align * s->align;
        l->addr[l->order[i]] = (uint32_t)at;
        at += s->size;
    }
    return at;
}

static enum emu_status place_all(struct object_link *l)
{
    const struct arch *a = l->request->arch;
    uint64_t first = l->request->addr, code = place_sections(l, first, ASM_EXEC);
    uint64_t end = place_sections(l, code, 0), limit = (uint64_t)a->mem_base + a->mem_bytes;
    uint64_t code_limit = (uint64_t)a->mem_base + a->region0_bytes;

    if (first % MIN_SECTION_ALIGN || first < a->mem_base)
        return FAIL(BAD_ASM, "the code cannot begin at 0x%llx", (unsigned long long)first);
    if (code > code_limit || end > limit)
        return FAIL(BAD_ASM,
                    "the code needs 0x%llx..0x%llx, the machine %s has 0x%llx..0x%llx for it",
                    (unsigned long long)first, (unsigned long long)(code > code_limit ? code : end),
                    a->name, (unsigned long long)a->mem_base,
                    (unsigned long long)(code > code_limit ? code_limit : limit));
    return EMU_OK;
}

/* ---- the image ---- */

static enum emu_status symbol_value(const struct object_link *l, const struct object_symbol *s,
                                    int64_t *value)
{
    const struct object_symbol *d = definition(l->o, s);
    const char *name = text_of(l->o, s->name);

    if (d) {
        *value = (int64_t)l->addr[d->section] + d->value;
        return EMU_OK;
    }
    if (machine_symbol(l->request->arch, name, value))
        return EMU_OK;
    *value = 0;
    return s->weak ? EMU_OK : FAIL(BAD_ASM, "undefined symbol '%s'", name);
}

static int fits(int64_t v, const struct object_reloc *r)
{
    int64_t least = r->bits == 32 ? INT32_MIN : 0, end = INT64_C(1) << (r->bits + r->scale);

    return v >= least && v < end && !(v & ((1 << r->scale) - 1));
}

static enum emu_status relocate(const struct object_link *l, const struct object_section *s,
                                const struct object_reloc *r, uint8_t *bytes)
{
    const struct object_symbol *symbol = &l->o->symbol[r->symbol];
    uint32_t word, mask = r->bits == 32 ? UINT32_MAX : (1u << r->bits) - 1;
    int64_t v;

    TRY(symbol_value(l, symbol, &v));
    v += r->addend;
    if (!fits(v, r))
        return FAIL(BAD_ASM, "%s+0x%x: %lld does not fit %u bits", text_of(l->o, s->name),
                    r->offset, (long long)v, r->bits);
    memcpy(&word, bytes + r->offset, sizeof(word));
    word &= ~(mask << r->bit);
    word |= ((uint32_t)(v >> r->scale) & mask) << r->bit;
    memcpy(bytes + r->offset, &word, sizeof(word));
    return EMU_OK;
}

static enum emu_status copy_lines(const struct asm_object *o, const struct object_section *s,
                                  struct asm_section *out)
{
    struct asm_line *line = emu_alloc(s->lines + 1, sizeof(*line));

    if (!line)
        return FAIL(NO_MEMORY, "lines of a section");
    for (uint32_t i = 0; i < s->lines; i++) {
        const struct object_line *from = &o->line[s->first_line + i];

        line[i] = (struct asm_line){ from->offset, from->line, text_of(o, from->file) };
    }
    out->lines = line;
    out->line_count = s->lines;
    return EMU_OK;
}

static enum emu_status copy_section(struct object_link *l, uint32_t k)
{
    const struct object_section *s = &l->o->section[k];
    struct asm_section *out = &l->image->section[l->image->section_count];
    uint8_t *bytes = emu_alloc(s->size, 1);

    l->index[k] = (uint32_t)l->image->section_count++;
    *out = (struct asm_section){ .name = emu_strdup(text_of(l->o, s->name)),
                                 .file = emu_strdup(text_of(l->o, s->file)),
                                 .addr = l->addr[k],
                                 .size = s->size,
                                 .align = s->align,
                                 .flags = s->flags,
                                 .bytes = bytes };
    if (!out->name || !out->file || !bytes)
        return FAIL(NO_MEMORY, "section '%s'", text_of(l->o, s->name));
    memcpy(bytes, l->o->bytes + s->bytes, s->size);
    for (uint32_t i = 0; i < s->relocs; i++)
        TRY(relocate(l, s, &l->o->reloc[s->first_reloc + i], bytes));
    return copy_lines(l->o, s, out);
}

static enum emu_status copy_sections(struct object_link *l, uint32_t exec)
{
    for (uint32_t i = 0; i < l->taken; i++) {
        if ((l->o->section[l->order[i]].flags & ASM_EXEC) == exec)
            TRY(copy_section(l, l->order[i]));
    }
    return EMU_OK;
}

static enum emu_status copy_symbol(struct object_link *l, const struct object_symbol *s)
{
    struct asm_symbol *out = &l->image->symbol[l->image->symbol_count++];

    *out = (struct asm_symbol){ .name = emu_strdup(text_of(l->o, s->name)),
                                .file = emu_strdup(text_of(l->o, s->file)),
                                .section = &l->image->section[l->index[s->section]],
                                .value = (int64_t)l->addr[s->section] + s->value,
                                .size = s->size,
                                .stack_bytes = s->stack_bytes,
                                .type = s->type,
                                .global = s->global,
                                .weak = s->weak };
    return out->name && out->file ? EMU_OK : FAIL(NO_MEMORY, "symbol '%s'", text_of(l->o, s->name));
}

static enum emu_status copy_symbols(struct object_link *l)
{
    for (uint32_t k = l->o->sections; k < l->o->symbols; k++) {
        const struct object_symbol *s = &l->o->symbol[k];

        if (s->section != OBJECT_UNDEFINED && l->addr[s->section])
            TRY(copy_symbol(l, s));
    }
    image_order(l->image);
    return EMU_OK;
}

static enum emu_status make_image(struct object_link *l)
{
    struct asm_image *image = l->image;

    image->machine = emu_strdup(l->request->arch->name);
    image->section = emu_alloc((size_t)l->taken + 1, sizeof(*image->section));
    image->symbol = emu_alloc((size_t)l->o->symbols + 1, sizeof(*image->symbol));
    if (!image->machine || !image->section || !image->symbol)
        return FAIL(NO_MEMORY, "an image of %u sections", l->taken);
    TRY(copy_sections(l, ASM_EXEC));
    TRY(copy_sections(l, 0));
    return copy_symbols(l);
}

static enum emu_status link_all(struct object_link *l)
{
    size_t sections = (size_t)l->o->sections + 1;

    l->order = emu_alloc(sections, sizeof(*l->order));
    l->addr = emu_alloc(sections, sizeof(*l->addr));
    l->index = emu_alloc(sections, sizeof(*l->index));
    if (!l->order || !l->addr || !l->index)
        return FAIL(NO_MEMORY, "%u sections", l->o->sections);
    TRY(take_all(l));
    TRY(place_all(l));
    return make_image(l);
}

enum emu_status asm_object_link(const struct asm_object *o, const struct object_request *request,
                                struct asm_image *out)
{
    struct object_link l = { .o = o, .request = request, .image = out };
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = link_all(&l);
    emu_free(l.order);
    emu_free(l.addr);
    emu_free(l.index);
    if (s != EMU_OK)
        asm_image_free(out);
    return s;
}
