/* asm_link.c - places the sections of a unit, resolves its symbols, and fills in the bytes that
 * depend on addresses. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/asm/elf_reloc.h"
#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"

struct link {
    struct asm_unit *u;
    struct asm_layout layout;
};

/* ---- placing ---- */

static uint64_t round_up(uint64_t v, uint64_t align)
{
    return (v + align - 1) / align * align;
}

/* Places the sections that are executable, or all others, from addr on. Returns the end. */
static uint64_t place_kind(struct asm_unit *u, uint64_t addr, uint32_t exec)
{
    for (size_t i = 0; i < u->ordered; i++) {
        struct section *s = u->order[i];

        if ((s->flags & ASM_EXEC) != exec)
            continue;
        addr = round_up(addr, s->align);
        s->addr = (uint32_t)addr;
        addr += s->size;
    }
    return addr;
}

static int check_range(struct link *l, const char *what, uint64_t start, uint64_t end,
                       uint64_t limit)
{
    const struct arch *a = &l->u->arch;
    struct loc at = { NULL, 0, 0 };

    if (start % MIN_SECTION_ALIGN)
        return unit_diag(l->u, ASM_ERROR, at,
                         "the address of the %s, 0x%llx, is not a multiple of %d", what,
                         (unsigned long long)start, MIN_SECTION_ALIGN);
    if (start >= a->mem_base && end <= limit)
        return 1;
    return unit_diag(l->u, ASM_ERROR, at,
                     "the %s needs 0x%llx..0x%llx, the machine %s has 0x%llx..0x%llx for it", what,
                     (unsigned long long)start, (unsigned long long)end, a->name,
                     (unsigned long long)a->mem_base, (unsigned long long)limit);
}

static int place(struct link *l)
{
    const struct arch *a = &l->u->arch;
    uint64_t code = l->layout.code_addr ? l->layout.code_addr : a->mem_base;
    uint64_t code_end = place_kind(l->u, code, ASM_EXEC);
    uint64_t data =
        l->layout.data_addr ? l->layout.data_addr : round_up(code_end, MIN_SECTION_ALIGN);
    uint64_t data_end = place_kind(l->u, data, 0);
    uint64_t end = (uint64_t)a->mem_base + a->mem_bytes;

    if (code_end > code &&
        !check_range(l, "code", code, code_end, (uint64_t)a->mem_base + a->region0_bytes))
        return 0;
    if (data_end > data && !check_range(l, "data", data, data_end, end))
        return 0;
    if (code_end > code && data_end > data && code < data_end && data < code_end)
        return unit_diag(l->u, ASM_ERROR, (struct loc){ NULL, 0, 0 }, "code and data overlap");
    return 1;
}

/* ---- symbols ---- */

/* Which of several definitions of a name stays: the strongest; of equal ones the first, but of
 * common symbols the largest, with the largest alignment of all. */
enum { WEAK, COMMON, DEFINED };

static int strength(const struct symbol *s)
{
    if (s->common)
        return COMMON;
    return s->weak ? WEAK : DEFINED;
}

static int is_stronger(const struct symbol *s, const struct symbol *than)
{
    if (s->common && than->common)
        return s->section->size > than->section->size;
    return strength(s) > strength(than);
}

/* Common symbols of one name share one room, which suits them all. */
static void share_alignment(const struct symbol *a, const struct symbol *b)
{
    uint32_t larger = a->section->align > b->section->align ? a->section->align : b->section->align;

    a->section->align = b->section->align = larger;
}

static int add_global(struct link *l, struct symbol *s)
{
    struct span name = span_of(s->n.name, s->n.len);
    struct global *g = (struct global *)table_find(&l->u->globals, name);

    if (!g) {
        g = (struct global *)unit_insert(l->u, &l->u->globals, name, sizeof(*g));
        if (!g)
            return 0;
    }
    if (g->symbol && s->common && g->symbol->common)
        share_alignment(s, g->symbol);
    if (!g->symbol || is_stronger(s, g->symbol)) {
        g->symbol = s;
    } else if (strength(s) == DEFINED && strength(g->symbol) == DEFINED) {
        unit_diag(l->u, ASM_ERROR, s->defined, "'%s' is already defined in another file",
                  s->n.name);
        return unit_diag(l->u, ASM_NOTE, g->symbol->defined, "here");
    }
    return 1;
}

static int by_first_use(const void *a, const void *b)
{
    const struct symbol *x = *(struct symbol *const *)a, *y = *(struct symbol *const *)b;

    if (x->first_use.line != y->first_use.line)
        return x->first_use.line < y->first_use.line ? -1 : 1;
    return strcmp(x->n.name, y->n.name);
}

static void report_undefined(struct link *l, struct symbol **s, size_t n)
{
    enum asm_diag_kind kind = l->layout.allow_undefined ? ASM_WARNING : ASM_ERROR;

    if (n)
        qsort(s, n, sizeof(*s), by_first_use);
    for (size_t i = 0; i < n; i++) {
        char meant[200];

        names_meant(s[i], meant, sizeof(meant));
        unit_diag(l->u, kind, s[i]->first_use, "undefined symbol '%s' (%u use%s)%s", s[i]->n.name,
                  s[i]->uses, s[i]->uses == 1 ? "" : "s", meant);
    }
}

static int add_globals(struct link *l, const struct source *f)
{
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *m = f->symbols.bucket[i]; m; m = m->next) {
            struct symbol *s = (struct symbol *)m;

            if (s->global && s->state != SYMBOL_UNDEFINED)
                add_global(l, s);
        }
    }
    return !l->u->no_memory;
}

/* Adds the members of archives that a file needs to the end of the unit. */
static int pull_members(struct link *l, const struct source *f)
{
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *m = f->symbols.bucket[i]; m; m = m->next) {
            const struct symbol *s = (const struct symbol *)m;
            struct span name = span_of(m->name, m->len);
            struct source *pulled;

            if (s->state != SYMBOL_UNDEFINED || !s->uses || s->weak ||
                table_find(&l->u->globals, name))
                continue;
            pulled = archive_pull(l->u, name);
            if (pulled && !add_globals(l, pulled))
                return 0;
        }
    }
    return !l->u->no_memory;
}

/* Adds the member of an archive that has a root, unless a file has it. */
static int pull_root(struct link *l, const char *name)
{
    char text[ENTRY_BYTES];
    const char *const label[] = { name, entry_label(name, text) };
    struct source *pulled = NULL;

    for (size_t i = 0; i < EMU_COUNT_OF(label); i++) {
        if (label[i] && table_find(&l->u->globals, span_of(label[i], strlen(label[i]))))
            return 1;
    }
    for (size_t i = 0; i < EMU_COUNT_OF(label) && !pulled; i++) {
        if (label[i])
            pulled = archive_pull(l->u, span_of(label[i], strlen(label[i])));
    }
    return !pulled || add_globals(l, pulled);
}

/* What differs between machines, under the names the headers of emu/asm/include use. */
static struct symbol *machine_symbol(struct asm_unit *u, const char *name)
{
    const struct {
        const char *name;
        uint32_t value;
    } row[] = {
        { "SUPERSTEP_REGION1_BASE", u->arch.mem_base + u->arch.region0_bytes },
        { "SUPERSTEP_ELEMENT_PAIR_BYTES", 2 * u->arch.element_bytes },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct expr_node *value;
        struct symbol *s;

        if (strcmp(row[i].name, name))
            continue;
        s = unit_alloc(u, 1, sizeof(*s));
        value = unit_alloc(u, 1, sizeof(*value));
        if (!s || !value)
            return NULL;
        *value = (struct expr_node){ .kind = NODE_NUMBER, .number = row[i].value, .weight = 1 };
        *s = (struct symbol){ .n.name = row[i].name, .state = SYMBOL_VARIABLE, .value = value };
        return s;
    }
    return NULL;
}

/* Points the symbols that one file uses at their definitions. */
static void resolve_source(struct link *l, const struct source *f)
{
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *m = f->symbols.bucket[i]; m; m = m->next) {
            struct symbol *s = (struct symbol *)m;
            const struct global *g;

            s->resolved = NULL;
            if (s->state != SYMBOL_UNDEFINED && !s->weak && !s->common)
                continue;
            g = (struct global *)table_find(&l->u->globals, span_of(m->name, m->len));
            if (g && g->symbol != s)
                s->resolved = g->symbol;
            else if (s->state == SYMBOL_UNDEFINED)
                s->resolved = machine_symbol(l->u, m->name);
        }
    }
}

/* Symbols of one file that nothing defines, of those that what is linked uses. */
static int check_source(struct link *l, const struct source *f)
{
    struct symbol **undefined = emu_alloc(f->symbols.count, sizeof(struct symbol *));
    size_t n = 0;

    if (!undefined)
        return unit_no_memory(l->u);
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *m = f->symbols.bucket[i]; m; m = m->next) {
            struct symbol *s = (struct symbol *)m;

            if (s->state == SYMBOL_UNDEFINED && !s->weak && !s->resolved &&
                (l->layout.root ? s->needed : s->uses))
                undefined[n++] = s;
        }
    }
    report_undefined(l, undefined, n);
    ss_free(undefined);
    return 1;
}

static int resolve(struct link *l)
{
    struct asm_unit *u = l->u;

    table_free(&u->globals);
    for (struct source *f = u->source; f; f = f->next) {
        if (!add_globals(l, f))
            return 0;
    }
    for (size_t i = 0; l->layout.root && i < l->layout.roots; i++) {
        if (!pull_root(l, l->layout.root[i]))
            return 0;
    }
    for (struct source *f = u->source; f; f = f->next) { /* grows meanwhile */
        if (!pull_members(l, f))
            return 0;
    }
    for (struct source *f = u->source; f; f = f->next)
        resolve_source(l, f);
    if (!needed_sections(u, &l->layout))
        return 0;
    for (struct source *f = u->source; f; f = f->next) {
        if (!check_source(l, f))
            return 0;
    }
    return !u->no_memory;
}

/* ---- fixups ---- */

int fixup_data(struct asm_unit *u, struct section *s, const struct fixup *f, int linked)
{
    struct value v = expr_eval(f->expr, linked);
    int64_t limit = f->bytes < 8 ? INT64_C(1) << 8 * f->bytes : INT64_MAX;

    if (v.kind != VALUE_NUMBER)
        return unit_diag(u, ASM_ERROR, f->at, "%s", v.why ? v.why : "not a number");
    if (f->bytes < 8 && (v.number >= limit || v.number < -limit / 2))
        return unit_diag(u, ASM_ERROR, f->at, "%lld does not fit in %u bytes", (long long)v.number,
                         f->bytes);
    for (unsigned i = 0; i < f->bytes; i++)
        s->bytes[f->offset + i] = (uint8_t)((uint64_t)v.number >> 8 * i);
    return 1;
}

int fixup_insn(struct asm_unit *u, struct section *s, const struct fixup *f, int linked)
{
    uint32_t word[2], old;
    struct match m;

    if (!insn_match(u, NULL, f->insn, linked, &m))
        return 0;
    EMU_ASSERT(isa_encode(&m.insn[0], word) * sizeof(word[0]) == f->bytes);
    memcpy(&old, s->bytes + f->offset, sizeof(old));
    word[0] |= old & 1u << ISA_BUNDLE_BIT;
    memcpy(s->bytes + f->offset, word, f->bytes);
    return 1;
}

void fixup_target(const struct expr_node *n, char *out, size_t bytes)
{
    int64_t addend = 0;

    if (n->kind == NODE_BINARY) {
        addend = n->right->number;
        n = n->u.left;
    }
    if (n->kind == NODE_SYMBOL)
        snprintf(out, bytes, "'%s'", n->u.symbol->n.name);
    else
        snprintf(out, bytes, "'%s'", n->u.section->n.name);
    if (n->kind == NODE_PLACE)
        addend = n->number;
    if (addend)
        snprintf(out + strlen(out), bytes - strlen(out), " %c %lld", addend < 0 ? '-' : '+',
                 addend < 0 ? -(long long)addend : (long long)addend);
}

void fixup_reloc(struct asm_unit *u, struct section *s, const struct fixup *f)
{
    struct value v = expr_eval(f->expr, 1);
    char why[120], target[200];

    if (v.kind != VALUE_NUMBER) {
        unit_diag(u, ASM_ERROR, f->at, "%s", v.why);
        return;
    }
    if (reloc_apply(f->reloc, v.number, u->arch.mem_base, s->bytes + f->offset, why, sizeof(why)))
        return;
    fixup_target(f->expr, target, sizeof(target));
    unit_diag(u, ASM_ERROR, f->at, "%s+0x%x: %s of %s: %s", s->n.name, f->offset, f->reloc->name,
              target, why);
}

static int repeat_fault(struct asm_unit *u, const struct fixup *f, const struct item *bad,
                        const char *why)
{
    unit_diag(u, ASM_ERROR, (struct loc){ bad->file, bad->line, 0 }, "%s", why);
    return unit_diag(u, ASM_NOTE, f->at, "in the body of this repeat");
}

/* The last operand of the rpt at an offset: bundles of its body less one. */
static uint32_t repeat_length(const struct section *s, uint32_t offset)
{
    uint32_t word[2] = { 0, 0 };
    struct insn rpt, aux;
    int is_bundle;

    memcpy(word, s->bytes + offset, s->size - offset < sizeof(word) ? 4 : sizeof(word));
    isa_decode(word, &rpt, &aux, &is_bundle);
    return rpt.op == INSN_rpt_i ? rpt.j : (uint32_t)rpt.i;
}

int fixup_check_repeat(struct asm_unit *u, const struct section *s, const struct fixup *f)
{
    const struct item *first = &s->item[f->item] + 1, *end = s->item + s->items;
    uint32_t length = repeat_length(s, f->offset);

    if (s->source->any_repeat)
        return 1;
    for (const struct item *i = first; i < end && i - first <= (ptrdiff_t)length; i++) {
        if (i->kind & (ITEM_DATA | ITEM_PADDING))
            return 1; /* what follows may be no part of the body */
        if (i->offset % ISA_BUNDLE_BYTES && i == first)
            return unit_diag(u, ASM_ERROR, f->at,
                             "the body of a repeat must start at a multiple of 8, not at 0x%x: %s",
                             (unsigned)(s->addr + i->offset),
                             s->item[f->item].kind & ITEM_BUNDLE ? "put a nop before the bundle"
                                                                 : "bundle the rpt with a fnop");
        if (!(i->kind & ITEM_BUNDLE))
            return repeat_fault(u, f, i, "only bundles can be repeated");
        if (i->kind & ITEM_NO_REPEAT)
            return repeat_fault(u, f, i, "control and system instructions cannot be repeated");
    }
    return 1;
}

static void fix_section(struct link *l, struct section *s)
{
    for (size_t i = 0; i < s->fixups && l->u->errors <= MAX_ERRORS; i++) {
        const struct fixup *f = &s->fixup[i];

        if (f->kind == FIXUP_DATA)
            fixup_data(l->u, s, f, 1);
        else if (f->kind == FIXUP_INSN)
            fixup_insn(l->u, s, f, 1);
        else if (f->kind == FIXUP_RELOC)
            fixup_reloc(l->u, s, f);
    }
    for (size_t i = 0; i < s->fixups && l->u->errors <= MAX_ERRORS; i++) {
        if (s->fixup[i].kind == FIXUP_REPEAT)
            fixup_check_repeat(l->u, s, &s->fixup[i]);
    }
}

/* ---- the image ---- */

/* Labels of sections that are not linked are left out; an empty section is nowhere. */
static int is_exported(const struct link *l, const struct symbol *s)
{
    if (s->state == SYMBOL_UNDEFINED || !strncmp(s->n.name, ".L", 2))
        return 0;
    return s->state != SYMBOL_LABEL || s->section->taken || (!l->layout.root && !s->section->size);
}

static void count(const struct link *l, size_t *sections, size_t *lines, size_t *symbols)
{
    const struct asm_unit *u = l->u;

    *lines = *symbols = 0;
    *sections = u->ordered;
    for (size_t i = 0; i < u->ordered; i++)
        *lines += u->order[i]->items;
    for (const struct source *f = u->source; f; f = f->next) {
        for (size_t i = 0; i < f->symbols.buckets; i++) {
            for (const struct named *n = f->symbols.bucket[i]; n; n = n->next)
                *symbols += (size_t)is_exported(l, (const struct symbol *)n);
        }
    }
}

static void image_section(struct asm_unit *u, struct section *s, struct asm_line *line)
{
    struct asm_image *image = &u->image;

    for (size_t i = 0; i < s->items; i++)
        line[i] = (struct asm_line){ s->item[i].offset, s->item[i].line, s->item[i].file };
    s->image_index = image->section_count;
    image->section[image->section_count++] = (struct asm_section){
        .name = s->n.name,
        .file = s->source->name,
        .addr = s->addr,
        .size = (uint32_t)s->size,
        .align = s->align,
        .flags = s->flags,
        .bytes = s->bytes,
        .lines = line,
        .line_count = s->items,
    };
}

static void image_symbol(struct link *l, struct symbol *s)
{
    struct asm_image *image = &l->u->image;
    struct asm_symbol *out = &image->symbol[image->symbol_count++];
    struct value v = { VALUE_NUMBER, 0, NULL, NULL };

    out->name = s->n.name;
    out->file = s->source->name;
    out->stack_bytes = s->stack_bytes;
    out->type = s->type;
    out->global = s->global;
    out->weak = s->weak;
    if (s->size)
        v = expr_eval(s->size, 1);
    if (v.kind == VALUE_NUMBER && v.number >= 0 && v.number <= UINT32_MAX)
        out->size = (uint32_t)v.number;
    if (s->state == SYMBOL_LABEL) {
        out->value = (int64_t)s->section->addr + s->offset;
        if (s->section->size)
            out->section = &image->section[s->section->image_index];
        return;
    }
    v = expr_eval(s->value, 1);
    out->value = v.number;
    if (v.kind != VALUE_NUMBER)
        unit_diag(l->u, ASM_ERROR, s->defined, "%s", v.why ? v.why : "not a number");
}

static int make_image(struct link *l)
{
    struct asm_unit *u = l->u;
    size_t sections, lines, symbols, at = 0;

    count(l, &sections, &lines, &symbols);
    ss_free(u->image.section);
    ss_free(u->image.symbol);
    ss_free(u->line);
    memset(&u->image, 0, sizeof(u->image));
    u->image.machine = u->arch.name;
    u->image.section = emu_alloc(sections, sizeof(*u->image.section));
    u->image.symbol = emu_alloc(symbols, sizeof(*u->image.symbol));
    u->line = emu_alloc(lines, sizeof(*u->line));
    if (!u->image.section || !u->image.symbol || !u->line)
        return unit_no_memory(u);
    for (int data = 0; data < 2; data++) {
        for (size_t i = 0; i < u->ordered; i++) {
            struct section *s = u->order[i];

            if ((s->flags & ASM_EXEC ? 0 : 1) != data)
                continue;
            image_section(u, s, u->line + at);
            at += s->items;
        }
    }
    for (struct source *f = u->source; f; f = f->next) {
        for (size_t i = 0; i < f->symbols.buckets; i++) {
            for (struct named *n = f->symbols.bucket[i]; n; n = n->next) {
                if (is_exported(l, (struct symbol *)n))
                    image_symbol(l, (struct symbol *)n);
            }
        }
    }
    image_order(&u->image);
    return 1;
}

enum emu_status asm_unit_link(struct asm_unit *u, const struct asm_layout *layout)
{
    static const struct asm_layout defaults;
    struct link l = { u, layout ? *layout : defaults };

    unit_forget_link(u);
    TRY(unit_status(u));
    u->was_linked = 1;
    u->link_diags = u->diags;
    u->link_errors = u->errors;
    if (resolve(&l) && place(&l)) {
        for (size_t i = 0; i < u->ordered; i++)
            fix_section(&l, u->order[i]);
        if (!u->errors)
            make_image(&l);
    }
    TRY(unit_status(u));
    u->linked = 1;
    return EMU_OK;
}
