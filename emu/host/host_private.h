/* host_private.h - the host from inside: events, queues, links, streams. Shared by the files of
 * emu/host, and by their tests.
 */
#ifndef EMU_HOST_PRIVATE_H
#define EMU_HOST_PRIVATE_H

#include <stdio.h>

#include "emu/base/output_file.h"
#include "emu/host/host.h"

struct host_stream;

/* Something that happens in a cycle: a request reaches the host, a stream may continue, a packet
 * arrives. Events of one cycle are ordered by rank, then by `order`, lower first. */
struct host_event {
    uint64_t cycle;
    uint64_t order;
    uint64_t issued; /* request: when the tile issued it */
    uint8_t *data;   /* request to the host: owned, its bytes, until they are written */
    struct host_stream *stream;
    uint32_t rank;
    uint32_t tile, addr;
    uint32_t
        bytes; /* request: of the transfer, 0 for a stream that may continue; arrival: to store */
    uint32_t words; /* arrival: by how much $INCOMING_DCOUNT falls */
};

/* host_queue.c: a heap, and a first-in first-out queue; they keep their capacity. */
struct host_heap {
    struct host_event *event; /* owned; event[0] comes first */
    size_t count, cap;
};

struct host_queue {
    struct host_event *event; /* owned ring of cap, a power of two */
    size_t first, count, cap;
};

int host_event_before(const struct host_event *a, const struct host_event *b);
enum emu_status host_heap_push(struct host_heap *h, const struct host_event *e) EMU_MUST_CHECK;
struct host_event host_heap_pop(struct host_heap *h); /* not empty */
enum emu_status host_queue_push(struct host_queue *q, const struct host_event *e) EMU_MUST_CHECK;
struct host_event *host_queue_first(struct host_queue *q); /* not empty; borrowed until a push */
void host_queue_pop(struct host_queue *q);

/* host_file.c: where the bytes of a stream come from or go to. All zero: no bytes, nothing to
 * close. Messages of EMU_IO name the file. */
struct host_source {
    const uint8_t *data; /* borrowed, when file is NULL */
    uint64_t bytes;      /* of data */
    uint64_t at;         /* bytes taken since it last started over */
    FILE *file;          /* owned */
    char *path;          /* owned */
    int repeat;
    host_fetch *fetch; /* instead of data; NULL: data or the file */
    void *ctx;         /* borrowed */
};

struct host_sink {
    uint8_t *data; /* owned, when file is NULL */
    size_t bytes, cap;
    struct output_file *file; /* owned */
    host_store *store;        /* instead of data; NULL: data or the file */
    void *ctx;                /* borrowed */
};

enum emu_status host_source_open(struct host_source *s, const char *path) EMU_MUST_CHECK;
/* Takes the next n bytes. Returns EMU_FAULT, without a message, when the data end before that;
 * EMU_IO when they cannot be read.
 */
enum emu_status host_source_read(struct host_source *s, uint8_t *out, uint32_t n,
                                 const struct host_moment *when) EMU_MUST_CHECK;
void host_source_close(struct host_source *s);

enum emu_status host_sink_open(struct host_sink *s, const char *path) EMU_MUST_CHECK;
enum emu_status host_sink_write(struct host_sink *s, const uint8_t *data, uint32_t n,
                                const struct host_moment *when) EMU_MUST_CHECK;
enum emu_status host_sink_flush(struct host_sink *s) EMU_MUST_CHECK;
/* Puts its file in place; then nothing may be written any more. */
enum emu_status host_sink_commit(struct host_sink *s) EMU_MUST_CHECK;
void host_sink_close(struct host_sink *s);

/* cycle + part / rate of the link */
struct host_time {
    uint64_t cycle;
    uint32_t part;
};

struct host_stream {
    uint32_t id, depth;
    int to_host;
    struct host_source source;
    struct host_sink sink;
    struct host_stream *next; /* in the link's ring */
    struct host_queue
        waiting;             /* transfers that have reached the host; the first one is being sent */
    uint32_t sent;           /* bytes of it */
    uint64_t *done;          /* owned [depth]: last arrival of transfer k, at k % depth */
    uint64_t last_arrival;   /* of a packet */
    uint64_t covered;        /* of a complete transfer */
    uint64_t open_cycles;    /* up to there: some transfer was asked for and not complete */
    uint64_t complete_bytes; /* of complete transfers */
    struct host_stream_record record;
    struct host_transfer *transfer; /* owned; kept if keeps is set */
    size_t transfers, transfer_cap;
    int keeps;
};

/* host_link.c: one direction of the link. Whenever the link is free it is decided which packet goes
 * next. */
struct host_link {
    uint32_t rate, clock; /* MB/s, MHz: a byte takes clock / rate cycles */
    uint32_t packet_bytes;
    uint32_t rank;           /* of its arrivals */
    uint64_t arrival_cycles; /* end of a packet to its arrival */
    uint64_t jitter_cycles, seed;
    struct host_time free; /* end of the last packet */
    struct host_stream
        *sending; /* the stream of that packet; joins the ring again at the next decision */
    struct host_stream *first, *last; /* ring of streams that may send now, in the order of turns */
    struct host_heap ahead;           /* requests under way, streams held by their depth */
    uint64_t packets;
};

/* Adds a request that is under way. Uses cycle, issued, stream, tile, addr, bytes and data of e; on
 * success the link owns data. */
enum emu_status host_link_request(struct host_link *l, const struct host_event *e) EMU_MUST_CHECK;

/* Takes all decisions that are due before a cycle. No later decision causes an arrival before that
 * cycle + 1 + arrival_cycles. */
enum emu_status host_link_advance(struct host_link *l, uint64_t before,
                                  struct host_heap *arrivals) EMU_MUST_CHECK;

/* No arrival of later decisions comes before this cycle; UINT64_MAX: there is nothing to send. */
uint64_t host_link_next(const struct host_link *l);

/* Writes what requests under way bring to the host, in order. */
enum emu_status host_link_drain(struct host_link *l) EMU_MUST_CHECK;
void host_link_free(struct host_link *l);

struct host {
    struct arch arch;
    struct host_options options;
    uint64_t request_cycles;   /* issue to host */
    uint64_t decided;          /* decisions before this cycle have been taken */
    struct host_link link[2];  /* HOST_DOWN, HOST_UP */
    struct host_heap arrivals; /* computed and not yet handed over */
    uint64_t requests;
    struct host_stream **stream; /* owned [HOST_MAX_STREAMS], NULL where there is none */
    uint8_t *packet;             /* owned, scratch */
};

enum { HOST_DOWN, HOST_UP }; /* to tiles, to the host */

/* host.c: what struct machine_host points to; ctx is a struct host. */
enum emu_status host_request(void *ctx, uint32_t tile, uint64_t cycle, const uint32_t header[2],
                             const uint8_t *data) EMU_MUST_CHECK;
enum emu_status host_advance(void *ctx, struct machine *m, uint64_t until) EMU_MUST_CHECK;
uint64_t host_next(void *ctx);
uint64_t host_latency_cycles(const struct host *h);

#endif
