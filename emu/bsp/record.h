/* record.h - what every superstep cost on every tile, kept compactly.
 *
 * Per superstep of a group the distinct tuples (exchange, compute, wait, words in, words out) are
 * stored once, and a 16-bit index per tile: a superstep in which all tiles do alike takes a few
 * bytes a tile.
 */
#ifndef EMU_RECORD_H
#define EMU_RECORD_H

#include <stdint.h>
#include <stdio.h>

#include "emu/base/status.h"

/* One tile in one superstep; cycles are tile clock cycles. */
struct tile_step {
    uint32_t exchange_cycles; /* release to the end of RECV; waits at later RECVs */
    uint32_t compute_cycles;  /* the rest up to the arrival at the next sync */
    uint32_t wait_cycles;     /* arrival to the next release */
    uint32_t words_in, words_out;
};

struct record_step {
    unsigned group;
    uint64_t index;   /* superstep of the group, from 0 */
    uint64_t release; /* cycle */
    uint64_t end;     /* cycle of the next release, or of the last arrival at the end of the run */
    uint32_t tiles;   /* of the group that took part */
};

struct record;

enum emu_status record_new(uint32_t tiles, struct record **out) EMU_MUST_CHECK;
void record_free(struct record *r);

/* Adds one superstep. tile[k] is the logical number of step[k], ascending. */
enum emu_status record_add(struct record *r, const struct record_step *s, const uint32_t *tile,
                           const struct tile_step *step) EMU_MUST_CHECK;

size_t record_count(const struct record *r);
const struct record_step *record_at(const struct record *r, size_t i);
/* Cost of a tile in superstep i; all zero when it took no part. */
struct tile_step record_tile(const struct record *r, size_t i, uint32_t tile);
size_t record_bytes(const struct record *r); /* memory held */

/* A table a student can read: per superstep compute mean and maximum with the slowest tile,
 * exchange, h (most words in or out of a tile), wait mean. */
void record_print(const struct record *r, FILE *f);

#endif
