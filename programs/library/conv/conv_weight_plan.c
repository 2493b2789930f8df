/* conv_weight_plan.c - tries all cuts of the gradient of a convolution's weights. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_weight_plan.h"

enum {
    BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK,
    BLOCK_BYTES = 2 * BLOCK,
    BLOCK_WORDS = BLOCK_BYTES / 4,
    SUM_ELEMENTS = 2 /* elements of a partial sum that a tile adds up in a cycle, about */
};

/* The largest part of a cut: what its tile has. */
struct part {
    uint64_t groups, out, in, taps, rows;
};

struct search {
    const struct arch *a;
    const struct weight_gradient_shape *s;
    struct plan_port port;
    uint64_t memory;
    struct weight_gradient_plan best;
};

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

/* Cycles and bytes of a cut, of which p is the largest part. */
static void cost_of(const struct search *w, const struct part *p, struct weight_gradient_plan *c)
{
    const struct weight_gradient_shape *s = w->s;
    struct windows win = s->win;
    uint32_t most = weight_gradient_piece(s), pieces = ceil_div(p->rows, most), rows;
    uint64_t kb, size, words, sums, taps = p->taps * s->win.w.kernel, calls;
    struct planes l;

    rows = ceil_div(p->rows, pieces);
    win.h.kernel = (uint32_t)p->taps;
    l = planes_of(&win, rows, s->columns);
    kb = weight_gradient_blocks(s, rows);
    size = planes_size(&l);
    words = p->groups * pieces * (p->in * size * CHANNEL_BLOCK_WORDS + p->out * kb * BLOCK_WORDS);
    sums = p->groups * taps * p->in * p->out * BLOCK;
    calls = taps == 1 ? 1 : taps * p->in;
    c->cycles = plan_port_cycles(&w->port, words, 1) + 4 * w->a->sync_chip_cycles +
                p->groups * pieces *
                    (calls * transpose_cycles(w->a, kb * p->in * taps / calls) +
                     transpose_cycles(w->a, kb * p->out) +
                     multiply_cycles(w->a, kb, taps * p->in, p->out * CHANNEL_BLOCK));
    c->cycles += sums * pieces / SUM_ELEMENTS;
    if (c->rows > 1)
        c->cycles += plan_port_cycles(&w->port, pieces > 1 ? sums : sums / 2, 1);
    c->bytes = words * 4 + pieces * sums * 2 +
               p->groups * pieces * kb * (taps * p->in + p->out) * BLOCK_BYTES;
}

static void try_cut(struct search *w, struct weight_gradient_plan c)
{
    const struct weight_gradient_shape *s = w->s;
    const struct part p = { .groups = ceil_div(s->groups, c.groups),
                            .out = ceil_div(s->out, c.out),
                            .in = ceil_div(s->in, c.in),
                            .taps = ceil_div(s->win.h.kernel, c.taps),
                            .rows = ceil_div(s->rows, c.rows) };
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
