/* op_gradient.c - gradients of a scalar by values: backwards over the nodes, adding up what each
 * reader of a value contributes.
 */
#include <stdarg.h>

#include "models/operators/op_gradient.h"

/* --- nodes of gradients ------------------------------------------------------------------- */

void gradient_refuse(struct op_gradient *x, const char *fmt, ...)
{
    char why[256];
    va_list args;

    if (x->status != EMU_OK)
        return;
    va_start(args, fmt);
    vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    x->status = FAIL(BAD_FILE, "node %s (%s): no gradient: %s", x->n->name, x->n->row->name, why);
}

struct op_named_attr gradient_int(const char *name, int64_t i)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_INT, .i = i } };
}

struct op_named_attr gradient_float(const char *name, double f)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_FLOAT, .f = f } };
}

struct op_named_attr gradient_text(const char *name, const char *text)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_STRING, .s = text } };
}

struct op_named_attr gradient_ints(const char *name, const int64_t *list, uint32_t count)
{
    return (struct op_named_attr){ name, { .kind = OP_ATTR_INTS, .count = count, .ints = list } };
}

uint32_t gradient_node(struct op_gradient *x, enum op_code op, const uint32_t *in, uint32_t ins,
                       const struct op_named_attr *attr, uint32_t attrs)
{
    struct op_request r = {
        .op = op_name(op), .block = x->n->block, .in = in, .ins = ins, .outs = 1
    };
    uint32_t problems = x->g->nodes_wrong, out = OP_NONE;
    char name[256];

    for (uint32_t k = 0; k < ins; k++) {
        if (x->status != EMU_OK || in[k] == OP_NONE)
            return OP_NONE;
    }
    snprintf(name, sizeof(name), "%.240s.back", x->n->name);
    r.name = name;
    r.attr = attr;
    r.attrs = attrs;
    x->status = op_node(x->g, &r, &out);
    if (x->status == EMU_OK && x->n->precision != OP_AS_OTHERS && x->g->value[out].node != OP_NONE)
        x->g->node[x->g->value[out].node].precision = OP_WIDE;
    if (x->status == EMU_OK && x->g->nodes_wrong != problems)
        gradient_refuse(x, "its %s cannot be made: %s", op_name(op),
                        x->g->problem[x->g->problems - 1].why);
    return x->status == EMU_OK ? out : OP_NONE;
}

uint32_t gradient_unary(struct op_gradient *x, enum op_code op, uint32_t a)
{
    return gradient_node(x, op, &a, 1, NULL, 0);
}

uint32_t gradient_binary(struct op_gradient *x, enum op_code op, uint32_t a, uint32_t b)
{
    return gradient_node(x, op, (uint32_t[]){ a, b }, 2, NULL, 0);
}

uint32_t gradient_number(struct op_gradient *x, uint32_t like, double number)
{
    struct op_shape s = { .type = OP_TYPE_F32 };
    uint32_t out = OP_NONE;

    if (x->status != EMU_OK || like == OP_NONE)
        return OP_NONE;
    s.type = gradient_shape(x, like).type;
    x->status = op_constant_new(x->g, &s, &number, &out);
    return out;
}

uint32_t gradient_scaled(struct op_gradient *x, enum op_code op, uint32_t a, double number)
{
    return gradient_binary(x, op, a, gradient_number(x, a, number));
}

static int has_shape(const struct op_gradient *x, uint32_t value, const struct op_shape *s)
{
    return op_shape_equal(&x->g->value[value].shape, s);
}

static void list_dims(const struct op_shape *s, int64_t list[OP_RANK_MAX])
{
    for (unsigned d = 0; d < s->rank; d++)
        list[d] = s->dim[d];
}

uint32_t gradient_reshape(struct op_gradient *x, uint32_t a, struct op_shape to)
{
    int64_t list[OP_RANK_MAX];
    struct op_named_attr attr[2];

    if (a == OP_NONE || has_shape(x, a, &to))
        return a;
    list_dims(&to, list);
    attr[0] = gradient_ints("shape", list, to.rank);
    attr[1] = gradient_int("allowzero", 1);
    return gradient_node(x, OP_Reshape, &a, 1, attr, EMU_COUNT_OF(attr));
}

uint32_t gradient_expand(struct op_gradient *x, uint32_t a, struct op_shape to)
{
    int64_t list[OP_RANK_MAX];
    struct op_named_attr attr;

    if (a == OP_NONE || has_shape(x, a, &to))
        return a;
    list_dims(&to, list);
    attr = gradient_ints("shape", list, to.rank);
    return gradient_node(x, OP_Expand, &a, 1, &attr, 1);
}

uint32_t gradient_zeros(struct op_gradient *x, struct op_shape s)
{
    const struct op_shape one = { .type = s.type };
    const double zero = 0;
    uint32_t out = OP_NONE;

    if (x->status == EMU_OK)
        x->status = op_constant_new(x->g, &one, &zero, &out);
    return gradient_expand(x, out, s);
}

uint32_t gradient_transpose(struct op_gradient *x, uint32_t a, const unsigned *perm)
{
    int64_t list[OP_RANK_MAX];
    struct op_named_attr attr;

    if (a == OP_NONE)
        return OP_NONE;
    for (unsigned d = 0; d < gradient_shape(x, a).rank; d++)
        list[d] = perm[d];
    attr = gradient_ints("perm", list, gradient_shape(x, a).rank);
    return gradient_node(x, OP_Transpose, &a, 1, &attr, 1);
}

uint32_t gradient_turn(struct op_gradient *x, uint32_t a)
{
    unsigned perm[OP_RANK_MAX], rank;

    if (a == OP_NONE)
        return OP_NONE;
    rank = gradient_shape(x, a).rank;
    for (unsigned d = 0; d < rank; d++)
        perm[d] = d + 2 < rank ? d : 2 * rank - 3 - d;
    return gradient_transpose(x, a, perm);
}

uint32_t gradient_reduce(struct op_gradient *x, enum op_code op, uint32_t a, uint32_t axes)
{
    int64_t list[OP_RANK_MAX];
    uint32_t n = 0;

    if (a == OP_NONE || !axes)
        return a;
    for (unsigned d = 0; d < OP_RANK_MAX; d++) {
        if (axes >> d & 1)
            list[n++] = d;
    }
    return gradient_node(x, op, &a, 1, (struct op_named_attr[]){ gradient_ints("axes", list, n) },
                         1);
}

uint32_t gradient_sum_to(struct op_gradient *x, uint32_t a, struct op_shape to)
{
    struct op_shape from;
    uint32_t axes = 0;

    if (a == OP_NONE)
        return OP_NONE;
    from = gradient_shape(x, a);
    for (unsigned d = 0; d < from.rank; d++) {
        unsigned behind = from.rank - d; /* dimensions are matched from the last on */

        if (behind > to.rank || (to.dim[to.rank - behind] == 1 && from.dim[d] != 1))
            axes |= 1u << d;
    }
    return gradient_reshape(x, gradient_reduce(x, OP_ReduceSum, a, axes), to);
}

/* --- backwards over the nodes --------------------------------------------------------------- */

struct backwards {
    struct op_graph *g;
    uint32_t values; /* before */
    uint8_t *wanted; /* by value: it depends on what is asked for */
    uint32_t *sum;   /* by value: its gradient as far as it is known; OP_NONE: 0 */
};

/* Adds what node x->n contributes to the gradient of a value. It is added up at once, so that the
 * addition is a part of the contributing block. So equal blocks have equal backward parts, whatever
 * else reads their operands. */
static void add_part(struct backwards *b, struct op_gradient *x, uint32_t of, uint32_t gradient)
{
    if (gradient == OP_NONE || x->status != EMU_OK)
        return;
    EMU_ASSERT(op_shape_equal(&b->g->value[of].shape, &b->g->value[gradient].shape));
    b->sum[of] =
        b->sum[of] == OP_NONE ? gradient : gradient_binary(x, OP_Add, b->sum[of], gradient);
}

static int is_float(const struct op_graph *g, uint32_t value)
{
    return op_type_kind(g->value[value].shape.type) == OP_KIND_FLOAT;
}

/* Marks what depends on the values that are marked. */
static void mark_wanted(struct backwards *b)
{
    for (uint32_t n = 0; n < b->g->nodes; n++) {
        const struct op_node *node = &b->g->node[n];
        int any = 0;

        for (uint32_t k = 0; k < node->ins; k++)
            any |= node->in[k] != OP_NONE && b->wanted[node->in[k]];
        for (uint32_t k = 0; any && k < node->outs; k++) {
            if (node->out[k] != OP_NONE)
                b->wanted[node->out[k]] = is_float(b->g, node->out[k]);
        }
    }
}

/* of[]: node->ins, then node->outs. */
static enum emu_status node_back(struct backwards *b, const struct op_node *node, uint32_t *of,
                                 uint8_t *wanted)
{
    uint32_t *out = of + node->ins;
    struct op_gradient x = { .g = b->g, .n = node, .out = out, .wanted = wanted, .in = of };
    int any_out = 0, any_in = 0;

    for (uint32_t k = 0; k < node->ins; k++) {
        of[k] = OP_NONE;
        wanted[k] = node->in[k] != OP_NONE && b->wanted[node->in[k]] && is_float(b->g, node->in[k]);
        any_in |= wanted[k];
    }
    for (uint32_t k = 0; k < node->outs; k++) {
        out[k] = node->out[k] == OP_NONE ? OP_NONE : b->sum[node->out[k]];
        any_out |= out[k] != OP_NONE;
    }
    if (!any_in || !any_out || x.status != EMU_OK)
        return x.status;
    if (node->row->family->gradient)
        node->row->family->gradient(&x);
    else
        gradient_refuse(&x, "none is built for its kind");
    for (uint32_t k = 0; k < node->ins; k++) {
        if (wanted[k])
            add_part(b, &x, node->in[k], of[k]);
    }
    return x.status;
}

static enum emu_status walk_back(struct backwards *b)
{
    for (uint32_t n = b->g->nodes; n-- > 0;) {
        struct op_node node = b->g->node[n]; /* the list grows */
        uint32_t *of = emu_alloc(node.ins + node.outs + 1, sizeof(*of));
        uint8_t *wanted = emu_alloc(node.ins + 1, 1);
        enum emu_status s =
            of && wanted ? node_back(b, &node, of, wanted) : FAIL(NO_MEMORY, "gradients");

        ss_free(of);
        ss_free(wanted);
        TRY(s);
    }
    return EMU_OK;
}

/* A gradient of 1, of the shape and type of a value. */
static enum emu_status seed_of(struct op_graph *g, uint32_t value, uint32_t *out)
{
    const double one = 1;

    return op_constant_new(g, &g->value[value].shape, &one, out);
}

enum emu_status op_gradients(struct op_graph *g, uint32_t of, uint32_t seed, const uint32_t *by,
                             uint32_t count, uint32_t *out)
{
    struct backwards b = { .g = g, .values = g->values };
    enum emu_status s = EMU_OK;

    if (!is_float(g, of) || op_shape_count(&g->value[of].shape) != 1)
        return FAIL(BAD_FILE, "%s is no single float: nothing has a gradient of it",
                    g->value[of].name);
    if (seed == OP_NONE)
        TRY(seed_of(g, of, &seed));
    b.wanted = emu_alloc(b.values + 1, 1);
    b.sum = emu_alloc(b.values + 1, sizeof(*b.sum));
    if (!b.wanted || !b.sum)
        s = FAIL(NO_MEMORY, "gradients of %u values", b.values);
    for (uint32_t v = 0; s == EMU_OK && v < b.values; v++)
        b.sum[v] = OP_NONE;
    for (uint32_t k = 0; s == EMU_OK && k < count; k++)
        b.wanted[by[k]] = 1;
    if (s == EMU_OK) {
        mark_wanted(&b);
        b.sum[of] = b.wanted[of] ? seed : OP_NONE;
    }
    if (s == EMU_OK)
        s = walk_back(&b);
    for (uint32_t k = 0; s == EMU_OK && k < count; k++)
        out[k] = b.sum[by[k]];
    ss_free(b.wanted);
    ss_free(b.sum);
    return s;
}
