/* conv_weight_plan.c - tries all cuts of the gradient of a convolution's weights. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_weight_plan.h"

enum {
    BLOCK = CHANNEL_BLOCK * CHANNEL_BLOCK,
    BLOCK_BYTES = 2 * BLOCK,
    BLOCK_WORDS = BLOCK_BYTES / 4
};

/* The largest part of a cut: what its tile has. */
struct weight_part {
    uint64_t groups, out, in, taps, rows;
    uint32_t columns;
    int flat;
    int straddles; /* its rows are of one picture more than they need be */
};

/* What the rows of a part cost. */
struct load {
    uint64_t kb, positions; /* blocks of positions of dy; positions of a block of x in planes */
    uint64_t pieces;
    uint64_t turned; /* blocks of x that are transposed */
};

struct weight_search {
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

int weight_gradient_is_windowed(const struct weight_gradient_shape *s)
{
    return s->win.h.kernel * s->win.w.kernel > 1;
}

uint32_t weight_gradient_pitch(const struct weight_gradient_shape *s, int flat, uint32_t columns)
{
    return flat ? plane_size(&s->win.w, columns) : ceil_div(columns, CHANNEL_BLOCK) * CHANNEL_BLOCK;
}

/* Into how many parts columns can be cut. */
static uint32_t column_blocks(const struct weight_gradient_shape *s)
{
    return weight_gradient_is_windowed(s) ? ceil_div(s->columns, CHANNEL_BLOCK) : 1;
}

struct nn_range weight_gradient_columns(const struct weight_gradient_shape *s, uint32_t parts,
                                        uint32_t i)
{
    struct nn_range r = nn_part(column_blocks(s), parts, i);

    r.begin *= CHANNEL_BLOCK;
    r.end = i + 1 < parts ? r.end * CHANNEL_BLOCK : s->columns;
    return r;
}

struct turned_rows weight_gradient_turned(const struct planes *l, int flat, uint32_t rows,
                                          uint32_t blocks)
{
    if (flat)
        return (struct turned_rows){ blocks * l->win.h.kernel, l->win.h.kernel };
    return (struct turned_rows){ blocks / rows * l->rows * l->plane_rows, l->plane_rows };
}

uint32_t weight_gradient_blocks(const struct weight_gradient_shape *s, int flat, uint32_t rows,
                                uint32_t columns)
{
    return ceil_div((uint64_t)(rows - 1) * weight_gradient_pitch(s, flat, columns) + columns,
                    CHANNEL_BLOCK);
}

uint32_t weight_gradient_piece(const struct weight_gradient_shape *s, int flat, uint32_t columns)
{
    uint32_t positions = WEIGHT_GRADIENT_BLOCKS * CHANNEL_BLOCK;

    return positions < columns
               ? 1
               : (positions - columns) / weight_gradient_pitch(s, flat, columns) + 1;
}

static uint64_t transpose_cycles(const struct arch *a, uint64_t blocks)
{
    uint32_t n = (uint32_t)(blocks * BLOCK);

    return KERNEL_CYCLES(transpose16, KERNEL_ROW(transpose16_f16), a, .x = n, .y = n,
                         .blocks = (uint32_t)blocks);
}

static uint64_t transpose_at_cycles(const struct arch *a, uint64_t blocks)
{
    uint32_t n = (uint32_t)(blocks * BLOCK);

    return KERNEL_CYCLES(transpose16_at, KERNEL_ROW(transpose16_at_f16), a, .x = n, .y = n,
                         .blocks = (uint32_t)blocks);
}

/* kb blocks of terms, nb blocks of 16 outputs, f rows. */
static uint64_t window_cycles(const struct arch *a, uint64_t kb, uint64_t nb, uint64_t f)
{
    return KERNEL_CYCLES(
        conv_window, KERNEL_ROW(conv_window_f16), a, .in = (uint32_t)(kb * f * CHANNEL_BLOCK),
        .weights = (uint32_t)(nb * kb * BLOCK), .out = (uint32_t)(nb * f * CHANNEL_BLOCK),
        .kb = (uint32_t)kb, .nb = (uint32_t)nb, .f = (uint32_t)f);
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
static void add_rows(const struct weight_search *w, const struct weight_part *p, uint32_t rows,
                     uint64_t pictures, struct load *l)
{
    uint32_t pieces = ceil_div(rows, weight_gradient_piece(w->s, p->flat, p->columns));
    struct windows win = w->s->win;
    uint64_t kb;
    struct planes planes;

    if (!rows)
        return;
    win.h.kernel = (uint32_t)p->taps;
    rows = ceil_div(rows, pieces);
    planes = planes_of(&win, rows, p->columns);
    kb = weight_gradient_blocks(w->s, p->flat, rows, p->columns);
    pictures *= pieces;
    l->kb += pictures * kb;
    l->positions += pictures * planes_size(&planes);
    l->pieces += pictures;
    l->turned += pictures * weight_gradient_turned(&planes, p->flat, rows, (uint32_t)kb).count *
                 w->s->win.w.kernel * p->in;
}

/* Cycles of one group that is added up in so many partial sums. */
static uint64_t group_cycles(const struct weight_search *w, const struct weight_part *p,
                             const struct load *l, uint64_t partials)
{
    uint64_t kb = ceil_div(l->kb, partials);
    uint64_t blocks = ceil_div(l->turned, partials) + kb * p->out;
    uint64_t products = p->taps * w->s->win.w.kernel * p->in;

    if (weight_gradient_is_windowed(w->s))
        return partials * (transpose_at_cycles(w->a, blocks) +
                           window_cycles(w->a, kb, p->out, products * CHANNEL_BLOCK) +
                           transpose_cycles(w->a, products * p->out));
    return partials * ((l->pieces > partials ? transpose_at_cycles(w->a, blocks)
                                             : transpose_cycles(w->a, blocks)) +
                       multiply_cycles(w->a, kb, p->in, p->out * CHANNEL_BLOCK));
}

/* Cycles and bytes of a cut, of which p is the largest part. */
static void cost_of(const struct weight_search *w, const struct weight_part *p,
                    struct weight_gradient_plan *c)
{
    const struct weight_gradient_shape *s = w->s;
    uint32_t height = s->rows / s->pictures, head = p->straddles ? height / 2 : 0;
    uint64_t words, sums, taps = p->taps * s->win.w.kernel, partials;
    struct load l = { 0 };

    head = head < p->rows ? head : (uint32_t)p->rows / 2;
    add_rows(w, p, head, 1, &l);
    add_rows(w, p, height, (p->rows - head) / height, &l);
    add_rows(w, p, (uint32_t)(p->rows - head) % height, 1, &l);
    partials = ceil_div(l.kb, WEIGHT_GRADIENT_BLOCKS);
    words = p->groups * (p->in * l.positions * CHANNEL_BLOCK_WORDS + p->out * l.kb * BLOCK_WORDS);
    sums = p->groups * taps * p->in * p->out * BLOCK;
    c->cycles = plan_port_cycles(&w->port, words, 1) + w->a->sync_chip_cycles +
                p->groups * group_cycles(w, p, &l, partials);
    if (partials > 1)
        c->cycles += add_cycles(w->a, partials, sums);
    c->cycles += plan_reduce_cycles(w->a, &w->port, c->rows * c->columns, sums,
                                    partials > 1 ? ELEM_F32 : ELEM_F16);
    c->bytes = words * 4 + partials * sums * 2 * (weight_gradient_is_windowed(s) ? 2 : 1) +
               p->groups * (l.turned + l.kb * p->out) * BLOCK_BYTES;
}

static void try_cut(struct weight_search *w, struct weight_gradient_plan c)
{
    const struct weight_gradient_shape *s = w->s;
    uint32_t columns = ceil_div(column_blocks(s), c.columns) * CHANNEL_BLOCK;
    const struct weight_part p = { .groups = ceil_div(s->groups, c.groups),
                                   .out = ceil_div(s->out, c.out),
                                   .in = ceil_div(s->in, c.in),
                                   .taps = ceil_div(s->win.h.kernel, c.taps),
                                   .rows = ceil_div(s->rows, c.rows),
                                   .columns = c.columns > 1 ? columns : s->columns,
                                   .flat = c.flat,
                                   .straddles = c.rows % s->pictures && s->pictures % c.rows };
    int fits, best_fits = w->best.bytes <= w->memory;

    cost_of(w, &p, &c);
    fits = c.bytes <= w->memory;
    if (!w->best.groups || (fits && !best_fits) ||
        (fits == best_fits && (fits ? c.cycles < w->best.cycles : c.bytes < w->best.bytes)))
        w->best = c;
}

/* Whether rows of the kernel are neighbours among rows of the input, taken plane by plane. */
static int rows_are_neighbours(const struct window_axis *h)
{
    return h->stride % h->dilation == 0;
}

/* Tries all cuts of rows and columns; parts: those of the sums. */
static void try_field(struct weight_search *w, struct weight_gradient_plan c, uint64_t parts,
                      uint32_t tiles)
{
    for (c.columns = 1; parts * c.columns <= tiles;
         c.columns = next_cut(column_blocks(w->s), c.columns))
        for (c.rows = 1; parts * c.columns * c.rows <= tiles; c.rows = next_cut(w->s->rows, c.rows))
            for (c.flat = !weight_gradient_is_windowed(w->s) || !rows_are_neighbours(&w->s->win.h);
                 c.flat < 2; c.flat++)
                try_cut(w, c);
}

struct weight_gradient_plan plan_weight_gradient(const struct arch *a,
                                                 const struct weight_gradient_shape *s,
                                                 uint32_t tiles, uint64_t memory_bytes)
{
    uint64_t half = a->mem_bytes / 2;
    struct weight_search w = {
        .a = a, .s = s, .port = plan_port(a), .memory = memory_bytes < half ? memory_bytes : half
    };
    struct weight_gradient_plan c = { .groups = 1 };

    for (c.groups = 1; c.groups <= tiles; c.groups = next_cut(s->groups, c.groups))
        for (c.out = 1; c.groups * c.out <= tiles; c.out = next_cut(s->out, c.out))
            for (c.in = 1; c.groups * c.out * (uint64_t)c.in <= tiles; c.in = next_cut(s->in, c.in))
                for (c.taps = 1; c.groups * c.out * c.in * (uint64_t)c.taps <= tiles;
                     c.taps = next_cut(s->win.h.kernel, c.taps))
                    try_field(&w, c, c.groups * c.out * c.in * (uint64_t)c.taps, tiles);
    return w.best;
}
