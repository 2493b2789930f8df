/* machine.h - a whole chip: tiles, their sync groups and clocks, supersteps on all host threads.
 *
 * A superstep of a group begins when a sync releases its tiles; they exchange until RECV, then
 * compute until the next sync. From release to RECV, and from RECV to the next sync, tiles run
 * independently and in parallel; the exchange that they logged is resolved in between. Results
 * never depend on the number of threads: a tile is run by one thread at a time, copies are proven
 * to have one meaning, and everything else happens in tile order on one thread.
 */
#ifndef EMU_MACHINE_H
#define EMU_MACHINE_H

#include "emu/base/hash.h"
#include "emu/bsp/barrel.h"
#include "emu/bsp/machine_superstep.h"
#include "emu/bsp/zone.h"
#include "emu/exchange/exchange.h"

enum { MACHINE_MAX_GROUPS = 64 };

struct machine;
struct replay;
struct record;
struct digests;

struct machine_options {
    unsigned threads;      /* 0: one per core, which is also the maximum */
    int plain;             /* plain exec_ functions only */
    int check;             /* checking mode of tiles and of the fabric */
    uint32_t chip;         /* its number in the system */
    int outer;             /* the caller ties it to other chips (outer.h) */
    struct replay *replay; /* borrowed; NULL: the values engine, else the timing engine (replay.h):
                              memory holds no numbers, words are not moved */
    struct record *record; /* borrowed; NULL: supersteps are not recorded (record.h) */
    struct digests *digests; /* borrowed; NULL: only machine_digest() at the end (digest.h) */
    /* Called at the end of every superstep of a group, by the thread that runs the machine; may be
     * NULL. */
    void (*watch)(void *ctx, const struct machine_superstep *s);
    void *watch_ctx;
};

/* How the host reaches a machine (emu/host). All calls come from the thread that calls machine_run.
 */
struct machine_host {
    void *ctx;

    /* A request issued at cycle c causes no arrival before c + latency_cycles. At least 1. */
    uint64_t latency_cycles;

    /* The tile issued a two-word header at `cycle`; for a transfer to the host, data holds its
     * bytes as they were then, borrowed for the call. Requests do not come in order of cycles, but
     * none is earlier than the last `until` - latency_cycles. Where tiles wait for each other in a
     * circle (superstep.c), a request may be earlier; it then counts as made at that cycle. */
    enum emu_status (*request)(void *ctx, uint32_t tile, uint64_t cycle, const uint32_t header[2],
                               const uint8_t *data);

    /* Hands all arrivals before `until` to machine_arrival(). `until` may be less than in an
     * earlier call. */
    enum emu_status (*advance)(void *ctx, struct machine *m, uint64_t until);

    /* No arrival comes before this cycle if no further request does; UINT64_MAX when none will
     * come. */
    uint64_t (*next)(void *ctx);
};

enum machine_stop {
    MACHINE_HOST,  /* every used tile waits in a host sync: the run is over unless the host releases
                      them */
    MACHINE_FAULT, /* machine_fault() says which */
    MACHINE_OUTER, /* options.outer: tiles wait for other chips, and nobody else can go on */
    MACHINE_DEADLOCK, /* tiles wait for each other for ever; ss_error() says for what */
    MACHINE_LIMIT,    /* max_cycle */
    MACHINE_ERROR     /* out of memory or a failing host; ss_error() */
};

struct machine_fault {
    uint32_t tile;
    uint64_t superstep; /* of the tile's group */
    const struct fault_record *fault;
    const struct exchange_fault *exchange; /* NULL unless the fabric raised it */
};

/* A machine with all tiles unused; their memory costs no pages until it is touched. arch is copied.
 */
enum emu_status machine_new(const struct arch *arch, const struct machine_options *o,
                            struct machine **out) EMU_MUST_CHECK;
void machine_free(struct machine *m);

const struct arch *machine_arch(const struct machine *m);
unsigned machine_threads(const struct machine *m); /* that may work on it at a time */
struct replay *machine_replay(const struct machine *m);
struct tile *machine_tile(struct machine *m, uint32_t tile);
struct barrel *machine_barrel(struct machine *m, uint32_t tile);
struct exchange *machine_exchange(struct machine *m);
/* host is copied. Call it before the first run. */
void machine_set_host(struct machine *m, const struct machine_host *host);

/* Whom the syncs of its program join, instead of sync_scope_default(); before machine_use(). */
void machine_set_zones(struct machine *m, const enum sync_scope scope[SYNC_ZONES]);

/* Makes a tile take part: its supervisor starts at entry in cycle 0, in a sync group. */
void machine_use(struct machine *m, uint32_t tile, uint32_t entry, unsigned group);
/* Of a tile that takes part: n ascending addresses of instructions that launch workers, or call
 * code that does until it returns, where no worker of a launch reads what another one writes. They
 * may then be emulated one after the other. addr is copied. Errors: EMU_NO_MEMORY. */
enum emu_status machine_sites(struct machine *m, uint32_t tile, const uint32_t *addr,
                              size_t n) EMU_MUST_CHECK;
/* Of a tile that takes part: what it does in exchanges that are proven to be valid, ascending by
 * address; a machine with a replay need not execute them. part is borrowed. EMU_NO_MEMORY. */
enum emu_status machine_parts(struct machine *m, uint32_t tile, const struct exchange_part *part,
                              size_t n) EMU_MUST_CHECK;

/* Runs until the host is needed or nothing more can happen. */
enum machine_stop machine_run(struct machine *m, uint64_t max_cycle);

/* So long a superstep may take before it is suspected to last for ever: some 2 ms of the chip, and
 * seconds of the host if all its tiles run so far. */
enum { MACHINE_TURN_CYCLES = 1 << 21 };

/* The same for one who only wants to know how the run ends. Where the tiles of a superstep run for
 * ever, machine_run() brings every one of them to max_cycle. This one stops them all after
 * MACHINE_TURN_CYCLES of their superstep and lets the lowest of those that still compute go on
 * alone. If it comes to max_cycle the run is over, and others may stand at earlier cycles; no fault
 * is looked for that they would raise later. If it waits for the others, these go on, and the next
 * turn is longer. All other runs end as with machine_run(), in the same state. */
enum machine_stop machine_run_out(struct machine *m, uint64_t max_cycle);

/* Answers the host sync: releases all tiles, sync_host_cycles after the last arrival. */
void machine_release_host(struct machine *m);

/* Call it after a machine_run that stopped at the host: it adds the superstep that ended there to
 * the record and the digests. If the host answers the sync later, the release does not add it
 * again. */
enum emu_status machine_finish(struct machine *m) EMU_MUST_CHECK;

/* Queues a packet of the host, which is in the memory of the tile from `cycle` on and answers a
 * request of this tile. data is copied, and kept until the packet arrives. $INCOMING_DCOUNT falls
 * by `words`. Arrivals of one tile must be given in order of cycles. Errors: EMU_NO_MEMORY. */
enum emu_status machine_arrival(struct machine *m, uint32_t tile, uint64_t cycle, uint32_t addr,
                                const uint8_t *data, uint32_t bytes, uint32_t words) EMU_MUST_CHECK;

struct machine_fault machine_fault(const struct machine *m);

enum { MACHINE_WAIT_TILES = 120, MACHINE_WAITS = 32 };

/* Tiles of one group that wait for the same. */
struct machine_wait {
    const char *what; /* "for a sync of the chip" */
    unsigned group;
    uint32_t count, first;            /* tiles, and the lowest of them */
    uint64_t since, latest;           /* cycles of the first and the last arrival */
    char tiles[MACHINE_WAIT_TILES];   /* "0-11, 14" */
    char missing[MACHINE_WAIT_TILES]; /* whom their sync lacks; "" where it is none */
};

/* Who waits for what, at most `room` of them; returns how many. After a deadlock that is everybody.
 */
size_t machine_waits(const struct machine *m, struct machine_wait *out, size_t room);
/* As "; tiles 0-11 (group 0) wait for a sync of the chip since cycle 7"; returns its length, cut to
 * the room. */
size_t machine_wait_print(const struct machine_wait *w, char *out, size_t room);

/* Whether a tile computes: it waits for nothing, and has not faulted. */
int machine_tile_runs(const struct machine *m, uint32_t tile);

uint64_t machine_cycles(const struct machine *m); /* of the last arrival at a sync, or the latest */
uint64_t machine_supersteps(const struct machine *m, unsigned group);
int machine_tile_used(const struct machine *m, uint32_t tile);
unsigned machine_tile_group(const struct machine *m, uint32_t tile);

/* XXH3-128 root over the page hashes of all tiles as they are now. Pages never written count as
 * zero pages. */
struct hash128 machine_digest(struct machine *m);

#endif
