/* dense_layer.c - Conv, Gemm and MatMul with constant weights, seen as convolutions of fields. */
#include <string.h>

#include "models/lower/groups.h"
#include "models/operators/op_window.h"

/* The most positions that ss_op_linear() computes: with more of them the matrix unit is faster. */
enum { LINEAR_POSITIONS = 64 };

int conv_take_window(const struct op_window *w, struct conv_layer *c)
{
    unsigned x = w->dims - 1, y = 0;
    int two = w->dims == 2;

    if (w->dims > 2)
        return 0;
    for (unsigned d = 0; d < w->dims; d++) {
        if (w->begin[d] < 0 || w->end[d] < 0)
            return 0;
    }
    c->kernel_h = two ? (uint32_t)w->kernel[y] : 1;
    c->kernel_w = (uint32_t)w->kernel[x];
    c->stride_h = two ? (uint32_t)w->stride[y] : 1;
    c->stride_w = (uint32_t)w->stride[x];
    c->dilation_h = two ? (uint32_t)w->dilation[y] : 1;
    c->dilation_w = (uint32_t)w->dilation[x];
    c->pad_top = two ? (uint32_t)w->begin[y] : 0;
    c->pad_bottom = two ? (uint32_t)w->end[y] : 0;
    c->pad_left = (uint32_t)w->begin[x];
    c->pad_right = (uint32_t)w->end[x];
    return 1;
}

/* A convolution of an input whose windows are neighbours, as that of a transformer of pictures: a
 * dense layer of the numbers of a window. Weights are in that order already. */
static void take_patches(const struct op_graph *g, struct dense_layer *l)
{
    struct conv_layer *c = &l->conv;
    uint32_t h = c->kernel_h, w = c->kernel_w;

    if (g->value[l->x].kind != OP_INPUT || h * w == 1 || h != c->stride_h || w != c->stride_w ||
        c->dilation_h != 1 || c->dilation_w != 1 || c->groups != 1 || c->pad_top || c->pad_bottom ||
        c->pad_left || c->pad_right || l->h < h || l->w < w)
        return;
    l->patch_h = h;
    l->patch_w = w;
    l->h /= h;
    l->w /= w;
    l->in_c *= h * w;
    c->kernel_h = c->kernel_w = c->stride_h = c->stride_w = 1;
}

static int conv_of(const struct op_graph *g, const struct op_node *n, struct dense_layer *l)
{
    struct op_call c = op_attrs_of(g, n);
    const struct op_shape *x = &g->value[n->in[0]].shape, *w = &g->value[n->in[1]].shape;
    struct op_window window;

    if (op_window_read(&c, x, w->dim + 2, &window) != EMU_OK ||
        op_window_forward(&c, 0, &window) != EMU_OK || !conv_take_window(&window, &l->conv))
        return 0;
    l->h = window.dims == 2 ? (uint32_t)window.in[0] : 1;
    l->w = (uint32_t)window.in[window.dims - 1];
    l->axis = 1;
    l->n = x->dim[0];
    l->in_c = x->dim[1];
    l->conv.out_c = w->dim[0];
    l->conv.groups = (uint32_t)op_int(&c, "group");
    l->bias = n->ins > 2 ? n->in[2] : OP_NONE;
    /* Weights that are trained lie in blocks, in which their gradients come, too. */
    l->linear = !l->tensors && l->h == 1 && l->w == 1 && op_shape_span(w, 2, w->rank) == 1 &&
                l->conv.groups == 1 && !l->conv.pad_top && !l->conv.pad_bottom &&
                !l->conv.pad_left && !l->conv.pad_right;
    if (!l->tensors)
        take_patches(g, l);
    return 1;
}

/* Positions are all dimensions but the last. */
static void rows_of(const struct op_shape *x, struct dense_layer *l)
{
    uint64_t rows = op_shape_span(x, 0, x->rank - 1);

    l->axis = x->rank - 1;
    l->in_c = x->dim[l->axis];
    l->linear = x->rank <= 2 && rows <= LINEAR_POSITIONS;
    l->n = l->linear ? (uint32_t)rows : 1;
    l->h = l->linear ? 1 : (uint32_t)rows;
    l->w = 1;
    l->conv.kernel_h = l->conv.kernel_w = l->conv.stride_h = l->conv.stride_w = 1;
    l->conv.dilation_h = l->conv.dilation_w = l->conv.groups = 1;
}

static int gemm_of(const struct op_graph *g, const struct op_node *n, struct dense_layer *l)
{
    struct op_call c = op_attrs_of(g, n);
    const struct op_shape *w = &g->value[n->in[1]].shape;
    uint32_t bias = n->ins > 2 ? n->in[2] : OP_NONE;

    if (op_int(&c, "transA"))
        return 0;
    rows_of(&g->value[n->in[0]].shape, l);
    l->transposed = !op_int(&c, "transB");
    l->conv.out_c = w->dim[l->transposed];
    l->alpha = op_float(&c, "alpha");
    l->beta = op_float(&c, "beta");
    l->bias = bias;
    return bias == OP_NONE || op_shape_count(&g->value[bias].shape) == 1 ||
           (op_shape_count(&g->value[bias].shape) == l->conv.out_c &&
            g->value[bias].shape.dim[g->value[bias].shape.rank - 1] == l->conv.out_c);
}

static int matmul_of(const struct op_graph *g, const struct op_node *n, struct dense_layer *l)
{
    const struct op_shape *x = &g->value[n->in[0]].shape, *w = &g->value[n->in[1]].shape;

    if (w->rank != 2 || x->rank < 2)
        return 0;
    rows_of(x, l);
    l->transposed = 1;
    l->conv.out_c = w->dim[1];
    return 1;
}

int dense_layer_of(const struct op_graph *g, const struct op_node *n, struct dense_layer *l)
{
    static const struct {
        enum op_code op;
        int (*of)(const struct op_graph *g, const struct op_node *n, struct dense_layer *l);
    } kind[] = { { OP_Conv, conv_of }, { OP_Gemm, gemm_of }, { OP_MatMul, matmul_of } };

    for (unsigned k = 0; k < EMU_COUNT_OF(kind); k++) {
        if (!op_node_is(n, kind[k].op))
            continue;
        *l = (struct dense_layer){
            .x = n->in[0], .weights = n->in[1], .bias = OP_NONE, .alpha = 1, .beta = 1
        };
        l->tensors = !k && g->value[l->weights].kind == OP_STATE;
        if (op_type_kind(g->value[l->x].shape.type) != OP_KIND_FLOAT ||
            op_value_constant_kind(&g->value[l->x]) ||
            (!l->tensors && !op_value_constant_kind(&g->value[l->weights])) || !kind[k].of(g, n, l))
            return 0;
        return op_shape_count(&g->value[n->out[0]].shape) > 0 &&
               (l->bias == OP_NONE || l->tensors || op_value_constant_kind(&g->value[l->bias]));
    }
    return 0;
}

/* ---- pictures ---- */

static int is_picture(const struct op_shape *s)
{
    return s->rank == 4 && s->dim[1] >= 1 && s->dim[1] <= 4 && s->dim[2] > 4 && s->dim[3] > 4;
}

/* Whether only convolutions read a value, by windows. */
static int is_for_convolutions(const struct op_graph *g, uint32_t value)
{
    struct dense_layer d;

    for (uint32_t i = 0; i < g->nodes; i++) {
        const struct op_node *n = &g->node[i];

        for (uint32_t k = 0; k < n->ins; k++) {
            if (n->in[k] == value &&
                (!op_node_is(n, OP_Conv) || k || !dense_layer_of(g, n, &d) || d.patch_h))
                return 0;
        }
    }
    return 1;
}

int value_is_picture(const struct op_graph *g, uint32_t value)
{
    return g->value[value].kind == OP_INPUT && is_picture(&g->value[value].shape) &&
           is_for_convolutions(g, value);
}

/* ---- numbers ---- */

enum emu_status value_floats(const struct op_graph *g, uint32_t value, float **out)
{
    const struct op_value *v = &g->value[value];
    uint64_t n = op_shape_count(&v->shape);
    struct op_tensor t;

    *out = emu_alloc(n + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "%s", v->name);
    if (v->shape.type == OP_TYPE_F32) {
        memcpy(*out, v->data, n * sizeof(**out));
        return EMU_OK;
    }
    TRY(op_value_read(g, value, &t));
    for (uint64_t k = 0; k < n; k++)
        (*out)[k] = (float)op_tensor_number(&t, k);
    op_tensor_free(&t);
    return EMU_OK;
}

/* [in][out] to [out][in], times a factor. */
static enum emu_status turn(float **w, uint32_t in, uint32_t out, float factor)
{
    float *t = emu_alloc((size_t)in * out + 1, sizeof(*t));

    if (!t)
        return FAIL(NO_MEMORY, "weights [%u][%u]", in, out);
    for (uint32_t i = 0; i < in; i++) {
        for (uint32_t o = 0; o < out; o++)
            t[(size_t)o * in + i] = (*w)[(size_t)i * out + o] * factor;
    }
    ss_free(*w);
    *w = t;
    return EMU_OK;
}

/* Adds a constant of one number or one for each channel to *bias, which is made if it is NULL. */
static enum emu_status add_bias(const struct op_graph *g, uint32_t value, double factor,
                                uint32_t channels, float **bias)
{
    uint64_t n = op_shape_count(&g->value[value].shape);
    float *more;

    TRY(value_floats(g, value, &more));
    if (!*bias)
        *bias = emu_alloc(channels + 1, sizeof(**bias));
    for (uint32_t c = 0; *bias && c < channels; c++)
        (*bias)[c] += (float)(factor * (double)more[n == 1 ? 0 : c]);
    ss_free(more);
    return *bias ? EMU_OK : FAIL(NO_MEMORY, "biases");
}

enum emu_status dense_layer_numbers(const struct op_graph *g, const struct dense_layer *l,
                                    uint32_t more, float **weights, float **bias)
{
    uint64_t n = op_shape_count(&g->value[l->weights].shape);
    enum emu_status s;

    *bias = NULL;
    TRY(value_floats(g, l->weights, weights));
    if (l->transposed) {
        s = turn(weights, l->in_c, l->conv.out_c, (float)l->alpha);
    } else {
        for (uint64_t k = 0; l->alpha != 1 && k < n; k++)
            (*weights)[k] *= (float)l->alpha;
        s = EMU_OK;
    }
    if (s == EMU_OK && l->bias != OP_NONE)
        s = add_bias(g, l->bias, l->beta, l->conv.out_c, bias);
    if (s == EMU_OK && more != OP_NONE)
        s = add_bias(g, more, 1, l->conv.out_c, bias);
    return s;
}
