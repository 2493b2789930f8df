/* lower_dense.c - convolutions and dense layers with constant weights, and convolutions with
 * weights that are states. */

#include "models/lower/lowering.h"
#include "models/lower/op_live.h"

/* [n][channels][rows][columns], or without rows, as [n][h][w][numbers of a patch]. */
static struct tensor patches_of(struct lowering *l, const struct dense_layer *d)
{
    const struct op_shape *s = lower_shape(l, d->x);
    const uint32_t field[] = { d->n, s->dim[1], s->rank > 3 ? s->dim[2] : 1, s->dim[s->rank - 1] };
    const uint32_t patches[] = { d->n, s->dim[1], d->h, d->patch_h, d->w, d->patch_w };
    const uint32_t rows[] = { d->n, d->h, d->w, d->in_c };
    struct tensor t = ss_tensor_reshape(l->g, lower_view(l, d->x), 4, field);

    t = ss_tensor_slice(l->g, t, 2, 0, d->h * d->patch_h);
    t = ss_tensor_slice(l->g, t, 3, 0, d->w * d->patch_w);
    t = ss_tensor_reshape(l->g, t, 6, patches);
    t = ss_tensor_transpose(l->g, t, (const unsigned[]){ 0, 2, 4, 1, 3, 5 });
    return ss_tensor_reshape(l->g, t, 4, rows);
}

/* The field that a layer reads. First layers take pictures as they come. */
static struct activation input_of(struct lowering *l, const struct dense_layer *d,
                                  const struct conv_plan *plan)
{
    struct placed *p = &l->at[d->x];

    if (d->patch_h)
        return lower_field_of(l, patches_of(l, d), 3, d->n, d->h, d->w);
    if (plan && plan->method == CONV_FIRST && p->picture.n)
        return p->picture;
    if (p->picture.n && !p->has_field) {
        p->field = ss_op_picture_blocks(l->nn, p->picture, l->og->value[d->x].name);
        p->field.c = d->in_c;
        p->axis = d->axis;
        p->has_field = 1;
    }
    return lower_field(l, d->x, d->axis, d->n, d->h, d->w);
}

static struct activation add_conv(struct lowering *l, const struct node_group *group,
                                  struct dense_layer *d, const char *name)
{
    const struct conv_plan *plan = &l->out->plans.plan[l->conv++];
    struct activation added, x = input_of(l, d, plan);

    if (group->added != OP_NONE) {
        const struct op_shape *s = lower_shape(l, group->added);
        uint32_t h = plan->shape.out_h, w = plan->shape.out_w;

        EMU_ASSERT(d->axis < s->rank);
        added = lower_field(l, group->added, d->axis, d->n, h, w);
        d->conv.add = &added;
    }
    d->conv.plan = plan;
    return ss_op_conv(l->nn, x, &d->conv, &l->out->group[l->group].plan, name);
}

struct tensor lower_weights(struct lowering *l, uint32_t value)
{
    const struct placed *p = &l->at[value];
    struct tensor t = lower_view(l, value);
    const uint32_t *s = ss_tensor_shape(l->g, t);

    if (p->has_blocks)
        return p->blocks;
    return ss_tensor_rank(l->g, t) == 3
               ? ss_tensor_reshape(l->g, t, 4, (const uint32_t[]){ s[0], s[1], 1, s[2] })
               : t;
}

/* A convolution whose weights and bias are tensors. */
static enum emu_status with_tensors(struct lowering *l, const struct node_group *group,
                                    struct dense_layer *d, const char *name)
{
    struct tensor w = lower_weights(l, d->weights), b = { 0 };
    struct activation y;

    if (d->bias != OP_NONE)
        b = lower_state_numbers(l, d->bias);
    d->conv.b = d->bias != OP_NONE ? &b : NULL;
    d->conv.w = &w;
    if (d->linear) {
        w = ss_tensor_reshape(l->g, w, 2, (const uint32_t[]){ d->conv.out_c, d->in_c });
        y = ss_op_linear_tensors(l->nn, input_of(l, d, NULL), w, d->conv.b, group->act, name);
    } else {
        y = add_conv(l, group, d, name);
    }
    lower_set_field(l, node_group_result(l->og, group), y, d->axis);
    return ss_graph_status(l->g);
}

enum emu_status lower_dense(struct lowering *l, const struct node_group *group,
                            const struct op_node *n)
{
    uint32_t result = node_group_result(l->og, group);
    float *weights = NULL, *bias = NULL;
    struct conv_shape shape;
    struct dense_layer d;
    struct activation y;
    enum emu_status s;
    int conv;

    if (op_node_is(n, OP_ConvTranspose))
        return lower_conv_transpose(l, n);
    conv = node_group_conv(l->og, group, l->options, &d, &shape);
    if (d.tensors)
        return with_tensors(l, group, &d, n->name);
    s = dense_layer_numbers(l->og, &d, group->bias, &weights, &bias);
    if (s == EMU_OK) {
        d.conv.weights = weights;
        d.conv.bias = bias;
        y = conv ? add_conv(l, group, &d, n->name)
                 : ss_op_linear(l->nn, input_of(l, &d, NULL), d.conv.out_c, weights, bias,
                                group->act, n->name);
        lower_set_field(l, result, y, d.axis);
        s = ss_graph_status(l->g);
    }
    ss_free(weights);
    ss_free(bias);
    return s;
}

/* Whether a convolution's bias is computed: neither constant nor trained. */
static int bias_is_data(const struct op_graph *g, const struct op_node *n)
{
    const struct op_value *bias = n->ins > 2 && n->in[2] != OP_NONE ? &g->value[n->in[2]] : NULL;

    return bias && !op_value_constant_kind(bias) && bias->kind != OP_STATE;
}

/* Convolutions of f32 are products of slices, whatever their weights and dimensions are. */
const char *dense_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct dense_layer d;

    if (op_node_is(n, OP_ConvTranspose))
        return conv_transpose_obstacle(g, n);
    if (!op_value_constant_kind(&g->value[n->in[1]]) && g->value[n->in[1]].kind != OP_STATE)
        return "weights that are not constant: --precision f32 runs it";
    if (g->value[n->in[0]].shape.rank > 4)
        return "more than two dimensions behind the channels: --precision f32 runs it";
    if (bias_is_data(g, n))
        return "a bias that is not constant: --precision f32 runs it";
    return dense_layer_of(g, n, &d) ? NULL : "constant data, or pads that cut";
}
