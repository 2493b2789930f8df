/* conv_data_gradient.c - the gradient of a convolution's input: a convolution of dy with the taps
 * in reverse and inputs and outputs exchanged.
 *
 * With a stride s input position j meets the taps k with (j + pad - k) mod s = 0 only: a phase for
 * every remainder of j, which is a convolution of stride 1 with every s-th tap. The results of all
 * phases are then copied to their places. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/ops_gradient.h"

#include <string.h>

struct data_gradient {
    struct nn *nn;
    struct graph *g;
    const struct conv_layer *l;
    struct activation x, dy;
    struct tensor w; /* of the transposed layer, taps in reverse; home_form: as in conv_tensors.h */
    int home_form, depthwise;
};

/* ---- weights ---- */

/* t with dimension dim in reverse. */
static struct tensor reversed(struct graph *g, struct tensor t, unsigned dim)
{
    uint32_t n = ss_tensor_shape(g, t)[dim];
    struct tensor *part = emu_alloc(n, sizeof(*part));

    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "taps");
        return t;
    }
    for (uint32_t i = 0; i < n; i++)
        part[i] = ss_tensor_slice(g, t, dim, n - 1 - i, n - i);
    t = ss_tensor_concat(g, part, n, dim);
    ss_free(part);
    return t;
}

/* `n` elements of dimension dim, `step` apart. */
static struct tensor every_from(struct graph *g, struct tensor t, unsigned dim, uint32_t first,
                                uint32_t step, uint32_t n)
{
    struct tensor *part = emu_alloc(n, sizeof(*part));

    if (!part) {
        ss_graph_fail(g, EMU_NO_MEMORY, "taps");
        return t;
    }
    for (uint32_t i = 0; i < n; i++)
        part[i] = ss_tensor_slice(g, t, dim, first + i * step, first + i * step + 1);
    t = ss_tensor_concat(g, part, n, dim);
    ss_free(part);
    return t;
}

/* Blocks [groups x out][in][rows][columns][16][16] as those of the transposed layer, [groups x
 * in][out]..; the 16 x 16 inside are transposed on the tiles where they are. */
static struct tensor transposed_blocks(struct data_gradient *d, struct tensor w)
{
    struct graph *g = d->g;
    const uint32_t *s = ss_tensor_shape(g, w), groups = d->l->groups;
    const uint32_t split[] = { groups, s[0] / groups, s[1],
                               s[2],   s[3],          CHANNEL_BLOCK * CHANNEL_BLOCK };
    const uint32_t shape[] = { groups * s[1], s[0] / groups, s[2],
                               s[3],          CHANNEL_BLOCK, CHANNEL_BLOCK };
    struct tensor from = ss_tensor_reshape(g, w, 6, split);
    struct tensor to = ss_graph_variable(g, ELEM_F16, 6, shape, "transposed weights");
    struct tile_parts parts = { 0 };
    enum emu_status st;
    uint32_t cs;

    from = ss_tensor_transpose(g, from, (const unsigned[]){ 0, 2, 1, 3, 4, 5 });
    from = ss_tensor_flatten(g, reversed(g, reversed(g, from, 3), 4));
    if (ss_graph_status(g) != EMU_OK)
        return w;
    ss_graph_map_like(g, ss_tensor_flatten(g, to), from);
    st = tile_parts_of(g, to, &parts);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s", ss_error());
        return w;
    }
    cs = op_compute_set(g, d->nn->seq, "transpose");
    for (size_t i = 0; i < parts.count; i++)
        VERTEX(transpose16_f16, g, cs, parts.at[i].tile, .x = tile_part_take(g, &parts, i, from),
               .y = tile_part_take(g, &parts, i, to),
               .blocks = (uint32_t)parts.at[i].elements / (CHANNEL_BLOCK * CHANNEL_BLOCK));
    tile_parts_free(&parts);
    return to;
}

/* Weights [groups x out][in][rows][columns] as those of the transposed layer. */
static struct tensor transposed_rows(struct data_gradient *d, struct tensor w)
{
    struct graph *g = d->g;
    const uint32_t *s = ss_tensor_shape(g, w), groups = d->l->groups;
    const uint32_t split[] = { groups, s[0] / groups, s[1], s[2], s[3] };
    const uint32_t shape[] = { groups * s[1], s[0] / groups, s[2], s[3] };

    w = ss_tensor_transpose(g, ss_tensor_reshape(g, w, 5, split),
                            (const unsigned[]){ 0, 2, 1, 3, 4 });
    w = ss_tensor_reshape(g, w, 4, shape);
    return reversed(g, reversed(g, w, 2), 3);
}

static enum emu_status take_weights(struct data_gradient *d)
{
    struct conv_shape s = ss_conv_layer_shape(&d->x, d->l);
    struct graph *g = d->g;
    unsigned rank;
    struct tensor w;

    TRY(ss_graph_status(g));
    if (!d->l->w)
        return FAIL(USAGE, "the gradient of a convolution whose weights are no tensor");
    s.blocks = ss_conv_is_first(&s);
    d->depthwise = ss_conv_method_of(&s) == CONV_DEPTHWISE;
    if (ss_tensor_rank(g, *d->l->w) == 5 && !d->depthwise)
        return FAIL(USAGE, "the gradient of a picture");
    w = conv_f16(d->nn, *d->l->w, "weights");
    rank = ss_tensor_rank(g, w);
    d->home_form = rank != 4;
    if (rank == 6)
        d->w = transposed_blocks(d, w);
    else if (rank == 5) /* depthwise: [blocks][rows][columns][1][16] */
        d->w = reversed(g, reversed(g, w, 1), 2);
    else
        d->w = transposed_rows(d, w);
    return ss_graph_status(g);
}

/* ---- phases ---- */

/* What positions begin, begin + step, .. of an input meet along an axis: `taps` taps of the
 * reversed kernel, from `first` on, step apart, in a convolution of dy with `before` and `after`
 * positions of zeros around it. Below 0: positions of dy that are left out. */
struct phase_axis {
    uint32_t begin, step, count, taps, first;
    int64_t before, after;
};

static struct phase_axis phase_axis(uint32_t begin, uint32_t stride, uint32_t kernel, uint32_t pad,
                                    uint32_t size, uint32_t out, uint32_t dilation)
{
    struct phase_axis a = { .begin = begin, .step = stride };
    uint32_t r = (begin + pad) % stride, reach;

    a.count = begin < size ? (size - begin + stride - 1) / stride : 0;
    a.taps = r < kernel ? (kernel - r + stride - 1) / stride : 0;
    if (!a.taps || !a.count)
        return a;
    reach = conv_reach(a.taps, dilation);
    a.first = kernel - 1 - r - stride * (a.taps - 1);
    a.before = (int64_t)reach - 1 - (begin + pad - r) / stride;
    a.after = (int64_t)a.count - out - a.before + reach - 1;
    if (-a.before >= out || -a.after >= out || -a.before - a.after >= out)
        a.taps = 0; /* it meets positions around dy only */
    return a;
}

/* Dimension dim of t without the positions that are left out; the rest of them is padding. */
static struct tensor crop(struct graph *g, struct tensor t, unsigned dim, struct phase_axis *a,
                          uint32_t *size)
{
    uint32_t begin = a->before < 0 ? (uint32_t)-a->before : 0;
    uint32_t end = *size - (a->after < 0 ? (uint32_t)-a->after : 0);

    *size = end - begin;
    a->before = a->before < 0 ? 0 : a->before;
    a->after = a->after < 0 ? 0 : a->after;
    return ss_tensor_slice(g, t, dim, begin, end);
}

/* The positions of one phase of dx: convolves dy. */
static struct activation convolve(const struct data_gradient *d, struct activation dy,
                                  struct phase_axis h, struct phase_axis w, const char *name)
{
    struct graph *g = d->g;
    unsigned dim = d->home_form && d->depthwise ? 1 : 2;
    struct tensor taps = every_from(g, d->w, dim, h.first, h.step, h.taps);
    struct conv_layer l = { .out_c = d->x.c,
                            .groups = d->l->groups,
                            .kernel_h = h.taps,
                            .kernel_w = w.taps,
                            .stride_h = 1,
                            .stride_w = 1,
                            .dilation_h = d->l->dilation_h,
                            .dilation_w = d->l->dilation_w,
                            .partials = d->l->partials,
                            .depthwise = d->l->depthwise };

    taps = every_from(g, taps, dim + 1, w.first, w.step, w.taps);
    dy.t = crop(g, dy.t, 2, &h, &dy.h);
    dy.t = crop(g, dy.t, 3, &w, &dy.w);
    l.w = &taps;
    l.pad_top = (uint32_t)h.before;
    l.pad_bottom = (uint32_t)h.after;
    l.pad_left = (uint32_t)w.before;
    l.pad_right = (uint32_t)w.after;
    return ss_op_conv(d->nn, dy, &l, NULL, name);
}

/* dy with stride - 1 zeros between its positions. */
static struct activation spread(const struct data_gradient *d)
{
    const struct conv_layer *l = d->l;
    struct activation dy = d->dy;
    struct activation z = nn_activation(d->nn, dy.n, dy.c, (dy.h - 1) * l->stride_h + 1,
                                        (dy.w - 1) * l->stride_w + 1, "spread");

    ss_graph_map_linear(d->g, z.t, CHANNEL_BLOCK, CHANNEL_BLOCK, 0, ss_graph_compute_tiles(d->g));
    ss_op_fill(d->g, d->nn->seq, z.t, 0, "zeros");
    ss_program_add(d->g, d->nn->seq,
                   ss_program_copy(d->g, dy.t, conv_every(d->g, z.t, l->stride_h, l->stride_w)));
    return z;
}

/* Whether dy must be spread: the sliding unit has no codelets for the kernels of phases, and with
 * dilation a phase may meet taps that are not equally far apart. */
static int spreads(const struct data_gradient *d)
{
    const struct conv_layer *l = d->l;

    return (l->stride_h > 1 || l->stride_w > 1) &&
           (d->depthwise || l->dilation_h > 1 || l->dilation_w > 1);
}

/* The places of a phase in dx. */
static struct tensor places(struct graph *g, const struct activation *dx,
                            const struct phase_axis *h, const struct phase_axis *w)
{
    struct tensor t = ss_tensor_slice(g, dx->t, 2, h->begin, dx->h);

    return conv_every(g, ss_tensor_slice(g, t, 3, w->begin, dx->w), h->step, w->step);
}

/* Convolves phase by phase; all positions that are not met become zeros. */
static struct activation by_phases(const struct data_gradient *d, struct activation dy,
                                   uint32_t stride_h, uint32_t stride_w)
{
    const struct conv_layer *l = d->l;
    uint32_t phases = stride_h * stride_w, n = 0, met = 0;
    struct activation dx = nn_activation(d->nn, d->x.n, d->x.c, d->x.h, d->x.w, "dx");
    struct tensor *from = emu_alloc(phases, sizeof(*from)), *to = emu_alloc(phases, sizeof(*to));

    ss_graph_map_linear(d->g, dx.t, CHANNEL_BLOCK, CHANNEL_BLOCK, 0, ss_graph_compute_tiles(d->g));
    if (!from || !to)
        ss_graph_fail(d->g, EMU_NO_MEMORY, "%u phases", phases);
    for (uint32_t i = 0; i < phases && ss_graph_status(d->g) == EMU_OK; i++) {
        struct phase_axis h =
            phase_axis(i / stride_w, stride_h, l->kernel_h, l->pad_top, dx.h, dy.h, l->dilation_h);
        struct phase_axis w =
            phase_axis(i % stride_w, stride_w, l->kernel_w, l->pad_left, dx.w, dy.w, l->dilation_w);

        if (!h.count || !w.count || !h.taps || !w.taps)
            continue;
        met += h.count * w.count;
        from[n] = ss_tensor_flatten(d->g, convolve(d, dy, h, w, "phase").t);
        to[n++] = ss_tensor_flatten(d->g, places(d->g, &dx, &h, &w));
    }
    if (met < dx.h * dx.w)
        ss_op_fill(d->g, d->nn->seq, dx.t, 0, "zeros");
    if (n && ss_graph_status(d->g) == EMU_OK)
        ss_program_add(d->g, d->nn->seq,
                       ss_program_copy(d->g, ss_tensor_concat(d->g, from, n, 0),
                                       ss_tensor_concat(d->g, to, n, 0)));
    ss_free(from);
    ss_free(to);
    return dx;
}

/* A gradient of stride 1: one phase, whose result lies where its plan computes it. */
static struct activation at_once(const struct data_gradient *d, struct activation dy)
{
    const struct conv_layer *l = d->l;
    struct phase_axis h = phase_axis(0, 1, l->kernel_h, l->pad_top, d->x.h, dy.h, l->dilation_h);
    struct phase_axis w = phase_axis(0, 1, l->kernel_w, l->pad_left, d->x.w, dy.w, l->dilation_w);

    if (!h.taps || !w.taps)
        return by_phases(d, dy, 1, 1);
    return convolve(d, dy, h, w, "convolve");
}

struct activation ss_op_conv_data_gradient(struct nn *nn, struct activation dy,
                                           const struct conv_layer *l, const struct activation *x,
                                           const char *name)
{
    struct data_gradient d = { .nn = nn, .g = nn_graph(nn), .l = l, .x = *x, .dy = dy };
    struct activation dx = dy;
    enum emu_status s;

    if (ss_graph_status(d.g) != EMU_OK)
        return *x;
    ss_graph_push(nn->g, name);
    s = take_weights(&d);
    if (s != EMU_OK)
        ss_graph_fail(nn->g, s, "%s: %s", name, ss_error());
    else if (spreads(&d))
        dx = at_once(&d, spread(&d));
    else if (l->stride_h == 1 && l->stride_w == 1)
        dx = at_once(&d, dy);
    else
        dx = by_phases(&d, dy, l->stride_h, l->stride_w);
    ss_graph_pop(nn->g);
    return dx;
}
