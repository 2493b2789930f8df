/* family_unary.c - functions of one number, element by element.
 *
 * An operator is a row of `functions`: its function of a float, that of an integer, and the names
 * of up to two attributes that it reads. NaN gives NaN unless a comment says otherwise.
 */
#include <math.h>
#include <string.h>

#include "models/operators/op_exp.h"
#include "models/operators/op_families.h"
#include "models/operators/op_function.h"

enum { PARALLEL_MIN = 1 << 14 }; /* elements from which threads are worth their start */

/* What a function gets besides the number. */
struct function_extras {
    double a, b;       /* the attributes */
    int64_t low, high; /* Clip's bounds of integers */
    int u64;           /* integers are the bits of unsigned ones */
};
typedef double float_function(double x, const struct function_extras *w);
typedef int64_t int_function(int64_t x, const struct function_extras *w);

/* --- of floats ---------------------------------------------------------------------------- */

#define LIBRARY(name)                                                                              \
    static double of_##name(double x, const struct function_extras *w)                             \
    {                                                                                              \
        (void)w;                                                                                   \
        return name(x);                                                                            \
    }
LIBRARY(acos)
LIBRARY(acosh)
LIBRARY(asin)
LIBRARY(asinh)
LIBRARY(atan)
LIBRARY(atanh)
LIBRARY(ceil)
LIBRARY(cos)
LIBRARY(cosh)
LIBRARY(erf)
LIBRARY(exp)
LIBRARY(fabs)
LIBRARY(floor)
LIBRARY(log)
LIBRARY(rint) /* halves to even */
LIBRARY(sin)
LIBRARY(sinh)
LIBRARY(sqrt)
LIBRARY(tan)
LIBRARY(tanh)
#undef LIBRARY

static double relu(double x, const struct function_extras *w)
{
    (void)w;
    return x < 0 ? 0 : x;
}

static double leaky_relu(double x, const struct function_extras *w)
{
    return x < 0 ? w->a * x : x;
}

static double thresholded_relu(double x, const struct function_extras *w)
{
    return x <= w->a ? 0 : x;
}

static double elu(double x, const struct function_extras *w)
{
    return x < 0 ? w->a * expm1(x) : x;
}

static double selu(double x, const struct function_extras *w)
{
    return w->b * elu(x, w);
}

static double celu(double x, const struct function_extras *w)
{
    return x < 0 ? w->a * expm1(x / w->a) : x;
}

static double sigmoid(double x, const struct function_extras *w)
{
    (void)w;
    return op_sigmoid(x);
}

/* NaN stays NaN. */
static double between(double x, double low, double high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

static double hard_sigmoid(double x, const struct function_extras *w)
{
    return between(w->a * x + w->b, 0, 1);
}

/* a: 1: the tanh that is at most 4.7e-4 off. */
static double gelu(double x, const struct function_extras *w)
{
    if (w->a)
        return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static double swish(double x, const struct function_extras *w)
{
    (void)w;
    return x * op_sigmoid(x);
}

static double hard_swish(double x, const struct function_extras *w)
{
    (void)w;
    return x * between(x / 6 + 0.5, 0, 1);
}

static double softplus(double x, const struct function_extras *w)
{
    (void)w;
    return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double softsign(double x, const struct function_extras *w)
{
    (void)w;
    return x / (1 + fabs(x));
}

/* a: lambd, b: bias. */
static double shrink(double x, const struct function_extras *w)
{
    return x < -w->a ? x + w->b : x > w->a ? x - w->b : isnan(x) ? x : 0;
}

/* Bounds that cross give the upper one. */
static double clip(double x, const struct function_extras *w)
{
    return between(x, w->a, w->b);
}

static double negative(double x, const struct function_extras *w)
{
    (void)w;
    return -x;
}

static double reciprocal(double x, const struct function_extras *w)
{
    (void)w;
    return 1 / x;
}

static double sign(double x, const struct function_extras *w)
{
    (void)w;
    return isnan(x) ? x : (x > 0) - (x < 0);
}

static double is_nan(double x, const struct function_extras *w)
{
    (void)w;
    return isnan(x);
}

/* a: whether negative infinity counts; b: whether positive infinity does. */
static double is_inf(double x, const struct function_extras *w)
{
    return isinf(x) && (x < 0 ? w->a : w->b) != 0;
}

/* --- of integers -------------------------------------------------------------------------- */

static int64_t int_relu(int64_t x, const struct function_extras *w)
{
    (void)w;
    return x < 0 ? 0 : x;
}

static int64_t int_negative(int64_t x, const struct function_extras *w)
{
    (void)w;
    return (int64_t) - (uint64_t)x;
}

static int64_t int_abs(int64_t x, const struct function_extras *w)
{
    return x < 0 && !w->u64 ? int_negative(x, w) : x;
}

static int64_t int_sign(int64_t x, const struct function_extras *w)
{
    return w->u64 ? x != 0 : (x > 0) - (x < 0);
}

static int int_less(int64_t a, int64_t b, const struct function_extras *w)
{
    return w->u64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t int_clip(int64_t x, const struct function_extras *w)
{
    x = int_less(x, w->low, w) ? w->low : x;
    return int_less(w->high, x, w) ? w->high : x;
}

static int64_t int_not(int64_t x, const struct function_extras *w)
{
    (void)w;
    return !x;
}

/* --- the operators ------------------------------------------------------------------------ */

static const struct op_function {
    const char *name;
    float_function *of_float;
    int_function *of_int; /* NULL: it takes no integers, or treats them as floats */
    const char *a, *b;    /* attributes; NULL: none */
} functions[] = {
    { "Abs", of_fabs, int_abs, NULL, NULL },
    { "Acos", of_acos, NULL, NULL, NULL },
    { "Acosh", of_acosh, NULL, NULL, NULL },
    { "Asin", of_asin, NULL, NULL, NULL },
    { "Asinh", of_asinh, NULL, NULL, NULL },
    { "Atan", of_atan, NULL, NULL, NULL },
    { "Atanh", of_atanh, NULL, NULL, NULL },
    { "Ceil", of_ceil, NULL, NULL, NULL },
    { "Celu", celu, NULL, "alpha", NULL },
    { "Clip", clip, int_clip, NULL, NULL },
    { "Cos", of_cos, NULL, NULL, NULL },
    { "Cosh", of_cosh, NULL, NULL, NULL },
    { "Elu", elu, NULL, "alpha", NULL },
    { "Erf", of_erf, NULL, NULL, NULL },
    { "Exp", of_exp, NULL, NULL, NULL },
    { "Floor", of_floor, NULL, NULL, NULL },
    { "HardSigmoid", hard_sigmoid, NULL, "alpha", "beta" },
    { "Gelu", gelu, NULL, NULL, NULL },
    { "HardSwish", hard_swish, NULL, NULL, NULL },
    { "IsInf", is_inf, NULL, "detect_negative", "detect_positive" },
    { "IsNaN", is_nan, NULL, NULL, NULL },
    { "LeakyRelu", leaky_relu, NULL, "alpha", NULL },
    { "Log", of_log, NULL, NULL, NULL },
    { "Neg", negative, int_negative, NULL, NULL },
    { "Not", NULL, int_not, NULL, NULL },
    { "Reciprocal", reciprocal, NULL, NULL, NULL },
    { "Relu", relu, int_relu, NULL, NULL },
    { "Round", of_rint, NULL, NULL, NULL },
    { "Selu", selu, NULL, "alpha", "gamma" },
    { "Shrink", shrink, NULL, "lambd", "bias" },
    { "Sigmoid", sigmoid, NULL, NULL, NULL },
    { "Sign", sign, int_sign, NULL, NULL },
    { "Sin", of_sin, NULL, NULL, NULL },
    { "Sinh", of_sinh, NULL, NULL, NULL },
    { "Softplus", softplus, NULL, NULL, NULL },
    { "Softsign", softsign, NULL, NULL, NULL },
    { "Sqrt", of_sqrt, NULL, NULL, NULL },
    { "Swish", swish, NULL, NULL, NULL },
    { "Tan", of_tan, NULL, NULL, NULL },
    { "Tanh", of_tanh, NULL, NULL, NULL },
    { "ThresholdedRelu", thresholded_relu, NULL, "alpha", NULL },
};

static const struct op_function *function_find(const char *name)
{
    for (unsigned k = 0; k < EMU_COUNT_OF(functions); k++) {
        if (!strcmp(functions[k].name, name))
            return &functions[k];
    }
    return NULL;
}

const struct op_function *op_function_find(const char *name)
{
    const struct op_function *f = function_find(name);

    return f && f->of_float ? f : NULL;
}

const char *op_function_attr(const struct op_function *f, unsigned k)
{
    return k ? f->b : f->a;
}

double op_function_value(const struct op_function *f, double x, double a, double b)
{
    const struct function_extras w = { .a = a, .b = b };

    return f->of_float(x, &w);
}

static int is_clip(const struct op_call *c)
{
    return op_named(c, OP_Clip);
}

/* A bound of Clip is one number of the data's type. */
static enum emu_status check_bound(struct op_call *c, const char *name)
{
    uint32_t v = op_tensor_value(c, name);
    const struct op_shape *s;
    char text[OP_SHAPE_TEXT];

    if (v == OP_NONE)
        return EMU_OK;
    s = &c->g->value[v].shape;
    if (s->type != c->in[0]->type || op_shape_count(s) != 1)
        return op_refuse(c, "%s is %s, expected one %s", name, op_shape_text(s, text),
                         op_type_text(c->in[0]->type));
    return EMU_OK;
}

static enum emu_status unary_infer(struct op_call *c)
{
    const char *name = c->row->name;

    c->out[0] = *c->in[0];
    if (!strcmp(name, "IsNaN") || !strcmp(name, "IsInf"))
        c->out[0].type = OP_TYPE_BOOL;
    if (!strcmp(name, "Gelu") && !op_is(c, "approximate", "none") &&
        !op_is(c, "approximate", "tanh"))
        return op_refuse(c, "approximate is %s: none and tanh are built",
                         op_string(c, "approximate"));
    if (!is_clip(c))
        return EMU_OK;
    TRY(check_bound(c, "min"));
    return check_bound(c, "max");
}

/* --- computing ---------------------------------------------------------------------------- */

static double attribute(const struct op_call *c, const char *name)
{
    struct op_attr_spec spec;

    for (unsigned k = 0; op_row_attr(c->row, k, &spec); k++) {
        if (!strcmp(spec.name, name))
            return spec.kind == OP_ATTR_INT ? (double)c->attr[k].i : c->attr[k].f;
    }
    emu_abort(__FILE__, __LINE__, name);
}

/* Where a bound is given, *f or *i. */
static enum emu_status read_bound(const struct op_call *c, const char *name, double *f, int64_t *i)
{
    uint32_t v = op_tensor_value(c, name);
    struct op_tensor t;

    if (v == OP_NONE)
        return EMU_OK;
    TRY(op_value_read(c->g, v, &t));
    if (op_type_kind(t.shape.type) == OP_KIND_FLOAT)
        *f = t.f[0];
    else
        *i = t.i[0];
    op_tensor_free(&t);
    return EMU_OK;
}

static enum emu_status with_what(const struct op_call *c, const struct op_function *f,
                                 struct function_extras *w)
{
    *w = (struct function_extras){ .u64 = c->in[0]->type == OP_TYPE_U64 };
    if (f->a)
        w->a = attribute(c, f->a);
    if (f->b)
        w->b = attribute(c, f->b);
    if (f->of_float == gelu)
        w->a = op_is(c, "approximate", "tanh");
    if (!is_clip(c))
        return EMU_OK;
    w->a = -INFINITY;
    w->b = INFINITY;
    w->low = w->u64 ? 0 : INT64_MIN;
    w->high = w->u64 ? -1 : INT64_MAX;
    TRY(read_bound(c, "min", &w->a, &w->low));
    return read_bound(c, "max", &w->b, &w->high);
}

static enum emu_status unary_ref(struct op_call *c, const struct op_tensor *const *in,
                                 struct op_tensor *out)
{
    const struct op_function *f = function_find(c->row->name);
    int of_int = f->of_int && op_type_kind(c->in[0]->type) != OP_KIND_FLOAT;
    int to_float = op_type_kind(c->out[0].type) == OP_KIND_FLOAT;
    int64_t n = (int64_t)op_shape_count(c->in[0]);
    const struct op_tensor *x = in[0];
    struct function_extras w;

    TRY(with_what(c, f, &w));
#pragma omp parallel for if (n >= PARALLEL_MIN)
    for (int64_t k = 0; k < n; k++) {
        if (of_int)
            out->i[k] = f->of_int(x->i[k], &w);
        else if (to_float)
            out->f[k] = f->of_float(x->f[k], &w);
        else
            out->i[k] = op_whole(f->of_float(op_tensor_number(x, (uint64_t)k), &w));
    }
    return EMU_OK;
}

const struct op_family family_unary = { .infer = unary_infer,
                                        .ref = unary_ref,
                                        .gradient = gradient_unary_node };

/* --- older versions ----------------------------------------------------------------------- */

/* A bound that was an attribute, as a constant of the data's type; *out stays if there is none. */
static enum emu_status bound_value(struct op_graph *g, const struct op_request *r, const char *name,
                                   uint32_t *out)
{
    const struct op_shape s = { .type = g->value[r->in[0]].shape.type };
    const struct op_attr a = op_request_attr(r, name);

    return a.kind == OP_ATTR_NONE ? EMU_OK : op_constant_new(g, &s, &a.f, out);
}

/* Before 11, Clip's bounds were attributes. */
enum emu_status upgrade_clip(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    enum op_type type = g->value[r->in[0]].shape.type;
    uint32_t in[] = { r->in[0], OP_NONE, OP_NONE };
    struct op_request now = *r;

    if (op_type_kind(type) != OP_KIND_FLOAT)
        return op_node_refuse(g, r, out, "input 0 is %s, expected a float", op_type_text(type));
    TRY(bound_value(g, r, "min", &in[1]));
    TRY(bound_value(g, r, "max", &in[2]));
    now.version = 0;
    now.in = in;
    now.ins = EMU_COUNT_OF(in);
    now.attrs = 0;
    return op_node(g, &now, out);
}
