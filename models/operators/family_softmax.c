/* family_softmax.c - Softmax, LogSoftmax and Hardmax along one axis. */
#include <math.h>

#include "models/operators/op_exp.h"
#include "models/operators/op_families.h"
#include "models/operators/op_lanes.h"

static enum emu_status softmax_infer(struct op_call *c)
{
    unsigned axis;

    c->out[0] = *c->in[0];
    return op_axis(c, op_int(c, "axis"), c->in[0]->rank, &axis);
}

/* The first of the largest. */
static uint64_t largest(const double *x, uint64_t n)
{
    uint64_t best = 0;

    for (uint64_t k = 1; k < n; k++)
        best = x[k] > x[best] ? k : best;
    return best;
}

/* In place. The largest is taken out first, so that no exponential overflows; a lane of -infinity
 * is NaN. */
static void softmax(double *x, uint64_t n, int logarithm)
{
    double m = x[largest(x, n)], sum = 0;

    for (uint64_t k = 0; k < n; k++) {
        x[k] -= m;
        sum += op_exp(x[k]);
    }
    for (uint64_t k = 0; k < n; k++)
        x[k] = logarithm ? x[k] - log(sum) : op_exp(x[k]) / sum;
}

static void hardmax(double *x, uint64_t n)
{
    uint64_t best = largest(x, n);

    for (uint64_t k = 0; k < n; k++)
        x[k] = k == best;
}

static enum emu_status softmax_ref(struct op_call *c, const struct op_tensor *const *in,
                                   struct op_tensor *out)
{
    struct op_lanes l;
    enum emu_status s;
    unsigned axis;

    TRY(op_axis(c, op_int(c, "axis"), c->in[0]->rank, &axis));
    if (!op_shape_count(c->in[0]))
        return EMU_OK;
    s = op_lanes_new(c->in[0], 1u << axis, &l);
    for (uint64_t k = 0; s == EMU_OK && k < l.count; k++) {
        op_lane_read(&l, k, in[0]);
        if (op_named(c, OP_Hardmax))
            hardmax(l.f, l.length);
        else
            softmax(l.f, l.length, op_named(c, OP_LogSoftmax));
        op_lane_write(&l, k, out);
    }
    op_lanes_free(&l);
    return s;
}

const struct op_family family_softmax = { .infer = softmax_infer,
                                          .ref = softmax_ref,
                                          .gradient = gradient_softmax_node };

/* --- older versions ----------------------------------------------------------------------- */

/* One node of the newest row that reads `in` and has an integer attribute. */
static enum emu_status with_axis(struct op_graph *g, const struct op_request *like, const char *op,
                                 uint32_t in, int64_t axis, uint32_t *out)
{
    const struct op_named_attr attr = { "axis", { .kind = OP_ATTR_INT, .i = axis } };
    struct op_request now = *like;

    now.op = op;
    now.version = 0;
    now.in = &in;
    now.attr = &attr;
    now.attrs = 1;
    return op_node(g, &now, out);
}

/* Before 13, all dimensions from the axis on were one: Flatten, the operator, Reshape. */
enum emu_status upgrade_softmax(struct op_graph *g, const struct op_request *r, uint32_t *out)
{
    const struct op_shape s = g->value[r->in[0]].shape;
    int64_t axis = op_request_attr(r, "axis").i, from = axis < 0 ? axis + s.rank : axis;
    struct op_request part = { .block = r->block, .ins = 1, .outs = 1 };
    uint32_t flat, soft;

    if (from < 0 || from > s.rank)
        return op_node_refuse(g, r, out, "axis %lld is not one of %u dimensions", (long long)axis,
                              s.rank);
    if (from + 1 == s.rank || (s.rank && !op_shape_count(&s)))
        return with_axis(g, r, r->op, r->in[0], -1, out);
    TRY(with_axis(g, &part, op_name(OP_Flatten), r->in[0], from, &flat));
    part.name = r->name;
    TRY(with_axis(g, &part, r->op, flat, -1, &soft));
    return op_reshape(g, r, soft, &s, out);
}
