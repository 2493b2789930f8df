/* norm_op.c - group norm: mean and variance of groups of channels of each picture, then
 * x scale + shift and an activation function in place.
 *
 * Every tile adds up what it has, first by channel, then by group of channels: two numbers for each
 * group of which it has a part. Exchanges follow: some tiles add up a part of these numbers each,
 * once or twice, then all tiles take the sums they need and compute scale and shift of their own
 * channels.
 * What travels together is a bundle: the sums of a group, or, if groups are strided, so that every
 * tile has channels of all of them, those of all groups of a picture.
 * The variance is the mean of the squares minus the square of the mean, in f32; its error is below
 * that of f16 data, which has 11 bits, unless the mean is a thousand deviations. */
#include <stdlib.h>
#include <string.h>

#include "programs/library/layout/tile_blocks.h"
#include "programs/library/layout/plan_cost.h"

/* The sums of a tile block, or of several, that are of a bundle. */
struct block_sums {
    uint64_t bundle; /* picture * bundles + bundle */
    uint32_t order;  /* among those of the bundle */
    uint32_t tile;
    struct tensor sums; /* [width] */
};

/* A norm under construction. */
struct norm {
    struct nn *nn;
    struct graph *g;
    struct activation x;
    struct group_norm_layer layer;
    uint32_t each;    /* channels of a group */
    uint32_t bundles; /* of a picture */
    uint32_t width;   /* numbers of a bundle: sum and sum of squares of each of its groups */
    enum activation_function act;
    struct tile_blocks all;
    VEC(struct block_sums) block, added; /* by bundle; those that the next step reads, and makes */
    size_t *first;         /* owned; where each bundle begins in `block`, and the end of the last */
    uint32_t relays;       /* into which the sums of a bundle are added up first; 0: not twice */
    uint32_t parts;        /* into which they are added up before tiles take them */
    uint64_t phase_cycles; /* of an exchange besides its words */
};

/* The bundles of which a tile block has channels. */
static struct nn_range touched(const struct norm *m, const struct tile_block *f)
{
    uint32_t end = (f->block + f->blocks) * CHANNEL_BLOCK;

    if (m->layer.strided)
        return (struct nn_range){ 0, 1 };
    end = end < m->x.c ? end : m->x.c;
    return (struct nn_range){ f->block * CHANNEL_BLOCK / m->each, (end - 1) / m->each + 1 };
}

/* How many channels of its first group lie before it; of strided groups, the group of its first
 * channel. */
static uint32_t before(const struct norm *m, const struct tile_block *f)
{
    return f->block * CHANNEL_BLOCK % (m->layer.strided ? m->layer.groups : m->each);
}

/* ---- sums of groups of channels ---- */

static uint32_t totals_count(const struct norm *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->all.list.count; i++) {
        struct nn_range r = touched(m, &m->all.list.at[i]);

        n += m->width * (r.end - r.begin);
    }
    return n;
}

static enum emu_status add_block_sums(struct norm *m, uint32_t i, struct tensor totals)
{
    const struct tile_block *f = &m->all.list.at[i];
    struct nn_range r = touched(m, f);

    for (uint32_t k = r.begin; k < r.end; k++) {
        uint32_t at = m->width * (k - r.begin);
        struct tensor sums = tensor_slice(m->g, totals, 0, at, at + m->width);

        TRY(VEC_PUSH(&m->block, (struct block_sums){ .bundle = (uint64_t)f->n * m->bundles + k,
                                                     .order = i,
                                                     .tile = tile_block_tile(&m->all, f),
                                                     .sums = sums }));
    }
    return EMU_OK;
}

/* Adds the vertex that adds up the channels of each group of a tile block. */
static void fold_block(const struct norm *m, uint32_t cs, const struct tile_block *f,
                       struct tensor sum, struct tensor squares, struct tensor totals)
{
    uint32_t tile = tile_block_tile(&m->all, f), padded = f->blocks * CHANNEL_BLOCK;
    uint32_t channels = m->x.c - f->block * CHANNEL_BLOCK, groups = m->layer.groups;

    channels = channels < padded ? channels : padded;
    graph_map(m->g, totals, tile);
    if (m->layer.strided)
        VERTEX(norm_fold_strided_f32, m->g, cs, tile, .sum = sum, .sumsq = squares,
               .totals = totals, .first = before(m, f), .groups = groups, .rows = channels / groups,
               .rest = channels % groups);
    else
        VERTEX(norm_fold_f32, m->g, cs, tile, .sum = sum, .sumsq = squares, .totals = totals,
               .first = before(m, f), .each = m->each, .channels = channels);
}

/* Adds up the channels of each group on every tile. */
static enum emu_status fold(struct norm *m, struct tensor sum, struct tensor squares)
{
    struct graph *g = m->g;
    uint32_t cs = op_compute_set(g, m->nn->seq, "fold"), n = totals_count(m), at = 0, channel = 0;
    struct tensor totals = graph_variable(g, ELEM_F32, 1, &n, "totals");

    for (uint32_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *f = &m->all.list.at[i];
        uint32_t end = channel + f->blocks * CHANNEL_BLOCK;
        struct nn_range r = touched(m, f);
        uint32_t numbers = m->width * (r.end - r.begin);
        struct tensor own = tensor_slice(g, totals, 0, at, at + numbers);

        fold_block(m, cs, f, tensor_slice(g, sum, 0, channel, end),
                   tensor_slice(g, squares, 0, channel, end), own);
        TRY(add_block_sums(m, i, own));
        at += numbers;
        channel = end;
    }
    return EMU_OK;
}

/* ---- sums over tiles ---- */

static int by_bundle(const void *a, const void *b)
{
    const struct block_sums *x = a, *y = b;

    if (x->bundle != y->bundle)
        return x->bundle < y->bundle ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorts the sums by bundle. *most, *least: how many a bundle has. */
static enum emu_status sort_blocks(struct norm *m, uint32_t *most, uint32_t *least)
{
    size_t bundles = (size_t)m->x.n * m->bundles;

    emu_free(m->first);
    m->first = emu_alloc(bundles + 1, sizeof(*m->first));
    if (!m->first)
        return FAIL(NO_MEMORY, "%zu bundles of sums", bundles);
    qsort(m->block.at, m->block.count, sizeof(*m->block.at), by_bundle);
    for (size_t i = 0; i < m->block.count; i++)
        m->first[m->block.at[i].bundle + 1] = i + 1;
    *most = 0;
    *least = UINT32_MAX;
    for (size_t k = 0; k < bundles; k++) {
        uint32_t n = (uint32_t)(m->first[k + 1] - m->first[k]);

        *most = n > *most ? n : *most;
        *least = n < *least ? n : *least;
    }
    return EMU_OK;
}

/* Cycles of scale and shift of a block of channels. */
static uint64_t params_cycles(const struct norm *m, uint32_t parts, uint32_t touches)
{
    const struct arch *a = graph_arch(m->g);
    uint32_t totals = m->width * parts * touches;

    if (m->layer.strided)
        return KERNEL_CYCLES(norm_params_strided, KERNEL_ROW(norm_params_strided_f16), a,
                             .totals = totals, .scale = CHANNEL_BLOCK, .groups = m->layer.groups,
                             .p = parts);
    return KERNEL_CYCLES(norm_params, KERNEL_ROW(norm_params_f16), a, .totals = totals,
                         .scale = CHANNEL_BLOCK, .each = CHANNEL_BLOCK, .groups = touches,
                         .p = parts);
}

/* Cycles of adding up `terms` sums of a bundle on a tile. */
static uint64_t add_cycles(const struct norm *m, uint32_t terms)
{
    return m->phase_cycles + (uint64_t)m->width * terms +
           KERNEL_CYCLES(reduce, KERNEL_ROW(reduce_sum_f32_f32), graph_arch(m->g),
                         .partials = m->width * terms, .out = m->width, .p = terms);
}

/* Cycles if `blocks` tile blocks have a bundle, and a tile takes `parts` sums for each of `touches`
 * bundles. */
static uint64_t parts_cycles(const struct norm *m, uint32_t blocks, uint32_t relays, uint32_t parts,
                             uint32_t touches)
{
    uint64_t words = (uint64_t)m->width * parts * touches;
    uint64_t cycles = m->phase_cycles + words + params_cycles(m, parts, touches);

    if (relays) {
        cycles += add_cycles(m, ceil_div(blocks, relays));
        blocks = relays;
    }
    return parts < blocks ? cycles + add_cycles(m, ceil_div(blocks, parts)) : cycles;
}

/* A tile's exchange code has some instructions for each part that it takes; so there are at most
 * this many, whatever the cycles, unless a tile needs one part each of more bundles. */
enum { PARTS_MAX = 16 };

/* As many relays as are wanted, or fewer, so that a tile without a part of a bundle is left for
 * each of the sums that are made of them: other tiles would have to copy what they have. If groups
 * are not strided, tiles of other bundles are there for them. */
static uint32_t relays_with_room(const struct norm *m, uint32_t relays, uint32_t parts,
                                 uint32_t most)
{
    uint32_t bundles = m->x.n * m->bundles;
    uint32_t room = (graph_compute_tiles(m->g) - most) / bundles;

    if (!m->layer.strided || relays + parts <= room || room < 2 * parts)
        return relays;
    return room - parts;
}

static void choose_parts(struct norm *m, uint32_t most, uint32_t least)
{
    uint32_t touches = 1;
    uint64_t best = UINT64_MAX;

    for (size_t i = 0; i < m->all.list.count; i++) {
        struct nn_range r = touched(m, &m->all.list.at[i]);

        touches = r.end - r.begin > touches ? r.end - r.begin : touches;
    }
    for (uint32_t relays = 0; relays < least; relays = relays ? 2 * relays : 2) {
        uint32_t end = relays ? relays / 2 : least;

        for (uint32_t parts = 1; parts <= end; parts++) {
            uint32_t r = relays ? relays_with_room(m, relays, parts, most) : 0;
            uint64_t c = parts_cycles(m, most, r, parts, touches);

            if (c >= best || (parts > 1 && parts * touches > PARTS_MAX))
                continue;
            best = c;
            m->relays = r;
            m->parts = parts;
        }
    }
}

/* Which tiles have a part of a bundle, and which add up sums already. */
struct adders {
    uint64_t *has; /* by tile: 1 + the last bundle that was asked for and of which it has a part */
    uint8_t *adds; /* by tile */
    uint32_t tiles, at;
};

/* A tile for sums p [n] of a bundle: one without a part of it, so that neither these sums nor what
 * becomes of them are copied on the tile; if there is none, one that has a part. Neighbouring
 * groups, which often lie on the same tiles, take different ones. */
static uint32_t adder_tile(const struct norm *m, struct adders *a, const struct block_sums *p,
                           uint32_t n)
{
    uint32_t bundle = (uint32_t)(p->bundle % m->bundles);

    for (uint32_t i = 0; i < a->tiles; i++) {
        uint32_t tile = a->at;

        a->at = (a->at + 1) % a->tiles;
        if (a->has[tile] != p->bundle + 1 && !a->adds[tile]) {
            a->adds[tile] = 1;
            return tile;
        }
    }
    return p[cut_at(n, m->bundles, bundle)].tile;
}

/* Adds up sums p [n] of a bundle on a tile. */
static void add_on_tile(const struct norm *m, uint32_t cs, const struct block_sums *p, uint32_t n,
                        uint32_t tile, struct tensor out)
{
    struct graph *g = m->g;
    struct tensor *part = emu_alloc(n, sizeof(*part));

    graph_map(g, out, tile);
    if (!part) {
        graph_fail(g, EMU_NO_MEMORY, "sums of %u tiles", n);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        part[i] = p[i].sums;
    VERTEX(reduce_sum_f32_f32, g, cs, tile, .partials = tensor_concat(g, part, n, 0), .out = out,
           .p = n);
    emu_free(part);
}

/* Adds up the sums of every bundle in so many parts, which are the sums from then on. */
static enum emu_status add_bundles(struct norm *m, uint32_t parts, struct adders *a)
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "add"), bundles = m->x.n * m->bundles;
    uint32_t flat = bundles * parts * m->width;
    struct tensor all = graph_variable(m->g, ELEM_F32, 1, &flat, "parts");
    __typeof__(m->block) before;

    m->added.count = 0;
    for (uint32_t k = 0; k < bundles; k++) {
        const struct block_sums *p = &m->block.at[m->first[k]];
        uint32_t n = (uint32_t)(m->first[k + 1] - m->first[k]);

        for (uint32_t i = 0; i < n; i++)
            a->has[p[i].tile] = k + 1;
        for (uint32_t i = 0; i < parts; i++) {
            uint32_t at = (k * parts + i) * m->width, begin = cut_at(n, parts, i);
            uint32_t terms = cut_at(n, parts, i + 1) - begin;
            struct block_sums sums = { .bundle = k,
                                       .order = i,
                                       .tile = adder_tile(m, a, p + begin, terms),
                                       .sums = tensor_slice(m->g, all, 0, at, at + m->width) };

            add_on_tile(m, cs, p + begin, terms, sums.tile, sums.sums);
            TRY(VEC_PUSH(&m->added, sums));
        }
    }
    before = m->block;
    m->block = m->added;
    m->added = before;
    return EMU_OK;
}

/* Sums of all bundles as they are, [pictures * bundles][parts][width]. */
static enum emu_status together(const struct norm *m, struct tensor *out)
{
    uint32_t shape[3] = { m->x.n * m->bundles, m->parts, m->width };
    struct tensor *part = emu_alloc(m->block.count, sizeof(*part));

    if (!part)
        return FAIL(NO_MEMORY, "sums");
    for (size_t i = 0; i < m->block.count; i++)
        part[i] = m->block.at[i].sums;
    *out = tensor_concat(m->g, part, (unsigned)m->block.count, 0);
    *out = tensor_reshape(m->g, *out, 3, shape);
    emu_free(part);
    return EMU_OK;
}

/* The sums that tiles take, [pictures * bundles][m->parts][width]. */
static enum emu_status add_up(struct norm *m, struct tensor *out)
{
    uint32_t tiles = graph_compute_tiles(m->g), most, least;
    struct adders a = { .tiles = tiles };
    enum emu_status s = sort_blocks(m, &most, &least);

    if (s == EMU_OK)
        choose_parts(m, most, least);
    a.has = emu_alloc(tiles, sizeof(*a.has));
    a.adds = emu_alloc(tiles, sizeof(*a.adds));
    if (s == EMU_OK && (!a.has || !a.adds))
        s = FAIL(NO_MEMORY, "sums on %u tiles", tiles);
    if (s == EMU_OK && m->relays) {
        s = add_bundles(m, m->relays, &a);
        if (s == EMU_OK)
            s = sort_blocks(m, &most, &least);
    }
    if (s == EMU_OK && (most != m->parts || least != m->parts))
        s = add_bundles(m, m->parts, &a);
    emu_free(a.has);
    emu_free(a.adds);
    return s == EMU_OK ? together(m, out) : s;
}

/* ---- scale and shift ---- */

/* The constant f32 [2][channels] with gamma, then beta, of the channels of all tile blocks. */
static struct tensor new_params(const struct norm *m, uint32_t channels)
{
    float *v = emu_alloc(2 * (size_t)channels, sizeof(*v));
    struct tensor t = m->x.t;
    uint32_t at = 0;

    if (!v) {
        graph_fail(m->g, EMU_NO_MEMORY, "parameters of a norm");
        return t;
    }
    for (size_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *f = &m->all.list.at[i];

        for (uint32_t c = 0; c < f->blocks * CHANNEL_BLOCK; c++, at++) {
            uint32_t channel = f->block * CHANNEL_BLOCK + c;

            v[at] = channel < m->x.c ? m->layer.gamma[channel] : 0;
            v[channels + at] = channel < m->x.c ? m->layer.beta[channel] : 0;
        }
    }
    t = graph_constant(m->g, ELEM_F32, 2, (const uint32_t[]){ 2, channels }, v, "params");
    emu_free(v);
    return t;
}

/* Part [begin, end) of the last dimension of t; maps it to a tile. */
static struct tensor on_tile(struct graph *g, struct tensor t, uint32_t begin, uint32_t end,
                             uint32_t tile)
{
    t = tensor_slice(g, t, 0, begin, end);
    graph_map(g, t, tile);
    return t;
}

/* Adds the vertex for scale and shift of a tile block. channel: where its channels begin among
 * those of all tile blocks. */
static void make_params(const struct norm *m, uint32_t cs, const struct tile_block *f,
                        uint32_t channel, const struct tensor t[4], struct tensor sums)
{
    struct graph *g = m->g;
    uint32_t tile = tile_block_tile(&m->all, f), first = f->n * m->bundles;
    uint32_t end = channel + f->blocks * CHANNEL_BLOCK;
    struct nn_range r = touched(m, f);
    struct tensor totals =
        tensor_flatten(g, tensor_slice(g, sums, 0, first + r.begin, first + r.end));
    struct tensor gamma = on_tile(g, t[0], channel, end, tile);
    struct tensor beta = on_tile(g, t[1], channel, end, tile);
    struct tensor scale = on_tile(g, t[2], channel, end, tile);
    struct tensor shift = on_tile(g, t[3], channel, end, tile);
    float inverse = 1.0f / ((float)m->each * (float)(m->x.h * m->x.w));

    if (m->layer.strided)
        VERTEX(norm_params_strided_f16, g, cs, tile, .totals = totals, .gamma = gamma, .beta = beta,
               .scale = scale, .shift = shift, .inverse = inverse, .eps = m->layer.eps,
               .first = before(m, f), .p = m->parts, .groups = m->layer.groups);
    else
        VERTEX(norm_params_f16, g, cs, tile, .totals = totals, .gamma = gamma, .beta = beta,
               .scale = scale, .shift = shift, .inverse = inverse, .eps = m->layer.eps,
               .first = before(m, f), .each = m->each, .p = m->parts, .groups = r.end - r.begin);
}

static const struct act_kernels scale_shift = ACT_KERNELS_3(scale_shift, f16);

static void apply(const struct norm *m, uint32_t channels, struct tensor sums)
{
    struct graph *g = m->g;
    struct tensor params = new_params(m, channels), t[4];
    uint32_t make = op_compute_set(g, m->nn->seq, "params"), at = 0;
    uint32_t use = op_compute_set(g, m->nn->seq, "apply");
    const struct codelet *codelet = nn_codelet(g, &scale_shift, m->act);

    t[0] = tensor_index(g, params, 0);
    t[1] = tensor_index(g, params, 1);
    t[2] = graph_variable(g, ELEM_F16, 1, &channels, "scale");
    t[3] = graph_variable(g, ELEM_F16, 1, &channels, "shift");
    for (size_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *f = &m->all.list.at[i];
        uint32_t end = at + f->blocks * CHANNEL_BLOCK;

        make_params(m, make, f, at, t, sums);
        VERTEX_OF(scale_shift, codelet, g, use, tile_block_tile(&m->all, f),
                  .x = tile_block_take(g, &m->all, f, m->x.t),
                  .scale = tensor_slice(g, t[2], 0, at, end),
                  .shift = tensor_slice(g, t[3], 0, at, end), .blocks = f->blocks, .f = f->f);
        at = end;
    }
}

/* ---- the layer ---- */

static enum emu_status check(const struct norm *m)
{
    if (!m->layer.groups || m->x.c % m->layer.groups)
        return FAIL(USAGE, "a group norm of %u channels in %u groups: expected equal groups",
                    m->x.c, m->layer.groups);
    if (m->act == ACT_SIGMOID)
        return FAIL(USAGE, "a group norm with a sigmoid after: expected none, relu or swish");
    return EMU_OK;
}

static enum emu_status norm(struct norm *m)
{
    struct tensor sum, squares, sums;

    TRY(graph_status(m->g));
    TRY(check(m));
    m->each = m->x.c / m->layer.groups;
    m->bundles = m->layer.strided ? 1 : m->layer.groups;
    m->width = m->layer.strided ? 2 * m->layer.groups : 2;
    TRY(tile_blocks_of(m->nn, &m->x, &m->all));
    tile_blocks_sum(m->nn, &m->x, &m->all, &sum, &squares);
    TRY(fold(m, sum, squares));
    TRY(add_up(m, &sums));
    apply(m, (uint32_t)tensor_elements(m->g, sum), sums);
    return graph_status(m->g);
}

struct activation op_group_norm(struct nn *nn, struct activation x,
                                const struct group_norm_layer *layer, enum activation_function act,
                                const char *name)
{
    struct norm m = { .nn = nn,
                      .g = nn->g,
                      .x = x,
                      .layer = *layer,
                      .act = act,
                      .phase_cycles = plan_exchange_cycles(graph_arch(nn->g), 1) - 1 };
    enum emu_status s;

    graph_push(nn->g, name);
    s = norm(&m);
    if (s != EMU_OK)
        graph_fail(nn->g, s, "%s: %s", name, emu_error());
    graph_pop(nn->g);
    tile_blocks_free(&m.all);
    VEC_FREE(&m.block);
    VEC_FREE(&m.added);
    emu_free(m.first);
    return m.x;
}
