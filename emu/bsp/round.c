/* round.c - rounds of the workers. Workers at the same PC are a group and share one fetch and,
 * where it exists, one fast function.
 *
 * A round is six cycles beginning at b->phase; each running worker issues at most once in it, in
 * slot order. All items of a round are fetched before the first is executed. A fault stops the tile
 * at the end of its round.
 *
 * Three ways give the same: one round with all it needs (one_round); a single group, item after
 * item (lockstep); and several groups, each in straight code, for as many rounds as all of them
 * have ahead (run_apart).
 */
#include "emu/bsp/round.h"

#include "emu/bsp/issue.h"

/* All workers that are due in a round. */
struct formation {
    struct issue_group group[TILE_WORKERS];
    unsigned groups;
    struct span { /* neighbours in slot order of one group */
        uint32_t lanes;
        struct issue_group *group;
    } span[TILE_WORKERS];
    unsigned spans;
};

static const char not_in_body[] = "not allowed in a repeat body";

/* A repeat body holds bundles without control or system instructions. */
static int body_allows(const struct code_slot *s)
{
    return s->is_bundle && !(s->flags & (INSN_CONTROL | INSN_SYSTEM));
}

/* Of lanes that have issued their exit so many cycles after what b->next[] says. */
static void take_exits(struct barrel *b, struct tile *t, uint64_t after)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(t->exited >> lane & 1))
            continue;
        b->running &= (uint8_t) ~(1u << lane);
        round_exit(b, t->arch, lane, b->next[lane] + after);
    }
    t->exited = 0;
}

/* --- groups ------------------------------------------------------------------------------- */

/* Reads what the lanes repeat. */
static void group_take_body(const struct tile *t, struct issue_group *g)
{
    unsigned lead = (unsigned)__builtin_ctz(g->lanes);

    g->turns = t->rpt_count[lead];
    if (!g->turns)
        return;
    g->first = t->rpt_first[lead];
    g->end = t->rpt_end[lead];
    for (unsigned lane = lead + 1; lane < TILE_WORKERS; lane++) {
        if ((g->lanes >> lane & 1) && t->rpt_count[lane] < g->turns)
            g->turns = t->rpt_count[lane];
    }
}

/* Counts an item that decides itself where to go on. */
static inline void group_count(struct issue_group *g, const struct code_slot *s)
{
    g->instructions += s->instructions;
    g->round += (uint64_t)s->slots * TILE_WORKERS;
}

/* Counts the straight code up to the next item. */
static inline void group_move(struct issue_group *g)
{
    g->pc = issue_pc(g, g->at);
    g->round = issue_round(g, g->at);
    g->instructions += (uint16_t)(g->from->straight_instructions - g->at->straight_instructions);
    g->from = g->at;
}

/* At the tail: goes back to the head of a body that ends here. Returns 0 when the code ahead ends.
 */
static inline int group_turn(struct issue_group *g)
{
    if (EMU_LIKELY(g->from == g->head)) { /* a whole turn */
        g->round += g->body_cycles;
        g->instructions += g->body_instructions;
    } else {
        group_move(g);
        if (!g->turns || g->pc != g->end)
            return 0;
        g->pc = g->first;
        g->from = g->head;
    }
    g->turned++;
    g->at = g->head;
    return g->head && g->turned < g->turns;
}

/* Gives the lanes their addresses and counts of iterations. Returns 0 when the group ends here:
 * some lanes go on repeating while others are done. */
static int group_settle(struct tile *t, struct issue_group *g)
{
    v8u pc = fast_splat(g->pc), left, done;

    if (!g->turned) {
        fast_store(t->pc, g->lanes, pc);
        return 1;
    }
    left = fast_load(t->rpt_count) - g->turned;
    done = (v8u)(left == 0);
    fast_store(t->rpt_count, g->lanes, left);
    fast_store(t->pc, g->lanes, (done & g->end) | (pc & ~done));
    g->turns -= g->turned;
    g->turned = 0;
    if (g->turns)
        return 1;
    g->pc = g->end;
    return !fast_any(~done, g->lanes);
}

/* Gives the lanes their clock and counters. */
static void group_leave(struct barrel *b, const struct issue_group *g)
{
    for (uint32_t lanes = g->lanes; lanes; lanes &= lanes - 1) {
        unsigned lane = (unsigned)__builtin_ctz(lanes);

        b->next[lane] += g->round - g->start;
        b->issued[lane] += (g->round - g->start) / TILE_WORKERS;
        b->instructions[lane] += g->instructions;
    }
}

/* group_ahead() inside a repeat body. */
static uint64_t body_ahead(struct issue_group *g)
{
    uint32_t left = (g->end - g->pc) / ISA_BUNDLE_BYTES, back = (g->pc - g->first) / 4;

    if (g->at->bundles < left) {
        g->tail = g->at + (size_t)2 * g->at->bundles;
        return g->at->bundles;
    }
    g->tail = g->at + (size_t)2 * left;
    if (back > (size_t)(g->at - g->page->slot) || (g->at - back)->bundles < left + back / 2)
        return left;
    g->head = g->at - back;
    g->body_cycles = TILE_WORKERS * (g->head->straight_slots - g->tail->straight_slots);
    g->body_instructions = 2 * (left + back / 2);
    return left + (g->turns - 1) * (uint64_t)(left + back / 2);
}

/* How many items, from s at the group's address on, are straight code within the page: iterations
 * that all lanes want count, too. */
static inline uint64_t group_ahead(const struct tile *t, struct issue_group *g,
                                   const struct code_slot *s)
{
    g->from = g->at = s;
    g->head = NULL;
    g->tail = s + s->straight_words;
    g->seat = &t->page[(g->pc - t->mem_base) >> CODE_PAGE_BITS];
    g->page = *g->seat;
    if (g->turns)
        return body_ahead(g);
    if (EMU_UNLIKELY(g->meet - g->pc < s->straight_words * 4u))
        g->tail = s + (g->meet - g->pc) / 4;
    return s->straight;
}

/* The lanes of a mask that are where one of them is: same address, same repeat body or none. */
static uint32_t lanes_like(const struct tile *t, uint32_t lanes, unsigned lane)
{
    const v8u repeats = (v8u)(fast_load(t->rpt_count) != 0);
    const v8u first = fast_load(t->rpt_first) & repeats, end = fast_load(t->rpt_end) & repeats;
    const v8u pc = fast_load(t->pc);
    v8u like = (v8u)(pc == pc[lane]) & (v8u)(repeats == repeats[lane]) &
               (v8u)(first == first[lane]) & (v8u)(end == end[lane]);

    return lanes & (uint32_t)_mm256_movemask_ps((__m256)like);
}

/* Divides the workers of a mask, all due in one round, into groups. */
static void form(const struct barrel *b, const struct tile *t, uint64_t round, uint32_t due,
                 struct formation *f)
{
    struct issue_group *of[TILE_WORKERS], *last = NULL;
    uint32_t rest = due;

    f->groups = f->spans = 0;
    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = (b->phase + k) % TILE_WORKERS;

        if (!(due >> lane & 1))
            continue;
        if (rest >> lane & 1) {
            struct issue_group *g = &f->group[f->groups++];

            g->lanes = lanes_like(t, rest, lane);
            g->pc = t->pc[lane];
            g->round = round;
            g->start = round;
            g->instructions = 0;
            g->turned = 0;
            g->meet = UINT32_MAX;
            group_take_body(t, g);
            rest &= ~g->lanes;
            for (uint32_t l = g->lanes; l; l &= l - 1)
                of[__builtin_ctz(l)] = g;
        }
        if (of[lane] != last)
            f->span[f->spans++] = (struct span){ 0, of[lane] };
        last = of[lane];
        f->span[f->spans - 1].lanes |= 1u << lane;
    }
}

/* --- one round ---------------------------------------------------------------------------- */

/* Where the lanes go next: the branch target, the head of a repeat body, or simply on. */
static void advance_lanes(struct tile *t, uint32_t lanes)
{
    const v8u npc = fast_load(t->npc), count = fast_load(t->rpt_count);
    v8u at_end = (v8u)(count != 0) & (v8u)(npc == fast_load(t->rpt_end));
    v8u again = at_end & (v8u)(count != 1);

    fast_store(t->rpt_count, lanes, count + at_end);
    fast_store(t->pc, lanes, (fast_load(t->rpt_first) & again) | (npc & ~again));
}

/* The next item, or NULL after a fault. */
static inline const struct code_slot *group_fetch(const struct barrel *b, struct tile *t,
                                                  const struct issue_group *g)
{
    const struct code_slot *s = issue_fetch(b, t, g);

    if (s && g->turns && !body_allows(s))
        return issue_fetch_fault(b, t, g, FAULT_INVALID_INSTR, not_in_body);
    return s;
}

static void one_round(struct barrel *b, struct tile *t, struct formation *f)
{
    for (unsigned i = 0; i < f->groups; i++)
        f->group[i].from = group_fetch(b, t, &f->group[i]);
    for (unsigned i = 0; i < f->spans; i++) {
        const struct issue_group *g = f->span[i].group;

        if (g->from)
            issue_item(b, t, f->span[i].lanes, g, g->from);
    }
    if (t->exited)
        take_exits(b, t, 0);
    for (unsigned i = 0; i < f->groups; i++) {
        struct issue_group *g = &f->group[i];

        if (!g->from)
            continue;
        group_count(g, g->from);
        group_leave(b, g);
        advance_lanes(t, g->lanes);
    }
}

void round_issue_lane(struct barrel *b, struct tile *t, unsigned lane)
{
    struct formation f;

    form(b, t, round_start(b, b->next[lane]), 1u << lane, &f);
    one_round(b, t, &f);
}

/* --- a single group: what all running workers do together --------------------------------- */

/* How far the straight code goes before max_cycle: to the tail, or by one item. */
static const struct code_slot *lockstep_end(const struct issue_group *g, uint64_t max_cycle)
{
    return issue_round(g, g->tail) <= max_cycle ? g->tail : code_slot_after(g->at);
}

/* Straight code: up to the tail, as often as the body turns. */
static int lockstep_stretch(const struct barrel *b, struct tile *t, struct issue_group *g,
                            uint64_t max_cycle)
{
    const uint32_t lanes = g->lanes;
    struct code_page *const *const seat = g->seat;
    const struct code_page *const page = g->page;
    int as_before;

    do {
        const struct code_slot *s = g->at, *end = lockstep_end(g, max_cycle);

        do {
            issue_straight(b, t, lanes, g, s);
            s = code_slot_after(s);
            as_before = !t->fault.kind && *seat == page;
        } while (s < end && as_before);
        g->at = s;
        if (s >= g->tail && !group_turn(g))
            break;
        group_move(g);
    } while (as_before && g->round < max_cycle);
    return group_settle(t, g) && !t->fault.kind;
}

/* After a control or system instruction: take the lanes' own next addresses. Returns 0 when the
 * group ends here. */
static int lockstep_follow(struct tile *t, struct issue_group *g)
{
    v8u npc = fast_load(t->npc), count = fast_load(t->rpt_count);
    unsigned lead = (unsigned)__builtin_ctz(g->lanes);

    fast_store(t->pc, g->lanes, npc);
    g->pc = t->npc[lead];
    if (fast_any((v8u)(npc != g->pc), g->lanes))
        return 0;
    if (EMU_LIKELY(!fast_any(count, g->lanes)))
        return 1;
    group_take_body(t, g);
    return lanes_like(t, g->lanes, lead) == g->lanes;
}

/* One item of any kind. Returns 0 when the group ends after it. */
static int lockstep_item(const struct barrel *b, struct tile *t, struct issue_group *g,
                         const struct code_slot *s)
{
    g->from = s;
    issue_item(b, t, g->lanes, g, s);
    group_count(g, s);
    if (!s->flags) {
        g->pc += s->bytes;
        if (g->turns && g->pc == g->end) {
            g->turned++;
            g->pc = g->first;
        }
        return group_settle(t, g) && !t->fault.kind;
    }
    return lockstep_follow(t, g) && !t->exited && !t->fault.kind;
}

static void lockstep(struct barrel *b, struct tile *t, struct issue_group *g, uint64_t max_cycle)
{
    uint64_t round;
    int together, straight;

    do {
        const struct code_slot *s = group_fetch(b, t, g);

        round = g->round;
        if (EMU_UNLIKELY(!s))
            break;
        straight = !b->plain && group_ahead(t, g, s);
        together = straight ? lockstep_stretch(b, t, g, max_cycle) : lockstep_item(b, t, g, s);
    } while (together && g->round < max_cycle && g->pc < g->meet);
    if (t->exited)
        take_exits(b, t, round - g->start);
    group_leave(b, g);
}

/* --- several groups, each in straight code ------------------------------------------------ */

/* What all lanes have in registers that a main half stores, before the round. */
struct kept {
    uint32_t low[TILE_LANES], high[TILE_LANES];
};

static void keep(const struct tile *t, const struct formation *f, struct kept *k)
{
    for (unsigned i = 0; i < f->groups; i++) {
        const struct issue_group *g = &f->group[i];

        if (!g->at->fast_put)
            continue;
        fast_store(k->low, g->lanes, fast_a(t, g->at->main.s));
        fast_store(k->high, g->lanes, fast_a(t, g->at->main.s + 1u));
    }
}

static void auxes(const struct barrel *b, struct tile *t, struct formation *f, int first)
{
    for (unsigned i = 0; i < f->groups; i++) {
        struct issue_group *g = &f->group[i];
        enum bundle_order order = (enum bundle_order)g->at->order;

        if (first ? order == ORDER_AUX_FIRST || order == ORDER_KEEP : order == ORDER_MAIN_FIRST)
            issue_aux(b, t, g->lanes, g, g->at);
    }
}

static int main_of_all(struct tile *t, uint32_t lanes, const struct code_slot *s,
                       const struct kept *k)
{
    if (s->fast_put)
        return s->fast_put(t, lanes, &s->main, fast_load(k->low), fast_load(k->high));
    return s->fast_main(t, lanes, &s->main);
}

static void main_of_span(const struct barrel *b, struct tile *t, uint32_t lanes,
                         const struct issue_group *g, const struct kept *k)
{
    const struct code_slot *s = g->at;

    if (s->order == ORDER_KEEP)
        issue_main_kept(b, t, lanes, g, s, fast_load(k->low), fast_load(k->high));
    else if (s->order == ORDER_SWAP)
        issue_swapped(b, t, lanes, g, s);
    else
        issue_main(b, t, lanes, g, s);
}

/* Main halves in slot order: only they touch memory. Neighbours that execute the same one do so
 * together. */
static void mains(const struct barrel *b, struct tile *t, struct formation *f, const struct kept *k)
{
    for (unsigned i = 0, next; i < f->spans; i = next) {
        const struct issue_group *g = f->span[i].group;
        uint32_t lanes = f->span[i].lanes, word = g->at->main_word;

        for (next = i + 1; next < f->spans; next++) {
            if (!word || f->span[next].group->at->main_word != word)
                break;
            lanes |= f->span[next].lanes;
        }
        if (next > i + 1 && main_of_all(t, lanes, g->at, k))
            continue;
        next = i + 1;
        main_of_span(b, t, f->span[i].lanes, g, k);
    }
}

/* How many rounds the groups can run before one of them leaves its straight code. */
static uint64_t rounds_ahead(const struct barrel *b, struct tile *t, struct formation *f)
{
    uint64_t least = UINT64_MAX;

    if (b->plain)
        return 0;
    for (unsigned i = 0; i < f->groups && least; i++) {
        const struct code_slot *s = code_slot_at(t, f->group[i].pc);
        uint64_t ahead = s ? group_ahead(t, &f->group[i], s) : 0;

        if (ahead < least)
            least = ahead;
    }
    return least;
}

/* Whether the next round is as simple: code as decoded, one issue slot an item. */
static int simple(const struct formation *f)
{
    for (unsigned i = 0; i < f->groups; i++) {
        if (*f->group[i].seat != f->group[i].page || f->group[i].at->slots != 1)
            return 0;
    }
    return 1;
}

static void run_apart(struct barrel *b, struct tile *t, struct formation *f, uint64_t rounds)
{
    struct kept kept = { { 0 }, { 0 } };

    do {
        keep(t, f, &kept);
        auxes(b, t, f, 1);
        mains(b, t, f, &kept);
        auxes(b, t, f, 0);
        for (unsigned i = 0; i < f->groups; i++) {
            struct issue_group *g = &f->group[i];

            g->at = code_slot_after(g->at);
            if (g->at == g->tail)
                group_turn(g);
        }
    } while (--rounds && !t->fault.kind && simple(f));
    for (unsigned i = 0; i < f->groups; i++) {
        struct issue_group *g = &f->group[i];

        if (g->at != g->from)
            group_move(g);
        group_settle(t, g);
        group_leave(b, g);
    }
}

/* --- what the barrel calls ---------------------------------------------------------------- */

/* The cycle in which a running worker issues next. */
static uint64_t next_cycle(const struct barrel *b)
{
    uint64_t least = UINT64_MAX;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if ((b->running >> lane & 1) && b->next[lane] < least)
            least = b->next[lane];
    }
    return least;
}

void round_run(struct barrel *b, struct tile *t, uint64_t max_cycle)
{
    const uint8_t running = b->running;
    uint64_t cycle;

    while (b->running == running && !t->fault.kind && (cycle = next_cycle(b)) < max_cycle) {
        uint64_t round = round_start(b, cycle), rounds;
        uint32_t due = 0;
        struct formation f;

        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            if (running >> lane & 1 && b->next[lane] < round + TILE_WORKERS)
                due |= 1u << lane;
        }
        form(b, t, round, due, &f);
        if (due == running && f.groups == 1) {
            lockstep(b, t, &f.group[0], max_cycle);
            continue;
        }
        rounds = due == running ? rounds_ahead(b, t, &f) : 0;
        if (rounds > (max_cycle - cycle + TILE_WORKERS - 1) / TILE_WORKERS)
            rounds = (max_cycle - cycle + TILE_WORKERS - 1) / TILE_WORKERS;
        if (rounds && simple(&f))
            run_apart(b, t, &f, rounds);
        else
            one_round(b, t, &f);
    }
}

/* --- workers at their own pace ------------------------------------------------------------ */

static uint32_t least_of(v8u v)
{
    __m256i a = (__m256i)v;
    __m128i m = _mm_min_epu32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));

    m = _mm_min_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_min_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(m);
}

/* The running workers at the lowest address: code goes upwards, so the others wait where these will
 * come by, and workers that have parted go on together. */
static void gather_lowest(const struct barrel *b, const struct tile *t, struct issue_group *g)
{
    v8u pc = fast_load(t->pc) | ~fast_mask(b->running);
    uint32_t least = least_of(pc);
    v8u lowest = (v8u)(pc == least);
    unsigned lead = (unsigned)__builtin_ctz((unsigned)_mm256_movemask_ps((__m256)lowest));

    g->lanes = lanes_like(t, b->running, lead);
    g->pc = least;
    g->round = g->start = b->next[lead];
    g->instructions = 0;
    g->turned = 0;
    g->meet = least_of(pc | lowest);
    group_take_body(t, g);
}

/* A worker has faulted: one that is behind may do so earlier. */
static void run_up_to_fault(struct barrel *b, struct tile *t)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        while (b->running >> lane & 1 && t->state[lane] == CONTEXT_ACTIVE &&
               b->next[lane] <= t->fault.cycle)
            round_issue_lane(b, t, lane);
    }
}

void round_run_freely(struct barrel *b, struct tile *t, uint64_t max_cycle)
{
    struct issue_group g;

    while (b->running && !t->fault.kind) {
        gather_lowest(b, t, &g);
        if (EMU_UNLIKELY(g.round >= max_cycle)) {
            round_run(b, t, max_cycle);
            return;
        }
        lockstep(b, t, &g, max_cycle);
    }
    if (t->fault.kind)
        run_up_to_fault(b, t);
}
