/* lab_move.c - a transpose, which is all exchange, and a softmax, which is mostly waiting for
 * reductions.
 */
#include <math.h>

#include "programs/lab/lab.h"
#include "programs/library/layout/plan_cost.h"

/* ---- transpose ---- */

static const struct program_param transpose_param[] = {
    { "rows", 1024, 1, 16384, "rows" },
    { "cols", 1024, 1, 16384, "columns" },
};

void lab_transpose_defaults(const struct arch *a, uint64_t *value)
{
    for (int i = 0; i < 2; i++)
        value[i] = lab_scaled(a, value[i], 2, 1);
}

static enum emu_status transpose_build(struct graph *g, const uint64_t *value, void **state)
{
    uint32_t shape[2] = { (uint32_t)value[0], (uint32_t)value[1] };
    struct program seq = ss_program_sequence(g);
    struct lab *l;

    TRY(lab_new(&l));
    *state = l;
    l->size[0] = shape[0];
    l->size[1] = shape[1];
    l->in[0] = ss_graph_variable(g, ELEM_F32, 2, shape, "x");
    ss_graph_map_linear(g, l->in[0], 2, 2, 0, ss_graph_arch(g)->tiles);
    ss_graph_keep(g, l->in[0]);
    l->out = ss_op_transpose(g, seq, l->in[0], "transposed");
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status transpose_before(struct session *s, void *state)
{
    struct lab *l = state;

    l->x = lab_numbers(l->size[0] * l->size[1], 4, 10);
    return lab_write(s, ss_session_graph(s), l->in[0], l->x, l->size[0] * l->size[1]);
}

static enum emu_status transpose_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    uint64_t rows = l->size[0], cols = l->size[1];
    float *got;
    enum emu_status st;

    l->want = emu_alloc(rows * cols, sizeof(*l->want));
    if (!l->want)
        return FAIL(NO_MEMORY, "the plain transpose");
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c++)
            l->want[c * rows + r] = l->x[r * cols + c];
    }
    TRY(lab_read(s, ss_session_graph(s), l->out, &got, rows * cols));
    st = lab_compare(got, l->want, rows * cols, 0, answer);
    ss_free(got);
    return st;
}

const struct named_program lab_transpose = {
    .name = "transpose",
    .text = "a matrix that lies by rows, turned to lie by columns",
    .param = transpose_param,
    .params = EMU_COUNT_OF(transpose_param),
    .build = transpose_build,
    .before = transpose_before,
    .after = transpose_after,
    .done = lab_free,
};

/* ---- softmax ---- */

static const struct program_param softmax_param[] = {
    { "n", 100000, 1, 10000000, "elements, f32" },
};

void lab_softmax_defaults(const struct arch *a, uint64_t *value)
{
    value[0] = lab_scaled(a, value[0], 1, 1);
}

static enum emu_status softmax_build(struct graph *g, const uint64_t *value, void **state)
{
    struct program seq = ss_program_sequence(g);
    struct lab *l;

    TRY(lab_new_vector(g, (uint32_t)value[0], &l));
    *state = l;
    l->out = ss_op_softmax(g, seq, l->in[0], "softmax");
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status softmax_before(struct session *s, void *state)
{
    struct lab *l = state;

    l->x = lab_numbers(l->size[0], 5, 10);
    for (uint64_t i = 0; l->x && i < l->size[0]; i++)
        l->x[i] *= 8;
    return lab_write(s, ss_session_graph(s), l->in[0], l->x, l->size[0]);
}

/* How far a result may be off, as a part of it: half a unit for every rounding on its way, all in
 * f32: exp, the longest chain of additions (a worker's numbers, the workers of a tile, the first
 * stage over the tiles, all that is left then), 1 / sum, the product, and the plain result.
 * Arguments are exact. Twice that, for what the roundings do to each other. */
static enum emu_status softmax_error(const struct arch *a, uint64_t n, double *out)
{
    struct reduce_plan p;
    double chain = ceil((double)n / a->tiles / a->workers) + 2 + a->workers;

    TRY(plan_reduce(a, a->tiles, 1, ELEM_F32, a->tiles, &p));
    if (p.stages)
        chain += p.fan_in[0] + ceil((double)a->tiles / p.fan_in[0]);
    *out = 2 * (chain + 5) * 0x1p-24;
    return EMU_OK;
}

static enum emu_status softmax_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    uint64_t n = l->size[0];
    double max = -INFINITY, sum = 0, error;
    float *got, *bound;
    enum emu_status st;

    TRY(softmax_error(ss_graph_arch(ss_session_graph(s)), n, &error));
    l->want = emu_alloc(2 * n, sizeof(*l->want));
    if (!l->want)
        return FAIL(NO_MEMORY, "the plain softmax");
    bound = l->want + n;
    for (uint64_t i = 0; i < n; i++)
        max = fmax(max, (double)l->x[i]);
    for (uint64_t i = 0; i < n; i++)
        sum += exp((double)l->x[i] - max);
    for (uint64_t i = 0; i < n; i++) {
        l->want[i] = (float)(exp((double)l->x[i] - max) / sum);
        bound[i] = (float)(error * (double)l->want[i]);
    }
    TRY(lab_read(s, ss_session_graph(s), l->out, &got, n));
    st = lab_compare_each(got, l->want, bound, n, answer);
    ss_free(got);
    return st;
}

const struct named_program lab_softmax = {
    .name = "softmax",
    .text = "softmax over a long vector",
    .param = softmax_param,
    .params = EMU_COUNT_OF(softmax_param),
    .build = softmax_build,
    .before = softmax_before,
    .after = softmax_after,
    .done = lab_free,
};
