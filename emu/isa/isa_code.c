/* isa_code.c - decodes words into instructions and encodes them again. The encoding strings of
 * insn.def are compiled once into fixed bits and fields. */
#include <stddef.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/isa/isa.h"
#include "emu/isa/isa_internal.h"

/* sendoff splits its count: the letters i hold the low six bits, h the rest. */
enum { MAX_FIELDS = 10, SPLIT_LOW_BITS = 6 };

/* How the bits of a field become a member of struct insn. */
enum code_field_kind {
    FIELD_REGISTER, /* a byte; `align` low bits must be 0 (pairs, quads) */
    FIELD_UNSIGNED,
    FIELD_SIGNED, /* sign-extended */
    FIELD_SHIFTED /* kept shifted left by `scale` */
};

/* A run of bits of one letter within the word pair; bit 63 is bit 31 of the first word. */
struct code_field {
    char letter;
    uint8_t shift, bits;
    uint8_t kind, align, scale;
    uint8_t member; /* offset in struct insn */
    uint8_t joins;  /* an earlier field is the other part of the member */
};

struct insn_code {
    uint64_t mask, match; /* fixed bits of both words, of the second only for wide rows */
    uint8_t wide, fields;
    struct code_field field[MAX_FIELDS];
};

static struct insn_code codes[INSN_COUNT];

/* Candidates by bits 30:24 of the first word: every row fixes at least the top bits of these seven.
 * Two groups are large and have a function field of their own: the auxiliary lane (0x5.) in bits
 * 27:20, register forms of the main lane (0x44) in bits 11:4. */
enum { MAX_CANDIDATES = 16, TOP_REGISTER_FORMS = 0x44 };
static uint16_t by_top[128][MAX_CANDIDATES];
static uint8_t top_count[128];
static uint16_t aux_by_function[256];  /* op + 1 */
static uint16_t main_by_function[256]; /* op + 1 */

static void add_bit(struct insn_code *c, char letter, unsigned pos)
{
    struct code_field *f = c->fields ? &c->field[c->fields - 1] : NULL;

    if (letter == '0' || letter == '1') {
        c->mask |= UINT64_C(1) << pos;
        c->match |= (uint64_t)(letter == '1') << pos;
        return;
    }
    if (f && f->letter == letter && f->shift == pos + 1) {
        f->shift--;
        f->bits++;
        return;
    }
    EMU_ASSERT(c->fields < MAX_FIELDS);
    c->field[c->fields++] =
        (struct code_field){ .letter = letter, .shift = (uint8_t)pos, .bits = 1 };
}

static void compile(struct insn_code *c, const char *pattern)
{
    unsigned pos = 63;

    for (const char *s = pattern; *s; s++) {
        if (*s == ' ')
            continue;
        add_bit(c, *s, pos);
        pos--;
    }
    c->wide = pos + 1 == 0;
    EMU_ASSERT(c->wide || pos == 31);
}

static void index_op(unsigned op)
{
    const struct insn_code *c = &codes[op];
    unsigned mask = (unsigned)(c->mask >> 56) & 0x7f, match = (unsigned)(c->match >> 56) & 0x7f;
    uint16_t *entry = NULL;

    if ((match & 0x70) == 0x50)
        entry = &aux_by_function[c->match >> 52 & 0xff];
    else if (match == TOP_REGISTER_FORMS)
        entry = &main_by_function[c->match >> 36 & 0xff];
    if (entry) {
        EMU_ASSERT(!*entry);
        *entry = (uint16_t)(op + 1);
        return;
    }
    for (unsigned top = 0; top < 128; top++) {
        if ((top & mask) != match)
            continue;
        EMU_ASSERT(top_count[top] < MAX_CANDIDATES);
        by_top[top][top_count[top]++] = (uint16_t)op;
    }
}

static void check_overlap(void)
{
    for (unsigned p = 0; p < INSN_COUNT; p++) {
        for (unsigned q = 0; q < p; q++) {
            uint64_t both = codes[p].mask & codes[q].mask;

            EMU_ASSERT((codes[p].match ^ codes[q].match) & both);
        }
    }
}

/* The operand that a field letter belongs to; h is the upper part of i. */
static const struct operand *field_operand(unsigned op, char letter)
{
    const struct insn_form *f = isa_op_form(op);

    if (letter == 'h')
        letter = 'i';
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].letter == letter)
            return &f->operand[k];
    }
    EMU_ASSERT(!"an encoding names a field that no operand fills");
    return NULL;
}

size_t isa_member(char letter)
{
    switch (letter) {
    case 'd':
        return offsetof(struct insn, d);
    case 'e':
        return offsetof(struct insn, e);
    case 'a':
        return offsetof(struct insn, a);
    case 'b':
        return offsetof(struct insn, b);
    case 'c':
        return offsetof(struct insn, c);
    case 's':
        return offsetof(struct insn, s);
    case 't':
        return offsetof(struct insn, t);
    case 'x':
        return offsetof(struct insn, x);
    case 'y':
        return offsetof(struct insn, y);
    case 'p':
        return offsetof(struct insn, p);
    case 'j':
        return offsetof(struct insn, j);
    case 'k':
        return offsetof(struct insn, k);
    case 'l':
        return offsetof(struct insn, l);
    case 'n':
        return offsetof(struct insn, n);
    case 'o':
        return offsetof(struct insn, o);
    default:
        return offsetof(struct insn, i);
    }
}

static void bind_field(unsigned op, struct code_field *f)
{
    const struct operand *o = field_operand(op, f->letter);

    f->member = (uint8_t)isa_member(f->letter);
    f->kind = FIELD_UNSIGNED;
    if (f->letter == 'h') {
        f->kind = FIELD_SHIFTED;
        f->scale = SPLIT_LOW_BITS;
    } else if (o->kind <= OPD_A_B) {
        f->kind = FIELD_REGISTER;
        f->align = o->kind == OPD_M2 || o->kind == OPD_A2     ? 1
                   : o->kind == OPD_A4 || o->kind == OPD_A123 ? 3
                                                              : 0;
    } else if (o->kind == OPD_SIMM) {
        f->kind = FIELD_SIGNED;
    } else if (o->kind == OPD_HIMM || o->kind == OPD_ADDR) {
        f->kind = FIELD_SHIFTED;
        f->scale = o->kind == OPD_HIMM ? 20 : 2;
    }
}

void isa_code_init(const char *const encoding[INSN_COUNT])
{
    for (unsigned op = 0; op < INSN_COUNT; op++) {
        compile(&codes[op], encoding[op]);
        for (unsigned k = 0; k < codes[op].fields; k++) {
            bind_field(op, &codes[op].field[k]);
            for (unsigned n = 0; n < k; n++)
                codes[op].field[k].joins |= codes[op].field[n].member == codes[op].field[k].member;
        }
    }
    check_overlap();
    for (unsigned op = 0; op < INSN_COUNT; op++)
        index_op(op);
}

unsigned isa_encode(const struct insn *in, uint32_t word[2])
{
    const struct insn_code *c;
    uint64_t w;

    EMU_ASSERT(in->op < INSN_COUNT);
    c = &codes[in->op];
    w = c->match;
    for (unsigned k = 0; k < c->fields; k++) {
        const struct code_field *f = &c->field[k];
        const uint8_t *member = (const uint8_t *)in + f->member;
        uint32_t v = *member;

        if (f->kind != FIELD_REGISTER)
            memcpy(&v, member, sizeof(v));
        if (f->kind == FIELD_SHIFTED)
            v >>= f->scale;
        w |= ((uint64_t)v & ((UINT64_C(1) << f->bits) - 1)) << f->shift;
    }
    word[0] = (uint32_t)(w >> 32);
    word[1] = (uint32_t)w;
    return c->wide ? 2 : 1;
}

/* Returns 0 when a pair or quad does not begin where it must. */
static int fields_decode(unsigned op, uint64_t w, struct insn *out)
{
    const struct insn_code *c = &codes[op];

    memset(out, 0, sizeof(*out));
    out->op = (uint16_t)op;
    for (unsigned k = 0; k < c->fields; k++) {
        const struct code_field *f = &c->field[k];
        uint8_t *member = (uint8_t *)out + f->member;
        uint32_t v = (uint32_t)(w >> f->shift) & (uint32_t)((UINT64_C(1) << f->bits) - 1), old;

        if (f->kind == FIELD_REGISTER) {
            if (v & f->align)
                return 0;
            *member = (uint8_t)v;
            continue;
        }
        if (f->kind == FIELD_SIGNED && v >> (f->bits - 1))
            v |= ~(uint32_t)((UINT64_C(1) << f->bits) - 1);
        v <<= f->scale;
        if (f->joins) {
            memcpy(&old, member, sizeof(old));
            v |= old;
        }
        memcpy(member, &v, sizeof(v));
    }
    return 1;
}

static void decode_one(uint64_t w, struct insn *out)
{
    unsigned top = (unsigned)(w >> 56) & 0x7f, op1 = 0;

    if ((top & 0x70) == 0x50)
        op1 = aux_by_function[w >> 52 & 0xff];
    else if (top == TOP_REGISTER_FORMS)
        op1 = main_by_function[w >> 36 & 0xff];
    for (unsigned k = 0; !op1 && k < top_count[top]; k++) {
        unsigned op = by_top[top][k];

        if ((w & codes[op].mask) == codes[op].match)
            op1 = op + 1;
    }
    if (op1 && (w & codes[op1 - 1].mask) == codes[op1 - 1].match && fields_decode(op1 - 1, w, out))
        return;
    memset(out, 0, sizeof(*out));
    out->op = INSN_ILLEGAL;
}

int isa_is_wide(uint32_t word)
{
    return (int)(word >> ISA_BUNDLE_BIT);
}

/* The first nibble 0xf is the two-word sendpicp; any other word with bit 31 starts a bundle. */
unsigned isa_decode(const uint32_t word[2], struct insn *main, struct insn *aux, int *is_bundle)
{
    *is_bundle = 0;
    aux->op = INSN_ILLEGAL;
    if (!isa_is_wide(word[0])) {
        decode_one((uint64_t)word[0] << 32, main);
        return 4;
    }
    if (word[0] >> 28 == 0xf) {
        decode_one((uint64_t)word[0] << 32 | word[1], main);
        return 8;
    }
    *is_bundle = 1;
    decode_one((uint64_t)(word[0] & 0x7fffffffu) << 32, main);
    decode_one((uint64_t)word[1] << 32, aux);
    if (main->op != INSN_ILLEGAL &&
        (isa_op_form(main->op)->lane != LANE_M || isa_op_form(main->op)->flags & INSN_SOLO))
        main->op = INSN_ILLEGAL;
    if (aux->op != INSN_ILLEGAL && isa_op_form(aux->op)->lane != LANE_A)
        aux->op = INSN_ILLEGAL;
    return 8;
}
