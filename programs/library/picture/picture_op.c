/* picture_op.c - turns pictures as the host sends them, three channels a pixel, into what a first
 * layer reads: normalised f16, four numbers a pixel. */
#include "programs/library/layout/network.h"

enum { CHANNELS = 3, LANES = 4, GROUP = 4 /* pixels of a vertex: multiples of it */ };
enum { GRAIN = 16 /* pixels of a tile: multiples of it */ };

/* Makes the table of channels, one copy for each tile. */
static struct tensor make_tables(struct nn *nn, const struct pixel_format *c, uint32_t tiles)
{
    uint32_t *tile = emu_alloc(tiles, sizeof(*tile));
    struct tensor t = nn->zeros;

    for (uint32_t i = 0; tile && i < tiles; i++)
        tile[i] = i;
    if (tile)
        t = nn_constant(nn, c->table[0], sizeof(c->table) / sizeof(c->table[0][0]), tile, tiles,
                        "table");
    else
        graph_fail(nn->g, EMU_NO_MEMORY, "%u tiles", tiles);
    emu_free(tile);
    return t;
}

static void add_vertices(struct nn *nn, const struct pixel_format *c, struct tensor raw,
                         struct tensor all)
{
    struct graph *g = nn->g;
    uint32_t tiles = graph_compute_tiles(g), cs = op_compute_set(g, nn->seq, "cast");
    struct tensor tables = c->elem == ELEM_U8 ? make_tables(nn, c, tiles) : nn->zeros;
    const struct codelet *floats =
        c->elem == ELEM_F16 ? KERNEL_ROW(pixels_f16) : KERNEL_ROW(pixels_f32);
    struct tile_run *run;
    size_t runs;

    if (graph_tile_runs(g, all, &run, &runs) != EMU_OK)
        return;
    for (size_t i = 0; i < runs; i++) {
        uint32_t begin = (uint32_t)(run[i].begin / LANES), end = (uint32_t)(run[i].end / LANES);
        struct tensor x = tensor_slice(g, raw, 0, begin * CHANNELS, end * CHANNELS);
        struct tensor y = tensor_slice(g, all, 0, begin * LANES, end * LANES);

        graph_map(g, x, run[i].tile);
        if (c->elem == ELEM_U8)
            VERTEX(pixels_u8, g, cs, run[i].tile, .x = x,
                   .table = tensor_index(g, tables, run[i].tile), .y = y);
        else
            VERTEX_OF(pixels, floats, g, cs, run[i].tile, .x = x, .y = y);
    }
    emu_free(run);
}

struct activation op_pixels(struct nn *nn, uint32_t n, uint32_t h, uint32_t w,
                            const struct pixel_format *c, struct tensor *raw, const char *name)
{
    struct graph *g = nn->g;
    uint32_t shape[4] = { n, h, w, LANES }, pixels = n * h * w;
    uint32_t padded = (pixels + GROUP - 1) / GROUP * GROUP, elements = padded * LANES;
    uint32_t bytes = padded * CHANNELS;
    struct activation f = { .n = n, .c = CHANNELS, .h = h, .w = w };
    struct tensor all = graph_variable(g, ELEM_F16, 1, &elements, name);

    graph_map_linear(g, all, GRAIN * LANES, GRAIN * LANES, 0, graph_compute_tiles(g));
    graph_push(g, name);
    *raw = graph_variable(g, c->elem, 1, &bytes, "raw");
    add_vertices(nn, c, *raw, all);
    graph_pop(g);
    f.t = tensor_reshape(g, tensor_slice(g, all, 0, 0, pixels * LANES), 4, shape);
    return f;
}

/* ---- as an activation ---- */

static void fill_zeros(struct nn *nn, struct tensor t)
{
    uint32_t cs = op_compute_set(nn->g, nn->seq, "zeros");
    struct tile_run *run;
    size_t runs;

    if (graph_tile_runs(nn->g, t, &run, &runs) != EMU_OK)
        return;
    t = tensor_flatten(nn->g, t);
    for (size_t i = 0; i < runs; i++) {

        VERTEX(fill_f16, nn->g, cs, run[i].tile,
               .out = tensor_slice(nn->g, t, 0, (uint32_t)run[i].begin, (uint32_t)run[i].end),
               .value = 0);
    }
    emu_free(run);
}

struct activation op_picture_blocks(struct nn *nn, struct activation picture, const char *name)
{
    struct graph *g = nn->g;
    uint32_t shape[5] = { 1, picture.n, picture.h, picture.w, LANES };
    struct activation y;

    graph_push(g, name);
    y = nn_activation(nn, picture.n, picture.c, picture.h, picture.w, "blocks");
    graph_map_linear(g, y.t, GRAIN * CHANNEL_BLOCK, GRAIN * CHANNEL_BLOCK, 0,
                     graph_compute_tiles(g));
    fill_zeros(nn, y.t);
    program_add(
        g, nn->seq,
        program_copy(g, tensor_reshape(g, picture.t, 5, shape), tensor_slice(g, y.t, 4, 0, LANES)));
    graph_pop(g);
    return y;
}
