/* host.h - the host and its link to one chip: streams between files or host memory and tiles.
 *
 * A tile asks for a transfer with a `send 1, addr, 4` of a two-word header:
 *   word 0   direction [31] (0 to the tile, 1 to the host), stream [30:21], tile byte address [20:0], a multiple of 4
 *   word 1   bytes, a multiple of 4, at least 4
 * and awaits it with RECV: $INCOMING_DCOUNT rises by bytes / 4 at the request and falls as packets arrive (for a transfer to the host: as
 * the host confirms them). [ASSUMED: the header's layout; the chip's is not public.]
 *
 * The link sends packets of host_packet_bytes one after the other, each direction on its own: bandwidth and latency are those of the
 * machine file. Streams with something to send take turns, one packet each. A stream keeps at most `depth` transfers in flight; further
 * requests wait in the order in which they came (back-pressure). Time is counted in cycles and exact fractions of them, on integers.
 */
#ifndef EMU_HOST_H
#define EMU_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "emu/bsp/machine.h"

enum { HOST_TO_TILE = 0, HOST_FROM_TILE = 1, HOST_MAX_STREAMS = 1024 };

struct host;

struct host_options {
    uint64_t seed;       /* of the jitter */
    uint32_t jitter_ns;  /* each packet is late by a random 0 .. jitter_ns; 0: none */
};

/* What happened on one stream. Cycles are tile clock cycles. */
struct host_stream_record {
    uint64_t transfers, bytes, packets;
    uint64_t busy_cycles;     /* the link carried packets of this stream */
    uint64_t waiting_cycles;  /* back-pressure: requests stood behind the depth limit */
    uint64_t starved_cycles;  /* tiles were waiting for data and nothing of the stream was in flight */
    uint64_t latency_cycles_max; /* request to last arrival */
};

enum emu_status host_new(const struct arch *arch, const struct host_options *o, struct host **out) EMU_MUST_CHECK;
void host_free(struct host *h);

/* A stream from host memory to tiles: data is borrowed; reading past its end starts over when repeat is set, else the transfer is an
 * error of the run (EMU_FAULT, naming stream, tile and cycle). */
enum emu_status host_stream_from_memory(struct host *h, uint32_t id, uint32_t depth, const void *data, uint64_t bytes, int repeat) EMU_MUST_CHECK;
/* The same from a file, read as it is needed. */
enum emu_status host_stream_from_file(struct host *h, uint32_t id, uint32_t depth, const char *path, int repeat) EMU_MUST_CHECK;
/* Streams to the host: into memory that grows (host_stream_bytes), or appended to a file. */
enum emu_status host_stream_to_memory(struct host *h, uint32_t id, uint32_t depth) EMU_MUST_CHECK;
enum emu_status host_stream_to_file(struct host *h, uint32_t id, uint32_t depth, const char *path) EMU_MUST_CHECK;
/* What a stream to memory has received; borrowed until the next run. */
const uint8_t *host_stream_bytes(const struct host *h, uint32_t id, size_t *bytes);

/* Plugs the host into a machine (machine_set_host). Both must live until the last machine_run. */
void host_attach(struct host *h, struct machine *m);

/* Flushes files; EMU_IO when one could not be written completely. */
enum emu_status host_finish(struct host *h) EMU_MUST_CHECK;

const struct host_stream_record *host_record(const struct host *h, uint32_t id); /* NULL: no such stream */

#endif
