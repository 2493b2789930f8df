/* lab_matmul.c - a matrix product in f16 by the planner's cut, with what the plan predicted beside
 * what it took.
 */
#include <math.h>

#include "programs/lab/lab.h"

static const struct program_param param[] = {
    { "m", 1024, 1, 8192, "rows of the left operand" },
    { "n", 1024, 16, 8192, "columns of the right operand, a multiple of 16" },
    { "k", 1024, 16, 8192, "columns of the left operand, a multiple of 16" },
};

static enum emu_status matmul_build(struct graph *g, const uint64_t *value, void **state)
{
    const struct arch *a = graph_arch(g);
    struct program seq = program_sequence(g);
    struct matmul_operand x, y;
    struct lab *l;

    TRY(lab_new(&l));
    *state = l;
    for (int i = 0; i < 3; i++)
        l->size[i] = value[i];
    TRY(plan_matmul(a, (uint32_t)value[0], (uint32_t)value[1], (uint32_t)value[2], 0, a->tiles,
                    a->mem_bytes / 2, &l->plan));
    x = op_matmul_left(g, &l->plan, "a");
    y = op_matmul_right(g, &l->plan, "b");
    l->in[0] = x.matrix;
    l->in[1] = y.matrix;
    l->out = op_matmul(g, seq, &l->plan, x, y, "c");
    graph_keep(g, l->in[0]);
    graph_keep(g, l->in[1]);
    graph_keep(g, l->out);
    graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status matmul_before(struct session *s, void *state)
{
    struct lab *l = state;
    const struct graph *g = session_graph(s);

    l->x = lab_numbers(l->size[0] * l->size[2], 1);
    l->y = lab_numbers(l->size[2] * l->size[1], 2);
    TRY(lab_write(s, g, l->in[0], l->x, l->size[0] * l->size[2]));
    return lab_write(s, g, l->in[1], l->y, l->size[2] * l->size[1]);
}

/* Row i of the product in f64. */
static void multiply_row(const struct lab *l, uint64_t i, double *row)
{
    for (uint64_t c = 0; c < l->size[1]; c++)
        row[c] = 0;
    for (uint64_t k = 0; k < l->size[2]; k++) {
        double x = (double)l->x[i * l->size[2] + k];

        for (uint64_t c = 0; c < l->size[1]; c++)
            row[c] += x * (double)l->y[k * l->size[1] + c];
    }
}

static enum emu_status multiply(struct lab *l)
{
    double *row = emu_alloc(l->size[1], sizeof(*row));

    l->want = emu_alloc(l->size[0] * l->size[1], sizeof(*l->want));
    if (!row || !l->want) {
        emu_free(row);
        return FAIL(NO_MEMORY, "the plain product");
    }
    for (uint64_t i = 0; i < l->size[0]; i++) {
        multiply_row(l, i, row);
        for (uint64_t c = 0; c < l->size[1]; c++)
            l->want[i * l->size[1] + c] = (float)row[c];
    }
    emu_free(row);
    return EMU_OK;
}

static void note_plan(const struct session *s, const struct lab *l, json_t *answer)
{
    const struct arch *a = graph_arch(session_graph(s));
    const struct matmul_plan *p = &l->plan;
    double macs = (double)p->m * p->n * p->k;

    json_object_set_new(
        answer, "plan",
        json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "cut_m", (int)p->sm,
                  "cut_n", (int)p->sn, "cut_k", (int)p->sk, "exchange_cycles",
                  (json_int_t)p->cost.exchange_in, "compute_cycles", (json_int_t)p->cost.compute,
                  "partials_exchange_cycles", (json_int_t)p->cost.exchange_partials,
                  "reduce_cycles", (json_int_t)p->cost.reduce, "rearrange_cycles",
                  (json_int_t)p->cost.rearrange, "sync_cycles", (json_int_t)p->cost.sync,
                  "total_cycles", (json_int_t)p->cost.total));
    lab_note(answer, "percent_of_matrix_peak",
             100 * macs / ((double)session_cycles(s) * a->tiles * a->f16_macs_f16));
}

/* Every partial sum of f16 is rounded once per block of 16 of the sum, at most half a unit of a
 * value below 2^e: the sums of 16 products of numbers below 1 stay below k. The bound takes the
 * largest result and its k / 16 + cut roundings, each at most 2^-11 of it. */
static enum emu_status matmul_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    uint64_t n = l->size[0] * l->size[1];
    double largest = 0;
    float *got;
    enum emu_status st;

    note_plan(s, l, answer);
    TRY(multiply(l));
    for (uint64_t i = 0; i < n; i++)
        largest = fmax(largest, fabs((double)l->want[i]));
    TRY(lab_read(s, session_graph(s), l->out, &got, n));
    st = lab_compare(got, l->want, n,
                     2 * largest * (double)(l->size[2] / 16 + l->plan.sk + 1) * 0x1p-11, answer);
    emu_free(got);
    return st;
}

const struct named_program lab_matmul = {
    .name = "matmul",
    .text = "matrix product in f16, cut over tiles by the planner",
    .param = param,
    .params = EMU_COUNT_OF(param),
    .build = matmul_build,
    .before = matmul_before,
    .after = matmul_after,
    .done = lab_free,
};
