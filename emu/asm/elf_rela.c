/* elf_rela.c - what an ELF object says about its sections: relocations, source lines, sizes of
 * stacks. */
#include <stdlib.h>
#include <string.h>

#include "emu/asm/elf_file.h"
#include "emu/base/alloc.h"

static Elf32_Rela rela_at(const struct elf_file *f, const struct elf_section *s, uint32_t k)
{
    Elf32_Rela r;

    memcpy(&r, elf_contents(f, s) + k * sizeof(r), sizeof(r));
    return r;
}

/* The section a table of relocations is for; NULL after an error. */
static struct elf_section *target_of(struct elf_file *f, const struct elf_section *s)
{
    const Elf32_Shdr *h = &s->h;

    if (h->sh_entsize == sizeof(Elf32_Rela) && !(h->sh_size % sizeof(Elf32_Rela)) && f->symtab &&
        h->sh_link == f->symtab && h->sh_info && h->sh_info < f->sections)
        return &f->section[h->sh_info];
    elf_error(f, "section '%s' is no table of relocations of a section", s->name);
    return NULL;
}

/* ---- relocations ---- */

static struct expr_node *new_node(struct elf_file *f, struct expr_node n)
{
    struct expr_node *copy = unit_alloc(f->u, 1, sizeof(*copy));

    n.weight = 1;
    if (copy)
        *copy = n;
    else
        unit_no_memory(f->u);
    return copy;
}

/* symbol + addend */
static const struct expr_node *value_of(struct elf_file *f, struct elf_symbol *y, int32_t addend)
{
    struct expr_node *sum, *left, *right;

    if (y->section)
        return new_node(f, (struct expr_node){ .kind = NODE_PLACE,
                                               .number = (int64_t)y->offset + addend,
                                               .u.section = y->section });
    if (!y->symbol->uses++)
        y->symbol->first_use = f->at;
    left = new_node(f, (struct expr_node){ .kind = NODE_SYMBOL, .u.symbol = y->symbol });
    if (!addend || !left)
        return left;
    right = new_node(f, (struct expr_node){ .kind = NODE_NUMBER, .number = addend });
    sum = new_node(f, (struct expr_node){ .kind = NODE_BINARY, .op = '+', .u.left = left });
    if (!sum || !right)
        return NULL;
    sum->right = right;
    sum->weight = 3;
    sum->depth = 1;
    return sum;
}

static int read_relocation(struct elf_file *f, const struct elf_section *to, const Elf32_Rela *r,
                           struct fixup *out)
{
    const struct reloc_kind *k = reloc_kind(ELF32_R_TYPE(r->r_info));
    uint32_t symbol = ELF32_R_SYM(r->r_info);

    if (!k)
        return elf_error(f, "%s+0x%x: relocation type %u does not exist", to->name, r->r_offset,
                         (unsigned)ELF32_R_TYPE(r->r_info));
    if (to->h.sh_type == SHT_NOBITS || r->r_offset > to->h.sh_size ||
        to->h.sh_size - r->r_offset < k->bytes)
        return elf_error(f, "%s+0x%x: %s is outside the bytes of the section", to->name,
                         r->r_offset, k->name);
    if (symbol >= f->symbols)
        return elf_error(f, "%s+0x%x: %s of symbol %u, which does not exist", to->name, r->r_offset,
                         k->name, symbol);
    if (!f->symbol[symbol].section && !f->symbol[symbol].symbol)
        return elf_error(f, "%s+0x%x: %s of symbol %u, whose section is not loaded", to->name,
                         r->r_offset, k->name, symbol);
    *out = (struct fixup){ .kind = FIXUP_RELOC,
                           .bytes = k->bytes,
                           .offset = r->r_offset,
                           .reloc = k,
                           .expr = value_of(f, &f->symbol[symbol], r->r_addend),
                           .at = f->at };
    return out->expr != NULL;
}

/* The relocations of one table, after those its section has. */
static int read_table(struct elf_file *f, const struct elf_section *s, const struct elf_section *to)
{
    uint32_t n = s->h.sh_size / (uint32_t)sizeof(Elf32_Rela);
    struct section *out = to->loaded;
    struct fixup *grown = emu_realloc(out->fixup, out->fixups + n + 1, sizeof(*grown));

    if (!grown)
        return unit_no_memory(f->u);
    out->fixup = grown;
    out->fixup_capacity = out->fixups + n + 1;
    for (uint32_t k = 0; k < n; k++) {
        const Elf32_Rela r = rela_at(f, s, k);

        if (ELF32_R_TYPE(r.r_info) == 0)
            continue; /* R_COLOSSUS_NONE */
        if (!read_relocation(f, to, &r, &out->fixup[out->fixups]))
            return 0;
        out->fixups++;
    }
    return 1;
}

int elf_read_relocations(struct elf_file *f)
{
    for (uint32_t k = 1; k < f->sections; k++) {
        const struct elf_section *s = &f->section[k], *to;

        if (s->h.sh_type == SHT_REL)
            return elf_error(f, "section '%s' has relocations without addends", s->name);
        if (s->h.sh_type != SHT_RELA)
            continue;
        to = target_of(f, s);
        if (!to || (to->loaded && !read_table(f, s, to)))
            return 0;
    }
    return 1;
}

/* ---- source lines ---- */

static struct elf_line line_at(const struct elf_file *f, const struct elf_section *s, uint32_t k)
{
    struct elf_line line;

    memcpy(&line, elf_contents(f, s) + k * sizeof(line), sizeof(line));
    return line;
}

/* Most lines are of the file of the line before, whose name need not be found again. */
static int read_line(struct elf_file *f, const struct elf_section *s, uint32_t k,
                     struct section *to)
{
    struct item *last = to->items ? &to->item[to->items - 1] : NULL;
    struct elf_line line = line_at(f, s, k);
    const char *file = last && line_at(f, s, k - 1).file == line.file ? last->file : NULL;
    const char *name = file ? file : elf_string(f, s->h.sh_link, line.file);

    if (!name || line.offset >= to->size || (last && line.offset <= last->offset))
        return elf_error(f, "line %u of section '%s' leads outside", k, to->n.name);
    if (!file)
        file = unit_file_name(f->u, name, strlen(name));
    to->item[to->items++] = (struct item){ .offset = line.offset, .line = line.line, .file = file };
    return 1;
}

int elf_read_lines(struct elf_file *f)
{
    for (uint32_t k = 1; k < f->sections; k++) {
        const struct elf_section *s = &f->section[k];
        uint32_t n = s->h.sh_size / (uint32_t)sizeof(struct elf_line);
        struct section *to;

        if (s->h.sh_type != ELF_LINES || s->h.sh_info >= f->sections)
            continue;
        to = f->section[s->h.sh_info].loaded;
        if (!to)
            continue;
        if (to->item)
            return elf_error(f, "section '%s' has lines twice", to->n.name);
        to->item = emu_alloc((size_t)n + 1, sizeof(*to->item));
        if (!to->item)
            return unit_no_memory(f->u);
        for (uint32_t i = 0; i < n; i++) {
            if (!read_line(f, s, i, to))
                return 0;
        }
    }
    return 1;
}

/* ---- sizes of stacks ---- */

/* ULEB128 of at most 32 bits; NULL when it does not end in time. */
static const char *read_uleb(const char *p, const char *end, uint32_t *out)
{
    *out = 0;
    for (unsigned shift = 0; p < end && shift < 32; shift += 7) {
        unsigned char c = (unsigned char)*p++;

        *out |= (uint32_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return p;
    }
    return NULL;
}

/* Every record is an address, which a relocation gives, and a size. Where the relocation says
 * nothing of a section that is loaded, the record is passed over. */
static int read_records(struct elf_file *f, const struct elf_section *s,
                        const struct elf_section *rela, struct frame_sizes *out)
{
    const char *start = elf_contents(f, s), *p = start, *end = start + s->h.sh_size;
    uint32_t n = rela->h.sh_size / (uint32_t)sizeof(Elf32_Rela), k = 0;

    while (p < end) {
        uint32_t offset = (uint32_t)(p - start), bytes;
        Elf32_Rela r;

        p = end - p > 4 ? read_uleb(p + 4, end, &bytes) : NULL;
        if (!p || k == n)
            return elf_error(f, "section '%s' ends within a record", s->name);
        r = rela_at(f, rela, k++);
        if (r.r_offset != offset || ELF32_R_SYM(r.r_info) >= f->symbols)
            return elf_error(f, "%s+0x%x: expected one relocation of each record in their order",
                             s->name, offset);
        if (f->symbol[ELF32_R_SYM(r.r_info)].symbol || f->symbol[ELF32_R_SYM(r.r_info)].section) {
            const struct elf_symbol *y = &f->symbol[ELF32_R_SYM(r.r_info)];
            const struct section *in = y->section;
            uint32_t at = y->offset;

            if (!in && y->symbol->state == SYMBOL_LABEL) {
                in = y->symbol->section;
                at = y->symbol->offset;
            }
            if (!frame_sizes_add(f->u, out,
                                 (struct frame_size){ in, at + (uint32_t)r.r_addend, bytes }))
                return 0;
        }
    }
    return 1;
}

int elf_read_stack_sizes(struct elf_file *f)
{
    struct frame_sizes sizes = { NULL, 0, 0 };
    int ok = 1;

    for (uint32_t k = 1; ok && k < f->sections; k++) {
        const struct elf_section *s = &f->section[k], *to;

        if (s->h.sh_type != SHT_RELA)
            continue;
        to = target_of(f, s);
        ok = to != NULL;
        if (ok && !strcmp(to->name, STACK_SIZES) && to->h.sh_type == SHT_PROGBITS && !to->discarded)
            ok = read_records(f, to, s, &sizes);
    }
    frame_sizes_sort(&sizes);
    for (uint32_t k = 1; ok && k < f->symbols; k++) {
        if (f->symbol[k].symbol)
            frame_sizes_give(&sizes, f->symbol[k].symbol);
    }
    ss_free(sizes.at);
    return ok;
}
