/* norm_train_op.c - batch and group norm with the statistics of the data, and their gradients.
 *
 * Every tile adds up what it has of each channel; sums of all tiles follow, and, of group norm, of
 * the channels of a group. What becomes of them is a list with a number for each column: a channel,
 * of group norm a channel of a picture. A column block, 16 of them, is computed on one tile, and
 * fetched by the tiles that have some of its channels. Forward, sums of four strided groups need no
 * sums by channel (norm_sums.h), and every tile makes scale and shift of its channels itself. */
#include <string.h>

#include "programs/library/norm/norm_sums.h"
#include "programs/library/ops_gradient.h"
#include "programs/library/reduce/reduce_partials.h"

/* A norm under construction. */
struct norm_train_build {
    struct nn *nn;
    struct graph *g;
    const struct norm_layer *layer;
    struct activation x;
    uint32_t padded, columns; /* channels in whole blocks; of all that has its own statistics */
    struct tile_blocks all;   /* of x */
    uint32_t *tile;           /* owned; by column block */
};

static uint32_t items_of(const struct norm_train_build *m)
{
    return m->layer->groups ? m->x.n : 1;
}

/* How many numbers share statistics. */
static float shared(const struct norm_train_build *m)
{
    float positions = (float)m->x.h * (float)m->x.w;

    return m->layer->groups ? positions * (float)(m->x.c / m->layer->groups)
                            : positions * (float)m->x.n;
}

/* ---- lists ---- */

/* A new list, column blocks on their tiles; each: numbers of a column. */
static struct tensor new_list(const struct norm_train_build *m, enum elem e, uint32_t each,
                              const char *name)
{
    uint32_t n = m->columns * each, block = CHANNEL_BLOCK * each;
    struct tensor t = ss_graph_variable(m->g, e, 1, &n, name);

    for (uint32_t k = 0; k < m->columns / CHANNEL_BLOCK; k++)
        ss_graph_map(m->g, ss_tensor_slice(m->g, t, 0, k * block, (k + 1) * block), m->tile[k]);
    return t;
}

/* Column block k of a list. */
static struct tensor block_of(const struct norm_train_build *m, struct tensor list, uint32_t k)
{
    uint32_t each = (uint32_t)(ss_tensor_elements(m->g, list) / m->columns);

    return ss_tensor_slice(m->g, list, 0, k * CHANNEL_BLOCK * each, (k + 1) * CHANNEL_BLOCK * each);
}

/* The numbers of a tile block's channels. */
static struct tensor channels_of(const struct norm_train_build *m, const struct tile_block *b,
                                 struct tensor list)
{
    uint32_t each = (uint32_t)(ss_tensor_elements(m->g, list) / m->columns);
    uint32_t at = (m->layer->groups ? b->n * m->padded : 0) + b->block * CHANNEL_BLOCK;

    return ss_tensor_slice(m->g, list, 0, at * each, (at + b->blocks * CHANNEL_BLOCK) * each);
}

/* Puts every column block on the tile where the first of its numbers lies. */
static enum emu_status place_blocks(struct norm_train_build *m, struct tensor list)
{
    struct tile_parts parts;
    enum emu_status s;

    m->tile = emu_alloc(m->columns / CHANNEL_BLOCK, sizeof(*m->tile));
    if (!m->tile)
        return FAIL(NO_MEMORY, "%u columns", m->columns);
    s = tile_parts_of(m->g, list, &parts);
    for (size_t i = 0; s == EMU_OK && i < parts.count; i++) {
        const struct tile_part *p = &parts.at[i];

        for (uint32_t k = 0; k < p->runs; k++) {
            const struct tile_run *r = &parts.run[p->first + k];

            for (uint64_t b = channel_blocks((uint32_t)r->begin); b * CHANNEL_BLOCK < r->end; b++)
                m->tile[b] = p->tile;
        }
    }
    tile_parts_free(&parts);
    return s;
}

/* ---- sums ---- */

/* Sums of tile blocks added up over tiles: two lists. */
static enum emu_status add_up(struct norm_train_build *m, const struct tensor of_blocks[2],
                              struct tensor list[2])
{
    size_t count = 2 * m->all.list.count, n = 0;
    struct reduce_partial *partial = emu_alloc(count + 1, sizeof(*partial));
    struct tensor both;

    if (!partial)
        return FAIL(NO_MEMORY, "sums of %zu tile blocks", count);
    for (unsigned k = 0; k < 2; k++) {
        uint32_t at = 0;

        for (size_t i = 0; i < m->all.list.count; i++, n++) {
            const struct tile_block *b = &m->all.list.at[i];
            uint32_t size = b->blocks * CHANNEL_BLOCK;
            uint32_t column = (m->layer->groups ? b->n * m->padded : 0) + b->block * CHANNEL_BLOCK;

            partial[n] =
                (struct reduce_partial){ ss_tensor_slice(m->g, of_blocks[k], 0, at, at + size),
                                         k * m->columns + column, k * m->columns + column + size, n,
                                         tile_block_tile(&m->all, b) };
            at += size;
        }
    }
    both = reduce_partials(m->g, m->nn->seq, REDUCE_SUM, partial, count, "sums");
    ss_free(partial);
    for (unsigned k = 0; k < 2; k++)
        list[k] = ss_tensor_slice(m->g, both, 0, k * m->columns, (k + 1) * m->columns);
    return ss_graph_status(m->g);
}

/* A list [n][padded] with channels by group, [n groups][channels of a group]; padding apart. */
static struct tensor by_group(const struct norm_train_build *m, struct tensor list)
{
    uint32_t groups = m->layer->groups, each = m->x.c / groups;

    list = ss_tensor_reshape(m->g, list, 2, (const uint32_t[]){ m->x.n, m->padded });
    list = ss_tensor_slice(m->g, list, 1, 0, m->x.c);
    if (!m->layer->strided)
        return ss_tensor_reshape(m->g, list, 2, (const uint32_t[]){ m->x.n * groups, each });
    list = ss_tensor_reshape(m->g, list, 3, (const uint32_t[]){ m->x.n, each, groups });
    list = ss_tensor_transpose(m->g, list, (const unsigned[]){ 0, 2, 1 });
    return ss_tensor_reshape(m->g, list, 2, (const uint32_t[]){ m->x.n * groups, each });
}

/* Numbers of groups [n groups] as a list; padding as in `list`. */
static struct tensor spread(const struct norm_train_build *m, struct tensor of_groups,
                            struct tensor list)
{
    uint32_t groups = m->layer->groups, each = m->x.c / groups, n = m->x.n;
    struct tensor part[2];

    of_groups = ss_tensor_reshape(m->g, of_groups, 2, (const uint32_t[]){ n * groups, 1 });
    of_groups = ss_tensor_broadcast(m->g, of_groups, 1, each);
    of_groups = ss_tensor_reshape(m->g, of_groups, 3, (const uint32_t[]){ n, groups, each });
    if (m->layer->strided)
        of_groups = ss_tensor_transpose(m->g, of_groups, (const unsigned[]){ 0, 2, 1 });
    part[0] = ss_tensor_reshape(m->g, of_groups, 2, (const uint32_t[]){ n, m->x.c });
    if (m->padded > m->x.c) {
        part[1] = ss_tensor_reshape(m->g, list, 2, (const uint32_t[]){ n, m->padded });
        part[1] = ss_tensor_slice(m->g, part[1], 1, m->x.c, m->padded);
        part[0] = ss_tensor_concat(m->g, part, 2, 1);
    }
    return ss_tensor_flatten(m->g, part[0]);
}

/* Each number of two lists becomes the sum over its group; of batch norm nothing changes. */
static void add_groups(const struct norm_train_build *m, struct tensor list[2])
{
    struct tensor both[2], sums;
    uint32_t rows = m->x.n * m->layer->groups;

    if (!m->layer->groups)
        return;
    for (unsigned k = 0; k < 2; k++)
        both[k] = by_group(m, list[k]);
    sums = ss_op_row_reduce(m->g, m->nn->seq, ROW_OP_SUM, ss_tensor_concat(m->g, both, 2, 0),
                            ELEM_F32, "groups");
    for (unsigned k = 0; k < 2; k++)
        list[k] = spread(m, ss_tensor_slice(m->g, sums, 0, k * rows, (k + 1) * rows), list[k]);
}

/* ---- forward ---- */

static void add_statistics(const struct norm_train_build *m, const struct tensor sum[2],
                           struct norm_statistics *out, struct tensor *scale, struct tensor *shift)
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "statistics");

    out->mean = new_list(m, ELEM_F32, 1, "mean");
    out->variance = new_list(m, ELEM_F32, 1, "variance");
    out->rstd = new_list(m, ELEM_F32, 1, "rstd");
    *scale = new_list(m, ELEM_F16, 1, "scale");
    *shift = new_list(m, ELEM_F16, 1, "shift");
    for (uint32_t k = 0; k < m->columns / CHANNEL_BLOCK; k++)
        VERTEX(norm_train_f32, m->g, cs, m->tile[k], .sum = block_of(m, sum[0], k),
               .squares = block_of(m, sum[1], k), .gamma = block_of(m, m->layer->gamma, k),
               .beta = block_of(m, m->layer->beta, k), .mean = block_of(m, out->mean, k),
               .variance = block_of(m, out->variance, k), .rstd = block_of(m, out->rstd, k),
               .scale = block_of(m, *scale, k), .shift = block_of(m, *shift, k),
               .inverse = 1.0f / shared(m), .eps = m->layer->eps);
}

static const struct act_kernels affine = ACT_KERNELS_3(affine, f16);

/* Running statistics move in the compute set that applies the others. */
static void add_running(const struct norm_train_build *m, uint32_t cs,
                        const struct norm_statistics *now, struct norm_running *r)
{
    const struct tensor from[] = { r->mean, r->variance }, to[] = { now->mean, now->variance };

    r->mean = new_list(m, ELEM_F32, 1, "running mean");
    r->variance = new_list(m, ELEM_F32, 1, "running variance");
    for (uint32_t k = 0; k < m->columns / CHANNEL_BLOCK; k++) {
        for (unsigned i = 0; i < 2; i++)
            VERTEX(lerp_f32, m->g, cs, m->tile[k], .a = block_of(m, from[i], k),
                   .b = block_of(m, to[i], k), .out = block_of(m, i ? r->variance : r->mean, k),
                   .t = r->rate);
    }
}

/* act(x scale + shift), with the numbers of all channels of a tile block. */
static void apply_block(const struct norm_train_build *m, uint32_t cs, enum activation_function act,
                        const struct tile_block *b, struct tensor y, struct tensor scale,
                        struct tensor shift)
{
    VERTEX_OF(affine, nn_codelet(m->g, &affine, act), m->g, cs, tile_block_tile(&m->all, b),
              .x = tile_block_take(m->g, &m->all, b, m->x.t),
              .y = tile_block_take(m->g, &m->all, b, y), .scale = scale, .shift = shift,
              .blocks = b->blocks, .f = b->f);
}

static struct activation result_of(const struct norm_train_build *m, const char *name)
{
    struct activation y = nn_activation(m->nn, m->x.n, m->x.c, m->x.h, m->x.w, name);

    ss_graph_map_like(m->g, y.t, m->x.t);
    return y;
}

static enum emu_status forward(struct norm_train_build *m, enum activation_function act,
                               struct activation *y, struct norm_statistics *out,
                               struct norm_running *running)
{
    struct tensor of_blocks[2], sum[2], scale, shift;
    uint32_t cs;

    tile_blocks_sum(m->nn, &m->x, &m->all, &of_blocks[0], &of_blocks[1]);
    TRY(add_up(m, of_blocks, sum));
    TRY(place_blocks(m, sum[0]));
    add_groups(m, sum);
    add_statistics(m, sum, out, &scale, &shift);
    *y = result_of(m, "out");
    cs = op_compute_set(m->g, m->nn->seq, "apply");
    for (size_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *b = &m->all.list.at[i];

        apply_block(m, cs, act, b, y->t, channels_of(m, b, scale), channels_of(m, b, shift));
    }
    if (running)
        add_running(m, cs, out, running);
    return ss_graph_status(m->g);
}

/* ---- forward, four strided groups ---- */

/* Numbers of the channels of all tile blocks, in order, each on the tile of its block: scale,
 * shift, mean and 1 over the deviation. */
enum { SCALE, SHIFT, MEAN, RSTD, LISTS };

/* Gamma or beta of the channels of a unit. */
static struct tensor unit_channels(const struct norm_train_build *m, const struct norm_unit *u,
                                   struct tensor list)
{
    struct tensor *part = emu_alloc(u->count, sizeof(*part)), all = list;

    if (!part) {
        ss_graph_fail(m->g, EMU_NO_MEMORY, "parameters of a norm");
        return all;
    }
    for (uint32_t i = 0; i < u->count; i++)
        part[i] = channels_of(m, &m->all.list.at[u->first + i], list);
    all = ss_tensor_concat(m->g, part, u->count, 0);
    ss_free(part);
    return all;
}

/* Adds the vertices of a unit, whose channels are [at, returned number) of the lists: in `make`
 * scale and shift, which are used in `use`. */
static uint32_t add_unit(const struct norm_train_build *m, const struct norm_sums *sums,
                         const struct norm_unit *u, const uint32_t cs[2],
                         enum activation_function act, struct tensor y, uint32_t at,
                         const struct tensor list[LISTS])
{
    const struct norm_part *p = norm_sums_of(sums, u);
    uint32_t own = norm_parts_own(p, sums->parts, u->tile), end = at;
    struct tensor t[LISTS];

    own = own < sums->parts ? own : 0;
    for (uint32_t i = u->first; i < u->first + u->count; i++) {
        const struct tile_block *b = &m->all.list.at[i];
        uint32_t next = end + b->blocks * CHANNEL_BLOCK;

        apply_block(m, cs[1], act, b, y, ss_tensor_slice(m->g, list[SCALE], 0, end, next),
                    ss_tensor_slice(m->g, list[SHIFT], 0, end, next));
        end = next;
    }
    for (unsigned k = 0; k < LISTS; k++) {
        t[k] = ss_tensor_slice(m->g, list[k], 0, at, end);
        ss_graph_map(m->g, t[k], u->tile);
    }
    VERTEX(norm_train4_f16, m->g, cs[0], u->tile, .own = p[own].sums,
           .totals = norm_parts_without(sums, p, sums->parts, own),
           .gamma = unit_channels(m, u, m->layer->gamma),
           .beta = unit_channels(m, u, m->layer->beta), .scale = t[SCALE], .shift = t[SHIFT],
           .mean = t[MEAN], .rstd = t[RSTD], .inverse = norm_sums_inverse(sums),
           .eps = m->layer->eps, .before = own, .p = sums->parts - 1 - own);
    return end;
}

/* Where the numbers of each column block are in a list of all tile blocks: of a tile that has them,
 * a different one for each as long as there are such. */
static enum emu_status find_columns(const struct norm_train_build *m, uint32_t *from)
{
    uint32_t blocks = m->columns / CHANNEL_BLOCK, tiles = ss_graph_arch(m->g)->tiles;
    uint8_t *taken = emu_alloc(tiles, 1);

    if (!taken)
        return FAIL(NO_MEMORY, "%u tiles", tiles);
    for (uint32_t k = 0; k < blocks; k++)
        from[k] = UINT32_MAX;
    for (int again = 0; again < 2; again++) {
        uint32_t at = 0;

        for (size_t i = 0; i < m->all.list.count; i++) {
            const struct tile_block *b = &m->all.list.at[i];
            uint32_t first = b->n * m->padded / CHANNEL_BLOCK + b->block;
            uint32_t tile = tile_block_tile(&m->all, b);

            for (uint32_t k = first; k < first + b->blocks; k++, at += CHANNEL_BLOCK) {
                if (from[k] != UINT32_MAX || (taken[tile] && !again))
                    continue;
                from[k] = at;
                taken[tile] = 1;
            }
        }
    }
    ss_free(taken);
    return EMU_OK;
}

/* A list by columns, as a view. */
static struct tensor by_columns(const struct norm_train_build *m, const uint32_t *from,
                                struct tensor list)
{
    uint32_t blocks = m->columns / CHANNEL_BLOCK;
    struct tensor *part = emu_alloc(blocks, sizeof(*part)), all = list;

    if (!part) {
        ss_graph_fail(m->g, EMU_NO_MEMORY, "%u columns", m->columns);
        return all;
    }
    for (uint32_t k = 0; k < blocks; k++)
        part[k] = ss_tensor_slice(m->g, list, 0, from[k], from[k] + CHANNEL_BLOCK);
    all = ss_tensor_concat(m->g, part, blocks, 0);
    ss_free(part);
    return all;
}

static enum emu_status apply_four(const struct norm_train_build *m, const struct norm_sums *sums,
                                  enum activation_function act, struct tensor y,
                                  struct norm_statistics *out)
{
    static const char *const name[LISTS] = { "scale", "shift", "mean", "rstd" };
    uint32_t cs[2], n = 0, at = 0, *from = emu_alloc(m->columns, sizeof(*from));
    struct tensor list[LISTS];
    enum emu_status s;

    if (!from)
        return FAIL(NO_MEMORY, "%u columns", m->columns);
    for (size_t i = 0; i < m->all.list.count; i++)
        n += m->all.list.at[i].blocks * CHANNEL_BLOCK;
    for (unsigned k = 0; k < LISTS; k++)
        list[k] = ss_graph_variable(m->g, k < MEAN ? ELEM_F16 : ELEM_F32, 1, &n, name[k]);
    cs[0] = op_compute_set(m->g, m->nn->seq, "params");
    cs[1] = op_compute_set(m->g, m->nn->seq, "apply");
    for (size_t i = 0; i < sums->unit.count; i++)
        at = add_unit(m, sums, &sums->unit.at[i], cs, act, y, at, list);
    s = find_columns(m, from);
    if (s == EMU_OK) {
        out->mean = by_columns(m, from, list[MEAN]);
        out->rstd = by_columns(m, from, list[RSTD]);
        out->variance = out->rstd;
    }
    ss_free(from);
    return s == EMU_OK ? ss_graph_status(m->g) : s;
}

static enum emu_status forward_four(struct norm_train_build *m, enum activation_function act,
                                    struct activation *y, struct norm_statistics *out)
{
    struct norm_sums sums;
    enum emu_status s = norm_sums_make(m->nn, &m->x, &m->all, m->layer->groups, 1, &sums);

    if (s == EMU_OK) {
        *y = result_of(m, "out");
        s = apply_four(m, &sums, act, y->t, out);
    }
    norm_sums_free(&sums);
    return s;
}

/* ---- backward ---- */

/* Of every tile block the sums of dy, and of dy times x. */
static void dots(const struct norm_train_build *m, struct tensor dy, struct tensor out[2])
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "dots"), n = 0, at = 0;

    for (size_t i = 0; i < m->all.list.count; i++)
        n += m->all.list.at[i].blocks * CHANNEL_BLOCK;
    out[0] = ss_graph_variable(m->g, ELEM_F32, 1, &n, "sums");
    out[1] = ss_graph_variable(m->g, ELEM_F32, 1, &n, "dots");
    for (size_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *b = &m->all.list.at[i];
        uint32_t tile = tile_block_tile(&m->all, b), end = at + b->blocks * CHANNEL_BLOCK;
        struct tensor own[2];

        for (unsigned k = 0; k < 2; k++) {
            own[k] = ss_tensor_slice(m->g, out[k], 0, at, end);
            ss_graph_map(m->g, own[k], tile);
        }
        VERTEX(dot_columns_f16, m->g, cs, tile, .x = tile_block_take(m->g, &m->all, b, dy),
               .y = tile_block_take(m->g, &m->all, b, m->x.t), .sum = own[0], .dot = own[1],
               .blocks = b->blocks, .f = b->f);
        at = end;
    }
}

/* What becomes of these sums: the gradient of scale, and in place of the sums those times scale. */
static struct tensor add_slopes(const struct norm_train_build *m, const struct norm_statistics *s,
                                struct tensor sum[2])
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "slopes");
    struct tensor slope = new_list(m, ELEM_F32, 1, "slope"), sum_g, dot_g;

    sum_g = new_list(m, ELEM_F32, 1, "sum");
    dot_g = new_list(m, ELEM_F32, 1, "dot");
    for (uint32_t k = 0; k < m->columns / CHANNEL_BLOCK; k++)
        VERTEX(norm_back_sums_f32, m->g, cs, m->tile[k], .sum = block_of(m, sum[0], k),
               .dot = block_of(m, sum[1], k), .mean = block_of(m, s->mean, k),
               .rstd = block_of(m, s->rstd, k), .gamma = block_of(m, m->layer->gamma, k),
               .slope = block_of(m, slope, k), .sum_g = block_of(m, sum_g, k),
               .dot_g = block_of(m, dot_g, k));
    sum[0] = sum_g;
    sum[1] = dot_g;
    return slope;
}

static struct tensor add_factors(const struct norm_train_build *m, const struct norm_statistics *s,
                                 const struct tensor sum[2])
{
    uint32_t cs = op_compute_set(m->g, m->nn->seq, "factors");
    struct tensor factors = new_list(m, ELEM_F32, 3, "factors");

    for (uint32_t k = 0; k < m->columns / CHANNEL_BLOCK; k++)
        VERTEX(norm_back_factors_f32, m->g, cs, m->tile[k], .sum_g = block_of(m, sum[0], k),
               .dot_g = block_of(m, sum[1], k), .mean = block_of(m, s->mean, k),
               .rstd = block_of(m, s->rstd, k), .gamma = block_of(m, m->layer->gamma, k),
               .factors = block_of(m, factors, k), .minus = -1.0f / shared(m));
    return factors;
}

static enum emu_status backward(struct norm_train_build *m, struct activation dy,
                                const struct norm_statistics *s, struct norm_gradients *out)
{
    struct tensor of_blocks[2], sum[2], factors;
    uint32_t cs;

    TRY(place_blocks(m, s->mean));
    dots(m, dy.t, of_blocks);
    TRY(add_up(m, of_blocks, sum));
    out->beta = sum[0];
    out->gamma = add_slopes(m, s, sum);
    add_groups(m, sum);
    factors = add_factors(m, s, sum);
    out->x = result_of(m, "gradient");
    cs = op_compute_set(m->g, m->nn->seq, "apply");
    for (size_t i = 0; i < m->all.list.count; i++) {
        const struct tile_block *b = &m->all.list.at[i];

        VERTEX(norm_back_f16, m->g, cs, tile_block_tile(&m->all, b),
               .x = tile_block_take(m->g, &m->all, b, m->x.t),
               .dy = tile_block_take(m->g, &m->all, b, dy.t),
               .out = tile_block_take(m->g, &m->all, b, out->x.t),
               .factors = channels_of(m, b, factors), .blocks = b->blocks, .f = b->f);
    }
    return ss_graph_status(m->g);
}

/* ---- layers ---- */

static enum emu_status check(const struct norm_train_build *m)
{
    TRY(ss_graph_status(m->g));
    if (m->layer->groups && m->x.c % m->layer->groups)
        return FAIL(USAGE, "a group norm of %u channels in %u groups: expected equal groups",
                    m->x.c, m->layer->groups);
    if (ss_tensor_elements(m->g, m->layer->gamma) != m->columns)
        return FAIL(USAGE, "a norm with %llu factors: expected one for each of %u columns",
                    (unsigned long long)ss_tensor_elements(m->g, m->layer->gamma), m->columns);
    return EMU_OK;
}

static enum emu_status norm_open(struct norm_train_build *m, struct nn *nn, struct activation x,
                                 const struct norm_layer *layer, const char *name)
{
    *m = (struct norm_train_build){ .nn = nn, .g = nn->g, .layer = layer, .x = x };
    ss_graph_push(nn->g, name);
    m->padded = channel_blocks(x.c) * CHANNEL_BLOCK;
    m->columns = items_of(m) * m->padded;
    TRY(check(m));
    return tile_blocks_of(nn, &m->x, &m->all);
}

static void norm_close(struct norm_train_build *m, enum emu_status s, const char *name)
{
    if (s != EMU_OK)
        ss_graph_fail(m->g, s, "%s: %s", name, ss_error());
    ss_graph_pop(m->g);
    tile_blocks_free(&m->all);
    ss_free(m->tile);
}

struct activation ss_op_norm_train(struct nn *nn, struct activation x,
                                   const struct norm_layer *layer, enum activation_function act,
                                   struct norm_running *running, struct norm_statistics *out,
                                   const char *name)
{
    struct norm_train_build m;
    struct activation y = x;
    enum emu_status s;

    *out = (struct norm_statistics){ op_nothing(), op_nothing(), op_nothing() };
    if (ss_graph_status(nn_graph(nn)) != EMU_OK)
        return x;
    s = norm_open(&m, nn, x, layer, name);
    if (s == EMU_OK && layer->strided && layer->groups == 4 && !running)
        s = forward_four(&m, act, &y, out);
    else if (s == EMU_OK)
        s = forward(&m, act, &y, out, running);
    norm_close(&m, s, name);
    return y;
}

struct norm_gradients ss_op_norm_gradient(struct nn *nn, struct activation x, struct activation dy,
                                          const struct norm_layer *layer,
                                          const struct norm_statistics *statistics,
                                          const char *name)
{
    struct norm_train_build m;
    struct norm_gradients out = { x, op_nothing(), op_nothing() };
    enum emu_status s;

    if (ss_graph_status(nn_graph(nn)) != EMU_OK)
        return out;
    s = norm_open(&m, nn, x, layer, name);
    if (s == EMU_OK)
        s = backward(&m, dy, statistics, &out);
    norm_close(&m, s, name);
    return out;
}
