/* pass_group_norm.c - group norms, which files up to version 17 of the operators spell as instance
 * norms: groups become channels of instances, whose result is scaled and shifted by channel.
 *
 *   Reshape to [n][groups][rest], InstanceNormalization, Reshape back, Mul, Add
 */
#include <string.h>

#include "models/pass/op_pass.h"

/* A group norm in small operators. */
struct spelt {
    const struct op_node *norm;
    uint32_t x;            /* old value */
    uint32_t scale, shift; /* old values with one number for each channel */
};

/* Whether a value is a constant with one number for each of `channels` when it is added to or
 * multiplied with [n][channels][..]. */
static int is_by_channel(const struct op_graph *g, uint32_t value, const struct op_shape *to)
{
    const struct op_value *v = &g->value[value];

    if (!op_value_constant_kind(v) || v->shape.rank + 1 < to->rank || v->shape.rank > to->rank ||
        op_shape_count(&v->shape) != to->dim[1])
        return 0;
    return v->shape.dim[v->shape.rank - (to->rank - 1)] == to->dim[1];
}

/* value = other OP a constant by channel, which keeps the other's shape; 0: it is not. */
static int with_channels(const struct op_pass *p, uint32_t value, const char *op, uint32_t *other,
                         uint32_t *numbers)
{
    const struct op_node *n = op_pass_made_by(p, value, op);
    const struct op_shape *to = &p->g->value[value].shape;

    for (unsigned k = 0; n && k < 2; k++) {
        if (is_by_channel(p->g, n->in[k], to) &&
            op_shape_equal(&p->g->value[n->in[1 - k]].shape, to)) {
            *numbers = n->in[k];
            *other = n->in[1 - k];
            return 1;
        }
    }
    return 0;
}

static int spells(const struct op_pass *p, uint32_t value, struct spelt *out)
{
    const struct op_graph *g = p->g;
    const struct op_node *back, *groups;
    uint32_t scaled, y;

    if (g->value[value].shape.rank < 3 || !op_shape_count(&g->value[value].shape) ||
        !with_channels(p, value, "Add", &scaled, &out->shift) ||
        !with_channels(p, scaled, "Mul", &y, &out->scale))
        return 0;
    back = op_pass_made_by(p, y, "Reshape");
    out->norm = back ? op_pass_made_by(p, back->in[0], "InstanceNormalization") : NULL;
    groups = out->norm ? op_pass_made_by(p, out->norm->in[0], "Reshape") : NULL;
    if (!groups || !op_value_constant_kind(&g->value[out->norm->in[1]]) ||
        !op_value_constant_kind(&g->value[out->norm->in[2]]))
        return 0;
    out->x = groups->in[0];
    return op_shape_equal(&g->value[out->x].shape, &g->value[value].shape) &&
           g->value[out->norm->in[0]].shape.dim[0] == g->value[value].shape.dim[0] &&
           g->value[value].shape.dim[1] % g->value[out->norm->in[0]].shape.dim[1] == 0;
}

/* Scale and shift of channels, with those that the instance norm has for each group. */
static enum emu_status numbers_of(const struct op_pass *p, const struct spelt *s, uint32_t out[2])
{
    const uint32_t value[4] = { s->scale, s->shift, s->norm->in[1], s->norm->in[2] };
    struct op_tensor t[4];
    enum emu_status st = EMU_OK;

    memset(t, 0, sizeof(t));
    for (unsigned k = 0; k < 4 && st == EMU_OK; k++)
        st = op_value_read(p->g, value[k], &t[k]);
    if (st == EMU_OK) {
        uint32_t channels = (uint32_t)op_shape_count(&t[0].shape);
        uint32_t width = channels / t[2].shape.dim[0];

        for (uint32_t c = 0; c < channels; c++) {
            t[1].f[c] += t[0].f[c] * t[3].f[c / width];
            t[0].f[c] *= t[2].f[c / width];
        }
        for (unsigned k = 0; k < 2; k++)
            t[k].shape = (struct op_shape){ t[k].shape.type, 1, { channels } };
    }
    for (unsigned k = 0; k < 2 && st == EMU_OK; k++)
        st = op_value_constant(p->g, NULL, &t[k], &out[k]);
    for (unsigned k = 0; k < 4; k++)
        op_tensor_free(&t[k]);
    return st;
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    struct spelt s;
    uint32_t by;

    if (!op_node_is(n, "Add") || !spells(p, n->out[0], &s))
        return EMU_OK;
    {
        const struct op_call c = op_attrs_of(p->g, s.norm);
        const struct op_named_attr attr[] = {
            { "epsilon", { .kind = OP_ATTR_FLOAT, .f = op_float(&c, "epsilon") } },
            { "num_groups", { .kind = OP_ATTR_INT, .i = p->g->value[s.norm->in[0]].shape.dim[1] } },
        };
        uint32_t in[3] = { op_pass_now(p, s.x) };
        const struct op_request r = { .op = "GroupNormalization",
                                      .name = n->name,
                                      .block = n->block,
                                      .in = in,
                                      .ins = 3,
                                      .outs = 1,
                                      .attr = attr,
                                      .attrs = EMU_COUNT_OF(attr) };

        TRY(numbers_of(p, &s, in + 1));
        TRY(op_node(p->g, &r, &by));
    }
    op_pass_replace(p, n->out[0], by);
    *replaced = 1;
    return EMU_OK;
}

enum emu_status pass_group_norms(struct op_graph *g)
{
    return op_pass_run(g, visit);
}
