/* lower_private.h - what the files of the lowering share: pieces, moves, steps, and the state.
 *
 * A node of the program becomes a step: up to one operation per phase. The steps of a compute set
 * are made once and emitted wherever it is executed. While a step is made, whatever it does to an
 * object is told to lower_touch(); the liveness is computed of that.
 */
#ifndef PROGRAMS_LOWER_WORK_H
#define PROGRAMS_LOWER_WORK_H

#include "programs/compiler/lower/lowered.h"

/* Bytes of an object. */
struct memory_run {
    uint32_t object, offset, bytes;
};
struct memory_run_list {
    struct memory_run *at;
    size_t count, cap;
};

/* What is known of a move: the rest of the target's first and last word is nobody's; the target is
 * also a source of the step, and must be written after all sources were read. */
enum { MOVE_FREE_BEFORE = 1, MOVE_FREE_BEHIND = 2, MOVE_STAGED = 4 };

/* Bytes of an object that go to an object, of the same tile or another. */
struct move {
    uint32_t from, from_at, to, to_at, bytes, flags;
};
struct move_list {
    struct move *at;
    size_t count, cap;
};

/* The operations of a step, in this order; any of them may be missing. */
enum phase {
    PHASE_FETCH,   /* exchange */
    PHASE_GATHER,  /* calls: copies on the tile, first part */
    PHASE_WORK,    /* calls of vertices, or host transfers */
    PHASE_RETURN,  /* exchange */
    PHASE_SCATTER, /* calls: copies on the tile, second part */
    PHASE_CONTROL, /* the branch that reads a predicate */
    PHASES
};

struct step {
    struct op op[PHASES];
    uint8_t has[PHASES];
    uint32_t name;            /* string */
    uint32_t scope;           /* of the graph */
    uint32_t share, shares;   /* in lowered.share */
    uint32_t first_use, uses; /* in lowering.use */
};

/* How the live set of an object is found; INPUT: as FLOW, but the host has written it before. */
enum life { LIFE_ALWAYS, LIFE_FLOW, LIFE_INPUT, LIFE_STEP };

struct object_note {
    uint32_t data_bytes; /* without the padding after */
    uint32_t step;       /* of a temporary, with its first and last phase */
    uint8_t life, first, last;
};

/* Something a step does to bytes of an object with LIFE_FLOW or LIFE_INPUT. */
struct access {
    uint32_t object, begin, end;
    uint8_t phase, write;
};

/* The same, summed up for an object and one operation of the step. KILL: nothing of the object's
 * former contents is needed from here on. */
enum { USE_READ = 1, USE_WRITE = 2, USE_KILL = 4 };
struct object_use {
    uint32_t object;
    uint8_t phase, flags;
};

/* A step standing in the list of operations; at: of each phase it has, LOWERED_NONE for others. */
struct occurrence {
    uint32_t step;
    uint32_t at[PHASES];
};

/* Open addressing from 64-bit hashes to numbers; equal hashes may have several. */
struct index_table {
    struct index_slot *slot; /* owned */
    uint32_t slots, used;
};

/* An input of a compute set that was fetched into a temporary. */
struct fetched {
    uint32_t tile, first, pieces; /* in lowering.piece */
    uint32_t object, offset;
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

struct lowering {
    struct graph *g;
    struct lowered *l;
    VEC(struct object_note) note; /* of every object */
    uint32_t *hint;               /* of every variable: the run found last */
    uint32_t *tile_mark;          /* of every tile: scratch, with mark */
    uint32_t *tile_value;
    uint32_t mark;

    VEC(struct step) step;
    VEC(struct access) access; /* of the step being made */
    VEC(struct object_use) use;
    VEC(struct occurrence) occurrence;

    struct memory_run_list piece; /* scratch of the step being made */
    VEC(struct fetched) fetched;
    struct index_table fetched_table;
    struct move_list move; /* of the fetches of a compute set, or of a copy */
    struct move_list back; /* of the writes back */
    VEC(struct work_list) work_list;
    struct index_table work_table;
    struct index_table codelet_numbers; /* to lowered.codelet */

    uint32_t *set_step; /* of every compute set; LOWERED_NONE: not made */
    VEC(uint32_t) copy; /* nodes of copies that wait for others next to them */
    size_t first_share; /* in lowered.share, of the copies being merged */
    VEC(struct function_copy) function;
    uint32_t *predicate_object; /* of every used tile; LOWERED_NONE: not made */
};

/* ---- storage.c ---- */
enum emu_status storage_build(struct lowering *w) EMU_MUST_CHECK;
/* Adds where the elements of a view lie, in order, as few pieces as possible. */
enum emu_status storage_runs(struct lowering *w, uint32_t view,
                             struct memory_run_list *out) EMU_MUST_CHECK;
/* Adds an object; bytes is rounded up to words. data_bytes is what counts as its contents. */
enum emu_status object_add(struct lowering *w, const struct object *o, enum life life,
                           uint32_t *out) EMU_MUST_CHECK;
/* A temporary of the current step. */
enum emu_status object_add_temporary(struct lowering *w, uint32_t tile, uint64_t bytes,
                                     enum category c, uint32_t owner, uint32_t *out) EMU_MUST_CHECK;
enum emu_status object_add_word(struct lowering *w, uint32_t object, uint32_t value) EMU_MUST_CHECK;

/* ---- lower_step.c ---- */
/* The string of an owner of memory or of an operation that was made in a scope. */
enum emu_status lower_owner(struct lowering *w, const char *name, uint32_t scope,
                            uint32_t *owner) EMU_MUST_CHECK;
enum emu_status step_begin(struct lowering *w, const char *name, uint32_t scope,
                           uint32_t *step) EMU_MUST_CHECK;
enum emu_status lower_touch(struct lowering *w, uint32_t object, uint32_t offset, uint32_t bytes,
                            enum phase phase, int write) EMU_MUST_CHECK;
void step_set_op(struct lowering *w, enum phase p, enum op_kind kind, size_t first, size_t count);
enum emu_status step_end(struct lowering *w) EMU_MUST_CHECK;
enum emu_status step_emit(struct lowering *w, uint32_t step, uint64_t groups) EMU_MUST_CHECK;

/* ---- copy_route.c ---- */
/* Makes operations of moves: what crosses tiles in phase `exchange`, what does not in `local`,
 * copies out of buffers in `out`. The list is used up. */
enum emu_status moves_lower(struct lowering *w, struct move_list *m, enum phase exchange,
                            enum phase local, enum phase out) EMU_MUST_CHECK;

/* ---- copy_local.c ---- */
/* Calls of copy codelets for moves within tiles; sorts them. */
enum emu_status copy_calls_build(struct lowering *w, struct move_list *m,
                                 enum phase phase) EMU_MUST_CHECK;

/* ---- copy_messages.c ---- */
/* Sorts by target and joins neighbours that are contiguous on both sides. */
enum emu_status moves_coalesce(struct move_list *m) EMU_MUST_CHECK;
/* An exchange for moves of whole words between tiles; sorts them. */
enum emu_status transfers_build(struct lowering *w, struct move_list *m,
                                enum phase phase) EMU_MUST_CHECK;

/* ---- lower_vertices.c ---- */
/* The step of a compute set, made when asked for first; LOWERED_NONE: it has no vertices. */
enum emu_status edges_step(struct lowering *w, uint32_t compute_set, uint32_t *step) EMU_MUST_CHECK;

/* ---- vertex_state.c ---- */
/* A tensor of an edge field of a vertex, and where its codelet will find it. */
struct edge {
    uint32_t field;
    uint32_t first, pieces; /* in lowering.piece */
    uint32_t bytes, elements;
    uint32_t object, offset; /* LOWERED_NONE while unknown, or without elements */
    uint8_t direct;
};
/* The state of a call: field holds the entries of its codelet's fields, or is NULL for a codelet of
 * edges and lengths only. Edges are in the order of fields. */
enum emu_status vertex_state_build(struct lowering *w, const struct codelet *c, uint32_t tile,
                                   const struct vertex_field *field, const struct edge *edge,
                                   size_t edges, uint32_t owner, uint32_t *state) EMU_MUST_CHECK;

/* Adds a call with such a state. */
enum emu_status call_add(struct lowering *w, const struct codelet *c, uint32_t tile,
                         uint32_t state) EMU_MUST_CHECK;

/* ---- copy_merge.c ---- */
/* Steps for the copies that wait in w->copy, in order, several in one where they do not depend. */
enum emu_status copies_flush(struct lowering *w, uint64_t groups) EMU_MUST_CHECK;

/* ---- host_steps.c ---- */
/* begins: the transfer is not awaited. EMU_BAD_PROGRAM for one that begins into a tile's pieces. */
enum emu_status host_step(struct lowering *w, uint32_t stream, uint32_t view, int begins,
                          uint32_t *step) EMU_MUST_CHECK;
/* Waits for what such a step has begun. */
enum emu_status host_await_step(struct lowering *w, uint32_t stream, uint32_t view,
                                uint32_t *step) EMU_MUST_CHECK;

/* ---- predicates.c ---- */
/* A step that brings the predicate of an if or while to all tiles of the groups and ends with the
 * branch `kind`. */
enum emu_status predicate_step(struct lowering *w, const struct node *n, enum op_kind kind,
                               uint64_t groups, uint32_t *step) EMU_MUST_CHECK;

/* ---- liveness.c ---- */
enum emu_status liveness_build(struct lowering *w) EMU_MUST_CHECK;

/* ---- index_table.c ---- */
/* Calls for the numbers of a hash: start with *probe = 0; 0: no more. */
int index_table_next(const struct index_table *t, uint64_t hash, uint32_t *probe, uint32_t *index);
enum emu_status index_table_add(struct index_table *t, uint64_t hash,
                                uint32_t index) EMU_MUST_CHECK;
void index_table_clear(struct index_table *t);
void index_table_free(struct index_table *t);

/* ---- key_sort.c ---- */
/* Sorts records by `words` (1 or 2) 32-bit words that begin at byte `key` of each, the first
 * counting more; stable, so sorting by a second key and then a first one sorts by both.
 * EMU_NO_MEMORY only. */
enum emu_status lower_sort(void *at, size_t count, size_t size, size_t key,
                           unsigned words) EMU_MUST_CHECK;
#define LOWER_SORT(list, type, member, words)                                                      \
    lower_sort((list)->at, (list)->count, sizeof(type), offsetof(type, member), words)

static inline uint32_t round_down(uint32_t n, uint32_t unit)
{
    return n & ~(unit - 1);
}

static inline uint32_t round_up(uint32_t n, uint32_t unit)
{
    return (n + unit - 1) & ~(unit - 1);
}

static inline struct object *lower_object(const struct lowering *w, uint32_t object)
{
    return &w->l->object.at[object];
}

#endif
