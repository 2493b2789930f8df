/* kernel_choice.h - tables of kernels that do the same for different types of elements.
 *
 *   static const struct typed_kernels argmax = FLOAT_KERNELS(argmax);
 *   codelet = kernel_of_type(g, &argmax, ss_tensor_elem(g, t));
 *
 * A row that names a kernel which does not exist does not compile.
 */
#ifndef PROGRAMS_KERNEL_CHOICE_H
#define PROGRAMS_KERNEL_CHOICE_H

#include "programs/library/kernel/codelet_table.h"

struct typed_kernels {
    const char *name;                     /* what they have in common: a kernel is NAME_TYPE */
    const struct codelet *of[ELEM_COUNT]; /* NULL: there is none for that type */
};

#define FLOAT_KERNELS(name_)                                                                       \
    {                                                                                              \
        .name = KERNEL_NAME(name_), .of = {                                                        \
            [ELEM_F16] = KERNEL_ROW(name_##_f16),                                                  \
            [ELEM_F32] = KERNEL_ROW(name_##_f32)                                                   \
        }                                                                                          \
    }

/* NULL: there is none for that type, and the graph says so. */
const struct codelet *kernel_of_type(struct graph *g, const struct typed_kernels *k,
                                     enum elem type);

#endif
