/* host.c - streams, the requests of tiles for them, and the two directions of the link together.
 *
 * Machine and host agree on one promise: a request issued at c causes no arrival before c +
 * host_latency_cycles(). So when the machine asks for all arrivals before `until`, all requests up
 * to until - latency are known, and the link's decisions need no later ones.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/host/host_private.h"

#include "emu/base/alloc.h"

/* --- streams --- */

static void stream_free(struct host_stream *s)
{
    if (!s)
        return;
    for (; s->waiting.count; host_queue_pop(&s->waiting))
        ss_free(host_queue_first(&s->waiting)->data);
    ss_free(s->waiting.event);
    host_source_close(&s->source);
    host_sink_close(&s->sink);
    ss_free(s->done);
    ss_free(s->transfer);
    ss_free(s);
}

static enum emu_status stream_new(struct host *h, uint32_t id, uint32_t depth, int to_host,
                                  struct host_stream **out)
{
    struct host_stream *s;

    *out = NULL;
    if (id >= HOST_MAX_STREAMS)
        return FAIL(USAGE, "stream %u: expected a number below %d", id, HOST_MAX_STREAMS);
    if (h->stream[id])
        return FAIL(USAGE, "stream %u exists already", id);
    if (depth < 1 || depth > HOST_MAX_DEPTH)
        return FAIL(USAGE, "stream %u: depth %u, expected 1 to %d", id, depth, HOST_MAX_DEPTH);
    s = emu_alloc(1, sizeof(*s));
    if (s)
        s->done = emu_alloc(depth, sizeof(*s->done));
    if (!s || !s->done) {
        ss_free(s);
        return FAIL(NO_MEMORY, "stream %u", id);
    }
    s->id = id;
    s->depth = depth;
    s->to_host = to_host;
    s->keeps = h->options.keep_transfers;
    *out = s;
    return EMU_OK;
}

/* Makes s a stream of the host, or frees it when what it reads or writes could not be opened. */
static enum emu_status stream_keep(struct host *h, struct host_stream *s, enum emu_status opened)
{
    if (opened == EMU_OK)
        h->stream[s->id] = s;
    else
        stream_free(s);
    return opened;
}

enum emu_status host_stream_from_memory(struct host *h, uint32_t id, uint32_t depth,
                                        const void *data, uint64_t bytes, int repeat)
{
    struct host_stream *s;

    TRY(stream_new(h, id, depth, 0, &s));
    s->source = (struct host_source){ .data = data, .bytes = bytes, .repeat = repeat };
    h->stream[id] = s;
    return EMU_OK;
}

enum emu_status host_stream_refill(struct host *h, uint32_t id, const void *data, uint64_t bytes)
{
    struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;

    if (!s || s->to_host || s->source.file)
        return FAIL(USAGE, "stream %u does not come from host memory", id);
    s->source.data = data;
    s->source.bytes = bytes;
    s->source.at = 0;
    return EMU_OK;
}

enum emu_status host_stream_set_fetch(struct host *h, uint32_t id, host_fetch *fetch, void *ctx)
{
    struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;

    if (!s || s->to_host || s->source.file)
        return FAIL(USAGE, "stream %u does not come from host memory", id);
    s->source.fetch = fetch;
    s->source.ctx = ctx;
    return EMU_OK;
}

enum emu_status host_stream_set_store(struct host *h, uint32_t id, host_store *store, void *ctx)
{
    struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;

    if (!s || !s->to_host || s->sink.file)
        return FAIL(USAGE, "stream %u does not go to host memory", id);
    s->sink.store = store;
    s->sink.ctx = ctx;
    return EMU_OK;
}

enum emu_status host_stream_from_file(struct host *h, uint32_t id, uint32_t depth, const char *path,
                                      int repeat)
{
    struct host_stream *s;

    TRY(stream_new(h, id, depth, 0, &s));
    s->source.repeat = repeat;
    return stream_keep(h, s, host_source_open(&s->source, path));
}

enum emu_status host_stream_to_memory(struct host *h, uint32_t id, uint32_t depth)
{
    struct host_stream *s;

    TRY(stream_new(h, id, depth, 1, &s));
    h->stream[id] = s;
    return EMU_OK;
}

enum emu_status host_stream_to_file(struct host *h, uint32_t id, uint32_t depth, const char *path)
{
    struct host_stream *s;

    TRY(stream_new(h, id, depth, 1, &s));
    return stream_keep(h, s, host_sink_open(&s->sink, path));
}

const uint8_t *host_stream_bytes(const struct host *h, uint32_t id, size_t *bytes)
{
    const struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;

    *bytes = s ? s->sink.bytes : 0;
    return s ? s->sink.data : NULL;
}

const struct host_stream_record *host_record(const struct host *h, uint32_t id)
{
    struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;
    uint32_t rate = arch_host_link_mbytes_per_s(&h->arch);
    uint64_t busy;

    if (!s)
        return NULL;
    s->record.busy_cycles = ss_arch_cycles_for_bytes(&h->arch, s->record.bytes, rate);
    busy = ss_arch_cycles_for_bytes(&h->arch, s->complete_bytes, rate);
    s->record.starved_cycles = s->open_cycles > busy ? s->open_cycles - busy : 0;
    return &s->record;
}

const struct host_transfer *host_transfers(const struct host *h, uint32_t id, size_t *transfers)
{
    const struct host_stream *s = id < HOST_MAX_STREAMS ? h->stream[id] : NULL;

    *transfers = s ? s->transfers : 0;
    return s ? s->transfer : NULL;
}

/* --- the host --- */

static void link_init(struct host_link *l, const struct host *h, uint32_t rank)
{
    const struct arch *a = &h->arch;
    uint64_t latency = ss_arch_cycles_from_ns(a, arch_host_latency_ns(a));

    l->rank = rank;
    l->rate = arch_host_link_mbytes_per_s(a);
    l->clock = a->clock_mhz;
    l->packet_bytes = arch_host_packet_bytes(a);
    l->arrival_cycles = latency - latency / 2;
    l->jitter_cycles = ss_arch_cycles_from_ns(a, h->options.jitter_ns);
    l->seed = h->options.seed;
}

enum emu_status host_new(const struct arch *arch, const struct host_options *o, struct host **out)
{
    struct host *h = emu_alloc(1, sizeof(*h));

    *out = NULL;
    if (h) {
        h->stream = emu_alloc(HOST_MAX_STREAMS, sizeof(struct host_stream *));
        h->packet = emu_alloc(arch_host_packet_bytes(arch), 1);
    }
    if (!h || !h->stream || !h->packet) {
        host_free(h);
        return FAIL(NO_MEMORY, "a host");
    }
    h->arch = *arch;
    if (o)
        h->options = *o;
    h->request_cycles =
        arch_host_route_cycles(arch) + ss_arch_cycles_from_ns(arch, arch_host_latency_ns(arch)) / 2;
    link_init(&h->link[HOST_DOWN], h, HOST_DOWN);
    link_init(&h->link[HOST_UP], h, HOST_UP);
    *out = h;
    return EMU_OK;
}

void host_free(struct host *h)
{
    if (!h)
        return;
    for (uint32_t i = 0; h->stream && i < HOST_MAX_STREAMS; i++)
        stream_free(h->stream[i]);
    host_link_free(&h->link[HOST_DOWN]);
    host_link_free(&h->link[HOST_UP]);
    ss_free(h->arrivals.event);
    ss_free(h->stream);
    ss_free(h->packet);
    ss_free(h);
}

uint64_t host_latency_cycles(const struct host *h)
{
    return h->request_cycles + 1 + h->link[HOST_DOWN].arrival_cycles;
}

/* What is wrong with a request, or NULL. */
static const char *request_error(const struct host *h, const uint32_t word[2],
                                 struct host_header *t)
{
    const struct host_stream *s;

    if (!host_header_unpack(word, t))
        return "the header has a reserved bit set or a misaligned address";
    s = h->stream[t->stream];
    if (!s)
        return "the run has no such stream";
    if (s->to_host != t->to_host)
        return t->to_host ? "a transfer to the host on a stream to tiles"
                          : "a transfer to a tile on a stream to the host";
    if (!t->bytes)
        return "a transfer of no bytes";
    if (t->addr < h->arch.mem_base || t->addr - h->arch.mem_base > h->arch.mem_bytes ||
        t->bytes > h->arch.mem_bytes - (t->addr - h->arch.mem_base))
        return "the transfer reaches outside the memory of the tile";
    return NULL;
}

enum emu_status host_request(void *ctx, uint32_t tile, uint64_t cycle, const uint32_t header[2],
                             const uint8_t *data)
{
    struct host *h = ctx;
    struct host_header t;
    const char *wrong = request_error(h, header, &t);
    struct host_event e = { .issued = cycle, .tile = tile, .order = h->requests++ };
    enum emu_status status;

    if (wrong)
        return FAIL(FAULT, "stream %u: %s (tile %u, cycle %llu, %u bytes at 0x%x)", t.stream, wrong,
                    tile, (unsigned long long)cycle, t.bytes, t.addr);
    EMU_ASSERT(tile < h->arch.tiles);
    e.cycle = cycle + h->request_cycles;
    if (e.cycle < h->decided)
        e.cycle = h->decided;
    e.stream = h->stream[t.stream];
    e.addr = t.addr;
    e.bytes = t.bytes;
    if (t.to_host) {
        EMU_ASSERT(data);
        e.data = emu_alloc(t.bytes, 1);
        if (!e.data)
            return FAIL(NO_MEMORY, "%u bytes for stream %u", t.bytes, t.stream);
        memcpy(e.data, data, t.bytes);
    }
    status = host_link_request(&h->link[t.to_host ? HOST_UP : HOST_DOWN], &e);
    if (status != EMU_OK)
        ss_free(e.data);
    return status;
}

/* Hands one arrival over. Streams arrive in order, so their bytes are taken here. */
static enum emu_status deliver(struct host *h, struct machine *m, const struct host_event *a)
{
    const struct host_moment when = { a->issued, a->cycle, a->tile };
    enum emu_status status = EMU_OK;

    if (a->bytes)
        status = host_source_read(&a->stream->source, h->packet, a->bytes, &when);
    if (status == EMU_FAULT && !a->stream->source.fetch)
        return FAIL(FAULT, "stream %u: the data end after %llu bytes (tile %u asked in cycle %llu)",
                    a->stream->id, (unsigned long long)a->stream->source.at, a->tile,
                    (unsigned long long)a->issued);
    TRY(status);
    return machine_arrival(m, a->tile, a->cycle, a->addr, h->packet, a->bytes, a->words);
}

enum emu_status host_advance(void *ctx, struct machine *m, uint64_t until)
{
    struct host *h = ctx;
    uint64_t after = 1 + h->link[HOST_DOWN].arrival_cycles;
    uint64_t before = until > after ? until - after : 0;

    if (h->decided < before)
        h->decided = before;
    TRY(host_link_advance(&h->link[HOST_DOWN], before, &h->arrivals));
    TRY(host_link_advance(&h->link[HOST_UP], before, &h->arrivals));
    while (h->arrivals.count && h->arrivals.event[0].cycle < until) {
        struct host_event a = host_heap_pop(&h->arrivals);

        TRY(deliver(h, m, &a));
    }
    return EMU_OK;
}

uint64_t host_next(void *ctx)
{
    const struct host *h = ctx;
    uint64_t down = host_link_next(&h->link[HOST_DOWN]), up = host_link_next(&h->link[HOST_UP]);
    uint64_t next = down < up ? down : up;

    return h->arrivals.count && h->arrivals.event[0].cycle < next ? h->arrivals.event[0].cycle
                                                                  : next;
}

void host_attach(struct host *h, struct machine *m)
{
    const struct machine_host plug = { .ctx = h,
                                       .latency_cycles = host_latency_cycles(h),
                                       .request = host_request,
                                       .advance = host_advance,
                                       .next = host_next };

    EMU_ASSERT(ss_arch_equal(&h->arch, machine_arch(m)));
    machine_set_host(m, &plug);
}

enum emu_status host_finish(struct host *h)
{
    enum emu_status first = host_link_drain(&h->link[HOST_UP]);

    for (uint32_t i = 0; i < HOST_MAX_STREAMS; i++) {
        if (h->stream[i] && first == EMU_OK)
            first = host_sink_flush(&h->stream[i]->sink);
    }
    return first;
}

enum emu_status host_commit(struct host *h)
{
    for (uint32_t i = 0; i < HOST_MAX_STREAMS; i++) {
        if (h->stream[i])
            TRY(host_sink_commit(&h->stream[i]->sink));
    }
    return EMU_OK;
}
