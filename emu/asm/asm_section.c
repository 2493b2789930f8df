/* asm_section.c - what a file defines: symbols, numbered labels, sections and the bytes in them. */
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"

/* ---- symbols ---- */

struct symbol *symbol_find(const struct source *s, struct span name)
{
    return (struct symbol *)table_find(&s->symbols, name);
}

struct symbol *symbol_get(struct as *as, struct span name)
{
    struct symbol *s = symbol_find(as->source, name);

    if (s)
        return s;
    s = (struct symbol *)unit_insert(as->u, &as->source->symbols, name, sizeof(*s));
    if (s)
        s->source = as->source;
    return s;
}

static void define_here(struct as *as, struct symbol *s, struct loc at)
{
    s->state = SYMBOL_LABEL;
    s->section = as->section;
    s->offset = (uint32_t)as->section->size;
    s->defined = at;
}

static int already_defined(struct as *as, const struct symbol *s, struct loc at)
{
    as_error(as, at, "'%s' is already defined", s->n.name);
    unit_diag(as->u, ASM_NOTE, s->defined, "here");
    return 0;
}

int symbol_define_label(struct as *as, struct span name, struct loc at)
{
    struct symbol *s = symbol_get(as, name);

    if (!s)
        return 0;
    if (as->section->flags & SECTION_DROPPED) /* the file that keeps the group defines it */
        return 1;
    if (s->state != SYMBOL_UNDEFINED)
        return already_defined(as, s, at);
    define_here(as, s, at);
    return 1;
}

static struct symbol *new_numbered(struct as *as, struct span digits)
{
    struct symbol *s = unit_alloc(as->u, 1, sizeof(*s));
    struct span name = unit_copy(as->u, digits);

    if (!s || !name.s)
        return NULL;
    s->n.name = name.s;
    s->n.len = (uint32_t)name.n;
    s->source = as->source;
    s->numbered = 1;
    return s;
}

static struct numbered *numbered_get(struct as *as, struct span digits)
{
    struct named *n = table_find(&as->source->numbered, digits);

    if (!n)
        n = unit_insert(as->u, &as->source->numbered, digits, sizeof(struct numbered));
    return (struct numbered *)n;
}

int symbol_define_numbered(struct as *as, struct span digits, struct loc at)
{
    struct numbered *n = numbered_get(as, digits);

    if (!n)
        return 0;
    n->last = n->next ? n->next : new_numbered(as, digits);
    n->next = NULL;
    if (!n->last)
        return 0;
    define_here(as, n->last, at);
    return 1;
}

struct symbol *symbol_numbered(struct as *as, struct span digits, int forward, struct loc at)
{
    struct numbered *n = numbered_get(as, digits);

    if (!n)
        return NULL;
    if (!forward) {
        if (!n->last)
            as_error(as, at, "no label '%.*s:' before this", (int)digits.n, digits.s);
        return n->last;
    }
    if (!n->next) {
        n->next = new_numbered(as, digits);
        if (n->next)
            n->next->first_use = at;
    }
    return n->next;
}

int symbol_assign(struct as *as, struct span name, const struct expr_node *value, struct loc at)
{
    struct symbol *s = symbol_get(as, name);

    if (!s)
        return 0;
    if (s->state == SYMBOL_LABEL)
        return already_defined(as, s, at);
    s->state = SYMBOL_VARIABLE;
    s->value = value;
    s->defined = at;
    return 1;
}

/* ---- sections ---- */

struct section *section_get(struct as *as, struct span name, uint32_t flags, struct loc at)
{
    struct section *s = (struct section *)table_find(&as->source->sections, name);

    if (s) {
        if (flags && flags != s->flags && !(s->flags & SECTION_DROPPED))
            as_error(as, at, "section '%s' had other flags before", s->n.name);
        return s;
    }
    if (!flags) {
        as_error(as, at, "section '%.*s' needs flags, such as \"ax\"", (int)name.n, name.s);
        return NULL;
    }
    s = (struct section *)unit_insert(as->u, &as->source->sections, name, sizeof(*s));
    if (!s)
        return NULL;
    s->source = as->source;
    s->flags = flags;
    s->align = MIN_SECTION_ALIGN;
    *as->u->section_end = s;
    as->u->section_end = &s->next;
    return s;
}

struct section *section_new_common(struct asm_unit *u, struct source *f, const struct symbol *s)
{
    struct section *room = unit_alloc(u, 1, sizeof(*room));

    if (!room) {
        unit_no_memory(u);
        return NULL;
    }
    room->n.name = "COMMON";
    room->n.len = 6;
    room->source = f;
    room->flags = ASM_ALLOC | ASM_WRITE;
    room->align = MIN_SECTION_ALIGN;
    room->nobits = 1;
    room->common = s;
    *u->section_end = room;
    u->section_end = &room->next;
    return room;
}

int section_join_group(struct as *as, struct span name)
{
    struct comdat_group *g = (struct comdat_group *)table_find(&as->u->groups, name);

    if (!g) {
        g = (struct comdat_group *)unit_insert(as->u, &as->u->groups, name, sizeof(*g));
        if (!g)
            return 0;
        g->source = as->source;
    }
    if (g->source != as->source)
        as->section->flags = (as->section->flags & ASM_EXEC) | SECTION_UNLOADED | SECTION_DROPPED;
    return 1;
}

/* Room for n more bytes; the memory of a tile is the limit of a unit. */
static int reserve(struct as *as, struct section *s, uint64_t n, struct loc at)
{
    struct asm_unit *u = as->u;
    size_t capacity;
    uint8_t *bytes;

    if (n > u->arch.mem_bytes - u->total_bytes) {
        as->stop = 1;
        return as_error(as, at, "the unit is larger than the memory of a tile (%u bytes)",
                        u->arch.mem_bytes);
    }
    if (s->capacity - s->size < n) {
        capacity = 2 * s->capacity + (size_t)n + 256;
        bytes = emu_realloc(s->bytes, capacity, 1);
        if (!bytes)
            return unit_no_memory(u);
        s->bytes = bytes;
        s->capacity = capacity;
    }
    return 1;
}

/* Starts an item at the end of the section, unless it only continues the data of the same line. */
static int add_item(struct as *as, struct section *s, unsigned kind, struct loc at)
{
    struct item *last = s->items ? &s->item[s->items - 1] : NULL;
    void *p = s->item;

    if (last && kind == ITEM_DATA && last->kind == ITEM_DATA && last->line == at.line &&
        last->file == at.file)
        return 1;
    if (emu_grow(&p, s->items, &s->item_capacity, sizeof(*s->item)) != EMU_OK)
        return unit_no_memory(as->u);
    s->item = p;
    s->item[s->items++] = (struct item){ (uint32_t)s->size, at.line, at.file, (uint8_t)kind };
    return 1;
}

/* Appends an item and returns where its bytes belong. */
static uint8_t *append(struct as *as, uint64_t n, unsigned kind, struct loc at)
{
    struct section *s = as->section;
    uint8_t *p;

    if (!n || !reserve(as, s, n, at) || !add_item(as, s, kind, at))
        return NULL;
    p = s->bytes + s->size;
    s->size += (size_t)n;
    as->u->total_bytes += (size_t)n;
    return p;
}

int section_emit(struct as *as, const void *bytes, size_t n, unsigned kind, struct loc at)
{
    uint8_t *p;

    if (!section_is_loaded(as->section))
        return 1;
    p = append(as, n, kind, at);
    if (p)
        memcpy(p, bytes, n);
    return p || !n;
}

int section_fill(struct as *as, uint64_t count, unsigned width, uint64_t value, struct loc at)
{
    uint64_t n;
    uint8_t *p;

    if (!section_is_loaded(as->section))
        return 1;
    if (__builtin_mul_overflow(count, (uint64_t)width, &n))
        n = UINT64_MAX;
    p = append(as, n, ITEM_DATA, at);
    for (uint64_t i = 0; p && i < n; i++)
        p[i] = i % width < 8 ? (uint8_t)(value >> 8 * (i % width)) : 0;
    return p || !n;
}

uint32_t asm_nop_word(void)
{
    const int64_t none[ISA_MAX_OPERANDS] = { 0 };
    struct insn in[2];
    uint32_t word[2];

    isa_form_build(isa_form(FORM_nop), none, in);
    isa_encode(&in[0], word);
    return word[0];
}

/* Pads an executable section with instructions that do nothing: code falls through them. */
static int pad_code(struct as *as, uint64_t n, struct loc at)
{
    uint32_t nop = asm_nop_word();
    unsigned odd = (unsigned)(n % sizeof(nop));

    if (odd && !section_fill(as, odd, 1, 0, at))
        return 0;
    for (n -= odd; n; n -= sizeof(nop)) {
        if (!section_emit(as, &nop, sizeof(nop), ITEM_SINGLE | ITEM_PADDING, at))
            return 0;
    }
    return 1;
}

int section_align(struct as *as, uint64_t align, int64_t fill, int has_fill, uint64_t max,
                  struct loc at)
{
    struct section *s = as->section;
    uint64_t n;

    if (!align)
        return 1;
    if (align & (align - 1) || align > MAX_ALIGN)
        return as_error(as, at, "the alignment must be a power of two up to %d", MAX_ALIGN);
    n = -(uint64_t)s->size & (align - 1);
    if (max && n > max)
        return 1;
    if (s->align < align)
        s->align = (uint32_t)align;
    if (s->flags & ASM_EXEC && !has_fill)
        return pad_code(as, n, at);
    return section_fill(as, n, 1, (uint64_t)fill & 0xff, at);
}

int section_fixup(struct as *as, const struct fixup *f)
{
    struct section *s = as->section;
    void *p = s->fixup;

    if (!section_is_loaded(s))
        return 1;
    if (emu_grow(&p, s->fixups, &s->fixup_capacity, sizeof(*f)) != EMU_OK)
        return unit_no_memory(as->u);
    s->fixup = p;
    s->fixup[s->fixups++] = *f;
    return 1;
}
