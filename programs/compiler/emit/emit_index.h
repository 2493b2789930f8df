/* emit_index.h - what all tiles share while their code is written: where constructs end, which tile
 * has a part in which step, how many syncs a construct makes, how deep loops lie.
 */
#ifndef PROGRAMS_EMIT_INDEX_H
#define PROGRAMS_EMIT_INDEX_H

#include "programs/compiler/emit/emit.h"

/* A tile's part in a step. STEP_CALLS, STEP_HOST, STEP_AWAIT, STEP_CHIPS: entries [first, first +
 * count) of the list of the program. STEP_EXCHANGE: entry `first` of the step's schedule; count 0:
 * the tile only joins the sync, and must not vote ahead for it. */
struct step_part {
    uint32_t step;
    uint32_t first, count;
};

/* The number of syncs that a group's tiles make in a construct in which they have no part. */
enum {
    VOTES_UNKNOWN =
        -1,        /* depends on data, or wider than the group: the tile must walk through it */
    VOTES_MAX = 16 /* as many as are written one by one; more count as unknown, and the tile walks
                      through the construct */
};

/* Zones of `sync` besides those of the tile, docs/exchange.md 5. */
enum { SYNC_CHIP = 4, SYNC_REPLICA = 5, SYNC_POD = 6 };

enum { EMIT_GROUPS = 64 };

struct emit_index {
    const struct emit_input *in;
    const struct lowered *l;
    const struct arch *arch;
    struct prog_arena arena; /* owns all arrays */
    uint32_t *order;         /* functions, callees first */
    uint32_t *depth;         /* by function: the most loops with counters around a call of it */
    uint32_t levels;         /* the most nested loops with counters in the whole program */
    uint32_t *call_step;     /* steps STEP_CALL, ascending */
    uint32_t call_steps;
    int32_t *votes[EMIT_GROUPS]; /* by group, step; NULL for groups that have no tiles */
    int32_t *function_votes[EMIT_GROUPS];
    uint32_t
        leader[EMIT_GROUPS]; /* index in used_tile: the tile that waits when no tile has a part */
    uint32_t *part_first;    /* by index in used_tile, and one more */
    struct step_part *part;  /* of each tile ascending by step */
    uint32_t *object_first;  /* by index in used_tile, and one more */
    uint32_t *object;        /* objects of each tile, ascending */
};

/* Errors: EMU_BAD_PROGRAM for recursion, and for an exchange of several but not all groups;
 * EMU_NO_MEMORY. in is borrowed. Free with emit_index_free, also on
 * failure. */
enum emu_status emit_index_init(const struct emit_input *in, struct emit_index *out) EMU_MUST_CHECK;
void emit_index_free(struct emit_index *p);

/* Zone of the sync of an exchange, of chips too, or a host step. */
int emit_index_zone(const struct emit_index *p, const struct step *step);
/* The part of a tile (index in used_tile) in a step; NULL: none. */
const struct step_part *emit_index_part(const struct emit_index *p, uint32_t tile, uint32_t step);
/* The first part of a tile in steps [first, end); NULL: none. */
const struct step_part *emit_index_first_part(const struct emit_index *p, uint32_t tile,
                                              uint32_t first, uint32_t end);
/* The number of syncs in steps [first, end) for the tiles of a group, or VOTES_UNKNOWN. */
int32_t emit_index_votes(const struct emit_index *p, unsigned group, uint32_t first, uint32_t end);
/* The sync group of a tile. */
unsigned emit_index_group(const struct emit_index *p, uint32_t tile);

#endif
