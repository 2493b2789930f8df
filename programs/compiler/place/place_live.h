/* place_live.h - which live sets meet, that is, have a step in common.
 *
 * A program with few enough live sets gets a table of all pairs. Otherwise two sets are compared
 * whenever the question comes up, their first and last steps before their ranges.
 */
#ifndef PROGRAMS_PLACE_LIVE_H
#define PROGRAMS_PLACE_LIVE_H

#include "programs/compiler/lower/lowered.h"

struct live_span {
    uint32_t first, last; /* steps [first, last); empty sets: first >= last */
};

struct live_table {
    const struct lowered *l; /* borrowed */
    struct live_span *span;  /* by set; owned */
    uint64_t *meets;         /* sets x row words, a bit per set; NULL: too many sets; owned */
    size_t row;              /* words of a row */
};

/* l is borrowed. EMU_NO_MEMORY only. Free with live_table_free, also on failure. */
enum emu_status live_table_init(struct live_table *t, const struct lowered *l,
                                int threads) EMU_MUST_CHECK;
void live_table_free(struct live_table *t);
/* Compares two sets without the table. */
int live_ranges_meet(const struct live_table *t, uint32_t a, uint32_t b);

/* One set, to be compared with many. */
struct live_row {
    const struct live_table *t;
    const uint64_t *bits; /* a bit per set; NULL without a table */
    uint32_t set;
};

static inline struct live_row live_table_row(const struct live_table *t, uint32_t set)
{
    return (struct live_row){ t, t->meets ? t->meets + set * t->row : NULL, set };
}

/* Whether two sets share a step. Set 0 meets every other. */
static inline int live_row_meets(const struct live_row *r, uint32_t other)
{
    if (r->bits)
        return (int)(r->bits[other / 64] >> other % 64 & 1);
    return live_ranges_meet(r->t, r->set, other);
}

static inline int live_table_meet(const struct live_table *t, uint32_t a, uint32_t b)
{
    const struct live_row row = live_table_row(t, a);

    return live_row_meets(&row, b);
}

/* Objects by tile, those of a tile in the order of their numbers: object[first[t] .. first[t + 1]]
 * of index t in used_tile. first: used_tiles + 1 entries that are 0. */
void live_list_objects(const struct lowered *l, size_t *first, uint32_t *object);

/* Bytes in use on a tile. change[step]: bytes that come into use with a step, less those that go
 * out of it; one more than there are steps. live_add() adds an object's, live_peak() says how many
 * are in use at the fullest moment, and at which step that is. */
void live_add(const struct lowered *l, uint32_t set, uint32_t bytes, int64_t *change);
uint64_t live_peak(const struct lowered *l, const int64_t *change, uint32_t *step);

#endif
