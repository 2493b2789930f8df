/* code_word.c - decodes the items of a supervisor (see code_word.h). */
#include "emu/bsp/code_word.h"

#include "emu/bsp/code.h"
#include "emu/isa/insn_ops.h"

_Static_assert(sizeof(struct code_word) == 64, "an entry is one line of the host's caches");

/* Registers whose results are awaited: $m12..$m15 never change. */
enum { SCORED = 0x0fff };

static const char *invalid_for_supervisor(const struct arch *arch, const struct insn *in,
                                          int is_bundle)
{
    const char *invalid = code_invalid(arch, in);

    if (invalid)
        return invalid;
    if (is_bundle)
        return "a bundle in the supervisor";
    if (!(isa_op_form(in->op)->context & CTX_S))
        return "a worker instruction in the supervisor";
    return NULL;
}

static uint8_t flags_of(const struct insn *in)
{
    unsigned op = in->op;

    switch ((enum insn_cost)isa_op_form(op)->cost) {
    case COST_JUMP:
        return op == INSN_call ? WORD_JUMPS | WORD_STARTS : WORD_JUMPS;
    case COST_BRANCH:
        return op == INSN_brz || op == INSN_brnz ? WORD_JUMPS | WORD_TESTS : WORD_JUMPS;
    case COST_RUN:
        return WORD_STARTS;
    case COST_SEND:
        return in->k & SEND_WIDE ? WORD_WIDE : 0;
    default:
        return op == INSN_sync ? WORD_SYNCS : 0;
    }
}

const char *code_word_decode(const struct arch *arch, const uint32_t word[2], struct code_word *out)
{
    struct insn_regs regs;
    const char *invalid;
    struct insn aux;
    unsigned bytes;
    int is_bundle;

    *out = (struct code_word){ .word = { word[0], word[1] } };
    bytes = isa_decode(word, &out->in, &aux, &is_bundle);
    out->unaligned = bytes == 8 && !is_bundle ? 7 : 3;
    invalid = invalid_for_supervisor(arch, &out->in, is_bundle);
    if (invalid)
        return invalid;
    regs = isa_registers(&out->in);
    out->read = regs.m_read & SCORED;
    out->write = regs.m_write & SCORED;
    out->flags = flags_of(&out->in);
    out->is_weights =
        out->in.op == INSN_ld128putcs && !((uint32_t)out->in.i & ~(uint32_t)(TILE_WEIGHTS - 2));
    out->exec = exec_table[out->in.op];
    return NULL;
}
