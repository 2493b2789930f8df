/* issue.h - issues one item for a group of workers: fetch, fast or plain functions, order of the
 * halves. Private to emu/bsp.
 *
 * The two halves of a bundle may run one after the other for all lanes, since only the main half
 * touches memory and only the aux half the accumulators; the decoder has chosen an order in which
 * neither sees the other's results.
 *
 * lanes are those of a group of workers at the address pc, due in the round that starts at cycle
 * `round`. They are arguments of their own, so that nothing of them has to be kept in memory.
 */
#ifndef EMU_ISSUE_H
#define EMU_ISSUE_H

#include "emu/bsp/barrel.h"
#include "emu/fast/fast_rows.h"

/* Writes an address, and the one after it, to the lanes. */
static inline void issue_set_pcs(struct tile *t, uint32_t lanes, uint32_t pc, uint32_t npc)
{
    fast_store(t->pc, lanes, fast_splat(pc));
    fast_store(t->npc, lanes, fast_splat(npc));
}

/* Records the fault of the lane that issues first. Returns NULL. */
const struct code_slot *issue_fetch_fault(const struct barrel *b, struct tile *t, uint32_t lanes,
                                          uint32_t pc, uint64_t round, enum fault kind,
                                          const char *detail);
const struct code_slot *issue_fetch_first(const struct barrel *b, struct tile *t, uint32_t lanes,
                                          uint32_t pc, uint64_t round);

/* The decoded slot of a group, or NULL after recording a fault. */
static inline const struct code_slot *issue_fetch(const struct barrel *b, struct tile *t,
                                                  uint32_t lanes, uint32_t pc, uint64_t round)
{
    uint32_t off = pc - t->mem_base;
    const struct code_slot *s;

    if (EMU_UNLIKELY(off >= t->region0_bytes || (pc & 3) || !t->page[off >> CODE_PAGE_BITS]))
        return issue_fetch_first(b, t, lanes, pc, round);
    s = &t->page[off >> CODE_PAGE_BITS]->slot[off / 4 % CODE_PAGE_WORDS];
    if (EMU_UNLIKELY(s->invalid != NULL))
        return issue_fetch_fault(b, t, lanes, pc, round, (enum fault)s->invalid_fault, s->invalid);
    return s;
}

/* Halves for all lanes, plainly and in slot order. */
void issue_main_plainly(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                        uint64_t round, const struct code_slot *s);
void issue_aux_plainly(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                       uint64_t round, const struct code_slot *s);

static inline void issue_main(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                              uint64_t round, const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_main(t, lanes, &s->main)))
        issue_main_plainly(b, t, lanes, pc, round, s);
}

static inline void issue_aux(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                             uint64_t round, const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_aux(t, lanes, &s->aux)))
        issue_aux_plainly(b, t, lanes, pc, round, s);
}

/* A bundle whose halves each write what the other one reads. */
void issue_swapped(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                   uint64_t round, const struct code_slot *s);

/* Executes an item that is neither control nor system. */
static inline void issue_straight(const struct barrel *b, struct tile *t, uint32_t lanes,
                                  uint32_t pc, uint64_t round, const struct code_slot *s)
{
    if (s->order == ORDER_SINGLE) {
        issue_main(b, t, lanes, pc, round, s);
    } else if (s->order == ORDER_AUX_FIRST) {
        issue_aux(b, t, lanes, pc, round, s);
        issue_main(b, t, lanes, pc, round, s);
    } else if (s->order == ORDER_MAIN_FIRST) {
        issue_main(b, t, lanes, pc, round, s);
        issue_aux(b, t, lanes, pc, round, s);
    } else {
        issue_swapped(b, t, lanes, pc, round, s);
    }
}

/* Executes any item, plainly if the barrel wants that. Afterwards t->npc has the lanes' next
 * addresses. */
void issue_item(const struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc, uint64_t round,
                const struct code_slot *s);

#endif
