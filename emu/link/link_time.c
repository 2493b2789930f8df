/* link_time.c - packets that share links and bundles, by max-min fair rates in integers.
 *
 * A flow is what one bundle of tiles sends to one chip: its packets go one after the other. Between
 * two events (a packet is issued, or has left) all rates stay; they are found by progressive
 * filling: the resource that has least to give to each flow over it decides for these, and what
 * they take is taken from the others. */
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/link/link.h"

struct link_flow {
    uint32_t chip, bundle, to_chip;
    size_t next, end; /* its packets that have not left, in phase.order */
    uint64_t left;    /* of the packet in front, in the unit of rates; 0: not begun */
    uint64_t rate;
    size_t path, paths; /* resources in phase.path; the last one is the receiving bundle */
    uint32_t latency;
    uint32_t is_active, is_fixed;
};

/* A link or a bundle, as long as flows use it. */
struct resource {
    link_rate room; /* not given away yet */
    uint32_t open;  /* flows whose rate is not known */
    uint32_t flows; /* all of them, which stand from `first` on in phase.user */
    size_t first;
};

struct link_phase {
    const struct link_numbers *n;
    struct link_packet *packet;
    struct link_packet **order; /* by flow, then by issue, tile and number */
    struct link_flow *flow;
    size_t flows, active;
    uint32_t *path; /* resources of all flows */
    size_t paths, path_room;
    struct resource *resource; /* links by kind and chip, then bundles that send, that receive */
    uint32_t *used;            /* resources with flows */
    size_t uses;
    uint32_t *user; /* flows of each resource */
    uint64_t now;
};

/* ---- resources ---- */

static uint32_t link_id(const struct link_numbers *n, enum link_kind kind, uint32_t chip)
{
    return (uint32_t)kind * n->chips + chip;
}

static uint32_t bundle_id(const struct link_numbers *n, enum link_kind kind, uint32_t chip,
                          uint32_t tile)
{
    uint32_t wide = (n->tiles + n->bundles - 1) / n->bundles;
    uint32_t side = kind == LINK_RECEIVERS ? n->chips * n->bundles : 0;

    return LINK_KINDS * n->chips + side + chip * n->bundles + tile / wide;
}

static link_rate capacity(const struct link_numbers *n, uint32_t id)
{
    return link_rate_of(n, (enum link_kind)(id / n->chips)); /* bundles come after all links */
}

/* ---- packets to flows ---- */

static int is_before(uint64_t a, uint64_t b, int *order)
{
    *order = a < b ? -1 : a > b;
    return *order != 0;
}

/* For qsort, which knows no machine: bundles were numbered before. */
struct sorted {
    struct link_packet *packet;
    uint32_t bundle;
};

static int by_flow(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    const struct link_packet *p = x->packet, *q = y->packet;
    int order = 0;

    if (is_before(x->bundle, y->bundle, &order) || is_before(p->to_chip, q->to_chip, &order) ||
        is_before(p->issued, q->issued, &order) || is_before(p->tile, q->tile, &order) ||
        is_before(p->number, q->number, &order))
        return order;
    (void)is_before((uint64_t)(uintptr_t)p, (uint64_t)(uintptr_t)q, &order);
    return order;
}

static enum emu_status check_packet(const struct link_numbers *n, const struct link_packet *p)
{
    if (p->chip >= n->chips || p->to_chip >= n->chips)
        return FAIL(USAGE, "a packet from chip %u to chip %u, of %u", p->chip, p->to_chip,
                    n->chips);
    if (p->tile >= n->tiles || p->to_tile >= n->tiles)
        return FAIL(USAGE, "a packet from tile %u of chip %u to tile %u of chip %u, of %u", p->tile,
                    p->chip, p->to_tile, p->to_chip, n->tiles);
    if (p->chip == p->to_chip || !p->bytes)
        return FAIL(USAGE, "a packet of %u bytes from chip %u to %s", p->bytes, p->chip,
                    p->chip == p->to_chip ? "itself" : "another chip");
    return EMU_OK;
}

static enum emu_status order_packets(struct link_phase *ph, size_t packets)
{
    struct sorted *s = emu_alloc(packets + 1, sizeof(*s));
    enum emu_status st = s ? EMU_OK : FAIL(NO_MEMORY, "%zu packets", packets);

    for (size_t k = 0; k < packets && st == EMU_OK; k++) {
        struct link_packet *p = &ph->packet[k];

        st = check_packet(ph->n, p);
        if (st == EMU_OK)
            s[k] = (struct sorted){ p, bundle_id(ph->n, LINK_SENDERS, p->chip, p->tile) };
    }
    if (st == EMU_OK) {
        qsort(s, packets, sizeof(*s), by_flow);
        for (size_t k = 0; k < packets; k++) {
            struct link_flow *f = ph->flows ? &ph->flow[ph->flows - 1] : NULL;

            ph->order[k] = s[k].packet;
            if (!f || f->bundle != s[k].bundle || f->to_chip != s[k].packet->to_chip) {
                f = &ph->flow[ph->flows++];
                *f = (struct link_flow){ .chip = s[k].packet->chip,
                                         .bundle = s[k].bundle,
                                         .to_chip = s[k].packet->to_chip,
                                         .next = k };
            }
            f->end = k + 1;
        }
    }
    ss_free(s);
    return st;
}

static enum emu_status add_step(struct link_phase *ph, uint32_t id)
{
    void *path = ph->path;
    enum emu_status s = emu_grow(&path, ph->paths, &ph->path_room, sizeof(*ph->path));

    ph->path = path;
    if (s != EMU_OK)
        return s;
    ph->path[ph->paths++] = id;
    if (capacity(ph->n, id))
        return EMU_OK;
    return FAIL(USAGE, "nothing can be sent over the links of chip %u", id % ph->n->chips);
}

static enum emu_status find_paths(struct link_phase *ph)
{
    struct link_route route = { .hop = NULL };
    enum emu_status s = EMU_OK;

    for (size_t k = 0; k < ph->flows && s == EMU_OK; k++) {
        struct link_flow *f = &ph->flow[k];

        f->path = ph->paths;
        s = link_route_find(ph->n, f->chip, f->to_chip, &route);
        f->latency = route.latency;
        for (size_t h = 0; h < route.hops && s == EMU_OK; h++)
            s = add_step(ph, link_id(ph->n, route.hop[h].kind, route.hop[h].chip));
        if (s == EMU_OK)
            s = add_step(ph, f->bundle);
        if (s == EMU_OK)
            s = add_step(ph, f->bundle); /* becomes the receiving bundle of the packet in front */
        f->paths = ph->paths - f->path;
    }
    link_route_free(&route);
    return s;
}

/* ---- rates ---- */

/* Whose rates are not known, by resource. */
static void list_users(struct link_phase *ph)
{
    size_t at = 0;

    for (size_t k = 0; k < ph->uses; k++)
        ph->resource[ph->used[k]].flows = 0;
    ph->uses = 0;
    for (size_t k = 0; k < ph->flows; k++) {
        const struct link_flow *f = &ph->flow[k];

        for (size_t i = 0; i < f->paths && f->is_active; i++) {
            uint32_t id = ph->path[f->path + i];

            if (!ph->resource[id].flows++)
                ph->used[ph->uses++] = id;
        }
    }
    for (size_t k = 0; k < ph->uses; k++) {
        struct resource *r = &ph->resource[ph->used[k]];

        *r = (struct resource){
            .room = capacity(ph->n, ph->used[k]), .open = r->flows, .flows = r->flows, .first = at
        };
        at += r->flows;
        r->flows = 0;
    }
    for (size_t k = 0; k < ph->flows; k++) {
        struct link_flow *f = &ph->flow[k];

        f->is_fixed = 0;
        for (size_t i = 0; i < f->paths && f->is_active; i++) {
            struct resource *r = &ph->resource[ph->path[f->path + i]];

            ph->user[r->first + r->flows++] = (uint32_t)k;
        }
    }
}

static void fix(struct link_phase *ph, struct link_flow *f, uint64_t rate)
{
    f->rate = rate;
    f->is_fixed = 1;
    for (size_t i = 0; i < f->paths; i++) {
        struct resource *r = &ph->resource[ph->path[f->path + i]];

        r->room -= rate < r->room ? rate : r->room;
        r->open--;
    }
}

/* The resource that has least for each of its open flows; ties go to the lowest number. */
static struct resource *tightest(struct link_phase *ph, uint64_t *share)
{
    uint32_t best = UINT32_MAX;

    for (size_t k = 0; k < ph->uses; k++) {
        const struct resource *r = &ph->resource[ph->used[k]];
        uint64_t each = r->open ? r->room / r->open : 0;

        if (r->open &&
            (best == UINT32_MAX || each < *share || (each == *share && ph->used[k] < best))) {
            best = ph->used[k];
            *share = each;
        }
    }
    return best == UINT32_MAX ? NULL : &ph->resource[best];
}

static void share_out(struct link_phase *ph)
{
    uint64_t share = 0;
    struct resource *r;

    list_users(ph);
    while ((r = tightest(ph, &share)) != NULL) {
        share += !share; /* whatever the numbers, nothing stands still */
        for (size_t k = 0; k < r->flows; k++) {
            struct link_flow *f = &ph->flow[ph->user[r->first + k]];

            if (!f->is_fixed)
                fix(ph, f, share);
        }
    }
}

/* ---- time ---- */

/* The packet in front begins when it was issued. Returns whether rates change. */
static int begin(struct link_phase *ph, struct link_flow *f)
{
    const struct link_packet *p = ph->order[f->next];
    uint32_t *receiver = &ph->path[f->path + f->paths - 1];
    uint32_t id = bundle_id(ph->n, LINK_RECEIVERS, p->to_chip, p->to_tile);
    int changed = !f->is_active || *receiver != id;

    f->left = (uint64_t)p->bytes << LINK_RATE_SHIFT;
    *receiver = id;
    ph->active += !f->is_active;
    f->is_active = 1;
    return changed;
}

/* Moves on by some cycles. What the packets in front do not need is for those behind them. */
static int serve(struct link_phase *ph, struct link_flow *f, uint64_t cycles)
{
    uint64_t served = f->rate * cycles;
    int changed = 0;

    while (served >= f->left) {
        ph->order[f->next++]->arrived = ph->now + f->latency;
        served -= f->left;
        if (f->next == f->end || ph->order[f->next]->issued > ph->now) {
            f->is_active = 0;
            ph->active--;
            return 1;
        }
        changed |= begin(ph, f);
    }
    f->left -= served;
    return changed;
}

/* Cycles to the next event; 0: there is none. */
static uint64_t next_event(const struct link_phase *ph)
{
    uint64_t least = UINT64_MAX;

    for (size_t k = 0; k < ph->flows; k++) {
        const struct link_flow *f = &ph->flow[k];
        uint64_t cycles = UINT64_MAX;

        if (f->is_active)
            cycles = f->rate ? (f->left + f->rate - 1) / f->rate : UINT64_MAX;
        else if (f->next < f->end)
            cycles = ph->order[f->next]->issued - ph->now;
        least = cycles < least ? cycles : least;
    }
    return least == UINT64_MAX ? 0 : least;
}

static void run(struct link_phase *ph)
{
    int changed = 0;

    for (;;) {
        uint64_t cycles;

        for (size_t k = 0; k < ph->flows; k++) {
            struct link_flow *f = &ph->flow[k];

            if (!f->is_active && f->next < f->end && ph->order[f->next]->issued <= ph->now)
                changed |= begin(ph, f);
        }
        if (changed)
            share_out(ph);
        cycles = next_event(ph);
        if (!cycles)
            return;
        ph->now += cycles;
        changed = 0;
        for (size_t k = 0; k < ph->flows; k++) {
            if (ph->flow[k].is_active)
                changed |= serve(ph, &ph->flow[k], cycles);
        }
    }
}

enum emu_status link_time(const struct link_numbers *n, struct link_packet *p, size_t packets)
{
    size_t resources = (size_t)LINK_KINDS * n->chips + 2 * (size_t)n->chips * n->bundles;
    struct link_phase ph = { .n = n, .packet = p };
    enum emu_status s;

    ph.order = emu_alloc(packets + 1, sizeof(struct link_packet *));
    ph.flow = emu_alloc(packets + 1, sizeof(*ph.flow));
    ph.resource = emu_alloc(resources, sizeof(*ph.resource));
    ph.used = emu_alloc(resources, sizeof(*ph.used));
    s = ph.order && ph.flow && ph.resource && ph.used ? EMU_OK
                                                      : FAIL(NO_MEMORY, "%zu packets", packets);
    if (s == EMU_OK)
        s = order_packets(&ph, packets);
    if (s == EMU_OK)
        s = find_paths(&ph);
    if (s == EMU_OK) {
        ph.user = emu_alloc(ph.paths + 1, sizeof(*ph.user));
        if (ph.user)
            run(&ph);
        else
            s = FAIL(NO_MEMORY, "%zu packets", packets);
    }
    ss_free(ph.order);
    ss_free(ph.flow);
    ss_free(ph.path);
    ss_free(ph.resource);
    ss_free(ph.used);
    ss_free(ph.user);
    return s;
}
