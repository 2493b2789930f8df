/* asm_match.c - finds the form of a mnemonic that fits the operands, and the message when none
 * does.
 *
 * The first form in table order wins, so the order of insn.def decides between sign- and
 * zero-extended immediates. An operand that is not known yet fits every immediate; the linker
 * matches again when it is.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm_internal.h"
#include "emu/isa/insn_ops.h"

/* One attempt to read an instruction. */
struct match_attempt {
    struct asm_unit *u;
    struct as *as; /* NULL in the linker */
    const struct insn_text *text;
    struct value value[OPERANDS];
};

enum fit {
    FIT_NO,
    FIT_KIND,
    FIT_YES
}; /* FIT_KIND: the right sort of operand, but its value does not fit */

static int fail(const struct match_attempt *a, struct loc at, const char *fmt, ...)
    EMU_PRINTF(3, 4);

static int fail(const struct match_attempt *a, struct loc at, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return a->as ? as_error(a->as, at, "%s", text) : unit_diag(a->u, ASM_ERROR, at, "%s", text);
}

/* ---- one operand ---- */

static int is_register(const struct operand *o)
{
    return o->kind <= OPD_A_B;
}

/* A plain load or store: data, base, delta, and an index or a number; stm32 has no delta. The
 * vendor's assembler takes registers of either file for the address, by their numbers. */
static int is_memory(const struct insn_form *f)
{
    return (!strncmp(f->mnemonic, "ld", 2) || !strncmp(f->mnemonic, "st", 2)) &&
           f->operand_count > 2 && f->operand[1].letter == 'a' && f->operand[2].letter == 'b';
}

void insn_add_delta(struct insn_text *t)
{
    enum { DELTA = 2, MZERO = 15 };

    if (t->count != 3 || !is_memory(t->first) || t->first->operand_count != 4)
        return;
    t->operand[DELTA + 1] = t->operand[DELTA];
    t->operand[DELTA] = (struct operand_text){
        .kind = TEXT_M, .reg = MZERO, .count = 1, .at = t->operand[DELTA].at
    };
    t->count++;
}

static enum fit register_fits(const struct match_attempt *a, const struct insn_form *f, unsigned k,
                              int64_t *out)
{
    static const struct {
        uint8_t kind, count, broadcast, align;
    } shape[] = {
        [OPD_M] = { TEXT_M, 1, BROADCAST_NONE, 1 },    [OPD_A] = { TEXT_A, 1, BROADCAST_NONE, 1 },
        [OPD_M2] = { TEXT_M, 2, BROADCAST_NONE, 2 },   [OPD_A2] = { TEXT_A, 2, BROADCAST_NONE, 2 },
        [OPD_A4] = { TEXT_A, 4, BROADCAST_NONE, 4 },   [OPD_A_BL] = { TEXT_A, 1, BROADCAST_LOW, 1 },
        [OPD_A_BU] = { TEXT_A, 1, BROADCAST_HIGH, 1 }, [OPD_A_B] = { TEXT_A, 1, BROADCAST_LOW, 1 },
    };
    const struct operand *o = &f->operand[k];
    const struct operand_text *t = &a->text->operand[k];
    unsigned over = t->reg % shape[o->kind].align;
    int any_file = k > 0 && o->kind == OPD_M && t->kind == TEXT_A && is_memory(f);

    *out = t->reg - over;
    return (t->kind == shape[o->kind].kind || any_file) && t->count == shape[o->kind].count &&
                   t->broadcast == shape[o->kind].broadcast && t->suffix == o->suffix &&
                   (!over || a->text->any_operands)
               ? FIT_YES
               : FIT_NO;
}

/* The linker sees only what was no constant when the instruction was read. */
static int is_branch_constant(const struct match_attempt *a, const struct insn_form *f,
                              const struct operand *o)
{
    return a->as && o->kind == OPD_ADDR && f->flags & INSN_CONTROL;
}

/* The constant of a branch is its field, a number of words; symbols are byte addresses. With
 * .allow_invalid_operands, bits that the field has no room for are dropped. */
static enum fit branch_constant_fits(const struct match_attempt *a, const struct operand *o,
                                     int64_t v, int64_t *out)
{
    int64_t words = INT64_C(1) << o->bits;

    *out = (v & (words - 1)) * ISA_WORD_BYTES;
    return v >= 0 && (v < words || a->text->any_operands) ? FIT_YES : FIT_KIND;
}

/* The CSR space that a name is looked up in: U for $aN operands, else that of the mode; '?' either
 * lower one. */
static char csr_space(const struct insn_form *f, const struct insn_text *t)
{
    if (f->lane == LANE_A)
        return 'U';
    if (t->any_mode || t->mode == MODE_ANY)
        return '?';
    return t->mode == MODE_WORKER ? 'W' : 'S';
}

static int csr_value(const struct insn_form *f, const struct insn_text *t,
                     const struct operand_text *o)
{
    enum { W, U, S };

    switch (csr_space(f, t)) {
    case 'U':
        return o->csr[U];
    case 'W':
        return o->csr[W];
    case 'S':
        return o->csr[S];
    default:
        return o->csr[W] >= 0 ? o->csr[W] : o->csr[S];
    }
}

/* How operand k of the text fits the form; *out is the value to build it with. */
static enum fit operand_fits(const struct match_attempt *a, const struct insn_form *f, unsigned k,
                             int64_t *out)
{
    const struct operand *o = &f->operand[k];
    const struct operand_text *t = &a->text->operand[k];
    int64_t v = a->value[k].number;

    if (is_register(o))
        return register_fits(a, f, k, out);
    if (o->kind == OPD_CSRNAME) {
        *out = t->kind == TEXT_CSR ? csr_value(f, a->text, t) : 0;
        return t->kind != TEXT_CSR ? FIT_NO : *out < 0 ? FIT_KIND : FIT_YES;
    }
    if (t->kind == TEXT_CSR && o->kind != OPD_CSR)
        v = operand_csr_number(t, a->text->any_mode ? MODE_ANY : a->text->mode);
    else if (t->kind != TEXT_EXPR)
        return FIT_NO;
    if (a->value[k].kind != VALUE_NUMBER) {
        *out = 0;
        return FIT_YES;
    }
    if (is_branch_constant(a, f, o))
        return branch_constant_fits(a, o, v, out);
    *out = v;
    return isa_operand_accepts(o, v) ? FIT_YES : FIT_KIND;
}

/* ---- messages ---- */

/* Alternatives, each once, joined by "or". */
struct list {
    char text[300];
    char item[6][60];
    unsigned count;
};

static void list_add(struct list *l, const char *what)
{
    size_t used = strlen(l->text);

    for (unsigned i = 0; i < l->count; i++) {
        if (!strcmp(l->item[i], what))
            return;
    }
    if (l->count == EMU_COUNT_OF(l->item))
        return;
    snprintf(l->text + used, sizeof(l->text) - used, "%s%s", l->count ? " or " : "", what);
    snprintf(l->item[l->count++], sizeof(l->item[0]), "%s", what);
}

static void describe(const struct match_attempt *a, const struct insn_form *f,
                     const struct operand *o, char *out, size_t bytes)
{
    static const char *const registers[] = {
        [OPD_M] = "$mN",
        [OPD_A] = "$aN",
        [OPD_M2] = "$mN:N+1 (N even)",
        [OPD_A2] = "$aN:N+1 (N even)",
        [OPD_A4] = "$aN:N+3 (N multiple of 4)",
        [OPD_A_BL] = "$aN:BL",
        [OPD_A_BU] = "$aN:BU",
        [OPD_A_B] = "$aN:B",
    };
    static const char *const suffix[] = { "", "+=", "++", "@", ">>" };
    long long top = o->bits < 63 ? 1LL << o->bits : 0;

    switch (o->kind) {
    case OPD_UIMM:
        snprintf(out, bytes, "uimm%u (0..%lld)", o->bits, top - 1);
        break;
    case OPD_SIMM:
        snprintf(out, bytes, "simm%u (%lld..%lld)", o->bits, -top / 2, top / 2 - 1);
        break;
    case OPD_SUBIMM:
        snprintf(out, bytes, "an immediate (-32767..32767)");
        break;
    case OPD_HIMM:
        snprintf(out, bytes, "himm12 (32 bits, the low 20 zero)");
        break;
    case OPD_IMM32:
        snprintf(out, bytes, "imm32 (32 bits)");
        break;
    case OPD_ADDR:
        if (is_branch_constant(a, f, o))
            snprintf(out, bytes, "a label, or its word number (0..%lld)", top - 1);
        else
            snprintf(out, bytes, "an address (multiple of 4 below 0x%llx)", top * 4);
        break;
    case OPD_CSR:
        snprintf(out, bytes, "a CSR number (0..511)");
        break;
    case OPD_CSRNAME:
        snprintf(out, bytes, "a CSR name");
        break;
    default:
        snprintf(out, bytes, "%s%s", registers[o->kind], suffix[o->suffix]);
        break;
    }
}

static int say_count(const struct match_attempt *a)
{
    struct list l = { .count = 0 };
    const struct insn_text *t = a->text;

    for (const struct insn_form *f = t->first; f; f = isa_form_next(f)) {
        char n[8];

        snprintf(n, sizeof(n), "%u", f->operand_count);
        list_add(&l, n);
    }
    return fail(a, t->at, "'%s' takes %s operand%s, found %u", t->first->mnemonic, l.text,
                !strcmp(l.text, "1") ? "" : "s", t->count);
}

static int say_csr(const struct match_attempt *a, const struct operand_text *t)
{
    static const char *const owner[] = { "the lower space of workers",
                                         "the upper space of workers (uget and uput)",
                                         "the supervisor" };
    int i = 0;

    while (i < 2 && t->csr[i] < 0)
        i++;
    return fail(a, t->at, "%.*s is a CSR of %s, which is not meant here", (int)t->text.n, t->text.s,
                owner[i]);
}

/* No form fits: the furthest operand that any form reached is the culprit. */
static int say_mismatch(const struct match_attempt *a, unsigned k, enum fit best)
{
    const struct operand_text *t = &a->text->operand[k];
    struct list l = { .count = 0 };
    char what[60];
    long long v = a->value[k].number;

    for (const struct insn_form *f = a->text->first; f; f = isa_form_next(f)) {
        int64_t value;
        unsigned i = 0;

        if (f->operand_count != a->text->count)
            continue;
        while (i < k && operand_fits(a, f, i, &value) == FIT_YES)
            i++;
        if (i < k || (best == FIT_KIND && operand_fits(a, f, k, &value) != FIT_KIND))
            continue;
        if (best == FIT_KIND && t->kind == TEXT_CSR)
            return say_csr(a, t);
        describe(a, f, &f->operand[k], what, sizeof(what));
        list_add(&l, what);
    }
    if (best == FIT_KIND && v >= 0 && v < 4096)
        return fail(a, t->at, "immediate %lld does not fit %s", v, l.text);
    if (best == FIT_KIND)
        return fail(a, t->at, "immediate %lld (0x%llx) does not fit %s", v, v, l.text);
    return fail(a, t->at, "expected %s, found %.*s", l.text, (int)t->text.n, t->text.s);
}

/* ---- the instruction ---- */

static int check_mode(const struct match_attempt *a, const struct insn_form *f)
{
    const struct insn_text *t = a->text;

    if (t->any_mode || t->mode == MODE_ANY || f->context & t->mode)
        return 1;
    return fail(a, t->at, "'%s' is for %s only, and this is .%s code", f->mnemonic,
                t->mode == MODE_WORKER ? "the supervisor" : "workers",
                t->mode == MODE_WORKER ? "worker" : "supervisor");
}

static int check_machine(const struct match_attempt *a, const struct insn *in)
{
    const struct insn_form *f = isa_op_form(in->op);
    const struct arch *machine = &a->u->arch;
    unsigned missing = 0;
    enum isa_need need = isa_needs(in, arch_isa(machine), arch_main_registers(machine),
                                   arch_aux_registers(machine), &missing);

    if (a->u->options.any_machine || need == ISA_NEEDS_NOTHING)
        return 1;
    if (need == ISA_NEEDS_VERSION)
        return fail(a, a->text->at,
                    "'%s' needs the instruction set ipu%u, and machine %s has ipu%u", f->mnemonic,
                    f->since, machine->name, arch_isa(machine));
    return fail(a, a->text->at, "machine %s has no register $%c%u", machine->name,
                need == ISA_NEEDS_M_REGISTER ? 'm' : 'a', missing);
}

/* What ldconst becomes depends on its value. */
static int check_known(const struct match_attempt *a, const struct insn_form *f)
{
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].kind == OPD_IMM32 && a->value[k].kind != VALUE_NUMBER)
            return fail(a, a->text->operand[k].at, "'%s' needs a number that is known here",
                        f->mnemonic);
    }
    return 1;
}

static int build(const struct match_attempt *a, const struct insn_form *f, const int64_t *value,
                 struct match *out)
{
    out->form = f;
    out->insns = isa_form_build(f, value, out->insn);
    out->unknown = 0;
    for (unsigned k = 0; k < a->text->count; k++)
        out->unknown |= a->value[k].kind != VALUE_NUMBER;
    EMU_ASSERT(out->insns);
    return check_known(a, f) && check_mode(a, f) && check_machine(a, &out->insn[0]);
}

/* The third operand of `run` is a word number in region 0: a symbol becomes its distance from
 * there. */
static int address_of_run(struct match_attempt *a, unsigned k)
{
    int64_t v = a->value[k].number - a->u->arch.mem_base;

    if (v % ISA_WORD_BYTES)
        return fail(a, a->text->operand[k].at, "the address 0x%llx is not a multiple of %d",
                    (long long)a->value[k].number, ISA_WORD_BYTES);
    a->value[k].number = v / ISA_WORD_BYTES;
    return 1;
}

/* Numbers of the operands that are expressions; all others count as the number 0. */
static int evaluate(struct match_attempt *a, int linked)
{
    for (unsigned k = 0; k < a->text->count; k++) {
        const struct operand_text *t = &a->text->operand[k];

        a->value[k] = (struct value){ VALUE_NUMBER, 0, NULL, NULL };
        if (t->kind == TEXT_EXPR)
            a->value[k] = expr_eval(t->expr, linked);
        if (a->value[k].kind == VALUE_WRONG)
            return fail(a, t->at, "%s", a->value[k].why);
        if (linked && a->text->first->form == FORM_run && t->kind == TEXT_EXPR &&
            !address_of_run(a, k))
            return 0;
    }
    return 1;
}

/* .insn: a word that says it all. */
static int match_word(const struct match_attempt *a, struct match *out)
{
    uint32_t word[2] = { a->text->word, 0 };
    struct insn aux;
    int is_bundle;

    memset(out, 0, sizeof(*out));
    isa_decode(word, &out->insn[0], &aux, &is_bundle);
    if (isa_is_wide(word[0]) || out->insn[0].op >= INSN_COUNT)
        return fail(a, a->text->at, "0x%08x is no instruction of one word", (unsigned)word[0]);
    out->form = isa_op_form(out->insn[0].op);
    out->insns = 1;
    return check_mode(a, out->form) && check_machine(a, &out->insn[0]);
}

int insn_match(struct asm_unit *u, struct as *as, const struct insn_text *t, int linked,
               struct match *out)
{
    struct match_attempt a = { .u = u, .as = as, .text = t };
    enum fit best = FIT_NO, fit;
    unsigned furthest = 0, forms = 0;

    if (!t->first)
        return match_word(&a, out);
    if (!evaluate(&a, linked))
        return 0;
    for (const struct insn_form *f = t->first; f; f = isa_form_next(f)) {
        int64_t value[OPERANDS] = { 0 };
        unsigned k = 0;

        if (f->operand_count != t->count)
            continue;
        forms++;
        for (fit = FIT_YES; k < t->count; k++) {
            fit = operand_fits(&a, f, k, &value[k]);
            if (fit != FIT_YES)
                break;
        }
        if (k == t->count)
            return build(&a, f, value, out);
        if (k > furthest || (k == furthest && fit > best)) {
            furthest = k;
            best = fit;
        }
    }
    return forms ? say_mismatch(&a, furthest, best) : say_count(&a);
}
