/* exchange_known.h - what is known of the exchanges of a run (exchange_part.h), for who looks
 * ahead.
 */
#ifndef EMU_EXCHANGE_KNOWN_H
#define EMU_EXCHANGE_KNOWN_H

#include "emu/exchange/exchange.h"

/* With what the tiles of a phase begin it. */
struct exchange_beginning {
    uint32_t exchange; /* the number of the exchange of which they begin parts; 0: of none */
    uint32_t parts;    /* tiles that begin with a part */
    uint32_t others;   /* tiles that begin with anything else */
    uint32_t events;   /* of the longest part */
    int is_mixed;      /* a tile has begun already */
    size_t at;         /* in the parts of the exchange, where the next tile is looked for */
};

/* Adds a tile, right after its exchange_begin(); best in ascending order. is_idle: nothing is under
 * way on it, so that it may go on after the code of a part. A part of another exchange than that of
 * the tiles before it counts as anything else, and its code will be executed. */
void exchange_beginning_add(struct exchange *x, struct exchange_beginning *b, const struct tile *t,
                            int is_idle);
/* The part with whose code a tile has begun, until it is taken: whoever takes it goes on after the
 * code. NULL: none. */
const struct exchange_part *exchange_first_part(const struct exchange *x, uint32_t tile);
const struct exchange_part *exchange_take_first(struct exchange *x, uint32_t tile);
/* Whether the phase is the exchange b->exchange, if the other tiles are silent. */
int exchange_beginning_is_known(const struct exchange *x, const struct exchange_beginning *b);
/* Takes that for the outcome of the phase, which is then not resolved. Returns who sends to whom in
 * it, borrowed until the next phase; NULL without options.pairs. */
const struct exchange_phase *exchange_believe(struct exchange *x,
                                              const struct exchange_beginning *b);
/* Whether a tile has neither sent nor listened in its phase. */
static inline int exchange_is_silent(const struct exchange_log *log)
{
    return !(log->open || log->sends || log->muxes || log->pics);
}

/* Fetches the part to which a tile probably comes next into the host's caches. */
void exchange_prefetch_part(struct exchange *x, uint32_t tile);
/* The address of the code that the tile probably executes next: its supervisor's, or, where the
 * code of a known part begins there, the one after it. */
uint32_t exchange_next_code(struct exchange *x, uint32_t tile, const struct tile *t);

#endif
