/* arrival.c - queues packets of the host and of other chips until they reach the memory of a tile.
 *
 * Packets are copied into a queue of the tile and applied when the tile's clock reaches their
 * cycle, also while the tile waits in a sync. A queue has room for at most twice what it ever held
 * at a time.
 */
#include "emu/base/alloc.h"
#include "emu/bsp/machine_internal.h"
#include "emu/bsp/outer.h"

uint64_t place_next_arrival(const struct place *p)
{
    return p->next_arrival < p->arrivals ? p->arrival[p->next_arrival].cycle : UINT64_MAX;
}

void place_apply_one(struct machine *m, uint32_t tile)
{
    struct place *p = &m->place[tile];
    struct tile *t = &m->tile[tile];
    const struct arrival *a = &p->arrival[p->next_arrival++];
    uint32_t left = t->xcsr[PLACE_DCOUNT];

    if (a->bytes)
        tile_write(t, a->addr, p->packet + p->packet_first, a->bytes);
    if (a->bytes && t->check)
        tile_check_arrived(t, &(struct tile_arrival){ .addr = a->addr,
                                                      .bytes = a->bytes,
                                                      .from = a->from,
                                                      .from_addr = a->from_addr,
                                                      .is_far = a->is_far,
                                                      .chip = a->chip,
                                                      .cycle = a->cycle });
    p->packet_first += a->bytes;
    t->xcsr[PLACE_DCOUNT] = left > a->words ? left - a->words : 0;
    if (p->next_arrival == p->arrivals) {
        p->next_arrival = p->arrivals = 0;
        p->packet_first = p->packet_bytes = 0;
    }
}

void place_apply_arrivals(struct machine *m, uint32_t tile, uint64_t until)
{
    while (place_next_arrival(&m->place[tile]) < until)
        place_apply_one(m, tile);
}

/* Room for one more arrival: moves the queue down when at least half of it has been applied. */
static enum emu_status arrival_room(struct place *p)
{
    size_t live = p->arrivals - p->next_arrival;

    if (p->arrivals < p->arrival_cap)
        return EMU_OK;
    if (!p->next_arrival || live > p->arrival_cap / 2)
        return emu_grow((void **)&p->arrival, p->arrivals, &p->arrival_cap, sizeof(*p->arrival));
    memmove(p->arrival, p->arrival + p->next_arrival, live * sizeof(*p->arrival));
    p->arrivals = live;
    p->next_arrival = 0;
    return EMU_OK;
}

/* The same for the bytes of a packet. */
static enum emu_status packet_room(struct place *p, uint32_t bytes)
{
    size_t live = p->packet_bytes - p->packet_first;

    if (bytes <= p->packet_cap - p->packet_bytes)
        return EMU_OK;
    if (live + bytes > p->packet_cap / 2) {
        size_t cap = 2 * (live + bytes);
        uint8_t *grown = emu_realloc(p->packet, cap, 1);

        if (!grown)
            return FAIL(NO_MEMORY, "%zu bytes from the host that are still to arrive", cap);
        p->packet = grown;
        p->packet_cap = cap;
    }
    memmove(p->packet, p->packet + p->packet_first, live);
    p->packet_bytes = live;
    p->packet_first = 0;
    return EMU_OK;
}

/* data: a->bytes of them. */
static enum emu_status queue_arrival(struct machine *m, uint32_t tile, const struct arrival *a,
                                     const uint8_t *data)
{
    struct place *p = &m->place[tile];
    uint32_t bytes = m->options.replay ? 0 : a->bytes;

    EMU_ASSERT(tile < m->arch.tiles);
    EMU_ASSERT(!p->arrivals || p->arrival[p->arrivals - 1].cycle <= a->cycle);
    TRY(arrival_room(p));
    if (bytes) {
        TRY(packet_room(p, bytes));
        memcpy(p->packet + p->packet_bytes, data, bytes);
        p->packet_bytes += bytes;
    }
    p->arrival[p->arrivals] = *a;
    p->arrival[p->arrivals++].bytes = bytes;
    return EMU_OK;
}

enum emu_status machine_arrival_far(struct machine *m, const struct machine_far *f,
                                    const uint8_t *data)
{
    const struct arrival a = { .cycle = f->cycle,
                               .addr = f->addr,
                               .bytes = 4 * f->words,
                               .words = f->words,
                               .is_far = 1,
                               .from = f->from,
                               .from_addr = f->from_addr,
                               .chip = f->chip };

    TRY(queue_arrival(m, f->tile, &a, data));
    m->place[f->tile].is_far = 1;
    return EMU_OK;
}

enum emu_status machine_arrival(struct machine *m, uint32_t tile, uint64_t cycle, uint32_t addr,
                                const uint8_t *data, uint32_t bytes, uint32_t words)
{
    const struct arrival a = {
        .cycle = cycle, .addr = addr, .bytes = bytes, .words = words, .from = TILE_FROM_HOST
    };
    struct place *p = &m->place[tile];

    TRY(queue_arrival(m, tile, &a, data));
    p->awaited -= p->awaited > words ? words : p->awaited;
    return EMU_OK;
}
