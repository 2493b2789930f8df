/* asm_object.h - relocatable objects: assembled files whose place in memory is not yet known.
 *
 * An object is one block of bytes, the same in a file, in the program and in memory (asm_object.c
 * draws it), so reading one copies nothing. It holds sections, symbols, relocations, and a source
 * line for every instruction. Addresses, and numbers that differ between machines, are left open
 * until an object is linked for one machine. Only the sections that a caller asks for, and those
 * they refer to, become part of the image.
 */
#ifndef EMU_ASM_OBJECT_H
#define EMU_ASM_OBJECT_H

#include <stddef.h>
#include <stdint.h>

#include "emu/arch/arch.h"
#include "emu/asm/asm.h"
#include "emu/base/fail.h"

/* Names and files are offsets in the strings; section numbers count from 0. */
struct object_section {
    uint32_t name, file;
    uint32_t flags, align; /* enum asm_section_flags; bytes, a power of two */
    uint32_t size, bytes;  /* bytes: offset in the bytes of the object */
    uint32_t first_reloc, relocs, first_line, lines;
};

#define OBJECT_UNDEFINED UINT32_MAX

/* The first symbols stand for the sections: symbol k is the start of section k and has no name.
 * Named symbols follow. */
struct object_symbol {
    uint32_t name, file;
    uint32_t section; /* OBJECT_UNDEFINED: defined by another object, or by the machine */
    uint32_t value;   /* offset in the section */
    uint32_t size, stack_bytes;
    uint8_t type, global, weak, unused; /* as in struct asm_symbol */
};

/* (symbol + addend) >> scale is stored in the word at offset, in `bits` bits from `bit` on. It must
 * fit there, and the shift must not drop set bits. Fields of 32 bits hold negative numbers, too. */
struct object_reloc {
    uint32_t offset, symbol; /* bytes from the start of the section */
    int32_t addend;
    uint8_t bit, bits, scale, unused;
};

struct object_line {
    uint32_t offset, line, file;
};

/* A view of an object. All pointers are borrowed from its bytes. */
struct asm_object {
    const struct object_section *section;
    const struct object_symbol *symbol;
    const struct object_reloc *reloc;
    const struct object_line *line;
    const char *strings;
    const uint8_t *bytes;
    uint32_t sections, symbols, relocs, lines, string_bytes, byte_count;
};

/* Makes one object of all files of a unit, which need not be linked. Free *out with emu_free().
 * Errors: EMU_BAD_ASM with a diagnostic where something cannot be left to a relocation;
 * EMU_NO_MEMORY. */
enum emu_status asm_unit_object(struct asm_unit *u, uint8_t **out, size_t *bytes) EMU_MUST_CHECK;

/* Makes a view of the object at data, which must be aligned to 4 bytes and outlive the view. Checks
 * everything that asm_object_link() relies on. Errors: EMU_BAD_FILE. */
enum emu_status asm_object_read(const void *data, size_t bytes,
                                struct asm_object *out) EMU_MUST_CHECK;

/* The part of an object that becomes an image. */
struct object_request {
    const struct arch *arch;
    uint32_t addr;           /* of the first section; data follows the code */
    const char *prefix;      /* of the names in root */
    const char *const *root; /* names of sections, without the prefix; placed in this order */
    size_t roots;
};

/* Places the sections of the request and those they refer to, and fills in their relocations.
 * Symbols that no section defines must be symbols of the machine: SUPERSTEP_REGION1_BASE,
 * SUPERSTEP_ELEMENT_PAIR_BYTES. Free *out with asm_image_free(); its lines borrow file names from
 * the object.
 *
 * Errors  EMU_BAD_ASM    no such section or symbol; a value that does not fit; code outside the
 *                        executable memory
 *         EMU_NO_MEMORY */
enum emu_status asm_object_link(const struct asm_object *o, const struct object_request *request,
                                struct asm_image *out) EMU_MUST_CHECK;

#endif
