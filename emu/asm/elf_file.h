/* elf_file.h - what the reader and the writer of ELF objects share: the numbers of this target, and
 * a file that is being read.
 *
 * Offsets, sizes and indices of a file are believed only after they were checked: elf_read_head()
 * does it for headers and sections, whoever reads a symbol or a relocation for what it names.
 */
#ifndef EMU_ELF_FILE_H
#define EMU_ELF_FILE_H

#include <elf.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm_internal.h"
#include "emu/asm/elf_reloc.h"

enum {
    ELF_MACHINE_IPU = 248,  /* EM_GRAPHCORE_IPU */
    ELF_ARCHITECTURE = 0xff /* of e_flags: 0x01 ipu1, 0x02 ipu2, 0x21 ipu21, 0 unknown */
};

/* A type of section of our own: the source line of every instruction of section sh_info. */
#define ELF_LINES SHT_LOUSER

#define ELF_LINES_NAME ".superstep.lines"

/* A record of ELF_LINES; file is an offset in the strings of sh_link. */
struct elf_line {
    uint32_t offset, line, file;
};

/* One section of the file. */
struct elf_section {
    Elf32_Shdr h;
    const char *name;
    struct section *loaded; /* NULL: it is not loaded */
    int discarded;          /* a member of a group that another file has, too */
};

/* One symbol: a place in a section that is loaded, a symbol of the unit, or neither when its
 * section is not loaded. */
struct elf_symbol {
    struct symbol *symbol;
    struct section *section;
    uint32_t offset;
};

struct elf_file {
    struct asm_unit *u;
    struct source *source;
    struct span data; /* borrowed */
    struct loc at;    /* of messages: the name of the file */
    Elf32_Ehdr head;
    struct elf_section *section; /* in the arena, like the following */
    struct elf_symbol *symbol;
    uint32_t sections, symbols;
    uint32_t symtab; /* its section; 0: there is none */
};

/* The instruction set of a machine as objects call it. */
static inline uint32_t elf_architecture(const struct arch *a)
{
    return arch_isa(a) == 21 ? 0x21 : arch_isa(a);
}

/* An error of the file. Returns 0. */
int elf_error(struct elf_file *f, const char *fmt, ...) EMU_PRINTF(2, 3);

/* count elements of size bytes from offset; NULL, without a message, when they are not in the file.
 * They need not be aligned. */
const char *elf_at(const struct elf_file *f, uint32_t offset, uint64_t count, size_t size);

/* The contents of a section that elf_read_head() has accepted, which has no NOBITS type. */
const char *elf_contents(const struct elf_file *f, const struct elf_section *s);

/* The string at an offset of a section of strings; NULL when there is none. */
const char *elf_string(const struct elf_file *f, uint32_t section, uint32_t offset);

/* Header, section headers and the place of the symbol table. Returns 0 after an error. */
int elf_read_head(struct elf_file *f);

/* Element k of the symbol table of a file whose head was read; k is below f->symbols. */
Elf32_Sym elf_symbol_entry(const struct elf_file *f, uint32_t k);

/* elf_rela.c: relocations of the sections that are loaded, source lines, sizes of stacks. */
int elf_read_relocations(struct elf_file *f);
int elf_read_lines(struct elf_file *f);
int elf_read_stack_sizes(struct elf_file *f);

#endif
