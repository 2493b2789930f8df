/* asm_insn.c - instruction statements and bundles: which instructions may form a bundle, and their
 * words. */
#include <stdio.h>
#include <string.h>

#include "emu/asm/asm_internal.h"
#include "emu/base/nearest.h"
#include "emu/isa/insn_ops.h"

/* ---- registers written ---- */

static const char *operand_registers(const struct insn *in, const struct operand *o, uint32_t *mask)
{
    static const struct {
        char letter;
        uint8_t offset;
    } field[] = { { 'd', offsetof(struct insn, d) },
                  { 'e', offsetof(struct insn, e) },
                  { 'x', offsetof(struct insn, x) },
                  { 'y', offsetof(struct insn, y) },
                  { 'p', offsetof(struct insn, p) } };
    uint32_t bits = o->kind == OPD_A4 ? 0xf : 0x1;

    *mask = 0;
    if (o->kind > OPD_A_B || !o->letter)
        return NULL;
    if (o->kind == OPD_M2 || o->kind == OPD_A2)
        bits = 3;
    if (strchr("yp", o->letter) && o->suffix == SUFFIX_NONE)
        return NULL;
    for (size_t i = 0; i < EMU_COUNT_OF(field); i++) {
        if (field[i].letter == o->letter)
            *mask = bits << ((const uint8_t *)in)[field[i].offset];
    }
    return o->kind == OPD_M || o->kind == OPD_M2 ? "m" : "a";
}

/* Registers as bits, of the main and of the auxiliary file. */
struct register_set {
    uint32_t bits[2];
};

/* All but the zero registers, which swallow what is written. */
static const struct register_set keep_values = { { 0x7fff, 0x3fff } };

static int say_register(int aux_file, uint32_t bits, char *name, size_t bytes)
{
    if (bits)
        snprintf(name, bytes, "$%c%d", aux_file ? 'a' : 'm', __builtin_ctz(bits));
    return bits != 0;
}

/* Adds the registers that one instruction writes. Returns 1 if two of its results go to one
 * register that keeps them. */
static int add_writes(const struct insn *in, struct register_set *written, char *name, size_t bytes)
{
    const struct insn_form *f = isa_op_form(in->op);
    int twice = 0;

    for (unsigned k = 0; k < f->operand_count; k++) {
        uint32_t mask;
        const char *file = operand_registers(in, &f->operand[k], &mask);
        int aux_file = file && *file == 'a';
        uint32_t *seen = &written->bits[aux_file];

        twice =
            twice || say_register(aux_file, *seen & mask & keep_values.bits[aux_file], name, bytes);
        *seen |= mask;
    }
    return twice;
}

int insn_writes_twice(const struct insn *in, char *name, size_t bytes)
{
    struct register_set written = { { 0, 0 } };

    return add_writes(in, &written, name, bytes);
}

/* The halves of a bundle never write one register, not even one that swallows what is written. */
static int bundle_writes_twice(const struct insn *main, const struct insn *aux, char *name,
                               size_t bytes)
{
    struct register_set by_main = { { 0, 0 } }, by_aux = { { 0, 0 } };

    return add_writes(main, &by_main, name, bytes) || add_writes(aux, &by_aux, name, bytes) ||
           say_register(0, by_main.bits[0] & by_aux.bits[0], name, bytes) ||
           say_register(1, by_main.bits[1] & by_aux.bits[1], name, bytes);
}

/* ---- bundles ---- */

/* Lane and flags of one half. */
static int half_fault(const struct insn_form *f, int aux, char *why, size_t bytes)
{
    if (f->flags & INSN_SOLO) {
        snprintf(why, bytes, "'%s' cannot be in a bundle", f->mnemonic);
        return 1;
    }
    if (f->lane != (aux ? LANE_A : LANE_M)) {
        snprintf(why, bytes,
                 "'%s' cannot be the %s instruction of a bundle: it belongs to the %s lane",
                 f->mnemonic, aux ? "second" : "first", aux ? "main" : "auxiliary");
        return 1;
    }
    return 0;
}

/* The forms are those of the text: an alias is named as it was written. */
static int bundle_fault(const struct insn_form *main_form, const struct insn *main,
                        const struct insn_form *aux_form, const struct insn *aux, char *why,
                        size_t bytes)
{
    char name[16];

    if (half_fault(main_form, 0, why, bytes) || half_fault(aux_form, 1, why, bytes))
        return 1;
    if (!bundle_writes_twice(main, aux, name, sizeof(name)))
        return 0;
    snprintf(why, bytes, "two results of this bundle go to %s", name);
    return 1;
}

int insn_bundle_fault(const struct insn *main, const struct insn *aux, char *why, size_t bytes)
{
    return bundle_fault(isa_op_form(main->op), main, isa_op_form(aux->op), aux, why, bytes);
}

int insn_bundle_open(struct as *as, struct loc at)
{
    if (as->bundle.open)
        return as_error(as, at, "a bundle in a bundle");
    memset(&as->bundle, 0, sizeof(as->bundle));
    as->bundle.open = 1;
    as->bundle.at = at;
    return 1;
}

static int is_repeat(const struct match *m)
{
    return m->insn[0].op == INSN_rpt_r || m->insn[0].op == INSN_rpt_i;
}

static int repeat_flag(const struct match *m)
{
    return m->form && m->form->flags & (INSN_CONTROL | INSN_SYSTEM) ? ITEM_NO_REPEAT : 0;
}

/* Notes what the linker has to do for an instruction that was just emitted as the last item. */
static int add_fixups(struct as *as, const struct insn_text *t, const struct match *m,
                      uint32_t offset, unsigned bytes)
{
    struct fixup f = { .kind = FIXUP_INSN, .bytes = (uint8_t)bytes, .offset = offset, .at = t->at };

    if (m->unknown) {
        struct insn_text *copy = unit_alloc(as->u, 1, sizeof(*copy));

        if (!copy)
            return 0;
        *copy = *t;
        f.insn = copy;
        if (!section_fixup(as, &f))
            return 0;
    }
    if (!is_repeat(m))
        return 1;
    f.kind = FIXUP_REPEAT;
    f.item = (uint32_t)as->section->items - 1;
    return section_fixup(as, &f);
}

static int emit_single(struct as *as, const struct insn_text *t, const struct match *m)
{
    uint32_t word[2], offset = (uint32_t)as->section->size;
    unsigned kind = ITEM_SINGLE | repeat_flag(m), words;
    unsigned bytes = m->insns * ISA_WORD_BYTES;
    char name[16];

    if (insn_writes_twice(&m->insn[0], name, sizeof(name)))
        return as_error(as, t->at, "'%s' writes %s twice", m->form->mnemonic, name);
    for (unsigned i = 0; i < m->insns; i++) {
        words = isa_encode(&m->insn[i], word);
        if (words == 2 && as->section->size % ISA_BUNDLE_BYTES)
            return as_error(as, t->at, "'%s' must be aligned to %d bytes", m->form->mnemonic,
                            ISA_BUNDLE_BYTES);
        if (!section_emit(as, word, words * ISA_WORD_BYTES, kind, t->at))
            return 0;
        bytes = words == 2 ? ISA_BUNDLE_BYTES : bytes;
    }
    return add_fixups(as, t, m, offset, bytes);
}

static int emit_bundle(struct as *as)
{
    struct bundle *b = &as->bundle;
    uint32_t word[2], offset = (uint32_t)as->section->size;
    unsigned kind = ITEM_BUNDLE | repeat_flag(&b->match[0]) | repeat_flag(&b->match[1]);

    isa_encode_bundle(&b->match[0].insn[0], &b->match[1].insn[0], word);
    return section_emit(as, word, ISA_BUNDLE_BYTES, kind, b->at) &&
           add_fixups(as, &b->text[0], &b->match[0], offset, ISA_WORD_BYTES) &&
           add_fixups(as, &b->text[1], &b->match[1], offset + ISA_WORD_BYTES, ISA_WORD_BYTES);
}

/* A fault of a bundle that can be encoded all the same. */
static int bundle_complaint(struct as *as, const char *text)
{
    if (!as->allow[ANY_BUNDLE])
        return as_error(as, as->bundle.at, "%s", text);
    as_warning(as, as->bundle.at, "%s", text);
    return 1;
}

static int is_one_word(const struct match *m)
{
    uint32_t word[2];

    return m->insns == 1 && isa_encode(&m->insn[0], word) == 1;
}

static int check_bundle(struct as *as)
{
    struct bundle *b = &as->bundle;
    const struct match *main = &b->match[0], *aux = &b->match[1];
    char text[160];

    if (b->count != 2)
        return as_error(as, b->at, "a bundle has exactly two instructions, this one has %u",
                        b->count);
    if (!is_one_word(main) || !is_one_word(aux))
        return as_error(as, b->at, "'%s' cannot be in a bundle",
                        (is_one_word(main) ? aux : main)->form->mnemonic);
    if (as->mode == MODE_SUPERVISOR && !as->allow[ANY_MODE] &&
        !bundle_complaint(as, "only workers have bundles, and this is .supervisor code"))
        return 0;
    return !bundle_fault(main->form, &main->insn[0], aux->form, &aux->insn[0], text,
                         sizeof(text)) ||
           bundle_complaint(as, text);
}

static void swap_halves(struct bundle *b)
{
    struct insn_text text = b->text[0];
    struct match match = b->match[0];

    b->text[0] = b->text[1];
    b->match[0] = b->match[1];
    b->text[1] = text;
    b->match[1] = match;
}

/* What .allow_optimizations does: halves in the wrong order change places, and a rpt whose partner
 * does nothing stands alone if that aligns the body. */
static void optimize_bundle(struct as *as)
{
    struct bundle *b = &as->bundle;

    if (b->match[0].form->lane == LANE_A && b->match[1].form->lane == LANE_M)
        swap_halves(b);
    b->single = is_repeat(&b->match[0]) && b->match[1].form->form == FORM_fnop &&
                as->section->size % ISA_BUNDLE_BYTES == ISA_WORD_BYTES;
}

/* Even a wrong bundle takes its room, so that one error does not make others. */
int insn_bundle_close(struct as *as, struct loc at)
{
    static const uint32_t nothing[2];
    struct bundle *b = &as->bundle;
    int ok;

    if (!b->open)
        return as_error(as, at, "'}' without '{'");
    b->open = 0;
    if (!(as->section->flags & ASM_EXEC))
        return as_error(as, b->at, "an instruction in section '%s', which is not executable",
                        as->section->n.name);
    if (as->section->size % ISA_WORD_BYTES)
        return as_error(as, b->at, "a bundle at offset %zu, which is not a multiple of 4",
                        as->section->size);
    if (as->allow[OPTIMIZATIONS] && !b->broken && b->count == 2)
        optimize_bundle(as);
    ok = !b->broken && check_bundle(as);
    if (ok)
        return b->single ? emit_single(as, &b->text[0], &b->match[0]) : emit_bundle(as);
    return section_emit(as, nothing, ISA_BUNDLE_BYTES, ITEM_BUNDLE, b->at) && b->broken;
}

/* ---- single instructions ---- */

static int unknown_mnemonic(struct as *as, struct span mnemonic, struct loc at)
{
    struct nearest meant = { .word = mnemonic.s, .n = mnemonic.n };

    if (span_is(mnemonic, "movz")) /* some vendor pages have it, but its word is that of movnz */
        return as_error(as, at,
                        "'movz' is no instruction: put the other value into the "
                        "destination first and use 'movnz', which moves if its condition "
                        "is not 0");
    for (unsigned f = 0; f < FORM_COUNT; f++)
        nearest_try(&meant, isa_form(f)->mnemonic);
    if (meant.best)
        return as_error(as, at, "no instruction or macro is called '%.*s'; did you mean '%s'?",
                        (int)mnemonic.n, mnemonic.s, meant.best);
    return as_error(as, at, "no instruction or macro is called '%.*s'", (int)mnemonic.n,
                    mnemonic.s);
}

static int parse_word(struct as *as, struct insn_text *t)
{
    int64_t v;

    if (!expr_parse_number(as, "the word", &v))
        return 0;
    if (v < 0 || v > UINT32_MAX)
        return as_error(as, t->at, "the word has more than 32 bits");
    t->word = (uint32_t)v;
    return lex_expect_end(as);
}

static int parse_operands(struct as *as, struct insn_text *t)
{
    if (lex_at_end(as))
        return 1;
    do {
        if (t->count == OPERANDS)
            return as_error(as, lex_here(as), "more than %d operands", OPERANDS);
        if (!operand_parse(as, &t->operand[t->count]))
            return 0;
        t->count++;
    } while (lex_accept(as, ','));
    return lex_expect_end(as);
}

/* Parses and matches one instruction; the result has no pointers into the source text left. */
static int read_insn(struct as *as, struct span mnemonic, struct loc at, struct insn_text *t,
                     struct match *m)
{
    int ok;

    memset(t, 0, sizeof(*t));
    memset(m, 0, sizeof(*m));
    t->at = at;
    t->mode = as->mode;
    t->any_mode = as->allow[ANY_MODE];
    t->any_operands = as->allow[ANY_OPERANDS];
    if (span_is(mnemonic, ".insn")) {
        ok = parse_word(as, t);
    } else {
        t->first = isa_form_find(mnemonic.s, mnemonic.n);
        ok = t->first ? parse_operands(as, t) : unknown_mnemonic(as, mnemonic, at);
        if (ok)
            insn_add_delta(t);
    }
    ok = ok && insn_match(as->u, as, t, 0, m);
    for (unsigned k = 0; k < t->count; k++)
        t->operand[k].text = span_of("", 0);
    return ok;
}

int insn_statement(struct as *as, struct span mnemonic, struct loc at)
{
    static const uint32_t nothing;
    struct bundle *b = &as->bundle;
    struct insn_text t;
    struct match m;
    int ok = read_insn(as, mnemonic, at, &t, &m);

    if (b->open) {
        if (b->count < 2) {
            b->text[b->count] = t;
            b->match[b->count] = m;
        }
        b->count++;
        b->broken |= !ok;
        return ok;
    }
    if (!(as->section->flags & ASM_EXEC))
        return as_error(as, at, "an instruction in section '%s', which is not executable",
                        as->section->n.name);
    if (as->section->size % ISA_WORD_BYTES)
        return as_error(as, at, "an instruction at offset %zu, which is not a multiple of 4",
                        as->section->size);
    if (ok)
        return emit_single(as, &t, &m);
    section_emit(as, &nothing, ISA_WORD_BYTES, ITEM_SINGLE, at);
    return 0;
}

int insn_emit(struct as *as, struct insn_text *t)
{
    struct match m = { .form = NULL };

    return insn_match(as->u, as, t, 0, &m) && emit_single(as, t, &m);
}
