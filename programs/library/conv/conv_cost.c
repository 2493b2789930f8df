/* conv_cost.c - cycles and temporary memory of a cut, phase by phase. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/first/first_pack.h"

#include <string.h>

const struct act_kernels conv_bias_kernels = ACT_KERNELS_4(bias, f16);
const struct act_kernels conv_sum_kernels[] = { ACT_KERNELS_3(reduce_bias, f16),
                                                ACT_KERNELS_3(reduce_bias, f32) };

static enum activation_function act_of(const struct conv_shape *s)
{
    return s->swish ? ACT_SWISH : s->relu ? ACT_RELU : ACT_NONE;
}

/* Cycles after the multiplication on a tile that has whole sums: bias and activation in place. */
static uint64_t finish_cycles(const struct arch *a, const struct conv_shape *s, uint64_t blocks,
                              uint64_t positions)
{
    return KERNEL_CYCLES(bias, conv_bias_kernels.of[act_of(s)], a,
                         .x = (uint32_t)(blocks * positions * CHANNEL_BLOCK),
                         .bias = (uint32_t)(blocks * CHANNEL_BLOCK), .blocks = (uint32_t)blocks,
                         .f = (uint32_t)positions);
}

/* 1 if sums leave the matrix unit in f32 (and become f16 with bias and activation), else 0. */
static uint32_t sums_f32(const struct conv_plan *p)
{
    return p->shape.f32 && p->method != CONV_DEPTHWISE;
}

/* ---- parts of the output ---- */

/* Parts that every unit is cut into. */
static uint32_t parts_of_unit(const struct conv_plan *p)
{
    uint32_t units = conv_units_of(p);

    return p->cut_out > units ? p->cut_out / units : 1;
}

struct nn_range conv_output_part(const struct conv_plan *p, uint32_t o)
{
    uint32_t units = conv_units_of(p), unit = conv_unit_blocks(p), parts = parts_of_unit(p);
    struct nn_range r = nn_part(parts > 1 ? unit : units, parts > 1 ? parts : p->cut_out,
                                parts > 1 ? o % parts : o);

    if (parts == 1)
        return (struct nn_range){ r.begin * unit, r.end * unit };
    return (struct nn_range){ o / parts * unit + r.begin, o / parts * unit + r.end };
}

uint32_t conv_output_part_with(const struct conv_plan *p, uint32_t block)
{
    uint32_t unit = conv_unit_blocks(p), parts = parts_of_unit(p);

    if (parts == 1)
        return part_with(conv_units_of(p), p->cut_out, block / unit);
    return block / unit * parts + part_with(unit, parts, block % unit);
}

/* ---- partial results ---- */

uint32_t conv_sum_part_begin(const struct conv_sum_cut *s, uint32_t i)
{
    uint32_t block, first;

    if (!s->by_block)
        return cut_at(s->blocks * s->positions, s->parts, i);
    if (i >= s->parts)
        return s->blocks * s->positions;
    block = part_with(s->parts, s->blocks, i);
    first = cut_at(s->parts, s->blocks, block);
    return block * s->positions +
           cut_at(s->positions, cut_at(s->parts, s->blocks, block + 1) - first, i - first);
}

uint32_t conv_sum_part_with(const struct conv_sum_cut *s, uint32_t row)
{
    uint32_t block = row / s->positions, first, parts;

    if (!s->by_block)
        return part_with(s->blocks * s->positions, s->parts, row);
    first = cut_at(s->parts, s->blocks, block);
    parts = cut_at(s->parts, s->blocks, block + 1) - first;
    return first + part_with(s->positions, parts, row % s->positions);
}

/* The work of a tile that adds up so many rows of a sum in so many calls. */
static struct conv_sum_cut sum_part_cost(const struct arch *a, const struct conv_plan *p,
                                         uint64_t rows, uint64_t calls)
{
    uint64_t terms = p->cut_in + p->shape.add, each = ceil_div(rows, calls);
    const struct codelet *codelet = conv_sum_kernels[sums_f32(p)].of[act_of(&p->shape)];
    uint64_t cycles = KERNEL_CYCLES(
        reduce_bias, codelet, a, .partials = (uint32_t)(each * CHANNEL_BLOCK * terms),
        .bias = CHANNEL_BLOCK, .out = (uint32_t)(each * CHANNEL_BLOCK), .p = (uint32_t)terms);

    return (struct conv_sum_cut){ .words = rows * CHANNEL_BLOCK_WORDS * (1 + sums_f32(p)),
                                  .calls = calls,
                                  .cycles = calls * cycles };
}

/* The most blocks of channels that an even part of all rows may reach into. */
static uint64_t blocks_of_sum_part(uint32_t blocks, uint32_t positions, uint32_t parts)
{
    uint64_t rows = (uint64_t)blocks * positions, part = ceil_div(rows, parts);
    uint64_t most = (part + positions - 2) / positions + 1;

    if (rows % parts == 0 && (positions % part == 0 || part % positions == 0))
        return ceil_div(part, positions);
    return most < blocks ? most : blocks;
}

struct conv_sum_cut conv_sum_cut(const struct arch *a, const struct conv_plan *p, uint32_t blocks,
                                 uint32_t positions)
{
    uint32_t parts = p->cut_in;
    uint64_t calls = blocks_of_sum_part(blocks, positions, parts);
    struct conv_sum_cut s =
        sum_part_cost(a, p, ceil_div((uint64_t)blocks * positions, parts), calls);

    if (calls > 1 && blocks <= parts) {
        struct conv_sum_cut other = sum_part_cost(a, p, ceil_div(positions, parts / blocks), 1);
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

/* The cost of adding up the partial results of cut_in tiles: each tile adds up its part of the
 * rows. */
static void cost_partials(const struct arch *a, const struct conv_part *part, struct conv_plan *p)
{
    struct conv_sum_cut s =
        conv_sum_cut(a, p, (uint32_t)part->out, (uint32_t)(part->n * part->h * part->w));
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
static void cost_residual(const struct arch *a, const struct conv_part *part, struct conv_plan *p)
{
    p->cost.exchange_partials =
        plan_port_cycles(&p->port, part->out * part->h * CHANNEL_BLOCK_WORDS, 1);
    p->cost.sync += a->sync_chip_cycles;
}

static uint64_t gemm_cycles(const struct arch *a, const struct conv_part *part, uint32_t f32,
                            int add)
{
    const struct codelet *codelet = f32   ? KERNEL_ROW(matmul_f16_f32)
                                    : add ? KERNEL_ROW(matmul_add_f16)
                                          : KERNEL_ROW(matmul_f16);

    uint64_t nb = part->out / part->calls, kb = part->in / part->calls;

    return part->calls *
           KERNEL_CYCLES(matmul, codelet, a, .in = (uint32_t)(part->h * kb * CHANNEL_BLOCK),
                         .weights = (uint32_t)(nb * kb * CHANNEL_BLOCK * CHANNEL_BLOCK),
                         .out = (uint32_t)(nb * part->h * CHANNEL_BLOCK), .kb = (uint32_t)kb,
                         .nb = (uint32_t)nb << f32, .f = (uint32_t)part->h);
}

/* Positions of a result of CONV_WINDOW, including the gaps between its rows. */
static uint64_t window_positions(const struct conv_shape *s, const struct conv_part *part)
{
    return (part->h - 1) * (part->w + (s->kernel_w - 1) * s->dilation_w / s->stride_w) + part->w;
}

/* Cycles of CONV_WINDOW for one picture. */
static uint64_t window_cycles(const struct arch *a, const struct conv_shape *s,
                              const struct conv_part *part)
{
    uint64_t in = part->in / part->groups;
    uint64_t kb = in * part->rows * s->kernel_w, f = window_positions(s, part);
    uint64_t nb = part->out / part->calls;
    const struct codelet *codelet =
        s->f32 ? KERNEL_ROW(conv_window_f16_f32) : KERNEL_ROW(conv_window_f16);

    return part->calls *
           KERNEL_CYCLES(conv_window, codelet, a,
                         .in = (uint32_t)(part->in * part->in_h * part->in_w * CHANNEL_BLOCK),
                         .weights = (uint32_t)(nb * kb * CHANNEL_BLOCK * CHANNEL_BLOCK),
                         .out = (uint32_t)(nb * f * CHANNEL_BLOCK), .steps = (uint32_t)kb,
                         .kb = (uint32_t)kb, .nb = (uint32_t)nb << s->f32, .f = (uint32_t)f);
}

struct dw_kind conv_dw_kind(const struct conv_shape *s)
{
    return (struct dw_kind){ s->kernel_h, s->stride_h, !s->sliding };
}

const struct codelet *dw_codelet(struct dw_kind kind)
{
    /* By kernel (3, 5), stride (1, 2), mixed. */
    static const struct codelet *const of[2][2][2] = {
        { { KERNEL_ROW(dw3_slide_f16), KERNEL_ROW(dw3_f16) },
          { KERNEL_ROW(dw3s2_slide_f16), KERNEL_ROW(dw3s2_f16) } },
        { { KERNEL_ROW(dw5_slide_f16), KERNEL_ROW(dw5_f16) },
          { KERNEL_ROW(dw5s2_slide_f16), KERNEL_ROW(dw5s2_f16) } },
    };

    return of[kind.k == 5][kind.stride == 2][kind.mixed];
}

static uint64_t depthwise_cycles(const struct arch *a, const struct conv_shape *s,
                                 const struct conv_part *part)
{
    return KERNEL_CYCLES(dw, dw_codelet(conv_dw_kind(s)), a, .blocks = (uint32_t)part->out,
                         .ho = (uint32_t)part->h, .wo = (uint32_t)part->w,
                         .hp = (uint32_t)part->in_h, .wp = (uint32_t)part->in_w);
}

static uint64_t first_cycles(const struct arch *a, const struct conv_part *part, uint32_t f32)
{
    const struct codelet *codelet =
        f32 ? KERNEL_ROW(conv_first_f16_f32) : KERNEL_ROW(conv_first_f16);

    return KERNEL_CYCLES(conv_first, codelet, a, .nb = (uint32_t)part->out << f32,
                         .ho = (uint32_t)part->h, .wo = (uint32_t)part->w,
                         .hp = (uint32_t)part->in_h, .wp = (uint32_t)part->in_w);
}

/* Bytes in which a first layer gathers what its kernel covers at each position. */
static uint64_t patch_bytes(const struct conv_shape *s, const struct conv_part *part)
{
    return part->n * part->h * part->w * conv_first_blocks(s->kernel_h) * CHANNEL_BLOCK_BYTES;
}

static uint64_t pool_cycles(const struct arch *a, const struct conv_plan *p,
                            const struct conv_part *part)
{
    uint32_t blocks = (uint32_t)part->out, ho = (uint32_t)part->h, wo = (uint32_t)part->w;
    uint32_t more_h = p->shape.kernel_h - 1, more_w = p->shape.kernel_w - 1;

    if (p->method == CONV_MEAN)
        return KERNEL_CYCLES(avgpool, KERNEL_ROW(avgpool_f16), a, .blocks = blocks, .ho = ho,
                             .wo = wo, .more_h = more_h, .more_w = more_w);
    return KERNEL_CYCLES(maxpool, KERNEL_ROW(maxpool_f16), a, .blocks = blocks, .ho = ho, .wo = wo,
                         .more_h = more_h, .more_w = more_w);
}

/* How many tiles take the same input: those that compute different output channels from it. */
static uint64_t fan_out(const struct conv_plan *p)
{
    return p->method == CONV_FIRST || p->shape.groups == 1 ? p->cut_out : parts_of_unit(p);
}

void plan_conv_cost(const struct arch *a, const struct conv_part *part, struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;
    uint64_t in_bytes = part->n * part->in * part->in_h * part->in_w * CHANNEL_BLOCK_BYTES;
    uint64_t out_bytes = part->n * part->out * part->h * part->w * CHANNEL_BLOCK_BYTES;

    memset(&p->cost, 0, sizeof(p->cost));
    switch (p->method) {
    case CONV_GEMM:
        p->cost.compute = gemm_cycles(a, part, s->f32, p->cut_in == 1 && s->add);
        break;
    case CONV_WINDOW:
        p->cost.compute = part->n * window_cycles(a, s, part);
        p->cost.tile_bytes = (part->n * part->out * window_positions(s, part) * CHANNEL_BLOCK_BYTES)
                             << s->f32;
        /* Rows are copied together. */
        if (p->cut_in == 1 && !s->add && !s->f32)
            p->cost.rearrange = plan_copy_cycles(a, out_bytes);
        break;
    case CONV_DEPTHWISE:
        p->cost.compute = part->n * depthwise_cycles(a, s, part);
        break;
    case CONV_FIRST:
        in_bytes = part->n * part->in_h * part->in_w * FIRST_CHANNELS * 2;
        p->cost.compute = part->n * first_cycles(a, part, s->f32);
        p->cost.tile_bytes = patch_bytes(s, part);
        break;
    case CONV_POOL:
    case CONV_MEAN:
        p->cost.compute = part->n * pool_cycles(a, p, part);
        break;
    }
    p->cost.exchange_in = plan_port_cycles(&p->port, in_bytes / 4, fan_out(p));
    p->cost.sync = a->sync_chip_cycles;
    if (p->method == CONV_GEMM && p->cut_in == 1 && s->add)
        cost_residual(a, part, p);
    p->cost.tile_bytes += in_bytes + out_bytes;
    if (sums_f32(p) && p->method != CONV_WINDOW)
        p->cost.tile_bytes += 2 * out_bytes;
    if (p->cut_in > 1 || (p->method == CONV_WINDOW && s->add) || sums_f32(p))
        cost_partials(a, part, p);
    else if (s->bias || s->swish || s->relu)
        p->cost.compute += finish_cycles(a, s, part->out, part->n * part->h * part->w);
    p->cost.total = p->cost.exchange_in + p->cost.compute + p->cost.exchange_partials +
                    p->cost.reduce + p->cost.sync + p->cost.rearrange;
}
