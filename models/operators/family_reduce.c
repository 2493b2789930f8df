/* family_reduce.c - Reduce*: one number of each lane along some axes; ArgMax and ArgMin: where in
 * the lane it is; CumSum: sums of a lane's first elements.
 *
 * A reduction is a row of `functions`: its function of n floats, and that of n integers.
 */
#include <math.h>

#include "models/operators/op_families.h"
#include "models/operators/op_lanes.h"

typedef double float_function(const double *x, uint64_t n);
typedef int64_t int_function(const int64_t *x, uint64_t n,
                             int u64); /* u64: bits of unsigned ones */

/* --- of floats ---------------------------------------------------------------------------- */

static double sum(const double *x, uint64_t n)
{
    double s = 0;

    for (uint64_t k = 0; k < n; k++)
        s += x[k];
    return s;
}

static double sum_absolute(const double *x, uint64_t n)
{
    double s = 0;

    for (uint64_t k = 0; k < n; k++)
        s += fabs(x[k]);
    return s;
}

static double sum_square(const double *x, uint64_t n)
{
    double s = 0;

    for (uint64_t k = 0; k < n; k++)
        s += x[k] * x[k];
    return s;
}

static double norm(const double *x, uint64_t n)
{
    return sqrt(sum_square(x, n));
}

static double mean(const double *x, uint64_t n)
{
    return sum(x, n) / (double)n;
}

static double product(const double *x, uint64_t n)
{
    double p = 1;

    for (uint64_t k = 0; k < n; k++)
        p *= x[k];
    return p;
}

/* NaN if one is; of nothing: -infinity. */
static double largest(const double *x, uint64_t n)
{
    double m = -INFINITY;

    for (uint64_t k = 0; k < n; k++)
        m = x[k] > m || isnan(x[k]) ? x[k] : m;
    return m;
}

static double smallest(const double *x, uint64_t n)
{
    double m = INFINITY;

    for (uint64_t k = 0; k < n; k++)
        m = x[k] < m || isnan(x[k]) ? x[k] : m;
    return m;
}

static double log_sum(const double *x, uint64_t n)
{
    return log(sum(x, n));
}

/* The largest is taken out first, so that no exponential overflows. */
static double log_sum_exp(const double *x, uint64_t n)
{
    double m = largest(x, n), s = 0;

    if (isinf(m))
        return m;
    for (uint64_t k = 0; k < n; k++)
        s += exp(x[k] - m);
    return m + log(s);
}

/* --- of integers: sums and products wrap -------------------------------------------------- */

static int64_t int_sum(const int64_t *x, uint64_t n, int u64)
{
    uint64_t s = 0;

    (void)u64;
    for (uint64_t k = 0; k < n; k++)
        s += (uint64_t)x[k];
    return (int64_t)s;
}

static int64_t int_sum_absolute(const int64_t *x, uint64_t n, int u64)
{
    uint64_t s = 0;

    for (uint64_t k = 0; k < n; k++)
        s += x[k] < 0 && !u64 ? -(uint64_t)x[k] : (uint64_t)x[k];
    return (int64_t)s;
}

static int64_t int_sum_square(const int64_t *x, uint64_t n, int u64)
{
    uint64_t s = 0;

    (void)u64;
    for (uint64_t k = 0; k < n; k++)
        s += (uint64_t)x[k] * (uint64_t)x[k];
    return (int64_t)s;
}

/* Truncated. */
static int64_t int_mean(const int64_t *x, uint64_t n, int u64)
{
    int64_t s = int_sum(x, n, u64);

    return u64 ? (int64_t)((uint64_t)s / n) : s / (int64_t)n;
}

static int64_t int_product(const int64_t *x, uint64_t n, int u64)
{
    uint64_t p = 1;

    (void)u64;
    for (uint64_t k = 0; k < n; k++)
        p *= (uint64_t)x[k];
    return (int64_t)p;
}

static int int_less(int64_t a, int64_t b, int u64)
{
    return u64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t int_largest(const int64_t *x, uint64_t n, int u64)
{
    int64_t m = x[0];

    for (uint64_t k = 1; k < n; k++)
        m = int_less(m, x[k], u64) ? x[k] : m;
    return m;
}

static int64_t int_smallest(const int64_t *x, uint64_t n, int u64)
{
    int64_t m = x[0];

    for (uint64_t k = 1; k < n; k++)
        m = int_less(x[k], m, u64) ? x[k] : m;
    return m;
}

/* --- the operators ------------------------------------------------------------------------ */

static const struct reduce_function {
    enum op_code code;
    float_function *of_floats;
    int_function *of_ints; /* NULL: what of_floats says, truncated */
} functions[] = {
    { OP_ReduceL1, sum_absolute, int_sum_absolute },
    { OP_ReduceL2, norm, NULL },
    { OP_ReduceLogSum, log_sum, NULL },
    { OP_ReduceLogSumExp, log_sum_exp, NULL },
    { OP_ReduceMax, largest, int_largest },
    { OP_ReduceMean, mean, int_mean },
    { OP_ReduceMin, smallest, int_smallest },
    { OP_ReduceProd, product, int_product },
    { OP_ReduceSum, sum, int_sum },
    { OP_ReduceSumSquare, sum_square, int_sum_square },
};

/* NULL: none of them. */
static const struct reduce_function *function_of(const struct op_call *c)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(functions); k++) {
        if (op_named(c, functions[k].code))
            return &functions[k];
    }
    return NULL;
}

/* The axes along which lanes run. */
static enum emu_status lane_axes(struct op_call *c, uint32_t *axes)
{
    unsigned rank = c->in[0]->rank, axis;
    const int64_t *list;

    *axes = 0;
    if (!function_of(c)) {
        TRY(op_axis(c, op_int(c, "axis"), rank, &axis));
        *axes = 1u << axis;
        return EMU_OK;
    }
    if (!op_ints(c, "axes", &list) && op_int(c, "noop_with_empty_axes"))
        return EMU_OK;
    return op_axes(c, "axes", rank, axes);
}

/* Whether an empty lane has no result, as the largest of no integers, or a division by 0. */
static int needs_numbers(const struct op_call *c)
{
    const struct reduce_function *f = function_of(c);

    if (!f)
        return 1;
    return op_type_kind(c->in[0]->type) == OP_KIND_INT &&
           (f->of_ints == int_largest || f->of_ints == int_smallest || f->of_ints == int_mean);
}

static enum emu_status reduce_infer(struct op_call *c)
{
    const struct op_shape *in = c->in[0];
    struct op_shape *out = &c->out[0];
    uint64_t length = 1;
    uint32_t axes;
    int keep;

    TRY(lane_axes(c, &axes));
    *out = *in;
    if (op_named(c, OP_CumSum))
        return EMU_OK;
    keep = op_int(c, "keepdims") != 0;
    *out = (struct op_shape){ .type = function_of(c) ? in->type : OP_TYPE_I64 };
    for (unsigned k = 0; k < in->rank; k++) {
        int along = axes >> k & 1;

        if (along && in->dim[k] == 0)
            length = 0;
        if (!along || keep)
            out->dim[out->rank++] = along ? 1 : in->dim[k];
    }
    if (length == 0 && op_shape_count(out) && needs_numbers(c))
        return op_refuse(c, "a dimension has no elements to choose from");
    return EMU_OK;
}

/* --- computing ---------------------------------------------------------------------------- */

/* What is made of lanes. */
struct reduce_call {
    const struct reduce_function *f; /* NULL: an argument, or running sums */
    int is_float, u64;
    int most, last;          /* ArgMax; of equal ones the last */
    int sums;                /* CumSum */
    int exclusive, backward; /* of its sums */
};

static struct reduce_call reduction_of(const struct op_call *c)
{
    struct reduce_call r = { .f = function_of(c),
                             .is_float = op_type_kind(c->in[0]->type) == OP_KIND_FLOAT,
                             .u64 = c->in[0]->type == OP_TYPE_U64,
                             .most = op_named(c, OP_ArgMax),
                             .sums = op_named(c, OP_CumSum) };

    if (r.sums) {
        r.exclusive = op_int(c, "exclusive") != 0;
        r.backward = op_int(c, "reverse") != 0;
    } else if (!r.f) {
        r.last = op_int(c, "select_last_index") != 0;
    }
    return r;
}

/* Where the largest of a lane is, or the smallest; of equal ones the first, or the last. */
static int64_t argument(const struct reduce_call *r, const struct op_lanes *l)
{
    uint64_t best = 0;

    for (uint64_t k = 1; k < l->length; k++) {
        int less = r->is_float ? l->f[k] < l->f[best] : int_less(l->i[k], l->i[best], r->u64);
        int more = r->is_float ? l->f[k] > l->f[best] : int_less(l->i[best], l->i[k], r->u64);

        if ((r->most ? more : less) || (r->last && !more && !less))
            best = k;
    }
    return (int64_t)best;
}

/* Running sums of a lane, in place. */
static void running_sums(const struct reduce_call *r, struct op_lanes *l)
{
    uint64_t whole = 0;
    double sum_before = 0;

    for (uint64_t j = 0; j < l->length; j++) {
        uint64_t k = r->backward ? l->length - 1 - j : j;

        if (r->is_float) {
            double with_it = sum_before + l->f[k];

            l->f[k] = r->exclusive ? sum_before : with_it;
            sum_before = with_it;
        } else {
            uint64_t with_it = whole + (uint64_t)l->i[k];

            l->i[k] = (int64_t)(r->exclusive ? whole : with_it);
            whole = with_it;
        }
    }
}

static void compute_lane(const struct reduce_call *r, struct op_lanes *l, uint64_t k,
                         struct op_tensor *out)
{
    if (r->sums) {
        running_sums(r, l);
        op_lane_write(l, k, out);
    } else if (!r->f) {
        out->i[k] = argument(r, l);
    } else if (r->is_float) {
        out->f[k] = r->f->of_floats(l->f, l->length);
    } else if (r->f->of_ints) {
        out->i[k] = r->f->of_ints(l->i, l->length, r->u64);
    } else {
        out->i[k] = op_whole(r->f->of_floats(l->f, l->length));
    }
}

/* A tensor's numbers as floats. */
static enum emu_status as_floats(const struct op_tensor *t, struct op_tensor *out)
{
    struct op_shape s = t->shape;

    s.type = OP_TYPE_F64;
    TRY(op_tensor_new(&s, out));
    for (uint64_t k = 0; k < op_shape_count(&s); k++)
        out->f[k] = op_tensor_number(t, k);
    return EMU_OK;
}

static enum emu_status reduce_ref(struct op_call *c, const struct op_tensor *const *in,
                                  struct op_tensor *out)
{
    const struct reduce_call r = reduction_of(c);
    struct op_tensor floats = { .any = NULL };
    const struct op_tensor *from = in[0];
    struct op_lanes l = { .count = 0 };
    enum emu_status s = EMU_OK;
    uint32_t axes;

    TRY(lane_axes(c, &axes));
    if (!op_shape_count(&out->shape))
        return EMU_OK;
    if (r.f && !r.f->of_ints && !r.is_float) {
        s = as_floats(in[0], &floats);
        from = &floats;
    }
    if (s == EMU_OK)
        s = op_lanes_new(c->in[0], axes, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, from);
        compute_lane(&r, &l, k, out);
    }
    op_lanes_free(&l);
    op_tensor_free(&floats);
    return s;
}

const struct op_family family_reduce = { .infer = reduce_infer,
                                         .ref = reduce_ref,
                                         .gradient = gradient_reduce_node };
