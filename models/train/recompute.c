/* recompute.c - computes blocks again before their backward part. */
#include "models/train/recompute.h"

#include <string.h>

#include "emu/base/alloc.h"

/* A pass over a step. Forward nodes come before the loss. */
struct recompute {
    struct op_graph *g;
    uint32_t nodes, loss; /* before the pass: how many, and the first that is not forward */
    uint32_t *before;     /* owned; by node: 1 + the first clone that goes before it; 0: none */
    uint32_t *end;        /* owned; by node: the end of these clones */
    uint32_t *again; /* owned; by value: what the clone of this block makes; OP_NONE: nothing */
    uint32_t values; /* before the pass */
};

/* A row of forward nodes of one block, and where its backward part begins. */
struct forward_block {
    uint32_t begin, end, back;
};

/* ---- blocks ---- */

/* Whether a list of names, separated by commas, has one. */
static int is_listed(const char *names, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
            return 1;
    }
    return 0;
}

/* The row of one block that begins with a forward node; back is OP_NONE if nothing of the block
 * comes after the loss. */
static struct forward_block block_at(const struct recompute *r, uint32_t begin)
{
    const char *name = r->g->node[begin].block;
    struct forward_block b = { .begin = begin, .end = begin + 1, .back = OP_NONE };

    while (b.end < r->loss && !strcmp(r->g->node[b.end].block, name))
        b.end++;
    for (uint32_t i = r->loss; i < r->nodes && b.back == OP_NONE; i++) {
        if (!strcmp(r->g->node[i].block, name))
            b.back = i;
    }
    return b;
}

/* ---- clones ---- */

static enum emu_status clone_value(struct recompute *r, uint32_t value, uint32_t *out)
{
    const struct op_shape shape = r->g->value[value].shape;
    const char *name = op_graph_text(r->g, "%s.again", r->g->value[value].name);

    if (!name)
        return FAIL(NO_MEMORY, "%s", r->g->value[value].name);
    TRY(op_value_new(r->g, op_value_find(r->g, name) == OP_NONE ? name : NULL, OP_RESULT, &shape,
                     out));
    r->again[value] = *out;
    r->g->value[value].twin = 1 + *out;
    return EMU_OK;
}

static uint32_t now(const struct recompute *r, uint32_t value)
{
    return value != OP_NONE && value < r->values && r->again[value] != OP_NONE ? r->again[value]
                                                                               : value;
}

static enum emu_status clone_node(struct recompute *r, uint32_t node)
{
    struct op_node n = r->g->node[node];
    uint32_t *in = op_graph_copy(r->g, n.in, n.ins * sizeof(*in));
    uint32_t *out = op_graph_copy(r->g, n.out, n.outs * sizeof(*out));

    n.name = op_graph_text(r->g, "%s.again", n.name);
    n.block = op_graph_text(r->g, "%s.again", n.block);
    if (!in || !out || !n.name || !n.block)
        return FAIL(NO_MEMORY, "a node");
    for (uint32_t k = 0; k < n.ins; k++)
        in[k] = now(r, n.in[k]);
    for (uint32_t k = 0; k < n.outs; k++) {
        if (n.out[k] != OP_NONE)
            TRY(clone_value(r, n.out[k], &out[k]));
    }
    n.in = in;
    n.out = out;
    return op_graph_append(r->g, &n);
}

/* The backward part reads what the clones make. */
static enum emu_status read_again(struct recompute *r, const char *block)
{
    for (uint32_t i = r->loss; i < r->nodes; i++) {
        struct op_node *n = &r->g->node[i];
        uint32_t *in;

        if (strcmp(n->block, block))
            continue;
        in = op_graph_copy(r->g, n->in, n->ins * sizeof(*in));
        if (!in)
            return FAIL(NO_MEMORY, "a node");
        for (uint32_t k = 0; k < n->ins; k++) {
            uint32_t to = now(r, in[k]);

            if (to == in[k])
                continue;
            r->g->value[in[k]].readers--;
            r->g->value[to].readers++;
            in[k] = to;
        }
        n->in = in;
    }
    return EMU_OK;
}

static enum emu_status clone_block(struct recompute *r, const struct forward_block *b)
{
    r->before[b->back] = 1 + r->g->nodes;
    for (uint32_t i = b->begin; i < b->end; i++)
        TRY(clone_node(r, i));
    r->end[b->back] = r->g->nodes;
    TRY(read_again(r, r->g->node[b->begin].block));
    for (uint32_t v = 0; v < r->values; v++)
        r->again[v] = OP_NONE; /* other blocks read what was kept */
    return EMU_OK;
}

/* Puts the clones where they belong. */
static enum emu_status order_nodes(struct recompute *r)
{
    struct op_graph *g = r->g;
    struct op_node *list = emu_alloc(g->nodes + 1, sizeof(*list));
    uint32_t count = 0;

    if (!list)
        return FAIL(NO_MEMORY, "%u nodes", g->nodes);
    for (uint32_t i = 0; i < r->nodes; i++) {
        for (uint32_t k = r->before[i]; k && k <= r->end[i]; k++)
            list[count++] = g->node[k - 1];
        list[count++] = g->node[i];
    }
    EMU_ASSERT(count == g->nodes);
    memcpy(g->node, list, count * sizeof(*list));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < g->node[i].outs; k++) {
            if (g->node[i].out[k] != OP_NONE)
                g->value[g->node[i].out[k]].node = i;
        }
    }
    ss_free(list);
    return EMU_OK;
}

/* ---- the pass ---- */

static enum emu_status recompute_all(struct recompute *r, const char *names, uint32_t *blocks)
{
    int all = !strcmp(names, "all");
    struct forward_block b;

    for (uint32_t i = 0; i < r->loss; i = b.end) {
        const char *name = r->g->node[i].block;

        b = block_at(r, i);
        if (!*name || b.back == OP_NONE || r->before[b.back])
            continue;
        /* What the last block makes is needed at once. */
        if (all ? b.end == r->loss : !is_listed(names, name))
            continue;
        TRY(clone_block(r, &b));
        ++*blocks;
    }
    return order_nodes(r);
}

/* Every name of a list must be one of a block that can be computed again. */
static enum emu_status check_names(const struct recompute *r, const char *names)
{
    for (const char *at = names; at && strcmp(names, "all");
         at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        int length = (int)strcspn(at, ","), found = 0; /* "" is no block */

        for (uint32_t i = 0; length && i < r->loss && !found; i++) {
            const char *block = r->g->node[i].block;

            found = (int)strlen(block) == length && !strncmp(block, at, (size_t)length) &&
                    block_at(r, i).back != OP_NONE;
        }
        if (!found)
            return FAIL(USAGE, "--recompute: the network has no block %.*s", length, at);
    }
    return EMU_OK;
}

enum emu_status train_recompute(struct op_graph *g, const char *names, uint32_t *blocks)
{
    struct recompute r = { .g = g, .nodes = g->nodes, .values = g->values };
    enum emu_status s = EMU_OK;

    *blocks = 0;
    while (r.loss < g->nodes && !op_node_is(&g->node[r.loss], OP_CrossEntropy))
        r.loss++;
    r.before = emu_alloc(g->nodes + 1, sizeof(*r.before));
    r.end = emu_alloc(g->nodes + 1, sizeof(*r.end));
    r.again = emu_alloc(g->values + 1, sizeof(*r.again));
    if (!r.before || !r.end || !r.again)
        s = FAIL(NO_MEMORY, "blocks of %u nodes", g->nodes);
    for (uint32_t v = 0; s == EMU_OK && v < g->values; v++)
        r.again[v] = OP_NONE;
    if (s == EMU_OK)
        s = check_names(&r, names);
    if (s == EMU_OK)
        s = recompute_all(&r, names, blocks);
    ss_free(r.before);
    ss_free(r.end);
    ss_free(r.again);
    return s == EMU_OK ? op_graph_check(g) : s;
}
