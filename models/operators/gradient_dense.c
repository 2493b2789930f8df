/* gradient_dense.c - gradients of products, convolutions and pools: products, convolutions and
 * pools again.
 */
#include <string.h>

#include "models/operators/op_families.h"
#include "models/operators/op_gradient.h"
#include "models/operators/op_window.h"

/* --- products ----------------------------------------------------------------------------- */

/* A list of numbers as a row, or as a column, of a matrix. */
static uint32_t as_matrix(struct op_gradient *x, uint32_t value, const struct op_shape *s,
                          int column)
{
    struct op_shape m = { .type = s->type, .rank = 2, .dim = { 1, 1 } };

    if (s->rank > 1)
        return value;
    m.dim[!column] = s->dim[0];
    return gradient_reshape(x, value, m);
}

/* y = a b: da = dy b', db = a' dy, added up over the stacks that were repeated. */
static void matmul_back(struct op_gradient *x)
{
    const struct op_shape as = gradient_shape(x, x->n->in[0]), bs = gradient_shape(x, x->n->in[1]);
    uint32_t a = as_matrix(x, x->n->in[0], &as, 0), b = as_matrix(x, x->n->in[1], &bs, 1);
    struct op_shape y;
    uint32_t dy;

    if (x->status != EMU_OK)
        return;
    y = gradient_shape(x, x->n->out[0]);
    if (as.rank == 1) { /* the dimensions that lists do not have */
        y.dim[y.rank] = bs.rank > 1 ? y.dim[y.rank - 1] : 1;
        y.dim[y.rank - (bs.rank > 1)] = 1;
        y.rank++;
    }
    if (bs.rank == 1)
        y.dim[y.rank++] = 1;
    dy = gradient_reshape(x, x->out[0], y);
    if (x->wanted[0])
        x->in[0] = gradient_reshape(
            x,
            gradient_sum_to(x, gradient_binary(x, OP_MatMul, dy, gradient_turn(x, b)),
                            a == OP_NONE ? as : gradient_shape(x, a)),
            as);
    if (x->wanted[1])
        x->in[1] = gradient_reshape(
            x,
            gradient_sum_to(x, gradient_binary(x, OP_MatMul, gradient_turn(x, a), dy),
                            b == OP_NONE ? bs : gradient_shape(x, b)),
            bs);
}

static uint32_t gemm(struct op_gradient *x, uint32_t a, uint32_t b, int turn_a, int turn_b)
{
    struct op_call c = op_attrs_of(x->g, x->n);

    return gradient_node(x, OP_Gemm, (uint32_t[]){ a, b }, 2,
                         (struct op_named_attr[]){ gradient_float("alpha", op_float(&c, "alpha")),
                                                   gradient_int("transA", turn_a),
                                                   gradient_int("transB", turn_b) },
                         3);
}

static void gemm_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    int turn_a = op_int(&c, "transA") != 0, turn_b = op_int(&c, "transB") != 0;
    uint32_t a = x->n->in[0], b = x->n->in[1], dy = x->out[0];

    if (x->wanted[0])
        x->in[0] = turn_a ? gemm(x, b, dy, turn_b, 1) : gemm(x, dy, b, 0, !turn_b);
    if (x->wanted[1])
        x->in[1] = turn_b ? gemm(x, dy, a, 1, turn_a) : gemm(x, a, dy, !turn_a, 0);
    if (x->n->ins > 2 && x->wanted[2]) {
        double beta = op_float(&c, "beta");
        uint32_t sum = gradient_sum_to(x, dy, gradient_shape(x, x->n->in[2]));

        x->in[2] = beta == 1 ? sum : gradient_scaled(x, OP_Mul, sum, beta);
    }
}

void gradient_matmul_node(struct op_gradient *x)
{
    if (gradient_is(x, OP_Gemm))
        gemm_back(x);
    else
        matmul_back(x);
}

/* --- sums of products by letters ------------------------------------------------------------ */

enum { EQUATION_MAX = 256 };

/* The letters of an equation's operands and result, without blanks. */
struct letters {
    char text[EQUATION_MAX];
    const char *operand[OP_RANK_MAX];
    char result[EQUATION_MAX];
    unsigned operands;
};

/* Without "->", the result has the letters that occur once, in alphabetical order. */
static void imply_result(struct letters *l)
{
    size_t n = 0;

    for (int letter = 'A'; letter <= 'z'; letter++) {
        unsigned times = 0;

        for (unsigned k = 0; k < l->operands; k++) {
            for (const char *at = l->operand[k]; *at; at++)
                times += *at == letter;
        }
        if (times == 1)
            l->result[n++] = (char)letter;
    }
    l->result[n] = '\0';
}

/* Returns 0 for an equation that has no simple gradient: '...', or a letter twice in one operand.
 */
static int read_letters(const char *equation, struct letters *l)
{
    char *arrow, *at;
    size_t n = 0;

    *l = (struct letters){ .operands = 0 };
    for (; *equation && n < sizeof(l->text) - 1; equation++) {
        if (*equation != ' ')
            l->text[n++] = *equation;
    }
    if (*equation || strchr(l->text, '.'))
        return 0;
    arrow = strstr(l->text, "->");
    if (arrow) {
        snprintf(l->result, sizeof(l->result), "%s", arrow + 2);
        *arrow = '\0';
    }
    for (at = l->text; at && l->operands < OP_RANK_MAX;) {
        char *end = strchr(at, ',');

        l->operand[l->operands++] = at;
        if (end)
            *end = '\0';
        for (const char *c = at; *c; c++) {
            if (strchr(c + 1, *c))
                return 0;
        }
        at = end ? end + 1 : NULL;
    }
    if (!arrow)
        imply_result(l);
    return !at;
}

/* The equation for operand k: the result's letters and the others' to its own. Returns 0 if one of
 * its letters is nowhere else. */
static int back_equation(const struct letters *l, unsigned k, char out[EQUATION_MAX * 2])
{
    size_t n = (size_t)snprintf(out, EQUATION_MAX * 2, "%s", l->result);

    for (unsigned j = 0; j < l->operands; j++) {
        if (j != k)
            n += (size_t)snprintf(out + n, EQUATION_MAX * 2 - n, ",%s", l->operand[j]);
    }
    for (const char *c = l->operand[k]; *c; c++) {
        if (!memchr(out, *c, n))
            return 0;
    }
    snprintf(out + n, EQUATION_MAX * 2 - n, "->%s", l->operand[k]);
    return 1;
}

void gradient_einsum_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    char equation[EQUATION_MAX * 2];
    uint32_t in[OP_RANK_MAX];
    struct letters l;

    if (!read_letters(op_string(&c, "equation"), &l) || l.operands != x->n->ins) {
        gradient_refuse(x, "of \"%.100s\" none is built", op_string(&c, "equation"));
        return;
    }
    for (unsigned k = 0; k < l.operands; k++) {
        unsigned n = 0;

        if (!x->wanted[k])
            continue;
        if (!back_equation(&l, k, equation)) {
            gradient_refuse(x, "a letter of operand %u is nowhere else", k);
            return;
        }
        in[n++] = x->out[0];
        for (unsigned j = 0; j < l.operands; j++) {
            if (j != k)
                in[n++] = x->n->in[j];
        }
        x->in[k] =
            gradient_node(x, OP_Einsum, in, n,
                          (struct op_named_attr[]){ gradient_text("equation", equation) }, 1);
    }
}

/* --- windows ------------------------------------------------------------------------------ */

/* A window as attributes. */
struct window_attrs {
    int64_t kernel[OP_WINDOW_DIMS], stride[OP_WINDOW_DIMS], dilation[OP_WINDOW_DIMS];
    int64_t pads[2 * OP_WINDOW_DIMS];
    struct op_named_attr attr[8];
    uint32_t attrs;
};

static void window_attrs(const struct op_window *w, struct window_attrs *a)
{
    for (unsigned d = 0; d < w->dims; d++) {
        a->kernel[d] = w->kernel[d];
        a->stride[d] = w->stride[d];
        a->dilation[d] = w->dilation[d];
        a->pads[d] = w->begin[d];
        a->pads[w->dims + d] = w->end[d];
    }
    a->attr[0] = gradient_ints("kernel_shape", a->kernel, w->dims);
    a->attr[1] = gradient_ints("strides", a->stride, w->dims);
    a->attr[2] = gradient_ints("dilations", a->dilation, w->dims);
    a->attr[3] = gradient_ints("pads", a->pads, 2 * w->dims);
    a->attrs = 4;
}

static enum emu_status window_of(struct op_gradient *x, struct op_window *w)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    const uint32_t *kernel = x->n->ins > 1 ? x->g->value[x->n->in[1]].shape.dim + 2 : NULL;

    TRY(op_window_read(&c, &s, kernel, w));
    if (gradient_is(x, OP_ConvTranspose))
        return op_window_transposed(&c, w);
    return op_window_forward(&c, op_knows(&c, "ceil_mode") && op_int(&c, "ceil_mode"), w);
}

/* The sum of dy over items and positions: of a bias by channel. */
static uint32_t bias_back(struct op_gradient *x)
{
    uint32_t dy = x->out[0];

    return gradient_reshape(
        x, gradient_reduce(x, OP_ReduceSum, dy, ((1u << gradient_shape(x, dy).rank) - 1) & ~2u),
        gradient_shape(x, x->n->in[2]));
}

/* The gradient by the data of Conv is ConvTranspose, and the other way round. Elements at the end
 * of the input that no window reaches have the gradient 0. */
static uint32_t data_back(struct op_gradient *x, const struct op_window *w,
                          const struct window_attrs *a, int transposed)
{
    struct window_attrs all = *a;
    int64_t more[OP_WINDOW_DIMS];

    for (unsigned d = 0; d < w->dims; d++)
        more[d] = w->in[d] + w->begin[d] + w->end[d] - (w->out[d] - 1) * w->stride[d] -
                  op_window_reach(w, d);
    if (!transposed)
        all.attr[all.attrs++] = gradient_ints("output_padding", more, w->dims);
    return gradient_node(x, transposed ? OP_Conv : OP_ConvTranspose,
                         (uint32_t[]){ x->out[0], x->n->in[1] }, 2, all.attr, all.attrs);
}

void gradient_conv_node(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    int transposed = gradient_is(x, OP_ConvTranspose);
    uint32_t in = x->n->in[0], dy = x->out[0];
    struct window_attrs a;
    struct op_window w;

    x->status = window_of(x, &w);
    if (x->status != EMU_OK)
        return;
    for (unsigned d = 0; d < w.dims; d++) {
        if (w.end[d] < 0) {
            gradient_refuse(x, "its result goes beyond the last window");
            return;
        }
    }
    window_attrs(&w, &a);
    a.attr[a.attrs++] = gradient_int("group", op_int(&c, "group"));
    if (x->wanted[0])
        x->in[0] = data_back(x, &w, &a, transposed);
    if (x->wanted[1])
        x->in[1] = gradient_node(x, OP_ConvWeightGradient,
                                 (uint32_t[]){ transposed ? dy : in, transposed ? in : dy }, 2,
                                 a.attr, a.attrs);
    if (x->n->ins > 2 && x->wanted[2])
        x->in[2] = bias_back(x);
}

/* The mean of a whole plane: its gradient is dealt out equally. */
static void global_mean_back(struct op_gradient *x)
{
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    double n = (double)op_shape_span(&s, 2, s.rank);

    x->in[0] = gradient_expand(x, gradient_scaled(x, OP_Mul, x->out[0], 1 / n), s);
}

/* The window of GlobalMaxPool: all of the plane. */
static void whole_plane(const struct op_shape *s, struct op_window *w)
{
    *w = (struct op_window){ .dims = s->rank - 2 };
    for (unsigned d = 0; d < w->dims; d++) {
        w->kernel[d] = s->dim[2 + d];
        w->stride[d] = w->dilation[d] = 1;
    }
}

static void max_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    int global = gradient_is(x, OP_GlobalMaxPool);
    uint32_t in[] = { x->n->in[0], x->out[0] };
    const struct op_shape s = gradient_shape(x, in[0]);
    struct window_attrs a;
    struct op_window w;

    if (global)
        whole_plane(&s, &w);
    else
        x->status = window_of(x, &w);
    if (x->status != EMU_OK)
        return;
    window_attrs(&w, &a);
    if (!global)
        a.attr[a.attrs++] = gradient_int("ceil_mode", op_int(&c, "ceil_mode"));
    x->in[0] = gradient_node(x, OP_MaxPoolGradient, in, 2, a.attr, a.attrs);
}

static void mean_back(struct op_gradient *x)
{
    struct op_call c = op_attrs_of(x->g, x->n);
    const struct op_shape s = gradient_shape(x, x->n->in[0]);
    int64_t shape[OP_RANK_MAX];
    struct window_attrs a;
    struct op_window w;

    x->status = window_of(x, &w);
    if (x->status != EMU_OK)
        return;
    window_attrs(&w, &a);
    a.attr[a.attrs++] = gradient_int("ceil_mode", op_int(&c, "ceil_mode"));
    for (unsigned d = 0; d < w.dims; d++)
        shape[d] = s.dim[2 + d];
    a.attr[a.attrs++] = gradient_int("count_include_pad", op_int(&c, "count_include_pad"));
    a.attr[a.attrs++] = gradient_ints("input_shape", shape, w.dims);
    x->in[0] = gradient_node(x, OP_AveragePoolGradient, x->out, 1, a.attr, a.attrs);
}

void gradient_pool_node(struct op_gradient *x)
{
    if (gradient_is(x, OP_GlobalAveragePool))
        global_mean_back(x);
    else if (gradient_is(x, OP_MaxPool) || gradient_is(x, OP_GlobalMaxPool))
        max_back(x);
    else if (gradient_is(x, OP_AveragePool))
        mean_back(x);
    else
        gradient_refuse(x, "of root means none is built");
}
