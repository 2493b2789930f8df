/* round.c - worker issue: groups of workers at the same PC share one fetch and, where it exists,
 * one fast function.
 *
 * A round is six cycles beginning at b->phase; each running worker issues at most once in it, in
 * slot order. A fault stops the tile at the end of its round. The two halves of a bundle may run
 * one after the other for all lanes, since only the main half touches memory and only the aux half
 * the accumulators; the decoder has chosen an order in which neither sees the other's results.
 */
#include "emu/bsp/round.h"

#include "emu/fast/fast_rows.h"
#include "emu/exec/exec.h"

/* What a group of workers does in one round. */
struct issue {
    uint32_t lanes, pc;
    uint64_t round;
    int pcs_set;
};

static void set_pcs(struct tile *t, uint32_t lanes, uint32_t pc, uint32_t npc)
{
    v8u zero = { 0 };

    fast_store(t->pc, lanes, zero + pc);
    fast_store(t->npc, lanes, zero + npc);
}

/* The lane of a group that issues first. */
static unsigned first_lane(const struct barrel *b, uint32_t lanes)
{
    uint32_t early = lanes & ~((1u << b->phase) - 1);

    return (unsigned)__builtin_ctz(early ? early : lanes);
}

static const struct code_slot *fetch_fault(struct barrel *b, struct tile *t, const struct issue *is,
                                           enum fault kind, const char *detail)
{
    unsigned lane = first_lane(b, is->lanes);

    set_pcs(t, is->lanes, is->pc, is->pc);
    t->cycle = is->round + round_offset(b, lane);
    tile_fault(t, lane, kind, is->pc, detail);
    return NULL;
}

/* The decoded slot of a group, or NULL after recording the fault of the lane that issues first. */
static inline const struct code_slot *fetch(struct barrel *b, struct tile *t,
                                            const struct issue *is)
{
    uint32_t off = is->pc - t->mem_base;
    const struct code_page *page;
    const struct code_slot *s;

    if (EMU_UNLIKELY(off >= t->region0_bytes || (is->pc & 3)))
        return fetch_fault(b, t, is, FAULT_INVALID_PC,
                           "not an aligned address in executable memory");
    page = t->page[off >> CODE_PAGE_BITS];
    if (EMU_UNLIKELY(!page)) {
        page = code_page_get(b->cache, t, is->pc);
        if (!page)
            return fetch_fault(b, t, is, FAULT_MEMERR,
                               "the host has no memory left to decode code");
    }
    s = &page->slot[off / 4 % CODE_PAGE_WORDS];
    if (EMU_UNLIKELY(s->invalid != NULL))
        return fetch_fault(b, t, is, (enum fault)s->invalid_fault, s->invalid);
    return s;
}

/* One half for all lanes, plainly and in slot order. */
static void half_plain(struct barrel *b, struct tile *t, uint32_t lanes, uint64_t round,
                       const struct insn *in)
{
    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = (b->phase + k) % TILE_WORKERS;

        if (!(lanes >> lane & 1))
            continue;
        t->cycle = round + k;
        exec_table[in->op](t, lane, in);
    }
}

static void prepare_plain(struct tile *t, struct issue *is, const struct code_slot *s)
{
    if (!is->pcs_set)
        set_pcs(t, is->lanes, is->pc, is->pc + s->bytes);
    is->pcs_set = 1;
}

static inline void run_main(struct barrel *b, struct tile *t, struct issue *is,
                            const struct code_slot *s)
{
    if (s->fast_main && s->fast_main(t, is->lanes, &s->main))
        return;
    prepare_plain(t, is, s);
    half_plain(b, t, is->lanes, is->round, &s->main);
}

static inline void run_aux(struct barrel *b, struct tile *t, struct issue *is,
                           const struct code_slot *s)
{
    if (s->fast_aux && s->fast_aux(t, is->lanes, &s->aux))
        return;
    prepare_plain(t, is, s);
    t->in_aux = 1;
    half_plain(b, t, is->lanes, is->round, &s->aux);
    t->in_aux = 0;
}

static void run_swapped(struct barrel *b, struct tile *t, struct issue *is,
                        const struct code_slot *s)
{
    v8u old[4], new[4];

    for (unsigned k = 0; k < s->swap_count; k++)
        old[k] = fast_a(t, s->swap[k]);
    run_aux(b, t, is, s);
    for (unsigned k = 0; k < s->swap_count; k++) {
        new[k] = fast_a(t, s->swap[k]);
        memcpy(t->a[s->swap[k]], &old[k], sizeof(old[k]));
    }
    run_main(b, t, is, s);
    for (unsigned k = 0; k < s->swap_count; k++)
        memcpy(t->a[s->swap[k]], &new[k], sizeof(new[k]));
}

/* The reference: every lane on its own, both halves together. */
static void issue_plain(struct barrel *b, struct tile *t, struct issue *is,
                        const struct code_slot *s)
{
    prepare_plain(t, is, s);
    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = (b->phase + k) % TILE_WORKERS;

        if (!(is->lanes >> lane & 1))
            continue;
        t->cycle = is->round + k;
        if (b->options.trace_issue)
            b->options.trace_issue(b->options.trace_ctx, t, lane, t->cycle, &s->main,
                                   s->is_bundle ? &s->aux : NULL);
        if (s->is_bundle)
            exec_bundle(t, lane, &s->main, &s->aux);
        else
            exec_table[s->main.op](t, lane, &s->main);
    }
}

/* Executes one item for a group. Afterwards t->npc is valid where s->flags is not 0, else it is pc
 * + bytes. */
static inline void issue(struct barrel *b, struct tile *t, struct issue *is,
                         const struct code_slot *s)
{
    if (EMU_UNLIKELY(b->plain)) {
        issue_plain(b, t, is, s);
        return;
    }
    if (s->flags)
        prepare_plain(t, is, s);
    if (!s->is_bundle) {
        run_main(b, t, is, s);
    } else if (EMU_LIKELY(s->order == ORDER_AUX_FIRST)) {
        run_aux(b, t, is, s);
        run_main(b, t, is, s);
    } else if (s->order == ORDER_MAIN_FIRST) {
        run_main(b, t, is, s);
        run_aux(b, t, is, s);
    } else {
        run_swapped(b, t, is, s);
    }
}

static int repeating(const struct tile *t, uint32_t lanes)
{
    v8u zero = { 0 };

    return fast_any((v8u)(fast_load(t->rpt_count) != zero), lanes);
}

/* A repeat body holds bundles without control or system instructions. */
static int body_allows(const struct code_slot *s)
{
    return s->is_bundle && !(s->flags & (INSN_CONTROL | INSN_SYSTEM));
}

static const char not_in_body[] = "not allowed in a repeat body";

static void take_exits(struct barrel *b, struct tile *t, uint64_t round)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        uint64_t cycle = round + round_offset(b, lane);

        if (!(t->exited >> lane & 1))
            continue;
        b->running &= (uint8_t) ~(1u << lane);
        b->freed[lane] = cycle + TILE_WORKERS;
        if (b->all_free < b->freed[lane])
            b->all_free = b->freed[lane];
        if (b->exit_seen < cycle + t->arch->exit_seen_cycles)
            b->exit_seen = cycle + t->arch->exit_seen_cycles;
    }
    t->exited = 0;
}

/* Where the lane goes next: the branch target, the head of its repeat body, or simply on. */
static void advance_lane(struct tile *t, unsigned lane)
{
    uint32_t npc = t->npc[lane];

    if (t->rpt_count[lane] && npc == t->rpt_end[lane] && --t->rpt_count[lane])
        npc = t->rpt_first[lane];
    t->pc[lane] = npc;
}

static void issue_group(struct barrel *b, struct tile *t, uint32_t lanes, uint32_t pc,
                        uint64_t round)
{
    struct issue is = { lanes, pc, round, 0 };
    const struct code_slot *s = fetch(b, t, &is);

    if (!s)
        return;
    if (!body_allows(s) && repeating(t, lanes)) {
        fetch_fault(b, t, &is, FAULT_INVALID_INSTR, not_in_body);
        return;
    }
    prepare_plain(t, &is, s);
    issue(b, t, &is, s);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        b->issued[lane] += s->slots;
        b->instructions[lane] += s->instructions;
        b->next[lane] += (uint64_t)s->slots * TILE_WORKERS;
        advance_lane(t, lane);
    }
    if (t->exited)
        take_exits(b, t, round);
}

void round_issue_lane(struct barrel *b, struct tile *t, unsigned lane)
{
    issue_group(b, t, 1u << lane, t->pc[lane], round_start(b, b->next[lane]));
}

void round_run(struct barrel *b, struct tile *t, uint64_t round)
{
    uint32_t due = 0;
    unsigned k = 0;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (b->running >> lane & 1 && b->next[lane] < round + TILE_WORKERS)
            due |= 1u << lane;
    }
    while (due) {
        uint32_t lanes = 0, pc = 0, repeats = 0;

        for (; k < TILE_WORKERS; k++) {
            unsigned lane = (b->phase + k) % TILE_WORKERS;

            if (!(due >> lane & 1))
                continue;
            if (lanes && (t->pc[lane] != pc || !t->rpt_count[lane] != !repeats))
                break;
            pc = t->pc[lane];
            repeats = t->rpt_count[lane];
            lanes |= 1u << lane;
        }
        due &= ~lanes;
        issue_group(b, t, lanes, pc, round);
    }
}

/* --- lock step: what all running workers do together
 * ------------------------------------------------------------------- */

struct lockstep {
    struct issue is;       /* where all lanes are; pc is void when parted */
    uint64_t start;        /* first round: the slots issued are the rounds since */
    uint64_t instructions; /* not yet added to the lanes' counters */
    int repeating;         /* inside a repeat body that is the same for all lanes */
    int parted;            /* t->pc[] has the lanes' own addresses */
};

/* All lanes repeat one body (1), none repeats (0), or they do not agree (-1). */
static int common_body(const struct tile *t, uint32_t lanes)
{
    unsigned lead = (unsigned)__builtin_ctz(lanes);
    v8u zero = { 0 }, count = fast_load(t->rpt_count);

    if (!fast_any((v8u)(count != zero), lanes))
        return 0;
    if (fast_any((v8u)(count == zero), lanes) ||
        fast_any((v8u)(fast_load(t->rpt_end) != zero + t->rpt_end[lead]), lanes) ||
        fast_any((v8u)(fast_load(t->rpt_first) != zero + t->rpt_first[lead]), lanes))
        return -1;
    return 1;
}

/* Whether all running workers are at one PC, due in one round and agree on the repeat they are in.
 */
static int lockstep_form(const struct barrel *b, const struct tile *t, struct lockstep *c)
{
    unsigned lead;
    int body;

    if (!b->running)
        return 0;
    lead = (unsigned)__builtin_ctz(b->running);
    for (unsigned lane = lead; lane < TILE_WORKERS; lane++) {
        if ((b->running >> lane & 1) &&
            (t->pc[lane] != t->pc[lead] ||
             round_start(b, b->next[lane]) != round_start(b, b->next[lead])))
            return 0;
    }
    body = common_body(t, b->running);
    *c = (struct lockstep){ .is = { b->running, t->pc[lead], round_start(b, b->next[lead]), 0 },
                            .repeating = body > 0 };
    c->start = c->is.round;
    return body >= 0;
}

/* Writes the group's clock, counters and address back to its lanes. */
static void lockstep_leave(struct barrel *b, struct tile *t, const struct lockstep *c)
{
    if (!c->parted)
        set_pcs(t, c->is.lanes, c->is.pc, c->is.pc);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(c->is.lanes >> lane & 1))
            continue;
        b->next[lane] = c->is.round + round_offset(b, lane);
        b->issued[lane] += (c->is.round - c->start) / TILE_WORKERS;
        b->instructions[lane] += c->instructions;
    }
}

/* Issues the item at the group's address and counts it; the address is left to the caller. */
static inline void lockstep_issue(struct barrel *b, struct tile *t, struct lockstep *c,
                                  const struct code_slot *s)
{
    c->is.pcs_set = 0;
    issue(b, t, &c->is, s);
    c->instructions += s->instructions;
    c->is.round += (uint64_t)s->slots * TILE_WORKERS;
}

/* The body from the group's address to its end. Returns 0 when the group stops inside it. */
static int repeat_once(struct barrel *b, struct tile *t, struct lockstep *c, uint32_t end,
                       uint64_t max_cycle)
{
    while (c->is.pc != end) {
        const struct code_slot *s;

        if (EMU_UNLIKELY(t->fault.kind || c->is.round >= max_cycle))
            return 0;
        s = fetch(b, t, &c->is);
        if (EMU_UNLIKELY(!s))
            return 0;
        if (EMU_UNLIKELY(!body_allows(s))) {
            fetch_fault(b, t, &c->is, FAULT_INVALID_INSTR, not_in_body);
            return 0;
        }
        lockstep_issue(b, t, c, s);
        c->is.pc += 8;
    }
    return 1;
}

/* Runs the repeat body as often as every lane wants it. Returns 0 when the group ends here: it
 * stopped inside the body, or some lanes go on repeating while others are done. */
static int lockstep_repeat(struct barrel *b, struct tile *t, struct lockstep *c, uint64_t max_cycle)
{
    unsigned lead = (unsigned)__builtin_ctz(c->is.lanes);
    uint32_t first = t->rpt_first[lead], end = t->rpt_end[lead], least = UINT32_MAX, done = 0;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if ((c->is.lanes >> lane & 1) && t->rpt_count[lane] < least)
            least = t->rpt_count[lane];
    }
    while (done < least && repeat_once(b, t, c, end, max_cycle)) {
        done++;
        c->is.pc = first;
    }
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(c->is.lanes >> lane & 1))
            continue;
        t->rpt_count[lane] -= done;
        t->pc[lane] = t->rpt_count[lane] ? c->is.pc : end;
    }
    c->repeating = 0;
    if (done < least || repeating(t, c->is.lanes)) {
        c->parted = 1;
        return 0;
    }
    c->is.pc = end;
    return 1;
}

/* After a control or system instruction: take the lanes' own next addresses. Returns 0 when the
 * group ends here. */
static int lockstep_follow(struct tile *t, struct lockstep *c)
{
    v8u zero = { 0 }, npc = fast_load(t->npc);
    int body;

    fast_store(t->pc, c->is.lanes, npc);
    c->is.pc = t->npc[__builtin_ctz(c->is.lanes)];
    if (fast_any((v8u)(npc != zero + c->is.pc), c->is.lanes)) {
        c->parted = 1;
        return 0;
    }
    body = common_body(t, c->is.lanes);
    c->repeating = body > 0;
    return body >= 0;
}

/* One item, or one whole repeat. Returns 0 when the group ends after it. */
static inline int lockstep_step(struct barrel *b, struct tile *t, struct lockstep *c,
                                uint64_t max_cycle)
{
    const struct code_slot *s;
    uint64_t round = c->is.round;

    if (c->repeating)
        return lockstep_repeat(b, t, c, max_cycle);
    s = fetch(b, t, &c->is);
    if (EMU_UNLIKELY(!s))
        return 0;
    lockstep_issue(b, t, c, s);
    if (EMU_LIKELY(!s->flags)) {
        c->is.pc += s->bytes;
        return !t->fault.kind;
    }
    if (EMU_UNLIKELY(t->exited)) {
        lockstep_follow(t, c);
        c->parted = 1;
        lockstep_leave(b, t, c);
        take_exits(b, t, round);
        c->is.lanes = 0;
        return 0;
    }
    return lockstep_follow(t, c) && !t->fault.kind;
}

void round_run_lockstep(struct barrel *b, struct tile *t, uint64_t max_cycle)
{
    struct lockstep c;

    if (!lockstep_form(b, t, &c))
        return;
    while (c.is.round < max_cycle && lockstep_step(b, t, &c, max_cycle))
        ;
    lockstep_leave(b, t, &c);
}
