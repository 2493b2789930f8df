/* barrel.c - the rules of time on one tile: which context issues in which cycle, and what the
 * supervisor's instructions cost.
 *
 * Slot n (cycle mod 6) belongs to worker n from the issue of the run or runall that starts it until
 * six cycles after the issue of its exit; in all other slots the supervisor may issue. Numbers come
 * from struct arch; sources in docs/timing.md.
 */
#include "emu/bsp/barrel.h"

#include "emu/bsp/round.h"
#include "emu/exec/exec.h"
#include "emu/tile/exchange_port.h"
#include "emu/tile/tile_check.h"

enum { SEND_WIDE = 4 /* bit of ctl */ };

/* Registers whose results are awaited: $m12..$m15 never change. */
enum { SCORED = 0x0fff };

void barrel_init(struct barrel *b, struct code_cache *cache, const struct barrel_options *options,
                 uint64_t cycle)
{
    memset(b, 0, sizeof(*b));
    if (options)
        b->options = *options;
    b->cache = cache;
    b->cycle = cycle;
    b->launch_cycle = UINT64_MAX;
}

/* The supervisor's next instruction and the cycle from which all its operands can be read. */
struct pending_wait {
    struct insn in;
    enum insn_cost cost;
    struct insn_regs regs;
    unsigned bytes;
    uint64_t ready;
};

/* Why a supervisor may not execute the instruction, or NULL; then its cost is noted. */
static const char *supervisor_invalid(const struct arch *arch, struct pending_wait *p,
                                      int is_bundle)
{
    const char *invalid = code_invalid(arch, &p->in);
    const struct insn_form *form;

    if (invalid)
        return invalid;
    if (is_bundle)
        return "a bundle in the supervisor";
    form = isa_op_form(p->in.op);
    if (!(form->context & CTX_S))
        return "a worker instruction in the supervisor";
    p->cost = (enum insn_cost)form->cost;
    return NULL;
}

static int supervisor_fault(struct tile *t, const struct barrel *b, enum fault kind,
                            const char *detail)
{
    t->cycle = b->cycle;
    tile_fault(t, LANE_SUPER, kind, t->pc[LANE_SUPER], detail);
    return 0;
}

/* Decodes at the supervisor's PC. Returns 0 after recording a fault. */
static int supervisor_peek(const struct barrel *b, struct tile *t, struct pending_wait *p)
{
    uint32_t pc = t->pc[LANE_SUPER], off = pc - t->mem_base, word[2] = { 0, 0 };
    struct insn aux;
    const char *invalid;
    int is_bundle;

    if (off >= t->region0_bytes || (pc & 3))
        return supervisor_fault(t, b, FAULT_INVALID_PC,
                                "not an aligned address in executable memory");
    memcpy(word, t->mem + off, t->region0_bytes - off >= 8 ? 8 : 4);
    p->bytes = isa_decode(word, &p->in, &aux, &is_bundle);
    if (!is_bundle && p->bytes == 8 && (pc & 7))
        return supervisor_fault(t, b, FAULT_INVALID_PC,
                                "a two-word instruction must be 8-byte aligned");
    invalid = supervisor_invalid(t->arch, p, is_bundle);
    if (invalid)
        return supervisor_fault(t, b, FAULT_INVALID_INSTR, invalid);
    p->regs = isa_registers(&p->in);
    p->ready = b->cycle;
    for (uint32_t read = p->regs.m_read & SCORED; read; read &= read - 1) {
        uint64_t ready = b->reg_ready[__builtin_ctz(read)];

        if (ready > p->ready)
            p->ready = ready;
    }
    return 1;
}

/* Cycles from the issue of a supervisor instruction to the next one that does not wait for its
 * result. */
static unsigned supervisor_cost(const struct tile *t, const struct pending_wait *p)
{
    const struct arch *a = t->arch;
    int taken = t->npc[LANE_SUPER] != t->pc[LANE_SUPER] + p->bytes;

    switch (p->cost) {
    case COST_JUMP:
        return a->sup_branch_cycles;
    case COST_BRANCH:
        return taken ? a->sup_branch_cycles : 1;
    case COST_PUT:
        return a->sup_put_cycles;
    case COST_PUTCS:
        return a->sup_putcs_cycles;
    case COST_RUN:
        return a->sup_runall_cycles;
    case COST_SEND:
        if ((p->in.k & SEND_WIDE) && (uint32_t)p->in.i + 1 < a->host_send_min_events)
            return a->host_send_min_events; /* a request to the host, the one use of this bit */
        return (unsigned)p->in.i + 1;
    case COST_EVENTS:
        return (unsigned)p->in.i + 1; /* one event a word, or a waited event */
    case COST_ONE:
        break;
    }
    return 1;
}

/* Gives their slots to the workers that run or runall has started. */
static void take_launches(struct barrel *b, struct tile *t, uint64_t cycle)
{
    uint64_t earliest = cycle + t->arch->launch_cycles;

    if (!b->running) {
        b->phase = (unsigned)(earliest % TILE_WORKERS);
        fast_begin_rounds(t, (1u << b->phase) - 1);
    }
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        if (!(t->launched >> lane & 1))
            continue;
        b->next[lane] =
            earliest + (lane + TILE_WORKERS - (unsigned)(earliest % TILE_WORKERS)) % TILE_WORKERS;
        b->running |= (uint8_t)(1u << lane);
    }
    t->launched = 0;
}

/* Issues one supervisor instruction at `cycle`. Returns 0 when barrel_run must stop: fault or outer
 * sync. */
static int supervisor_issue(struct barrel *b, struct tile *t, const struct pending_wait *p,
                            uint64_t cycle)
{
    int starts = p->in.op == INSN_run || p->in.op == INSN_runall || p->in.op == INSN_call;

    t->cycle = cycle;
    t->npc[LANE_SUPER] = t->pc[LANE_SUPER] + p->bytes;
    if (b->options.trace_issue)
        b->options.trace_issue(b->options.trace_ctx, t, LANE_SUPER, cycle, &p->in, NULL);
    if (t->exchange && EMU_UNLIKELY(t->exchange->fetch != NULL) &&
        t->exchange->fetch(t->exchange, t) != FAULT_NONE)
        return 0;
    if (exec_table[p->in.op](t, LANE_SUPER, &p->in) != FAULT_NONE)
        return 0;
    b->issued[LANE_SUPER]++;
    b->instructions[LANE_SUPER]++;
    if (starts && b->launch_cycle == UINT64_MAX)
        b->launch_cycle = cycle;
    b->cycle = cycle + supervisor_cost(t, p);
    for (uint32_t write = p->regs.m_write & SCORED; write; write &= write - 1)
        b->reg_ready[__builtin_ctz(write)] = cycle + t->arch->sup_result_cycles;
    t->pc[LANE_SUPER] = t->npc[LANE_SUPER];
    if (t->launched)
        take_launches(b, t, cycle);
    if (t->sync_zone < 0)
        return 1;
    if (t->sync_zone == SYNC_LOCAL) {
        t->sync_zone = -1;
        b->waiting = 1;
        b->wait_cycle = cycle;
        return 1;
    }
    b->cycle = cycle;
    return 0;
}

/* Ends a sync LOCAL once no worker runs. */
static void finish_wait(struct barrel *b, struct tile *t)
{
    uint64_t seen = b->exit_seen > b->wait_cycle ? b->exit_seen : b->wait_cycle;

    b->waiting = 0;
    b->cycle = seen + t->arch->sup_sync_local_cycles;
    if (t->check)
        tile_check_idle(t);
}

/* One round in which workers and the supervisor both issue, cycle by cycle. Returns 0 when
 * barrel_run must stop. */
static int mixed_round(struct barrel *b, struct tile *t, uint64_t round, uint32_t stop_pc)
{
    for (uint64_t cycle = round; cycle < round + TILE_WORKERS; cycle++) {
        unsigned lane = (unsigned)(cycle % TILE_WORKERS);
        struct pending_wait p;

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
        if (!supervisor_peek(b, t, &p))
            return 0;
        if (p.ready > cycle)
            continue;
        if (!supervisor_issue(b, t, &p, cycle))
            return 0;
        if (b->phase != round % TILE_WORKERS)
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

/* Lets the supervisor run by itself until it starts or waits for workers. Returns 0 when barrel_run
 * must stop. */
static int supervisor_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    while (!b->running && !b->waiting && b->cycle < max_cycle) {
        struct pending_wait p;
        uint64_t cycle;

        if (t->pc[LANE_SUPER] == stop_pc) {
            b->cycle = next_free_slot(b, b->cycle);
            return 0;
        }
        if (!supervisor_peek(b, t, &p))
            return 0;
        cycle = next_free_slot(b, p.ready);
        if (!supervisor_issue(b, t, &p, cycle))
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

/* One round, or many where nothing but the workers can issue. Returns 0 when barrel_run must stop.
 */
static int workers_run(struct barrel *b, struct tile *t, uint32_t stop_pc, uint64_t max_cycle)
{
    uint64_t round;

    if (b->waiting || b->running == (1u << TILE_WORKERS) - 1) {
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

    if (!b->running || (!b->waiting && b->running != (1u << TILE_WORKERS) - 1 && b->cycle < worker))
        return b->cycle;
    return worker;
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
