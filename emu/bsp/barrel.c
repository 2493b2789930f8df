/* barrel.c - the rules of time on one tile: which context issues in which cycle, and what the
 * supervisor's instructions cost.
 *
 * Slot n (cycle mod 6) belongs to worker n from the issue of the run or runall that starts it until
 * six cycles after the issue of its exit; in all other slots the supervisor may issue. Numbers come
 * from struct arch; sources in docs/timing.md.
 */
#include "emu/bsp/barrel.h"
#include "emu/arch/arch_numbers.h"
#include "emu/bsp/barrel_ahead.h"
#include "emu/bsp/barrel_trace.h"

#include "emu/bsp/replay.h"
#include "emu/bsp/round.h"
#include "emu/exec/exec.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/exchange_port.h"
#include "emu/tile/tile_check.h"

/* So far from what may disturb them, workers are let go: no launch takes so long. */
enum { LOOK_AHEAD = 16 /* instructions of the supervisor */ };
static const uint64_t FREE_CYCLES = UINT64_C(1) << 28;

void barrel_init(struct barrel *b, struct code_cache *cache, const struct barrel_options *options,
                 uint64_t cycle)
{
    memset(b, 0, sizeof(*b));
    if (options)
        b->options = *options;
    b->cache = cache;
    b->words = code_cache_words(cache, 0);
    b->cycle = cycle;
    b->launch_cycle = UINT64_MAX;
    b->back = BARREL_NEVER_HALT;
    b->turn = UINT64_MAX;
}

/* While all is plain, nobody tells the fast functions of launches. */
void barrel_trace(struct barrel *b, struct tile *t,
                  void (*trace)(void *ctx, const struct tile *t, unsigned lane, uint64_t cycle,
                                const struct insn *main, const struct insn *aux),
                  void *ctx)
{
    b->options.trace_issue = trace;
    b->options.trace_ctx = ctx;
    if (!trace && fast_begin(t))
        fast_begin_rounds(t, (1u << b->phase) - 1);
}

/* Cycles from the issue of a supervisor instruction to the next one that does not wait for its
 * result; of a branch, if it is not taken. */
static uint32_t supervisor_cycles(const struct arch *a, const struct insn *in)
{
    uint32_t events = (uint32_t)in->i + 1; /* one a word, or a waited event */

    switch ((enum insn_cost)isa_op_form(in->op)->cost) {
    case COST_JUMP:
        return arch_sup_branch_cycles(a);
    case COST_PUT:
        return arch_sup_put_cycles(a);
    case COST_PUTCS:
        return arch_sup_putcs_cycles(a);
    case COST_RUN:
        return arch_sup_runall_cycles(a);
    case COST_SEND:
        if ((in->k & SEND_WIDE) && events < arch_host_send_min_events(a))
            return arch_host_send_min_events(a);
        return events;
    case COST_EVENTS:
        return events;
    case COST_BRANCH:
    case COST_ONE:
        break;
    }
    return 1;
}

static const struct code_word *supervisor_fault(struct tile *t, uint64_t cycle, enum fault kind,
                                                const char *detail)
{
    t->cycle = cycle;
    tile_fault(t, LANE_SUPER, kind, t->pc[LANE_SUPER], detail);
    return NULL;
}

/* Decodes an item into its entry. NULL after recording the fault of one that may not be executed
 * where it stands. */
static const struct code_word *supervisor_decode(struct tile *t, uint64_t cycle,
                                                 const uint32_t word[2], struct code_word *w)
{
    const char *invalid = code_word_decode(t->arch, word, w);

    if (t->pc[LANE_SUPER] & w->unaligned)
        return supervisor_fault(t, cycle, FAULT_INVALID_PC,
                                "a two-word instruction must be 8-byte aligned");
    if (invalid)
        return supervisor_fault(t, cycle, FAULT_INVALID_INSTR, invalid);
    w->cycles = supervisor_cycles(t->arch, &w->in);
    return w;
}

/* The supervisor's next instruction, from the table or (plainly) decoded into own, and the address
 * after it. NULL after recording a fault, which comes at `cycle`. The table is not asked for the
 * address: the host can look up the next instruction while it still waits for this one. */
static inline const struct code_word *supervisor_fetch(struct barrel *b, struct tile *t,
                                                       uint64_t cycle, struct code_word *own,
                                                       uint32_t *next)
{
    uint32_t pc = t->pc[LANE_SUPER], off = pc - t->mem_base, word[2] = { 0, 0 };
    struct code_word *w;

    if (EMU_UNLIKELY(off >= t->region0_bytes || pc % 4))
        return supervisor_fault(t, cycle, FAULT_INVALID_PC,
                                "not an aligned address in executable memory");
    memcpy(word, t->mem + off, 4);
    *next = pc + 4;
    if (EMU_UNLIKELY(word[0] >> ISA_BUNDLE_BIT)) {
        *next = pc + 8;
        if (t->region0_bytes - off >= 8)
            memcpy(&word[1], t->mem + off + 4, 4);
    }
    if (EMU_UNLIKELY(b->plain))
        return supervisor_decode(t, cycle, word, own);
    w = code_word_at(b->words, word);
    if (EMU_UNLIKELY(!code_word_holds(w, word, pc)))
        return supervisor_decode(t, cycle, word, w);
    return w;
}

/* The cycle from which all operands can be read, at or after `cycle`. */
static inline uint64_t operands_ready(const struct barrel *b, const struct code_word *w,
                                      uint64_t cycle)
{
    for (uint32_t read = w->read; read; read &= read - 1) {
        uint64_t ready = b->reg_ready[__builtin_ctz(read)];

        if (ready > cycle)
            cycle = ready;
    }
    return cycle;
}

/* Virtual workers hold their slots as if they ran; none of them is in b->running. */
static void skip_workers(struct barrel *b, const struct tile *t, const struct replay_launch *l)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        round_exit(b, t->arch, lane, b->next[lane] + (uint64_t)l->slots[lane] * TILE_WORKERS);
        b->issued[lane] += l->issued[lane];
        b->instructions[lane] += l->instructions[lane];
    }
}

/* Makes virtual workers inactive whose exit was issued before this cycle. */
static void retire_workers(const struct barrel *b, struct tile *t, uint64_t cycle)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (t->state[lane] == CONTEXT_ACTIVE && !(b->running >> lane & 1) &&
            b->freed[lane] < cycle + TILE_WORKERS)
            t->state[lane] = CONTEXT_INACTIVE;
    }
}

static void run_workers(struct barrel *b, struct tile *t)
{
    if (!b->running)
        fast_begin_rounds(t, (1u << b->phase) - 1);
    b->running |= t->launched;
}

/* Gives their slots to the workers that run or runall has started. */
static void take_launches(struct barrel *b, struct tile *t, uint64_t cycle)
{
    uint64_t earliest = cycle + arch_launch_cycles(t->arch);
    const struct replay_launch *known = NULL;

    if (!b->running)
        b->phase = (unsigned)(earliest % TILE_WORKERS);
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(t->launched >> lane & 1))
            continue;
        b->next[lane] =
            earliest + (lane + TILE_WORKERS - (unsigned)(earliest % TILE_WORKERS)) % TILE_WORKERS;
    }
    if (b->replay)
        known = replay_take(b->replay, b, t->launched);
    if (known)
        skip_workers(b, t, known);
    else
        run_workers(b, t);
    t->launched = 0;
}

/* Whether nothing that was begun before this cycle acts in it or later: all there is to know of the
 * tile's time is the cycle. */
static int is_quiet(const struct barrel *b)
{
    if (b->running || b->waiting || b->all_free > b->cycle || b->exit_seen > b->cycle)
        return 0;
    for (unsigned m = 0; m < EMU_COUNT_OF(b->reg_ready); m++) {
        if (b->reg_ready[m] > b->cycle)
            return 0;
    }
    return 1;
}

/* After a call from a site: it is over at once if it is known what the tile does in it. */
static void skip_call(struct barrel *b, struct tile *t, uint32_t back)
{
    const struct replay_call *c =
        is_quiet(b) && !b->plain && !b->watched ? replay_skip(b->replay, b, back) : NULL;

    if (!c)
        return;
    b->cycle += c->cycles;
    for (unsigned lane = 0; lane < TILE_LANES; lane++) {
        b->issued[lane] += c->issued[lane];
        b->instructions[lane] += c->instructions[lane];
    }
    t->pc[LANE_SUPER] = back;
}

static int is_site(struct barrel *b, uint32_t pc)
{
    size_t low = 0, high = b->sites;

    if (b->next_site < high && b->site[b->next_site] == pc)
        return b->next_site++, 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (b->site[middle] < pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == b->sites || b->site[low] != pc)
        return 0;
    b->next_site = low + 1;
    return 1;
}

/* Workers have been launched, in a call from a site or not: whether they run at their own pace. */
static void set_pace(struct barrel *b, int in_site)
{
    b->free_pace = in_site && (!b->running || b->free_pace);
}

/* At an instruction that launches workers or calls code that does. `next` is the address after it.
 */
static void note_site(struct barrel *b, const struct tile *t, const struct code_word *w,
                      uint32_t next)
{
    int in_site = b->back != BARREL_NEVER_HALT || is_site(b, t->pc[LANE_SUPER]);

    if (w->flags & WORD_JUMPS && b->back == BARREL_NEVER_HALT && in_site)
        b->back = next;
    if (t->launched)
        set_pace(b, in_site);
}

/* What an instruction with flags has done: it jumped, started workers, or waits for them. Returns 0
 * at an outer sync. */
static int supervisor_follow(struct barrel *b, struct tile *t, const struct code_word *w,
                             uint32_t next, uint64_t cycle)
{
    int site = b->replay && w->flags & WORD_STARTS && replay_enter(b->replay, b, t->pc[LANE_SUPER]);

    if (t->npc[LANE_SUPER] != next)
        b->cycle = cycle + arch_sup_branch_cycles(t->arch);
    if (w->flags & WORD_WIDE && t->exchange->lasts)
        b->cycle = cycle + t->exchange->lasts;
    if ((w->flags & WORD_STARTS) && b->launch_cycle == UINT64_MAX)
        b->launch_cycle = cycle;
    if (b->sites && w->flags & WORD_STARTS)
        note_site(b, t, w, next);
    else if (b->replay && t->launched)
        set_pace(b, replay_is_in_call(b->replay));
    if (t->launched)
        take_launches(b, t, cycle);
    t->pc[LANE_SUPER] = t->npc[LANE_SUPER];
    if (t->pc[LANE_SUPER] == b->back)
        b->back = BARREL_NEVER_HALT;
    if (site && w->flags & WORD_JUMPS)
        skip_call(b, t, next);
    else if (b->replay && replay_returns(b->replay, t->pc[LANE_SUPER]))
        replay_return(b->replay, b, is_quiet(b));
    if (t->sync_zone < 0)
        return 1;
    if (t->sync_zone != SYNC_LOCAL) {
        b->cycle = cycle;
        if (b->replay)
            replay_end(b->replay, b);
        return 0;
    }
    t->sync_zone = -1;
    b->waiting = 1;
    b->wait_cycle = cycle;
    return 1;
}

/* Shows an issue to those who watch. Returns 0 after a fault. */
static int show_issue(const struct barrel *b, struct tile *t, const struct insn *in)
{
    struct exchange_port *port = t->exchange;

    if (b->options.trace_issue)
        b->options.trace_issue(b->options.trace_ctx, t, LANE_SUPER, t->cycle, in, NULL);
    return !port || !port->fetch || port->fetch(port, t) == FAULT_NONE;
}

/* What the timing engine does before an instruction that starts workers, or branches: no predicate
 * has been computed, so one that is usually 0 is. */
static void prepare_replay(struct barrel *b, struct tile *t, const struct code_word *w,
                           uint64_t cycle)
{
    if (w->flags & WORD_STARTS)
        retire_workers(b, t, cycle);
    else if (replay_is_rare(b->replay, t->pc[LANE_SUPER]))
        tile_set_m(t, LANE_SUPER, w->in.a, 0);
}

/* Issues one supervisor instruction at `cycle`; next: the address after it. Returns 0 when
 * barrel_run must stop: fault or outer sync. */
static inline int supervisor_issue(struct barrel *b, struct tile *t, const struct code_word *w,
                                   uint32_t next, uint64_t cycle)
{
    t->cycle = cycle;
    t->npc[LANE_SUPER] = next;
    if (EMU_UNLIKELY(b->watched) && !show_issue(b, t, &w->in))
        return 0;
    if (EMU_UNLIKELY(b->replay != NULL) && w->flags & (WORD_STARTS | WORD_TESTS))
        prepare_replay(b, t, w, cycle);
    if (EMU_UNLIKELY((t->check ? exec_checked(t, LANE_SUPER, &w->in, NULL)
                               : w->exec(t, LANE_SUPER, &w->in)) != FAULT_NONE))
        return 0;
    b->issued[LANE_SUPER]++;
    b->instructions[LANE_SUPER]++;
    b->cycle = cycle + w->cycles;
    for (uint32_t write = w->write; write; write &= write - 1)
        b->reg_ready[__builtin_ctz(write)] = cycle + arch_sup_result_cycles(t->arch);
    if (EMU_UNLIKELY(w->flags))
        return supervisor_follow(b, t, w, next, cycle);
    t->pc[LANE_SUPER] = next;
    return 1;
}

/* Ends a sync LOCAL once no worker runs. */
static void finish_wait(struct barrel *b, struct tile *t)
{
    uint64_t seen = b->exit_seen > b->wait_cycle ? b->exit_seen : b->wait_cycle;

    b->waiting = 0;
    b->cycle = seen + arch_sup_sync_local_cycles(t->arch);
    if (b->replay)
        retire_workers(b, t, b->cycle);
    if (t->check)
        tile_check_idle(t);
}

/* One round in which workers and the supervisor both issue, cycle by cycle. Returns 0 when
 * barrel_run must stop. */
static int mixed_round(struct barrel *b, struct tile *t, uint64_t round, uint32_t stop_pc)
{
    unsigned phase = b->phase; /* the slot of the round's first cycle */

    for (unsigned k = 0; k < TILE_WORKERS; k++) {
        unsigned lane = phase + k < TILE_WORKERS ? phase + k : phase + k - TILE_WORKERS;
        uint64_t cycle = round + k;
        const struct code_word *w;
        struct code_word own;
        uint32_t next;

        if (b->running >> lane & 1) {
            if (b->next[lane] == cycle)
                round_issue_lane(b, t, lane);
            continue;
        }
        if (b->waiting || cycle < b->cycle || cycle < b->freed[lane])
            continue;
        if (t->pc[LANE_SUPER] == stop_pc) {
            b->cycle = cycle;
            return 0;
        }
        w = supervisor_fetch(b, t, b->cycle, &own, &next);
        if (!w)
            return 0;
        if (operands_ready(b, w, b->cycle) > cycle)
            continue;
        if (!supervisor_issue(b, t, w, next, cycle))
            return 0;
        if (b->phase != phase)
            return 1; /* a launch with no worker running began a new count of rounds */
    }
    if (b->cycle < round + TILE_WORKERS)
        b->cycle = round + TILE_WORKERS; /* every slot of this round was offered */
    return !t->fault.kind;
}

/* The first cycle at or after `cycle` whose slot no worker holds any more. */
static uint64_t next_free_slot(const struct barrel *b, uint64_t cycle)
{
    uint64_t least = UINT64_MAX;

    if (EMU_LIKELY(cycle >= b->all_free))
        return cycle;
    for (unsigned slot = 0; slot < TILE_WORKERS; slot++) {
        uint64_t from = cycle > b->freed[slot] ? cycle : b->freed[slot];

        from += (slot + TILE_WORKERS - (unsigned)(from % TILE_WORKERS)) % TILE_WORKERS;
        if (from < least)
            least = from;
    }
    return least;
}

/* How many instructions from w at the supervisor's address on load weights without a fault, one
 * after the other, before stop_pc and max_cycle. */
static uint32_t weight_loads(const struct barrel *b, const struct tile *t,
                             const struct code_word *w, uint32_t stop_pc, uint64_t max_cycle)
{
    uint32_t pc = t->pc[LANE_SUPER], from = t->cccsload - t->mem_base, n = 0, word;
    const uint8_t *code = t->mem + (pc - t->mem_base);
    uint32_t most = (t->mem_base + t->region0_bytes - pc) / 4;

    if (b->watched || b->cycle < b->all_free || b->cycle >= max_cycle || t->cccsload % 16 ||
        from < t->region0_bytes || from >= t->mem_bytes)
        return 0;
    if (most > (t->mem_bytes - from) / 16)
        most = (t->mem_bytes - from) / 16;
    if (most > (stop_pc - pc) / 4) /* never reached if it is lower */
        most = (stop_pc - pc) / 4;
    if (most > (max_cycle - b->cycle + w->cycles - 1) / w->cycles)
        most = (uint32_t)((max_cycle - b->cycle + w->cycles - 1) / w->cycles);
    for (; n < most; n++) {
        memcpy(&word, code + (size_t)4 * n, 4);
        if (!code_word_more_weights(w->word[0], word))
            break;
    }
    return n;
}

/* Loads of weights as long as nothing comes between them, at once. Returns 0, nothing done, where
 * the next one must be issued by itself. */
static int load_weights(struct barrel *b, struct tile *t, const struct code_word *w,
                        uint32_t stop_pc, uint64_t max_cycle)
{
    uint32_t pc = t->pc[LANE_SUPER], n = weight_loads(b, t, w, stop_pc, max_cycle);
    const uint8_t *code = t->mem + (pc - t->mem_base);
    const uint8_t *from = t->mem + (t->cccsload - t->mem_base);

    if (!n)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word;

        memcpy(&word, code + (size_t)4 * i, 4);
        memcpy(&t->weight[code_word_weights_entry(word)], from + (size_t)16 * i, 16);
        __builtin_prefetch(from + (size_t)16 * (i + n)); /* mostly the next call's */
    }
    t->weight_generation += n;
    t->cccsload += 16 * n;
    t->cycle = b->cycle + (uint64_t)(n - 1) * w->cycles;
    t->pc[LANE_SUPER] = t->npc[LANE_SUPER] = pc + 4 * n;
    b->issued[LANE_SUPER] += n;
    b->instructions[LANE_SUPER] += n;
    b->cycle += (uint64_t)n * w->cycles;
    return 1;
}

/* Lets the supervisor run by itself until it starts or waits for workers. Returns 0 when barrel_run
 * must stop. */
static int supervisor_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    while (!b->running && !b->waiting && b->cycle < max_cycle) {
        const struct code_word *w;
        struct code_word own;
        uint32_t next;

        if (t->pc[LANE_SUPER] == stop_pc) {
            b->cycle = next_free_slot(b, b->cycle);
            return 0;
        }
        w = supervisor_fetch(b, t, b->cycle, &own, &next);
        if (!w)
            return 0;
        if (w->is_weights && !b->plain && load_weights(b, t, w, stop_pc, max_cycle))
            continue;
        if (!supervisor_issue(b, t, w, next, next_free_slot(b, operands_ready(b, w, b->cycle))))
            return 0;
    }
    return 1;
}

/* The earliest cycle at which a running worker issues. */
static uint64_t next_worker_cycle(const struct barrel *b)
{
    uint64_t least = UINT64_MAX;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if ((b->running >> lane & 1) && b->next[lane] < least)
            least = b->next[lane];
    }
    return least;
}

static int supervisor_has_slots(const struct barrel *b)
{
    return !b->waiting && b->running != (1u << TILE_WORKERS) - 1;
}

/* The item at an address, from the table; NULL if it is none that the supervisor may execute. */
static const struct code_word *supervisor_peek(const struct barrel *b, const struct tile *t,
                                               uint32_t pc)
{
    uint32_t off = pc - t->mem_base, word[2] = { 0, 0 };
    struct code_word *w;

    if (off >= t->region0_bytes || pc % 4)
        return NULL;
    memcpy(word, t->mem + off, 4);
    w = code_word_at(b->words, word);
    if (code_word_holds(w, word, pc))
        return w;
    if (code_word_decode(t->arch, word, w) || pc & w->unaligned)
        return NULL;
    w->cycles = supervisor_cycles(t->arch, &w->in);
    return w;
}

int barrel_issue_sync(struct barrel *b, struct tile *t, int zone)
{
    const struct code_word *w = supervisor_peek(b, t, t->pc[LANE_SUPER]);

    if (!w || w->in.op != INSN_sync || w->in.i != zone)
        return 0;
    t->cycle = b->cycle;
    t->pc[LANE_SUPER] += ISA_WORD_BYTES;
    b->issued[LANE_SUPER]++;
    b->instructions[LANE_SUPER]++;
    return 1;
}

/* The address after an item that does nothing but jump and set registers; 0 after any other. */
static uint32_t quiet_next(const struct tile *t, const struct insn *in, uint32_t pc)
{
    uint32_t to = (uint32_t)in->i, a = t->m[in->a][LANE_SUPER], x = t->m[in->x][LANE_SUPER];

    switch (in->op) {
    case INSN_setzi_m:
    case INSN_nop:
        return pc + 4;
    case INSN_bri:
        return to;
    case INSN_brz:
        return a == 0 ? to : pc + 4;
    case INSN_brnz:
        return a != 0 ? to : pc + 4;
    case INSN_brneg:
        return a >> 31 ? to : pc + 4;
    case INSN_brpos:
        return a >> 31 ? pc + 4 : to;
    case INSN_brnzdec:
        return x != 0 ? to : pc + 4;
    default:
        return 0;
    }
}

/* Whether the supervisor waits for its workers, or will before it does anything that they or others
 * could see: what it does until then does not depend on when. */
static int waits_or_will(const struct barrel *b, const struct tile *t)
{
    uint32_t pc = t->pc[LANE_SUPER], written = 0;

    for (unsigned n = 0; n < LOOK_AHEAD && pc && !b->waiting; n++) {
        const struct code_word *w = supervisor_peek(b, t, pc);

        if (!w || written & w->read)
            return 0;
        if (w->in.op == INSN_sync)
            return w->in.i == SYNC_LOCAL;
        written |= w->write;
        pc = quiet_next(t, &w->in, pc);
    }
    return b->waiting;
}

static int may_go_freely(const struct barrel *b, const struct tile *t)
{
    return !b->plain && !b->watched && b->undisturbed > b->cycle + FREE_CYCLES &&
           waits_or_will(b, t);
}

/* A mixed round, or all rounds in which nothing but the workers can issue. Returns 0 when
 * barrel_run must stop. */
static int workers_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    uint64_t round;

    if (!supervisor_has_slots(b)) {
        if (b->free_pace && may_go_freely(b, t))
            round_run_freely(b, t, b->undisturbed < b->turn ? b->undisturbed : b->turn);
        else
            round_run(b, t, max_cycle);
        return !t->fault.kind;
    }
    round = round_start(b, next_worker_cycle(b));
    if (b->cycle < round) /* the supervisor has slots before the next worker's round */
        round = round_start(b, b->cycle);
    return mixed_round(b, t, round, stop_pc);
}

uint64_t barrel_clock(const struct barrel *b)
{
    uint64_t worker = next_worker_cycle(b);

    return !b->running || (supervisor_has_slots(b) && b->cycle < worker) ? b->cycle : worker;
}

/* Exchange code mostly follows a sync: the fabric issues it at once. Returns 0 after a fault. */
static int run_exchange(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    struct exchange_port *port = t->exchange;
    uint32_t n;

    if (b->plain || b->watched || !port || !port->run || b->running || b->waiting ||
        b->all_free > b->cycle || stop_pc != BARREL_NEVER_HALT)
        return 1;
    t->cycle = b->cycle;
    n = port->run(port, t, max_cycle);
    b->cycle = t->cycle;
    b->issued[LANE_SUPER] += n;
    b->instructions[LANE_SUPER] += n;
    return !t->fault.kind;
}

static enum barrel_stop stopped(const struct barrel *b, const struct tile *t, uint32_t stop_pc)
{
    if (t->fault.kind)
        return BARREL_FAULT;
    if (t->sync_zone >= 0)
        return BARREL_SYNC;
    return !b->waiting && t->pc[LANE_SUPER] == stop_pc ? BARREL_HALT : BARREL_LIMIT;
}

enum barrel_stop barrel_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    b->plain = b->options.plain || b->options.trace_issue || t->check || !fast_begin(t);
    b->watched = b->options.trace_issue || (t->exchange && t->exchange->fetch);
    if (!run_exchange(b, t, stop_pc, max_cycle))
        return BARREL_FAULT;
    for (;;) {
        if (b->waiting && !b->running)
            finish_wait(b, t);
        if (b->running) {
            if (barrel_clock(b) >= max_cycle)
                return BARREL_LIMIT;
            if (!workers_run(b, t, stop_pc, max_cycle))
                return stopped(b, t, stop_pc);
        } else {
            if (!supervisor_run(b, t, stop_pc, max_cycle))
                return stopped(b, t, stop_pc);
            if (!b->running && !b->waiting)
                return BARREL_LIMIT;
        }
    }
}
