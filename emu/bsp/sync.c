/* sync.c - when a sync is complete, what it costs, and what happens at its release.
 *
 * The release comes a fixed number of cycles after the last arrival (struct arch). Every release
 * carries the AND of the participants' LC bits to GC. Syncs that join several chips are answered by
 * the system (outer.h), unless the chip is alone.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/bsp/machine_internal.h"

/* --- the end of an exchange
 * ------------------------------------------------------------------------------------------------
 */

/* Marks the tiles of all groups of a phase; 0 while one of them still runs. */
static int phase_members(struct machine *m, unsigned phase)
{
    memset(m->member, 0, m->arch.tiles * sizeof(m->member[0]));
    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];

        if (g->phase != phase)
            continue;
        for (uint32_t i = 0; i < g->tiles; i++) {
            uint32_t tile = g->tile[i];

            if (m->place[tile].wait == WAIT_NOT && !m->place[tile].received)
                return 0;
            if (!m->place[tile].received)
                m->member[tile] = &m->tile[tile];
        }
    }
    return 1;
}

static void note_exchange_fault(struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->member[i] && m->tile[i].fault.kind) {
            m->place[i].wait = WAIT_FAULT;
            machine_note_fault(m, i, exchange_last_fault(m->exchange));
        }
    }
}

/* A phase that takes some 30 us: waking threads and waiting for them is no faster, and on a host
 * with other work it takes as long as that likes. */
enum { SMALL_PHASE = 1 << 16, COPY_WORDS = 16 }; /* words; a copy costs as much as so many */

static int is_small(const struct exchange_phase *x, uint32_t tiles)
{
    return x->copies * COPY_WORDS + x->first_word[tiles] < SMALL_PHASE;
}

static void deliver(struct machine *m, const struct exchange_phase *x)
{
    uint32_t n = m->arch.tiles, chunk = 32;

    if (x->overlaps || is_small(x, n)) {
        exchange_deliver(x, m->member, 0, n);
        return;
    }
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)m->threads)
    for (uint32_t from = 0; from < n; from += chunk)
        exchange_deliver(x, m->member, from, from + chunk < n ? from + chunk : n);
}

/* By when all tiles of the phase had come to their RECV. */
static uint64_t settled_cycle(const struct machine *m)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->member[i] && m->place[i].wait == WAIT_RECV && m->place[i].arrived > last)
            last = m->place[i].arrived;
    }
    return last + 1;
}

/* Lets the tiles of a resolved phase go on after their RECV. */
static void finish_receive(struct machine *m, const struct exchange_phase *x)
{
    uint64_t settled = settled_cycle(m);

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        struct place *p = &m->place[i];
        uint64_t end;

        if (!m->member[i])
            continue;
        p->received = 1;
        p->settled = settled;
        p->words_in = x->words_in[i];
        p->words_out = x->words_out[i];
        if (p->wait != WAIT_RECV)
            continue;
        end = p->release + x->end_event[i];
        p->received_at = end > p->arrived + 1 ? end : p->arrived + 1;
        p->arrived = p->received_at - 1;
        if (m->tile[i].xcsr[PLACE_DCOUNT]) {
            p->wait = WAIT_DATA;
            continue;
        }
        p->wait = WAIT_NOT;
        m->barrel[i].cycle = p->received_at;
    }
}

int sync_resolved(struct machine *m, unsigned phase, const struct exchange_phase *x)
{
    uint32_t exchange = 0;

    if (m->options.record && record_wants_exchanges(m->options.record) &&
        record_add_exchange(m->options.record, x, &exchange) != EMU_OK)
        return -1;
    for (unsigned k = 0; k < m->groups; k++) {
        if (m->group[k].phase != phase)
            continue;
        m->group[k].resolved = 1;
        m->group[k].exchange = exchange;
    }
    return 1;
}

static int resolve_phase(struct machine *m, unsigned phase)
{
    const struct exchange_phase *x;
    enum emu_status s;

    if (!phase_members(m, phase))
        return 0;
    s = exchange_resolve(m->exchange, m->member, &x);
    if (s != EMU_OK) {
        note_exchange_fault(m);
        return -1;
    }
    if (!m->options.replay)
        deliver(m, x);
    finish_receive(m, x);
    return sync_resolved(m, phase, x);
}

/* --- complete syncs
 * ----------------------------------------------------------------------------------------------------------
 */

/* Whether a tile has voted ahead for a sync of its group. */
static int votes_ahead(const struct machine *m, uint32_t tile, enum tile_wait wait)
{
    return wait == WAIT_GROUP && exchange_log_of(m->exchange, tile)->votes > 0;
}

/* Whether a tile that has voted ahead is still before its RECV: while an exchange is not known,
 * none can be. */
static int is_before_recv(const struct place *p)
{
    return p->wait == WAIT_NOT && !p->received;
}

/* All tiles of a group wait in this kind of sync, or have voted ahead for it (group syncs only). */
static int group_complete(const struct machine *m, const struct group *g, enum tile_wait wait,
                          uint64_t *latest)
{
    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct place *p = &m->place[g->tile[i]];
        uint64_t at;

        if (votes_ahead(m, g->tile[i], wait) && !is_before_recv(p))
            at = exchange_log_of(m->exchange, g->tile[i])
                     ->vote_cycle; /* also when it stands at a later sync already */
        else if (p->wait == wait)
            at = p->arrived;
        else
            return 0;
        if (*latest < at)
            *latest = at;
    }
    return g->tiles > 0;
}

uint64_t sync_held_release(const struct machine *m, unsigned group)
{
    uint64_t latest = 0;

    if (m->group[group].resolved || !group_complete(m, &m->group[group], WAIT_GROUP, &latest))
        return UINT64_MAX;
    return latest + m->arch.sync_chip_cycles;
}

static uint64_t cycles_between(uint64_t begin, uint64_t end)
{
    return end > begin ? end - begin : 0;
}

/* Cycles of the tile's exchange that the record does not have yet, and of what it waits for at its
 * RECV up to `end`. */
static uint64_t exchange_to_record(const struct place *p, uint64_t end)
{
    uint64_t all = cycles_between(p->release, p->received_at) + p->data_cycles + p->link_cycles;

    if (p->wait == WAIT_DATA)
        all += cycles_between(p->arrived + 1, end);
    return cycles_between(p->recorded_exchange, all);
}

/* How many of those cycles it waited for words of other chips. */
static uint64_t link_to_record(const struct place *p, uint64_t exchange)
{
    uint64_t link = cycles_between(p->recorded_link, p->link_cycles);

    return link < exchange ? link : exchange;
}

/* A chip that is alone is all of its system. */
static enum sync_scope scope_of_wait(const struct machine *m, enum tile_wait wait)
{
    switch (wait) {
    case WAIT_CHIP:
        return SCOPE_CHIP;
    case WAIT_CHIPS:
        return m->options.outer ? SCOPE_REPLICA : SCOPE_CHIP;
    case WAIT_POD:
        return m->options.outer ? SCOPE_POD : SCOPE_CHIP;
    case WAIT_HOST:
        return SCOPE_HOST;
    default:
        return SCOPE_GROUP;
    }
}

/* What a tile did in the superstep of its group that ends in cycle `end` with a sync of this kind.
 * A tile that voted ahead may still be at work then, or may have waited for long. */
static struct tile_step step_of_tile(struct machine *m, const struct group *g, uint32_t tile,
                                     uint64_t end, enum tile_wait wait)
{
    struct place *p = &m->place[tile];
    int working = p->wait == WAIT_NOT || p->wait == WAIT_DATA;
    uint64_t until = working || p->arrived > end ? end : p->arrived;
    uint64_t from = p->active_from > g->release ? p->active_from : g->release;
    uint64_t active = cycles_between(from, until), exchange = exchange_to_record(p, end);
    uint64_t arrived =
        votes_ahead(m, tile, wait) ? exchange_log_of(m->exchange, tile)->vote_cycle : until;
    struct tile_step s = { .words_in = p->words_in, .words_out = p->words_out };

    exchange = exchange < active ? exchange : active;
    s.link_cycles = (uint32_t)link_to_record(p, exchange);
    s.exchange_cycles = (uint32_t)exchange - s.link_cycles;
    s.compute_cycles = (uint32_t)(active - exchange);
    s.wait_cycles = (uint32_t)(end - g->release - active);
    s.arrival_cycles = (uint32_t)cycles_between(g->release, arrived);
    p->recorded_exchange += exchange;
    p->recorded_link += s.link_cycles;
    p->words_in = p->words_out = 0;
    return s;
}

/* latest: the last arrival of all tiles that the sync joins. */
static int record_group(struct machine *m, struct group *g, unsigned index, uint64_t end,
                        enum tile_wait wait, uint64_t latest)
{
    struct record_step s = { .group = index,
                             .index = g->superstep,
                             .release = g->release,
                             .end = end,
                             .tiles = g->tiles,
                             .scope = scope_of_wait(m, wait),
                             .tile = g->at_tile,
                             .pc = g->at_pc,
                             .sync_cycles =
                                 (uint32_t)(end - (latest > g->release ? latest : g->release)),
                             .host_cycles = g->release - g->end,
                             .exchange = g->exchange };

    g->end = end;
    g->exchange = 0;
    if (!m->options.record)
        return 0;
    for (uint32_t i = 0; i < g->tiles; i++)
        m->step[i] = step_of_tile(m, g, g->tile[i], end, wait);
    return record_add(m->options.record, &s, g->tile, m->step) == EMU_OK ? 0 : -1;
}

/* Tiles that voted for the sync are still in a superstep of their own and do not count. */
static void watch_group(const struct machine *m, const struct group *g, unsigned index,
                        uint64_t end, enum tile_wait wait)
{
    struct machine_superstep s = { .chip = m->options.chip,
                                   .group = index,
                                   .index = g->superstep,
                                   .release = g->release,
                                   .end = end };

    if (!m->options.watch)
        return;
    s.wide = wait != WAIT_GROUP;
    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct place *p = &m->place[g->tile[i]];

        if (votes_ahead(m, g->tile[i], wait))
            continue;
        s.received = p->received_at > s.received ? p->received_at : s.received;
        s.arrived = p->arrived > s.arrived ? p->arrived : s.arrived;
    }
    m->options.watch(m->options.watch_ctx, &s);
}

static void digest_group(struct machine *m, const struct group *g, unsigned index, uint64_t release,
                         int each)
{
    struct digests *d = m->options.digests;

    if (!d)
        return;
#pragma omp parallel for schedule(dynamic, 16) num_threads((int)m->threads)
    for (uint32_t i = 0; i < g->tiles; i++)
        digest_tile(d, g->tile[i], &m->tile[g->tile[i]]);
    digest_step(d, index, g->superstep, release, g->tile, g->tiles, each);
}

static int release_tile(struct machine *m, uint32_t tile, uint64_t release, uint32_t consensus)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];
    int is_outer = is_outer_wait(p->wait);

    place_apply_arrivals(m, tile, release);
    sync_set_consensus(t, consensus);
    p->wait = WAIT_NOT;
    p->received = 0;
    p->release = p->received_at = p->active_from = release;
    p->data_cycles = p->recorded_exchange = 0;
    p->link_cycles = p->recorded_link = 0;
    p->is_far = 0;
    m->barrel[tile].cycle = release;
    t->cycle = release;
    if (exchange_begin(m->exchange, t, release) == FAULT_NONE) {
        if (is_outer)
            exchange_open_chips(m->exchange, tile);
        if (is_outer && t->check)
            tile_check_outer(t);
        return 0;
    }
    p->wait = WAIT_FAULT;
    machine_note_fault(m, tile, exchange_last_fault(m->exchange));
    return -1;
}

/* A tile that voted uses one vote; it stays where it is unless it waits for the last of them, and
 * learns the consensus then. */
static void use_vote(struct machine *m, uint32_t tile, uint64_t release, uint32_t consensus)
{
    struct exchange_log *log = exchange_log_of(m->exchange, tile);
    struct place *p = &m->place[tile];

    p->vote_gc = consensus != 0;
    if (--log->votes == 0 && p->wait == WAIT_ANS) {
        p->wait = WAIT_NOT;
        sync_set_consensus(&m->tile[tile], p->vote_gc);
        m->barrel[tile].cycle = release > p->arrived + 1 ? release : p->arrived + 1;
        if (release > p->arrived + 1)
            p->active_from = release;
    }
}

/* Notes where the sync stands in the program. */
static void note_place(struct machine *m, struct group *g, enum tile_wait wait)
{
    for (uint32_t i = 0; i < g->tiles; i++) {
        if (votes_ahead(m, g->tile[i], wait))
            continue;
        g->at_tile = g->tile[i];
        g->at_pc = m->tile[g->at_tile].pc[LANE_SUPER] - ISA_WORD_BYTES; /* it stands after it */
        return;
    }
}

/* A complete sync: how its tiles arrived, and what it tells them. */
struct complete_sync {
    enum tile_wait wait;
    uint64_t latest, release; /* last arrival; cycle in which all go on */
    uint32_t consensus;
    unsigned phase;                      /* struct group */
    struct exchange_beginning beginning; /* of the tiles that go on */
};

/* A tile that has voted takes part in the next phase if its own is not over. */
static void note_voter(const struct machine *m, uint32_t tile, struct exchange_beginning *b)
{
    b->is_mixed |= !m->place[tile].received;
}

static int release_group(struct machine *m, unsigned index, struct complete_sync *c)
{
    struct group *g = &m->group[index];

    if (!m->finished) {
        watch_group(m, g, index, c->release, c->wait);
        if (record_group(m, g, index, c->release, c->wait, c->latest) < 0)
            return -1;
        digest_group(m, g, index, c->release, c->wait != WAIT_GROUP);
        g->superstep++;
    }
    g->phase = c->phase;
    g->resolved = 0;
    g->ahead = AHEAD_NOT;
    g->release = c->release;
    note_place(m, g, c->wait);
    for (uint32_t i = 0; i < g->tiles; i++) {
        if (votes_ahead(m, g->tile[i], c->wait)) {
            note_voter(m, g->tile[i], &c->beginning);
            use_vote(m, g->tile[i], c->release, c->consensus);
        } else if (release_tile(m, g->tile[i], c->release, c->consensus) < 0) {
            return -1;
        } else if (m->options.replay) {
            ahead_add(m, &c->beginning, g->tile[i]);
        }
    }
    return 1;
}

static uint32_t group_consensus(const struct machine *m, const struct group *g, enum tile_wait wait)
{
    uint32_t lc = SSR_LC;

    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct exchange_log *log = exchange_log_of(m->exchange, g->tile[i]);

        lc &= votes_ahead(m, g->tile[i], wait) ? log->vote_lc : m->tile[g->tile[i]].ssr;
    }
    return lc;
}

static int release_internal(struct machine *m)
{
    int moved = 0;

    for (unsigned k = 0; k < m->groups; k++) {
        struct group *g = &m->group[k];
        struct complete_sync c = { .wait = WAIT_GROUP, .phase = k };

        if (!g->tiles || !g->resolved || !group_complete(m, g, WAIT_GROUP, &c.latest))
            continue;
        c.release = c.latest + m->arch.sync_chip_cycles;
        c.consensus = group_consensus(m, g, WAIT_GROUP);
        if (release_group(m, k, &c) < 0 || ahead_begin(m, k, &c.beginning) < 0)
            return -1;
        moved = 1;
    }
    return moved;
}

int sync_all_complete(const struct machine *m, enum tile_wait wait, uint64_t *latest,
                      uint32_t *consensus)
{
    int groups = 0;

    *latest = 0;
    *consensus = SSR_LC;
    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];

        if (!g->tiles)
            continue;
        if (!g->resolved || !group_complete(m, g, wait, latest))
            return 0;
        *consensus &= group_consensus(m, g, wait);
        groups++;
    }
    return groups > 0;
}

/* The groups exchange together under the number of the lowest of them. */
static int release_groups(struct machine *m, struct complete_sync *c)
{
    for (unsigned k = 0; k < m->groups; k++) {
        if (!m->group[k].tiles)
            continue;
        if (c->phase == MACHINE_MAX_GROUPS)
            c->phase = k;
        if (release_group(m, k, c) < 0)
            return -1;
    }
    return ahead_begin(m, c->phase, &c->beginning) < 0 ? -1 : 1;
}

/* A sync of all groups. cost in cycles after the last arrival. */
static int release_all(struct machine *m, enum tile_wait wait, uint64_t cost)
{
    struct complete_sync c = { .wait = wait, .phase = MACHINE_MAX_GROUPS };

    if (!sync_all_complete(m, wait, &c.latest, &c.consensus))
        return 0;
    c.release = c.latest + cost;
    return release_groups(m, &c);
}

int sync_release_outer(struct machine *m, enum tile_wait wait, uint64_t release, uint32_t consensus)
{
    struct complete_sync c = { .wait = wait, .phase = MACHINE_MAX_GROUPS };
    int complete = sync_all_complete(m, wait, &c.latest, &c.consensus);

    EMU_ASSERT(complete && release >= c.latest);
    c.release = release;
    c.consensus = consensus;
    return release_groups(m, &c);
}

int sync_advance(struct machine *m)
{
    int moved = 0, r;

    for (unsigned k = 0; k < m->groups; k++) {
        if (!m->group[k].tiles || m->group[k].resolved || m->group[k].phase != k)
            continue;
        r = m->group[k].ahead == AHEAD_OTHERS ? ahead_settle(m, k) : resolve_phase(m, k);
        if (r < 0)
            return -1;
        moved |= r;
    }
    r = release_internal(m);
    if (r < 0)
        return -1;
    moved |= r;
    r = release_all(m, WAIT_CHIP, m->arch.sync_chip_cycles);
    if (r < 0)
        return -1;
    moved |= r;
    for (enum tile_wait wait = WAIT_CHIPS; wait <= WAIT_POD && !m->options.outer; wait++) {
        r = release_all(m, wait, arch_sync_chips_cycles(&m->arch));
        if (r < 0)
            return -1;
        moved |= r;
    }
    return moved;
}

void sync_release_host(struct machine *m)
{
    release_all(m, WAIT_HOST, arch_sync_host_cycles(&m->arch));
    m->finished = 0;
}

enum emu_status sync_finish(struct machine *m)
{
    if (m->finished)
        return EMU_OK;
    m->finished = 1;
    for (unsigned k = 0; k < m->groups; k++) {
        struct group *g = &m->group[k];
        uint64_t latest = g->release;

        for (uint32_t i = 0; i < g->tiles; i++) {
            if (latest < m->place[g->tile[i]].arrived)
                latest = m->place[g->tile[i]].arrived;
        }
        if (!g->tiles)
            continue;
        if (record_group(m, g, k, latest, WAIT_HOST, latest) < 0)
            return EMU_NO_MEMORY;
        digest_group(m, g, k, latest, 1);
        g->superstep++;
    }
    return EMU_OK;
}
