/* vertex_fields.c - vertices of codelets that are chosen at run time. */
#include "programs/library/kernel/vertex_fields.h"

#include <stdarg.h>

const struct codelet *codelet_named(struct graph *g, const char *fmt, ...)
{
    const struct codelet *c;
    char name[64];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(name, sizeof(name), fmt, ap);
    va_end(ap);
    c = codelet_find(name);
    if (!c)
        graph_fail(g, EMU_BAD_PROGRAM, "there is no codelet %s", name);
    return c;
}

uint32_t vertex_of_state(struct graph *g, uint32_t compute_set, const struct codelet *codelet,
                         enum kernel_state state, uint32_t tile)
{
    if (!codelet)
        return UINT32_MAX;
    EMU_ASSERT(codelet_state(codelet) == state);
    return graph_vertex_of(g, compute_set, codelet, tile);
}
