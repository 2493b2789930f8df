/* family_constant.c - operators that make numbers rather than compute them: Constant,
 * ConstantOfShape, Range, OneHot, and Trilu, which keeps a triangle and sets the rest to 0.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_move.h"

/* A number of either kind, as tensors keep it. */
union number {
    double f;
    int64_t i;
    uint64_t bits;
};

/* A constant attribute of `count` numbers, of any rank. */
static enum emu_status read_numbers(struct op_call *c, const char *name, uint32_t count,
                                    enum op_type *type, union number *out)
{
    uint32_t value = op_tensor_value(c, name);
    const struct op_shape *s = &c->g->value[value].shape;
    struct op_tensor t;

    *type = s->type;
    if (op_type_kind(s->type) == OP_KIND_NONE)
        return op_refuse(c, "%s is a %s", name, op_type_text(s->type));
    if (op_shape_count(s) != count)
        return op_refuse(c, "%s has %llu numbers, expected %u", name,
                         (unsigned long long)op_shape_count(s), count);
    TRY(op_value_read(c->g, value, &t));
    memcpy(out, t.any, count * sizeof(*out));
    op_tensor_free(&t);
    return EMU_OK;
}

static void fill(union number v, struct op_tensor *out)
{
    uint64_t n = op_shape_count(&out->shape);
    op_bits *to = out->any;

    for (uint64_t k = 0; k < n; k++)
        to[k] = v.bits;
}

/* --- Constant ----------------------------------------------------------------------------- */

static enum emu_status infer_constant(struct op_call *c)
{
    static const char *const name[] = { "value", "value_float", "value_int", "value_floats",
                                        "value_ints" };
    const int64_t *ints;
    const double *floats;
    unsigned given = 0;

    for (unsigned k = 0; k < EMU_COUNT_OF(name); k++)
        given += (unsigned)op_has(c, name[k]);
    if (given != 1)
        return op_refuse(c, "%u values are given, expected one", given);
    if (op_has(c, "value")) {
        c->out[0] = c->g->value[op_tensor_value(c, "value")].shape;
        return op_type_kind(c->out[0].type) != OP_KIND_NONE
                   ? EMU_OK
                   : op_refuse(c, "value is a %s", op_type_text(c->out[0].type));
    }
    c->out[0] = (struct op_shape){ .type = OP_TYPE_F32 };
    if (op_has(c, "value_int") || op_has(c, "value_ints"))
        c->out[0].type = OP_TYPE_I64;
    if (op_has(c, "value_floats") || op_has(c, "value_ints")) {
        c->out[0].rank = 1;
        c->out[0].dim[0] = op_floats(c, "value_floats", &floats) + op_ints(c, "value_ints", &ints);
    }
    return EMU_OK;
}

static enum emu_status make_constant(struct op_call *c, struct op_tensor *out)
{
    size_t bytes = op_shape_count(&out->shape) * sizeof(union number);
    const int64_t *ints;
    const double *floats;

    if (op_has(c, "value")) {
        op_tensor_free(out);
        return op_value_read(c->g, op_tensor_value(c, "value"), out);
    }
    if (op_has(c, "value_float"))
        out->f[0] = op_float(c, "value_float");
    else if (op_has(c, "value_int"))
        out->i[0] = op_int(c, "value_int");
    else if (op_floats(c, "value_floats", &floats))
        memcpy(out->f, floats, bytes);
    else if (op_ints(c, "value_ints", &ints))
        memcpy(out->i, ints, bytes);
    return EMU_OK;
}

/* --- ConstantOfShape ---------------------------------------------------------------------- */

/* The number that fills: 0 of f32 unless said. */
static enum emu_status read_filling(struct op_call *c, enum op_type *type, union number *v)
{
    *type = OP_TYPE_F32;
    v->f = 0;
    return op_has(c, "value") ? read_numbers(c, "value", 1, type, v) : EMU_OK;
}

static enum emu_status infer_filled(struct op_call *c)
{
    union number v;

    TRY(op_dims(c, "shape", &c->out[0]));
    return read_filling(c, &c->out[0].type, &v);
}

static enum emu_status make_filled(struct op_call *c, struct op_tensor *out)
{
    enum op_type type;
    union number v;

    TRY(read_filling(c, &type, &v));
    fill(v, out);
    return EMU_OK;
}

/* --- Range -------------------------------------------------------------------------------- */

struct number_range {
    enum op_type type;
    union number start, limit, delta;
};

static enum emu_status read_range(struct op_call *c, struct number_range *r)
{
    enum op_type limit, delta;

    TRY(read_numbers(c, "start", 1, &r->type, &r->start));
    TRY(read_numbers(c, "limit", 1, &limit, &r->limit));
    TRY(read_numbers(c, "delta", 1, &delta, &r->delta));
    if (limit != r->type || delta != r->type || r->type == OP_TYPE_BOOL)
        return op_refuse(c, "start, limit and delta are %s, %s and %s", op_type_text(r->type),
                         op_type_text(limit), op_type_text(delta));
    return EMU_OK;
}

/* How many steps of delta from start on stay before limit; for more than 2^32 any larger number. */
static enum emu_status count_steps(struct op_call *c, const struct number_range *r, uint64_t *out)
{
    if (op_type_kind(r->type) == OP_KIND_FLOAT) {
        double n = ceil((r->limit.f - r->start.f) / r->delta.f);

        if (r->delta.f == 0 || isnan(n))
            return op_refuse(c, "from %g to %g by %g", r->start.f, r->limit.f, r->delta.f);
        *out = n < 1 ? 0 : n > (double)OP_ELEMENTS_MAX ? OP_ELEMENTS_MAX + 1 : (uint64_t)n;
    } else {
        int64_t by = r->delta.i;
        __int128 way = (__int128)r->limit.i - r->start.i, n;

        if (!by)
            return op_refuse(c, "from %lld to %lld by 0", (long long)r->start.i,
                             (long long)r->limit.i);
        n = (way + by - (by > 0 ? 1 : -1)) / by;
        *out = n < 1 ? 0 : n > (__int128)OP_ELEMENTS_MAX ? OP_ELEMENTS_MAX + 1 : (uint64_t)n;
    }
    return EMU_OK;
}

static enum emu_status infer_range(struct op_call *c)
{
    struct number_range r;
    uint64_t n = 0;

    TRY(read_range(c, &r));
    TRY(count_steps(c, &r, &n));
    if (n > UINT32_MAX)
        return op_refuse(c, "more than 2^32 numbers");
    c->out[0] = (struct op_shape){ .type = r.type, .rank = 1, .dim = { (uint32_t)n } };
    return EMU_OK;
}

static enum emu_status make_range(struct op_call *c, struct op_tensor *out)
{
    uint64_t n = op_shape_count(&out->shape);
    struct number_range r;

    TRY(read_range(c, &r));
    for (uint64_t k = 0; k < n; k++) {
        if (op_type_kind(r.type) == OP_KIND_FLOAT)
            out->f[k] = r.start.f + (double)k * r.delta.f;
        else
            out->i[k] = (int64_t)(r.start.bits + k * r.delta.bits);
    }
    return EMU_OK;
}

/* --- OneHot ------------------------------------------------------------------------------- */

/* The size of the new dimension, which may be given as a float. */
static enum emu_status read_depth(struct op_call *c, int64_t *depth)
{
    enum op_type type;
    union number v;

    TRY(read_numbers(c, "depth", 1, &type, &v));
    *depth = op_type_kind(type) == OP_KIND_FLOAT ? op_whole(v.f) : v.i;
    return EMU_OK;
}

static enum emu_status infer_one_hot(struct op_call *c)
{
    const struct op_shape *x = c->in[0];
    union number values[2];
    int64_t depth = 0;
    unsigned axis;

    if (x->rank >= OP_RANK_MAX)
        return op_refuse(c, "indices of %u dimensions", x->rank);
    TRY(op_axis(c, op_int(c, "axis"), x->rank + 1, &axis));
    TRY(read_depth(c, &depth));
    if (depth < 0 || depth > UINT32_MAX)
        return op_refuse(c, "depth %lld", (long long)depth);
    c->out[0] = (struct op_shape){ .rank = x->rank + 1 };
    TRY(read_numbers(c, "values", 2, &c->out[0].type, values));
    for (unsigned d = 0; d < c->out[0].rank; d++)
        c->out[0].dim[d] = d == axis ? (uint32_t)depth : x->dim[d - (d > axis)];
    return EMU_OK;
}

static enum emu_status make_one_hot(struct op_call *c, const struct op_tensor *x,
                                    struct op_tensor *out)
{
    union number values[2]; /* off, on */
    int64_t depth = 0;
    op_bits *to = out->any;
    enum op_type type;
    uint64_t inner;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), out->shape.rank, &axis));
    TRY(read_depth(c, &depth));
    TRY(read_numbers(c, "values", 2, &type, values));
    inner = op_shape_span(&out->shape, axis + 1, out->shape.rank);
    fill(values[0], out);
    for (uint64_t k = 0; k < op_shape_count(&x->shape); k++) {
        int64_t i = op_type_kind(x->shape.type) == OP_KIND_FLOAT ? op_whole(x->f[k]) : x->i[k];

        i += i < 0 ? depth : 0;
        if (i >= 0 && i < depth)
            to[(k / inner * (uint64_t)depth + (uint64_t)i) * inner + k % inner] = values[1].bits;
    }
    return EMU_OK;
}

/* --- Trilu -------------------------------------------------------------------------------- */

static enum emu_status infer_triangle(struct op_call *c)
{
    c->out[0] = *c->in[0];
    return c->in[0]->rank >= 2
               ? EMU_OK
               : op_refuse(c, "an input of %u dimensions is no matrix", c->in[0]->rank);
}

/* Keeps elements on diagonal k (counted from the main one to the right) and on one side of it. */
static void keep_triangle(const struct op_call *c, const struct op_tensor *x, struct op_tensor *out)
{
    const struct op_shape *s = &x->shape;
    int64_t rows = s->dim[s->rank - 2], columns = s->dim[s->rank - 1];
    int64_t k = op_int(c, "k"), n = (int64_t)op_shape_count(s);
    int upper = op_int(c, "upper") != 0;
    const op_bits *from = x->any;
    op_bits *to = out->any;

    for (int64_t at = 0; at < n; at++) {
        int64_t diagonal = at % columns - at / columns % rows;

        if (upper ? diagonal >= k : diagonal <= k)
            to[at] = from[at];
    }
}

/* --- the family --------------------------------------------------------------------------- */

static enum emu_status constant_infer(struct op_call *c)
{
    return op_named(c, OP_Constant)          ? infer_constant(c)
           : op_named(c, OP_ConstantOfShape) ? infer_filled(c)
           : op_named(c, OP_Range)           ? infer_range(c)
           : op_named(c, OP_OneHot)          ? infer_one_hot(c)
                                             : infer_triangle(c);
}

static enum emu_status constant_ref(struct op_call *c, const struct op_tensor *const *in,
                                    struct op_tensor *out)
{
    if (op_named(c, OP_Constant))
        return make_constant(c, &out[0]);
    if (op_named(c, OP_ConstantOfShape))
        return make_filled(c, &out[0]);
    if (op_named(c, OP_Range))
        return make_range(c, &out[0]);
    if (op_named(c, OP_OneHot))
        return make_one_hot(c, in[0], &out[0]);
    keep_triangle(c, in[0], &out[0]);
    return EMU_OK;
}

const struct op_family family_constant = { .infer = constant_infer,
                                           .ref = constant_ref,
                                           .gradient = gradient_constant_node };
