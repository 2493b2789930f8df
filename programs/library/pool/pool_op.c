/* pool_op.c - layers that work on whole channels: their mean, and their product with a value for
 * each channel.
 *
 * For a mean every tile adds up what it has, and stages (plan_sums()) add up these sums; the last
 * stage divides and rounds to f16. */
#include <string.h>

#include "programs/library/layout/tile_blocks.h"
#include "programs/library/layout/tile_choice.h"
#include "programs/library/linear/linear_plan.h"

/* ---- mean ---- */

/* f32 partial sums of 16 channels of a picture, on a tile. */
struct pool_part {
    struct tensor t;
    uint32_t unit; /* block x pictures + picture */
    uint32_t tile;
};

struct pool_parts {
    VEC(struct pool_part);
};

/* Adds up every tile block. The parts are in the order of units, then of tiles. */
static enum emu_status sum_blocks(struct nn *nn, const struct activation *x,
                                  const struct tile_blocks *all, struct pool_parts *out)
{
    uint32_t units = channel_blocks(x->c) * x->n, *first = emu_alloc(units + 1, sizeof(*first)),
             at = 0;
    struct tensor sum;

    if (!first)
        return FAIL(NO_MEMORY, "%u sums", units);
    tile_blocks_sum(nn, x, all, &sum, NULL);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct tile_block *f = &all->list.at[i];

        for (uint32_t b = 0; b < f->blocks; b++)
            first[(f->block + b) * x->n + f->n + 1]++;
        out->count += f->blocks;
    }
    for (uint32_t u = 0; u < units; u++)
        first[u + 1] += first[u];
    out->at = emu_alloc(out->count + 1, sizeof(*out->at));
    for (size_t i = 0; out->at && i < all->list.count; i++) {
        const struct tile_block *f = &all->list.at[i];

        for (uint32_t b = 0; b < f->blocks; b++, at += CHANNEL_BLOCK) {
            uint32_t unit = (f->block + b) * x->n + f->n;

            out->at[first[unit]++] =
                (struct pool_part){ ss_tensor_slice(nn->g, sum, 0, at, at + CHANNEL_BLOCK), unit,
                                    tile_block_tile(all, f) };
        }
    }
    ss_free(first);
    return out->at ? ss_graph_status(nn->g) : FAIL(NO_MEMORY, "sums");
}

/* The most parts that a unit has. */
static uint32_t most_parts(const struct pool_parts *p)
{
    uint32_t most = 0, now = 0;

    for (size_t i = 0; i < p->count; i++) {
        now = i && p->at[i].unit == p->at[i - 1].unit ? now + 1 : 1;
        most = now > most ? now : most;
    }
    return most;
}

/* Some columns of parts [0, parts), part by part. */
static struct tensor columns_of(struct nn *nn, const struct pool_part *p, uint32_t parts,
                                struct nn_range columns)
{
    struct tensor *t = emu_alloc(parts, sizeof(*t)), all = nn->zeros;

    if (!t) {
        ss_graph_fail(nn->g, EMU_NO_MEMORY, "%u sums", parts);
        return all;
    }
    for (uint32_t i = 0; i < parts; i++)
        t[i] = ss_tensor_slice(nn->g, p[i].t, 0, columns.begin, columns.end);
    all = ss_tensor_concat(nn->g, t, parts, 0);
    ss_free(t);
    return all;
}

/* The end of the group of parts that begins with part i: at most fan_in parts of one unit. */
static size_t group_end(const struct pool_parts *p, size_t i, uint32_t fan_in)
{
    size_t end = i + 1;

    while (end < p->count && end < i + fan_in && p->at[end].unit == p->at[i].unit)
        end++;
    return end;
}

/* Adds a stage that is not the last one: each group of up to fan_in parts becomes one part; the
 * members of a group share its columns. */
static enum emu_status add_groups(struct nn *nn, struct pool_parts *p, uint32_t fan_in,
                                  uint32_t columns, const char *name)
{
    struct graph *g = nn->g;
    uint32_t shape[2] = { 0, CHANNEL_BLOCK }, cs = op_compute_set(g, nn->seq, name);
    struct pool_parts next = { 0 };
    enum emu_status s = EMU_OK;
    struct tensor sums;

    for (size_t i = 0; i < p->count; i = group_end(p, i, fan_in))
        shape[0]++;
    sums = ss_graph_variable(g, ELEM_F32, 2, shape, name);
    for (size_t i = 0, k; i < p->count && s == EMU_OK; i = k) {
        struct tensor out = ss_tensor_index(g, sums, (uint32_t)next.count);

        k = group_end(p, i, fan_in);
        for (uint32_t c = 0, tile; c < CHANNEL_BLOCK; c += columns) {
            struct tensor part = ss_tensor_slice(g, out, 0, c, c + columns);
            uint32_t parts = (uint32_t)(k - i);

            tile = p->at[i + c / columns % parts].tile;
            ss_graph_map(g, part, tile);
            VERTEX(reduce_sum_f32_f32, g, cs, tile,
                   .partials =
                       columns_of(nn, &p->at[i], parts, (struct nn_range){ c, c + columns }),
                   .out = part, .p = parts);
        }
        s = VEC_PUSH(&next, (struct pool_part){ out, p->at[i].unit, p->at[i].tile });
    }
    VEC_FREE(p);
    *p = next;
    return s;
}

/* A unit; its parts are on the tiles with its mark. */
struct pool_unit {
    const uint32_t *mark; /* by tile */
    uint32_t unit;
};

static int has_part(const void *ctx, uint32_t tile)
{
    const struct pool_unit *u = ctx;

    return u->mark[tile] == u->unit + 1;
}

/* Adds the last stage for parts [0, parts) of a unit. */
static void add_mean(struct nn *nn, uint32_t cs, const struct pool_part *p, uint32_t parts,
                     struct nn_range columns, struct tensor out, float scale, uint32_t tile)
{
    ss_graph_map(nn->g, out, tile);
    VERTEX(sum_scale_f16, nn->g, cs, tile, .partials = columns_of(nn, p, parts, columns),
           .scale = scale, .out = out, .p = parts);
}

/* Adds the last stage: the means of all channels, on tiles that have no part of them. */
static enum emu_status add_means(struct nn *nn, const struct pool_parts *p, uint32_t columns,
                                 struct activation *y, float scale)
{
    struct graph *g = nn->g;
    uint32_t units = channel_blocks(y->c) * y->n, tiles = ss_graph_compute_tiles(g);
    uint32_t cs = op_compute_set(g, nn->seq, "mean"), *mark = emu_alloc(tiles, sizeof(*mark));
    struct tensor out = ss_tensor_reshape(g, y->t, 2, (const uint32_t[]){ units, CHANNEL_BLOCK });
    struct tile_choice choice = { 0 };
    enum emu_status s = tile_choice_new(nn, units * (CHANNEL_BLOCK / columns), &choice);

    if (s == EMU_OK && !mark)
        s = FAIL(NO_MEMORY, "%u tiles", tiles);
    for (size_t i = 0, k; i < p->count && s == EMU_OK; i = k) {
        struct pool_unit unit = { mark, p->at[i].unit };
        struct tensor of = ss_tensor_index(g, out, unit.unit);

        for (k = i; k < p->count && p->at[k].unit == unit.unit; k++)
            mark[p->at[k].tile] = unit.unit + 1;
        for (uint32_t c = 0; c < CHANNEL_BLOCK; c += columns)
            add_mean(nn, cs, &p->at[i], (uint32_t)(k - i), (struct nn_range){ c, c + columns },
                     ss_tensor_slice(g, of, 0, c, c + columns), scale,
                     tile_choice_take(&choice, has_part, &unit));
    }
    tile_choice_free(&choice);
    ss_free(mark);
    return s;
}

/* Notes in nn which blocks of x lie on which tile (nn->pooled). */
static enum emu_status remember(struct nn *nn, const struct activation *x,
                                const struct tile_blocks *all)
{
    uint32_t tiles = ss_graph_arch(nn->g)->tiles;

    ss_free(nn->pooled);
    nn->pooled_c = x->c;
    nn->pooled = emu_alloc(tiles, sizeof(*nn->pooled));
    if (!nn->pooled)
        return FAIL(NO_MEMORY, "%u tiles", tiles);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct tile_block *f = &all->list.at[i];
        struct nn_range *r = &nn->pooled[tile_block_tile(all, f)];
        uint32_t end = f->block + f->blocks;

        r->begin = r->end && r->begin < f->block ? r->begin : f->block;
        r->end = r->end > end ? r->end : end;
    }
    return EMU_OK;
}

static enum emu_status pool(struct nn *nn, struct activation *x, struct pool_parts *parts,
                            struct activation *y)
{
    struct sums_plan plan;
    struct tile_blocks all;
    enum emu_status s = tile_blocks_of(nn, x, &all);

    if (s == EMU_OK)
        s = sum_blocks(nn, x, &all, parts);
    if (s == EMU_OK)
        s = remember(nn, x, &all);
    tile_blocks_free(&all);
    TRY(s);
    plan_sums(ss_graph_arch(nn->g), most_parts(parts), channel_blocks(x->c) * x->n, &plan);
    for (unsigned i = 0; i + 1 < plan.stages; i++) {
        char name[16];

        snprintf(name, sizeof(name), "stage%u", i);
        TRY(add_groups(nn, parts, plan.fan_in[i], plan.columns[i], name));
    }
    TRY(add_means(nn, parts, plan.columns[plan.stages - 1], y, 1.0f / (float)(x->h * x->w)));
    return ss_graph_status(nn->g);
}

struct activation ss_op_global_pool(struct nn *nn, struct activation x, const char *name)
{
    struct pool_parts parts = { 0 };
    struct activation y = x;
    enum emu_status s;

    if (ss_graph_status(nn_graph(nn)) != EMU_OK)
        return x;
    ss_graph_push(nn->g, name);
    y = nn_activation(nn, x.n, x.c, 1, 1, "out");
    s = pool(nn, &x, &parts, &y);
    if (s != EMU_OK)
        ss_graph_fail(nn->g, s, "%s: %s", name, ss_error());
    ss_graph_pop(nn->g);
    VEC_FREE(&parts);
    return y;
}

/* ---- product with a value per channel ---- */

struct activation ss_op_channel_scale(struct nn *nn, struct activation x, struct activation s,
                                      const char *name)
{
    struct graph *g = nn_graph(nn);
    struct tile_blocks all;
    enum emu_status st;
    uint32_t cs;

    if (ss_graph_status(g) != EMU_OK)
        return x;
    st = tile_blocks_of(nn, &x, &all);
    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return x;
    }
    ss_graph_push(g, name);
    cs = op_compute_set(g, nn->seq, "multiply");
    for (size_t i = 0; i < all.list.count; i++) {
        const struct tile_block *f = &all.list.at[i];
        VERTEX(scale_f16, g, cs, tile_block_tile(&all, f), .x = tile_block_take(g, &all, f, x.t),
               .scale = tile_block_channels(g, f, s.t), .blocks = f->blocks, .f = f->f);
    }
    ss_graph_pop(g);
    tile_blocks_free(&all);
    return x;
}
