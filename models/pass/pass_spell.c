/* pass_spell.c - spells what came with later versions of the operators in those of version 17, so
 * that files can have it: the opposite of pass_recognise() and pass_group_norms(). */

#include "models/operators/op_lanes.h"
#include "models/pass/op_pass.h"

enum { INS_MAX = 3 };

/* A node in place of another, or in front of it: then `suffix` is appended to its name. */
struct node_spelling {
    enum op_code op;
    const char *suffix;
    uint32_t in[INS_MAX];
    uint32_t ins;
    struct op_named_attr attr;
    uint32_t attrs;
};

static enum emu_status put(struct op_pass *p, const struct op_node *n,
                           const struct node_spelling *s, uint32_t *out)
{
    const char *name = s->suffix ? op_graph_text(p->g, "%s%s", n->name, s->suffix) : n->name;
    const struct op_request r = { .op = op_name(s->op),
                                  .name = name,
                                  .block = n->block,
                                  .in = s->in,
                                  .ins = s->ins,
                                  .outs = 1,
                                  .attr = &s->attr,
                                  .attrs = s->attrs };

    return name ? op_node(p->g, &r, out) : FAIL(NO_MEMORY, "a node");
}

static enum emu_status reshape(struct op_pass *p, const struct op_node *n, uint32_t in,
                               const struct op_shape *to, uint32_t *out)
{
    const struct op_request r = { .block = n->block, .outs = 1 };

    return op_reshape(p->g, &r, in, to, out);
}

/* x sigmoid(x). */
static enum emu_status spell_swish(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    struct node_spelling gate = { .op = OP_Sigmoid, .suffix = ".sigmoid", .ins = 1 };
    struct node_spelling mul = { .op = OP_Mul, .ins = 2 };

    gate.in[0] = mul.in[0] = op_pass_now(p, n->in[0]);
    TRY(put(p, n, &gate, &mul.in[1]));
    return put(p, n, &mul, out);
}

/* Ones and zeros, one for each group. */
static enum emu_status plain_norm(struct op_pass *p, uint32_t groups, uint32_t out[2])
{
    const struct op_shape s = { .type = OP_TYPE_F32, .rank = 1, .dim = { groups } };
    double *numbers = emu_alloc(2 * groups, sizeof(*numbers));
    enum emu_status st = numbers ? EMU_OK : FAIL(NO_MEMORY, "a norm");

    for (uint32_t k = 0; numbers && k < groups; k++)
        numbers[k] = 1;
    if (st == EMU_OK)
        st = op_constant_new(p->g, &s, numbers, &out[0]);
    if (st == EMU_OK)
        st = op_constant_new(p->g, &s, numbers + groups, &out[1]);
    ss_free(numbers);
    return st;
}

/* The middle ones of four dimensions change places. */
static enum emu_status swap(struct op_pass *p, const struct op_node *n, uint32_t in, uint32_t *out)
{
    static const int64_t perm[] = { 0, 2, 1, 3 };
    const struct node_spelling s = { .op = OP_Transpose,
                                     .suffix = ".strides",
                                     .in = { in },
                                     .ins = 1,
                                     .attr = { "perm",
                                               { .kind = OP_ATTR_INTS, .count = 4, .ints = perm } },
                                     .attrs = 1 };

    return put(p, n, &s, out);
}

/* Groups become channels of instances: [n][groups][rest]. Strided ones are put together before. */
static enum emu_status instances(struct op_pass *p, const struct op_node *n, uint32_t groups,
                                 int strided, struct node_spelling *norm, uint32_t *out)
{
    const struct op_shape x = p->g->value[n->in[0]].shape;
    struct op_shape grouped = { .rank = 3, .dim = { x.dim[0], groups } }, apart = { .rank = 4 };

    grouped.dim[2] = (uint32_t)(op_shape_span(&x, 1, x.rank) / groups);
    norm->in[0] = op_pass_now(p, n->in[0]);
    if (strided) {
        op_lanes_of_groups(&x, groups, 1, &apart);
        TRY(reshape(p, n, norm->in[0], &apart, &norm->in[0]));
        TRY(swap(p, n, norm->in[0], &norm->in[0]));
    }
    TRY(reshape(p, n, norm->in[0], &grouped, &norm->in[0]));
    TRY(put(p, n, norm, out));
    if (strided) {
        op_lanes_of_groups(&x, groups, 0, &apart);
        TRY(reshape(p, n, *out, &apart, out));
        TRY(swap(p, n, *out, out));
    }
    return reshape(p, n, *out, &x, out);
}

/* Scale and shift of channels follow. */
static enum emu_status spell_group_norm(struct op_pass *p, const struct op_node *n, uint32_t *out)
{
    const struct op_call c = op_attrs_of(p->g, n);
    const struct op_shape x = p->g->value[n->in[0]].shape;
    struct op_shape column = { .rank = x.rank };
    struct node_spelling norm = { .op = OP_InstanceNormalization,
                                  .suffix = ".instances",
                                  .ins = 3,
                                  .attr = { "epsilon", { .kind = OP_ATTR_FLOAT } },
                                  .attrs = 1 };
    struct node_spelling scale = { .op = OP_Mul, .suffix = ".scale", .ins = 2 };
    struct node_spelling shift = { .op = OP_Add, .ins = 2 };
    uint32_t groups = (uint32_t)op_int(&c, "num_groups");

    norm.attr.attr.f = op_float(&c, "epsilon");
    for (unsigned k = 0; k < x.rank; k++)
        column.dim[k] = k == 1 ? x.dim[1] : 1;
    TRY(plain_norm(p, groups, &norm.in[1]));
    TRY(instances(p, n, groups, op_int(&c, "strided") != 0, &norm, &scale.in[0]));
    TRY(reshape(p, n, op_pass_now(p, n->in[1]), &column, &scale.in[1]));
    TRY(reshape(p, n, op_pass_now(p, n->in[2]), &column, &shift.in[1]));
    TRY(put(p, n, &scale, &shift.in[0]));
    return put(p, n, &shift, out);
}

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    static const struct {
        enum op_code op;
        enum emu_status (*spell)(struct op_pass *p, const struct op_node *n, uint32_t *out);
    } later[] = { { OP_Swish, spell_swish }, { OP_GroupNormalization, spell_group_norm } };
    const struct op_node *n = &p->old[node];
    uint32_t by;

    for (unsigned k = 0; k < EMU_COUNT_OF(later); k++) {
        if (!op_node_is(n, later[k].op))
            continue;
        TRY(later[k].spell(p, n, &by));
        op_pass_replace(p, n->out[0], by);
        *replaced = 1;
    }
    return EMU_OK;
}

enum emu_status pass_spell(struct op_graph *g)
{
    return op_pass_run(g, visit);
}
