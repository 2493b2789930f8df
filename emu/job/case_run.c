/* case_run.c - loads the tile, writes the stub that starts the codelet, and runs it.
 *
 *   worker      setzi m0, entry; setzi m1, state - base; run m0, m1, 0;    sync LOCAL
 *   workers     setzi m0, entry; setzi m1, state;        runall m0, m1, 0; sync LOCAL
 *   supervisor  call $lr, entry
 *
 * setzi is followed by or where an address has more than 20 bits. The run ends when the supervisor
 * could issue after the stub.
 */
#include "emu/job/case_run.h"

#include <string.h>

#include "emu/base/alloc.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"
#include "emu/tile/tile_check.h"
#include "emu/tile/tile_range.h"

enum { STUB_WORDS = 8, REG_LR = 10, REG_SP = 11 };

const char *case_lane_name(unsigned lane)
{
    static const char *const names[] = { "w0", "w1", "w2", "w3", "w4", "w5", "s" };

    return names[lane <= LANE_SUPER ? lane : LANE_SUPER];
}

uint32_t case_register_get(struct case_run *r, unsigned lane, char file, unsigned number)
{
    switch (file) {
    case 'm':
        return tile_m(&r->tile, lane, number);
    case 'a':
        return tile_a(&r->tile, lane, number);
    case 'c':
        return tile_acc(&r->tile, lane, number);
    default:
        return tile_csr_get(&r->tile, lane, file, number);
    }
}

void case_register_put(struct case_run *r, unsigned lane, char file, unsigned number, uint32_t v)
{
    switch (file) {
    case 'm':
        tile_set_m(&r->tile, lane, number, v);
        break;
    case 'a':
        tile_set_a(&r->tile, lane, number, v);
        break;
    case 'c':
        tile_set_acc(&r->tile, lane, number, v);
        break;
    default:
        tile_csr_put(&r->tile, lane, file, number, v);
        break;
    }
}

/* ---- the stub ---- */

struct stub {
    uint32_t word[STUB_WORDS];
    unsigned count;
};

static void stub_add(struct stub *s, const struct insn *in)
{
    uint32_t word[2];

    EMU_ASSERT(s->count < STUB_WORDS && isa_encode(in, word) == 1);
    s->word[s->count++] = word[0];
}

static void stub_load(struct stub *s, uint8_t reg, uint32_t v)
{
    struct insn set = { .op = INSN_setzi_m, .d = reg, .i = (int32_t)(v & 0xfffff) };
    struct insn upper = { .op = INSN_or_mh12, .d = reg, .a = reg, .i = (int32_t)(v & 0xfff00000u) };

    stub_add(s, &set);
    if (v >> 20)
        stub_add(s, &upper);
}

static enum emu_status write_stub(struct case_run *r)
{
    struct insn sync = { .op = INSN_sync, .i = SYNC_LOCAL };
    struct stub s = { .count = 0 };

    if (r->as == CASE_SUPERVISOR) {
        struct insn call = { .op = INSN_call, .d = REG_LR, .i = (int32_t)r->entry };

        r->launch_pc = r->stub_at;
        stub_add(&s, &call);
    } else {
        struct insn start = { .op = r->as == CASE_WORKER ? INSN_run : INSN_runall, .a = 0, .b = 1 };

        stub_load(&s, 0, r->entry);
        stub_load(&s, 1, r->as == CASE_WORKER ? r->state_at - r->arch->mem_base : r->state_at);
        r->launch_pc = r->stub_at + 4 * s.count;
        stub_add(&s, &start);
        stub_add(&s, &sync);
    }
    r->stop_pc = r->stub_at + 4 * s.count;
    EMU_ASSERT(tile_write(&r->tile, r->stub_at, s.word, 4 * s.count));
    return EMU_OK;
}

/* ---- the initial state ---- */

static enum emu_status load_values(struct case_run *r, const struct manifest_memory *m,
                                   uint32_t address)
{
    uint32_t bytes = manifest_data_bytes(&m->init);
    uint8_t *data;
    enum emu_status s;

    if (m->init.data.type == CASE_BYTES || !bytes)
        return EMU_OK; /* nobody has written it: the checking mode shall see that */
    data = emu_alloc(bytes, 1);
    if (!data)
        return FAIL(NO_MEMORY, "%u bytes of %s", bytes, m->place.name);
    s = case_values(r, &m->init, m->place.name, data);
    if (s == EMU_OK)
        EMU_ASSERT(tile_write(&r->tile, address, data, bytes));
    ss_free(data);
    return s;
}

static enum emu_status load_memory(struct case_run *r)
{
    for (size_t i = 0; i < r->image->section_count; i++) {
        const struct asm_section *s = &r->image->section[i];

        if (s->size)
            EMU_ASSERT(tile_write(&r->tile, s->addr, s->bytes, s->size));
    }
    for (size_t i = 0; i < r->p->memories; i++)
        TRY(load_values(r, &r->p->memory[i], r->p->memory[i].place.address));
    return load_values(r, &r->m->tile_case->state, r->state_at);
}

static void load_weights(struct case_run *r)
{
    const struct case_data *d = &r->m->tile_case->weights;

    if (!d->bytes)
        return;
    memcpy(r->tile.weight, d->data, d->bytes);
    r->tile.weight_generation++;
}

static enum emu_status load_registers(struct case_run *r)
{
    const struct tile_case *c = r->m->tile_case;
    struct tile *t = &r->tile;

    for (unsigned w = 0; w < TILE_WORKERS; w++)
        t->worker_base[w] = r->scratch_at[w];
    tile_set_m(t, LANE_SUPER, 0, r->state_at);
    tile_set_m(t, LANE_SUPER, REG_SP, r->stack_high);
    for (size_t i = 0; i < c->set_count; i++) {
        const struct case_register *reg = &c->set[i];
        uint32_t word = 0;
        unsigned first = reg->lane, last = reg->lane;

        if (reg->lane == CASE_LANE_RUNNING) {
            first = 0;
            last = TILE_WORKERS - 1;
        }
        TRY(case_values(r, &reg->value, reg->name, (uint8_t *)&word));
        for (unsigned lane = first; lane <= last; lane++)
            case_register_put(r, lane, reg->file, reg->number, word);
    }
    return EMU_OK;
}

/* Stacks, and the code as a range that no store may touch. */
static void load_check_ranges(struct case_run *r)
{
    uint32_t low = r->stub_at, high = low;

    for (size_t i = 0; i < r->image->section_count; i++) {
        const struct asm_section *s = &r->image->section[i];

        if (!(s->flags & ASM_EXEC) || !s->size)
            continue;
        low = s->addr < low ? s->addr : low; /* code lies together, data after it */
        high = s->addr + s->size > high || high == r->stub_at ? s->addr + s->size : high;
    }
    tile_check_stack(&r->tile, TILE_CHECK_GUARD, low, high);
    tile_check_stack(&r->tile, LANE_SUPER, r->stack_low, r->stack_high);
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        tile_check_stack(&r->tile, w, r->scratch_at[w] - r->stack_below,
                         r->scratch_at[w] + r->m->tile_case->scratch_bytes);
}

/* Zeroes what the last run has written. */
static void unload(struct case_run *r)
{
    uint32_t bytes = r->arch->mem_bytes;

    for (uint32_t p = 0; p < tile_pages(bytes, DIRTY_PAGE_BITS); p++) {
        if (r->tile.dirty[p])
            memset(r->mem + (p << DIRTY_PAGE_BITS), 0, tile_page_bytes(bytes, DIRTY_PAGE_BITS, p));
    }
    tile_check_free(&r->tile);
    tile_free(&r->tile);
    r->tile_ready = 0;
}

enum emu_status case_load(struct case_run *r)
{
    if (r->tile_ready)
        unload(r);
    TRY(tile_init(&r->tile, r->arch, 0, r->mem));
    r->tile_ready = 1;
    if (r->options.check)
        TRY(tile_check_new(&r->tile));
    TRY(load_memory(r));
    TRY(write_stub(r));
    load_weights(r);
    TRY(load_registers(r));
    if (r->options.check)
        load_check_ranges(r);
    r->tile.pc[LANE_SUPER] = r->stub_at;
    r->tile.state[LANE_SUPER] = CONTEXT_ACTIVE;
    return EMU_OK;
}

/* ---- the run ---- */

/* One line per issue: cycle tile.context pc symbol disassembly. */
static void trace_issue(void *ctx, const struct tile *t, unsigned lane, uint64_t cycle,
                        const struct insn *main, const struct insn *aux)
{
    struct case_run *r = ctx;
    uint32_t pc = t->pc[lane], offset = 0;
    const struct asm_symbol *s = asm_symbolize(r->image, pc, &offset);
    char where[96] = "-", text[2][160] = { "", "" };

    if (s)
        snprintf(where, sizeof(where), "%.64s+0x%x", s->name, offset);
    else if (pc >= r->stub_at && pc < r->stop_pc)
        snprintf(where, sizeof(where), "stub+0x%x", pc - r->stub_at);
    isa_print(main, NULL, text[0], sizeof(text[0]));
    if (!aux) {
        fprintf(r->options.trace, "%10llu %u.%s 0x%05x %-24s %s\n", (unsigned long long)cycle,
                t->id & 0xffff, case_lane_name(lane), pc, where, text[0]);
        return;
    }
    isa_print(aux, NULL, text[1], sizeof(text[1]));
    fprintf(r->options.trace, "%10llu %u.%s 0x%05x %-24s { %s ; %s }\n", (unsigned long long)cycle,
            t->id & 0xffff, case_lane_name(lane), pc, where, text[0], text[1]);
}

void case_execute(struct case_run *r)
{
    struct barrel_options options = { .plain = r->options.plain };
    struct barrel *b = &r->barrel;

    if (r->options.trace) {
        options.trace_issue = trace_issue;
        options.trace_ctx = r;
    }
    barrel_init(b, r->cache, &options, 0);
    r->stop = barrel_run(b, &r->tile, r->stop_pc, r->m->max_cycles);
    if (r->stop == BARREL_SYNC) {
        /* Nobody answers: there is one tile and no fabric. */
        tile_fault(&r->tile, LANE_SUPER, FAULT_EXERR, 0,
                   "a sync that is not LOCAL needs a machine, not one tile");
        r->stop = BARREL_FAULT;
    }
    r->cycles = 0;
    if (b->launch_cycle != UINT64_MAX)
        r->cycles = (r->stop == BARREL_FAULT ? r->tile.fault.cycle : b->cycle) - b->launch_cycle;
    if (r->stop == BARREL_LIMIT)
        r->cycles = r->m->max_cycles;
}

/* The supervisor's own instructions: in the worker modes all are the stub's, in the supervisor mode
 * one is. */
static uint64_t super_instructions(const struct case_run *r)
{
    uint64_t n = r->barrel.instructions[LANE_SUPER];

    return r->as == CASE_SUPERVISOR && n ? n - 1 : 0;
}

uint64_t case_instructions(const struct case_run *r, int lane)
{
    uint64_t n = super_instructions(r);

    if (lane >= 0)
        return lane == LANE_SUPER ? n : r->barrel.instructions[lane];
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        n += r->barrel.instructions[w];
    return n;
}
