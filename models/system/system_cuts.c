/* system_cuts.c - cuts by executed cycles (see system_cuts.h). */
#include "models/system/system_cuts.h"

#include <stdlib.h>
#include <string.h>

#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/link/link.h"

enum { NONE = UINT32_MAX };

/* What lies between two neighbouring places, or several of that: cycles, bytes of the fullest tile
 * that are there at all times, and the most beside them. */
struct segment {
    uint64_t cycles, held, base;
};

/* Cuts of a few stages, up to a place: it and those before it. */
struct cut_partial {
    uint32_t place, before; /* before: a partial of one stage less; NONE: there is none */
    int unfit;
    uint64_t cycles, bytes; /* of the slowest stage; where most cross */
};

struct cut_search {
    const struct arch *a;
    const struct op_graph *g;
    const struct layer_cycles *rows;
    unsigned stages;
    struct split_places places; /* owned, like all that follows */
    char **refused;             /* by place: why it is no place; NULL: it is one */
    uint32_t *of_node;          /* by node: its segment; places + 1 of them */
    struct segment *segment;
    struct cut_partial *partial;
    uint32_t partials, level; /* level: the first one of as many stages as the last */
    size_t cap;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- what a stage takes ---- */

static void add_segment(struct segment *sum, const struct segment *s)
{
    sum->cycles += s->cycles;
    sum->held += s->held;
    sum->base = larger(sum->base, s->base);
}

static uint64_t tile_bytes(const struct segment *stage)
{
    return stage->base + stage->held;
}

/* A sync, the way, and words on the links of a pair. */
static uint64_t exchange_cycles(const struct arch *a, uint64_t bytes)
{
    const struct link_numbers n = link_numbers_of(a);

    return link_sync_cycles(a, a->chips) + n.latency + link_busy_cycles(&n, LINK_PAIR, bytes);
}

/* ---- where layers are ---- */

/* Each node is behind as many places as there are cuts that put it into the second stage. */
static enum emu_status place_nodes(struct cut_search *s)
{
    for (uint32_t k = 0; k < s->places.count; k++) {
        struct split split;
        enum emu_status st = split_graph(s->g, s->places.at[k].name, &split);

        for (uint32_t i = 0; st == EMU_OK && i < s->g->nodes; i++)
            s->of_node[i] += split.of_node[i] == 1;
        split_free(&split);
        if (st == EMU_USAGE) {
            s->refused[k] = emu_strdup(ss_error());
            st = s->refused[k] ? EMU_OK : EMU_NO_MEMORY;
        }
        /* The nodes of a place that is none go with those behind it. */
        for (uint32_t i = 0; s->refused[k] && i < s->g->nodes; i++)
            s->of_node[i] += i >= s->places.at[k].node;
        TRY(st);
    }
    return EMU_OK;
}

/* The node that a row begins with or, of a node that lowering made, one of its block. */
static uint32_t node_of(const struct op_graph *g, const struct layer_text *t)
{
    uint32_t found = NONE;

    for (uint32_t i = 0; i < g->nodes; i++) {
        if (strcmp(g->node[i].block, t->block) != 0)
            continue;
        if (!strcmp(g->node[i].name, t->name))
            return i;
        if (found == NONE && *t->block)
            found = i;
    }
    return found;
}

/* The fullest tile of a chip that was run. */
struct chip_memory {
    uint64_t always; /* in use at all times */
    uint64_t fixed;  /* of that, what no layer holds: code for all of them */
    uint64_t held;   /* by layers, on all tiles together */
};

static struct chip_memory memory_of(const struct cut_search *s, uint32_t chip)
{
    struct chip_memory m = { .always = UINT64_MAX };

    for (uint32_t i = 0; i < s->rows->rows; i++) {
        const struct layer_bill *b = &s->rows->row[i];

        if (b->chip != chip)
            continue;
        if (b->layer == BILL_NONE)
            m.fixed = b->held_bytes / s->a->tiles;
        else
            m.held += b->held_bytes;
        if (b->layer != BILL_NONE && b->max_tile_bytes && b->max_tile_bytes < m.always)
            m.always = b->max_tile_bytes;
    }
    m.always = m.always == UINT64_MAX ? 0 : m.always;
    m.fixed = m.fixed < m.always ? m.fixed : m.always;
    return m;
}

/* Of what is always on the fullest tile a layer has the part that it has on all tiles. */
static struct segment layer_takes(const struct layer_bill *b, const struct chip_memory *m)
{
    double part = m->held ? (double)b->held_bytes / (double)m->held : 0;

    return (struct segment){ .cycles = b->cycles,
                             .held = (uint64_t)(part * (double)(m->always - m->fixed)),
                             .base = larger(b->max_tile_bytes, m->always) - m->always + m->fixed };
}

static void sum_up_segments(struct cut_search *s)
{
    struct chip_memory memory = { 0 };
    uint32_t chip = NONE, at = 0;

    for (uint32_t i = 0; i < s->rows->rows; i++) {
        const struct layer_bill *b = &s->rows->row[i];
        struct segment takes;
        uint32_t node;

        if (b->layer == BILL_NONE)
            continue;
        if (b->chip != chip)
            memory = memory_of(s, b->chip);
        chip = b->chip;
        node = node_of(s->g, &s->rows->text[i]);
        at = node == NONE ? at : s->of_node[node];
        takes = layer_takes(b, &memory);
        add_segment(&s->segment[at], &takes);
    }
}

static enum emu_status survey(struct cut_search *s)
{
    TRY(split_places(s->g, 0, &s->places));
    if (s->places.count + 1 < s->stages)
        return FAIL(USAGE, "the network has %u places to cut, %u stages need %u", s->places.count,
                    s->stages, s->stages - 1);
    s->refused = emu_alloc((size_t)s->places.count + 1, sizeof(*s->refused));
    s->segment = emu_alloc((size_t)s->places.count + 1, sizeof(*s->segment));
    s->of_node = emu_alloc((size_t)s->g->nodes + 1, sizeof(*s->of_node));
    if (!s->refused || !s->segment || !s->of_node)
        return FAIL(NO_MEMORY, "cuts at %u places", s->places.count);
    TRY(place_nodes(s));
    sum_up_segments(s);
    return EMU_OK;
}

/* ---- the search ---- */

static uint64_t slot_of(const struct cut_search *s, const struct cut_partial *p)
{
    return p->cycles + exchange_cycles(s->a, p->bytes);
}

static int is_better(const struct cut_search *s, const struct cut_partial *p,
                     const struct cut_partial *than)
{
    return p->unfit != than->unfit ? p->unfit < than->unfit : slot_of(s, p) < slot_of(s, than);
}

/* Among the `count` best ones, of which there are at most CUTS_KEPT. */
static uint32_t keep_best(const struct cut_search *s, struct cut_partial *best, uint32_t count,
                          struct cut_partial p)
{
    uint32_t at = count < CUTS_KEPT ? count : CUTS_KEPT;

    for (; at && is_better(s, &p, &best[at - 1]); at--) {
        if (at < CUTS_KEPT)
            best[at] = best[at - 1];
    }
    if (at < CUTS_KEPT)
        best[at] = p;
    return count < CUTS_KEPT ? count + 1 : CUTS_KEPT;
}

static enum emu_status add_partial(struct cut_search *s, struct cut_partial p)
{
    TRY(emu_grow((void **)&s->partial, s->partials, &s->cap, sizeof(*s->partial)));
    s->partial[s->partials++] = p;
    return EMU_OK;
}

/* A stage more behind p, up to a place. */
static struct cut_partial extend(const struct cut_search *s, uint32_t before,
                                 const struct segment *stage, uint32_t place)
{
    const struct cut_partial none = { .place = 0 };
    const struct cut_partial *p = before == NONE ? &none : &s->partial[before];

    return (struct cut_partial){ .place = place,
                                 .before = before,
                                 .unfit = p->unfit || tile_bytes(stage) > s->a->mem_bytes,
                                 .cycles = larger(p->cycles, stage->cycles),
                                 .bytes = place < s->places.count
                                              ? larger(p->bytes, s->places.at[place].forward_bytes)
                                              : p->bytes };
}

/* The first stage ends at any place; where two stages are wanted, also at one that is none. */
static enum emu_status begin_search(struct cut_search *s)
{
    struct segment stage = { 0 };

    for (uint32_t k = 0; k < s->places.count; k++) {
        add_segment(&stage, &s->segment[k]);
        if (!s->refused[k] || s->stages == 2)
            TRY(add_partial(s, extend(s, NONE, &stage, k)));
    }
    return EMU_OK;
}

/* All, or the best, that end at a place, or with the last stage at the end. */
static enum emu_status end_at(struct cut_search *s, uint32_t first, uint32_t end, uint32_t place,
                              int all)
{
    struct cut_partial best[CUTS_KEPT];
    struct segment stage = { 0 };
    uint32_t segment = place + 1, count = 0;

    for (uint32_t i = end; i-- > first;) {
        struct cut_partial p;

        if (s->partial[i].place >= place)
            continue;
        while (segment > s->partial[i].place + 1)
            add_segment(&stage, &s->segment[--segment]);
        p = extend(s, i, &stage, place);
        if (all)
            TRY(add_partial(s, p));
        else
            count = keep_best(s, best, count, p);
    }
    for (uint32_t k = 0; k < count; k++)
        TRY(add_partial(s, best[k]));
    return EMU_OK;
}

/* One stage after the other: what ends at a place in the best ways. */
static enum emu_status find(struct cut_search *s)
{
    uint32_t end;

    TRY(begin_search(s));
    for (unsigned stage = 2; stage < s->stages; stage++) {
        end = s->partials;
        for (uint32_t k = 0; k < s->places.count; k++) {
            if (!s->refused[k])
                TRY(end_at(s, s->level, end, k, 0));
        }
        s->level = end;
    }
    end = s->partials;
    TRY(end_at(s, s->level, end, s->places.count, s->stages == 2));
    s->level = end;
    return EMU_OK;
}

/* ---- the answer ---- */

static enum emu_status name_cut(const struct cut_search *s, const uint32_t *place, char **out)
{
    size_t bytes = 1;

    for (unsigned k = 0; k + 1 < s->stages; k++)
        bytes += strlen(s->places.at[place[k]].name) + 1;
    *out = emu_alloc(bytes, 1);
    if (!*out)
        return FAIL(NO_MEMORY, "a cut");
    for (unsigned k = 0; k + 1 < s->stages; k++) {
        strcat(*out, k ? "," : "");
        strcat(*out, s->places.at[place[k]].name);
    }
    return EMU_OK;
}

static void fill_stages(const struct cut_search *s, const uint32_t *place, struct system_cut *c)
{
    uint32_t segment = 0;

    for (unsigned k = s->stages; k--;) {
        struct segment stage = { 0 };

        segment = k ? place[k - 1] + 1 : 0;
        for (; segment <= place[k]; segment++)
            add_segment(&stage, &s->segment[segment]);
        c->stage[k] = (struct cut_stage){ stage.cycles, tile_bytes(&stage) };
        if (c->stage[k].tile_bytes > s->a->mem_bytes)
            c->first = k;
    }
}

static enum emu_status make_cut(const struct cut_search *s, const struct cut_partial *p,
                                struct system_cut *c)
{
    uint32_t place[CUT_STAGES_MAX];
    const struct cut_partial *at = p;

    for (unsigned k = s->stages; k--;) {
        place[k] = at->place;
        at = k ? &s->partial[at->before] : NULL;
    }
    *c = (struct system_cut){ .slot = slot_of(s, p),
                              .exchange = exchange_cycles(s->a, p->bytes),
                              .bytes = p->bytes,
                              .unfit = p->unfit };
    fill_stages(s, place, c);
    if (s->stages == 2 && s->refused[place[0]]) {
        c->tied = emu_strdup(s->refused[place[0]]);
        if (!c->tied)
            return FAIL(NO_MEMORY, "a cut");
    }
    return name_cut(s, place, &c->names);
}

/* For qsort: what breaks something last, then by slot; equal ones in the order of names. */
static int by_slot(const void *a, const void *b)
{
    const struct system_cut *x = a, *y = b;
    int broken = (x->tied != NULL) * 2 + x->unfit - (y->tied != NULL) * 2 - y->unfit;

    if (broken || x->slot == y->slot)
        return broken ? broken : strcmp(x->names, y->names);
    return x->slot < y->slot ? -1 : 1;
}

static enum emu_status make_cuts(const struct cut_search *s, struct system_cuts *out)
{
    out->at = emu_alloc((size_t)(s->partials - s->level) + 1, sizeof(*out->at));
    if (!out->at)
        return FAIL(NO_MEMORY, "cuts");
    for (uint32_t i = s->level; i < s->partials; i++)
        TRY(make_cut(s, &s->partial[i], &out->at[out->count++]));
    qsort(out->at, out->count, sizeof(*out->at), by_slot);
    return EMU_OK;
}

static void search_free(struct cut_search *s)
{
    for (uint32_t k = 0; s->refused && k < s->places.count; k++)
        ss_free(s->refused[k]);
    ss_free(s->refused);
    ss_free(s->of_node);
    ss_free(s->segment);
    ss_free(s->partial);
    split_places_free(&s->places);
}

enum emu_status system_cuts_new(const struct arch *a, const struct op_graph *g,
                                const struct layer_cycles *rows, unsigned stages,
                                struct system_cuts *out)
{
    struct cut_search s = { .a = a, .g = g, .rows = rows, .stages = stages };
    enum emu_status st;

    EMU_ASSERT(stages >= 2 && stages <= CUT_STAGES_MAX);
    *out = (struct system_cuts){ .stages = stages, .mem_bytes = a->mem_bytes };
    st = survey(&s);
    if (st == EMU_OK)
        st = find(&s);
    if (st == EMU_OK)
        st = make_cuts(&s, out);
    search_free(&s);
    return st;
}

void system_cuts_free(struct system_cuts *c)
{
    for (uint32_t k = 0; k < c->count; k++) {
        ss_free(c->at[k].names);
        ss_free(c->at[k].tied);
    }
    ss_free(c->at);
    *c = (struct system_cuts){ .stages = 0 };
}
