/* pass_group_norm.c - group norms, which files up to version 17 of the operators spell as instance
 * norms: groups become channels of instances, whose result is scaled and shifted by channel.
 *
 *   Reshape to [n][groups][rest], InstanceNormalization, Reshape back, Mul, Add
 *
 * Before and behind the norm of strided groups, Reshape and Transpose bring their channels together
 * and back. Parameters that are trained stay parameters, whose shape a Reshape changes.
 */
#include <string.h>

#include "models/operators/op_lanes.h"
#include "models/pass/op_pass.h"

/* A group norm in small operators. */
struct spelt {
    const struct op_node *norm;
    uint32_t x;            /* old value */
    uint32_t scale, shift; /* old values with one number for each channel */
    int strided;
};

/* Constants, and parameters that changed their shape at most. */
static int is_parameter(const struct op_pass *p, uint32_t value)
{
    uint32_t by = p->producer[value];
    const struct op_node *n = by == OP_NONE ? NULL : &p->old[by];

    if (op_value_constant_kind(&p->g->value[value]))
        return 1;
    return n && (op_node_is(n, OP_Reshape) || op_node_is(n, OP_Unsqueeze)) &&
           op_value_constant_kind(&p->g->value[n->in[0]]);
}

/* Whether a value is a parameter with one number for each of `channels` when it is added to or
 * multiplied with [n][channels][..]. */
static int is_by_channel(const struct op_pass *p, uint32_t value, const struct op_shape *to)
{
    const struct op_value *v = &p->g->value[value];

    if (!is_parameter(p, value) || v->shape.rank + 1 < to->rank || v->shape.rank > to->rank ||
        op_shape_count(&v->shape) != to->dim[1])
        return 0;
    return v->shape.dim[v->shape.rank - (to->rank - 1)] == to->dim[1];
}

/* value = other OP a constant by channel, which keeps the other's shape; 0: it is not. */
static int with_channels(const struct op_pass *p, uint32_t value, enum op_code op, uint32_t *other,
                         uint32_t *numbers)
{
    const struct op_node *n = op_pass_made_by(p, value, op);
    const struct op_shape *to = &p->g->value[value].shape;

    for (unsigned k = 0; n && k < 2; k++) {
        if (is_by_channel(p, n->in[k], to) &&
            op_shape_equal(&p->g->value[n->in[1 - k]].shape, to)) {
            *numbers = n->in[k];
            *other = n->in[1 - k];
            return 1;
        }
    }
    return 0;
}

/* What changes the two middle ones of four dimensions of a value: its input; OP_NONE: nothing. */
static uint32_t swapped(const struct op_pass *p, uint32_t value)
{
    const struct op_node *n = op_pass_made_by(p, value, OP_Transpose);
    const int64_t *perm;
    struct op_call c;

    if (!n)
        return OP_NONE;
    c = op_attrs_of(p->g, n);
    if (op_ints(&c, "perm", &perm) != 4)
        return OP_NONE;
    return perm[0] == 0 && perm[1] == 2 && perm[2] == 1 ? n->in[0] : OP_NONE;
}

/* What a Reshape reads that makes a value; OP_NONE: none does. */
static uint32_t reshaped(const struct op_pass *p, uint32_t value)
{
    const struct op_node *n = value == OP_NONE ? NULL : op_pass_made_by(p, value, OP_Reshape);

    return n ? n->in[0] : OP_NONE;
}

/* Whether `value`, of four dimensions, is how x is seen by groups that are strided or not. */
static int is_seen_by(const struct op_pass *p, uint32_t value, const struct op_shape *x,
                      uint32_t groups, int strided)
{
    struct op_shape want;
    const struct op_shape *have = &p->g->value[value].shape;

    op_lanes_of_groups(x, groups, strided, &want);
    return have->rank == 4 && !memcmp(have->dim, want.dim, 4 * sizeof(*want.dim));
}

/* From the result y of a norm's shape back to the instance norm, and from that to x. */
static int finds_norm(const struct op_pass *p, uint32_t y, struct spelt *out)
{
    const struct op_graph *g = p->g;
    uint32_t behind = reshaped(p, y), apart = behind == OP_NONE ? OP_NONE : swapped(p, behind);
    uint32_t made = apart == OP_NONE ? behind : reshaped(p, apart), groups, seen;

    out->norm = made == OP_NONE ? NULL : op_pass_made_by(p, made, OP_InstanceNormalization);
    if (!out->norm)
        return 0;
    groups = g->value[out->norm->in[0]].shape.dim[1];
    out->strided = apart != OP_NONE;
    out->x = reshaped(p, out->norm->in[0]);
    if (out->x == OP_NONE || g->value[y].shape.dim[1] % groups)
        return 0;
    if (!out->strided)
        return 1;
    seen = swapped(p, out->x);
    out->x = reshaped(p, seen);
    return out->x != OP_NONE && is_seen_by(p, seen, &g->value[y].shape, groups, 1) &&
           is_seen_by(p, apart, &g->value[y].shape, groups, 0);
}

static int spells(const struct op_pass *p, uint32_t value, struct spelt *out)
{
    const struct op_graph *g = p->g;
    uint32_t scaled, y;

    if (g->value[value].shape.rank < 3 || !op_shape_count(&g->value[value].shape) ||
        !with_channels(p, value, OP_Add, &scaled, &out->shift) ||
        !with_channels(p, scaled, OP_Mul, &y, &out->scale) || !finds_norm(p, y, out))
        return 0;
    if (!op_value_settled(g, out->norm->in[1]) || !op_value_settled(g, out->norm->in[2]))
        return 0;
    return op_shape_equal(&g->value[out->x].shape, &g->value[value].shape) &&
           g->value[out->norm->in[0]].shape.dim[0] == g->value[value].shape.dim[0];
}

/* Whether all numbers of a constant are `number`. */
static enum emu_status is_all(const struct op_graph *g, uint32_t value, double number, int *out)
{
    struct op_tensor t;

    TRY(op_value_read(g, value, &t));
    *out = 1;
    for (uint64_t k = 0; k < op_shape_count(&t.shape); k++)
        *out &= t.f[k] == number;
    op_tensor_free(&t);
    return EMU_OK;
}

/* Parameters that change, as lists; *plain: 0 if the instance norm has numbers of its own, which no
 * list can have as well. */
static enum emu_status lists_of(struct op_pass *p, const struct spelt *s, const struct op_node *n,
                                uint32_t out[2], int *plain)
{
    const uint32_t value[2] = { s->scale, s->shift };
    const struct op_request r = { .block = n->block, .outs = 1 };

    for (unsigned k = 0; k < 2; k++) {
        const struct op_shape *v = &p->g->value[value[k]].shape;
        const struct op_shape list = { v->type, 1, { (uint32_t)op_shape_count(v) } };

        TRY(is_all(p->g, s->norm->in[1 + k], !k, plain));
        if (!*plain)
            return EMU_OK;
        TRY(op_reshape(p->g, &r, op_pass_now(p, value[k]), &list, &out[k]));
    }
    return EMU_OK;
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
        uint32_t groups = t[2].shape.dim[0], width = channels / groups;

        for (uint32_t c = 0; c < channels; c++) {
            uint32_t group = s->strided ? c % groups : c / width;

            t[1].f[c] += t[0].f[c] * t[3].f[group];
            t[0].f[c] *= t[2].f[group];
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
    uint32_t by, in[3];
    int known, plain = 1;

    if (!op_node_is(n, OP_Add) || !spells(p, n->out[0], &s))
        return EMU_OK;
    known = op_value_settled(p->g, s.scale) && op_value_settled(p->g, s.shift);
    TRY(known ? numbers_of(p, &s, in + 1) : lists_of(p, &s, n, in + 1, &plain));
    if (!plain)
        return EMU_OK;
    in[0] = op_pass_now(p, s.x);
    {
        const struct op_call c = op_attrs_of(p->g, s.norm);
        const struct op_named_attr attr[] = {
            { "epsilon", { .kind = OP_ATTR_FLOAT, .f = op_float(&c, "epsilon") } },
            { "num_groups", { .kind = OP_ATTR_INT, .i = p->g->value[s.norm->in[0]].shape.dim[1] } },
            { "strided", { .kind = OP_ATTR_INT, .i = s.strided } },
        };
        const struct op_request r = { .op = op_name(OP_GroupNormalization),
                                      .name = n->name,
                                      .block = n->block,
                                      .in = in,
                                      .ins = 3,
                                      .outs = 1,
                                      .attr = attr,
                                      .attrs = EMU_COUNT_OF(attr) };

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
