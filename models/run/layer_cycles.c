/* layer_cycles.c - matches supersteps and memory with the layers of a network: every operation and
 * every object knows the scope of the graph in which it was made, and each layer has a scope. */
#include "emu/arch/arch.h"
#include "emu/base/alloc.h"
#include "emu/bsp/record.h"
#include "emu/job/run_image.h"
#include "emu/profile/bill.h"
#include "models/run/layer_cycles.h"

#include <string.h>

/* ---- rows ---- */

/* The row that a scope belongs to. */
static struct layer_bill *row_of(const struct layer_cycles *k, uint32_t scope)
{
    return &k->row[scope < k->scopes ? k->row_of_scope[scope] : k->rows - 1];
}

double layer_bound(const struct arch *a, const struct layer *l, uint32_t batch)
{
    double values = (double)layer_elements(l) * batch / a->tiles;
    double macs = (double)layer_macs(l) * batch / a->tiles / a->f16_macs_f16;
    double exponential = values * a->slots_f16sigm / 2;

    switch (l->op) {
    case LAYER_CONV:
        return l->groups == l->in_c && l->groups > 1 ? 4 * macs : macs;
    case LAYER_LINEAR:
        return macs;
    case LAYER_SWISH:
        return exponential + values / 4;
    case LAYER_SIGMOID:
    case LAYER_SOFTMAX:
        return exponential;
    case LAYER_NORM:
        return l->norm == NORM_GROUP ? 3 * values / 4 : 0;
    case LAYER_AVGPOOL:
        return (double)l->in_c * l->in_h * l->in_w * batch / a->tiles / 4;
    case LAYER_MAXPOOL:
        return values * l->kernel * l->kernel / 4;
    case LAYER_INPUT:
        return 0;
    default:
        return values / 4;
    }
}

/* Makes a row for every layer that is not fused with an earlier one. */
static enum emu_status make_rows(struct layer_cycles *k, const struct net_graph *ng,
                                 const struct arch *a)
{
    const struct net *n = ng->net;

    k->row = emu_alloc(n->layers + 1, sizeof(*k->row));
    if (!k->row)
        return FAIL(NO_MEMORY, "bills of %u layers", n->layers);
    for (uint32_t i = 0; i < n->layers; i++) {
        const struct layer_graph *lg = &ng->layer[i];
        struct layer_bill *b;

        if (n->layer[i].op == LAYER_INPUT)
            continue;
        if (!k->rows || lg->into == i || k->row[k->rows - 1].layer != lg->into)
            k->row[k->rows++] = (struct layer_bill){ .layer = i };
        b = &k->row[k->rows - 1];
        b->last = i;
        b->macs += layer_macs(&n->layer[i]) * n->batch;
        b->bound += (uint64_t)layer_bound(a, &n->layer[i], n->batch);
        b->predicted += lg->plan.cut_n ? lg->plan.cost.total : 0;
    }
    k->row[k->rows++] = (struct layer_bill){ .layer = LAYER_NONE, .last = LAYER_NONE };
    return EMU_OK;
}

/* Finds the row of every scope; a scope inside that of a layer belongs to the layer. */
static enum emu_status match_scopes(struct layer_cycles *k, const struct net_graph *ng,
                                    const struct graph *g)
{
    uint32_t row = 0;

    k->scopes = graph_scopes(g);
    k->row_of_scope = emu_alloc(k->scopes + 1, sizeof(*k->row_of_scope));
    if (!k->row_of_scope)
        return FAIL(NO_MEMORY, "%u scopes", k->scopes);
    for (uint32_t i = 1; i < k->scopes; i++)
        k->row_of_scope[i] = k->rows; /* not known yet */
    k->row_of_scope[0] = k->rows - 1;
    for (uint32_t i = 0; i < ng->net->layers; i++) {
        if (ng->net->layer[i].op == LAYER_INPUT || !ng->layer[i].scope)
            continue;
        while (k->row[row].last < i)
            row++;
        k->row_of_scope[ng->layer[i].scope] = row;
    }
    for (uint32_t i = 1; i < k->scopes; i++) { /* parents come first */
        if (k->row_of_scope[i] == k->rows)
            k->row_of_scope[i] = k->row_of_scope[graph_scope_parent(g, i)];
    }
    return EMU_OK;
}

/* ---- memory ---- */

struct holder {
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
    h->bytes[row_of(h->k, b->scope) - h->k->row] += b->bytes;
}

static enum emu_status add_held(struct layer_cycles *k, const struct compiled *c)
{
    struct holder h = { .k = k, .bytes = emu_alloc(k->rows, sizeof(*h.bytes)) };
    enum emu_status s;

    if (!h.bytes)
        return FAIL(NO_MEMORY, "memory by layer");
    s = compiled_held(c, hold, &h);
    if (s == EMU_OK)
        finish_tile(&h);
    emu_free(h.bytes);
    return s;
}

static void add_total(struct layer_cycles *k)
{
    struct layer_bill *t = &k->total;
    uint64_t held_tile_bytes = t->held_tile_bytes; /* of no single row */

    *t = (struct layer_bill){ .layer = LAYER_NONE, .last = LAYER_NONE };
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

static enum emu_status add_fullest(struct layer_cycles *k, const struct compiled *c)
{
    struct trace_step *step;
    size_t steps;

    TRY(compiled_trace(c, &step, &steps));
    for (size_t i = 0; i < steps; i++) {
        note_bytes(row_of(k, step[i].scope), step[i].max_tile_bytes);
        for (uint32_t j = 0; j < step[i].shares; j++)
            note_bytes(row_of(k, step[i].share[j].scope), step[i].max_tile_bytes);
    }
    emu_free(step);
    return EMU_OK;
}

enum emu_status layer_cycles_init(const struct net_graph *ng, const struct compiled *c,
                                  const struct arch *a, struct layer_cycles *k)
{
    memset(k, 0, sizeof(*k));
    TRY(make_rows(k, ng, a));
    TRY(match_scopes(k, ng, compiled_graph(c)));
    TRY(add_fullest(k, c));
    TRY(add_held(k, c));
    add_total(k);
    return EMU_OK;
}

void layer_cycles_free(struct layer_cycles *k)
{
    emu_free(k->row);
    emu_free(k->row_of_scope);
    memset(k, 0, sizeof(*k));
}

/* ---- cycles ---- */

/* The steps of one superstep, in the order of their execution. */
struct superstep {
    const struct trace_step *step;
    size_t count;
};

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
static void pay_step(const struct layer_cycles *k, const struct trace_step *step,
                     const struct bill *cost)
{
    struct division d[] = { { .number = cost->exchange },
                            { .number = cost->compute },
                            { .number = cost->imbalance },
                            { .number = cost->sync } };
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < step->shares; i++)
        bytes += step->share[i].bytes;
    if (!bytes) {
        pay(row_of(k, step->scope), cost);
        return;
    }
    for (size_t i = 0; i < EMU_COUNT_OF(d); i++)
        d[i].weights = bytes;
    for (uint32_t i = 0; i < step->shares; i++) {
        uint64_t weight = step->share[i].bytes;
        struct bill part = { .exchange = next_part(&d[0], weight),
                             .compute = next_part(&d[1], weight),
                             .imbalance = next_part(&d[2], weight),
                             .sync = next_part(&d[3], weight) };

        pay(row_of(k, step->share[i].scope), &part);
    }
}

/* The cycles of a step by the formulas of its codelets; 0 when it computes nothing. */
static enum emu_status weight_of(const struct compiled *c, const struct trace_step *step,
                                 uint64_t *cycles)
{
    *cycles = 0;
    return step->kind == TRACE_COMPUTE ? compiled_step_cycles(c, step->step, cycles) : EMU_OK;
}

/* Divides the compute of a superstep among its steps, in proportion to their formulas. */
static enum emu_status pay_compute(const struct layer_cycles *k, const struct compiled *c,
                                   const struct superstep *s, const struct trace_step *first,
                                   const struct bill *cost)
{
    struct division compute = { .number = cost->compute }, idle = { .number = cost->imbalance };
    uint64_t all = 0, weight;

    for (size_t i = 0; i < s->count; i++) {
        TRY(weight_of(c, &s->step[i], &weight));
        all += weight;
    }
    if (!all) {
        pay_step(k, first,
                 &(struct bill){ .compute = cost->compute, .imbalance = cost->imbalance });
        return EMU_OK;
    }
    compute.weights = idle.weights = all;
    for (size_t i = 0; i < s->count; i++) {
        TRY(weight_of(c, &s->step[i], &weight));
        pay_step(k, &s->step[i],
                 &(struct bill){ .compute = next_part(&compute, weight),
                                 .imbalance = next_part(&idle, weight) });
    }
    return EMU_OK;
}

/* Whether all steps that compute belong to one layer. */
static int is_alone(const struct layer_cycles *k, const struct superstep *s,
                    const struct trace_step *first)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->step[i].kind == TRACE_COMPUTE &&
            (s->step[i].shares || row_of(k, s->step[i].scope) != row_of(k, first->scope)))
            return 0;
    }
    return 1;
}

/* Bills a superstep: its exchange to the step that exchanges, its compute to those that
 * compute, the rest to the first of these. */
static enum emu_status bill_superstep(struct layer_cycles *k, const struct compiled *c,
                                      const struct superstep *s, const struct bill *cost)
{
    static const struct trace_step none = { .scope = 0 }; /* the cycles belong to no layer */
    const struct trace_step *exchange = NULL, *compute = NULL;
    struct bill rest = { .sync = cost->total - cost->exchange - cost->compute };

    for (size_t i = 0; i < s->count; i++) {
        if (s->step[i].kind != TRACE_COMPUTE)
            exchange = &s->step[i];
        else if (!compute)
            compute = &s->step[i];
    }
    if (!compute)
        compute = exchange ? exchange : &none;
    if (!exchange)
        exchange = compute;
    pay_step(k, exchange, &(struct bill){ .exchange = cost->exchange });
    row_of(k, compute->scope)->supersteps++;
    if (is_alone(k, s, compute)) {
        rest.compute = cost->compute;
        rest.imbalance = cost->imbalance;
        pay_step(k, compute, &rest);
        return EMU_OK;
    }
    pay_step(k, compute, &rest);
    return pay_compute(k, c, s, compute, cost);
}

enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct compiled *c,
                                  const struct run *r)
{
    size_t supersteps = record_count(r->record), steps, at = 0;
    struct trace_step *step;
    enum emu_status s = EMU_OK;

    TRY(compiled_trace(c, &step, &steps));
    if (steps && step[steps - 1].superstep >= supersteps)
        s = FAIL(BAD_PROGRAM, "the program has %u supersteps, the run %zu",
                 step[steps - 1].superstep + 1, supersteps);
    for (size_t i = 0, index = 0; i < supersteps && s == EMU_OK; i++) {
        struct bill cost = bill_of_step(r->record, i);
        struct superstep now = { step + at, 0 };

        if (record_at(r->record, i)->group)
            continue; /* the others work beside it */
        while (at < steps && step[at].superstep == index)
            at++, now.count++;
        s = bill_superstep(k, c, &now, &cost);
        index++;
    }
    emu_free(step);
    add_total(k);
    return s;
}
