/* code_buffer.c - growing lists of words, ranges, names and labels. */
#include "programs/compiler/emit/code_buffer.h"

#include "emu/isa/insn_ops.h"

#include <string.h>

enum { NOT_PLACED = UINT32_MAX };

void code_buffer_free(struct code_buffer *b)
{
    VEC_FREE(&b->word);
    VEC_FREE(&b->range);
    VEC_FREE(&b->mark);
    VEC_FREE(&b->fix);
    VEC_FREE(&b->call);
    VEC_FREE(&b->exchange);
    VEC_FREE(&b->link);
    VEC_FREE(&b->label);
    b->status = EMU_OK;
}

void code_buffer_clear(struct code_buffer *b)
{
    b->word.count = b->range.count = b->mark.count = b->fix.count = b->label.count = 0;
    b->call.count = b->exchange.count = b->link.count = 0;
    b->status = EMU_OK;
}

static int keep(struct code_buffer *b, enum emu_status s)
{
    if (b->status == EMU_OK)
        b->status = s;
    return b->status == EMU_OK;
}

void code_range(struct code_buffer *b, enum category category, uint32_t owner)
{
    struct code_range *last = b->range.count ? &b->range.at[b->range.count - 1] : NULL;
    struct code_range r = { (uint32_t)b->word.count, (uint32_t)category, owner };

    if (last && last->category == r.category && last->owner == r.owner)
        return;
    if (last && last->word == r.word) /* nothing was written for it */
        *last = r;
    else if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->range, r));
}

uint32_t code_mark(struct code_buffer *b, uint32_t name)
{
    struct code_mark m = { (uint32_t)b->word.count, 0, name };

    if (b->status != EMU_OK || !keep(b, VEC_PUSH(&b->mark, m)))
        return 0;
    return (uint32_t)b->mark.count - 1;
}

void code_unmark(struct code_buffer *b, uint32_t mark)
{
    if (b->status == EMU_OK)
        b->mark.at[mark].words = (uint32_t)b->word.count - b->mark.at[mark].word;
}

void code_call(struct code_buffer *b, uint32_t call)
{
    struct code_call c = { (uint32_t)b->word.count, call };

    if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->call, c));
}

void code_exchange(struct code_buffer *b, uint32_t step, const struct tile_schedule *tile)
{
    struct code_exchange x = { (uint32_t)b->word.count, step, tile };

    if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->exchange, x));
}

void code_link(struct code_buffer *b, int32_t replica)
{
    struct code_link x = { (uint32_t)b->word.count, replica };

    if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->link, x));
}

void code_word(struct code_buffer *b, uint32_t word)
{
    if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->word, word));
}

uint32_t *code_words(struct code_buffer *b, uint32_t n)
{
    size_t first = b->word.count;

    while (b->status == EMU_OK && b->word.cap - first < n)
        keep(b, emu_grow((void **)&b->word.at, b->word.cap, &b->word.cap, sizeof(*b->word.at)));
    if (b->status != EMU_OK)
        return NULL;
    b->word.count += n;
    return memset(b->word.at + first, 0, n * sizeof(*b->word.at));
}

void code_insn(struct code_buffer *b, const struct insn *in)
{
    uint32_t word[2];

    EMU_ASSERT(isa_encode(in, word) == 1);
    code_word(b, word[0]);
}

void code_insn_label(struct code_buffer *b, struct insn in, uint32_t label)
{
    struct code_fix f = { (uint32_t)b->word.count, label };

    if (b->status == EMU_OK)
        keep(b, VEC_PUSH(&b->fix, f));
    code_insn(b, &in);
}

uint32_t code_label(struct code_buffer *b)
{
    if (b->status != EMU_OK || !keep(b, VEC_PUSH(&b->label, NOT_PLACED)))
        return 0;
    return (uint32_t)b->label.count - 1;
}

void code_place(struct code_buffer *b, uint32_t label)
{
    if (b->status == EMU_OK)
        b->label.at[label] = (uint32_t)b->word.count;
}

uint32_t code_label_addr(const struct code_buffer *b, uint32_t label, uint32_t base)
{
    EMU_ASSERT(b->label.at[label] != NOT_PLACED);
    return base + ISA_WORD_BYTES * b->label.at[label];
}

/* The operand of an instruction that can hold the address of a label. */
static const struct operand *address_operand(const struct insn *in)
{
    const struct insn_form *f = isa_op_form(in->op);

    for (unsigned i = 0; i < f->operand_count; i++) {
        const struct operand *o = &f->operand[i];

        if (o->kind == OPD_ADDR || (o->kind == OPD_UIMM && in->op == INSN_setzi_m))
            return o;
    }
    return NULL;
}

static enum emu_status fix_word(uint32_t *word, uint32_t addr)
{
    uint32_t both[2] = { *word, 0 };
    struct insn in, aux;
    const struct operand *o;
    int is_bundle;

    isa_decode(both, &in, &aux, &is_bundle);
    o = address_operand(&in);
    EMU_ASSERT(o && !is_bundle);
    if (!isa_operand_accepts(o, addr))
        return FAIL(BAD_PROGRAM, "the address 0x%x in a `%s`: expected %u bits at most", addr,
                    isa_op_form(in.op)->mnemonic, o->bits + (o->kind == OPD_ADDR ? 2u : 0));
    if (o->letter == 'j')
        in.j = addr;
    else
        in.i = (int32_t)addr;
    isa_encode(&in, both);
    *word = both[0];
    return EMU_OK;
}

enum emu_status code_buffer_link(struct code_buffer *b, uint32_t base)
{
    TRY(b->status);
    for (size_t i = 0; i < b->fix.count; i++) {
        const struct code_fix *f = &b->fix.at[i];

        TRY(fix_word(&b->word.at[f->word], code_label_addr(b, f->label, base)));
    }
    return EMU_OK;
}
