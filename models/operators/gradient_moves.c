/* gradient_moves.c - gradients of operators that move elements: each goes back to where its element
 * came from, and gradients of an element that was read several times are added up.
 */

#include "models/operators/op_families.h"
#include "models/operators/op_gradient.h"
#include "models/operators/op_move.h"

/* A value that depends on shapes and integers only has the gradient 0. */
void gradient_zero_node(struct op_gradient *x)
{
    (void)x;
}

/* --- views -------------------------------------------------------------------------------- */

static void transpose_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    unsigned rank = gradient_shape(x, x->out[0]).rank, perm[OP_RANK_MAX];
    const int64_t *list;
    uint32_t n = op_ints(&c, "perm", &list);

    for (unsigned d = 0; d < rank; d++)
        perm[n ? (unsigned)list[d] : rank - 1 - d] = d;
    x->in[0] = gradient_transpose(x, x->out[0], perm);
}

/* [a][b].. read several times along each dimension: [times][a][times][b].., summed over times, two
 * or three dimensions at a time, since there are twice as many. */
static void tile_back(struct op_gradient *x)
{
    struct op_shape s = gradient_shape(x, x->n->in[0]), now = gradient_shape(x, x->n->out[0]);
    uint32_t dy = x->out[0];

    for (unsigned d = 0; d < s.rank && dy != OP_NONE; d++) {
        struct op_shape cut = { s.type, 4, { 0 } };

        if (now.dim[d] == s.dim[d])
            continue;
        cut.dim[0] = (uint32_t)op_shape_span(&now, 0, d);
        cut.dim[1] = s.dim[d] ? now.dim[d] / s.dim[d] : 0;
        cut.dim[2] = s.dim[d];
        cut.dim[3] = (uint32_t)op_shape_span(&now, d + 1, s.rank);
        now.dim[d] = s.dim[d];
        dy = gradient_reduce(x, OP_ReduceSum, gradient_reshape(x, dy, cut), 1u << 1);
        dy = gradient_reshape(x, dy, now);
    }
    x->in[0] = dy;
}

/* DepthToSpace whose blocks lie in the channels' last places: [n][c][h][b][w][b] back to
 * [n][c][b][b][h][w]. */
static uint32_t columns_first_back(struct op_gradient *x, uint32_t b)
{
    static const unsigned perm[] = { 0, 1, 3, 5, 2, 4 };
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    struct op_shape six = { s.type, 6, { s.dim[0], s.dim[1] / (b * b), s.dim[2], b, s.dim[3], b } };

    return gradient_reshape(x, gradient_transpose(x, gradient_reshape(x, x->out[0], six), perm), s);
}

static void blocks_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_named_attr size = gradient_int("blocksize", op_int(&c, "blocksize"));

    if (gradient_is(x, OP_SpaceToDepth))
        x->in[0] = gradient_node(x, OP_DepthToSpace, x->out, 1, &size, 1);
    else if (op_is(&c, "mode", "CRD"))
        x->in[0] = columns_first_back(x, (uint32_t)size.attr.i);
    else
        x->in[0] = gradient_node(x, OP_SpaceToDepth, x->out, 1, &size, 1);
}

void gradient_view_node(struct op_gradient *x)
{
    const struct op_shape s = gradient_shape(x, x->n->in[0]);

    if (gradient_is(x, OP_Transpose))
        transpose_back(x);
    else if (gradient_is(x, OP_Expand))
        x->in[0] = gradient_sum_to(x, x->out[0], s);
    else if (gradient_is(x, OP_Tile))
        tile_back(x);
    else if (gradient_is(x, OP_DepthToSpace) || gradient_is(x, OP_SpaceToDepth))
        blocks_back(x);
    else
        x->in[0] = gradient_reshape(x, x->out[0], s);
}

/* --- what is made ------------------------------------------------------------------------- */

/* Trilu keeps a triangle; the others read no floats. */
void gradient_constant_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);

    if (gradient_is(x, OP_Trilu))
        x->in[0] =
            gradient_node(x, OP_Trilu, x->out, 1,
                          (struct op_named_attr[]){ gradient_int("k", op_int(&c, "k")),
                                                    gradient_int("upper", op_int(&c, "upper")) },
                          2);
}

/* --- parts -------------------------------------------------------------------------------- */

/* A part of a value along an axis. */
static uint32_t part(struct op_gradient *x, uint32_t value, int64_t axis, int64_t first,
                     int64_t count)
{
    const int64_t end = first + count;

    return gradient_node(x, OP_Slice, &value, 1,
                         (struct op_named_attr[]){ gradient_ints("starts", &first, 1),
                                                   gradient_ints("ends", &end, 1),
                                                   gradient_ints("axes", &axis, 1) },
                         3);
}

static void concat_back(struct op_gradient *x, unsigned axis)
{
    int64_t first = 0;

    for (unsigned k = 0; k < x->n->ins; k++) {
        int64_t count = gradient_shape(x, x->n->in[k]).dim[axis];

        if (x->wanted[k])
            x->in[k] = part(x, x->out[0], axis, first, count);
        first += count;
    }
}

static void split_back(struct op_gradient *x, unsigned axis)
{
    uint32_t *in = emu_alloc(x->n->outs + 1, sizeof(*in));

    if (!in)
        x->status = FAIL(NO_MEMORY, "gradients");
    for (unsigned k = 0; in && k < x->n->outs; k++) {
        struct op_call c = op_attrs_of(x->g, x->n);
        struct op_shape s = gradient_shape(x, x->n->in[0]);

        s.dim[axis] = (uint32_t)op_split_size(&c, s.dim[axis], x->n->outs, k);
        in[k] = x->out[k] == OP_NONE ? gradient_zeros(x, s) : x->out[k];
    }
    if (in)
        x->in[0] = gradient_node(x, OP_Concat, in, x->n->outs,
                                 (struct op_named_attr[]){ gradient_int("axis", axis) }, 1);
    ss_free(in);
}

/* What was padded is cut off again, and the other way round. */
static void pad_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const int64_t *pads;
    int64_t back[2 * OP_RANK_MAX];
    uint32_t n = op_ints(&c, "pads", &pads);

    if (!op_is(&c, "mode", "constant")) {
        gradient_refuse(x, "of what is repeated at the edges none is built");
        return;
    }
    for (uint32_t k = 0; k < n; k++)
        back[k] = -pads[k];
    x->in[0] = gradient_node(x, OP_Pad, x->out, 1,
                             (struct op_named_attr[]){ gradient_ints("pads", back, n) }, 1);
}

/* Elements first, first + step, .. along an axis of n elements go back to where they were: zeros
 * between them, before and behind. */
static uint32_t unpick(struct op_gradient *x, uint32_t dy, unsigned axis, int64_t first,
                       int64_t step, uint32_t n)
{
    struct op_shape s, apart;
    int64_t pads[2 * OP_RANK_MAX] = { 0 };
    uint32_t count;

    if (dy == OP_NONE)
        return OP_NONE;
    s = gradient_shape(x, dy);
    count = s.dim[axis];
    if (step < 0) { /* turned round first */
        const int64_t from = -1, to = INT64_MIN, by = -1, along = axis;

        dy = gradient_node(x, OP_Slice, &dy, 1,
                           (struct op_named_attr[]){
                               gradient_ints("starts", &from, 1), gradient_ints("ends", &to, 1),
                               gradient_ints("axes", &along, 1), gradient_ints("steps", &by, 1) },
                           4);
        first += (count ? count - 1 : 0) * step;
        step = -step;
    }
    if (count < 2)
        step = 1;
    if (step > 1) { /* [..][count][inner] with zeros behind each: [..][count][step][inner] */
        const uint64_t outer = op_shape_span(&s, 0, axis),
                       inner = op_shape_span(&s, axis + 1, s.rank);

        apart = (struct op_shape){ s.type, 4, { (uint32_t)outer, count, 1, (uint32_t)inner } };
        dy = gradient_reshape(x, dy, apart);
        pads[4 + 2] = step - 1;
        dy = gradient_node(x, OP_Pad, &dy, 1,
                           (struct op_named_attr[]){ gradient_ints("pads", pads, 8) }, 1);
        pads[4 + 2] = 0;
        s.dim[axis] = count * (uint32_t)step;
        dy = gradient_reshape(x, dy, s);
    }
    pads[axis] = first;
    pads[s.rank + axis] = (int64_t)n - first - (int64_t)s.dim[axis];
    return gradient_node(x, OP_Pad, &dy, 1,
                         (struct op_named_attr[]){ gradient_ints("pads", pads, 2 * s.rank) }, 1);
}

static void slice_back(struct op_gradient *x)
{
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    struct op_call c = op_attrs_of(x->g, x->n);
    const int64_t *start, *axis, *step;
    uint32_t n = op_ints(&c, "starts", &start), axes = op_ints(&c, "axes", &axis);
    uint32_t steps = op_ints(&c, "steps", &step), dy = x->out[0];

    for (uint32_t k = 0; k < n; k++) {
        unsigned d = axes ? (unsigned)(axis[k] < 0 ? axis[k] + s.rank : axis[k]) : k;
        int64_t by = steps ? step[k] : 1, size = s.dim[d], first = start[k];
        int64_t last = by < 0 ? size - 1 : size;

        first += first < 0 ? size : 0;
        first = first < 0 ? 0 : first > last ? last : first;
        dy = unpick(x, dy, d, first, by, s.dim[d]);
    }
    x->in[0] = dy;
}

void gradient_slice_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    unsigned rank = gradient_shape(x, x->n->in[0]).rank;
    int64_t axis = op_knows(&c, "axis") ? op_int(&c, "axis") : 0;

    axis += axis < 0 ? rank : 0;
    if (gradient_is(x, OP_Concat))
        concat_back(x, (unsigned)axis);
    else if (gradient_is(x, OP_Split))
        split_back(x, (unsigned)axis);
    else if (gradient_is(x, OP_Pad))
        pad_back(x);
    else if (gradient_is(x, OP_Slice))
        slice_back(x);
    else if (gradient_is(x, OP_ReverseSequence))
        x->in[0] = gradient_node(
            x, OP_ReverseSequence, (uint32_t[]){ x->out[0], x->n->in[1] }, 2,
            (struct op_named_attr[]){ gradient_int("batch_axis", op_int(&c, "batch_axis")),
                                      gradient_int("time_axis", op_int(&c, "time_axis")) },
            2);
    else
        gradient_refuse(x, "of what a condition selects none is built");
}

/* --- indices ------------------------------------------------------------------------------ */

static uint32_t add_at(struct op_gradient *x, enum op_code op, uint32_t indices, uint32_t values,
                       const struct op_named_attr *axis)
{
    uint32_t zeros = gradient_zeros(x, gradient_shape(x, x->n->in[0]));
    struct op_named_attr attr[2] = { gradient_text("reduction", "add") };

    if (axis)
        attr[1] = *axis;
    return gradient_node(x, op, (uint32_t[]){ zeros, indices, values }, 3, attr, axis ? 2 : 1);
}

static int all_true(struct op_gradient *x, uint32_t value)
{
    struct op_tensor t;
    int all = 1;

    if (x->status != EMU_OK || !op_value_constant_kind(&x->g->value[value]))
        return 0;
    x->status = op_value_read(x->g, value, &t);
    if (x->status != EMU_OK)
        return 0;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        all &= t.i[k] != 0;
    op_tensor_free(&t);
    return all;
}

/* Finds the updates that no later update has overwritten: numbers of the updates are scattered in
 * their place, and it is seen which are still there. OP_NONE: all are. */
static uint32_t last_written(struct op_gradient *x, enum op_code gather,
                             const struct op_named_attr *axis, uint32_t axes)
{
    struct op_shape to = gradient_shape(x, x->n->in[0]), from = gradient_shape(x, x->n->in[2]);
    double *number = emu_alloc(op_shape_count(&from) + 1, sizeof(*number));
    uint32_t numbers = OP_NONE, who, last;

    to.type = from.type = OP_TYPE_F32;
    for (uint64_t k = 0; number && k < op_shape_count(&from); k++)
        number[k] = (double)k;
    if (!number)
        x->status = FAIL(NO_MEMORY, "gradients");
    if (x->status == EMU_OK)
        x->status = op_constant_new(x->g, &from, number, &numbers);
    ss_free(number);
    who = gradient_node(x, x->n->row->code,
                        (uint32_t[]){ gradient_zeros(x, to), x->n->in[1], numbers }, 3, axis, axes);
    who = gradient_node(x, gather, (uint32_t[]){ who, x->n->in[1] }, 2, axis, axes);
    last = gradient_binary(x, OP_Equal, who, numbers);
    return last != OP_NONE && all_true(x, last) ? OP_NONE : last;
}

/* Of ScatterElements and ScatterND: data that were written over have no gradient; an update has the
 * gradient of the place to which it was written. */
static void scatter_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    int nd = gradient_is(x, OP_ScatterND), add = op_is(&c, "reduction", "add");
    const struct op_named_attr axis = gradient_int("axis", nd ? 0 : op_int(&c, "axis"));
    uint32_t indices = x->n->in[1], dy = x->out[0];

    if (!add && !op_is(&c, "reduction", "none")) {
        gradient_refuse(x, "of products and extremes none is built");
        return;
    }
    if (x->wanted[0])
        x->in[0] =
            add ? dy
                : gradient_node(x, x->n->row->code,
                                (uint32_t[]){ dy, indices,
                                              gradient_zeros(x, gradient_shape(x, x->n->in[2])) },
                                3, &axis, nd ? 0 : 1);
    if (x->wanted[2]) {
        enum op_code gather = nd ? OP_GatherND : OP_GatherElements;
        uint32_t back = gradient_node(x, gather, (uint32_t[]){ dy, indices }, 2, &axis, nd ? 0 : 1);
        uint32_t last = add ? OP_NONE : last_written(x, gather, &axis, nd ? 0 : 1);

        x->in[2] =
            last == OP_NONE
                ? back
                : gradient_node(x, OP_Where, (uint32_t[]){ last, back, gradient_number(x, dy, 0) },
                                3, NULL, 0);
    }
}

/* Constant indices, counted from the beginning; owned. NULL: they are known at run time only. */
static int64_t *constant_indices(struct op_gradient *x, uint32_t value, uint32_t size, uint64_t *n)
{
    struct op_tensor t;
    int64_t *index;

    if (x->status != EMU_OK || !op_value_constant_kind(&x->g->value[value]))
        return NULL;
    x->status = op_value_read(x->g, value, &t);
    if (x->status != EMU_OK)
        return NULL;
    *n = op_shape_count(&t.shape);
    index = emu_alloc(*n + 1, sizeof(*index));
    if (!index)
        x->status = FAIL(NO_MEMORY, "gradients");
    for (uint64_t k = 0; index && k < *n; k++)
        index[k] = t.i[k] + (t.i[k] < 0 ? size : 0);
    op_tensor_free(&t);
    return index;
}

/* Whether the indices go up or down by one number. */
static int are_in_steps(const int64_t *index, uint64_t n)
{
    for (uint64_t k = 2; k < n; k++) {
        if (index[k] - index[k - 1] != index[1] - index[0])
            return 0;
    }
    return n && (n == 1 || index[0] != index[1]);
}

/* A matrix [size][n] with a one where an element was read, times [outer][n][inner]. */
static uint32_t add_up(struct op_gradient *x, uint32_t dy, const int64_t *index, uint64_t n,
                       uint32_t size)
{
    struct op_shape ones = { gradient_shape(x, dy).type, 2, { size, (uint32_t)n } };
    double *one = emu_alloc((size_t)size * n + 1, sizeof(*one));
    uint32_t matrix = OP_NONE;

    if (!one)
        x->status = FAIL(NO_MEMORY, "gradients");
    for (uint64_t k = 0; one && k < n; k++)
        one[(uint64_t)index[k] * n + k] = 1;
    if (x->status == EMU_OK)
        x->status = op_constant_new(x->g, &ones, one, &matrix);
    ss_free(one);
    return gradient_binary(x, OP_MatMul, matrix, dy);
}

/* Of Gather with constant indices: gradients go back to the elements that were read, and are added
 * up if one was read twice. Returns 0 where that would take too large a matrix, or where the places
 * are known at run time only. */
static int picked_back(struct op_gradient *x, unsigned d)
{
    enum { MOST = 1 << 20 /* elements of the matrix */ };
    const struct op_shape to = gradient_shape(x, x->n->in[0]), of = gradient_shape(x, x->out[0]);
    struct op_shape along = to, three = { to.type, 3, { 0 } };
    uint32_t size = to.dim[d], dy;
    uint64_t n = 0;
    int64_t *index = constant_indices(x, x->n->in[1], size, &n);
    int steps = index && are_in_steps(index, n);

    if (!index || (!steps && (!n || n * size > MOST))) {
        ss_free(index);
        return 0;
    }
    if (steps) {
        along.dim[d] = (uint32_t)n;
        dy = gradient_reshape(x, x->out[0], along);
        x->in[0] = unpick(x, dy, d, index[0], n > 1 ? index[1] - index[0] : 1, size);
    } else {
        three.dim[0] = (uint32_t)op_shape_span(&to, 0, d);
        three.dim[1] = (uint32_t)n;
        three.dim[2] = (uint32_t)op_shape_span(&to, d + 1, to.rank);
        three.type = of.type;
        dy = add_up(x, gradient_reshape(x, x->out[0], three), index, n, size);
        x->in[0] = gradient_reshape(x, dy, to);
    }
    ss_free(index);
    return 1;
}

void gradient_gather_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_named_attr axis =
        gradient_int("axis", op_knows(&c, "axis") ? op_int(&c, "axis") : 0);
    unsigned rank = gradient_shape(x, x->n->in[0]).rank;

    if (gradient_is(x, OP_Gather)) {
        int64_t d = axis.attr.i + (axis.attr.i < 0 ? rank : 0);

        if (picked_back(x, (unsigned)d))
            return;
        x->in[0] = gradient_node(
            x, OP_GatherGradient, (uint32_t[]){ x->n->in[1], x->out[0] }, 2,
            (struct op_named_attr[]){ gradient_int("axis", d),
                                      gradient_int("size", gradient_shape(x, x->n->in[0]).dim[d]) },
            2);
    } else if (gradient_is(x, OP_GatherElements)) {
        x->in[0] = add_at(x, OP_ScatterElements, x->n->in[1], x->out[0], &axis);
    } else if (gradient_is(x, OP_GatherND) && !op_int(&c, "batch_dims")) {
        x->in[0] = add_at(x, OP_ScatterND, x->n->in[1], x->out[0], NULL);
    } else if (gradient_is(x, OP_TopK) && x->n->outs > 1 && x->n->out[1] != OP_NONE) {
        x->in[0] = add_at(x, OP_ScatterElements, x->n->out[1], x->out[0], &axis);
    } else if (gradient_is(x, OP_ScatterElements) || gradient_is(x, OP_ScatterND)) {
        scatter_back(x);
    } else {
        gradient_refuse(x, "of this way to name elements none is built");
    }
}
