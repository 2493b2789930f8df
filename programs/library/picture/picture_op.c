/* picture_op.c - turns pictures as the host sends them into what a network reads: three channels a
 * pixel into normalised f16 for a first layer, four numbers a pixel; bytes into normalised numbers.
 */
#include "programs/library/layout/network.h"

enum { CHANNELS = 3, LANES = 4, GROUP = 4 /* pixels of a vertex: multiples of it */ };
enum { GRAIN = 16 /* pixels of a tile: multiples of it */ };
enum { BYTES = 256, EACH = 4 /* bytes of a vertex: multiples of it */ };

/* Makes the tables of channels, [tiles][channels][BYTES], one copy for each tile. */
static struct tensor make_tables(struct nn *nn, const struct pixel_format *c, enum elem elem,
                                 uint32_t tiles)
{
    const uint32_t shape[] = { tiles, CHANNELS, BYTES };
    const void *data = elem == ELEM_F16 ? (const void *)c->table : c->number;
    struct tensor t = ss_graph_constant_repeated(nn->g, elem, 3, shape, data, "table");

    for (uint32_t i = 0; i < tiles; i++)
        ss_graph_map(nn->g, ss_tensor_index(nn->g, t, i), i);
    return t;
}

static void add_vertices(struct nn *nn, const struct pixel_format *c, struct tensor raw,
                         struct tensor all)
{
    struct graph *g = nn->g;
    uint32_t tiles = ss_graph_compute_tiles(g), cs = op_compute_set(g, nn->seq, "cast");
    struct tensor tables = c->elem == ELEM_U8 ? make_tables(nn, c, ELEM_F16, tiles) : nn->zeros;
    const struct codelet *floats =
        c->elem == ELEM_F16 ? KERNEL_ROW(pixels_f16) : KERNEL_ROW(pixels_f32);
    struct tile_run *run;
    size_t runs;

    if (ss_graph_tile_runs(g, all, &run, &runs) != EMU_OK)
        return;
    for (size_t i = 0; i < runs; i++) {
        uint32_t begin = (uint32_t)(run[i].begin / LANES), end = (uint32_t)(run[i].end / LANES);
        struct tensor x = ss_tensor_slice(g, raw, 0, begin * CHANNELS, end * CHANNELS);
        struct tensor y = ss_tensor_slice(g, all, 0, begin * LANES, end * LANES);

        ss_graph_map(g, x, run[i].tile);
        if (c->elem == ELEM_U8)
            VERTEX(pixels_u8, g, cs, run[i].tile, .x = x,
                   .table = ss_tensor_flatten(g, ss_tensor_index(g, tables, run[i].tile)), .y = y);
        else
            VERTEX_OF(pixels, floats, g, cs, run[i].tile, .x = x, .y = y);
    }
    ss_free(run);
}

struct activation ss_op_pixels(struct nn *nn, uint32_t n, uint32_t h, uint32_t w,
                               const struct pixel_format *c, struct tensor *raw, const char *name)
{
    struct graph *g = nn_graph(nn);
    uint32_t shape[4] = { n, h, w, LANES }, pixels = n * h * w;
    uint32_t padded = (pixels + GROUP - 1) / GROUP * GROUP, elements = padded * LANES;
    uint32_t bytes = padded * CHANNELS;
    struct tensor all = ss_graph_variable(g, ELEM_F16, 1, &elements, name);
    struct activation f = { .t = all, .n = n, .c = CHANNELS, .h = h, .w = w };

    *raw = all;
    if (ss_graph_status(g) != EMU_OK)
        return f;
    ss_graph_map_linear(g, all, GRAIN * LANES, GRAIN * LANES, 0, ss_graph_compute_tiles(g));
    ss_graph_push(g, name);
    *raw = ss_graph_variable(g, c->elem, 1, &bytes, "raw");
    add_vertices(nn, c, *raw, all);
    ss_graph_pop(g);
    f.t = ss_tensor_reshape(g, ss_tensor_slice(g, all, 0, 0, pixels * LANES), 4, shape);
    return f;
}

/* ---- bytes ---- */

/* Bytes [begin, end) on a tile: a vertex for each channel's. table: the tile's, [channels][256]. */
static void look_up(struct nn *nn, uint32_t cs, uint32_t tile, struct tensor table,
                    uint32_t channels, uint32_t plane, struct tensor raw, struct tensor all,
                    uint32_t begin, uint32_t end)
{
    const struct codelet *row = ss_tensor_elem(nn->g, all) == ELEM_F16 ? KERNEL_ROW(lookup_u8_f16)
                                                                       : KERNEL_ROW(lookup_u8_f32);
    struct graph *g = nn->g;

    for (uint32_t at = begin, next; at < end; at = next) {
        uint32_t channel = at / plane % channels;

        next = channels == 1 || (at / plane + 1) * plane > end ? end : (at / plane + 1) * plane;
        VERTEX_OF(lookup_u8, row, g, cs, tile, .x = ss_tensor_slice(g, raw, 0, at, next),
                  .table = ss_tensor_index(g, table, channel),
                  .y = ss_tensor_slice(g, all, 0, at, next));
    }
}

struct tensor ss_op_bytes(struct nn *nn, enum elem elem, unsigned rank, const uint32_t *shape,
                          uint32_t channels, uint32_t plane, const struct pixel_format *c,
                          struct tensor *raw, const char *name)
{
    struct graph *g = nn_graph(nn);
    uint32_t tiles = ss_graph_compute_tiles(g), n = 1, padded, cs;
    struct tensor all, tables;
    struct tile_run *run;
    size_t runs;

    if (channels > 1 && plane % EACH)
        ss_graph_fail(g, EMU_USAGE,
                      "%s: bytes of %u channels of %u each, expected a multiple of %d", name,
                      channels, plane, EACH);
    for (unsigned d = 0; d < rank; d++)
        n *= shape[d];
    padded = (n + EACH - 1) / EACH * EACH;
    *raw = all = ss_graph_variable(g, elem, 1, &padded, name);
    if (ss_graph_status(g) != EMU_OK)
        return all;
    ss_graph_map_linear(g, all, GRAIN, GRAIN * EACH, 0, tiles);
    ss_graph_push(g, name);
    *raw = ss_graph_variable(g, ELEM_U8, 1, &padded, "raw");
    ss_graph_map_like(g, *raw, all);
    tables = make_tables(nn, c, elem, tiles);
    cs = op_compute_set(g, nn->seq, "lookup");
    if (ss_graph_tile_runs(g, all, &run, &runs) == EMU_OK) {
        for (size_t i = 0; i < runs; i++)
            look_up(nn, cs, run[i].tile, ss_tensor_index(g, tables, run[i].tile), channels, plane,
                    *raw, all, (uint32_t)run[i].begin, (uint32_t)run[i].end);
        ss_free(run);
    }
    ss_graph_pop(g);
    return ss_tensor_reshape(g, ss_tensor_slice(g, all, 0, 0, n), rank, shape);
}

/* ---- as an activation ---- */

static void fill_zeros(struct nn *nn, struct tensor t)
{
    uint32_t cs = op_compute_set(nn->g, nn->seq, "zeros");
    struct tile_run *run;
    size_t runs;

    if (ss_graph_tile_runs(nn->g, t, &run, &runs) != EMU_OK)
        return;
    t = ss_tensor_flatten(nn->g, t);
    for (size_t i = 0; i < runs; i++) {

        VERTEX(fill_f16, nn->g, cs, run[i].tile,
               .out = ss_tensor_slice(nn->g, t, 0, (uint32_t)run[i].begin, (uint32_t)run[i].end),
               .value = 0);
    }
    ss_free(run);
}

struct activation ss_op_picture_blocks(struct nn *nn, struct activation picture, const char *name)
{
    struct graph *g = nn_graph(nn);
    uint32_t shape[5] = { 1, picture.n, picture.h, picture.w, LANES };
    struct activation y;

    if (ss_graph_status(g) != EMU_OK)
        return picture;
    ss_graph_push(g, name);
    y = nn_activation(nn, picture.n, picture.c, picture.h, picture.w, "blocks");
    ss_graph_map_linear(g, y.t, GRAIN * CHANNEL_BLOCK, GRAIN * CHANNEL_BLOCK, 0,
                        ss_graph_compute_tiles(g));
    fill_zeros(nn, y.t);
    ss_program_add(g, nn->seq,
                   ss_program_copy(g, ss_tensor_reshape(g, picture.t, 5, shape),
                                   ss_tensor_slice(g, y.t, 4, 0, LANES)));
    ss_graph_pop(g);
    return y;
}
