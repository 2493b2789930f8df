/* test_forms.c - every form of insn.def with every register in every operand position.
 *
 * Zero registers, registers that play several parts, neighbours of pairs and quads. Each
 * combination is executed four ways, which must agree in every register and byte:
 *
 *   plain      emu/exec
 *   fast       emu/fast, all workers at once, where it takes the instruction
 *   expected   what the same form does with distinct ordinary registers that hold the same values,
 *              moved to the registers that tests/fixtures/form_rule.h says are written; or the
 *              fault that it says the registers lead to
 *   rule       loads and stores: what form_rule.h says, which has no code in common with the others
 *
 * tests/isa says what instructions compute, with a few registers; this test that it does not matter
 * which registers these are. A second test changes every register in turn: those that the rule says
 * are read matter, and no others.
 */
#include "tests/fixtures/form_rule.h"
#include "tests/fixtures/tile_fixture.h"

#include "emu/base/random.h"
#include "emu/exec/exec_rows.h"
#include "emu/fast/fast.h"
#include "emu/isa/insn_ops.h"

enum {
    REGION0 = 1024,
    MEMORY = 3072,
    SUPERVISOR = 1 << LANE_SUPER,
    REGISTERS = 16,
    MOST_ROUNDS = 1000,
    MOST_PRODUCTS = 4096 /* above that, positions take a few registers each */
};

static struct arch machine;
static struct tile before, expected, plain, fast, rule;
static uint64_t seed, generation;
static unsigned long combinations, accesses, done_accesses, taken, put_taken;

static uint32_t draw(void)
{
    return random_u32(&seed);
}

static uint32_t below(uint32_t n)
{
    return random_below(&seed, n);
}

/* Copies all but what a tile owns. Generations are new: the fast engine may not rely on what it
 * knew of the last contents. */
static void copy_tile(struct tile *to, const struct tile *from)
{
    uint8_t *mem = to->mem, *dirty = to->dirty;
    struct code_page **page = to->page;
    struct fast_state *state = to->fast;

    *to = *from;
    to->mem = mem;
    to->dirty = dirty;
    to->page = page;
    to->fast = state;
    to->acc_generation = generation++;
    to->weight_generation = (uint32_t)generation;
    memcpy(mem, from->mem, MEMORY);
    memcpy(dirty, from->dirty, 1);
}

/* Registers, accumulators, control registers, faults, requests and memory are equal. */
static bool same_tile(const struct tile *a, struct tile *b)
{
    struct tile own = *b;
    bool same;

    b->mem = a->mem;
    b->dirty = a->dirty;
    b->page = a->page;
    b->fast = a->fast;
    b->acc_generation = a->acc_generation;
    b->weight_generation = a->weight_generation;
    same = memcmp(a, b, sizeof(*a)) == 0;
    b->mem = own.mem;
    b->dirty = own.dirty;
    b->page = own.page;
    b->fast = own.fast;
    b->acc_generation = own.acc_generation;
    b->weight_generation = own.weight_generation;
    return same && !memcmp(a->mem, b->mem, MEMORY) && a->dirty[0] == b->dirty[0];
}

static void new_tile(struct tile *t)
{
    zero_tile_new(t, &machine, 0);
    assert_true(fast_begin(t));
}

static struct tile *const tiles[] = { &before, &expected, &plain, &fast, &rule };

static int setup(void **state)
{
    (void)state;
    machine = *ss_arch_preset("c600"); /* it has all forms */
    machine.region0_bytes = REGION0;
    machine.mem_bytes = MEMORY;
    machine.element_bytes = 256;
    for (unsigned k = 0; k < EMU_COUNT_OF(tiles); k++)
        new_tile(tiles[k]);
    seed = 36;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (unsigned k = 0; k < EMU_COUNT_OF(tiles); k++) {
        ss_free(tiles[k]->mem);
        tile_free(tiles[k]);
    }
    assert_int_equal(alloc_live(), 0);
    return 0;
}

/* ---- values ---- */

/* A word whose halves and whole are often ordinary numbers, or a small integer. */
static uint32_t draw_word(void)
{
    switch (below(8)) {
    case 0:
        return below(40);
    case 1:
        return draw();
    default:
        return (draw() & 0x83ff83ff) | (11 + below(5)) << 26 | (11 + below(5)) << 10;
    }
}

static void draw_registers(struct tile *t)
{
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        for (unsigned r = 0; r < 14; r++) {
            t->m[r][lane] = r < 12 || lane != LANE_SUPER ? draw_word() : 0;
            t->a[r][lane] = lane == LANE_SUPER ? 0 : draw_word();
        }
        t->fp_ctl[lane] = below(8) ? 0 : draw() & (FP_CTL_ESR | FP_CTL_NANOO | 7 << 16);
        prng_seed(&t->prng[lane], draw());
    }
}

/* The rest of a tile, once in a while. */
static void draw_state(struct tile *t)
{
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        for (unsigned k = 0; k < TILE_ACC; k++)
            t->acc[w][k] = draw_word();
    for (unsigned k = 0; k < TILE_WEIGHTS; k++)
        t->weight[k] = (uint64_t)draw_word() << 32 | draw_word();
    for (unsigned k = 0; k < MEMORY; k++)
        t->mem[k] = (uint8_t)draw();
    for (unsigned lane = 0; lane < TILE_LANES; lane++) {
        t->pc[lane] = t->mem_base + 8;
        t->npc[lane] = t->mem_base + 16;
        t->tas[lane] = draw_word();
    }
    t->ssr = SSR_LC;
    t->cccsload = t->mem_base + REGION0 + 16 * below(64);
}

static int64_t draw_immediate(const struct operand *o)
{
    int64_t v;

    for (;;) {
        v = below(2) ? below(4) : (int64_t)below(1u << (o->bits < 12 ? o->bits : 12)) - below(99);
        if (o->kind == OPD_CSRNAME || o->kind == OPD_CSR)
            return below(4) ? isa_csr_row(below((uint32_t)isa_csr_count()))->index : below(256);
        if (o->kind == OPD_ADDR)
            v *= 4;
        if (o->kind == OPD_HIMM)
            v = (int64_t)below(4096) << 20;
        if (o->kind == OPD_IMM32)
            v = draw();
        if (isa_operand_accepts(o, v))
            return v;
    }
}

/* ---- addresses that can be accessed ---- */

static void put_m(struct tile *t, unsigned lane, unsigned r, uint32_t v)
{
    if (r < 12 || (r < 14 && lane != LANE_SUPER))
        t->m[r][lane] = v;
}

static const struct form_operand *operand(const struct form_rule *r, const int64_t *value,
                                          char letter, unsigned *number)
{
    for (unsigned k = 0; k < r->operands; k++)
        if (r->operand[k].file == 'm' && r->operand[k].letter == letter) {
            *number = (unsigned)value[k];
            return &r->operand[k];
        }
    return NULL;
}

/* The pair of packed addresses: any register of it may serve as stride as well. */
static void aim_packed(struct tile *t, unsigned lane, unsigned x, uint32_t at, uint32_t second,
                       uint32_t third)
{
    put_m(t, lane, x, at | third << 21);
    put_m(t, lane, x + 1, second | third >> 11 << 21);
}

/* Moves the first ordinary address register, in steps of 16 bytes, so that the first access of the
 * form falls on a target. Registers may stand for several parts: how far the access moves with the
 * register is tried. */
static void aim_one(const struct form_rule *r, const int64_t *value, struct tile *t, unsigned lane,
                    uint32_t target)
{
    static const char letters[] = "ABXC";
    uint32_t addr[3], with[3];
    unsigned bytes[3], n;

    for (const char *l = letters; *l; l++) {
        if (operand(r, value, *l, &n))
            put_m(t, lane, n, 16 * below(4));
    }
    for (const char *l = letters; *l; l++) {
        if (!operand(r, value, *l, &n) || n >= 14 || (n >= 12 && lane == LANE_SUPER))
            continue;
        form_addresses(r, value, t, lane, addr, bytes);
        put_m(t, lane, n, t->m[n][lane] + 16);
        form_addresses(r, value, t, lane, with, bytes);
        if (with[0] == addr[0])
            continue;
        put_m(t, lane, n,
              t->m[n][lane] - 16 + ((target - addr[0]) / ((with[0] - addr[0]) / 16) & ~15u));
        return;
    }
}

/* Delta loads: the pointer, then the delta, then the base. */
static void aim_deltas(const struct form_rule *r, const int64_t *value, struct tile *t,
                       unsigned lane, uint32_t target, uint32_t pointer)
{
    unsigned p = 0, b = 0, delta = 0, k = 16 * below(8);

    if (!operand(r, value, 'X', &delta))
        operand(r, value, 'Y', &delta);
    operand(r, value, 'P', &p);
    operand(r, value, 'B', &b);
    put_m(t, lane, delta, k | k << 16);
    put_m(t, lane, p, pointer);
    if (b != p && b != delta)
        put_m(t, lane, b, target - (delta < 14 ? t->m[delta][lane] & 0xffff : 0));
}

static uint32_t place(bool in_region1)
{
    uint32_t first = in_region1 ? REGION0 : 0;

    return machine.mem_base + first + 16 * below((MEMORY - first) / 16);
}

static void aim(const struct form_rule *r, const int64_t *value, unsigned lane, bool in_region1)
{
    const struct form_operand *x;
    unsigned n;

    x = operand(r, value, 'X', &n);
    if (x && x->count == 2)
        aim_packed(&before, lane, n, place(in_region1), place(true), place(in_region1));
    else if (operand(r, value, 'P', &n))
        aim_deltas(r, value, &before, lane, place(in_region1), place(!in_region1));
    else
        aim_one(r, value, &before, lane, place(in_region1));
}

/* Entries and vertex states that a launch accepts. */
static void aim_launch(const struct form_rule *r, const int64_t *value, unsigned lane)
{
    unsigned n;

    if (operand(r, value, 'B', &n))
        put_m(&before, lane, n, 4 * below(1000));
    if (operand(r, value, 'A', &n))
        put_m(&before, lane, n, machine.mem_base + 4 * below(100));
}

static void prepare(const struct form_rule *r, const int64_t *value, unsigned lanes)
{
    bool spoilt = !below(16), in_region1 = below(4) != 0;

    draw_registers(&before);
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        if (form_is_access(r))
            aim(r, value, lane, in_region1);
        else if (!strncmp(r->form->mnemonic, "run", 3))
            aim_launch(r, value, lane);
        if (spoilt)
            put_m(&before, lane, below(12), draw());
    }
}

/* ---- execution ---- */

/* The instructions of a form, one or two, plainly in the lanes. */
static void run_plain(struct tile *t, unsigned lanes, const struct insn *in, unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        for (unsigned lane = 0; lane <= LANE_SUPER; lane++)
            if (lanes >> lane & 1)
                exec_table[in[k].op](t, lane, &in[k]);
}

/* Distinct ordinary registers for all operands. */
static void ordinary(const struct form_rule *r, const int64_t *value, int64_t *out)
{
    unsigned next_m = 0, next_a = 0;

    for (unsigned k = 0; k < r->operands; k++) {
        const struct form_operand *o = &r->operand[k];
        unsigned *next = o->file == 'm' ? &next_m : &next_a, first;

        out[k] = value[k];
        if (!o->file)
            continue;
        first = (*next + o->count - 1) / o->count * o->count;
        out[k] = first;
        *next = first + o->count;
    }
}

static uint32_t *row_of(struct tile *t, char file, unsigned n)
{
    return file == 'm' ? t->m[n] : t->a[n];
}

/* For all registers of operands: value as `from` names them to registers as `to` names them. Of
 * destinations only, where `written` is set, and never into read-only registers. */
static void carry(const struct form_rule *r, struct tile *source, const int64_t *from,
                  struct tile *target, const int64_t *to, unsigned lane, bool written)
{
    for (unsigned k = 0; k < r->operands; k++) {
        const struct form_operand *o = &r->operand[k];

        for (unsigned n = 0; o->file && n < o->count; n++) {
            unsigned at = (unsigned)to[k] + n;
            struct form_rule one = { r->form, 1, { { o->file, o->letter, 1, o->suffix } } };
            int64_t number = at;
            struct form_registers w = form_writes(&one, &number);

            if (!written || w.m || w.a)
                row_of(target, o->file, at)[lane] =
                    row_of(source, o->file, (unsigned)from[k] + n)[lane];
        }
    }
}

static void expect(const struct form_rule *r, const int64_t *value, unsigned lanes)
{
    static struct tile result;
    enum fault refusal = form_refusal(r, value);
    int64_t other[ISA_MAX_OPERANDS];
    struct insn in[2];
    unsigned count;

    copy_tile(&expected, &before);
    if (refusal != FAULT_NONE) {
        for (unsigned lane = 0; lane <= LANE_SUPER; lane++)
            if (lanes >> lane & 1)
                tile_fault(&expected, lane, refusal, 0, NULL);
        return;
    }
    ordinary(r, value, other);
    count = isa_form_build(r->form, other, in);
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++)
        if (lanes >> lane & 1)
            carry(r, &before, value, &expected, other, lane, false);
    run_plain(&expected, lanes, in, count);
    result = expected;
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        if (!(lanes >> lane & 1))
            continue;
        for (unsigned n = 0; n < REGISTERS; n++) {
            if (n < 12)
                expected.m[n][lane] = before.m[n][lane];
            expected.a[n][lane] = before.a[n][lane];
        }
        if (expected.state[lane] != CONTEXT_EXCEPTED)
            carry(r, &result, other, &expected, value, lane, true);
    }
}

static void fail_form(const struct form_rule *r, const int64_t *value, unsigned lanes,
                      const char *what)
{
    char text[200] = "";

    for (unsigned k = 0; k < r->operands; k++) {
        size_t n = strlen(text);

        snprintf(text + n, sizeof(text) - n, " %c%lld",
                 r->operand[k].file ? r->operand[k].file : '#', (long long)value[k]);
    }
    fail_msg("%s, lanes %02x:%s: %s (plain %s at 0x%x, expected %s at 0x%x)", r->form->name, lanes,
             text, what, fault_name(plain.fault.kind), plain.fault.addr,
             fault_name(expected.fault.kind), expected.fault.addr);
}

static void compare_fast(const struct form_rule *r, const int64_t *value, unsigned lanes,
                         const struct insn *in)
{
    fast_put_fn *put = fast_find_put(in->op);
    v8u low, high;

    copy_tile(&fast, &before);
    if (fast_find(in->op)(&fast, lanes, in)) {
        taken++;
        if (!same_tile(&plain, &fast))
            fail_form(r, value, lanes, "the fast function differs from the plain one");
    } else if (!same_tile(&before, &fast)) {
        fail_form(r, value, lanes, "the fast function refused, but changed something");
    }
    if (!put)
        return;
    copy_tile(&fast, &before);
    memcpy(&low, fast.a[in->s], sizeof(low));
    memcpy(&high, fast.a[in->s + 1], sizeof(high));
    if (!put(&fast, lanes, in, low, high))
        return;
    put_taken++;
    if (!same_tile(&plain, &fast))
        fail_form(r, value, lanes, "the fast function that is given what it stores differs");
}

/* The rule does not know the text and the time of a fault. */
static void compare_rule(const struct form_rule *r, const int64_t *value, unsigned lanes)
{
    copy_tile(&rule, &before);
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        uint32_t addr = 0;
        enum fault f;

        if (!(lanes >> lane & 1))
            continue;
        f = form_refusal(r, value);
        if (f == FAULT_NONE)
            f = form_access(r, value, &rule, lane, &addr);
        accesses++;
        done_accesses += f == FAULT_NONE;
        if ((f != FAULT_NONE) != (plain.state[lane] == CONTEXT_EXCEPTED))
            fail_form(r, value, lanes, "whether it faults is not as the rule says");
        if (f == FAULT_NONE || plain.fault.lane != lane)
            continue;
        if (f != plain.fault.kind || (f == FAULT_INVALID_ADDR && addr != plain.fault.addr))
            fail_form(r, value, lanes, "the fault is not as the rule says");
    }
    if (memcmp(rule.m, plain.m, sizeof(rule.m)) || memcmp(rule.a, plain.a, sizeof(rule.a)) ||
        memcmp(rule.mem, plain.mem, MEMORY))
        fail_form(r, value, lanes, "the access is not what the rule says");
}

/* isa_registers() is what bundles and machines with fewer registers are judged by. */
static void compare_registers(const struct form_rule *r, const int64_t *value,
                              const struct insn *in)
{
    struct form_registers reads = form_reads(r, value), writes = form_writes(r, value);
    struct insn_regs have = isa_registers(in);

    if (have.m_read != reads.m || have.a_read != reads.a || have.m_write != writes.m ||
        have.a_write != writes.a)
        fail_form(r, value, 0, "isa_registers() is not what the rule says");
}

static void try_values(const struct form_rule *r, const int64_t *value, unsigned lanes)
{
    struct insn in[2];
    unsigned count = isa_form_build(r->form, value, in);

    if (!count)
        fail_form(r, value, lanes, "operands do not fit");
    combinations++;
    prepare(r, value, lanes);
    expect(r, value, lanes);
    copy_tile(&plain, &before);
    run_plain(&plain, lanes, in, count);
    expected.fault.detail = plain.fault.detail;
    if (!same_tile(&plain, &expected))
        fail_form(r, value, lanes, "not what it does with distinct ordinary registers");
    if (count == 1 && !(lanes & SUPERVISOR))
        compare_fast(r, value, lanes, in);
    if (form_is_access(r))
        compare_rule(r, value, lanes);
    if (!r->form->is_alias)
        compare_registers(r, value, in);
}

/* ---- which combinations ---- */

static unsigned choices(const struct form_operand *o)
{
    return o->file ? REGISTERS / o->count : 1;
}

/* Where all products would be too many: the lowest, some that are alike, the highest that exist,
 * that can be written, the bases, the zeros. */
static const uint8_t few[] = { 0, 1, 2, 5, 11, 13, 15 };

static int64_t choice(const struct form_operand *o, unsigned n, bool all)
{
    return o->count == 1 && !all ? few[n] : (int64_t)n * o->count;
}

static unsigned draw_lanes(const struct form_rule *r)
{
    if (r->form->context == CTX_S || (r->form->context == CTX_B && !below(8)))
        return SUPERVISOR;
    return below(2) ? LANES_ALL : 1 + below(LANES_ALL);
}

static void try_number(const struct form_rule *r, unsigned long number, bool all)
{
    int64_t value[ISA_MAX_OPERANDS] = { 0 };

    for (unsigned k = 0; k < r->operands; k++) {
        const struct form_operand *o = &r->operand[k];
        unsigned n = o->count == 1 && o->file && !all ? EMU_COUNT_OF(few) : choices(o);

        value[k] =
            o->file ? choice(o, (unsigned)(number % n), all) : draw_immediate(&r->form->operand[k]);
        number /= n;
    }
    try_values(r, value, draw_lanes(r));
}

/* Every register in one position, the others at random. */
static void try_position(const struct form_rule *r, unsigned position)
{
    for (unsigned n = 0; n < choices(&r->operand[position]); n++) {
        int64_t value[ISA_MAX_OPERANDS] = { 0 };

        for (unsigned k = 0; k < r->operands; k++) {
            unsigned of = choices(&r->operand[k]);

            value[k] = r->operand[k].file
                           ? choice(&r->operand[k], k == position ? n : below(of), true)
                           : draw_immediate(&r->form->operand[k]);
        }
        try_values(r, value, draw_lanes(r));
    }
}

static unsigned long products(const struct form_rule *r, bool all)
{
    unsigned long n = 1;

    for (unsigned k = 0; k < r->operands; k++)
        n *= r->operand[k].file && r->operand[k].count == 1 && !all ? EMU_COUNT_OF(few)
                                                                    : choices(&r->operand[k]);
    return n;
}

static void try_form(const struct insn_form *f)
{
    struct form_rule r = form_rule_of(f);
    bool all = products(&r, true) <= MOST_PRODUCTS;
    unsigned long n = products(&r, all), least = n < 64 ? 64 : n;

    draw_state(&before);
    for (unsigned long k = 0; k < least; k++)
        try_number(&r, k % n, all);
    for (unsigned round = 0; round < 4; round++)
        for (unsigned k = 0; k < r.operands; k++)
            try_position(&r, k);
}

static void test_every_register(void **state)
{
    (void)state;
    for (unsigned f = 0; f < FORM_COUNT; f++)
        try_form(isa_form(f));
    print_message("# %u forms, %lu combinations of operands, %lu by the fast functions, %lu of %lu "
                  "accesses without a fault\n",
                  (unsigned)FORM_COUNT, combinations, taken, done_accesses, accesses);
    assert_true(combinations > 400000 && taken > combinations / 4 && put_taken > 1000);
    assert_true(done_accesses > accesses / 2);
}

/* ---- which registers matter ---- */

struct reader {
    struct form_rule r;
    int64_t value[ISA_MAX_OPERANDS];
    struct insn in[2];
    unsigned count, lane;
    struct form_registers reads, writes, mattered;
};

/* Whether a register that starts otherwise leads to another end. */
static bool matters(struct reader *d, char file, unsigned n, uint32_t change)
{
    bool written = plain.state[d->lane] != CONTEXT_EXCEPTED &&
                   (file == 'm' ? d->writes.m : d->writes.a) >> n & 1;

    copy_tile(&rule, &before);
    row_of(&rule, file, n)[d->lane] ^= change;
    run_plain(&rule, 1u << d->lane, d->in, d->count);
    if (!written)
        row_of(&rule, file, n)[d->lane] ^= change;
    return !same_tile(&plain, &rule);
}

static void change_each(struct reader *d, char file, unsigned registers)
{
    uint32_t *mattered = file == 'm' ? &d->mattered.m : &d->mattered.a;

    for (unsigned n = 0; n < registers; n++)
        if (matters(d, file, n, below(2) ? draw() | 1 : 1u << below(32)))
            *mattered |= 1u << n;
}

/* Equal registers and zeros: comparisons depend on them. */
static void fill_alike(unsigned lane)
{
    uint32_t word = below(2) ? draw_word() : below(4);

    for (unsigned n = 0; n < 14; n++) {
        put_m(&before, lane, n, below(2) ? word : 0);
        if (lane != LANE_SUPER)
            before.a[n][lane] = below(2) ? word : 0;
    }
}

static void find_readers(struct reader *d)
{
    for (unsigned k = 0; k < d->r.operands; k++)
        if (!d->r.operand[k].file)
            d->value[k] = draw_immediate(&d->r.form->operand[k]);
    if (form_refusal(&d->r, d->value) != FAULT_NONE)
        return;
    d->count = isa_form_build(d->r.form, d->value, d->in);
    prepare(&d->r, d->value, 1u << d->lane);
    if (!form_is_access(&d->r) && below(2))
        fill_alike(d->lane);
    copy_tile(&plain, &before);
    run_plain(&plain, 1u << d->lane, d->in, d->count);
    change_each(d, 'm', 12);
    change_each(d, 'a', d->lane == LANE_SUPER ? 0 : 14);
}

/* Of two pairs these take one register each. */
static bool takes_parts(const char *mnemonic)
{
    return !strcmp(mnemonic, "roll32") || !strncmp(mnemonic, "sort4x32", 8);
}

static bool all_mattered(const struct reader *d)
{
    uint32_t a = d->mattered.a;

    if (takes_parts(d->r.form->mnemonic) && !(a & ~d->reads.a))
        a = d->reads.a;
    return d->mattered.m == d->reads.m && a == d->reads.a;
}

/* The supervisor is the context of those that only it has. Those whose meaning is not public fault
 * whatever registers hold. */
static void test_what_is_read(void **state)
{
    (void)state;
    seed = 37;
    for (unsigned f = 0; f < FORM_COUNT; f++) {
        struct reader d = { .r = form_rule_of(isa_form(f)) };

        if (d.r.form->is_alias)
            continue;
        d.lane = d.r.form->context == CTX_S ? LANE_SUPER : below(TILE_WORKERS);
        ordinary(&d.r, d.value, d.value);
        d.reads = form_reads(&d.r, d.value);
        d.writes = form_writes(&d.r, d.value);
        if (!strcmp(d.r.form->mnemonic, "ld64a32"))
            d.writes.a &= ~1u; /* it counts as written, but stays */
        for (unsigned round = 0; round < MOST_ROUNDS && (round < 24 || !all_mattered(&d));
             round++) {
            if (round % 16 == 0)
                draw_state(&before);
            find_readers(&d);
        }
        if (form_refusal(&d.r, d.value) != FAULT_NONE)
            continue;
        if (!all_mattered(&d))
            fail_msg("%s reads m %x a %x, the rule says m %x a %x", d.r.form->name, d.mattered.m,
                     d.mattered.a, d.reads.m, d.reads.a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_register),
        cmocka_unit_test(test_what_is_read),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
