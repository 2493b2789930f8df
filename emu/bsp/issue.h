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

/* Workers at one address and in one repeat body, or in none, that are due in one round. Address,
 * round and counters are those of the item `from`: straight code after it is issued first and
 * counted when it ends (round.c). */
struct issue_group {
    uint32_t lanes, pc;           /* pc: of the item */
    uint64_t round;               /* in which it is issued: its first cycle */
    const struct code_slot *from; /* the item */
    uint64_t start;               /* first round: the slots issued are the rounds since */
    uint64_t instructions;        /* not yet added to the lanes' counters */
    uint32_t first, end;          /* the repeat body */
    uint32_t turns;               /* that all lanes still want, this one included; 0: no repeat */
    uint32_t turned;              /* how many of them are done, but not yet in t->rpt_count[] */
    uint32_t meet;                /* address at which others wait to join, or UINT32_MAX */
    /* The straight code ahead, by group_ahead(). */
    const struct code_slot *at, *tail; /* the next item, and the one after the last */
    /* That at `first`, and what a turn counts; NULL if this page has not all the body. */
    const struct code_slot *head;
    uint32_t body_cycles, body_instructions;
    struct code_page *const *seat; /* where the tile keeps the page, and what it kept there */
    const struct code_page *page;
};

/* Address and round of an item that straight code of the group leads to. */
static inline uint32_t issue_pc(const struct issue_group *g, const struct code_slot *s)
{
    return g->pc + (uint32_t)(s - g->from) * 4;
}

static inline uint64_t issue_round(const struct issue_group *g, const struct code_slot *s)
{
    return g->round + (uint64_t)(g->from->straight_slots - s->straight_slots) * TILE_WORKERS;
}

/* The cycle in which a lane of the group issues it. Each lane has its own clock: workers that run
 * at their own pace (round_run_freely()) meet at an address in different rounds. */
static inline uint64_t issue_cycle(const struct barrel *b, const struct issue_group *g,
                                   const struct code_slot *s, unsigned lane)
{
    return b->next[lane] + (issue_round(g, s) - g->start);
}

/* Writes an address, and the one after it, to the lanes. */
static inline void issue_set_pcs(struct tile *t, uint32_t lanes, uint32_t pc, uint32_t npc)
{
    fast_store(t->pc, lanes, fast_splat(pc));
    fast_store(t->npc, lanes, fast_splat(npc));
}

/* Records the fault of the lane that issues first. Returns NULL. */
const struct code_slot *issue_fetch_fault(const struct barrel *b, struct tile *t,
                                          const struct issue_group *g, enum fault kind,
                                          const char *detail);
const struct code_slot *issue_fetch_first(const struct barrel *b, struct tile *t,
                                          const struct issue_group *g);

/* The decoded slot of a group at g->pc, or NULL after recording a fault. */
static inline const struct code_slot *issue_fetch(const struct barrel *b, struct tile *t,
                                                  const struct issue_group *g)
{
    const struct code_slot *s = code_slot_at(t, g->pc);

    if (EMU_UNLIKELY(!s))
        return issue_fetch_first(b, t, g);
    if (EMU_UNLIKELY(s->invalid != NULL))
        return issue_fetch_fault(b, t, g, (enum fault)s->invalid_fault, s->invalid);
    return s;
}

/* In the functions below s is an item that straight code of the group leads to, `lanes` some or all
 * workers of the group. */

/* Halves for the lanes, plainly and in slot order. */
void issue_main_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                        const struct issue_group *g, const struct code_slot *s);
void issue_aux_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                       const struct issue_group *g, const struct code_slot *s);

static inline void issue_main(const struct barrel *b, struct tile *t, uint32_t lanes,
                              const struct issue_group *g, const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_main(t, lanes, &s->main)))
        issue_main_plainly(b, t, lanes, g, s);
}

static inline void issue_aux(const struct barrel *b, struct tile *t, uint32_t lanes,
                             const struct issue_group *g, const struct code_slot *s)
{
    if (EMU_UNLIKELY(!s->fast_aux(t, lanes, &s->aux)))
        issue_aux_plainly(b, t, lanes, g, s);
}

/* A main half that is to store what the lanes had in its source before the bundle. */
void issue_main_kept_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                             const struct issue_group *g, const struct code_slot *s, v8u low,
                             v8u high);

static inline void issue_main_kept(const struct barrel *b, struct tile *t, uint32_t lanes,
                                   const struct issue_group *g, const struct code_slot *s, v8u low,
                                   v8u high)
{
    if (EMU_UNLIKELY(!s->fast_put(t, lanes, &s->main, low, high)))
        issue_main_kept_plainly(b, t, lanes, g, s, low, high);
}

/* A bundle whose halves each write what the other one reads. */
void issue_swapped(const struct barrel *b, struct tile *t, uint32_t lanes,
                   const struct issue_group *g, const struct code_slot *s);

/* Executes an item that is neither control nor system. */
static inline void issue_straight(const struct barrel *b, struct tile *t, uint32_t lanes,
                                  const struct issue_group *g, const struct code_slot *s)
{
    if (s->order == ORDER_SINGLE) {
        issue_main(b, t, lanes, g, s);
    } else if (s->order == ORDER_AUX_FIRST) {
        issue_aux(b, t, lanes, g, s);
        issue_main(b, t, lanes, g, s);
    } else if (s->order == ORDER_MAIN_FIRST) {
        issue_main(b, t, lanes, g, s);
        issue_aux(b, t, lanes, g, s);
    } else if (s->order == ORDER_KEEP) {
        v8u low = fast_a(t, s->main.s), high = fast_a(t, s->main.s + 1u);

        issue_aux(b, t, lanes, g, s);
        issue_main_kept(b, t, lanes, g, s, low, high);
    } else {
        issue_swapped(b, t, lanes, g, s);
    }
}

/* Executes any item, plainly if the barrel wants that. Afterwards t->npc has the lanes' next
 * addresses. */
void issue_item(const struct barrel *b, struct tile *t, uint32_t lanes, const struct issue_group *g,
                const struct code_slot *s);

#endif
