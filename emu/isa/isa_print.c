/* isa_print.c - prints instructions as assembly text that assembles to the same words. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"
#include "emu/isa/isa_internal.h"

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
    unsigned r = isa_field(in, o->letter);

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
    case OPD_A_BL:
        put(t, "$a%u:BL", r);
        break;
    case OPD_A_BU:
        put(t, "$a%u:BU", r);
        break;
    case OPD_A_B:
        put(t, "$a%u:B", r);
        break;
    case OPD_CSR:
    case OPD_CSRNAME:
        put_csr(t, in);
        break;
    case OPD_ADDR:
        if (label)
            put(t, "%s", label);
        else if (isa_op_form(in->op)->flags & INSN_CONTROL)
            put(t, "0x%x / %d", r, ISA_WORD_BYTES);
        else
            put(t, "0x%x", r);
        break;
    case OPD_HIMM:
        put(t, "0x%x", r);
        break;
    case OPD_SIMM:
        put(t, "%d", (int)r);
        break;
    default:
        put(t, "%u", r);
        break;
    }
    put(t, "%s", suffix[o->suffix]);
}

/* Fills what an alias would say of the instruction; 0 when the instruction is not one of those that
 * the alias stands for. */
static int alias_reads(const struct insn_form *f, const struct insn *in, struct insn *shown)
{
    const char *s = f->alias_map;
    char *end, known[ISA_MAX_OPERANDS + 1] = "";
    unsigned count = 0;

    *shown = (struct insn){ .op = in->op };
    for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
        uint32_t v = isa_field(in, s[0]);

        s += 2;
        if (*s >= '0' && *s <= '9') {
            if ((uint32_t)strtoul(s, &end, 10) != v)
                return 0;
            s = end;
            continue;
        }
        if (strchr(known, *s) && isa_field(shown, *s) != v)
            return 0;
        isa_set_field(shown, *s, v);
        known[count++] = *s++;
    }
    return 1;
}

/* The form that an instruction is written as; *shown has its fields. Of two aliases the later row
 * is the narrower one: `zero` comes after `mov`. */
static const struct insn_form *spelling(const struct insn *in, struct insn *shown)
{
    for (unsigned k = FORM_COUNT; k--;) {
        const struct insn_form *f = isa_form(k);

        if (f->flags & INSN_SHOWN && f->op == in->op && alias_reads(f, in, shown))
            return f;
    }
    *shown = *in;
    return isa_op_form(in->op);
}

/* Whether an operand of another form takes what stands in this one. */
static int takes(const struct operand *other, const struct operand *o, const struct insn *in)
{
    uint32_t v = isa_field(in, o->letter);

    if (o->kind <= OPD_A_B || other->kind <= OPD_A_B)
        return other->kind == o->kind && other->suffix == o->suffix;
    return isa_operand_accepts(other, o->kind == OPD_SIMM ? (int64_t)(int32_t)v : (int64_t)v);
}

/* The assembler takes the first form that fits: a uimm16 that simm16 could hold, and a himm12 of
 * zero, would become another word. */
static int assembles_to_other_row(const struct insn *in, const struct insn_form *f)
{
    const struct insn_form *g = isa_form_find(f->mnemonic, strlen(f->mnemonic));

    for (; g != f; g = isa_form_next(g)) {
        unsigned k = 0;

        while (k < f->operand_count && k < g->operand_count &&
               takes(&g->operand[k], &f->operand[k], in))
            k++;
        if (k == f->operand_count && k == g->operand_count)
            return 1;
    }
    return 0;
}

int isa_print(const struct insn *in, const char *label, char *out, size_t bytes)
{
    struct printed_insn t = { out, bytes, 0 };
    const struct insn_form *f;
    struct insn shown;

    if (bytes)
        out[0] = 0;
    if (in->op >= INSN_COUNT) {
        put(&t, "<illegal>");
        return t.len;
    }
    f = spelling(in, &shown);
    if (assembles_to_other_row(&shown, f)) {
        uint32_t w[2];

        isa_encode(in, w);
        put(&t, ".insn 0x%08x", w[0]);
        return t.len;
    }
    put(&t, "%s", f->mnemonic);
    for (unsigned k = 0; k < f->operand_count; k++) {
        put(&t, k ? ", " : " ");
        put_operand(&t, &shown, &f->operand[k], label);
    }
    return t.len;
}
