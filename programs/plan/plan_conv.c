/* plan_conv.c - cuts of a convolution over tiles: all cuts are tried that make the largest shard
 * smaller.
 *
 * Every tile is charged its whole input: what lies on it already is not known here. Parameters stay
 * on the tiles that use them and are not moved.
 */
#include <string.h>

#include "programs/codelets/conv_pack.h"
#include "programs/plan/plan_conv_cost.h"

static const char *const method_names[] = { "gemm", "window", "depthwise", "first", "pool" };

const char *conv_method_name(enum conv_method m)
{
    return method_names[m];
}

static enum conv_method method_of(const struct conv_shape *s)
{
    if (s->in_c <= FIRST_CHANNELS && s->groups == 1 && s->stride == FIRST_STRIDE &&
        s->kernel >= FIRST_KERNEL_MIN && s->kernel <= FIRST_KERNEL_MAX)
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
    if (s->groups > 1 && in == 1 && ((s->kernel != 3 && s->kernel != 5) || s->stride > 2))
        return FAIL(USAGE,
                    "a depthwise convolution with kernel %u, stride %u: expected 3 or 5, 1 or 2",
                    s->kernel, s->stride);
    return EMU_OK;
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
    /* In f32 a group of 16 channels is two blocks of outputs, which read the same input. */
    sh->calls =
        unit > 1 || (s->f32 && p->method == CONV_WINDOW && s->groups > 1) ? sh->out / unit : 1;
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
    plan_conv_cost(a, &sh, &p);
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
    p->port = plan_port(a);
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
