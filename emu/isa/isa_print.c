/* isa_print.c - prints instructions as assembly text that assembles to the same words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/isa/isa.h"

/* snprintf into what is left of a buffer; len may run past the end, as snprintf's result does. */
struct printed_insn {
    char *out;
    size_t bytes;
    int len;
};

__attribute__((format(printf, 2, 3))) static void put(struct printed_insn *t, const char *fmt, ...)
{
    size_t used = (size_t)t->len < t->bytes ? (size_t)t->len : t->bytes;
    va_list ap;

    va_start(ap, fmt);
    t->len += vsnprintf(t->out ? t->out + used : NULL, t->bytes - used, fmt, ap);
    va_end(ap);
}

static unsigned reg_of(const struct insn *in, char letter)
{
    switch (letter) {
    case 'd':
        return in->d;
    case 'e':
        return in->e;
    case 'a':
        return in->a;
    case 'b':
        return in->b;
    case 'c':
        return in->c;
    case 's':
        return in->s;
    case 't':
        return in->t;
    case 'x':
        return in->x;
    case 'y':
        return in->y;
    default:
        return in->p;
    }
}

static uint32_t imm_of(const struct insn *in, char letter)
{
    switch (letter) {
    case 'j':
        return in->j;
    case 'k':
        return in->k;
    case 'l':
        return in->l;
    case 'n':
        return in->n;
    case 'o':
        return in->o;
    default:
        return (uint32_t)in->i;
    }
}

static void put_main_register(struct printed_insn *t, unsigned r)
{
    if (r == 15)
        put(t, "$mzero");
    else
        put(t, "$m%u", r);
}

static void put_csr(struct printed_insn *t, const struct insn *in)
{
    char space = in->op == INSN_uget || in->op == INSN_uput ? 'U' : 0;
    const struct csr_row *r = space ? isa_csr_at(space, (unsigned)in->i) : NULL;

    /* get and put do not say whose lower space they mean: the number is the same text for both */
    if (r)
        put(t, "$%s", r->name);
    else
        put(t, "%d", (int)in->i);
}

static void put_operand(struct printed_insn *t, const struct insn *in, const struct operand *o,
                        const char *label)
{
    static const char *const suffix[] = { "", "+=", "++", "@", ">>" };
    unsigned r = reg_of(in, o->letter);

    switch (o->kind) {
    case OPD_M:
        put_main_register(t, r);
        break;
    case OPD_A:
        put(t, r == 15 ? "$azero" : "$a%u", r);
        break;
    case OPD_M2:
        put(t, "$m%u:%u", r, r + 1);
        break;
    case OPD_A2:
        put(t, r == 14 ? "$azeros" : "$a%u:%u", r, r + 1);
        break;
    case OPD_A4:
        put(t, "$a%u:%u", r, r + 3);
        break;
    case OPD_A123:
        put(t, "$a%u:%u", r + 1, r + 3);
        break;
    case OPD_A_BL:
        put(t, "$a%u:BL", r);
        break;
    case OPD_A_BU:
        put(t, "$a%u:BU", r);
        break;
    case OPD_A_B:
        put(t, "$a%u:B", r);
        break;
    case OPD_AZERO:
        put(t, "$azero");
        break;
    case OPD_CSR:
    case OPD_CSRNAME:
        put_csr(t, in);
        break;
    case OPD_ADDR:
        if (label)
            put(t, "%s", label);
        else if (isa_op_form(in->op)->flags & INSN_CONTROL)
            put(t, "0x%x / %d", (unsigned)imm_of(in, o->letter), ISA_WORD_BYTES);
        else
            put(t, "0x%x", (unsigned)imm_of(in, o->letter));
        break;
    case OPD_HIMM:
        put(t, "0x%x", (unsigned)imm_of(in, o->letter));
        break;
    case OPD_SIMM:
        put(t, "%d", (int)imm_of(in, o->letter));
        break;
    default:
        put(t, "%u", (unsigned)imm_of(in, o->letter));
        break;
    }
    put(t, "%s", suffix[o->suffix]);
}

/* A simm16 that uimm16 could hold, and a himm12 of zero, would assemble to the other row: such
 * words get their number. */
static int assembles_to_other_row(const struct insn *in, const struct insn_form *f)
{
    for (unsigned k = 0; k < f->operand_count; k++) {
        const struct operand *o = &f->operand[k];

        if (o->kind == OPD_SIMM && o->bits == 16 && in->i >= 0 && in->op != INSN_mul_ms16 &&
            in->op != INSN_cmpslt_ms16)
            return 1;
        if (o->kind == OPD_HIMM && in->i == 0)
            return 1;
    }
    return 0;
}

int isa_print(const struct insn *in, const char *label, char *out, size_t bytes)
{
    struct printed_insn t = { out, bytes, 0 };
    const struct insn_form *f;

    if (bytes)
        out[0] = 0;
    if (in->op >= INSN_COUNT) {
        put(&t, "<illegal>");
        return t.len;
    }
    f = isa_op_form(in->op);
    if (assembles_to_other_row(in, f)) {
        uint32_t w[2];

        isa_encode(in, w);
        put(&t, ".insn 0x%08x", w[0]);
        return t.len;
    }
    put(&t, "%s", f->mnemonic);
    for (unsigned k = 0; k < f->operand_count; k++) {
        put(&t, k ? ", " : " ");
        put_operand(&t, in, &f->operand[k], label);
    }
    return t.len;
}
