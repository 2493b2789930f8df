/* train_dropout.c - multiplies by masks that are drawn for each step. */
#include "models/train/train_dropout.h"

#include <math.h>
#include <string.h>

#include "emu/base/random.h"
#include "models/operators/operators.h"
#include "models/pass/op_pass.h"

/* What the visitor of a pass needs; passes have no context of their own, and run one at a time. */
static _Thread_local struct {
    struct train_dropout o;
    uint32_t masks;         /* the seed */
    uint32_t last;          /* node: the last layer */
    uint32_t blocks, block; /* of the network; the one that was visited last, from 1 on */
    char name[64];          /* of it */
    uint32_t operations, branches;
} drop;

/* ---- nodes ---- */

/* The number of a mask: the next one; of a Dropout with a seed of its own one that follows from the
 * seed, so that nodes of equal seeds leave out the same. */
static int64_t operation_of(const struct op_graph *g, const struct op_node *n)
{
    const int64_t seeded = INT64_C(1) << 31; /* the others are counted */
    struct op_call c = op_attrs_of(g, n);

    if (!op_node_is(n, OP_Dropout) || !op_has(&c, "seed"))
        return drop.operations;
    return seeded | (int64_t)(hash_mix((uint64_t)op_int(&c, "seed")) >> 33);
}

static enum emu_status add_mask(struct op_graph *g, const struct op_node *of, double share,
                                const struct op_shape *s, uint32_t *out)
{
    int64_t dim[OP_RANK_MAX];
    char name[256];
    const char *const names[] = { name };
    const struct op_named_attr attr[] = {
        { "keep", { .kind = OP_ATTR_FLOAT, .f = 1 - share } },
        { "operation", { .kind = OP_ATTR_INT, .i = operation_of(g, of) } },
        { "shape", { .kind = OP_ATTR_INTS, .count = s->rank, .ints = dim } },
    };
    const struct op_request r = { .op = op_name(OP_DropoutMask),
                                  .name = name,
                                  .block = of->block,
                                  .in = &drop.masks,
                                  .ins = 1,
                                  .out_name = names,
                                  .outs = 1,
                                  .attr = attr,
                                  .attrs = EMU_COUNT_OF(attr) };

    snprintf(name, sizeof(name), "mask%u", drop.operations++);
    for (unsigned k = 0; k < s->rank; k++)
        dim[k] = s->dim[k];
    return op_node(g, &r, out);
}

/* x times a mask; each: every number has its own, else every picture. */
static enum emu_status masked(struct op_graph *g, const struct op_node *of, double share, int each,
                              uint32_t x, uint32_t *out)
{
    struct op_shape s = g->value[x].shape;
    uint32_t in[2] = { x };
    const struct op_request r = {
        .op = op_name(OP_Mul), .block = of->block, .in = in, .ins = 2, .outs = 1
    };

    for (unsigned d = 1; d < s.rank && !each; d++)
        s.dim[d] = 1;
    TRY(add_mask(g, of, share, &s, &in[1]));
    return op_node(g, &r, out);
}

/* ---- places ---- */

/* Which input of an addition is the residual branch: the one that a node of the same block makes,
 * if the other input comes from outside the block. -1: it is no such addition. The first block has
 * none, since its share is 0. */
static int branch_of(const struct op_pass *p, const struct op_node *n)
{
    int made[2];

    if (drop.block < 2 || !op_node_is(n, OP_Add) || n->ins != 2 || !n->block || !*n->block)
        return -1;
    for (unsigned k = 0; k < 2; k++) {
        uint32_t producer = p->producer[n->in[k]];
        const struct op_node *by = producer == OP_NONE ? NULL : &p->old[producer];

        made[k] = by && by->block && !strcmp(by->block, n->block) && p->readers[n->in[k]] == 1;
    }
    return made[0] == made[1] ? -1 : made[0] ? 0 : 1;
}

static int begins_block(const struct op_node *n)
{
    return n->block && !strncmp(n->block, "block", 5) && strcmp(n->block, drop.name);
}

static void enter_block(const struct op_node *n)
{
    if (!begins_block(n))
        return;
    snprintf(drop.name, sizeof(drop.name), "%s", n->block);
    drop.block++;
}

/* ---- the pass ---- */

static enum emu_status visit(struct op_pass *p, uint32_t node, int *replaced)
{
    const struct op_node *n = &p->old[node];
    struct op_call c = op_attrs_of(p->g, n);
    int branch;
    double share;
    uint32_t out;

    enter_block(n);
    branch = branch_of(p, n);
    share = drop.o.drop_connect * (drop.block - 1) / fmax(drop.blocks, 1);
    if (op_node_is(n, OP_Dropout) && op_float(&c, "ratio") > 0) {
        TRY(masked(p->g, n, op_float(&c, "ratio"), 1, op_pass_now(p, n->in[0]), &out));
        op_pass_replace(p, n->out[0], out);
        *replaced = 1;
    } else if (branch >= 0 && share > 0) {
        TRY(masked(p->g, n, share, 0, op_pass_now(p, n->in[branch]), &out));
        op_pass_replace(p, n->in[branch], out); /* which nobody but the addition reads */
    } else if (node == drop.last && drop.o.dropout > 0) {
        TRY(masked(p->g, n, drop.o.dropout, 1, op_pass_now(p, n->in[0]), &out));
        op_pass_replace(p, n->in[0], out);
    }
    drop.branches += branch >= 0;
    return EMU_OK;
}

/* The last product on the way to the scores; OP_NONE: there is none. */
static uint32_t last_layer(const struct op_graph *g, uint32_t scores)
{
    uint32_t node = g->value[scores].node;

    while (node != OP_NONE && !op_node_is(&g->node[node], OP_Gemm) &&
           !op_node_is(&g->node[node], OP_MatMul) && !op_node_is(&g->node[node], OP_Conv))
        node = g->node[node].ins ? g->value[g->node[node].in[0]].node : OP_NONE;
    return node;
}

static int has_dropout(const struct op_graph *g)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        struct op_call c = op_attrs_of(g, &g->node[i]);

        if (op_node_is(&g->node[i], OP_Dropout) && op_float(&c, "ratio") > 0)
            return 1;
    }
    return 0;
}

enum emu_status train_dropout_add(struct op_graph *g, const struct train_dropout *o,
                                  uint32_t scores, uint32_t *masks)
{
    const struct op_shape seed = { .type = OP_TYPE_U32, .rank = 1, .dim = { 2 } };

    *masks = OP_NONE;
    if (!(o->dropout > 0) && !(o->drop_connect > 0) && !has_dropout(g))
        return EMU_OK;
    TRY(op_value_new(g, "masks", OP_INPUT, &seed, masks));
    TRY(op_graph_input(g, *masks));
    memset(&drop, 0, sizeof(drop));
    drop.o = *o;
    drop.masks = *masks;
    drop.last = last_layer(g, scores);
    for (uint32_t i = 0; i < g->nodes; i++)
        enter_block(&g->node[i]);
    drop.blocks = drop.block;
    drop.block = 0;
    drop.name[0] = '\0';
    TRY(op_pass_run(g, visit));
    if (o->drop_connect > 0 && !drop.branches)
        return FAIL(USAGE, "--drop-connect: %s has no blocks with residual branches", g->name);
    return EMU_OK;
}
