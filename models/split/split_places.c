/* split_places.c - the places where a graph can be cut, and which of them are a good choice. */
#include <string.h>

#include "models/operators/op_bytes.h"
#include "models/split/split.h"
#include "models/split/split_order.h"

/* ---- what is before a place, and what crosses it ---- */

/* By node: the place there, or what is to be added up from the place there on. */
struct survey {
    const struct split_order *o;
    uint64_t *work;          /* of nodes of a rank */
    int64_t *forward, *back; /* bytes that begin, or no longer, cross */
    uint32_t *tied;          /* 1 + a parameter; 0: none */
};

/* The ranks of those nodes that read a value: of forward and backward ones. */
struct reader_ranks {
    uint32_t first, last; /* first OP_NONE: there are none */
};

static enum emu_status find_reach(const struct split_order *o, struct reader_ranks **out)
{
    const struct op_graph *g = o->g;
    struct reader_ranks *r = emu_alloc((size_t)g->values + 1, sizeof(*r));

    *out = r;
    if (!r)
        return FAIL(NO_MEMORY, "readers of %u values", g->values);
    for (uint32_t v = 0; v < g->values; v++)
        r[v].first = OP_NONE;
    for (uint32_t i = 0; i < g->nodes; i++) {
        uint32_t rank = o->rank[i];

        for (uint32_t k = 0; k < g->node[i].ins && rank != OP_NONE; k++) {
            struct reader_ranks *at = g->node[i].in[k] == OP_NONE ? NULL : &r[g->node[i].in[k]];

            if (at && rank < at->first)
                at->first = rank;
            if (at && rank > at->last)
                at->last = rank;
        }
    }
    return EMU_OK;
}

/* A value crosses the places behind its producer up to its last reader, and back those behind its
 * first reader up to its producer. */
static void add_crossing(struct survey *s, uint32_t value, const struct reader_ranks *r)
{
    const struct op_graph *g = s->o->g;
    uint32_t made = s->o->rank[g->value[value].node];
    int64_t bytes = (int64_t)op_value_bytes(g, value);

    if (made == OP_NONE || r->first == OP_NONE)
        return;
    if (r->last > made) {
        s->forward[made + 1] += bytes;
        s->forward[r->last + 1] -= bytes;
    }
    if (r->first < made) {
        s->back[r->first + 1] += bytes;
        s->back[made + 1] -= bytes;
    }
}

static void add_tied(struct survey *s, uint32_t value, const struct reader_ranks *r)
{
    if (r->first == OP_NONE || !split_is_single(s->o->g, value))
        return;
    for (uint32_t i = r->first + 1; i <= r->last; i++)
        s->tied[i] = s->tied[i] ? s->tied[i] : 1 + value;
}

static uint64_t work_of(const struct op_graph *g, const struct op_node *n)
{
    uint64_t work = op_node_macs(g, n) + 1;

    for (uint32_t k = 0; k < n->outs; k++)
        work += n->out[k] == OP_NONE ? 0 : op_shape_count(&g->value[n->out[k]].shape);
    return work;
}

static enum emu_status survey_all(struct survey *s)
{
    const struct op_graph *g = s->o->g;
    size_t n = (size_t)s->o->forward + 2;
    struct reader_ranks *r = NULL;

    s->work = emu_alloc(n, sizeof(*s->work));
    s->forward = emu_alloc(n, sizeof(*s->forward));
    s->back = emu_alloc(n, sizeof(*s->back));
    s->tied = emu_alloc(n, sizeof(*s->tied));
    if (!s->work || !s->forward || !s->back || !s->tied)
        return FAIL(NO_MEMORY, "places in %u nodes", g->nodes);
    TRY(find_reach(s->o, &r));
    for (uint32_t i = 0; i < s->o->forward; i++)
        s->work[s->o->rank[i]] += work_of(g, &g->node[i]);
    for (uint32_t v = 0; v < g->values; v++) {
        if (g->value[v].node != OP_NONE)
            add_crossing(s, v, &r[v]);
        else
            add_tied(s, v, &r[v]);
    }
    ss_free(r);
    return EMU_OK;
}

static void survey_free(struct survey *s)
{
    ss_free(s->work);
    ss_free(s->forward);
    ss_free(s->back);
    ss_free(s->tied);
}

/* ---- places ---- */

static int ends_with_number(const struct split_name *n)
{
    uint32_t at = n->length;

    while (at && n->at[at - 1] >= '0' && n->at[at - 1] <= '9')
        at--;
    return at && at < n->length && n->at[at - 1] == '.';
}

/* Of names that begin at one node the first is the place's, which is that of the block that holds
 * the others; but "layer.0" is a better one than "layer". */
static enum emu_status add_place(const struct split_name *n, struct split_places *out, size_t *cap)
{
    struct split_place *last = out->count ? &out->at[out->count - 1] : NULL;
    int is_same = last && last->node == n->node;
    char *name;

    if (is_same && (!ends_with_number(n) || ends_with_number(&(struct split_name){
                                                last->name, (uint32_t)strlen(last->name), 0 })))
        return EMU_OK;
    name = emu_strndup(n->at, n->length);
    if (!name)
        return FAIL(NO_MEMORY, "a place");
    if (is_same) {
        ss_free(last->name);
        last->name = name;
        return EMU_OK;
    }
    if (emu_grow((void **)&out->at, out->count, cap, sizeof(*out->at)) != EMU_OK) {
        ss_free(name);
        return FAIL(NO_MEMORY, "%u places", out->count);
    }
    out->at[out->count++] = (struct split_place){ .name = name, .node = n->node };
    return EMU_OK;
}

/* The graph begins with no place, and what could not be said in a list of cuts is none. */
static enum emu_status add_places(const struct split_order *o, const struct split_names *t,
                                  struct split_places *out)
{
    size_t cap = 0;

    for (uint32_t k = 0; k < t->names; k++) {
        const struct split_name *n = &t->name[k];
        uint32_t block = split_names_find(&o->blocks, n->at, n->length);

        if (n->node && !memchr(n->at, ',', n->length) && (block == OP_NONE || block == n->node))
            TRY(add_place(n, out, &cap));
    }
    return EMU_OK;
}

static void measure_places(const struct survey *s, struct split_places *out)
{
    const struct op_graph *g = s->o->g;
    int64_t forward = 0, back = 0;
    uint32_t i = 0;

    for (uint32_t k = 0; k < out->count; k++) {
        struct split_place *p = &out->at[k];

        for (; i < p->node; i++) {
            out->work += s->work[i];
            forward += s->forward[i];
            back += s->back[i];
        }
        p->work = out->work;
        p->forward_bytes = (uint64_t)(forward + s->forward[i]);
        p->backward_bytes = (uint64_t)(back + s->back[i]);
        p->tied = s->tied[i] ? g->value[s->tied[i] - 1].name : NULL;
    }
    for (; i < s->o->forward; i++)
        out->work += s->work[i];
}

static enum emu_status find_places(struct split_order *o, int nodes, struct split_places *out)
{
    struct survey survey = { .o = o };
    enum emu_status s;

    nodes |= !o->blocks.names;
    TRY(split_order_rank(o, nodes));
    TRY(add_places(o, nodes ? &o->nodes : &o->blocks, out));
    s = survey_all(&survey);
    if (s == EMU_OK)
        measure_places(&survey, out);
    survey_free(&survey);
    return s;
}

enum emu_status split_places(const struct op_graph *g, int nodes, struct split_places *out)
{
    struct split_order o;
    enum emu_status s = split_order_new(g, &o);

    *out = (struct split_places){ .count = 0 };
    if (s == EMU_OK)
        s = find_places(&o, nodes, out);
    split_order_free(&o);
    if (s != EMU_OK)
        split_places_free(out);
    return s;
}

void split_places_free(struct split_places *p)
{
    for (uint32_t k = 0; k < p->count; k++)
        ss_free(p->at[k].name);
    ss_free(p->at);
    *p = (struct split_places){ .count = 0 };
}

/* ---- a choice ---- */

/* Places that may be chosen: after all others, the end. */
struct cut_choice {
    struct split_place *at; /* owned; names are borrowed */
    uint32_t count;         /* without the end */
    unsigned stages;
    uint64_t largest; /* work of a stage; UINT64_MAX: there are too few places */
};

/* Whether greedy stages of at most that work are few enough. Cutting one of them once more makes
 * none larger, so exactly as many as are wanted are possible, too. */
static int is_enough(const struct cut_choice *c, uint64_t work)
{
    uint64_t begin = 0;
    unsigned stages = 1;

    for (uint32_t k = 0; k <= c->count; k++) {
        uint64_t before = k ? c->at[k - 1].work : 0;

        if (c->at[k].work - begin <= work)
            continue;
        if (before == begin || c->at[k].work - before > work)
            return 0;
        begin = before;
        stages++;
    }
    return stages <= c->stages;
}

static void find_largest(struct cut_choice *c)
{
    uint64_t low = 0, high = c->at[c->count].work;

    if (c->count + 1 < c->stages) {
        c->largest = UINT64_MAX;
        return;
    }
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (is_enough(c, middle))
            high = middle;
        else
            low = middle + 1;
    }
    c->largest = low;
}

/* Every place is behind some work that is not before the last one: else the stage between them
 * would be empty. */
static enum emu_status choice_new(const struct split_places *p, unsigned stages,
                                  struct cut_choice *out)
{
    uint64_t before = 0;

    *out = (struct cut_choice){ .stages = stages };
    out->at = emu_alloc((size_t)p->count + 1, sizeof(*out->at));
    if (!out->at)
        return FAIL(NO_MEMORY, "a choice among %u places", p->count);
    for (uint32_t k = 0; k < p->count; k++) {
        if (p->at[k].tied || p->at[k].work == before || p->at[k].work == p->work)
            continue;
        before = p->at[k].work;
        out->at[out->count++] = p->at[k];
    }
    out->at[out->count] = (struct split_place){ .work = p->work };
    find_largest(out);
    return EMU_OK;
}

/* The fewest bytes of cuts of which the last is a place, and the place of the one before it. */
struct cheapest {
    uint64_t bytes; /* UINT64_MAX: there are none */
    uint32_t before;
};

static uint64_t crossing(const struct split_place *p)
{
    return p->forward_bytes + p->backward_bytes;
}

/* One stage more: row `to` from row `from`, both by place. queue: room for all places, of those
 * that are near enough, with rising bytes. */
static void extend(const struct cut_choice *c, uint64_t work, const struct cheapest *from,
                   struct cheapest *to, uint32_t *queue)
{
    uint32_t begin = 0, end = 0;

    for (uint32_t k = 0; k <= c->count; k++) {
        while (begin < end && c->at[k].work - c->at[queue[begin]].work > work)
            begin++;
        to[k] = (struct cheapest){ UINT64_MAX, 0 };
        if (begin < end)
            to[k] =
                (struct cheapest){ from[queue[begin]].bytes + crossing(&c->at[k]), queue[begin] };
        while (begin < end && from[queue[end - 1]].bytes > from[k].bytes)
            end--;
        if (from[k].bytes != UINT64_MAX)
            queue[end++] = k;
    }
}

/* row: by stage and place. chosen: by cut. */
static void choose(const struct cut_choice *c, struct cheapest *row, uint32_t *queue,
                   uint32_t *chosen)
{
    uint64_t work = c->largest + c->largest / 20;
    size_t width = (size_t)c->count + 1;
    uint32_t at = c->count;

    for (uint32_t k = 0; k <= c->count; k++) {
        row[k].bytes = c->at[k].work <= work ? crossing(&c->at[k]) : UINT64_MAX;
        row[k].before = 0;
    }
    for (unsigned s = 1; s < c->stages; s++)
        extend(c, work, row + (s - 1) * width, row + s * width, queue);
    for (unsigned s = c->stages - 1; s > 0; s--) {
        at = row[s * width + at].before;
        chosen[s - 1] = at;
    }
}

static char *joined(const struct cut_choice *c, const uint32_t *chosen)
{
    size_t bytes = 1;
    char *text, *at;

    for (unsigned k = 0; k + 1 < c->stages; k++)
        bytes += strlen(c->at[chosen[k]].name) + 1;
    text = at = emu_alloc(bytes, 1);
    for (unsigned k = 0; text && k + 1 < c->stages; k++)
        at += sprintf(at, "%s%s", k ? "," : "", c->at[chosen[k]].name);
    return text;
}

static enum emu_status name_chosen(const struct cut_choice *c, char **cut)
{
    size_t width = (size_t)c->count + 1;
    struct cheapest *row = emu_alloc(c->stages * width, sizeof(*row));
    uint32_t *queue = emu_alloc(width, sizeof(*queue));
    uint32_t *chosen = emu_alloc(c->stages, sizeof(*chosen));

    if (row && queue && chosen) {
        choose(c, row, queue, chosen);
        *cut = joined(c, chosen);
    }
    ss_free(row);
    ss_free(queue);
    ss_free(chosen);
    return *cut ? EMU_OK : FAIL(NO_MEMORY, "a choice among %u places", c->count);
}

static enum emu_status choose_of(const struct split_places *blocks,
                                 const struct split_places *nodes, unsigned stages, char **cut)
{
    struct cut_choice by_blocks = { .at = NULL }, by_nodes = { .at = NULL };
    enum emu_status s = choice_new(blocks, stages, &by_blocks);

    if (s == EMU_OK)
        s = choice_new(nodes, stages, &by_nodes);
    if (s == EMU_OK && by_blocks.largest == UINT64_MAX && by_nodes.largest == UINT64_MAX)
        s = FAIL(USAGE, "the network has %u place%s to cut, %u stages need %u", by_nodes.count,
                 by_nodes.count == 1 ? "" : "s", stages, stages - 1);
    else if (s == EMU_OK && by_blocks.largest - by_blocks.largest / 4 > by_nodes.largest)
        s = name_chosen(&by_nodes, cut);
    else if (s == EMU_OK)
        s = name_chosen(&by_blocks, cut);
    ss_free(by_blocks.at);
    ss_free(by_nodes.at);
    return s;
}

enum emu_status split_auto(const struct op_graph *g, unsigned stages, char **cut)
{
    struct split_places blocks = { .count = 0 }, nodes = { .count = 0 };
    enum emu_status s = EMU_OK;

    *cut = NULL;
    if (stages <= 1)
        return EMU_OK;
    s = split_places(g, 0, &blocks);
    if (s == EMU_OK)
        s = split_places(g, 1, &nodes);
    if (s == EMU_OK)
        s = choose_of(&blocks, &nodes, stages, cut);
    split_places_free(&blocks);
    split_places_free(&nodes);
    return s;
}
