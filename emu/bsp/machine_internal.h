/* machine_internal.h - the state of a machine. Shared by machine.c, superstep.c,
 * sync.c and machine_state.c only. */
#ifndef EMU_MACHINE_INTERNAL_H
#define EMU_MACHINE_INTERNAL_H

#include "emu/bsp/digest.h"
#include "emu/bsp/machine.h"
#include "emu/bsp/record.h"
#include "emu/exchange/exchange_known.h"
#include "emu/isa/csr_names.h"
#include "emu/tile/tile_check.h"

/* What a tile waits for while it does not run. */
enum tile_wait {
    WAIT_UNUSED,
    WAIT_NOT,   /* runs, or could */
    WAIT_RECV,  /* at the RECV that ends its exchange; the phase is not resolved yet */
    WAIT_DATA,  /* at a RECV, for host data only */
    WAIT_ANS,   /* at sync ANS, for the syncs it voted ahead */
    WAIT_GROUP, /* at a sync of its group */
    WAIT_CHIP,
    WAIT_CHIPS, /* those of the replica */
    WAIT_POD,
    WAIT_HOST,
    WAIT_FAULT,
    WAIT_FAR, /* for people: WAIT_DATA for words of other chips */
    WAIT_KINDS
};

struct arrival {
    uint64_t cycle;
    uint32_t addr, bytes, words;
    uint32_t from, from_addr, chip; /* as in struct tile_arrival */
    int is_far;
};

struct place {
    uint8_t wait; /* enum tile_wait */
    uint8_t group;
    uint8_t zone;     /* of the sync that it has issued last */
    uint8_t received; /* the RECV of the current superstep is over, or none was needed */
    uint64_t release, received_at, arrived; /* cycles of the running superstep */
    uint64_t data_cycles;                   /* of the superstep: at a RECV, for host data */
    uint64_t link_cycles, recorded_link;    /* the same for words of other chips */
    int is_far;                             /* words of other chips have come in the superstep */
    uint64_t settled;                       /* struct machine_place (machine_state.h) */
    uint64_t active_from;                   /* cycle at which it last stopped waiting at a sync */
    uint64_t recorded_exchange;             /* of the superstep: cycles the record has already */
    uint32_t words_in, words_out;           /* not in the record yet */
    uint8_t vote_gc;         /* consensus of the last sync the tile voted ahead for */
    struct arrival *arrival; /* owned queue */
    size_t arrivals, next_arrival, arrival_cap;
    uint8_t *packet; /* owned: the bytes of the queued arrivals, in order */
    size_t packet_bytes, packet_first, packet_cap;
    uint64_t awaited; /* words of requests that the host has not handed over yet */
};

/* How much of the exchange of a group is known before its tiles come to their RECV: ahead.c. */
enum ahead {
    AHEAD_NOT,    /* nothing: it is resolved when they have come */
    AHEAD_OTHERS, /* all, if the tiles that have no part in it are silent; they go first */
    AHEAD_ALL     /* a tile goes on after its RECV at once */
};

struct group {
    uint32_t *tile; /* owned, ascending */
    uint32_t tiles;
    unsigned phase;                      /* lowest group that was released together with this one */
    int resolved;                        /* the exchange since that release is done, or known */
    uint8_t ahead;                       /* enum ahead: of that exchange */
    struct exchange_beginning beginning; /* of AHEAD_OTHERS */
    uint64_t superstep;
    uint64_t release;        /* the last one, cycle */
    uint64_t end;            /* of the last superstep in the record, cycle */
    uint32_t exchange;       /* of the running superstep, in the record; 0: none */
    uint32_t at_tile, at_pc; /* one of the tiles released last, and its sync */
};

struct machine {
    struct arch arch;
    struct machine_options options;
    unsigned threads;
    struct machine_host host;
    int has_host;
    enum sync_scope zone[SYNC_ZONES];
    uint32_t held_tile; /* machine_hold() */
    uint64_t held_cycle;
    uint64_t max_cycle; /* of the running call */
    uint64_t turn; /* machine_run_out(): cycles of a superstep that a tile may run; 0: any number */
    uint32_t alone; /* the tile that may run on after its turn */
    uint64_t known; /* all arrivals before this cycle have been handed over */

    struct tile *tile;     /* owned [arch.tiles] */
    struct barrel *barrel; /* owned [arch.tiles] */
    struct place *place;   /* owned [arch.tiles] */
    uint32_t **site;       /* owned [arch.tiles], each owned or NULL: machine_sites() */
    uint8_t *mem;          /* owned, reserved */
    size_t mem_stride, mem_bytes;
    struct code_cache *cache;    /* owned */
    struct exchange *exchange;   /* owned */
    struct tile **member;        /* scratch [arch.tiles]: tiles of the phase being resolved */
    uint32_t *runnable;          /* scratch [arch.tiles] */
    struct tile_step *step;      /* scratch [arch.tiles] */
    uint32_t *all_tiles;         /* 0, 1, 2 ... */
    struct digests *own_digests; /* for machine_digest() when the caller gave none */

    struct group group[MACHINE_MAX_GROUPS];
    unsigned groups; /* highest used group + 1 */
    int started;
    int finished; /* the superstep that ends at the host sync is in record and digests */
    int faulted;
    struct machine_fault fault;
};

/* $INCOMING_DCOUNT in struct tile.xcsr */
enum { PLACE_DCOUNT = CSR_S_INCOMING_DCOUNT - CSR_S_INCOMING_MUX };

/* arrival.c */
uint64_t place_next_arrival(const struct place *p); /* cycle; UINT64_MAX: the queue is empty */
/* Applies the next arrival of the queue, which must not be empty; or all those before `until`. */
void place_apply_one(struct machine *m, uint32_t tile);
void place_apply_arrivals(struct machine *m, uint32_t tile, uint64_t until);

/* superstep.c */
uint64_t place_clock(const struct machine *m, uint32_t tile);
const char *machine_wait_text(unsigned wait); /* of enum tile_wait; NULL: it does not wait */
unsigned machine_wait_of(const struct machine *m, uint32_t tile); /* the same of a tile */

/* ahead.c: exchanges that are known before they run. Adds a tile that has just been released. */
void ahead_add(struct machine *m, struct exchange_beginning *b, uint32_t tile);
/* All tiles of a phase have been released: what is known of its exchange. -1 without memory. */
int ahead_begin(struct machine *m, unsigned phase, const struct exchange_beginning *b);
/* The tiles of AHEAD_OTHERS that have no part have had their turn: it becomes another. 1; -1
 * without memory. */
int ahead_settle(struct machine *m, unsigned phase);
/* Whether a tile has to wait until others have gone first. */
int ahead_is_held(const struct machine *m, uint32_t tile);
/* A tile is about to run: goes on after the code of its part. Returns 1 when it has also issued its
 * RECV. */
int ahead_issue(struct machine *m, uint32_t tile);
/* A tile has come to a sync: ends its exchange, if that is known. */
void ahead_receive(struct machine *m, uint32_t tile);

/* sync.c: what was exchanged in a phase, for the record. -1 without memory. */
int sync_resolved(struct machine *m, unsigned phase, const struct exchange_phase *x);

/* sync.c: resolves finished exchanges and releases complete syncs. Returns 1 when it did
 * either, 0 when there was nothing to do, -1 on a fault or error. */
int sync_advance(struct machine *m);
/* The release cycle of a group sync that lacks only the outcome of an exchange; UINT64_MAX when
 * there is no such sync. */
uint64_t sync_held_release(const struct machine *m, unsigned group);
/* Adds the last superstep of all groups to the record and to the digests. */
enum emu_status sync_finish(struct machine *m);
void sync_release_host(struct machine *m);
/* Writes $SSR.GC. */
static inline void sync_set_consensus(struct tile *t, uint32_t consensus)
{
    t->ssr = (t->ssr & ~(uint32_t)SSR_GC) | (consensus ? SSR_GC : 0);
}

/* The sync of a tile joins several chips. */
static inline int is_outer_wait(unsigned wait)
{
    return wait == WAIT_CHIPS || wait == WAIT_POD;
}

/* A tile at a RECV waits for words of other chips: it has asked the host for nothing. */
static inline int is_far_wait(const struct machine *m, uint32_t tile)
{
    const struct place *p = &m->place[tile];

    return m->options.outer && p->wait == WAIT_DATA && !p->awaited;
}

/* sync.c, for outer.c: a sync of all groups of the chip whose release the system has found. -1 on a
 * fault or error. */
int sync_release_outer(struct machine *m, enum tile_wait wait, uint64_t release,
                       uint32_t consensus);
/* Whether all tiles stand in this kind of sync, then the last arrival and the AND of their LC. */
int sync_all_complete(const struct machine *m, enum tile_wait wait, uint64_t *latest,
                      uint32_t *consensus);

/* deadlock.c: ss_error() says who waits for what. Returns MACHINE_DEADLOCK. */
enum machine_stop machine_deadlock(const struct machine *m);

/* machine.c */
void machine_note_fault(struct machine *m, uint32_t tile, const struct exchange_fault *x);

#endif
