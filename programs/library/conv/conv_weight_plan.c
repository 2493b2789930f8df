/* conv_weight_plan.c - tries all cuts of the gradient of a convolution's weights. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_weight_plan.h"

enum {
    BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK,
    BLOCK_BYTES = 2 * BLOCK,
    BLOCK_WORDS = BLOCK_BYTES / 4
};

/* The largest part of a cut: what its tile has. */
struct part {
    uint64_t groups, out, in, taps, rows;
    int straddles; /* its rows are of one picture more than they need be */
};

/* What the rows of a part cost. */
struct load {
    uint64_t kb, positions; /* blocks of positions of dy; positions of a block of x in planes */
    uint64_t pieces;
    uint64_t transposes; /* cycles, of x */
};

struct search {
    const struct arch *a;
    const struct weight_gradient_shape *s;
    struct plan_port port;
    uint64_t memory;
    struct weight_gradient_plan best;
};

uint32_t weight_gradient_tile(uint64_t part, uint64_t parts, uint32_t tiles)
{
    return (uint32_t)((part * tiles / parts + tiles / 4) % tiles);
}

uint32_t weight_gradient_pitch(const struct weight_gradient_shape *s)
{
    return plane_size(&s->win.w, s->columns);
}

uint32_t weight_gradient_blocks(const struct weight_gradient_shape *s, uint32_t rows)
{
    return ceil_div((uint64_t)(rows - 1) * weight_gradient_pitch(s) + s->columns, CHANNEL_BLOCK);
}

uint32_t weight_gradient_piece(const struct weight_gradient_shape *s)
{
    uint32_t positions = WEIGHT_GRADIENT_BLOCKS * CHANNEL_BLOCK;

    return positions < s->columns ? 1 : (positions - s->columns) / weight_gradient_pitch(s) + 1;
}

static uint64_t transpose_cycles(const struct arch *a, uint64_t blocks)
{
    uint32_t n = (uint32_t)(blocks * BLOCK);

    return KERNEL_CYCLES(transpose16, KERNEL_ROW(transpose16_f16), a, .x = n, .y = n,
                         .blocks = (uint32_t)blocks);
}

static uint64_t multiply_cycles(const struct arch *a, uint64_t kb, uint64_t nb, uint64_t f)
{
    return KERNEL_CYCLES(
        matmul, KERNEL_ROW(matmul_f16), a, .in = (uint32_t)(kb * f * CHANNEL_BLOCK),
        .weights = (uint32_t)(nb * kb * BLOCK), .out = (uint32_t)(nb * f * CHANNEL_BLOCK),
        .kb = (uint32_t)kb, .nb = (uint32_t)nb, .f = (uint32_t)f);
}

static uint64_t add_cycles(const struct arch *a, uint64_t partials, uint64_t sums)
{
    return KERNEL_CYCLES(reduce, KERNEL_ROW(reduce_sum_f16_f32), a,
                         .partials = (uint32_t)(partials * sums), .out = (uint32_t)sums,
                         .p = (uint32_t)partials);
}

/* Adds `pictures` times so many rows of one. */
static void add_rows(const struct search *w, const struct part *p, uint32_t rows, uint64_t pictures,
                     struct load *l)
{
    uint32_t pieces = ceil_div(rows, weight_gradient_piece(w->s));
    uint64_t calls = p->taps * w->s->win.w.kernel * p->in, kb;
    struct windows win = w->s->win;
    struct planes planes;

    if (!rows)
        return;
    win.h.kernel = (uint32_t)p->taps;
    rows = ceil_div(rows, pieces);
    planes = planes_of(&win, rows, w->s->columns);
    kb = weight_gradient_blocks(w->s, rows);
    pictures *= pieces;
    l->kb += pictures * kb;
    l->positions += pictures * planes_size(&planes);
    l->pieces += pictures;
    l->transposes += pictures * calls * transpose_cycles(w->a, kb);
}

/* Cycles and bytes of a cut, of which p is the largest part. */
static void cost_of(const struct search *w, const struct part *p, struct weight_gradient_plan *c)
{
    const struct weight_gradient_shape *s = w->s;
    uint32_t height = s->rows / s->pictures, head = p->straddles ? height / 2 : 0;
    uint64_t words, sums, taps = p->taps * s->win.w.kernel, partials, turn;
    struct load l = { 0 };

    head = head < p->rows ? head : (uint32_t)p->rows / 2;
    add_rows(w, p, head, 1, &l);
    add_rows(w, p, height, (p->rows - head) / height, &l);
    add_rows(w, p, (uint32_t)(p->rows - head) % height, 1, &l);
    partials = ceil_div(l.kb, WEIGHT_GRADIENT_BLOCKS);
    words = p->groups * (p->in * l.positions * CHANNEL_BLOCK_WORDS + p->out * l.kb * BLOCK_WORDS);
    turn = taps == 1 && l.pieces == 1 ? transpose_cycles(w->a, l.kb * (p->in + p->out))
                                      : l.transposes + transpose_cycles(w->a, l.kb * p->out);
    sums = p->groups * taps * p->in * p->out * BLOCK;
    c->cycles =
        plan_port_cycles(&w->port, words, 1) + w->a->sync_chip_cycles +
        p->groups * (turn + partials * multiply_cycles(w->a, ceil_div(l.kb, partials), taps * p->in,
                                                       p->out * CHANNEL_BLOCK));
    if (partials > 1)
        c->cycles += add_cycles(w->a, partials, sums);
    c->cycles +=
        plan_reduce_cycles(w->a, &w->port, c->rows, sums, partials > 1 ? ELEM_F32 : ELEM_F16);
    c->bytes =
        words * 4 + partials * sums * 2 + p->groups * l.kb * (taps * p->in + p->out) * BLOCK_BYTES;
}

static void try_cut(struct search *w, struct weight_gradient_plan c)
{
    const struct weight_gradient_shape *s = w->s;
    const struct part p = { .groups = ceil_div(s->groups, c.groups),
                            .out = ceil_div(s->out, c.out),
                            .in = ceil_div(s->in, c.in),
                            .taps = ceil_div(s->win.h.kernel, c.taps),
                            .rows = ceil_div(s->rows, c.rows),
                            .straddles = c.rows % s->pictures && s->pictures % c.rows };
    int fits, best_fits = w->best.bytes <= w->memory;

    cost_of(w, &p, &c);
    fits = c.bytes <= w->memory;
    if (!w->best.groups || (fits && !best_fits) ||
        (fits == best_fits && (fits ? c.cycles < w->best.cycles : c.bytes < w->best.bytes)))
        w->best = c;
}

struct weight_gradient_plan plan_weight_gradient(const struct arch *a,
                                                 const struct weight_gradient_shape *s,
                                                 uint32_t tiles, uint64_t memory_bytes)
{
    uint64_t half = a->mem_bytes / 2;
    struct search w = {
        .a = a, .s = s, .port = plan_port(a), .memory = memory_bytes < half ? memory_bytes : half
    };
    struct weight_gradient_plan c = { .groups = 1 };

    for (c.groups = 1; c.groups <= tiles; c.groups = next_cut(s->groups, c.groups))
        for (c.out = 1; c.groups * c.out <= tiles; c.out = next_cut(s->out, c.out))
            for (c.in = 1; c.groups * c.out * (uint64_t)c.in <= tiles; c.in = next_cut(s->in, c.in))
                for (c.taps = 1; c.groups * c.out * c.in * (uint64_t)c.taps <= tiles;
                     c.taps = next_cut(s->win.h.kernel, c.taps))
                    for (c.rows = 1; c.groups * c.out * c.in * c.taps * (uint64_t)c.rows <= tiles;
                         c.rows = next_cut(s->rows, c.rows))
                        try_cut(&w, c);
    return w.best;
}
