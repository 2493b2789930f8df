/* isa_regs.c - which registers an instruction reads and writes, from the operand letters of its row. */
#include "emu/isa/isa.h"

static unsigned span(const struct operand *o)
{
    switch (o->kind) {
    case OPD_M2:
    case OPD_A2: return 2;
    case OPD_A4: return 4;
    default: return 1;
    }
}

static int is_main_file(const struct operand *o)
{
    return o->kind == OPD_M || o->kind == OPD_M2;
}

static unsigned first_register(const struct insn *in, char letter)
{
    switch (letter) {
    case 'd': return in->d;
    case 'e': return in->e;
    case 'a': return in->a;
    case 'b': return in->b;
    case 'c': return in->c;
    case 's': return in->s;
    case 't': return in->t;
    case 'x': return in->x;
    case 'y': return in->y;
    default: return in->p;
    }
}

/* d and e are written; a conditional move also reads d. The suffixes += ++ @ >> both read and write, and so does brnzdec. */
static void add_operand(const struct insn *in, const struct operand *o, struct insn_regs *r)
{
    uint32_t mask = ((1u << span(o)) - 1) << first_register(in, o->letter);
    int writes = o->letter == 'd' || o->letter == 'e' || o->suffix || in->op == OP_brnzdec;
    int reads = !(o->letter == 'd' || o->letter == 'e') || in->op == OP_movz || in->op == OP_movnz;

    if (o->kind == OPD_A123)
        mask = 0xeu << first_register(in, o->letter);
    if (is_main_file(o)) {
        r->m_write |= writes ? mask : 0;
        r->m_read |= reads ? mask : 0;
    } else {
        r->a_write |= writes ? mask : 0;
        r->a_read |= reads ? mask : 0;
    }
}

struct insn_regs isa_registers(const struct insn *in)
{
    struct insn_regs r = { 0, 0, 0, 0 };
    const struct insn_form *f;

    if (in->op >= OP_COUNT)
        return r;
    f = isa_op_form(in->op);
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].kind <= OPD_A_B)
            add_operand(in, &f->operand[k], &r);
    }
    r.m_write &= 0x0fff; /* $m12..$m15 and $a14, $a15 swallow writes */
    r.a_write &= 0x3fff;
    return r;
}
