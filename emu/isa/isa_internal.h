/* isa_internal.h - what the files of emu/isa share. */
#ifndef EMU_ISA_INTERNAL_H
#define EMU_ISA_INTERNAL_H

#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"

/* Compiles the words of insn.def, one per operation, into masks and fields. Aborts when two rows
 * overlap. */
void isa_code_init(const char *const word[INSN_COUNT]);

/* Lists the registers that each operation uses. */
void isa_regs_init(void);

/* Offset in struct insn of the member that holds the operand with a letter. */
size_t isa_member(char letter);

/* A register number or an immediate, by the letter of its operand. */
uint32_t isa_field(const struct insn *in, char letter);
void isa_set_field(struct insn *in, char letter, uint32_t v);

#endif
