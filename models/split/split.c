/* split.c - decides the stage of every node and value of a graph, and whether it can be split so.
 */
#include "models/split/split.h"

#include <string.h>

#include "models/operators/op_update.h"
#include "models/split/split_build.h"

/* ---- nodes ---- */

static uint32_t stage_of_rank(const struct split_cuts *c, uint32_t rank)
{
    uint32_t low = 0,
             high = c->cuts; /* cuts before low are not behind the rank, those from high are */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (c->cut[middle].node <= rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Every stage has a forward node that is not the loss. */
static enum emu_status check_stages(const struct splitting *s)
{
    uint32_t loss = s->order.is_step ? s->order.forward - 1 : OP_NONE;
    uint8_t *used = emu_alloc(s->out->stages, 1);
    unsigned k = 0;

    if (!used)
        return FAIL(NO_MEMORY, "%u stages", s->out->stages);
    for (uint32_t i = 0; i < s->order.forward; i++)
        used[s->out->of_node[i]] |= i != loss;
    while (k < s->out->stages && used[k])
        k++;
    ss_free(used);
    if (k == s->out->stages || s->out->stages == 1)
        return EMU_OK;
    return FAIL(USAGE, "--cut: stage %u would be empty: all that begins at %.*s is read later only",
                k, (int)s->cuts.cut[k ? k - 1 : 0].length, s->cuts.cut[k ? k - 1 : 0].at);
}

static enum emu_status place_nodes(struct splitting *s)
{
    TRY(split_order_rank(&s->order, s->cuts.by_nodes));
    for (uint32_t i = 0; i < s->g->nodes; i++) {
        uint32_t rank = s->order.rank[i];

        s->out->of_node[i] = rank == OP_NONE ? OP_NONE : stage_of_rank(&s->cuts, rank);
    }
    return check_stages(s);
}

/* ---- values ---- */

/* What a message calls a node. */
static const char *place_of(const struct op_node *n)
{
    return n->block && *n->block ? n->block : n->name;
}

static enum emu_status add_reader(struct splitting *s, uint32_t value, uint32_t node,
                                  uint32_t *reader)
{
    const struct op_value *v = &s->g->value[value];
    uint32_t *at = &s->out->of_value[value], stage = s->out->of_node[node];

    if (v->kind == OP_RESULT)
        return EMU_OK;
    if (*at == OP_NONE) {
        *at = stage;
        reader[value] = node;
    } else if (*at != stage && split_is_single(s->g, value)) {
        return FAIL(
            USAGE,
            "--cut: parameter %.200s is read in %.100s (stage %u) and in %.100s (stage %u); "
            "a parameter lies in one stage",
            v->name, place_of(&s->g->node[reader[value]]), *at, place_of(&s->g->node[node]), stage);
    } else if (stage < *at) {
        *at = stage;
    }
    return EMU_OK;
}

/* reader: by value, which is no result: a node that reads it. */
static enum emu_status place_by_readers(struct splitting *s, uint32_t *reader)
{
    for (uint32_t i = 0; i < s->g->nodes; i++) {
        const struct op_node *n = &s->g->node[i];

        if (s->out->of_node[i] == OP_NONE)
            continue;
        for (uint32_t k = 0; k < n->outs; k++) {
            if (n->out[k] != OP_NONE)
                s->out->of_value[n->out[k]] = s->out->of_node[i];
        }
        for (uint32_t k = 0; k < n->ins; k++) {
            if (n->in[k] != OP_NONE)
                TRY(add_reader(s, n->in[k], i, reader));
        }
    }
    return EMU_OK;
}

static void set_if_none(uint32_t *stage, uint32_t to)
{
    *stage = *stage == OP_NONE ? to : *stage;
}

/* What an update reads and makes is where the parameter is. */
static enum emu_status place_update(struct splitting *s, const struct op_node *n)
{
    struct split_lists l = split_lists_of(s->g, n);
    uint32_t *of = s->out->of_value;

    for (uint32_t k = 0; k < l.n; k++) {
        uint32_t parameter = n->in[UPDATE_LISTS + k], gradient = n->in[UPDATE_LISTS + l.n + k];

        set_if_none(&of[parameter], of[gradient]);
        set_if_none(&of[gradient], of[parameter]); /* if it is no result */
        if (of[gradient] != of[parameter])
            return FAIL(USAGE, "--cut: %.200s is in stage %u, and its gradient is made in stage %u",
                        s->g->value[parameter].name, of[parameter], of[gradient]);
        for (uint32_t j = 0; j < l.slots; j++)
            set_if_none(&of[n->in[UPDATE_LISTS + (2 + j) * l.n + k]], of[parameter]);
        for (uint32_t j = 0; j <= l.slots; j++) {
            if (n->out[j * l.n + k] != OP_NONE)
                of[n->out[j * l.n + k]] = of[parameter];
        }
    }
    for (uint32_t stage = 0; stage < s->out->stages; stage++) {
        if (!split_has_part(s, n, stage))
            continue;
        for (uint32_t k = 0; k < UPDATE_LISTS; k++)
            set_if_none(&of[n->in[k]], stage);
        if (l.sum != OP_NONE)
            set_if_none(&of[l.sum], stage);
    }
    return EMU_OK;
}

/* A state becomes what is made where it is read. */
static enum emu_status place_states(struct splitting *s)
{
    for (uint32_t k = 0; k < s->g->updates; k++) {
        const struct op_update *u = &s->g->update[k];
        uint32_t *state = &s->out->of_value[u->state], value = s->out->of_value[u->value];

        set_if_none(state, value);
        if (*state != value)
            return FAIL(
                USAGE, "--cut: %.200s is read in stage %u, and what it becomes is made in stage %u",
                s->g->value[u->state].name, *state, value);
    }
    return EMU_OK;
}

static enum emu_status place_values(struct splitting *s)
{
    uint32_t *reader = emu_alloc((size_t)s->g->values + 1, sizeof(*reader));
    enum emu_status status;

    if (!reader)
        return FAIL(NO_MEMORY, "stages of %u values", s->g->values);
    for (uint32_t v = 0; v < s->g->values; v++)
        s->out->of_value[v] = OP_NONE;
    status = place_by_readers(s, reader);
    ss_free(reader);
    for (uint32_t i = 0; status == EMU_OK && i < s->g->nodes; i++) {
        if (s->out->of_node[i] == OP_NONE)
            status = place_update(s, &s->g->node[i]);
    }
    if (status == EMU_OK)
        status = place_states(s);
    for (uint32_t v = 0; v < s->g->values; v++)
        set_if_none(&s->out->of_value[v], 0); /* nobody reads it */
    return status;
}

/* ---- the split ---- */

static enum emu_status split_new(struct splitting *s, struct split *out)
{
    *out = (struct split){ .stages = s->cuts.cuts + 1 };
    s->out = out;
    out->stage = emu_alloc(out->stages, sizeof(*out->stage));
    out->of_node = emu_alloc((size_t)s->g->nodes + 1, sizeof(*out->of_node));
    out->of_value = emu_alloc((size_t)s->g->values + 1, sizeof(*out->of_value));
    if (!out->stage || !out->of_node || !out->of_value)
        return FAIL(NO_MEMORY, "%u stages", out->stages);
    TRY(place_nodes(s));
    TRY(place_values(s));
    return split_build(s);
}

enum emu_status split_graph(const struct op_graph *g, const char *cut, struct split *out)
{
    struct splitting s = { .g = g };
    enum emu_status status = split_order_new(g, &s.order);

    memset(out, 0, sizeof(*out));
    if (status == EMU_OK)
        status = split_cuts_read(&s.order, cut, &s.cuts);
    if (status == EMU_OK)
        status = split_new(&s, out);
    ss_free(s.cuts.cut);
    split_order_free(&s.order);
    if (status != EMU_OK)
        split_free(out);
    return status;
}

void split_free(struct split *s)
{
    for (unsigned k = 0; s->stage && k < s->stages; k++) {
        op_graph_free(s->stage[k].graph);
        ss_free(s->stage[k].whole);
        ss_free(s->stage[k].own);
        ss_free(s->stage[k].stash);
    }
    ss_free(s->stage);
    ss_free(s->edge);
    ss_free(s->of_node);
    ss_free(s->of_value);
    memset(s, 0, sizeof(*s));
}
