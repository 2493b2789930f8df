/* record.h - a compact record of what every superstep cost on every tile.
 *
 * For each superstep of a group, the distinct costs of tiles (struct tile_step) are stored once,
 * with a 16-bit index per tile: a superstep in which all tiles do the same takes a few bytes per
 * tile.
 */
#ifndef EMU_RECORD_H
#define EMU_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "emu/base/fail.h"
#include "emu/bsp/zone.h"
#include "emu/exchange/exchange.h"

/* One tile in one superstep of its group; cycles are tile clock cycles. exchange + link + compute +
 * wait = end - release, on every tile: a tile that has voted ahead for the sync that ends the
 * superstep continues its own work across that sync, and each superstep is charged with the part of
 * the work that falls into it, exchange first. */
struct tile_step {
    uint32_t exchange_cycles; /* release to the end of RECV; waits at later RECVs */
    uint32_t link_cycles;     /* waits at RECVs for words of other chips */
    uint32_t compute_cycles;  /* the rest up to the arrival at the next sync */
    uint32_t wait_cycles;     /* arrival to the next release */
    uint32_t words_in, words_out;
    uint32_t arrival_cycles; /* release to the arrival at the sync, or to the vote for it */
};

struct record_step {
    unsigned group;
    uint64_t index;        /* superstep of the group, from 0 */
    uint64_t release;      /* cycle in which its group was released last; 0: the beginning */
    uint64_t end;          /* cycle of the next release; at the end of a run, of the last arrival */
    uint32_t tiles;        /* of the group */
    enum sync_scope scope; /* whom the sync joins that ends it */
    uint32_t sync_cycles;  /* from the last arrival of all tiles of the chip that the sync joins, to
                              end; 0 at the end of a run */
    uint64_t host_cycles;  /* between two runs: from the end of the superstep before to release,
                              spent by the host */
    uint32_t tile, pc; /* where the sync that began it stands, on one of the tiles that waited in
                          it; at the beginning, where that tile starts */
    uint32_t exchange; /* what was exchanged: record_exchange_at(); 0: nothing, or it is not kept.
                          Groups that exchange together have the same one */
};

/* An exchange: who sent to whom, and per tile, [tiles], the messages received and sent. Borrowed
 * from the record. */
struct record_exchange {
    size_t pairs;
    const struct exchange_pair *pair; /* ascending by to, then by from; NULL: packed in list */
    const void *list;                 /* as in struct exchange_phase */
    size_t list_bytes;
    uint64_t words; /* of all pairs */
    const uint32_t *messages_in, *messages_out;
};

struct record;

struct record_options {
    int exchanges;     /* keep who sends to whom; the same of several exchanges is kept once */
    size_t supersteps; /* keep so many, and count the others (record_left_out()); 0: keep all */
    uint32_t stage;    /* chip of the image whose program is recorded */
};

/* o: NULL for none of them. */
enum emu_status record_new(uint32_t tiles, const struct record_options *o,
                           struct record **out) EMU_MUST_CHECK;
void record_free(struct record *r);

/* Adds one superstep. tile[k] is the logical number of step[k], ascending. */
enum emu_status record_add(struct record *r, const struct record_step *s, const uint32_t *tile,
                           const struct tile_step *step) EMU_MUST_CHECK;

size_t record_count(const struct record *r);
const struct record_step *record_at(const struct record *r, size_t i);
/* Cost of a tile in superstep i; all zero when it took no part. */
struct tile_step record_tile(const struct record *r, size_t i, uint32_t tile);
/* Cost of the k-th tile of superstep i, k < tiles, and its logical number. */
struct tile_step record_tile_at(const struct record *r, size_t i, uint32_t k, uint32_t *tile);
/* Whether a tile took part in superstep i. */
int record_has_tile(const struct record *r, size_t i, uint32_t tile);
size_t record_bytes(const struct record *r); /* memory held */
uint32_t record_stage(const struct record *r);

/* Supersteps that came after the last one that is kept. */
uint64_t record_left_out(const struct record *r);
/* Whether exchanges are wanted, now: the record may be full. */
int record_wants_exchanges(const struct record *r);
/* Keeps an exchange with its pairs. *id: for record_step.exchange; 0 when nobody sent anything. */
enum emu_status record_add_exchange(struct record *r, const struct exchange_phase *p,
                                    uint32_t *id) EMU_MUST_CHECK;
size_t record_exchange_count(const struct record *r);
/* 0 < id <= record_exchange_count(r). */
struct record_exchange record_exchange_at(const struct record *r, uint32_t id);

#endif
