/* pool_gradient.c - gradients of pools, tap by tap: what a tap of all windows says about the input
 * is added to every stride-th position of it. */
#include "programs/library/conv/conv.h"
#include "programs/library/ops_gradient.h"
#include "programs/library/pool/pool_window.h"

#include <string.h>

/* Outputs [out.begin, out.end) see a position with a tap, the first one position `in`. */
struct tap_axis {
    struct nn_range out;
    uint32_t in;
};

static struct tap_axis tap_axis(uint32_t tap, uint32_t dilation, uint32_t stride, uint32_t pad,
                                uint32_t size, uint32_t outputs)
{
    int64_t at = (int64_t)tap * dilation - pad;
    struct tap_axis a = { { 0, outputs }, 0 };

    while (a.out.begin < outputs && at + (int64_t)a.out.begin * stride < 0)
        a.out.begin++;
    while (a.out.end > a.out.begin && at + (int64_t)(a.out.end - 1) * stride >= (int64_t)size)
        a.out.end--;
    a.in = (uint32_t)(at + (int64_t)a.out.begin * stride);
    return a;
}

struct pool_gradient {
    struct nn *nn;
    struct graph *g;
    const struct pool_layer *l;
    struct activation x, y, dy, dx;
    struct tensor left; /* of max: dy of windows whose largest number has not been met */
    const char *name;
};

/* The outputs of t, [c16][n][h][w][16], that see something with a tap. */
static struct tensor outputs_of(struct graph *g, struct tensor t, const struct tap_axis *h,
                                const struct tap_axis *w)
{
    t = ss_tensor_slice(g, t, 2, h->out.begin, h->out.end);
    return ss_tensor_slice(g, t, 3, w->out.begin, w->out.end);
}

/* What they see of t, which has the shape of the input. */
static struct tensor inputs_of(const struct pool_gradient *d, struct tensor t,
                               const struct tap_axis *h, const struct tap_axis *w)
{
    uint32_t rows = (nn_size(h->out) - 1) * d->l->stride_h + 1;
    uint32_t columns = (nn_size(w->out) - 1) * d->l->stride_w + 1;

    t = ss_tensor_slice(d->g, t, 2, h->in, h->in + rows);
    t = ss_tensor_slice(d->g, t, 3, w->in, w->in + columns);
    return conv_every(d->g, t, d->l->stride_h, d->l->stride_w);
}

static void add_tap(const struct pool_gradient *d, uint32_t row, uint32_t column)
{
    const struct pool_layer *l = d->l;
    struct graph *g = d->g;
    struct program seq = d->nn->seq;
    struct tap_axis h = tap_axis(row, l->dilation_h, l->stride_h, l->pad_top, d->x.h, d->y.h);
    struct tap_axis w = tap_axis(column, l->dilation_w, l->stride_w, l->pad_left, d->x.w, d->y.w);
    struct tensor part;

    if (!nn_size(h.out) || !nn_size(w.out))
        return;
    part = outputs_of(g, d->left, &h, &w);
    if (l->function == POOL_MAX) {
        struct tensor left = part;

        part = ss_op_binary(g, seq, BINARY_EQUAL, outputs_of(g, d->y.t, &h, &w),
                            inputs_of(d, d->x.t, &h, &w), d->name);
        part = ss_op_binary(g, seq, BINARY_MUL, part, left, d->name);
        ss_op_axpy(g, seq, -1, part, left, d->name);
    }
    ss_op_axpy(g, seq, 1, part, inputs_of(d, d->dx.t, &h, &w), d->name);
}

/* dy of means, divided by what each window counts. */
static struct tensor divided(const struct pool_gradient *d)
{
    const struct pool_layer *l = d->l;
    uint32_t h = d->y.h, w = d->y.w, shape[] = { 1, 1, h, w, CHANNEL_BLOCK };
    uint16_t *v = emu_alloc((size_t)h * w * CHANNEL_BLOCK, sizeof(*v));
    const struct window_axis rows = { l->kernel_h, l->stride_h, l->dilation_h,
                                      (int32_t)l->pad_top };
    const struct window_axis columns = { l->kernel_w, l->stride_w, l->dilation_w,
                                         (int32_t)l->pad_left };
    struct graph *g = d->g;
    struct tensor t;

    if (!v) {
        ss_graph_fail(g, EMU_NO_MEMORY, "means");
        return d->dy.t;
    }
    for (uint32_t i = 0; i < h * w; i++) {
        uint32_t n = pool_window_seen(&rows, i / w, d->x.h, l->pad_bottom, l->count_pads) *
                     pool_window_seen(&columns, i % w, d->x.w, l->pad_right, l->count_pads);

        for (uint32_t c = 0; c < CHANNEL_BLOCK; c++)
            v[i * CHANNEL_BLOCK + c] = nn_half(n ? 1.0f / (float)n : 0);
    }
    t = ss_graph_constant(g, ELEM_F16, 5, shape, v, "shares");
    ss_free(v);
    ss_graph_map_linear(g, t, CHANNEL_BLOCK, CHANNEL_BLOCK, 0, ss_graph_compute_tiles(g));
    t = ss_tensor_broadcast(g, ss_tensor_broadcast(g, t, 1, d->y.n), 0, channel_blocks(d->y.c));
    return ss_op_binary(g, d->nn->seq, BINARY_MUL, d->dy.t, t, d->name);
}

static int fits(const struct activation *x, const struct activation *y, const struct activation *dy,
                const struct pool_layer *l)
{
    return y->n == x->n && y->c == x->c && y->h == l->out_h && y->w == l->out_w && dy->n == y->n &&
           dy->c == y->c && dy->h == y->h && dy->w == y->w;
}

struct activation ss_op_pool_gradient(struct nn *nn, struct activation x, struct activation y,
                                      struct activation dy, const struct pool_layer *l,
                                      const char *name)
{
    struct pool_gradient d = {
        .nn = nn, .g = nn_graph(nn), .l = l, .x = x, .y = y, .dy = dy, .dx = x, .name = name
    };

    if (!fits(&x, &y, &dy, l))
        ss_graph_fail(d.g, EMU_USAGE, "%s: a pool's result or gradient of another shape", name);
    if (ss_graph_status(d.g) != EMU_OK)
        return x;
    ss_graph_push(nn->g, name);
    d.dx.t = op_like(nn->g, x.t, ELEM_F16, "dx");
    ss_op_fill(nn->g, nn->seq, d.dx.t, 0, name);
    if (l->function == POOL_MAX) {
        d.left = op_like(nn->g, y.t, ELEM_F16, "left");
        ss_program_add(nn->g, nn->seq, ss_program_copy(nn->g, dy.t, d.left));
    } else {
        d.left = divided(&d);
    }
    for (uint32_t k = 0; k < l->kernel_h * l->kernel_w; k++)
        add_tap(&d, k / l->kernel_w, k % l->kernel_w);
    ss_graph_pop(nn->g);
    return d.dx;
}

struct activation ss_op_global_pool_gradient(struct nn *nn, struct activation dy,
                                             const struct activation *x, const char *name)
{
    struct activation dx = *x, share = dy;
    uint32_t field = x->h * x->w;

    if (ss_graph_status(nn_graph(nn)) != EMU_OK)
        return dx;
    ss_graph_push(nn->g, name);
    dx.t = op_like(nn->g, x->t, ELEM_F16, "dx");
    ss_op_fill(nn->g, nn->seq, dx.t, 1, name);
    share.t = ss_op_binary_scalar(nn->g, nn->seq, BINARY_MUL, dy.t,
                                  1.0f / (float)(field ? field : 1), "share");
    dx = ss_op_channel_scale(nn, dx, share, "spread");
    ss_graph_pop(nn->g);
    return dx;
}
