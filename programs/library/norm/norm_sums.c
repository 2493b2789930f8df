/* norm_sums.c - sums of groups of channels over tiles.
 *
 * A tile that has one of the numbers itself uses it where it lies: kernels get it apart from those
 * that come from other tiles, since a copy on the tile takes as long as a small sum. */
#include "programs/library/norm/norm_sums.h"

#include <stdlib.h>

#include "programs/library/layout/plan_cost.h"

struct nn_range norm_sums_touched(const struct norm_sums *m, const struct tile_block *f)
{
    uint32_t end = (f->block + f->blocks) * CHANNEL_BLOCK;

    if (m->strided)
        return (struct nn_range){ 0, 1 };
    end = end < m->x.c ? end : m->x.c;
    return (struct nn_range){ f->block * CHANNEL_BLOCK / m->each, (end - 1) / m->each + 1 };
}

uint32_t norm_sums_before(const struct norm_sums *m, const struct tile_block *f)
{
    return f->block * CHANNEL_BLOCK % (m->strided ? m->groups : m->each);
}

/* ---- sums of groups of channels ---- */

static enum emu_status find_units(struct norm_sums *m)
{
    for (uint32_t i = 0; i < m->all->list.count; i++) {
        const struct tile_block *f = &m->all->list.at[i];
        struct norm_unit *last = m->unit.count ? &m->unit.at[m->unit.count - 1] : NULL;

        if (m->four && m->x.n == 1 && last && last->tile == tile_block_tile(m->all, f))
            last->count++;
        else
            TRY(VEC_PUSH(&m->unit, (struct norm_unit){ i, 1, tile_block_tile(m->all, f), f->n }));
    }
    return EMU_OK;
}

static uint32_t totals_count(const struct norm_sums *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->unit.count; i++) {
        struct nn_range r = norm_sums_touched(m, &m->all->list.at[m->unit.at[i].first]);

        n += m->width * (r.end - r.begin);
    }
    return n;
}

static enum emu_status add_block_sums(struct norm_sums *m, uint32_t i, struct tensor totals)
{
    const struct norm_unit *u = &m->unit.at[i];
    struct nn_range r = norm_sums_touched(m, &m->all->list.at[u->first]);

    for (uint32_t k = r.begin; k < r.end; k++) {
        uint32_t at = m->width * (k - r.begin);
        struct tensor sums = ss_tensor_slice(m->g, totals, 0, at, at + m->width);

        TRY(VEC_PUSH(&m->part, (struct norm_part){ .bundle = (uint64_t)u->n * m->bundles + k,
                                                   .order = i,
                                                   .tile = u->tile,
                                                   .sums = sums }));
    }
    return EMU_OK;
}

/* Adds the vertex that adds up the channels of each group of a tile block. */
static void fold_block(const struct norm_sums *m, uint32_t cs, const struct tile_block *f,
                       struct tensor sum, struct tensor squares, struct tensor totals)
{
    uint32_t tile = tile_block_tile(m->all, f), padded = f->blocks * CHANNEL_BLOCK;
    uint32_t channels = m->x.c - f->block * CHANNEL_BLOCK, groups = m->groups;

    channels = channels < padded ? channels : padded;
    ss_graph_map(m->g, totals, tile);
    if (m->strided)
        VERTEX(norm_fold_strided_f32, m->g, cs, tile, .sum = sum, .sumsq = squares,
               .totals = totals, .first = norm_sums_before(m, f), .groups = groups,
               .rows = channels / groups, .rest = channels % groups);
    else
        VERTEX(norm_fold_f32, m->g, cs, tile, .sum = sum, .sumsq = squares, .totals = totals,
               .first = norm_sums_before(m, f), .each = m->each, .channels = channels);
}

/* Adds up channels on every tile, then those of each group. */
static enum emu_status fold(struct norm_sums *m)
{
    struct graph *g = m->g;
    uint32_t cs, n = totals_count(m), at = 0, channel = 0;
    struct tensor totals = ss_graph_variable(g, ELEM_F32, 1, &n, "totals"), sum, squares;

    tile_blocks_sum(m->nn, &m->x, m->all, &sum, &squares);
    cs = op_compute_set(g, m->nn->seq, "fold");
    for (uint32_t i = 0; i < m->unit.count; i++) {
        const struct tile_block *f = &m->all->list.at[m->unit.at[i].first];
        uint32_t end = channel + f->blocks * CHANNEL_BLOCK;
        struct nn_range r = norm_sums_touched(m, f);
        uint32_t numbers = m->width * (r.end - r.begin);
        struct tensor own = ss_tensor_slice(g, totals, 0, at, at + numbers);

        fold_block(m, cs, f, ss_tensor_slice(g, sum, 0, channel, end),
                   ss_tensor_slice(g, squares, 0, channel, end), own);
        TRY(add_block_sums(m, i, own));
        at += numbers;
        channel = end;
    }
    return EMU_OK;
}

/* The elements of a unit; flat. */
static struct tensor unit_take(const struct norm_sums *m, const struct norm_unit *u)
{
    const struct tile_block *f = &m->all->list.at[u->first], *last = &f[u->count - 1];
    struct tensor part = tile_part_take(m->g, &m->all->parts, f->part, m->x.t);
    uint64_t end = last->at + (uint64_t)last->blocks * last->f * CHANNEL_BLOCK;

    return ss_tensor_slice(m->g, part, 0, (uint32_t)f->at, (uint32_t)end);
}

/* Adds up the four groups on every tile. */
static enum emu_status fold_four(struct norm_sums *m)
{
    struct graph *g = m->g;
    uint32_t units = (uint32_t)m->unit.count, cs = op_compute_set(g, m->nn->seq, "sum");
    struct tensor totals =
        ss_graph_variable(g, ELEM_F32, 2, (const uint32_t[]){ units, m->width }, "totals");
    struct tensor scratch = ss_graph_variable(
        g, ELEM_F32, 2, (const uint32_t[]){ units, m->width * ss_graph_arch(g)->workers },
        "workers");

    for (uint32_t i = 0; i < units; i++) {
        const struct norm_unit *u = &m->unit.at[i];
        struct tensor own = ss_tensor_index(g, totals, i), work = ss_tensor_index(g, scratch, i);

        ss_graph_map(g, own, u->tile);
        ss_graph_map(g, work, u->tile);
        VERTEX(norm_stats4_f16, g, cs, u->tile, .x = unit_take(m, u), .totals = own,
               .scratch = work);
        TRY(add_block_sums(m, i, own));
    }
    return EMU_OK;
}

/* ---- sums over tiles ---- */

static int by_bundle(const void *a, const void *b)
{
    const struct norm_part *x = a, *y = b;

    if (x->bundle != y->bundle)
        return x->bundle < y->bundle ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Sorts the sums by bundle. *most, *least: how many a bundle has. */
static enum emu_status sort_blocks(struct norm_sums *m, uint32_t *most, uint32_t *least)
{
    size_t bundles = (size_t)m->x.n * m->bundles;

    ss_free(m->first);
    m->first = emu_alloc(bundles + 1, sizeof(*m->first));
    if (!m->first)
        return FAIL(NO_MEMORY, "%zu bundles of sums", bundles);
    qsort(m->part.at, m->part.count, sizeof(*m->part.at), by_bundle);
    for (size_t i = 0; i < m->part.count; i++)
        m->first[m->part.at[i].bundle + 1] = i + 1;
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
static uint64_t params_cycles(const struct norm_sums *m, uint32_t parts, uint32_t touches)
{
    const struct arch *a = ss_graph_arch(m->g);
    uint32_t totals = m->width * parts * touches;

    if (m->four)
        return KERNEL_CYCLES(norm_params4, KERNEL_ROW(norm_params4_f16), a, .own = m->width,
                             .totals = m->width * (parts - 1), .scale = CHANNEL_BLOCK,
                             .p = parts - 1);
    if (m->strided)
        return KERNEL_CYCLES(norm_params_strided, KERNEL_ROW(norm_params_strided_f16), a,
                             .totals = totals, .scale = CHANNEL_BLOCK, .groups = m->groups,
                             .p = parts);
    return KERNEL_CYCLES(norm_params, KERNEL_ROW(norm_params_f16), a, .totals = totals,
                         .scale = CHANNEL_BLOCK, .each = CHANNEL_BLOCK, .groups = touches,
                         .p = parts);
}

/* Cycles of adding up `terms` sums of a bundle on a tile. */
static uint64_t add_cycles(const struct norm_sums *m, uint32_t terms)
{
    return m->phase_cycles + (uint64_t)m->width * terms +
           KERNEL_CYCLES(reduce_pairs, KERNEL_ROW(reduce_pairs_f32), ss_graph_arch(m->g),
                         .partials = m->width * terms, .out = m->width, .p = terms);
}

/* Cycles if `blocks` tile blocks have a bundle, and a tile takes `parts` sums for each of `touches`
 * bundles. */
static uint64_t parts_cycles(const struct norm_sums *m, uint32_t blocks, uint32_t relays,
                             uint32_t parts, uint32_t touches)
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

static void choose_parts(struct norm_sums *m, uint32_t most, uint32_t least)
{
    uint32_t touches = 1;
    uint64_t best = UINT64_MAX;

    for (size_t i = 0; i < m->all->list.count; i++) {
        struct nn_range r = norm_sums_touched(m, &m->all->list.at[i]);

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
static uint32_t adder_tile(const struct norm_sums *m, struct adders *a, const struct norm_part *p,
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

uint32_t norm_parts_own(const struct norm_part *p, uint32_t n, uint32_t tile)
{
    uint32_t i = 0;

    while (i < n && p[i].tile != tile)
        i++;
    return i;
}

struct tensor norm_parts_without(const struct norm_sums *m, const struct norm_part *p, uint32_t n,
                                 uint32_t own)
{
    struct tensor *part = emu_alloc(n + 1, sizeof(*part)), all = p->sums;
    uint32_t parts = 0;

    if (!part) {
        ss_graph_fail(m->g, EMU_NO_MEMORY, "sums of %u tiles", n);
        return all;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i != own)
            part[parts++] = p[i].sums;
    }
    all = parts ? ss_tensor_concat(m->g, part, parts, 0) : ss_tensor_slice(m->g, all, 0, 0, 0);
    ss_free(part);
    return all;
}

/* Adds up sums p [n] of a bundle on a tile, which may have one of them. */
static void add_on_tile(const struct norm_sums *m, uint32_t cs, const struct norm_part *p,
                        uint32_t n, uint32_t tile, struct tensor out)
{
    uint32_t own = norm_parts_own(p, n, tile);

    ss_graph_map(m->g, out, tile);
    if (own == n)
        VERTEX(reduce_pairs_f32, m->g, cs, tile, .partials = norm_parts_without(m, p, n, own),
               .out = out, .p = n);
    else
        VERTEX(reduce_own_f32, m->g, cs, tile, .partials = norm_parts_without(m, p, n, own),
               .own = p[own].sums, .out = out, .before = own, .p = n - 1 - own);
}

/* Sums p [n] of a bundle, of which a part is added up on a tile. */
struct norm_terms {
    const struct norm_part *p;
    uint32_t n;
};

static struct norm_terms sum_of(const struct norm_sums *m, uint32_t bundle, uint32_t parts,
                                uint32_t part)
{
    const struct norm_part *p = &m->part.at[m->first[bundle]];
    uint32_t n = (uint32_t)(m->first[bundle + 1] - m->first[bundle]);
    uint32_t begin = cut_at(n, parts, part);

    return (struct norm_terms){ p + begin, cut_at(n, parts, part + 1) - begin };
}

/* Adds up the sums of every bundle in so many parts, which are the sums from then on. */
static enum emu_status add_bundles(struct norm_sums *m, uint32_t parts, struct adders *a, int held)
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "add"), bundles = m->x.n * m->bundles;
    struct tensor all = ss_graph_variable(m->g, ELEM_F32, 2,
                                          (const uint32_t[]){ bundles * parts, m->width }, "parts");
    __typeof__(m->part) before;

    m->added.count = 0;
    for (uint32_t k = 0; k < bundles; k++) {
        for (size_t i = m->first[k]; i < m->first[k + 1]; i++)
            a->has[m->part.at[i].tile] = k + 1;
        for (uint32_t i = 0; i < parts; i++) {
            struct norm_terms s = sum_of(m, k, parts, i);
            struct norm_part sum = { .bundle = k,
                                     .order = i,
                                     .tile = adder_tile(m, a, s.p, s.n, held),
                                     .sums = ss_tensor_index(m->g, all, k * parts + i) };

            add_on_tile(m, cs, s.p, s.n, sum.tile, sum.sums);
            TRY(VEC_PUSH(&m->added, sum));
        }
    }
    before = m->part;
    m->part = m->added;
    m->added = before;
    return EMU_OK;
}

/* Adds up sums over tiles, so that there are m->parts for each bundle. */
static enum emu_status add_up(struct norm_sums *m)
{
    uint32_t tiles = ss_graph_compute_tiles(m->g), most, least;
    struct adders a = { .tiles = tiles };
    enum emu_status s = sort_blocks(m, &most, &least);

    if (s == EMU_OK)
        choose_parts(m, most, least);
    a.has = emu_alloc(tiles, sizeof(*a.has));
    a.adds = emu_alloc(tiles, sizeof(*a.adds));
    if (s == EMU_OK && (!a.has || !a.adds))
        s = FAIL(NO_MEMORY, "sums on %u tiles", tiles);
    if (s == EMU_OK && m->relays) {
        s = add_bundles(m, m->relays, &a, m->strided);
        if (s == EMU_OK)
            s = sort_blocks(m, &most, &least);
    }
    if (s == EMU_OK && (most != m->parts || least != m->parts)) {
        s = add_bundles(m, m->parts, &a, 0);
        if (s == EMU_OK)
            s = sort_blocks(m, &most, &least);
    }
    ss_free(a.has);
    ss_free(a.adds);
    return s;
}

const struct norm_part *norm_sums_of(const struct norm_sums *m, const struct norm_unit *u)
{
    struct nn_range r = norm_sums_touched(m, &m->all->list.at[u->first]);

    return &m->part.at[m->first[u->n * m->bundles + r.begin]];
}

enum emu_status norm_sums_make(struct nn *nn, const struct activation *x,
                               const struct tile_blocks *all, uint32_t groups, int strided,
                               struct norm_sums *out)
{
    *out = (struct norm_sums){ .nn = nn,
                               .g = nn->g,
                               .x = *x,
                               .groups = groups,
                               .strided = strided,
                               .all = all,
                               .each = x->c / groups,
                               .bundles = strided ? 1 : groups,
                               .width = strided ? 2 * groups : 2,
                               .four = strided && groups == 4,
                               .phase_cycles = plan_exchange_cycles(ss_graph_arch(nn->g), 1) - 1 };
    TRY(find_units(out));
    TRY(out->four ? fold_four(out) : fold(out));
    return add_up(out);
}

void norm_sums_free(struct norm_sums *m)
{
    VEC_FREE(&m->unit);
    VEC_FREE(&m->part);
    VEC_FREE(&m->added);
    ss_free(m->first);
}
