/* program.c - the program tree: nodes, functions, and that every node stands in one place. */
#include "programs/compiler/graph/graph_private.h"

static const struct program no_program = { GRAPH_NONE };

static struct program node_add(struct graph *g, enum node_kind kind, uint32_t a, uint32_t b)
{
    if (!graph_works(g))
        return no_program;
    if (VEC_PUSH(&g->node, (struct node){ .kind = kind, .a = a, .b = b, .scope = g->open_scope }) !=
        EMU_OK) {
        graph_fail_memory(g, "a program");
        return no_program;
    }
    return (struct program){ (uint32_t)g->node.count - 1 };
}

/* Gives p its only place. */
static void node_place(struct graph *g, struct program p, const char *where)
{
    struct node *n;

    if (!graph_works(g))
        return;
    if (p.node >= g->node.count) {
        GRAPH_FAIL(g, "%s: the program is not one of this graph", where);
        return;
    }
    n = &g->node.at[p.node];
    if (n->placed)
        GRAPH_FAIL(g,
                   "%s: program node %u stands in another place already; make a function of "
                   "what is used twice",
                   where, p.node);
    n->placed = 1;
}

static void node_add_child(struct graph *g, struct program parent, struct program p,
                           const char *where)
{
    node_place(g, p, where);
    if (graph_works(g) && VEC_PUSH(&g->node.at[parent.node].child, p.node) != EMU_OK)
        graph_fail_memory(g, "a program");
}

struct program ss_program_sequence(struct graph *g)
{
    return node_add(g, NODE_SEQUENCE, 0, 0);
}

void ss_program_add(struct graph *g, struct program sequence, struct program p)
{
    if (!graph_works(g))
        return;
    if (sequence.node >= g->node.count || g->node.at[sequence.node].kind != NODE_SEQUENCE)
        GRAPH_FAIL(g, "ss_program_add: program node %u is not a sequence", sequence.node);
    else if (sequence.node == p.node)
        GRAPH_FAIL(g, "ss_program_add: sequence %u into itself", p.node);
    else
        node_add_child(g, sequence, p, "ss_program_add");
}

struct program ss_program_execute(struct graph *g, uint32_t compute_set)
{
    if (graph_works(g) && compute_set >= g->compute_set.count)
        GRAPH_FAIL(g, "ss_program_execute: there is no compute set %u", compute_set);
    return node_add(g, NODE_EXECUTE, compute_set, 0);
}

/* Whether two views have the same type and shape. */
static int same_shape(const struct view *a, const struct view *b)
{
    if (a->elem != b->elem || a->rank != b->rank)
        return 0;
    for (unsigned k = 0; k < a->rank; k++)
        if (a->shape[k] != b->shape[k])
            return 0;
    return 1;
}

struct program ss_program_copy(struct graph *g, struct tensor from, struct tensor to)
{
    if (!graph_has_view(g, from, "ss_program_copy") || !graph_has_view(g, to, "ss_program_copy"))
        return no_program;
    if (!same_shape(&g->view.at[from.view], &g->view.at[to.view]))
        GRAPH_FAIL(g,
                   "ss_program_copy: %s of type %s to %s of type %s, expected the same shape and "
                   "type",
                   view_text(g, from.view).text, ss_elem_name(ss_tensor_elem(g, from)),
                   view_text(g, to.view).text, ss_elem_name(ss_tensor_elem(g, to)));
    return node_add(g, NODE_COPY, from.view, to.view);
}

struct program ss_program_repeat(struct graph *g, uint32_t times, struct program body)
{
    struct program p = node_add(g, NODE_REPEAT, times, 0);

    node_add_child(g, p, body, "ss_program_repeat");
    return p;
}

/* A node that looks at a predicate, with two children. */
static struct program node_add_test(struct graph *g, enum node_kind kind, struct tensor predicate,
                                    struct program first, struct program second, const char *what)
{
    struct program p;
    enum elem e;

    if (!graph_has_view(g, predicate, what))
        return no_program;
    e = ss_tensor_elem(g, predicate);
    if ((e != ELEM_U32 && e != ELEM_I32) || ss_tensor_elements(g, predicate) != 1)
        GRAPH_FAIL(g, "%s: predicate %s of type %s, expected one element of type u32 or i32", what,
                   view_text(g, predicate.view).text, ss_elem_name(e));
    p = node_add(g, kind, predicate.view, 0);
    node_add_child(g, p, first, what);
    node_add_child(g, p, second, what);
    return p;
}

struct program ss_program_while(struct graph *g, struct program condition, struct tensor predicate,
                                struct program body)
{
    return node_add_test(g, NODE_WHILE, predicate, condition, body, "ss_program_while");
}

struct program ss_program_if(struct graph *g, struct tensor predicate, struct program then_part,
                             struct program else_part)
{
    return node_add_test(g, NODE_IF, predicate, then_part, else_part, "ss_program_if");
}

struct program ss_program_if_rare(struct graph *g, struct tensor predicate, struct program rare,
                                  struct program usual)
{
    return node_add_test(g, NODE_RARE, predicate, rare, usual, "ss_program_if_rare");
}

uint32_t ss_graph_function(struct graph *g, struct program body, const char *name)
{
    struct function f = { NULL, body.node };

    node_place(g, body, "ss_graph_function");
    if (!graph_works(g))
        return GRAPH_NONE;
    f.name = graph_path(g, name);
    if (!f.name)
        return GRAPH_NONE;
    if (VEC_PUSH(&g->function, f) != EMU_OK) {
        graph_fail_memory(g, f.name);
        return GRAPH_NONE;
    }
    return (uint32_t)g->function.count - 1;
}

struct program ss_program_call(struct graph *g, uint32_t function)
{
    if (graph_works(g) && function >= g->function.count)
        GRAPH_FAIL(g, "ss_program_call: there is no function %u", function);
    return node_add(g, NODE_CALL, function, 0);
}

struct program ss_program_together(struct graph *g, const unsigned *groups,
                                   const struct program *parts, unsigned n)
{
    struct program p = node_add(g, NODE_TOGETHER, 0, 0);

    if (!graph_works(g))
        return no_program;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned k = 0; k < i; k++)
            if (groups[k] == groups[i])
                GRAPH_FAIL(g, "ss_program_together: two parts for sync group %u", groups[i]);
        node_add_child(g, p, parts[i], "ss_program_together");
    }
    if (!graph_works(g))
        return no_program;
    g->node.at[p.node].groups = prog_memdup(&g->arena, groups, n * sizeof(*groups));
    if (!g->node.at[p.node].groups)
        graph_fail_memory(g, "a program");
    return p;
}

static struct program add_stream_node(struct graph *g, enum node_kind kind, uint32_t stream,
                                      struct tensor t, const char *where)
{
    const struct stream *s;

    if (!graph_has_view(g, t, where))
        return no_program;
    if (stream >= g->stream.count) {
        GRAPH_FAIL(g, "%s: there is no stream %u", where, stream);
        return no_program;
    }
    s = &g->stream.at[stream];
    if (s->elem != ss_tensor_elem(g, t) || s->elements != ss_tensor_elements(g, t))
        GRAPH_FAIL(g, "%s: %s of type %s, expected %llu elements of type %s as stream %s has",
                   where, view_text(g, t.view).text, ss_elem_name(ss_tensor_elem(g, t)),
                   (unsigned long long)s->elements, ss_elem_name(s->elem), s->name);
    return node_add(g, kind, stream, t.view);
}

struct program ss_program_stream(struct graph *g, uint32_t stream, struct tensor t)
{
    return add_stream_node(g, NODE_STREAM, stream, t, "ss_program_stream");
}

struct program ss_program_stream_begin(struct graph *g, uint32_t stream, struct tensor t)
{
    return add_stream_node(g, NODE_STREAM_BEGIN, stream, t, "ss_program_stream_begin");
}

struct program ss_program_stream_end(struct graph *g, uint32_t stream, struct tensor t)
{
    return add_stream_node(g, NODE_STREAM_END, stream, t, "ss_program_stream_end");
}

/* Whether a use of a channel can be one of an exchange among `scope` that has others before it. */
static void check_use(struct graph *g, enum chips_scope scope, const struct channel_use *use,
                      unsigned n)
{
    const struct channel *c;

    if (use[n].channel >= g->channel.count) {
        GRAPH_FAIL(g, "ss_program_exchange_chips: there is no channel %u", use[n].channel);
        return;
    }
    c = &g->channel.at[use[n].channel];
    if (c->elem != ss_tensor_elem(g, use[n].t) || c->elements != ss_tensor_elements(g, use[n].t))
        GRAPH_FAIL(g,
                   "ss_program_exchange_chips: %s of type %s, expected %llu elements of type %s as "
                   "channel %s has",
                   view_text(g, use[n].t.view).text, ss_elem_name(ss_tensor_elem(g, use[n].t)),
                   (unsigned long long)c->elements, ss_elem_name(c->elem), c->name);
    if (c->replica && scope != CHIPS_OF_POD)
        GRAPH_FAIL(g,
                   "ss_program_exchange_chips: channel %s goes to another replica, expected an "
                   "exchange of all chips of the pod",
                   c->name);
    for (unsigned i = 0; i < n; i++)
        if (use[i].channel == use[n].channel)
            GRAPH_FAIL(g, "ss_program_exchange_chips: channel %s is used twice", c->name);
}

struct program ss_program_exchange_chips(struct graph *g, enum chips_scope scope,
                                         const struct channel_use *uses, unsigned n)
{
    struct program p;
    uint32_t first;

    for (unsigned i = 0; i < n && graph_works(g); i++)
        if (graph_has_view(g, uses[i].t, "ss_program_exchange_chips"))
            check_use(g, scope, uses, i);
    if (!graph_works(g))
        return no_program;
    if (scope != CHIPS_OF_REPLICA && scope != CHIPS_OF_POD)
        GRAPH_FAIL(g, "ss_program_exchange_chips: no such scope");
    first = (uint32_t)g->use.count;
    for (unsigned i = 0; i < n; i++)
        if (VEC_PUSH(&g->use, uses[i]) != EMU_OK)
            graph_fail_memory(g, "a program");
    p = node_add(g, NODE_CHIPS, first, n);
    if (graph_works(g))
        g->node.at[p.node].chips = (uint8_t)scope;
    return p;
}

void ss_graph_set_program(struct graph *g, struct program p)
{
    node_place(g, p, "ss_graph_set_program");
    if (!graph_works(g))
        return;
    if (g->program != GRAPH_NONE)
        GRAPH_FAIL(g, "ss_graph_set_program: called twice");
    g->program = p.node;
}
