/* sync.c - when a sync is complete, what it costs, and what happens at its release.
 *
 * Zones: INTERNAL joins the tiles of a group, 4/12 all groups of the chip, 5/13 all chips, 6/14 the
 * host. The release comes a fixed number of cycles after the last arrival (struct arch). Every
 * release carries the AND of the participants' LC bits to GC.
 */
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

/* Lets the tiles of a resolved phase go on behind their RECV. */
static void finish_receive(struct machine *m, const struct exchange_phase *x)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        struct place *p = &m->place[i];
        uint64_t end;

        if (!m->member[i])
            continue;
        p->received = 1;
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
    deliver(m, x);
    finish_receive(m, x);
    for (unsigned k = 0; k < m->groups; k++) {
        if (m->group[k].phase == phase)
            m->group[k].resolved = 1;
    }
    return 1;
}

/* --- complete syncs
 * ----------------------------------------------------------------------------------------------------------
 */

/* All tiles of a group wait in this kind of sync, or have voted ahead for it (group syncs only). */
static int group_complete(const struct machine *m, const struct group *g, enum tile_wait wait,
                          uint64_t *latest)
{
    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct place *p = &m->place[g->tile[i]];
        const struct exchange_log *log = exchange_log_of(m->exchange, g->tile[i]);
        uint64_t at;

        if (wait == WAIT_GROUP && log->votes > 0)
            at = log->vote_cycle; /* also when it stands at a later sync already */
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

static int record_group(struct machine *m, const struct group *g, unsigned index, uint64_t release)
{
    struct record_step s = {
        .group = index, .index = g->superstep, .end = release, .tiles = g->tiles
    };

    if (!m->options.record)
        return 0;
    s.release = UINT64_MAX;
    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct place *p = &m->place[g->tile[i]];
        uint64_t received = p->received_at > p->release ? p->received_at : p->release;

        if (p->release < s.release)
            s.release = p->release;
        m->step[i] = (struct tile_step){
            .exchange_cycles = (uint32_t)(received - p->release + p->data_cycles),
            .compute_cycles = (uint32_t)(p->arrived > received + p->data_cycles
                                             ? p->arrived - received - p->data_cycles
                                             : 0),
            .wait_cycles = (uint32_t)(release > p->arrived ? release - p->arrived : 0),
            .words_in = p->words_in,
            .words_out = p->words_out
        };
    }
    return record_add(m->options.record, &s, g->tile, m->step) == EMU_OK ? 0 : -1;
}

/* Tiles that voted for the sync are still in a superstep of their own and do not count. */
static void watch_group(const struct machine *m, const struct group *g, unsigned index,
                        uint64_t end, enum tile_wait wait)
{
    struct machine_superstep s = { .group = index, .index = g->superstep, .release = end };

    if (!m->options.watch)
        return;
    s.end = end;
    s.wide = wait != WAIT_GROUP;
    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct place *p = &m->place[g->tile[i]];

        if (wait == WAIT_GROUP && exchange_log_of(m->exchange, g->tile[i])->votes > 0)
            continue;
        s.release = p->release < s.release ? p->release : s.release;
        s.received = p->received_at > s.received ? p->received_at : s.received;
        s.arrived = p->arrived > s.arrived ? p->arrived : s.arrived;
    }
    m->options.watch(m->options.watch_ctx, &s);
}

static int digest_group(struct machine *m, const struct group *g, unsigned index, uint64_t release,
                        int each)
{
    struct digests *d = m->options.digests;

    if (!d)
        return 0;
#pragma omp parallel for schedule(dynamic, 16) num_threads((int)m->threads)
    for (uint32_t i = 0; i < g->tiles; i++)
        digest_tile(d, g->tile[i], &m->tile[g->tile[i]]);
    return digest_step(d, index, g->superstep, release, g->tile, g->tiles, each) == EMU_OK ? 0 : -1;
}

static int release_tile(struct machine *m, uint32_t tile, uint64_t release, uint32_t consensus)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];

    place_apply_arrivals(m, tile, release);
    sync_set_consensus(t, consensus);
    p->wait = WAIT_NOT;
    p->received = 0;
    p->release = p->received_at = release;
    p->words_in = p->words_out = 0;
    p->data_cycles = 0;
    m->barrel[tile].cycle = release;
    t->cycle = release;
    if (exchange_begin(m->exchange, t, release) == FAULT_NONE)
        return 0;
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
    }
}

static int release_group(struct machine *m, unsigned index, enum tile_wait wait, uint64_t release,
                         uint32_t consensus, unsigned phase)
{
    struct group *g = &m->group[index];

    if (!m->finished) {
        watch_group(m, g, index, release, wait);
        if (record_group(m, g, index, release) < 0 ||
            digest_group(m, g, index, release, wait != WAIT_GROUP) < 0)
            return -1;
        g->superstep++;
    }
    g->phase = phase;
    g->resolved = 0;
    for (uint32_t i = 0; i < g->tiles; i++) {
        if (wait == WAIT_GROUP && exchange_log_of(m->exchange, g->tile[i])->votes > 0)
            use_vote(m, g->tile[i], release, consensus);
        else if (release_tile(m, g->tile[i], release, consensus) < 0)
            return -1;
    }
    return 1;
}

static uint32_t group_consensus(const struct machine *m, const struct group *g, enum tile_wait wait)
{
    uint32_t lc = SSR_LC;

    for (uint32_t i = 0; i < g->tiles; i++) {
        const struct exchange_log *log = exchange_log_of(m->exchange, g->tile[i]);

        lc &= wait == WAIT_GROUP && log->votes > 0 ? log->vote_lc : m->tile[g->tile[i]].ssr;
    }
    return lc;
}

static int release_internal(struct machine *m)
{
    int moved = 0;

    for (unsigned k = 0; k < m->groups; k++) {
        struct group *g = &m->group[k];
        uint64_t latest = 0;

        if (!g->tiles || !g->resolved || !group_complete(m, g, WAIT_GROUP, &latest))
            continue;
        if (release_group(m, k, WAIT_GROUP, latest + m->arch.sync_chip_cycles,
                          group_consensus(m, g, WAIT_GROUP), k) < 0)
            return -1;
        moved = 1;
    }
    return moved;
}

/* A sync of all groups. cost in cycles after the last arrival. */
static int release_all(struct machine *m, enum tile_wait wait, uint64_t cost)
{
    uint64_t latest = 0;
    uint32_t consensus = SSR_LC;
    unsigned phase = MACHINE_MAX_GROUPS;

    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];

        if (!g->tiles)
            continue;
        if (!g->resolved || !group_complete(m, g, wait, &latest))
            return 0;
        consensus &= group_consensus(m, g, wait);
        if (phase == MACHINE_MAX_GROUPS)
            phase = k;
    }
    if (phase == MACHINE_MAX_GROUPS)
        return 0;
    for (unsigned k = 0; k < m->groups; k++) {
        if (m->group[k].tiles && release_group(m, k, wait, latest + cost, consensus, phase) < 0)
            return -1;
    }
    return 1;
}

int sync_advance(struct machine *m)
{
    int moved = 0, r;

    for (unsigned k = 0; k < m->groups; k++) {
        if (!m->group[k].tiles || m->group[k].resolved || m->group[k].phase != k)
            continue;
        r = resolve_phase(m, k);
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
    r = release_all(m, WAIT_CHIPS, m->arch.sync_chips_cycles);
    return r < 0 ? -1 : moved | r;
}

void sync_release_host(struct machine *m)
{
    release_all(m, WAIT_HOST, m->arch.sync_host_cycles);
    m->finished = 0;
}

enum emu_status sync_finish(struct machine *m)
{
    if (m->finished)
        return EMU_OK;
    m->finished = 1;
    for (unsigned k = 0; k < m->groups; k++) {
        const struct group *g = &m->group[k];
        uint64_t latest = 0;

        for (uint32_t i = 0; i < g->tiles; i++) {
            if (latest < m->place[g->tile[i]].arrived)
                latest = m->place[g->tile[i]].arrived;
        }
        if (!g->tiles)
            continue;
        if (record_group(m, g, k, latest) < 0)
            return EMU_NO_MEMORY;
        if (digest_group(m, g, k, latest, 1) < 0)
            return EMU_IO;
        m->group[k].superstep++;
    }
    return EMU_OK;
}
