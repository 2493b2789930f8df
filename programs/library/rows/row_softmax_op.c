/* row_softmax_op.c - softmax of the rows of a matrix, and its logarithm: maxima, exponentials and
 * their sums, quotients; sums in f32. */
#include "programs/library/kernel/kernel_choice.h"
#include "programs/library/layout/plan_cost.h"
#include "programs/library/rows/row_cut.h"

static const struct typed_kernels exponential = FLOAT_KERNELS(row_exp);
static const struct typed_kernels scale = FLOAT_KERNELS(row_scale);
static const struct typed_kernels logarithm = FLOAT_KERNELS(row_log);

static uint64_t softmax_cycles(const struct arch *a, const struct row_cut *c,
                               const struct row_piece *most, uint32_t p)
{
    enum elem e = c->lanes == 4 ? ELEM_F16 : ELEM_F32;

    return row_fold_cycles(a, ROW_FOLD_MAX, c->lanes, most) +
           KERNEL_CYCLES(row_exp, exponential.of[e], a, .n = most->n, .rows = most->rows,
                         .parts = most->parts, .step = most->step, .each = most->each, .p = p) +
           KERNEL_CYCLES(row_scale, scale.of[e], a, .n = most->n, .rows = most->rows,
                         .parts = most->parts, .step = most->step, .each = most->each, .p = p);
}

struct softmax {
    struct graph *g;
    struct program seq;
    struct row_cut cut;
    struct tensor x, max; /* filled rows; the largest of each, as partial results */
    struct tensor y, sum; /* e^(x - max); its sums, as partial results */
};

static void exponentials(struct softmax *s)
{
    const struct codelet *codelet = kernel_of_type(s->g, &exponential, ss_tensor_elem(s->g, s->x));
    uint32_t cs = op_compute_set(s->g, s->seq, "exp"), all = ss_tensor_shape(s->g, s->max)[1];

    s->y = row_variable(s->g, &s->cut, ss_tensor_elem(s->g, s->x), "exp");
    s->sum = row_partials(s->g, &s->cut, "sums");
    for (uint32_t i = 0; i < row_pieces(&s->cut); i++) {
        struct row_piece p = row_piece(&s->cut, i);

        VERTEX_OF(row_exp, codelet, s->g, cs, p.tile, .n = p.n, .rows = p.rows, .parts = p.parts,
                  .step = p.step, .each = p.each, .x = row_take(s->g, &p, s->x),
                  .y = row_take(s->g, &p, s->y), .max = row_partials_all(s->g, &p, s->max),
                  .sum = row_partials_take(s->g, &s->cut, i, s->sum), .p = all);
    }
}

/* The steps that end a softmax and its logarithm. */
static struct tensor quotients(struct softmax *s, enum elem e)
{
    const struct codelet *codelet = kernel_of_type(s->g, &scale, e);
    uint32_t cs = op_compute_set(s->g, s->seq, "scale"), all = ss_tensor_shape(s->g, s->sum)[1];
    struct tensor out = row_variable(s->g, &s->cut, e, "y");

    for (uint32_t i = 0; i < row_pieces(&s->cut); i++) {
        struct row_piece p = row_piece(&s->cut, i);

        VERTEX_OF(row_scale, codelet, s->g, cs, p.tile, .n = p.n, .rows = p.rows, .parts = p.parts,
                  .step = p.step, .each = p.each, .x = row_take(s->g, &p, s->y),
                  .y = row_take(s->g, &p, out), .sum = row_partials_all(s->g, &p, s->sum),
                  .p = all);
    }
    return out;
}

static struct tensor logarithms(struct softmax *s, enum elem e)
{
    const struct codelet *codelet = kernel_of_type(s->g, &logarithm, e);
    uint32_t cs = op_compute_set(s->g, s->seq, "log"), all = ss_tensor_shape(s->g, s->sum)[1];
    struct tensor out = row_variable(s->g, &s->cut, e, "y");

    for (uint32_t i = 0; i < row_pieces(&s->cut); i++) {
        struct row_piece p = row_piece(&s->cut, i);

        VERTEX_OF(row_log, codelet, s->g, cs, p.tile, .n = p.n, .rows = p.rows, .parts = p.parts,
                  .step = p.step, .each = p.each, .x = row_take(s->g, &p, s->x),
                  .y = row_take(s->g, &p, out), .max = row_partials_all(s->g, &p, s->max),
                  .sum = row_partials_all(s->g, &p, s->sum), .p = all);
    }
    return out;
}

struct tensor ss_op_row_softmax(struct graph *g, struct program seq, struct tensor t,
                                enum row_softmax kind, const char *name)
{
    struct softmax s = { .g = g, .seq = seq };
    struct tensor y;

    if (!row_operand(g, t, name))
        return t;
    ss_graph_push(g, name);
    s.cut = row_cut_choose(g, t, softmax_cycles, 2);
    s.x = row_filled(g, &s.cut, t);
    s.max = row_fold(g, seq, ROW_FOLD_MAX, &s.cut, s.x, "max");
    s.max = row_join(g, seq, ROW_FOLD_MAX, s.max, ROW_MOST_PARTIALS, "join");
    exponentials(&s);
    s.sum = row_join(g, seq, ROW_FOLD_SUM, s.sum, ROW_MOST_PARTIALS, "join");
    y = kind == ROW_LOG_SOFTMAX ? logarithms(&s, ss_tensor_elem(g, t))
                                : quotients(&s, ss_tensor_elem(g, t));
    ss_graph_pop(g);
    return row_real(g, &s.cut, y);
}
