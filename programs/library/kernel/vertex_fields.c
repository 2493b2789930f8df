/* vertex_fields.c - vertices of codelets that are chosen at run time. */
#include "programs/library/kernel/vertex_fields.h"

uint32_t vertex_of_state(struct graph *g, uint32_t compute_set, const struct codelet *codelet,
                         enum kernel_state state, uint32_t tile)
{
    if (!codelet)
        return UINT32_MAX;
    EMU_ASSERT(codelet_state(codelet) == state);
    return graph_vertex_of(g, compute_set, codelet, tile);
}
