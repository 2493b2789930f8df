/* conv_method_gemm.c - a convolution of kernel 1 as a matrix product: positions times channels.
 *
 * * Tile (f, o, i) multiplies positions f of input blocks i by the weights of output blocks o. If
 * the input channels are not cut, it adds bias and activation where the product lies. Else the
 * tiles (f, o, ..) have partial results, and each adds up a part of the positions, with bias,
 * residual and activation. Sums in f32 are always finished that way, even on a single tile. */
#include "programs/library/conv/conv_cost.h"
#include "programs/library/conv/conv_parts.h"

/* A convolution under construction. */
struct gemm {
    struct nn *nn;
    const struct conv_layer *layer;
    const struct conv_plan *plan;
    struct tensor x, y, add;       /* [c16][positions][16] */
    uint32_t positions, out, each; /* of the whole; each: input blocks of a group */
    struct conv_weights weights;
};

static uint32_t tile_of(const struct gemm *m, uint32_t i, uint32_t f, uint32_t o)
{
    const struct conv_plan *p = m->plan;

    return conv_plan_tile(p, ((uint64_t)f * p->cut_out + o) * p->cut_in + i);
}

static struct nn_range f_range(const struct gemm *m, uint32_t f)
{
    return nn_part(m->positions, m->plan->cut_h, f);
}

static struct nn_range o_range(const struct gemm *m, uint32_t o)
{
    return conv_output_part(m->plan, o);
}

/* A part of t [blocks][positions][16]. */
static struct tensor part_of(const struct gemm *m, struct tensor t, struct nn_range blocks,
                             struct nn_range positions)
{
    return nn_slice(m->nn->g, t,
                    (const struct nn_range[]){ blocks, positions, { 0, CHANNEL_BLOCK } });
}

/* Adds the vertex that writes products of one group on a tile into y [out][positions][16], or, in
 * f32, [2 out][positions][8]. accumulate: adds them to what y holds. */
static void multiply_group(const struct gemm *m, uint32_t cs, struct tensor y, uint32_t tile,
                           struct nn_range in, struct nn_range out, struct nn_range at,
                           struct tensor weights, int accumulate)
{
    struct graph *g = m->nn->g;
    const struct codelet *codelet = m->layer->partials == PARTIALS_F32 ? KERNEL_ROW(matmul_f16_f32)
                                    : accumulate                       ? KERNEL_ROW(matmul_add_f16)
                                                                       : KERNEL_ROW(matmul_f16);

    y = conv_sums_of(g, m->layer, y, out, at);
    ss_graph_map(g, y, tile);
    VERTEX_OF(matmul, codelet, g, cs, tile, .in = ss_tensor_flatten(g, part_of(m, m->x, in, at)),
              .out = ss_tensor_flatten(g, y), .weights = weights, .kb = in.end - in.begin,
              .nb = (out.end - out.begin) * conv_halves(m->layer), .f = at.end - at.begin);
}

/* Adds the vertices of one tile, one for each group that its part of the output belongs to. */
static void multiply_on(const struct gemm *m, uint32_t cs, struct tensor y, uint32_t i, uint32_t f,
                        uint32_t o, int accumulate)
{
    struct nn_range in = conv_in_blocks(&m->weights, i), all = o_range(m, o);
    uint32_t tile = tile_of(m, i, f, o), unit = m->out / m->layer->groups;
    struct tensor weights = conv_weights_on(&m->weights, i, o, f, tile);
    uint32_t block = (uint32_t)ss_tensor_elements(m->nn->g, weights) / nn_size(all), stop;

    for (uint32_t b = all.begin; b < all.end; b = stop) {
        uint32_t group = b / unit, first = group * m->each;

        stop = (group + 1) * unit < all.end ? (group + 1) * unit : all.end;
        multiply_group(m, cs, y, tile, (struct nn_range){ first + in.begin, first + in.end },
                       (struct nn_range){ b, stop }, f_range(m, f),
                       ss_tensor_slice(m->nn->g, weights, 0, (b - all.begin) * block,
                                       (stop - all.begin) * block),
                       accumulate);
    }
}

/* Multiplies on all tiles, into out [cut_in][out][positions][16]. */
static void multiply(const struct gemm *m, struct tensor out, int accumulate)
{
    const struct conv_plan *p = m->plan;
    uint32_t cs = op_compute_set(m->nn->g, m->nn->seq, "multiply");

    for (uint32_t i = 0; i < p->cut_in; i++) {
        for (uint32_t f = 0; f < p->cut_h; f++) {
            for (uint32_t o = 0; o < p->cut_out; o++)
                multiply_on(m, cs, ss_tensor_index(m->nn->g, out, i), i, f, o, accumulate);
        }
    }
}

/* ---- whole sums on a tile ---- */

static void finish_in_place(const struct gemm *m)
{
    struct graph *g = m->nn->g;
    const struct conv_plan *p = m->plan;
    struct conv_finish finish;

    if (conv_finish_begin(m->nn, m->layer, p->cut_h, &finish) != EMU_OK)
        return;
    for (uint32_t f = 0; f < p->cut_h; f++) {
        for (uint32_t o = 0; o < p->cut_out; o++) {
            struct nn_range blocks = o_range(m, o), positions = f_range(m, f);

            conv_finish_add(&finish, f, blocks, tile_of(m, 0, f, o),
                            ss_tensor_flatten(g, part_of(m, m->y, blocks, positions)),
                            positions.end - positions.begin);
        }
    }
}

/* ---- partial sums ---- */

static void add_up(const struct gemm *m, struct tensor partials)
{
    struct graph *g = m->nn->g;
    const struct conv_plan *p = m->plan;
    struct tensor *partial = emu_alloc(p->cut_in, sizeof(*partial));
    uint32_t groups = p->cut_h * p->cut_out;
    struct conv_finish finish;

    if (!partial)
        ss_graph_fail(g, EMU_NO_MEMORY, "partial results");
    if (!partial || conv_finish_begin(m->nn, m->layer, p->cut_in * p->cut_h, &finish) != EMU_OK) {
        ss_free(partial);
        return;
    }
    for (uint32_t k = 0; k < groups; k++) {
        uint32_t f = k / p->cut_out, o = k % p->cut_out;
        struct nn_range blocks = o_range(m, o), at = f_range(m, f);
        struct conv_sum s = { .parts = p->cut_in,
                              .plan = p,
                              .first_part = (k + p->sum_rotation) % groups * p->cut_in,
                              .first_copy = f,
                              .copy_step = p->cut_h,
                              .blocks = blocks,
                              .partial = partial,
                              .y = part_of(m, m->y, blocks, at),
                              .adds = m->layer->add != NULL };

        for (uint32_t i = 0; i < p->cut_in; i++)
            partial[i] = conv_sums_of(g, m->layer, ss_tensor_index(g, partials, i), blocks, at);
        if (s.adds)
            s.add = part_of(m, m->add, blocks, at);
        conv_add_up(&finish, &s);
    }
    ss_free(partial);
}

static struct tensor by_positions(struct graph *g, struct tensor t, uint32_t blocks,
                                  uint32_t positions)
{
    return ss_tensor_reshape(g, t, 3, (const uint32_t[]){ blocks, positions, CHANNEL_BLOCK });
}

void conv_gemm(struct nn *nn, struct activation x, const struct conv_layer *layer,
               const struct conv_plan *plan, struct activation y)
{
    struct graph *g = nn->g;
    struct gemm m = { .nn = nn,
                      .layer = layer,
                      .plan = plan,
                      .positions = y.n * y.h * y.w,
                      .out = channel_blocks(y.c),
                      .each = channel_blocks(x.c / layer->groups) };

    m.weights = (struct conv_weights){
        .nn = nn, .layer = layer, .plan = plan, .channels = x.c / layer->groups
    };
    conv_weights_new(&m.weights, plan->cut_h);
    m.x = by_positions(g, conv_every(g, x.t, layer->stride_h, layer->stride_w), channel_blocks(x.c),
                       m.positions);
    m.y = by_positions(g, y.t, m.out, m.positions);
    if (layer->add)
        m.add = by_positions(g, layer->add->t, m.out, m.positions);
    if (plan->cut_in == 1 && layer->partials == PARTIALS_F16) {
        uint32_t shape[4] = { 1, m.out, m.positions, CHANNEL_BLOCK };

        /* Products are added to the residual, which is copied first. */
        if (layer->add)
            ss_program_add(g, nn->seq, ss_program_copy(g, layer->add->t, y.t));
        multiply(&m, ss_tensor_reshape(g, m.y, 4, shape), layer->add != NULL);
        finish_in_place(&m);
    } else {
        uint32_t shape[4] = { plan->cut_in, m.out * conv_halves(layer), m.positions,
                              conv_units(layer) };
        struct tensor partials = ss_graph_variable(
            g, layer->partials == PARTIALS_F32 ? ELEM_F32 : ELEM_F16, 4, shape, "partials");

        multiply(&m, partials, 0);
        add_up(&m, partials);
    }
}
