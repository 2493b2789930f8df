/* split_order.c - names of blocks and nodes, and how far ahead in the graph every node belongs. */
#include "models/split/split_order.h"

#include <string.h>

#include "emu/base/hash.h"
#include "models/operators/op_bytes.h"
#include "models/split/split.h"

/* ---- names ---- */

static uint32_t name_slot(const struct split_names *t, const char *name, size_t length)
{
    uint32_t at = (uint32_t)hash64(name, length) & (t->slots - 1);

    for (; t->slot[at]; at = (at + 1) & (t->slots - 1)) {
        const struct split_name *n = &t->name[t->slot[at] - 1];

        if (n->length == length && !memcmp(n->at, name, length))
            break;
    }
    return at;
}

uint32_t split_names_find(const struct split_names *t, const char *name, size_t length)
{
    uint32_t at = t->slots ? t->slot[name_slot(t, name, length)] : 0;

    return at ? t->name[at - 1].node : OP_NONE;
}

/* Makes room for one more name: the table is at most half full. */
static enum emu_status names_grow(struct split_names *t)
{
    uint32_t slots = t->slots ? 2 * t->slots : 64;

    TRY(emu_grow((void **)&t->name, t->names, &t->cap, sizeof(*t->name)));
    if (2 * (t->names + 1) <= t->slots)
        return EMU_OK;
    ss_free(t->slot);
    t->slot = emu_alloc(slots, sizeof(*t->slot));
    t->slots = t->slot ? slots : 0;
    if (!t->slot)
        return FAIL(NO_MEMORY, "names of %u nodes", t->names);
    for (uint32_t k = 0; k < t->names; k++)
        t->slot[name_slot(t, t->name[k].at, t->name[k].length)] = k + 1;
    return EMU_OK;
}

/* The first node of a name stays. */
static enum emu_status names_add(struct split_names *t, const char *name, size_t length,
                                 uint32_t node)
{
    uint32_t at;

    TRY(names_grow(t));
    at = name_slot(t, name, length);
    if (t->slot[at])
        return EMU_OK;
    t->name[t->names] = (struct split_name){ name, (uint32_t)length, node };
    t->slot[at] = ++t->names;
    return EMU_OK;
}

/* "layer.0.attention" is in "layer" and "layer.0", too. Blocks that hold others come first. */
static enum emu_status add_block(struct split_names *t, const char *block, uint32_t node)
{
    for (const char *dot = strchr(block, '.'); dot; dot = strchr(dot + 1, '.')) {
        if (dot > block)
            TRY(names_add(t, block, (size_t)(dot - block), node));
    }
    return *block ? names_add(t, block, strlen(block), node) : EMU_OK;
}

/* ---- forward and backward ---- */

static int has_node(const struct op_graph *g, enum op_code op)
{
    uint32_t i = 0;

    while (i < g->nodes && !op_node_is(&g->node[i], op))
        i++;
    return i < g->nodes;
}

/* Whether a backward node has the name and the block of a forward one (op_gradient.h). */
static int is_back_of(const struct op_node *n, const struct op_node *forward)
{
    size_t length = strlen(forward->name);

    return !strncmp(n->name, forward->name, length) && !strcmp(n->name + length, ".back") &&
           !strcmp(n->block, forward->block);
}

/* Gradients are made from the last forward node to the first, which tells apart those of nodes that
 * have one name. */
static void find_backward(struct split_order *o)
{
    const struct op_node *node = o->g->node;
    uint32_t last = o->forward - 1;

    for (uint32_t i = o->forward; i < o->g->nodes; i++) {
        uint32_t at = last;

        while (at > 0 && !is_back_of(&node[i], &node[at]))
            at--;
        if (o->forward_of[i] == OP_NONE && is_back_of(&node[i], &node[at]))
            o->forward_of[i] = last = at;
    }
}

/* What is computed again is known by its results. */
static void find_again(struct split_order *o)
{
    const struct op_graph *g = o->g;

    for (uint32_t v = 0; v < g->values; v++) {
        uint32_t twin = g->value[v].twin;

        if (twin && g->value[v].node != OP_NONE && g->value[twin - 1].node != OP_NONE)
            o->forward_of[g->value[twin - 1].node] = g->value[v].node;
    }
}

enum emu_status split_order_new(const struct op_graph *g, struct split_order *out)
{
    uint32_t loss = 0;

    *out = (struct split_order){ .g = g, .forward = g->nodes };
    out->is_step = has_node(g, OP_ParameterUpdate) && has_node(g, OP_CrossEntropy);
    out->rank = emu_alloc((size_t)g->nodes + 1, sizeof(*out->rank));
    out->forward_of = emu_alloc((size_t)g->nodes + 1, sizeof(*out->forward_of));
    if (!out->rank || !out->forward_of)
        return FAIL(NO_MEMORY, "the order of %u nodes", g->nodes);
    while (loss < g->nodes && !op_node_is(&g->node[loss], OP_CrossEntropy))
        loss++;
    if (out->is_step)
        out->forward = loss + 1;
    for (uint32_t i = 0; i < (out->is_step ? loss : g->nodes); i++) {
        const struct op_node *n = &g->node[i];

        TRY(add_block(&out->blocks, n->block ? n->block : "", i));
        TRY(names_add(&out->nodes, n->name, strlen(n->name), i));
    }
    for (uint32_t i = 0; i < g->nodes; i++)
        out->forward_of[i] = OP_NONE;
    find_again(out);
    if (out->is_step)
        find_backward(out);
    return EMU_OK;
}

void split_order_free(struct split_order *o)
{
    ss_free(o->blocks.name);
    ss_free(o->blocks.slot);
    ss_free(o->nodes.name);
    ss_free(o->nodes.slot);
    ss_free(o->forward_of);
    ss_free(o->rank);
    memset(o, 0, sizeof(*o));
}

int split_is_single(const struct op_graph *g, uint32_t value)
{
    const struct op_value *v = &g->value[value];

    if (op_type_kind(v->shape.type) != OP_KIND_FLOAT)
        return v->kind == OP_STATE;
    return v->kind == OP_STATE ||
           (v->kind == OP_PARAM && op_value_bytes(g, value) > SPLIT_COPIED_BYTES);
}

/* ---- ranks ---- */

/* The node that makes input k of node n; OP_NONE: none does. */
static uint32_t maker(const struct op_graph *g, const struct op_node *n, uint32_t k)
{
    return n->in[k] == OP_NONE ? OP_NONE : g->value[n->in[k]].node;
}

/* With its block, and not before what it reads; that alone counts without a block. */
static uint32_t rank_by_block(const struct split_order *o, uint32_t node)
{
    const struct op_node *n = &o->g->node[node];
    uint32_t rank = OP_NONE;

    if (n->block && *n->block)
        rank = node + 1 == o->forward && o->is_step
                   ? node
                   : split_names_find(&o->blocks, n->block, strlen(n->block));
    for (uint32_t k = 0; k < n->ins; k++) {
        uint32_t from = maker(o->g, n, k);

        if (from != OP_NONE && (rank == OP_NONE || o->rank[from] > rank))
            rank = o->rank[from];
    }
    return rank == OP_NONE ? node : rank;
}

/* With its forward node, and not behind what backward nodes have made for it: that comes down. */
static uint32_t rank_backward(const struct split_order *o, uint32_t node)
{
    const struct op_node *n = &o->g->node[node];
    uint32_t of = o->forward_of[node], rank = of == OP_NONE ? OP_NONE : o->rank[of];
    uint32_t read = 0;

    for (uint32_t k = 0; k < n->ins; k++) {
        uint32_t from = maker(o->g, n, k);

        if (from != OP_NONE && from >= o->forward && o->rank[from] < rank)
            rank = o->rank[from];
        if (from != OP_NONE && o->rank[from] > read)
            read = o->rank[from];
    }
    return rank == OP_NONE ? read : rank;
}

/* ---- views ---- */

/* Who reads a value. */
struct value_readers {
    uint32_t first;        /* the lowest rank among its readers; OP_NONE: nobody reads it */
    uint32_t last, second; /* the highest, and the highest of the others */
    uint32_t last_node;    /* of `last` */
    int is_output;
};

static void add_reader(struct value_readers *v, uint32_t node, uint32_t rank)
{
    if (v->last_node == OP_NONE || rank > v->last) {
        v->second = v->last_node == OP_NONE || v->last_node == node ? v->second : v->last;
        v->last = rank;
        v->last_node = node;
    } else if (node != v->last_node && rank > v->second) {
        v->second = rank;
    }
}

/* The lowest rank among the readers of what a node makes; 0 if somebody else needs it early. */
static uint32_t first_reader(const struct op_node *n, const struct value_readers *by)
{
    uint32_t first = OP_NONE;

    for (uint32_t k = 0; k < n->outs; k++) {
        const struct value_readers *v = n->out[k] == OP_NONE ? NULL : &by[n->out[k]];

        if (v && v->is_output)
            return 0;
        if (v && v->first < first)
            first = v->first;
    }
    return first == OP_NONE ? 0 : first;
}

/* The only input that a node makes; OP_NONE: there are more, or none. */
static uint32_t only_made(const struct op_graph *g, const struct op_node *n)
{
    uint32_t found = OP_NONE;

    for (uint32_t k = 0; k < n->ins; k++) {
        if (maker(g, n, k) == OP_NONE)
            continue;
        if (found != OP_NONE)
            return OP_NONE;
        found = n->in[k];
    }
    return found;
}

/* A view goes as far ahead as what it shows goes anyway for other readers, up to its own. */
static void delay_view(struct split_order *o, uint32_t node, struct value_readers *by)
{
    const struct op_node *n = &o->g->node[node];
    uint32_t of = only_made(o->g, n), others, to;

    if (!op_node_is_view(n) || of == OP_NONE)
        return;
    others = by[of].last_node == node ? by[of].second : by[of].last;
    to = first_reader(n, by);
    to = others < to ? others : to;
    if (to <= o->rank[node])
        return;
    o->rank[node] = to;
    add_reader(&by[of], node, to);
}

/* Sends a value once, and not its views beside it. */
static enum emu_status delay_views(struct split_order *o)
{
    const struct op_graph *g = o->g;
    struct value_readers *by = emu_alloc((size_t)g->values + 1, sizeof(*by));

    if (!by)
        return FAIL(NO_MEMORY, "readers of %u values", g->values);
    for (uint32_t v = 0; v < g->values; v++)
        by[v] = (struct value_readers){ .first = OP_NONE, .last_node = OP_NONE };
    for (uint32_t k = 0; k < g->outputs; k++)
        by[g->output[k]].is_output = 1;
    for (uint32_t i = 0; i < g->nodes; i++) {
        for (uint32_t k = 0; k < g->node[i].ins; k++) {
            if (g->node[i].in[k] != OP_NONE)
                add_reader(&by[g->node[i].in[k]], i, o->rank[i]);
        }
    }
    for (uint32_t i = g->nodes; i-- > 0;) {
        delay_view(o, i, by);
        for (uint32_t k = 0; k < g->node[i].ins; k++) {
            uint32_t v = g->node[i].in[k];

            if (v != OP_NONE && o->rank[i] < by[v].first)
                by[v].first = o->rank[i];
        }
    }
    ss_free(by);
    return EMU_OK;
}

enum emu_status split_order_rank(struct split_order *o, int by_nodes)
{
    by_nodes |= !o->blocks.names;
    for (uint32_t i = 0; i < o->g->nodes; i++) {
        if (i < o->forward)
            o->rank[i] = by_nodes ? i : rank_by_block(o, i);
        else if (op_node_is(&o->g->node[i], OP_ParameterUpdate))
            o->rank[i] = OP_NONE;
        else
            o->rank[i] = rank_backward(o, i);
    }
    return o->is_step ? EMU_OK : delay_views(o);
}
