/* family_gather.c - elements by their indices: Gather and its gradient, GatherElements, GatherND;
 * ScatterElements, ScatterND; TopK and NonZero, which make indices.
 *
 * Negative indices count from the end. An index outside the dimension, which is an error in ONNX,
 * is clamped to it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_move.h"

/* An index of a dimension of n elements; n is at least 1. */
static uint64_t index_of(int64_t i, uint32_t n)
{
    i += i < 0 ? n : 0;
    return i < 0 ? 0 : i < n ? (uint64_t)i : n - 1u;
}

/* Whether indices would have to name elements of an empty dimension. */
static enum emu_status check_empty(struct op_call *c, const struct op_shape *indices, uint32_t n)
{
    return n || !op_shape_count(indices) ? EMU_OK
                                         : op_refuse(c, "indices of a dimension of 0 elements");
}

/* --- Gather ------------------------------------------------------------------------------- */

static enum emu_status infer_gather(struct op_call *c)
{
    const struct op_shape *x = c->in[0], *indices = c->in[1];
    struct op_shape *out = &c->out[0];
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    TRY(check_empty(c, indices, x->dim[axis]));
    if (x->rank - 1 + indices->rank > OP_RANK_MAX)
        return op_refuse(c, "a result of %u dimensions", x->rank - 1 + indices->rank);
    *out = (struct op_shape){ .type = x->type };
    for (unsigned d = 0; d < axis; d++)
        out->dim[out->rank++] = x->dim[d];
    for (unsigned d = 0; d < indices->rank; d++)
        out->dim[out->rank++] = indices->dim[d];
    for (unsigned d = axis + 1; d < x->rank; d++)
        out->dim[out->rank++] = x->dim[d];
    return EMU_OK;
}

static enum emu_status gather(struct op_call *c, const struct op_tensor *x,
                              const struct op_tensor *indices, struct op_tensor *out)
{
    uint64_t outer, inner, n = op_shape_count(&indices->shape);
    const op_bits *from = x->any;
    op_bits *to = out->any;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->shape.rank, &axis));
    outer = op_shape_count(&out->shape) ? op_shape_span(&x->shape, 0, axis) : 0;
    inner = op_shape_span(&x->shape, axis + 1, x->shape.rank);
    for (uint64_t o = 0; o < outer; o++) {
        for (uint64_t k = 0; k < n; k++, to += inner) {
            uint64_t i = index_of(indices->i[k], x->shape.dim[axis]);

            memcpy(to, from + (o * x->shape.dim[axis] + i) * inner, inner * sizeof(*to));
        }
    }
    return EMU_OK;
}

/* --- GatherGradient: adds up dy where Gather read it ---------------------------------------- */

/* Which dimensions of dy are those of the indices. */
static enum emu_status infer_gather_gradient(struct op_call *c)
{
    const struct op_shape *indices = c->in[0], *dy = c->in[1];
    int64_t axis = op_int(c, "axis"), size = op_int(c, "size");

    if (axis < 0 || axis + indices->rank > dy->rank)
        return op_refuse(c, "axis %lld of a gradient of %u dimensions", (long long)axis, dy->rank);
    for (unsigned d = 0; d < indices->rank; d++) {
        if (dy->dim[axis + d] != indices->dim[d])
            return op_refuse(c, "dimension %lld is %u, of %u indices", (long long)axis + d,
                             dy->dim[axis + d], indices->dim[d]);
    }
    c->out[0] = (struct op_shape){ .type = dy->type, .rank = dy->rank - indices->rank + 1 };
    if (c->out[0].rank > OP_RANK_MAX || size < 0)
        return op_refuse(c, "a result of %u dimensions, %lld long", c->out[0].rank,
                         (long long)size);
    memcpy(c->out[0].dim, dy->dim, (size_t)axis * sizeof(*dy->dim));
    memcpy(c->out[0].dim + axis + 1, dy->dim + axis + indices->rank,
           (dy->rank - (size_t)axis - indices->rank) * sizeof(*dy->dim));
    TRY(op_dim(c, (uint64_t)size, &c->out[0].dim[axis]));
    return check_empty(c, indices, c->out[0].dim[axis]);
}

static void gather_gradient(const struct op_call *c, const struct op_tensor *indices,
                            const struct op_tensor *dy, struct op_tensor *out)
{
    unsigned axis = (unsigned)op_int(c, "axis");
    uint32_t size = out->shape.dim[axis];
    uint64_t n = op_shape_count(&indices->shape), outer = op_shape_span(&out->shape, 0, axis);
    uint64_t inner = op_shape_span(&out->shape, axis + 1, out->shape.rank);
    const double *from = dy->f;

    for (uint64_t o = 0; o < outer; o++) {
        for (uint64_t k = 0; k < n; k++, from += inner) {
            double *to = out->f + (o * size + index_of(indices->i[k], size)) * inner;

            for (uint64_t j = 0; j < inner; j++)
                to[j] += from[j];
        }
    }
}

/* --- elements: indices replace one coordinate --------------------------------------------- */

/* Indices of GatherElements and ScatterElements: of the data's rank, and larger than the data along
 * the axis at most. */
static enum emu_status check_elements(struct op_call *c, unsigned *axis)
{
    const struct op_shape *x = c->in[0], *indices = c->in[1];

    TRY(op_axis(c, op_int(c, "axis"), x->rank, axis));
    TRY(check_empty(c, indices, x->dim[*axis]));
    if (indices->rank != x->rank)
        return op_refuse(c, "indices of %u dimensions, data of %u", indices->rank, x->rank);
    for (unsigned d = 0; d < x->rank; d++) {
        if (d != *axis && indices->dim[d] > x->dim[d])
            return op_refuse(c, "dimension %u: %u indices, %u elements", d, indices->dim[d],
                             x->dim[d]);
    }
    return EMU_OK;
}

/* The element of x that the index at `at` names. */
static uint64_t element_of(const struct op_shape *x, unsigned axis, const uint32_t *at, int64_t i)
{
    uint64_t element = 0;

    for (unsigned d = 0; d < x->rank; d++)
        element = element * x->dim[d] + (d == axis ? index_of(i, x->dim[d]) : at[d]);
    return element;
}

static enum emu_status infer_gather_elements(struct op_call *c)
{
    unsigned axis;

    TRY(check_elements(c, &axis));
    c->out[0] = *c->in[1];
    c->out[0].type = c->in[0]->type;
    return EMU_OK;
}

static enum emu_status gather_elements(struct op_call *c, const struct op_tensor *x,
                                       const struct op_tensor *indices, struct op_tensor *out)
{
    uint64_t n = op_shape_count(&indices->shape);
    uint32_t at[OP_RANK_MAX] = { 0 };
    const op_bits *from = x->any;
    op_bits *to = out->any;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->shape.rank, &axis));
    for (uint64_t k = 0; k < n; k++) {
        to[k] = from[element_of(&x->shape, axis, at, indices->i[k])];
        op_index_next(&indices->shape, at);
    }
    return EMU_OK;
}

/* --- ND: each row of indices names a slice ------------------------------------------------ */

/* How indices of shape [..][n] name slices of data, the first `batch` dimensions of both equal. */
struct slices {
    unsigned batch, n;
    uint64_t count;      /* of slices */
    uint64_t per_batch;  /* of them */
    uint64_t inner;      /* elements of a slice */
    uint64_t batch_span; /* elements of the data for one index of the batch */
};

static enum emu_status read_slices(struct op_call *c, int64_t batch, struct slices *s)
{
    const struct op_shape *x = c->in[0], *indices = c->in[1];

    if (!x->rank || !indices->rank || batch < 0 || batch >= x->rank || batch >= indices->rank)
        return op_refuse(c, "data of %u dimensions, indices of %u, batch_dims %lld", x->rank,
                         indices->rank, (long long)batch);
    *s = (struct slices){ .batch = (unsigned)batch, .n = indices->dim[indices->rank - 1] };
    if (s->n < 1 || s->n > x->rank - s->batch)
        return op_refuse(c, "%u indices for %u dimensions", s->n, x->rank - s->batch);
    for (unsigned d = 0; d < s->batch; d++) {
        if (x->dim[d] != indices->dim[d])
            return op_refuse(c, "dimension %u is %u and %u", d, x->dim[d], indices->dim[d]);
    }
    for (unsigned d = 0; d < s->n; d++)
        TRY(check_empty(c, indices, x->dim[s->batch + d]));
    s->per_batch = op_shape_span(indices, s->batch, indices->rank - 1);
    s->count = op_shape_count(indices) / s->n;
    s->inner = op_shape_span(x, s->batch + s->n, x->rank);
    s->batch_span = op_shape_span(x, s->batch, x->rank);
    return EMU_OK;
}

/* The first element of slice k. */
static uint64_t slice_at(const struct slices *s, const struct op_shape *x, const int64_t *indices,
                         uint64_t k)
{
    uint64_t at = 0;

    for (unsigned d = 0; d < s->n; d++) {
        uint32_t size = x->dim[s->batch + d];

        at = at * size + index_of(indices[k * s->n + d], size);
    }
    return k / s->per_batch * s->batch_span + at * s->inner;
}

/* The shape of all slices: that of the indices without the last dimension, then that of a slice. */
static enum emu_status slices_shape(struct op_call *c, const struct slices *s, struct op_shape *out)
{
    const struct op_shape *x = c->in[0], *indices = c->in[1];

    *out = (struct op_shape){ .type = x->type, .rank = indices->rank - 1 };
    memcpy(out->dim, indices->dim, out->rank * sizeof(*out->dim));
    if (out->rank + x->rank - s->batch - s->n > OP_RANK_MAX)
        return op_refuse(c, "%u dimensions of slices of %u", out->rank, x->rank - s->batch - s->n);
    for (unsigned d = s->batch + s->n; d < x->rank; d++)
        out->dim[out->rank++] = x->dim[d];
    return EMU_OK;
}

static enum emu_status infer_gather_nd(struct op_call *c)
{
    struct slices s;

    TRY(read_slices(c, op_int(c, "batch_dims"), &s));
    return slices_shape(c, &s, &c->out[0]);
}

static enum emu_status gather_nd(struct op_call *c, const struct op_tensor *x,
                                 const struct op_tensor *indices, struct op_tensor *out)
{
    const op_bits *from = x->any;
    op_bits *to = out->any;
    struct slices s;

    TRY(read_slices(c, op_int(c, "batch_dims"), &s));
    if (!op_shape_count(&out->shape))
        return EMU_OK;
    for (uint64_t k = 0; k < s.count; k++)
        memcpy(to + k * s.inner, from + slice_at(&s, &x->shape, indices->i, k),
               s.inner * sizeof(*to));
    return EMU_OK;
}

/* --- scatter ------------------------------------------------------------------------------ */

enum scatter_reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN };

static enum emu_status read_reduction(struct op_call *c, enum scatter_reduction *out)
{
    static const char *const word[] = { "none", "add", "mul", "max", "min" };
    unsigned k = 0;

    while (k < EMU_COUNT_OF(word) && !op_is(c, "reduction", word[k]))
        k++;
    *out = (enum scatter_reduction)k;
    if (k == EMU_COUNT_OF(word))
        return op_refuse(c, "reduction %.60s is none of none, add, mul, max, min",
                         op_string(c, "reduction"));
    return *out && op_type_kind(c->in[0]->type) == OP_KIND_BOOL
               ? op_refuse(c, "a reduction of bools")
               : EMU_OK;
}

static double reduce_floats(enum scatter_reduction how, double x, double update)
{
    switch (how) {
    case REDUCE_NONE:
        return update;
    case REDUCE_ADD:
        return x + update;
    case REDUCE_MUL:
        return x * update;
    case REDUCE_MAX:
        return x > update || isnan(x) ? x : update;
    default:
        return x < update || isnan(x) ? x : update;
    }
}

static int64_t reduce_integers(enum scatter_reduction how, int64_t x, int64_t update, int u64)
{
    int less = u64 ? (uint64_t)x < (uint64_t)update : x < update;

    switch (how) {
    case REDUCE_NONE:
        return update;
    case REDUCE_ADD:
        return (int64_t)((uint64_t)x + (uint64_t)update);
    case REDUCE_MUL:
        return (int64_t)((uint64_t)x * (uint64_t)update);
    case REDUCE_MAX:
        return less ? update : x;
    default:
        return less ? x : update;
    }
}

/* Element k of the update into element `at` of the data. */
static void reduce(enum scatter_reduction how, struct op_tensor *out, uint64_t at,
                   const struct op_tensor *update, uint64_t k)
{
    if (op_type_kind(out->shape.type) == OP_KIND_FLOAT)
        out->f[at] = reduce_floats(how, out->f[at], update->f[k]);
    else
        out->i[at] = reduce_integers(how, out->i[at], update->i[k], out->shape.type == OP_TYPE_U64);
}

static enum emu_status infer_scatter_elements(struct op_call *c)
{
    enum scatter_reduction how;
    unsigned axis;

    TRY(check_elements(c, &axis));
    TRY(read_reduction(c, &how));
    c->out[0] = *c->in[0];
    return op_shape_equal(c->in[1], c->in[2])
               ? EMU_OK
               : op_refuse(c, "indices and updates have different dimensions");
}

static enum emu_status infer_scatter_nd(struct op_call *c)
{
    struct op_shape updates;
    enum scatter_reduction how;
    struct slices s;

    TRY(read_slices(c, 0, &s));
    TRY(slices_shape(c, &s, &updates));
    TRY(read_reduction(c, &how));
    c->out[0] = *c->in[0];
    return op_shape_equal(&updates, c->in[2])
               ? EMU_OK
               : op_refuse(c, "the updates' dimensions are not those of the slices");
}

static enum emu_status scatter(struct op_call *c, const struct op_tensor *const *in,
                               struct op_tensor *out)
{
    const struct op_shape *x = &out->shape, *indices = &in[1]->shape;
    uint64_t n = op_shape_count(&in[2]->shape);
    uint32_t at[OP_RANK_MAX] = { 0 };
    struct slices s = { .inner = 1 };
    enum scatter_reduction how;
    unsigned axis = 0;
    int nd = op_named(c, OP_ScatterND);

    TRY(read_reduction(c, &how));
    if (nd)
        TRY(read_slices(c, 0, &s));
    else
        TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    memcpy(out->any, in[0]->any, op_shape_count(x) * sizeof(op_bits));
    for (uint64_t k = 0; k < n; k++) {
        if (nd) {
            reduce(how, out, slice_at(&s, x, in[1]->i, k / s.inner) + k % s.inner, in[2], k);
        } else {
            reduce(how, out, element_of(x, axis, at, in[1]->i[k]), in[2], k);
            op_index_next(indices, at);
        }
    }
    if (how != REDUCE_NONE && op_type_kind(x->type) == OP_KIND_INT)
        op_tensor_round(out);
    return EMU_OK;
}

/* --- TopK --------------------------------------------------------------------------------- */

static enum emu_status infer_top_k(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    int64_t k = op_int(c, "k");
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->rank, &axis));
    if (k < 0 || k > (int64_t)x->dim[axis])
        return op_refuse(c, "k %lld of %u elements", (long long)k, x->dim[axis]);
    for (uint32_t o = 0; o < c->outs; o++) {
        c->out[o] = *x;
        c->out[o].dim[axis] = (uint32_t)k;
    }
    if (c->outs > 1)
        c->out[1].type = OP_TYPE_I64;
    return EMU_OK;
}

/* An element on its way through sorting. Ranks order as numbers do, NaN last. */
struct ranked_value {
    uint64_t rank;
    uint32_t index;
};

/* Numbers as ranks: what is larger has the larger one. */
static uint64_t rank_of(const struct op_tensor *x, uint64_t k)
{
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits;

    if (op_type_kind(x->shape.type) != OP_KIND_FLOAT)
        return x->shape.type == OP_TYPE_U64 ? (uint64_t)x->i[k] : (uint64_t)x->i[k] ^ sign;
    if (isnan(x->f[k]))
        return UINT64_MAX;
    if (x->f[k] == 0)
        return sign;
    memcpy(&bits, &x->f[k], sizeof(bits));
    return bits & sign ? ~bits : bits | sign;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked_value *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum emu_status top_k(struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    const op_bits *from = x->any;
    op_bits *value = out[0].any;
    uint64_t inner, rows, flip = op_int(c, "largest") ? UINT64_MAX : 0;
    struct ranked_value *row;
    uint32_t size, k = (uint32_t)op_int(c, "k");
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), x->shape.rank, &axis));
    size = x->shape.dim[axis];
    inner = op_shape_span(&x->shape, axis + 1, x->shape.rank);
    rows = op_shape_count(&out[0].shape) ? op_shape_span(&x->shape, 0, axis) * inner : 0;
    row = emu_alloc((size_t)size + 1, sizeof(*row));
    if (!row)
        return FAIL(NO_MEMORY, "sorting %u numbers", size);
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t in = r / inner * size * inner + r % inner, to = r / inner * k * inner + r % inner;

        for (uint32_t i = 0; i < size; i++)
            row[i] = (struct ranked_value){ rank_of(x, in + i * inner) ^ flip, i };
        qsort(row, size, sizeof(*row), by_rank);
        for (uint32_t i = 0; i < k; i++) {
            value[to + i * inner] = from[in + row[i].index * inner];
            if (c->outs > 1 && out[1].any)
                out[1].i[to + i * inner] = row[i].index;
        }
    }
    ss_free(row);
    return EMU_OK;
}

/* --- NonZero ------------------------------------------------------------------------------ */

/* The numbers of NonZero's input, which is constant. */
static enum emu_status read_constant(struct op_call *c, struct op_tensor *out)
{
    uint32_t value = op_tensor_value(c, "x");
    enum op_type type = c->g->value[value].shape.type;

    if (op_type_kind(type) == OP_KIND_NONE)
        return op_refuse(c, "the input is a %s", op_type_text(type));
    return op_value_read(c->g, value, out);
}

static enum emu_status infer_non_zero(struct op_call *c)
{
    struct op_tensor t;
    uint64_t found = 0;

    TRY(read_constant(c, &t));
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        found += op_tensor_number(&t, k) != 0;
    op_tensor_free(&t);
    if (found > UINT32_MAX)
        return op_refuse(c, "more than 2^32 elements");
    c->out[0] = (struct op_shape){ .type = OP_TYPE_I64,
                                   .rank = 2,
                                   .dim = { t.shape.rank, (uint32_t)found } };
    return EMU_OK;
}

static enum emu_status non_zero(struct op_call *c, struct op_tensor *out)
{
    uint32_t at[OP_RANK_MAX] = { 0 }, found = 0;
    struct op_tensor t;

    TRY(read_constant(c, &t));
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++) {
        for (unsigned d = 0; op_tensor_number(&t, k) != 0 && d < t.shape.rank; d++)
            out->i[(uint64_t)d * out->shape.dim[1] + found] = at[d];
        found += op_tensor_number(&t, k) != 0;
        op_index_next(&t.shape, at);
    }
    op_tensor_free(&t);
    return EMU_OK;
}

/* --- the family --------------------------------------------------------------------------- */

static enum emu_status gather_infer(struct op_call *c)
{
    return op_named(c, OP_Gather)            ? infer_gather(c)
           : op_named(c, OP_GatherElements)  ? infer_gather_elements(c)
           : op_named(c, OP_GatherGradient)  ? infer_gather_gradient(c)
           : op_named(c, OP_GatherND)        ? infer_gather_nd(c)
           : op_named(c, OP_ScatterElements) ? infer_scatter_elements(c)
           : op_named(c, OP_ScatterND)       ? infer_scatter_nd(c)
           : op_named(c, OP_TopK)            ? infer_top_k(c)
                                             : infer_non_zero(c);
}

static enum emu_status gather_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    if (op_named(c, OP_Gather))
        return gather(c, in[0], in[1], &out[0]);
    if (op_named(c, OP_GatherElements))
        return gather_elements(c, in[0], in[1], &out[0]);
    if (op_named(c, OP_GatherND))
        return gather_nd(c, in[0], in[1], &out[0]);
    if (op_named(c, OP_TopK))
        return top_k(c, in[0], out);
    if (op_named(c, OP_GatherGradient)) {
        gather_gradient(c, in[0], in[1], &out[0]);
        return EMU_OK;
    }
    if (op_named(c, OP_NonZero))
        return non_zero(c, &out[0]);
    return scatter(c, in, &out[0]);
}

const struct op_family family_gather = { .infer = gather_infer,
                                         .ref = gather_ref,
                                         .gradient = gradient_gather_node };

/* --- older versions ----------------------------------------------------------------------- */

/* Scatter was called ScatterElements from version 11 on. */
enum emu_status upgrade_scatter(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    struct op_request now = *r;

    now.op = op_name(OP_ScatterElements);
    now.version = 0;
    return op_node(g, &now, out);
}
