/* lab_vector.c - long vectors: an addition, which needs no exchange at all, and the sum of very
 * many numbers, which needs little.
 */
#include <math.h>

#include "programs/lab/lab.h"

/* ---- vector addition: w = elements / tiles, h = 0 ---- */

static const struct program_param add_param[] = {
    { "n", 10000000, 1, 50000000, "elements of each vector, f32" },
};

void lab_vector_defaults(const struct arch *a, uint64_t *value)
{
    value[0] = lab_scaled(a, value[0], 1, 1);
}

static enum emu_status add_build(struct graph *g, const uint64_t *value, void **state)
{
    const struct arch *a = ss_graph_arch(g);
    uint32_t n = (uint32_t)value[0];
    struct program seq = ss_program_sequence(g);
    struct lab *l;

    TRY(lab_new(&l));
    *state = l;
    l->size[0] = n;
    for (int i = 0; i < 2; i++) {
        l->in[i] = ss_graph_variable(g, ELEM_F32, 1, &n, i ? "b" : "a");
        ss_graph_map_linear(g, l->in[i], 2, 12, 0, a->tiles);
        ss_graph_keep(g, l->in[i]);
    }
    l->out = ss_op_binary(g, seq, BINARY_ADD, l->in[0], l->in[1], "sum");
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status add_before(struct session *s, void *state)
{
    struct lab *l = state;
    const struct graph *g = ss_session_graph(s);

    l->x = lab_numbers(l->size[0], 1, 10);
    l->y = lab_numbers(l->size[0], 2, 10);
    TRY(lab_write(s, g, l->in[0], l->x, l->size[0]));
    return lab_write(s, g, l->in[1], l->y, l->size[0]);
}

static enum emu_status add_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    float *got;
    enum emu_status st;

    TRY(lab_read(s, ss_session_graph(s), l->out, &got, l->size[0]));
    for (uint64_t i = 0; i < l->size[0]; i++)
        l->x[i] += l->y[i];
    st = lab_compare(got, l->x, l->size[0], 0, answer);
    ss_free(got);
    return st;
}

const struct named_program lab_vector_add = {
    .name = "vector-add",
    .text = "sum of two long vectors: every tile for itself",
    .param = add_param,
    .params = EMU_COUNT_OF(add_param),
    .build = add_build,
    .before = add_before,
    .after = add_after,
    .done = lab_free,
};

/* ---- the sum of all elements: local sums, then stages over the tiles ---- */

static const struct program_param total_param[] = {
    { "n", 100000000, 1, 200000000, "elements, f32" },
};

static enum emu_status total_build(struct graph *g, const uint64_t *value, void **state)
{
    struct program seq = ss_program_sequence(g);
    struct lab *l;

    TRY(lab_new_vector(g, (uint32_t)value[0], &l));
    *state = l;
    l->out = ss_op_total(g, seq, REDUCE_SUM, l->in[0], "total");
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

/* Odd multiples of 1/16: their mean is 0, and sums below 2^20 are exact in f32, in any order. */
static const double exact_sum = 0x1p20;

static enum emu_status total_before(struct session *s, void *state)
{
    struct lab *l = state;

    l->x = lab_numbers(l->size[0], 3, 3);
    for (uint64_t i = 0; l->x && i < l->size[0]; i++)
        l->x[i] += 0x1p-4f;
    return lab_write(s, ss_session_graph(s), l->in[0], l->x, l->size[0]);
}

/* The sum, and a bound of every partial sum that the machine can have come by: of numbers of one
 * tile, or of whole tiles. */
static enum emu_status plain_total(struct session *s, struct lab *l, double *sum, double *partial)
{
    double tiles = 0, most = 0;
    struct tile_run *run;
    size_t runs;

    *sum = 0;
    TRY(ss_graph_tile_runs(ss_session_graph(s), l->in[0], &run, &runs));
    for (size_t r = 0; r < runs; r++) {
        double of_tile = 0, size = 0;

        for (uint64_t i = run[r].begin; i < run[r].end; i++) {
            of_tile += (double)l->x[i];
            size += fabs((double)l->x[i]);
        }
        *sum += of_tile;
        tiles += fabs(of_tile);
        most = fmax(most, size);
    }
    ss_free(run);
    *partial = fmax(most, tiles);
    return EMU_OK;
}

/* Where sums could be inexact, each of the additions of the longest chain, one worker's numbers and
 * the tree over tiles, is off by at most half a unit of what it adds to. */
static enum emu_status total_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    const struct arch *a = ss_graph_arch(ss_session_graph(s));
    double sum, partial, chain = (double)l->size[0] / a->tiles / a->workers + a->tiles;
    float want;

    TRY(plain_total(s, l, &sum, &partial));
    want = (float)sum;
    TRY(lab_read(s, ss_session_graph(s), l->out, &l->y, 1));
    lab_note(answer, "sum", (double)l->y[0]);
    return lab_compare(l->y, &want, 1, partial < exact_sum ? 0 : 2 * partial * chain * 0x1p-24,
                       answer);
}

const struct named_program lab_total = {
    .name = "total",
    .text = "sum of 100 million numbers",
    .param = total_param,
    .params = EMU_COUNT_OF(total_param),
    .build = total_build,
    .before = total_before,
    .after = total_after,
    .done = lab_free,
};
