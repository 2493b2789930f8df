/* program_check.c - ss_graph_check() of the program tree: every node in use, no recursion, copies
 * that write every element once, and parts of ss_program_together() that stay in their group.
 */
#include "programs/compiler/graph/graph_private.h"

#include <string.h>

enum { NO_GROUP = 0xffff, MIXED = 0xfffe };

enum function_state { NOT_SEEN, OPEN, DONE };

struct program_check {
    struct graph *g;
    struct access_check *access; /* borrowed */
    uint8_t *reached;            /* of each node; owned, like all that follows */
    uint8_t *function;           /* enum function_state */
    uint64_t *function_seen;     /* bit k: was checked for sync group k */
    uint64_t *set_seen;          /* the same of compute sets */
    uint16_t *var_group;         /* of all its elements, or MIXED; NO_GROUP: not known yet */
    uint64_t groups;             /* bit k: group k has tiles */
};

/* ---- sync groups ---- */

/* What must be in one group, for messages. */
struct group_check {
    struct program_check *p;
    unsigned group;
    const char *who;
    enum emu_status status;
};

/* Checks elements [begin, end) of a variable, or finds out the group of all of it. */
static enum emu_status check_map_group(const struct group_check *c, uint32_t var, uint64_t begin,
                                       uint64_t end)
{
    struct graph *g = c->p->g;
    const struct map_run *run;
    size_t runs, low = 0, high;

    TRY(variable_map(g, var, &run, &runs));
    for (high = runs; high - low > 1;) {
        size_t middle = low + (high - low) / 2;

        if (run[middle].begin <= begin)
            low = middle;
        else
            high = middle;
    }
    for (; low < runs && run[low].begin < end; low++)
        if (g->group[run[low].tile] != c->group)
            return FAIL(BAD_PROGRAM,
                        "%s: %s is in sync group %u, expected group %u, the one of this part of "
                        "ss_program_together",
                        c->who,
                        element_text(g, var, run[low].begin > begin ? run[low].begin : begin).text,
                        g->group[run[low].tile], c->group);
    return EMU_OK;
}

static enum emu_status check_run_group(void *ctx, const struct view_run *run)
{
    const struct group_check *c = ctx;

    return check_map_group(c, run->var, run->offset, run->offset + run->elements);
}

/* The group of all elements of a variable, or MIXED. */
static enum emu_status find_group(struct program_check *p, uint32_t var)
{
    const struct map_run *run;
    size_t runs;

    if (p->var_group[var] != NO_GROUP)
        return EMU_OK;
    TRY(variable_map(p->g, var, &run, &runs));
    for (size_t k = 0; k < runs; k++) {
        uint16_t group = p->g->group[run[k].tile];

        p->var_group[var] = !k || p->var_group[var] == group ? group : MIXED;
    }
    return EMU_OK;
}

static void check_var_group(void *ctx, uint32_t var)
{
    struct group_check *c = ctx;

    if (c->status == EMU_OK)
        c->status = find_group(c->p, var);
    if (c->status == EMU_OK && c->p->var_group[var] != c->group)
        c->status = EMU_BAD_PROGRAM; /* perhaps: the runs will tell */
}

static enum emu_status check_view_group(struct program_check *p, uint32_t view, unsigned group,
                                        const char *who)
{
    struct group_check c = { p, group, who, EMU_OK };
    const struct graph *g = p->g;

    if (group == NO_GROUP || !g->view.at[view].elements)
        return EMU_OK;
    view_vars(g, view, check_var_group, &c);
    if (c.status != EMU_BAD_PROGRAM)
        return c.status;
    return view_runs(g, view, 0, g->view.at[view].elements, check_run_group, &c);
}

static enum emu_status check_vertex_group(struct program_check *p, uint32_t vertex, unsigned group)
{
    const struct graph *g = p->g;
    const struct vertex *v = &g->vertex.at[vertex];
    struct graph_text who = vertex_text(g, vertex);

    if (g->group[v->tile] != group)
        return FAIL(BAD_PROGRAM,
                    "%s: the tile is in sync group %u, expected group %u, the one of this part of "
                    "ss_program_together",
                    who.text, g->group[v->tile], group);
    for (unsigned k = 0; k < v->codelet->fields; k++) {
        const struct vertex_field *f = &g->field.at[v->field + k];

        if (field_is_edge(v->codelet->field[k].kind))
            TRY(check_view_group(p, f->view, group, who.text));
        if (field_is_list(v->codelet->field[k].kind))
            for (uint32_t i = 0; i < f->count; i++)
                TRY(check_view_group(p, g->list.at[f->first + i], group, who.text));
    }
    return EMU_OK;
}

static enum emu_status check_set_group(struct program_check *p, uint32_t set, unsigned group)
{
    const struct compute_set *s = &p->g->compute_set.at[set];

    if (group == NO_GROUP || p->set_seen[set] >> group & 1)
        return EMU_OK;
    p->set_seen[set] |= UINT64_C(1) << group;
    for (size_t k = 0; k < s->vertex.count; k++)
        TRY(check_vertex_group(p, s->vertex.at[k], group));
    return EMU_OK;
}

/* ---- nodes ---- */

static enum emu_status check_node(struct program_check *p, uint32_t node, unsigned group);

static enum emu_status check_children(struct program_check *p, uint32_t node, unsigned group)
{
    const struct node *n = &p->g->node.at[node];

    for (size_t k = 0; k < n->child.count; k++)
        TRY(check_node(p, n->child.at[k], group));
    return EMU_OK;
}

/* A function is looked at once for each group that calls it. */
static enum emu_status check_call(struct program_check *p, uint32_t function, unsigned group)
{
    const struct function *f = &p->g->function.at[function];

    if (p->function[function] == OPEN)
        return FAIL(BAD_PROGRAM, "function %s calls itself", f->name);
    if (group == NO_GROUP ? p->function[function] == DONE : p->function_seen[function] >> group & 1)
        return EMU_OK;
    if (group != NO_GROUP)
        p->function_seen[function] |= UINT64_C(1) << group;
    p->function[function] = OPEN;
    TRY(check_node(p, f->body, group));
    p->function[function] = DONE;
    return EMU_OK;
}

static enum emu_status check_together(struct program_check *p, uint32_t node, unsigned group)
{
    const struct node *n = &p->g->node.at[node];

    if (group != NO_GROUP)
        return FAIL(BAD_PROGRAM, "%s stands in a part of another one, of sync group %u",
                    node_text(p->g, node).text, group);
    for (size_t k = 0; k < n->child.count; k++) {
        if (n->groups[k] >= 64 || !(p->groups >> n->groups[k] & 1))
            return FAIL(BAD_PROGRAM, "%s: sync group %u has no tiles", node_text(p->g, node).text,
                        n->groups[k]);
        TRY(check_node(p, n->child.at[k], n->groups[k]));
    }
    return EMU_OK;
}

static enum emu_status check_copy(struct program_check *p, uint32_t node, unsigned group)
{
    const struct node *n = &p->g->node.at[node];
    struct graph_text who = node_text(p->g, node);

    TRY(view_check_written(p->access, n->b, who.text));
    TRY(check_view_group(p, n->a, group, who.text));
    return check_view_group(p, n->b, group, who.text);
}

static enum emu_status check_stream(struct program_check *p, uint32_t node, unsigned group)
{
    const struct node *n = &p->g->node.at[node];
    struct graph_text who = node_text(p->g, node);

    if (p->g->stream.at[n->a].way == STREAM_IN && n->kind != NODE_STREAM_END)
        TRY(view_check_written(p->access, n->b, who.text));
    return check_view_group(p, n->b, group, who.text);
}

static enum emu_status check_chips(struct program_check *p, uint32_t node, unsigned group)
{
    struct graph_text who = node_text(p->g, node);

    if (group != NO_GROUP)
        return FAIL(BAD_PROGRAM,
                    "%s stands in a part of ss_program_together, of sync group %u: expected where "
                    "all groups come to it",
                    who.text, group);
    return uses_check(p->access, &p->g->node.at[node], who.text);
}

/* A node and what is below it. group: of the part of ss_program_together() it stands in, or
 * NO_GROUP.
 */
static enum emu_status check_node(struct program_check *p, uint32_t node, unsigned group)
{
    const struct node *n = &p->g->node.at[node];

    p->reached[node] = 1;
    switch (n->kind) {
    case NODE_EXECUTE:
        return check_set_group(p, n->a, group);
    case NODE_COPY:
        return check_copy(p, node, group);
    case NODE_STREAM:
    case NODE_STREAM_BEGIN:
    case NODE_STREAM_END:
        return check_stream(p, node, group);
    case NODE_CHIPS:
        return check_chips(p, node, group);
    case NODE_CALL:
        return check_call(p, n->a, group);
    case NODE_TOGETHER:
        return check_together(p, node, group);
    case NODE_WHILE:
    case NODE_IF:
    case NODE_RARE:
        TRY(check_view_group(p, n->a, group, node_text(p->g, node).text));
        return check_children(p, node, group);
    default:
        return check_children(p, node, group);
    }
}

/* ---- all ---- */

static enum emu_status check_begin_program(struct program_check *p)
{
    const struct graph *g = p->g;

    p->reached = emu_alloc(g->node.count, sizeof(*p->reached));
    p->function = emu_alloc(g->function.count, sizeof(*p->function));
    p->function_seen = emu_alloc(g->function.count, sizeof(*p->function_seen));
    p->set_seen = emu_alloc(g->compute_set.count, sizeof(*p->set_seen));
    p->var_group = emu_alloc(g->variable.count, sizeof(*p->var_group));
    if (!p->reached || !p->function || !p->function_seen || !p->set_seen || !p->var_group)
        return FAIL(NO_MEMORY, "the check of %zu program nodes", g->node.count);
    for (size_t k = 0; k < g->variable.count; k++)
        p->var_group[k] = NO_GROUP;
    for (uint32_t k = 0; k < g->arch.tiles; k++)
        p->groups |= UINT64_C(1) << g->group[k];
    return EMU_OK;
}

static enum emu_status check_tree(struct program_check *p)
{
    const struct graph *g = p->g;

    if (g->program == GRAPH_NONE)
        return FAIL(BAD_PROGRAM, "the graph has no program: expected ss_graph_set_program");
    for (uint32_t k = 0; k < g->function.count; k++)
        TRY(check_call(p, k, NO_GROUP));
    TRY(check_node(p, g->program, NO_GROUP));
    for (uint32_t k = 0; k < g->node.count; k++)
        if (!p->reached[k])
            return FAIL(BAD_PROGRAM, "%s is used nowhere: expected in the program or in a function",
                        node_text(g, k).text);
    return EMU_OK;
}

enum emu_status graph_check_program(struct graph *g, struct access_check *c)
{
    struct program_check p = { .g = g, .access = c };
    enum emu_status status = check_begin_program(&p);

    if (status == EMU_OK)
        status = check_tree(&p);
    ss_free(p.var_group);
    ss_free(p.set_seen);
    ss_free(p.function_seen);
    ss_free(p.function);
    ss_free(p.reached);
    return status;
}
