/* isa_regs.c - which registers an instruction reads and writes, from the operand letters of its
 * row. */
#include <stddef.h>

#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"
#include "emu/isa/isa_internal.h"

/* One register operand of an operation: its bits when the first register is 0, and where that
 * number stands. */
struct use {
    uint8_t member; /* offset in struct insn */
    uint8_t bits, aux_file, reads, writes;
};

static struct op_uses {
    uint8_t count;
    struct use use[ISA_MAX_OPERANDS];
} uses[INSN_COUNT];

static uint8_t span_bits(const struct operand *o)
{
    switch (o->kind) {
    case OPD_M2:
    case OPD_A2:
        return 3;
    case OPD_A4:
        return 15;
    default:
        return 1;
    }
}

/* d and e are written; a conditional move also reads d. x is read and written, and so is what has a
 * suffix += ++ @ >>. */
void isa_regs_init(void)
{
    for (unsigned op = 0; op < INSN_COUNT; op++) {
        const struct insn_form *f = isa_op_form(op);

        for (unsigned k = 0; k < f->operand_count; k++) {
            const struct operand *o = &f->operand[k];
            int destination = o->letter == 'd' || o->letter == 'e';

            if (o->kind > OPD_A_B)
                continue;
            uses[op].use[uses[op].count++] = (struct use){
                .member = (uint8_t)isa_member(o->letter),
                .bits = span_bits(o),
                .aux_file = o->kind != OPD_M && o->kind != OPD_M2,
                .reads = !destination || op == INSN_movnz,
                .writes = destination || o->suffix || o->letter == 'x',
            };
        }
    }
}

/* All registers that an instruction names, read-only ones too. */
static struct insn_regs registers_named(const struct insn *in)
{
    uint32_t m_read = 0, m_write = 0, a_read = 0, a_write = 0;
    const struct op_uses *u = in->op < INSN_COUNT ? &uses[in->op] : NULL;

    for (unsigned k = 0; u && k < u->count; k++) {
        const struct use *s = &u->use[k];
        uint32_t mask = (uint32_t)s->bits << ((const uint8_t *)in)[s->member];
        uint32_t read = s->reads ? mask : 0, write = s->writes ? mask : 0;

        m_read |= s->aux_file ? 0 : read;
        m_write |= s->aux_file ? 0 : write;
        a_read |= s->aux_file ? read : 0;
        a_write |= s->aux_file ? write : 0;
    }
    return (struct insn_regs){ m_read, m_write, a_read, a_write };
}

struct insn_regs isa_registers(const struct insn *in)
{
    struct insn_regs r = registers_named(in);

    /* $m12..$m15 and $a14, $a15 swallow writes */
    r.m_write &= 0x0fff;
    r.a_write &= 0x3fff;
    return r;
}

/* $m14, the only general register of the main file that a machine may lack; $m12 and $m13 are the
 * bases. In the auxiliary file all below the zeros are general. */
enum { LAST_M = 14, MAIN_WITH_LAST = 13, AUX_GENERAL = 14 };

enum isa_need isa_needs(const struct insn *in, unsigned version, unsigned main_registers,
                        unsigned aux_registers, unsigned *missing)
{
    struct insn_regs r;
    uint32_t m, a;

    if (in->op >= INSN_COUNT || isa_op_form(in->op)->since > version)
        return ISA_NEEDS_VERSION;
    r = registers_named(in);
    m = main_registers < MAIN_WITH_LAST ? r.m_read & 1u << LAST_M : 0;
    a = r.a_read & ((1u << AUX_GENERAL) - 1) & ~((1u << aux_registers) - 1);
    if (!(m | a))
        return ISA_NEEDS_NOTHING;
    if (missing)
        *missing = (unsigned)__builtin_ctz(m ? m : a);
    return m ? ISA_NEEDS_M_REGISTER : ISA_NEEDS_A_REGISTER;
}
