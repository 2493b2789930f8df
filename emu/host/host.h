/* host.h - the host and its link to one chip: streams between files or host memory and tiles.
 *
 * A tile asks for a transfer with `send 1, addr, 4` of a two-word header (exchange/host_header.h)
 * and waits for it with RECV: $INCOMING_DCOUNT rises by the words of the transfer at the request
 * and falls as packets arrive (for a transfer to the host: when the host confirms all of it).
 *
 * Time, in tile clock cycles [ASSUMED: one queue in the middle of the link]:
 *   a request issued at c reaches the host at c + host_route_cycles + half of host_latency_ns
 *   there it waits until the stream has less than `depth` transfers in flight
 *   its packets of host_packet_bytes take turns with those of other streams, one packet each; the
 *   link carries one at a time in each direction, n bytes for n x clock / bandwidth cycles, exactly
 *   a packet is in tile memory the other half of the latency after its end, rounded up, + jitter
 * Transfers to the host send their packets the same way in the other direction; the confirmation of
 * the last packet arrives half the latency after its end. Headers and confirmations take no
 * bandwidth. A stream's packets arrive in order, even with jitter.
 */
#ifndef EMU_HOST_H
#define EMU_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "emu/bsp/machine.h"
#include "emu/exchange/host_header.h"
#include "emu/host/host_options.h"

enum {
    HOST_MAX_STREAMS = HOST_HEADER_STREAMS, /* stream numbers are below it */
    HOST_MAX_DEPTH = 1 << 16
};

struct host;

/* A complete transfer; cycles of its request, and of the last arrival or the confirmation. */
struct host_transfer {
    uint64_t issued, arrived;
    uint32_t tile, bytes;
};

/* What happened on one stream. Cycles are tile clock cycles. */
struct host_stream_record {
    uint64_t transfers;      /* complete: the link has carried the last packet */
    uint64_t bytes, packets; /* carried by the link */
    uint64_t busy_cycles;    /* the link carried packets of this stream, rounded up */
    uint64_t waiting_cycles; /* back-pressure: how long requests waited because `depth` others were
                                in flight, summed up */
    uint64_t starved_cycles; /* a transfer was requested and incomplete, but the link carried none
                                of its packets: latency, depth, other streams' turns */
    uint64_t latency_cycles_max; /* request to last arrival or confirmation */
};

/* A host without streams for chips like arch, which is copied. o may be NULL: no jitter.
 * EMU_NO_MEMORY only. Free with host_free, which closes files, removes those that host_commit has
 * not put in their place, and accepts NULL. */
enum emu_status host_new(const struct arch *arch, const struct host_options *o,
                         struct host **out) EMU_MUST_CHECK;
void host_free(struct host *h);

/* Adds a stream from host memory to tiles.
 *
 * id      below HOST_MAX_STREAMS, not used before
 * depth   1 .. HOST_MAX_DEPTH transfers in flight, from acceptance by the host to the last arrival
 * data    borrowed. Transfers take their bytes from it in the order in which they were issued
 *         (equal cycles: lower tile first). After its end it starts over when repeat is set, else
 *         the run fails with EMU_FAULT; ss_error() names stream, tile and cycle.
 * Errors  EMU_USAGE: id or depth; EMU_NO_MEMORY */
enum emu_status host_stream_from_memory(struct host *h, uint32_t id, uint32_t depth,
                                        const void *data, uint64_t bytes,
                                        int repeat) EMU_MUST_CHECK;

/* Call it between runs. From now on the stream, which must be one from memory, takes its bytes from
 * the start of data; what was left of the earlier data is dropped. Errors: EMU_USAGE for any other
 * stream. */
enum emu_status host_stream_refill(struct host *h, uint32_t id, const void *data,
                                   uint64_t bytes) EMU_MUST_CHECK;

/* When bytes crossed the link. */
struct host_moment {
    uint64_t issued; /* cycle of the tile's request */
    uint64_t here;   /* to tiles: when the packet is in memory; to the host: when the request has
                        arrived */
    uint32_t tile;
};

/* Supplies the next n bytes of a stream to tiles; returns EMU_FAULT when there are no more. Called
 * by the thread that runs the machine, packet by packet in the order of arrivals. */
typedef enum emu_status host_fetch(void *ctx, uint8_t *out, uint32_t n,
                                   const struct host_moment *when);
/* Takes n bytes that a tile sent: all bytes of one request. Called in the order in which requests
 * reached the host. */
typedef enum emu_status host_store(void *ctx, const uint8_t *data, uint32_t n,
                                   const struct host_moment *when);

/* Call them between runs. From now on a stream from memory gets its bytes from calls of fetch, and
 * a stream to memory hands them to calls of store. Errors: EMU_USAGE for any other stream. */
enum emu_status host_stream_set_fetch(struct host *h, uint32_t id, host_fetch *fetch,
                                      void *ctx) EMU_MUST_CHECK;
enum emu_status host_stream_set_store(struct host *h, uint32_t id, host_store *store,
                                      void *ctx) EMU_MUST_CHECK;

/* Like host_stream_from_memory, but from a file that is read as needed; with repeat it must be
 * seekable. EMU_IO when it cannot be opened. */
enum emu_status host_stream_from_file(struct host *h, uint32_t id, uint32_t depth, const char *path,
                                      int repeat) EMU_MUST_CHECK;

/* Adds a stream to the host: into memory that grows, or into a file, which is in its place after
 * host_commit; an earlier file of that name stays until then (emu/base/output_file.h). The bytes of
 * transfers follow each other in the order of issue. */
enum emu_status host_stream_to_memory(struct host *h, uint32_t id, uint32_t depth) EMU_MUST_CHECK;
enum emu_status host_stream_to_file(struct host *h, uint32_t id, uint32_t depth,
                                    const char *path) EMU_MUST_CHECK;

/* Plugs the host into a machine (machine_set_host). Both must live until the last machine_run. */
void host_attach(struct host *h, struct machine *m);

/* Call it after machine_run. All that tiles have sent so far is then in memory or in files, which
 * are flushed. More runs may follow. EMU_IO when a file could not be written completely. */
enum emu_status host_finish(struct host *h) EMU_MUST_CHECK;

/* Puts all files of streams to the host in their place, after the last run. EMU_IO for the first
 * that cannot be; those after it are not in place either. */
enum emu_status host_commit(struct host *h) EMU_MUST_CHECK;

/* What a stream to memory had received by the last host_finish(); borrowed until the next run.
 * NULL and 0 bytes when it is not such a stream or nothing came. */
const uint8_t *host_stream_bytes(const struct host *h, uint32_t id, size_t *bytes);

/* Borrowed, until the next call for this stream; NULL: no such stream. */
const struct host_stream_record *host_record(const struct host *h, uint32_t id);
/* The transfers of a stream, in the order of their ends; none without host_options.keep_transfers.
 * Borrowed until the next run. */
const struct host_transfer *host_transfers(const struct host *h, uint32_t id, size_t *transfers);

#endif
