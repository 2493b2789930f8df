/* elf_read.c - relocatable ELF files of this target as sources of a unit: header, sections, groups
 * and symbols. What a field must be: docs/objects.md. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/asm/elf_file.h"
#include "emu/base/alloc.h"

int elf_error(struct elf_file *f, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return unit_diag(f->u, ASM_ERROR, f->at, "%s", text);
}

const char *elf_at(const struct elf_file *f, uint32_t offset, uint64_t count, size_t size)
{
    if (offset > f->data.n || count > (f->data.n - offset) / size)
        return NULL;
    return f->data.s + offset;
}

const char *elf_contents(const struct elf_file *f, const struct elf_section *s)
{
    return f->data.s + s->h.sh_offset;
}

const char *elf_string(const struct elf_file *f, uint32_t section, uint32_t offset)
{
    const Elf32_Shdr *h;
    const char *text;

    if (!section || section >= f->sections)
        return NULL;
    h = &f->section[section].h;
    if (h->sh_type != SHT_STRTAB || offset >= h->sh_size)
        return NULL;
    text = f->data.s + h->sh_offset;
    return text[h->sh_size - 1] ? NULL : text + offset;
}

int elf_is_object(struct span data)
{
    return data.n >= SELFMAG && !memcmp(data.s, ELFMAG, SELFMAG);
}

/* ---- header ---- */

static int check_architecture(struct elf_file *f)
{
    uint32_t flags = f->head.e_flags;

    if (flags != 0 && flags != 0x01 && flags != 0x02 && flags != 0x21)
        return elf_error(
            f, "expected the flags of an architecture, 0x01, 0x02, 0x21 or 0, got 0x%x", flags);
    if (flags && flags != elf_architecture(&f->u->arch))
        unit_diag(f->u, ASM_WARNING, f->at, "the object is for architecture 0x%02x, %s has 0x%02x",
                  flags, f->u->arch.name, elf_architecture(&f->u->arch));
    return 1;
}

static int check_header(struct elf_file *f)
{
    const Elf32_Ehdr *h = &f->head;
    const unsigned char *id = h->e_ident;

    if (f->data.n < sizeof(*h) || !elf_is_object(f->data))
        return elf_error(f, "expected an ELF file");
    memcpy(&f->head, f->data.s, sizeof(f->head));
    if (id[EI_CLASS] != ELFCLASS32 || id[EI_DATA] != ELFDATA2LSB || id[EI_VERSION] != EV_CURRENT)
        return elf_error(f, "expected an ELF file of 32 bits, little endian, version 1");
    if (h->e_machine != ELF_MACHINE_IPU)
        return elf_error(f, "expected an object for machine %d, got one for %u", ELF_MACHINE_IPU,
                         h->e_machine);
    if (id[EI_OSABI] != ELFOSABI_STANDALONE && id[EI_OSABI] != ELFOSABI_NONE)
        return elf_error(f, "expected an object without an operating system, got ABI %u",
                         id[EI_OSABI]);
    if (h->e_type != ET_REL)
        return elf_error(f, "expected a relocatable object, got an ELF file of type %u", h->e_type);
    if (h->e_shentsize != sizeof(Elf32_Shdr) || !h->e_shnum ||
        !elf_at(f, h->e_shoff, h->e_shnum, sizeof(Elf32_Shdr)))
        return elf_error(f, "the section headers lead outside the file");
    return 1;
}

static int name_section(struct elf_file *f, uint32_t k)
{
    struct elf_section *s = &f->section[k];

    s->name = elf_string(f, f->head.e_shstrndx, s->h.sh_name);
    return s->name ? 1 : elf_error(f, "section %u has no name", k);
}

/* Whether a table has entries of this size, all of them in the section. */
static int is_table(const Elf32_Shdr *h, size_t entry)
{
    return h->sh_entsize == entry && !(h->sh_size % entry);
}

static int check_symtab(struct elf_file *f, uint32_t k)
{
    const Elf32_Shdr *h = &f->section[k].h;

    if (f->symtab)
        return elf_error(f, "sections %u and %u are both tables of symbols", f->symtab, k);
    if (!is_table(h, sizeof(Elf32_Sym)) || !elf_string(f, h->sh_link, 0))
        return elf_error(f, "section %u is no table of symbols with names", k);
    f->symtab = k;
    f->symbols = h->sh_size / (uint32_t)sizeof(Elf32_Sym);
    return 1;
}

int elf_read_head(struct elf_file *f)
{
    uint64_t bytes = 0;

    if (!check_header(f))
        return 0;
    f->sections = f->head.e_shnum;
    f->section = unit_alloc(f->u, f->sections, sizeof(*f->section));
    if (!f->section)
        return unit_no_memory(f->u);
    for (uint32_t k = 1; k < f->sections; k++) {
        Elf32_Shdr *h = &f->section[k].h;

        memcpy(h, f->data.s + f->head.e_shoff + k * sizeof(*h), sizeof(*h));
        if (h->sh_type == SHT_NOBITS)
            continue;
        if (!elf_at(f, h->sh_offset, h->sh_size, 1))
            return elf_error(f, "section %u leads outside the file", k);
        bytes += h->sh_size;
    }
    /* So the work on a file is bounded by its size. */
    if (bytes > f->data.n)
        return elf_error(f, "the sections overlap");
    for (uint32_t k = 1; k < f->sections; k++) {
        if (!name_section(f, k) || (f->section[k].h.sh_type == SHT_SYMTAB && !check_symtab(f, k)))
            return 0;
    }
    return 1;
}

/* ---- groups ---- */

/* The name by which a group is known: that of its symbol, or of its symbol's section. NULL after
 * an error. */
static const char *signature(struct elf_file *f, const struct elf_section *group)
{
    Elf32_Sym y;

    if (group->h.sh_link != f->symtab || group->h.sh_info >= f->symbols)
        return NULL;
    y = elf_symbol_entry(f, group->h.sh_info);
    if (ELF32_ST_TYPE(y.st_info) == STT_SECTION && y.st_shndx < f->sections)
        return f->section[y.st_shndx].name;
    return elf_string(f, f->section[f->symtab].h.sh_link, y.st_name);
}

/* The group of a name in the file that keeps it, which is this one if no earlier one has it. */
static const struct comdat_group *group_of(struct elf_file *f, const char *name)
{
    struct span text = span_of(name, strlen(name));
    struct comdat_group *g = (struct comdat_group *)table_find(&f->u->groups, text);

    if (g)
        return g;
    g = (struct comdat_group *)unit_insert(f->u, &f->u->groups, text, sizeof(*g));
    if (g)
        g->source = f->source;
    return g;
}

static int read_group(struct elf_file *f, struct elf_section *section)
{
    const char *name = signature(f, section);
    uint32_t words = section->h.sh_size / 4, word;
    const struct comdat_group *g;

    if (!name || !words)
        return elf_error(f, "group '%s' has no name", section->name);
    memcpy(&word, elf_contents(f, section), sizeof(word));
    if (!(word & GRP_COMDAT))
        return 1;
    g = group_of(f, name);
    for (uint32_t i = 1; g && i < words; i++) {
        memcpy(&word, elf_contents(f, section) + 4 * (size_t)i, sizeof(word));
        if (!word || word >= f->sections)
            return elf_error(f, "group '%s' has a section %u that does not exist", name, word);
        f->section[word].discarded |= g->source != f->source;
    }
    return g != NULL;
}

static int read_groups(struct elf_file *f)
{
    for (uint32_t k = 1; k < f->sections; k++) {
        if (f->section[k].h.sh_type == SHT_GROUP && !read_group(f, &f->section[k]))
            return 0;
    }
    return 1;
}

/* ---- sections ---- */

static int is_loaded(const struct elf_section *s)
{
    return s->h.sh_flags & SHF_ALLOC && !s->discarded && strcmp(s->name, ".eh_frame");
}

static int check_section(struct elf_file *f, const struct elf_section *s)
{
    const Elf32_Shdr *h = &s->h;

    if (h->sh_type != SHT_PROGBITS && h->sh_type != SHT_NOBITS && h->sh_type != SHT_NOTE)
        return elf_error(f, "section '%s' is to be loaded and has type %u: nothing here uses it",
                         s->name, h->sh_type);
    if (h->sh_flags & (SHF_TLS | SHF_COMPRESSED))
        return elf_error(f,
                         "section '%s' has flags 0x%x: threads' own and compressed data cannot "
                         "be loaded",
                         s->name, h->sh_flags);
    if (h->sh_addralign & (h->sh_addralign - 1) || h->sh_addralign > MAX_ALIGN)
        return elf_error(f, "section '%s' has alignment %u, expected a power of two up to %d",
                         s->name, h->sh_addralign, MAX_ALIGN);
    return 1;
}

static int give_zeros(struct asm_unit *u, struct section *s, uint32_t align, uint32_t bytes)
{
    s->align = align < MIN_SECTION_ALIGN ? MIN_SECTION_ALIGN : align;
    s->bytes = emu_alloc(bytes, 1);
    if (!s->bytes)
        return unit_no_memory(u);
    s->size = s->capacity = bytes;
    return 1;
}

static struct section *new_section(struct elf_file *f, const char *name, uint32_t flags,
                                   uint32_t align, uint32_t bytes)
{
    struct section *s = (struct section *)unit_insert(
        f->u, &f->source->sections, span_of(name, strlen(name)), sizeof(struct section));

    if (!s)
        return NULL;
    s->source = f->source;
    s->flags = flags;
    *f->u->section_end = s;
    f->u->section_end = &s->next;
    return give_zeros(f->u, s, align, bytes) ? s : NULL;
}

/* A section without bytes in the file costs as many here; together they are less than a tile. */
static int check_nobits(struct elf_file *f, const char *name, uint32_t bytes)
{
    struct asm_unit *u = f->u;

    if (bytes > u->arch.mem_bytes - u->total_bytes)
        return elf_error(f,
                         "section '%s' of %u bytes: the unit is larger than the memory of a "
                         "tile (%u bytes)",
                         name, bytes, u->arch.mem_bytes);
    u->total_bytes += bytes;
    return 1;
}

static int load_section(struct elf_file *f, struct elf_section *s)
{
    uint32_t flags = ASM_ALLOC | (s->h.sh_flags & SHF_EXECINSTR ? ASM_EXEC : 0) |
                     (s->h.sh_flags & SHF_WRITE ? ASM_WRITE : 0);
    int nobits = s->h.sh_type == SHT_NOBITS;

    if (!check_section(f, s) || (nobits && !check_nobits(f, s->name, s->h.sh_size)))
        return 0;
    s->loaded = new_section(f, s->name, flags, s->h.sh_addralign, s->h.sh_size);
    if (!s->loaded)
        return 0;
    s->loaded->nobits = (uint8_t)nobits;
    if (!nobits && s->h.sh_size)
        memcpy(s->loaded->bytes, elf_contents(f, s), s->h.sh_size);
    return 1;
}

static int load_sections(struct elf_file *f)
{
    for (uint32_t k = 1; k < f->sections; k++) {
        if (is_loaded(&f->section[k]) && !load_section(f, &f->section[k]))
            return 0;
    }
    return 1;
}

/* ---- symbols ---- */

Elf32_Sym elf_symbol_entry(const struct elf_file *f, uint32_t k)
{
    Elf32_Sym y;

    memcpy(&y, elf_contents(f, &f->section[f->symtab]) + k * sizeof(y), sizeof(y));
    return y;
}

/* A symbol that the linker allocates: a section of its own, which stays if no file defines it. */
static int read_common(struct elf_file *f, const Elf32_Sym *y, struct symbol *s)
{
    if (!y->st_value || y->st_value & (y->st_value - 1) || y->st_value > MAX_ALIGN)
        return elf_error(f, "'%s' has alignment %u, expected a power of two up to %d", s->n.name,
                         y->st_value, MAX_ALIGN);
    if (!check_nobits(f, "COMMON", y->st_size))
        return 0;
    s->section = section_new_common(f->u, f->source, s);
    if (!s->section || !give_zeros(f->u, s->section, y->st_value, y->st_size))
        return 0;
    s->state = SYMBOL_LABEL;
    s->common = 1;
    return 1;
}

static int place_symbol(struct elf_file *f, const Elf32_Sym *y, struct symbol *s)
{
    const struct elf_section *in;
    struct expr_node *value;

    if (y->st_shndx == SHN_UNDEF)
        return 1;
    if (y->st_shndx == SHN_COMMON)
        return read_common(f, y, s);
    if (y->st_shndx == SHN_ABS) {
        value = unit_alloc(f->u, 1, sizeof(*value));
        if (!value)
            return unit_no_memory(f->u);
        *value = (struct expr_node){ .kind = NODE_NUMBER, .number = y->st_value, .weight = 1 };
        s->state = SYMBOL_VARIABLE;
        s->value = value;
        return 1;
    }
    if (y->st_shndx >= f->sections)
        return elf_error(f, "'%s' is in section %u, which does not exist", s->n.name, y->st_shndx);
    in = &f->section[y->st_shndx];
    if (!in->loaded)
        return 1; /* as if undefined: the definition that stays is in another file */
    if (y->st_value > in->h.sh_size)
        return elf_error(f, "'%s' is outside its section '%s'", s->n.name, in->name);
    s->state = SYMBOL_LABEL;
    s->section = in->loaded;
    s->offset = y->st_value;
    return 1;
}

static int describe_symbol(struct elf_file *f, const Elf32_Sym *y, struct symbol *s)
{
    unsigned bind = ELF32_ST_BIND(y->st_info), type = ELF32_ST_TYPE(y->st_info);
    struct expr_node *size;

    if (bind != STB_LOCAL && bind != STB_GLOBAL && bind != STB_WEAK)
        return elf_error(f, "'%s' has binding %u, expected local, global or weak", s->n.name, bind);
    if (type == STT_TLS)
        return elf_error(f, "'%s' is of a thread, and there are none", s->n.name);
    s->source = f->source;
    s->defined = f->at;
    s->global = bind != STB_LOCAL;
    s->weak = bind == STB_WEAK;
    s->type = type == STT_FUNC ? ASM_FUNCTION : type == STT_OBJECT ? ASM_OBJECT : ASM_NOTYPE;
    if (y->st_size) {
        size = unit_alloc(f->u, 1, sizeof(*size));
        if (!size)
            return unit_no_memory(f->u);
        *size = (struct expr_node){ .kind = NODE_NUMBER, .number = y->st_size, .weight = 1 };
        s->size = size;
    }
    return place_symbol(f, y, s);
}

/* A new symbol of the unit; one without a name is in no table. */
static struct symbol *new_symbol(struct elf_file *f, const char *name)
{
    struct symbol *s;

    if (*name)
        return (struct symbol *)unit_insert(f->u, &f->source->symbols, span_of(name, strlen(name)),
                                            sizeof(*s));
    s = unit_alloc(f->u, 1, sizeof(*s));
    if (s)
        s->n.name = "";
    else
        unit_no_memory(f->u);
    return s;
}

/* Section symbols and local labels are places, which the linker need not look up. */
static int read_symbol(struct elf_file *f, uint32_t k)
{
    const Elf32_Sym y = elf_symbol_entry(f, k);
    struct elf_symbol *out = &f->symbol[k];
    const char *name = elf_string(f, f->section[f->symtab].h.sh_link, y.st_name);

    if (!name)
        return elf_error(f, "symbol %u has no name", k);
    if (ELF32_ST_TYPE(y.st_info) == STT_FILE)
        return 1;
    if (ELF32_ST_TYPE(y.st_info) == STT_SECTION) {
        if (y.st_shndx >= f->sections)
            return elf_error(f, "symbol %u is section %u, which does not exist", k, y.st_shndx);
        out->section = f->section[y.st_shndx].loaded;
        out->offset = y.st_value;
        return 1;
    }
    out->symbol = new_symbol(f, name);
    if (!out->symbol || !describe_symbol(f, &y, out->symbol))
        return 0;
    if (out->symbol->state == SYMBOL_LABEL && !out->symbol->global) {
        out->section = out->symbol->section;
        out->offset = out->symbol->offset;
    }
    return 1;
}

static int read_symbols(struct elf_file *f)
{
    f->symbol = unit_alloc(f->u, (size_t)f->symbols + 1, sizeof(*f->symbol));
    if (!f->symbol)
        return unit_no_memory(f->u);
    for (uint32_t k = 1; k < f->symbols; k++) {
        if (!read_symbol(f, k))
            return 0;
    }
    return 1;
}

/* ---- files ---- */

struct source *elf_read(struct asm_unit *u, const char *name, struct span data)
{
    struct elf_file f = { .u = u, .data = data };

    f.source = unit_new_source(u, name);
    if (!f.source)
        return NULL;
    f.at.file = f.source->name;
    if (elf_read_head(&f) && check_architecture(&f) && read_groups(&f) && load_sections(&f) &&
        read_symbols(&f) && elf_read_relocations(&f) && elf_read_lines(&f))
        elf_read_stack_sizes(&f);
    return f.source;
}

int elf_each_global(struct asm_unit *u, const char *name, struct span data,
                    int (*visit)(void *ctx, struct span symbol), void *ctx)
{
    struct elf_file f = { .u = u,
                          .data = data,
                          .at = { unit_file_name(u, name, strlen(name)), 0, 0 } };

    if (!elf_read_head(&f))
        return 0;
    for (uint32_t k = 1; k < f.symbols; k++) {
        const Elf32_Sym y = elf_symbol_entry(&f, k);
        const char *text = elf_string(&f, f.section[f.symtab].h.sh_link, y.st_name);

        if (!text)
            return elf_error(&f, "symbol %u has no name", k);
        if (y.st_shndx != SHN_UNDEF && ELF32_ST_BIND(y.st_info) != STB_LOCAL &&
            !visit(ctx, span_of(text, strlen(text))))
            return 0;
    }
    return 1;
}
