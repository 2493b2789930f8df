/* affine_op.c - a factor and a summand for each channel of an activation: on the tiles where it
 * lies, unless it lies there in so many pieces that it is better dealt out anew.
 */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_rotation.h"
#include "programs/library/layout/tile_blocks.h"

/* Positions of neighbouring blocks of channels, [blocks][f][16], from one activation to another. */
struct affine_part {
    struct tensor x, y; /* flat */
    struct nn_range blocks;
    uint32_t f, tile;
};

struct affine {
    struct nn *nn;
    struct graph *g;
    struct activation x, y;
    const float *scale, *shift;
    const struct codelet *codelet;
    VEC(struct affine_part) part;
    uint64_t channels; /* of all parts */
};

static enum emu_status add_part(struct affine *m, const struct affine_part *p)
{
    m->channels += (uint64_t)nn_size(p->blocks) * CHANNEL_BLOCK;
    return VEC_PUSH(&m->part, *p);
}

static uint64_t part_cycles(const struct affine *m, uint32_t blocks, uint32_t f)
{
    return KERNEL_CYCLES(affine, m->codelet, ss_graph_arch(m->g), .blocks = blocks, .f = f);
}

/* ---- where x lies ---- */

/* What the busiest tile takes for its tile blocks. */
static uint64_t local_cycles(const struct affine *m, const struct tile_blocks *all)
{
    uint64_t most = 0, now = 0;

    for (size_t i = 0; i < all->list.count; i++) {
        const struct tile_block *b = &all->list.at[i];

        if (!i || b->part != all->list.at[i - 1].part)
            now = 0;
        now += part_cycles(m, b->blocks, b->f);
        most = now > most ? now : most;
    }
    return most;
}

static enum emu_status stay(struct affine *m, const struct tile_blocks *all)
{
    ss_graph_map_like(m->g, m->y.t, m->x.t);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct tile_block *b = &all->list.at[i];

        TRY(add_part(m, &(struct affine_part){ .x = tile_block_take(m->g, all, b, m->x.t),
                                               .y = tile_block_take(m->g, all, b, m->y.t),
                                               .blocks = { b->block, b->block + b->blocks },
                                               .f = b->f,
                                               .tile = tile_block_tile(all, b) }));
    }
    return EMU_OK;
}

/* ---- dealt out anew ---- */

/* The cheapest cut by blocks and positions; cost.total: fetching x and computing. As a plan it is
 * that of a convolution that cuts its input so, by which its rotation is chosen. */
static struct conv_plan deal_plan(const struct affine *m)
{
    const struct arch *a = ss_graph_arch(m->g);
    const struct activation *x = &m->x;
    uint32_t blocks = channel_blocks(x->c), positions = x->n * x->h * x->w;
    struct conv_plan p = { .shape = { .n = x->n,
                                      .in_c = x->c,
                                      .in_h = x->h,
                                      .in_w = x->w,
                                      .out_c = CHANNEL_BLOCK,
                                      .out_h = x->h,
                                      .out_w = x->w,
                                      .groups = 1,
                                      .kernel_h = 1,
                                      .kernel_w = 1,
                                      .stride_h = 1,
                                      .stride_w = 1,
                                      .dilation_h = 1,
                                      .dilation_w = 1 },
                           .method = CONV_GEMM,
                           .cut_n = 1,
                           .cut_w = 1,
                           .cut_out = 1,
                           .tiles = ss_graph_compute_tiles(m->g),
                           .port = plan_port(a),
                           .cost.total = UINT64_MAX };

    for (uint32_t cut = 1; cut <= p.tiles; cut = next_cut(blocks, cut)) {
        uint32_t by_position = p.tiles / cut < positions ? p.tiles / cut : positions;
        uint32_t b = ceil_div(blocks, cut), f = ceil_div(positions, by_position);
        uint64_t cycles = a->sync_chip_cycles + part_cycles(m, b, f) +
                          plan_port_cycles(&p.port, (uint64_t)b * f * CHANNEL_BLOCK_WORDS, 1);

        if (cycles < p.cost.total) {
            p.cut_in = cut;
            p.cut_h = by_position;
            p.cost.total = cycles;
        }
    }
    return p;
}

static enum emu_status deal(struct affine *m, struct conv_plan *p)
{
    struct graph *g = m->g;
    uint32_t blocks = channel_blocks(m->x.c), positions = m->x.n * m->x.h * m->x.w;
    const uint32_t shape[] = { blocks, positions, CHANNEL_BLOCK };
    struct tensor x = ss_tensor_reshape(g, m->x.t, 3, shape);
    struct tensor y = ss_tensor_reshape(g, m->y.t, 3, shape);

    TRY(conv_rotation_choose(m->nn, &m->x, NULL, 0, 0, p));
    for (uint32_t k = 0; k < p->cut_h * p->cut_in; k++) {
        const struct nn_range at[] = { nn_part(blocks, p->cut_in, k % p->cut_in),
                                       nn_part(positions, p->cut_h, k / p->cut_in),
                                       { 0, CHANNEL_BLOCK } };
        struct affine_part part = { ss_tensor_flatten(g, nn_slice(g, x, at)),
                                    ss_tensor_flatten(g, nn_slice(g, y, at)), at[0], nn_size(at[1]),
                                    conv_plan_tile(p, k) };

        ss_graph_map(g, part.y, part.tile);
        TRY(add_part(m, &part));
    }
    return EMU_OK;
}

/* ---- the layer ---- */

/* The numbers of all parts' channels, f16 [2][channels]: scales, then shifts. */
static enum emu_status numbers_of(const struct affine *m, struct tensor *out)
{
    uint32_t n = (uint32_t)m->channels, at = 0;
    uint16_t *v = emu_alloc(2 * (size_t)n + 1, sizeof(*v));

    if (!v)
        return FAIL(NO_MEMORY, "factors of %u channels", n);
    for (size_t i = 0; i < m->part.count; i++) {
        const struct nn_range r = m->part.at[i].blocks;

        for (uint32_t c = r.begin * CHANNEL_BLOCK; c < r.end * CHANNEL_BLOCK; c++, at++) {
            if (c < m->x.c) {
                v[at] = nn_half(m->scale ? m->scale[c] : 1);
                v[n + at] = nn_half(m->shift ? m->shift[c] : 0);
            }
        }
    }
    *out = ss_graph_constant(m->g, ELEM_F16, 2, (const uint32_t[]){ 2, n }, v, "numbers");
    ss_free(v);
    return EMU_OK;
}

static struct tensor take_numbers(struct graph *g, struct tensor numbers, uint32_t row, uint32_t at,
                                  const struct affine_part *p)
{
    uint32_t n = nn_size(p->blocks) * CHANNEL_BLOCK;
    struct tensor t = ss_tensor_slice(g, ss_tensor_index(g, numbers, row), 0, at, at + n);

    ss_graph_map(g, t, p->tile);
    return t;
}

static enum emu_status add_vertices(const struct affine *m)
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "apply"), at = 0;
    struct tensor numbers;

    TRY(numbers_of(m, &numbers));
    for (size_t i = 0; i < m->part.count; i++) {
        const struct affine_part *p = &m->part.at[i];

        VERTEX_OF(affine, m->codelet, m->g, cs, p->tile, .x = p->x, .y = p->y,
                  .scale = take_numbers(m->g, numbers, 0, at, p),
                  .shift = take_numbers(m->g, numbers, 1, at, p), .blocks = nn_size(p->blocks),
                  .f = p->f);
        at += nn_size(p->blocks) * CHANNEL_BLOCK;
    }
    return ss_graph_status(m->g);
}

static enum emu_status affine(struct affine *m)
{
    struct tile_blocks all = { 0 };
    struct conv_plan p;
    enum emu_status s;

    TRY(ss_graph_status(m->g));
    p = deal_plan(m);
    s = tile_blocks_of(m->nn, &m->x, &all);
    if (s == EMU_OK)
        s = local_cycles(m, &all) <= p.cost.total ? stay(m, &all) : deal(m, &p);
    tile_blocks_free(&all);
    return s == EMU_OK ? add_vertices(m) : s;
}

static const struct act_kernels kernels = ACT_KERNELS_3(affine, f16);

struct activation ss_op_channel_affine(struct nn *nn, struct activation x, const float *scale,
                                       const float *shift, enum activation_function act,
                                       const char *name)
{
    struct affine m = { .nn = nn,
                        .g = nn_graph(nn),
                        .x = x,
                        .y = x,
                        .scale = scale,
                        .shift = shift,
                        .codelet = nn_codelet(nn_graph(nn), &kernels, act) };
    enum emu_status s;

    if (ss_graph_status(m.g) != EMU_OK)
        return x;
    ss_graph_push(nn->g, name);
    m.y = nn_activation(nn, x.n, x.c, x.h, x.w, "out");
    s = affine(&m);
    if (s != EMU_OK)
        ss_graph_fail(nn->g, s, "%s: %s", name, ss_error());
    ss_graph_pop(nn->g);
    VEC_FREE(&m.part);
    return m.y;
}
