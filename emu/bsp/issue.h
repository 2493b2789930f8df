/* issue.h - issues one item for a group of workers: fetch, fast or plain functions, order of the
 * halves. Private to emu/bsp.
 *
 * The two halves of a bundle may run one after the other for all lanes, since only the main half
 * touches memory and only the aux half the accumulators; the decoder has chosen an order in which
 * neither sees the other's results.
 */
#ifndef EMU_ISSUE_H
#define EMU_ISSUE_H

#include "emu/bsp/barrel.h"
#include "emu/fast/fast_rows.h"

/* What a group of workers at one address does in one round. */
struct issue {
    uint32_t lanes, pc;
    uint64_t round;
    int pcs_set; /* t->pc[] and t->npc[] hold pc and the address after the item */
};

/* Writes an address, and the one after it, to the lanes. */
static inline void issue_set_pcs(struct tile *t, uint32_t lanes, uint32_t pc, uint32_t npc)
{
    fast_store(t->pc, lanes, fast_splat(pc));
    fast_store(t->npc, lanes, fast_splat(npc));
}

static inline void issue_prepare_plain(struct tile *t, struct issue *is, const struct code_slot *s)
{
    if (!is->pcs_set)
        issue_set_pcs(t, is->lanes, is->pc, is->pc + s->bytes);
    is->pcs_set = 1;
}

/* Records the fault of the lane that issues first. Returns NULL. */
const struct code_slot *issue_fetch_fault(const struct barrel *b, struct tile *t,
                                          const struct issue *is, enum fault kind,
                                          const char *detail);
const struct code_slot *issue_fetch_first(const struct barrel *b, struct tile *t,
                                          const struct issue *is);

/* The decoded slot of a group, or NULL after recording a fault. */
static inline const struct code_slot *issue_fetch(const struct barrel *b, struct tile *t,
                                                  const struct issue *is)
{
    uint32_t off = is->pc - t->mem_base;
    const struct code_slot *s;

    if (EMU_UNLIKELY(off >= t->region0_bytes || (is->pc & 3) || !t->page[off >> CODE_PAGE_BITS]))
        return issue_fetch_first(b, t, is);
    s = &t->page[off >> CODE_PAGE_BITS]->slot[off / 4 % CODE_PAGE_WORDS];
    if (EMU_UNLIKELY(s->invalid != NULL))
        return issue_fetch_fault(b, t, is, (enum fault)s->invalid_fault, s->invalid);
    return s;
}

/* Halves for all lanes, plainly and in slot order. */
void issue_main_plainly(const struct barrel *b, struct tile *t, struct issue *is,
                        const struct code_slot *s);
void issue_aux_plainly(const struct barrel *b, struct tile *t, struct issue *is,
                       const struct code_slot *s);

static inline void issue_main(const struct barrel *b, struct tile *t, struct issue *is,
                              const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_main(t, is->lanes, &s->main)))
        issue_main_plainly(b, t, is, s);
}

static inline void issue_aux(const struct barrel *b, struct tile *t, struct issue *is,
                             const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_aux(t, is->lanes, &s->aux)))
        issue_aux_plainly(b, t, is, s);
}

/* A bundle whose halves each write what the other one reads. */
void issue_swapped(const struct barrel *b, struct tile *t, struct issue *is,
                   const struct code_slot *s);

/* Executes an item that is neither control nor system. */
static inline void issue_straight(const struct barrel *b, struct tile *t, struct issue *is,
                                  const struct code_slot *s)
{
    if (s->order == ORDER_SINGLE) {
        issue_main(b, t, is, s);
    } else if (s->order == ORDER_AUX_FIRST) {
        issue_aux(b, t, is, s);
        issue_main(b, t, is, s);
    } else if (s->order == ORDER_MAIN_FIRST) {
        issue_main(b, t, is, s);
        issue_aux(b, t, is, s);
    } else {
        issue_swapped(b, t, is, s);
    }
}

/* Executes any item, plainly if the barrel wants that. Afterwards t->npc is valid where s->flags is
 * not 0, else it is pc + bytes. */
void issue_item(const struct barrel *b, struct tile *t, struct issue *is,
                const struct code_slot *s);

#endif
