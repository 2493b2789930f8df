/* classic_collective.c - collective communication: a broadcast, a reduction, prefix sums and a
 * total exchange, in the ways of the textbooks.
 */
#include "programs/lab/classic/classic.h"

static const char *const ways[] = { "flat", "tree", "two-phase", NULL };
static const char *const scan_ways[] = { "flat", "doubling", NULL };

enum { FLAT, TREE, TWO_PHASE };

/* ---- broadcast ---- */

static const struct program_param broadcast_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 256, 1, 16384, "words" },
    { "way", FLAT, 0, TWO_PHASE, "how" },
};
static const struct param_words broadcast_words[] = { { "way", ways }, { NULL, NULL } };

static struct program copy_rows(struct graph *g, struct tensor t, uint32_t from, uint32_t to,
                                uint32_t rows)
{
    return ss_program_copy(g, ss_tensor_slice(g, t, 0, from, from + rows),
                           ss_tensor_slice(g, t, 0, to, to + rows));
}

/* Row 0 of t on all other rows at once. */
static struct program copy_to_all(struct graph *g, struct tensor from, struct tensor t,
                                  uint32_t tiles)
{
    const uint32_t n = ss_tensor_shape(g, t)[1], shape[2] = { 1, n };
    struct tensor row = ss_tensor_reshape(g, from, 2, shape);

    return ss_program_copy(g, ss_tensor_broadcast(g, row, 0, tiles - 1),
                           ss_tensor_slice(g, t, 0, 1, tiles));
}

/* In each round those that have the block send it on: 1, 2, 4 .. tiles have it. */
static void tree_down(struct graph *g, struct program seq, struct tensor t, uint32_t tiles)
{
    for (uint32_t have = 1; have < tiles; have *= 2) {
        uint32_t more = have < tiles - have ? have : tiles - have;

        ss_program_add(g, seq, copy_rows(g, t, 0, have, more));
    }
}

/* Every tile gets a part of the block, then all parts go to all. */
static void scatter_and_gather(struct graph *g, struct program seq, struct tensor t, uint32_t tiles)
{
    uint32_t n = ss_tensor_shape(g, t)[1];
    struct tensor parts = ss_graph_variable(g, ELEM_U32, 1, &n, "parts");

    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t begin = (uint32_t)((uint64_t)n * i / tiles);
        uint32_t end = (uint32_t)((uint64_t)n * (i + 1) / tiles);

        if (begin < end)
            ss_graph_map(g, ss_tensor_slice(g, parts, 0, begin, end), i);
    }
    ss_program_add(g, seq, ss_program_copy(g, ss_tensor_index(g, t, 0), parts));
    ss_program_add(g, seq, copy_to_all(g, parts, t, tiles));
}

static uint32_t *repeated(const uint32_t *x, uint32_t n, uint32_t times)
{
    uint32_t *out = emu_alloc((size_t)n * times, sizeof(*out));

    for (size_t i = 0; out && x && i < (size_t)n * times; i++)
        out[i] = x[i % n];
    return out;
}

static enum emu_status broadcast_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    struct classic *c;
    struct tensor t;
    uint32_t *x;

    TRY(classic_two_tiles(g, p));
    TRY(classic_new(state, &c));
    x = classic_integers(n, 1, 1000000);
    t = classic_blocks(g, ELEM_U32, p, n, "block");
    classic_result(g, c, t, repeated(x, n, p), 0);
    classic_input(g, c, ss_tensor_index(g, t, 0), x);
    if (value[2] == FLAT)
        ss_program_add(g, seq, copy_to_all(g, ss_tensor_index(g, t, 0), t, p));
    else if (value[2] == TREE)
        tree_down(g, seq, t, p);
    else
        scatter_and_gather(g, seq, t, p);
    ss_graph_set_program(g, seq);
    classic_note(c, "p", p);
    classic_note(c, "rounds", classic_log2(p));
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_broadcast, "broadcast-ways",
                "broadcast of a block, flat, along a tree or in two phases", broadcast_param,
                broadcast_build, broadcast_words);

/* ---- reduction ---- */

static const struct program_param reduce_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 96, 1, 4096, "numbers, f32" },
    { "way", FLAT, 0, TWO_PHASE, "how" },
    { "all", 0, 0, 1, "1: every tile gets the sums, too" },
};

static void add_rows(struct graph *g, uint32_t cs, struct tensor x, struct tensor out,
                     uint32_t rows, uint32_t tile)
{
    uint32_t v = ss_graph_vertex(g, cs, "sum_rows_f32", tile);

    ss_vertex_connect(g, v, "x", ss_tensor_flatten(g, x));
    ss_vertex_connect(g, v, "out", out);
    ss_vertex_set_u32(g, v, "rows", rows);
}

/* Tile 0 takes everything. */
static void reduce_flat(struct graph *g, struct program seq, struct tensor x, struct tensor sum)
{
    uint32_t cs = ss_graph_compute_set(g, "sums");

    add_rows(g, cs, x, ss_tensor_index(g, sum, 0), ss_tensor_shape(g, x)[0], 0);
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

/* The upper half of those that are left sends to the lower half, until one is left. */
static void reduce_tree(struct graph *g, struct program seq, struct tensor x, struct tensor sum)
{
    uint32_t left = ss_tensor_shape(g, x)[0], n = ss_tensor_shape(g, x)[1];

    while (left > 1) {
        uint32_t half = (left + 1) / 2, cs = ss_graph_compute_set(g, "round");
        struct tensor next = half > 1 ? classic_blocks(g, ELEM_F32, half, n, "partial") : sum;

        for (uint32_t i = 0; i < half; i++) {
            struct tensor pair[2] = { ss_tensor_index(g, x, i),
                                      ss_tensor_index(g, x, i + half < left ? i + half : i) };

            if (i + half < left)
                add_rows(g, cs, ss_tensor_concat(g, pair, 2, 0), ss_tensor_index(g, next, i), 2, i);
            else
                add_rows(g, cs, pair[0], ss_tensor_index(g, next, i), 1, i);
        }
        ss_program_add(g, seq, ss_program_execute(g, cs));
        x = next;
        left = half;
    }
}

/* Every tile adds up a part of the numbers, then tile 0 takes the sums. */
static void reduce_parts(struct graph *g, struct program seq, struct tensor x, struct tensor sum)
{
    uint32_t tiles = ss_tensor_shape(g, x)[0], n = ss_tensor_shape(g, x)[1];
    uint32_t cs = ss_graph_compute_set(g, "parts");
    struct tensor parts = ss_graph_variable(g, ELEM_F32, 1, &n, "part");

    for (uint32_t i = 0; i < tiles; i++) {
        uint32_t begin = (uint32_t)((uint64_t)n * i / tiles);
        uint32_t end = (uint32_t)((uint64_t)n * (i + 1) / tiles);
        struct tensor mine = ss_tensor_slice(g, parts, 0, begin, end);

        if (begin == end)
            continue;
        ss_graph_map(g, mine, i);
        add_rows(g, cs, ss_tensor_slice(g, x, 1, begin, end), mine, tiles, i);
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
    ss_program_add(g, seq, ss_program_copy(g, parts, ss_tensor_index(g, sum, 0)));
}

/* Sums of small multiples of 1/8 are exact in any order. */
static float *sums_of(const float *x, uint32_t rows, uint32_t n, uint32_t times)
{
    float *out = emu_alloc((size_t)n * times, sizeof(*out));

    for (size_t i = 0; out && x && i < (size_t)n * times; i++) {
        for (uint32_t r = 0; r < rows; r++)
            out[i] += x[(size_t)r * n + i % n];
    }
    return out;
}

static enum emu_status reduce_build(struct graph *g, const uint64_t *value, void **state)
{
    static void (*const way[])(struct graph *, struct program, struct tensor,
                               struct tensor) = { reduce_flat, reduce_tree, reduce_parts };
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    struct tensor x, sum;
    struct classic *c;
    float *data;

    TRY(classic_two_tiles(g, p));
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "sum_rows_f32", TAKES("x", F32), GIVES("out", F32), NUMBER("rows"),
                    LENGTH_OF("n", "out"));
    x = classic_blocks(g, ELEM_F32, p, n, "x");
    sum = classic_blocks(g, ELEM_F32, p, n, "sum");
    data = classic_floats((uint64_t)p * n, 2);
    classic_result(g, c, ss_tensor_slice(g, sum, 0, 0, value[3] ? p : 1),
                   sums_of(data, p, n, value[3] ? p : 1), 0);
    classic_input(g, c, x, data);
    way[value[2]](g, seq, x, sum);
    if (value[3])
        ss_program_add(g, seq, copy_to_all(g, ss_tensor_index(g, sum, 0), sum, p));
    ss_graph_set_program(g, seq);
    classic_note(c, "p", p);
    classic_note(c, "rounds", classic_log2(p));
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_reduce, "reduce",
                "sums of a vector of every tile, flat, along a tree or in parts", reduce_param,
                reduce_build, broadcast_words);

/* ---- prefix sums ---- */

static const struct program_param scan_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 60, 1, 8192, "numbers of a tile" },
    { "way", FLAT, 0, 1, "how the tiles learn what lies before them" },
};
static const struct param_words scan_words[] = { { "way", scan_ways }, { NULL, NULL } };

static void add_offset(struct graph *g, uint32_t cs, struct tensor y, struct tensor totals,
                       struct tensor out, uint32_t tile)
{
    uint32_t v = ss_graph_vertex(g, cs, "offset_u32", tile);

    ss_vertex_connect(g, v, "y", y);
    ss_vertex_connect(g, v, "totals", totals);
    ss_vertex_connect(g, v, "out", out);
}

/* totals [p][1]: after the rounds each is the sum of itself and all before it. */
static struct tensor doubling(struct graph *g, struct program seq, struct tensor totals, uint32_t p)
{
    for (uint32_t d = 1; d < p; d *= 2) {
        struct tensor next = classic_blocks(g, ELEM_U32, p, 1, "totals");
        uint32_t cs = ss_graph_compute_set(g, "round");

        for (uint32_t i = d; i < p; i++)
            add_offset(g, cs, ss_tensor_index(g, totals, i), ss_tensor_index(g, totals, i - d),
                       ss_tensor_index(g, next, i), i);
        ss_program_add(g, seq,
                       ss_program_copy(g, ss_tensor_slice(g, totals, 0, 0, d),
                                       ss_tensor_slice(g, next, 0, 0, d)));
        ss_program_add(g, seq, ss_program_execute(g, cs));
        totals = next;
    }
    return totals;
}

static void local_sums(struct graph *g, struct program seq, struct tensor x, struct tensor y,
                       struct tensor totals, uint32_t p)
{
    uint32_t cs = ss_graph_compute_set(g, "local");

    for (uint32_t i = 0; i < p; i++) {
        uint32_t v = ss_graph_vertex(g, cs, "prefix_u32", i);

        ss_vertex_connect(g, v, "x", ss_tensor_index(g, x, i));
        ss_vertex_connect(g, v, "y", ss_tensor_index(g, y, i));
        ss_vertex_connect(g, v, "total", ss_tensor_index(g, totals, i));
    }
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

/* Tile 0 has nothing before it. */
static void add_offsets(struct graph *g, struct program seq, struct tensor y, struct tensor totals,
                        struct tensor out, uint32_t p, int flat)
{
    uint32_t cs = ss_graph_compute_set(g, "offsets");

    for (uint32_t i = 1; i < p; i++)
        add_offset(g, cs, ss_tensor_index(g, y, i), classic_part(g, totals, flat ? 0 : i - 1, i),
                   ss_tensor_index(g, out, i), i);
    ss_program_add(g, seq,
                   ss_program_copy(g, ss_tensor_index(g, y, 0), ss_tensor_index(g, out, 0)));
    ss_program_add(g, seq, ss_program_execute(g, cs));
}

static uint32_t *prefix_sums(const uint32_t *x, uint64_t n)
{
    uint32_t *out = emu_alloc(n, sizeof(*out)), sum = 0;

    for (uint64_t i = 0; out && x && i < n; i++)
        out[i] = sum += x[i];
    return out;
}

static enum emu_status scan_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    struct tensor x, y, out, totals;
    struct classic *c;
    uint32_t *data;

    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "prefix_u32", TAKES("x", U32), GIVES("y", U32), GIVES("total", U32),
                    LENGTH_OF("n", "x"));
    CLASSIC_CODELET(g, "offset_u32", TAKES("y", U32), TAKES("totals", U32), GIVES("out", U32),
                    LENGTH_OF("n", "y"), LENGTH_OF("m", "totals"));
    x = classic_blocks(g, ELEM_U32, p, n, "x");
    y = classic_blocks(g, ELEM_U32, p, n, "local");
    out = classic_blocks(g, ELEM_U32, p, n, "sums");
    totals = classic_blocks(g, ELEM_U32, p, 1, "total");
    data = classic_integers((uint64_t)p * n, 3, 1000);
    classic_result(g, c, out, prefix_sums(data, (uint64_t)p * n), 0);
    classic_input(g, c, x, data);
    local_sums(g, seq, x, y, totals, p);
    if (value[2])
        totals = doubling(g, seq, totals, p);
    add_offsets(g, seq, y, totals, out, p, !value[2]);
    ss_graph_set_program(g, seq);
    classic_note(c, "p", p);
    classic_note(c, "rounds", classic_log2(p));
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_scan, "scan", "prefix sums of a long vector", scan_param, scan_build,
                scan_words);

/* ---- total exchange ---- */

static const struct program_param exchange_param[] = {
    { "p", 0, 0, 65535, "tiles; 0: all, at most 64" },
    { "n", 4, 1, 256, "words for each other tile" },
};

static enum emu_status exchange_build(struct graph *g, const uint64_t *value, void **state)
{
    static const unsigned order[3] = { 1, 0, 2 };
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1], shape[3] = { p, p, n };
    struct program seq = ss_program_sequence(g);
    struct tensor rows, columns, turned;
    uint32_t *data, *want;
    struct classic *c;

    TRY(classic_new(state, &c));
    rows = classic_blocks(g, ELEM_U32, p, p * n, "rows");
    columns = classic_blocks(g, ELEM_U32, p, p * n, "columns");
    turned = ss_tensor_transpose(g, ss_tensor_reshape(g, rows, 3, shape), order);
    ss_program_add(g, seq, ss_program_copy(g, turned, ss_tensor_reshape(g, columns, 3, shape)));
    ss_graph_set_program(g, seq);
    data = classic_integers((uint64_t)p * p * n, 4, 1000000);
    want = emu_alloc((size_t)p * p * n, sizeof(*want));
    for (size_t i = 0; data && want && i < (size_t)p * p * n; i++)
        want[i] = data[(i / n % p * p + i / n / p) * n + i % n];
    classic_input(g, c, rows, data);
    classic_result(g, c, columns, want, 0);
    classic_note(c, "p", p);
    return EMU_OK;
}

CLASSIC_PROGRAM(classic_exchange, "exchange-all",
                "total exchange: a block from every tile to every other", exchange_param,
                exchange_build, NULL);
