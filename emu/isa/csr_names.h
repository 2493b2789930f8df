/* csr_names.h - CSRs by name: CSR_W_x, CSR_U_x and CSR_S_x are their numbers in the space of
 * workers, the upper space and that of the supervisor. */
#ifndef EMU_CSR_NAMES_H
#define EMU_CSR_NAMES_H

enum csr_index {
#define CSR(name, space, index, access, since, doc) CSR_##space##_##name = index,
#include "emu/isa/csr.def"
#undef CSR
};

#endif
