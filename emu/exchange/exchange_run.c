/* exchange_run.c - issues runs of exchange instructions, one behind the other.
 *
 * Nearly all code of an exchange is such a run, long and different on every tile: nothing is gained
 * by keeping it decoded, so each instruction is decoded where it stands, from its bits in insn.def.
 * What the instructions do is said in exchange_port.c; here is only what is simple about them: they
 * use no registers, and each takes its events.
 */
#include "emu/exchange/exchange_private.h"
#include "emu/isa/insn_ops.h"

enum { NO_OP = 0, WORD_BITS = 32, PREFETCH_BYTES = 192 };

/* Bits of a first word that tell the instructions of a run apart. */
static unsigned kind_of(uint32_t word)
{
    return (word >> 26) << 1 | (word >> 20 & 1);
}

static struct isa_part only_part(unsigned op, char letter)
{
    struct isa_part part[ISA_PARTS_MAX] = { { 0, 0, 0 } };

    EMU_ASSERT(isa_parts_of(op, letter, part) <= 1);
    return part[0];
}

static void add_op(struct exchange_run_codes *codes, unsigned op)
{
    struct exchange_run_code *c = &codes->code[++codes->count];
    struct isa_part part[ISA_PARTS_MAX] = { { 0, 0, 0 } };
    struct isa_pattern p = isa_pattern_of(op);

    EMU_ASSERT(isa_parts_of(op, 'i', part) <= EMU_COUNT_OF(c->i));
    *c = (struct exchange_run_code){ .mask = p.mask,
                                     .match = p.match,
                                     .op = (uint16_t)op,
                                     .bytes = (uint16_t)p.bytes,
                                     .i = { part[0], part[1] },
                                     .j = only_part(op, 'j'),
                                     .k = only_part(op, 'k'),
                                     .l = only_part(op, 'l'),
                                     .n = only_part(op, 'n'),
                                     .o = only_part(op, 'o') };
    for (unsigned kind = 0; kind < EXCHANGE_RUN_KINDS; kind++) {
        uint32_t word = (kind >> 1) << 26 | (kind & 1) << 20;
        uint32_t known = (uint32_t)(p.mask >> WORD_BITS) & (0xfc000000u | 1u << 20);

        if ((word & known) != ((uint32_t)(p.match >> WORD_BITS) & known))
            continue;
        EMU_ASSERT(codes->of_kind[kind] == NO_OP);
        codes->of_kind[kind] = (uint8_t)codes->count;
    }
}

void exchange_run_init(struct exchange_run_codes *codes)
{
    static const uint16_t ops[] = { INSN_send,  INSN_sendoff,  INSN_sendpic,  INSN_sendpicp,
                                    INSN_delay, INSN_delaypic, INSN_delayxpic };

    _Static_assert(EMU_COUNT_OF(ops) < EXCHANGE_RUN_CODES, "entry 0 is no instruction");
    *codes = (struct exchange_run_codes){ .code = { { .match = 1 } } };
    for (size_t i = 0; i < EMU_COUNT_OF(ops); i++)
        add_op(codes, ops[i]);
}

static uint32_t value_of(struct isa_part p, uint64_t words)
{
    return ((uint32_t)(words >> p.shift) & p.mask) << p.scale;
}

/* Decodes the instruction at the supervisor's pc. Returns its length; 0 if it does not belong in a
 * run or may not be executed where it stands. */
static uint32_t decode(const struct exchange_run_codes *codes, const struct tile *t,
                       struct insn *in)
{
    uint32_t pc = t->pc[LANE_SUPER], off = pc - t->mem_base, word[2] = { 0, 0 };
    const struct exchange_run_code *c;
    uint64_t words;

    if (off >= t->region0_bytes || pc % ISA_WORD_BYTES)
        return 0;
    memcpy(word, t->mem + off, t->region0_bytes - off < 8 ? 4 : 8);
    __builtin_prefetch(t->mem + off + PREFETCH_BYTES);
    words = (uint64_t)word[0] << WORD_BITS | word[1];
    c = &codes->code[codes->of_kind[kind_of(word[0])]];
    if ((words & c->mask) != c->match || pc % c->bytes)
        return 0;
    in->op = c->op;
    in->i = (int32_t)(value_of(c->i[0], words) + value_of(c->i[1], words));
    in->j = value_of(c->j, words);
    in->k = value_of(c->k, words);
    if (c->bytes == 8) {
        in->l = value_of(c->l, words);
        in->n = value_of(c->n, words);
        in->o = value_of(c->o, words);
    }
    return in->op == INSN_send && in->k & EXCHANGE_CTL_WIDE ? 0 : c->bytes;
}

uint32_t exchange_run(struct exchange_port *p, struct tile *t, uint64_t until)
{
    struct exchange_log *log = (struct exchange_log *)p;
    struct insn in = { .op = 0 };
    uint32_t n = exchange_skip_part(log, t, until), bytes;

    if (n)
        return n;
    while (t->cycle < until && (bytes = decode(&log->fabric->run, t, &in)) != 0 &&
           exchange_issue(p, t, &in) == FAULT_NONE) {
        t->cycle += (uint32_t)in.i + 1;
        t->pc[LANE_SUPER] += bytes;
        n++;
    }
    return n;
}
