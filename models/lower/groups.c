/* groups.c - finds the nodes that run as one. */
#include <string.h>

#include "models/lower/groups.h"

/* The search. */
struct grouping {
    const struct op_graph *g;
    enum elem real;
    uint32_t *reader;  /* owned; by value: the node that reads it last */
    uint8_t *is_taken; /* owned; by node: it belongs to a group with an earlier node */
    struct node_groups *out;
};

static enum elem around(const struct grouping *s, uint32_t node)
{
    return node < s->g->f32_nodes ? ELEM_F32 : s->real;
}

static enum op_precision precision_of(const struct grouping *s, uint32_t node)
{
    return around(s, node) == ELEM_F32 ? OP_AS_OTHERS : s->g->node[node].precision;
}

static enum elem real_of(const struct grouping *s, uint32_t node)
{
    return precision_of(s, node) == OP_AS_OTHERS ? around(s, node) : ELEM_F32;
}

/* The only node that reads the first result of a node; NULL: there are several, none, or it belongs
 * to a group already. A block that is computed again must be the same function with the same
 * roundings, so the result must have one reader there, too. */
static const struct op_node *sole_reader(const struct grouping *s, const struct op_node *n)
{
    const struct op_value *v = &s->g->value[n->out[0]];
    uint32_t reader = s->reader[n->out[0]];

    if (v->readers != 1 || reader == OP_NONE || s->is_taken[reader] ||
        around(s, reader) != around(s, v->node) ||
        precision_of(s, reader) != precision_of(s, v->node))
        return NULL;
    if (v->twin && s->g->value[v->twin - 1].readers > 1)
        return NULL;
    return &s->g->node[reader];
}

static uint32_t other_input(const struct op_node *n, uint32_t value)
{
    return n->in[0] == value ? n->in[1] : n->in[0];
}

/* Whether a value is a constant with one number for each of `channels` along an axis of the shape
 * that it is added to. */
static int is_for_channels(const struct op_value *v, const struct op_shape *to, unsigned axis)
{
    if (!op_value_constant_kind(v) || op_shape_count(&v->shape) != to->dim[axis])
        return 0;
    for (unsigned k = 0; k < v->shape.rank; k++) {
        if (v->shape.dim[k] != 1 && k + to->rank - v->shape.rank != axis)
            return 0;
    }
    return 1;
}

static void take(struct grouping *s, struct node_group *group, const struct op_node *n)
{
    group->node[group->nodes++] = (uint32_t)(n - s->g->node);
    s->is_taken[n - s->g->node] = 1;
}

/* Adds the activation function that alone reads node n. */
static void take_activation(struct grouping *s, struct node_group *group, const struct op_node *n,
                            int sigmoid)
{
    const struct op_node *next = sole_reader(s, n);

    if (!next)
        return;
    if (op_node_is(next, OP_Relu))
        group->act = ACT_RELU;
    else if (op_node_is(next, OP_Swish))
        group->act = ACT_SWISH;
    else if (op_node_is(next, OP_Sigmoid) && sigmoid)
        group->act = ACT_SIGMOID;
    if (group->act != ACT_NONE)
        take(s, group, next);
}

/* Adds the nodes that follow a convolution or dense layer. */
static void extend_dense(struct grouping *s, struct node_group *group, const struct op_node *n,
                         const struct dense_layer *l)
{
    const struct op_shape *shape = &s->g->value[n->out[0]].shape;
    const struct op_node *next;

    while ((next = sole_reader(s, n)) && group->nodes < GROUP_NODES - 1 &&
           op_node_is(next, OP_Add)) {
        uint32_t other = other_input(next, n->out[0]);
        const struct op_value *v = &s->g->value[other];

        if (!op_shape_equal(&s->g->value[next->out[0]].shape, shape))
            break;
        if (group->bias == OP_NONE && group->added == OP_NONE && !l->tensors &&
            is_for_channels(v, shape, l->axis))
            group->bias = other;
        else if (group->added == OP_NONE && !l->linear && !op_value_constant_kind(v) &&
                 other != n->out[0] && op_shape_equal(&v->shape, shape))
            group->added = other;
        else
            break;
        take(s, group, next);
        n = next;
    }
    take_activation(s, group, n, l->linear);
}

/* Later nodes come first: of two convolutions whose results are added, the later one adds. */
static void find_groups(struct grouping *s, struct node_group *of_node)
{
    for (uint32_t i = s->g->nodes; i-- > 0;) {
        struct node_group *group = &of_node[i];
        const struct op_node *n = &s->g->node[i];
        struct dense_layer l;

        *group = (struct node_group){ .node = { i },
                                      .nodes = 1,
                                      .bias = OP_NONE,
                                      .added = OP_NONE,
                                      .real = real_of(s, i),
                                      .precision = precision_of(s, i) };
        if (!s->is_taken[i] && (group->real == ELEM_F16 || op_node_is(n, OP_Conv)) &&
            dense_layer_of(s->g, n, &l))
            extend_dense(s, group, n, &l);
        else if (!s->is_taken[i] &&
                 (op_node_is(n, OP_BatchNormalization) || op_node_is(n, OP_GroupNormalization)))
            take_activation(s, group, n, 0);
    }
}

static enum emu_status collect(struct grouping *s)
{
    const struct op_graph *g = s->g;
    struct node_group *of_node = emu_alloc(g->nodes + 1, sizeof(*of_node));
    uint32_t *first =
        emu_alloc(g->nodes + 1, sizeof(*first)); /* node of the group that ends here */

    if (!of_node || !first) {
        ss_free(of_node);
        ss_free(first);
        return FAIL(NO_MEMORY, "groups of %u nodes", g->nodes);
    }
    find_groups(s, of_node);
    for (uint32_t i = 0; i < g->nodes; i++)
        first[i] = OP_NONE;
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (!s->is_taken[i])
            first[of_node[i].node[of_node[i].nodes - 1]] = i;
    }
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (first[i] != OP_NONE)
            s->out->at[s->out->count++] = of_node[first[i]];
    }
    ss_free(of_node);
    ss_free(first);
    return EMU_OK;
}

enum emu_status node_groups_of(const struct op_graph *g, enum elem real, struct node_groups *out)
{
    struct grouping s = { .g = g, .real = real, .out = out };
    enum emu_status st;

    out->count = 0;
    out->at = emu_alloc(g->nodes + 1, sizeof(*out->at));
    s.reader = emu_alloc(g->values + 1, sizeof(*s.reader));
    s.is_taken = emu_alloc(g->nodes + 1, sizeof(*s.is_taken));
    st = out->at && s.reader && s.is_taken ? EMU_OK
                                           : FAIL(NO_MEMORY, "groups of %u nodes", g->nodes);
    for (uint32_t v = 0; st == EMU_OK && v < g->values; v++)
        s.reader[v] = OP_NONE;
    for (uint32_t i = 0; st == EMU_OK && i < g->nodes; i++) {
        for (uint32_t k = 0; k < g->node[i].ins; k++) {
            if (g->node[i].in[k] != OP_NONE)
                s.reader[g->node[i].in[k]] = i;
        }
    }
    if (st == EMU_OK)
        st = collect(&s);
    if (st != EMU_OK)
        node_groups_free(out);
    ss_free(s.reader);
    ss_free(s.is_taken);
    return st;
}

void node_groups_free(struct node_groups *g)
{
    ss_free(g->at);
    memset(g, 0, sizeof(*g));
}

char *node_group_text(const struct op_graph *g, const struct node_group *group,
                      char out[GROUP_TEXT])
{
    size_t used = 0;

    out[0] = '\0';
    for (unsigned k = 0; k < group->nodes && used + 1 < GROUP_TEXT; k++)
        used += (size_t)snprintf(out + used, GROUP_TEXT - used, "%s%s", k ? "+" : "",
                                 g->node[group->node[k]].row->name);
    return out;
}

uint32_t node_group_result(const struct op_graph *g, const struct node_group *group)
{
    return op_node_result(&g->node[group->node[group->nodes - 1]]);
}
