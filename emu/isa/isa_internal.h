/* isa_internal.h - what the files of emu/isa share. */
#ifndef EMU_ISA_INTERNAL_H
#define EMU_ISA_INTERNAL_H

#include "emu/isa/isa.h"

/* Compiles the encoding strings, one per operation, into masks and fields. Aborts when two rows overlap. */
void isa_code_init(const char *const encoding[OP_COUNT]);

#endif
