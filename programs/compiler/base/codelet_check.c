/* codelet_check.c - whether a machine has what a kernel's instructions need, found in the
 * assembled code itself. */
#include <string.h>

#include "programs/compiler/base/codelet.h"

static enum emu_status check_insn(const struct arch *a, const struct codelet *c,
                                  const struct insn *in)
{
    const struct insn_form *f = in->op < INSN_COUNT ? isa_op_form(in->op) : NULL;

    if (f && f->since > a->isa)
        return FAIL(USAGE,
                    "kernel %s: its instruction %s needs the instruction set ipu%u, and machine %s "
                    "has ipu%u",
                    c->name, f->mnemonic, f->since, a->name, a->isa);
    return EMU_OK;
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

    if (a->isa >= isa_newest())
        return EMU_OK; /* it has all instructions */
    TRY(library->link(a, &c, 1, a->mem_base, &code));
    s = check_code(a, c, &code);
    codelet_code_free(&code);
    return s;
}
