/* exchange_private.h - the inside of the fabric: what the files of emu/exchange share, and what
 * their tests inspect.
 */
#ifndef EMU_EXCHANGE_PRIVATE_H
#define EMU_EXCHANGE_PRIVATE_H

#include "emu/arch/arch_geometry.h"
#include "emu/exchange/exchange_traffic.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/isa.h"

enum {
    XCSR_FIRST = CSR_S_INCOMING_MUX, /* CSR number of tile.xcsr[0] */
    XCSR_MUX = CSR_S_INCOMING_MUX - XCSR_FIRST,
    XCSR_DELTA = CSR_S_INCOMING_DELTA - XCSR_FIRST,
    XCSR_IN_BASE = CSR_S_INCOMING_BASE - XCSR_FIRST,
    XCSR_OUT_BASE = CSR_S_OUTGOING_BASE - XCSR_FIRST,
    XCSR_DCOUNT = CSR_S_INCOMING_DCOUNT - XCSR_FIRST,
    EXCHANGE_EVENTS = 1 << 30, /* events are below this, so that sums with delays fit 32 bits */
    EXCHANGE_CTL_WIDE = 4      /* of a send: to the host or to another chip */
};

/* Working memory of the interval resolver for some tiles; keeps its capacity from phase to phase.
 */
struct exchange_resolver {
    uint32_t from, to;           /* these tiles: from .. to - 1 */
    struct exchange_fault fault; /* the one to report of them */
    enum emu_status status;
    struct exchange_copy *copy;
    uint32_t *arrive; /* event at which the first word of a copy reaches the mux */
    size_t copies, capacity;
    struct exchange_pair *pair; /* of all its tiles; only with options.pairs */
    size_t pairs, pair_capacity;
    uint64_t *received; /* a bit per word of one tile's memory */
    struct exchange_order {
        uint32_t off, copy; /* copies of one tile by the offset they go to */
    } * order, *merge;
    size_t order_capacity;
    int overlaps;
};

/* What is found per tile, as in struct exchange_phase; but copies are counted. */
struct exchange_figures {
    uint32_t *copies, *end_event, *words_in, *words_out, *pointer; /* owned [tiles] */
    uint32_t *messages_in, *messages_out;
};

enum { EXCHANGE_CACHE_BUCKETS = 4096 };

struct exchange_cached {
    struct exchange_cached *next;
    size_t bytes;
    struct exchange_phase phase; /* its arrays follow in the same block */
};

/* What one tile contributes to the key of a phase. */
struct exchange_log_key {
    uint32_t tile, pointer, sends, muxes, pics, fetches;
    struct hash128 send, mux, pic, fetch;
};

/* How the instructions of a run are decoded: entry of_kind[] of code[], of which 0 is none. */
enum { EXCHANGE_RUN_CODES = 8, EXCHANGE_RUN_KINDS = 128 };

struct exchange_run_codes {
    struct exchange_run_code {
        uint64_t mask, match;
        uint16_t op, bytes;
        struct isa_part i[2], j, k, l, n, o;
    } code[EXCHANGE_RUN_CODES];
    unsigned count;
    uint8_t of_kind[EXCHANGE_RUN_KINDS];
};

struct exchange {
    const struct arch *arch; /* borrowed */
    struct exchange_options options;
    uint32_t tiles, physicals, memory_words;
    struct exchange_log *log;      /* [tiles] */
    uint32_t *physical;            /* [tiles] */
    int32_t *logical;              /* [physicals]; -1: no tile of this machine */
    int32_t *lag;                  /* [tiles] events from mux to pointer */
    struct arch_exchange_end *end; /* [tiles] */
    struct exchange_run_codes run;
    struct exchange_resolver *resolver; /* [options.threads], disjoint and in order of tiles */
    struct exchange_figures figures;
    uint32_t *part_tiles;  /* owned [part_numbers]: how many tiles have such a part */
    uint32_t part_numbers; /* above all numbers of parts */
    /* The parts again, by exchange and then by tile, as phases need them; made when one is looked
     * at for the first time. Owned, NULL before. */
    struct exchange_part *sorted;
    uint32_t *sorted_tile;              /* owned: of each of them */
    size_t *sorted_first;               /* owned [part_numbers + 1]: of each exchange */
    const struct exchange_part **first; /* owned [tiles]: with whose code a tile begins its phase,
                                           until it goes on after it: exchange_beginning_add() */
    struct exchange_phase known_phase;  /* its arrays are those of figures, and of traffic */
    struct exchange_traffic *traffic;   /* owned; ascending numbers of exchanges */
    uint32_t *traffic_messages;         /* owned: theirs */
    size_t traffics;
    uint64_t *unheard; /* [tiles] in checking mode, else NULL: words that no tile has received */
    uint64_t *pairs;   /* owned [tiles][tiles], or NULL: nobody wants to know who sends to whom */
    struct exchange_clashes clashes;  /* clash is NULL without checking mode */
    struct exchange_log_key *log_key; /* [tiles], filled anew for every phase */
    struct exchange_cached *bucket[EXCHANGE_CACHE_BUCKETS];
    struct exchange_counts counts;
    uint32_t *staging;
    size_t staging_words;
    struct exchange_fault fault; /* of the last exchange_resolve(); kind NONE when it found none */
};

/* exchange_port.c: the port of every tile; also checks, when a phase begins, a mux value that was
 * written before it. */
enum fault exchange_issue(struct exchange_port *p, struct tile *t, const struct insn *in);
enum fault exchange_fetch(struct exchange_port *p, struct tile *t);
enum exchange_fault_kind exchange_source_error(const struct exchange *x, uint32_t tile,
                                               uint32_t value);
enum fault exchange_open(struct exchange_log *log, struct tile *t);
enum emu_status exchange_log_mux(struct exchange_log *log, uint32_t event, uint32_t value,
                                 uint32_t pc) EMU_MUST_CHECK;
/* The mux value at the end of the log. */
uint32_t exchange_log_source(const struct exchange_log *log);

/* What all exchange instructions have in common before they act: they last `events`. Records a
 * fault, or sets *event. */
enum fault exchange_enter(struct exchange_log *log, struct tile *t, uint32_t events,
                          uint32_t *event);
int exchange_in_memory(const struct tile *t, uint32_t addr, uint32_t bytes);

/* Events that a send beyond the chip lasts at least. */
uint32_t exchange_least_events(const struct exchange *x);

/* exchange_chips.c: a wide send of `words` words from addr is the header of a transfer, which was
 * read into word; or its payload. exchange_payload_missing() faults where a payload was due, and
 * something else comes. */
enum fault exchange_send_header(struct exchange_log *log, struct tile *t, uint32_t addr,
                                const uint32_t word[2]);
enum fault exchange_send_payload(struct exchange_log *log, struct tile *t, uint32_t addr,
                                 uint32_t words);
enum fault exchange_payload_missing(struct exchange_log *log, struct tile *t);

/* exchange_run.c: the port's run, and what it needs. */
void exchange_run_init(struct exchange_run_codes *codes);
uint32_t exchange_run(struct exchange_port *p, struct tile *t, uint64_t until);

/* exchange_known.c: phases of known parts. Skips the code of a part that begins at the supervisor's
 * address, if it ends before `until`, and returns how many instructions that were; 0: it has to be
 * executed. */
uint32_t exchange_skip_part(struct exchange_log *log, struct tile *t, uint64_t until);
/* The phase of the tiles given, if it consists of known parts; NULL: it must be resolved. Then the
 * code of those that were skipped is executed after all, and *wrong is FAULT_NONE or its fault. */
const struct exchange_phase *exchange_known_phase(struct exchange *x, struct tile *const *tile,
                                                  enum fault *wrong);

/* exchange_fault.c: records a fault of the tile itself in its log and in the tile; f needs kind,
 * event, and what else is known. Returns what tile_fault() returns. */
enum fault exchange_raise(struct exchange_log *log, struct tile *t, const struct exchange_fault *f);
/* Whether to report a rather than b, two faults of one tile (kind NONE: no fault yet). */
int exchange_fault_before(const struct exchange_fault *a, const struct exchange_fault *b);
int exchange_fault_equal(const struct exchange_fault *a, const struct exchange_fault *b);

/* exchange_resolve.c: fills resolvers and figures from the logs of the tiles given, on all threads.
 * *fault gets kind NONE or the fault to report. */
enum emu_status exchange_resolvers_new(struct exchange *x) EMU_MUST_CHECK;
void exchange_resolvers_free(struct exchange *x);
enum emu_status exchange_resolve_intervals(struct exchange *x, struct tile *const *tile,
                                           struct exchange_fault *fault) EMU_MUST_CHECK;
/* The same for the words that one tile receives; appends to the copies that r has. */
enum emu_status exchange_resolve_tile(struct exchange *x, struct exchange_resolver *r,
                                      struct tile *const *tile, uint32_t d,
                                      struct exchange_fault *fault) EMU_MUST_CHECK;

/* exchange_clash.c: the first clash of a tile that stores n copies whose first words reach its mux
 * at arrive[]. Kind NONE: there is none. */
void exchange_find_clash(const struct exchange *x, uint32_t tile, const struct exchange_copy *copy,
                         const uint32_t *arrive, size_t n, struct exchange_fault *out);
/* Whether the ports must note what the supervisors execute. */
int exchange_watches_clashes(const struct exchange *x);

/* What the checking mode notes of the words of a phase that is valid. */
struct exchange_notes {
    uint64_t *unheard; /* [tiles], grows by the words of each sender that no tile received */
    struct exchange_clashes *clashes;
};

/* exchange_pairs.c: adds to r what tile d receives by n copies, sender by sender. */
enum emu_status exchange_add_pairs(struct exchange_resolver *r, uint32_t d,
                                   const struct exchange_copy *copy, size_t n) EMU_MUST_CHECK;

/* exchange_check.c: word by word. Compares with p unless it is NULL.
 *
 * fault    as above, found independently
 * differ   NULL, or static text that says in what p differs
 * notes    NULL: nothing is noted */
enum emu_status exchange_check(const struct exchange *x, struct tile *const *tile,
                               const struct exchange_phase *p, struct exchange_fault *fault,
                               const char **differ,
                               const struct exchange_notes *notes) EMU_MUST_CHECK;

/* exchange_cache.c */
struct hash128 exchange_key(struct exchange *x, struct tile *const *tile);
struct exchange_phase *exchange_cache_find(struct exchange *x, struct hash128 key);
/* Copies what the resolvers hold; empties the cache first when it would grow beyond its bound. */
enum emu_status exchange_cache_add(struct exchange *x, struct hash128 key,
                                   struct exchange_phase **out) EMU_MUST_CHECK;
void exchange_cache_clear(struct exchange *x);

#endif
