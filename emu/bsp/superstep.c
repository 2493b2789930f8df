/* superstep.c - runs tiles in parallel until all of them wait, and feeds them what the host sends.
 *
 * Determinism: between two syncs a tile touches nothing but itself, so the order of tiles in a pass
 * does not matter. The host answers a request no sooner than its latency, and only to the tile that
 * asked. So a tile that waits for no host data runs freely until it makes a request; one that does
 * wait runs no further than the latency after the earliest cycle in which any tile may still make a
 * request, because packets share the link.
 *
 * Tiles may wait in a circle: one waits for data and computes without a RECV, another is at the
 * RECV of the same exchange, which cannot be resolved until the first gets there. Then the first
 * continues, and later requests of the second reach the host late (ASSUMED to be rare).
 */
#include <omp.h>
#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/bsp/barrel_ahead.h"
#include "emu/bsp/machine_internal.h"
#include "emu/bsp/replay.h"
#include "emu/exchange/exchange_known.h"
#include "emu/exchange/host_header.h"

enum { HOST_LINE = 64 /* bytes */, PREFETCH_CODE = 3 * HOST_LINE };
enum { NO_TILE = UINT32_MAX, TURN_GROWTH = 4 };
enum { BATCH = 8 }; /* tiles that wait for the host's memory together */

/* The cycle a tile has reached: its next issue, or the sync it waits in. */
uint64_t place_clock(const struct machine *m, uint32_t tile)
{
    return m->place[tile].wait == WAIT_NOT ? barrel_clock(&m->barrel[tile])
                                           : m->place[tile].arrived;
}

static void wait_at(struct machine *m, uint32_t tile, enum tile_wait wait)
{
    m->place[tile].wait = (uint8_t)wait;
    m->place[tile].arrived = m->barrel[tile].cycle;
    m->tile[tile].sync_zone = -1;
}

/* How far a tile may run before others get their turn: see machine_run_out(). */
static uint64_t turn_limit(const struct machine *m, uint32_t tile, uint64_t max_cycle)
{
    uint64_t from = m->place[tile].release;

    if (!m->turn || tile == m->alone || max_cycle < from || max_cycle - from < m->turn)
        return max_cycle;
    return from + m->turn;
}

/* Where something may come to a tile from outside: its next packet, which the host has not computed
 * yet, or the end of the run. */
static uint64_t tile_limit(const struct machine *m, uint32_t tile, uint64_t max_cycle)
{
    const struct exchange_log *log = exchange_log_of(m->exchange, tile);
    uint64_t limit = max_cycle;

    if (tile == m->held_tile && max_cycle > m->held_cycle)
        limit = max_cycle = m->held_cycle;
    if (!m->has_host)
        return limit;
    if (m->place[tile].awaited)
        limit = m->known;
    else if (log->requests)
        limit = log->request[0].cycle + m->host.latency_cycles;
    return limit < max_cycle ? limit : max_cycle;
}

/* A RECV with nothing left to resolve: over when no data of the host or of other chips is missing,
 * of what comes up to max_cycle. Returns 1 when the tile goes on. */
static int receive_data(struct machine *m, uint32_t tile, uint64_t max_cycle)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];
    uint64_t cycle = p->arrived + 1;

    place_apply_arrivals(m, tile, cycle);
    if (tile == m->held_tile && max_cycle > m->held_cycle)
        max_cycle = m->held_cycle;
    while (t->xcsr[PLACE_DCOUNT] && p->next_arrival < p->arrivals &&
           place_next_arrival(p) <= max_cycle) {
        if (place_next_arrival(p) > cycle)
            cycle = place_next_arrival(p);
        place_apply_one(m, tile);
    }
    if (t->xcsr[PLACE_DCOUNT])
        return 0;
    p->wait = WAIT_NOT;
    *(p->is_far ? &p->link_cycles : &p->data_cycles) += cycle - (p->arrived + 1);
    m->barrel[tile].cycle = cycle;
    return 1;
}

/* Ends the exchange of a tile that has neither sent nor listened: nobody else has a part in that.
 * Returns 0 if it has. */
static int receive_alone(struct machine *m, uint32_t tile)
{
    const struct exchange_log *log = exchange_log_of(m->exchange, tile);
    struct place *p = &m->place[tile];

    if (log->open || log->sends || log->muxes || log->pics)
        return 0;
    p->received = 1;
    p->received_at = p->arrived + 1;
    return 1;
}

/* Returns 1 when the tile can go on at once. */
static int take_recv(struct machine *m, uint32_t tile, uint64_t max_cycle)
{
    struct place *p = &m->place[tile];

    wait_at(m, tile, WAIT_RECV);
    if (!p->received) {
        int alone = receive_alone(m, tile);

        if (m->tile[tile].check)
            tile_check_recv(&m->tile[tile]);
        if (exchange_recv(m->exchange, &m->tile[tile], (uint32_t)(p->arrived - p->release)) !=
            FAULT_NONE)
            p->wait = WAIT_FAULT;
        else if (!alone)
            ahead_receive(m, tile);
        if (!p->received || p->wait == WAIT_FAULT)
            return 0;
    }
    p->wait = WAIT_DATA;
    return receive_data(m, tile, max_cycle);
}

static enum tile_wait wait_of_zone(const struct machine *m, int zone)
{
    static const enum tile_wait wait[SCOPES] = {
        [SCOPE_RESERVED] = WAIT_FAULT, [SCOPE_GROUP] = WAIT_GROUP, [SCOPE_CHIP] = WAIT_CHIP,
        [SCOPE_REPLICA] = WAIT_CHIPS,  [SCOPE_POD] = WAIT_POD,     [SCOPE_HOST] = WAIT_HOST,
    };

    return zone >= 0 && zone < SYNC_ZONES ? wait[m->zone[zone]] : WAIT_FAULT;
}

/* The tile has issued a sync. Returns 1 when it can go on at once. */
static int take_sync(struct machine *m, uint32_t tile, uint64_t max_cycle)
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
    if (zone == SYNC_RECV)
        return take_recv(m, tile, max_cycle);
    ahead_receive(m, tile);
    if (zone == SYNC_ANS) {
        wait_at(m, tile, WAIT_ANS);
        if (exchange_log_of(m->exchange, tile)->votes)
            return 0;
        p->wait = WAIT_NOT;
        sync_set_consensus(t, p->vote_gc);
        m->barrel[tile].cycle++;
        return 1;
    }
    wait_at(m, tile, wait_of_zone(m, zone));
    p->zone = (uint8_t)zone;
    if (p->wait == WAIT_FAULT)
        tile_fault(t, LANE_SUPER, FAULT_EXERR, 0, "a reserved sync zone");
    return 0;
}

/* Runs one tile until it waits or may go no further. Where it awaits nothing, in slices that no
 * answer to a request within them can reach. */
static void run_tile(struct machine *m, uint32_t tile, uint64_t max_cycle)
{
    struct place *p = &m->place[tile];
    const struct exchange_log *log = exchange_log_of(m->exchange, tile);

    if (p->wait == WAIT_DATA && !receive_data(m, tile, max_cycle))
        return;
    m->barrel[tile].words = code_cache_words(m->cache, (unsigned)omp_get_thread_num());
    if (m->options.replay && m->barrel[tile].cycle < max_cycle && ahead_issue(m, tile) &&
        !take_recv(m, tile, max_cycle))
        return;
    for (;;) {
        uint64_t until = tile_limit(m, tile, max_cycle), next = place_next_arrival(p);
        uint64_t turn = turn_limit(m, tile, max_cycle);

        m->barrel[tile].undisturbed = until < next ? until : next;
        m->barrel[tile].turn = turn;
        if (until > turn)
            until = turn;
        if (m->has_host && !p->awaited && !log->requests) {
            uint64_t clock = place_clock(m, tile);

            if (clock < until && until - clock > m->host.latency_cycles)
                until = clock + m->host.latency_cycles;
        }
        if (until > next)
            until = next;
        switch (barrel_run(&m->barrel[tile], &m->tile[tile], BARREL_NEVER_HALT, until)) {
        case BARREL_FAULT:
            wait_at(m, tile, WAIT_FAULT);
            p->arrived = m->tile[tile].fault.cycle;
            return;
        case BARREL_SYNC:
            if (!take_sync(m, tile, max_cycle))
                return;
            break;
        default:
            if (until == next && next != UINT64_MAX)
                place_apply_one(m, tile);
            else if (place_clock(m, tile) >= tile_limit(m, tile, max_cycle) ||
                     place_clock(m, tile) >= turn)
                return;
        }
    }
}

static uint32_t collect_runnable(struct machine *m)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        const struct place *p = &m->place[i];

        if (p->wait == WAIT_NOT ? !ahead_is_held(m, i)
                                : p->wait == WAIT_DATA && p->next_arrival < p->arrivals)
            m->runnable[n++] = i;
    }
    return n;
}

/* No request of this tile comes before that cycle. A tile in a sync that is not complete can only
 * go on after others, which are looked at themselves. held: also look at tiles that only wait for
 * an exchange to be resolved. */
static uint64_t tile_earliest(const struct machine *m, uint32_t tile, uint64_t next_of_host,
                              int held)
{
    const struct place *p = &m->place[tile];
    uint64_t next;

    switch (p->wait) {
    case WAIT_NOT:
        return place_clock(m, tile);
    case WAIT_DATA:
        next = place_next_arrival(p);
        return p->awaited && next_of_host < next ? next_of_host : next;
    case WAIT_RECV:
        return held ? p->arrived + 1 : UINT64_MAX;
    default:
        return UINT64_MAX;
    }
}

static uint64_t earliest_request(const struct machine *m, int held)
{
    uint64_t next_of_host = m->host.next(m->host.ctx), earliest = UINT64_MAX;

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        uint64_t cycle = tile_earliest(m, i, next_of_host, held);

        if (cycle < earliest)
            earliest = cycle;
    }
    for (unsigned k = 0; held && k < m->groups; k++) {
        uint64_t cycle = sync_held_release(m, k);

        if (cycle < earliest)
            earliest = cycle;
    }
    return earliest;
}

/* Whether a pass would change anything. */
static int can_move(const struct machine *m, uint64_t max_cycle)
{
    uint64_t next_of_host = m->host.next(m->host.ctx);

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        const struct place *p = &m->place[i];

        if (p->wait == WAIT_NOT && place_clock(m, i) < tile_limit(m, i, max_cycle) &&
            place_clock(m, i) < turn_limit(m, i, max_cycle))
            return 1;
        if (p->wait == WAIT_DATA &&
            (p->next_arrival < p->arrivals || (p->awaited && next_of_host < m->known)))
            return 1;
    }
    return 0;
}

static void know_until(struct machine *m, uint64_t earliest, uint64_t max_cycle)
{
    uint64_t until = max_cycle;

    if (earliest == UINT64_MAX)
        return;
    if (earliest < max_cycle && max_cycle - earliest > m->host.latency_cycles)
        until = earliest + m->host.latency_cycles;
    if (m->known < until)
        m->known = until;
}

/* Has the host compute what arrives before any answer to a request that is still to come. */
static enum emu_status begin_pass(struct machine *m, uint64_t max_cycle)
{
    if (!m->has_host)
        return EMU_OK;
    know_until(m, earliest_request(m, 1), max_cycle);
    if (!can_move(m, max_cycle))
        know_until(m, earliest_request(m, 0), max_cycle);
    return m->host.advance(m->host.ctx, m, m->known);
}

struct tile_request {
    uint64_t cycle;
    uint32_t tile;
    const struct exchange_host_request *r;
};

static int request_order(const void *x, const void *y)
{
    const struct tile_request *a = x, *b = y;

    if (a->cycle != b->cycle)
        return a->cycle < b->cycle ? -1 : 1;
    return a->tile < b->tile ? -1 : a->tile > b->tile;
}

static uint32_t header_words(const uint32_t word[2])
{
    struct host_header h;

    return host_header_unpack(word, &h) ? h.bytes / 4 : 0;
}

/* Hands n requests over in order of cycle, then tile. */
static enum emu_status forward_list(struct machine *m, struct tile_request *list, size_t n)
{
    if (!m->has_host)
        return FAIL(
            FAULT, "tile %u asks the host for a transfer in cycle %llu, but the run has no streams",
            list[0].tile, (unsigned long long)list[0].cycle);
    for (size_t k = 0; k < n; k++) {
        const struct exchange_host_request *r = list[k].r;

        TRY(m->host.request(m->host.ctx, list[k].tile, r->cycle, r->word, r->data));
        m->place[list[k].tile].awaited += header_words(r->word);
    }
    return EMU_OK;
}

/* What the n tiles that ran have asked of the host. */
static enum emu_status forward_requests(struct machine *m, uint32_t n)
{
    struct tile_request *list;
    size_t count = 0, k = 0;
    enum emu_status s;

    for (uint32_t i = 0; i < n; i++)
        count += exchange_log_of(m->exchange, m->runnable[i])->requests;
    if (!count)
        return EMU_OK;
    list = emu_alloc(count, sizeof(*list));
    if (!list)
        return FAIL(NO_MEMORY, "%zu host requests", count);
    for (uint32_t i = 0; i < n; i++) {
        struct exchange_log *log = exchange_log_of(m->exchange, m->runnable[i]);

        for (size_t j = 0; j < log->requests; j++)
            list[k++] =
                (struct tile_request){ log->request[j].cycle, m->runnable[i], &log->request[j] };
    }
    qsort(list, count, sizeof(*list), request_order);
    s = forward_list(m, list, count);
    for (uint32_t i = 0; i < n; i++)
        exchange_take_requests(m->exchange, m->runnable[i]);
    ss_free(list);
    return s;
}

/* What the fabric knows of the fault of a tile; NULL when it did not raise it. */
static const struct exchange_fault *fabric_fault(const struct machine *m, uint32_t tile)
{
    const struct exchange_fault *x = exchange_last_fault(m->exchange);

    return m->tile[tile].fault.kind == FAULT_EXERR && x && x->tile == tile ? x : NULL;
}

static void prefetch_bytes(const void *from, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += HOST_LINE)
        __builtin_prefetch((const char *)from + at);
}

/* What a tile needs first: one that comes to its turn is in none of the host's caches. Its state is
 * fetched first, then its next part of an exchange, then its code. Those two are found in the
 * state, which only the thread may read that runs the tile. */
static void prefetch_state(const struct machine *m, uint32_t tile)
{
    const struct tile *t = &m->tile[tile];

    prefetch_bytes(&m->barrel[tile], sizeof(struct barrel));
    prefetch_bytes(exchange_log_of(m->exchange, tile), sizeof(struct exchange_log));
    prefetch_bytes(&m->place[tile], sizeof(struct place));
    if (m->options.replay)
        replay_prefetch(m->options.replay, tile);
    __builtin_prefetch(t->pc);
    __builtin_prefetch(t->npc);
    __builtin_prefetch(t->xcsr);
    __builtin_prefetch(&t->mem);
    __builtin_prefetch(&t->cycle);
    __builtin_prefetch(&t->fast);
}

static void prefetch_code(const struct machine *m, uint32_t tile)
{
    const struct tile *t = &m->tile[tile];

    prefetch_bytes(t->mem + (exchange_next_code(m->exchange, tile, t) - t->mem_base),
                   PREFETCH_CODE);
}

/* Of n tiles whose state has been fetched: what is found in it, for all of them at a time, so that
 * they wait for the host's memory together. */
static void prefetch_turns(const struct machine *m, const uint32_t *tile, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        exchange_prefetch_part(m->exchange, tile[i]);
        if (m->barrel[tile[i]].replay)
            replay_prefetch_site(m->barrel[tile[i]].replay);
    }
    for (uint32_t i = 0; i < n; i++) {
        prefetch_code(m, tile[i]);
        if (m->barrel[tile[i]].replay)
            replay_prefetch_known(m->barrel[tile[i]].replay);
    }
}

/* The n tiles that a thread takes at a time. */
static void run_tiles(struct machine *m, const uint32_t *tile, uint32_t n, uint64_t max_cycle)
{
    for (uint32_t i = 0; i < n && i < BATCH; i++)
        prefetch_state(m, tile[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i % BATCH == 0)
            prefetch_turns(m, tile + i, n - i < BATCH ? n - i : BATCH);
        if (i + BATCH < n)
            prefetch_state(m, tile[i + BATCH]);
        run_tile(m, tile[i], max_cycle);
    }
}

static void run_pass(struct machine *m, uint32_t n, uint64_t max_cycle)
{
    /* A thread asks for tiles some hundred times: seldom enough, and the last ones are few. */
    const uint32_t most = n / (64 * m->threads) + 1;

#pragma omp parallel for schedule(dynamic) num_threads((int)m->threads) if (n > 1)
    for (uint32_t first = 0; first < n; first += most)
        run_tiles(m, m->runnable + first, n - first < most ? n - first : most, max_cycle);
    for (uint32_t i = 0; i < n; i++) {
        if (m->place[m->runnable[i]].wait == WAIT_FAULT)
            machine_note_fault(m, m->runnable[i], fabric_fault(m, m->runnable[i]));
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
        if (!g->tiles) {
            g->at_tile = i;
            g->at_pc = m->tile[i].pc[LANE_SUPER];
        }
        g->tile[g->tiles++] = i;
    }
    for (unsigned k = 0; k < m->groups; k++)
        m->group[k].phase = k;
    m->started = 1;
    return EMU_OK;
}

static int anybody_below(const struct machine *m, uint64_t limit)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_NOT && place_clock(m, i) < turn_limit(m, i, limit) &&
            (i != m->held_tile || place_clock(m, i) < m->held_cycle))
            return 1;
    }
    return 0;
}

static int anybody_in(const struct machine *m, enum tile_wait wait)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == wait)
            return 1;
    }
    return 0;
}

/* Some tile stands at a RECV, and what it waits for comes later. */
static int anybody_receives(const struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_DATA && place_next_arrival(&m->place[i]) != UINT64_MAX)
            return 1;
    }
    return 0;
}

/* Some tile stands at a RECV for data that the host has still to hand over. */
static int anybody_awaits(const struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_DATA && m->place[i].awaited)
            return 1;
    }
    return 0;
}

/* Whether a tile waits for what only other chips can give. */
static int anybody_waits_outside(const struct machine *m)
{
    for (uint32_t i = 0; m->options.outer && i < m->arch.tiles; i++) {
        if (is_outer_wait(m->place[i].wait) || is_far_wait(m, i))
            return 1;
    }
    return 0;
}

/* Whether a tile has come to its host sync without the RECV that its exchange needs. */
static int anybody_without_recv(struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        struct place *p = &m->place[i];

        if (p->wait != WAIT_HOST ||
            exchange_end(m->exchange, &m->tile[i], p->arrived) == FAULT_NONE)
            continue;
        p->wait = WAIT_FAULT;
        machine_note_fault(m, i, exchange_last_fault(m->exchange));
        return 1;
    }
    return 0;
}

/* Every tile waits in a host sync: memory is to hold what has arrived until the last of them got
 * there. */
static enum machine_stop stop_at_host(struct machine *m)
{
    uint64_t latest = machine_cycles(m);

    if (anybody_without_recv(m))
        return MACHINE_FAULT;
    if (!m->has_host)
        return MACHINE_HOST;
    if (m->host.advance(m->host.ctx, m, latest + 1) != EMU_OK)
        return MACHINE_ERROR;
    if (m->known < latest + 1)
        m->known = latest + 1;
    for (uint32_t i = 0; i < m->arch.tiles; i++)
        place_apply_arrivals(m, i, latest + 1);
    return MACHINE_HOST;
}

/* Nothing moves below max_cycle: why? */
static enum machine_stop stop_reason(struct machine *m)
{
    if (anybody_in(m, WAIT_NOT) || anybody_receives(m))
        return MACHINE_LIMIT;
    if (all_at_host(m))
        return stop_at_host(m);
    if (m->has_host && anybody_awaits(m) && m->host.next(m->host.ctx) != UINT64_MAX)
        return MACHINE_LIMIT;
    if (anybody_waits_outside(m))
        return MACHINE_OUTER;
    return machine_deadlock(m);
}

/* The lowest tile that has had its turn and still computes; NO_TILE if there is none. */
static uint32_t first_after_turn(const struct machine *m, uint64_t max_cycle)
{
    for (uint32_t i = 0; m->turn && i < m->arch.tiles; i++) {
        uint64_t clock = place_clock(m, i);

        if (m->place[i].wait == WAIT_NOT && clock < max_cycle &&
            clock >= turn_limit(m, i, max_cycle))
            return i;
    }
    return NO_TILE;
}

/* Whether the tile that runs alone has come to the limit. */
static int limit_is_reached(const struct machine *m, uint64_t max_cycle)
{
    return m->turn && m->alone != NO_TILE && m->place[m->alone].wait == WAIT_NOT &&
           place_clock(m, m->alone) >= max_cycle;
}

/* Nothing moves within its turn. Lets one tile go on alone; after one that came to an end, gives
 * all of them a longer turn. Returns 0 when nobody gets one. */
static int next_turn(struct machine *m, uint64_t max_cycle)
{
    uint32_t first = first_after_turn(m, max_cycle);

    if (first == NO_TILE || limit_is_reached(m, max_cycle))
        return 0;
    if (m->alone == NO_TILE) {
        m->alone = first;
        return 1;
    }
    m->alone = NO_TILE;
    m->turn = m->turn < UINT64_MAX / TURN_GROWTH ? m->turn * TURN_GROWTH : UINT64_MAX;
    return 1;
}

/* Whether all wait for the host, who waits for requests of tiles that have had their turn. */
static int host_needs_turn(const struct machine *m, uint64_t max_cycle)
{
    return m->turn && m->has_host && !can_move(m, max_cycle);
}

static enum machine_stop run_to(struct machine *m, uint64_t max_cycle)
{
    if (!m->started && collect_groups(m) != EMU_OK)
        return MACHINE_ERROR;
    m->max_cycle = max_cycle;
    for (;;) {
        uint32_t n;
        int moved;

        if (begin_pass(m, max_cycle) != EMU_OK)
            return MACHINE_ERROR;
        if (host_needs_turn(m, max_cycle) && !next_turn(m, max_cycle) &&
            limit_is_reached(m, max_cycle))
            return MACHINE_LIMIT;
        n = collect_runnable(m);
        run_pass(m, n, max_cycle);
        if (m->faulted)
            return MACHINE_FAULT;
        if (forward_requests(m, n) != EMU_OK)
            return MACHINE_ERROR;
        moved = sync_advance(m);
        if (moved < 0)
            return m->faulted ? MACHINE_FAULT : MACHINE_ERROR;
        if (moved)
            m->alone = NO_TILE;
        if (moved || anybody_below(m, max_cycle))
            continue;
        if (m->has_host && anybody_awaits(m) && m->host.next(m->host.ctx) < max_cycle)
            continue;
        if (!next_turn(m, max_cycle))
            return stop_reason(m);
    }
}

enum machine_stop machine_run(struct machine *m, uint64_t max_cycle)
{
    m->turn = 0;
    m->alone = NO_TILE;
    return run_to(m, max_cycle);
}

enum machine_stop machine_run_out(struct machine *m, uint64_t max_cycle)
{
    m->turn = MACHINE_TURN_CYCLES;
    m->alone = NO_TILE;
    return run_to(m, max_cycle);
}

void machine_release_host(struct machine *m)
{
    sync_release_host(m);
}

enum emu_status machine_finish(struct machine *m)
{
    return sync_finish(m);
}
