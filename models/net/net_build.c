/* net_build.c - appends the parts of networks as operators: names, parameters, and what SAME and
 * torch padding mean. */
#include <string.h>

#include "emu/base/alloc.h"
#include "models/net/net_build.h"

enum { GROUP_NORM_GROUPS = 4, COLOURS = 3, INS_MAX = 5, ATTRS_MAX = 4 };
static const double group_norm_eps = 1e-3;
const char net_logits[] = "fc";

/* ---- names ---- */

/* Joins stem and suffix by the rule of net_build.h. A name that is too long is a bug. */
static void name_join(char out[NET_NAME_MAX], const char *stem, const char *suffix)
{
    int n;

    if (suffix[0] && suffix[0] != '.')
        stem = "";
    n = snprintf(out, NET_NAME_MAX, "%s%s", stem, suffix);
    EMU_ASSERT(n > 0 && n < NET_NAME_MAX);
}

void build_block(struct net_builder *b, const char *block, const char *prefix)
{
    name_join(b->block, "", block);
    snprintf(b->prefix, sizeof(b->prefix), "%s", prefix);
}

/* ---- nodes ---- */

/* A node of a part. */
struct part_line {
    enum op_code op;
    const char *name;
    const char *suffix; /* of the node's name, behind the part's; NULL: none */
    const char *out;    /* name of the result; NULL: the node's */
    uint32_t in[INS_MAX];
    uint32_t ins;
    struct op_named_attr attr[ATTRS_MAX];
    uint32_t attrs;
};

static uint32_t add(struct net_builder *b, const struct part_line *line)
{
    char part[NET_NAME_MAX], name[2 * NET_NAME_MAX];
    const char *const result = line->out ? line->out : name;
    const struct op_request r = { .op = op_name(line->op),
                                  .name = name,
                                  .block = b->block,
                                  .in = line->in,
                                  .ins = line->ins,
                                  .out_name = &result,
                                  .outs = 1,
                                  .attr = line->attr,
                                  .attrs = line->attrs };
    uint32_t out = OP_NONE;

    if (b->status != EMU_OK)
        return OP_NONE;
    name_join(part, b->block, line->name);
    snprintf(name, sizeof(name), "%s%s", part, line->suffix ? line->suffix : "");
    b->status = op_node(b->net->graph, &r, &out);
    EMU_ASSERT(b->status != EMU_OK || !b->net->graph->problems);
    return out;
}

#define INTS(label, list)                                                                          \
    {                                                                                              \
        label,                                                                                     \
        {                                                                                          \
            .kind = OP_ATTR_INTS, .count = EMU_COUNT_OF(list), .ints = list                        \
        }                                                                                          \
    }
#define INT(label, number)                                                                         \
    {                                                                                              \
        label,                                                                                     \
        {                                                                                          \
            .kind = OP_ATTR_INT, .i = number                                                       \
        }                                                                                          \
    }
#define FLOAT(label, number)                                                                       \
    {                                                                                              \
        label,                                                                                     \
        {                                                                                          \
            .kind = OP_ATTR_FLOAT, .f = number                                                     \
        }                                                                                          \
    }

uint32_t build_unary(struct net_builder *b, enum op_code op, uint32_t from, const char *name)
{
    return add(b, &(struct part_line){ .op = op, .name = name, .in = { from }, .ins = 1 });
}

uint32_t build_binary(struct net_builder *b, enum op_code op, uint32_t x, uint32_t y,
                      const char *name)
{
    return add(b, &(struct part_line){ .op = op, .name = name, .in = { x, y }, .ins = 2 });
}

uint32_t build_channels(const struct net_builder *b, uint32_t value)
{
    return b->status == EMU_OK ? b->net->graph->value[value].shape.dim[1] : 0;
}

/* ---- parameters ---- */

/* A layer that has parameters. */
struct owner {
    const char *name, *param; /* as in net_build.h */
    enum param_role role;
    uint32_t groups;
};

static uint32_t parameter(struct net_builder *b, const struct owner *o, const char *suffix,
                          unsigned rank, const uint32_t *dim)
{
    struct net *n = b->net;
    struct op_shape s = { .type = OP_TYPE_F32, .rank = rank };
    char prefix[NET_NAME_MAX], name[NET_NAME_MAX + 16];
    struct net_param *p;
    uint32_t value;

    if (b->status == EMU_OK)
        b->status = emu_grow((void **)&n->param, n->params, &b->cap, sizeof(*n->param));
    if (b->status != EMU_OK)
        return OP_NONE;
    memcpy(s.dim, dim, rank * sizeof(*dim));
    name_join(prefix, b->prefix, o->param);
    snprintf(name, sizeof(name), "%s.%s", prefix, suffix);
    b->status = op_value_new(n->graph, name, OP_PARAM, &s, &value);
    if (b->status != EMU_OK)
        return OP_NONE;
    p = &n->param[n->params++];
    *p = (struct net_param){
        .value = value, .suffix = suffix, .role = o->role, .groups = o->groups
    };
    name_join(p->layer, b->block, o->name);
    name_join(p->block, b->block, "");
    return value;
}

/* ---- windows ---- */

struct net_window {
    uint32_t kernel, stride;
    int64_t kernels[2], strides[2], pads[4]; /* pads: before y, x, then after */
};

/* Padding of one dimension. SAME gives ceil(in / stride) outputs and puts the odd element of
 * padding after. */
static void pad(const struct net *n, struct net_window *w, unsigned axis, uint32_t in,
                uint32_t torch)
{
    uint32_t out = (in + w->stride - 1) / w->stride, need = (out - 1) * w->stride + w->kernel;

    need = need > in ? need - in : 0;
    w->kernels[axis] = w->kernel;
    w->strides[axis] = w->stride;
    w->pads[axis] = n->torch_padding ? torch : need / 2;
    w->pads[axis + 2] = n->torch_padding ? torch : need - need / 2;
}

/* torch: rows and columns that torch adds on each side. */
static struct net_window window_of(const struct net_builder *b, uint32_t from, uint32_t kernel,
                                   uint32_t stride, uint32_t torch)
{
    struct net_window w = { .kernel = kernel, .stride = stride };

    for (unsigned k = 0; k < 2 && b->status == EMU_OK; k++)
        pad(b->net, &w, k, b->net->graph->value[from].shape.dim[k + 2], torch);
    return w;
}

/* ---- parts ---- */

uint32_t build_picture(struct net_builder *b)
{
    struct net *n = b->net;
    const struct op_shape s = { .type = OP_TYPE_F32,
                                .rank = 4,
                                .dim = { n->batch, COLOURS, n->resolution, n->resolution } };
    uint32_t out = OP_NONE;

    if (b->status == EMU_OK && op_shape_check(&s) != EMU_OK)
        b->status = FAIL(USAGE, "%u pictures of %u x %u: %s", n->batch, n->resolution,
                         n->resolution, ss_error());
    if (b->status == EMU_OK)
        b->status = op_value_new(n->graph, "picture", OP_INPUT, &s, &out);
    if (b->status == EMU_OK)
        b->status = op_graph_input(n->graph, out);
    return out;
}

uint32_t build_conv(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    struct build_kernels s)
{
    uint32_t in_c = build_channels(b, from);
    const uint32_t dim[] = { s.out_c, in_c / s.groups, s.kernel, s.kernel };
    const struct owner owner = { name, param, PARAM_CONV, s.groups };
    const struct net_window w = window_of(b, from, s.kernel, s.stride, s.kernel / 2);
    struct part_line line = { .op = OP_Conv,
                              .name = name,
                              .in = { from },
                              .ins = 2,
                              .attr = { INTS("pads", w.pads), INTS("strides", w.strides),
                                        INT("group", s.groups) },
                              .attrs = 3 };

    EMU_ASSERT(in_c % s.groups == 0 && s.out_c % s.groups == 0);
    line.in[1] = parameter(b, &owner, "weight", 4, dim);
    return add(b, &line);
}

static uint32_t batch_norm(struct net_builder *b, uint32_t from, const struct owner *owner)
{
    static const char *const suffix[] = { "weight", "bias", "running_mean", "running_var" };
    uint32_t channels = build_channels(b, from);
    struct part_line line = { .op = OP_BatchNormalization,
                              .name = owner->name,
                              .in = { from },
                              .ins = 5,
                              .attr = { FLOAT("epsilon", b->batch_eps) },
                              .attrs = 1 };

    for (unsigned k = 0; k < EMU_COUNT_OF(suffix); k++)
        line.in[k + 1] = parameter(b, owner, suffix[k], 1, &channels);
    return add(b, &line);
}

static uint32_t group_norm(struct net_builder *b, uint32_t from, const struct owner *owner)
{
    uint32_t channels = build_channels(b, from);
    struct part_line line = { .op = OP_GroupNormalization,
                              .name = owner->name,
                              .in = { from },
                              .ins = 3,
                              .attr = { FLOAT("epsilon", group_norm_eps),
                                        INT("num_groups", GROUP_NORM_GROUPS),
                                        INT("strided", b->net->norm == NORM_GROUP) },
                              .attrs = 3 };

    EMU_ASSERT(channels % GROUP_NORM_GROUPS == 0);
    line.in[1] = parameter(b, owner, "weight", 1, &channels);
    line.in[2] = parameter(b, owner, "bias", 1, &channels);
    return add(b, &line);
}

uint32_t build_norm(struct net_builder *b, uint32_t from, const char *name, const char *param,
                    enum param_role role)
{
    const struct owner owner = { name, param, role, 1 };

    return b->net->norm == NORM_BATCH ? batch_norm(b, from, &owner) : group_norm(b, from, &owner);
}

uint32_t build_maxpool(struct net_builder *b, uint32_t from, const char *name, uint32_t kernel,
                       uint32_t stride, uint32_t torch)
{
    const struct net_window w = window_of(b, from, kernel, stride, torch);

    return add(b, &(struct part_line){ .op = OP_MaxPool,
                                       .name = name,
                                       .in = { from },
                                       .ins = 1,
                                       .attr = { INTS("pads", w.pads), INTS("strides", w.strides),
                                                 INTS("kernel_shape", w.kernels) },
                                       .attrs = 3 });
}

uint32_t build_squeeze(struct net_builder *b, uint32_t from, const char *name, const char *param,
                       uint32_t out_c, enum param_role role)
{
    const uint32_t dim[] = { out_c, build_channels(b, from), 1, 1 };
    const struct owner owner = { name, param, role, 1 };
    struct part_line line = { .op = OP_Conv, .name = name, .in = { from }, .ins = 3 };

    b->net->gated = 1;
    line.in[1] = parameter(b, &owner, "weight", 4, dim);
    line.in[2] = parameter(b, &owner, "bias", 1, &out_c);
    return add(b, &line);
}

uint32_t build_classifier(struct net_builder *b, uint32_t from, const char *param)
{
    const uint32_t dim[] = { b->net->classes, build_channels(b, from) };
    const struct owner owner = { net_logits, param, PARAM_CLASSIFIER, 1 };
    struct part_line line = {
        .op = OP_Gemm, .name = net_logits, .ins = 3, .attr = { INT("transB", 1) }, .attrs = 1
    };
    struct part_line flat = {
        .op = OP_Flatten, .name = net_logits, .suffix = ".flatten", .ins = 1
    };
    struct part_line softmax = { .op = OP_Softmax, .name = "softmax", .out = "scores", .ins = 1 };
    uint32_t scores;

    flat.in[0] = from;
    line.in[0] = add(b, &flat);
    line.in[1] = parameter(b, &owner, "weight", 2, dim);
    line.in[2] = parameter(b, &owner, "bias", 1, dim);
    softmax.in[0] = add(b, &line);
    scores = add(b, &softmax);
    if (b->status == EMU_OK)
        b->status = op_graph_output(b->net->graph, scores);
    return scores;
}
