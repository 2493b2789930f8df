/* norm_op.c - group norm: mean and variance of groups of channels of each picture, then
 * x scale + shift and an activation function in place.
 *
 * Every tile adds up what it has, first by channel, then by group of channels: two numbers for each
 * group of which it has a part. Exchanges follow: some tiles add up a part of these numbers each,
 * once or twice, then all tiles take the sums they need and compute scale and shift of their own
 * channels. A tile that has one of the numbers itself uses it where it lies: kernels get it apart
 * from those that come from other tiles, since a copy on the tile takes as long as a small sum.
 * What travels together is a bundle: the sums of a group, or, if groups are strided, so that every
 * tile has channels of all of them, those of all groups of a picture. Four strided groups, as
 * networks have them, lie side by side in every vector: a tile adds up all it has of a picture at
 * once, and makes all its scales at once.
 * The variance is the mean of the squares minus the square of the mean, in f32; its error is below
 * that of f16 data, which has 11 bits, unless the mean is a thousand deviations. */
#include <stdlib.h>
#include <string.h>

#include "programs/library/layout/tile_blocks.h"
#include "programs/library/layout/plan_cost.h"

/* Neighbouring tile blocks of one tile and picture, for which there is one vertex. */
struct norm_unit {
    uint32_t first, count; /* in tile_blocks.list */
    uint32_t tile, n;      /* n: the picture */
};

/* The sums of a unit, or of several, that are of a bundle. */
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
    int four; /* strided groups, four of them */
    struct tile_blocks all;
    VEC(struct norm_unit)
    unit; /* of four groups what a tile has of a picture, if that is one run;
             of others a tile block */
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

static enum emu_status find_units(struct norm *m)
{
    for (uint32_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *f = &m->all.list.at[i];
        struct norm_unit *last = m->unit.count ? &m->unit.at[m->unit.count - 1] : NULL;

        if (m->four && m->x.n == 1 && last && last->tile == tile_block_tile(&m->all, f))
            last->count++;
        else
            TRY(VEC_PUSH(&m->unit, (struct norm_unit){ i, 1, tile_block_tile(&m->all, f), f->n }));
    }
    return EMU_OK;
}

static uint32_t totals_count(const struct norm *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->unit.count; i++) {
        struct nn_range r = touched(m, &m->all.list.at[m->unit.at[i].first]);

        n += m->width * (r.end - r.begin);
    }
    return n;
}

static enum emu_status add_block_sums(struct norm *m, uint32_t i, struct tensor totals)
{
    const struct norm_unit *u = &m->unit.at[i];
    struct nn_range r = touched(m, &m->all.list.at[u->first]);

    for (uint32_t k = r.begin; k < r.end; k++) {
        uint32_t at = m->width * (k - r.begin);
        struct tensor sums = tensor_slice(m->g, totals, 0, at, at + m->width);

        TRY(VEC_PUSH(&m->block, (struct block_sums){ .bundle = (uint64_t)u->n * m->bundles + k,
                                                     .order = i,
                                                     .tile = u->tile,
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

/* Adds up channels on every tile, then those of each group. */
static enum emu_status fold(struct norm *m)
{
    struct graph *g = m->g;
    uint32_t cs, n = totals_count(m), at = 0, channel = 0;
    struct tensor totals = graph_variable(g, ELEM_F32, 1, &n, "totals"), sum, squares;

    tile_blocks_sum(m->nn, &m->x, &m->all, &sum, &squares);
    cs = op_compute_set(g, m->nn->seq, "fold");
    for (uint32_t i = 0; i < m->unit.count; i++) {
        const struct tile_block *f = &m->all.list.at[m->unit.at[i].first];
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

/* The elements of a unit; flat. */
static struct tensor unit_take(const struct norm *m, const struct norm_unit *u)
{
    const struct tile_block *f = &m->all.list.at[u->first], *last = &f[u->count - 1];
    struct tensor part = tile_part_take(m->g, &m->all.parts, f->part, m->x.t);
    uint64_t end = last->at + (uint64_t)last->blocks * last->f * CHANNEL_BLOCK;

    return tensor_slice(m->g, part, 0, (uint32_t)f->at, (uint32_t)end);
}

/* Adds up the four groups on every tile. */
static enum emu_status fold_four(struct norm *m)
{
    struct graph *g = m->g;
    uint32_t units = (uint32_t)m->unit.count, cs = op_compute_set(g, m->nn->seq, "sum");
    struct tensor totals =
        graph_variable(g, ELEM_F32, 2, (const uint32_t[]){ units, m->width }, "totals");
    struct tensor scratch = graph_variable(
        g, ELEM_F32, 2, (const uint32_t[]){ units, m->width * graph_arch(g)->workers }, "workers");

    for (uint32_t i = 0; i < units; i++) {
        const struct norm_unit *u = &m->unit.at[i];
        struct tensor own = tensor_index(g, totals, i), work = tensor_index(g, scratch, i);

        graph_map(g, own, u->tile);
        graph_map(g, work, u->tile);
        VERTEX(norm_stats4_f16, g, cs, u->tile, .x = unit_take(m, u), .totals = own,
               .scratch = work);
        TRY(add_block_sums(m, i, own));
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

    if (m->four)
        return KERNEL_CYCLES(norm_params4, KERNEL_ROW(norm_params4_f16), a, .own = m->width,
                             .totals = m->width * (parts - 1), .scale = CHANNEL_BLOCK,
                             .p = parts - 1);
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
           KERNEL_CYCLES(reduce_pairs, KERNEL_ROW(reduce_pairs_f32), graph_arch(m->g),
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
            uint64_t c = parts_cycles(m, most, relays, parts, touches);

            if (c >= best || (parts > 1 && parts * touches > PARTS_MAX))
                continue;
            best = c;
            m->relays = relays;
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

/* A tile for sums p [n] of a bundle. held: preferably one that has one of them. Else one without a
 * part of the bundle, since one that takes sums cannot send its own at the same time; if there is
 * none, one that has a part. Neighbouring groups, which often lie on the same tiles, take different
 * ones. */
static uint32_t adder_tile(const struct norm *m, struct adders *a, const struct block_sums *p,
                           uint32_t n, int held)
{
    uint32_t bundle = (uint32_t)(p->bundle % m->bundles);

    for (uint32_t i = 0; i < n && held; i++) {
        if (!a->adds[p[i].tile]) {
            a->adds[p[i].tile] = 1;
            return p[i].tile;
        }
    }
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

/* The number of the first of sums p [n] that lies on a tile; n: none does. */
static uint32_t own_of(const struct block_sums *p, uint32_t n, uint32_t tile)
{
    uint32_t i = 0;

    while (i < n && p[i].tile != tile)
        i++;
    return i;
}

/* Sums p [n] without one of them, part by part. */
static struct tensor without(const struct norm *m, const struct block_sums *p, uint32_t n,
                             uint32_t own)
{
    struct tensor *part = emu_alloc(n + 1, sizeof(*part)), all = p->sums;
    uint32_t parts = 0;

    if (!part) {
        graph_fail(m->g, EMU_NO_MEMORY, "sums of %u tiles", n);
        return all;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i != own)
            part[parts++] = p[i].sums;
    }
    all = parts ? tensor_concat(m->g, part, parts, 0) : tensor_slice(m->g, all, 0, 0, 0);
    emu_free(part);
    return all;
}

/* Adds up sums p [n] of a bundle on a tile, which may have one of them. */
static void add_on_tile(const struct norm *m, uint32_t cs, const struct block_sums *p, uint32_t n,
                        uint32_t tile, struct tensor out)
{
    uint32_t own = own_of(p, n, tile);

    graph_map(m->g, out, tile);
    if (own == n)
        VERTEX(reduce_pairs_f32, m->g, cs, tile, .partials = without(m, p, n, own), .out = out,
               .p = n);
    else
        VERTEX(reduce_own_f32, m->g, cs, tile, .partials = without(m, p, n, own),
               .own = p[own].sums, .out = out, .before = own, .p = n - 1 - own);
}

/* Sums p [n] of a bundle, of which a part is added up on a tile. */
struct norm_sum {
    const struct block_sums *p;
    uint32_t n;
};

static struct norm_sum sum_of(const struct norm *m, uint32_t bundle, uint32_t parts, uint32_t part)
{
    const struct block_sums *p = &m->block.at[m->first[bundle]];
    uint32_t n = (uint32_t)(m->first[bundle + 1] - m->first[bundle]);
    uint32_t begin = cut_at(n, parts, part);

    return (struct norm_sum){ p + begin, cut_at(n, parts, part + 1) - begin };
}

/* Adds up the sums of every bundle in so many parts, which are the sums from then on. */
static enum emu_status add_bundles(struct norm *m, uint32_t parts, struct adders *a, int held)
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "add"), bundles = m->x.n * m->bundles;
    struct tensor all =
        graph_variable(m->g, ELEM_F32, 2, (const uint32_t[]){ bundles * parts, m->width }, "parts");
    __typeof__(m->block) before;

    m->added.count = 0;
    for (uint32_t k = 0; k < bundles; k++) {
        for (size_t i = m->first[k]; i < m->first[k + 1]; i++)
            a->has[m->block.at[i].tile] = k + 1;
        for (uint32_t i = 0; i < parts; i++) {
            struct norm_sum s = sum_of(m, k, parts, i);
            struct block_sums sum = { .bundle = k,
                                      .order = i,
                                      .tile = adder_tile(m, a, s.p, s.n, held),
                                      .sums = tensor_index(m->g, all, k * parts + i) };

            add_on_tile(m, cs, s.p, s.n, sum.tile, sum.sums);
            TRY(VEC_PUSH(&m->added, sum));
        }
    }
    before = m->block;
    m->block = m->added;
    m->added = before;
    return EMU_OK;
}

/* Adds up sums over tiles, so that there are m->parts for each bundle. */
static enum emu_status add_up(struct norm *m)
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
        s = add_bundles(m, m->relays, &a, m->layer.strided);
        if (s == EMU_OK)
            s = sort_blocks(m, &most, &least);
    }
    if (s == EMU_OK && (most != m->parts || least != m->parts)) {
        s = add_bundles(m, m->parts, &a, 0);
        if (s == EMU_OK)
            s = sort_blocks(m, &most, &least);
    }
    emu_free(a.has);
    emu_free(a.adds);
    return s;
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

/* Adds the vertex for scale and shift of a unit. channel: where its channels begin among those of
 * all tile blocks. sums: of all its bundles. */
static void make_params(const struct norm *m, uint32_t cs, const struct norm_unit *u,
                        uint32_t channel, uint32_t end, const struct tensor t[4])
{
    struct graph *g = m->g;
    const struct tile_block *f = &m->all.list.at[u->first];
    struct nn_range r = touched(m, f);
    const struct block_sums *p = &m->block.at[m->first[u->n * m->bundles + r.begin]];
    uint32_t sums = (r.end - r.begin) * m->parts, own = m->four ? own_of(p, sums, u->tile) : sums;
    struct tensor gamma = on_tile(g, t[0], channel, end, u->tile);
    struct tensor beta = on_tile(g, t[1], channel, end, u->tile);
    struct tensor scale = on_tile(g, t[2], channel, end, u->tile);
    struct tensor shift = on_tile(g, t[3], channel, end, u->tile), totals;
    float inverse = 1.0f / ((float)m->each * (float)(m->x.h * m->x.w));

    own = own < sums || !m->four ? own : 0;
    totals = without(m, p, sums, own);
    if (m->four)
        VERTEX(norm_params4_f16, g, cs, u->tile, .own = p[own].sums, .totals = totals,
               .gamma = gamma, .beta = beta, .scale = scale, .shift = shift, .inverse = inverse,
               .eps = m->layer.eps, .before = own, .p = m->parts - 1 - own);
    else if (m->layer.strided)
        VERTEX(norm_params_strided_f16, g, cs, u->tile, .totals = totals, .gamma = gamma,
               .beta = beta, .scale = scale, .shift = shift, .inverse = inverse,
               .eps = m->layer.eps, .first = before(m, f), .p = m->parts,
               .groups = m->layer.groups);
    else
        VERTEX(norm_params_f16, g, cs, u->tile, .totals = totals, .gamma = gamma, .beta = beta,
               .scale = scale, .shift = shift, .inverse = inverse, .eps = m->layer.eps,
               .first = before(m, f), .each = m->each, .p = m->parts, .groups = r.end - r.begin);
}

static const struct act_kernels scale_shift = ACT_KERNELS_3(scale_shift, f16);

static uint32_t channels_of(const struct norm *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->all.list.count; i++)
        n += m->all.list.at[i].blocks * CHANNEL_BLOCK;
    return n;
}

/* Adds the vertices that apply scale and shift to the tile blocks of a unit. */
static uint32_t use_params(const struct norm *m, uint32_t cs, const struct norm_unit *u,
                           uint32_t channel, const struct tensor t[4])
{
    const struct codelet *codelet = nn_codelet(m->g, &scale_shift, m->act);

    for (uint32_t i = u->first; i < u->first + u->count; i++) {
        const struct tile_block *f = &m->all.list.at[i];
        uint32_t end = channel + f->blocks * CHANNEL_BLOCK;

        VERTEX_OF(
            scale_shift, codelet, m->g, cs, u->tile, .x = tile_block_take(m->g, &m->all, f, m->x.t),
            .scale = tensor_slice(m->g, t[2], 0, channel, end),
            .shift = tensor_slice(m->g, t[3], 0, channel, end), .blocks = f->blocks, .f = f->f);
        channel = end;
    }
    return channel;
}

static void apply(const struct norm *m)
{
    struct graph *g = m->g;
    uint32_t channels = channels_of(m), make = op_compute_set(g, m->nn->seq, "params"), at = 0;
    uint32_t use = op_compute_set(g, m->nn->seq, "apply");
    struct tensor params = new_params(m, channels), t[4];

    t[0] = tensor_index(g, params, 0);
    t[1] = tensor_index(g, params, 1);
    t[2] = graph_variable(g, ELEM_F16, 1, &channels, "scale");
    t[3] = graph_variable(g, ELEM_F16, 1, &channels, "shift");
    for (size_t i = 0; i < m->unit.count; i++) {
        uint32_t end = use_params(m, use, &m->unit.at[i], at, t);

        make_params(m, make, &m->unit.at[i], at, end, t);
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
    TRY(graph_status(m->g));
    TRY(check(m));
    m->four = m->layer.strided && m->layer.groups == 4;
    m->each = m->x.c / m->layer.groups;
    m->bundles = m->layer.strided ? 1 : m->layer.groups;
    m->width = m->layer.strided ? 2 * m->layer.groups : 2;
    TRY(tile_blocks_of(m->nn, &m->x, &m->all));
    TRY(find_units(m));
    TRY(m->four ? fold_four(m) : fold(m));
    TRY(add_up(m));
    apply(m);
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
    VEC_FREE(&m.unit);
    VEC_FREE(&m.block);
    VEC_FREE(&m.added);
    emu_free(m.first);
    return m.x;
}
