/* session_stream.c - streams of a session: between the order of a transfer's elements, which the
 * caller knows, and the order in which the tiles' requests take them over the link.
 */
#include "programs/session/session_internal.h"

#include <string.h>

/* ---- layouts ---- */

static int layouts_equal(const struct lowered *l, const struct stream_layout *a,
                         const struct stream_layout *b)
{
    for (uint32_t i = 0; a->runs == b->runs && i < a->runs; i++) {
        const struct stream_run *x = &l->stream_run.at[a->first + i];
        const struct stream_run *y = &l->stream_run.at[b->first + i];

        if (x->element != y->element || x->bytes != y->bytes)
            return 0;
    }
    return a->runs == b->runs;
}

static enum emu_status set_layout(struct session *s, const struct stream_layout *layout)
{
    const struct lowered *l = s->c->lowered;
    struct session_stream *x = &s->stream[layout->stream];

    if (x->layout && !layouts_equal(l, x->layout, layout))
        return FAIL(BAD_PROGRAM,
                    "stream %s is used with tensors that lie differently: the host would not know "
                    "in which order to send",
                    s->c->graph->stream.at[layout->stream].name);
    if (x->layout)
        return EMU_OK;
    x->layout = layout;
    for (uint32_t i = 0; i < layout->runs; i++)
        x->transfer_bytes += l->stream_run.at[layout->first + i].bytes;
    return EMU_OK;
}

/* One transfer, between the caller's order and the link's. */
static void permute(const struct session *s, const struct session_stream *x, unsigned elem_size,
                    uint8_t *user, uint8_t *link, int to_link)
{
    const struct stream_run *run = s->c->lowered->stream_run.at + x->layout->first;

    for (uint32_t i = 0; i < x->layout->runs; link += run[i++].bytes) {
        uint8_t *at = run[i].element == UINT64_MAX ? NULL : user + run[i].element * elem_size;

        if (to_link && at)
            memcpy(link, at, run[i].bytes);
        else if (to_link)
            memset(link, 0, run[i].bytes);
        else if (at)
            memcpy(at, link, run[i].bytes);
    }
}

/* ---- the host's end ---- */

enum emu_status session_open_streams(struct session *s)
{
    const struct lowered *l = s->c->lowered;
    const struct image *im = s->c->image;

    s->stream = emu_alloc(s->c->graph->stream.count + 1, sizeof(*s->stream));
    if (!s->stream)
        return FAIL(NO_MEMORY, "the streams of a session");
    for (size_t i = 0; i < l->stream_layout.count; i++)
        TRY(set_layout(s, &l->stream_layout.at[i]));
    for (size_t i = 0; i < image_stream_count(im); i++) {
        const struct image_stream *x = image_stream_at(im, i);
        uint32_t depth = x->depth ? x->depth : 1;

        TRY(x->direction == STREAM_TO_HOST
                ? host_stream_to_memory(s->run->host, x->id, depth)
                : host_stream_from_memory(s->run->host, x->id, depth, NULL, 0, 0));
    }
    return EMU_OK;
}

void session_close_streams(struct session *s)
{
    for (size_t i = 0; s->stream && i < s->c->graph->stream.count; i++)
        emu_free(s->stream[i].link);
    for (size_t i = 0; s->stream && i < s->c->graph->stream.count; i++)
        emu_free(s->stream[i].user);
    emu_free(s->stream);
}

static enum emu_status find_stream(const struct session *s, uint32_t stream, enum stream_way way)
{
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: session_new() has failed");
    if (stream >= s->c->graph->stream.count || s->c->graph->stream.at[stream].way != way)
        return FAIL(USAGE, "stream %u: expected one that goes %s the program", stream,
                    way == STREAM_IN ? "into" : "out of");
    return EMU_OK;
}

/* Drops what the link has carried and makes room for `bytes` more. */
static enum emu_status make_room(struct session *s, uint32_t stream, size_t bytes)
{
    struct session_stream *x = &s->stream[stream];
    uint64_t carried = host_record(s->run->host, stream)->bytes;
    size_t gone = (size_t)(carried - x->base);

    EMU_ASSERT(gone <= x->bytes);
    if (gone)
        memmove(x->link, x->link + gone, x->bytes - gone);
    x->bytes -= gone;
    x->base = carried;
    if (x->cap - x->bytes < bytes) {
        size_t cap = x->bytes + bytes;
        uint8_t *grown = emu_realloc(x->link, cap, 1);

        if (!grown)
            return FAIL(NO_MEMORY, "%zu bytes of a stream", cap);
        x->link = grown;
        x->cap = cap;
    }
    return EMU_OK;
}

enum emu_status session_feed(struct session *s, uint32_t stream, const void *data,
                             uint64_t transfers)
{
    struct session_stream *x;
    const struct stream *g;
    unsigned size;
    uint8_t *from = (uint8_t *)(uintptr_t)data;

    TRY(find_stream(s, stream, STREAM_IN));
    x = &s->stream[stream];
    g = &s->c->graph->stream.at[stream];
    if (!x->layout)
        return EMU_OK;
    size = elem_bytes(g->elem);
    TRY(make_room(s, stream, (size_t)transfers * x->transfer_bytes));
    for (uint64_t i = 0; i < transfers; i++) {
        permute(s, x, size, from + i * g->elements * size, x->link + x->bytes, 1);
        x->bytes += x->transfer_bytes;
    }
    return host_stream_refill(s->run->host, stream, x->link, x->bytes);
}

enum emu_status session_output(struct session *s, uint32_t stream, void **data, uint64_t *transfers)
{
    struct session_stream *x;
    const struct stream *g;
    uint8_t *link, *user;
    size_t bytes = 0;

    *data = NULL;
    *transfers = 0;
    TRY(find_stream(s, stream, STREAM_OUT));
    x = &s->stream[stream];
    g = &s->c->graph->stream.at[stream];
    link = x->layout ? (uint8_t *)(uintptr_t)host_stream_bytes(s->run->host, stream, &bytes) : NULL;
    if (x->layout && x->transfer_bytes)
        *transfers = bytes / x->transfer_bytes;
    user = emu_alloc((size_t)(*transfers * g->elements) * elem_bytes(g->elem) + 1, 1);
    if (!user)
        return FAIL(NO_MEMORY, "the output of stream %s", g->name);
    for (uint64_t i = 0; i < *transfers; i++)
        permute(s, x, elem_bytes(g->elem), user + i * g->elements * elem_bytes(g->elem),
                link + i * x->transfer_bytes, 0);
    *data = user;
    return EMU_OK;
}

/* ---- transfers by calls ---- */

static unsigned elem_size_of(const struct session_stream *x)
{
    return elem_bytes(x->session->c->graph->stream.at[x->layout->stream].elem);
}

/* Takes the next bytes of the transfer in the buffer and, past its end, those of a new one. */
static enum emu_status fetch_bytes(void *ctx, uint8_t *out, uint32_t n,
                                   const struct host_moment *when)
{
    struct session_stream *x = ctx;

    while (n) {
        uint32_t part = n;

        if (x->at == x->transfer_bytes) {
            TRY(x->calls.transfer(x->calls.ctx, x->transfers++, x->user));
            permute(x->session, x, elem_size_of(x), x->user, x->link, 1);
            x->at = 0;
            x->when = (struct session_moment){ .issued = when->issued, .begun = when->here };
        }
        if (part > x->transfer_bytes - x->at)
            part = (uint32_t)(x->transfer_bytes - x->at);
        memcpy(out, x->link + x->at, part);
        x->at += part;
        out += part;
        n -= part;
        x->when.here = when->here;
        if (x->at == x->transfer_bytes && x->calls.arrived)
            x->calls.arrived(x->calls.ctx, x->transfers - 1, &x->when);
    }
    return EMU_OK;
}

static enum emu_status store_bytes(void *ctx, const uint8_t *data, uint32_t n,
                                   const struct host_moment *when)
{
    struct session_stream *x = ctx;

    while (n) {
        uint32_t part = n;

        if (!x->at)
            x->when = (struct session_moment){ .issued = when->issued, .begun = when->here };

        if (part > x->transfer_bytes - x->at)
            part = (uint32_t)(x->transfer_bytes - x->at);
        memcpy(x->link + x->at, data, part);
        x->at += part;
        data += part;
        n -= part;
        if (x->at < x->transfer_bytes)
            continue;
        permute(x->session, x, elem_size_of(x), x->user, x->link, 0);
        x->at = 0;
        x->when.here = when->here;
        if (x->calls.arrived)
            x->calls.arrived(x->calls.ctx, x->transfers, &x->when);
        TRY(x->calls.transfer(x->calls.ctx, x->transfers++, x->user));
    }
    return EMU_OK;
}

enum emu_status session_connect(struct session *s, uint32_t stream, const struct session_calls *c)
{
    const struct graph *g;
    struct session_stream *x;

    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: session_new() has failed");
    g = s->c->graph;
    if (stream >= g->stream.count || s->stream[stream].session || s->stream[stream].link)
        return FAIL(USAGE, "stream %u: expected one that is not used yet", stream);
    x = &s->stream[stream];
    if (!x->layout)
        return EMU_OK;
    x->session = s;
    x->calls = *c;
    x->link = emu_alloc(x->transfer_bytes + 1, 1);
    x->user = emu_alloc((size_t)g->stream.at[stream].elements + 1, elem_size_of(x));
    if (!x->link || !x->user)
        return FAIL(NO_MEMORY, "a transfer of stream %s", g->stream.at[stream].name);
    if (g->stream.at[stream].way == STREAM_OUT)
        return host_stream_set_store(s->run->host, stream, store_bytes, x);
    x->at = x->transfer_bytes;
    return host_stream_set_fetch(s->run->host, stream, fetch_bytes, x);
}
