/* exchange.h - the fabric of a chip: gathers what the supervisors issue between a sync and RECV,
 * tile by tile, and resolves all of it at once.
 *
 * A phase is what the tiles released by one sync do until their RECV. During a phase each tile only
 * logs its sends, changes of its mux (XPIC) and of its incoming pointer (PIC), all in events
 * (cycles since the release). When every tile of the phase has reached RECV or its next sync,
 * exchange_resolve() turns the logs into copies, working on intervals of events, and proves that
 * they are valid (docs/exchange.md 4).
 */
#ifndef EMU_EXCHANGE_H
#define EMU_EXCHANGE_H

#include "emu/base/hash.h"
#include "emu/exchange/exchange_part.h"
#include "emu/exchange/link_header.h"
#include "emu/tile/exchange_port.h"

/* What can go wrong in the fabric. The tile records FAULT_EXERR (for NO_HOST_MEMORY: FAULT_MEMERR)
 * with the row's text as fault_record.detail. */
enum exchange_fault_kind {
#define EXCHANGE_FAULT(name, text) EXCHANGE_FAULT_##name,
#include "emu/exchange/exchange_fault.def"
#undef EXCHANGE_FAULT
    EXCHANGE_FAULT_KINDS
};

enum { EXCHANGE_NOBODY = 0xffffffff };

/* One fault. Only the cycle differs when it happens again in another superstep. Tiles are logical
 * numbers; addr and other_addr are byte addresses in the memory of tile and other, 0 where they
 * have no meaning. */
struct exchange_fault {
    enum exchange_fault_kind kind;
    uint32_t tile;  /* the tile at fault: the receiver, or the one that issued the instruction */
    uint32_t other; /* the tile at the other end, or EXCHANGE_NOBODY */
    uint32_t event; /* of `tile` */
    uint32_t addr, other_addr;
    int is_far;       /* `other` is a tile of another chip: */
    uint32_t chip;    /* this one */
    uint32_t value;   /* mux value, reserved field or number of words, of a wrong instruction;
                         CLASH_*: what the tile reads at the event, a byte address */
    uint32_t element; /* CLASH_*: the memory element, by arch_clash_element() */
    uint32_t pc;      /* instruction of `tile` that opened the mux, or issued; CLASH_*: executes */
    uint64_t cycle;   /* release of `tile` + event */
};

/* Words sent from a byte address on, one per event, in the directions of ctl (1, 2, 3). A send that
 * simply continues the one before is joined with it. */
struct exchange_send {
    uint32_t event, addr, words, ctl;
};

/* From `event` on the mux listens to `value` (physical tile), or words that reached the mux pic_lag
 * earlier go to address `value`. */
struct exchange_set {
    uint32_t event, value;
    uint32_t pc; /* of the instruction, for messages */
};

/* From `event` on the supervisor executes the instruction at pc. */
struct exchange_fetch {
    uint32_t event, pc;
};

struct exchange_host_request {
    uint64_t cycle;   /* issue of the header's first word */
    uint32_t word[2]; /* the header, host_header.h */
    uint8_t *data;    /* owned: for a transfer to the host its bytes at that cycle, else NULL */
};

/* Words for a tile of another chip. */
struct exchange_transfer {
    uint64_t cycle; /* issue of the header's first word */
    struct link_header to;
    uint32_t from;  /* where the payload lies, byte address in the sending tile */
    uint32_t pc;    /* of the instruction that sends the payload */
    size_t payload; /* where its words are in exchange_log.payload */
};

/* What one tile has issued in the running phase. Owned by the fabric; plain arrays that keep their
 * capacity. */
struct exchange_log {
    struct exchange_port port; /* first: the tile points here */
    uint64_t release;          /* cycle of event 0 */
    int open;                  /* an exchange instruction was issued: RECV must follow */
    struct exchange_send *send;
    struct exchange_set *mux, *pic;
    size_t sends, muxes, pics, send_cap, mux_cap, pic_cap;
    struct exchange_fetch *fetch; /* those during which a word may be stored; none where clashes are
                                     neither faults nor reported */
    size_t fetches, fetch_cap;
    uint32_t stream_addr; /* stream state A, bytes before $OUTGOING_BASE is added, and C */
    uint32_t stream_ctl;
    struct exchange_host_request *request; /* to the host, not yet taken by the caller */
    size_t requests, request_cap;
    struct exchange_transfer *transfer; /* to other chips, not yet taken by the caller */
    size_t transfers, transfer_cap;
    uint8_t *payload; /* of all transfers; none with options.figures */
    size_t payload_bytes, payload_cap;
    struct exchange_transfer
        header; /* its payload must follow in cycle header_end; words 0: none */
    uint64_t header_end;
    int to_chips;        /* an outer sync has begun the phase: exchange_open_chips() */
    int32_t votes;       /* group syncs voted ahead by sans and not yet used */
    uint64_t vote_cycle; /* issue of the last sans */
    uint32_t vote_lc;    /* $SSR.LC as it was then: the tile's part in the consensus */

    const struct exchange_part *part;  /* borrowed; ascending addresses: exchange_add_parts() */
    size_t parts, next_part;           /* next_part: after the one found last */
    const struct exchange_part *known; /* the part of the running phase that stands for its code,
                                          which was not executed; NULL: the rest of the log does */

    struct exchange *fabric;     /* borrowed: the fabric that owns this log */
    uint32_t tile;               /* logical number */
    int running;                 /* between exchange_begin() and exchange_recv() */
    uint32_t pointer;            /* incoming pointer as the phase begins, byte address */
    uint32_t free_event;         /* first event after the last exchange instruction */
    uint32_t words_out;          /* words sent in this phase, host requests not counted */
    struct exchange_fault fault; /* raised by this tile's own instructions, begin or RECV */
};

/* One run of words from tile to tile (logical numbers); offsets are in bytes from the start of the
 * tile's memory. */
struct exchange_copy {
    uint32_t from, to;
    uint32_t from_off, to_off, words;
};

/* All that one tile sends to another in a phase (logical numbers). A message is a run of words that
 * lie one after the other at both ends. */
struct exchange_pair {
    uint32_t from, to, words, messages;
};

/* The outcome of a phase. Borrowed from the fabric's cache of phases, valid until the next
 * exchange_resolve(). */
struct exchange_phase {
    size_t copies;
    const struct exchange_copy *copy; /* sorted by `to`, then by arrival */
    const uint32_t *first_copy;       /* [tiles + 1]: copies of tile d are [d] .. [d + 1] - 1 */
    const uint32_t *first_word;       /* [tiles + 1]: words received by all tiles before this one */
    /* Per tile, [tiles]. end_event: when the last word is in memory, 0 if none comes. pointer: byte
     * address of the incoming pointer after the last word, where words_in is not 0. */
    const uint32_t *end_event, *words_in, *words_out, *pointer;
    /* With exchange_options.pairs, else NULL: who sends to whom, ascending by to, then by from; and
     * per tile, [tiles], the messages received, and those sent (to many tiles: counted once). */
    size_t pairs;
    const struct exchange_pair *pair;
    const uint32_t *messages_in, *messages_out;
    struct hash128 traffic; /* stands for the three */
    const void *list;       /* not NULL: they are here instead, packed (exchange_traffic.h) */
    size_t list_bytes;
    int overlaps;      /* some tile receives into bytes it sends: gather all words, then store */
    uint32_t *staging; /* when overlaps: room for all words; owned by the fabric */
    struct hash128 key;
};

struct exchange; /* the fabric of one chip: logs, geometry, cache of resolved phases */

/* All words that a tile stored in one phase where they clash in one way with what it read. */
struct exchange_clash {
    struct exchange_fault first; /* kind CLASH_SEND or CLASH_FETCH */
    uint32_t words;
};

enum { EXCHANGE_CLASHES_MAX = 4096 }; /* kept of a run; further ones are only counted */

/* The clashes of a run (checking mode). */
struct exchange_clashes {
    struct exchange_clash *clash; /* owned by the fabric; in order of phases, then of tiles */
    size_t count;                 /* of them, at most EXCHANGE_CLASHES_MAX */
    uint64_t total, words;        /* all of them, and their words */
};

struct exchange_options {
    unsigned threads; /* that may resolve a phase together; 0: one */
    int pairs;        /* phases know who sends to whom */
    int figures;      /* phases have no copies, only what is known per tile: no words are moved */
    uint32_t chip;    /* its number in the system */
    int check; /* also resolve word by word with the simple second implementation, and compare; note
                  unheard words and clashes */
    size_t
        cache_bytes; /* bound of the cached phases, 0: 256 MiB; the phase in use is always kept */
};

struct exchange_counts {
    uint64_t resolved, replayed; /* phases resolved anew, and phases found in the cache */
    uint64_t known;              /* phases whose parts were all known: nothing was resolved */
    uint64_t evictions;          /* times the cache was emptied because it was full */
    size_t cache_bytes, cache_phases;
};

/* arch is borrowed. Errors: EMU_NO_MEMORY. */
enum emu_status exchange_new(const struct arch *arch, const struct exchange_options *o,
                             struct exchange **out) EMU_MUST_CHECK;
void exchange_free(struct exchange *x);

struct exchange_log *exchange_log_of(struct exchange *x, uint32_t tile);

/* Attaches tile t to x, which t->exchange borrows. Sets the tile's mux to the null source. */
void exchange_attach(struct exchange *x, uint32_t tile, struct tile *t);

/* Gives a tile the parts that are known of it, ascending by address; before the run, once.
 * Borrowed: they must outlive x. Their code is then not executed where nobody sees the difference:
 * with options.figures alone, and if the phase consists of them. Else it is after all.
 * EMU_NO_MEMORY. */
enum emu_status exchange_add_parts(struct exchange *x, uint32_t tile,
                                   const struct exchange_part *part, size_t n) EMU_MUST_CHECK;

/* Gives the fabric what is known of who sends to whom in n exchanges, ascending by number; once,
 * before the tiles get their parts: with options.pairs no other exchanges are believed. The
 * messages are copied; the lists are borrowed, and must outlive x. EMU_NO_MEMORY. */
struct exchange_traffic;
enum emu_status exchange_set_traffic(struct exchange *x, const struct exchange_traffic *t,
                                     size_t n) EMU_MUST_CHECK;
/* Whether phases know who sends to whom (options.pairs). */
int exchange_has_pairs(const struct exchange *x);

/* Begins a phase for one tile at its release. Records and returns FAULT_EXERR when the tile left
 * its last phase open.
 *
 * Before the first call, and between RECV and the next call, instructions that send or set fault.
 * May be called from any thread, but from one per tile at a time. */
enum fault exchange_begin(struct exchange *x, struct tile *t, uint64_t release);

/* The tile has issued sync RECV at an event of its phase, and may log no more. Records and returns
 * FAULT_EXERR when the mux still listens. Does nothing when no phase is running. Threads: as
 * exchange_begin(). */
enum fault exchange_recv(struct exchange *x, struct tile *t, uint32_t event);

/* The superstep of a tile is over at this cycle. Records and returns FAULT_EXERR when the tile
 * issued exchange instructions but no RECV. exchange_begin() checks this, too; call this function
 * at the end of a run, where no phase follows. */
enum fault exchange_end(struct exchange *x, struct tile *t, uint64_t cycle);

/* Resolves the logs of the tiles of a phase, empties them, and advances the tiles' $INCOMING_DELTA.
 *
 * tile    [arch->tiles], NULL for tiles that take no part
 * out     set on EMU_OK only
 *
 * Errors  EMU_FAULT      recorded in the receiving tile (the sender, if it sends a word that has
 *                        been replaced); lowest tile, then lowest event. ss_error() is the
 *                        sentence of exchange_fault_print()
 *         EMU_NO_MEMORY
 * Cost    O(intervals log sends); a phase seen before is found by the hash of its logs
 * Tested  tests/emu/test_exchange*.c, tests/bench/bench_exchange.c */
enum emu_status exchange_resolve(struct exchange *x, struct tile *const *tile,
                                 const struct exchange_phase **out) EMU_MUST_CHECK;

/* Performs the copies into tiles from .. to - 1. Calls for disjoint ranges may run on different
 * threads when !phase->overlaps; when copies overlap, either one call must cover all tiles, or the
 * caller takes two steps, each of which may be split over threads: exchange_gather() for all tiles,
 * then exchange_store(). */
void exchange_deliver(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                      uint32_t to);
void exchange_gather(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                     uint32_t to);
void exchange_store(const struct exchange_phase *p, struct tile *const *tile, uint32_t from,
                    uint32_t to);

/* The fault of the last exchange_resolve(), if that failed; else the fault of the lowest tile whose
 * instructions, begin or RECV were wrong; else NULL. Borrowed until the next exchange_resolve() or
 * exchange_begin(). */
const struct exchange_fault *exchange_last_fault(struct exchange *x);

const char *exchange_fault_name(enum exchange_fault_kind k); /* "SILENT" */
const char *exchange_fault_text(enum exchange_fault_kind k); /* static, names no tile */

/* Writes the fault as one sentence with tiles, event, cycle and addresses. Returns the length as
 * snprintf does. */
int exchange_fault_print(const struct exchange_fault *f, char *out, size_t bytes);

/* The phase of a tile has been begun by a sync of several chips: until its RECV it may send to
 * tiles of others. Call it after exchange_begin(). */
void exchange_open_chips(struct exchange *x, uint32_t tile);

/* Forgets the transfers of a tile, after the caller has used them. */
void exchange_take_transfers(struct exchange *x, uint32_t tile);

/* Raises a fault at the receiving end of a transfer to a tile, found when its phase was complete: f
 * needs kind, event and what else is known. */
void exchange_raise_arrival(struct exchange *x, struct tile *t, const struct exchange_fault *f);

/* Forgets the host requests of a tile, after the caller has used them. */
void exchange_take_requests(struct exchange *x, uint32_t tile);

/* Words that a tile has sent in resolved phases from addresses to which no tile listened in that
 * phase; 0 without checking mode. */
uint64_t exchange_unheard_words(const struct exchange *x, uint32_t tile);

/* Where words were stored in a memory element from which their tile sent or fetched at that event;
 * nothing without checking mode, or where that is a fault. */
struct exchange_clashes exchange_clashes(const struct exchange *x);

/* From here on counts the words that go from each tile to each; phases without copies
 * (options.figures) count nothing. EMU_NO_MEMORY. */
enum emu_status exchange_count_pairs(struct exchange *x) EMU_MUST_CHECK;
/* [tiles][tiles], row: sender, column: receiver, of all phases since; a word that several tiles
 * hear counts for each. Borrowed; NULL: nobody asked for it. */
const uint64_t *exchange_pairs(const struct exchange *x);

struct exchange_counts exchange_counts(const struct exchange *x);

#endif
