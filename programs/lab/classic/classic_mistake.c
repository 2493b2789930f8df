/* classic_mistake.c - two programs that are right but not good: one does not fit, one keeps most
 * tiles waiting. What to learn from them: programs/lab/lesson/mistakes.def.
 */
#include "programs/lab/classic/classic.h"

#include <string.h>

/* ---- too much memory ---- */

static const struct program_param memory_param[] = {
    { "p", 0, 0, 64, "tiles; 0: all, at most 4" },
    { "n", 0, 0, 1000000, "numbers of a tile; 0: a quarter of its memory" },
};

static enum emu_status memory_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 4), n = (uint32_t)value[1];
    struct program seq = ss_program_sequence(g);
    struct tensor x, everything;
    struct classic *c;
    uint32_t *data, *want;

    n = n ? n : ss_graph_arch(g)->mem_bytes / 4 / sizeof(uint32_t);
    TRY(classic_two_tiles(g, p));
    TRY(classic_new(state, &c));
    x = classic_blocks(g, ELEM_U32, p, n, "x");
    everything = classic_blocks(g, ELEM_U32, p, p * n, "everything");
    for (uint32_t i = 0; i < p; i++)
        ss_program_add(
            g, seq, ss_program_copy(g, ss_tensor_flatten(g, x), ss_tensor_index(g, everything, i)));
    ss_graph_set_program(g, seq);
    data = classic_integers((uint64_t)p * n, 9, 1000);
    want = emu_alloc((size_t)p * p * n, sizeof(*want));
    for (uint32_t i = 0; data && want && i < p; i++)
        memcpy(want + (size_t)i * p * n, data, (size_t)p * n * sizeof(*data));
    classic_input(g, c, x, data);
    classic_result(g, c, everything, want, 0);
    classic_note(c, "p", p);
    classic_note(c, "n", n);
    return EMU_OK;
}

CLASSIC_PROGRAM(mistake_memory, "mistake_memory",
                "a mistake to look at: every tile takes all of a vector", memory_param,
                memory_build, NULL);

/* ---- too little balance ---- */

static const struct program_param imbalance_param[] = {
    { "p", 0, 0, 1024, "rows; 0: one for each tile, at most 64" },
    { "n", 40, 1, 400, "numbers of the shortest row; row t has t + 1 times as many" },
    { "way", 0, 0, 1, "row t on tile t, or folded: rows t and p - 1 - t on one tile" },
};

static const char *const imbalance_ways[] = { "rows", "folded" };
static const struct param_words imbalance_words[] = { { "way", imbalance_ways }, { NULL, NULL } };

/* Numbers before row t. */
static uint32_t row_begin(uint32_t n, uint32_t t)
{
    return n * (t * (t + 1) / 2);
}

static uint32_t tile_of_row(uint32_t t, uint32_t p, int folded)
{
    return folded && t >= (p + 1) / 2 ? p - 1 - t : t;
}

static struct tensor map_rows(struct graph *g, uint32_t p, uint32_t n, int folded, const char *name)
{
    uint32_t total = row_begin(n, p);
    struct tensor x = ss_graph_variable(g, ELEM_U32, 1, &total, name);

    for (uint32_t t = 0; t < p; t++)
        ss_graph_map(g, ss_tensor_slice(g, x, 0, row_begin(n, t), row_begin(n, t + 1)),
                     tile_of_row(t, p, folded));
    ss_graph_keep(g, x);
    return x;
}

static uint32_t *plain_sums(const uint32_t *x, uint32_t p, uint32_t n)
{
    uint32_t *sum = emu_alloc(p, sizeof(*sum));

    for (uint32_t t = 0; sum && x && t < p; t++) {
        for (uint32_t i = row_begin(n, t); i < row_begin(n, t + 1); i++)
            sum[t] += x[i];
    }
    return sum;
}

static enum emu_status imbalance_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t p = classic_tiles(g, value[0], 64), n = (uint32_t)value[1];
    int folded = value[2] != 0;
    uint32_t cs = ss_graph_compute_set(g, "rows"), total = row_begin(n, p);
    struct tensor x, y, sums;
    struct classic *c;
    uint32_t *data;

    TRY(ss_graph_status(g));
    TRY(classic_new(state, &c));
    CLASSIC_CODELET(g, "prefix_u32", TAKES("x", U32), GIVES("y", U32), GIVES("total", U32),
                    LENGTH_OF("n", "x"));
    x = map_rows(g, p, n, folded, "x");
    y = map_rows(g, p, n, folded, "y");
    sums = ss_graph_variable(g, ELEM_U32, 1, &p, "sums");
    ss_graph_keep(g, sums);
    for (uint32_t t = 0; t < p; t++) {
        uint32_t v = ss_graph_vertex(g, cs, "prefix_u32", tile_of_row(t, p, folded));

        ss_graph_map(g, ss_tensor_slice(g, sums, 0, t, t + 1), tile_of_row(t, p, folded));
        ss_vertex_connect(g, v, "x",
                          ss_tensor_slice(g, x, 0, row_begin(n, t), row_begin(n, t + 1)));
        ss_vertex_connect(g, v, "y",
                          ss_tensor_slice(g, y, 0, row_begin(n, t), row_begin(n, t + 1)));
        ss_vertex_connect(g, v, "total", ss_tensor_slice(g, sums, 0, t, t + 1));
    }
    ss_graph_set_program(g, ss_program_execute(g, cs));
    data = classic_integers(total, 10, 1000);
    classic_result(g, c, sums, plain_sums(data, p, n), 0);
    classic_input(g, c, x, data);
    classic_note(c, "p", p);
    classic_note(c, "n", n);
    return EMU_OK;
}

CLASSIC_PROGRAM(mistake_imbalance, "mistake_imbalance",
                "a mistake to look at: row t of a triangle on tile t", imbalance_param,
                imbalance_build, imbalance_words);
