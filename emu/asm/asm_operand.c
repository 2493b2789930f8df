/* asm_operand.c - operands as text: registers with their ranges, broadcasts and suffixes, CSR
 * names, expressions. After a '$' stands the name of a register, or else of a CSR or a weight
 * entry, which is a number, or else a symbol.
 */
#include <string.h>

#include "emu/arch/arch_numbers.h"
#include "emu/asm/asm_internal.h"

static const struct register_alias {
    const char *name;
    uint8_t kind, reg, count;
} aliases[] = {
    { "sp", TEXT_M, 11, 1 },
    { "lr", TEXT_M, 10, 1 },
    { "fp", TEXT_M, 9, 1 },
    { "bp", TEXT_M, 8, 1 },
    { "mworker_base", TEXT_M, 12, 1 },
    { "mvertex_base", TEXT_M, 13, 1 },
    { "mzero", TEXT_M, 15, 1 },
    { "azero", TEXT_A, 15, 1 },
    { "azeros", TEXT_A, 14, 2 },
};

/* A register number: 0 to 15, without leading zeros. -1: none. */
static int register_number(struct span s)
{
    int v = 0;

    if (!s.n || s.n > 2 || (s.n == 2 && s.s[0] == '0'))
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9')
            return -1;
        v = v * 10 + (s.s[i] - '0');
    }
    return v < 16 ? v : -1;
}

/* $ap0..$ap6 are $a0:1..$a12:13 and all further ones $azeros; $aq0..$aq2 are $a0:3..$a8:11 and
 * $aq15 is $a12:15. */
static int group_word(struct span word, struct operand_text *o)
{
    int n = word.n > 2 ? register_number(span_of(word.s + 2, word.n - 2)) : -1;

    if (n < 0 || word.s[0] != 'a' || (word.s[1] != 'p' && word.s[1] != 'q'))
        return 0;
    o->kind = TEXT_A;
    o->count = word.s[1] == 'p' ? 2 : 4;
    o->reg = (uint8_t)(n * o->count < 16 ? n * o->count : 16 - o->count);
    return word.s[1] == 'p' || n < 3 || n == 15;
}

static int register_word(struct span word, struct operand_text *o)
{
    if (group_word(word, o))
        return 1;
    for (size_t i = 0; i < EMU_COUNT_OF(aliases); i++) {
        if (span_is(word, aliases[i].name)) {
            o->kind = aliases[i].kind;
            o->reg = aliases[i].reg;
            o->count = aliases[i].count;
            return 1;
        }
    }
    if (word.n > 1 && (word.s[0] == 'm' || word.s[0] == 'a')) {
        int r = register_number(span_of(word.s + 1, word.n - 1));

        o->kind = word.s[0] == 'm' ? TEXT_M : TEXT_A;
        o->reg = (uint8_t)r;
        o->count = 1;
        return r >= 0;
    }
    return 0;
}

/* After a colon: the last register of a range, or a broadcast. */
static int register_range(struct as *as, struct operand_text *o)
{
    struct loc at;
    struct span word;
    int last;

    lex_blank(as);
    at = lex_here(as);
    word = lex_word(as);
    if (span_is(word, "B") || span_is(word, "BL"))
        o->broadcast = BROADCAST_LOW;
    else if (span_is(word, "BU"))
        o->broadcast = BROADCAST_HIGH;
    if (o->broadcast)
        return 1;
    last = register_number(word);
    if (last <= o->reg || o->count != 1)
        return as_error(as, at, "bad register range ':%.*s'", (int)word.n, word.s);
    o->count = (uint8_t)(last - o->reg + 1);
    return 1;
}

static void register_suffix(struct as *as, struct operand_text *o)
{
    static const struct {
        const char *text;
        uint8_t suffix;
    } suffixes[] = {
        { "+=", SUFFIX_INC }, { "++", SUFFIX_BUMP }, { "@", SUFFIX_RELOAD }, { ">>", SUFFIX_SHIFT }
    };
    struct frame *f = as->top;

    lex_blank(as);
    for (size_t i = 0; i < EMU_COUNT_OF(suffixes); i++) {
        size_t n = strlen(suffixes[i].text);

        if ((size_t)(f->end - f->p) >= n && !memcmp(f->p, suffixes[i].text, n)) {
            f->p += n;
            o->suffix = suffixes[i].suffix;
            return;
        }
    }
}

/* ---- numbers with names ---- */

/* The indices of a CSR in all spaces; -1 where the machine has none. Returns whether it has any.
 */
static int csr_word(const struct as *as, struct span word, struct operand_text *o)
{
    static const char spaces[] = "WUS";
    int known = 0;

    for (int i = 0; i < 3; i++) {
        const struct csr_row *r = isa_csr_find(spaces[i], word.s, word.n);

        if (r && r->since > arch_isa(&as->u->arch) && !as->u->options.any_machine)
            r = NULL;
        o->csr[i] = r ? r->index : -1;
        known |= r != NULL;
    }
    return known;
}

/* $CWEI_u_n is weight entry n of AMP unit u. Each set of units has eight. */
static int weight_word(const struct as *as, struct span word, int64_t *out)
{
    enum { UNITS_PER_SET = 8, ENTRIES = 4 };
    static const char prefix[] = "CWEI_";
    size_t n = sizeof(prefix) - 1;
    int unit, entry;

    if (word.n < n + 3 || memcmp(word.s, prefix, n) || word.s[word.n - 2] != '_')
        return 0;
    unit = register_number(span_of(word.s + n, word.n - n - 2));
    entry = register_number(span_of(word.s + word.n - 1, 1));
    if (unit < 0 || unit >= UNITS_PER_SET * (int)arch_amp_sets(&as->u->arch) || entry < 0 ||
        entry >= ENTRIES)
        return 0;
    *out = ENTRIES * unit + entry;
    return 1;
}

int operand_csr_number(const struct operand_text *o, enum asm_mode mode)
{
    static const uint8_t context[] = { CTX_W, CTX_W, CTX_S };

    for (int i = 0; i < 3; i++) {
        if (o->csr[i] >= 0 && (mode == MODE_ANY || mode & context[i]))
            return o->csr[i];
    }
    return -1;
}

enum dollar_name operand_dollar_name(struct as *as, struct span word, int64_t *out)
{
    enum asm_mode mode = as->allow[ANY_MODE] ? MODE_ANY : as->mode;
    struct operand_text o;

    if (register_word(word, &o))
        return DOLLAR_REGISTER;
    if (weight_word(as, word, out))
        return mode == MODE_WORKER ? DOLLAR_WRONG_MODE : DOLLAR_NUMBER;
    if (!csr_word(as, word, &o))
        return DOLLAR_SYMBOL;
    *out = operand_csr_number(&o, mode);
    return *out < 0 ? DOLLAR_WRONG_MODE : DOLLAR_NUMBER;
}

/* ---- operands ---- */

/* A register, or a CSR that stands alone: instructions know which of the spaces they mean. Returns
 * 0 for anything else, with the cursor where it was. */
static int register_or_csr(struct as *as, struct operand_text *o, int *ok)
{
    struct frame *f = as->top, saved = *f;
    struct span word;

    *ok = 1;
    f->p++;
    lex_blank(as);
    word = lex_word(as);
    if (register_word(word, o)) {
        *ok = !lex_accept(as, ':') || register_range(as, o);
        if (*ok)
            register_suffix(as, o);
        return 1;
    }
    if (csr_word(as, word, o) && (lex_at_end(as) || lex_peek(as) == ',')) {
        o->kind = TEXT_CSR;
        return 1;
    }
    *f = saved;
    return 0;
}

int operand_parse(struct as *as, struct operand_text *o)
{
    const char *start;
    int ok;

    memset(o, 0, sizeof(*o));
    lex_blank(as);
    o->at = lex_here(as);
    start = as->top->p;
    if (lex_peek(as) != '$' || !register_or_csr(as, o, &ok)) {
        o->kind = TEXT_EXPR;
        o->expr = expr_parse(as);
        ok = o->expr != NULL;
    }
    o->text = span_trim(span_of(start, (size_t)(as->top->p - start)));
    return ok;
}
