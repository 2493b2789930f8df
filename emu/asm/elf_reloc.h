/* elf_reloc.h - relocations: a value that is known when the program is linked becomes bits of a
 * section. */
#ifndef EMU_ELF_RELOC_H
#define EMU_ELF_RELOC_H

#include <stdint.h>

enum reloc_number {
#define RELOC(number, name, ...) R_COLOSSUS_##name = number,
#include "emu/asm/elf_reloc.def"
};

enum reloc_from { RELOC_FROM_ZERO, RELOC_FROM_REGION0 };
enum reloc_where { RELOC_WHERE_ALL, RELOC_WHERE_LOW, RELOC_WHERE_RUN };

struct reloc_kind {
    const char *name; /* R_COLOSSUS_... */
    uint8_t number, bytes, bits, scale;
    uint8_t from, where; /* enum reloc_from, enum reloc_where */
};

/* The kind of a number as it stands in a file; NULL: there is none. */
const struct reloc_kind *reloc_kind(uint32_t number);

/* Puts value (symbol + addend) into the bytes at `at`; region0 is the first address of the memory.
 * Returns 1, or 0 when it does not fit: nothing is written then, and why receives what was
 * expected. */
int reloc_apply(const struct reloc_kind *k, int64_t value, uint32_t region0, uint8_t *at, char *why,
                unsigned why_bytes);

#endif
