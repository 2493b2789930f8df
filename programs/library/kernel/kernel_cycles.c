/* kernel_cycles.c - calls of kernels as their formulas see them, made of the sizes of fields. */
#include "programs/library/kernel/kernel_cycles.h"

#include <string.h>

uint64_t kernel_cycles(const struct arch *a, const struct codelet *c, enum kernel_state state,
                       const void *size)
{
    struct codelet_call call = { .arch = a };
    uint32_t n[CODELET_MAX_FIELDS];

    EMU_ASSERT(codelet_state(c) == state);
    memcpy(n, size, codelet_state_bytes(c)); /* a number for each word; APART stands last */
    for (unsigned i = 0; i < c->fields && c->field[i].kind != FIELD_APART; i++) {
        int of = c->field[i].kind == FIELD_LENGTH ? codelet_field_find(c, c->field[i].other) : -1;

        call.arg[i].elements = call.arg[i].value = of >= 0 ? n[of] : n[i];
    }
    return c->cycles(&call);
}
