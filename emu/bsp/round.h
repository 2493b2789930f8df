/* round.h - the workers' side of the barrel: rounds of six cycles in which every due worker issues
 * once. Private to emu/bsp. */
#ifndef EMU_ROUND_H
#define EMU_ROUND_H

#include "emu/arch/arch_numbers.h"
#include "emu/bsp/barrel.h"

/* A worker has issued its exit in that cycle: it holds its slot for one more turn. */
static inline void round_exit(struct barrel *b, const struct arch *arch, unsigned lane,
                              uint64_t cycle)
{
    b->freed[lane] = cycle + TILE_WORKERS;
    if (b->all_free < b->freed[lane])
        b->all_free = b->freed[lane];
    if (b->exit_seen < cycle + arch_exit_seen_cycles(arch))
        b->exit_seen = cycle + arch_exit_seen_cycles(arch);
}

/* Start of the round that contains a cycle at or after the first launch. */
static inline uint64_t round_start(const struct barrel *b, uint64_t cycle)
{
    return cycle - (cycle + TILE_WORKERS - b->phase) % TILE_WORKERS;
}

/* Issues one item of one worker at its own cycle b->next[lane]. */
void round_issue_lane(struct barrel *b, struct tile *t, unsigned lane);

/* Runs rounds in which nothing but the workers can issue. Stops after the round in which a worker
 * exits or faults, or when none issues before max_cycle. */
void round_run(struct barrel *b, struct tile *t, uint64_t max_cycle);

/* The same for workers of which none reads what another one writes, while nothing else issues and
 * nothing comes from outside: runs each of them to its exit, some far ahead of others. After a
 * fault, which is the one that round_run() finds, some have gone on beyond its cycle. If workers do
 * not exit before max_cycle, they stop within a round of it. */
void round_run_freely(struct barrel *b, struct tile *t, uint64_t max_cycle);

#endif
