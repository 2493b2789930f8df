/* weights_graph.c - writes a network's layers as operators. */
#include "models/weights/weights_graph.h"

#include <string.h>

enum { INS_MAX = 5, ATTRS_MAX = 4 };

struct graph_builder {
    const struct net *net;
    const struct weights *weights;
    struct op_graph *g;
    uint32_t *result; /* owned; values by layer */
};

/* One operator of a layer. */
struct line {
    const char *op, *suffix; /* suffix: of the node's name, behind the layer's */
    uint32_t in[INS_MAX];
    uint32_t ins;
    struct op_named_attr attr[ATTRS_MAX];
    uint32_t attrs;
    const char *out; /* name of the result; NULL: the node's */
};

static enum emu_status add(struct graph_builder *b, const struct layer *l, const struct line *line,
                           uint32_t *out)
{
    char name[LAYER_NAME_MAX + 16];
    const char *const result = line->out ? line->out : name;
    const struct op_request r = { .op = line->op,
                                  .name = name,
                                  .block = l->block,
                                  .in = line->in,
                                  .ins = line->ins,
                                  .out_name = &result,
                                  .outs = 1,
                                  .attr = line->attr,
                                  .attrs = line->attrs };

    snprintf(name, sizeof(name), "%s%s", l->name, line->suffix ? line->suffix : "");
    TRY(op_node(b->g, &r, out));
    return b->g->problems ? FAIL(USAGE, "layer %s: %s: %s", l->name, line->op, b->g->problem[0].why)
                          : EMU_OK;
}

/* A parameter of a layer as a value; OP_NONE if it has none. */
static enum emu_status parameter(struct graph_builder *b, uint32_t layer, const char *suffix,
                                 uint32_t *out)
{
    const struct param *p = weights_find(b->weights, layer, suffix);
    struct op_shape s = { .type = OP_TYPE_F32 };

    *out = OP_NONE;
    if (!p)
        return EMU_OK;
    s.rank = p->rank;
    memcpy(s.dim, p->shape, p->rank * sizeof(s.dim[0]));
    TRY(op_value_new(b->g, p->name, OP_PARAM, &s, out));
    b->g->value[*out].data = p->data;
    return EMU_OK;
}

/* Numbers as a constant of f32 or i64. */
static enum emu_status constant(struct graph_builder *b, enum op_type type, unsigned rank,
                                const uint32_t *dim, const void *numbers, uint32_t *out)
{
    struct op_shape s = { .type = type, .rank = rank };

    memcpy(s.dim, dim, rank * sizeof(*dim));
    return op_constant_new(b->g, &s, numbers, out);
}

#define INTS(name, list)                                                                           \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            .kind = OP_ATTR_INTS, .count = EMU_COUNT_OF(list), .ints = list                        \
        }                                                                                          \
    }
#define INT(name, number)                                                                          \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            .kind = OP_ATTR_INT, .i = number                                                       \
        }                                                                                          \
    }
#define FLOAT(name, number)                                                                        \
    {                                                                                              \
        name,                                                                                      \
        {                                                                                          \
            .kind = OP_ATTR_FLOAT, .f = number                                                     \
        }                                                                                          \
    }

/* --- layers ------------------------------------------------------------------------------- */

static enum emu_status add_conv(struct graph_builder *b, uint32_t i, uint32_t *out)
{
    const struct layer *l = &b->net->layer[i];
    const int64_t pads[] = { l->pad.before_h, l->pad.before_w, l->pad.after_h, l->pad.after_w };
    const int64_t strides[] = { l->stride, l->stride };
    struct line line = { .op = "Conv", .in = { b->result[l->input[0]] }, .ins = 3 };
    const struct op_named_attr attr[] = { INTS("pads", pads), INTS("strides", strides),
                                          INT("group", l->groups) };

    TRY(parameter(b, i, "weight", &line.in[1]));
    TRY(parameter(b, i, "bias", &line.in[2]));
    if (l->op == LAYER_CONV) {
        memcpy(line.attr, attr, sizeof(attr));
        line.attrs = EMU_COUNT_OF(attr);
    }
    return add(b, l, &line, out);
}

/* The classifier; squeeze and excitation has convolutions of fields of one. */
static enum emu_status add_linear(struct graph_builder *b, uint32_t i, uint32_t *out)
{
    const struct layer *l = &b->net->layer[i];
    const struct line flat = {
        .op = "Flatten", .suffix = ".flatten", .in = { b->result[l->input[0]] }, .ins = 1
    };
    struct line line = { .op = "Gemm", .ins = 3, .attr = { INT("transB", 1) }, .attrs = 1 };

    if (l->weight_rank == 4)
        return add_conv(b, i, out);
    TRY(add(b, l, &flat, &line.in[0]));
    TRY(parameter(b, i, "weight", &line.in[1]));
    TRY(parameter(b, i, "bias", &line.in[2]));
    return add(b, l, &line, out);
}

static enum emu_status add_batch_norm(struct graph_builder *b, uint32_t i, uint32_t *out)
{
    static const char *const names[] = { "weight", "bias", "running_mean", "running_var" };
    const struct layer *l = &b->net->layer[i];
    struct line line = { .op = "BatchNormalization",
                         .in = { b->result[l->input[0]] },
                         .ins = 5,
                         .attr = { FLOAT("epsilon", l->eps) },
                         .attrs = 1 };

    for (unsigned k = 0; k < EMU_COUNT_OF(names); k++)
        TRY(parameter(b, i, names[k], &line.in[k + 1]));
    return add(b, l, &line, out);
}

/* Another shape for a value. */
static enum emu_status reshape(struct graph_builder *b, const struct layer *l, const char *suffix,
                               uint32_t from, const int64_t *shape, uint32_t rank, uint32_t *out)
{
    struct line line = { .op = "Reshape", .suffix = suffix, .in = { from }, .ins = 2 };

    TRY(constant(b, OP_TYPE_I64, 1, &rank, shape, &line.in[1]));
    return add(b, l, &line, out);
}

/* Scale 1 and shift 0 for each group. */
static enum emu_status plain_norm(struct graph_builder *b, uint32_t groups, uint32_t *scale,
                                  uint32_t *shift)
{
    double *numbers = emu_alloc(2 * groups, sizeof(*numbers));
    enum emu_status s = numbers ? EMU_OK : FAIL(NO_MEMORY, "a norm");

    for (uint32_t k = 0; numbers && k < groups; k++)
        numbers[k] = 1;
    if (s == EMU_OK)
        s = constant(b, OP_TYPE_F32, 1, &groups, numbers, scale);
    if (s == EMU_OK)
        s = constant(b, OP_TYPE_F32, 1, &groups, numbers + groups, shift);
    emu_free(numbers);
    return s;
}

/* A scale and a shift for each channel. */
static enum emu_status add_affine(struct graph_builder *b, uint32_t i, uint32_t x, uint32_t *out)
{
    static const int64_t column[] = { 1, -1, 1, 1 };
    const struct layer *l = &b->net->layer[i];
    struct line scale = { .op = "Mul", .suffix = ".scale", .in = { x }, .ins = 2 };
    struct line shift = { .op = "Add", .ins = 2 };

    TRY(parameter(b, i, "weight", &scale.in[1]));
    TRY(parameter(b, i, "bias", &shift.in[1]));
    TRY(reshape(b, l, ".weight", scale.in[1], column, 4, &scale.in[1]));
    TRY(reshape(b, l, ".bias", shift.in[1], column, 4, &shift.in[1]));
    TRY(add(b, l, &scale, &shift.in[0]));
    return add(b, l, &shift, out);
}

/* Version 17 has no group norm: groups become channels of instances. */
static enum emu_status add_group_norm(struct graph_builder *b, uint32_t i, uint32_t *out)
{
    const struct layer *l = &b->net->layer[i];
    const int64_t grouped[] = { b->net->batch, l->norm_groups, -1 };
    const int64_t field[] = { b->net->batch, l->out_c, l->out_h, l->out_w };
    struct line norm = { .op = "InstanceNormalization",
                         .suffix = ".instances",
                         .ins = 3,
                         .attr = { FLOAT("epsilon", l->eps) },
                         .attrs = 1 };
    uint32_t x;

    TRY(plain_norm(b, l->norm_groups, &norm.in[1], &norm.in[2]));
    TRY(reshape(b, l, ".groups", b->result[l->input[0]], grouped, 3, &norm.in[0]));
    TRY(add(b, l, &norm, &x));
    TRY(reshape(b, l, ".field", x, field, 4, &x));
    return add_affine(b, i, x, out);
}

static enum emu_status add_swish(struct graph_builder *b, const struct layer *l, uint32_t *out)
{
    const struct line gate = {
        .op = "Sigmoid", .suffix = ".sigmoid", .in = { b->result[l->input[0]] }, .ins = 1
    };
    struct line mul = { .op = "Mul", .in = { b->result[l->input[0]] }, .ins = 2 };

    TRY(add(b, l, &gate, &mul.in[1]));
    return add(b, l, &mul, out);
}

static enum emu_status add_maxpool(struct graph_builder *b, const struct layer *l, uint32_t *out)
{
    const int64_t pads[] = { l->pad.before_h, l->pad.before_w, l->pad.after_h, l->pad.after_w };
    const int64_t strides[] = { l->stride, l->stride }, kernel[] = { l->kernel, l->kernel };
    const struct line line = { .op = "MaxPool",
                               .in = { b->result[l->input[0]] },
                               .ins = 1,
                               .attr = { INTS("pads", pads), INTS("strides", strides),
                                         INTS("kernel_shape", kernel) },
                               .attrs = 3 };

    return add(b, l, &line, out);
}

/* An operator of one or two inputs without attributes. */
static enum emu_status add_plain(struct graph_builder *b, const struct layer *l, const char *op,
                                 uint32_t *out)
{
    struct line line = { .op = op, .in = { b->result[l->input[0]] }, .ins = 1 };

    if (l->input[1] != LAYER_NONE)
        line.in[line.ins++] = b->result[l->input[1]];
    if (l->op == LAYER_SOFTMAX)
        line.out = "scores";
    return add(b, l, &line, out);
}

static enum emu_status add_input(struct graph_builder *b, const struct layer *l, uint32_t *out)
{
    const struct op_shape s = { .type = OP_TYPE_F32,
                                .rank = 4,
                                .dim = { b->net->batch, l->out_c, l->out_h, l->out_w } };

    TRY(op_value_new(b->g, "picture", OP_INPUT, &s, out));
    return op_graph_input(b->g, *out);
}

static enum emu_status add_layer(struct graph_builder *b, uint32_t i, uint32_t *out)
{
    const struct layer *l = &b->net->layer[i];

    switch (l->op) {
    case LAYER_INPUT:
        return add_input(b, l, out);
    case LAYER_CONV:
        return add_conv(b, i, out);
    case LAYER_LINEAR:
        return add_linear(b, i, out);
    case LAYER_NORM:
        return l->norm == NORM_GROUP ? add_group_norm(b, i, out) : add_batch_norm(b, i, out);
    case LAYER_SWISH:
        return add_swish(b, l, out);
    case LAYER_MAXPOOL:
        return add_maxpool(b, l, out);
    case LAYER_RELU:
        return add_plain(b, l, "Relu", out);
    case LAYER_SIGMOID:
        return add_plain(b, l, "Sigmoid", out);
    case LAYER_AVGPOOL:
        return add_plain(b, l, "GlobalAveragePool", out);
    case LAYER_SCALE:
        return add_plain(b, l, "Mul", out);
    case LAYER_ADD:
        return add_plain(b, l, "Add", out);
    default:
        EMU_ASSERT(l->op == LAYER_SOFTMAX);
        return add_plain(b, l, "Softmax", out);
    }
}

enum emu_status weights_graph_new(const struct net *n, const struct weights *w,
                                  struct op_graph **out)
{
    struct graph_builder b = { .net = n, .weights = w };
    enum emu_status s = op_graph_new(n->name, &b.g);

    *out = NULL;
    TRY(s);
    b.result = emu_alloc(n->layers + 1, sizeof(*b.result));
    if (!b.result)
        s = FAIL(NO_MEMORY, "a network of %u layers", n->layers);
    for (uint32_t i = 0; s == EMU_OK && i < n->layers; i++)
        s = add_layer(&b, i, &b.result[i]);
    if (s == EMU_OK)
        s = op_graph_output(b.g, b.result[n->layers - 1]);
    if (s == EMU_OK)
        s = op_graph_check(b.g);
    emu_free(b.result);
    if (s == EMU_OK)
        *out = b.g;
    else
        op_graph_free(b.g);
    return s;
}
