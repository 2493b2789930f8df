/* superstep.c - runs tiles in parallel until all of them wait, and feeds them what the host sends.
 *
 * Determinism: between two syncs a tile touches nothing but itself, so the order of tiles in a pass does not matter
 * (tests/stress/). With a host, a pass goes no further than its latency beyond the earliest clock: what a tile asks in a pass cannot
 * arrive anywhere within it.
 */
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/bsp/machine_internal.h"

enum { CSR_BASE = 0xa0, DCOUNT = CSR_S_INCOMING_DCOUNT - CSR_BASE, NEVER_HALT = 1 };

/* The cycle a tile has reached: its next issue, or the sync it waits in. */
uint64_t place_clock(const struct machine *m, uint32_t tile)
{
    return m->place[tile].wait == WAIT_NOT ? m->barrel[tile].cycle : m->place[tile].arrived;
}

static uint64_t next_arrival_cycle(const struct place *p)
{
    return p->next_arrival < p->arrivals ? p->arrival[p->next_arrival].cycle : UINT64_MAX;
}

static void apply_one(struct machine *m, uint32_t tile)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];
    const struct arrival *a = &p->arrival[p->next_arrival++];
    uint32_t left = t->xcsr[DCOUNT];

    if (a->bytes)
        tile_write(t, a->addr, a->data, a->bytes);
    t->xcsr[DCOUNT] = left > a->words ? left - a->words : 0;
    if (p->next_arrival == p->arrivals)
        p->next_arrival = p->arrivals = 0;
}

/* Writes all packets that are in memory before `until`. */
void place_apply_arrivals(struct machine *m, uint32_t tile, uint64_t until)
{
    while (next_arrival_cycle(&m->place[tile]) < until)
        apply_one(m, tile);
}

static void wait_at(struct machine *m, uint32_t tile, enum tile_wait wait)
{
    m->place[tile].wait = (uint8_t)wait;
    m->place[tile].arrived = m->barrel[tile].cycle;
    m->tile[tile].sync_zone = -1;
}

/* A RECV with nothing left to resolve: over when no host data is missing. Returns 1 when the tile goes on. */
static int receive_data(struct machine *m, uint32_t tile, uint64_t limit)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];
    uint64_t cycle = p->arrived + 1;

    place_apply_arrivals(m, tile, cycle);
    while (t->xcsr[DCOUNT] && next_arrival_cycle(p) < limit) {
        if (next_arrival_cycle(p) > cycle)
            cycle = next_arrival_cycle(p);
        apply_one(m, tile);
    }
    if (t->xcsr[DCOUNT])
        return 0;
    p->wait = WAIT_NOT;
    m->barrel[tile].cycle = cycle;
    return 1;
}

static enum tile_wait wait_of_zone(int zone)
{
    switch (zone) {
    case 3: return WAIT_GROUP;
    case 4:
    case 12: return WAIT_CHIP;
    case 5:
    case 13: return WAIT_CHIPS;
    case 6:
    case 14: return WAIT_HOST;
    default: return WAIT_FAULT;
    }
}

/* The tile has issued a sync. Returns 1 when it can go on at once. */
static int take_sync(struct machine *m, uint32_t tile, uint64_t limit)
{
    struct tile *t = &m->tile[tile];
    struct place *p = &m->place[tile];
    int zone = t->sync_zone;

    t->cycle = m->barrel[tile].cycle;
    if (m->barrel[tile].running) {
        wait_at(m, tile, WAIT_FAULT);
        tile_fault(t, LANE_SUPER, FAULT_EXERR, 0, "workers must be idle at a sync beyond the tile");
        return 0;
    }
    if (zone == SYNC_RECV) {
        if (!p->received) {
            wait_at(m, tile, WAIT_RECV);
            if (exchange_recv(m->exchange, t, (uint32_t)(p->arrived - p->release)) != FAULT_NONE)
                p->wait = WAIT_FAULT;
            return 0;
        }
        wait_at(m, tile, WAIT_DATA);
        return receive_data(m, tile, limit);
    }
    if (zone == SYNC_ANS) {
        wait_at(m, tile, WAIT_ANS);
        if (exchange_log_of(m->exchange, tile)->votes)
            return 0;
        p->wait = WAIT_NOT;
        m->barrel[tile].cycle++;
        return 1;
    }
    wait_at(m, tile, wait_of_zone(zone));
    if (p->wait == WAIT_FAULT)
        tile_fault(t, LANE_SUPER, FAULT_EXERR, 0, "a reserved sync zone");
    return 0;
}

/* Runs one tile until it waits or its clock reaches the limit. */
static void run_tile(struct machine *m, uint32_t tile, uint64_t limit)
{
    struct place *p = &m->place[tile];

    if (p->wait == WAIT_DATA && !receive_data(m, tile, limit))
        return;
    for (;;) {
        uint64_t next = next_arrival_cycle(p), until = next < limit ? next : limit;

        switch (barrel_run(&m->barrel[tile], &m->tile[tile], NEVER_HALT, until)) {
        case BARREL_FAULT:
            wait_at(m, tile, WAIT_FAULT);
            p->arrived = m->tile[tile].fault.cycle;
            return;
        case BARREL_SYNC:
            if (!take_sync(m, tile, limit))
                return;
            break;
        default:
            if (next >= limit)
                return;
            apply_one(m, tile);
        }
    }
}

static uint32_t collect_runnable(struct machine *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        const struct place *p = &m->place[i];

        if (p->wait == WAIT_NOT || (p->wait == WAIT_DATA && p->next_arrival < p->arrivals))
            m->runnable[n++] = i;
    }
    return n;
}

/* How far this pass may go: the host's answers to what tiles ask from now on come later than that. */
static enum emu_status pass_horizon(struct machine *m, uint64_t max_cycle, uint64_t *horizon)
{
    uint64_t earliest;

    *horizon = max_cycle;
    if (!m->has_host)
        return EMU_OK;
    earliest = m->host.next(m->host.ctx);
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        const struct place *p = &m->place[i];

        if (p->wait == WAIT_NOT && place_clock(m, i) < earliest)
            earliest = place_clock(m, i);
        if (p->wait == WAIT_DATA && next_arrival_cycle(p) < earliest)
            earliest = next_arrival_cycle(p);
    }
    if (earliest < UINT64_MAX - m->host.latency_cycles &&
        earliest + m->host.latency_cycles < max_cycle)
        *horizon = earliest + m->host.latency_cycles;
    return m->host.advance(m->host.ctx, m, *horizon);
}

struct request {
    uint64_t cycle;
    uint32_t tile;
    const struct exchange_host_request *r;
};

static int request_order(const void *x, const void *y)
{
    const struct request *a = x, *b = y;

    if (a->cycle != b->cycle)
        return a->cycle < b->cycle ? -1 : 1;
    return a->tile < b->tile ? -1 : a->tile > b->tile;
}

/* Hands what the tiles asked of the host over, in order of cycle, then tile. */
static enum emu_status forward_requests(struct machine *m, uint32_t n)
{
    struct request *list;
    size_t count = 0, k = 0;
    enum emu_status s = EMU_OK;

    for (uint32_t i = 0; i < n; i++)
        count += exchange_log_of(m->exchange, m->runnable[i])->requests;
    if (!count)
        return EMU_OK;
    if (!m->has_host)
        return FAIL(USAGE, "tile %u talks to the host, but the run has no streams", m->runnable[0]);
    list = emu_alloc(count, sizeof(*list));
    if (!list)
        return FAIL(NO_MEMORY, "%zu host requests", count);
    for (uint32_t i = 0; i < n; i++) {
        struct exchange_log *log = exchange_log_of(m->exchange, m->runnable[i]);

        for (size_t j = 0; j < log->requests; j++)
            list[k++] = (struct request){ log->request[j].cycle, m->runnable[i], &log->request[j] };
    }
    qsort(list, count, sizeof(*list), request_order);
    for (k = 0; k < count && s == EMU_OK; k++)
        s = m->host.request(m->host.ctx, list[k].tile, list[k].cycle, list[k].r->word,
                            list[k].r->data);
    for (uint32_t i = 0; i < n; i++)
        exchange_take_requests(m->exchange, m->runnable[i]);
    emu_free(list);
    return s;
}

static void run_pass(struct machine *m, uint32_t n, uint64_t limit)
{
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)m->threads) if (n > 1)
    for (uint32_t i = 0; i < n; i++)
        run_tile(m, m->runnable[i], limit);
    for (uint32_t i = 0; i < n; i++) {
        if (m->place[m->runnable[i]].wait == WAIT_FAULT)
            machine_note_fault(m, m->runnable[i], NULL);
    }
}

static int all_at_host(const struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait != WAIT_UNUSED && m->place[i].wait != WAIT_HOST)
            return 0;
    }
    return 1;
}

static enum emu_status collect_groups(struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        struct group *g = &m->group[m->place[i].group];

        if (m->place[i].wait == WAIT_UNUSED)
            continue;
        if (!g->tile) {
            g->tile = emu_alloc(m->arch.tiles, sizeof(*g->tile));
            if (!g->tile)
                return FAIL(NO_MEMORY, "the tiles of a sync group");
        }
        g->tile[g->tiles++] = i;
    }
    for (unsigned k = 0; k < m->groups; k++)
        m->group[k].phase = k;
    m->started = 1;
    return EMU_OK;
}

static enum machine_stop deadlock(struct machine *m)
{
    static const char *const what[] = { "",          "the machine",    "RECV",
                                        "host data", "syncs it voted", "a sync of its group",
                                        "a sync of the chip", "a sync of all chips", "the host", "" };

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        const struct place *p = &m->place[i];

        if (p->wait != WAIT_UNUSED && p->wait != WAIT_HOST) {
            emu_fail(EMU_FAULT, "deadlock: tile %u (group %u) waits for %s since cycle %llu", i,
                     p->group, what[p->wait], (unsigned long long)p->arrived);
            return MACHINE_DEADLOCK;
        }
    }
    emu_fail(EMU_FAULT, "deadlock: no tile is in use");
    return MACHINE_DEADLOCK;
}

static int anybody_below(const struct machine *m, uint64_t limit)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_NOT && place_clock(m, i) < limit)
            return 1;
    }
    return 0;
}

static int anybody_runs(const struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_NOT)
            return 1;
    }
    return 0;
}

enum machine_stop machine_run(struct machine *m, uint64_t max_cycle)
{
    if (!m->started && collect_groups(m) != EMU_OK)
        return MACHINE_ERROR;
    for (;;) {
        uint64_t horizon;
        uint32_t n;
        int moved;

        if (pass_horizon(m, max_cycle, &horizon) != EMU_OK)
            return MACHINE_ERROR;
        n = collect_runnable(m);
        run_pass(m, n, horizon);
        if (m->faulted)
            return MACHINE_FAULT;
        if (forward_requests(m, n) != EMU_OK)
            return MACHINE_ERROR;
        moved = sync_advance(m);
        if (moved < 0)
            return m->faulted ? MACHINE_FAULT : MACHINE_ERROR;
        if (moved || anybody_below(m, max_cycle))
            continue;
        if (anybody_runs(m))
            return MACHINE_LIMIT;
        if (all_at_host(m))
            return MACHINE_HOST;
        if (m->has_host && m->host.next(m->host.ctx) != UINT64_MAX)
            continue;
        return deadlock(m);
    }
}

void machine_release_host(struct machine *m)
{
    sync_release_host(m);
}
