/* test_barrel_random.c - random programs of workers and of supervisors give the same tile, to the
 * last bit and cycle, with and without the fast paths, wherever a limit of cycles stops them.
 *
 * Tame programs keep pointers in registers that nothing else writes, so that they get far; wild
 * ones use anything and mostly fault. Some workers are sent another way, at the start and now and
 * then, and repeat as often as they like, so that all groupings of lanes occur.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/arch/arch_numbers.h"
#include "emu/base/random.h"
#include "emu/isa/csr_names.h"
#include "emu/isa/insn_ops.h"
#include "tests/fixtures/tile_fixture.h"

enum { PROGRAM_WORDS = 400, DATA_BYTES = 1 << 16, PROGRAMS = 400 };

static uint64_t rng_state;
static enum insn_context context = CTX_W; /* who runs the program */

static uint32_t rng(uint32_t below)
{
    return random_below(&rng_state, below);
}

static int usable(const struct insn_form *f)
{
    static const char *const left_out[] = { "exitz",  "exitnz", "exitneg", "exitpos", "trap",
                                            "rpt",    "call",   "br",      "bri",     "brz",
                                            "brnz",   "brneg",  "brpos",   "brnzdec", "run",
                                            "runall", "sync",   "sans" };

    if (f->is_alias || !(f->context & context) || f->cost == COST_EVENTS || f->cost == COST_SEND)
        return 0;
    for (size_t i = 0; i < EMU_COUNT_OF(left_out); i++) {
        if (!strcmp(f->mnemonic, left_out[i]))
            return 0;
    }
    return 1;
}

/* Forms that need operands a random program seldom has. */
static int fussy(const struct insn_form *f)
{
    static const char *const names[] = { "ldb16b16",    "f32sisoslic", "f32sisov2slic", "ld64a32",
                                         "ld64a32pace", "ld64b16pace", "stm32step",     "ldd16a32",
                                         "ldd16a64",    "ldd16b16",    "ldd16v2a32" };

    for (size_t i = 0; i < EMU_COUNT_OF(names); i++) {
        if (!strcmp(f->mnemonic, names[i]))
            return 1;
    }
    return 0;
}

/* Phases that exist: 7 of the f16 matrix step, 13 of the f32 one, two of the others. */
static int64_t tame_phase(const struct insn_form *f)
{
    if (strstr(f->mnemonic, "amp"))
        return rng(strncmp(f->mnemonic, "f32", 3) ? 7 : 13);
    return rng(2);
}

/* m0, m1 pointers to region 0, m2, m3 to region 1, m4:5 packed addresses, m6 m7 small deltas,
 * m8..m11 anything. */
static int64_t tame_register(const struct insn_form *f, const struct operand *o)
{
    if (o->kind == OPD_M2)
        return o->letter == 'x' ? 4 : 8;
    if (o->kind != OPD_M)
        return -1;
    switch (o->letter) {
    case 'a':
        return strncmp(f->mnemonic, "ld128", 5) ? rng(4) : 2 + rng(2);
    case 'p':
        return 8;
    case 'x':
    case 'y':
        return 6 + rng(2);
    case 'd':
        return 8 + rng(4);
    case 'b':
    case 'c':
    case 't':
        return 15;
    default:
        return rng(16);
    }
}

static int64_t random_value(const struct insn_form *f, unsigned k, int tame)
{
    const struct operand *o = &f->operand[k];
    int64_t v;

    if (tame && (v = tame_register(f, o)) >= 0)
        return v;
    if (tame && strstr(f->mnemonic, "pace") && o->kind == OPD_UIMM)
        return 0;
    if (tame && f->lane == LANE_A && o->kind == OPD_UIMM &&
        (o->bits < 12 || strstr(f->mnemonic, "gina")))
        return tame_phase(f);
    for (;;) {
        switch (o->kind) {
        case OPD_SIMM:
            v = (int64_t)rng(1u << (o->bits - 1)) - (int64_t)rng(1u << (o->bits - 1));
            break;
        case OPD_HIMM:
            v = (int64_t)rng(1 << 12) << 20;
            break;
        case OPD_ADDR:
            v = 4 * (int64_t)rng(1u << o->bits);
            break;
        case OPD_UIMM:
            v = tame && o->bits == 12 ? rng(8) : rng(1u << o->bits);
            break;
        case OPD_CSR:
        case OPD_CSRNAME:
            v = rng(12);
            break;
        default:
            v = rng(16);
            break;
        }
        if (tame && o->kind == OPD_SIMM && o->bits == 8)
            v = rng(2) * 16;
        if (isa_operand_accepts(o, v))
            return v;
    }
}

static struct insn random_insn(enum insn_lane lane, int in_bundle, int in_body, int tame)
{
    for (;;) {
        const struct insn_form *f = isa_form(rng(FORM_COUNT));
        int64_t value[ISA_MAX_OPERANDS] = { 0 };
        struct insn in[2];

        if (!usable(f) || f->lane != lane || (in_bundle && f->flags & INSN_SOLO) ||
            (in_body && f->flags & (INSN_CONTROL | INSN_SYSTEM)) || (tame && fussy(f)))
            continue;
        for (unsigned k = 0; k < f->operand_count; k++)
            value[k] = random_value(f, k, tame);
        if (isa_form_build(f, value, in) && !(tame && in[0].e && in[0].e / 2 == in[0].d / 2))
            return in[0];
    }
}

struct code {
    uint32_t word[PROGRAM_WORDS + 8];
    unsigned n;
};

static void put_one(struct code *c, const struct insn *in)
{
    uint32_t w[2];

    isa_encode(in, w);
    c->word[c->n++] = w[0];
}

static void put_bundle(struct code *c, int in_body, int tame)
{
    struct insn main = random_insn(LANE_M, 1, in_body, tame),
                aux = random_insn(LANE_A, 1, in_body, tame);

    while (isa_registers(&main).a_write & isa_registers(&aux).a_write)
        aux = random_insn(LANE_A, 1, in_body, tame);
    isa_encode_bundle(&main, &aux, &c->word[c->n]);
    c->n += 2;
}

static struct insn make(unsigned form, int64_t a, int64_t b, int64_t d)
{
    struct insn in[2];

    tile_must(isa_form_build(isa_form(form), (int64_t[6]){ a, b, d }, in) == 1, "form");
    return in[0];
}

static void align8(struct code *c)
{
    struct insn nop = make(FORM_nop, 0, 0, 0);

    if (c->n & 1)
        put_one(c, &nop);
}

/* Sends the workers of which a number has one of random bits on, the others to a place that the
 * caller writes to the word returned. */
static unsigned put_parting(struct code *c)
{
    struct insn in = make(FORM_get, 8, CSR_W_WSR, 0);

    put_one(c, &in);
    in = make(FORM_and_mu12, 8, 8, 1 + rng(7));
    put_one(c, &in);
    return c->n++;
}

static void put_branch(struct code *c, unsigned at, unsigned form, uint32_t base)
{
    int64_t to = base + 4 * (int64_t)c->n;
    struct insn in = form == FORM_brz ? make(form, 8, to, 0) : make(form, to, 0, 0);
    uint32_t word[2];

    isa_encode(&in, word);
    c->word[at] = word[0];
}

/* Gives a bundle the main half of another, and the aux half, too, where the halves would clash. */
static void take_main(uint32_t word[2], const uint32_t other[2])
{
    struct insn main, aux;
    int is_bundle;

    word[0] = other[0];
    isa_decode(word, &main, &aux, &is_bundle);
    if (isa_registers(&main).a_write & isa_registers(&aux).a_write)
        word[1] = other[1];
}

/* Two pieces of code, one for some workers and one for the others: bundles with equal main halves,
 * or bundles that only some execute. */
static void put_ways(struct code *c, int tame, uint32_t base)
{
    unsigned way, end, first, length = 1 + rng(6);
    int twins = rng(2);

    way = put_parting(c);
    align8(c);
    first = c->n;
    for (unsigned k = 0; k < length; k++)
        put_bundle(c, 0, tame);
    if (!twins) {
        put_branch(c, way, FORM_brz, base);
        return;
    }
    end = c->n++;
    align8(c);
    put_branch(c, way, FORM_brz, base);
    for (unsigned k = 0; k < length; k++) {
        unsigned at = c->n, other = first + 2 * k;

        put_bundle(c, 0, tame);
        if (rng(4))
            take_main(&c->word[at], &c->word[other]);
    }
    put_branch(c, end, FORM_bri, base);
}

static void put_item(struct code *c, int tame, uint32_t base)
{
    unsigned kind = rng(11);
    struct insn in;

    if (kind == 10) {
        put_ways(c, tame, base);
    } else if (kind < 3) {
        in = random_insn(LANE_M, 0, 0, tame);
        put_one(c, &in);
    } else if (kind < 5) {
        in = random_insn(LANE_A, 0, 0, tame);
        put_one(c, &in);
    } else if (kind < 9) {
        align8(c);
        put_bundle(c, 0, tame);
    } else {
        unsigned length = 1 + rng(4);

        if (!(c->n & 1)) {
            in = make(FORM_nop, 0, 0, 0);
            put_one(c, &in);
        }
        in = rng(2) ? make(FORM_rpt_i, 1 + rng(6), length - 1, 0)
                    : make(FORM_rpt_r, 6, length - 1, 0);
        put_one(c, &in);
        for (unsigned k = 0; k < length; k++)
            put_bundle(c, 1, tame);
    }
}

/* Worker w skips ahead over a few nops when bit w of the pattern is set, then all run the same
 * random code. */
static void make_program(struct code *c, uint32_t base, uint32_t stop, int tame)
{
    struct insn in;

    (void)stop;
    c->n = 0;
    in = make(FORM_get, 8, CSR_W_WSR, 0);
    put_one(c, &in);
    in = make(FORM_and_mu12, 8, 8, 1 + rng(7));
    put_one(c, &in);
    in = make(FORM_brz, 8, base + 4 * (3 + rng(3)), 0);
    put_one(c, &in);
    in = make(FORM_nop, 0, 0, 0);
    for (int k = 0; k < 3; k++)
        put_one(c, &in);
    while (c->n < PROGRAM_WORDS - 40)
        put_item(c, tame, base);
    in = make(FORM_exitz, 15, 0, 0);
    put_one(c, &in);
}

static void fill_tile(struct tile_fixture *r, const struct code *c, uint32_t code_at,
                      uint32_t data_at, uint64_t seed)
{
    rng_state = seed;
    tile_must(tile_write(r->tile, code_at, c->word, 4 * c->n), "code");
    for (uint32_t off = 0; off < DATA_BYTES; off += 4) {
        /* small integers, f16 pairs of ordinary size and a few wild patterns */
        uint32_t v = rng(16) ? 0x3c003800u ^ (rng(1 << 10) << 16 | rng(1 << 10)) : rng(UINT32_MAX);

        tile_must(tile_write(r->tile, data_at + off, &v, 4), "data");
    }
    for (unsigned lane = 0; lane <= LANE_SUPER; lane++) {
        for (unsigned m = 0; m < 4; m++)
            r->tile->m[m][lane] = data_at + 0x3000 * m + (m < 2 ? 0 : 0x3000) + 0x100 * lane;
        uint32_t third = data_at + 0x9008 + 0x200 * lane;

        r->tile->m[4][lane] = (data_at + 0x200 * lane) | third << 21;
        r->tile->m[5][lane] = (data_at + 0x8000 + 0x200 * lane) | (third >> 11) << 21;
        r->tile->m[6][lane] = 16 * rng(4);
        r->tile->m[7][lane] = 16 * rng(4);
        for (unsigned a = 0; a < 8; a++)
            r->tile->a[a][lane] = rng(4) ? 0x3c003c00u ^ rng(1 << 30) % 0x400 : rng(UINT32_MAX);
    }
    r->tile->cccsload = data_at;
    if (rng(4) == 0)
        r->tile->fp_ictl = rng(8) << 16 | rng(2) << 19 | rng(2) << 20 | (rng(8) == 0 ? rng(8) : 0);
    for (unsigned i = 0; i < TILE_WEIGHTS; i++)
        r->tile->weight[i] = 0x3c00b8003c003800u ^ (uint64_t)rng(1 << 30);
    r->tile->weight_generation++;
}

static void compare(const struct tile *f, const struct tile *p, unsigned program)
{
    if (f->fault.kind != p->fault.kind || f->fault.pc != p->fault.pc ||
        f->fault.lane != p->fault.lane)
        print_error("program %u: fault %s at %x against %s at %x\n", program,
                    fault_name(f->fault.kind), f->fault.pc, fault_name(p->fault.kind), p->fault.pc);
    assert_int_equal(f->fault.kind, p->fault.kind);
    assert_int_equal(f->fault.pc, p->fault.pc);
    assert_int_equal(f->fault.lane, p->fault.lane);
    assert_int_equal(f->fault.cycle, p->fault.cycle);
    for (unsigned lane = 0; lane < LANE_SUPER + 1; lane++) {
        for (unsigned k = 0; k < 16; k++) {
            if (f->m[k][lane] != p->m[k][lane] || f->a[k][lane] != p->a[k][lane])
                print_error("program %u lane %u register %u: m %x %x a %x %x\n", program, lane, k,
                            f->m[k][lane], p->m[k][lane], f->a[k][lane], p->a[k][lane]);
            assert_int_equal(f->m[k][lane], p->m[k][lane]);
            assert_int_equal(f->a[k][lane], p->a[k][lane]);
        }
        assert_int_equal(f->pc[lane], p->pc[lane]);
        assert_int_equal(f->rpt_count[lane], p->rpt_count[lane]);
        assert_int_equal(f->fp_sts[lane], p->fp_sts[lane]);
        assert_int_equal(f->prng[lane].s0, p->prng[lane].s0);
    }
    assert_memory_equal(f->acc, p->acc, sizeof(f->acc));
    assert_memory_equal(f->mem, p->mem, f->mem_bytes);
}

/* Items that the supervisor runs three times, each time from other words of memory. */
static void make_supervisor_program(struct code *c, uint32_t base, uint32_t stop, int tame)
{
    unsigned items = PROGRAM_WORDS / 10;
    struct insn in;

    (void)base;
    for (c->n = 0; c->n < items;) {
        in = random_insn(LANE_M, 0, 0, tame);
        put_one(c, &in);
    }
    for (; c->n < 3 * items; c->n++)
        c->word[c->n] = c->word[c->n - items];
    in = make(FORM_bri, stop, 0, 0);
    put_one(c, &in);
}

static const char stub[] = "start: setzi $m0, 0x60000 >> 1\n shl $m0, $m0, 1\n runall $m0, $mzero, "
                           "0\n sync 2\n stop: nop\n";
static const char supervisor_stub[] = "start: bri 0x60000 / 4\n stop: nop\n";

static enum barrel_stop run_until(struct tile_fixture *r, uint64_t limit)
{
    return barrel_run(&r->barrel, r->tile, tile_fixture_symbol(r, "stop"), limit);
}

static void compare_barrels(const struct barrel *f, const struct barrel *p)
{
    assert_int_equal(f->cycle, p->cycle);
    assert_int_equal(f->running, p->running);
    assert_memory_equal(f->next, p->next, sizeof(f->next));
    assert_memory_equal(f->issued, p->issued, sizeof(f->issued));
    assert_memory_equal(f->instructions, p->instructions, sizeof(f->instructions));
}

typedef void make_fn(struct code *c, uint32_t base, uint32_t stop, int tame);

static void run_programs(make_fn *make_code, const char *text, int tame, unsigned count,
                         uint64_t first_seed)
{
    struct arch all = *ss_arch_preset("mk2"); /* with all instructions and registers */
    uint32_t code_at = 0x60000, data_at = all.mem_base + all.region0_bytes - DATA_BYTES / 2;
    struct tile_fixture *fast, *plain;
    unsigned finished = 0;
    struct code c;

    all.number[ARCH_NUMBER_isa] = ISA_IPU21;
    all.number[ARCH_NUMBER_main_registers] = 13;
    all.number[ARCH_NUMBER_aux_registers] = 14;
    fast = tile_fixture_new_on(&all, text);
    plain = tile_fixture_new_on(&all, text);
    for (unsigned n = 0; n < count; n++) {
        uint64_t seed = first_seed + 977 * n;
        uint64_t limit = 12 + 977 * n % 1500;
        enum barrel_stop a, b;

        rng_state = seed;
        make_code(&c, code_at, tile_fixture_symbol(fast, "stop"), tame);
        tile_fixture_reset(fast, NULL);
        tile_fixture_reset(plain, &(struct barrel_options){ .plain = 1 });
        fill_tile(fast, &c, code_at, data_at, seed);
        fill_tile(plain, &c, code_at, data_at, seed);
        for (int part = 0; part < 2; part++) {
            a = run_until(fast, part ? UINT64_MAX : limit);
            b = run_until(plain, part ? UINT64_MAX : limit);
            assert_int_equal(a, b);
            compare(fast->tile, plain->tile, n);
            compare_barrels(&fast->barrel, &plain->barrel);
            if (a != BARREL_LIMIT)
                break;
        }
        finished += a == BARREL_HALT;
    }
    print_message("%u of %u programs ran to their end\n", finished, count);
    if (tame)
        assert_true(finished > count / 4);
    tile_fixture_free(fast);
    tile_fixture_free(plain);
}

static void test_tame_programs(void **state)
{
    (void)state;
    run_programs(make_program, stub, 1, PROGRAMS, 1000003);
}

static void test_wild_programs(void **state)
{
    (void)state;
    run_programs(make_program, stub, 0, PROGRAMS, 777767777);
}

static void test_supervisor_programs(void **state)
{
    (void)state;
    context = CTX_S;
    run_programs(make_supervisor_program, supervisor_stub, 1, PROGRAMS, 31337);
    run_programs(make_supervisor_program, supervisor_stub, 0, PROGRAMS, 31415927);
    context = CTX_W;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tame_programs),
        cmocka_unit_test(test_wild_programs),
        cmocka_unit_test(test_supervisor_programs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
