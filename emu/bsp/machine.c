/* machine.c - builds a chip and answers questions about it; superstep.c runs it, sync.c decides
 * which tiles continue. */
#include "emu/bsp/machine_internal.h"
#include "emu/bsp/machine_state.h"

#include <omp.h>

#include "emu/base/alloc.h"
#include "emu/bsp/replay.h"
#include "emu/tile/tile_range.h"

static enum emu_status tiles_new(struct machine *m)
{
    m->mem_stride = (size_t)tile_pages(m->arch.mem_bytes, DIRTY_PAGE_BITS) << DIRTY_PAGE_BITS;
    m->mem_bytes = m->mem_stride * m->arch.tiles;
    m->mem = emu_reserve(m->mem_bytes);
    m->tile = emu_alloc_aligned(m->arch.tiles, sizeof(*m->tile), 64);
    m->barrel = emu_alloc(m->arch.tiles, sizeof(*m->barrel));
    m->place = emu_alloc(m->arch.tiles, sizeof(*m->place));
    m->site = emu_alloc(m->arch.tiles, sizeof(*m->site));
    m->member = emu_alloc(m->arch.tiles, sizeof(struct tile *));
    m->runnable = emu_alloc(m->arch.tiles, sizeof(*m->runnable));
    m->step = emu_alloc(m->arch.tiles, sizeof(*m->step));
    m->all_tiles = emu_alloc(m->arch.tiles, sizeof(*m->all_tiles));
    if (!m->mem || !m->tile || !m->barrel || !m->place || !m->site || !m->member || !m->runnable ||
        !m->step || !m->all_tiles)
        return FAIL(NO_MEMORY, "%u tiles of %u bytes", m->arch.tiles, m->arch.mem_bytes);
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        TRY(tile_init(&m->tile[i], &m->arch, i, m->mem + i * m->mem_stride));
        m->all_tiles[i] = i;
        exchange_attach(m->exchange, i, &m->tile[i]);
        if (m->options.check)
            TRY(tile_check_new(&m->tile[i]));
    }
    return EMU_OK;
}

static unsigned thread_count(const struct machine_options *o)
{
    unsigned cores = (unsigned)omp_get_num_procs();

    return o->threads && o->threads < cores ? o->threads : cores;
}

enum emu_status machine_new(const struct arch *arch, const struct machine_options *o,
                            struct machine **out)
{
    struct machine *m = emu_alloc(1, sizeof(*m));
    struct exchange_options xo = { .threads = thread_count(o),
                                   .chip = o->chip,
                                   .check = o->check,
                                   .pairs = o->record && record_wants_exchanges(o->record),
                                   .figures = o->replay && !o->check };
    enum emu_status s;

    *out = NULL;
    if (!m)
        return FAIL(NO_MEMORY, "a machine");
    m->arch = *arch;
    m->options = *o;
    m->held_cycle = UINT64_MAX;
    for (unsigned zone = 0; zone < SYNC_ZONES; zone++)
        m->zone[zone] = sync_scope_default(zone);
    m->threads = thread_count(o);
    s = exchange_new(&m->arch, &xo, &m->exchange);
    if (s == EMU_OK)
        s = code_cache_new(&m->arch, m->threads, &m->cache);
    if (s == EMU_OK)
        s = tiles_new(m);
    if (s == EMU_OK && !o->digests)
        s = digests_new(&m->arch, NULL, &m->own_digests);
    if (s != EMU_OK) {
        machine_free(m);
        return s;
    }
    *out = m;
    return EMU_OK;
}

void machine_free(struct machine *m)
{
    if (!m)
        return;
    for (uint32_t i = 0; m->tile && i < m->arch.tiles; i++) {
        if (m->tile[i].check)
            tile_check_free(&m->tile[i]);
        tile_free(&m->tile[i]);
        if (m->place) {
            ss_free(m->place[i].arrival);
            ss_free(m->place[i].packet);
        }
        if (m->site)
            ss_free(m->site[i]);
    }
    for (unsigned g = 0; g < MACHINE_MAX_GROUPS; g++)
        ss_free(m->group[g].tile);
    ss_free(m->tile);
    ss_free(m->barrel);
    ss_free(m->place);
    ss_free(m->site);
    ss_free(m->member);
    ss_free(m->runnable);
    ss_free(m->step);
    ss_free(m->all_tiles);
    digests_free(m->own_digests);
    code_cache_free(m->cache);
    exchange_free(m->exchange);
    emu_unreserve(m->mem, m->mem_bytes);
    ss_free(m);
}

const struct arch *machine_arch(const struct machine *m)
{
    return &m->arch;
}

unsigned machine_threads(const struct machine *m)
{
    return m->threads;
}

struct replay *machine_replay(const struct machine *m)
{
    return m->options.replay;
}

struct tile *machine_tile(struct machine *m, uint32_t tile)
{
    EMU_ASSERT(tile < m->arch.tiles);
    return &m->tile[tile];
}

struct barrel *machine_barrel(struct machine *m, uint32_t tile)
{
    EMU_ASSERT(tile < m->arch.tiles);
    return &m->barrel[tile];
}

struct exchange *machine_exchange(struct machine *m)
{
    return m->exchange;
}

void machine_set_host(struct machine *m, const struct machine_host *host)
{
    EMU_ASSERT(!m->started && host->latency_cycles >= 1);
    m->host = *host;
    m->has_host = 1;
}

void machine_set_zones(struct machine *m, const enum sync_scope scope[SYNC_ZONES])
{
    EMU_ASSERT(!m->started);
    memcpy(m->zone, scope, sizeof(m->zone));
}

void machine_use(struct machine *m, uint32_t tile, uint32_t entry, unsigned group)
{
    struct barrel_options o = { .plain = m->options.plain };

    EMU_ASSERT(tile < m->arch.tiles && group < MACHINE_MAX_GROUPS && !m->started);
    barrel_init(&m->barrel[tile], m->cache, &o, 0);
    if (m->options.replay)
        m->barrel[tile].replay = replay_of(m->options.replay, tile);
    m->tile[tile].pc[LANE_SUPER] = entry;
    m->tile[tile].state[LANE_SUPER] = CONTEXT_ACTIVE;
    m->place[tile].wait = WAIT_NOT;
    m->place[tile].group = (uint8_t)group;
    if (m->groups < group + 1)
        m->groups = group + 1;
}

enum emu_status machine_sites(struct machine *m, uint32_t tile, const uint32_t *addr, size_t n)
{
    EMU_ASSERT(machine_tile_used(m, tile) && !m->site[tile] && !m->started);
    m->site[tile] = emu_alloc(n, sizeof(**m->site));
    if (!m->site[tile])
        return FAIL(NO_MEMORY, "%zu calls", n);
    memcpy(m->site[tile], addr, n * sizeof(*addr));
    m->barrel[tile].site = m->site[tile];
    m->barrel[tile].sites = n;
    return EMU_OK;
}

enum emu_status machine_parts(struct machine *m, uint32_t tile, const struct exchange_part *part,
                              size_t n)
{
    EMU_ASSERT(machine_tile_used(m, tile) && !m->started);
    return exchange_add_parts(m->exchange, tile, part, n);
}

void machine_hold(struct machine *m, uint32_t tile, uint64_t cycle)
{
    m->held_tile = tile;
    m->held_cycle = cycle;
}

/* Tiles are looked at in order, so the first note of a run is the one of the lowest tile. */
void machine_note_fault(struct machine *m, uint32_t tile, const struct exchange_fault *x)
{
    if (m->faulted)
        return;
    m->faulted = 1;
    m->fault = (struct machine_fault){ .tile = tile,
                                       .superstep = m->group[m->place[tile].group].superstep,
                                       .fault = &m->tile[tile].fault,
                                       .exchange = x };
}

struct machine_fault machine_fault(const struct machine *m)
{
    return m->fault;
}

uint64_t machine_cycles(const struct machine *m)
{
    uint64_t latest = 0;

    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait != WAIT_UNUSED && place_clock(m, i) > latest)
            latest = place_clock(m, i);
    }
    return latest;
}

uint64_t machine_supersteps(const struct machine *m, unsigned group)
{
    return group < m->groups ? m->group[group].superstep : 0;
}

int machine_tile_used(const struct machine *m, uint32_t tile)
{
    return m->place[tile].wait != WAIT_UNUSED;
}

unsigned machine_tile_group(const struct machine *m, uint32_t tile)
{
    return m->place[tile].group;
}

struct hash128 machine_digest(struct machine *m)
{
    struct digests *d = m->options.digests ? m->options.digests : m->own_digests;

#pragma omp parallel for schedule(dynamic, 16) num_threads((int)m->threads)
    for (uint32_t i = 0; i < m->arch.tiles; i++)
        digest_tile(d, i, &m->tile[i]);
    return digest_root(d, m->all_tiles, m->arch.tiles);
}
