/* op_graph.c - values, nodes and names of an operator graph, and its check. */
#include <stdarg.h>
#include <string.h>

#include "emu/base/hash.h"
#include "models/graph/op_graph.h"

enum emu_status op_graph_new(const char *name, struct op_graph **out)
{
    struct op_graph *g = emu_alloc(1, sizeof(*g));

    *out = NULL;
    if (!g)
        return FAIL(NO_MEMORY, "an operator graph");
    g->fold_room = UINT64_MAX;
    g->name = op_graph_text(g, "%s", name);
    if (!g->name) {
        op_graph_free(g);
        return FAIL(NO_MEMORY, "an operator graph");
    }
    *out = g;
    return EMU_OK;
}

void op_graph_free(struct op_graph *g)
{
    if (!g)
        return;
    for (size_t k = 0; k < g->owneds; k++)
        ss_free(g->owned[k]);
    ss_free(g->owned);
    ss_free(g->value);
    ss_free(g->node);
    ss_free(g->input);
    ss_free(g->output);
    ss_free(g->update);
    ss_free(g->problem);
    ss_free(g->slot);
    ss_free(g);
}

/* --- memory ------------------------------------------------------------------------------- */

void *op_graph_alloc(struct op_graph *g, size_t count, size_t size)
{
    void *p;

    if (emu_grow((void **)&g->owned, g->owneds, &g->owned_cap, sizeof(*g->owned)) != EMU_OK)
        return NULL;
    p = emu_alloc(count ? count : 1, size);
    if (p)
        g->owned[g->owneds++] = p;
    return p;
}

void *op_graph_copy(struct op_graph *g, const void *data, size_t bytes)
{
    void *p = op_graph_alloc(g, bytes, 1);

    if (p && bytes)
        memcpy(p, data, bytes);
    return p;
}

char *op_graph_text(struct op_graph *g, const char *fmt, ...)
{
    va_list args;
    char *text;
    int n;

    va_start(args, fmt);
    n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    text = n < 0 ? NULL : op_graph_alloc(g, (size_t)n + 1, 1);
    if (!text)
        return NULL;
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return text;
}

/* --- names -------------------------------------------------------------------------------- */

/* The slot of a name: that of the value which has it, or the free one where it belongs. */
static uint32_t name_slot(const struct op_graph *g, const char *name)
{
    uint32_t at = (uint32_t)hash64(name, strlen(name)) & (g->slots - 1);

    while (g->slot[at] && strcmp(g->value[g->slot[at] - 1].name, name))
        at = (at + 1) & (g->slots - 1);
    return at;
}

/* Makes room for one more name: the table is at most half full. */
static enum emu_status names_grow(struct op_graph *g)
{
    uint32_t slots = g->slots ? 2 * g->slots : 64;

    if (2 * (g->values + 1) <= g->slots)
        return EMU_OK;
    ss_free(g->slot);
    g->slot = emu_alloc(slots, sizeof(*g->slot));
    if (!g->slot)
        return FAIL(NO_MEMORY, "names of %u values", g->values);
    g->slots = slots;
    for (uint32_t v = 0; v < g->values; v++)
        g->slot[name_slot(g, g->value[v].name)] = v + 1;
    return EMU_OK;
}

uint32_t op_value_find(const struct op_graph *g, const char *name)
{
    return g->slots ? g->slot[name_slot(g, name)] - 1 : OP_NONE;
}

void op_value_swap_names(struct op_graph *g, uint32_t a, uint32_t b)
{
    uint32_t at_a = name_slot(g, g->value[a].name), at_b = name_slot(g, g->value[b].name);
    const char *name = g->value[a].name;

    g->value[a].name = g->value[b].name;
    g->value[b].name = name;
    g->slot[at_a] = b + 1;
    g->slot[at_b] = a + 1;
}

/* A name that no value has. */
static char *make_name(struct op_graph *g)
{
    char *name;

    do {
        name = op_graph_text(g, "%%%u", g->made_names++);
    } while (name && g->slots && g->slot[name_slot(g, name)]);
    return name;
}

/* --- values and nodes --------------------------------------------------------------------- */

enum emu_status op_value_new(struct op_graph *g, const char *name, enum op_value_kind kind,
                             const struct op_shape *shape, uint32_t *out)
{
    struct op_value v = { .kind = kind, .shape = *shape, .node = OP_NONE };

    *out = OP_NONE;
    TRY(op_shape_check(shape));
    TRY(names_grow(g));
    TRY(emu_grow((void **)&g->value, g->values, &g->value_cap, sizeof(*g->value)));
    if (name && *name && g->slot[name_slot(g, name)])
        return FAIL(BAD_FILE, "two values are called %.200s", name);
    v.name = name && *name ? op_graph_text(g, "%s", name) : make_name(g);
    if (!v.name)
        return FAIL(NO_MEMORY, "a value's name");
    *out = g->values;
    g->value[g->values] = v;
    g->slot[name_slot(g, v.name)] = ++g->values;
    return EMU_OK;
}

enum emu_status op_value_constant(struct op_graph *g, const char *name, const struct op_tensor *t,
                                  uint32_t *out)
{
    void *data = op_graph_alloc(g, op_shape_count(&t->shape), op_type_bytes(t->shape.type));

    *out = OP_NONE;
    if (!data)
        return FAIL(NO_MEMORY, "a constant");
    op_tensor_pack(t, data);
    TRY(op_value_new(g, name, OP_CONST, &t->shape, out));
    g->value[*out].data = data;
    return EMU_OK;
}

enum emu_status op_value_read(const struct op_graph *g, uint32_t value, struct op_tensor *out)
{
    const struct op_value *v = &g->value[value];

    EMU_ASSERT((op_value_constant_kind(v) || v->kind == OP_STATE) && v->data);
    return op_tensor_unpack(&v->shape, v->data, out);
}

enum emu_status op_graph_input(struct op_graph *g, uint32_t value)
{
    TRY(emu_grow((void **)&g->input, g->inputs, &g->input_cap, sizeof(*g->input)));
    g->input[g->inputs++] = value;
    return EMU_OK;
}

enum emu_status op_graph_output(struct op_graph *g, uint32_t value)
{
    TRY(emu_grow((void **)&g->output, g->outputs, &g->output_cap, sizeof(*g->output)));
    g->output[g->outputs++] = value;
    g->value[value].readers++;
    return EMU_OK;
}

static uint32_t index_in(const uint32_t *list, uint32_t count, uint32_t value)
{
    uint32_t k = 0;

    while (k < count && list[k] != value)
        k++;
    EMU_ASSERT(k < count);
    return k;
}

uint32_t op_graph_input_index(const struct op_graph *g, uint32_t value)
{
    return index_in(g->input, g->inputs, value);
}

uint32_t op_graph_output_index(const struct op_graph *g, uint32_t value)
{
    return index_in(g->output, g->outputs, value);
}

enum emu_status op_graph_state(struct op_graph *g, uint32_t value)
{
    EMU_ASSERT(g->value[value].kind == OP_PARAM);
    TRY(op_graph_input(g, value));
    g->value[value].kind = OP_STATE;
    return EMU_OK;
}

enum emu_status op_graph_update(struct op_graph *g, uint32_t state, uint32_t value)
{
    const struct op_value *to = &g->value[state], *from = &g->value[value];

    EMU_ASSERT(to->kind == OP_STATE && op_shape_equal(&to->shape, &from->shape) &&
               to->shape.type == from->shape.type);
    TRY(emu_grow((void **)&g->update, g->updates, &g->update_cap, sizeof(*g->update)));
    TRY(op_graph_output(g, value));
    g->update[g->updates++] = (struct op_update){ state, value };
    return EMU_OK;
}

uint32_t op_node_result(const struct op_node *n)
{
    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] != OP_NONE)
            return n->out[k];
    }
    return OP_NONE;
}

enum emu_status op_graph_append(struct op_graph *g, const struct op_node *n)
{
    TRY(emu_grow((void **)&g->node, g->nodes, &g->node_cap, sizeof(*g->node)));
    for (uint32_t k = 0; k < n->ins; k++) {
        if (n->in[k] != OP_NONE)
            g->value[n->in[k]].readers++;
    }
    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] != OP_NONE)
            g->value[n->out[k]].node = g->nodes;
    }
    g->node[g->nodes++] = *n;
    return EMU_OK;
}

/* A copy for a terminal: attributes of files may hold anything. */
static const char *printable(struct op_graph *g, const char *text)
{
    char *copy = op_graph_text(g, "%s", text);

    for (char *c = copy; c && *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    }
    return copy;
}

enum emu_status op_graph_problem(struct op_graph *g, const char *node, const char *op,
                                 const char *inputs, const char *why)
{
    struct op_problem p = { .nodes = 1 };

    g->nodes_wrong++;
    for (uint32_t k = 0; k < g->problems; k++) {
        if (!strcmp(g->problem[k].op, op) && !strcmp(g->problem[k].why, why)) {
            g->problem[k].nodes++;
            return EMU_OK;
        }
    }
    if (g->problems == OP_PROBLEMS_MAX)
        return EMU_OK;
    p.node = printable(g, node);
    p.op = printable(g, op);
    p.inputs = printable(g, inputs);
    p.why = printable(g, why);
    if (!p.node || !p.op || !p.inputs || !p.why)
        return FAIL(NO_MEMORY, "what is wrong in a graph");
    TRY(emu_grow((void **)&g->problem, g->problems, &g->problem_cap, sizeof(*g->problem)));
    g->problem[g->problems++] = p;
    return EMU_OK;
}

/* --- fewer values ------------------------------------------------------------------------- */

/* values: the new index of each old value, OP_NONE: gone. */
static void renumber_list(uint32_t *list, uint32_t n, const uint32_t *values)
{
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] != OP_NONE)
            list[k] = values[list[k]];
    }
}

/* Lists of nodes are the graph's, and of one node each. */
static void renumber_node(struct op_graph *g, struct op_node *n, uint32_t at,
                          const uint32_t *values)
{
    struct op_attr *attr = (struct op_attr *)n->attr;

    renumber_list((uint32_t *)n->in, n->ins, values);
    renumber_list((uint32_t *)n->out, n->outs, values);
    for (uint32_t k = 0; k < n->attrs; k++) {
        if (attr[k].kind == OP_ATTR_TENSOR)
            attr[k].value = values[attr[k].value];
    }
    for (uint32_t k = 0; k < n->ins; k++) {
        if (n->in[k] != OP_NONE)
            g->value[n->in[k]].readers++;
    }
    for (uint32_t k = 0; k < n->outs; k++) {
        if (n->out[k] != OP_NONE)
            g->value[n->out[k]].node = at;
    }
}

static void names_again(struct op_graph *g)
{
    memset(g->slot, 0, g->slots * sizeof(*g->slot));
    for (uint32_t v = 0; v < g->values; v++)
        g->slot[name_slot(g, g->value[v].name)] = v + 1;
}

enum emu_status op_graph_compact(struct op_graph *g, const uint8_t *keep_value,
                                 const uint8_t *keep_node)
{
    uint32_t *index = emu_alloc(g->values + 1, sizeof(*index));
    uint32_t values = 0, nodes = 0, f32_nodes = 0;

    if (!index)
        return FAIL(NO_MEMORY, "a graph of %u values", g->values);
    for (uint32_t v = 0; v < g->values; v++) {
        index[v] = keep_value[v] ? values : OP_NONE;
        if (!keep_value[v])
            continue;
        g->value[values] = g->value[v];
        g->value[values++].readers = 0;
    }
    g->values = values;
    for (uint32_t v = 0; v < g->values; v++) {
        uint32_t twin = g->value[v].twin;

        g->value[v].twin = twin && index[twin - 1] != OP_NONE ? 1 + index[twin - 1] : 0;
    }
    for (uint32_t n = 0; n < g->nodes; n++) {
        if (!keep_node[n])
            continue;
        g->node[nodes] = g->node[n];
        renumber_node(g, &g->node[nodes], nodes, index);
        nodes++;
        f32_nodes += n < g->f32_nodes;
    }
    g->nodes = nodes;
    g->f32_nodes = f32_nodes;
    renumber_list(g->input, g->inputs, index);
    renumber_list(g->output, g->outputs, index);
    for (uint32_t k = 0; k < g->updates; k++) {
        g->update[k].state = index[g->update[k].state];
        g->update[k].value = index[g->update[k].value];
    }
    for (uint32_t k = 0; k < g->outputs; k++)
        g->value[g->output[k]].readers++;
    if (g->slots)
        names_again(g);
    ss_free(index);
    return EMU_OK;
}

/* --- the check ---------------------------------------------------------------------------- */

/* Counts what node n reads and proves that all of it is there. */
static enum emu_status check_node(const struct op_graph *g, uint32_t n, uint32_t *readers)
{
    const struct op_node *node = &g->node[n];

    for (uint32_t k = 0; k < node->ins; k++) {
        const struct op_value *v;

        if (node->in[k] == OP_NONE)
            continue;
        if (node->in[k] >= g->values)
            return FAIL(BAD_FILE, "node %s: input %u is no value", node->name, k);
        v = &g->value[node->in[k]];
        readers[node->in[k]]++;
        if (v->kind == OP_RESULT && v->node >= n)
            return FAIL(BAD_FILE, "node %s reads %s before it is made", node->name, v->name);
    }
    for (uint32_t k = 0; k < node->outs; k++) {
        const struct op_value *v;

        if (node->out[k] == OP_NONE)
            continue;
        if (node->out[k] >= g->values)
            return FAIL(BAD_FILE, "node %s: output %u is no value", node->name, k);
        v = &g->value[node->out[k]];
        if (v->kind != OP_RESULT || v->node != n)
            return FAIL(BAD_FILE, "node %s: its result %s has another producer", node->name,
                        v->name);
    }
    return EMU_OK;
}

static enum emu_status check_values(const struct op_graph *g, const uint32_t *readers)
{
    for (uint32_t v = 0; v < g->values; v++) {
        const struct op_value *at = &g->value[v];

        if (at->readers != readers[v])
            return FAIL(BAD_FILE, "value %s: %u readers, %u are noted", at->name, readers[v],
                        at->readers);
        if (at->kind == OP_CONST && !at->data)
            return FAIL(BAD_FILE, "constant %s has no numbers", at->name);
        if (at->kind == OP_RESULT && at->node == OP_NONE && at->shape.type != OP_TYPE_UNKNOWN)
            return FAIL(BAD_FILE, "nothing makes value %s", at->name);
    }
    return EMU_OK;
}

enum emu_status op_graph_check(const struct op_graph *g)
{
    uint32_t *readers = emu_alloc(g->values + 1, sizeof(*readers));
    enum emu_status s = readers ? EMU_OK : FAIL(NO_MEMORY, "checking a graph");

    for (uint32_t n = 0; s == EMU_OK && n < g->nodes; n++)
        s = check_node(g, n, readers);
    for (uint32_t k = 0; s == EMU_OK && k < g->outputs; k++)
        readers[g->output[k]]++;
    if (s == EMU_OK)
        s = check_values(g, readers);
    ss_free(readers);
    return s;
}
