/* tile_blocks.c - cuts the parts of an activation where blocks of channels and pictures begin. */
#include "programs/library/layout/tile_blocks.h"

#include <string.h>

/* Adds a tile block; joins it to the one before if that continues it with one more block of
 * channels. */
static enum emu_status add_block(struct tile_blocks *out, const struct tile_block *f, int join)
{
    struct tile_block *last = out->list.count ? &out->list.at[out->list.count - 1] : NULL;

    if (join && last && last->part == f->part && last->block + last->blocks == f->block &&
        last->f == f->f) {
        last->blocks++;
        return EMU_OK;
    }
    return VEC_PUSH(&out->list, *f);
}

/* Splits the runs of a part where a block or picture begins. */
static enum emu_status cut_part(const struct activation *x, size_t part, struct tile_blocks *out)
{
    const struct tile_part *s = &out->parts.at[part];
    uint64_t field = (uint64_t)x->h * x->w * CHANNEL_BLOCK, at = 0;
    struct tile_block now = { .part = part };
    uint64_t unit = UINT64_MAX;

    for (uint32_t k = 0; k < s->runs; k++) {
        const struct tile_run *run = &out->parts.run[s->first + k];

        for (uint64_t e = run->begin, stop; e < run->end; e = stop) {
            stop = (e / field + 1) * field < run->end ? (e / field + 1) * field : run->end;
            if (e / field != unit) {
                if (unit != UINT64_MAX)
                    TRY(add_block(out, &now, x->n == 1));
                unit = e / field;
                now = (struct tile_block){ .part = part,
                                           .at = at,
                                           .block = (uint32_t)(unit / x->n),
                                           .blocks = 1,
                                           .n = (uint32_t)(unit % x->n) };
            }
            now.f += (uint32_t)((stop - e) / CHANNEL_BLOCK);
            at += stop - e;
        }
    }
    return unit == UINT64_MAX ? EMU_OK : add_block(out, &now, x->n == 1);
}

/* Whether every tile has all 16 channels of a position. */
static int are_whole(const struct tile_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        for (uint32_t k = 0; k < parts->at[i].runs; k++) {
            const struct tile_run *run = &parts->run[parts->at[i].first + k];

            if (run->begin % CHANNEL_BLOCK || run->end % CHANNEL_BLOCK)
                return 0;
        }
    }
    return 1;
}

/* x with whole positions, dealt out to all tiles. */
static void join(struct nn *nn, struct activation *x)
{
    struct tensor t = ss_graph_variable(nn->g, ELEM_F16, 5, ss_tensor_shape(nn->g, x->t), "joined");

    ss_graph_map_linear(nn->g, t, CHANNEL_BLOCK, 4 * CHANNEL_BLOCK, 0,
                        ss_graph_compute_tiles(nn->g));
    ss_program_add(nn->g, nn->seq, ss_program_copy(nn->g, x->t, t));
    x->t = t;
}

enum emu_status tile_blocks_of(struct nn *nn, struct activation *x, struct tile_blocks *out)
{
    enum emu_status s;

    memset(out, 0, sizeof(*out));
    s = tile_parts_of(nn->g, x->t, &out->parts);
    if (s == EMU_OK && !are_whole(&out->parts)) {
        tile_parts_free(&out->parts);
        join(nn, x);
        s = tile_parts_of(nn->g, x->t, &out->parts);
    }
    for (size_t i = 0; s == EMU_OK && i < out->parts.count; i++)
        s = cut_part(x, i, out);
    return s;
}

void tile_blocks_free(struct tile_blocks *f)
{
    tile_parts_free(&f->parts);
    VEC_FREE(&f->list);
}

struct tensor tile_block_take(struct graph *g, const struct tile_blocks *all,
                              const struct tile_block *f, struct tensor t)
{
    uint32_t n = f->blocks * f->f * CHANNEL_BLOCK;

    return ss_tensor_slice(g, tile_part_take(g, &all->parts, f->part, t), 0, (uint32_t)f->at,
                           (uint32_t)f->at + n);
}

struct tensor tile_block_channels(struct graph *g, const struct tile_block *f, struct tensor t)
{
    const uint32_t *shape = ss_tensor_shape(g, t);
    struct tensor part =
        ss_tensor_reshape(g, t, 3, (const uint32_t[]){ shape[0], shape[1], CHANNEL_BLOCK });

    return ss_tensor_flatten(g,
                             nn_slice(g, part,
                                      (const struct nn_range[]){ { f->block, f->block + f->blocks },
                                                                 { f->n, f->n + 1 },
                                                                 { 0, CHANNEL_BLOCK } }));
}

/* A variable of n elements for each channel of every tile block. */
static struct tensor channel_variable(struct graph *g, const struct tile_blocks *all, uint32_t n,
                                      const char *name)
{
    uint32_t elements = 0;

    for (size_t i = 0; i < all->list.count; i++)
        elements += all->list.at[i].blocks * CHANNEL_BLOCK * n;
    return ss_graph_variable(g, ELEM_F32, 1, &elements, name);
}

/* A part of a variable, mapped to a tile. */
static struct tensor part_on(struct graph *g, struct tensor all, uint32_t begin, uint32_t end,
                             uint32_t tile)
{
    struct tensor t = ss_tensor_slice(g, all, 0, begin, end);

    ss_graph_map(g, t, tile);
    return t;
}

void tile_blocks_sum(struct nn *nn, const struct activation *x, const struct tile_blocks *all,
                     struct tensor *sum, struct tensor *squares)
{
    struct graph *g = nn->g;
    uint32_t workers = ss_graph_arch(g)->workers, at = 0;
    uint32_t cs = op_compute_set(g, nn->seq, "sum");
    struct tensor scratch = channel_variable(g, all, workers, "workers");

    *sum = channel_variable(g, all, 1, "sums");
    if (squares)
        *squares = channel_variable(g, all, 1, "squares");
    for (size_t i = 0; i < all->list.count; i++) {
        const struct tile_block *f = &all->list.at[i];
        uint32_t tile = tile_block_tile(all, f), end = at + f->blocks * CHANNEL_BLOCK;
        struct tensor part = tile_block_take(g, all, f, x->t);
        struct tensor own = part_on(g, *sum, at, end, tile);
        struct tensor sumsq = squares ? part_on(g, *squares, at, end, tile) : own;
        struct tensor work = part_on(g, scratch, at * workers, end * workers, tile);

        if (squares)
            VERTEX(stats_f16, g, cs, tile, .x = part, .sum = own, .sumsq = sumsq, .scratch = work,
                   .blocks = f->blocks, .f = f->f);
        else
            VERTEX(pool_f16, g, cs, tile, .x = part, .sum = own, .scratch = work,
                   .blocks = f->blocks, .f = f->f);
        at = end;
    }
}
