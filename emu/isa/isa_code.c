/* isa_code.c - decodes words into instructions and encodes them again. The words of insn.def are
 * compiled once into fixed bits and fields. */
#include <stddef.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa.h"
#include "emu/isa/isa_internal.h"

enum { MAX_FIELDS = 10 };

/* How the bits of a field become a member of struct insn. */
enum code_field_kind {
    FIELD_REGISTER, /* a byte; the bits of `align` must be 0 (pairs, quads) */
    FIELD_UNSIGNED, /* shifted left by `scale` */
    FIELD_SIGNED    /* sign-extended, then shifted */
};

/* A run of bits of one letter within the word pair; bit 63 is bit 31 of the first word. */
struct code_field {
    char letter;
    uint8_t shift, bits;
    uint8_t kind, align, scale;
    uint8_t member; /* offset in struct insn */
    uint8_t joins;  /* an earlier field is another part of the member */
};

struct insn_code {
    uint64_t mask, match; /* fixed bits of both words, of the second only for wide rows */
    uint8_t wide, fields;
    struct code_field field[MAX_FIELDS];
};

static struct insn_code codes[INSN_COUNT];

/* How words are found. Bits 30:24 of the first word are its major; the rows of a major have few
 * different masks, the one with most bits first. A word belongs to a row when its bits under one of
 * them are in the table of all rows, which is hashed. */
enum { MAJORS = 128, MAX_MASKS = 4, BUCKETS = 1024 };

static struct code_major {
    uint8_t masks;
    uint64_t mask[MAX_MASKS];
} majors[MAJORS];

static uint16_t buckets[BUCKETS]; /* op + 1; 0 empty */

/* The co-issue bit C counts as 0: isa_decode() clears it in both words of a bundle. */
static void add_bit(struct insn_code *c, char letter, unsigned pos)
{
    struct code_field *f = c->fields ? &c->field[c->fields - 1] : NULL;

    if (letter == '0' || letter == '1' || letter == 'C') {
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

static unsigned bucket_of(uint64_t bits)
{
    return (unsigned)(bits * UINT64_C(0x9e3779b97f4a7c15) >> 54);
}

static unsigned bits_of(uint64_t mask)
{
    return (unsigned)__builtin_popcountll(mask);
}

static void add_mask(struct code_major *m, uint64_t mask)
{
    unsigned at = m->masks;

    for (unsigned k = 0; k < m->masks; k++) {
        if (m->mask[k] == mask)
            return;
    }
    EMU_ASSERT(m->masks < MAX_MASKS);
    for (; at && bits_of(m->mask[at - 1]) < bits_of(mask); at--)
        m->mask[at] = m->mask[at - 1];
    m->mask[at] = mask;
    m->masks++;
}

static void index_op(unsigned op)
{
    const struct insn_code *c = &codes[op];
    unsigned mask = (unsigned)(c->mask >> 56) & 0x7f, match = (unsigned)(c->match >> 56) & 0x7f;
    unsigned b = bucket_of(c->match);

    for (unsigned major = 0; major < MAJORS; major++) {
        if ((major & mask) == match)
            add_mask(&majors[major], c->mask);
    }
    while (buckets[b])
        b = (b + 1) % BUCKETS;
    buckets[b] = (uint16_t)(op + 1);
}

/* No word belongs to two rows, unless one of them is a single word taken out of the other row. */
static void check_overlap(void)
{
    for (unsigned p = 0; p < INSN_COUNT; p++) {
        for (unsigned q = 0; q < p; q++) {
            uint64_t both = codes[p].mask & codes[q].mask;

            EMU_ASSERT((codes[p].match ^ codes[q].match) & both || !codes[p].fields ||
                       !codes[q].fields);
            EMU_ASSERT(codes[p].mask != codes[q].mask || codes[p].match != codes[q].match);
        }
    }
}

static int is_split(char letter)
{
    return letter == 'H' || letter == 'M' || letter == 'L';
}

/* The operand that a field letter belongs to; H, M and L are the parts of i. */
static const struct operand *field_operand(unsigned op, char letter)
{
    const struct insn_form *f = isa_op_form(op);

    if (is_split(letter))
        letter = 'i';
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].letter == letter)
            return &f->operand[k];
    }
    EMU_ASSERT(!"an encoding names a field that no operand fills");
    return NULL;
}

/* Where a part of a split immediate begins: the bits of the parts below it. */
static uint8_t part_scale(const struct insn_code *c, char letter)
{
    unsigned bits = 0;

    for (unsigned k = 0; k < c->fields; k++) {
        char other = c->field[k].letter;

        if ((other == 'L' && letter != 'L') || (other == 'M' && letter == 'H'))
            bits += c->field[k].bits;
    }
    return (uint8_t)bits;
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

static int is_immediate(char letter)
{
    return letter >= 'i' && letter <= 'o';
}

uint32_t isa_field(const struct insn *in, char letter)
{
    const uint8_t *member = (const uint8_t *)in + isa_member(letter);
    uint32_t v = *member;

    if (is_immediate(letter))
        memcpy(&v, member, sizeof(v));
    return v;
}

void isa_set_field(struct insn *in, char letter, uint32_t v)
{
    uint8_t *member = (uint8_t *)in + isa_member(letter);

    if (is_immediate(letter))
        memcpy(member, &v, sizeof(v));
    else
        *member = (uint8_t)v;
}

static void bind_field(unsigned op, struct code_field *f)
{
    const struct operand *o = field_operand(op, f->letter);

    f->member = (uint8_t)isa_member(f->letter);
    f->kind = FIELD_UNSIGNED;
    if (is_split(f->letter))
        f->scale = part_scale(&codes[op], f->letter);
    if (o->kind <= OPD_A_B) {
        f->kind = FIELD_REGISTER;
        f->align = o->kind == OPD_M2 || o->kind == OPD_A2 ? 1 : o->kind == OPD_A4 ? 3 : 0;
    } else if (o->kind == OPD_SIMM) {
        f->kind = f->letter == 'L' || f->letter == 'M' ? FIELD_UNSIGNED : FIELD_SIGNED;
    } else if (o->kind == OPD_HIMM || o->kind == OPD_ADDR) {
        f->scale = o->kind == OPD_HIMM ? 20 : 2;
    }
}

void isa_code_init(const char *const word[INSN_COUNT])
{
    for (unsigned op = 0; op < INSN_COUNT; op++) {
        compile(&codes[op], word[op]);
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
        v >>= f->scale;
        w |= ((uint64_t)v & ((UINT64_C(1) << f->bits) - 1)) << f->shift;
    }
    word[0] = (uint32_t)(w >> 32);
    word[1] = (uint32_t)w;
    return c->wide ? 2 : 1;
}

void isa_encode_bundle(const struct insn *main, const struct insn *aux, uint32_t word[2])
{
    uint32_t half[2][2];

    EMU_ASSERT(isa_encode(main, half[0]) == 1 && isa_encode(aux, half[1]) == 1);
    for (unsigned k = 0; k < 2; k++)
        word[k] = half[k][0] | 1u << ISA_BUNDLE_BIT;
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

/* INSN_COUNT: no row has this word. */
static unsigned find_op(uint64_t w)
{
    const struct code_major *m = &majors[w >> 56 & (MAJORS - 1)];

    for (unsigned k = 0; k < m->masks; k++) {
        uint64_t bits = w & m->mask[k];

        for (unsigned b = bucket_of(bits); buckets[b]; b = (b + 1) % BUCKETS) {
            const struct insn_code *c = &codes[buckets[b] - 1];

            if (c->match == bits && c->mask == m->mask[k])
                return buckets[b] - 1u;
        }
    }
    return INSN_COUNT;
}

static void decode_one(uint64_t w, struct insn *out)
{
    unsigned op = find_op(w);

    if (op < INSN_COUNT && fields_decode(op, w, out))
        return;
    memset(out, 0, sizeof(*out));
    out->op = INSN_ILLEGAL;
}

/* Half of a bundle: a word with the bundle bit, of a row that may stand there. */
static void decode_half(uint32_t word, unsigned lane, struct insn *out)
{
    const struct insn_form *f;

    decode_one((uint64_t)(word & ~(1u << ISA_BUNDLE_BIT)) << 32, out);
    if (out->op == INSN_ILLEGAL)
        return;
    f = isa_op_form(out->op);
    if (!isa_is_wide(word) || f->lane != lane || f->flags & INSN_SOLO)
        out->op = INSN_ILLEGAL;
}

struct isa_pattern isa_pattern_of(unsigned op)
{
    const struct insn_code *c = &codes[op];

    return (struct isa_pattern){ c->mask, c->match, c->wide ? 2 * ISA_WORD_BYTES : ISA_WORD_BYTES };
}

unsigned isa_parts_of(unsigned op, char letter, struct isa_part part[ISA_PARTS_MAX])
{
    const struct insn_code *c = &codes[op];
    unsigned n = 0;

    for (unsigned k = 0; k < c->fields; k++) {
        const struct code_field *f = &c->field[k];

        if (f->kind != FIELD_UNSIGNED || f->member != isa_member(letter))
            continue;
        EMU_ASSERT(n < ISA_PARTS_MAX);
        part[n++] = (struct isa_part){ f->shift, f->scale, (uint32_t)((1ull << f->bits) - 1) };
    }
    return n;
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
    decode_half(word[0], LANE_M, main);
    decode_half(word[1], LANE_A, aux);
    return 8;
}
