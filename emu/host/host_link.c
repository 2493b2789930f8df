/* host_link.c - one direction of the link: when which stream sends a packet, and when the packet
 * arrives.
 *
 * Whenever the link is free it is the turn of the stream that has waited longest. Requests that
 * reach the host in the very cycle of a decision count, so a decision in cycle s needs all requests
 * up to s; the caller says how far they are known. Nothing here depends on how often it is called.
 */
#include "emu/host/host_private.h"

#include <stdlib.h>

#include "emu/base/alloc.h"
#include "emu/base/hash.h"

static void join_ring(struct host_link *l, struct host_stream *s)
{
    s->next = NULL;
    if (l->first)
        l->last->next = s;
    else
        l->first = s;
    l->last = s;
}

static struct host_stream *leave_ring(struct host_link *l)
{
    struct host_stream *s = l->first;

    if (s)
        l->first = s->next;
    return s;
}

/* The first waiting transfer of a stream may begin when it is there and the one `depth` before it
 * is complete. */
static enum emu_status begin_transfer(struct host_link *l, struct host_stream *s, uint64_t now)
{
    const struct host_event *t = host_queue_first(&s->waiting);
    uint64_t done = s->done[s->record.transfers % s->depth];
    uint64_t ready = t->cycle > done ? t->cycle : done;

    s->record.waiting_cycles += ready - t->cycle;
    if (ready > now) {
        struct host_event go = { .cycle = ready, .order = s->id, .stream = s };

        return host_heap_push(&l->ahead, &go);
    }
    join_ring(l, s);
    return EMU_OK;
}

static enum emu_status take_bytes(struct host_event *e)
{
    enum emu_status s;

    if (!e->data)
        return EMU_OK;
    s = host_sink_write(&e->stream->sink, e->data, e->bytes,
                        &(struct host_moment){ e->issued, e->cycle, e->tile });
    ss_free(e->data);
    e->data = NULL;
    return s;
}

/* Lets everything happen that is due by `now`. */
static enum emu_status catch_up(struct host_link *l, uint64_t now)
{
    while (l->ahead.count && l->ahead.event[0].cycle <= now) {
        struct host_event e = host_heap_pop(&l->ahead);
        struct host_stream *s = e.stream;

        if (!e.bytes) {
            join_ring(l, s);
            continue;
        }
        TRY(take_bytes(&e));
        TRY(host_queue_push(&s->waiting, &e));
        if (s->waiting.count == 1 && s != l->sending)
            TRY(begin_transfer(l, s, e.cycle));
    }
    return EMU_OK;
}

/* The stream whose packet has just ended joins the ring after those that came meanwhile. */
static enum emu_status end_turn(struct host_link *l)
{
    struct host_stream *s = l->sending;

    l->sending = NULL;
    if (s && s->sent)
        join_ring(l, s);
    else if (s && s->waiting.count)
        return begin_transfer(l, s, l->free.cycle);
    return EMU_OK;
}

static uint64_t jitter(const struct host_link *l, const struct host_stream *s)
{
    uint64_t key[3] = { l->seed, s->id, s->record.packets };

    return l->jitter_cycles ? hash64(key, sizeof(key)) % (l->jitter_cycles + 1) : 0;
}

/* Occupies the link with n bytes. Returns the cycle of their arrival. */
static uint64_t carry(struct host_link *l, struct host_stream *s, uint32_t n)
{
    uint64_t parts = l->free.part + (uint64_t)n * l->clock, arrival;

    l->free.cycle += parts / l->rate;
    l->free.part = (uint32_t)(parts % l->rate);
    arrival = l->free.cycle + (l->free.part != 0) + l->arrival_cycles + jitter(l, s);
    if (s->last_arrival < arrival)
        s->last_arrival = arrival;
    s->record.packets++;
    s->record.bytes += n;
    return s->last_arrival;
}

/* The last packet of a transfer has been sent. */
static enum emu_status end_transfer(struct host_stream *s, uint64_t arrival)
{
    const struct host_event *t = host_queue_first(&s->waiting);
    uint64_t latency = arrival - t->issued;

    s->done[s->record.transfers++ % s->depth] = arrival;
    s->open_cycles += arrival - (t->issued > s->covered ? t->issued : s->covered);
    s->covered = arrival;
    s->complete_bytes += t->bytes;
    if (s->record.latency_cycles_max < latency)
        s->record.latency_cycles_max = latency;
    if (s->keeps) {
        TRY(emu_grow((void **)&s->transfer, s->transfers, &s->transfer_cap, sizeof(*s->transfer)));
        s->transfer[s->transfers++] =
            (struct host_transfer){ t->issued, arrival, t->tile, t->bytes };
    }
    s->sent = 0;
    host_queue_pop(&s->waiting);
    return EMU_OK;
}

static enum emu_status send_packet(struct host_link *l, struct host_stream *s,
                                   struct host_heap *arrivals)
{
    const struct host_event *t = host_queue_first(&s->waiting);
    uint32_t left = t->bytes - s->sent, n = left < l->packet_bytes ? left : l->packet_bytes;
    struct host_event a = { .rank = l->rank, .stream = s, .tile = t->tile, .issued = t->issued };

    a.cycle = carry(l, s, n);
    a.order = l->packets++;
    a.addr = t->addr + s->sent;
    a.bytes = s->to_host ? 0 : n;
    a.words = (s->to_host ? t->bytes : n) / 4;
    s->sent += n;
    l->sending = s;
    if (!s->to_host || n == left)
        TRY(host_heap_push(arrivals, &a));
    return n == left ? end_transfer(s, a.cycle) : EMU_OK;
}

enum emu_status host_link_request(struct host_link *l, const struct host_event *e)
{
    struct host_event r = *e;

    r.rank = r.tile + 1; /* a stream that may go on is first: its transfer has waited longer */
    return host_heap_push(&l->ahead, &r);
}

enum emu_status host_link_advance(struct host_link *l, uint64_t before, struct host_heap *arrivals)
{
    for (;;) {
        struct host_stream *s;

        if (!l->first && !l->sending) {
            if (!l->ahead.count || l->ahead.event[0].cycle >= before)
                return EMU_OK;
            if (l->free.cycle < l->ahead.event[0].cycle)
                l->free = (struct host_time){ .cycle = l->ahead.event[0].cycle };
        }
        if (l->free.cycle >= before)
            return EMU_OK;
        TRY(catch_up(l, l->free.cycle));
        TRY(end_turn(l));
        s = leave_ring(l);
        if (s)
            TRY(send_packet(l, s, arrivals));
    }
}

uint64_t host_link_next(const struct host_link *l)
{
    uint64_t start = l->free.cycle;

    if (!l->first && !(l->sending && l->sending->waiting.count)) {
        if (!l->ahead.count)
            return UINT64_MAX;
        if (start < l->ahead.event[0].cycle)
            start = l->ahead.event[0].cycle;
    }
    return start + 1 + l->arrival_cycles;
}

static int compare_events(const void *x, const void *y)
{
    const struct host_event *const *a = x, *const *b = y;

    return host_event_before(*a, *b) ? -1 : host_event_before(*b, *a);
}

enum emu_status host_link_drain(struct host_link *l)
{
    struct host_event **list;
    enum emu_status s = EMU_OK;
    size_t n = 0;

    if (!l->ahead.count)
        return EMU_OK;
    list = emu_alloc(l->ahead.count, sizeof(struct host_event *));
    if (!list)
        return FAIL(NO_MEMORY, "%zu transfers to the host", l->ahead.count);
    for (size_t i = 0; i < l->ahead.count; i++) {
        if (l->ahead.event[i].data)
            list[n++] = &l->ahead.event[i];
    }
    qsort(list, n, sizeof(struct host_event *), compare_events);
    for (size_t i = 0; i < n && s == EMU_OK; i++)
        s = take_bytes(list[i]);
    ss_free(list);
    return s;
}

void host_link_free(struct host_link *l)
{
    for (size_t i = 0; i < l->ahead.count; i++)
        ss_free(l->ahead.event[i].data);
    ss_free(l->ahead.event);
}
