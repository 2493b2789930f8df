/* isa_internal.h - what the files of emu/isa share. */
#ifndef EMU_ISA_INTERNAL_H
#define EMU_ISA_INTERNAL_H

#include "emu/isa/isa.h"

/* Compiles the encoding strings, one per operation, into masks and fields. Aborts when two rows
 * overlap. */
void isa_code_init(const char *const encoding[INSN_COUNT]);

/* Lists the registers that each operation uses. */
void isa_regs_init(void);

/* Offset in struct insn of the member that holds the operand with a letter. */
size_t isa_member(char letter);

#endif
