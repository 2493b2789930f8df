/* isa_regs.c - which registers an instruction reads and writes, from the operand letters of its
 * row. */
#include <stddef.h>

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

struct insn_regs isa_registers(const struct insn *in)
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
    /* $m12..$m15 and $a14, $a15 swallow writes */
    return (struct insn_regs){ m_read, m_write & 0x0fff, a_read, a_write & 0x3fff };
}
