/* dw_weight_gradient.c - the gradient of a depthwise convolution's weights: for each channel and
 * tap the sum over all positions of dy times the input that the tap reads.
 *
 * A tile has some blocks of 16 channels, some rows of the kernel, and a box of positions: pictures,
 * rows and columns. It fetches dy there and what the taps read, with halo and border, and leaves a
 * partial sum for each of its taps; those of all boxes are added up in f32. All cuts are tried. */
#include "programs/compiler/base/arena.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_weight_plan.h"
#include "programs/library/depthwise/dw_weight_gradient.h"
#include "programs/library/conv/field_partition.h"

enum { POSITION_BYTES = 2 * CHANNEL_BLOCK, LOAD_BYTES = 16 };

/* Into how many parts are cut: blocks, rows of the kernel, and positions. */
struct dw_cut {
    uint32_t blocks, taps, n, h, w;
    uint64_t cycles, bytes; /* of the busiest tile; bytes: temporary */
};

struct dw_gradient {
    struct nn *nn;
    struct graph *g;
    struct activation x, dy;
    struct windows win;
    struct dw_cut cut;
    VEC(struct tensor) from; /* what tiles fetch, and where to */
    VEC(struct tensor) to;
    struct tensor partials; /* [boxes][blocks][rows][columns][16] */
    uint32_t cs;
};

/* What a tile has of the sums, and of the positions. */
struct dw_share {
    struct nn_range blocks, taps, n, h, w;
    uint32_t tile, box; /* box: number of its partial sum */
};

/* Positions of an axis of the input that `outputs` neighbouring ones read. */
static uint32_t reach(const struct window_axis *a, uint32_t taps, uint32_t outputs)
{
    return (outputs - 1) * a->stride + (taps - 1) * a->dilation + 1;
}

/* ---- the codelet ---- */

/* Fields of dw_weights_f16 that are numbers: a call of so many rows of taps, on pictures of h x w
 * outputs. */
struct dw_call {
    uint32_t taps, columns, n, ho, wo, x_step, x_row, x_picture, tap, tap_row;
};

static struct dw_call call_of(const struct windows *win, uint32_t rows, uint32_t n, uint32_t h,
                              uint32_t w)
{
    const struct window_axis *a = &win->h, *b = &win->w;
    uint32_t hp = reach(a, rows, h), wp = reach(b, b->kernel, w);

    return (struct dw_call){
        .taps = rows * b->kernel,
        .columns = b->kernel,
        .n = n,
        .ho = h,
        .wo = w,
        .x_step = b->stride * POSITION_BYTES / LOAD_BYTES,
        .x_row = (a->stride * wp - w * b->stride) * POSITION_BYTES,
        .x_picture = (hp - h * a->stride) * wp * POSITION_BYTES,
        .tap = b->dilation * POSITION_BYTES,
        .tap_row = (a->dilation * wp - b->kernel * b->dilation) * POSITION_BYTES,
    };
}

static uint64_t call_cycles(const struct arch *a, const struct dw_call *c)
{
    return KERNEL_CYCLES(dw_weights, KERNEL_ROW(dw_weights_f16), a, .taps = c->taps,
                         .columns = c->columns, .n = c->n, .ho = c->ho, .wo = c->wo);
}

/* ---- the plan ---- */

struct dw_search {
    const struct arch *a;
    const struct dw_gradient *d;
    struct plan_port port;
    uint64_t memory;
    struct dw_cut best;
};

static void try_cut(struct dw_search *s, struct dw_cut c)
{
    const struct dw_gradient *d = s->d;
    const struct windows *win = &d->win;
    uint32_t blocks = ceil_div(channel_blocks(d->dy.c), c.blocks);
    uint32_t rows = ceil_div(win->h.kernel, c.taps);
    struct dw_call k =
        call_of(win, rows, ceil_div(d->dy.n, c.n), ceil_div(d->dy.h, c.h), ceil_div(d->dy.w, c.w));
    uint64_t read = (uint64_t)reach(&win->h, rows, k.ho) * reach(&win->w, k.columns, k.wo);
    uint64_t words = blocks * k.n * (read + (uint64_t)k.ho * k.wo) * CHANNEL_BLOCK_WORDS;
    uint64_t sums = (uint64_t)blocks * k.taps * CHANNEL_BLOCK;
    int fits, best_fits = s->best.bytes <= s->memory;

    c.bytes = (words + sums) * 4;
    fits = c.bytes <= s->memory;
    c.cycles = plan_port_cycles(&s->port, words, 1) + s->a->sync_chip_cycles +
               blocks * call_cycles(s->a, &k) +
               plan_reduce_cycles(s->a, &s->port, c.n * c.h * c.w, sums, ELEM_F32);
    if (!s->best.blocks || (fits && !best_fits) ||
        (fits == best_fits && (fits ? c.cycles < s->best.cycles : c.bytes < s->best.bytes)))
        s->best = c;
}

static struct dw_cut choose_cut(const struct dw_gradient *d)
{
    const struct arch *a = ss_graph_arch(d->g);
    uint64_t tiles = ss_graph_compute_tiles(d->g), half = a->mem_bytes / 2;
    struct dw_search s = { .a = a, .d = d, .port = plan_port(a), .memory = d->nn->memory_bytes };
    struct dw_cut c = { .blocks = 1 };

    s.memory = s.memory < half ? s.memory : half;
    for (; c.blocks <= tiles; c.blocks = next_cut(channel_blocks(d->dy.c), c.blocks))
        for (c.taps = 1; c.blocks * (uint64_t)c.taps <= tiles;
             c.taps = next_cut(d->win.h.kernel, c.taps))
            for (c.n = 1; c.blocks * c.taps * (uint64_t)c.n <= tiles; c.n = next_cut(d->dy.n, c.n))
                for (c.h = 1; c.blocks * c.taps * c.n * (uint64_t)c.h <= tiles;
                     c.h = next_cut(d->dy.h, c.h))
                    for (c.w = 1; c.blocks * c.taps * c.n * c.h * (uint64_t)c.w <= tiles;
                         c.w = next_cut(d->dy.w, c.w))
                        try_cut(&s, c);
    return s.best;
}

/* ---- steps ---- */

static struct dw_share share_at(const struct dw_gradient *d, uint32_t i)
{
    const struct dw_cut *c = &d->cut;
    uint32_t boxes = c->n * c->h * c->w, all = c->blocks * c->taps * boxes;
    uint32_t box = i % boxes, sums = i / boxes;

    return (struct dw_share){
        .blocks = nn_part(channel_blocks(d->dy.c), c->blocks, sums / c->taps),
        .taps = nn_part(d->win.h.kernel, c->taps, sums % c->taps),
        .n = nn_part(d->dy.n, c->n, box / c->w / c->h),
        .h = nn_part(d->dy.h, c->h, box / c->w % c->h),
        .w = nn_part(d->dy.w, c->w, box % c->w),
        .tile = weight_gradient_tile(i, all, ss_graph_compute_tiles(d->g)),
        .box = box,
    };
}

/* A variable of whole positions on a tile. */
static struct tensor on_tile(const struct dw_gradient *d, uint32_t positions, uint32_t tile,
                             const char *name)
{
    uint32_t n = positions * CHANNEL_BLOCK;
    struct tensor t = ss_graph_variable(d->g, ELEM_F16, 1, &n, name);

    ss_graph_map(d->g, t, tile);
    return t;
}

/* Notes that a view is to be fetched to picture i of a variable of n pictures. */
static enum emu_status fetch(struct dw_gradient *d, struct tensor view, struct tensor to,
                             uint32_t i, uint32_t n)
{
    uint32_t each = (uint32_t)ss_tensor_elements(d->g, to) / n;

    TRY(ss_graph_status(d->g));
    TRY(VEC_PUSH(&d->from, ss_tensor_flatten(d->g, view)));
    return VEC_PUSH(&d->to, ss_tensor_slice(d->g, to, 0, i * each, (i + 1) * each));
}

/* Adds one block of channels of a share. */
static enum emu_status add_block(struct dw_gradient *d, const struct dw_share *s, uint32_t block)
{
    struct graph *g = d->g;
    const uint32_t tiles = ss_graph_compute_tiles(g), n = nn_size(s->n);
    struct dw_call k = call_of(&d->win, nn_size(s->taps), n, nn_size(s->h), nn_size(s->w));
    uint32_t hp = reach(&d->win.h, nn_size(s->taps), k.ho), wp = reach(&d->win.w, k.columns, k.wo);
    struct field_part p = { .tile = s->tile,
                            .border = (s->tile + tiles / 2) % tiles,
                            .h = s->h,
                            .w = s->w,
                            .o = { block, block + 1 } };
    struct tensor x = on_tile(d, n * hp * wp, s->tile, "input");
    struct tensor dy = on_tile(d, n * k.ho * k.wo, s->tile, "dy"), out;
    struct windows win = d->win;
    uint32_t rows, columns;

    win.h.kernel = nn_size(s->taps);
    win.h.pad -= (int32_t)(s->taps.begin * win.h.dilation);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t picture = s->n.begin + i;

        TRY(fetch(d, field_part_input(d->nn, &d->x, &win, &p, p.o, picture, &rows, &columns), x, i,
                  n));
        TRY(fetch(d, field_part_output(d->nn, &d->dy, &p, picture), dy, i, n));
    }
    out = ss_tensor_index(g, ss_tensor_index(g, d->partials, s->box), block);
    out = ss_tensor_flatten(g, ss_tensor_slice(g, out, 0, s->taps.begin, s->taps.end));
    ss_graph_map(g, out, s->tile);
    VERTEX(dw_weights_f16, g, d->cs, s->tile, .x = x, .dy = dy, .out = out, .taps = k.taps,
           .columns = k.columns, .n = n, .ho = k.ho, .wo = k.wo, .x_step = k.x_step,
           .x_row = k.x_row, .x_picture = k.x_picture, .tap = k.tap, .tap_row = k.tap_row);
    return ss_graph_status(g);
}

/* All partial sums. */
static enum emu_status add_all(struct dw_gradient *d)
{
    const struct dw_cut *c = &d->cut;
    uint32_t boxes = c->n * c->h * c->w, all = boxes * c->blocks * c->taps;
    const uint32_t shape[] = { boxes, channel_blocks(d->dy.c), d->win.h.kernel, d->win.w.kernel,
                               CHANNEL_BLOCK };
    struct program fetched = ss_program_sequence(d->g);

    ss_program_add(d->g, d->nn->seq, fetched);
    d->cs = op_compute_set(d->g, d->nn->seq, "multiply");
    d->partials = ss_graph_variable(d->g, ELEM_F32, 5, shape, "partials");
    for (uint32_t i = 0; i < all; i++) {
        struct dw_share s = share_at(d, i);

        for (uint32_t block = s.blocks.begin; block < s.blocks.end; block++)
            TRY(add_block(d, &s, block));
    }
    ss_program_add(d->g, fetched,
                   ss_program_copy(d->g,
                                   ss_tensor_concat(d->g, d->from.at, (unsigned)d->from.count, 0),
                                   ss_tensor_concat(d->g, d->to.at, (unsigned)d->to.count, 0)));
    return ss_graph_status(d->g);
}

struct tensor dw_weight_gradient(struct nn *nn, const struct activation *x,
                                 const struct activation *dy, const struct conv_layer *l)
{
    struct dw_gradient d = {
        .nn = nn,
        .g = nn->g,
        .x = *x,
        .dy = *dy,
        .win = { { l->kernel_h, l->stride_h, l->dilation_h, (int32_t)l->pad_top },
                 { l->kernel_w, l->stride_w, l->dilation_w, (int32_t)l->pad_left },
                 nn->zeros },
    };
    const uint32_t blocks = channel_blocks(l->out_c);
    const uint32_t shape[] = { blocks, l->kernel_h, l->kernel_w, 1, CHANNEL_BLOCK };
    struct tensor t = x->t;
    enum emu_status s;
    uint32_t boxes;

    d.cut = choose_cut(&d);
    boxes = d.cut.n * d.cut.h * d.cut.w;
    s = add_all(&d);
    VEC_FREE(&d.from);
    VEC_FREE(&d.to);
    if (s != EMU_OK) {
        ss_graph_fail(nn->g, s, "%s", ss_error());
        return t;
    }
    t = ss_tensor_reshape(
        nn->g, d.partials, 2,
        (const uint32_t[]){ boxes, blocks * l->kernel_h * l->kernel_w * CHANNEL_BLOCK });
    if (boxes > 1)
        t = ss_op_reduce(nn->g, nn->seq, REDUCE_SUM, t, ELEM_F32, "add");
    return ss_tensor_reshape(nn->g, t, 5, shape);
}
