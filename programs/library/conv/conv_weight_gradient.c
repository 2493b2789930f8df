/* conv_weight_gradient.c - the gradient of a convolution's weights: for each tap the product of dy
 * and the input that the tap reads, over all positions.
 *
 * A tile fetches some rows of both, the input in planes (conv_planes.h), in which the positions of
 * a tap are a run of neighbours; dy has zeros where the rows of planes are longer than those of the
 * output. The matrix unit adds up over 16 terms, so both are transposed in blocks of 16 positions
 * by 16 channels, the input once for each tap. Products are [tap][in block][out][16 in], which is
 * the order of conv_weights_home() but for the dimensions outside a block. Partial sums of all
 * tiles are added up in f32.
 *
 * First layers are layers of 16 channels of which 4 are kept. Depthwise layers have a codelet and a
 * plan of their own (dw_weight_gradient.h). */
#include "programs/compiler/base/arena.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/conv/conv_weight_plan.h"
#include "programs/library/conv/dw_weight_gradient.h"
#include "programs/library/ops_gradient.h"

#include <string.h>

enum { BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK };

/* Rows of the field of one picture, blocks of positions in all. */
struct piece {
    uint32_t n, blocks;
    struct nn_range h;
};

/* Pieces of one part of the rows that are one partial sum. */
struct partial {
    uint32_t part, first, pieces, blocks;
};

/* What a tile has of the sums. */
struct share {
    struct nn_range groups, out, in, taps;
    uint32_t at; /* its first sum */
};

struct weight_gradient {
    struct nn *nn;
    struct graph *g;
    struct weight_gradient_shape s;
    struct weight_gradient_plan plan;
    struct activation x, dy;
    uint32_t shares, sums, cs_turn, cs_multiply;
    VEC(struct piece) piece;
    VEC(struct partial) partial;
    VEC(struct tensor) from; /* what tiles fetch, and where to */
    VEC(struct tensor) to;
    struct tensor partials; /* [partials][sums] */
};

/* ---- parts ---- */

static struct share share_at(const struct weight_gradient *d, uint32_t i)
{
    const struct weight_gradient_plan *p = &d->plan;
    const struct weight_gradient_shape *s = &d->s;
    struct share r;
    uint32_t taps = s->win.h.kernel, all = s->out * s->in * taps;

    r.taps = nn_part(taps, p->taps, i % p->taps);
    i /= p->taps;
    r.in = nn_part(s->in, p->in, i % p->in);
    i /= p->in;
    r.out = nn_part(s->out, p->out, i % p->out);
    r.groups = nn_part(s->groups, p->groups, i / p->out);
    /* Shares are in the order of their numbers. */
    r.at = r.groups.begin * all;
    r.at +=
        nn_size(r.groups) * (r.out.begin * s->in * taps +
                             nn_size(r.out) * (r.in.begin * taps + nn_size(r.in) * r.taps.begin));
    r.at *= s->win.w.kernel * BLOCK;
    return r;
}

/* The sums of one group of a share. */
static uint32_t share_size(const struct weight_gradient *d, const struct share *r)
{
    return nn_size(r->out) * nn_size(r->in) * nn_size(r->taps) * d->s.win.w.kernel * BLOCK;
}

/* Adds a piece to the partial sum before it if that is of the same part and has room. */
static enum emu_status add_piece(struct weight_gradient *d, uint32_t part, uint32_t n,
                                 struct nn_range h)
{
    struct piece p = { n, weight_gradient_blocks(&d->s, nn_size(h)), h };
    struct partial *last = d->partial.count ? &d->partial.at[d->partial.count - 1] : NULL;

    if (!last || last->part != part || last->blocks + p.blocks > WEIGHT_GRADIENT_BLOCKS) {
        TRY(VEC_PUSH(&d->partial,
                     (struct partial){ .part = part, .first = (uint32_t)d->piece.count }));
        last = &d->partial.at[d->partial.count - 1];
    }
    last->pieces++;
    last->blocks += p.blocks;
    return VEC_PUSH(&d->piece, p);
}

static enum emu_status find_pieces(struct weight_gradient *d)
{
    uint32_t height = d->s.rows / d->s.pictures, most = weight_gradient_piece(&d->s);

    for (uint32_t i = 0; i < d->plan.rows; i++) {
        struct nn_range rows = nn_part(d->s.rows, d->plan.rows, i);

        while (rows.begin < rows.end) {
            uint32_t n = rows.begin / height, first = n * height;
            uint32_t left = first + height - rows.begin, parts;

            left = left < nn_size(rows) ? left : nn_size(rows);
            parts = ceil_div(left, most);
            for (uint32_t k = 0; k < parts; k++)
                TRY(add_piece(
                    d, i, n,
                    (struct nn_range){ rows.begin - first + cut_at(left, parts, k),
                                       rows.begin - first + cut_at(left, parts, k + 1) }));
            rows.begin += left;
        }
    }
    return EMU_OK;
}

/* ---- operands ---- */

/* A variable on a tile, flat. */
static struct tensor on_tile(const struct weight_gradient *d, uint32_t n, uint32_t tile,
                             const char *name)
{
    struct tensor t = graph_variable(d->g, ELEM_F16, 1, &n, name);

    graph_map(d->g, t, tile);
    return t;
}

/* Notes that `from` is to be fetched to `to`. */
static enum emu_status fetch(struct weight_gradient *d, struct tensor from, struct tensor to)
{
    TRY(VEC_PUSH(&d->from, from));
    return VEC_PUSH(&d->to, to);
}

/* Output blocks of dy at a piece, [positions / 16][blocks][16][16], flat; zeros where planes have
 * positions that no output has. */
static struct tensor take_dy(const struct weight_gradient *d, const struct field_part *p,
                             uint32_t kb)
{
    struct graph *g = d->g;
    uint32_t blocks = nn_size(p->o), pitch = weight_gradient_pitch(&d->s);
    uint32_t rows = nn_size(p->h), positions = kb * CHANNEL_BLOCK;
    struct tensor border = tensor_index(g, d->nn->zeros, p->border);
    struct tensor t = field_part_output(d->nn, &d->dy, p, p->n.begin);

    t = field_part_add_border(d->nn, border, t, 3, 0, pitch - d->dy.w);
    t = tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, rows * pitch, CHANNEL_BLOCK });
    if (rows * pitch > positions)
        t = tensor_slice(g, t, 1, 0, positions);
    else
        t = field_part_add_border(d->nn, border, t, 1, 0, positions - rows * pitch);
    t = tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, kb, BLOCK });
    return tensor_flatten(g, tensor_transpose(g, t, (const unsigned[]){ 1, 0, 2 }));
}

/* What a tile multiplies: operands of one group of a share. */
struct operands {
    const struct share *share;
    uint32_t group, tile;
    struct windows win; /* with the share's rows of taps */
    int one; /* one tap and one piece: x and dy are neighbours, and so transposed at once */
    struct tensor x, dy, xt; /* x: if they are one */
};

/* Fetches the input blocks of a piece in planes, and zeros behind them, which the last block of
 * positions of a tap may reach; x: gets them. *each: positions of a block of channels. */
static enum emu_status take_x(struct weight_gradient *d, const struct operands *o,
                              const struct field_part *p, const struct planes *l, uint32_t kb,
                              uint32_t *each, struct tensor *x)
{
    struct graph *g = d->g;
    uint32_t in = o->group * d->s.in, size = planes_size(l), blocks, last = 0, end, n;
    int single = l->win.h.kernel * l->win.w.kernel == 1;
    struct nn_range range = { in + o->share->in.begin, in + o->share->in.end };
    struct tensor t = planes_input(d->nn, &d->x, l, p, range, p->n.begin), rest;

    blocks = nn_size(range);
    for (uint32_t k = 0; k < l->win.h.kernel * l->win.w.kernel; k++) {
        uint32_t tap = planes_tap(l, k / l->win.w.kernel, k % l->win.w.kernel);

        last = tap > last ? tap : last;
    }
    /* With one tap, blocks of channels are made whole blocks of positions. */
    *each = single ? kb * CHANNEL_BLOCK : size;
    end = (blocks - 1) * *each + last + kb * CHANNEL_BLOCK;
    end = end > blocks * *each ? end : blocks * *each;
    n = end * CHANNEL_BLOCK;
    *x = o->one ? o->x : on_tile(d, n, p->tile, "input");
    t = tensor_reshape(g, t, 2, (const uint32_t[]){ blocks, size * CHANNEL_BLOCK });
    if (single && size > *each)
        t = tensor_slice(g, t, 1, 0, *each * CHANNEL_BLOCK);
    else if (single)
        t = field_part_add_border(d->nn, tensor_index(g, d->nn->zeros, p->border), t, 1, 0,
                                  (*each - size) * CHANNEL_BLOCK);
    TRY(fetch(d, tensor_flatten(g, t), tensor_slice(g, *x, 0, 0, blocks * *each * CHANNEL_BLOCK)));
    n -= blocks * *each * CHANNEL_BLOCK;
    if (!n)
        return EMU_OK;
    rest = tensor_slice(g, *x, 0, blocks * *each * CHANNEL_BLOCK, end * CHANNEL_BLOCK);
    return fetch(d, nn_zeros(d->nn, p->border, 1, &n), rest);
}

static void turn(const struct weight_gradient *d, uint32_t tile, struct tensor x, struct tensor y)
{
    VERTEX(transpose16_f16, d->g, d->cs_turn, tile, .x = x, .y = y,
           .blocks = (uint32_t)tensor_elements(d->g, y) / BLOCK);
}

/* Transposes what each tap and block of channels reads, `each` positions apart in x, kb blocks of
 * positions of it. y [taps][blocks][all kb][16][16]: gets it from block `first` on. */
static void turn_x(const struct weight_gradient *d, const struct planes *l, uint32_t tile,
                   uint32_t blocks, uint32_t kb, uint32_t each, struct tensor x, struct tensor y,
                   uint32_t first)
{
    struct graph *g = d->g;
    uint32_t columns = l->win.w.kernel, n = l->win.h.kernel * columns * blocks, size = kb * BLOCK;
    uint32_t all = (uint32_t)tensor_elements(g, y) / BLOCK / n;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t tap = planes_tap(l, i / blocks / columns, i / blocks % columns);
        uint32_t from = (i % blocks * each + tap) * CHANNEL_BLOCK, to = (i * all + first) * BLOCK;

        turn(d, tile, tensor_slice(g, x, 0, from, from + size),
             tensor_slice(g, y, 0, to, to + size));
    }
}

/* ---- steps ---- */

/* Fetches a piece of both operands; first: its first block of positions. */
static enum emu_status take_piece(struct weight_gradient *d, const struct operands *o,
                                  const struct piece *piece, uint32_t first)
{
    const uint32_t tiles = graph_compute_tiles(d->g);
    const struct share *r = o->share;
    uint32_t out = o->group * d->s.out, outs = nn_size(r->out), each;
    struct field_part p = { .tile = o->tile,
                            .border = (o->tile + tiles / 2) % tiles,
                            .n = { piece->n, piece->n + 1 },
                            .h = piece->h,
                            .w = { 0, d->dy.w },
                            .o = { out + r->out.begin, out + r->out.end } };
    struct planes l = planes_of(&o->win, nn_size(p.h), d->dy.w);
    struct tensor x;

    TRY(take_x(d, o, &p, &l, piece->blocks, &each, &x));
    TRY(fetch(d, take_dy(d, &p, piece->blocks),
              tensor_slice(d->g, o->dy, 0, first * outs * BLOCK,
                           (first + piece->blocks) * outs * BLOCK)));
    if (!o->one)
        turn_x(d, &l, o->tile, nn_size(r->in), piece->blocks, each, x, o->xt, first);
    return graph_status(d->g);
}

/* Adds the sums of one group of a share over all pieces of partial sum `row`. */
static enum emu_status add_group(struct weight_gradient *d, const struct share *r, uint32_t group,
                                 uint32_t row, uint32_t tile)
{
    struct graph *g = d->g;
    const struct partial *sum = &d->partial.at[row];
    uint32_t kb = sum->blocks, outs = nn_size(r->out), first = 0, size = share_size(d, r);
    uint32_t at = r->at + (group - r->groups.begin) * size, nb = size / (outs * BLOCK);
    uint32_t of_x = nb * kb * BLOCK, of_dy = outs * kb * BLOCK;
    struct operands o = { .share = r, .group = group, .tile = tile, .win = d->s.win };
    struct tensor turned = on_tile(d, of_x + of_dy, tile, "transposed"), raw, dyt, out;

    o.one = nb == nn_size(r->in) && sum->pieces == 1;
    raw = on_tile(d, o.one ? of_x + of_dy : of_dy, tile, "operands");
    o.x = o.one ? tensor_slice(g, raw, 0, 0, of_x) : raw;
    o.dy = o.one ? tensor_slice(g, raw, 0, of_x, of_x + of_dy) : raw;
    o.xt = tensor_slice(g, turned, 0, 0, of_x);
    dyt = tensor_slice(g, turned, 0, of_x, of_x + of_dy);
    o.win.h.kernel = nn_size(r->taps);
    o.win.h.pad -= (int32_t)(r->taps.begin * o.win.h.dilation);
    for (uint32_t k = 0; k < sum->pieces; k++) {
        const struct piece *piece = &d->piece.at[sum->first + k];

        TRY(take_piece(d, &o, piece, first));
        first += piece->blocks;
    }
    turn(d, tile, raw, o.one ? turned : dyt);
    out = tensor_slice(g, tensor_index(g, d->partials, row), 0, at, at + size);
    graph_map(g, out, tile);
    VERTEX(matmul_f16, g, d->cs_multiply, tile, .in = dyt, .weights = o.xt, .out = out, .kb = kb,
           .nb = nb, .f = outs * CHANNEL_BLOCK);
    return graph_status(g);
}

static enum emu_status add_all(struct weight_gradient *d)
{
    uint32_t rows = (uint32_t)d->partial.count, tiles = graph_compute_tiles(d->g);
    uint32_t parts = d->shares * d->plan.rows, first = graph_first_tile(d->g, parts);
    struct program fetched = program_sequence(d->g);

    program_add(d->g, d->nn->seq, fetched);
    d->cs_turn = op_compute_set(d->g, d->nn->seq, "transpose");
    d->cs_multiply = op_compute_set(d->g, d->nn->seq, "multiply");
    d->partials =
        graph_variable(d->g, ELEM_F16, 2, (const uint32_t[]){ rows, d->sums }, "partials");
    for (uint32_t i = 0; i < d->shares; i++) {
        struct share r = share_at(d, i);

        for (uint32_t k = 0; k < rows; k++) {
            uint64_t part = (uint64_t)d->partial.at[k].part * d->shares + i;
            uint32_t tile = (first + weight_gradient_tile(part, parts, tiles)) % tiles;

            for (uint32_t u = r.groups.begin; u < r.groups.end; u++)
                TRY(add_group(d, &r, u, k, tile));
        }
    }
    program_add(d->g, fetched,
                program_copy(d->g, tensor_concat(d->g, d->from.at, (unsigned)d->from.count, 0),
                             tensor_concat(d->g, d->to.at, (unsigned)d->to.count, 0)));
    return graph_status(d->g);
}

/* ---- the result ---- */

/* Group `group` of share i of the sums, [out][in][rows][columns][16][16]. */
static struct tensor sums_of(const struct weight_gradient *d, struct tensor t, uint32_t i,
                             uint32_t group)
{
    struct share r = share_at(d, i);
    uint32_t size = share_size(d, &r), at = r.at + (group - r.groups.begin) * size;
    const uint32_t shape[] = { nn_size(r.taps), d->s.win.w.kernel, nn_size(r.in),
                               nn_size(r.out),  CHANNEL_BLOCK,     CHANNEL_BLOCK };

    t = tensor_reshape(d->g, tensor_slice(d->g, t, 0, at, at + size), 6, shape);
    return tensor_transpose(d->g, t, (const unsigned[]){ 3, 2, 0, 1, 4, 5 });
}

/* A group of the sums, whose parts are put together along dimension dim and those after it; first:
 * number of the first share. */
static struct tensor joined(const struct weight_gradient *d, struct tensor t, uint32_t first,
                            uint32_t group, unsigned dim)
{
    const uint32_t cut[] = { d->plan.out, d->plan.in, d->plan.taps };
    uint32_t step = 1;
    struct tensor *part;

    if (dim == EMU_COUNT_OF(cut))
        return sums_of(d, t, first, group);
    for (unsigned k = dim + 1; k < EMU_COUNT_OF(cut); k++)
        step *= cut[k];
    part = emu_alloc(cut[dim], sizeof(*part));
    if (!part) {
        graph_fail(d->g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    for (uint32_t k = 0; k < cut[dim]; k++)
        part[k] = joined(d, t, first + k * step, group, dim + 1);
    t = tensor_concat(d->g, part, cut[dim], dim);
    emu_free(part);
    return t;
}

/* All groups, [groups x out][in][rows][columns][16][16]. */
static struct tensor all_groups(const struct weight_gradient *d, struct tensor t)
{
    uint32_t n = d->s.groups, each = d->shares / d->plan.groups;
    struct tensor *part = emu_alloc(n, sizeof(*part));

    if (!part) {
        graph_fail(d->g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    for (uint32_t k = 0; k < n; k++)
        part[k] = joined(d, t, part_with(n, d->plan.groups, k) * each, k, 0);
    t = tensor_concat(d->g, part, n, 0);
    emu_free(part);
    return t;
}

/* The sums of a layer of whole blocks. */
static struct tensor whole_blocks(struct weight_gradient *d)
{
    struct weight_gradient_plan *p = &d->plan;
    struct graph *g = d->g;
    struct tensor t = d->x.t;
    enum emu_status s = graph_status(g);

    if (s != EMU_OK)
        return t;
    *p = plan_weight_gradient(graph_arch(g), &d->s, graph_compute_tiles(g), d->nn->memory_bytes);
    d->shares = p->groups * p->out * p->in * p->taps;
    d->sums = d->s.groups * d->s.out * d->s.in * d->s.win.h.kernel * d->s.win.w.kernel * BLOCK;
    s = find_pieces(d);
    if (s == EMU_OK)
        s = add_all(d);
    if (s == EMU_OK)
        t = op_reduce(g, d->nn->seq, REDUCE_SUM, d->partials, ELEM_F32, "add");
    else
        graph_fail(g, s, "%s", emu_error());
    VEC_FREE(&d->piece);
    VEC_FREE(&d->partial);
    VEC_FREE(&d->from);
    VEC_FREE(&d->to);
    return graph_status(g) == EMU_OK ? all_groups(d, t) : t;
}

/* ---- layers ---- */

/* Kernels of 1 x 1 without pads see no neighbours: positions of all pictures are rows of one. */
static void make_list(struct weight_gradient *d, const struct conv_layer *l)
{
    struct graph *g = d->g;
    uint32_t n = d->dy.n * d->dy.h * d->dy.w;
    struct activation *of[] = { &d->x, &d->dy };

    d->x.t = conv_every(g, d->x.t, l->stride_h, l->stride_w);
    for (int i = 0; i < 2; i++) {
        uint32_t shape[] = { channel_blocks(of[i]->c), 1, n, 1, CHANNEL_BLOCK };

        of[i]->t = tensor_reshape(g, of[i]->t, 5, shape);
        of[i]->n = of[i]->w = 1;
        of[i]->h = n;
    }
    d->s.win.h.stride = d->s.win.w.stride = 1;
}

/* Sets up the sums of a layer with `groups` groups of `in` to `out` blocks. */
static void begin(struct weight_gradient *d, const struct conv_layer *l, uint32_t groups,
                  uint32_t in, uint32_t out)
{
    d->s = (struct weight_gradient_shape){
        .groups = groups,
        .in = in,
        .out = out,
        .win = { { l->kernel_h, l->stride_h, l->dilation_h, (int32_t)l->pad_top },
                 { l->kernel_w, l->stride_w, l->dilation_w, (int32_t)l->pad_left },
                 d->nn->zeros },
    };
    if (l->kernel_h * l->kernel_w == 1 && !l->pad_top && !l->pad_bottom && !l->pad_left &&
        !l->pad_right)
        make_list(d, l);
    d->s.pictures = d->dy.n;
    d->s.rows = d->dy.n * d->dy.h;
    d->s.columns = d->dy.w;
}

/* Of a layer on 16 channels the first 4, in the form of a first layer. */
static struct tensor first_channels(const struct weight_gradient *d, struct tensor t)
{
    struct graph *g = d->g;
    const uint32_t *s = tensor_shape(g, t);

    t = tensor_reshape(g, t, 5,
                       (const uint32_t[]){ s[0], s[2], s[3], CHANNEL_BLOCK, CHANNEL_BLOCK });
    t = tensor_slice(g, t, 4, 0, 4);
    return tensor_transpose(g, t, (const unsigned[]){ 0, 1, 3, 2, 4 });
}

/* Of joined groups what belongs to one original group each, [out_c][in][rows][columns]. */
static struct tensor own_channels(const struct weight_gradient *d, const struct conv_layer *l,
                                  uint32_t in_c, const struct conv_shape *shape, struct tensor t)
{
    struct graph *g = d->g;
    uint32_t in = in_c / l->groups, out = l->out_c / l->groups;
    uint32_t wide = d->s.in * CHANNEL_BLOCK, high = shape->out_c / shape->groups;
    struct tensor *part = emu_alloc(l->groups, sizeof(*part));
    const uint32_t all[] = { d->s.groups * d->s.out * CHANNEL_BLOCK, wide, l->kernel_h,
                             l->kernel_w };

    if (!part) {
        graph_fail(g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    t = tensor_transpose(g, t, (const unsigned[]){ 0, 4, 1, 5, 2, 3 });
    t = tensor_reshape(g, t, 4, all);
    for (uint32_t k = 0; k < l->groups; k++) {
        uint32_t first = k * in - k * out / high * (shape->in_c / shape->groups);

        part[k] = tensor_slice(g, t, 0, k * out, (k + 1) * out);
        part[k] = tensor_slice(g, part[k], 1, first, first + in);
    }
    t = tensor_concat(g, part, l->groups, 0);
    emu_free(part);
    return t;
}

static struct tensor gradient(struct weight_gradient *d, const struct conv_layer *l)
{
    const struct activation x = d->x;
    struct conv_shape shape = conv_layer_shape(&x, l);
    int picture = tensor_rank(d->g, x.t) == 4;
    struct tensor t;

    shape.blocks = !picture && conv_is_first(&shape);
    if (conv_method_of(&shape) == CONV_DEPTHWISE)
        return dw_weight_gradient(d->nn, &x, &d->dy, l);
    if (picture)
        d->x = op_picture_blocks(d->nn, x, "picture");
    begin(d, l, shape.groups, channel_blocks(shape.in_c / shape.groups),
          channel_blocks(shape.out_c / shape.groups));
    t = whole_blocks(d);
    if (graph_status(d->g) != EMU_OK)
        return t;
    if (picture)
        return first_channels(d, t);
    return shape.groups == l->groups ? t : own_channels(d, l, x.c, &shape, t);
}

struct tensor op_conv_weight_gradient(struct nn *nn, struct activation x, struct activation dy,
                                      const struct conv_layer *l, const char *name)
{
    struct weight_gradient d = { .nn = nn, .g = nn->g, .x = x, .dy = dy };
    struct conv_shape s = conv_layer_shape(&x, l);
    struct tensor t = x.t;

    if (s.out_h != dy.h || s.out_w != dy.w || dy.c != l->out_c || dy.n != x.n)
        graph_fail(nn->g, EMU_USAGE, "%s: the gradient of an output of %u x %u x %u x %u", name,
                   dy.n, dy.c, dy.h, dy.w);
    graph_push(nn->g, name);
    if (graph_status(nn->g) == EMU_OK)
        t = gradient(&d, l);
    graph_pop(nn->g);
    return t;
}
