/* session_stream.c - streams of a session: between the order of a transfer's elements, which the
 * caller knows, and the order in which the tiles' requests take them over the link.
 */
#include "programs/session/session_internal.h"

#include <string.h>

/* One transfer, between the caller's order and the link's. */
static void permute(const struct session_stream *x, uint8_t *user, uint8_t *link, int to_link)
{
    const struct image_order *o = x->order;

    for (size_t i = 0; i < x->parts; link += o[i++].bytes) {
        uint8_t *at = o[i].element == IMAGE_ORDER_FILLER
                          ? NULL
                          : user + (size_t)o[i].element * x->of.elem_bytes;

        if (to_link && at)
            memcpy(link, at, o[i].bytes);
        else if (to_link)
            memset(link, 0, o[i].bytes);
        else if (at)
            memcpy(at, link, o[i].bytes);
    }
}

/* Of one transfer, as the caller has it. */
static size_t user_bytes(const struct session_stream *x)
{
    return (size_t)x->of.elements * x->of.elem_bytes;
}

/* ---- the host's end ---- */

/* first: chip of the replica in the system. */
static enum emu_status open_stream(struct session *s, const struct image_stream *of, uint32_t first)
{
    const struct image *im = s->run->im;
    struct session_stream *x = &s->stream[s->streams++];
    uint32_t depth = of->depth ? of->depth : 1, chip = first + of->chip;

    x->of = *of;
    x->number = chip * SESSION_CHIP_STREAMS + of->id;
    x->host = s->run->chip[chip].host;
    x->name = image_text(im, of->name);
    x->order = image_order_of(im, of->order, &x->parts);
    x->transfer_bytes = (size_t)image_transfer_bytes(im, of);
    if (!of->elements)
        return EMU_OK;
    return of->direction == STREAM_TO_HOST
               ? host_stream_to_memory(x->host, of->id, depth)
               : host_stream_from_memory(x->host, of->id, depth, NULL, 0, 0);
}

enum emu_status session_open_streams(struct session *s)
{
    const struct image *im = s->run->im;
    uint32_t stages = image_chip_count(im);
    size_t replicas = stages ? s->run->chips / stages : 1;

    s->stream = emu_alloc(replicas * image_stream_count(im) + 1, sizeof(*s->stream));
    if (!s->stream)
        return FAIL(NO_MEMORY, "the streams of a session");
    for (uint32_t r = 0; r < replicas; r++)
        for (size_t i = 0; i < image_stream_count(im); i++)
            TRY(open_stream(s, image_stream_at(im, i), r * stages));
    return EMU_OK;
}

void session_close_streams(struct session *s)
{
    for (size_t i = 0; i < s->streams; i++) {
        ss_free(s->stream[i].link);
        ss_free(s->stream[i].user);
    }
    ss_free(s->stream);
}

/* EMU_USAGE: there is none of that number. */
static enum emu_status find_stream(const struct session *s, uint32_t stream,
                                   struct session_stream **out)
{
    *out = NULL;
    if (!s)
        return FAIL(BAD_PROGRAM, "there is no session: ss_session_new() has failed");
    for (size_t i = 0; i < s->streams; i++) {
        *out = &s->stream[i];
        if ((*out)->number != stream)
            continue;
        if (!(*out)->of.elements)
            return FAIL(BAD_IMAGE,
                        "stream %s: the image does not say which elements a transfer has, expected "
                        "one of a compiled program, version 10 or newer",
                        (*out)->name);
        return EMU_OK;
    }
    return FAIL(USAGE, "stream %u: expected one of the %zu that there are", stream, s->streams);
}

static enum emu_status find_stream_that(const struct session *s, uint32_t stream,
                                        enum stream_direction way, struct session_stream **out)
{
    TRY(find_stream(s, stream, out));
    if ((*out)->of.direction != way)
        return FAIL(USAGE, "stream %u: expected one that goes %s the program", stream,
                    way == STREAM_TO_TILES ? "into" : "out of");
    return EMU_OK;
}

enum emu_status ss_session_stream_find(const struct session *s, const char *name, uint32_t *stream)
{
    char list[400] = "none";
    size_t n = 0;

    if (!s || !name)
        return FAIL(BAD_PROGRAM, "there is no session, or no name of a stream");
    for (size_t i = 0; i < s->streams; i++) {
        *stream = s->stream[i].number;
        if (!strcmp(s->stream[i].name, name))
            return EMU_OK;
        if (n < sizeof(list))
            n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "",
                                  s->stream[i].name);
    }
    return FAIL(USAGE, "the program has no stream '%.60s'; it has %s", name, list);
}

/* Drops what the link has carried and makes room for `bytes` more. */
static enum emu_status make_room(struct session_stream *x, size_t bytes)
{
    uint64_t carried = host_record(x->host, x->of.id)->bytes;
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

enum emu_status ss_session_feed(struct session *s, uint32_t stream, const void *data,
                                uint64_t transfers)
{
    struct session_stream *x;
    uint8_t *from = (uint8_t *)(uintptr_t)data;

    TRY(find_stream_that(s, stream, STREAM_TO_TILES, &x));
    if (!x->parts)
        return EMU_OK;
    TRY(make_room(x, (size_t)transfers * x->transfer_bytes));
    for (uint64_t i = 0; i < transfers; i++) {
        permute(x, from + i * user_bytes(x), x->link + x->bytes, 1);
        x->bytes += x->transfer_bytes;
    }
    return host_stream_refill(x->host, x->of.id, x->link, x->bytes);
}

enum emu_status ss_session_output(struct session *s, uint32_t stream, void **data,
                                  uint64_t *transfers)
{
    struct session_stream *x;
    uint8_t *link, *user;
    size_t bytes = 0;

    *data = NULL;
    *transfers = 0;
    TRY(find_stream_that(s, stream, STREAM_TO_HOST, &x));
    link = (uint8_t *)(uintptr_t)host_stream_bytes(x->host, x->of.id, &bytes);
    if (x->parts)
        *transfers = bytes / x->transfer_bytes;
    user = emu_alloc((size_t)*transfers * user_bytes(x) + 1, 1);
    if (!user)
        return FAIL(NO_MEMORY, "the output of stream %s", x->name);
    for (uint64_t i = 0; i < *transfers; i++)
        permute(x, user + i * user_bytes(x), link + i * x->transfer_bytes, 0);
    *data = user;
    return EMU_OK;
}

/* ---- transfers by calls ---- */

/* Takes the next bytes of the transfer in the buffer and, past its end, those of a new one. */
static enum emu_status fetch_bytes(void *ctx, uint8_t *out, uint32_t n,
                                   const struct host_moment *when)
{
    struct session_stream *x = ctx;

    while (n) {
        uint32_t part = n;

        if (x->at == x->transfer_bytes) {
            TRY(x->calls.transfer(x->calls.ctx, x->transfers++, x->user));
            permute(x, x->user, x->link, 1);
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
        permute(x, x->user, x->link, 0);
        x->at = 0;
        x->when.here = when->here;
        if (x->calls.arrived)
            x->calls.arrived(x->calls.ctx, x->transfers, &x->when);
        TRY(x->calls.transfer(x->calls.ctx, x->transfers++, x->user));
    }
    return EMU_OK;
}

enum emu_status ss_session_connect(struct session *s, uint32_t stream,
                                   const struct session_calls *c)
{
    struct session_stream *x;

    TRY(find_stream(s, stream, &x));
    if (x->calls.transfer || x->link)
        return FAIL(USAGE, "stream %u: expected one that is not used yet", stream);
    if (!x->parts)
        return EMU_OK;
    x->calls = *c;
    x->link = emu_alloc(x->transfer_bytes + 1, 1);
    x->user = emu_alloc(user_bytes(x) + 1, 1);
    if (!x->link || !x->user)
        return FAIL(NO_MEMORY, "a transfer of stream %s", x->name);
    if (x->of.direction == STREAM_TO_HOST)
        return host_stream_set_store(x->host, x->of.id, store_bytes, x);
    x->at = x->transfer_bytes;
    return host_stream_set_fetch(x->host, x->of.id, fetch_bytes, x);
}
