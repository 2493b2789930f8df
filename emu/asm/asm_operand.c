/* asm_operand.c - operands as text: registers with their ranges, broadcasts and suffixes, CSR
 * names, expressions. */
#include <string.h>

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

static int register_word(struct span word, struct operand_text *o)
{
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
    if (span_is(word, "B"))
        o->broadcast = BROADCAST_B;
    else if (span_is(word, "BL"))
        o->broadcast = BROADCAST_BL;
    else if (span_is(word, "BU"))
        o->broadcast = BROADCAST_BU;
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

static int csr_word(struct as *as, struct span word, struct operand_text *o)
{
    static const char spaces[] = "WUS";
    int known = 0;

    o->kind = TEXT_CSR;
    for (int i = 0; i < 3; i++) {
        const struct csr_row *r = isa_csr_find(spaces[i], word.s, word.n);

        o->csr[i] = r ? r->index : -1;
        known |= r != NULL;
    }
    if (known)
        return 1;
    return as_error(as, o->at, "no register or CSR is called '$%.*s'", (int)word.n, word.s);
}

static int register_operand(struct as *as, struct operand_text *o)
{
    struct span word;

    as->top->p++;
    lex_blank(as);
    word = lex_word(as);
    if (!register_word(word, o))
        return csr_word(as, word, o);
    if (lex_accept(as, ':') && !register_range(as, o))
        return 0;
    register_suffix(as, o);
    return 1;
}

int operand_parse(struct as *as, struct operand_text *o)
{
    const char *start;
    int ok;

    memset(o, 0, sizeof(*o));
    lex_blank(as);
    o->at = lex_here(as);
    start = as->top->p;
    if (lex_peek(as) == '$') {
        ok = register_operand(as, o);
    } else {
        o->kind = TEXT_EXPR;
        o->expr = expr_parse(as);
        ok = o->expr != NULL;
    }
    o->text = span_trim(span_of(start, (size_t)(as->top->p - start)));
    return ok;
}
