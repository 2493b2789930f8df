/* asm_object.h - relocatable objects: what files assembled to before it is known where in memory
 * they go.
 *
 * An object is one block of bytes, the same in a file, in the program and in memory (asm_object.c
 * draws it), so reading one copies nothing. It holds sections, symbols, relocations, and a source
 * line for every instruction. What differs between machines is left open with the addresses: an
 * object is linked for one machine, and only sections that are asked for, with those they refer to,
 * become part of the image.
 */
#ifndef EMU_ASM_OBJECT_H
#define EMU_ASM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "emu/arch/arch.h"
#include "emu/asm/asm.h"
#include "emu/base/status.h"

/* Names and files are offsets in the strings; section numbers count from 0. */
struct object_section {
    uint32_t name, file;
    uint32_t flags, align; /* enum asm_section_flags; bytes, a power of two */
    uint32_t size, bytes;  /* bytes: offset in the bytes of the object */
    uint32_t first_reloc, relocs, first_line, lines;
};

#define OBJECT_UNDEFINED UINT32_MAX

/* Symbol k is the start of section k while there is one, and has no name; others follow. */
struct object_symbol {
    uint32_t name, file;
    uint32_t section; /* OBJECT_UNDEFINED: another object has it, or the machine */
    uint32_t value;   /* offset in the section */
    uint32_t size, stack_bytes;
    uint8_t type, global, weak, unused; /* as in struct asm_symbol */
};

/* (symbol + addend) >> scale goes to `bits` bits, from `bit` on, of the word at offset. It must fit
 * there, and lose no bits to the shift. Fields of 32 bits hold negative numbers, too. */
struct object_reloc {
    uint32_t offset, symbol; /* bytes from the start of the section */
    int32_t addend;
    uint8_t bit, bits, scale, unused;
};

struct object_line {
    uint32_t offset, line, file;
};

/* A view of an object; all is borrowed from its bytes. */
struct asm_object {
    const struct object_section *section;
    const struct object_symbol *symbol;
    const struct object_reloc *reloc;
    const struct object_line *line;
    const char *strings;
    const uint8_t *bytes;
    uint32_t sections, symbols, relocs, lines, string_bytes, byte_count;
};

/* The object of all files of a unit, which need not be linked. *out: emu_free it. Errors:
 * EMU_BAD_ASM with a diagnostic where something cannot be left to a relocation; EMU_NO_MEMORY. */
enum emu_status asm_unit_object(struct asm_unit *u, uint8_t **out, size_t *bytes) EMU_MUST_CHECK;

/* A view of the object at data, which must stay and be aligned to 4 bytes. Checks all that
 * asm_object_link() relies on. Errors: EMU_BAD_FILE. */
enum emu_status asm_object_read(const void *data, size_t bytes,
                                struct asm_object *out) EMU_MUST_CHECK;

/* The part of an object that becomes an image. */
struct object_request {
    const struct arch *arch;
    uint32_t addr;           /* of the first section; data follows the code */
    const char *prefix;      /* of the names that follow */
    const char *const *root; /* names of sections without it; placed in this order */
    size_t roots;
};

/* Places the sections of the request and those they refer to, and fills in their relocations.
 * Symbols that no section defines are those of the machine: SUPERSTEP_REGION1_BASE,
 * SUPERSTEP_ELEMENT_PAIR_BYTES. *out is freed with asm_image_free();
 * its lines borrow names of files from the object.
 *
 * Errors  EMU_BAD_ASM    no such section or symbol; a value that does not fit; code outside the
 *                        executable memory
 *         EMU_NO_MEMORY */
enum emu_status asm_object_link(const struct asm_object *o, const struct object_request *request,
                                struct asm_image *out) EMU_MUST_CHECK;

#endif
