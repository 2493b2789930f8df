/* machine_state.c - puts the state of a machine away and back: everything but the memory of tiles,
 * whose pages others keep (emu/step/history.c).
 *
 * What depends on nothing but code and machine stays as it is: decoded pages, resolved exchanges.
 */
#include "emu/bsp/machine_state.h"

#include "emu/bsp/machine_internal.h"
#include "emu/exchange/exchange_state.h"

#include "emu/base/alloc.h"
#include "emu/fast/fast.h"

static void save_place(const struct place *p, struct byte_store *out)
{
    byte_put(out, p, sizeof(*p));
    byte_put_list(out, p->arrival, p->arrivals, sizeof(*p->arrival));
    byte_put_list(out, p->packet, p->packet_bytes, 1);
}

static enum emu_status restore_place(struct place *p, struct byte_store *from)
{
    struct place now = *p;

    byte_take(from, p, sizeof(*p));
    p->arrival = now.arrival;
    p->arrival_cap = now.arrival_cap;
    p->packet = now.packet;
    p->packet_cap = now.packet_cap;
    TRY(byte_take_list(from, (void **)&p->arrival, &p->arrivals, &p->arrival_cap,
                       sizeof(*p->arrival)));
    return byte_take_list(from, (void **)&p->packet, &p->packet_bytes, &p->packet_cap, 1);
}

/* Numbers of generations are never used twice, so that nothing that was remembered of later values
 * is taken for true. */
static void restore_tile(struct tile *t, struct byte_store *from)
{
    struct tile now = *t;

    byte_take(from, t, sizeof(*t));
    t->mem = now.mem;
    t->code_end = now.code_end;
    t->page = now.page;
    t->dirty = now.dirty;
    t->arch = now.arch;
    t->check = now.check;
    t->exchange = now.exchange;
    t->fast = now.fast;
    t->acc_generation = now.acc_generation + 1;
    t->weight_generation = now.weight_generation + 1;
}

static void restore_barrel(struct barrel *b, struct tile *t, struct byte_store *from)
{
    struct barrel now = *b;

    byte_take(from, b, sizeof(*b));
    b->options = now.options;
    b->cache = now.cache;
    b->words = now.words;
    b->replay = now.replay;
    b->site = now.site;
    fast_begin_rounds(t, (1u << b->phase) - 1);
}

void machine_save(const struct machine *m, struct byte_store *out)
{
    EMU_ASSERT(m->started && !m->options.replay && !m->options.check);
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_UNUSED)
            continue;
        byte_put(out, &m->tile[i], sizeof(m->tile[i]));
        byte_put(out, &m->barrel[i], sizeof(m->barrel[i]));
        save_place(&m->place[i], out);
    }
    byte_put(out, m->group, sizeof(m->group));
    byte_put(out, &m->known, sizeof(m->known));
    byte_put(out, &m->finished, sizeof(m->finished));
    byte_put(out, &m->faulted, sizeof(m->faulted));
    byte_put(out, &m->fault, sizeof(m->fault));
    exchange_save(m->exchange, out);
}

enum emu_status machine_restore(struct machine *m, struct byte_store *from)
{
    for (uint32_t i = 0; i < m->arch.tiles; i++) {
        if (m->place[i].wait == WAIT_UNUSED)
            continue;
        restore_tile(&m->tile[i], from);
        restore_barrel(&m->barrel[i], &m->tile[i], from);
        TRY(restore_place(&m->place[i], from));
    }
    byte_take(from, m->group, sizeof(m->group)); /* their lists of tiles never change */
    byte_take(from, &m->known, sizeof(m->known));
    byte_take(from, &m->finished, sizeof(m->finished));
    byte_take(from, &m->faulted, sizeof(m->faulted));
    byte_take(from, &m->fault, sizeof(m->fault));
    return exchange_restore(m->exchange, from);
}

struct machine_place machine_place(const struct machine *m, uint32_t tile)
{
    const struct place *p = &m->place[tile];

    EMU_ASSERT(tile < m->arch.tiles);
    return (struct machine_place){ .group = p->group,
                                   .waits = machine_wait_text(machine_wait_of(m, tile)),
                                   .received = p->received && !is_far_wait(m, tile),
                                   .in_exchange = p->wait == WAIT_RECV || p->wait == WAIT_FAULT,
                                   .at_sync = p->wait >= WAIT_ANS && p->wait <= WAIT_HOST,
                                   .release = p->release,
                                   .received_at = p->received_at + p->link_cycles,
                                   .arrived = p->arrived,
                                   .clock = place_clock(m, tile),
                                   .settled = p->settled };
}
