/* elf_write.c - a unit as one relocatable ELF object.
 *
 *   header
 *   contents       every section with bytes, in the order of the unit
 *   .rela.NAME     its relocations; .superstep.lines: its source lines; .stack_sizes: its functions
 *   .symtab        per file its name and its local symbols; then the global ones
 *   .strtab        names of symbols, sections and files
 *   section headers
 *
 * A relocation is one symbol and a number. That is enough for every reference in code: a value made
 * of two places of one section, such as their distance, is known already.
 */
#include <string.h>

#include "emu/asm/elf_file.h"
#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"

struct bytes {
    char *at; /* owned */
    size_t n, room;
};

struct elf_writer {
    struct asm_unit *u;
    struct bytes file, header, symbol, string; /* Elf32_Shdr, Elf32_Sym */
    struct table strings, globals;             /* struct elf_name */
    uint32_t first_global;
};

/* Where a string stands, or which symbol has the name. */
struct elf_name {
    struct named n;
    uint32_t index;
};

/* Returns where the bytes begin; 0 when memory ran out, which the unit remembers. */
static size_t append(struct elf_writer *w, struct bytes *b, const void *from, size_t n)
{
    if (b->room - b->n < n) {
        size_t room = 2 * b->room + n + 1024;
        char *at = emu_realloc(b->at, room, 1);

        if (!at)
            return (size_t)unit_no_memory(w->u);
        b->at = at;
        b->room = room;
    }
    if (n)
        memcpy(b->at + b->n, from, n);
    b->n += n;
    return b->n - n;
}

static uint32_t count_of(const struct bytes *b, size_t size)
{
    return (uint32_t)(b->n / size);
}

/* Adds a name to a table. *is_new: it has no index yet. NULL when memory ran out. */
static struct elf_name *name_get(struct elf_writer *w, struct table *t, const char *text,
                                 int *is_new)
{
    struct span name = span_of(text, strlen(text));
    struct elf_name *n = (struct elf_name *)table_find(t, name);

    *is_new = !n;
    return n ? n : (struct elf_name *)unit_insert(w->u, t, name, sizeof(*n));
}

static uint32_t add_string(struct elf_writer *w, const char *text)
{
    int is_new;
    struct elf_name *n = name_get(w, &w->strings, text, &is_new);

    if (n && is_new)
        n->index = (uint32_t)append(w, &w->string, text, strlen(text) + 1);
    return n ? n->index : 0;
}

/* ---- sections ---- */

/* Adds a section and its bytes, NULL for NOBITS. h lacks only name, offset and size. Returns its
 * number. */
static uint32_t add_section(struct elf_writer *w, const char *name, Elf32_Shdr h, const void *bytes,
                            size_t n)
{
    static const char zeros[16];
    uint32_t align = h.sh_addralign > sizeof(zeros) ? (uint32_t)sizeof(zeros) : h.sh_addralign;

    if (align > 1)
        append(w, &w->file, zeros, -w->file.n & (align - 1));
    h.sh_name = add_string(w, name);
    h.sh_offset = (uint32_t)w->file.n;
    h.sh_size = (uint32_t)n;
    if (bytes)
        append(w, &w->file, bytes, n);
    append(w, &w->header, &h, sizeof(h));
    return count_of(&w->header, sizeof(h)) - 1;
}

static void add_content(struct elf_writer *w, struct section *s)
{
    Elf32_Shdr h = { .sh_type = s->nobits ? SHT_NOBITS : SHT_PROGBITS,
                     .sh_flags = SHF_ALLOC | (s->flags & ASM_EXEC ? SHF_EXECINSTR : 0u) |
                                 (s->flags & ASM_WRITE ? SHF_WRITE : 0u),
                     .sh_addralign = s->align };

    s->image_index = add_section(w, s->n.name, h, s->nobits ? NULL : s->bytes, s->size);
}

/* Common symbols have no section in the file. */
static int is_content(const struct section *s)
{
    return s->size && !s->common;
}

/* ---- symbols ---- */

static uint32_t add_symbol(struct elf_writer *w, const char *name, Elf32_Sym y)
{
    y.st_name = add_string(w, name);
    return (uint32_t)(append(w, &w->symbol, &y, sizeof(y)) / sizeof(y));
}

/* Where a symbol of the unit is. Returns 0 for one that the file does not have. */
static int place_of(const struct symbol *s, Elf32_Sym *y)
{
    struct value v;

    if (s->state == SYMBOL_UNDEFINED || !strncmp(s->n.name, ".L", 2))
        return 0;
    if (s->common) {
        y->st_shndx = SHN_COMMON;
        y->st_value = s->section->align;
        return 1;
    }
    v = s->state == SYMBOL_LABEL ? (struct value){ VALUE_PLACE, s->offset, s->section, NULL }
                                 : expr_eval(s->value, 0);
    y->st_value = (uint32_t)v.number;
    y->st_shndx = SHN_ABS;
    if (v.kind == VALUE_PLACE)
        y->st_shndx = (uint16_t)v.section->image_index;
    return v.kind == VALUE_PLACE
               ? is_content(v.section)
               : v.kind == VALUE_NUMBER && s->global && v.number >= 0 && v.number <= UINT32_MAX;
}

static void describe(const struct symbol *s, Elf32_Sym *y)
{
    unsigned type = s->type == ASM_FUNCTION ? STT_FUNC
                    : s->type == ASM_OBJECT ? STT_OBJECT
                                            : STT_NOTYPE;
    unsigned bind = s->weak ? STB_WEAK : s->global ? STB_GLOBAL : STB_LOCAL;
    struct value size = { VALUE_NUMBER, 0, NULL, NULL };

    y->st_info = (unsigned char)ELF32_ST_INFO(bind, type);
    if (s->size)
        size = expr_eval(s->size, 0);
    if (s->common)
        size.number = (int64_t)s->section->size;
    if (size.kind == VALUE_NUMBER && size.number >= 0 && size.number <= UINT32_MAX)
        y->st_size = (uint32_t)size.number;
}

static void add_locals(struct elf_writer *w, const struct source *f)
{
    const Elf32_Sym file = { .st_info = ELF32_ST_INFO(STB_LOCAL, STT_FILE), .st_shndx = SHN_ABS };
    int any = 0;

    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *n = f->symbols.bucket[i]; n; n = n->next) {
            const struct symbol *s = (const struct symbol *)n;
            Elf32_Sym y = { 0 };

            if (s->global || s->weak || !place_of(s, &y))
                continue;
            if (!any++)
                add_symbol(w, f->name, file);
            describe(s, &y);
            add_symbol(w, n->name, y);
        }
    }
}

/* As the linker does with definitions of several files. */
enum { WEAK, COMMON, DEFINED };

static int strength(const Elf32_Sym *y)
{
    if (y->st_shndx == SHN_COMMON)
        return COMMON;
    return ELF32_ST_BIND(y->st_info) == STB_WEAK ? WEAK : DEFINED;
}

/* What becomes of an entry of the table when another file has the name, too. Returns 0 if both
 * define it. */
static int join_symbols(Elf32_Sym *y, const Elf32_Sym *other)
{
    int have = strength(y), more = strength(other);

    if (have == COMMON && more == COMMON) {
        y->st_size = other->st_size > y->st_size ? other->st_size : y->st_size;
        y->st_value = other->st_value > y->st_value ? other->st_value : y->st_value;
    } else if (more > have) {
        uint32_t name = y->st_name;

        *y = *other;
        y->st_name = name;
    }
    return have != DEFINED || more != DEFINED;
}

static void add_globals(struct elf_writer *w, const struct source *f)
{
    for (size_t i = 0; i < f->symbols.buckets; i++) {
        for (struct named *n = f->symbols.bucket[i]; n; n = n->next) {
            const struct symbol *s = (const struct symbol *)n;
            struct elf_name *name;
            Elf32_Sym y = { 0 };
            int is_new;

            if ((!s->global && !s->weak) || !place_of(s, &y))
                continue;
            name = name_get(w, &w->globals, n->name, &is_new);
            describe(s, &y);
            if (name && is_new)
                name->index = add_symbol(w, n->name, y);
            else if (name && !w->u->no_memory &&
                     !join_symbols((Elf32_Sym *)w->symbol.at + name->index, &y))
                unit_diag(w->u, ASM_ERROR, s->defined, "'%s' is already defined in another file",
                          n->name);
        }
    }
}

/* A symbol that the linker finds by its name. */
static uint32_t global_symbol(struct elf_writer *w, const struct symbol *s)
{
    int is_new;
    struct elf_name *name = name_get(w, &w->globals, s->n.name, &is_new);
    Elf32_Sym y = { .st_info =
                        (unsigned char)ELF32_ST_INFO(s->weak ? STB_WEAK : STB_GLOBAL, STT_NOTYPE) };

    if (name && is_new)
        name->index = add_symbol(w, s->n.name, y);
    return name ? name->index : 0;
}

/* Symbol k, of section k, is its start; the sections of symbols come first. */
static void add_symbols(struct elf_writer *w)
{
    uint32_t sections = count_of(&w->header, sizeof(Elf32_Shdr));

    for (uint32_t k = 0; k < sections; k++)
        add_symbol(w, "",
                   (Elf32_Sym){ .st_info = k ? ELF32_ST_INFO(STB_LOCAL, STT_SECTION) : 0,
                                .st_shndx = (uint16_t)k });
    for (const struct source *f = w->u->source; f; f = f->next)
        add_locals(w, f);
    w->first_global = count_of(&w->symbol, sizeof(Elf32_Sym));
    for (const struct source *f = w->u->source; f; f = f->next)
        add_globals(w, f);
}

/* ---- relocations ---- */

/* Adds the relocation of an expression to the table. */
static int add_rela(struct elf_writer *w, struct bytes *table, const struct fixup *f,
                    const struct expr_node *expr, const struct reloc_kind *k)
{
    struct value v = expr_eval(expr, 0);
    struct symbol *external = NULL;
    Elf32_Rela r = { .r_offset = f->offset };
    uint32_t symbol;

    if (v.kind == VALUE_PLACE && is_content(v.section))
        symbol = (uint32_t)v.section->image_index;
    else if (v.kind == VALUE_UNKNOWN && expr_external(expr, &external, &v.number))
        symbol = global_symbol(w, external);
    else
        return unit_diag(w->u, ASM_ERROR, f->at,
                         "what stands here must be a number, or one symbol and a number");
    if (v.number < INT32_MIN || v.number > INT32_MAX)
        return unit_diag(w->u, ASM_ERROR, f->at, "the distance from the symbol is too large");
    r.r_info = ELF32_R_INFO(symbol, k->number);
    r.r_addend = (int32_t)v.number;
    append(w, table, &r, sizeof(r));
    return 1;
}

/* The bits that an operand of an instruction takes, found by encoding it full. */
static uint32_t field_of(const struct insn *in, const struct operand *o)
{
    struct insn full = *in;
    uint32_t word[2], filled[2];

    if (o->letter == 'i')
        full.i = (int32_t)(((1u << o->bits) - 1) << (o->kind == OPD_ADDR ? 2 : 0));
    else
        full.j = (int32_t)((1u << o->bits) - 1);
    if (isa_encode(in, word) != 1 || isa_encode(&full, filled) != 1)
        return 0;
    return word[0] ^ filled[0];
}

/* The relocation that fills an operand; NULL: there is none. */
static const struct reloc_kind *kind_of_operand(const struct match *m, unsigned operand)
{
    const struct operand *o = &m->form->operand[operand];
    uint32_t field;

    if (m->form->is_alias || (o->letter != 'i' && o->letter != 'j') ||
        (o->kind != OPD_UIMM && o->kind != OPD_ADDR))
        return NULL;
    if (m->insn[0].op == INSN_run)
        return reloc_kind(R_COLOSSUS_RUN);
    field = field_of(&m->insn[0], o);
    if (o->kind == OPD_ADDR)
        return field == 0x7ffff || field == 0xfffff ? reloc_kind(R_COLOSSUS_19_S2) : NULL;
    return field == 0xfffff  ? reloc_kind(R_COLOSSUS_20)
           : field == 0xffff ? reloc_kind(R_COLOSSUS_16)
           : field == 0xff   ? reloc_kind(R_COLOSSUS_8)
                             : NULL;
}

static int settle_insn(struct elf_writer *w, struct bytes *table, struct section *s,
                       const struct fixup *f)
{
    struct match m;

    if (!insn_match(w->u, NULL, f->insn, 0, &m) || !fixup_insn(w->u, s, f, 0))
        return 0;
    for (unsigned k = 0; k < f->insn->count; k++) {
        const struct operand_text *t = &f->insn->operand[k];
        const struct reloc_kind *kind;

        if (t->kind != TEXT_EXPR || expr_eval(t->expr, 0).kind == VALUE_NUMBER)
            continue;
        kind = kind_of_operand(&m, k);
        if (!kind)
            return unit_diag(w->u, ASM_ERROR, f->at,
                             "operand %u must be a number that is known here", k + 1);
        if (!add_rela(w, table, f, t->expr, kind))
            return 0;
    }
    return 1;
}

static int settle_data(struct elf_writer *w, struct bytes *table, struct section *s,
                       const struct fixup *f)
{
    static const uint8_t number[] = {
        [1] = R_COLOSSUS_8, [2] = R_COLOSSUS_16, [4] = R_COLOSSUS_32, [8] = R_COLOSSUS_64
    };

    if (expr_eval(f->expr, 0).kind == VALUE_NUMBER)
        return fixup_data(w->u, s, f, 0);
    return add_rela(w, table, f, f->expr, reloc_kind(number[f->bytes]));
}

/* What is known by now goes into the bytes, the rest becomes relocations. */
static void settle(struct elf_writer *w, struct bytes *table, struct section *s)
{
    for (size_t i = 0; i < s->fixups && w->u->errors <= MAX_ERRORS; i++) {
        const struct fixup *f = &s->fixup[i];

        if (f->kind == FIXUP_DATA)
            settle_data(w, table, s, f);
        else if (f->kind == FIXUP_INSN)
            settle_insn(w, table, s, f);
        else if (f->kind == FIXUP_RELOC)
            add_rela(w, table, f, f->expr, f->reloc);
    }
    for (size_t i = 0; i < s->fixups && w->u->errors <= MAX_ERRORS; i++) {
        if (s->fixup[i].kind == FIXUP_REPEAT)
            fixup_check_repeat(w->u, s, &s->fixup[i]);
    }
}

/* sh_link is filled in when the number of the table of symbols is known. */
static void add_relocations(struct elf_writer *w, const char *name, uint32_t section,
                            const struct bytes *table)
{
    const Elf32_Shdr h = { .sh_type = SHT_RELA,
                           .sh_flags = SHF_INFO_LINK,
                           .sh_info = section,
                           .sh_addralign = 4,
                           .sh_entsize = sizeof(Elf32_Rela) };
    size_t room = strlen(name) + sizeof(".rela");
    char *text;

    if (!table->n)
        return;
    text = unit_alloc(w->u, room, 1);
    if (!text)
        return;
    snprintf(text, room, ".rela%s", name);
    add_section(w, text, h, table->at, table->n);
}

static void add_section_relocations(struct elf_writer *w, struct section *s)
{
    struct bytes table = { NULL, 0, 0 };
    Elf32_Shdr *h;

    settle(w, &table, s);
    add_relocations(w, s->n.name, (uint32_t)s->image_index, &table);
    ss_free(table.at);
    if (w->u->no_memory || s->nobits)
        return;
    h = (Elf32_Shdr *)(void *)w->header.at + s->image_index;
    memcpy(w->file.at + h->sh_offset, s->bytes, s->size);
}

/* ---- lines and stacks ---- */

static void add_lines(struct elf_writer *w, const struct section *s)
{
    const Elf32_Shdr h = { .sh_type = ELF_LINES,
                           .sh_info = (uint32_t)s->image_index,
                           .sh_addralign = 4,
                           .sh_entsize = sizeof(struct elf_line) };
    struct bytes lines = { NULL, 0, 0 };

    for (size_t i = 0; i < s->items; i++) {
        struct elf_line line = { s->item[i].offset, s->item[i].line,
                                 add_string(w, s->item[i].file) };

        append(w, &lines, &line, sizeof(line));
    }
    if (lines.n)
        add_section(w, ELF_LINES_NAME, h, lines.at, lines.n);
    ss_free(lines.at);
}

static void add_stack_size(struct elf_writer *w, const struct symbol *s, struct bytes *records,
                           struct bytes *table)
{
    const Elf32_Rela r = { .r_offset = (uint32_t)records->n,
                           .r_info = ELF32_R_INFO(s->section->image_index, R_COLOSSUS_32),
                           .r_addend = (int32_t)s->offset };
    unsigned char text[4 + 5] = { 0 };
    size_t n = 4;

    for (uint32_t v = s->stack_bytes; n == 4 || v; v >>= 7)
        text[n++] = (unsigned char)((v & 0x7f) | (v >> 7 ? 0x80 : 0));
    append(w, records, text, n);
    append(w, table, &r, sizeof(r));
}

/* The functions of one section that say how much stack they take. */
static void add_stack_sizes(struct elf_writer *w, const struct section *s)
{
    const Elf32_Shdr h = { .sh_type = SHT_PROGBITS,
                           .sh_flags = SHF_LINK_ORDER,
                           .sh_link = (uint32_t)s->image_index,
                           .sh_addralign = 1 };
    struct bytes records = { NULL, 0, 0 }, table = { NULL, 0, 0 };

    for (size_t i = 0; i < s->source->symbols.buckets; i++) {
        for (struct named *n = s->source->symbols.bucket[i]; n; n = n->next) {
            const struct symbol *y = (const struct symbol *)n;

            if (y->stack_bytes && y->state == SYMBOL_LABEL && y->section == s)
                add_stack_size(w, y, &records, &table);
        }
    }
    if (records.n)
        add_relocations(w, STACK_SIZES, add_section(w, STACK_SIZES, h, records.at, records.n),
                        &table);
    ss_free(records.at);
    ss_free(table.at);
}

/* ---- the file ---- */

/* Tables of symbols and strings, and the links to them. */
static void add_tables(struct elf_writer *w)
{
    uint32_t symtab = count_of(&w->header, sizeof(Elf32_Shdr)), strtab = symtab + 1;
    const Elf32_Shdr symbols = { .sh_type = SHT_SYMTAB,
                                 .sh_link = strtab,
                                 .sh_info = w->first_global,
                                 .sh_addralign = 4,
                                 .sh_entsize = sizeof(Elf32_Sym) },
                     strings = { .sh_type = SHT_STRTAB, .sh_addralign = 1 };
    Elf32_Shdr *h;

    add_section(w, ".symtab", symbols, w->symbol.at, w->symbol.n);
    add_string(w, ".strtab"); /* before the strings are copied */
    add_section(w, ".strtab", strings, w->string.at, w->string.n);
    h = (Elf32_Shdr *)(void *)w->header.at;
    for (uint32_t k = 0; !w->u->no_memory && k < symtab; k++) {
        if (h[k].sh_type == SHT_RELA)
            h[k].sh_link = symtab;
        else if (h[k].sh_type == ELF_LINES)
            h[k].sh_link = strtab;
    }
}

static void add_header(struct elf_writer *w)
{
    static const char zeros[4];
    Elf32_Ehdr h = {
        .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT,
                     ELFOSABI_STANDALONE },
        .e_type = ET_REL,
        .e_machine = ELF_MACHINE_IPU,
        .e_version = EV_CURRENT,
        .e_flags = w->u->options.any_machine ? 0 : elf_architecture(&w->u->arch),
        .e_ehsize = sizeof(Elf32_Ehdr),
        .e_shentsize = sizeof(Elf32_Shdr),
        .e_shnum = (uint16_t)count_of(&w->header, sizeof(Elf32_Shdr)),
    };

    append(w, &w->file, zeros, -w->file.n & 3);
    h.e_shoff = (uint32_t)w->file.n;
    h.e_shstrndx = (uint16_t)(h.e_shnum - 1);
    append(w, &w->file, w->header.at, w->header.n);
    if (!w->u->no_memory)
        memcpy(w->file.at, &h, sizeof(h));
}

static void write_all(struct elf_writer *w)
{
    static const Elf32_Ehdr room;
    static const Elf32_Shdr none;

    append(w, &w->file, &room, sizeof(room));
    add_string(w, "");
    append(w, &w->header, &none, sizeof(none));
    for (struct section *s = w->u->section; s; s = s->next) {
        if (is_content(s))
            add_content(w, s);
    }
    add_symbols(w);
    for (struct section *s = w->u->section; s; s = s->next) {
        if (!is_content(s))
            continue;
        add_section_relocations(w, s);
        add_lines(w, s);
        add_stack_sizes(w, s);
    }
    add_tables(w);
    if (count_of(&w->header, sizeof(none)) >= SHN_LORESERVE)
        unit_diag(w->u, ASM_ERROR, (struct loc){ NULL, 0, 0 },
                  "the object would have more than %d sections", SHN_LORESERVE - 1);
    add_header(w);
}

enum emu_status asm_unit_object(struct asm_unit *u, uint8_t **out, size_t *bytes)
{
    struct elf_writer w = { .u = u };
    enum emu_status s;

    *out = NULL;
    unit_forget_link(u);
    TRY(unit_status(u));
    write_all(&w);
    s = unit_status(u);
    ss_free(w.header.at);
    ss_free(w.symbol.at);
    ss_free(w.string.at);
    table_free(&w.strings);
    table_free(&w.globals);
    if (s != EMU_OK) {
        ss_free(w.file.at);
        return s;
    }
    *out = (uint8_t *)w.file.at;
    *bytes = w.file.n;
    return EMU_OK;
}
