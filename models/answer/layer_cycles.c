/* layer_cycles.c - matches supersteps and memory with the layers of a network: every operation and
 * every object knows the scope of the graph in which it was made, and each layer has a scope. */
#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/bsp/record.h"
#include "emu/job/run_image.h"
#include "emu/profile/bill.h"
#include "models/answer/layer_cycles.h"

#include <string.h>

/* ---- rows ---- */

/* Needed only while rows and steps are made. */
struct layer_maker {
    struct layer_cycles *k; /* borrowed, like graph and program */
    const struct compiled *c;
    uint32_t *row_of_scope; /* owned; by scope of the graph */
    uint32_t scopes;
    struct trace_step *trace; /* owned; one for each step of k */
};

/* The row that a scope belongs to. */
static uint32_t row_of(const struct layer_maker *m, uint32_t scope)
{
    return scope < m->scopes ? m->row_of_scope[scope] : m->k->rows - 1;
}

static struct layer_plan plan_of(const struct conv_plan *p)
{
    if (!p->cut_n)
        return (struct layer_plan){ 0 };
    return (struct layer_plan){ .planned = 1,
                                .method = p->method,
                                .cut_n = p->cut_n,
                                .cut_h = p->cut_h,
                                .cut_w = p->cut_w,
                                .cut_out = p->cut_out,
                                .cut_in = p->cut_in,
                                .tile_bytes = p->cost.tile_bytes };
}

static enum emu_status make_rows(struct layer_cycles *k, const struct layer_source *source,
                                 uint32_t sources)
{
    k->row = emu_alloc(sources + 1, sizeof(*k->row));
    k->plan = emu_alloc(sources + 1, sizeof(*k->plan));
    k->text = emu_alloc(sources + 1, sizeof(*k->text));
    if (!k->row || !k->plan || !k->text)
        return FAIL(NO_MEMORY, "bills of %u layers", sources);
    for (uint32_t i = 0; i < sources; i++) {
        const struct layer_source *from = &source[i];

        k->row[i] = (struct layer_bill){ .layer = from->layer,
                                         .last = from->last,
                                         .macs = from->macs,
                                         .bound = from->bound,
                                         .predicted = from->plan ? from->plan->cost.total : 0 };
        k->text[i] = from->text;
        if (from->plan)
            k->plan[i] = plan_of(from->plan);
    }
    k->row[sources] = (struct layer_bill){ .layer = BILL_NONE, .last = BILL_NONE };
    k->text[sources] = (struct layer_text){ "(no layer)", "", "" };
    k->rows = sources + 1;
    return EMU_OK;
}

/* Finds the row of every scope; a scope inside that of a layer belongs to the layer. */
static enum emu_status match_scopes(struct layer_maker *m, const struct layer_source *source)
{
    const struct graph *g = ss_compiled_graph(m->c);
    uint32_t rows = m->k->rows;

    m->scopes = ss_graph_scopes(g);
    m->row_of_scope = emu_alloc(m->scopes + 1, sizeof(*m->row_of_scope));
    if (!m->row_of_scope)
        return FAIL(NO_MEMORY, "%u scopes", m->scopes);
    for (uint32_t i = 1; i < m->scopes; i++)
        m->row_of_scope[i] = rows; /* not known yet */
    m->row_of_scope[0] = rows - 1;
    for (uint32_t i = 0; i + 1 < rows; i++) {
        if (source[i].scope)
            m->row_of_scope[source[i].scope] = i;
    }
    for (uint32_t i = 1; i < m->scopes; i++) { /* parents come first */
        if (m->row_of_scope[i] == rows)
            m->row_of_scope[i] = m->row_of_scope[ss_graph_scope_parent(g, i)];
    }
    return EMU_OK;
}

/* ---- steps ---- */

static void make_step(struct layer_maker *m, const struct trace_step *from)
{
    struct layer_cycles *k = m->k;

    k->step[k->steps++] = (struct billed_step){ .superstep = from->superstep,
                                                .computes = from->kind == TRACE_COMPUTE,
                                                .row = row_of(m, from->scope),
                                                .first_share = (uint32_t)k->shares,
                                                .shares = from->shares };
    for (uint32_t j = 0; j < from->shares; j++)
        k->share[k->shares++] =
            (struct moved_share){ row_of(m, from->share[j].scope), from->share[j].bytes };
}

static enum emu_status make_steps(struct layer_maker *m)
{
    struct layer_cycles *k = m->k;
    size_t steps, shares = 0;

    TRY(ss_compiled_trace(m->c, &m->trace, &steps));
    for (size_t i = 0; i < steps; i++)
        shares += m->trace[i].shares;
    k->step = emu_alloc(steps + 1, sizeof(*k->step));
    k->share = emu_alloc(shares + 1, sizeof(*k->share));
    if (!k->step || !k->share)
        return FAIL(NO_MEMORY, "%zu steps", steps);
    for (size_t i = 0; i < steps; i++)
        make_step(m, &m->trace[i]);
    return EMU_OK;
}

/* The steps of one superstep, in the order of their execution. */
struct superstep {
    const struct billed_step *step;
    size_t count;
};

/* The steps of a superstep that begin at `at`, or none. */
static struct superstep superstep_at(const struct layer_cycles *k, size_t at, size_t superstep)
{
    struct superstep s = { k->step + at, 0 };

    while (at + s.count < k->steps && s.step[s.count].superstep == superstep)
        s.count++;
    return s;
}

/* Whether all steps that compute belong to one row. */
static int is_alone(const struct superstep *s)
{
    const struct billed_step *first = NULL;

    for (size_t i = 0; i < s->count; i++) {
        const struct billed_step *t = &s->step[i];

        if (!t->computes)
            continue;
        if (t->shares || (first && t->row != first->row))
            return 0;
        first = t;
    }
    return 1;
}

/* The cycles by formula of all steps that share the compute of a superstep with others. */
static enum emu_status weigh_steps(struct layer_maker *m)
{
    struct layer_cycles *k = m->k;

    for (size_t at = 0; at < k->steps;) {
        struct superstep s = superstep_at(k, at, k->step[at].superstep);
        int alone = is_alone(&s);

        for (size_t end = at + s.count; at < end; at++) {
            if (!alone && k->step[at].computes)
                TRY(ss_compiled_step_cycles(m->c, m->trace[at].step, &k->step[at].cycles));
        }
    }
    return EMU_OK;
}

/* ---- memory ---- */

struct holder {
    const struct layer_maker *m;
    struct layer_cycles *k;
    uint64_t *bytes; /* owned; by row: on the tile in hand */
    uint32_t tile;
};

static void finish_tile(struct holder *h)
{
    uint64_t all = 0;

    for (uint32_t i = 0; i < h->k->rows; i++) {
        struct layer_bill *b = &h->k->row[i];

        b->held_bytes += h->bytes[i];
        if (h->bytes[i] > b->held_tile_bytes)
            b->held_tile_bytes = h->bytes[i];
        all += h->bytes[i];
        h->bytes[i] = 0;
    }
    if (all > h->k->total.held_tile_bytes)
        h->k->total.held_tile_bytes = all;
}

static void hold(void *ctx, uint32_t tile, const struct held_bytes *b)
{
    struct holder *h = ctx;

    if (tile != h->tile)
        finish_tile(h);
    h->tile = tile;
    h->bytes[row_of(h->m, b->scope)] += b->bytes;
}

static enum emu_status add_held(const struct layer_maker *m)
{
    struct holder h = { .m = m, .k = m->k, .bytes = emu_alloc(m->k->rows, sizeof(*h.bytes)) };
    enum emu_status s;

    if (!h.bytes)
        return FAIL(NO_MEMORY, "memory by layer");
    s = ss_compiled_held(m->c, hold, &h);
    if (s == EMU_OK)
        finish_tile(&h);
    ss_free(h.bytes);
    return s;
}

void layer_cycles_sum(struct layer_cycles *k)
{
    struct layer_bill *t = &k->total;
    uint64_t held_tile_bytes = t->held_tile_bytes; /* of no single row */

    *t = (struct layer_bill){ .layer = BILL_NONE, .last = BILL_NONE };
    t->held_tile_bytes = held_tile_bytes;
    for (uint32_t i = 0; i < k->rows; i++) {
        const struct layer_bill *b = &k->row[i];

        t->supersteps += b->supersteps;
        t->cycles += b->cycles;
        t->exchange += b->exchange;
        t->compute += b->compute;
        t->sync += b->sync;
        t->imbalance += b->imbalance;
        t->macs += b->macs;
        t->bound += b->bound;
        t->predicted += b->predicted;
        t->held_bytes += b->held_bytes;
        if (b->max_tile_bytes > t->max_tile_bytes)
            t->max_tile_bytes = b->max_tile_bytes;
    }
}

static void note_bytes(struct layer_bill *b, uint64_t bytes)
{
    b->max_tile_bytes = bytes > b->max_tile_bytes ? bytes : b->max_tile_bytes;
}

static void add_fullest(const struct layer_maker *m)
{
    for (size_t i = 0; i < m->k->steps; i++) {
        const struct billed_step *t = &m->k->step[i];

        note_bytes(&m->k->row[t->row], m->trace[i].max_tile_bytes);
        for (uint32_t j = 0; j < t->shares; j++)
            note_bytes(&m->k->row[m->k->share[t->first_share + j].row], m->trace[i].max_tile_bytes);
    }
}

static enum emu_status make_all(struct layer_maker *m, const struct layer_source *source,
                                uint32_t sources)
{
    TRY(make_rows(m->k, source, sources));
    TRY(match_scopes(m, source));
    TRY(make_steps(m));
    TRY(weigh_steps(m));
    add_fullest(m);
    TRY(add_held(m));
    layer_cycles_sum(m->k);
    return EMU_OK;
}

enum emu_status layer_cycles_init(const struct layer_source *source, uint32_t sources,
                                  const struct compiled *c, struct layer_cycles *k)
{
    struct layer_maker m = { .k = k, .c = c };
    enum emu_status s;

    memset(k, 0, sizeof(*k));
    s = make_all(&m, source, sources);
    ss_free(m.row_of_scope);
    ss_free(m.trace);
    return s;
}

void layer_cycles_free(struct layer_cycles *k)
{
    ss_free(k->row);
    ss_free(k->plan);
    ss_free(k->text);
    ss_free(k->step);
    ss_free(k->share);
    memset(k, 0, sizeof(*k));
}

/* ---- cycles ---- */

void layer_reason(const struct layer_bill *b, char text[REASON_TEXT])
{
    cycles_reason(&(struct reason_parts){ b->exchange, b->compute, b->imbalance, b->sync, b->bound,
                                          b->supersteps },
                  text);
}

/* A number divided in proportion to weights, so that the parts add up to it. The sum of the weights
 * times the number must fit 64 bits. */
struct division {
    uint64_t number, weights; /* sum of the weights */
    uint64_t seen, given;
};

static uint64_t next_part(struct division *d, uint64_t weight)
{
    uint64_t part;

    d->seen += weight;
    part = d->number * d->seen / d->weights - d->given;
    d->given += part;
    return part;
}

static void pay(struct layer_bill *b, const struct bill *cost)
{
    b->exchange += cost->exchange;
    b->compute += cost->compute;
    b->imbalance += cost->imbalance;
    b->sync += cost->sync;
    b->cycles += cost->exchange + cost->compute + cost->sync;
}

/* Bills a step; if it merges several copies, in proportion to the bytes they move. */
static void pay_step(const struct layer_cycles *k, const struct billed_step *step,
                     const struct bill *cost)
{
    struct division d[] = { { .number = cost->exchange },
                            { .number = cost->compute },
                            { .number = cost->imbalance },
                            { .number = cost->sync } };
    const struct moved_share *share = k->share + step->first_share;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < step->shares; i++)
        bytes += share[i].bytes;
    if (!bytes) {
        pay(&k->row[step->row], cost);
        return;
    }
    for (size_t i = 0; i < EMU_COUNT_OF(d); i++)
        d[i].weights = bytes;
    for (uint32_t i = 0; i < step->shares; i++) {
        uint64_t weight = share[i].bytes;
        struct bill part = { .exchange = next_part(&d[0], weight),
                             .compute = next_part(&d[1], weight),
                             .imbalance = next_part(&d[2], weight),
                             .sync = next_part(&d[3], weight) };

        pay(&k->row[share[i].row], &part);
    }
}

/* Divides the compute of a superstep among its steps, in proportion to their formulas. */
static void pay_compute(const struct layer_cycles *k, const struct superstep *s,
                        const struct billed_step *first, const struct bill *cost)
{
    struct division compute = { .number = cost->compute }, idle = { .number = cost->imbalance };
    uint64_t all = 0;

    for (size_t i = 0; i < s->count; i++)
        all += s->step[i].cycles;
    if (!all) {
        pay_step(k, first,
                 &(struct bill){ .compute = cost->compute, .imbalance = cost->imbalance });
        return;
    }
    compute.weights = idle.weights = all;
    for (size_t i = 0; i < s->count; i++) {
        uint64_t weight = s->step[i].cycles;

        pay_step(k, &s->step[i],
                 &(struct bill){ .compute = next_part(&compute, weight),
                                 .imbalance = next_part(&idle, weight) });
    }
}

/* Bills a superstep: its exchange to the step that exchanges, its compute to those that
 * compute, the rest to the first of these. */
static void bill_superstep(struct layer_cycles *k, const struct superstep *s,
                           const struct bill *cost)
{
    const struct billed_step none = { .row = k->rows - 1 }; /* the cycles belong to no layer */
    const struct billed_step *exchange = NULL, *compute = NULL;
    struct bill rest = { .sync = cost->total - cost->exchange - cost->compute };

    for (size_t i = 0; i < s->count; i++) {
        if (!s->step[i].computes)
            exchange = &s->step[i];
        else if (!compute)
            compute = &s->step[i];
    }
    if (!compute)
        compute = exchange ? exchange : &none;
    if (!exchange)
        exchange = compute;
    pay_step(k, exchange, &(struct bill){ .exchange = cost->exchange });
    k->row[compute->row].supersteps++;
    if (is_alone(s)) {
        rest.compute = cost->compute;
        rest.imbalance = cost->imbalance;
    }
    pay_step(k, compute, &rest);
    if (!is_alone(s))
        pay_compute(k, s, compute, cost);
}

void layer_cycles_clear(struct layer_cycles *k)
{
    for (uint32_t i = 0; i < k->rows; i++) {
        struct layer_bill *b = &k->row[i];

        b->supersteps = 0;
        b->cycles = b->exchange = b->compute = b->sync = b->imbalance = 0;
    }
    layer_cycles_sum(k);
}

static enum emu_status bill_record(struct layer_cycles *k, const struct record *record)
{
    size_t supersteps = record_count(record), at = 0;

    if (k->steps && k->step[k->steps - 1].superstep >= supersteps)
        return FAIL(BAD_PROGRAM, "the program has %u supersteps, the run %zu",
                    k->step[k->steps - 1].superstep + 1, supersteps);
    for (size_t i = 0, index = 0; i < supersteps; i++) {
        struct bill cost = ss_bill_of_step(record, i);
        struct superstep now;

        if (record_at(record, i)->group)
            continue; /* the others work beside it */
        now = superstep_at(k, at, index++);
        at += now.count;
        bill_superstep(k, &now, &cost);
    }
    layer_cycles_sum(k);
    return EMU_OK;
}

enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct run *r)
{
    return bill_record(k, r->record);
}

enum emu_status layer_cycles_bill_chip(struct layer_cycles *k, const struct run *r, uint32_t chip)
{
    return bill_record(k, r->chip[chip].record);
}

enum emu_status layer_cycles_join(const struct layer_cycles *stage, uint32_t stages,
                                  struct layer_cycles *out)
{
    uint32_t rows = 0, at = 0;

    memset(out, 0, sizeof(*out));
    for (uint32_t k = 0; k < stages; k++)
        rows += stage[k].rows;
    out->row = emu_alloc(rows + 1, sizeof(*out->row));
    out->plan = emu_alloc(rows + 1, sizeof(*out->plan));
    out->text = emu_alloc(rows + 1, sizeof(*out->text));
    if (!out->row || !out->plan || !out->text)
        return FAIL(NO_MEMORY, "bills of %u layers", rows);
    out->rows = rows;
    for (uint32_t k = 0; k < stages; k++) {
        for (uint32_t i = 0; i < stage[k].rows; i++, at++) {
            out->row[at] = stage[k].row[i];
            out->row[at].chip = k;
            out->plan[at] = stage[k].plan[i];
            out->text[at] = stage[k].text[i];
        }
        if (stage[k].total.held_tile_bytes > out->total.held_tile_bytes)
            out->total.held_tile_bytes = stage[k].total.held_tile_bytes;
    }
    layer_cycles_sum(out);
    return EMU_OK;
}

enum emu_status layer_cycles_supersteps(const struct layer_cycles *k, uint32_t **out, size_t *count)
{
    *count = k->steps ? (size_t)k->step[k->steps - 1].superstep + 1 : 0;
    *out = emu_alloc(*count + 1, sizeof(**out));
    if (!*out)
        return FAIL(NO_MEMORY, "layers of %zu supersteps", *count);
    for (size_t i = 0; i < *count; i++)
        (*out)[i] = UINT32_MAX;
    for (size_t i = 0; i < k->steps; i++) {
        const struct billed_step *s = &k->step[i];

        if (s->computes && (*out)[s->superstep] == UINT32_MAX)
            (*out)[s->superstep] = s->row;
    }
    return EMU_OK;
}
