/* conv_plan.c - searches the cuts of a convolution over tiles: all that make the largest part
 * smaller.
 *
 * Every tile is charged for its whole input, because it is not known here what lies on the tile
 * already. Parameters stay on the tiles that use them, or are fetched like input.
 */
#include <stdlib.h>
#include <string.h>

#include "programs/compiler/base/arena.h"
#include "programs/library/first/first_pack.h"
#include "programs/library/conv/conv_cost.h"
#include "programs/library/kernel/codelet_table.h"

enum { MEMORY_STEPS = 256 }; /* of a tile's memory: plans that differ by less are not kept apart */

struct plan_list {
    struct conv_plan *at; /* owned */
    size_t count, cap;
};

static const char *const method_names[] = {
    "gemm", "window", "depthwise", "first", "pool", "mean"
};

const char *ss_conv_method_name(enum conv_method m)
{
    return method_names[m];
}

/* Whether rows and columns have the same kernel, without gaps, and the same stride. */
static int is_square(const struct conv_shape *s)
{
    return s->kernel_h == s->kernel_w && s->stride_h == s->stride_w && s->dilation_h == 1 &&
           s->dilation_w == 1;
}

int ss_conv_is_first(const struct conv_shape *s)
{
    return s->in_c <= FIRST_CHANNELS && s->groups == 1 && is_square(s) &&
           s->stride_h == FIRST_STRIDE && s->kernel_h >= FIRST_KERNEL_MIN &&
           s->kernel_h <= FIRST_KERNEL_MAX;
}

int ss_conv_slides(const struct conv_shape *s)
{
    return is_square(s) && (s->kernel_h == 3 || s->kernel_h == 5) && s->stride_h <= 2;
}

enum conv_method ss_conv_method_of(const struct conv_shape *s)
{
    if (ss_conv_is_first(s) && !s->blocks)
        return CONV_FIRST;
    if (s->groups == s->in_c && s->groups > 1)
        return CONV_DEPTHWISE;
    return s->kernel_h == 1 && s->kernel_w == 1 && !s->padded ? CONV_GEMM : CONV_WINDOW;
}

/* Of convolutions and pools. */
static enum emu_status check_sizes(const struct conv_shape *s)
{
    if (!s->n || !s->in_c || !s->out_c || !s->kernel_h || !s->kernel_w || !s->stride_h ||
        !s->stride_w || !s->dilation_h || !s->dilation_w || !s->groups || !s->out_h || !s->out_w ||
        s->in_c % s->groups || s->out_c % s->groups)
        return FAIL(USAGE,
                    "a convolution of %u to %u channels in %u groups, kernel %u x %u, stride %u x "
                    "%u, dilation %u x %u, to a field of %u x %u: expected numbers above 0 and "
                    "channels that the groups divide",
                    s->in_c, s->out_c, s->groups, s->kernel_h, s->kernel_w, s->stride_h,
                    s->stride_w, s->dilation_h, s->dilation_w, s->out_h, s->out_w);
    return EMU_OK;
}

static enum emu_status check_shape(const struct conv_shape *s)
{
    uint32_t in, out;

    TRY(check_sizes(s));
    in = s->in_c / s->groups;
    out = s->out_c / s->groups;
    if (s->groups > 1 && !(in == 1 && out == 1 && ss_conv_slides(s)) &&
        (in % CHANNEL_BLOCK || out % CHANNEL_BLOCK))
        return FAIL(USAGE,
                    "a convolution in groups of %u to %u channels, not joined to multiples of %d",
                    in, out, CHANNEL_BLOCK);
    return EMU_OK;
}

/* The name of the kernel that multiplies. */
static void kernel_of(const struct conv_shape *s, char out[40])
{
    const char *dw = s->sliding ? "_slide" : "";
    static const char *const name[] = { [CONV_GEMM] = "matmul_f16",
                                        [CONV_WINDOW] = "conv_window_f16",
                                        [CONV_FIRST] = "conv_first_f16" };
    enum conv_method m = ss_conv_method_of(s);

    if (m != CONV_DEPTHWISE)
        snprintf(out, 40, "%s%s", name[m], s->f32 ? "_f32" : "");
    else if (s->stride_h == 1)
        snprintf(out, 40, "dw%u%s_f16", s->kernel_h, dw);
    else
        snprintf(out, 40, "dw%us%u%s_f16", s->kernel_h, s->stride_h, dw);
}

enum emu_status ss_conv_check(const struct arch *a, const struct conv_shape *s,
                              struct conv_kernels *known)
{
    const struct codelet *c;
    char kernel[40];

    if (!a)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    TRY(check_shape(s));
    kernel_of(s, kernel);
    c = codelet_find(kernel);
    for (unsigned i = 0; i < known->count; i++) {
        if (known->at[i] == c)
            return EMU_OK;
    }
    TRY(codelet_check(&ss_kernel_library, a, c));
    if (known->count < EMU_COUNT_OF(known->at))
        known->at[known->count++] = c;
    return EMU_OK;
}

/* ---- what is kept ---- */

/* A search for the cheapest plan, or for all plans that are worth choosing from. */
struct conv_search {
    const struct arch *a;
    uint64_t memory;        /* for the cheapest */
    struct conv_plan *best; /* borrowed; NULL: all */
    struct plan_list all;
    enum emu_status status; /* of keeping all */
};

/* The cycles of a plan plus the price of its parameters. */
static uint64_t price(const struct conv_plan *p)
{
    return p->cost.total + p->resident_bytes * p->shape.kib_price / 1024;
}

/* Whether p is better than *best: it fits and is cheaper, or neither fits and it needs less. */
static int is_better(const struct conv_plan *p, const struct conv_plan *best, uint64_t memory)
{
    int fits = p->cost.tile_bytes <= memory, best_fits = best->cost.tile_bytes <= memory;

    if (!best->cut_n)
        return 1;
    if (fits != best_fits)
        return fits;
    return fits ? price(p) < price(best) : p->cost.tile_bytes < best->cost.tile_bytes;
}

/* Whether p is at least as good as q in everything; step: of memory, in bytes. */
static int is_as_good(const struct conv_plan *p, const struct conv_plan *q, uint64_t step)
{
    return p->cost.total <= q->cost.total && p->resident_bytes / step <= q->resident_bytes / step &&
           p->cost.tile_bytes / step <= q->cost.tile_bytes / step;
}

/* Drops p if a plan in the list is as good; else adds p and removes the plans that it is as good
 * as.
 */
static enum emu_status keep(struct plan_list *all, const struct conv_plan *p, uint64_t step)
{
    size_t kept = 0;

    for (size_t i = 0; i < all->count; i++) {
        struct conv_plan first = all->at[i];

        if (!is_as_good(&first, p, step))
            continue;
        /* A plan that drops one often drops the next, too: it is tried first. */
        memmove(all->at + 1, all->at, i * sizeof(first));
        all->at[0] = first;
        return EMU_OK;
    }
    for (size_t i = 0; i < all->count; i++) {
        if (!is_as_good(p, &all->at[i], step))
            all->at[kept++] = all->at[i];
    }
    all->count = kept;
    return VEC_PUSH(all, *p);
}

static void offer(struct conv_search *s, const struct conv_plan *p)
{
    if (!s->best && s->status == EMU_OK)
        s->status = keep(&s->all, p, s->a->mem_bytes / MEMORY_STEPS + 1);
    else if (s->best && is_better(p, s->best, s->memory))
        *s->best = *p;
}

/* ---- the search ---- */

/* The next larger number of parts of the output channels. */
static uint32_t next_output_cut(const struct conv_plan *p)
{
    uint32_t units = conv_units_of(p), parts;

    if (p->cut_out < units)
        return next_cut(units, p->cut_out);
    parts = next_cut(conv_unit_blocks(p), p->cut_out / units);
    return parts == UINT32_MAX ? UINT32_MAX : units * parts;
}

static void part_channels(const struct conv_plan *p, struct conv_part *part)
{
    const struct conv_shape *s = &p->shape;
    uint32_t units = conv_units_of(p), unit = conv_unit_blocks(p);
    uint32_t blocks = channel_blocks(s->in_c);
    int gemm = p->method == CONV_GEMM, window = p->method == CONV_WINDOW;

    part->out = p->cut_out > units ? ceil_div(unit, p->cut_out / units)
                                   : (uint64_t)ceil_div(units, p->cut_out) * unit;
    part->groups = part->calls = 1;
    if (!gemm && !window) {
        part->in = part->out;
    } else if (s->groups == 1) {
        part->in = ceil_div(blocks, p->cut_in);
    } else {
        part->groups = ceil_div(part->out, unit);
        part->in = part->groups * ceil_div(blocks / s->groups, gemm ? p->cut_in : 1);
        /* With sums in f32 a group of 16 channels is two blocks of outputs, which read the same
         * input. */
        part->calls = window && unit == 1 && !s->f32 ? 1 : part->groups;
    }
}

/* Bytes of the weights of a part; dw_pack.h and first_pack.h have those that are not blocks of 16
 * x 16. */
static uint64_t weight_bytes(const struct conv_plan *p, const struct conv_part *part)
{
    const struct conv_shape *s = &p->shape;
    uint64_t in = part->in / part->groups;

    switch (p->method) {
    case CONV_GEMM:
    case CONV_WINDOW:
        return part->out * in * part->rows * s->kernel_w * CHANNEL_BLOCK * CHANNEL_BLOCK_BYTES;
    case CONV_DEPTHWISE:
        return part->out * dw_pack_halves(conv_dw_kind(s)) * 2;
    case CONV_FIRST:
        return part->out * conv_first_pack_halves(s->kernel_h) * 2;
    case CONV_POOL:
    case CONV_MEAN:
        break;
    }
    return 0;
}

/* Tries a cut with parameters that every tile holds, and with fetched ones. */
static void try_parameters(struct conv_search *s, const struct conv_part *part, struct conv_plan *p)
{
    uint64_t parts = (uint64_t)p->cut_in * p->cut_out;
    uint64_t users = (uint64_t)p->cut_n * p->cut_h * p->cut_w;

    p->resident_bytes = p->weight_bytes = weight_bytes(p, part);
    if (!p->shape.tensors) {
        offer(s, p);
        if (!p->weight_bytes || users == 1)
            return;
    }
    p->fetched = 1;
    p->resident_bytes = ceil_div(p->weight_bytes * parts, p->tiles);
    p->cost.exchange_in += p->weight_bytes / 4;
    p->cost.total += p->weight_bytes / 4;
    p->cost.tile_bytes += p->weight_bytes;
    offer(s, p);
}

static void try_cut(struct conv_search *search, struct conv_plan p)
{
    const struct conv_shape *s = &p.shape;
    struct conv_part part = { .n = ceil_div(s->n, p.cut_n) };

    part_channels(&p, &part);
    part.rows =
        p.method == CONV_WINDOW && s->groups > 1 ? ceil_div(s->kernel_h, p.cut_in) : s->kernel_h;
    if (p.method == CONV_GEMM) {
        part.n = part.w = part.in_w = 1;
        part.h = part.in_h = ceil_div((uint64_t)s->n * s->out_h * s->out_w, p.cut_h);
    } else {
        part.h = ceil_div(s->out_h, p.cut_h);
        part.w = ceil_div(s->out_w, p.cut_w);
        part.in_h = (part.h - 1) * s->stride_h + conv_reach((uint32_t)part.rows, s->dilation_h);
        part.in_w = (part.w - 1) * s->stride_w + conv_reach(s->kernel_w, s->dilation_w);
    }
    plan_conv_cost(search->a, &part, &p);
    try_parameters(search, &part, &p);
}

static void search_gemm(struct conv_search *search, struct conv_plan p)
{
    const struct conv_shape *s = &p.shape;
    uint32_t positions = s->n * s->out_h * s->out_w;

    p.cut_n = p.cut_w = 1;
    for (p.cut_in = 1; p.cut_in <= p.tiles;
         p.cut_in = next_cut(channel_blocks(s->in_c / s->groups), p.cut_in)) {
        for (p.cut_out = 1; (uint64_t)p.cut_in * p.cut_out <= p.tiles;
             p.cut_out = next_output_cut(&p)) {
            for (p.cut_h = 1; (uint64_t)p.cut_in * p.cut_out * p.cut_h <= p.tiles;
                 p.cut_h = next_cut(positions, p.cut_h))
                try_cut(search, p);
        }
    }
}

/* Tries cuts of the field and of the output channels. */
static void search_field(struct conv_search *search, struct conv_plan p)
{
    const struct conv_shape *s = &p.shape;

    for (p.cut_n = 1; (uint64_t)p.cut_in * p.cut_n <= p.tiles; p.cut_n = next_cut(s->n, p.cut_n)) {
        for (p.cut_out = 1; (uint64_t)p.cut_in * p.cut_n * p.cut_out <= p.tiles;
             p.cut_out = next_output_cut(&p)) {
            uint64_t used = (uint64_t)p.cut_in * p.cut_n * p.cut_out;

            for (p.cut_h = 1; used * p.cut_h <= p.tiles; p.cut_h = next_cut(s->out_h, p.cut_h)) {
                for (p.cut_w = 1; used * p.cut_h * p.cut_w <= p.tiles;
                     p.cut_w = next_cut(s->out_w, p.cut_w))
                    try_cut(search, p);
            }
        }
    }
}

/* Tries these, and cuts of what is added up: input channels, or rows of the kernel. */
static void search_window(struct conv_search *search, struct conv_plan p)
{
    const struct conv_shape *s = &p.shape;
    uint32_t n = s->groups > 1 ? s->kernel_h : channel_blocks(s->in_c);

    for (p.cut_in = 1; p.cut_in <= p.tiles; p.cut_in = next_cut(n, p.cut_in))
        search_field(search, p);
}

static void search_all(struct conv_search *search, const struct conv_plan *p)
{
    if (p->method == CONV_GEMM)
        search_gemm(search, *p);
    else if (p->method == CONV_WINDOW)
        search_window(search, *p);
    else
        search_field(search, *p);
}

static enum emu_status begin(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                             uint32_t tiles, struct conv_plan *p)
{
    *p = (struct conv_plan){ .shape = *s, .cut_in = 1, .first_tile = first_tile, .tiles = tiles };
    if (!tiles || first_tile + tiles > a->tiles)
        return FAIL(USAGE, "a convolution on %u tiles from %u on: the chip has %u", tiles,
                    first_tile, a->tiles);
    p->port = plan_port(a);
    return check_sizes(s);
}

static enum emu_status begin_conv(const struct arch *a, const struct conv_shape *s,
                                  uint32_t first_tile, uint32_t tiles, struct conv_plan *p)
{
    if (!a)
        return FAIL(BAD_MACHINE,
                    "there is no machine: arch is NULL, which ss_arch_preset() gives for "
                    "a name that it does not know");
    TRY(begin(a, s, first_tile, tiles, p));
    p->method = ss_conv_method_of(s);
    return check_shape(s);
}

enum emu_status ss_plan_conv(const struct arch *a, const struct conv_shape *s, uint32_t first_tile,
                             uint32_t tiles, uint64_t memory_bytes, struct conv_plan *out)
{
    struct conv_search search = { .a = a, .memory = memory_bytes, .best = out };
    struct conv_plan p;

    memset(out, 0, sizeof(*out));
    TRY(begin_conv(a, s, first_tile, tiles, &p));
    search_all(&search, &p);
    return EMU_OK;
}

enum emu_status plan_pool(const struct arch *a, const struct conv_shape *s, enum conv_method method,
                          uint32_t first_tile, uint32_t tiles, uint64_t memory_bytes,
                          struct conv_plan *out)
{
    struct conv_search search = { .a = a, .memory = memory_bytes, .best = out };
    struct conv_plan p;

    memset(out, 0, sizeof(*out));
    TRY(begin(a, s, first_tile, tiles, &p));
    p.method = method;
    search_all(&search, &p);
    return EMU_OK;
}

/* ---- choices ---- */

/* Fastest first; of equally fast plans the one that needs less for parameters, then the one that
 * needs less temporary memory. */
static int compare_plans(const void *a, const void *b)
{
    const struct conv_plan *p = a, *q = b;

    if (p->cost.total != q->cost.total)
        return p->cost.total < q->cost.total ? -1 : 1;
    if (p->resident_bytes != q->resident_bytes)
        return p->resident_bytes < q->resident_bytes ? -1 : 1;
    return p->cost.tile_bytes < q->cost.tile_bytes
               ? -1
               : 1; /* not all three are equal: keep() would have dropped one */
}

enum emu_status ss_plan_conv_choice(const struct arch *a, const struct conv_shape *s,
                                    uint32_t first_tile, uint32_t tiles, struct conv_choice *out)
{
    struct conv_search search = { .a = a };
    struct conv_plan p;

    memset(out, 0, sizeof(*out));
    TRY(begin_conv(a, s, first_tile, tiles, &p));
    search_all(&search, &p);
    if (search.status != EMU_OK) {
        VEC_FREE(&search.all);
        return search.status;
    }
    qsort(search.all.at, search.all.count, sizeof(*search.all.at), compare_plans);
    out->plan = search.all.at;
    out->count = search.all.count;
    return EMU_OK;
}

void ss_conv_choice_free(struct conv_choice *c)
{
    if (!c)
        return;
    ss_free(c->plan);
    *c = (struct conv_choice){ .plan = NULL };
}
