/* window_pool_op.c - layers that work position by position, besides convolutions: sums of two
 * activations, and pools over windows. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_rotation.h"
#include "programs/library/pool/pool_window.h"

#include <string.h>

/* ---- sums ---- */

static void add_parts(struct nn *nn, const struct tile_parts *parts, struct activation a,
                      struct activation b, const struct codelet *codelet, const char *name)
{
    struct graph *g = nn->g;
    uint32_t cs;

    ss_graph_push(g, name);
    cs = op_compute_set(g, nn->seq, "add");
    for (size_t i = 0; i < parts->count; i++)
        VERTEX_OF(inplace, codelet, g, cs, parts->at[i].tile, .a = tile_part_take(g, parts, i, a.t),
                  .b = tile_part_take(g, parts, i, b.t));
    ss_graph_pop(g);
}

struct activation ss_op_activation_add(struct nn *nn, struct activation a, struct activation b,
                                       enum activation_function act, const char *name)
{
    struct graph *g = nn_graph(nn);
    struct tile_parts parts = { 0 };
    enum emu_status s = ss_graph_status(g);

    if (s == EMU_OK && (a.n != b.n || a.c != b.c || a.h != b.h || a.w != b.w))
        s = FAIL(USAGE, "the sum of %u x %u x %u x %u and %u x %u x %u x %u values", a.n, a.c, a.h,
                 a.w, b.n, b.c, b.h, b.w);
    if (s == EMU_OK && act != ACT_NONE && act != ACT_RELU)
        s = FAIL(USAGE, "a sum with this activation after: expected none, or relu");
    if (s == EMU_OK)
        s = tile_parts_of(g, a.t, &parts);
    if (s == EMU_OK)
        add_parts(nn, &parts, a, b,
                  act == ACT_RELU ? KERNEL_ROW(add_relu_f16) : KERNEL_ROW(add_inplace_f16), name);
    else
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    tile_parts_free(&parts);
    return a;
}

/* ---- pools over windows ---- */

enum { LOWEST_VALUES = 64 };

/* A constant with the lowest f16 on every tile: what is around the input of a max pool. */
static struct tensor new_lowest(struct nn *nn)
{
    uint32_t tiles = ss_graph_compute_tiles(nn->g), *tile = emu_alloc(tiles, sizeof(*tile));
    uint16_t value[LOWEST_VALUES];
    struct tensor t = nn->zeros;

    for (int i = 0; i < LOWEST_VALUES; i++)
        value[i] = NN_HALF_LOWEST;
    for (uint32_t i = 0; tile && i < tiles; i++)
        tile[i] = i;
    if (tile)
        t = nn_constant(nn, value, LOWEST_VALUES, tile, tiles, "lowest");
    else
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "lowest numbers");
    ss_free(tile);
    return t;
}

/* A pool under construction. */
struct pool_build {
    struct nn *nn;
    const struct pool_layer *layer;
    struct activation x, y;
    struct windows win;
    uint32_t cs;
};

/* 1 / what the windows of part p see, f32 [rows][columns]; owned. */
static uint32_t *mean_scales(const struct pool_build *m, const struct field_part *p)
{
    const struct pool_layer *l = m->layer;
    uint32_t *scale = emu_alloc((size_t)nn_size(p->h) * nn_size(p->w), sizeof(*scale)), n = 0;

    if (!scale)
        ss_graph_fail(m->nn->g, EMU_NO_MEMORY, "the means of a tile");
    for (uint32_t i = p->h.begin; scale && i < p->h.end; i++) {
        uint32_t rows = pool_window_seen(&m->win.h, i, m->x.h, l->pad_bottom, l->count_pads);

        for (uint32_t j = p->w.begin; j < p->w.end; j++) {
            uint32_t all =
                rows * pool_window_seen(&m->win.w, j, m->x.w, l->pad_right, l->count_pads);
            float v = 1.0f / (float)all;

            memcpy(&scale[n++], &v, sizeof(v));
        }
    }
    return scale;
}

/* The vertices of part p, one for each picture. */
static void add_part(const struct pool_build *m, const struct field_part *p)
{
    struct graph *g = m->nn->g;
    uint32_t ho = nn_size(p->h), wo = nn_size(p->w), blocks = nn_size(p->o);
    int mean = m->layer->function == POOL_MEAN;
    uint32_t *scale = mean ? mean_scales(m, p) : NULL;

    for (uint32_t n = p->n.begin; n < p->n.end; n++) {
        uint32_t hp, wp;
        struct tensor in = field_part_input(m->nn, &m->x, &m->win, p, p->o, n, &hp, &wp);
        struct tensor out = field_part_output(m->nn, &m->y, p, n);
        struct pool_window s = pool_window_of(
            &m->win.h, &m->win.w, mean ? POOL_LOADS_MEAN : POOL_LOADS_MAX, ho, wo, hp, wp);

        ss_graph_map(g, out, p->tile);
        in = ss_tensor_flatten(g, in);
        out = ss_tensor_flatten(g, out);
        if (mean)
            VERTEX(avgpool_f16, g, m->cs, p->tile, .x = in, .y = out, .blocks = blocks, .ho = ho,
                   .wo = wo, .more_h = s.more_h, .more_w = s.more_w, .column = s.column,
                   .row = s.row, .across = s.across, .down = s.down, .next = s.next,
                   .scale = word_list(scale, ho * wo));
        else
            VERTEX(maxpool_f16, g, m->cs, p->tile, .x = in, .y = out, .blocks = blocks, .ho = ho,
                   .wo = wo, .more_h = s.more_h, .more_w = s.more_w, .column = s.column,
                   .row = s.row, .across = s.across, .down = s.down, .next = s.next);
    }
    ss_free(scale);
}

/* The pool as a convolution, for its plan. */
static struct conv_shape shape_of(const struct activation *x, const struct pool_layer *l)
{
    struct conv_shape s = { .n = x->n, .in_c = x->c, .in_h = x->h, .in_w = x->w, .out_c = x->c };

    s.groups = x->c;
    s.kernel_h = l->kernel_h;
    s.kernel_w = l->kernel_w;
    s.stride_h = l->stride_h;
    s.stride_w = l->stride_w;
    s.dilation_h = l->dilation_h;
    s.dilation_w = l->dilation_w;
    s.out_h = l->out_h;
    s.out_w = l->out_w;
    return s;
}

/* Whether all windows along a dimension see some of the field. */
static int all_see(const struct window_axis *a, uint32_t out, uint32_t size)
{
    for (uint32_t o = 0; o < out; o++) {
        if (!pool_window_seen(a, o, size, 0, 0))
            return 0;
    }
    return 1;
}

static enum emu_status plan_of(struct pool_build *m, struct conv_plan *p)
{
    const struct pool_layer *l = m->layer;
    struct graph *g = nn_graph(m->nn);
    struct conv_shape s = shape_of(&m->x, l);
    enum conv_method method = l->function == POOL_MEAN ? CONV_MEAN : CONV_POOL;

    TRY(ss_graph_status(g));
    if (!all_see(&m->win.h, l->out_h, m->x.h) || !all_see(&m->win.w, l->out_w, m->x.w))
        return FAIL(USAGE, "%u x %u windows of %u x %u, not all of which see the field of %u x %u",
                    l->out_h, l->out_w, l->kernel_h, l->kernel_w, m->x.h, m->x.w);
    TRY(plan_pool(ss_graph_arch(g), &s, method, 0, ss_graph_compute_tiles(g), m->nn->memory_bytes,
                  p));
    return conv_rotation_choose(m->nn, &m->x, NULL, l->pad_top, l->pad_left, p);
}

/* Whether the windows along a dimension see what is around the field. */
static int has_border(const struct window_axis *a, uint32_t out, uint32_t size)
{
    return a->pad > 0 || (int64_t)(out - 1) * a->stride + conv_reach(a->kernel, a->dilation) >
                             (int64_t)size + a->pad;
}

struct activation ss_op_pool(struct nn *nn, struct activation x, const struct pool_layer *l,
                             const char *name)
{
    struct pool_build m = {
        .nn = nn,
        .layer = l,
        .x = x,
        .win = { .h = { l->kernel_h, l->stride_h, l->dilation_h, (int32_t)l->pad_top },
                 .w = { l->kernel_w, l->stride_w, l->dilation_w, (int32_t)l->pad_left } },
    };
    struct conv_plan p;
    enum emu_status s = plan_of(&m, &p);

    if (s != EMU_OK) {
        ss_graph_fail(nn_graph(nn), s, "%s: %s", name, ss_error());
        return x;
    }
    m.win.border = nn->zeros;
    ss_graph_push(nn->g, name);
    m.y = nn_activation(nn, x.n, x.c, l->out_h, l->out_w, "out");
    if (l->function == POOL_MAX &&
        (has_border(&m.win.h, m.y.h, x.h) || has_border(&m.win.w, m.y.w, x.w)))
        m.win.border = new_lowest(nn);
    m.cs = op_compute_set(nn->g, nn->seq, "pool");
    for (uint32_t i = 0; i < p.cut_n * p.cut_h * p.cut_w * p.cut_out; i++) {
        struct field_part at = field_part_at(&p, &m.y, i, 0);

        add_part(&m, &at);
    }
    ss_graph_pop(nn->g);
    return m.y;
}
