/* random_op.c - stochastic rounding and masks, seeded by the step. */
#include "programs/library/ops_random.h"

#include "programs/library/layout/tile_parts.h"

/* What words of tiles and workers are mixed with; PopLibs' SetSeed has the same. */
#define RANDOM_WORKER 0xaaaaaaa0u

enum { SEED_ROW = 8, WORKERS_MAX = SEED_ROW - RANDOM_SEED_WORDS };

/* What differs between tiles: words of their workers. */
static uint32_t *words_of_workers(uint32_t tiles)
{
    uint32_t *word = emu_alloc((size_t)tiles * WORKERS_MAX + 1, sizeof(*word));

    for (uint32_t k = 0; word && k < tiles * WORKERS_MAX; k++)
        word[k] = (k / WORKERS_MAX << 4 ^ RANDOM_WORKER) | k % WORKERS_MAX;
    return word;
}

struct tensor ss_op_seed(struct graph *g, struct program seq, struct tensor words, const char *name)
{
    uint32_t tiles = ss_graph_compute_tiles(g), shape[2] = { tiles, SEED_ROW };
    uint32_t own_shape[2] = { tiles, WORKERS_MAX }, *own;
    struct tensor t = ss_graph_variable(g, ELEM_U32, 2, shape, name), constant;

    if (ss_graph_status(g) != EMU_OK)
        return t;
    EMU_ASSERT(ss_graph_arch(g)->workers <= WORKERS_MAX);
    own = words_of_workers(tiles);
    if (!own) {
        ss_graph_fail(g, EMU_NO_MEMORY, "%s", name);
        return t;
    }
    ss_graph_push(g, name);
    constant = ss_graph_constant(g, ELEM_U32, 2, own_shape, own, "workers");
    for (uint32_t k = 0; k < tiles; k++) {
        ss_graph_map(g, ss_tensor_index(g, t, k), k);
        ss_graph_map(g, ss_tensor_index(g, constant, k), k);
    }
    words = ss_tensor_broadcast(g, ss_tensor_reshape(g, words, 2, (const uint32_t[]){ 1, 2 }), 0,
                                tiles);
    ss_program_add(g, seq,
                   ss_program_copy(g, words, ss_tensor_slice(g, t, 1, 0, RANDOM_SEED_WORDS)));
    ss_program_add(
        g, seq,
        ss_program_copy(g, constant, ss_tensor_slice(g, t, 1, RANDOM_SEED_WORDS, SEED_ROW)));
    ss_graph_pop(g);
    ss_free(own);
    return t;
}

struct tensor ss_op_round_random(struct graph *g, struct program seq, struct tensor t,
                                 struct tensor seed, uint32_t operation, const char *name)
{
    enum { LANES = 4 };
    struct tensor out = op_like(g, t, ELEM_F16, name);
    struct tile_parts s;
    enum emu_status st = tile_parts_of(g, out, &s);
    uint32_t cs;

    if (st != EMU_OK) {
        ss_graph_fail(g, st, "%s: %s", name, ss_error());
        return out;
    }
    cs = op_compute_set(g, seq, name);
    for (size_t i = 0; i < s.count; i++) {
        if (s.at[i].elements % LANES)
            ss_graph_fail(g, EMU_BAD_PROGRAM, "%s: tile %u has no multiple of %d elements", name,
                          s.at[i].tile, LANES);
        VERTEX(round_f32_f16, g, cs, s.at[i].tile, .x = tile_part_take(g, &s, i, t),
               .y = tile_part_take(g, &s, i, out), .seed = ss_tensor_index(g, seed, s.at[i].tile),
               .operation = operation ^ RANDOM_OPERATION);
    }
    tile_parts_free(&s);
    return out;
}

struct tensor ss_op_mask(struct graph *g, struct program seq, uint32_t elements, uint32_t keep,
                         float factor, struct tensor seed, uint32_t operation, const char *name)
{
    uint32_t whole = (elements + RANDOM_BLOCK - 1) / RANDOM_BLOCK * RANDOM_BLOCK, cs;
    struct tensor t = ss_graph_variable(g, ELEM_F16, 1, &whole, name);
    struct tile_run *run;
    size_t runs;

    ss_graph_map_linear(g, t, RANDOM_BLOCK, RANDOM_BLOCK, 0, ss_graph_compute_tiles(g));
    cs = op_compute_set(g, seq, name);
    if (ss_graph_tile_runs(g, t, &run, &runs) != EMU_OK)
        return t;
    for (size_t i = 0; i < runs; i++)
        VERTEX(mask_f16, g, cs, run[i].tile,
               .y = ss_tensor_slice(g, t, 0, (uint32_t)run[i].begin, (uint32_t)run[i].end),
               .seed = ss_tensor_slice(g, ss_tensor_index(g, seed, run[i].tile), 0, 0,
                                       RANDOM_SEED_WORDS),
               .operation = operation ^ RANDOM_OPERATION,
               .first = (uint32_t)(run[i].begin / RANDOM_BLOCK), .keep = keep, .factor = factor);
    ss_free(run);
    return ss_tensor_slice(g, t, 0, 0, elements);
}
