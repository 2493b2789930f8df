/* asm.h - the assembler: turns source files into one linked unit of tile code, and code back into
 * text.
 *
 * A unit is filled with files, then linked; the result is a struct asm_image: sections with
 * addresses and bytes, and symbols. Syntax: docs/assembly.md. Every mistake in the source becomes a
 * diagnostic of the unit; nothing is printed. A unit may be used by one thread at a time; different
 * units are independent.
 */
#ifndef EMU_ASM_H
#define EMU_ASM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/arch/arch.h"
#include "emu/base/fail.h"

struct asm_unit;

/* How sources are read. All pointers are borrowed for the life of the unit; with all members zero
 * the defaults hold. */
struct asm_options {
    const struct arch *arch; /* NULL: mk2 */
    const char *const *include_dirs;
    size_t include_dir_count;
    const char *const *defines; /* "NAME=VALUE" or "NAME" */
    size_t define_count;
    int raw;          /* no C preprocessor */
    int preprocessed; /* texts come from asm_unit_preprocess: the C preprocessor is not run again,
                         but its line markers count */
    int any_machine;  /* numbers that differ between machines stay symbols, which the linker knows:
                         SUPERSTEP_REGION1_BASE, SUPERSTEP_ELEMENT_PAIR_BYTES */
    int no_files;     /* refuse .include and .incbin */
    size_t expansion_bytes; /* limit of the text that macros and repeats may produce; 0: 64 MiB */
};

/* Which sections go where. With NULL, or all members zero, code begins at the start of the memory
 * and data follows it. */
struct asm_layout {
    uint32_t code_addr;  /* first executable section, 0: arch->mem_base */
    uint32_t data_addr;  /* first other section, 0: after the code */
    int allow_undefined; /* unresolved symbols are warnings and count as 0 */
    /* If not NULL, only the sections of these global labels and those they refer to are linked, in
     * this order. asm_entry_find() says what a name stands for. */
    const char *const *root;
    size_t roots;
};

enum asm_diag_kind { ASM_ERROR, ASM_WARNING, ASM_NOTE };

/* One message. Notes belong to the message before them. line and column count from 1; 0: none. The
 * column refers to the line as the C preprocessor or a macro produced it. Inside a macro, file and
 * line are those of the macro's body. */
struct asm_diag {
    enum asm_diag_kind kind;
    const char *file;
    uint32_t line, column;
    const char *text;
};

enum asm_section_flags { ASM_ALLOC = 1, ASM_EXEC = 2, ASM_WRITE = 4 };

/* The bytes from offset up to the next entry come from this source line. Sorted by offset. */
struct asm_line {
    uint32_t offset, line;
    const char *file;
};

struct asm_section {
    const char *name;
    const char *file; /* same-named sections of two source files stay apart */
    uint32_t addr, size, align;
    uint32_t flags; /* enum asm_section_flags; ASM_ALLOC is always set */
    const uint8_t *bytes;
    const struct asm_line *lines; /* none in an image that was read from a file */
    size_t line_count;
};

enum asm_symbol_type { ASM_NOTYPE, ASM_FUNCTION, ASM_OBJECT };

struct asm_symbol {
    const char *name;
    const char *file;
    const struct asm_section *section; /* NULL: a plain number */
    int64_t value;                     /* byte address, or the number */
    uint32_t size;                     /* .size, bytes; 0 if not given */
    uint32_t stack_bytes;              /* .stack_usage or .stack_sizes; 0 if not given */
    uint8_t type;                      /* enum asm_symbol_type */
    uint8_t global, weak;
};

/* A linked unit. Borrowed from the unit (valid until it is linked again or freed), or read by
 * asm_image_read_text. Executable sections come first, each kind in ascending order of address;
 * symbols by value. Names that begin with .L and numbered labels are left out. */
struct asm_image {
    const char *machine; /* name of the machine it was linked for */
    struct asm_section *section;
    size_t section_count;
    struct asm_symbol *symbol;
    size_t symbol_count;
};

/* Starts an empty unit. Errors: EMU_NO_MEMORY. Free with asm_unit_free, which accepts NULL. */
enum emu_status asm_unit_new(const struct asm_options *options,
                             struct asm_unit **out) EMU_MUST_CHECK;
void asm_unit_free(struct asm_unit *u);

/* Adds one more file to the unit: a source, which is assembled, an ELF object of this target, or an
 * archive of objects (asm_unit_add_object).
 *
 * Unless options.raw is set, a source's text with preprocessor directives goes through `cpp` first,
 * which runs as a child process; it finds the headers of emu/asm/include, which are part of the
 * program.
 *
 * Errors  EMU_BAD_ASM    the unit has error diagnostics (also from earlier files)
 *         EMU_IO         the file cannot be read, cpp cannot be run
 *         EMU_NO_MEMORY */
enum emu_status asm_unit_add_file(struct asm_unit *u, const char *path) EMU_MUST_CHECK;

/* The same for len bytes of text; messages use name as the name of the file. */
enum emu_status asm_unit_add_text(struct asm_unit *u, const char *name, const char *text,
                                  size_t len) EMU_MUST_CHECK;

/* The same for the bytes of an ELF object or of an archive, which are copied: docs/objects.md says
 * what they must be. The linker takes members of archives when they define a symbol that is used
 * and not defined. */
enum emu_status asm_unit_add_object(struct asm_unit *u, const char *name, const void *data,
                                    size_t len) EMU_MUST_CHECK;

/* Whether bytes are an ELF file or an archive, by how they begin. */
int asm_is_object(const void *data, size_t len);

/* Runs only the C preprocessor (with options.raw nothing), on the file at `path` or, if text is not
 * NULL, on len bytes of text that `path` stands for. A file that is an object comes back as it is.
 * *out is zero-terminated and owned by the caller, free it with ss_free(). Use it for a source
 * that is assembled many times: preprocess it once, then give the text to units with
 * options.preprocessed. Errors: as asm_unit_add_file. */
enum emu_status asm_unit_preprocess(struct asm_unit *u, const char *path, const char *text,
                                    size_t len, char **out, size_t *out_len) EMU_MUST_CHECK;

/* Places the sections, resolves symbols across files, and checks repeat bodies and every operand
 * that was not known before. May be called again with another layout. Errors: as asm_unit_add_file,
 * without EMU_IO. */
enum emu_status asm_unit_link(struct asm_unit *u, const struct asm_layout *layout) EMU_MUST_CHECK;

/* Makes one relocatable ELF object of all files of a unit, which need not be linked. Free *out with
 * ss_free(). Errors: EMU_BAD_ASM with a diagnostic where no relocation can stand for a value;
 * EMU_NO_MEMORY. */
enum emu_status asm_unit_object(struct asm_unit *u, uint8_t **out, size_t *bytes) EMU_MUST_CHECK;

/* Prints the objects of a unit, all members of its archives among them, as they are before they are
 * linked: sections with words and relocations, and symbols. Sources may not be among them. Errors:
 * EMU_BAD_ASM, EMU_IO, EMU_NO_MEMORY. */
enum emu_status asm_object_print(struct asm_unit *u, FILE *f) EMU_MUST_CHECK;

/* The result of the last successful link, else NULL. */
const struct asm_image *asm_unit_image(const struct asm_unit *u);

size_t asm_diag_count(const struct asm_unit *u);
const struct asm_diag *asm_diag_at(const struct asm_unit *u, size_t i);
void asm_diag_print(const struct asm_unit *u, FILE *f); /* "file:line:column: error: text" */

/* A global symbol of this name, else the first local one, else NULL. */
const struct asm_symbol *asm_symbol_find(const struct asm_image *image, const char *name);

/* The symbol that NAME means where code begins: a global one of this name, else __runCodelet_NAME,
 * as compilers call the function of a vertex, else a local one. */
const struct asm_symbol *asm_entry_find(const struct asm_image *image, const char *name);

/* The last symbol at or below addr in the section that holds it; *offset is the distance. NULL if
 * there is none. */
const struct asm_symbol *asm_symbolize(const struct asm_image *image, uint32_t addr,
                                       uint32_t *offset);
const struct asm_section *asm_section_of(const struct asm_image *image, uint32_t addr);

/* The stack that a function needs with all it calls, by what symbols say of their own frames
 * (stack_bytes) and the branches of the code. Calls through registers are not seen. Errors:
 * EMU_BAD_ASM for functions that call each other in a circle, EMU_NO_MEMORY. */
enum emu_status asm_stack_bytes(const struct asm_image *image, const struct asm_symbol *function,
                                uint32_t *bytes) EMU_MUST_CHECK;

/* Source line of an address, or NULL. */
const struct asm_line *asm_line_of(const struct asm_image *image, uint32_t addr);

/* Writes an image in the text format "superstep-unit 2" (asm_file.c), and reads it back.
 * asm_image_read_text fills *out, which asm_image_free empties. Errors: EMU_IO, EMU_BAD_FILE,
 * EMU_NO_MEMORY. */
enum emu_status asm_image_write(const struct asm_image *image, FILE *f) EMU_MUST_CHECK;
enum emu_status asm_image_read_text(const char *name, const char *text, size_t len,
                                    struct asm_image *out) EMU_MUST_CHECK;
void asm_image_free(struct asm_image *image);

/* Writes assembly text that assembles, with --raw, to the same words in the same sections. Errors:
 * EMU_NO_MEMORY, EMU_IO. */
enum emu_status asm_disassemble(const struct asm_image *image, FILE *f) EMU_MUST_CHECK;

/* Length in bytes of the item at a word-aligned offset of an executable section, and its text: one
 * instruction, "{ main; aux }" or ".int 0x...". label replaces an address operand if not NULL. */
unsigned asm_print_item(const struct asm_section *s, uint32_t offset, const char *label, char *out,
                        size_t bytes);

#endif
