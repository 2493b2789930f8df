/* replay.h - what calls of worker code cost: measured once, then reused (docs/timing_engine.md).
 *
 * A site is the address of an instruction that launches workers, or calls code that does. Its key
 * says what it costs: all launches from a site up to the next site, the return of the call or the
 * next sync beyond the tile use as many issue slots as those from any other site with this key. The
 * first tile that comes to a key runs its workers and notes their slots; for later ones the workers
 * are virtual: barrel.c gives them their slots without executing anything.
 *
 * What is kept of workers are issue slots, never cycles. The supervisor's own part of a call, from
 * its entry to its return, is a function of the key and of the state in which barrel.c enters it:
 * if nothing is under way, that is the slot of its first cycle. So what the tile does in a call is
 * kept for each of the six slots, and later calls from that slot are not executed at all.
 *
 * Nothing that is kept depends on the tile that measured it, so neither do results on threads.
 */
#ifndef EMU_REPLAY_H
#define EMU_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#include "emu/tile/tile.h"

struct barrel;

struct replay_key {
    uint32_t addr; /* of the site; ascending */
    uint64_t key;  /* REPLAY_RARE: the site is a branch on a register that is usually 0 */
};
enum { REPLAY_RARE = 1 };

/* What the workers of one launch do. */
struct replay_launch {
    uint32_t slots[TILE_WORKERS];        /* from the first issue to that of the exit */
    uint32_t issued[TILE_WORKERS];       /* the same with the slots of the exit */
    uint32_t instructions[TILE_WORKERS]; /* executed */
};

/* What a tile does in a call, from the cycle in which the supervisor may issue its first
 * instruction to the one in which it may issue the first after its return. */
struct replay_call {
    uint64_t cycles;
    uint64_t issued[TILE_LANES], instructions[TILE_LANES]; /* as in struct barrel */
};

struct replay;      /* what is known of all keys of a machine */
struct replay_tile; /* where a tile stands; one thread at a time */

struct replay_counts {
    size_t sites, keys;
    uint64_t measured, reused; /* calls whose workers ran, or were virtual or not launched */
    uint64_t skipped;          /* of the reused ones, those that were not executed at all */
};

/* For `tiles` tiles. Errors: EMU_NO_MEMORY. */
enum emu_status replay_new(uint32_t tiles, struct replay **out) EMU_MUST_CHECK;
void replay_free(struct replay *r);
/* Gives a tile its n sites; before the run, once, from one thread. */
enum emu_status replay_add(struct replay *r, uint32_t tile, const struct replay_key *key,
                           size_t n) EMU_MUST_CHECK;
/* Borrowed from r; NULL for a tile without sites. */
struct replay_tile *replay_of(struct replay *r, uint32_t tile);
struct replay_counts replay_counts(const struct replay *r);

/* The supervisor has issued at pc an instruction that launches or calls. Returns whether that is a
 * site. */
int replay_enter(struct replay_tile *t, const struct barrel *b, uint32_t pc);
/* Whether the branch at pc is one on a register that is usually 0. */
int replay_is_rare(struct replay_tile *t, uint32_t pc);
/* It has launched `workers`, a bit for each, whose first issues are in cycles b->next[]: what they
 * cost; NULL when they have to run. */
const struct replay_launch *replay_take(struct replay_tile *t, const struct barrel *b,
                                        uint8_t workers);
/* It has called code from the site just entered and may issue the first instruction of it in
 * b->cycle, with nothing under way; `back` is the address after the call. What the call does; then
 * it is over. NULL when it has to be executed. */
const struct replay_call *replay_skip(struct replay_tile *t, const struct barrel *b, uint32_t back);
/* Whether the address is where a call returns to that is being measured. */
int replay_returns(const struct replay_tile *t, uint32_t pc);
/* It has returned there. quiet: nothing is under way. */
void replay_return(struct replay_tile *t, const struct barrel *b, int quiet);
/* The tile syncs with others: a call that was measured is complete. */
void replay_end(struct replay_tile *t, const struct barrel *b);

#endif
