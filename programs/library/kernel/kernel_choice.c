/* kernel_choice.c - the kernel for a type of elements. */
#include "programs/library/kernel/kernel_choice.h"

const struct codelet *kernel_of_type(struct graph *g, const struct typed_kernels *k, enum elem type)
{
    if (!k->of[type])
        ss_graph_fail(g, EMU_BAD_PROGRAM, "there is no codelet %s_%s", k->name, ss_elem_name(type));
    return k->of[type];
}
