/* codelet_check.c - whether a machine has what a kernel's instructions need, found in the
 * assembled code itself. */
#include <string.h>

#include "programs/compiler/base/codelet.h"

/* NULL, or what an instruction needs that the machine has not. */
static const char *missing(const struct arch *a, const struct insn *in)
{
    if (in->op >= INSN_COUNT)
        return NULL;
    return a->amp_sets < 2 && isa_op_form(in->op)->flags & INSN_TWO_SETS ? "two sets of AMP units"
                                                                         : NULL;
}

static enum emu_status refuse(const struct arch *a, const struct codelet *c, const struct insn *in,
                              const char *what)
{
    return FAIL(USAGE, "kernel %s: its instruction %s needs %s, and machine %s has one", c->name,
                isa_op_form(in->op)->mnemonic, what, a->name);
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
        for (int k = 0; k <= bundle; k++) {
            const char *what = missing(a, &in[k]);

            if (what)
                return refuse(a, c, &in[k], what);
        }
    }
    return EMU_OK;
}

enum emu_status codelet_check(const struct codelet_library *library, const struct arch *a,
                              const struct codelet *c)
{
    struct codelet_code code;
    enum emu_status s;

    if (a->amp_sets >= 2)
        return EMU_OK; /* it has all that instructions may need */
    TRY(library->link(a, &c, 1, a->mem_base, &code));
    s = check_code(a, c, &code);
    codelet_code_free(&code);
    return s;
}
