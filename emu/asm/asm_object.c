/* asm_object.c - a unit as a relocatable object, and the bytes of an object as a view.
 *
 *   "SSOBJ 1\n"
 *   6 x u32    sections, symbols, relocations, lines, bytes of strings, bytes of content
 *   the arrays in this order, each begins at a multiple of 4; all numbers little endian
 *
 * A relocation is one symbol and a number. That is enough for every reference in code: a value made
 * of two places of one section, such as their distance, is known already.
 */
#include "emu/asm/asm_object.h"

#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/alloc.h"

static const char magic[8] = "SSOBJ 1\n";

enum object_part { SECTIONS, SYMBOLS, RELOCS, LINES, STRINGS, BYTES, PARTS };

static const size_t element[PARTS] = { [SECTIONS] = sizeof(struct object_section),
                                       [SYMBOLS] = sizeof(struct object_symbol),
                                       [RELOCS] = sizeof(struct object_reloc),
                                       [LINES] = sizeof(struct object_line),
                                       [STRINGS] = 1,
                                       [BYTES] = 1 };

struct object_head {
    char magic[8];
    uint32_t count[PARTS];
};

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "objects are little endian");
_Static_assert(sizeof(struct object_symbol) == 28 && sizeof(struct object_reloc) == 16,
               "objects have no padding");

/* ---- writing ---- */

/* A growing array of the object. */
struct part {
    char *at; /* owned */
    size_t count, capacity;
};

struct object_writer {
    struct asm_unit *u;
    struct part part[PARTS];
    struct table strings, undefined; /* struct object_name */
};

/* Where a string stands, or which symbol has the name. */
struct object_name {
    struct named n;
    uint32_t index;
};

/* n elements more. Returns the number of the first, or OBJECT_UNDEFINED when memory ran out. */
static uint32_t append(struct object_writer *w, enum object_part k, const void *from, size_t n)
{
    struct part *p = &w->part[k];

    if (p->capacity - p->count < n) {
        size_t capacity = 2 * p->capacity + n + 64;
        char *at = emu_realloc(p->at, capacity, element[k]);

        if (!at) {
            unit_no_memory(w->u);
            return OBJECT_UNDEFINED;
        }
        p->at = at;
        p->capacity = capacity;
    }
    memcpy(p->at + p->count * element[k], from, n * element[k]);
    p->count += n;
    return (uint32_t)(p->count - n);
}

static struct object_name *name_get(struct object_writer *w, struct table *t, const char *text)
{
    struct span name = span_of(text, strlen(text));
    struct object_name *n = (struct object_name *)table_find(t, name);

    if (n)
        return n;
    n = (struct object_name *)unit_insert(w->u, t, name, sizeof(*n));
    if (n)
        n->index = OBJECT_UNDEFINED;
    return n;
}

static uint32_t add_string(struct object_writer *w, const char *text)
{
    struct object_name *n = name_get(w, &w->strings, text);

    if (n && n->index == OBJECT_UNDEFINED)
        n->index = append(w, STRINGS, text, strlen(text) + 1);
    return n ? n->index : 0;
}

static void add_section(struct object_writer *w, struct section *s)
{
    struct object_section out = {
        .name = add_string(w, s->n.name),
        .file = add_string(w, s->source->name),
        .flags = s->flags,
        .align = s->align,
        .size = (uint32_t)s->size,
        .first_line = (uint32_t)w->part[LINES].count,
        .lines = (uint32_t)s->items,
    };
    struct object_symbol start = { .section = (uint32_t)w->part[SECTIONS].count,
                                   .name = add_string(w, ""),
                                   .file = out.file };

    for (size_t i = 0; i < s->items; i++) {
        struct object_line line = { s->item[i].offset, s->item[i].line,
                                    add_string(w, s->item[i].file) };

        append(w, LINES, &line, 1);
    }
    s->image_index = append(w, SECTIONS, &out, 1);
    append(w, SYMBOLS, &start, 1);
}

static void add_symbol(struct object_writer *w, const struct symbol *s)
{
    struct value size = { VALUE_NUMBER, 0, NULL, NULL };
    struct object_symbol out = { .name = add_string(w, s->n.name),
                                 .file = add_string(w, s->source->name),
                                 .section = (uint32_t)s->section->image_index,
                                 .value = s->offset,
                                 .stack_bytes = s->stack_bytes,
                                 .type = s->type,
                                 .global = s->global,
                                 .weak = s->weak };

    if (s->size)
        size = expr_eval(s->size, 0);
    if (size.kind == VALUE_NUMBER && size.number >= 0 && size.number <= UINT32_MAX)
        out.size = (uint32_t)size.number;
    append(w, SYMBOLS, &out, 1);
}

static void add_symbols(struct object_writer *w)
{
    for (struct source *f = w->u->source; f; f = f->next) {
        for (size_t i = 0; i < f->symbols.buckets; i++) {
            for (struct named *n = f->symbols.bucket[i]; n; n = n->next) {
                const struct symbol *s = (const struct symbol *)n;

                if (s->state == SYMBOL_LABEL && s->section->size && strncmp(s->n.name, ".L", 2))
                    add_symbol(w, s);
            }
        }
    }
}

static uint32_t undefined_symbol(struct object_writer *w, const struct symbol *s)
{
    struct object_name *n = name_get(w, &w->undefined, s->n.name);
    struct object_symbol out = { .section = OBJECT_UNDEFINED, .weak = s->weak };

    if (!n || n->index != OBJECT_UNDEFINED)
        return n ? n->index : 0;
    out.name = add_string(w, s->n.name);
    out.file = add_string(w, s->source->name);
    n->index = append(w, SYMBOLS, &out, 1);
    return n->index;
}

/* ---- relocations ---- */

static int add_reloc(struct object_writer *w, const struct fixup *f, const struct expr_node *expr,
                     struct object_reloc r)
{
    struct value v = expr_eval(expr, 0);
    struct symbol *external = NULL;

    r.offset = f->offset;
    if (v.kind == VALUE_PLACE && v.section->size)
        r.symbol = (uint32_t)v.section->image_index;
    else if (v.kind == VALUE_UNKNOWN && expr_external(expr, &external, &v.number))
        r.symbol = undefined_symbol(w, external);
    else
        return unit_diag(w->u, ASM_ERROR, f->at,
                         "what stands here must be a number, or one symbol and a number");
    if (v.number < INT32_MIN || v.number > INT32_MAX)
        return unit_diag(w->u, ASM_ERROR, f->at, "the distance from the symbol is too large");
    r.addend = (int32_t)v.number;
    append(w, RELOCS, &r, 1);
    return 1;
}

/* The bits that the first immediate of an instruction takes, found by encoding it full. */
static int field_of(const struct match *m, const struct operand *o, struct object_reloc *r)
{
    struct insn full = m->insn[0];
    uint32_t word[2], filled[2], mask;

    if (m->form->is_alias || o->letter != 'i' || (o->kind != OPD_UIMM && o->kind != OPD_ADDR))
        return 0;
    r->scale = o->kind == OPD_ADDR ? 2 : 0;
    full.i = (int32_t)(((1u << o->bits) - 1) << r->scale);
    if (isa_encode(&m->insn[0], word) != 1 || isa_encode(&full, filled) != 1)
        return 0;
    mask = word[0] ^ filled[0];
    r->bit = (uint8_t)__builtin_ctz(mask);
    r->bits = o->bits;
    return mask >> r->bit == (1u << o->bits) - 1;
}

static int reloc_insn(struct object_writer *w, const struct fixup *f, const struct match *m)
{
    struct object_reloc r = { 0 };

    for (unsigned k = 0; k < f->insn->count; k++) {
        const struct operand_text *t = &f->insn->operand[k];

        if (t->kind != TEXT_EXPR || expr_eval(t->expr, 0).kind == VALUE_NUMBER)
            continue;
        if (!field_of(m, &m->form->operand[k], &r))
            return unit_diag(w->u, ASM_ERROR, f->at,
                             "operand %u must be a number that is known here", k + 1);
        if (!add_reloc(w, f, t->expr, r))
            return 0;
    }
    return 1;
}

static int reloc_data(struct object_writer *w, const struct fixup *f)
{
    if (f->bytes != sizeof(uint32_t))
        return unit_diag(w->u, ASM_ERROR, f->at, "only words can wait for an address");
    return add_reloc(w, f, f->expr, (struct object_reloc){ .bits = 32 });
}

/* What is known by now goes into the bytes, the rest becomes relocations. */
static int settle(struct object_writer *w, struct section *s, const struct fixup *f)
{
    struct match m;

    if (f->kind == FIXUP_DATA)
        return expr_eval(f->expr, 0).kind == VALUE_NUMBER ? fixup_data(w->u, s, f, 0)
                                                          : reloc_data(w, f);
    if (f->kind != FIXUP_INSN)
        return 1;
    return insn_match(w->u, NULL, f->insn, 0, &m) && fixup_insn(w->u, s, f, 0) &&
           reloc_insn(w, f, &m);
}

static void add_content(struct object_writer *w, struct section *s)
{
    uint32_t first = (uint32_t)w->part[RELOCS].count, bytes;
    struct object_section *out;

    for (size_t i = 0; i < s->fixups && w->u->errors <= MAX_ERRORS; i++)
        settle(w, s, &s->fixup[i]);
    for (size_t i = 0; i < s->fixups && w->u->errors <= MAX_ERRORS; i++) {
        if (s->fixup[i].kind == FIXUP_REPEAT)
            fixup_check_repeat(w->u, s, &s->fixup[i]);
    }
    bytes = append(w, BYTES, s->bytes, s->size);
    out = (struct object_section *)(void *)w->part[SECTIONS].at;
    if (w->u->no_memory)
        return;
    out[s->image_index].bytes = bytes;
    out[s->image_index].first_reloc = first;
    out[s->image_index].relocs = (uint32_t)w->part[RELOCS].count - first;
}

/* ---- the block ---- */

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

static enum emu_status join(struct object_writer *w, uint8_t **out, size_t *bytes)
{
    struct object_head head;
    size_t at = sizeof(head);

    TRY(unit_status(w->u));
    memcpy(head.magic, magic, sizeof(magic));
    *bytes = sizeof(head);
    for (int k = 0; k < PARTS; k++) {
        head.count[k] = (uint32_t)w->part[k].count;
        *bytes += padded(w->part[k].count * element[k]);
    }
    *out = emu_alloc(*bytes, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "an object of %zu bytes", *bytes);
    memcpy(*out, &head, sizeof(head));
    for (int k = 0; k < PARTS; k++) {
        size_t n = w->part[k].count * element[k];

        if (n)
            memcpy(*out + at, w->part[k].at, n);
        at += padded(n);
    }
    return EMU_OK;
}

enum emu_status asm_unit_object(struct asm_unit *u, uint8_t **out, size_t *bytes)
{
    struct object_writer w = { .u = u };
    enum emu_status s;

    *out = NULL;
    *bytes = 0;
    unit_forget_link(u);
    TRY(unit_status(u));
    for (struct section *c = u->section; c; c = c->next) {
        if (c->size)
            add_section(&w, c);
    }
    add_symbols(&w);
    for (struct section *c = u->section; c; c = c->next) {
        if (c->size)
            add_content(&w, c);
    }
    s = join(&w, out, bytes);
    for (int k = 0; k < PARTS; k++)
        emu_free(w.part[k].at);
    table_free(&w.strings);
    table_free(&w.undefined);
    return s;
}

/* ---- reading ---- */

static int bad_section(const struct asm_object *o, const struct object_section *s)
{
    return s->name >= o->string_bytes || s->file >= o->string_bytes || !s->align ||
           s->align & (s->align - 1) || s->align > MAX_ALIGN || s->bytes > o->byte_count ||
           s->size > o->byte_count - s->bytes || s->first_reloc > o->relocs ||
           s->relocs > o->relocs - s->first_reloc || s->first_line > o->lines ||
           s->lines > o->lines - s->first_line;
}

static int bad_symbol(const struct asm_object *o, uint32_t k)
{
    const struct object_symbol *s = &o->symbol[k];

    if (s->name >= o->string_bytes || s->file >= o->string_bytes)
        return 1;
    if (k < o->sections)
        return s->section != k || s->value;
    return s->section != OBJECT_UNDEFINED &&
           (s->section >= o->sections || s->value > o->section[s->section].size);
}

static int bad_reloc(const struct asm_object *o, const struct object_section *s,
                     const struct object_reloc *r)
{
    return s->size < sizeof(uint32_t) || r->offset > s->size - sizeof(uint32_t) ||
           r->symbol >= o->symbols || !r->bits || r->bit + r->bits > 32 || r->scale > 8;
}

static enum emu_status check_section(const struct asm_object *o, uint32_t k)
{
    const struct object_section *s = &o->section[k];

    if (bad_section(o, s))
        return FAIL(BAD_FILE, "object: section %u leads outside", k);
    for (uint32_t i = 0; i < s->relocs; i++) {
        if (bad_reloc(o, s, &o->reloc[s->first_reloc + i]))
            return FAIL(BAD_FILE, "object: relocation %u of section %u leads outside", i, k);
    }
    for (uint32_t i = 0; i < s->lines; i++) {
        if (o->line[s->first_line + i].file >= o->string_bytes)
            return FAIL(BAD_FILE, "object: line %u of section %u leads outside", i, k);
    }
    return EMU_OK;
}

static enum emu_status check_object(const struct asm_object *o)
{
    if (o->symbols < o->sections)
        return FAIL(BAD_FILE, "object: fewer symbols than sections");
    if (o->sections && (!o->string_bytes || o->strings[o->string_bytes - 1]))
        return FAIL(BAD_FILE, "object: the last string has no end");
    for (uint32_t k = 0; k < o->sections; k++)
        TRY(check_section(o, k));
    for (uint32_t k = 0; k < o->symbols; k++) {
        if (bad_symbol(o, k))
            return FAIL(BAD_FILE, "object: symbol %u leads outside", k);
    }
    return EMU_OK;
}

enum emu_status asm_object_read(const void *data, size_t bytes, struct asm_object *out)
{
    const char *base = data;
    struct object_head head;
    const void *part[PARTS];
    uint64_t at = sizeof(head);

    if (bytes < sizeof(head) || (uintptr_t)data % sizeof(uint32_t) ||
        memcmp(data, magic, sizeof(magic)))
        return FAIL(BAD_FILE, "not an object of this assembler");
    memcpy(&head, data, sizeof(head));
    for (int k = 0; k < PARTS; k++) {
        part[k] = base + at;
        at += padded(head.count[k] * (uint64_t)element[k]);
        if (at > bytes)
            return FAIL(BAD_FILE, "object: %zu bytes are too few", bytes);
    }
    *out = (struct asm_object){ .section = part[SECTIONS],
                                .symbol = part[SYMBOLS],
                                .reloc = part[RELOCS],
                                .line = part[LINES],
                                .strings = part[STRINGS],
                                .bytes = part[BYTES],
                                .sections = head.count[SECTIONS],
                                .symbols = head.count[SYMBOLS],
                                .relocs = head.count[RELOCS],
                                .lines = head.count[LINES],
                                .string_bytes = head.count[STRINGS],
                                .byte_count = head.count[BYTES] };
    return check_object(out);
}
