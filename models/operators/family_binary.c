/* family_binary.c - functions of two numbers with numpy's broadcasting, element by element; Max,
 * Min, Sum and Mean of any number of tensors; Where.
 *
 * An operator is a row of `functions`: its function of two floats, and that of two integers. Where
 * takes two steps: the value for false is copied, and the value for true is written over it.
 */
#include <math.h>

#include "models/operators/op_families.h"

/* What a function of integers gets besides its operands. */
struct integer_extras {
    int u64;  /* they are the bits of unsigned ones */
    int flag; /* Mod: fmod; BitShift: to the left */
};
typedef double float_function(double x, double y);
typedef int64_t int_function(int64_t x, int64_t y, const struct integer_extras *w);

/* --- of floats ---------------------------------------------------------------------------- */

static double add(double x, double y)
{
    return x + y;
}

static double subtract(double x, double y)
{
    return x - y;
}

static double multiply(double x, double y)
{
    return x * y;
}

static double divide(double x, double y)
{
    return x / y;
}

static double prelu(double x, double slope)
{
    return x < 0 ? slope * x : x;
}

/* NaN if one is. */
static double larger(double x, double y)
{
    return x > y || isnan(x) ? x : y;
}

static double smaller(double x, double y)
{
    return x < y || isnan(x) ? x : y;
}

static double equal(double x, double y)
{
    return x == y;
}

static double greater(double x, double y)
{
    return x > y;
}

static double greater_or_equal(double x, double y)
{
    return x >= y;
}

static double less(double x, double y)
{
    return x < y;
}

static double less_or_equal(double x, double y)
{
    return x <= y;
}

/* --- of integers: they wrap; a division by 0 gives 0, as in numpy ------------------------- */

static int64_t int_add(int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return (int64_t)((uint64_t)x + (uint64_t)y);
}

static int64_t int_subtract(int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return (int64_t)((uint64_t)x - (uint64_t)y);
}

static int64_t int_multiply(int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return (int64_t)((uint64_t)x * (uint64_t)y);
}

/* Truncates. */
static int64_t int_divide(int64_t x, int64_t y, const struct integer_extras *w)
{
    if (y == 0)
        return 0;
    if (w->u64)
        return (int64_t)((uint64_t)x / (uint64_t)y);
    return y == -1 ? int_subtract(0, x, w) : x / y;
}

/* The sign is y's, with fmod x's. */
static int64_t int_modulo(int64_t x, int64_t y, const struct integer_extras *w)
{
    int64_t rest;

    if (y == 0)
        return 0;
    if (w->u64)
        return (int64_t)((uint64_t)x % (uint64_t)y);
    rest = y == -1 ? 0 : x % y;
    return !w->flag && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static int64_t int_power(int64_t x, int64_t y, const struct integer_extras *w)
{
    int64_t product = 1;

    if (y < 0 && !w->u64) /* 1 / x^-y, truncated */
        return x == 1 || x == -1 ? (y & 1 ? x : 1) : 0;
    for (uint64_t left = (uint64_t)y; left; left >>= 1) {
        if (left & 1)
            product = int_multiply(product, x, w);
        x = int_multiply(x, x, w);
    }
    return product;
}

static int64_t int_less(int64_t x, int64_t y, const struct integer_extras *w)
{
    return w->u64 ? (uint64_t)x < (uint64_t)y : x < y;
}

static int64_t int_less_or_equal(int64_t x, int64_t y, const struct integer_extras *w)
{
    return !int_less(y, x, w);
}

static int64_t int_greater(int64_t x, int64_t y, const struct integer_extras *w)
{
    return int_less(y, x, w);
}

static int64_t int_greater_or_equal(int64_t x, int64_t y, const struct integer_extras *w)
{
    return !int_less(x, y, w);
}

static int64_t int_equal(int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return x == y;
}

static int64_t int_larger(int64_t x, int64_t y, const struct integer_extras *w)
{
    return int_less(x, y, w) ? y : x;
}

static int64_t int_smaller(int64_t x, int64_t y, const struct integer_extras *w)
{
    return int_less(y, x, w) ? y : x;
}

static int64_t int_prelu(int64_t x, int64_t slope, const struct integer_extras *w)
{
    return x < 0 && !w->u64 ? int_multiply(slope, x, w) : x;
}

static int64_t shift(int64_t x, int64_t y, const struct integer_extras *w)
{
    uint64_t bits = (uint64_t)x, by = (uint64_t)y;

    return by > 63 ? 0 : (int64_t)(w->flag ? bits << by : bits >> by);
}

static int64_t and (int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return x & y;
}

static int64_t or (int64_t x, int64_t y, const struct integer_extras *w)
{
    (void)w;
    return x | y;
}

static int64_t xor
    (int64_t x, int64_t y, const struct integer_extras *w) {
        (void)w;
        return x ^ y;
    }

    /* --- the operators ------------------------------------------------------------------------ */

    static const struct function {
    enum op_code code;
    float_function *of_floats;
    int_function *of_ints;
    int compares; /* 1: the result is a bool */
} functions[] = {
    { OP_Add, add, int_add, 0 },
    { OP_And, NULL, and, 1 },
    { OP_BitShift, NULL, shift, 0 },
    { OP_Div, divide, int_divide, 0 },
    { OP_Equal, equal, int_equal, 1 },
    { OP_Greater, greater, int_greater, 1 },
    { OP_GreaterOrEqual, greater_or_equal, int_greater_or_equal, 1 },
    { OP_Less, less, int_less, 1 },
    { OP_LessOrEqual, less_or_equal, int_less_or_equal, 1 },
    { OP_Max, larger, int_larger, 0 },
    { OP_Mean, add, NULL, 0 },
    { OP_Min, smaller, int_smaller, 0 },
    { OP_Mod, fmod, int_modulo, 0 },
    { OP_Mul, multiply, int_multiply, 0 },
    { OP_Or, NULL, or, 1 },
    { OP_PRelu, prelu, int_prelu, 0 },
    { OP_Pow, pow, int_power, 0 },
    { OP_Sub, subtract, int_subtract, 0 },
    { OP_Sum, add, NULL, 0 },
    { OP_Xor, NULL, xor, 1 },
};

/* NULL: Where. */
static const struct function *function_of(const struct op_call *c)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(functions); k++) {
        if (op_named(c, functions[k].code))
            return &functions[k];
    }
    return NULL;
}

static enum emu_status check_operator(struct op_call *c)
{
    enum op_type type = c->in[0]->type;
    int is_float = op_type_kind(type) == OP_KIND_FLOAT;

    if (op_named(c, OP_PRelu) && !op_shape_equal(&c->out[0], c->in[0]))
        return op_refuse(c, "slope has more dimensions or elements than the data");
    if (op_named(c, OP_Mod) && is_float && !op_int(c, "fmod"))
        return op_refuse(c, "of floats needs fmod = 1");
    if (op_named(c, OP_BitShift)) {
        if (type != OP_TYPE_U8 && type != OP_TYPE_U16 && type != OP_TYPE_U32 && type != OP_TYPE_U64)
            return op_refuse(c, "of %s: only unsigned integers are shifted", op_type_text(type));
        if (!op_is(c, "direction", "LEFT") && !op_is(c, "direction", "RIGHT"))
            return op_refuse(c, "direction %.20s is neither LEFT nor RIGHT",
                             op_string(c, "direction"));
    }
    return EMU_OK;
}

static enum emu_status binary_infer(struct op_call *c)
{
    const struct function *f = function_of(c);

    c->out[0] = *c->in[0];
    for (uint32_t k = 1; k < c->ins; k++) {
        if (!c->in[k])
            return op_refuse(c, "input %u is missing", k);
        TRY(op_broadcast(c, &c->out[0], c->in[k], &c->out[0]));
    }
    if (!f)
        c->out[0].type = c->in[1]->type;
    else if (f->compares)
        c->out[0].type = OP_TYPE_BOOL;
    return check_operator(c);
}

/* --- computing ---------------------------------------------------------------------------- */

/* Elements of the result that follow each other, and what they are made of. */
struct binary_run {
    const struct op_tensor *x, *y;
    struct op_tensor *out;
    uint64_t x_at, y_at, out_at, n;
    uint64_t x_step, y_step;
    const struct function *f;
    struct integer_extras with;
};
typedef void row_function(const struct binary_run *r);

static void row_apply(const struct binary_run *r)
{
    int ints = op_type_kind(r->x->shape.type) != OP_KIND_FLOAT &&
               op_type_kind(r->y->shape.type) != OP_KIND_FLOAT;
    int to_float = op_type_kind(r->out->shape.type) == OP_KIND_FLOAT;

    for (uint64_t k = 0; k < r->n; k++) {
        uint64_t i = r->x_at + k * r->x_step, j = r->y_at + k * r->y_step, at = r->out_at + k;

        if (ints) {
            r->out->i[at] = r->f->of_ints(r->x->i[i], r->y->i[j], &r->with);
        } else {
            double z = r->f->of_floats(op_tensor_number(r->x, i), op_tensor_number(r->y, j));

            if (to_float)
                r->out->f[at] = z;
            else
                r->out->i[at] = op_whole(z);
        }
    }
}

/* y where x is true, elsewhere what is there. */
static void row_choose(const struct binary_run *r)
{
    int is_float = op_type_kind(r->out->shape.type) == OP_KIND_FLOAT;

    for (uint64_t k = 0; k < r->n; k++) {
        uint64_t i = r->x_at + k * r->x_step, j = r->y_at + k * r->y_step;

        if (!r->x->i[i])
            continue;
        if (is_float)
            r->out->f[r->out_at + k] = r->y->f[j];
        else
            r->out->i[r->out_at + k] = r->y->i[j];
    }
}

/* y, whatever x. */
static void row_copy(const struct binary_run *r)
{
    int is_float = op_type_kind(r->out->shape.type) == OP_KIND_FLOAT;

    for (uint64_t k = 0; k < r->n; k++) {
        uint64_t j = r->y_at + k * r->y_step;

        if (is_float)
            r->out->f[r->out_at + k] = r->y->f[j];
        else
            r->out->i[r->out_at + k] = r->y->i[j];
    }
}

/* Calls f for all rows of the result: x and y are broadcast to it; either may be the result. */
static void for_rows(row_function *f, struct binary_run *r)
{
    uint64_t x_stride[OP_RANK_MAX], y_stride[OP_RANK_MAX];
    uint32_t index[OP_RANK_MAX] = { 0 };
    struct op_shape rows = r->out->shape;
    unsigned last = rows.rank ? --rows.rank : 0;

    if (!op_shape_count(&r->out->shape))
        return;
    op_broadcast_strides(&r->x->shape, &r->out->shape, x_stride);
    op_broadcast_strides(&r->y->shape, &r->out->shape, y_stride);
    r->n = r->out->shape.rank ? r->out->shape.dim[last] : 1;
    r->x_step = x_stride[last];
    r->y_step = y_stride[last];
    r->out_at = 0;
    do {
        r->x_at = r->y_at = 0;
        for (unsigned k = 0; k < rows.rank; k++) {
            r->x_at += index[k] * x_stride[k];
            r->y_at += index[k] * y_stride[k];
        }
        f(r);
        r->out_at += r->n;
    } while (op_index_next(&rows, index));
}

static void where(const struct op_tensor *const *in, struct op_tensor *out)
{
    struct binary_run copy = { .x = in[2], .y = in[2], .out = out };
    struct binary_run choose = { .x = in[0], .y = in[1], .out = out };

    for_rows(row_copy, &copy);
    for_rows(row_choose, &choose);
}

static enum emu_status binary_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    struct binary_run r = { .f = function_of(c), .x = in[0], .y = in[0], .out = out };

    if (!r.f) {
        where(in, out);
        return EMU_OK;
    }
    r.with.u64 = c->in[0]->type == OP_TYPE_U64;
    r.with.flag = (op_named(c, OP_Mod) && op_int(c, "fmod")) ||
                  (op_named(c, OP_BitShift) && op_is(c, "direction", "LEFT"));
    if (c->ins == 1)
        for_rows(row_copy, &r);
    for (uint32_t k = 1; k < c->ins; k++) {
        r.y = in[k];
        for_rows(row_apply, &r);
        r.x = out;
    }
    for (uint64_t k = 0; op_named(c, OP_Mean) && k < op_shape_count(&out->shape); k++)
        out->f[k] /= c->ins;
    return EMU_OK;
}

const struct op_family family_binary = { .infer = binary_infer,
                                         .ref = binary_ref,
                                         .gradient = gradient_binary_node };

/* --- older versions ----------------------------------------------------------------------- */

/* Appends dimensions of 1. */
static enum emu_status append_ones(struct op_graph *g, const struct op_request *r, unsigned ones,
                                   uint32_t *value)
{
    int64_t axes[OP_RANK_MAX];
    const struct op_named_attr list = { "axes",
                                        { .kind = OP_ATTR_INTS, .count = ones, .ints = axes } };
    const uint32_t in = *value;
    const struct op_request unsqueeze = { .op = op_name(OP_Unsqueeze),
                                          .version = 1,
                                          .block = r->block,
                                          .in = &in,
                                          .ins = 1,
                                          .outs = 1,
                                          .attr = &list,
                                          .attrs = 1 };

    for (unsigned k = 0; k < ones; k++)
        axes[k] = g->value[in].shape.rank + k;
    return ones ? op_node(g, &unsqueeze, value) : EMU_OK;
}

/* The newest row, on the first input and on the second with dimensions of 1 appended. */
static enum emu_status with_ones(struct op_graph *g, const struct op_request *r, unsigned ones,
                                 uint32_t *out)
{
    uint32_t in[] = { r->in[0], r->in[1] };
    struct op_request now = *r;

    TRY(append_ones(g, r, ones, &in[1]));
    now.version = 0;
    now.in = in;
    now.attrs = 0;
    return op_node(g, &now, out);
}

/* Before 7, only the second input was broadcast, on demand, its dimensions beginning at an axis or
 * ending with the first's. */
enum emu_status upgrade_broadcast(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_shape *a = &g->value[r->in[0]].shape, *b = &g->value[r->in[1]].shape;
    const struct op_attr axis = op_request_attr(r, "axis");

    if (!op_request_attr(r, "broadcast").i)
        return op_shape_equal(a, b) ? with_ones(g, r, 0, out)
                                    : op_node_refuse(g, r, out, "shapes differ, broadcast is 0");
    if (b->rank > a->rank)
        return op_node_refuse(g, r, out, "input 1 has more dimensions than input 0");
    if (axis.kind == OP_ATTR_NONE)
        return with_ones(g, r, 0, out);
    if (axis.i < 0 || axis.i > a->rank - b->rank)
        return op_node_refuse(g, r, out, "axis %lld leaves no room for %u of %u dimensions",
                              (long long)axis.i, b->rank, a->rank);
    return with_ones(g, r, a->rank - b->rank - (unsigned)axis.i, out);
}

/* Before 7, a list of slopes was one per channel. */
enum emu_status upgrade_prelu(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_shape *x = &g->value[r->in[0]].shape, *slope = &g->value[r->in[1]].shape;
    int by_channel = slope->rank == 1 && slope->dim[0] != 1 && x->rank > 2;

    return with_ones(g, r, by_channel ? x->rank - 2 : 0, out);
}
