/* isa.c - the form table: insn.def and csr.def are expanded and parsed once. Checks operands and
 * builds instructions from forms. */
#include "emu/isa/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/base/fail.h"
#include "emu/isa/insn_ops.h"
#include "emu/isa/isa_internal.h"

enum { M = LANE_M, A = LANE_A };
enum { W = CTX_W, S = CTX_S, B = CTX_B };
enum { IPU1 = ISA_IPU1, IPU2 = ISA_IPU2, IPU21 = ISA_IPU21 };
enum { SOLO = INSN_SOLO, CONTROL = INSN_CONTROL, SYSTEM = INSN_SYSTEM, SHOWN = INSN_SHOWN };

/* The rows as written; alias rows carry "target: map". */
static const struct insn_row {
    const char *name, *mnemonic, *operands;
    uint8_t is_alias, lane, context, since, flags, cost;
    const char *word;
} rows[FORM_COUNT] = {
#define ONE          COST_ONE
#define SLOTS(field) COST_ONE
#define COST(class)  COST_##class
#define INSN(id, mn, ops, lane, ctx, since, word, time, fl, ws, ms)                                \
    { #id, mn, ops, 0, lane, ctx, since, fl, time, word },
#define ALIAS(id, mn, ops, lane, ctx, map, fl, ms) { #id, mn, ops, 1, lane, ctx, 0, fl, 0, map },
#define LANES(operation, ...)                      INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS
#undef ONE
#undef SLOTS
#undef COST
};

static const uint16_t op_of_form[FORM_COUNT] = {
#define INSN(id, mn, ops, lane, ctx, since, word, time, fl, ws, ms) [FORM_##id] = INSN_##id,
#define ALIAS(id, mn, ops, lane, ctx, map, fl, ms)                  [FORM_##id] = INSN_ILLEGAL,
#define LANES(operation, ...)                                       INSN(__VA_ARGS__)
#include "emu/isa/insn.def"
#undef LANES
#undef INSN
#undef ALIAS
};

static const struct csr_row csr_rows[] = {
#define R  1
#define RW 3
#define CSR(name, space, index, access, since, doc)                                                \
    { #name, #space[0], index, CSR_ACCESS_##access, since, doc },
#define CSR_ACCESS_R  1
#define CSR_ACCESS_W  2
#define CSR_ACCESS_RW 3
#include "emu/isa/csr.def"
#undef CSR
#undef R
#undef RW
};

enum { BUCKETS = 1024 };

static struct insn_form forms[FORM_COUNT];
static uint16_t form_of_op[INSN_COUNT];
static uint16_t bucket_head[BUCKETS];  /* form + 1 of the first form of a mnemonic; 0 empty */
static uint16_t next_form[FORM_COUNT]; /* form + 1 of the next form with the same mnemonic */

static unsigned mnemonic_hash(const char *s, size_t len)
{
    unsigned h = 5381;

    for (size_t i = 0; i < len; i++)
        h = h * 33 + (unsigned char)s[i];
    return h % BUCKETS;
}

static void parse_register(struct operand *o, const char *s)
{
    const char *colon = strchr(s, ':');

    o->letter = (char)(s[1] | 0x20);
    o->kind = s[0] == 'm' ? OPD_M : OPD_A;
    if (colon) {
        if (!strncmp(colon, ":2", 2))
            o->kind = s[0] == 'm' ? OPD_M2 : OPD_A2;
        else if (!strncmp(colon, ":4", 2))
            o->kind = OPD_A4;
        else if (!strncmp(colon, ":BL", 3))
            o->kind = OPD_A_BL;
        else if (!strncmp(colon, ":BU", 3))
            o->kind = OPD_A_BU;
        else
            o->kind = OPD_A_B;
    }
    if (strstr(s, "+="))
        o->suffix = SUFFIX_INC;
    else if (strstr(s, "++"))
        o->suffix = SUFFIX_BUMP;
    else if (strchr(s, '@'))
        o->suffix = SUFFIX_RELOAD;
    else if (strstr(s, ">>"))
        o->suffix = SUFFIX_SHIFT;
}

/* Names of immediates: "uimm12", "stride2x2" (2 x 2 bits), ... */
static void parse_immediate(struct operand *o, const char *s)
{
    static const struct {
        const char *prefix;
        uint8_t kind, bits;
    } kinds[] = {
        { "uimm", OPD_UIMM, 0 },     { "simm", OPD_SIMM, 0 },       { "himm12", OPD_HIMM, 12 },
        { "imm17", OPD_SUBIMM, 17 }, { "imm32", OPD_IMM32, 32 },    { "addr", OPD_ADDR, 0 },
        { "csr8", OPD_CSR, 8 },      { "csrname", OPD_CSRNAME, 8 }, { "zone", OPD_UIMM, 0 },
        { "csidx8", OPD_UIMM, 8 },   { "stride3x2", OPD_UIMM, 6 },  { "stride2x2", OPD_UIMM, 4 },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(kinds); i++) {
        size_t n = strlen(kinds[i].prefix);

        if (strncmp(s, kinds[i].prefix, n))
            continue;
        o->kind = kinds[i].kind;
        o->bits = kinds[i].bits ? kinds[i].bits : (uint8_t)atoi(s + n);
        return;
    }
    EMU_ASSERT(!"unknown operand in insn.def");
}

static void parse_operands(struct insn_form *f)
{
    static const char imm_letters[] = "ijklno";
    unsigned imms = 0;
    const char *s = f->operands;

    while (*s) {
        char text[24];
        size_t n = strcspn(s, ",");
        struct operand *o = &f->operand[f->operand_count++];

        EMU_ASSERT(f->operand_count <= ISA_MAX_OPERANDS && n < sizeof(text));
        memcpy(text, s, n);
        text[n] = 0;
        if ((text[0] == 'm' || text[0] == 'a') && text[1] >= 'A' && text[1] <= 'Z') {
            parse_register(o, text);
        } else {
            parse_immediate(o, text);
            o->letter = imm_letters[imms++];
        }
        s += n;
        s += strspn(s, ", ");
    }
}

static unsigned find_op(const char *name, size_t len)
{
    for (unsigned f = 0; f < FORM_COUNT; f++) {
        if (!rows[f].is_alias && strlen(rows[f].name) == len && !strncmp(rows[f].name, name, len))
            return op_of_form[f];
    }
    EMU_ASSERT(!"alias of an unknown row in insn.def");
    return INSN_ILLEGAL;
}

static void init_form(unsigned i)
{
    const struct insn_row *r = &rows[i];
    struct insn_form *f = &forms[i];

    f->name = r->name;
    f->mnemonic = r->mnemonic;
    f->operands = r->operands;
    f->form = (uint16_t)i;
    f->is_alias = r->is_alias;
    f->lane = r->lane;
    f->context = r->context;
    f->flags = r->flags;
    f->since = r->since;
    f->cost = r->cost;
    f->op = op_of_form[i];
    if (r->is_alias) {
        size_t n = strcspn(r->word, ":|");

        f->op = (uint16_t)find_op(r->word, n);
        f->alias_map = strchr(r->word, ':') + 1;
    } else {
        form_of_op[f->op] = (uint16_t)i;
        if (r->word[0] != 'C')
            f->flags |= INSN_SOLO;
    }
    parse_operands(f);
}

static void link_mnemonic(unsigned i)
{
    const char *mn = forms[i].mnemonic;
    unsigned h = mnemonic_hash(mn, strlen(mn));

    while (bucket_head[h] && strcmp(forms[bucket_head[h] - 1].mnemonic, mn))
        h = (h + 1) % BUCKETS;
    if (!bucket_head[h]) {
        bucket_head[h] = (uint16_t)(i + 1);
        return;
    }
    for (uint16_t *link = &next_form[bucket_head[h] - 1];; link = &next_form[*link - 1]) {
        if (!*link) {
            *link = (uint16_t)(i + 1);
            return;
        }
    }
}

/* Runs before main(), so that readers need no lock. */
__attribute__((constructor)) static void isa_tables(void)
{
    const char *word[INSN_COUNT];

    for (unsigned i = 0; i < FORM_COUNT; i++)
        init_form(i);
    for (unsigned i = 0; i < FORM_COUNT; i++)
        link_mnemonic(i);
    for (unsigned op = 0; op < INSN_COUNT; op++)
        word[op] = rows[form_of_op[op]].word;
    isa_code_init(word);
    isa_regs_init();
}

const struct insn_form *isa_form(unsigned form)
{
    EMU_ASSERT(form < FORM_COUNT);
    return &forms[form];
}

const struct insn_form *isa_op_form(unsigned op)
{
    EMU_ASSERT(op < INSN_COUNT);
    return &forms[form_of_op[op]];
}

const struct insn_form *isa_form_find(const char *mnemonic, size_t len)
{
    for (unsigned h = mnemonic_hash(mnemonic, len); bucket_head[h]; h = (h + 1) % BUCKETS) {
        const struct insn_form *f = &forms[bucket_head[h] - 1];

        if (strlen(f->mnemonic) == len && !memcmp(f->mnemonic, mnemonic, len))
            return f;
    }
    return NULL;
}

const struct insn_form *isa_form_next(const struct insn_form *f)
{
    return next_form[f->form] ? &forms[next_form[f->form] - 1] : NULL;
}

int isa_operand_accepts(const struct operand *o, int64_t v)
{
    switch (o->kind) {
    case OPD_UIMM:
        return v >= 0 && v < (INT64_C(1) << o->bits);
    case OPD_SIMM:
        return v >= -(INT64_C(1) << (o->bits - 1)) && v < (INT64_C(1) << (o->bits - 1));
    case OPD_SUBIMM:
        return v >= -INT16_MAX && v <= INT16_MAX;
    case OPD_HIMM:
        return !(v & 0xfffff) && v >= INT32_MIN && v <= (int64_t)UINT32_MAX;
    case OPD_IMM32:
        return v >= INT32_MIN && v <= (int64_t)UINT32_MAX;
    case OPD_ADDR:
        return v >= 0 && v < (INT64_C(1) << (o->bits + 2)) && !(v & 3);
    case OPD_CSR:
    case OPD_CSRNAME:
        return v >= 0 && v <= 0x1ff;
    case OPD_M:
    case OPD_A:
    case OPD_A_BL:
    case OPD_A_BU:
    case OPD_A_B:
        return v >= 0 && v < 16;
    case OPD_M2:
    case OPD_A2:
        return v >= 0 && v < 16 && !(v & 1);
    case OPD_A4:
        return v >= 0 && v < 16 && !(v & 3);
    default:
        return 1;
    }
}

static int64_t operand_value(const struct insn_form *f, const int64_t *value, char letter)
{
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (f->operand[k].letter == letter)
            return value[k];
    }
    EMU_ASSERT(!"alias map names an operand the form lacks");
    return 0;
}

/* Fills *out from an alias map such as "d=d a=a b=15 i=-i". */
static void apply_alias(const struct insn_form *f, const int64_t *value, struct insn *out)
{
    const char *s = f->alias_map;

    for (s += strspn(s, " "); *s; s += strspn(s, " ")) {
        char field = s[0];
        int64_t v;
        char *end;

        s += 2;
        if (*s == '-') {
            v = -operand_value(f, value, s[1]);
            s += 2;
        } else if (*s >= '0' && *s <= '9') {
            v = strtol(s, &end, 10);
            s = end;
        } else {
            v = operand_value(f, value, *s++);
        }
        isa_set_field(out, field, (uint32_t)(uint64_t)v);
    }
}

static unsigned build_ldconst(const struct insn_form *f, const int64_t *value, struct insn out[2])
{
    uint32_t v = (uint32_t)(uint64_t)value[1];
    int aux = f->lane == LANE_A;

    out[0].op = aux ? INSN_setzi_a : INSN_setzi_m;
    out[0].d = (uint8_t)value[0];
    out[0].i = (int32_t)(v & 0xfffff);
    if (!(v >> 20))
        return 1;
    out[1].op = aux ? INSN_or_ah12 : INSN_or_mh12;
    out[1].d = out[1].a = (uint8_t)value[0];
    out[1].i = (int32_t)(v & 0xfff00000u);
    return 2;
}

unsigned isa_form_build(const struct insn_form *f, const int64_t value[ISA_MAX_OPERANDS],
                        struct insn out[2])
{
    memset(out, 0, 2 * sizeof(out[0]));
    for (unsigned k = 0; k < f->operand_count; k++) {
        if (!isa_operand_accepts(&f->operand[k], value[k]))
            return 0;
    }
    if (f->form == FORM_ldconst_m || f->form == FORM_ldconst_a)
        return build_ldconst(f, value, out);
    out[0].op = f->op;
    if (f->is_alias) {
        apply_alias(f, value, &out[0]);
    } else {
        for (unsigned k = 0; k < f->operand_count; k++)
            isa_set_field(&out[0], f->operand[k].letter, (uint32_t)(uint64_t)value[k]);
    }
    if (isa_op_form(out[0].op)->operand_count &&
        (f->operand[0].kind == OPD_CSR || f->operand[0].kind == OPD_CSRNAME ||
         (f->operand_count > 1 &&
          (f->operand[1].kind == OPD_CSR || f->operand[1].kind == OPD_CSRNAME))))
        out[0].i &= 0xff;
    return 1;
}

const struct csr_row *isa_csr_find(char space, const char *name, size_t len)
{
    for (size_t i = 0; i < EMU_COUNT_OF(csr_rows); i++) {
        const struct csr_row *r = &csr_rows[i];

        if (r->space == space && strlen(r->name) == len && !memcmp(r->name, name, len))
            return r;
    }
    return NULL;
}

const struct csr_row *isa_csr_at(char space, unsigned index)
{
    for (size_t i = 0; i < EMU_COUNT_OF(csr_rows); i++) {
        if (csr_rows[i].space == space && csr_rows[i].index == index)
            return &csr_rows[i];
    }
    return NULL;
}

size_t isa_csr_count(void)
{
    return EMU_COUNT_OF(csr_rows);
}

const struct csr_row *isa_csr_row(size_t i)
{
    return &csr_rows[i];
}
