/* host_queue.c - a heap of events and a queue of transfers, both in arrays that double.
 */
#include "emu/host/host_private.h"

#include "emu/base/alloc.h"

int host_event_before(const struct host_event *a, const struct host_event *b)
{
    if (a->cycle != b->cycle)
        return a->cycle < b->cycle;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return a->order < b->order;
}

enum emu_status host_heap_push(struct host_heap *h, const struct host_event *e)
{
    size_t i = h->count;

    TRY(emu_grow((void **)&h->event, h->count, &h->cap, sizeof(*h->event)));
    h->count++;
    for (; i && host_event_before(e, &h->event[(i - 1) / 2]); i = (i - 1) / 2)
        h->event[i] = h->event[(i - 1) / 2];
    h->event[i] = *e;
    return EMU_OK;
}

struct host_event host_heap_pop(struct host_heap *h)
{
    struct host_event top, moved;
    size_t i = 0, child;

    EMU_ASSERT(h->count);
    top = h->event[0];
    moved = h->event[--h->count];
    while ((child = 2 * i + 1) < h->count) {
        if (child + 1 < h->count && host_event_before(&h->event[child + 1], &h->event[child]))
            child++;
        if (!host_event_before(&h->event[child], &moved))
            break;
        h->event[i] = h->event[child];
        i = child;
    }
    h->event[i] = moved;
    return top;
}

enum emu_status host_queue_push(struct host_queue *q, const struct host_event *e)
{
    size_t before = q->cap;

    TRY(emu_grow((void **)&q->event, q->count, &q->cap, sizeof(*q->event)));
    if (q->cap != before) { /* what was wrapped around now follows the old end */
        for (size_t i = 0; i < q->first; i++)
            q->event[before + i] = q->event[i];
    }
    q->event[(q->first + q->count++) & (q->cap - 1)] = *e;
    return EMU_OK;
}

struct host_event *host_queue_first(struct host_queue *q)
{
    EMU_ASSERT(q->count);
    return &q->event[q->first];
}

void host_queue_pop(struct host_queue *q)
{
    EMU_ASSERT(q->count);
    q->first = (q->first + 1) & (q->cap - 1);
    q->count--;
}
