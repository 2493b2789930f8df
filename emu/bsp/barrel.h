/* barrel.h - time on one tile: six issue slots, six workers, the supervisor in the slots that no
 * worker owns.
 *
 * All rules of docs/timing.md that concern a tile are in barrel.c; the functions that execute
 * instructions know nothing about time.
 */
#ifndef EMU_BARREL_H
#define EMU_BARREL_H

#include "emu/bsp/code.h"
#include "emu/bsp/code_word.h"

struct barrel_options {
    int plain; /* 1: only the plain exec_ functions. Same results; for tests, as a reference */
    /* If not NULL, called for every issue, in order; aux is NULL for a lone instruction. Tracing
     * uses the plain functions. */
    void (*trace_issue)(void *ctx, const struct tile *t, unsigned lane, uint64_t cycle,
                        const struct insn *main, const struct insn *aux);
    void *trace_ctx;
};

struct replay_tile;

enum { BARREL_NEVER_HALT = 1 /* no address of an instruction */ };

enum barrel_stop {
    BARREL_FAULT, /* t->fault says why. If a worker faulted, the others have completed that round of
                     six cycles */
    BARREL_SYNC,  /* the supervisor issued a sync other than LOCAL; t->sync_zone has it, b->cycle is
                     its issue cycle */
    BARREL_HALT,  /* the supervisor is about to issue at stop_pc, at b->cycle */
    BARREL_LIMIT  /* max_cycle was reached */
};

/* Issue state of one tile. Plain data; zero is not a valid state, use barrel_init. */
struct barrel {
    struct barrel_options options;
    int plain;   /* options.plain is set, or tracing or checking needs plain functions */
    int watched; /* somebody is to be shown every issue of the supervisor */
    struct code_cache *cache;   /* borrowed */
    struct code_word *words;    /* borrowed from the cache: the table of the thread that runs the
                                   tile */
    struct replay_tile *replay; /* borrowed; NULL: every worker runs */
    /* Instructions that launch workers, or call code that does, of which none reads what another
     * one of its launch writes: borrowed; ascending addresses. */
    const uint32_t *site;
    size_t sites, next_site; /* next_site: after the one found last */
    uint64_t undisturbed; /* nothing comes from outside and nobody looks before this cycle: workers
                             may go on to it, whatever max_cycle barrel_run() is given */
    uint64_t turn;        /* but not beyond this cycle, nor is max_cycle: others get their turn */
    uint32_t back; /* address to which the running call from a site returns, or BARREL_NEVER_HALT */
    int free_pace; /* all running workers were launched from sites */

    uint64_t cycle;         /* first cycle in which the supervisor may issue its next instruction */
    uint64_t reg_ready[16]; /* cycle from which a supervisor register can be read */
    uint64_t exit_seen;     /* cycle at which the supervisor has seen the latest exit */
    uint64_t launch_cycle;  /* issue cycle of the first run, runall or call since barrel_init;
                               UINT64_MAX before */
    int waiting;            /* the supervisor sits in sync LOCAL */
    uint64_t wait_cycle;    /* issue cycle of that sync */

    uint64_t next[TILE_WORKERS];  /* cycle of a running worker's next issue */
    uint8_t running;              /* bit n: worker n owns its slot */
    uint64_t freed[TILE_WORKERS]; /* cycle from which the supervisor may use the slot of a stopped
                                     worker */
    uint64_t all_free;            /* the latest of freed[] */
    unsigned phase;               /* slot in which a round of six cycles begins */

    uint64_t issued[TILE_LANES]; /* issue slots used, per lane (supervisor: instructions issued) */
    uint64_t instructions[TILE_LANES]; /* instructions executed; a bundle counts 2 */
};

/* A tile whose supervisor issues first at `cycle`. cache is borrowed and may serve many tiles; a
 * thread other than the first sets b->words to its own table before it runs the tile. */
void barrel_init(struct barrel *b, struct code_cache *cache, const struct barrel_options *options,
                 uint64_t cycle);

/* Runs until something outside the tile is needed. stop_pc: where to halt; max_cycle is absolute.
 *
 * The supervisor starts at t->pc[LANE_SUPER]. After BARREL_SYNC the caller sets b->cycle to the
 * cycle of release and calls again. */
enum barrel_stop barrel_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle);

/* No context issues before this cycle. barrel_run compares it with max_cycle. */
uint64_t barrel_clock(const struct barrel *b);

#endif
