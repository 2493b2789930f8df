/* issue.c - the parts of issue.h that are rarely needed or plain. */
#include "emu/bsp/issue.h"

#include "emu/bsp/round.h"
#include "emu/exec/exec.h"

/* The lane of a group that issues first. */
static unsigned first_lane(const struct barrel *b, uint32_t lanes)
{
    uint32_t early = lanes & ~((1u << b->phase) - 1);

    return (unsigned)__builtin_ctz(early ? early : lanes);
}

const struct code_slot *issue_fetch_fault(const struct barrel *b, struct tile *t,
                                          const struct issue_group *g, enum fault kind,
                                          const char *detail)
{
    unsigned lane = first_lane(b, g->lanes);

    issue_set_pcs(t, g->lanes, g->pc, g->pc);
    t->cycle = b->next[lane] + (g->round - g->start);
    tile_fault(t, lane, kind, g->pc, detail);
    return NULL;
}

const struct code_slot *issue_fetch_first(const struct barrel *b, struct tile *t,
                                          const struct issue_group *g)
{
    if (g->pc - t->mem_base >= t->region0_bytes || (g->pc & 3))
        return issue_fetch_fault(b, t, g, FAULT_INVALID_PC,
                                 "not an aligned address in executable memory");
    if (!code_page_get(b->cache, t, g->pc))
        return issue_fetch_fault(b, t, g, FAULT_MEMERR,
                                 "the host has no memory left to decode code");
    return issue_fetch(b, t, g);
}

static void half_plain(const struct barrel *b, struct tile *t, uint32_t lanes,
                       const struct issue_group *g, const struct code_slot *s,
                       const struct insn *in)
{
    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = (b->phase + k) % TILE_WORKERS;

        if (!(lanes >> lane & 1))
            continue;
        t->cycle = issue_cycle(b, g, s, lane);
        exec_table[in->op](t, lane, in);
    }
}

/* Control and system items have been prepared by issue_item(), and may have chosen an address. */
static void prepare(struct tile *t, uint32_t lanes, const struct issue_group *g,
                    const struct code_slot *s)
{
    uint32_t pc = issue_pc(g, s);

    if (!s->flags)
        issue_set_pcs(t, lanes, pc, pc + s->bytes);
}

void issue_main_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                        const struct issue_group *g, const struct code_slot *s)
{
    prepare(t, lanes, g, s);
    half_plain(b, t, lanes, g, s, &s->main);
}

void issue_aux_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                       const struct issue_group *g, const struct code_slot *s)
{
    prepare(t, lanes, g, s);
    t->in_aux = 1;
    half_plain(b, t, lanes, g, s, &s->aux);
    t->in_aux = 0;
}

void issue_main_kept_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                             const struct issue_group *g, const struct code_slot *s, v8u low,
                             v8u high)
{
    unsigned r = s->main.s;
    v8u new_low = fast_a(t, r), new_high = fast_a(t, r + 1);

    memcpy(t->a[r], &low, sizeof(low));
    memcpy(t->a[r + 1], &high, sizeof(high));
    issue_main_plainly(b, t, lanes, g, s);
    memcpy(t->a[r], &new_low, sizeof(new_low));
    memcpy(t->a[r + 1], &new_high, sizeof(new_high));
}

void issue_swapped(const struct barrel *b, struct tile *t, uint32_t lanes,
                   const struct issue_group *g, const struct code_slot *s)
{
    v8u old[4], new[4];

    for (unsigned k = 0; k < s->swap_count; k++)
        old[k] = fast_a(t, s->swap[k]);
    issue_aux(b, t, lanes, g, s);
    for (unsigned k = 0; k < s->swap_count; k++) {
        new[k] = fast_a(t, s->swap[k]);
        memcpy(t->a[s->swap[k]], &old[k], sizeof(old[k]));
    }
    issue_main(b, t, lanes, g, s);
    for (unsigned k = 0; k < s->swap_count; k++)
        memcpy(t->a[s->swap[k]], &new[k], sizeof(new[k]));
}

/* The reference: every lane on its own, both halves together. */
static void item_plainly(const struct barrel *b, struct tile *t, uint32_t lanes,
                         const struct issue_group *g, const struct code_slot *s)
{
    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = (b->phase + k) % TILE_WORKERS;

        if (!(lanes >> lane & 1))
            continue;
        t->cycle = issue_cycle(b, g, s, lane);
        if (b->options.trace_issue)
            b->options.trace_issue(b->options.trace_ctx, t, lane, t->cycle, &s->main,
                                   s->is_bundle ? &s->aux : NULL);
        if (t->check)
            exec_checked(t, lane, &s->main, s->is_bundle ? &s->aux : NULL);
        else if (s->is_bundle)
            exec_bundle(t, lane, &s->main, &s->aux);
        else
            exec_table[s->main.op](t, lane, &s->main);
    }
}

void issue_item(const struct barrel *b, struct tile *t, uint32_t lanes, const struct issue_group *g,
                const struct code_slot *s)
{
    uint32_t pc = issue_pc(g, s);

    issue_set_pcs(t, lanes, pc, pc + s->bytes);
    if (b->plain)
        item_plainly(b, t, lanes, g, s);
    else
        issue_straight(b, t, lanes, g, s);
}
