/* exec.c - the dispatch table, one entry per row of insn.def, and the meaning of a bundle.
 */
#include "emu/exec/exec.h"

#include "emu/exec/exec_rows.h"
#include "emu/isa/insn_ops.h"

enum { ARF_REGS = 16 };

exec_fn *const exec_table[INSN_COUNT] = {
#define INSN(id, mn, operands, lane, ctx, since, word, time, flags, wsrc, msrc)                    \
    [INSN_##id] = exec_##id,
#define ALIAS(id, mn, operands, lane, ctx, map, flags, msrc)
#define LANES(operation, ...) INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS
};

static void arf_save(const struct tile *t, unsigned lane, uint32_t out[ARF_REGS])
{
    for (unsigned r = 0; r < ARF_REGS; r++)
        out[r] = t->a[r][lane];
}

/* Only the auxiliary register file is shared by both halves: the auxiliary half touches no other
 * register that the main half could read, and the main half no accumulator, weight or FP register.
 * So the aux half runs first, the file is put back for the main half, and what only the aux half
 * changed is added again. */
enum fault exec_bundle(struct tile *t, unsigned lane, const struct insn *main,
                       const struct insn *aux)
{
    uint32_t before[ARF_REGS], after_aux[ARF_REGS];
    enum fault aux_fault, main_fault;

    if (main->op >= INSN_COUNT || aux->op >= INSN_COUNT)
        return tile_fault(t, lane, FAULT_INVALID_INSTR, t->pc[lane], "no such instruction");
    if (isa_registers(main).a_write & isa_registers(aux).a_write)
        return tile_fault(t, lane, FAULT_INVALID_OP, t->pc[lane],
                          "both halves of the bundle write one register");
    arf_save(t, lane, before);
    t->in_aux = 1;
    aux_fault = exec_table[aux->op](t, lane, aux);
    t->in_aux = 0;
    arf_save(t, lane, after_aux);
    for (unsigned r = 0; r < ARF_REGS; r++)
        t->a[r][lane] = before[r];
    main_fault = exec_table[main->op](t, lane, main);
    for (unsigned r = 0; r < ARF_REGS; r++)
        if (after_aux[r] != before[r])
            t->a[r][lane] = after_aux[r];
    return aux_fault != FAULT_NONE ? aux_fault : main_fault;
}
