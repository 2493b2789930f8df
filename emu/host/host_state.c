/* host_state.c - puts the host away and back: requests under way, packets, how far every stream is.
 *
 * Streams must be in memory. What tiles have sent to the host is cut back: the machine would send
 * the same bytes again.
 */
#include "emu/base/alloc.h"
#include "emu/host/host_private.h"
#include "emu/host/host_state.h"

/* ---- events, with the bytes of requests ---- */

static void save_event(const struct host_event *e, struct byte_store *out)
{
    byte_put(out, e, sizeof(*e));
    if (e->data)
        byte_put(out, e->data, e->bytes);
}

static enum emu_status restore_event(struct host_event *e, struct byte_store *from)
{
    byte_take(from, e, sizeof(*e));
    if (!e->data)
        return EMU_OK;
    e->data = emu_alloc(e->bytes, 1);
    if (!e->data)
        return FAIL(NO_MEMORY, "%u bytes to the host", e->bytes);
    byte_take(from, e->data, e->bytes);
    return EMU_OK;
}

static void save_heap(const struct host_heap *h, struct byte_store *out)
{
    byte_put(out, &h->count, sizeof(h->count));
    for (size_t i = 0; i < h->count; i++)
        save_event(&h->event[i], out);
}

static enum emu_status restore_heap(struct host_heap *h, struct byte_store *from)
{
    size_t count;

    for (size_t i = 0; i < h->count; i++)
        ss_free(h->event[i].data);
    h->count = 0;
    for (byte_take(from, &count, sizeof(count)); h->count < count; h->count++) {
        TRY(emu_grow((void **)&h->event, h->count, &h->cap, sizeof(*h->event)));
        TRY(restore_event(&h->event[h->count], from));
    }
    return EMU_OK;
}

static void save_queue(const struct host_queue *q, struct byte_store *out)
{
    byte_put(out, &q->count, sizeof(q->count));
    for (size_t i = 0; i < q->count; i++)
        save_event(&q->event[(q->first + i) & (q->cap - 1)], out);
}

static enum emu_status restore_queue(struct host_queue *q, struct byte_store *from)
{
    size_t count;

    for (; q->count; host_queue_pop(q))
        ss_free(host_queue_first(q)->data);
    byte_take(from, &count, sizeof(count));
    for (size_t i = 0; i < count; i++) {
        struct host_event e;

        TRY(restore_event(&e, from));
        TRY(host_queue_push(q, &e));
    }
    return EMU_OK;
}

/* ---- streams ---- */

/* What changes in a stream while it runs, but for its lists. */
struct stream_state {
    uint64_t at;
    size_t sink_bytes;
    struct host_stream *next;
    uint32_t sent;
    uint64_t last_arrival, covered, open_cycles, complete_bytes;
    struct host_stream_record record;
    size_t transfers;
};

static void save_stream(const struct host_stream *s, struct byte_store *out)
{
    const struct stream_state now = { .at = s->source.at,
                                      .sink_bytes = s->sink.bytes,
                                      .next = s->next,
                                      .sent = s->sent,
                                      .last_arrival = s->last_arrival,
                                      .covered = s->covered,
                                      .open_cycles = s->open_cycles,
                                      .complete_bytes = s->complete_bytes,
                                      .record = s->record,
                                      .transfers = s->transfers };

    EMU_ASSERT(!s->source.file && !s->source.fetch && !s->sink.file && !s->sink.store);
    byte_put(out, &now, sizeof(now));
    byte_put(out, s->done, s->depth * sizeof(*s->done));
    save_queue(&s->waiting, out);
}

static enum emu_status restore_stream(struct host_stream *s, struct byte_store *from)
{
    struct stream_state then;

    byte_take(from, &then, sizeof(then));
    s->source.at = then.at;
    s->sink.bytes = then.sink_bytes;
    s->next = then.next;
    s->sent = then.sent;
    s->last_arrival = then.last_arrival;
    s->covered = then.covered;
    s->open_cycles = then.open_cycles;
    s->complete_bytes = then.complete_bytes;
    s->record = then.record;
    s->transfers = then.transfers;
    byte_take(from, s->done, s->depth * sizeof(*s->done));
    return restore_queue(&s->waiting, from);
}

/* ---- all ---- */

static void save_link(const struct host_link *l, struct byte_store *out)
{
    byte_put(out, l, sizeof(*l));
    save_heap(&l->ahead, out);
}

static enum emu_status restore_link(struct host_link *l, struct byte_store *from)
{
    struct host_heap ahead = l->ahead;

    byte_take(from, l, sizeof(*l));
    l->ahead = ahead;
    return restore_heap(&l->ahead, from);
}

int host_can_save(const struct host *h)
{
    for (uint32_t i = 0; i < HOST_MAX_STREAMS; i++) {
        const struct host_stream *s = h->stream[i];

        if (s && (s->source.file || s->source.fetch || s->sink.file || s->sink.store))
            return 0;
    }
    return 1;
}

void host_save(const struct host *h, struct byte_store *out)
{
    byte_put(out, &h->decided, sizeof(h->decided));
    byte_put(out, &h->requests, sizeof(h->requests));
    save_link(&h->link[HOST_DOWN], out);
    save_link(&h->link[HOST_UP], out);
    save_heap(&h->arrivals, out);
    for (uint32_t i = 0; i < HOST_MAX_STREAMS; i++) {
        if (h->stream[i])
            save_stream(h->stream[i], out);
    }
}

enum emu_status host_restore(struct host *h, struct byte_store *from)
{
    byte_take(from, &h->decided, sizeof(h->decided));
    byte_take(from, &h->requests, sizeof(h->requests));
    TRY(restore_link(&h->link[HOST_DOWN], from));
    TRY(restore_link(&h->link[HOST_UP], from));
    TRY(restore_heap(&h->arrivals, from));
    for (uint32_t i = 0; i < HOST_MAX_STREAMS; i++) {
        if (h->stream[i])
            TRY(restore_stream(h->stream[i], from));
    }
    return EMU_OK;
}
