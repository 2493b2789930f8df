/* view_store.c - how views are kept: a network has millions of blocks but few different layouts, so
 * shape and strides of a block are stored once for all blocks that have them.
 */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

enum { SLOTS_MIN = 64, BLOCK_BYTES_MAX = TENSOR_MAX_RANK * (sizeof(int64_t) + sizeof(uint32_t)) };

/* Strides, then shape: bytes says the rank. */
struct view_layout {
    uint64_t hash;
    uint32_t bytes;
    _Alignas(8) uint8_t data[];
};

/* The slot of a layout: the one it is in, or the free one where it belongs. */
static struct view_layout **slot_of(const struct view_layouts *t, uint64_t hash, const void *data,
                                    size_t bytes)
{
    for (size_t i = hash;; i++) {
        struct view_layout **slot = &t->slot[i & (t->slots - 1)];

        if (!*slot)
            return slot;
        if ((*slot)->hash == hash && (*slot)->bytes == bytes && !memcmp((*slot)->data, data, bytes))
            return slot;
    }
}

static int grow_slots(struct view_layouts *t)
{
    struct view_layouts old = *t;

    if (2 * t->used < t->slots)
        return 1;
    t->slots = old.slots ? 2 * old.slots : SLOTS_MIN;
    t->slot = emu_alloc(t->slots, sizeof(*t->slot));
    if (!t->slot) {
        *t = old;
        return 0;
    }
    for (size_t i = 0; i < old.slots; i++)
        if (old.slot[i])
            *slot_of(t, old.slot[i]->hash, old.slot[i]->data, old.slot[i]->bytes) = old.slot[i];
    ss_free(old.slot);
    return 1;
}

/* The data of a layout as it is stored; NULL when out of memory. */
static const uint8_t *layout_intern(struct graph *g, const uint8_t *data, size_t bytes)
{
    uint64_t hash = hash64(data, bytes);
    struct view_layout **slot;

    if (!grow_slots(&g->layouts))
        return NULL;
    slot = slot_of(&g->layouts, hash, data, bytes);
    if (!*slot) {
        *slot = prog_alloc(&g->arena, sizeof(**slot) + bytes, 1);
        if (!*slot)
            return NULL;
        (*slot)->hash = hash;
        (*slot)->bytes = (uint32_t)bytes;
        memcpy((*slot)->data, data, bytes);
        g->layouts.used++;
    }
    return (*slot)->data;
}

/* Strides of dimensions of size 1, and of blocks without elements, are 0. */
static int store_block(struct graph *g, struct view *v)
{
    uint8_t data[BLOCK_BYTES_MAX];
    size_t strides = v->rank * sizeof(*v->stride), shape = v->rank * sizeof(*v->shape);
    int64_t stride[TENSOR_MAX_RANK] = { 0 };
    const uint8_t *kept;

    for (unsigned k = 0; k < v->rank; k++)
        stride[k] = v->elements && v->shape[k] > 1 ? v->stride[k] : 0;
    if (!v->elements)
        v->offset = 0;
    memcpy(data, stride, strides);
    memcpy(data + strides, v->shape, shape);
    kept = layout_intern(g, data, strides + shape);
    if (!kept)
        return 0;
    v->stride = (const int64_t *)kept;
    v->shape = (const uint32_t *)(kept + strides);
    return 1;
}

static int store_node(struct graph *g, struct view *v)
{
    v->shape = prog_memdup(&g->arena, v->shape, v->rank * sizeof(*v->shape));
    v->part = prog_memdup(&g->arena, v->part, v->parts * sizeof(*v->part));
    if (v->kind == VIEW_CONCAT)
        v->edge = prog_memdup(&g->arena, v->edge, (v->parts + 1) * sizeof(*v->edge));
    return v->shape && v->part && (v->kind != VIEW_CONCAT || v->edge);
}

uint32_t view_add(struct graph *g, const struct view *view)
{
    struct view v = *view;

    if (!graph_works(g))
        return GRAPH_NONE;
    v.elements = shape_elements(v.rank, v.shape);
    if (v.elements == UINT64_MAX) {
        GRAPH_FAIL(g, "a view of shape %s: more than 2^48 elements",
                   shape_text(v.rank, v.shape).text);
        return GRAPH_NONE;
    }
    if (!v.elements && v.kind != VIEW_BLOCK) {
        v.var = view_first_var(g, v.part[0]);
        v.kind = VIEW_BLOCK;
    }
    if (g->view.count >= GRAPH_NONE ||
        !(v.kind == VIEW_BLOCK ? store_block(g, &v) : store_node(g, &v)) ||
        VEC_PUSH(&g->view, v) != EMU_OK) {
        graph_fail_memory(g, "a view");
        return GRAPH_NONE;
    }
    return (uint32_t)g->view.count - 1;
}
