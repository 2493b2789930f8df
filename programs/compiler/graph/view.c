/* view.c - ss_tensor_*: views made of views.
 *
 * A view stays one affine block of a variable as long as offset and strides can say it. What they
 * cannot say becomes a node over other views, kept in a form that is cheap to walk (view_runs.c):
 * slices, transpositions and reshapes go below what they are made of where they can, and blocks
 * that continue each other are joined.
 */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

enum { NO_VIEW = GRAPH_NONE };

/* Room for the arrays of a view that is being made. */
struct draft {
    struct view v;
    uint32_t shape[TENSOR_MAX_RANK];
    int64_t stride[TENSOR_MAX_RANK];
};

/* A changeable copy of a view. */
static void draft_of(const struct graph *g, uint32_t view, struct draft *d)
{
    d->v = g->view.at[view];
    memcpy(d->shape, d->v.shape, d->v.rank * sizeof(*d->shape));
    if (d->v.kind == VIEW_BLOCK)
        memcpy(d->stride, d->v.stride, d->v.rank * sizeof(*d->stride));
    d->v.shape = d->shape;
    if (d->v.kind == VIEW_BLOCK)
        d->v.stride = d->stride;
}

/* A node of another kind over one view, with its shape. */
static void draft_over(const struct graph *g, uint32_t part, enum view_kind kind, unsigned dim,
                       struct draft *d)
{
    draft_of(g, part, d);
    d->v.kind = (uint8_t)kind;
    d->v.dim = (uint8_t)dim;
    d->v.begin = 0;
    d->v.parts = 1;
}

/* Gives d->v its only part and adds it. */
static uint32_t draft_add_over(struct graph *g, struct draft *d, uint32_t part)
{
    d->v.part = &part;
    return view_add(g, &d->v);
}

/* Row-major strides of a shape. */
static void dense_strides(unsigned rank, const uint32_t *shape, int64_t *stride)
{
    int64_t step = 1;

    for (unsigned k = rank; k-- > 0;) {
        stride[k] = step;
        step *= shape[k];
    }
}

uint32_t view_add_whole(struct graph *g, uint32_t var)
{
    const struct variable *x = &g->variable.at[var];
    struct draft d = {
        .v = { .kind = VIEW_BLOCK, .elem = (uint8_t)x->elem, .rank = (uint8_t)x->rank, .var = var }
    };

    d.v.shape = x->shape;
    if (x->elements)
        dense_strides(x->rank, x->shape, d.stride);
    d.v.stride = d.stride;
    return view_add(g, &d.v);
}

/* ---- looking at tensors ---- */

int graph_has_view(struct graph *g, struct tensor t, const char *what)
{
    if (!graph_works(g))
        return 0;
    if (t.view >= g->view.count)
        GRAPH_FAIL(g, "%s: the tensor is not one of this graph", what);
    return graph_works(g);
}

/* The view of t, or a scalar of nothing where there is none. */
static const struct view *view_or_scalar(const struct graph *g, struct tensor t)
{
    static const uint32_t ones[TENSOR_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    static const struct view scalar = { .elem = ELEM_F32, .shape = ones, .elements = 1 };

    return g && t.view < g->view.count ? &g->view.at[t.view] : &scalar;
}

enum elem ss_tensor_elem(const struct graph *g, struct tensor t)
{
    return view_or_scalar(g, t)->elem;
}

unsigned ss_tensor_rank(const struct graph *g, struct tensor t)
{
    return view_or_scalar(g, t)->rank;
}

const uint32_t *ss_tensor_shape(const struct graph *g, struct tensor t)
{
    return view_or_scalar(g, t)->shape;
}

uint64_t ss_tensor_elements(const struct graph *g, struct tensor t)
{
    return view_or_scalar(g, t)->elements;
}

/* Whether t is a tensor and has dimension dim. */
static int has_dim(struct graph *g, struct tensor t, unsigned dim, const char *what)
{
    if (!graph_has_view(g, t, what))
        return 0;
    if (dim >= g->view.at[t.view].rank)
        GRAPH_FAIL(g, "%s of %s: no dimension %u", what, view_text(g, t.view).text, dim);
    return graph_works(g);
}

/* ---- concatenation ---- */

/* Parts collected so far; the last one may still grow. */
struct joint {
    struct graph *g;
    unsigned dim;
    struct draft last;
    uint32_t last_view; /* NO_VIEW: last was joined and is not a view yet */
    int any;
    VEC(uint32_t) part;
};

/* Makes block b the continuation of a along dim, if one stride can say it. */
static int join_blocks(struct draft *a, const struct view *b, unsigned dim)
{
    int64_t distance = (int64_t)(b->offset - a->v.offset);

    if (a->v.kind != VIEW_BLOCK || b->kind != VIEW_BLOCK || a->v.var != b->var)
        return 0;
    for (unsigned k = 0; k < b->rank; k++)
        if (k != dim && a->stride[k] != b->stride[k])
            return 0;
    if (a->shape[dim] > 1) {
        if (distance != a->shape[dim] * a->stride[dim])
            return 0;
        if (b->shape[dim] > 1 && b->stride[dim] != a->stride[dim])
            return 0;
    } else {
        if (distance <= 0 || (b->shape[dim] > 1 && b->stride[dim] != distance))
            return 0;
        a->stride[dim] = distance;
    }
    a->shape[dim] += b->shape[dim];
    return 1;
}

static void joint_flush(struct joint *j)
{
    if (!j->any)
        return;
    if (j->last_view == NO_VIEW)
        j->last_view = view_add(j->g, &j->last.v);
    if (VEC_PUSH(&j->part, j->last_view) != EMU_OK)
        graph_fail_memory(j->g, "a concatenation");
    j->any = 0;
}

static void joint_add(struct joint *j, uint32_t view)
{
    const struct view *v = &j->g->view.at[view];

    if (!v->elements)
        return;
    if (v->kind == VIEW_CONCAT && v->dim == j->dim) {
        for (uint32_t k = 0; k < v->parts && graph_works(j->g); k++) {
            joint_add(j, v->part[k]);
            v = &j->g->view.at[view]; /* may have moved */
        }
        return;
    }
    if (j->any && join_blocks(&j->last, v, j->dim)) {
        j->last_view = NO_VIEW;
        return;
    }
    joint_flush(j);
    draft_of(j->g, view, &j->last);
    j->last_view = view;
    j->any = 1;
}

/* Views of one type and of equal shape but in dim; at least one. */
static uint32_t concat_views(struct graph *g, const uint32_t *view, uint32_t n, unsigned dim)
{
    struct joint j = { .g = g, .dim = dim };
    VEC(uint32_t) edge = { 0 };
    uint32_t end = 0, made = view[0];
    struct draft d;

    for (uint32_t k = 0; k < n && graph_works(g); k++)
        joint_add(&j, view[k]);
    joint_flush(&j);
    if (j.part.count == 1) {
        made = j.part.at[0];
    } else if (j.part.count && graph_works(g)) {
        draft_over(g, j.part.at[0], VIEW_CONCAT, dim, &d);
        for (size_t k = 0; k < j.part.count && graph_works(g); k++) {
            if (VEC_PUSH(&edge, end) != EMU_OK)
                graph_fail_memory(g, "a concatenation");
            end += g->view.at[j.part.at[k]].shape[dim];
        }
        if (VEC_PUSH(&edge, end) != EMU_OK)
            graph_fail_memory(g, "a concatenation");
        d.shape[dim] = end;
        d.v.part = j.part.at;
        d.v.parts = (uint32_t)j.part.count;
        d.v.edge = edge.at;
        made = view_add(g, &d.v);
    }
    VEC_FREE(&edge);
    VEC_FREE(&j.part);
    return graph_works(g) ? made : NO_VIEW;
}

/* Whether the tensors fit together along dim. */
static int concat_fits(struct graph *g, const struct tensor *t, unsigned n, unsigned dim)
{
    uint64_t size = 0;

    if (!n) {
        GRAPH_FAIL(g, "ss_tensor_concat of no tensors");
        return 0;
    }
    for (unsigned i = 0; i < n; i++) {
        const struct view *a, *b;

        if (!has_dim(g, t[i], dim, "ss_tensor_concat"))
            return 0;
        a = &g->view.at[t[0].view];
        b = &g->view.at[t[i].view];
        size += b->shape[dim];
        if (a->elem != b->elem || a->rank != b->rank) {
            GRAPH_FAIL(g,
                       "ss_tensor_concat, tensor %u: %s of type %s, expected rank %u and type %s "
                       "like %s",
                       i, view_text(g, t[i].view).text, ss_elem_name(b->elem), a->rank,
                       ss_elem_name(a->elem), view_text(g, t[0].view).text);
            return 0;
        }
        for (unsigned k = 0; k < a->rank; k++) {
            if (k != dim && a->shape[k] != b->shape[k]) {
                GRAPH_FAIL(g,
                           "ss_tensor_concat, tensor %u along dimension %u: %s, expected size %u "
                           "in dimension %u like %s",
                           i, dim, view_text(g, t[i].view).text, a->shape[k], k,
                           view_text(g, t[0].view).text);
                return 0;
            }
        }
    }
    if (size > UINT32_MAX)
        GRAPH_FAIL(g, "ss_tensor_concat: size %llu in dimension %u", (unsigned long long)size, dim);
    return graph_works(g);
}

struct tensor ss_tensor_concat(struct graph *g, const struct tensor *t, unsigned n, unsigned dim)
{
    struct tensor made = { NO_VIEW };
    uint32_t *view;

    if (!graph_works(g) || !concat_fits(g, t, n, dim))
        return made;
    if (n == 1)
        return t[0];
    view = emu_alloc(n, sizeof(*view));
    if (!view) {
        graph_fail_memory(g, "a concatenation");
        return made;
    }
    for (unsigned i = 0; i < n; i++)
        view[i] = t[i].view;
    made.view = concat_views(g, view, n, dim);
    /* Only empty tensors: the shape is still that of all of them. */
    if (graph_works(g) && !g->view.at[made.view].elements) {
        struct draft d;

        draft_of(g, made.view, &d);
        for (unsigned i = 1; i < n; i++)
            d.shape[dim] += g->view.at[view[i]].shape[dim];
        made.view = view_add(g, &d.v);
    }
    ss_free(view);
    return made;
}

/* ---- slice ---- */

static uint32_t slice_view(struct graph *g, uint32_t view, unsigned dim, uint32_t begin,
                           uint32_t end);
static uint32_t broadcast_view(struct graph *g, uint32_t view, unsigned dim, uint32_t n);

/* The part of a concatenation along dim that holds index i. */
static uint32_t concat_part(const struct view *v, uint32_t i)
{
    uint32_t low = 0, high = v->parts;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (v->edge[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static uint32_t slice_concat(struct graph *g, const struct view *v, uint32_t begin, uint32_t end)
{
    uint32_t first = concat_part(v, begin), last = concat_part(v, end - 1), made = NO_VIEW;
    uint32_t *part = emu_alloc(last - first + 1, sizeof(*part));

    if (!part) {
        graph_fail_memory(g, "a slice");
        return NO_VIEW;
    }
    for (uint32_t k = first; k <= last && graph_works(g); k++) {
        uint32_t from = begin > v->edge[k] ? begin - v->edge[k] : 0;
        uint32_t to = (end < v->edge[k + 1] ? end : v->edge[k + 1]) - v->edge[k];

        part[k - first] = slice_view(g, v->part[k], v->dim, from, to);
    }
    if (graph_works(g))
        made = concat_views(g, part, last - first + 1, v->dim);
    ss_free(part);
    return made;
}

static uint32_t slice_node(struct graph *g, uint32_t view, unsigned dim, uint32_t begin,
                           uint32_t end)
{
    struct draft d;

    draft_over(g, view, VIEW_SLICE, dim, &d);
    d.v.begin = begin;
    d.shape[dim] = end - begin;
    return draft_add_over(g, &d, view);
}

/* A slice of a slice in another dimension: below it where that makes the view simpler. */
static uint32_t slice_slice(struct graph *g, uint32_t view, unsigned dim, uint32_t begin,
                            uint32_t end)
{
    struct view v = g->view.at[view];
    uint32_t below = slice_view(g, v.part[0], dim, begin, end);
    const struct view *b;

    if (!graph_works(g))
        return NO_VIEW;
    b = &g->view.at[below];
    if (b->kind == VIEW_SLICE && b->part[0] == v.part[0])
        return slice_node(g, view, dim, begin, end);
    return slice_view(g, below, v.dim, v.begin, v.begin + v.shape[v.dim]);
}

static uint32_t slice_view(struct graph *g, uint32_t view, unsigned dim, uint32_t begin,
                           uint32_t end)
{
    struct view v = g->view.at[view];
    struct draft d;
    uint32_t part, made;

    if (!begin && end == v.shape[dim])
        return view;
    if (begin == end || v.kind == VIEW_BLOCK) {
        draft_of(g, view, &d);
        d.shape[dim] = end - begin;
        if (v.kind == VIEW_BLOCK)
            d.v.offset += (uint64_t)begin * (uint64_t)d.stride[dim];
        return view_add(g, &d.v);
    }
    switch (v.kind) {
    case VIEW_CONCAT:
        if (dim == v.dim)
            return slice_concat(g, &v, begin, end);
        break;
    case VIEW_BROADCAST:
        if (dim == v.dim)
            return broadcast_view(g, v.part[0], dim, end - begin);
        part = slice_view(g, v.part[0], dim, begin, end);
        return graph_works(g) ? broadcast_view(g, part, v.dim, v.shape[v.dim]) : NO_VIEW;
    case VIEW_SLICE:
        if (dim == v.dim)
            return slice_view(g, v.part[0], dim, v.begin + begin, v.begin + end);
        return slice_slice(g, view, dim, begin, end);
    case VIEW_RESHAPE:
        made = view_slice_reshaped(g, &v, dim, begin, end);
        if (made != NO_VIEW || !graph_works(g))
            return made;
        break;
    default:
        break;
    }
    return slice_node(g, view, dim, begin, end);
}

struct tensor ss_tensor_slice(struct graph *g, struct tensor t, unsigned dim, uint32_t begin,
                              uint32_t end)
{
    struct tensor made = { NO_VIEW };

    if (!has_dim(g, t, dim, "ss_tensor_slice"))
        return made;
    if (begin > end || end > g->view.at[t.view].shape[dim])
        GRAPH_FAIL(g, "ss_tensor_slice of %s: [%u, %u) of dimension %u, which has size %u",
                   view_text(g, t.view).text, begin, end, dim, g->view.at[t.view].shape[dim]);
    else
        made.view = slice_view(g, t.view, dim, begin, end);
    return made;
}

/* ---- reshape ---- */

/* Strides with which block v has another shape of as many elements; 0 when there are none. Every
 * new dimension must lie within one that remains after folding. */
static int reshape_strides(const struct view *v, unsigned rank, const uint32_t *shape,
                           int64_t *stride)
{
    struct view_fold f;
    uint64_t left = 1;
    int64_t step = 0;
    unsigned from;

    view_fold(v, &f);
    from = f.rank;
    for (unsigned k = rank; k-- > 0;) {
        stride[k] = 0;
        if (shape[k] == 1)
            continue;
        if (left == 1) {
            from--;
            left = f.size[from];
            step = f.stride[from];
        }
        if (left % shape[k])
            return 0;
        stride[k] = step;
        step *= shape[k];
        left /= shape[k];
    }
    return 1;
}

/* Reshapes the parts of a concatenation where its edges are edges of a new dimension, too: where
 * the dimensions before it have the same product, and whole slices of what is after it make up
 * each part. Tells whether it could; *made is NO_VIEW after an error. */
static int reshape_concat(struct graph *g, const struct view *v, unsigned rank,
                          const uint32_t *shape, uint32_t *made)
{
    uint64_t outer = shape_elements(v->dim, v->shape), before = 1, unit = 1;
    uint64_t inner = shape_elements(v->rank - v->dim - 1, v->shape + v->dim + 1);
    uint32_t sizes[TENSOR_MAX_RANK], *part;
    unsigned dim = 0;

    while (dim < rank && (before < outer || shape[dim] == 1))
        before *= shape[dim++];
    if (before != outer || dim == rank)
        return 0;
    unit = shape_elements(rank - dim - 1, shape + dim + 1);
    for (uint32_t k = 0; k < v->parts; k++)
        if ((v->edge[k + 1] - v->edge[k]) * inner % unit)
            return 0;
    *made = NO_VIEW;
    part = emu_alloc(v->parts, sizeof(*part));
    if (!part) {
        graph_fail_memory(g, "a reshape");
        return 1;
    }
    memcpy(sizes, shape, rank * sizeof(*sizes));
    for (uint32_t k = 0; k < v->parts && graph_works(g); k++) {
        sizes[dim] = (uint32_t)((v->edge[k + 1] - v->edge[k]) * inner / unit);
        part[k] = view_reshape(g, v->part[k], rank, sizes);
    }
    if (graph_works(g))
        *made = concat_views(g, part, v->parts, dim);
    ss_free(part);
    return 1;
}

uint32_t view_reshape(struct graph *g, uint32_t view, unsigned rank, const uint32_t *shape)
{
    struct view v = g->view.at[view];
    struct draft d;
    uint32_t made;

    if (v.rank == rank && (!rank || !memcmp(v.shape, shape, rank * sizeof(*shape))))
        return view;
    if (v.kind == VIEW_RESHAPE)
        return view_reshape(g, v.part[0], rank, shape);
    if (v.kind == VIEW_CONCAT && reshape_concat(g, &v, rank, shape, &made))
        return made;
    draft_of(g, view, &d);
    d.v.rank = (uint8_t)rank;
    if (rank) /* else shape may be NULL */
        memcpy(d.shape, shape, rank * sizeof(*shape));
    if (v.kind != VIEW_BLOCK || (v.elements && !reshape_strides(&v, rank, shape, d.stride))) {
        d.v.kind = VIEW_RESHAPE;
        d.v.parts = 1;
        return draft_add_over(g, &d, view);
    }
    return view_add(g, &d.v);
}

struct tensor ss_tensor_reshape(struct graph *g, struct tensor t, unsigned rank,
                                const uint32_t *shape)
{
    struct tensor made = { NO_VIEW };

    if (!graph_has_view(g, t, "ss_tensor_reshape"))
        return made;
    if (rank > TENSOR_MAX_RANK)
        GRAPH_FAIL(g, "ss_tensor_reshape of %s: rank %u, expected at most %u",
                   view_text(g, t.view).text, rank, TENSOR_MAX_RANK);
    else if (shape_elements(rank, shape) != g->view.at[t.view].elements)
        GRAPH_FAIL(g, "ss_tensor_reshape of %s to %s: expected %llu elements",
                   view_text(g, t.view).text, shape_text(rank, shape).text,
                   (unsigned long long)g->view.at[t.view].elements);
    else
        made.view = view_reshape(g, t.view, rank, shape);
    return made;
}

struct tensor ss_tensor_flatten(struct graph *g, struct tensor t)
{
    uint64_t elements = ss_tensor_elements(g, t);
    uint32_t n = (uint32_t)elements;

    if (graph_works(g) && elements > UINT32_MAX)
        GRAPH_FAIL(g, "ss_tensor_flatten of %s: %llu elements in one dimension",
                   view_text(g, t.view).text, (unsigned long long)elements);
    return ss_tensor_reshape(g, t, 1, &n);
}

struct tensor ss_tensor_index(struct graph *g, struct tensor t, uint32_t i)
{
    struct tensor made = { NO_VIEW };
    uint32_t row;

    if (!has_dim(g, t, 0, "ss_tensor_index"))
        return made;
    if (i >= g->view.at[t.view].shape[0]) {
        GRAPH_FAIL(g, "ss_tensor_index of %s: %u, expected less than %u", view_text(g, t.view).text,
                   i, g->view.at[t.view].shape[0]);
        return made;
    }
    if (g->view.at[t.view].kind == VIEW_BLOCK) {
        struct draft d;

        draft_of(g, t.view, &d);
        d.v.offset += (uint64_t)i * (uint64_t)d.stride[0];
        d.v.rank--;
        d.v.shape++;
        d.v.stride++;
        made.view = view_add(g, &d.v);
        return made;
    }
    row = slice_view(g, t.view, 0, i, i + 1);
    if (graph_works(g))
        made.view = view_reshape(g, row, g->view.at[row].rank - 1, g->view.at[row].shape + 1);
    return made;
}

/* ---- transpose ---- */

static uint32_t transpose_view(struct graph *g, uint32_t view, const uint8_t *order);

/* Whether a transposition leaves the elements in their order: it only moves dimensions of size 1.
 */
static int keeps_order(const struct view *v, const uint8_t *order)
{
    int last = -1;

    for (unsigned k = 0; k < v->rank; k++) {
        if (v->shape[order[k]] == 1)
            continue;
        if (order[k] < last)
            return 0;
        last = order[k];
    }
    return 1;
}

static uint32_t transpose_concat(struct graph *g, const struct view *v, unsigned dim,
                                 const uint8_t *order)
{
    uint32_t *part = emu_alloc(v->parts, sizeof(*part)), made = NO_VIEW;

    if (!part) {
        graph_fail_memory(g, "a transposition");
        return NO_VIEW;
    }
    for (uint32_t k = 0; k < v->parts && graph_works(g); k++)
        part[k] = transpose_view(g, v->part[k], order);
    if (graph_works(g))
        made = concat_views(g, part, v->parts, dim);
    ss_free(part);
    return made;
}

/* What a node says of dimension dim is said of dimension `dim` of the transposed part. */
static uint32_t transpose_below(struct graph *g, const struct view *v, unsigned dim,
                                const uint8_t *order)
{
    uint32_t part = transpose_view(g, v->part[0], order);

    if (!graph_works(g))
        return NO_VIEW;
    if (v->kind == VIEW_SLICE)
        return slice_view(g, part, dim, v->begin, v->begin + v->shape[v->dim]);
    return broadcast_view(g, part, dim, v->shape[v->dim]);
}

static uint32_t transpose_view(struct graph *g, uint32_t view, const uint8_t *order)
{
    struct view v = g->view.at[view];
    unsigned dim = 0; /* of the result, where dimension v.dim goes */
    uint8_t below[TENSOR_MAX_RANK];
    struct draft d;
    uint32_t made;

    draft_of(g, view, &d);
    for (unsigned k = 0; k < v.rank; k++) {
        d.shape[k] = v.shape[order[k]];
        if (order[k] == v.dim)
            dim = k;
    }
    if (v.kind == VIEW_BLOCK) {
        for (unsigned k = 0; k < v.rank; k++)
            d.stride[k] = v.stride[order[k]];
        return view_add(g, &d.v);
    }
    if (keeps_order(&v, order))
        return view_reshape(g, view, v.rank, d.shape);
    switch (v.kind) {
    case VIEW_CONCAT:
        return transpose_concat(g, &v, dim, order);
    case VIEW_SLICE:
    case VIEW_BROADCAST:
        return transpose_below(g, &v, dim, order);
    case VIEW_TRANSPOSE:
        for (unsigned k = 0; k < v.rank; k++)
            below[k] = v.order[order[k]];
        return transpose_view(g, v.part[0], below);
    case VIEW_RESHAPE:
        made = view_transpose_reshaped(g, &v, order);
        if (made != NO_VIEW || !graph_works(g))
            return made;
        break;
    default:
        break;
    }
    d.v.kind = VIEW_TRANSPOSE;
    d.v.parts = 1;
    memcpy(d.v.order, order, v.rank);
    return draft_add_over(g, &d, view);
}

struct tensor ss_tensor_transpose(struct graph *g, struct tensor t, const unsigned *order)
{
    uint8_t map[TENSOR_MAX_RANK];
    struct tensor made = { NO_VIEW };
    unsigned rank, seen = 0;

    if (!graph_has_view(g, t, "ss_tensor_transpose"))
        return made;
    rank = g->view.at[t.view].rank;
    for (unsigned k = 0; k < rank; k++) {
        if (order[k] >= rank || seen >> order[k] & 1) {
            GRAPH_FAIL(g,
                       "ss_tensor_transpose of %s: order[%u] is %u, expected each dimension once",
                       view_text(g, t.view).text, k, order[k]);
            return made;
        }
        seen |= 1u << order[k];
        map[k] = (uint8_t)order[k];
    }
    made.view = transpose_view(g, t.view, map);
    return made;
}

/* ---- broadcast ---- */

static uint32_t broadcast_view(struct graph *g, uint32_t view, unsigned dim, uint32_t n)
{
    struct draft d;

    if (n == 1)
        return view;
    draft_of(g, view, &d);
    d.shape[dim] = n;
    if (d.v.kind != VIEW_BLOCK) {
        d.v.kind = VIEW_BROADCAST;
        d.v.dim = (uint8_t)dim;
        d.v.parts = 1;
        return draft_add_over(g, &d, view);
    }
    d.stride[dim] = 0;
    return view_add(g, &d.v);
}

struct tensor ss_tensor_broadcast(struct graph *g, struct tensor t, unsigned dim, uint32_t n)
{
    struct tensor made = { NO_VIEW };

    if (!has_dim(g, t, dim, "ss_tensor_broadcast"))
        return made;
    if (g->view.at[t.view].shape[dim] != 1)
        GRAPH_FAIL(g, "ss_tensor_broadcast of %s: dimension %u has size %u, expected 1",
                   view_text(g, t.view).text, dim, g->view.at[t.view].shape[dim]);
    else
        made.view = broadcast_view(g, t.view, dim, n);
    return made;
}

static int view_repeats(const struct graph *g, uint32_t view)
{
    const struct view *v = &g->view.at[view];
    int repeats = v->kind == VIEW_BROADCAST;

    if (v->kind == VIEW_BLOCK) {
        for (unsigned k = 0; k < v->rank; k++)
            repeats = repeats || (v->shape[k] > 1 && !v->stride[k]);
        return repeats;
    }
    for (uint32_t k = 0; k < v->parts && !repeats; k++)
        repeats = view_repeats(g, v->part[k]);
    return repeats;
}

int ss_tensor_repeats(const struct graph *g, struct tensor t)
{
    return g && t.view < g->view.count && view_repeats(g, t.view);
}
