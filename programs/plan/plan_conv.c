/* plan_conv.c - cuts of a convolution over tiles: all cuts are tried that make the largest shard
 * smaller.
 *
 * Every tile is charged its whole input: what lies on it already is not known here. Parameters stay
 * on the tiles that use them and are not moved.
 */
#include <string.h>

#include "programs/codelets/conv_pack.h"
#include "programs/plan/plan_conv.h"
#include "programs/plan/plan_cost.h"

enum { ATOM = 16, ATOM_BYTES = 32, ATOM_WORDS = 8, FIRST_CHANNELS = 4 };

static const char *const method_names[] = { "gemm", "window", "depthwise", "first", "pool" };

const char *conv_method_name(enum conv_method m)
{
    return method_names[m];
}

/* The largest shard of a cut: its output and its input, in atoms of 16 channels. */
struct conv_shard {
    uint64_t n, h, w;    /* output pictures, rows, columns; gemm: h is positions */
    uint64_t out, in;    /* blocks of 16 channels */
    uint64_t in_h, in_w; /* rows and columns with halo and border */
    uint64_t calls;      /* windows: of the codelet for a picture */
    uint64_t rows;       /* of the kernel */
};

static uint32_t atoms(uint32_t channels)
{
    return ceil_div(channels, ATOM);
}

static enum conv_method method_of(const struct conv_shape *s)
{
    if (s->in_c <= FIRST_CHANNELS)
        return CONV_FIRST;
    if (s->groups == s->in_c && s->groups > 1)
        return CONV_DEPTHWISE;
    return s->kernel == 1 && s->groups == 1 ? CONV_GEMM : CONV_WINDOW;
}

static enum emu_status check_shape(const struct conv_shape *s)
{
    uint32_t in = s->groups ? s->in_c / s->groups : 0, out = s->groups ? s->out_c / s->groups : 0;

    if (!s->n || !s->in_c || !s->out_c || !s->kernel || !s->stride || !s->groups || !s->out_h ||
        !s->out_w || s->in_c % s->groups || s->out_c % s->groups)
        return FAIL(USAGE,
                    "a convolution of %u to %u channels in %u groups, kernel %u, stride %u: "
                    "expected numbers above 0 and channels that the groups divide",
                    s->in_c, s->out_c, s->groups, s->kernel, s->stride);
    if (s->groups > 1 && !(in == 1 && out == 1) && (in % ATOM || out % ATOM))
        return FAIL(USAGE,
                    "a convolution in groups of %u to %u channels: expected 1 to 1, or "
                    "multiples of %d",
                    in, out, ATOM);
    return EMU_OK;
}

/* ---- costs ---- */

/* What follows the multiplication on a tile that has whole sums: bias and activation in place. */
static uint64_t finish_cycles(const struct arch *a, const struct conv_shape *s, uint64_t blocks,
                              uint64_t positions)
{
    const struct plan_field field[] = { { "x", (uint32_t)(blocks * positions * ATOM) },
                                        { "bias", (uint32_t)(blocks * ATOM) },
                                        { "blocks", (uint32_t)blocks },
                                        { "f", (uint32_t)positions } };

    return plan_cycles(a,
                       s->swish  ? "bias_swish_f16"
                       : s->relu ? "bias_relu_f16"
                                 : "bias_f16",
                       field, EMU_COUNT_OF(field));
}

/* Partial results of cut_in tiles: each adds up its share of the positions. */
static void cost_partials(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p)
{
    uint64_t rows = sh->out * sh->n * sh->h * sh->w, share = ceil_div(rows, p->cut_in);
    uint64_t terms = p->cut_in + p->shape.add;
    const struct plan_field field[] = { { "partials", (uint32_t)(share * ATOM * terms) },
                                        { "bias", ATOM },
                                        { "out", (uint32_t)(share * ATOM) },
                                        { "p", (uint32_t)terms } };

    p->cost.exchange_partials = share * ATOM_WORDS * (terms - 1) + p->exchange_latency;
    p->cost.sync += a->sync_chip_cycles;
    p->cost.rearrange += plan_copy_cycles(a, share * ATOM_BYTES);
    p->cost.reduce = plan_cycles(a,
                                 p->shape.swish  ? "reduce_bias_swish_f16"
                                 : p->shape.relu ? "reduce_bias_relu_f16"
                                                 : "reduce_bias_f16",
                                 field, EMU_COUNT_OF(field));
    p->cost.tile_bytes += share * ATOM_BYTES * terms;
}

static uint64_t gemm_cycles(const struct arch *a, const struct conv_shard *sh)
{
    const struct plan_field field[] = {
        { "in", (uint32_t)(sh->h * sh->in * ATOM) },
        { "weights", (uint32_t)(sh->out * sh->in * ATOM * ATOM) },
        { "out", (uint32_t)(sh->out * sh->h * ATOM) },
        { "kb", (uint32_t)sh->in },
        { "nb", (uint32_t)sh->out },
        { "f", (uint32_t)sh->h },
    };

    return plan_cycles(a, "matmul_f16", field, EMU_COUNT_OF(field));
}

/* Positions of a result of windows, with those between its rows. */
static uint64_t window_positions(const struct conv_shape *s, const struct conv_shard *sh)
{
    return (sh->h - 1) * (sh->w + ceil_div(s->kernel, s->stride) - 1) + sh->w;
}

/* Of a picture. */
static uint64_t window_cycles(const struct arch *a, const struct conv_shape *s,
                              const struct conv_shard *sh)
{
    uint64_t groups = s->groups > 1 ? atoms(s->in_c / s->groups) : sh->in;
    uint64_t kb = groups * sh->rows * s->kernel, f = window_positions(s, sh);
    uint64_t nb = sh->out / sh->calls;
    const struct plan_field field[] = { { "in", (uint32_t)(sh->in * sh->in_h * sh->in_w * ATOM) },
                                        { "weights", (uint32_t)(nb * kb * ATOM * ATOM) },
                                        { "out", (uint32_t)(nb * f * ATOM) },
                                        { "steps", (uint32_t)kb },
                                        { "kb", (uint32_t)kb },
                                        { "nb", (uint32_t)nb },
                                        { "f", (uint32_t)f } };

    return sh->calls * plan_cycles(a, "conv_window_f16", field, EMU_COUNT_OF(field));
}

static uint64_t depthwise_cycles(const struct arch *a, const struct conv_shape *s,
                                 const struct conv_shard *sh)
{
    char codelet[16];
    const struct plan_field field[] = { { "blocks", (uint32_t)sh->out },
                                        { "ho", (uint32_t)sh->h },
                                        { "wo", (uint32_t)sh->w },
                                        { "hp", (uint32_t)sh->in_h },
                                        { "wp", (uint32_t)sh->in_w } };

    snprintf(codelet, sizeof(codelet), s->stride == 1 ? "dw%u_f16" : "dw%us%u_f16", s->kernel,
             s->stride);
    return plan_cycles(a, codelet, field, EMU_COUNT_OF(field));
}

static uint64_t first_cycles(const struct arch *a, const struct conv_shard *sh)
{
    const struct plan_field field[] = { { "nb", (uint32_t)sh->out },
                                        { "ho", (uint32_t)sh->h },
                                        { "wo", (uint32_t)sh->w },
                                        { "hp", (uint32_t)sh->in_h },
                                        { "wp", (uint32_t)sh->in_w } };

    return plan_cycles(a, "conv_first_f16", field, EMU_COUNT_OF(field));
}

static uint64_t pool_cycles(const struct arch *a, const struct conv_shape *s,
                            const struct conv_shard *sh)
{
    const struct plan_field field[] = {
        { "blocks", (uint32_t)sh->out }, { "ho", (uint32_t)sh->h },    { "wo", (uint32_t)sh->w },
        { "hp", (uint32_t)sh->in_h },    { "wp", (uint32_t)sh->in_w }, { "k", s->kernel },
        { "stride", s->stride },
    };

    return plan_cycles(a, "maxpool_f16", field, EMU_COUNT_OF(field));
}

static void cost(const struct arch *a, const struct conv_shard *sh, struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;
    uint64_t in_bytes = sh->n * sh->in * sh->in_h * sh->in_w * ATOM_BYTES;
    uint64_t out_bytes = sh->n * sh->out * sh->h * sh->w * ATOM_BYTES;

    memset(&p->cost, 0, sizeof(p->cost));
    switch (p->method) {
    case CONV_GEMM:
        p->cost.compute = gemm_cycles(a, sh);
        break;
    case CONV_WINDOW:
        p->cost.compute = sh->n * window_cycles(a, s, sh);
        p->cost.tile_bytes = sh->n * sh->out * window_positions(s, sh) * ATOM_BYTES;
        /* Sums of rows are brought together. */
        if (p->cut_in == 1 && !s->add)
            p->cost.rearrange = plan_copy_cycles(a, out_bytes);
        break;
    case CONV_DEPTHWISE:
        p->cost.compute = sh->n * depthwise_cycles(a, s, sh);
        break;
    case CONV_FIRST:
        in_bytes = sh->n * sh->in_h * sh->in_w * FIRST_CHANNELS * 2;
        p->cost.compute = sh->n * first_cycles(a, sh);
        break;
    case CONV_POOL:
        p->cost.compute = sh->n * pool_cycles(a, s, sh);
        break;
    }
    p->cost.exchange_in = in_bytes / 4 + p->exchange_latency;
    p->cost.sync = a->sync_chip_cycles;
    p->cost.tile_bytes += in_bytes + out_bytes;
    if (p->cut_in > 1 || (p->method == CONV_WINDOW && s->add))
        cost_partials(a, sh, p);
    else if (p->method != CONV_POOL)
        p->cost.compute += finish_cycles(a, s, sh->out, sh->n * sh->h * sh->w);
    p->cost.total = p->cost.exchange_in + p->cost.compute + p->cost.exchange_partials +
                    p->cost.reduce + p->cost.sync + p->cost.rearrange;
}

/* ---- the search ---- */

/* Cycles, and what its parameters are worth. */
static uint64_t price(const struct conv_plan *p)
{
    return p->cost.total + p->weight_bytes * p->shape.kib_price / 1024;
}

/* Whether p is better than *best: it fits and is cheaper, or nothing fits and it needs less. */
static int is_better(const struct conv_plan *p, const struct conv_plan *best, uint64_t memory)
{
    int fits = p->cost.tile_bytes <= memory, best_fits = best->cost.tile_bytes <= memory;

    if (!best->cut_n)
        return 1;
    if (fits != best_fits)
        return fits;
    return fits ? price(p) < price(best) : p->cost.tile_bytes < best->cost.tile_bytes;
}

/* What the output channels are cut into: groups, where they take several blocks each, else blocks.
 */
static uint32_t output_units(const struct conv_plan *p)
{
    const struct conv_shape *s = &p->shape;

    return p->method == CONV_WINDOW && s->groups > 1 ? s->groups : atoms(s->out_c);
}

static void shard_channels(const struct conv_plan *p, struct conv_shard *sh)
{
    const struct conv_shape *s = &p->shape;
    uint32_t units = output_units(p), unit = atoms(s->out_c) / units;

    sh->out = (uint64_t)ceil_div(units, p->cut_out) * unit;
    sh->calls = unit > 1 ? sh->out / unit : 1;
    if (p->method == CONV_GEMM || (p->method == CONV_WINDOW && s->groups == 1))
        sh->in = ceil_div(atoms(s->in_c), p->cut_in);
    else if (p->method == CONV_WINDOW)
        sh->in = sh->out / unit * atoms(s->in_c / s->groups);
    else
        sh->in = sh->out;
}

/* As conv_pack.h has them where they are not blocks of 16 x 16. */
static uint64_t weight_bytes(const struct conv_plan *p, const struct conv_shard *sh)
{
    const struct conv_shape *s = &p->shape;
    uint64_t in = s->groups > 1 ? atoms(s->in_c / s->groups) : sh->in;

    switch (p->method) {
    case CONV_GEMM:
    case CONV_WINDOW:
        return sh->out * in * sh->rows * s->kernel * ATOM * ATOM_BYTES;
    case CONV_DEPTHWISE:
        return sh->out * dw_pack_halves(s->kernel, s->stride) * 2;
    case CONV_FIRST:
        return sh->out * conv_first_pack_halves(s->kernel) * 2;
    case CONV_POOL:
        break;
    }
    return 0;
}

static void try_cut(const struct arch *a, struct conv_plan p, uint64_t memory,
                    struct conv_plan *best)
{
    const struct conv_shape *s = &p.shape;
    struct conv_shard sh = { .n = ceil_div(s->n, p.cut_n) };

    shard_channels(&p, &sh);
    sh.rows = p.method == CONV_WINDOW && s->groups > 1 ? ceil_div(s->kernel, p.cut_in) : s->kernel;
    if (p.method == CONV_GEMM) {
        sh.n = sh.w = sh.in_w = 1;
        sh.h = sh.in_h = ceil_div((uint64_t)s->n * s->out_h * s->out_w, p.cut_h);
    } else {
        sh.h = ceil_div(s->out_h, p.cut_h);
        sh.w = ceil_div(s->out_w, p.cut_w);
        sh.in_h = (sh.h - 1) * s->stride + sh.rows;
        sh.in_w = (sh.w - 1) * s->stride + s->kernel;
    }
    cost(a, &sh, &p);
    p.weight_bytes = weight_bytes(&p, &sh);
    if (is_better(&p, best, memory))
        *best = p;
}

static void search_gemm(const struct arch *a, struct conv_plan p, uint64_t memory,
                        struct conv_plan *best)
{
    const struct conv_shape *s = &p.shape;
    uint32_t positions = s->n * s->out_h * s->out_w;

    p.cut_n = p.cut_w = 1;
    for (p.cut_in = 1; p.cut_in <= p.tiles; p.cut_in = next_cut(atoms(s->in_c), p.cut_in)) {
        for (p.cut_out = 1; (uint64_t)p.cut_in * p.cut_out <= p.tiles;
             p.cut_out = next_cut(atoms(s->out_c), p.cut_out)) {
            for (p.cut_h = 1; (uint64_t)p.cut_in * p.cut_out * p.cut_h <= p.tiles;
                 p.cut_h = next_cut(positions, p.cut_h))
                try_cut(a, p, memory, best);
        }
    }
}

/* Cuts of the field and of the output channels. */
static void search_field(const struct arch *a, struct conv_plan p, uint64_t memory,
                         struct conv_plan *best)
{
    const struct conv_shape *s = &p.shape;
    uint32_t units = output_units(&p);

    for (p.cut_n = 1; (uint64_t)p.cut_in * p.cut_n <= p.tiles; p.cut_n = next_cut(s->n, p.cut_n)) {
        for (p.cut_out = 1; (uint64_t)p.cut_in * p.cut_n * p.cut_out <= p.tiles;
             p.cut_out = next_cut(units, p.cut_out)) {
            uint64_t used = (uint64_t)p.cut_in * p.cut_n * p.cut_out;

            for (p.cut_h = 1; used * p.cut_h <= p.tiles; p.cut_h = next_cut(s->out_h, p.cut_h)) {
                for (p.cut_w = 1; used * p.cut_h * p.cut_w <= p.tiles;
                     p.cut_w = next_cut(s->out_w, p.cut_w))
                    try_cut(a, p, memory, best);
            }
        }
    }
}

/* The same, and cuts of what is added up: input channels, or rows of the kernel. */
static void search_window(const struct arch *a, struct conv_plan p, uint64_t memory,
                          struct conv_plan *best)
{
    const struct conv_shape *s = &p.shape;
    uint32_t n = s->groups > 1 ? s->kernel : atoms(s->in_c);

    for (p.cut_in = 1; p.cut_in <= p.tiles; p.cut_in = next_cut(n, p.cut_in))
        search_field(a, p, memory, best);
}

static enum emu_status begin(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                             uint32_t tiles, struct conv_plan *p)
{
    *p = (struct conv_plan){ .shape = *s, .cut_in = 1, .first_tile = first_tile, .tiles = tiles };
    if (!tiles || first_tile + tiles > a->tiles)
        return FAIL(USAGE, "a convolution on %u tiles from %u on: the chip has %u", tiles,
                    first_tile, a->tiles);
    p->exchange_latency = plan_exchange_latency(a);
    return check_shape(s);
}

enum emu_status plan_conv(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                          uint32_t tiles, uint64_t memory_bytes, struct conv_plan *out)
{
    struct conv_plan p;

    memset(out, 0, sizeof(*out));
    TRY(begin(a, s, first_tile, tiles, &p));
    p.method = method_of(s);
    if (p.method == CONV_GEMM)
        search_gemm(a, p, memory_bytes, out);
    else if (p.method == CONV_WINDOW)
        search_window(a, p, memory_bytes, out);
    else
        search_field(a, p, memory_bytes, out);
    return EMU_OK;
}

enum emu_status plan_pool(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                          uint32_t tiles, uint64_t memory_bytes, struct conv_plan *out)
{
    struct conv_plan p;

    memset(out, 0, sizeof(*out));
    TRY(begin(a, s, first_tile, tiles, &p));
    p.method = CONV_POOL;
    search_field(a, p, memory_bytes, out);
    return EMU_OK;
}
