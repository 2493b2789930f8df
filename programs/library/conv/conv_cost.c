/* conv_cost.c - cycles and temporary memory of a cut, phase by phase. */
#include "programs/library/conv/conv_cost.h"

#include <string.h>

/* Cycles after the multiplication on a tile that has whole sums: bias and activation in place. */
static uint64_t finish_cycles(const struct arch *a, const struct conv_shape *s, uint64_t blocks,
                              uint64_t positions)
{
    const struct codelet *codelet = s->swish  ? KERNEL_ROW(bias_swish_f16)
                                    : s->relu ? KERNEL_ROW(bias_relu_f16)
                                              : KERNEL_ROW(bias_f16);

    return KERNEL_CYCLES(bias, codelet, a, .x = (uint32_t)(blocks * positions * ATOM),
                         .bias = (uint32_t)(blocks * ATOM), .blocks = (uint32_t)blocks,
                         .f = (uint32_t)positions);
}

/* 1 if sums leave the matrix unit in f32 (and become f16 with bias and activation), else 0. */
static uint32_t sums_f32(const struct conv_plan *p)
{
    return p->shape.f32 && p->method != CONV_DEPTHWISE && p->method != CONV_POOL;
}

/* ---- partial results ---- */

/* If n things are cut into `parts` parts: the part of thing k, and where a part begins. */
static uint32_t part_with(uint32_t n, uint32_t parts, uint32_t k)
{
    return (uint32_t)((((uint64_t)k + 1) * parts - 1) / n);
}

static uint32_t part_begin(uint32_t n, uint32_t parts, uint32_t i)
{
    return (uint32_t)((uint64_t)n * i / parts);
}

uint32_t conv_share_begin(const struct conv_shares *s, uint32_t i)
{
    uint32_t block, first;

    if (!s->by_block)
        return part_begin(s->blocks * s->positions, s->parts, i);
    if (i >= s->parts)
        return s->blocks * s->positions;
    block = part_with(s->parts, s->blocks, i);
    first = part_begin(s->parts, s->blocks, block);
    return block * s->positions +
           part_begin(s->positions, part_begin(s->parts, s->blocks, block + 1) - first, i - first);
}

uint32_t conv_share_with(const struct conv_shares *s, uint32_t row)
{
    uint32_t block = row / s->positions, first, parts;

    if (!s->by_block)
        return part_with(s->blocks * s->positions, s->parts, row);
    first = part_begin(s->parts, s->blocks, block);
    parts = part_begin(s->parts, s->blocks, block + 1) - first;
    return first + part_with(s->positions, parts, row % s->positions);
}

static const struct codelet *sum_codelet(const struct conv_shape *s, uint32_t f32)
{
    if (f32)
        return s->swish  ? KERNEL_ROW(reduce_bias_swish_f32)
               : s->relu ? KERNEL_ROW(reduce_bias_relu_f32)
                         : KERNEL_ROW(reduce_bias_f32);
    return s->swish  ? KERNEL_ROW(reduce_bias_swish_f16)
           : s->relu ? KERNEL_ROW(reduce_bias_relu_f16)
                     : KERNEL_ROW(reduce_bias_f16);
}

/* The work of a tile that adds up so many rows of a sum in so many calls. */
static struct conv_shares share_cost(const struct arch *a, const struct conv_plan *p, uint64_t rows,
                                     uint64_t calls)
{
    uint64_t terms = p->cut_in + p->shape.add, each = ceil_div(rows, calls);
    uint64_t cycles = KERNEL_CYCLES(reduce_bias, sum_codelet(&p->shape, sums_f32(p)), a,
                                    .partials = (uint32_t)(each * ATOM * terms), .bias = ATOM,
                                    .out = (uint32_t)(each * ATOM), .p = (uint32_t)terms);

    return (struct conv_shares){ .words = rows * ATOM_WORDS * (1 + sums_f32(p)),
                                 .calls = calls,
                                 .cycles = calls * cycles };
}

/* The most blocks of channels that an even share of all rows may reach into. */
static uint64_t blocks_of_share(uint32_t blocks, uint32_t positions, uint32_t parts)
{
    uint64_t rows = (uint64_t)blocks * positions, share = ceil_div(rows, parts);
    uint64_t most = (share + positions - 2) / positions + 1;

    if (rows % parts == 0 && (positions % share == 0 || share % positions == 0))
        return ceil_div(share, positions);
    return most < blocks ? most : blocks;
}

struct conv_shares conv_shares(const struct arch *a, const struct conv_plan *p, uint32_t blocks,
                               uint32_t positions)
{
    uint32_t parts = p->cut_in;
    uint64_t calls = blocks_of_share(blocks, positions, parts);
    struct conv_shares s = share_cost(a, p, ceil_div((uint64_t)blocks * positions, parts), calls);

    if (calls > 1 && blocks <= parts) {
        struct conv_shares other = share_cost(a, p, ceil_div(positions, parts / blocks), 1);
        uint64_t terms = parts + p->shape.add;

        if (other.words * terms + other.cycles < s.words * terms + s.cycles) {
            s = other;
            s.by_block = 1;
        }
    }
    s.blocks = blocks;
    s.positions = positions;
    s.parts = parts;
    return s;
}

/* The cost of adding up the partial results of cut_in tiles: each tile adds its share of the rows.
 */
static void cost_partials(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p)
{
    struct conv_shares s = conv_shares(a, p, (uint32_t)sh->out, (uint32_t)(sh->n * sh->h * sh->w));
    uint64_t terms = p->cut_in + p->shape.add, from_others = terms;

    /* With only one group of tiles, each tile has its own part of the sum already, and copies it.
     */
    if ((uint64_t)p->cut_n * p->cut_h * p->cut_w * p->cut_out == 1 || p->cut_in == 1) {
        from_others--;
        /* f32 sums are read where they lie, except those of windows, which have gaps between rows.
         */
        if (!sums_f32(p) || p->cut_in > 1 || p->method == CONV_WINDOW)
            p->cost.rearrange += plan_copy_cycles(a, s.words * 4);
    }
    if (from_others) {
        p->cost.exchange_partials = plan_port_cycles(&p->port, s.words * from_others, 1);
        p->cost.sync += a->sync_chip_cycles;
    }
    p->cost.reduce = s.cycles;
    p->cost.tile_bytes += s.words * 4 * terms;
}

/* Products are added to the residual, which is fetched before them in a phase of its own. */
static void cost_residual(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p)
{
    p->cost.exchange_partials = plan_port_cycles(&p->port, sh->out * sh->h * ATOM_WORDS, 1);
    p->cost.sync += a->sync_chip_cycles;
}

static uint64_t gemm_cycles(const struct arch *a, const struct conv_shard *sh, uint32_t f32,
                            int add)
{
    const struct codelet *codelet = f32   ? KERNEL_ROW(matmul_f16_f32)
                                    : add ? KERNEL_ROW(matmul_add_f16)
                                          : KERNEL_ROW(matmul_f16);

    return KERNEL_CYCLES(matmul, codelet, a, .in = (uint32_t)(sh->h * sh->in * ATOM),
                         .weights = (uint32_t)(sh->out * sh->in * ATOM * ATOM),
                         .out = (uint32_t)(sh->out * sh->h * ATOM), .kb = (uint32_t)sh->in,
                         .nb = (uint32_t)sh->out << f32, .f = (uint32_t)sh->h);
}

/* Positions of a result of CONV_WINDOW, including the gaps between its rows. */
static uint64_t window_positions(const struct conv_shape *s, const struct conv_shard *sh)
{
    return (sh->h - 1) * (sh->w + ceil_div(s->kernel, s->stride) - 1) + sh->w;
}

/* Cycles of CONV_WINDOW for one picture. */
static uint64_t window_cycles(const struct arch *a, const struct conv_shape *s,
                              const struct conv_shard *sh)
{
    uint64_t groups = s->groups > 1 ? atoms(s->in_c / s->groups) : sh->in;
    uint64_t kb = groups * sh->rows * s->kernel, f = window_positions(s, sh);
    uint64_t nb = sh->out / sh->calls;
    const struct codelet *codelet =
        s->f32 ? KERNEL_ROW(conv_window_f16_f32) : KERNEL_ROW(conv_window_f16);

    return sh->calls * KERNEL_CYCLES(conv_window, codelet, a,
                                     .in = (uint32_t)(sh->in * sh->in_h * sh->in_w * ATOM),
                                     .weights = (uint32_t)(nb * kb * ATOM * ATOM),
                                     .out = (uint32_t)(nb * f * ATOM), .steps = (uint32_t)kb,
                                     .kb = (uint32_t)kb, .nb = (uint32_t)nb << s->f32,
                                     .f = (uint32_t)f);
}

const struct codelet *dw_codelet(uint32_t k, uint32_t stride)
{
    if (k == 3)
        return stride == 1 ? KERNEL_ROW(dw3_f16) : KERNEL_ROW(dw3s2_f16);
    return stride == 1 ? KERNEL_ROW(dw5_f16) : KERNEL_ROW(dw5s2_f16);
}

static uint64_t depthwise_cycles(const struct arch *a, const struct conv_shape *s,
                                 const struct conv_shard *sh)
{
    return KERNEL_CYCLES(dw, dw_codelet(s->kernel, s->stride), a, .blocks = (uint32_t)sh->out,
                         .ho = (uint32_t)sh->h, .wo = (uint32_t)sh->w, .hp = (uint32_t)sh->in_h,
                         .wp = (uint32_t)sh->in_w);
}

static uint64_t first_cycles(const struct arch *a, const struct conv_shard *sh, uint32_t f32)
{
    const struct codelet *codelet =
        f32 ? KERNEL_ROW(conv_first_f16_f32) : KERNEL_ROW(conv_first_f16);

    return KERNEL_CYCLES(conv_first, codelet, a, .nb = (uint32_t)sh->out << f32,
                         .ho = (uint32_t)sh->h, .wo = (uint32_t)sh->w, .hp = (uint32_t)sh->in_h,
                         .wp = (uint32_t)sh->in_w);
}

static uint64_t pool_cycles(const struct arch *a, const struct conv_shape *s,
                            const struct conv_shard *sh)
{
    return KERNEL_CYCLES(maxpool, KERNEL_ROW(maxpool_f16), a, .blocks = (uint32_t)sh->out,
                         .ho = (uint32_t)sh->h, .wo = (uint32_t)sh->w, .hp = (uint32_t)sh->in_h,
                         .wp = (uint32_t)sh->in_w, .k = s->kernel, .stride = s->stride);
}

/* How many tiles take the same input: those that compute different output channels from it. */
static uint64_t fan_out(const struct conv_plan *p)
{
    return p->method == CONV_FIRST || p->shape.groups == 1 ? p->cut_out : 1;
}

void plan_conv_cost(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;
    uint64_t in_bytes = sh->n * sh->in * sh->in_h * sh->in_w * ATOM_BYTES;
    uint64_t out_bytes = sh->n * sh->out * sh->h * sh->w * ATOM_BYTES;

    memset(&p->cost, 0, sizeof(p->cost));
    switch (p->method) {
    case CONV_GEMM:
        p->cost.compute = gemm_cycles(a, sh, s->f32, p->cut_in == 1 && s->add);
        break;
    case CONV_WINDOW:
        p->cost.compute = sh->n * window_cycles(a, s, sh);
        p->cost.tile_bytes = (sh->n * sh->out * window_positions(s, sh) * ATOM_BYTES) << s->f32;
        /* Rows are copied together. */
        if (p->cut_in == 1 && !s->add && !s->f32)
            p->cost.rearrange = plan_copy_cycles(a, out_bytes);
        break;
    case CONV_DEPTHWISE:
        p->cost.compute = sh->n * depthwise_cycles(a, s, sh);
        break;
    case CONV_FIRST:
        in_bytes = sh->n * sh->in_h * sh->in_w * FIRST_CHANNELS * 2;
        p->cost.compute = sh->n * first_cycles(a, sh, s->f32);
        break;
    case CONV_POOL:
        p->cost.compute = sh->n * pool_cycles(a, s, sh);
        break;
    }
    p->cost.exchange_in = plan_port_cycles(&p->port, in_bytes / 4, fan_out(p));
    p->cost.sync = a->sync_chip_cycles;
    if (p->method == CONV_GEMM && p->cut_in == 1 && s->add)
        cost_residual(a, sh, p);
    p->cost.tile_bytes += in_bytes + out_bytes;
    if (sums_f32(p) && p->method != CONV_WINDOW)
        p->cost.tile_bytes += 2 * out_bytes;
    if (p->cut_in > 1 || (p->method == CONV_WINDOW && s->add) || sums_f32(p))
        cost_partials(a, sh, p);
    else if (s->bias || s->swish || s->relu)
        p->cost.compute += finish_cycles(a, s, sh->out, sh->n * sh->h * sh->w);
    p->cost.total = p->cost.exchange_in + p->cost.compute + p->cost.exchange_partials +
                    p->cost.reduce + p->cost.sync + p->cost.rearrange;
}
