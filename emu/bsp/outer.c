/* outer.c - a machine seen by its system: where it waits for other chips, and their answers. */
#include "emu/bsp/outer.h"

#include "emu/bsp/machine_internal.h"

static enum tile_wait wait_of(enum sync_scope scope)
{
    EMU_ASSERT(scope == SCOPE_REPLICA || scope == SCOPE_POD);
    return scope == SCOPE_POD ? WAIT_POD : WAIT_CHIPS;
}

/* Of the lowest tile that waits so. */
static unsigned zone_of(const struct machine *m, enum tile_wait wait)
{
    uint32_t i = 0;

    while (i < m->arch.tiles && m->place[i].wait != wait)
        i++;
    return i < m->arch.tiles ? m->place[i].zone : 0;
}

struct machine_outer machine_outer(const struct machine *m)
{
    for (enum sync_scope scope = SCOPE_REPLICA; scope <= SCOPE_POD; scope++) {
        struct machine_outer o = { .scope = scope };

        if (!sync_all_complete(m, wait_of(scope), &o.latest, &o.consensus))
            continue;
        o.zone = zone_of(m, wait_of(scope));
        return o;
    }
    return (struct machine_outer){ .scope = SCOPE_RESERVED };
}

enum emu_status machine_release_outer(struct machine *m, enum sync_scope scope, uint64_t release,
                                      uint32_t consensus)
{
    if (sync_release_outer(m, wait_of(scope), release, consensus) >= 0)
        return EMU_OK;
    return m->faulted ? EMU_FAULT : EMU_NO_MEMORY;
}

int machine_may_send_far(const struct machine *m)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_NOT && exchange_log_of(m->exchange, i)->to_chips)
            return 1;
    }
    return 0;
}

uint32_t machine_far_words(const struct machine *m, uint32_t tile)
{
    return is_far_wait(m, tile) ? m->tile[tile].xcsr[PLACE_DCOUNT] : 0;
}

int machine_has_host_transfers(const struct machine *m, uint32_t tile)
{
    return m->place[tile].awaited > 0;
}

void machine_raise_far(struct machine *m, uint32_t tile, const struct exchange_fault *f)
{
    exchange_raise_arrival(m->exchange, &m->tile[tile], f);
    m->place[tile].wait = WAIT_FAULT;
    machine_note_fault(m, tile, exchange_last_fault(m->exchange));
}
