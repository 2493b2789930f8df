/* lower_conv_back.c - ConvTranspose, which is also the gradient of a convolution by its input, and
 * the gradient by its weights. */
#include "models/lower/lowering.h"
#include "models/operators/op_window.h"

/* A convolution as its gradients see it: from x [n][in_c][h][w] to y. */
struct turned_conv {
    struct conv_layer layer; /* without weights */
    struct activation x, y;  /* sizes */
};

static struct activation sizes_of(const struct op_shape *s)
{
    return (struct activation){
        .n = s->dim[0], .c = s->dim[1], .h = s->rank > 3 ? s->dim[2] : 1, .w = s->dim[s->rank - 1]
    };
}

/* Checks that the rows and columns that windows reach are those of the input; if not, the input was
 * padded differently. */
static int fits(const struct turned_conv *t)
{
    const struct conv_layer *l = &t->layer;
    uint32_t h = t->x.h + l->pad_top + l->pad_bottom, w = t->x.w + l->pad_left + l->pad_right;
    uint32_t reach_h = conv_reach(l->kernel_h, l->dilation_h);
    uint32_t reach_w = conv_reach(l->kernel_w, l->dilation_w);

    return h >= reach_h && w >= reach_w && (h - reach_h) / l->stride_h + 1 == t->y.h &&
           (w - reach_w) / l->stride_w + 1 == t->y.w;
}

static int turned_of(const struct op_graph *g, const struct op_node *n, struct turned_conv *t)
{
    struct op_call c = op_attrs_of(g, n);
    int by_weights = op_node_is(n, OP_ConvWeightGradient);
    const struct op_shape *x = &g->value[by_weights ? n->in[0] : n->out[0]].shape;
    const struct op_shape *y = &g->value[by_weights ? n->in[1] : n->in[0]].shape;
    const struct op_shape *w = &g->value[by_weights ? n->out[0] : n->in[1]].shape;
    struct op_window window;

    *t = (struct turned_conv){ .layer = { .out_c = y->dim[1] } };
    if (x->rank < 3 || op_window_read(&c, by_weights ? x : y, w->dim + 2, &window) != EMU_OK ||
        (by_weights ? op_window_forward(&c, 0, &window) : op_window_transposed(&c, &window)) !=
            EMU_OK ||
        !conv_take_window(&window, &t->layer))
        return 0;
    t->layer.groups = (uint32_t)op_int(&c, "group");
    t->x = sizes_of(x);
    t->y = sizes_of(y);
    return fits(t);
}

/* x and the bias, a number for each channel. */
static struct activation biased(struct lowering *l, struct activation x, uint32_t bias,
                                const char *name)
{
    const struct op_shape all = *lower_shape(l, bias);
    uint32_t blocks = channel_blocks_of(x.c), rest = blocks * CHANNEL_BLOCK - all.dim[0];
    const struct op_shape zeros = { .rank = 1, .dim = { rest } };
    struct tensor part[] = { lower_view(l, bias), { 0 } }, t = part[0];

    if (ss_tensor_elem(l->g, t) != ELEM_F16)
        t = ss_op_cast(l->g, l->seq, t, ELEM_F16, name);
    part[0] = t;
    if (rest) {
        part[1] = lower_filled(l, ELEM_F16, &zeros, 0);
        t = ss_tensor_concat(l->g, part, 2, 0);
    }
    t = ss_tensor_reshape(l->g, t, 5, (const uint32_t[]){ blocks, 1, 1, 1, CHANNEL_BLOCK });
    for (unsigned d = 1; d < 4; d++)
        t = ss_tensor_broadcast(l->g, t, d, ss_tensor_shape(l->g, x.t)[d]);
    x.t = ss_op_binary(l->g, l->seq, BINARY_ADD, x.t, t, name);
    return x;
}

/* ---- by weights ---- */

struct tensor lower_gradient_of_blocks(struct lowering *l, const struct op_node *n,
                                       struct tensor blocks)
{
    static const uint32_t one[] = { 1, 1, 1, 1, 1 };
    struct turned_conv c;
    int found = turned_of(l->og, n, &c);

    EMU_ASSERT(found);
    /* Of x only sizes are asked for, and that it is a field. */
    c.x.t = ss_tensor_reshape(l->g, ss_tensor_slice(l->g, ss_tensor_flatten(l->g, blocks), 0, 0, 1),
                              5, one);
    return ss_conv_weights_matrix(l->nn, &c.x, &c.layer, blocks);
}

enum emu_status lower_conv_back(struct lowering *l, const struct node_group *group,
                                const struct op_node *n)
{
    struct placed *p = &l->at[n->out[0]];
    struct turned_conv c;
    struct activation x, dy;
    struct tensor t;

    (void)group;
    if (!turned_of(l->og, n, &c))
        return FAIL(BAD_FILE, "a window that is not lowered");
    x = lower_field(l, n->in[0], 1, c.x.n, c.x.h, c.x.w);
    dy = lower_field(l, n->in[1], 1, c.y.n, c.y.h, c.y.w);
    t = ss_op_conv_weight_gradient(l->nn, x, dy, &c.layer, n->name);
    lower_set_view(l, n->out[0], lower_gradient_of_blocks(l, n, t));
    p->blocks = t;
    p->has_blocks = 1;
    return EMU_OK;
}

const char *conv_back_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct turned_conv c;

    return turned_of(g, n, &c) ? NULL
                               : "more than two dimensions behind the channels, or negative pads";
}

/* ---- by data ---- */

enum emu_status lower_conv_transpose(struct lowering *l, const struct op_node *n)
{
    struct tensor w = lower_weights(l, n->in[1]);
    struct turned_conv t;
    struct activation dx, dy;

    if (!turned_of(l->og, n, &t))
        return FAIL(BAD_FILE, "a window that is not lowered");
    t.layer.w = &w;
    dy = lower_field(l, n->in[0], 1, t.y.n, t.y.h, t.y.w);
    t.layer.partials = l->options->partials;
    t.x.t = dy.t; /* of x only sizes are asked for, and that it is a field */
    dx = ss_op_conv_data_gradient(l->nn, dy, &t.layer, &t.x, n->name);
    if (n->ins > 2 && n->in[2] != OP_NONE)
        dx = biased(l, dx, n->in[2], n->name);
    lower_set_field(l, n->out[0], dx, 1);
    return EMU_OK;
}

const char *conv_transpose_obstacle(const struct op_graph *g, const struct op_node *n)
{
    struct turned_conv t;

    return turned_of(g, n, &t)
               ? NULL
               : "more than two dimensions behind the channels, negative pads, or output padding "
                 "beyond the stride";
}
