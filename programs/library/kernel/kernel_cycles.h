/* kernel_cycles.h - what a call of a kernel takes by its own formula, for planners.
 *
 *   KERNEL_CYCLES(reduce, KERNEL_ROW(reduce_sum_f32_f32), a, .partials = 2 * n, .out = n, .p = 2)
 *
 * Named are the state of the kernel (families.def) and its fields: of an edge or list the number of
 * elements, of a scalar the value. Lengths follow from the edges, fields that are not named are 0.
 * A field that the state does not have does not compile.
 */
#ifndef PROGRAMS_KERNEL_CYCLES_H
#define PROGRAMS_KERNEL_CYCLES_H

#include "programs/library/kernel/codelet_table.h"
#include "programs/library/kernel/fields.h"

/* ---- struct STATE_sizes: a number for each field, in the order of the fields ---- */

#define INDEX(s, field)      uint32_t field;
#define LENGTH(s, field, of) uint32_t field##_of_##of; /* not to be set */
#include "programs/library/kernel/fields_alike.def"
#define KERNEL(...)
#define STATE(state, ...)                                                                          \
    struct state##_sizes {                                                                         \
        FIELDS_##state(state, ##__VA_ARGS__)                                                       \
    };                                                                                             \
    _Static_assert(sizeof(struct state##_sizes) == sizeof(uint32_t) * state##__words,              \
                   "a number for each field of " #state);
#include "programs/library/kernel/families.def"
#include "programs/library/kernel/rows_end.def"

/* size: a struct STATE_sizes of the codelet's state. */
uint64_t kernel_cycles(const struct arch *a, const struct codelet *codelet, enum kernel_state state,
                       const void *size);

#define KERNEL_CYCLES(state, codelet, a, ...)                                                      \
    kernel_cycles(a, codelet, STATE_##state, &(const struct state##_sizes){ __VA_ARGS__ })

#endif
