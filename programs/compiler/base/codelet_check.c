/* codelet_check.c - whether a machine has what a kernel's instructions need, found in the
 * assembled code itself. */
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/isa/insn_ops.h"
#include "programs/compiler/base/codelet.h"

static enum emu_status check_insn(const struct arch *a, const struct codelet *c,
                                  const struct insn *in)
{
    unsigned missing = 0;
    enum isa_need need =
        isa_needs(in, arch_isa(a), arch_main_registers(a), arch_aux_registers(a), &missing);
    const struct insn_form *f;

    if (in->op == INSN_ILLEGAL || need == ISA_NEEDS_NOTHING)
        return EMU_OK; /* words that are none are data between instructions */
    f = isa_op_form(in->op);
    if (need == ISA_NEEDS_VERSION)
        return FAIL(USAGE,
                    "kernel %s: its instruction %s needs the instruction set ipu%u, and machine %s "
                    "has ipu%u",
                    c->name, f->mnemonic, f->since, a->name, arch_isa(a));
    return FAIL(USAGE, "kernel %s: its instruction %s reads $%c%u, which machine %s does not have",
                c->name, f->mnemonic, need == ISA_NEEDS_M_REGISTER ? 'm' : 'a', missing, a->name);
}

static enum emu_status check_code(const struct arch *a, const struct codelet *c,
                                  const struct codelet_code *code)
{
    for (uint32_t at = 0; at + 4 <= code->bytes;) {
        struct insn in[2] = { { .op = INSN_ILLEGAL }, { .op = INSN_ILLEGAL } };
        uint32_t word[2] = { 0, 0 };
        int bundle = 0;

        memcpy(word, code->code + at, code->bytes - at < 8 ? 4 : 8);
        at += isa_decode(word, &in[0], &in[1], &bundle);
        for (int k = 0; k <= bundle; k++)
            TRY(check_insn(a, c, &in[k]));
    }
    return EMU_OK;
}

enum emu_status codelet_check(const struct codelet_library *library, const struct arch *a,
                              const struct codelet *c)
{
    struct codelet_code code;
    enum emu_status s;

    TRY(library->link(a, &c, 1, a->mem_base, &code));
    s = check_code(a, c, &code);
    codelet_code_free(&code);
    return s;
}
