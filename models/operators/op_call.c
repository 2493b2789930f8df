/* op_call.c - what families ask of the node that they infer or compute. */
#include <stdarg.h>
#include <string.h>

#include "models/operators/operators.h"

/* The attribute of a kind. */
static const struct op_attr *attr_find(const struct op_call *c, const char *name,
                                       enum op_attr_kind kind)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(c->row, k, &spec); k++) {
        if (!strcmp(spec.name, name)) {
            EMU_ASSERT(kind == OP_ATTR_NONE || kind == spec.kind);
            return &c->attr[k];
        }
    }
    emu_abort(__FILE__, __LINE__, name);
}

int op_knows(const struct op_call *c, const char *name)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(c->row, k, &spec); k++) {
        if (!strcmp(spec.name, name))
            return 1;
    }
    return 0;
}

int op_has(const struct op_call *c, const char *name)
{
    return attr_find(c, name, OP_ATTR_NONE)->kind != OP_ATTR_NONE;
}

int64_t op_int(const struct op_call *c, const char *name)
{
    return attr_find(c, name, OP_ATTR_INT)->i;
}

double op_float(const struct op_call *c, const char *name)
{
    return attr_find(c, name, OP_ATTR_FLOAT)->f;
}

const char *op_string(const struct op_call *c, const char *name)
{
    const struct op_attr *a = attr_find(c, name, OP_ATTR_STRING);

    return a->kind == OP_ATTR_NONE ? "" : a->s;
}

int op_is(const struct op_call *c, const char *name, const char *text)
{
    return !strcmp(op_string(c, name), text);
}

uint32_t op_ints(const struct op_call *c, const char *name, const int64_t **list)
{
    const struct op_attr *a = attr_find(c, name, OP_ATTR_INTS);

    *list = a->kind == OP_ATTR_NONE ? NULL : a->ints;
    return a->kind == OP_ATTR_NONE ? 0 : a->count;
}

uint32_t op_floats(const struct op_call *c, const char *name, const double **list)
{
    const struct op_attr *a = attr_find(c, name, OP_ATTR_FLOATS);

    *list = a->kind == OP_ATTR_NONE ? NULL : a->floats;
    return a->kind == OP_ATTR_NONE ? 0 : a->count;
}

uint32_t op_texts(const struct op_call *c, const char *name, const char *const **list)
{
    const struct op_attr *a = attr_find(c, name, OP_ATTR_STRINGS);

    *list = a->kind == OP_ATTR_NONE ? NULL : a->texts;
    return a->kind == OP_ATTR_NONE ? 0 : a->count;
}

uint32_t op_tensor_value(const struct op_call *c, const char *name)
{
    const struct op_attr *a = attr_find(c, name, OP_ATTR_TENSOR);

    return a->kind == OP_ATTR_NONE ? OP_NONE : a->value;
}

enum emu_status op_refuse(struct op_call *c, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(c->why, sizeof(c->why), fmt, args);
    va_end(args);
    return FAIL(BAD_FILE, "%s: %s", c->row->name, c->why);
}

enum emu_status op_axis(struct op_call *c, int64_t axis, unsigned rank, unsigned *out)
{
    *out = 0;
    if (axis < -(int64_t)rank || axis >= (int64_t)rank)
        return op_refuse(c, "axis %lld is not one of %u dimensions", (long long)axis, rank);
    *out = (unsigned)(axis < 0 ? axis + (int64_t)rank : axis);
    return EMU_OK;
}

enum emu_status op_axes(struct op_call *c, const char *name, unsigned rank, uint32_t *set)
{
    const int64_t *list;
    uint32_t n = op_ints(c, name, &list);

    *set = n ? 0 : (1u << rank) - 1;
    for (uint32_t k = 0; k < n; k++) {
        unsigned axis;

        TRY(op_axis(c, list[k], rank, &axis));
        if (*set >> axis & 1)
            return op_refuse(c, "axis %lld is named twice", (long long)list[k]);
        *set |= 1u << axis;
    }
    return EMU_OK;
}

enum emu_status op_dim(struct op_call *c, uint64_t size, uint32_t *dim)
{
    *dim = (uint32_t)size;
    return size <= UINT32_MAX
               ? EMU_OK
               : op_refuse(c, "a dimension of %llu is too large", (unsigned long long)size);
}

enum emu_status op_dims(struct op_call *c, const char *name, struct op_shape *out)
{
    const int64_t *list;
    uint32_t n = op_ints(c, name, &list);

    *out = (struct op_shape){ .rank = n };
    if (n > OP_RANK_MAX)
        return op_refuse(c, "%u dimensions: at most %d", n, OP_RANK_MAX);
    for (unsigned d = 0; d < n; d++) {
        if (list[d] < 0)
            return op_refuse(c, "a dimension of %lld", (long long)list[d]);
        TRY(op_dim(c, (uint64_t)list[d], &out->dim[d]));
    }
    return EMU_OK;
}

enum emu_status op_broadcast(struct op_call *c, const struct op_shape *a, const struct op_shape *b,
                             struct op_shape *out)
{
    struct op_shape s = { .type = a->type, .rank = a->rank > b->rank ? a->rank : b->rank };

    for (unsigned k = 0; k < s.rank; k++) { /* from the last dimension on */
        uint32_t x = k < a->rank ? a->dim[a->rank - 1 - k] : 1;
        uint32_t y = k < b->rank ? b->dim[b->rank - 1 - k] : 1;

        if (x != y && x != 1 && y != 1)
            return op_refuse(c, "dimensions of %u and %u do not go together", x, y);
        s.dim[s.rank - 1 - k] = x == 1 ? y : x;
    }
    *out = s;
    return EMU_OK;
}

void op_broadcast_strides(const struct op_shape *from, const struct op_shape *to,
                          uint64_t stride[OP_RANK_MAX])
{
    uint64_t step = 1;

    memset(stride, 0, OP_RANK_MAX * sizeof(*stride));
    for (unsigned k = 0; k < from->rank; k++) {
        uint32_t n = from->dim[from->rank - 1 - k];

        stride[to->rank - 1 - k] = n == 1 ? 0 : step;
        step *= n;
    }
}

int op_index_next(const struct op_shape *s, uint32_t index[OP_RANK_MAX])
{
    for (unsigned k = s->rank; k-- > 0;) {
        if (++index[k] < s->dim[k])
            return 1;
        index[k] = 0;
    }
    return 0;
}

int64_t op_whole(double v)
{
    if (v >= 0x1p64)
        return INT64_MAX;
    if (v >= 0x1p63)
        return (int64_t)(uint64_t)v; /* of an unsigned type */
    if (v <= -0x1p63)
        return INT64_MIN;
    return v == v ? (int64_t)v : 0;
}

struct op_attr op_request_attr(const struct op_request *r, const char *name)
{
    const struct op_row *row = op_row_find(r->op, r->version);
    struct op_attr_spec spec;

    for (uint32_t k = 0; k < r->attrs; k++) {
        if (!strcmp(r->attr[k].name, name))
            return r->attr[k].attr;
    }
    for (unsigned k = 0; op_row_attr(row, k, &spec); k++) {
        if (!strcmp(spec.name, name)) {
            EMU_ASSERT(spec.preset.kind != OP_ATTR_STRING);
            return spec.preset;
        }
    }
    emu_abort(__FILE__, __LINE__, name);
}

enum emu_status op_constant_new(struct op_graph *g, const struct op_shape *s, const void *numbers,
                                uint32_t *out)
{
    struct op_tensor t;
    enum emu_status status;

    TRY(op_tensor_new(s, &t));
    memcpy(t.any, numbers, op_shape_count(s) * 8);
    status = op_value_constant(g, NULL, &t, out);
    op_tensor_free(&t);
    return status;
}

enum emu_status op_reshape(struct op_graph *g, const struct op_request *r, uint32_t in,
                           const struct op_shape *to, uint32_t *out)
{
    int64_t dim[OP_RANK_MAX];
    const struct op_named_attr shape = { "shape",
                                         { .kind = OP_ATTR_INTS, .count = to->rank, .ints = dim } };
    const struct op_request reshape = { .op = op_name(OP_Reshape),
                                        .version = 1, /* whose shape is an attribute */
                                        .block = r->block,
                                        .in = &in,
                                        .ins = 1,
                                        .out_name = r->out_name,
                                        .outs = 1,
                                        .attr = &shape,
                                        .attrs = 1 };

    for (unsigned k = 0; k < to->rank; k++)
        dim[k] = to->dim[k];
    return op_node(g, &reshape, out);
}
