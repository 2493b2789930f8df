/* lab_matmul.c - a matrix product in f16 by the planner's cut, with what the plan predicted beside
 * what it took.
 */
#include <math.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "programs/lab/lab.h"

enum { M, N, K, BLOCK = 16 };

static const struct program_param param[] = {
    { "m", 1024, 1, 8192, "rows of the left operand" },
    { "n", 1024, 16, 8192, "columns of the right operand, a multiple of 16" },
    { "k", 1024, 16, 8192, "columns of the left operand, a multiple of 16" },
};

void lab_matmul_defaults(const struct arch *a, uint64_t *value)
{
    for (int i = 0; i < 3; i++)
        value[i] = lab_scaled(a, value[i], 2, 16);
}

static enum emu_status matmul_build(struct graph *g, const uint64_t *value, void **state)
{
    const struct arch *a = ss_graph_arch(g);
    struct program seq = ss_program_sequence(g);
    struct matmul_operand x, y;
    struct lab *l;

    TRY(lab_new(&l));
    *state = l;
    for (int i = M; i <= K; i++)
        l->size[i] = value[i];
    TRY(ss_plan_matmul(a, (uint32_t)value[M], (uint32_t)value[N], (uint32_t)value[K], 0, a->tiles,
                       a->mem_bytes / 2, &l->plan));
    x = ss_op_matmul_left(g, &l->plan, "a");
    y = ss_op_matmul_right(g, &l->plan, "b");
    l->in[0] = x.matrix;
    l->in[1] = y.matrix;
    l->out = ss_op_matmul(g, seq, &l->plan, x, y, "c");
    ss_graph_keep(g, l->in[0]);
    ss_graph_keep(g, l->in[1]);
    ss_graph_keep(g, l->out);
    ss_graph_set_program(g, seq);
    return EMU_OK;
}

static enum emu_status matmul_before(struct session *s, void *state)
{
    struct lab *l = state;
    const struct graph *g = ss_session_graph(s);

    l->x = lab_numbers(l->size[M] * l->size[K], 1, 10);
    l->y = lab_numbers(l->size[K] * l->size[N], 2, 10);
    TRY(lab_write(s, g, l->in[0], l->x, l->size[M] * l->size[K]));
    return lab_write(s, g, l->in[1], l->y, l->size[K] * l->size[N]);
}

/* First block of 16 of the sum that slice i of the plan's cut takes. */
static uint64_t slice_at(const struct lab *l, uint64_t i)
{
    return l->size[K] / BLOCK * i / l->plan.sk;
}

/* Row i of the product in f64, and how far f16 may be from it: sums within a block of 16 are exact
 * enough to forget, every block rounds the partial sum of its slice once, the sum of the slices is
 * rounded once; half a unit of a number v is at most |v| 2^-11. Twice that, for what the roundings
 * do to each other. */
static void multiply_row(const struct lab *l, uint64_t i, double *part, double *row, float *bound)
{
    uint64_t n = l->size[N];

    for (uint64_t c = 0; c < n; c++)
        row[c] = bound[c] = 0;
    for (uint64_t slice = 0; slice < l->plan.sk; slice++) {
        memset(part, 0, n * sizeof(*part));
        for (uint64_t k = slice_at(l, slice) * BLOCK; k < slice_at(l, slice + 1) * BLOCK; k++) {
            double x = (double)l->x[i * l->size[K] + k];

            for (uint64_t c = 0; c < n; c++)
                part[c] += x * (double)l->y[k * n + c];
            for (uint64_t c = 0; k % BLOCK == BLOCK - 1 && c < n; c++)
                bound[c] += (float)(fabs(part[c]) * 0x1p-10);
        }
        for (uint64_t c = 0; c < n; c++)
            row[c] += part[c];
    }
    for (uint64_t c = 0; c < n; c++)
        bound[c] += (float)(fabs(row[c]) * 0x1p-10);
}

/* The product into l->want, the bounds into *bound, owned by the caller. */
static enum emu_status multiply(struct lab *l, float **bound)
{
    uint64_t n = l->size[N];
    double *row = emu_alloc(2 * n, sizeof(*row));

    l->want = emu_alloc(l->size[M] * n, sizeof(*l->want));
    *bound = emu_alloc(l->size[M] * n, sizeof(**bound));
    if (!row || !l->want || !*bound) {
        ss_free(row);
        return FAIL(NO_MEMORY, "the plain product");
    }
    for (uint64_t i = 0; i < l->size[M]; i++) {
        multiply_row(l, i, row + n, row, *bound + i * n);
        for (uint64_t c = 0; c < n; c++)
            l->want[i * n + c] = (float)row[c];
    }
    ss_free(row);
    return EMU_OK;
}

static void note_plan(const struct session *s, const struct lab *l, json_t *answer)
{
    const struct arch *a = ss_graph_arch(ss_session_graph(s));
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
             100 * macs / ((double)ss_session_cycles(s) * a->tiles * arch_f16_macs_f16(a)));
}

static enum emu_status matmul_after(struct session *s, void *state, json_t *answer)
{
    struct lab *l = state;
    uint64_t n = l->size[M] * l->size[N];
    float *got = NULL, *bound = NULL;
    enum emu_status st = multiply(l, &bound);

    note_plan(s, l, answer);
    if (st == EMU_OK)
        st = lab_read(s, ss_session_graph(s), l->out, &got, n);
    if (st == EMU_OK)
        st = lab_compare_each(got, l->want, bound, n, answer);
    ss_free(bound);
    ss_free(got);
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
