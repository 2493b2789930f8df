/* exec_ctl.c - control: branches, repeat, exit, launch of workers, sync, traps, CSR moves, loading
 * of the weight state.
 *
 * The next issue checks whether a new PC can be executed; a branch itself never faults. Requests
 * that concern time (a sync that waits, slots that change owner) are left in struct tile for
 * emu/bsp/barrel.c.
 */
#include "emu/arch/arch_numbers.h"
#include "emu/exec/exec_rows.h"

enum { CALL_ADDR_MASK = 0x1fffff /* bit 19 of the word address is ignored */ };

static enum fault branch_if(struct tile *t, unsigned lane, const struct insn *in, int taken)
{
    if (taken)
        t->npc[lane] = (uint32_t)in->i;
    return FAULT_NONE;
}

/* br $mA */
enum fault exec_br(struct tile *t, unsigned lane, const struct insn *in)
{
    t->npc[lane] = tile_m(t, lane, in->a);
    return FAULT_NONE;
}

/* bri addr19 */
enum fault exec_bri(struct tile *t, unsigned lane, const struct insn *in)
{
    return branch_if(t, lane, in, 1);
}

/* brz $mA, addr19 */
enum fault exec_brz(struct tile *t, unsigned lane, const struct insn *in)
{
    return branch_if(t, lane, in, tile_m(t, lane, in->a) == 0);
}

/* brnz $mA, addr19 */
enum fault exec_brnz(struct tile *t, unsigned lane, const struct insn *in)
{
    return branch_if(t, lane, in, tile_m(t, lane, in->a) != 0);
}

/* brneg $mA, addr19 */
enum fault exec_brneg(struct tile *t, unsigned lane, const struct insn *in)
{
    return branch_if(t, lane, in, tile_m(t, lane, in->a) >> 31 != 0);
}

/* brpos $mA, addr19: zero counts as positive */
enum fault exec_brpos(struct tile *t, unsigned lane, const struct insn *in)
{
    return branch_if(t, lane, in, tile_m(t, lane, in->a) >> 31 == 0);
}

/* brnzdec $mX, addr19: at 0 it falls through and leaves $mX alone */
enum fault exec_brnzdec(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t n = tile_m(t, lane, in->x);

    if (n)
        tile_set_m(t, lane, in->x, n - 1);
    return branch_if(t, lane, in, n != 0);
}

/* call $mD, addr20: the link is the address after the instruction, or after its bundle */
enum fault exec_call(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t link = t->npc[lane];

    t->npc[lane] = (uint32_t)in->i & CALL_ADDR_MASK;
    tile_set_m(t, lane, in->d, link);
    return FAULT_NONE;
}

/* Repeats the bundles after this instruction; length is their number less one. A count of 0 skips
 * them. */
static enum fault repeat(struct tile *t, unsigned lane, uint32_t count, uint32_t length)
{
    uint32_t first = t->npc[lane], end = first + (length + 1) * ISA_BUNDLE_BYTES;

    if (first % ISA_BUNDLE_BYTES)
        return tile_fault(t, lane, FAULT_INVALID_PC, first, "repeat body is not 8-byte aligned");
    count &= (1u << arch_rpt_count_bits(t->arch)) - 1;
    t->rpt_count[lane] = count;
    t->rpt_first[lane] = first;
    t->rpt_end[lane] = end;
    if (!count)
        t->npc[lane] = end;
    return FAULT_NONE;
}

/* rpt $mA, uimm8 */
enum fault exec_rpt_r(struct tile *t, unsigned lane, const struct insn *in)
{
    return repeat(t, lane, tile_m(t, lane, in->a), (uint32_t)in->i);
}

/* rpt uimm12, uimm8 */
enum fault exec_rpt_i(struct tile *t, unsigned lane, const struct insn *in)
{
    return repeat(t, lane, (uint32_t)in->i, in->j);
}

/* Ends a worker; all its registers stay. The local consensus is the AND of the statuses [ASSUMED].
 */
static enum fault exit_with(struct tile *t, unsigned lane, int status)
{
    EMU_ASSERT(lane < TILE_WORKERS);
    t->state[lane] = CONTEXT_INACTIVE;
    t->exited |= (uint8_t)(1u << lane);
    if (!status)
        t->ssr &= ~(uint32_t)SSR_LC;
    return FAULT_NONE;
}

/* exitz $mA */
enum fault exec_exitz(struct tile *t, unsigned lane, const struct insn *in)
{
    return exit_with(t, lane, tile_m(t, lane, in->a) == 0);
}

/* exitnz $mA */
enum fault exec_exitnz(struct tile *t, unsigned lane, const struct insn *in)
{
    return exit_with(t, lane, tile_m(t, lane, in->a) != 0);
}

/* exitneg $mA */
enum fault exec_exitneg(struct tile *t, unsigned lane, const struct insn *in)
{
    return exit_with(t, lane, tile_m(t, lane, in->a) >> 31 != 0);
}

/* exitpos $mA: zero counts as positive */
enum fault exec_exitpos(struct tile *t, unsigned lane, const struct insn *in)
{
    return exit_with(t, lane, tile_m(t, lane, in->a) >> 31 == 0);
}

/* What run and runall demand of their two registers. */
static enum fault check_launch(struct tile *t, unsigned lane, uint32_t entry, uint32_t base)
{
    if (entry & 3)
        return tile_fault(t, lane, FAULT_INVALID_PC, entry, "worker entry is not 4-byte aligned");
    if (entry - t->mem_base >= t->region0_bytes)
        return tile_fault(t, lane, FAULT_INVALID_PC, entry,
                          "worker entry is not in executable memory (region 0)");
    if (base & 3)
        return tile_fault(t, lane, FAULT_INVALID_ADDR, base, "$VERTEX_BASE is not 4-byte aligned");
    return FAULT_NONE;
}

/* run $mA, $mB, uimm16: starts the lowest idle worker [ASSUMED]. While all run, the supervisor has
 * no slot to issue this in, so finding none idle takes an excepted one. Here, and not in runall,
 * the address of memory is added to the base. */
enum fault exec_run(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t entry = tile_m(t, lane, in->a), base = tile_m(t, lane, in->b);
    enum fault f = check_launch(t, lane, entry, base);
    unsigned worker = 0;

    if (f != FAULT_NONE)
        return f;
    while (worker < t->arch->workers && t->state[worker] != CONTEXT_INACTIVE)
        worker++;
    if (worker == t->arch->workers)
        return tile_fault(t, lane, FAULT_INVALID_OP, 0, "run while no worker is idle");
    tile_launch(t, worker, entry, base + (uint32_t)in->i * 4 + t->mem_base);
    return FAULT_NONE;
}

/* runall $mA, $mB, uimm16: starts all workers, worker n with base $mB + 4 * n * imm */
enum fault exec_runall(struct tile *t, unsigned lane, const struct insn *in)
{
    uint32_t entry = tile_m(t, lane, in->a), base = tile_m(t, lane, in->b);
    enum fault f = check_launch(t, lane, entry, base);

    if (f != FAULT_NONE)
        return f;
    for (unsigned w = 0; w < t->arch->workers; w++)
        if (t->state[w] != CONTEXT_INACTIVE) {
            t->ssr |= SSR_RAERR;
            return tile_fault(t, lane, FAULT_INVALID_OP, 0, "runall while a worker is active");
        }
    for (unsigned w = 0; w < t->arch->workers; w++)
        tile_launch(t, w, entry, base + (uint32_t)in->i * 4 * w);
    return FAULT_NONE;
}

/* sync zone */
enum fault exec_sync(struct tile *t, unsigned lane, const struct insn *in)
{
    (void)lane;
    t->sync_zone = (int8_t)in->i;
    return FAULT_NONE;
}

/* trap uimm4: 0 and 15 are the patched breakpoints; the others are no instructions [ASSUMED] */
enum fault exec_trap(struct tile *t, unsigned lane, const struct insn *in)
{
    if (in->i == 0)
        return tile_fault(t, lane, FAULT_PBRK0, 0, "trap 0");
    if (in->i == 15)
        return tile_fault(t, lane, FAULT_PBRK1, 0, "trap 15");
    return tile_fault(t, lane, FAULT_INVALID_INSTR, 0, "trap with a code other than 0 and 15");
}

static char csr_space(unsigned lane)
{
    return lane == LANE_SUPER ? 'S' : 'W';
}

/* get $mD, csr */
enum fault exec_get(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_m(t, lane, in->d, tile_csr_get(t, lane, csr_space(lane), (unsigned)in->i));
    return FAULT_NONE;
}

/* put csr, $mA */
enum fault exec_put(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_csr_put(t, lane, csr_space(lane), (unsigned)in->i, tile_m(t, lane, in->a));
    return FAULT_NONE;
}

/* uget $aD, csr */
enum fault exec_uget(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_set_a(t, lane, in->d, tile_csr_get(t, lane, 'U', (unsigned)in->i));
    return FAULT_NONE;
}

/* uput csr, $aA */
enum fault exec_uput(struct tile *t, unsigned lane, const struct insn *in)
{
    tile_csr_put(t, lane, 'U', (unsigned)in->i, tile_a(t, lane, in->a));
    return FAULT_NONE;
}

static uint64_t join(const uint32_t v[2])
{
    return v[0] | (uint64_t)v[1] << 32;
}

/* ld64putcs entry: from $CCCSLOAD, which moves on by 8 */
enum fault exec_ld64putcs(struct tile *t, unsigned lane, const struct insn *in)
{
    unsigned entry = (unsigned)in->i;
    uint32_t v[2];
    enum fault f;

    if (entry >= TILE_WEIGHTS)
        return tile_fault(t, lane, FAULT_INVALID_OP, 0, "no such weight entry");
    f = tile_load64(t, lane, t->cccsload, v);
    if (f != FAULT_NONE)
        return f;
    t->weight[entry] = join(v);
    t->weight_generation++;
    t->cccsload += 8;
    return FAULT_NONE;
}

/* ld128putcs entry: entries `entry` and the next one, from region 1 at $CCCSLOAD, which moves on by
 * 16 */
enum fault exec_ld128putcs(struct tile *t, unsigned lane, const struct insn *in)
{
    unsigned entry = (unsigned)in->i;
    uint32_t v[4];
    enum fault f;

    if (entry >= TILE_WEIGHTS || entry & 1)
        return tile_fault(t, lane, FAULT_INVALID_OP, 0, "weight entry is odd or does not exist");
    f = tile_load128(t, lane, t->cccsload, v);
    if (f != FAULT_NONE)
        return f;
    t->weight[entry] = join(v);
    t->weight[entry + 1] = join(v + 2);
    t->weight_generation++;
    t->cccsload += 16;
    return FAULT_NONE;
}
