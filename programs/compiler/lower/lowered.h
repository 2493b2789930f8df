/* lowered.h - a program as the machine will run it: objects in tile memories, and steps.
 *
 * The lowering turns a graph into a lowered program, placement gives its objects addresses, and
 * emission writes its code. All tiles walk the same list of steps. A tile skips the steps in which
 * it has no part, but joins every sync of its group. Everything is numbered from 0; lists are in
 * the order of tiles only where a comment says so.
 */
#ifndef PROGRAMS_LOWERED_H
#define PROGRAMS_LOWERED_H

#include "programs/compiler/graph/graph.h"

enum { LOWERED_NONE = UINT32_MAX };

/* What a byte of tile memory is for: CATEGORY(id, "name in reports and images"). */
#define CATEGORIES                                                                                 \
    CATEGORY(VARIABLE, "variable")                                                                 \
    CATEGORY(CONSTANT, "constant")                                                                 \
    CATEGORY(VERTEX_CODE, "vertex code")                                                           \
    CATEGORY(VERTEX_STATE, "vertex state")                                                         \
    CATEGORY(WORK_LIST, "work list")                                                               \
    CATEGORY(CONTROL_CODE, "control code")                                                         \
    CATEGORY(EXCHANGE_CODE, "exchange code")                                                       \
    CATEGORY(HOST_CODE, "host code")                                                               \
    CATEGORY(STACK, "stack")                                                                       \
    CATEGORY(MESSAGE_BUFFER, "message buffer")                                                     \
    CATEGORY(REARRANGEMENT, "rearrangement")

enum category {
#define CATEGORY(id, name) CATEGORY_##id,
    CATEGORIES
#undef CATEGORY
        CATEGORY_COUNT
};
const char *category_name(enum category c);

/* The steps during which an object is in use: ranges [begin, end), ascending and disjoint. Set 0 is
 * the whole program. */
struct live_range {
    uint32_t begin, end;
};
struct live_set {
    uint32_t first, count; /* in lowered.live_range */
};
enum { LIVE_ALWAYS = 0 };

/* A word of initial contents: a number, or the address of a byte of an object of the same tile. */
struct object_word {
    uint32_t object; /* LOWERED_NONE: the word is `value`; else the object's address + value */
    uint32_t value;
};

/* A piece of one tile's memory that stays in one place. Two objects of a tile may overlap when
 * their live sets are disjoint. An object with initial contents, which are either bytes or words,
 * is always in use. */
struct object {
    uint32_t tile, bytes;
    uint16_t align;       /* bytes, a power of two, at least 4 */
    uint8_t region;       /* enum field_region */
    uint8_t category;     /* enum category */
    uint32_t owner;       /* string: the variable, codelet or action it belongs to */
    uint32_t live;        /* live set */
    const void *data;     /* borrowed, `bytes` of it; NULL: none */
    uint32_t word, words; /* in lowered.word */
    uint32_t addr;        /* set by place */
};

/* Whether the loader of the program fills the object; others hold nothing until the program writes
 * them. */
static inline int object_is_loaded(const struct object *o)
{
    return o->data || o->words;
}

/* Two objects of one tile that must not share a memory element (16 KiB of region 0; in region 1 the
 * pair of interleaved elements) while both are in use. */
struct object_pair {
    uint32_t a, b;
};

/* A vertex, or a copy made by the lowering. */
struct call {
    uint32_t tile;
    uint32_t codelet; /* index in lowered.codelet */
    uint32_t state;   /* object */
    uint32_t form;    /* index in lowered.form */
};

/* What the words of a state do not say, and many calls have in common: for each field of a codelet
 * how many elements an edge has, runs a list, words a work list; 0 for others. */
struct call_form {
    uint32_t codelet;
    uint32_t first; /* in lowered.form_length */
};

/* What a tile sends: `bytes` bytes of an object from byte `offset` on, both multiples of 4, and
 * where they go on other tiles. */
struct message {
    uint32_t object, offset, bytes;
    uint32_t first, dests; /* in lowered.message_dest */
};
struct message_dest {
    uint32_t object, offset;
};

/* A transfer between a stream and one tile; offset and bytes are multiples of 4. `round` counts the
 * requests of a tile in a step. All tiles issue their requests of a round at the same event, so the
 * bytes of a stream are ordered by round, then by tile. */
struct host_request {
    uint32_t tile, round, stream;
    uint32_t object, offset, bytes;
};

/* What a tile has of a channel in an exchange between chips: whole words, which are bytes
 * [at, at + bytes) of what goes through it. The way is that of the channel. */
struct chip_part {
    uint32_t tile, channel; /* of the graph */
    uint32_t object, offset, bytes;
    uint32_t at;
    uint32_t packet,
        packets; /* of a sender: in lowered.chip_packet, once chips_match() made them */
};

/* What goes to one place of another chip at once: the bytes of a part that follow those of the
 * packets before it. object: of the lowered program of that chip. */
struct chip_packet {
    uint32_t chip; /* of the replica */
    uint32_t object, offset, bytes;
};

enum step_kind {
    STEP_CALLS,    /* runs call[first ..], which are sorted by tile; no sync */
    STEP_EXCHANGE, /* message[first ..]: sync, exchange, RECV */
    STEP_HOST,   /* host_request[first ..], by tile, then round: sync, requests, RECV unless it only
                  begins */
    STEP_AWAIT,  /* RECV of the tiles of host_request[first ..]; bytes 0: the object may be dead. No
                  sync */
    STEP_CHIPS,  /* chip_part[first ..], by tile: sync of all tiles of chips (n: enum chips_scope),
                    packets, RECV */
    STEP_REPEAT, /* n times up to its STEP_END */
    STEP_LOOP,   /* for ever up to its STEP_END, left by STEP_BREAK */
    STEP_BREAK,  /* leaves the innermost STEP_LOOP when the predicate is 0 */
    STEP_IF, /* predicate != 0: up to STEP_ELSE (there always is one), else from there to STEP_END
              */
    STEP_ELSE,
    STEP_END,
    STEP_CALL /* function n */
};

/* The predicate of a branch is a word on every tile that runs the branch: the objects
 * predicate[step.predicate + index of the tile in used_tile]. With consensus only the tile that
 * computed the predicate has it (LOWERED_NONE for the others), and all tiles learn at a sync
 * whether it is 0. */
struct step {
    enum step_kind kind;
    uint32_t n;     /* repeat, call, chips */
    uint32_t match; /* repeat, loop, else: its STEP_END; if: its STEP_ELSE; end: what it closes, a
                       repeat, a loop or an else; break: the STEP_END of the loop that it leaves;
                       others: LOWERED_NONE (lowered_match()) */
    uint32_t predicate; /* break, if: the first entry in lowered.predicate */
    uint32_t first;
    uint64_t count;
    uint64_t groups;        /* bit g: tiles of sync group g run it */
    uint8_t begins;         /* host: a later STEP_AWAIT waits for its end */
    uint8_t consensus;      /* break, if: decided by the consensus of a sync */
    uint8_t rare;           /* if: the predicate is usually 0 */
    uint32_t name;          /* string: owner of its code in reports */
    uint32_t scope;         /* the scope of the graph in which it was made */
    uint32_t share, shares; /* in lowered.share: of copies of several scopes; else 0 */
};

/* Code: steps [first, first + count). Function 0 is the program. */
struct lowered_function {
    uint32_t first, count;
    uint32_t name;
};

/* Where a variable lies: elements [begin, end) follow each other from byte `offset` of an object
 * on. */
struct storage_run {
    uint64_t begin, end;
    uint32_t object, offset;
};
struct storage {
    uint32_t first, count; /* in lowered.storage_run, ascending; of each variable of the graph */
};

/* The bytes of one transfer of a stream in the order in which they cross the link. */
struct stream_run {
    uint64_t element; /* of the transfer's tensor; UINT64_MAX: padding */
    uint32_t bytes;
};
struct stream_layout {
    uint32_t stream;
    uint32_t first, runs; /* in lowered.stream_run */
};

struct lowered {
    struct graph *graph; /* borrowed */
    struct prog_arena arena;
    struct strings strings;
    uint32_t *used_tile; /* ascending; owned by the arena */
    uint32_t used_tiles;
    uint32_t *tile_index; /* of every tile of the chip; LOWERED_NONE: not used */
    uint64_t groups;      /* that have tiles */
    VEC(struct object) object;
    VEC(struct object_word) word;
    VEC(struct live_set) live_set;
    VEC(struct live_range) live_range;
    VEC(struct object_pair) apart;
    VEC(struct step) step;
    VEC(struct lowered_function) function;
    VEC(struct call) call;
    VEC(struct call_form) form;
    VEC(uint32_t) form_length;
    VEC(struct message) message;
    VEC(struct message_dest) message_dest;
    VEC(struct host_request) host_request;
    VEC(struct chip_part) chip_part;
    VEC(struct chip_packet) chip_packet;
    VEC(uint32_t) predicate; /* objects */
    VEC(struct storage) storage;
    VEC(struct storage_run) storage_run;
    VEC(struct stream_run) stream_run;
    VEC(struct stream_layout) stream_layout; /* one per STEP_HOST, in order: step.n is its index */
    VEC(const struct codelet *) codelet; /* that calls use, each once; borrowed from the graph */
    VEC(struct scope_share) share;
    VEC(uint32_t) owner_scope; /* by string: the scope in which the name was given; 0 beyond them */
};

/* Who wants to know of every new STEP_EXCHANGE while the program is being lowered. Its messages and
 * their objects are there, and may move in memory after the call. */
struct lower_watch {
    void *ctx;
    void (*exchange)(void *ctx, const struct lowered *l, uint32_t step);
};

/* Lowers a graph that has passed ss_graph_check(). A graph that needs more memory than the tiles
 * have is lowered, too; placement finds that out. watch: borrowed; NULL: nobody. Errors:
 * EMU_BAD_PROGRAM for what cannot be lowered, EMU_NO_MEMORY. Free *out with lowered_free. */
enum emu_status lower_graph(struct graph *g, const struct lower_watch *watch,
                            struct lowered **out) EMU_MUST_CHECK;
void lowered_free(struct lowered *l);
/* Frees the messages and pairs: they take much memory, and nothing reads them after placement. */
void lowered_free_work(struct lowered *l);

/* Finds for every step of control flow the one that it belongs to: match[step], as in struct step.
 * EMU_BAD_PROGRAM for control flow that is not balanced, EMU_NO_MEMORY. */
enum emu_status lowered_matches(const struct lowered *l, uint32_t *match) EMU_MUST_CHECK;
/* Sets the match of every step; errors are those of lowered_matches(). */
enum emu_status lowered_match(struct lowered *l) EMU_MUST_CHECK;
/* The first step after a step; of a construct, the one after its STEP_END. */
uint32_t lowered_next(const struct lowered *l, uint32_t step);

/* Finds for the programs of the chips of a replica what goes where in exchanges between chips:
 * lowered.chip_packet of each. EMU_BAD_PROGRAM for channels whose ends do not go together; the
 * message names channel and chips. */
enum emu_status chips_match(struct lowered *const *l, unsigned chips) EMU_MUST_CHECK;
/* Words of payload that a packet has at most. chip_deal.c */
uint32_t chip_packet_words(const struct arch *a);
/* Where a channel of the graph is sent from or received, in the order of its bytes; use after use,
 * but places that are used again only once. out is emptied first; no parts: the program does not
 * use it. The only error is EMU_NO_MEMORY. */
struct chip_part_list {
    struct chip_part *at;
    size_t count, cap;
};
enum emu_status chip_parts_of(const struct lowered *l, uint32_t channel,
                              struct chip_part_list *out) EMU_MUST_CHECK;

/* Adds an object of CATEGORY_STACK to each tile whose workers run codelets that need a stack: for
 * each worker as many bytes below its $mworker_base as the largest needs, and as many above it.
 * stack: bytes by codelet, multiples of 8 of at most CODELET_STACK_MAX. The only error is
 * EMU_NO_MEMORY. */
enum { WORKER_STACKS = 2 * TILE_WORKERS };
enum emu_status worker_stacks_add(struct lowered *l, const uint32_t *stack) EMU_MUST_CHECK;

/* Proves what place and emit rely on: sorted lists, offsets inside objects, multiples of 4, no two
 * words for one byte in an exchange, balanced control flow. EMU_BAD_PROGRAM names the offender.
 * threads: 0: all cores. */
enum emu_status lowered_check(const struct lowered *l, unsigned threads) EMU_MUST_CHECK;
/* Deterministic text. */
void lowered_dump(const struct lowered *l, FILE *f);

/* The scope in which an owner of memory was made. If owners in several scopes have the same name,
 * the scope of the first. */
uint32_t lowered_scope(const struct lowered *l, uint32_t owner);

/* Whether an object is in use during a step. */
int object_in_use(const struct lowered *l, const struct object *o, uint32_t step);
/* Whether two live sets have a step in common. */
int live_sets_meet(const struct lowered *l, uint32_t a, uint32_t b);

#endif
