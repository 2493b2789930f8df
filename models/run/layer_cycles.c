/* layer_cycles.c - matches the supersteps of a run with the layers of a network, by the names of
 * the operations: everything a layer adds to a graph is named "layer" or "layer/...".
 */
#include "models/run/layer_cycles.h"

#include <string.h>

/* ---- rows ---- */

/* The row of a name: "block1a.dw/finish", "copy to block1a.dw/out and 3 more". */
static struct layer_bill *row_of(const struct layer_cycles *k, const struct net_graph *ng,
                                 const char *name)
{
    static const char copy[] = "copy to ";
    char layer[LAYER_NAME_MAX];
    uint32_t i, low = 0, high = k->rows - 1;
    size_t length;

    if (!strncmp(name, copy, sizeof(copy) - 1))
        name += sizeof(copy) - 1;
    length = strcspn(name, "/ ");
    if (length >= LAYER_NAME_MAX)
        return &k->row[k->rows - 1];
    memcpy(layer, name, length);
    layer[length] = 0;
    i = net_find(ng->net, layer);
    if (i == LAYER_NONE)
        return &k->row[k->rows - 1];
    i = ng->layer[i].into;
    while (low < high) { /* rows ascend by layer */
        uint32_t middle = low + (high - low) / 2;

        if (k->row[middle].layer < i)
            low = middle + 1;
        else
            high = middle;
    }
    return &k->row[k->row[low].layer == i ? low : k->rows - 1];
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

/* Layers into the row of the first one they were fused with. */
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

/* ---- memory ---- */

enum { MEMO_NAMES = 1 << 16 };

struct owner_row {
    const char *owner; /* borrowed; NULL: free */
    uint32_t row;
};

struct holder {
    struct layer_cycles *k;
    const struct net_graph *ng;
    uint64_t *bytes;        /* owned; of the tile, by row */
    struct owner_row *memo; /* owned; what was found last, by address of the name */
    uint32_t tile;
};

/* row_of() for names that come again on a thousand tiles, at the same address. */
static uint32_t row_of_owner(struct holder *h, const char *owner)
{
    struct owner_row *m = &h->memo[(uintptr_t)owner / 16 % MEMO_NAMES];

    if (m->owner != owner)
        *m = (struct owner_row){ owner, (uint32_t)(row_of(h->k, h->ng, owner) - h->k->row) };
    return m->row;
}

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

static void hold(void *ctx, uint32_t tile, const char *owner, const char *category, uint64_t bytes)
{
    struct holder *h = ctx;

    (void)category;
    if (tile != h->tile)
        finish_tile(h);
    h->tile = tile;
    h->bytes[row_of_owner(h, owner)] += bytes;
}

static enum emu_status add_held(struct layer_cycles *k, const struct net_graph *ng,
                                const struct compiled *c)
{
    struct holder h = { .k = k, .ng = ng, .bytes = emu_alloc(k->rows, sizeof(*h.bytes)) };
    enum emu_status s = EMU_OK;

    h.memo = emu_alloc(MEMO_NAMES, sizeof(*h.memo));
    if (!h.bytes || !h.memo)
        s = FAIL(NO_MEMORY, "memory by layer");
    if (s == EMU_OK)
        s = compiled_held(c, hold, &h);
    if (s == EMU_OK)
        finish_tile(&h);
    emu_free(h.memo);
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

enum emu_status layer_cycles_init(const struct net_graph *ng, const struct compiled *c,
                                  const struct arch *a, struct layer_cycles *k)
{
    struct trace_op *op;
    size_t ops;

    memset(k, 0, sizeof(*k));
    TRY(make_rows(k, ng, a));
    TRY(compiled_trace(c, &op, &ops));
    for (size_t i = 0; i < ops; i++) {
        struct layer_bill *b = row_of(k, ng, op[i].name);

        if (op[i].max_tile_bytes > b->max_tile_bytes)
            b->max_tile_bytes = op[i].max_tile_bytes;
    }
    emu_free(op);
    TRY(add_held(k, ng, c));
    add_total(k);
    return EMU_OK;
}

void layer_cycles_free(struct layer_cycles *k)
{
    emu_free(k->row);
    memset(k, 0, sizeof(*k));
}

/* ---- cycles ---- */

/* Operations of one superstep, in the order of their execution. */
struct step_ops {
    const struct trace_op *op;
    size_t count;
};

/* Who pays for the exchange of a superstep; NULL: nobody. */
static struct layer_bill *exchange_payer(const struct layer_cycles *k, const struct net_graph *ng,
                                         const struct step_ops *s)
{
    struct layer_bill *b = NULL;

    for (size_t i = 0; i < s->count; i++) {
        if (s->op[i].kind != TRACE_COMPUTE)
            b = row_of(k, ng, s->op[i].name);
    }
    return b;
}

/* The first that computes; NULL: nobody. *alone: no other layer does. */
static struct layer_bill *compute_payer(const struct layer_cycles *k, const struct net_graph *ng,
                                        const struct step_ops *s, int *alone)
{
    struct layer_bill *b = NULL;

    *alone = 1;
    for (size_t i = 0; i < s->count; i++) {
        struct layer_bill *next = row_of(k, ng, s->op[i].name);

        if (s->op[i].kind != TRACE_COMPUTE)
            continue;
        *alone = *alone && (!b || b == next);
        b = b ? b : next;
    }
    return b;
}

static void bill_compute(struct layer_bill *b, uint64_t compute, uint64_t imbalance)
{
    b->compute += compute;
    b->cycles += compute;
    b->imbalance += imbalance;
}

/* Layers that compute in one superstep share its cycles as their operations take them, by the
 * formulas of the codelets. What is left belongs to the last one. */
static enum emu_status share_compute(const struct layer_cycles *k, const struct net_graph *ng,
                                     const struct compiled *c, const struct step_ops *s,
                                     const struct bill *cost)
{
    uint64_t all = 0, seen = 0, computed = 0, idle = 0, cycles;

    for (size_t i = 0; i < s->count; i++) {
        cycles = 0;
        if (s->op[i].kind == TRACE_COMPUTE)
            TRY(compiled_op_cycles(c, s->op[i].op, &cycles));
        all += cycles;
    }
    for (size_t i = 0; i < s->count && all; i++) {
        uint64_t compute, imbalance;

        if (s->op[i].kind != TRACE_COMPUTE)
            continue;
        TRY(compiled_op_cycles(c, s->op[i].op, &cycles));
        seen += cycles;
        compute = cost->compute * seen / all - computed;
        imbalance = cost->imbalance * seen / all - idle;
        computed += compute;
        idle += imbalance;
        bill_compute(row_of(k, ng, s->op[i].name), compute, imbalance);
    }
    return EMU_OK;
}

static enum emu_status bill_step(struct layer_cycles *k, const struct net_graph *ng,
                                 const struct compiled *c, const struct step_ops *s,
                                 const struct bill *cost)
{
    struct layer_bill *exchange = exchange_payer(k, ng, s), *compute;
    int alone;

    compute = compute_payer(k, ng, s, &alone);
    if (!compute)
        compute = exchange ? exchange : &k->row[k->rows - 1];
    if (!exchange)
        exchange = compute;
    exchange->exchange += cost->exchange;
    exchange->cycles += cost->exchange;
    compute->sync += cost->total - cost->exchange - cost->compute;
    compute->cycles += cost->total - cost->exchange - cost->compute;
    compute->supersteps++;
    if (!alone)
        return share_compute(k, ng, c, s, cost);
    bill_compute(compute, cost->compute, cost->imbalance);
    return EMU_OK;
}

enum emu_status layer_cycles_bill(struct layer_cycles *k, const struct net_graph *ng,
                                  const struct compiled *c, const struct run *r)
{
    size_t steps = record_count(r->record), ops, at = 0;
    struct trace_op *op;
    enum emu_status s = EMU_OK;

    TRY(compiled_trace(c, &op, &ops));
    if (ops && op[ops - 1].superstep >= steps)
        s = FAIL(BAD_PROGRAM, "the program has %u supersteps, the run %zu",
                 op[ops - 1].superstep + 1, steps);
    for (size_t i = 0, index = 0; i < steps && s == EMU_OK; i++) {
        struct bill cost = bill_of_step(r->record, i);
        struct step_ops step = { op + at, 0 };

        if (record_at(r->record, i)->group)
            continue; /* the others work beside it */
        while (at < ops && op[at].superstep == index)
            at++, step.count++;
        s = bill_step(k, ng, c, &step, &cost);
        index++;
    }
    emu_free(op);
    add_total(k);
    return s;
}
