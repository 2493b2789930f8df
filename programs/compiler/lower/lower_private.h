/* lower_private.h - what the files of the lowering share: runs of memory, actions, and the state.
 *
 * A node of the program becomes an action, which has at most one step for each phase. The action of
 * a compute set is made once, and its steps are emitted wherever the compute set is executed. While
 * an action is made, lower_access() records which bytes of which objects it reads and writes; the
 * live sets of objects follow from these records.
 */
#ifndef PROGRAMS_LOWER_PRIVATE_H
#define PROGRAMS_LOWER_PRIVATE_H

#include "programs/compiler/base/key_sort.h"
#include "programs/compiler/lower/lowered.h"

/* Bytes of an object. */
struct memory_run {
    uint32_t object, offset, bytes;
};
struct memory_run_list {
    struct memory_run *at;
    size_t count, cap;
};

/* Flags of a copy run. FREE_BEFORE, FREE_AFTER: no other data lie in the target's first word before
 * the run, or in its last word after it. STAGED: the target is also a source of the same action, so
 * it must not be written before all sources have been read. */
enum { RUN_FREE_BEFORE = 1, RUN_FREE_AFTER = 2, RUN_STAGED = 4 };

/* `bytes` bytes from byte from_at of object `from` to byte to_at of object `to`, which may lie on
 * another tile. */
struct copy_run {
    uint32_t from, from_at, to, to_at, bytes, flags;
};
struct copy_run_list {
    struct copy_run *at;
    size_t count, cap;
};

/* The steps of an action, in this order; any of them may be missing. */
enum phase {
    PHASE_FETCH,   /* exchange */
    PHASE_GATHER,  /* calls: copies on the tile, first part */
    PHASE_WORK,    /* calls of vertices, or host transfers */
    PHASE_RETURN,  /* exchange */
    PHASE_SCATTER, /* calls: copies on the tile, second part */
    PHASE_CONTROL, /* the branch that reads a predicate */
    PHASES
};

struct action {
    struct step step[PHASES];
    uint8_t has[PHASES];
    uint8_t is_emitted;
    uint32_t name;            /* string */
    uint32_t scope;           /* of the graph */
    uint32_t share, shares;   /* in lowered.share */
    uint32_t first_use, uses; /* in lowering.use */
};

/* How the live set of an object is found. ALWAYS: it stays. FLOW: by dataflow over the steps.
 * INPUT: the same, but the host writes the object before the program starts. ACTION: a temporary,
 * in use during those steps of its action that access it. */
enum life { LIFE_ALWAYS, LIFE_FLOW, LIFE_INPUT, LIFE_ACTION };

struct object_note {
    uint32_t data_bytes; /* without the padding at the end */
    uint32_t action;     /* of a temporary; first and last: the phases in which it is used */
    uint8_t life, first, last;
};

/* Something an action does to bytes of an object with LIFE_FLOW or LIFE_INPUT. */
struct object_access {
    uint32_t object, begin, end;
    uint8_t phase, write;
};

/* All accesses of one step to one object. KILL: from here on, the former contents of the object are
 * not needed. */
enum { USE_READ = 1, USE_WRITE = 2, USE_KILL = 4 };
struct object_use {
    uint32_t object;
    uint8_t phase, flags;
};

/* A place in the list of steps where an action was emitted. at: the number of the step of each
 * phase, LOWERED_NONE for phases that the action does not have. */
struct occurrence {
    uint32_t action;
    uint32_t at[PHASES];
};

/* A hash table with open addressing, from 64-bit hashes to numbers. A hash may have several. */
struct index_table {
    struct index_slot *slot; /* owned */
    uint32_t slots, used;
};

/* An input of a compute set that was fetched into a temporary. */
struct fetched {
    uint32_t tile, first, runs; /* in lowering.run */
    uint32_t object, offset;    /* the temporary */
};

struct work_list {
    uint32_t tile, count, object;
    const uint32_t *words;
};

/* A function of the graph, lowered for the tiles of some groups. */
struct function_copy {
    uint32_t function;
    uint64_t groups;
};

/* How a use of a channel goes. tiles: over so many its words are dealt out; 0: straight from where
 * they lie, or to there. */
struct chip_deal {
    uint32_t tiles;
};

struct graph_lowering {
    struct graph *g;
    struct lowered *l;
    const struct lower_watch *watch; /* borrowed; NULL: nobody */
    VEC(struct object_note) note;    /* of every object */
    uint32_t *hint;                  /* of every variable: the run found last */
    uint32_t *tile_mark;             /* of every tile: scratch, with mark */
    uint32_t *tile_value;
    uint32_t mark;

    VEC(struct action) action;
    VEC(struct object_access) access; /* of the action being made */
    VEC(struct object_use) use;
    VEC(struct occurrence) occurrence;

    struct memory_run_list run; /* scratch of the action being made */
    VEC(struct fetched) fetched;
    struct index_table fetched_table;
    struct copy_run_list copy_run; /* of the fetches of a compute set, or of a copy */
    struct copy_run_list back;     /* of the writes back */
    VEC(struct work_list) work_list;
    struct index_table work_table;
    struct index_table codelet_numbers; /* to lowered.codelet */
    struct index_table forms;           /* to lowered.form */

    struct chip_deal *deal;         /* of every use of a channel that the program has */
    VEC(struct memory_run) arrival; /* buffers of channels that words are dealt out to */
    size_t *arrival_first;          /* of every channel: 1 + its first one; 0: it has none */

    uint32_t *set_action; /* of every compute set; LOWERED_NONE: not made */
    VEC(uint32_t) copy;   /* nodes of copies that wait for others next to them */
    size_t first_share;   /* in lowered.share, of the copies being merged */
    VEC(struct function_copy) function;
    uint32_t *predicate_object; /* of every used tile; LOWERED_NONE: not made */
};

/* ---- storage.c ---- */
enum emu_status storage_build(struct graph_lowering *w) EMU_MUST_CHECK;
/* Adds where the elements of a view lie, in order, as few runs as possible. */
enum emu_status storage_runs(struct graph_lowering *w, uint32_t view,
                             struct memory_run_list *out) EMU_MUST_CHECK;
/* Adds an object. Its bytes are rounded up to words; the bytes that were asked for are kept as
 * data_bytes. */
enum emu_status object_add(struct graph_lowering *w, const struct object *o, enum life life,
                           uint32_t *out) EMU_MUST_CHECK;
/* A temporary of the current action. */
enum emu_status object_add_temporary(struct graph_lowering *w, uint32_t tile, uint64_t bytes,
                                     enum category c, uint32_t owner, uint32_t *out) EMU_MUST_CHECK;
enum emu_status object_add_word(struct graph_lowering *w, uint32_t object,
                                uint32_t value) EMU_MUST_CHECK;

/* ---- lower_action.c ---- */
/* The string of an owner of memory or of a step that was made in a scope. */
enum emu_status lower_owner(struct graph_lowering *w, const char *name, uint32_t scope,
                            uint32_t *owner) EMU_MUST_CHECK;
enum emu_status action_begin(struct graph_lowering *w, const char *name, uint32_t scope,
                             uint32_t *action) EMU_MUST_CHECK;
enum emu_status lower_access(struct graph_lowering *w, uint32_t object, uint32_t offset,
                             uint32_t bytes, enum phase phase, int write) EMU_MUST_CHECK;
void action_set_step(struct graph_lowering *w, enum phase p, enum step_kind kind, size_t first,
                     size_t count);
enum emu_status action_end(struct graph_lowering *w) EMU_MUST_CHECK;
enum emu_status action_emit(struct graph_lowering *w, uint32_t action,
                            uint64_t groups) EMU_MUST_CHECK;

/* ---- copy_route.c ---- */
/* Turns copy runs into steps of the current action: phase `exchange` has what goes to other tiles,
 * `local` what stays on its tile, `out` the copies out of buffers. Empties the list. */
enum emu_status copy_runs_lower(struct graph_lowering *w, struct copy_run_list *m,
                                enum phase exchange, enum phase local,
                                enum phase out) EMU_MUST_CHECK;

/* ---- copy_local.c ---- */
/* Makes calls of copy codelets for runs within tiles, which it sorts. */
enum emu_status copy_calls_build(struct graph_lowering *w, struct copy_run_list *m,
                                 enum phase phase) EMU_MUST_CHECK;

/* ---- copy_messages.c ---- */
/* Sorts runs by target and joins those that are contiguous on both sides. */
enum emu_status copy_runs_join(struct copy_run_list *m) EMU_MUST_CHECK;
/* Makes an exchange for runs of whole words between tiles, which it sorts. */
enum emu_status messages_build(struct graph_lowering *w, struct copy_run_list *m,
                               enum phase phase) EMU_MUST_CHECK;

/* ---- lower_vertices.c ---- */
/* The action of a compute set, which is made at the first call; LOWERED_NONE if it has no vertices.
 */
enum emu_status compute_set_action(struct graph_lowering *w, uint32_t compute_set,
                                   uint32_t *action) EMU_MUST_CHECK;

/* ---- vertex_state.c ---- */
/* A tensor that is connected to a field of a vertex, and where the codelet will find it. */
struct edge {
    uint32_t field;
    uint32_t first, runs; /* in lowering.run */
    uint32_t bytes, elements;
    uint32_t object, offset; /* LOWERED_NONE while unknown, or without elements */
    uint8_t direct;
};
/* The state of a call: field holds the entries of its codelet's fields, or is NULL for a codelet of
 * edges and lengths only. Edges are in the order of fields. */
enum emu_status vertex_state_build(struct graph_lowering *w, const struct codelet *c, uint32_t tile,
                                   const struct vertex_field *field, const struct edge *edge,
                                   size_t edges, uint32_t owner, uint32_t *state) EMU_MUST_CHECK;

/* Adds a call with such a state, and the same fields and edges. */
enum emu_status call_add(struct graph_lowering *w, const struct codelet *c, uint32_t tile,
                         const struct vertex_field *field, const struct edge *edge, size_t edges,
                         uint32_t state) EMU_MUST_CHECK;

/* ---- copy_merge.c ---- */
/* Actions for the copies that wait in w->copy, in order, several in one where they do not depend.
 */
enum emu_status copies_flush(struct graph_lowering *w, uint64_t groups) EMU_MUST_CHECK;

/* ---- host_transfers.c ---- */
/* The action of a host transfer. begins: a later action waits for its end. EMU_BAD_PROGRAM if such
 * a transfer goes to tiles and a tile would need a buffer for it. */
enum emu_status host_action(struct graph_lowering *w, uint32_t stream, uint32_t view, int begins,
                            uint32_t *action) EMU_MUST_CHECK;
/* The action that waits for the end of such a transfer. */
enum emu_status host_await_action(struct graph_lowering *w, uint32_t stream, uint32_t view,
                                  uint32_t *action) EMU_MUST_CHECK;

/* ---- chip_deal.c ---- */
/* Decides how the uses of channels of a node go, when it is known where variables lie, and marks
 * the tiles that take part. */
enum emu_status chip_deals(struct graph_lowering *w, const struct node *n) EMU_MUST_CHECK;
/* The tile that has share k of words dealt over `tiles`, and where its share begins. */
uint32_t chip_deal_tile(const struct graph *g, uint32_t k, uint32_t tiles);
uint64_t chip_deal_begin(uint64_t words, uint32_t k, uint32_t tiles);

/* ---- chip_transfers.c ---- */
/* The action of an exchange between chips. */
enum emu_status chips_action(struct graph_lowering *w, const struct node *n,
                             uint32_t *action) EMU_MUST_CHECK;

/* ---- predicates.c ---- */
/* An action that brings the predicate of an if or while to all tiles of the groups and ends with
 * the branch `kind`. */
enum emu_status predicate_action(struct graph_lowering *w, const struct node *n,
                                 enum step_kind kind, uint64_t groups,
                                 uint32_t *action) EMU_MUST_CHECK;

/* ---- liveness.c ---- */
enum emu_status liveness_build(struct graph_lowering *w) EMU_MUST_CHECK;

/* ---- index_table.c ---- */
/* Gives the numbers of a hash, one at each call: begin with *probe = 0. Returns 0 when there are no
 * more. */
int index_table_next(const struct index_table *t, uint64_t hash, uint32_t *probe, uint32_t *index);
enum emu_status index_table_add(struct index_table *t, uint64_t hash,
                                uint32_t index) EMU_MUST_CHECK;
void index_table_clear(struct index_table *t);
void index_table_free(struct index_table *t);

static inline uint32_t round_down(uint32_t n, uint32_t unit)
{
    return n & ~(unit - 1);
}

static inline uint32_t round_up(uint32_t n, uint32_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

static inline struct object *lower_object(const struct graph_lowering *w, uint32_t object)
{
    return &w->l->object.at[object];
}

#endif
