/* exec_check.c - executes an instruction in the checking mode and finds out what depends on bytes
 * that nothing has written, or that are in no field of the vertex.
 *
 * Such bytes, "unknown" here, come into registers by loads. Instructions that move and combine
 * bits, loads and stores pass them on: which bytes of the result are unknown shows when the
 * instruction is executed twice more, with all unknown bytes 0 and with all their bits set.
 * Everything else uses them: arithmetic, addresses, branches, control registers; and a store of
 * them, unless it puts bytes back that the lane had read there. A use is reported with the load,
 * and its result counts as known, so that a mistake is reported once.
 */
#include "emu/exec/exec.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/tile_check.h"

enum passing { USES, PASSES, ACCESSES };

/* LANES rows by the rule of their operation ... */
enum {
    RULE_bits1 = PASSES,
    RULE_bits2 = PASSES,
    RULE_f32_1 = USES,
    RULE_f32_2 = USES,
    RULE_f32_clamps = USES,
    RULE_f16_1 = USES,
    RULE_f16_rounds = USES,
    RULE_f16_picks = USES,
    RULE_f16_clamps = USES
};
#define LANE(operation, rule, plain, vector)    PASSING_##operation = RULE_##rule,
#define PLAIN(operation, rule, plain)           PASSING_##operation = RULE_##rule,
#define ACCESS(operation, bytes, plain, vector) PASSING_##operation = ACCESSES,
enum {
#include "emu/exec/lanes.def"
};
#undef LANE
#undef PLAIN
#undef ACCESS

static const uint8_t passing[INSN_COUNT] = {
#define INSN(...)
#define ALIAS(...)
#define LANES(operation, id, ...) [INSN_##id] = PASSING_##operation,
#include "emu/isa/insn.def"
#undef INSN
#undef ALIAS
#undef LANES
    /* ... and those with a function of their own. */
    [INSN_movnz] = PASSES,         [INSN_roll32] = PASSES,       [INSN_sort4x32lo] = PASSES,
    [INSN_sort4x32hi] = PASSES,    [INSN_tapack] = PASSES,       [INSN_stm32] = ACCESSES,
    [INSN_stm32step] = ACCESSES,   [INSN_ld2x64pace] = ACCESSES, [INSN_ld2xst64pace] = ACCESSES,
    [INSN_ldst64pace] = ACCESSES,  [INSN_st64pace] = ACCESSES,   [INSN_ld64a32pace] = ACCESSES,
    [INSN_ld64b16pace] = ACCESSES, [INSN_ldd16a32] = ACCESSES,   [INSN_ldd16a64] = ACCESSES,
    [INSN_ldd16b16] = ACCESSES,    [INSN_ldd16v2a32] = ACCESSES, [INSN_ld64a32] = ACCESSES,
};

/* All registers of a lane, $m0 to $m15 and $a0 to $a15. */
struct file {
    uint32_t word[SHADOW_REGISTERS];
};

/* What an instruction reads or writes, one bit each. */
static uint32_t both_files(uint32_t m, uint32_t a)
{
    return m | a << SHADOW_AUX;
}

static uint32_t *row(struct tile *t, unsigned r)
{
    return r < SHADOW_AUX ? t->m[r] : t->a[r - SHADOW_AUX];
}

static void save(struct tile *t, unsigned lane, struct file *out)
{
    for (unsigned r = 0; r < SHADOW_REGISTERS; r++)
        out->word[r] = row(t, r)[lane];
}

static void restore(struct tile *t, unsigned lane, const struct file *f)
{
    for (unsigned r = 0; r < SHADOW_REGISTERS; r++)
        row(t, r)[lane] = f->word[r];
}

/* One half of a bundle, or an instruction: which registers with unknown bytes it reads, and what
 * becomes of those it writes. */
struct half {
    const struct insn *in;
    uint32_t reads, writes;            /* registers */
    uint8_t unknown[SHADOW_REGISTERS]; /* of those it writes */
    struct tile_shadow_origin origin;  /* of all of them */
};

static uint32_t loaded_unknown(const struct tile_shadow *s)
{
    uint32_t mask = 0;

    for (unsigned k = 0; k < s->loads; k++)
        mask |= s->load[k].mask;
    return mask;
}

static struct tile_shadow_origin origin_of_load(const struct tile *t, unsigned lane,
                                                const struct tile_shadow_access *a)
{
    enum tile_check_kind kind = a->mask & ~a->foreign ? TILE_CHECK_UNWRITTEN : TILE_CHECK_FOREIGN;

    return (struct tile_shadow_origin){
        kind, t->pc[lane], a->addr, a->bytes, tile_check_site_of(t, lane), t->cycle
    };
}

/* Registers of the main file that a load or store reads, but for the one that it stores. */
static uint32_t addresses(const struct insn *in)
{
    uint32_t m = isa_registers(in).m_read;
    const struct insn_form *f = isa_op_form(in->op);
    struct insn value = *in;

    if (f->operand[0].letter == 's' && f->operand[0].kind == OPD_M) {
        value.s = 15;
        m = isa_registers(&value).m_read;
    }
    return m;
}

/* Reports registers as used. What they hold counts as known from now on. */
static void use(struct tile *t, unsigned lane, struct tile_shadow *s, uint32_t registers)
{
    for (; registers; registers &= registers - 1) {
        unsigned r = (unsigned)__builtin_ctz(registers);

        tile_check_used(t, lane, &s->origin[r][lane]);
        s->unknown[r][lane] = 0;
        s->registers[lane] &= ~(1u << r);
    }
}

static void use_loads(struct tile *t, unsigned lane, struct tile_shadow *s)
{
    for (unsigned k = 0; k < s->loads; k++) {
        struct tile_shadow_origin o = origin_of_load(t, lane, &s->load[k]);

        if (s->load[k].mask)
            tile_check_used(t, lane, &o);
        s->load[k].mask = 0;
    }
}

static uint32_t mask_of_bytes(uint32_t bytes)
{
    uint32_t mask = 0;

    for (unsigned k = 0; k < 4; k++)
        mask |= bytes >> k & 1 ? 0xffu << 8 * k : 0;
    return mask;
}

/* The bytes in which two words differ. */
static uint8_t differing(uint32_t a, uint32_t b)
{
    uint8_t bytes = 0;

    for (unsigned k = 0; k < 4; k++)
        bytes |= (a ^ b) >> 8 * k & 0xff ? 1u << k : 0;
    return bytes;
}

struct probe {
    struct file result;
    uint8_t stored[16];
};

/* Executes it with all unknown bytes, of registers and of loaded memory, all zeros or all ones. */
static void probe_with(struct tile *t, unsigned lane, struct tile_shadow *s, const struct half *h,
                       const struct file *before, uint8_t fill, struct probe *out)
{
    struct file f = *before;

    for (unsigned r = 0; r < SHADOW_REGISTERS; r++) {
        uint32_t mask = mask_of_bytes(s->unknown[r][lane]);

        if (h->reads >> r & 1)
            f.word[r] = (f.word[r] & ~mask) | (fill * 0x01010101u & mask);
    }
    for (unsigned k = 0; k < s->loads; k++)
        for (unsigned n = 0; n < s->load[k].bytes; n++)
            if (s->load[k].mask >> n & 1)
                t->mem[s->load[k].addr - t->mem_base + n] = fill;
    restore(t, lane, &f);
    exec_table[h->in->op](t, lane, h->in);
    save(t, lane, &out->result);
    if (s->stores)
        memcpy(out->stored, t->mem + (s->store.addr - t->mem_base), s->store.bytes);
}

/* Bytes that are not known are put back, or used. */
static void judge_store(struct tile *t, unsigned lane, struct tile_shadow *s, const struct half *h,
                        const struct probe p[2])
{
    for (unsigned n = 0; n < s->store.bytes; n++) {
        if (p[0].stored[n] == p[1].stored[n])
            continue;
        if (!((s->store.mask | s->store.foreign) >> n & 1) || !tile_check_put_back(t, lane, n))
            tile_check_used(t, lane, &h->origin);
        else if (s->store.mask >> n & 1)
            tile_check_unwrite(t, s->store.addr + n);
    }
}

/* The tile is as the instruction left it, and is so again afterwards. */
static void pass_on(struct tile *t, unsigned lane, struct tile_shadow *s, struct half *h,
                    const struct file *before)
{
    struct tile_shadow_access *touched[4] = { &s->load[0], &s->load[1], &s->load[2], &s->store };
    uint8_t kept[4][16];
    struct probe p[2];
    struct file after;

    save(t, lane, &after);
    for (unsigned k = 0; k < 4; k++)
        if (k < s->loads || (k == 3 && s->stores))
            memcpy(kept[k], t->mem + (touched[k]->addr - t->mem_base), touched[k]->bytes);
    s->mode = SHADOW_MUTE;
    for (unsigned k = 0; k < 2; k++)
        probe_with(t, lane, s, h, before, k ? 0xff : 0, &p[k]);
    s->mode = SHADOW_OFF;
    for (unsigned k = 0; k < 4; k++)
        if (k < s->loads || (k == 3 && s->stores))
            memcpy(t->mem + (touched[k]->addr - t->mem_base), kept[k], touched[k]->bytes);
    restore(t, lane, &after);
    for (unsigned r = 0; r < SHADOW_REGISTERS; r++)
        if (h->writes >> r & 1)
            h->unknown[r] = differing(p[0].result.word[r], p[1].result.word[r]);
    if (s->stores)
        judge_store(t, lane, s, h, p);
}

static void follow(struct tile *t, unsigned lane, struct tile_shadow *s, struct half *h,
                   const struct file *before)
{
    uint32_t unknown = s->registers[lane] & h->reads;

    if (!unknown && !loaded_unknown(s))
        return;
    if (passing[h->in->op] == ACCESSES)
        use(t, lane, s, unknown & addresses(h->in));
    else if (passing[h->in->op] == USES)
        use(t, lane, s, unknown);
    if (passing[h->in->op] == USES)
        use_loads(t, lane, s);
    unknown = s->registers[lane] & h->reads;
    if (!unknown && !loaded_unknown(s))
        return;
    for (unsigned k = s->loads; k-- > 0;)
        if (s->load[k].mask)
            h->origin = origin_of_load(t, lane, &s->load[k]);
    if (unknown)
        h->origin = s->origin[__builtin_ctz(unknown)][lane];
    pass_on(t, lane, s, h, before);
}

static void set_unknown(struct tile_shadow *s, unsigned lane, const struct half *h)
{
    for (uint32_t w = h->writes; w; w &= w - 1) {
        unsigned r = (unsigned)__builtin_ctz(w);

        s->unknown[r][lane] = h->unknown[r];
        s->registers[lane] &= ~(1u << r);
        if (!h->unknown[r])
            continue;
        s->registers[lane] |= 1u << r;
        s->origin[r][lane] = h->origin;
    }
}

static struct half half_of(const struct insn *in)
{
    struct insn_regs r = isa_registers(in);

    return (struct half){ .in = in,
                          .reads = both_files(r.m_read, r.a_read),
                          .writes = both_files(r.m_write, r.a_write) };
}

/* Only the main half has loads and stores: the other is followed without them. */
static void follow_aux(struct tile *t, unsigned lane, struct tile_shadow *s, struct half *h,
                       const struct file *before)
{
    unsigned loads = s->loads, stores = s->stores;

    s->loads = s->stores = 0;
    follow(t, lane, s, h, before);
    s->loads = loads;
    s->stores = stores;
}

/* Follows both halves, which have been executed. */
static void follow_halves(struct tile *t, unsigned lane, struct tile_shadow *s,
                          const struct insn *main, const struct insn *aux,
                          const struct file *before)
{
    struct half m = half_of(main), a;

    if (aux) {
        a = half_of(aux);
        follow_aux(t, lane, s, &a, before);
    }
    follow(t, lane, s, &m, before);
    set_unknown(s, lane, &m);
    if (aux)
        set_unknown(s, lane, &a);
}

/* Whether an instruction of the supervisor launches workers, or calls code that may. */
static int starts_vertex(unsigned op)
{
    return op == INSN_run || op == INSN_runall || op == INSN_call;
}

/* The registers as they were are for instructions that pass something on: it was in a register, or
 * comes from memory. */
enum fault exec_checked(struct tile *t, unsigned lane, const struct insn *main,
                        const struct insn *aux)
{
    struct tile_shadow *s = tile_check_shadow(t);
    struct file before;
    enum fault f;

    if (!s)
        return aux ? exec_bundle(t, lane, main, aux) : exec_table[main->op](t, lane, main);
    if (lane == LANE_SUPER && starts_vertex(main->op))
        tile_check_site(t, t->pc[lane]);
    if (s->registers[lane] || passing[main->op] == ACCESSES)
        save(t, lane, &before);
    s->loads = s->stores = 0;
    s->mode = SHADOW_COLLECT;
    f = aux ? exec_bundle(t, lane, main, aux) : exec_table[main->op](t, lane, main);
    s->mode = SHADOW_OFF;
    if (f == FAULT_NONE && (s->registers[lane] || loaded_unknown(s)))
        follow_halves(t, lane, s, main, aux, &before);
    return f;
}
