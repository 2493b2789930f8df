/* row_norm_op.c - norms of the rows of a matrix: sums, squares of deviations from the means, scale
 * and shift; everything in f32. */
#include "programs/compiler/base/arena.h"
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/plan_cost.h"
#include "programs/library/rows/row_cut.h"

static const struct typed_kernels deviation = FLOAT_KERNELS(row_deviation);
static const struct typed_kernels by_rows = FLOAT_KERNELS(row_norm);
static const struct typed_kernels by_columns = FLOAT_KERNELS(row_norm_columns);

static uint64_t norm_cycles(const struct arch *a, const struct row_cut *c,
                            const struct row_piece *most, uint32_t p)
{
    enum elem e = c->lanes == 4 ? ELEM_F16 : ELEM_F32;

    return row_fold_cycles(a, ROW_FOLD_SUM, c->lanes, most) +
           KERNEL_CYCLES(row_deviation, deviation.of[e], a, .n = most->n, .rows = most->rows,
                         .parts = most->parts, .step = most->step, .each = most->each, .p = p) +
           KERNEL_CYCLES(row_norm, by_columns.of[e], a, .n = most->n, .rows = most->rows,
                         .parts = most->parts, .step = most->step, .each = most->each, .p = p);
}

struct row_norm {
    struct graph *g;
    struct program seq;
    struct row_cut cut;
    struct tensor x, sum, squares; /* filled rows; partial results */
    struct tensor *params;         /* owned; by column: of each piece, by row: of all, [copies][] */
    float inverse, eps;
};

static void deviations(struct row_norm *m)
{
    const struct codelet *codelet = kernel_of_type(m->g, &deviation, ss_tensor_elem(m->g, m->x));
    uint32_t cs = op_compute_set(m->g, m->seq, "squares"), all = ss_tensor_shape(m->g, m->sum)[1];

    m->squares = row_partials(m->g, &m->cut, "squares");
    for (uint32_t i = 0; i < row_pieces(&m->cut); i++) {
        struct row_piece p = row_piece(&m->cut, i);

        VERTEX_OF(row_deviation, codelet, m->g, cs, p.tile, .n = p.n, .rows = p.rows,
                  .parts = p.parts, .step = p.step, .each = p.each, .x = row_take(m->g, &p, m->x),
                  .sum = row_partials_all(m->g, &p, m->sum),
                  .out = row_partials_take(m->g, &m->cut, i, m->squares), .p = all,
                  .inverse = m->inverse);
    }
}

/* ---- scale and shift ---- */

/* Of every two columns of a piece two scales, then two shifts. A copy for each group. */
static enum emu_status column_params(struct row_norm *m, uint32_t piece, const float *gamma,
                                     const float *beta)
{
    struct row_piece p = row_piece(&m->cut, piece);
    uint32_t shape[2] = { m->cut.groups, 2 * (p.c1 - p.c0) };
    float *value = emu_alloc(shape[1], sizeof(*value));

    if (!value)
        return FAIL(NO_MEMORY, "%u scales and shifts", shape[1]);
    for (uint32_t k = 0; k < p.n; k++) {
        value[k / 2 * 4 + k % 2] = gamma ? gamma[p.c0 + k] : 1;
        value[k / 2 * 4 + k % 2 + 2] = beta ? beta[p.c0 + k] : 0;
    }
    m->params[piece] = ss_graph_constant_repeated(m->g, ELEM_F32, 2, shape, value, "params");
    ss_free(value);
    for (uint32_t i = 0; i < m->cut.groups; i++)
        ss_graph_map(m->g, ss_tensor_index(m->g, m->params[piece], i),
                     row_piece(&m->cut, i * m->cut.pieces + piece).tile);
    return EMU_OK;
}

/* Scale and shift of each row. A copy for each piece. */
static enum emu_status row_params(struct row_norm *m, const float *gamma, const float *beta)
{
    uint32_t shape[3] = { m->cut.pieces, m->cut.rows, 2 };
    float *value = emu_alloc((size_t)m->cut.rows * 2, sizeof(*value));

    if (!value)
        return FAIL(NO_MEMORY, "scales and shifts of %u rows", m->cut.rows);
    for (uint32_t r = 0; r < m->cut.rows; r++) {
        value[2 * r] = gamma ? gamma[r] : 1;
        value[2 * r + 1] = beta ? beta[r] : 0;
    }
    m->params[0] = ss_graph_constant_repeated(m->g, ELEM_F32, 3, shape, value, "params");
    ss_free(value);
    for (uint32_t i = 0; i < row_pieces(&m->cut); i++) {
        struct row_piece p = row_piece(&m->cut, i);
        struct tensor copy = ss_tensor_index(m->g, m->params[0], i % m->cut.pieces);

        ss_graph_map(m->g, ss_tensor_slice(m->g, copy, 0, p.r0, p.r1), p.tile);
    }
    return EMU_OK;
}

/* What piece i needs of them; flat. */
static struct tensor params_take(struct row_norm *m, uint32_t i, enum row_axis axis)
{
    uint32_t k = i % m->cut.pieces;
    struct row_piece p = row_piece(&m->cut, i);
    struct tensor t;

    if (axis == ROW_BY_COLUMN)
        return ss_tensor_index(m->g, m->params[k], i / m->cut.pieces);
    t = ss_tensor_slice(m->g, ss_tensor_index(m->g, m->params[0], k), 0, p.r0, p.r1);
    return ss_tensor_flatten(m->g, t);
}

static enum emu_status make_params(struct row_norm *m, enum row_axis axis, const float *gamma,
                                   const float *beta)
{
    m->params = emu_alloc(m->cut.pieces, sizeof(*m->params));
    if (!m->params)
        return FAIL(NO_MEMORY, "%u pieces", m->cut.pieces);
    if (axis == ROW_BY_ROW)
        return row_params(m, gamma, beta);
    for (uint32_t k = 0; k < m->cut.pieces; k++)
        TRY(column_params(m, k, gamma, beta));
    return EMU_OK;
}

static struct tensor apply(struct row_norm *m, enum row_axis axis)
{
    enum elem e = ss_tensor_elem(m->g, m->x);
    const struct codelet *codelet =
        kernel_of_type(m->g, axis == ROW_BY_ROW ? &by_rows : &by_columns, e);
    uint32_t cs = op_compute_set(m->g, m->seq, "norm"), all = ss_tensor_shape(m->g, m->sum)[1];
    struct tensor y = row_variable(m->g, &m->cut, e, "y");

    for (uint32_t i = 0; i < row_pieces(&m->cut); i++) {
        struct row_piece p = row_piece(&m->cut, i);

        VERTEX_OF(row_norm, codelet, m->g, cs, p.tile, .n = p.n, .rows = p.rows, .parts = p.parts,
                  .step = p.step, .each = p.each, .x = row_take(m->g, &p, m->x),
                  .y = row_take(m->g, &p, y), .sum = row_partials_all(m->g, &p, m->sum),
                  .squares = row_partials_all(m->g, &p, m->squares),
                  .params = params_take(m, i, axis), .p = all, .inverse = m->inverse,
                  .eps = m->eps);
    }
    return y;
}

struct tensor ss_op_row_norm(struct graph *g, struct program seq, struct tensor t,
                             enum row_axis axis, const float *gamma, const float *beta, float eps,
                             const char *name)
{
    struct row_norm m = { .g = g, .seq = seq, .eps = eps };
    struct tensor y = t;
    enum emu_status s;

    if (!row_operand(g, t, name))
        return t;
    if (!gamma && !beta)
        axis = ROW_BY_ROW; /* the same, with less to keep */
    ss_graph_push(g, name);
    m.cut = row_cut_choose(g, t, norm_cycles, 2);
    m.inverse = (float)(1.0 / m.cut.n);
    m.x = row_filled(g, &m.cut, t);
    m.sum = row_fold(g, seq, ROW_FOLD_SUM, &m.cut, m.x, "sums");
    m.sum = row_join(g, seq, ROW_FOLD_SUM, m.sum, ROW_MOST_PARTIALS, "join");
    deviations(&m);
    m.squares = row_join(g, seq, ROW_FOLD_SUM, m.squares, ROW_MOST_PARTIALS, "join");
    s = make_params(&m, axis, gamma, beta);
    if (s == EMU_OK)
        y = row_real(g, &m.cut, apply(&m, axis));
    else
        ss_graph_fail(g, s, "%s: %s", name, ss_error());
    ss_graph_pop(g);
    ss_free(m.params);
    return y;
}
