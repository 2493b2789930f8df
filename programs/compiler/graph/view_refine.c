/* view_refine.c - slices and transpositions of a reshaped block, as blocks again where it can be.
 *
 * A matrix that is stored in blocks looks like [m][n] but is no affine block. Yet it is one when
 * the dimensions are cut at the edges of both shapes: [m/16][16] and [n/16][16]. Slices along those
 * edges, and any order of the dimensions, can then be said with strides.
 */
#include "programs/compiler/graph/graph_private.h"

/* A block whose dimensions are cut so that each belongs to one dimension of a reshape. */
struct refined {
    unsigned rank;
    uint64_t offset;
    uint64_t size[2 * TENSOR_MAX_RANK];
    int64_t stride[2 * TENSOR_MAX_RANK];
    uint8_t dim[2 * TENSOR_MAX_RANK]; /* of the reshape */
};

/* Cuts block v at the edges of both shapes; 0 when an edge of one lies across the other. Neither
 * has zeros. Entries come innermost first. */
static int refine(const struct view *v, unsigned rank, const uint32_t *shape, struct refined *r)
{
    uint64_t left = 1;
    int64_t stride = 0;
    struct view_fold f;

    view_fold(v, &f);
    r->rank = 0;
    r->offset = v->offset;
    for (unsigned k = rank; k-- > 0;) {
        for (uint64_t wanted = shape[k]; wanted > 1;) {
            uint64_t size;

            if (left == 1) {
                f.rank--;
                left = f.size[f.rank];
                stride = f.stride[f.rank];
            }
            size = wanted < left ? wanted : left;
            if (wanted % size || left % size)
                return 0;
            r->size[r->rank] = size;
            r->stride[r->rank] = stride;
            r->dim[r->rank++] = (uint8_t)k;
            stride *= (int64_t)size;
            wanted /= size;
            left /= size;
        }
    }
    return 1;
}

/* The refined dimensions `order`, outermost first, as a block; GRAPH_NONE when there are too many.
 */
static uint32_t refined_block(struct graph *g, const struct view *v, const struct refined *r,
                              const unsigned *order, unsigned n)
{
    struct view block = { .kind = VIEW_BLOCK, .elem = v->elem, .var = v->var, .offset = r->offset };
    int64_t stride[TENSOR_MAX_RANK];
    uint32_t shape[TENSOR_MAX_RANK];

    for (unsigned k = 0; k < n; k++) {
        uint64_t size = r->size[order[k]];
        unsigned last = block.rank;

        if (size == 1)
            continue;
        if (last && stride[last - 1] == (int64_t)size * r->stride[order[k]] &&
            shape[last - 1] * size <= UINT32_MAX) {
            shape[last - 1] *= (uint32_t)size;
            stride[last - 1] = r->stride[order[k]];
            continue;
        }
        if (last == TENSOR_MAX_RANK || size > UINT32_MAX)
            return GRAPH_NONE;
        shape[last] = (uint32_t)size;
        stride[last] = r->stride[order[k]];
        block.rank++;
    }
    block.shape = shape;
    block.stride = stride;
    return view_add(g, &block);
}

/* Narrows dimension dim to [begin, end); 0 when that is no range in one of its cuts, of one index
 * in those outside and of all indices in those inside. */
static int refined_slice(struct refined *r, unsigned dim, uint64_t begin, uint64_t end)
{
    uint64_t inner = 1;
    unsigned k;

    for (k = 0; k < r->rank; k++)
        inner *= r->dim[k] == dim ? r->size[k] : 1;
    for (k = r->rank; k-- > 0;) {
        if (r->dim[k] != dim)
            continue;
        inner /= r->size[k];
        if (begin / inner != (end - 1) / inner)
            break;
        r->offset += begin / inner * (uint64_t)r->stride[k];
        r->size[k] = 1;
        end -= begin / inner * inner;
        begin %= inner;
    }
    if (k == UINT32_MAX) /* one index in all cuts */
        return 1;
    if (begin % inner || end % inner)
        return 0;
    r->offset += begin / inner * (uint64_t)r->stride[k];
    r->size[k] = (end - begin) / inner;
    return 1;
}

uint32_t view_slice_reshaped(struct graph *g, const struct view *v, unsigned dim, uint32_t begin,
                             uint32_t end)
{
    struct view block = g->view.at[v->part[0]];
    unsigned order[2 * TENSOR_MAX_RANK];
    uint32_t shape[TENSOR_MAX_RANK], made;
    struct refined r;

    if (block.kind != VIEW_BLOCK || !refine(&block, v->rank, v->shape, &r) ||
        !refined_slice(&r, dim, begin, end))
        return GRAPH_NONE;
    for (unsigned k = 0; k < r.rank; k++)
        order[k] = r.rank - 1 - k;
    made = refined_block(g, &block, &r, order, r.rank);
    if (made == GRAPH_NONE)
        return GRAPH_NONE;
    for (unsigned k = 0; k < v->rank; k++)
        shape[k] = k == dim ? end - begin : v->shape[k];
    return view_reshape(g, made, v->rank, shape);
}

uint32_t view_transpose_reshaped(struct graph *g, const struct view *v, const uint8_t *by)
{
    struct view block = g->view.at[v->part[0]];
    unsigned order[2 * TENSOR_MAX_RANK], n = 0;
    uint32_t shape[TENSOR_MAX_RANK], made;
    struct refined r;

    if (block.kind != VIEW_BLOCK || !refine(&block, v->rank, v->shape, &r))
        return GRAPH_NONE;
    for (unsigned d = 0; d < v->rank; d++) {
        shape[d] = v->shape[by[d]];
        for (unsigned k = r.rank; k-- > 0;)
            if (r.dim[k] == by[d])
                order[n++] = k;
    }
    made = refined_block(g, &block, &r, order, n);
    return made == GRAPH_NONE ? GRAPH_NONE : view_reshape(g, made, v->rank, shape);
}
