/* isa_code.c - words to instructions and back. The encoding strings of insn.def are compiled once into fixed bits and fields. */
#include <string.h>

#include "emu/base/status.h"
#include "emu/isa/isa.h"
#include "emu/isa/isa_internal.h"

enum { MAX_FIELDS = 10 };

/* A run of bits of one letter within the word pair; bit 63 is bit 31 of the first word. */
struct field {
    char letter;
    uint8_t shift, bits;
};

struct code {
    uint64_t mask, match; /* fixed bits of both words; those of the second word only for wide rows */
    uint8_t wide, fields;
    struct field field[MAX_FIELDS];
};

static struct code codes[OP_COUNT];

/* Candidates by bits 30:24 of the first word: every row fixes at least the top bits of these seven. */
enum { MAX_CANDIDATES = 64 };
static uint16_t by_top[128][MAX_CANDIDATES];
static uint16_t top_count[128];
static uint16_t aux_by_function[256]; /* 0x5 words: op + 1 by bits 27:20 */

static void add_bit(struct code *c, char letter, unsigned pos)
{
    struct field *f = c->fields ? &c->field[c->fields - 1] : NULL;

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
    c->field[c->fields++] = (struct field){ letter, (uint8_t)pos, 1 };
}

static void compile(struct code *c, const char *pattern)
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
    const struct code *c = &codes[op];
    unsigned mask = (unsigned)(c->mask >> 56) & 0x7f, match = (unsigned)(c->match >> 56) & 0x7f;

    if ((match & 0x70) == 0x50) {
        unsigned function = (unsigned)(c->match >> 52) & 0xff;

        EMU_ASSERT(!aux_by_function[function]);
        aux_by_function[function] = (uint16_t)(op + 1);
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
    for (unsigned p = 0; p < OP_COUNT; p++) {
        for (unsigned q = 0; q < p; q++) {
            uint64_t both = codes[p].mask & codes[q].mask;

            EMU_ASSERT((codes[p].match ^ codes[q].match) & both);
        }
    }
}

void isa_code_init(const char *const encoding[OP_COUNT])
{
    for (unsigned op = 0; op < OP_COUNT; op++)
        compile(&codes[op], encoding[op]);
    check_overlap();
    for (unsigned op = 0; op < OP_COUNT; op++)
        index_op(op);
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
    return NULL;
}

static uint8_t *reg_field(struct insn *in, char letter)
{
    switch (letter) {
    case 'd': return &in->d;
    case 'e': return &in->e;
    case 'a': return &in->a;
    case 'b': return &in->b;
    case 'c': return &in->c;
    case 's': return &in->s;
    case 't': return &in->t;
    case 'x': return &in->x;
    case 'y': return &in->y;
    case 'p': return &in->p;
    default: return NULL;
    }
}

static uint32_t *imm_field(struct insn *in, char letter)
{
    switch (letter) {
    case 'j': return &in->j;
    case 'k': return &in->k;
    case 'l': return &in->l;
    case 'n': return &in->n;
    case 'o': return &in->o;
    default: return (uint32_t *)&in->i;
    }
}

/* Raw bits of an immediate field to the value kept in struct insn, and back. */
static uint32_t imm_expand(const struct operand *o, uint32_t raw)
{
    if (o->kind == OPD_SIMM && raw >> (o->bits - 1))
        return raw | ~((1u << o->bits) - 1);
    if (o->kind == OPD_HIMM)
        return raw << 20;
    if (o->kind == OPD_ADDR)
        return raw << 2;
    return raw;
}

static uint32_t imm_compress(const struct operand *o, uint32_t v)
{
    if (o->kind == OPD_HIMM)
        return v >> 20;
    if (o->kind == OPD_ADDR)
        return v >> 2;
    return v;
}

/* sendoff splits its count: the letters i hold the low six bits, h the rest. */
enum { SPLIT_LOW_BITS = 6 };

unsigned isa_encode(const struct insn *in, uint32_t word[2])
{
    struct insn copy = *in;
    const struct code *c;
    uint64_t w;

    EMU_ASSERT(in->op < OP_COUNT);
    c = &codes[in->op];
    w = c->match;
    for (unsigned k = 0; k < c->fields; k++) {
        const struct field *f = &c->field[k];
        uint8_t *reg = reg_field(&copy, f->letter);
        uint64_t v;

        if (reg)
            v = *reg;
        else if (f->letter == 'h')
            v = (uint32_t)in->i >> SPLIT_LOW_BITS;
        else
            v = imm_compress(field_operand(in->op, f->letter), *imm_field(&copy, f->letter));
        w |= (v & ((UINT64_C(1) << f->bits) - 1)) << f->shift;
    }
    word[0] = (uint32_t)(w >> 32);
    word[1] = (uint32_t)w;
    return c->wide ? 2 : 1;
}

static int fields_decode(unsigned op, uint64_t w, struct insn *out)
{
    const struct code *c = &codes[op];

    memset(out, 0, sizeof(*out));
    out->op = (uint16_t)op;
    for (unsigned k = 0; k < c->fields; k++) {
        const struct field *f = &c->field[k];
        uint32_t v = (uint32_t)(w >> f->shift) & ((f->bits < 32 ? 1u << f->bits : 0) - 1u);
        const struct operand *o = field_operand(op, f->letter);
        uint8_t *reg = reg_field(out, f->letter);

        EMU_ASSERT(o);
        if (!reg && f->letter == 'h') {
            out->i |= (int32_t)(v << SPLIT_LOW_BITS);
        } else if (!reg) {
            *imm_field(out, f->letter) |= imm_expand(o, v);
        } else {
            if (!isa_operand_accepts(o, v))
                return 0; /* odd first register of a pair */
            *reg = (uint8_t)v;
        }
    }
    return 1;
}

static void decode_one(uint64_t w, struct insn *out)
{
    unsigned top = (unsigned)(w >> 56) & 0x7f;

    if ((top & 0x70) == 0x50) {
        unsigned op1 = aux_by_function[(w >> 52) & 0xff];

        if (op1 && (w & codes[op1 - 1].mask) == codes[op1 - 1].match &&
            fields_decode(op1 - 1, w, out))
            return;
    } else {
        for (unsigned k = 0; k < top_count[top]; k++) {
            unsigned op = by_top[top][k];

            if ((w & codes[op].mask) == codes[op].match && fields_decode(op, w, out))
                return;
        }
    }
    memset(out, 0, sizeof(*out));
    out->op = OP_ILLEGAL;
}

int isa_is_wide(uint32_t word)
{
    return (int)(word >> ISA_BUNDLE_BIT);
}

/* The first nibble 0xf is the two-word sendpicp; any other word with bit 31 starts a bundle. */
unsigned isa_decode(const uint32_t word[2], struct insn *main, struct insn *aux, int *is_bundle)
{
    *is_bundle = 0;
    memset(aux, 0, sizeof(*aux));
    aux->op = OP_ILLEGAL;
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
    if (main->op != OP_ILLEGAL &&
        (isa_op_form(main->op)->lane != LANE_M || isa_op_form(main->op)->flags & INSN_SOLO))
        main->op = OP_ILLEGAL;
    if (aux->op != OP_ILLEGAL && isa_op_form(aux->op)->lane != LANE_A)
        aux->op = OP_ILLEGAL;
    return 8;
}
