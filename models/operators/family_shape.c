/* family_shape.c - operators that ask for the shape of their input only: Shape, Size, EyeLike. */
#include "models/operators/op_families.h"

/* Shape's dimensions [*begin, *end): as given, negative ones counted from the end, clamped. */
static void read_range(const struct op_call *c, int64_t *begin, int64_t *end)
{
    int64_t rank = c->in[0]->rank, *const bound[] = { begin, end };

    *begin = op_int(c, "start");
    *end = op_has(c, "end") ? op_int(c, "end") : rank;
    for (unsigned k = 0; k < 2; k++) {
        int64_t at = *bound[k] < 0 ? *bound[k] + rank : *bound[k];

        *bound[k] = at < 0 ? 0 : at > rank ? rank : at;
    }
    if (*end < *begin)
        *end = *begin;
}

static enum emu_status infer_eye(struct op_call *c)
{
    int64_t number = op_int(c, "dtype");

    c->out[0] = *c->in[0];
    if (op_has(c, "dtype"))
        c->out[0].type = number < 0 ? OP_TYPE_UNKNOWN : op_type_number((uint64_t)number);
    if (op_type_kind(c->out[0].type) == OP_KIND_NONE)
        return op_refuse(c, "dtype %lld is no type of numbers", (long long)number);
    return c->in[0]->rank == 2
               ? EMU_OK
               : op_refuse(c, "an input of %u dimensions, expected 2", c->in[0]->rank);
}

static enum emu_status shape_infer(struct op_call *c)
{
    int64_t begin, end;

    if (op_named(c, OP_EyeLike))
        return infer_eye(c);
    c->out[0] = (struct op_shape){ .type = OP_TYPE_I64 };
    if (op_named(c, OP_Size))
        return EMU_OK;
    read_range(c, &begin, &end);
    c->out[0].rank = 1;
    c->out[0].dim[0] = (uint32_t)(end - begin);
    return EMU_OK;
}

/* Ones on diagonal k, counted from the main one to the right. */
static void fill_eye(int64_t k, struct op_tensor *out)
{
    int64_t rows = out->shape.dim[0], columns = out->shape.dim[1];

    if (k <= -rows || k >= columns)
        return;
    for (int64_t i = k < 0 ? -k : 0; i < rows && i + k < columns; i++) {
        if (op_type_kind(out->shape.type) == OP_KIND_FLOAT)
            out->f[i * columns + i + k] = 1;
        else
            out->i[i * columns + i + k] = 1;
    }
}

static enum emu_status shape_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    const struct op_shape *s = &in[0]->shape;
    int64_t begin, end;

    if (op_named(c, OP_EyeLike)) {
        fill_eye(op_int(c, "k"), &out[0]);
    } else if (op_named(c, OP_Size)) {
        out[0].i[0] = (int64_t)op_shape_count(s);
    } else {
        read_range(c, &begin, &end);
        for (int64_t k = begin; k < end; k++)
            out[0].i[k - begin] = s->dim[k];
    }
    return EMU_OK;
}

const struct op_family family_shape = { .infer = shape_infer,
                                        .ref = shape_ref,
                                        .gradient = gradient_zero_node };
