/* codelet_table.h - the codelets of this library as a table, and their code.
 *
 * A codelet is a row of families.def, the section .text.NAME of a .S in the folder of its family,
 * and two C functions: NAME_ref (its meaning) and NAME_cycles (its time). What the compiler sees of
 * all that is kernel_library (library.h).
 */
#ifndef PROGRAMS_CODELET_TABLE_H
#define PROGRAMS_CODELET_TABLE_H

#include "programs/compiler/base/codelet.h"
#include "programs/library/library.h"

extern const struct codelet codelet_table[]; /* in the order of families.def */
extern const unsigned codelet_count;

const struct codelet *codelet_find(const char *name); /* NULL if there is none */

/* Cycles of a MULTI call whose slowest worker issues `slots` slots, exit included. */
uint64_t codelet_multi_cycles(const struct arch *a, uint64_t slots);

/* Links the code of a set of codelets at addr, in the order of the table; as codelet_library.link.
 */
enum emu_status codelet_link(const struct arch *arch, const struct codelet *const *set, size_t n,
                             uint32_t addr, struct codelet_code *out) EMU_MUST_CHECK;

#endif
