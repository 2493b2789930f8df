/* codelet_table.h - the codelets of this library as a table, and their code.
 *
 * A codelet is a row of families.def, the section .text.NAME of a .S in the folder of its family,
 * and two C functions: NAME_ref (its meaning) and NAME_cycles (its time). What the compiler sees of
 * all that is ss_kernel_library (library.h).
 */
#ifndef PROGRAMS_CODELET_TABLE_H
#define PROGRAMS_CODELET_TABLE_H

#include "programs/compiler/base/codelet.h"
#include "programs/library/library.h"

enum codelet_row {
#define STATE(...)
#define KERNEL(name, ...) ROW_##name,
#include "programs/library/kernel/families.def"
    CODELET_ROWS
};
#undef STATE
#undef KERNEL

/* The states: kernels with the same fields have the same state. */
enum kernel_state {
#define STATE(state, ...) STATE_##state,
#define KERNEL(...)
#include "programs/library/kernel/families.def"
};
#include "programs/library/kernel/rows_end.def"

extern const struct codelet codelet_table[]; /* in the order of families.def */
extern const unsigned codelet_count;

#define KERNEL_ROW(name)  (&codelet_table[ROW_##name])
#define KERNEL_NAME(name) #name

const struct codelet *codelet_find(const char *name);     /* NULL if there is none */
enum kernel_state codelet_state(const struct codelet *c); /* of a row of the table */

/* Cycles of a MULTI call whose slowest worker issues `slots` slots, exit included. */
uint64_t codelet_multi_cycles(const struct arch *a, uint64_t slots);

/* Links the code of a set of codelets at addr, in the order of the table, as codelet_library.link()
 * must. */
enum emu_status codelet_link(const struct arch *arch, const struct codelet *const *set, size_t n,
                             uint32_t addr, struct codelet_code *out) EMU_MUST_CHECK;

#endif
