/* norm_op.c - group norm: mean and variance of groups of channels of each picture, then
 * x scale + shift and an activation function in place.
 *
 * Sums of groups are added up over tiles (norm_sums.h); all tiles take what they need of them and
 * compute scale and shift of their own channels.
 * The variance is the mean of the squares minus the square of the mean, in f32; its error is below
 * that of f16 data, which has 11 bits, unless the mean is a thousand deviations. */
#include <string.h>

#include "programs/library/norm/norm_sums.h"

/* A norm under construction. */
struct norm_build {
    struct nn *nn;
    struct graph *g;
    struct activation x;
    struct group_norm_layer layer;
    enum activation_function act;
    struct tile_blocks all;
    struct norm_sums sums;
};

/* ---- scale and shift ---- */

/* The constant f32 [2][channels] with gamma, then beta, of the channels of all tile blocks. */
static struct tensor new_params(const struct norm_build *m, uint32_t channels)
{
    float *v = emu_alloc(2 * (size_t)channels, sizeof(*v));
    struct tensor t = m->x.t;
    uint32_t at = 0;

    if (!v) {
        ss_graph_fail(m->g, EMU_NO_MEMORY, "parameters of a norm");
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
    t = ss_graph_constant(m->g, ELEM_F32, 2, (const uint32_t[]){ 2, channels }, v, "params");
    ss_free(v);
    return t;
}

/* Part [begin, end) of the last dimension of t; maps it to a tile. */
static struct tensor on_tile(struct graph *g, struct tensor t, uint32_t begin, uint32_t end,
                             uint32_t tile)
{
    t = ss_tensor_slice(g, t, 0, begin, end);
    ss_graph_map(g, t, tile);
    return t;
}

/* Adds the vertex for scale and shift of a unit. channel: where its channels begin among those of
 * all tile blocks. sums: of all its bundles. */
static void make_params(const struct norm_build *m, uint32_t cs, const struct norm_unit *u,
                        uint32_t channel, uint32_t end, const struct tensor t[4])
{
    struct graph *g = m->g;
    const struct tile_block *f = &m->all.list.at[u->first];
    struct nn_range r = norm_sums_touched(&m->sums, f);
    const struct norm_part *p = norm_sums_of(&m->sums, u);
    uint32_t sums = (r.end - r.begin) * m->sums.parts,
             own = m->sums.four ? norm_parts_own(p, sums, u->tile) : sums;
    struct tensor gamma = on_tile(g, t[0], channel, end, u->tile);
    struct tensor beta = on_tile(g, t[1], channel, end, u->tile);
    struct tensor scale = on_tile(g, t[2], channel, end, u->tile);
    struct tensor shift = on_tile(g, t[3], channel, end, u->tile), totals;
    float inverse = norm_sums_inverse(&m->sums);

    own = own < sums || !m->sums.four ? own : 0;
    totals = norm_parts_without(&m->sums, p, sums, own);
    if (m->sums.four)
        VERTEX(norm_params4_f16, g, cs, u->tile, .own = p[own].sums, .totals = totals,
               .gamma = gamma, .beta = beta, .scale = scale, .shift = shift, .inverse = inverse,
               .eps = m->layer.eps, .before = own, .p = m->sums.parts - 1 - own);
    else if (m->layer.strided)
        VERTEX(norm_params_strided_f16, g, cs, u->tile, .totals = totals, .gamma = gamma,
               .beta = beta, .scale = scale, .shift = shift, .inverse = inverse,
               .eps = m->layer.eps, .first = norm_sums_before(&m->sums, f), .p = m->sums.parts,
               .groups = m->layer.groups);
    else
        VERTEX(norm_params_f16, g, cs, u->tile, .totals = totals, .gamma = gamma, .beta = beta,
               .scale = scale, .shift = shift, .inverse = inverse, .eps = m->layer.eps,
               .first = norm_sums_before(&m->sums, f), .each = m->sums.each, .p = m->sums.parts,
               .groups = r.end - r.begin);
}

static const struct act_kernels scale_shift = ACT_KERNELS_3(scale_shift, f16);

static uint32_t channels_of(const struct norm_build *m)
{
    uint32_t n = 0;

    for (size_t i = 0; i < m->all.list.count; i++)
        n += m->all.list.at[i].blocks * CHANNEL_BLOCK;
    return n;
}

/* Adds the vertices that apply scale and shift to the tile blocks of a unit. */
static uint32_t use_params(const struct norm_build *m, uint32_t cs, const struct norm_unit *u,
                           uint32_t channel, const struct tensor t[4])
{
    const struct codelet *codelet = nn_codelet(m->g, &scale_shift, m->act);

    for (uint32_t i = u->first; i < u->first + u->count; i++) {
        const struct tile_block *f = &m->all.list.at[i];
        uint32_t end = channel + f->blocks * CHANNEL_BLOCK;

        VERTEX_OF(
            scale_shift, codelet, m->g, cs, u->tile, .x = tile_block_take(m->g, &m->all, f, m->x.t),
            .scale = ss_tensor_slice(m->g, t[2], 0, channel, end),
            .shift = ss_tensor_slice(m->g, t[3], 0, channel, end), .blocks = f->blocks, .f = f->f);
        channel = end;
    }
    return channel;
}

static void apply(const struct norm_build *m)
{
    struct graph *g = m->g;
    uint32_t channels = channels_of(m), make = op_compute_set(g, m->nn->seq, "params"), at = 0;
    uint32_t use = op_compute_set(g, m->nn->seq, "apply");
    struct tensor params = new_params(m, channels), t[4];

    t[0] = ss_tensor_index(g, params, 0);
    t[1] = ss_tensor_index(g, params, 1);
    t[2] = ss_graph_variable(g, ELEM_F16, 1, &channels, "scale");
    t[3] = ss_graph_variable(g, ELEM_F16, 1, &channels, "shift");
    for (size_t i = 0; i < m->sums.unit.count; i++) {
        uint32_t end = use_params(m, use, &m->sums.unit.at[i], at, t);

        make_params(m, make, &m->sums.unit.at[i], at, end, t);
        at = end;
    }
}

/* ---- the layer ---- */

static enum emu_status check(const struct norm_build *m)
{
    if (!m->layer.groups || m->x.c % m->layer.groups)
        return FAIL(USAGE, "a group norm of %u channels in %u groups: expected equal groups",
                    m->x.c, m->layer.groups);
    if (m->act == ACT_SIGMOID)
        return FAIL(USAGE, "a group norm with a sigmoid after: expected none, relu or swish");
    return EMU_OK;
}

static enum emu_status norm(struct norm_build *m)
{
    TRY(ss_graph_status(m->g));
    TRY(check(m));
    TRY(tile_blocks_of(m->nn, &m->x, &m->all));
    TRY(norm_sums_make(m->nn, &m->x, &m->all, m->layer.groups, m->layer.strided, &m->sums));
    apply(m);
    return ss_graph_status(m->g);
}

struct activation ss_op_group_norm(struct nn *nn, struct activation x,
                                   const struct group_norm_layer *layer,
                                   enum activation_function act, const char *name)
{
    struct norm_build m = { .nn = nn, .g = nn_graph(nn), .x = x, .layer = *layer, .act = act };
    enum emu_status s;

    if (ss_graph_status(m.g) != EMU_OK)
        return x;
    ss_graph_push(nn->g, name);
    s = norm(&m);
    if (s != EMU_OK)
        ss_graph_fail(nn->g, s, "%s: %s", name, ss_error());
    ss_graph_pop(nn->g);
    norm_sums_free(&m.sums);
    tile_blocks_free(&m.all);
    return m.x;
}
