/* conv_weight_gradient.c - the gradient of a convolution's weights: for each tap the product of dy
 * and the input that the tap reads, over all positions.
 *
 * A tile fetches some rows of both. The matrix unit adds up over 16 terms, so both are transposed
 * in blocks of 16 positions by 16 channels. With one tap dy streams through the unit, whose weights
 * are the input; products are [in block][out][16 in], which is the order of ss_conv_weights_home()
 * but for the dimensions outside a block.
 *
 * With more taps a block is 16 positions of one row, and zeros where dy has fewer. The input comes
 * in planes (conv_planes.h), in which the positions of a tap are neighbours, and is transposed once
 * for each column of the kernel: [columns of the field / 16][row][column of the kernel][in]. What
 * all taps read for 16 positions is then one run, since rows of the kernel are neighbours among the
 * transposed rows: it streams through the unit, whose weights are dy. Products are [out
 * block][tap][in][16 out], and their blocks are transposed once more. Rows of a few positions would
 * be mostly zeros; there blocks go on from row to row, and each is transposed for every tap
 * (weight_gradient_plan.flat).
 *
 * Partial sums of all tiles are added up in f32.
 *
 * First layers are layers of 16 channels of which 4 are kept. Depthwise layers have a codelet and a
 * plan of their own (dw_weight_gradient.h). */
#include "programs/compiler/base/arena.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_tensors.h"
#include "programs/library/conv/conv_weight_plan.h"
#include "programs/library/depthwise/dw_weight_gradient.h"
#include "programs/library/ops_gradient.h"

#include <string.h>

enum { BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK };

/* A box of the field of one picture, blocks of positions in all. */
struct gradient_piece {
    uint32_t n, blocks;
    struct nn_range h, w;
};

/* Pieces of one part of the field that are one partial sum. */
struct partial {
    uint32_t part, first, pieces, blocks;
};

/* What a tile has of the sums. */
struct gradient_share {
    struct nn_range groups, out, in, taps;
    uint32_t at; /* its first sum */
};

struct weight_gradient {
    struct nn *nn;
    struct graph *g;
    struct weight_gradient_shape s;
    struct weight_gradient_plan plan;
    struct activation x, dy;
    uint32_t shares, sums, cs_turn, cs_multiply, cs_back;
    VEC(struct gradient_piece) piece;
    VEC(struct partial) partial;
    VEC(struct tensor) from; /* what tiles fetch, and where to */
    VEC(struct tensor) to;
    struct tensor partials; /* [partials][sums] */
};

/* ---- parts ---- */

static struct gradient_share share_at(const struct weight_gradient *d, uint32_t i)
{
    const struct weight_gradient_plan *p = &d->plan;
    const struct weight_gradient_shape *s = &d->s;
    struct gradient_share r;
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
static uint32_t share_size(const struct weight_gradient *d, const struct gradient_share *r)
{
    return nn_size(r->out) * nn_size(r->in) * nn_size(r->taps) * d->s.win.w.kernel * BLOCK;
}

/* Adds a piece to the partial sum before it if that is of the same part and has room. */
static enum emu_status add_piece(struct weight_gradient *d, uint32_t part, uint32_t n,
                                 struct nn_range h, struct nn_range w)
{
    struct gradient_piece p = { n,
                                weight_gradient_blocks(&d->s, d->plan.flat, nn_size(h), nn_size(w)),
                                h, w };
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

/* Adds some rows, of all pictures, of some columns. */
static enum emu_status add_pieces(struct weight_gradient *d, uint32_t part, struct nn_range rows,
                                  struct nn_range w)
{
    uint32_t height = d->s.rows / d->s.pictures;
    uint32_t most = weight_gradient_piece(&d->s, d->plan.flat, nn_size(w));

    while (rows.begin < rows.end) {
        uint32_t n = rows.begin / height, first = n * height;
        uint32_t left = first + height - rows.begin, parts;

        left = left < nn_size(rows) ? left : nn_size(rows);
        parts = ceil_div(left, most);
        for (uint32_t k = 0; k < parts; k++)
            TRY(add_piece(d, part, n,
                          (struct nn_range){ rows.begin - first + cut_at(left, parts, k),
                                             rows.begin - first + cut_at(left, parts, k + 1) },
                          w));
        rows.begin += left;
    }
    return EMU_OK;
}

static enum emu_status find_pieces(struct weight_gradient *d)
{
    const struct weight_gradient_plan *p = &d->plan;

    for (uint32_t i = 0; i < p->rows * p->columns; i++)
        TRY(add_pieces(d, i, nn_part(d->s.rows, p->rows, i / p->columns),
                       weight_gradient_columns(&d->s, p->columns, i % p->columns)));
    return EMU_OK;
}

/* ---- operands ---- */

/* A variable on a tile, flat. */
static struct tensor on_tile(const struct weight_gradient *d, uint32_t n, uint32_t tile,
                             const char *name)
{
    struct tensor t = ss_graph_variable(d->g, ELEM_F16, 1, &n, name);

    ss_graph_map(d->g, t, tile);
    return t;
}

/* Notes that `from` is to be fetched to `to`. */
static enum emu_status fetch(struct weight_gradient *d, struct tensor from, struct tensor to)
{
    TRY(VEC_PUSH(&d->from, from));
    return VEC_PUSH(&d->to, to);
}

/* Output blocks of dy at a piece, [positions / 16][blocks][16][16], flat; zeros where blocks have
 * positions that no output has. */
static struct tensor take_dy(const struct weight_gradient *d, const struct field_part *p,
                             uint32_t kb)
{
    struct graph *g = d->g;
    uint32_t pitch = weight_gradient_pitch(&d->s, d->plan.flat, nn_size(p->w));
    uint32_t blocks = nn_size(p->o), rows = nn_size(p->h), positions = kb * CHANNEL_BLOCK;
    struct tensor border = ss_tensor_index(g, d->nn->zeros, p->border);
    struct tensor t = field_part_output(d->nn, &d->dy, p, p->n.begin);

    t = field_part_add_border(d->nn, border, t, 3, 0, pitch - nn_size(p->w));
    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, rows * pitch, CHANNEL_BLOCK });
    if (rows * pitch > positions)
        t = ss_tensor_slice(g, t, 1, 0, positions);
    else
        t = field_part_add_border(d->nn, border, t, 1, 0, positions - rows * pitch);
    t = ss_tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, kb, BLOCK });
    return ss_tensor_flatten(g, ss_tensor_transpose(g, t, (const unsigned[]){ 1, 0, 2 }));
}

/* What a tile multiplies: operands of one group of a share for one partial sum. */
struct gradient_operands {
    const struct gradient_share *share;
    const struct partial *sum;
    uint32_t group, tile;
    uint32_t ins, outs;  /* blocks of channels */
    struct windows win;  /* with the share's rows of taps */
    uint32_t of_x;       /* blocks of 16 x 16 of x, transposed; then come those of dy */
    uint32_t x, dy;      /* positions of raw: of all pieces of x, behind which dy lies, and of dy */
    struct tensor raw;   /* [positions][16] */
    struct tensor block; /* [blocks][16][16], transposed */
    uint32_t *at;        /* where in raw each of them begins, in bytes */
};

static struct planes planes_in(const struct gradient_operands *o,
                               const struct gradient_piece *piece)
{
    return planes_of(&o->win, nn_size(piece->h), nn_size(piece->w));
}

/* Positions of a block of channels of x. With one tap they fill up blocks. */
static uint32_t piece_positions(const struct weight_gradient *d, const struct gradient_operands *o,
                                const struct gradient_piece *piece)
{
    struct planes l = planes_in(o, piece);

    return weight_gradient_is_windowed(&d->s) ? planes_size(&l) : piece->blocks * CHANNEL_BLOCK;
}

/* Input blocks of a piece in planes, flat. */
static struct tensor take_x(const struct weight_gradient *d, const struct gradient_operands *o,
                            const struct field_part *p, const struct gradient_piece *piece)
{
    struct graph *g = d->g;
    struct planes l = planes_in(o, piece);
    uint32_t in = o->group * d->s.in, each = piece_positions(d, o, piece), size = planes_size(&l);
    struct nn_range range = { in + o->share->in.begin, in + o->share->in.end };
    struct tensor t = planes_input(d->nn, &d->x, &l, p, range, p->n.begin);

    t = ss_tensor_reshape(g, t, 2, (const uint32_t[]){ o->ins, size * CHANNEL_BLOCK });
    t = field_part_add_border(d->nn, ss_tensor_index(g, d->nn->zeros, p->border), t, 1, 0,
                              (each - size) * CHANNEL_BLOCK);
    return ss_tensor_flatten(g, t);
}

/* Fetches a piece of both operands, which begin at positions x and dy of raw. */
static enum emu_status take_piece(struct weight_gradient *d, const struct gradient_operands *o,
                                  const struct gradient_piece *piece, uint32_t x, uint32_t dy)
{
    const uint32_t tiles = ss_graph_compute_tiles(d->g);
    uint32_t out = o->group * d->s.out;
    uint32_t x_end = x + o->ins * piece_positions(d, o, piece);
    uint32_t dy_end = dy + o->outs * piece->blocks * CHANNEL_BLOCK;
    struct field_part p = { .tile = o->tile,
                            .border = (o->tile + tiles / 2) % tiles,
                            .n = { piece->n, piece->n + 1 },
                            .h = piece->h,
                            .w = piece->w,
                            .o = { out + o->share->out.begin, out + o->share->out.end } };

    TRY(fetch(d, take_x(d, o, &p, piece),
              ss_tensor_slice(d->g, o->raw, 0, x * CHANNEL_BLOCK, x_end * CHANNEL_BLOCK)));
    return fetch(d, take_dy(d, &p, piece->blocks),
                 ss_tensor_slice(d->g, o->raw, 0, dy * CHANNEL_BLOCK, dy_end * CHANNEL_BLOCK));
}

/* ---- transposed blocks ---- */

/* With one tap, of a piece whose x and dy begin at positions x and dy, and which is block `first`
 * on of all kb of the partial sum: [in][kb] of x, [kb][out] of dy. */
static void say_blocks(const struct gradient_operands *o, const struct gradient_piece *piece,
                       uint32_t first, uint32_t x, uint32_t dy)
{
    uint32_t kb = o->sum->blocks, outs = o->outs;

    for (uint32_t k = 0; k < piece->blocks; k++) {
        for (uint32_t i = 0; i < o->ins; i++)
            o->at[i * kb + first + k] = x + (i * piece->blocks + k) * CHANNEL_BLOCK;
        for (uint32_t i = 0; i < outs; i++)
            o->at[o->of_x + (first + k) * outs + i] = dy + (k * outs + i) * CHANNEL_BLOCK;
    }
}

static struct turned_rows turned_of(const struct weight_gradient *d,
                                    const struct gradient_operands *o,
                                    const struct gradient_piece *piece)
{
    struct planes l = planes_in(o, piece);

    return weight_gradient_turned(&l, d->plan.flat, nn_size(piece->h), piece->blocks);
}

/* With more taps: [turned rows][column of the kernel][in] of x from `next` on, [out][kb] of dy.
 * Returns what comes after the blocks of x. */
static uint32_t say_windows(const struct weight_gradient *d, const struct gradient_operands *o,
                            const struct gradient_piece *piece, uint32_t first, uint32_t next,
                            uint32_t x, uint32_t dy)
{
    struct planes l = planes_in(o, piece);
    struct turned_rows rows = turned_of(d, o, piece);
    uint32_t size = planes_size(&l), down = d->plan.flat ? CHANNEL_BLOCK : l.columns;
    uint32_t column = d->plan.flat ? rows.count : l.rows * l.plane_rows; /* of turned rows */

    for (uint32_t r = 0; r < rows.count; r++)
        for (uint32_t k = 0; k < l.win.w.kernel; k++)
            for (uint32_t i = 0; i < o->ins; i++)
                o->at[next++] = x + i * size + planes_tap(&l, r % column % rows.step, k) +
                                r % column / rows.step * down + r / column * CHANNEL_BLOCK;
    for (uint32_t i = 0; i < o->outs; i++)
        for (uint32_t k = 0; k < piece->blocks; k++)
            o->at[o->of_x + i * o->sum->blocks + first + k] =
                dy + (k * o->outs + i) * CHANNEL_BLOCK;
    return next;
}

/* Where each window on the transposed blocks of x begins, by block of positions. */
static void find_windows(const struct weight_gradient *d, const struct gradient_operands *o,
                         uint32_t *start)
{
    uint32_t base = 0, each = d->s.win.w.kernel * o->ins;

    for (uint32_t p = 0; p < o->sum->pieces; p++) {
        const struct gradient_piece *piece = &d->piece.at[o->sum->first + p];
        struct turned_rows rows = turned_of(d, o, piece);
        uint32_t wide = d->plan.flat ? 1 : piece->blocks / nn_size(piece->h);

        for (uint32_t k = 0; k < piece->blocks; k++)
            *start++ = base + (k % wide * (rows.count / wide) + k / wide * rows.step) * each;
        base += rows.count * each;
    }
}

static enum emu_status take_pieces(struct weight_gradient *d, const struct gradient_operands *o)
{
    uint32_t first = 0, next = 0, x = 0, dy = o->x;

    for (uint32_t k = 0; k < o->sum->pieces; k++) {
        const struct gradient_piece *piece = &d->piece.at[o->sum->first + k];

        TRY(take_piece(d, o, piece, x, dy));
        if (weight_gradient_is_windowed(&d->s))
            next = say_windows(d, o, piece, first, next, x, dy);
        else
            say_blocks(o, piece, first, x, dy);
        first += piece->blocks;
        x += o->ins * piece_positions(d, o, piece);
        dy += o->outs * piece->blocks * CHANNEL_BLOCK;
    }
    return ss_graph_status(d->g);
}

/* Transposes n blocks of raw, in one go if they are neighbours. */
static void turn(const struct weight_gradient *d, const struct gradient_operands *o, uint32_t n)
{
    int neighbours = 1;

    for (uint32_t i = 0; i < n; i++) {
        neighbours &= o->at[i] == i * CHANNEL_BLOCK;
        o->at[i] *= 2 * CHANNEL_BLOCK;
    }
    if (neighbours)
        VERTEX(transpose16_f16, d->g, d->cs_turn, o->tile, .x = o->raw, .y = o->block, .blocks = n);
    else
        VERTEX(transpose16_at_f16, d->g, d->cs_turn, o->tile, .x = o->raw, .y = o->block,
               .blocks = n, .at = word_list(o->at, n));
}

/* ---- steps ---- */

/* Multiplies with more taps, to [out][taps][in][16][16]. */
static enum emu_status multiply_windows(const struct weight_gradient *d,
                                        const struct gradient_operands *o, struct tensor x,
                                        struct tensor dy, struct tensor out)
{
    uint32_t n = (uint32_t)ss_tensor_elements(d->g, out), kb = o->sum->blocks;
    uint32_t *step = emu_alloc(kb, sizeof(*step)), first;
    struct tensor products = on_tile(d, n, o->tile, "products");

    if (!step)
        return FAIL(NO_MEMORY, "windows");
    find_windows(d, o, step);
    first = step[0];
    for (uint32_t k = 0; k < kb; k++)
        step[k] = ((k + 1 < kb ? step[k + 1] : first) - step[k]) * 2 * BLOCK;
    VERTEX(conv_window_f16, d->g, d->cs_multiply, o->tile, .in = x, .weights = dy, .out = products,
           .kb = kb, .nb = o->outs, .f = n / (o->outs * CHANNEL_BLOCK),
           .steps = word_list(step, kb));
    VERTEX(transpose16_f16, d->g, d->cs_back, o->tile, .x = products, .y = out,
           .blocks = n / BLOCK);
    ss_free(step);
    return ss_graph_status(d->g);
}

/* How much of both operands there is. */
static void measure(const struct weight_gradient *d, struct gradient_operands *o)
{
    for (uint32_t k = 0; k < o->sum->pieces; k++) {
        const struct gradient_piece *piece = &d->piece.at[o->sum->first + k];

        o->of_x += turned_of(d, o, piece).count * d->s.win.w.kernel * o->ins;
        o->x += o->ins * piece_positions(d, o, piece);
    }
    o->dy = o->outs * o->sum->blocks * CHANNEL_BLOCK;
}

/* Adds the sums of one group of a share over all pieces of partial sum `row`. */
static enum emu_status add_group(struct weight_gradient *d, const struct gradient_share *r,
                                 uint32_t group, uint32_t row, uint32_t tile)
{
    struct graph *g = d->g;
    uint32_t size = share_size(d, r), begin = r->at + (group - r->groups.begin) * size, n;
    struct gradient_operands o = { .share = r,
                                   .sum = &d->partial.at[row],
                                   .group = group,
                                   .tile = tile,
                                   .ins = nn_size(r->in),
                                   .outs = nn_size(r->out),
                                   .win = d->s.win };
    struct tensor out =
        ss_tensor_slice(g, ss_tensor_index(g, d->partials, row), 0, begin, begin + size);
    struct tensor x, dy;
    enum emu_status s;

    o.win.h.kernel = nn_size(r->taps);
    o.win.h.pad -= (int32_t)(r->taps.begin * o.win.h.dilation);
    measure(d, &o);
    n = o.of_x + o.outs * o.sum->blocks;
    o.raw = on_tile(d, (o.x + o.dy) * CHANNEL_BLOCK, tile, "operands");
    o.block = on_tile(d, n * BLOCK, tile, "transposed");
    o.at = emu_alloc(n, sizeof(*o.at));
    if (!o.at)
        return FAIL(NO_MEMORY, "%u blocks", n);
    s = take_pieces(d, &o);
    turn(d, &o, n);
    ss_free(o.at);
    TRY(s);
    x = ss_tensor_slice(g, o.block, 0, 0, o.of_x * BLOCK);
    dy = ss_tensor_slice(g, o.block, 0, o.of_x * BLOCK, n * BLOCK);
    ss_graph_map(g, out, tile);
    if (weight_gradient_is_windowed(&d->s))
        return multiply_windows(d, &o, x, dy, out);
    VERTEX(matmul_f16, g, d->cs_multiply, tile, .in = dy, .weights = x, .out = out,
           .kb = o.sum->blocks, .nb = o.ins, .f = o.outs * CHANNEL_BLOCK);
    return ss_graph_status(g);
}

static enum emu_status add_all(struct weight_gradient *d)
{
    uint32_t rows = (uint32_t)d->partial.count, tiles = ss_graph_compute_tiles(d->g);
    uint32_t parts = d->shares * d->plan.rows * d->plan.columns,
             first = ss_graph_first_tile(d->g, parts);
    struct program fetched = ss_program_sequence(d->g);

    ss_program_add(d->g, d->nn->seq, fetched);
    d->cs_turn = op_compute_set(d->g, d->nn->seq, "transpose");
    d->cs_multiply = op_compute_set(d->g, d->nn->seq, "multiply");
    if (weight_gradient_is_windowed(&d->s))
        d->cs_back = op_compute_set(d->g, d->nn->seq, "transpose");
    d->partials =
        ss_graph_variable(d->g, ELEM_F16, 2, (const uint32_t[]){ rows, d->sums }, "partials");
    for (uint32_t i = 0; i < d->shares; i++) {
        struct gradient_share r = share_at(d, i);

        for (uint32_t k = 0; k < rows; k++) {
            uint64_t part = (uint64_t)d->partial.at[k].part * d->shares + i;
            uint32_t tile = (first + weight_gradient_tile(part, parts, tiles)) % tiles;

            for (uint32_t u = r.groups.begin; u < r.groups.end; u++)
                TRY(add_group(d, &r, u, k, tile));
        }
    }
    ss_program_add(d->g, fetched,
                   ss_program_copy(d->g,
                                   ss_tensor_concat(d->g, d->from.at, (unsigned)d->from.count, 0),
                                   ss_tensor_concat(d->g, d->to.at, (unsigned)d->to.count, 0)));
    return ss_graph_status(d->g);
}

/* ---- the result ---- */

/* Group `group` of share i of the sums, [out][in][rows][columns][16][16]. */
static struct tensor sums_of(const struct weight_gradient *d, struct tensor t, uint32_t i,
                             uint32_t group)
{
    struct gradient_share r = share_at(d, i);
    uint32_t size = share_size(d, &r), at = r.at + (group - r.groups.begin) * size;
    const uint32_t shape[] = { nn_size(r.out), nn_size(r.taps), d->s.win.w.kernel,
                               nn_size(r.in),  CHANNEL_BLOCK,   CHANNEL_BLOCK };
    const uint32_t one[] = { nn_size(r.in), nn_size(r.out), 1, 1, CHANNEL_BLOCK, CHANNEL_BLOCK };

    t = ss_tensor_slice(d->g, t, 0, at, at + size);
    if (!weight_gradient_is_windowed(&d->s))
        return ss_tensor_transpose(d->g, ss_tensor_reshape(d->g, t, 6, one),
                                   (const unsigned[]){ 1, 0, 2, 3, 4, 5 });
    t = ss_tensor_reshape(d->g, t, 6, shape);
    return ss_tensor_transpose(d->g, t, (const unsigned[]){ 0, 3, 1, 2, 4, 5 });
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
        ss_graph_fail(d->g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    for (uint32_t k = 0; k < cut[dim]; k++)
        part[k] = joined(d, t, first + k * step, group, dim + 1);
    t = ss_tensor_concat(d->g, part, cut[dim], dim);
    ss_free(part);
    return t;
}

/* All groups, [groups x out][in][rows][columns][16][16]. */
static struct tensor all_groups(const struct weight_gradient *d, struct tensor t)
{
    uint32_t n = d->s.groups, each = d->shares / d->plan.groups;
    struct tensor *part = emu_alloc(n, sizeof(*part));

    if (!part) {
        ss_graph_fail(d->g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    for (uint32_t k = 0; k < n; k++)
        part[k] = joined(d, t, part_with(n, d->plan.groups, k) * each, k, 0);
    t = ss_tensor_concat(d->g, part, n, 0);
    ss_free(part);
    return t;
}

/* The sums of a layer of whole blocks. */
static struct tensor whole_blocks(struct weight_gradient *d)
{
    struct weight_gradient_plan *p = &d->plan;
    struct graph *g = d->g;
    struct tensor t = d->x.t;
    enum emu_status s = ss_graph_status(g);

    if (s != EMU_OK)
        return t;
    *p = plan_weight_gradient(ss_graph_arch(g), &d->s, ss_graph_compute_tiles(g),
                              d->nn->memory_bytes);
    d->shares = p->groups * p->out * p->in * p->taps;
    d->sums = d->s.groups * d->s.out * d->s.in * d->s.win.h.kernel * d->s.win.w.kernel * BLOCK;
    s = find_pieces(d);
    if (s == EMU_OK)
        s = add_all(d);
    if (s == EMU_OK)
        t = ss_op_reduce(g, d->nn->seq, REDUCE_SUM, d->partials, ELEM_F32, "add");
    else
        ss_graph_fail(g, s, "%s", ss_error());
    VEC_FREE(&d->piece);
    VEC_FREE(&d->partial);
    VEC_FREE(&d->from);
    VEC_FREE(&d->to);
    return ss_graph_status(g) == EMU_OK ? all_groups(d, t) : t;
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

        of[i]->t = ss_tensor_reshape(g, of[i]->t, 5, shape);
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
    const uint32_t *s = ss_tensor_shape(g, t);

    t = ss_tensor_reshape(g, t, 5,
                          (const uint32_t[]){ s[0], s[2], s[3], CHANNEL_BLOCK, CHANNEL_BLOCK });
    t = ss_tensor_slice(g, t, 4, 0, 4);
    return ss_tensor_transpose(g, t, (const unsigned[]){ 0, 1, 3, 2, 4 });
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
        ss_graph_fail(g, EMU_NO_MEMORY, "a gradient");
        return t;
    }
    t = ss_tensor_transpose(g, t, (const unsigned[]){ 0, 4, 1, 5, 2, 3 });
    t = ss_tensor_reshape(g, t, 4, all);
    for (uint32_t k = 0; k < l->groups; k++) {
        uint32_t first = k * in - k * out / high * (shape->in_c / shape->groups);

        part[k] = ss_tensor_slice(g, t, 0, k * out, (k + 1) * out);
        part[k] = ss_tensor_slice(g, part[k], 1, first, first + in);
    }
    t = ss_tensor_concat(g, part, l->groups, 0);
    ss_free(part);
    return t;
}

static struct tensor gradient(struct weight_gradient *d, const struct conv_layer *l)
{
    const struct activation x = d->x;
    struct conv_shape shape = ss_conv_layer_shape(&x, l);
    int picture = ss_tensor_rank(d->g, x.t) == 4;
    struct tensor t;

    shape.blocks = !picture && ss_conv_is_first(&shape);
    if (ss_conv_method_of(&shape) == CONV_DEPTHWISE)
        return dw_weight_gradient(d->nn, &x, &d->dy, l);
    if (picture)
        d->x = ss_op_picture_blocks(d->nn, x, "picture");
    begin(d, l, shape.groups, channel_blocks(shape.in_c / shape.groups),
          channel_blocks(shape.out_c / shape.groups));
    t = whole_blocks(d);
    if (ss_graph_status(d->g) != EMU_OK)
        return t;
    if (picture)
        return first_channels(d, t);
    return shape.groups == l->groups ? t : own_channels(d, l, x.c, &shape, t);
}

struct tensor ss_op_conv_weight_gradient(struct nn *nn, struct activation x, struct activation dy,
                                         const struct conv_layer *l, const char *name)
{
    struct weight_gradient d = { .nn = nn, .g = nn_graph(nn), .x = x, .dy = dy };
    struct conv_shape s = ss_conv_layer_shape(&x, l);
    struct tensor t;

    if (s.out_h != dy.h || s.out_w != dy.w || dy.c != l->out_c || dy.n != x.n)
        ss_graph_fail(d.g, EMU_USAGE, "%s: the gradient of an output of %u x %u x %u x %u", name,
                      dy.n, dy.c, dy.h, dy.w);
    if (ss_graph_status(d.g) != EMU_OK)
        return x.t;
    ss_graph_push(nn->g, name);
    t = gradient(&d, l);
    ss_graph_pop(nn->g);
    return t;
}
