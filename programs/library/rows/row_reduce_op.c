/* row_reduce_op.c - sums, means, maxima, minima, products of the rows of a matrix.
 *
 * Partial results of the rows are a matrix again, whose rows are reduced in the same way until one
 * result is left; the first step with one tile for a row ends the exchanges. */
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/plan_cost.h"
#include "programs/library/rows/row_cut.h"

static const struct typed_kernels fold[] = {
    [ROW_FOLD_SUM] = FLOAT_KERNELS(row_sum),   [ROW_FOLD_SUMSQ] = FLOAT_KERNELS(row_sumsq),
    [ROW_FOLD_MAX] = FLOAT_KERNELS(row_max),   [ROW_FOLD_MIN] = FLOAT_KERNELS(row_min),
    [ROW_FOLD_PROD] = FLOAT_KERNELS(row_prod),
};

static const enum row_fold fold_of[] = {
    [ROW_OP_SUM] = ROW_FOLD_SUM, [ROW_OP_MEAN] = ROW_FOLD_SUM,  [ROW_OP_MAX] = ROW_FOLD_MAX,
    [ROW_OP_MIN] = ROW_FOLD_MIN, [ROW_OP_PROD] = ROW_FOLD_PROD, [ROW_OP_SUMSQ] = ROW_FOLD_SUMSQ,
};

_Static_assert(EMU_COUNT_OF(fold_of) == ROW_OP_COUNT, "the folds of reductions");

struct tensor row_fold(struct graph *g, struct program seq, enum row_fold op,
                       const struct row_cut *c, struct tensor x, const char *name)
{
    const struct codelet *codelet = kernel_of_type(g, &fold[op], ss_tensor_elem(g, x));
    struct tensor out = row_partials(g, c, name);
    uint32_t cs = op_compute_set(g, seq, name);

    for (uint32_t i = 0; i < row_pieces(c); i++) {
        struct row_piece p = row_piece(c, i);

        VERTEX_OF(row_fold, codelet, g, cs, p.tile, .n = p.n, .rows = p.rows, .parts = p.parts,
                  .step = p.step, .each = p.each, .x = row_take(g, &p, x),
                  .out = row_partials_take(g, c, i, out));
    }
    return out;
}

uint64_t row_fold_cycles(const struct arch *a, enum row_fold op, uint32_t lanes,
                         const struct row_piece *p)
{
    const struct codelet *codelet = fold[op].of[lanes == 4 ? ELEM_F16 : ELEM_F32];

    return KERNEL_CYCLES(row_fold, codelet, a, .n = p->n, .rows = p->rows, .parts = p->parts,
                         .step = p->step, .each = p->each);
}

/* Of a reduction: the fold of a piece, then of its row's partial results. All kinds are about
 * equal. */
static uint64_t reduce_cycles(const struct arch *a, const struct row_cut *c,
                              const struct row_piece *most, uint32_t p)
{
    struct row_piece last = {
        .n = p, .rows = most->rows, .parts = 1, .step = c->workers, .each = ceil_div(p, 2)
    };
    uint64_t cycles = row_fold_cycles(a, ROW_FOLD_SUM, c->lanes, most);

    return cycles + (p > 1 ? row_fold_cycles(a, ROW_FOLD_SUM, 2, &last) : 0);
}

static struct tensor reduce_once(struct graph *g, struct program seq, enum row_fold op,
                                 struct tensor t, const char *name)
{
    struct row_cut c = row_cut_choose(g, t, reduce_cycles, 1);

    return row_fold(g, seq, op, &c, row_filled(g, &c, t), name);
}

struct tensor row_join(struct graph *g, struct program seq, enum row_fold op, struct tensor partial,
                       uint32_t most, const char *name)
{
    enum row_fold next = op == ROW_FOLD_SUMSQ ? ROW_FOLD_SUM : op;

    while (ss_graph_status(g) == EMU_OK && ss_tensor_shape(g, partial)[1] > most)
        partial = reduce_once(g, seq, next, partial, name);
    return partial;
}

struct tensor ss_op_row_reduce(struct graph *g, struct program seq, enum row_op op, struct tensor t,
                               enum elem to, const char *name)
{
    struct tensor y;
    uint32_t n;

    if (!row_operand(g, t, name))
        return t;
    n = ss_tensor_shape(g, t)[1];
    ss_graph_push(g, name);
    y = reduce_once(g, seq, fold_of[op], t, "parts");
    y = row_join(g, seq, fold_of[op], y, 1, "rows");
    y = ss_tensor_flatten(g, y);
    if (op == ROW_OP_MEAN)
        y = ss_op_binary_scalar(g, seq, BINARY_MUL, y, (float)(1.0 / n), "mean");
    if (to != ELEM_F32)
        y = ss_op_cast(g, seq, y, to, "cast");
    ss_graph_pop(g);
    return y;
}
