/* family_view.c - the same elements in another shape or order, or several times: Reshape, Flatten,
 * Squeeze, Unsqueeze; Transpose, DepthToSpace, SpaceToDepth; Expand, Tile.
 */
#include "models/operators/op_families.h"
#include "models/operators/op_move.h"

/* --- other shapes ------------------------------------------------------------------------- */

/* Reshape's dimensions as numbers: 0 stands for the input's dimension unless allowzero is set.
 * *rest: the index of the dimension that is -1, or the rank if none is. */
static enum emu_status read_target(struct op_call *c, struct op_shape *out, unsigned *rest)
{
    const struct op_shape *x = c->in[0];
    const int64_t *list;
    uint32_t n = op_ints(c, "shape", &list);
    int zero = op_int(c, "allowzero") != 0, zeros = 0;

    if (n > OP_RANK_MAX)
        return op_refuse(c, "%u dimensions: at most %d", n, OP_RANK_MAX);
    *out = (struct op_shape){ .type = x->type, .rank = n };
    *rest = n;
    for (unsigned d = 0; d < n; d++) {
        zeros |= zero && !list[d];
        if (list[d] == -1 && *rest < n)
            return op_refuse(c, "two dimensions are -1");
        if (list[d] == -1)
            *rest = d;
        else if (list[d] == 0 && !zero && d >= x->rank)
            return op_refuse(c, "dimension %u is 0, the input has %u", d, x->rank);
        else if (list[d] < 0 || list[d] > UINT32_MAX)
            return op_refuse(c, "a dimension of %lld", (long long)list[d]);
        else
            out->dim[d] = list[d] || zero ? (uint32_t)list[d] : x->dim[d];
    }
    return zeros && *rest < n ? op_refuse(c, "a dimension is -1 beside a 0") : EMU_OK;
}

static enum emu_status infer_reshape(struct op_call *c)
{
    uint64_t have = op_shape_count(c->in[0]), want;
    struct op_shape *out = &c->out[0];
    unsigned rest = 0;
    int open; /* one dimension takes the rest */

    TRY(read_target(c, out, &rest));
    open = rest < out->rank;
    if (open)
        out->dim[rest] = 1;
    if (op_shape_check(out) != EMU_OK)
        return op_refuse(c, "more than 2^32 elements");
    want = op_shape_count(out);
    if (open ? !want || have % want : have != want)
        return op_refuse(c, "%llu elements do not fit", (unsigned long long)have);
    return open ? op_dim(c, have / want, &out->dim[rest]) : EMU_OK;
}

static enum emu_status infer_flatten(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    int64_t axis = op_int(c, "axis");

    if (axis < -(int64_t)x->rank || axis > (int64_t)x->rank)
        return op_refuse(c, "axis %lld of %u dimensions", (long long)axis, x->rank);
    axis += axis < 0 ? x->rank : 0;
    c->out[0] = (struct op_shape){ .type = x->type, .rank = 2 };
    TRY(op_dim(c, op_shape_span(x, 0, (unsigned)axis), &c->out[0].dim[0]));
    return op_dim(c, op_shape_span(x, (unsigned)axis, x->rank), &c->out[0].dim[1]);
}

/* Without axes all dimensions of 1 are removed. */
static enum emu_status infer_squeeze(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    const int64_t *list;
    int all = op_ints(c, "axes", &list) == 0;
    uint32_t set;

    TRY(op_axes(c, "axes", x->rank, &set));
    c->out[0] = (struct op_shape){ .type = x->type };
    for (unsigned d = 0; d < x->rank; d++) {
        if (!(set >> d & 1) || (all && x->dim[d] != 1))
            c->out[0].dim[c->out[0].rank++] = x->dim[d];
        else if (x->dim[d] != 1)
            return op_refuse(c, "dimension %u is %u, not 1", d, x->dim[d]);
    }
    return EMU_OK;
}

/* Axes count in the result. */
static enum emu_status infer_unsqueeze(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    const int64_t *list;
    uint32_t n = op_ints(c, "axes", &list), set = 0;
    unsigned from = 0;

    if (n > OP_RANK_MAX - x->rank)
        return op_refuse(c, "%u more dimensions than %u", n, x->rank);
    if (n)
        TRY(op_axes(c, "axes", x->rank + n, &set));
    c->out[0] = (struct op_shape){ .type = x->type, .rank = x->rank + n };
    for (unsigned d = 0; d < c->out[0].rank; d++)
        c->out[0].dim[d] = set >> d & 1 ? 1 : x->dim[from++];
    return EMU_OK;
}

/* --- another order ------------------------------------------------------------------------ */

/* How elements move: the result, with dimensions that blocks were split into, and the input's
 * strides for these. */
struct move {
    struct op_shape shape;
    int64_t stride[OP_RANK_MAX];
};

/* The input's dimension for each of the result. */
static enum emu_status read_perm(struct op_call *c, unsigned perm[OP_RANK_MAX])
{
    unsigned rank = c->in[0]->rank;
    const int64_t *list;
    uint32_t n = op_ints(c, "perm", &list), seen = 0;

    if (op_has(c, "perm") && n != rank)
        return op_refuse(c, "perm has %u numbers, the input %u dimensions", n, rank);
    for (unsigned d = 0; d < rank; d++) {
        int64_t from = n ? list[d] : rank - 1 - d;

        if (from < 0 || from >= rank || (seen >> from & 1))
            return op_refuse(c, "perm is no permutation: %lld", (long long)from);
        seen |= 1u << from;
        perm[d] = (unsigned)from;
    }
    return EMU_OK;
}

static enum emu_status move_transpose(struct op_call *c, struct move *m)
{
    const struct op_shape *x = c->in[0];
    int64_t stride[OP_RANK_MAX];
    unsigned perm[OP_RANK_MAX];

    TRY(read_perm(c, perm));
    op_move_strides(x, stride);
    m->shape = *x;
    for (unsigned d = 0; d < x->rank; d++) {
        m->shape.dim[d] = x->dim[perm[d]];
        m->stride[d] = stride[perm[d]];
    }
    return EMU_OK;
}

/* The input [N][C][H][W] and blocks of b x b: its size and that of the result. */
static enum emu_status read_blocks(struct op_call *c, uint32_t *b, struct op_shape *out)
{
    const struct op_shape *x = c->in[0];
    int64_t size = op_int(c, "blocksize");
    int down = op_named(c, OP_SpaceToDepth);

    *out = *x;
    if (x->rank != 4)
        return op_refuse(c, "an input of %u dimensions, expected 4", x->rank);
    if (size < 1 || size > UINT16_MAX)
        return op_refuse(c, "blocksize %lld", (long long)size);
    *b = (uint32_t)size;
    if (down ? x->dim[2] % *b || x->dim[3] % *b : x->dim[1] % (*b * *b) != 0)
        return op_refuse(c, "%u x %u x %u in blocks of %u x %u", x->dim[1], x->dim[2], x->dim[3],
                         *b, *b);
    out->dim[1] = x->dim[1] / (*b * *b);
    if (down)
        TRY(op_dim(c, (uint64_t)x->dim[1] * *b * *b, &out->dim[1]));
    for (unsigned d = 2; d < 4; d++)
        TRY(op_dim(c, down ? x->dim[d] / *b : (uint64_t)x->dim[d] * *b, &out->dim[d]));
    return EMU_OK;
}

/* The result as [N][C'][H][b][W][b] (to space), or [N][b][b][C][H'][W'] (to depth). */
static enum emu_status move_blocks(struct op_call *c, struct move *m)
{
    const struct op_shape *x = c->in[0];
    int64_t stride[OP_RANK_MAX];
    struct op_shape out;
    uint32_t b;

    if (op_named(c, OP_DepthToSpace) && !op_is(c, "mode", "DCR") && !op_is(c, "mode", "CRD"))
        return op_refuse(c, "mode %.60s is neither DCR nor CRD", op_string(c, "mode"));
    TRY(read_blocks(c, &b, &out));
    op_move_strides(x, stride);
    if (op_named(c, OP_SpaceToDepth)) {
        *m = (struct move){ { x->type, 6, { x->dim[0], b, b, x->dim[1], out.dim[2], out.dim[3] } },
                            { stride[0], stride[2], 1, stride[1], stride[2] * b, b } };
    } else {
        int columns_first = op_is(c, "mode", "CRD");
        int64_t channel = stride[1] * (columns_first ? b * b : 1);
        int64_t block = stride[1] * (columns_first ? 1 : out.dim[1]);

        *m = (struct move){ { x->type, 6, { x->dim[0], out.dim[1], x->dim[2], b, x->dim[3], b } },
                            { stride[0], channel, stride[2], block * b, 1, block } };
    }
    return EMU_OK;
}

static enum emu_status infer_blocks(struct op_call *c)
{
    struct move m;
    uint32_t b;

    TRY(move_blocks(c, &m)); /* for its checks */
    return read_blocks(c, &b, &c->out[0]);
}

static enum emu_status infer_transpose(struct op_call *c)
{
    struct move m;

    TRY(move_transpose(c, &m));
    c->out[0] = m.shape;
    return EMU_OK;
}

/* --- several times ------------------------------------------------------------------------ */

static enum emu_status infer_expand(struct op_call *c)
{
    struct op_shape to;

    TRY(op_dims(c, "shape", &to));
    return op_broadcast(c, c->in[0], &to, &c->out[0]);
}

static enum emu_status infer_tile(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    const int64_t *list;
    uint32_t n = op_ints(c, "repeats", &list);

    if (n != x->rank)
        return op_refuse(c, "repeats has %u numbers, the input %u dimensions", n, x->rank);
    c->out[0] = *x;
    for (unsigned d = 0; d < n; d++) {
        if (list[d] < 0 || list[d] > UINT32_MAX)
            return op_refuse(c, "repeats %lld", (long long)list[d]);
        TRY(op_dim(c, x->dim[d] * (uint64_t)list[d], &c->out[0].dim[d]));
    }
    return EMU_OK;
}

static void expand(const struct op_tensor *x, struct op_tensor *out)
{
    uint64_t stride[OP_RANK_MAX];
    int64_t step[OP_RANK_MAX];

    op_broadcast_strides(&x->shape, &out->shape, stride);
    for (unsigned d = 0; d < OP_RANK_MAX; d++)
        step[d] = (int64_t)stride[d];
    op_move_strided(&out->shape, x->any, step, out->any);
}

static enum emu_status tile(const struct op_tensor *x, struct op_tensor *out)
{
    const struct op_shape *s = &out->shape;
    struct op_picks p;
    enum emu_status status;

    if (!op_shape_count(s))
        return EMU_OK;
    status = op_picks_new(s, &p);
    for (unsigned d = 0; status == EMU_OK && d < s->rank; d++) {
        for (uint32_t k = 0; k < s->dim[d]; k++)
            p.index[d][k] = k % x->shape.dim[d];
    }
    if (status == EMU_OK)
        op_move_picked(s, &x->shape, &p, x->any, 0, out->any);
    op_picks_free(&p);
    return status;
}

/* --- the family --------------------------------------------------------------------------- */

static enum emu_status view_infer(struct op_call *c)
{
    return op_named(c, OP_Reshape)     ? infer_reshape(c)
           : op_named(c, OP_Flatten)   ? infer_flatten(c)
           : op_named(c, OP_Squeeze)   ? infer_squeeze(c)
           : op_named(c, OP_Unsqueeze) ? infer_unsqueeze(c)
           : op_named(c, OP_Transpose) ? infer_transpose(c)
           : op_named(c, OP_Expand)    ? infer_expand(c)
           : op_named(c, OP_Tile)      ? infer_tile(c)
                                       : infer_blocks(c);
}

static enum emu_status view_ref(struct op_call *c, const struct op_tensor *const *in,
                                struct op_tensor *out)
{
    struct move m = { .shape = out[0].shape };

    if (op_named(c, OP_Tile))
        return tile(in[0], &out[0]);
    if (op_named(c, OP_Expand)) {
        expand(in[0], &out[0]);
        return EMU_OK;
    }
    if (op_named(c, OP_Transpose))
        TRY(move_transpose(c, &m));
    else if (op_named(c, OP_DepthToSpace) || op_named(c, OP_SpaceToDepth))
        TRY(move_blocks(c, &m));
    else
        op_move_strides(&m.shape, m.stride);
    op_move_strided(&m.shape, in[0]->any, m.stride, out[0].any);
    return EMU_OK;
}

const struct op_family family_view = { .infer = view_infer,
                                       .ref = view_ref,
                                       .gradient = gradient_view_node };

/* --- older versions ----------------------------------------------------------------------- */

/* The one number of a constant input of version 1, which is a float. */
static enum emu_status constant_number(const struct op_graph *g, uint32_t value, int64_t *out,
                                       int *found)
{
    const struct op_value *v = &g->value[value];
    struct op_tensor t;

    *found = op_shape_count(&v->shape) == 1 && op_type_kind(v->shape.type) != OP_KIND_NONE;
    if (!*found)
        return EMU_OK;
    TRY(op_value_read(g, value, &t));
    *out = op_type_kind(v->shape.type) == OP_KIND_FLOAT ? op_whole(t.f[0]) : t.i[0];
    op_tensor_free(&t);
    return EMU_OK;
}

/* Tile of version 1 repeats along one axis. */
enum emu_status upgrade_tile_1(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_shape *x = &g->value[r->in[0]].shape;
    struct op_shape list = { .type = OP_TYPE_I64, .rank = 1, .dim = { x->rank } };
    int64_t tiles = 0, axis = 0, repeats[OP_RANK_MAX];
    struct op_request now = *r;
    uint32_t in[2] = { r->in[0] };
    int has_tiles, has_axis;

    TRY(constant_number(g, r->in[1], &tiles, &has_tiles));
    TRY(constant_number(g, r->in[2], &axis, &has_axis));
    if (!has_tiles || !has_axis)
        return op_node_refuse(g, r, out, "tiles and axis are not one number each");
    if (axis < 0 || axis >= (int64_t)x->rank)
        return op_node_refuse(g, r, out, "axis %lld of %u dimensions", (long long)axis, x->rank);
    for (unsigned d = 0; d < x->rank; d++)
        repeats[d] = d == axis ? tiles : 1;
    TRY(op_constant_new(g, &list, repeats, &in[1]));
    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    return op_node(g, &now, out);
}
