/* split_build.c - makes the graph of every stage: its values, its nodes, what comes and goes. */
#include "models/split/split_build.h"

#include <string.h>

#include "models/operators/op_update.h"

/* ---- updates ---- */

struct split_lists split_lists_of(const struct op_graph *g, const struct op_node *n)
{
    struct op_call c = op_attrs_of(g, n);
    struct split_lists l = { .slots = op_update_method(op_string(&c, "method"))->slots };
    uint32_t results;

    l.n = (n->ins - UPDATE_LISTS) / (2 + l.slots);
    results = l.n * (1 + l.slots);
    l.sum = n->outs > results ? n->out[results] : OP_NONE;
    return l;
}

/* How many parameters of a ParameterUpdate a stage has. */
static uint32_t part_size(const struct splitting *s, const struct op_node *n, uint32_t stage)
{
    struct split_lists l = split_lists_of(s->g, n);
    uint32_t size = 0;

    for (uint32_t k = 0; k < l.n; k++)
        size += s->out->of_value[n->in[UPDATE_LISTS + k]] == stage;
    return size;
}

int split_has_part(const struct splitting *s, const struct op_node *n, uint32_t stage)
{
    return part_size(s, n, stage) != 0;
}

/* Those values of a list of l->n that belong to parameters of a stage. */
static uint32_t *take_part(const struct splitting *s, const struct op_node *n, uint32_t stage,
                           const uint32_t *list, uint32_t *to)
{
    struct split_lists l = split_lists_of(s->g, n);

    for (uint32_t k = 0; k < l.n; k++) {
        if (s->out->of_value[n->in[UPDATE_LISTS + k]] == stage)
            *to++ = list[k];
    }
    return to;
}

/* The part of a ParameterUpdate that a stage has, with values of the whole graph; its lists are the
 * stage graph's. */
static enum emu_status part_of(const struct splitting *s, struct op_graph *to, uint32_t stage,
                               const struct op_node *n, struct op_node *out)
{
    struct split_lists l = split_lists_of(s->g, n);
    uint32_t size = part_size(s, n, stage);
    uint32_t *in, *result, *at;

    *out = *n;
    out->ins = UPDATE_LISTS + size * (2 + l.slots);
    out->outs = size * (1 + l.slots) + (n->outs - l.n * (1 + l.slots));
    out->in = in = op_graph_alloc(to, out->ins, sizeof(*in));
    out->out = result = op_graph_alloc(to, out->outs, sizeof(*result));
    if (!in || !result)
        return FAIL(NO_MEMORY, "an update of %u parameters", size);
    memcpy(in, n->in, UPDATE_LISTS * sizeof(*in));
    at = in + UPDATE_LISTS;
    for (uint32_t j = 0; j < 2 + l.slots; j++)
        at = take_part(s, n, stage, n->in + UPDATE_LISTS + j * l.n, at);
    at = result;
    for (uint32_t j = 0; j < 1 + l.slots; j++)
        at = take_part(s, n, stage, n->out + j * l.n, at);
    if (at < result + out->outs)
        *at = l.sum;
    return EMU_OK;
}

/* ---- a stage ---- */

/* What a stage has of the whole graph. */
enum { IS_HERE = 1, IS_MADE = 2 };

struct stage_build {
    struct splitting *s;
    uint32_t stage;
    struct split_stage *at;
    struct op_graph *g;   /* at->graph */
    struct op_node *node; /* owned; its lists are g's, and values of the whole graph at first */
    uint32_t nodes;
    uint8_t *has; /* owned; by value of the whole graph */
};

static void mark_list(struct stage_build *b, const uint32_t *list, uint32_t n, uint8_t what)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] != OP_NONE)
            b->has[list[k]] |= what;
    }
}

static void mark_node(struct stage_build *b, const struct op_node *n)
{
    mark_list(b, n->in, n->ins, IS_HERE);
    mark_list(b, n->out, n->outs, IS_HERE | IS_MADE);
    for (uint32_t k = 0; k < n->attrs; k++) {
        if (n->attr[k].kind == OP_ATTR_TENSOR)
            b->has[n->attr[k].value] |= IS_HERE;
    }
}

static enum emu_status take_node(struct stage_build *b, uint32_t node)
{
    const struct op_node *n = &b->s->g->node[node];
    struct op_node *mine = &b->node[b->nodes++];
    int is_part = b->s->out->of_node[node] == OP_NONE;

    *mine = *n;
    if (is_part) {
        TRY(part_of(b->s, b->g, b->stage, n, mine));
    } else {
        mine->in = op_graph_copy(b->g, n->in, n->ins * sizeof(*n->in));
        mine->out = op_graph_copy(b->g, n->out, n->outs * sizeof(*n->out));
    }
    mine->attr = op_graph_copy(b->g, n->attr, n->attrs * sizeof(*n->attr));
    if (!mine->in || !mine->out || !mine->attr)
        return FAIL(NO_MEMORY, "a node");
    b->at->f_nodes += node < b->s->order.forward;
    b->at->b_nodes += node >= b->s->order.forward && !is_part;
    b->g->f32_nodes += node < b->s->g->f32_nodes;
    mark_node(b, mine);
    return EMU_OK;
}

/* Forward nodes come before backward ones in the whole graph, too; updates are last. */
static enum emu_status take_nodes(struct stage_build *b)
{
    const uint32_t *of_node = b->s->out->of_node;

    for (uint32_t i = 0; i < b->s->g->nodes; i++) {
        if (of_node[i] == b->stage)
            TRY(take_node(b, i));
    }
    for (uint32_t i = 0; i < b->s->g->nodes; i++) {
        if (of_node[i] == OP_NONE && split_has_part(b->s, &b->s->g->node[i], b->stage))
            TRY(take_node(b, i));
    }
    return EMU_OK;
}

/* Inputs and outputs of the whole graph are there though no node reads or makes them. */
static void mark_ends(struct stage_build *b)
{
    const struct op_graph *g = b->s->g;

    for (uint32_t k = 0; k < g->inputs + g->outputs; k++) {
        uint32_t v = k < g->inputs ? g->input[k] : g->output[k - g->inputs];

        if (g->value[v].kind != OP_RESULT && b->s->out->of_value[v] == b->stage)
            b->has[v] |= IS_HERE;
    }
}

static enum emu_status add_value(struct stage_build *b, uint32_t value)
{
    const struct op_value *v = &b->s->g->value[value];
    int comes = v->kind == OP_RESULT && !(b->has[value] & IS_MADE);
    uint32_t *own = &b->at->own[value];

    TRY(op_value_new(b->g, v->name, comes ? OP_INPUT : v->kind, &v->shape, own));
    b->g->value[*own].data = v->data;
    b->at->whole[*own] = value;
    return EMU_OK;
}

static enum emu_status add_values(struct stage_build *b)
{
    const struct op_graph *g = b->s->g;
    uint32_t count = 0;

    for (uint32_t v = 0; v < g->values; v++)
        count += b->has[v] != 0;
    b->at->whole = emu_alloc((size_t)count + 1, sizeof(*b->at->whole));
    b->at->own = emu_alloc((size_t)g->values + 1, sizeof(*b->at->own));
    if (!b->at->whole || !b->at->own)
        return FAIL(NO_MEMORY, "values of a stage");
    for (uint32_t v = 0; v < g->values; v++) {
        b->at->own[v] = OP_NONE;
        if (b->has[v])
            TRY(add_value(b, v));
    }
    for (uint32_t v = 0; v < g->values; v++) {
        if (b->has[v] && g->value[v].twin && b->has[g->value[v].twin - 1])
            b->g->value[b->at->own[v]].twin = 1 + b->at->own[g->value[v].twin - 1];
    }
    return EMU_OK;
}

static enum emu_status add_edge(struct stage_build *b, uint32_t value)
{
    struct split *out = b->s->out;
    uint32_t from = out->of_value[value];

    TRY(emu_grow((void **)&out->edge, out->edges, &b->s->edge_cap, sizeof(*out->edge)));
    out->edge[out->edges++] = (struct split_edge){ .from = from,
                                                   .to = b->stage,
                                                   .value = value,
                                                   .read = b->at->own[value],
                                                   .backward = from > b->stage };
    return op_graph_input(b->g, b->at->own[value]);
}

static enum emu_status add_inputs(struct stage_build *b)
{
    const struct op_graph *g = b->s->g;

    for (uint32_t k = 0; k < g->inputs; k++) {
        if (b->has[g->input[k]])
            TRY(op_graph_input(b->g, b->at->own[g->input[k]]));
    }
    for (uint32_t v = 0; v < g->values; v++) {
        if (b->has[v] && g->value[v].kind == OP_RESULT && !(b->has[v] & IS_MADE))
            TRY(add_edge(b, v));
    }
    return EMU_OK;
}

static void renumber(const struct stage_build *b, const uint32_t *list, uint32_t n)
{
    uint32_t *own = (uint32_t *)list; /* the stage graph's */

    for (uint32_t k = 0; k < n; k++)
        own[k] = own[k] == OP_NONE ? OP_NONE : b->at->own[own[k]];
}

static enum emu_status add_nodes(struct stage_build *b)
{
    for (uint32_t i = 0; i < b->nodes; i++) {
        struct op_node *n = &b->node[i];
        struct op_attr *attr = (struct op_attr *)n->attr;

        renumber(b, n->in, n->ins);
        renumber(b, n->out, n->outs);
        for (uint32_t k = 0; k < n->attrs; k++) {
            if (attr[k].kind == OP_ATTR_TENSOR)
                attr[k].value = b->at->own[attr[k].value];
        }
        TRY(op_graph_append(b->g, n));
    }
    return EMU_OK;
}

static enum emu_status build_parts(struct stage_build *b)
{
    const struct op_graph *g = b->s->g;

    b->g->fold_room = g->fold_room;
    b->g->parameters_change = g->parameters_change;
    b->node = emu_alloc((size_t)g->nodes + 1, sizeof(*b->node));
    b->has = emu_alloc((size_t)g->values + 1, 1);
    if (!b->node || !b->has)
        return FAIL(NO_MEMORY, "stage %u", b->stage);
    TRY(take_nodes(b));
    mark_ends(b);
    TRY(add_values(b));
    TRY(add_inputs(b));
    return add_nodes(b);
}

static enum emu_status build_stage(struct splitting *s, uint32_t stage)
{
    struct stage_build b = { .s = s, .stage = stage, .at = &s->out->stage[stage] };
    enum emu_status status;

    TRY(op_graph_new(s->g->name, &b.at->graph));
    b.g = b.at->graph;
    status = build_parts(&b);
    ss_free(b.node);
    ss_free(b.has);
    return status;
}

/* ---- what leaves a stage ---- */

/* Whether an output of the whole graph is one of a stage: not if it only comes to it. */
static int is_output_of(const struct splitting *s, uint32_t stage, uint32_t value)
{
    const struct split_stage *at = &s->out->stage[stage];
    uint32_t own = at->own[value];

    if (own == OP_NONE)
        return 0;
    return s->g->value[value].kind == OP_RESULT ? at->graph->value[own].kind == OP_RESULT
                                                : s->out->of_value[value] == stage;
}

/* Outputs of the whole graph that a stage has, and updates, which are in the order of theirs. */
static enum emu_status add_outputs(const struct splitting *s, uint32_t stage)
{
    const struct op_graph *g = s->g;
    struct split_stage *at = &s->out->stage[stage];
    uint32_t u = 0;

    for (uint32_t k = 0; k < g->outputs; k++) {
        uint32_t v = g->output[k];
        uint32_t is_update = u < g->updates && g->update[u].value == v;

        if (is_output_of(s, stage, v)) {
            if (is_update)
                TRY(op_graph_update(at->graph, at->own[g->update[u].state], at->own[v]));
            else
                TRY(op_graph_output(at->graph, at->own[v]));
        }
        u += is_update;
    }
    return EMU_OK;
}

/* What goes to other stages. is_output: by value of the whole graph. */
static enum emu_status add_sent(const struct splitting *s, uint8_t *is_output)
{
    for (uint32_t k = 0; k < s->g->outputs; k++)
        is_output[s->g->output[k]] = 1;
    for (uint32_t k = 0; k < s->out->edges; k++) {
        struct split_edge *e = &s->out->edge[k];
        struct split_stage *from = &s->out->stage[e->from];

        e->made = from->own[e->value];
        if (!is_output[e->value])
            TRY(op_graph_output(from->graph, e->made));
        is_output[e->value] = 1;
    }
    return EMU_OK;
}

/* ---- stashes ---- */

/* By value of a stage's graph. */
enum { IS_OF_STEP = 1, IS_READ_BACK = 2 };

/* Whether a value that backward nodes read is another one in every micro batch, and was there
 * before them. */
static int is_stashed(const struct splitting *s, uint32_t stage, uint32_t value, uint8_t marks)
{
    const struct split_stage *at = &s->out->stage[stage];
    const struct op_value *v = &at->graph->value[value];
    uint32_t whole = at->whole[value];

    if (!(marks & IS_READ_BACK))
        return 0;
    if (v->kind == OP_RESULT)
        return v->node < at->f_nodes;
    if (s->g->value[whole].kind == OP_RESULT)
        return s->out->of_value[whole] < stage;
    return v->kind == OP_INPUT && v->shape.rank && !(marks & IS_OF_STEP);
}

static void mark_readers(const struct split_stage *at, uint8_t *marks)
{
    for (uint32_t i = at->f_nodes; i < at->graph->nodes; i++) {
        const struct op_node *n = &at->graph->node[i];

        for (uint32_t k = 0; k < n->ins; k++) {
            if (n->in[k] != OP_NONE)
                marks[n->in[k]] |= i < at->f_nodes + at->b_nodes ? IS_READ_BACK : IS_OF_STEP;
        }
    }
}

static enum emu_status find_stash(const struct splitting *s, uint32_t stage)
{
    struct split_stage *at = &s->out->stage[stage];
    uint8_t *marks = emu_alloc((size_t)at->graph->values + 1, 1);

    at->stash = emu_alloc((size_t)at->graph->values + 1, sizeof(*at->stash));
    if (!marks || !at->stash) {
        ss_free(marks);
        return FAIL(NO_MEMORY, "the stash of stage %u", stage);
    }
    mark_readers(at, marks);
    for (uint32_t v = 0; v < at->graph->values; v++) {
        if (is_stashed(s, stage, v, marks[v]))
            at->stash[at->stashes++] = v;
    }
    ss_free(marks);
    return EMU_OK;
}

/* ---- all stages ---- */

enum emu_status split_build(struct splitting *s)
{
    uint8_t *is_output = emu_alloc((size_t)s->g->values + 1, 1);
    enum emu_status status = is_output ? EMU_OK : FAIL(NO_MEMORY, "%u stages", s->out->stages);

    for (uint32_t k = 0; status == EMU_OK && k < s->out->stages; k++)
        status = build_stage(s, k);
    for (uint32_t k = 0; status == EMU_OK && k < s->out->stages; k++)
        status = add_outputs(s, k);
    if (status == EMU_OK)
        status = add_sent(s, is_output);
    ss_free(is_output);
    for (uint32_t k = 0; status == EMU_OK && k < s->out->stages; k++)
        status = find_stash(s, k);
    for (uint32_t k = 0; status == EMU_OK && k < s->out->stages; k++)
        status = op_graph_check(s->out->stage[k].graph);
    return status;
}
