/* test_fast_amp.c - the fast matrix, sliding and accumulator functions against the plain ones.
 *
 * Two tiles go through the same long random sequence of instructions, one by the plain functions
 * lane by lane, one by the fast functions, which may refuse and then leave it to the plain ones.
 * After every instruction all state must agree. Operands come from several worlds: small integers,
 * values like those of a network, far apart magnitudes, arbitrary bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "emu/base/random.h"
#include "emu/arch/arch.h"
#include "emu/fast/fast_state.h"
#include "emu/exec/exec_rows.h"
#include "emu/isa/csr_names.h"

struct form_sample {
    const char *name;
    fast_fn *fast;
    exec_fn *plain;
    unsigned words_d, words_a, words_b; /* registers of each operand */
    int immediates;                     /* 0 .. immediates - 1 are tried; the last is not valid */
    int common;                         /* immediates below this are those of full units */
};

#define FORM(id, d, a, b, immediates, common)                                                      \
    {                                                                                              \
#id, fast_##id, exec_##id, d, a, b, immediates, common                                     \
    }

static const struct form_sample forms[] = {
    FORM(f16v4hihoamp, 1, 2, 1, 8, 4),  FORM(f16v4sihoamp, 1, 2, 2, 8, 4),
    FORM(f16v4sisoamp, 2, 2, 2, 8, 4),  FORM(f16v4hihov4amp, 2, 2, 2, 8, 4),
    FORM(f32sisoamp, 2, 1, 2, 14, 8),   FORM(f32sisov2amp, 2, 1, 2, 14, 8),
    FORM(f16v4hihoslic, 1, 2, 1, 3, 2), FORM(f16v4sihoslic, 1, 2, 2, 3, 2),
    FORM(f16v4sisoslic, 2, 2, 2, 3, 2), FORM(f16v4hihov4slic, 2, 2, 2, 3, 2),
    FORM(f32v4acc, 0, 4, 0, 1, 1),      FORM(f32v4absacc, 0, 4, 0, 1, 1),
    FORM(f32v4sqacc, 0, 4, 0, 1, 1),    FORM(f16v4acc, 0, 2, 0, 1, 1),
    FORM(f16v4absacc, 0, 2, 0, 1, 1),   FORM(f16v8acc, 0, 4, 0, 1, 1),
    FORM(f16v8absacc, 0, 4, 0, 1, 1),   FORM(f16v8sqacc, 0, 4, 0, 1, 1),
    FORM(f16v2cmac, 0, 1, 1, 1, 1),     FORM(f16v4cmac, 0, 2, 2, 1, 1),
    FORM(f32mac, 0, 1, 1, 1, 1),        FORM(f32v2mac, 0, 2, 2, 1, 1),
    FORM(f32v2axpy, 2, 2, 2, 1, 1),     FORM(f32v2aop, 0, 2, 2, 16, 16),
    FORM(f16v4mix, 2, 2, 2, 1, 1),      FORM(f16v4gacc, 2, 0, 0, 1, 1),
    FORM(f32v2gina, 2, 2, 0, 5, 4),     FORM(f16v2gina, 1, 1, 0, 5, 4),
    FORM(f16v4stacc, 2, 0, 0, 3, 2),    FORM(f16v4istacc, 2, 2, 2, 3, 2),
};

enum { FORMS = EMU_COUNT_OF(forms) };

enum world { SMALL_INTEGERS, NETWORK, WIDE, TINY, ANY_BITS, WORLDS };

struct pair_of_tiles {
    struct tile plain, fast;
    uint8_t mem[2][1 << 16];
    uint64_t seed;
    unsigned calls[FORMS], accepted[FORMS];
};

static struct pair_of_tiles g; /* large: not on the stack */

static uint32_t rnd(uint32_t n)
{
    return random_below(&g.seed, n);
}

static uint16_t f16_of(double v)
{
    struct fp_env env = { 0 };

    return fp_f16_from_f64(v, 0, &env);
}

static uint16_t random_f16(enum world w)
{
    static const uint16_t special[] = { 0,      0x8000, 0x0001, 0x8001, 0x03ff, 0x0400,
                                        0x8400, 0x3c00, 0xbc00, 0x7bff, 0xfbff, 0x7c00,
                                        0xfc00, 0x7e00, 0x7d01, 0xfe55, 0x3bff, 0x3c01 };
    unsigned kind = rnd(16);

    switch (w) {
    case SMALL_INTEGERS:
        return f16_of((int)rnd(17) - 8);
    case NETWORK:
        return kind ? f16_of(random_normal(&g.seed) * (kind < 4 ? 0.01 : 1)) : rnd(2) * 0x8000;
    case WIDE: /* finite, exponents anywhere */
        return kind ? (uint16_t)(rnd(0x7c00) | rnd(2) << 15) : special[rnd(11)];
    case TINY:
        return (uint16_t)(rnd(0x800) | rnd(2) << 15);
    default:
        return kind < 10 ? (uint16_t)random_next(&g.seed) : special[rnd(EMU_COUNT_OF(special))];
    }
}

static uint32_t random_f32(enum world w)
{
    static const uint32_t special[] = { 0,          0x80000000, 1,          0x807fffff, 0x00800000,
                                        0x80800001, 0x3f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                        0xff800000, 0x7fc00000, 0x7f812345, 0xffffffff, 0x477fefff,
                                        0x477ff000, 0x387fc000, 0x33000000 };
    unsigned kind = rnd(16);

    switch (w) {
    case SMALL_INTEGERS:
        return fp_bits((float)((int)rnd(513) - 256));
    case NETWORK:
        return kind ? fp_bits((float)(random_normal(&g.seed) * 3)) : rnd(2) * FP_F32_SIGN;
    case WIDE: /* exponents of f16 products and sums */
        return (uint32_t)(random_next(&g.seed) & 0x807fffff) | (127 - 50 + rnd(rnd(8) ? 84 : 95))
                                                                   << 23;
    case TINY: /* on and off the grid of 2^-64 */
        if (kind < 8)
            return fp_bits((float)((int)rnd(1 << 20) - (1 << 19)) * 0x1p-64f);
        return (uint32_t)(random_next(&g.seed) & 0x807fffff) | (127 - 90 + rnd(60)) << 23;
    default:
        return kind < 10 ? (uint32_t)random_next(&g.seed) : special[rnd(EMU_COUNT_OF(special))];
    }
}

static uint32_t random_word(enum world w, bool f32)
{
    uint16_t lo = random_f16(w);

    return f32 ? random_f32(w) : fp_f16_pack(lo, random_f16(w));
}

static void set_both(unsigned lane, unsigned reg, uint32_t v)
{
    g.plain.a[reg][lane] = g.fast.a[reg][lane] = v;
}

static void new_registers(enum world w, bool f32)
{
    for (unsigned reg = 0; reg < 14; reg++)
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            set_both(lane, reg, random_word(w, f32));
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        g.plain.tas[lane] = g.fast.tas[lane] = random_word(w, f32);
}

static void new_f32_partials(enum world w)
{
    for (unsigned reg = 4; reg < 8; reg++)
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
            set_both(lane, reg, random_f32(w));
}

static void new_weights(enum world w, bool f32)
{
    for (unsigned k = 0; k < TILE_WEIGHTS; k++) {
        uint64_t v = random_word(w, f32);

        g.plain.weight[k] = g.fast.weight[k] = v << 32 | random_word(w, f32);
    }
    g.plain.weight_generation++;
    g.fast.weight_generation++;
}

static void new_accumulators(enum world w)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned n = 0; n < TILE_ACC; n++) {
            uint32_t v = random_f32(w);

            tile_set_acc(&g.plain, lane, n, v);
            tile_set_acc(&g.fast, lane, n, v);
        }
    }
}

/* Mostly ordinary; now and then other modes, in all lanes or some, and traps. */
static void new_modes(void)
{
    uint32_t common = rnd(3) ? 0 : FP_CTL_ESR;

    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        uint32_t ctl = common;

        if (!rnd(40))
            ctl ^= FP_CTL_ESR;
        if (!rnd(40))
            ctl |= rnd(8) << FP_CTL_RND_SHIFT;
        if (!rnd(4))
            ctl |= FP_CTL_NANOO;
        if (!rnd(20))
            ctl |= rnd(8);
        g.plain.fp_ctl[lane] = g.fast.fp_ctl[lane] = ctl;
        g.plain.fp_sts[lane] = g.fast.fp_sts[lane] = 0;
    }
}

static unsigned random_register(unsigned words)
{
    if (words == 4)
        return 4 * rnd(3);
    return words == 2 ? 2 * rnd(8) : rnd(16);
}

static void run_plain(struct tile *t, uint32_t lanes, const struct insn *in, exec_fn *plain)
{
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        if (lanes >> lane & 1)
            plain(t, lane, in);
}

static void compare(const struct form_sample *f, const struct insn *in, uint32_t lanes,
                    uint64_t seed)
{
    const struct tile *p = &g.plain, *q = &g.fast;

    if (!memcmp(p->a, q->a, sizeof(p->a)) && !memcmp(p->acc, q->acc, sizeof(p->acc)) &&
        !memcmp(p->fp_sts, q->fp_sts, sizeof(p->fp_sts)) &&
        !memcmp(p->prng, q->prng, sizeof(p->prng)) && p->fault.kind == q->fault.kind &&
        p->fault.lane == q->fault.lane && !memcmp(p->state, q->state, sizeof(p->state)))
        return;
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
        for (unsigned n = 0; n < TILE_ACC; n++)
            if (tile_acc(p, lane, n) != tile_acc(q, lane, n))
                print_error("worker %u AACC[%u] plain %08x fast %08x\n", lane, n,
                            tile_acc(p, lane, n), tile_acc(q, lane, n));
        for (unsigned r = 0; r < 16; r++)
            if (p->a[r][lane] != q->a[r][lane])
                print_error("worker %u $a%u plain %08x fast %08x\n", lane, r, p->a[r][lane],
                            q->a[r][lane]);
        if (p->fp_sts[lane] != q->fp_sts[lane])
            print_error("worker %u $FP_STS plain %x fast %x\n", lane, p->fp_sts[lane],
                        q->fp_sts[lane]);
    }
    fail_msg("%s d%u a%u b%u imm %d lanes %02x, instruction drawn from seed %016llx", f->name,
             in->d, in->a, in->b, in->i, lanes, (unsigned long long)seed);
}

/* What the fast path believes of the accumulators must be true of all of them. */
static void check_bounds(const struct form_sample *f)
{
    const struct fast_state *known = g.fast.fast;

    if (known->acc_generation != g.fast.acc_generation)
        return;
    for (unsigned n = 0; n < 16 * known->acc_sets; n++) {
        const struct acc_bounds *b = &known->bounds[n % 2];

        if (b->max == __builtin_inff())
            continue;

        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            double v = fp_float(tile_acc(&g.fast, lane, n)), m = v < 0 ? -v : v;
            double unit = fp_f64((uint64_t)(1023 + b->lsb) << 52);
            double scaled = m / unit;

            if (!(m <= b->max) || (scaled < 0x1p53 && scaled != (double)(uint64_t)scaled))
                fail_msg("after %s: worker %u AACC[%u] = %a, believed at most %a, multiple of 2^%d",
                         f->name, lane, n, v, b->max, b->lsb);
        }
    }
}

static void clear_faults(struct tile *t)
{
    t->fault.kind = FAULT_NONE;
    memset(t->state, CONTEXT_ACTIVE, sizeof(t->state));
}

/* One random instruction in both tiles. `form` < 0: any. */
static void one(int form, uint32_t lanes, bool common)
{
    uint64_t seed = g.seed;
    unsigned n = form < 0 ? rnd(FORMS) : (unsigned)form;
    const struct form_sample *f = &forms[n];
    struct insn in = { 0 };

    in.d = (uint8_t)random_register(f->words_d);
    in.a = (uint8_t)random_register(f->words_a);
    in.b = (uint8_t)random_register(f->words_b);
    if (common) { /* results must not become operands and grow */
        in.d |= 8;
        in.a &= f->words_a == 4 ? 7 : 3;
        in.b = (in.b & 3) | 4;
    }
    in.i = (int32_t)rnd(common || rnd(4) ? (unsigned)f->common : (unsigned)f->immediates);
    run_plain(&g.plain, lanes, &in, f->plain);
    g.calls[n]++;
    if (f->fast(&g.fast, lanes, &in)) {
        g.accepted[n]++;
        assert_int_equal(g.fast.fault.kind, FAULT_NONE);
    } else {
        run_plain(&g.fast, lanes, &in, f->plain);
    }
    compare(f, &in, lanes, seed);
    check_bounds(f);
    clear_faults(&g.plain);
    clear_faults(&g.fast);
}

static void init(uint64_t seed, const char *machine)
{
    memset(&g, 0, sizeof(g));
    g.seed = seed;
    assert_int_equal(tile_init(&g.plain, ss_arch_preset(machine), 0, g.mem[0]), EMU_OK);
    assert_int_equal(tile_init(&g.fast, ss_arch_preset(machine), 0, g.mem[1]), EMU_OK);
    assert_true(fast_begin(&g.fast));
    clear_faults(&g.plain);
    clear_faults(&g.fast);
}

static void done(void)
{
    tile_free(&g.plain);
    tile_free(&g.fast);
}

static uint32_t random_lanes(void)
{
    return rnd(3) ? LANES_ALL : rnd(64);
}

/* Registers, weights and accumulators of any world meet; everything changes at its own pace. */
static void test_mixed(void **state)
{
    (void)state;
    init(1, "mk2");
    for (int i = 0; i < 1000000; i++) {
        bool f32 = rnd(2);

        if (i % 50 == 0)
            new_modes();
        if (!rnd(6))
            new_registers(rnd(WORLDS), f32);
        if (!rnd(12))
            new_weights(rnd(WORLDS), f32);
        if (!rnd(20))
            new_accumulators(rnd(WORLDS));
        if (!rnd(30)) {
            tile_csr_put(&g.plain, 0, 'U', CSR_U_FP_CLR, 8);
            tile_csr_put(&g.fast, 0, 'U', CSR_U_FP_CLR, 8);
        }
        one(-1, random_lanes(), false);
    }
    done();
}

/* Long runs of one form in one world, so that bounds are carried through many steps; the fast
 * functions must take the ordinary worlds always. */
static void test_streams(void **state)
{
    static const struct {
        enum world world;
        bool must_accept;
    } runs[] = { { SMALL_INTEGERS, true }, { NETWORK, true }, { WIDE, false }, { TINY, false } };

    (void)state;
    init(2, "mk2");
    for (unsigned n = 0; n < FORMS; n++) {
        bool f32 = !strncmp(forms[n].name, "f32", 3);

        for (size_t r = 0; r < EMU_COUNT_OF(runs); r++) {
            unsigned refused;

            memset(g.plain.fp_ctl, 0, sizeof(g.plain.fp_ctl));
            memset(g.fast.fp_ctl, 0, sizeof(g.fast.fp_ctl));
            new_accumulators(runs[r].world);
            g.calls[n] = g.accepted[n] = 0;
            for (int i = 0; i < 2000; i++) {
                if (i % 4 == 0)
                    new_registers(runs[r].world, f32);
                if (i % 4 == 0 && !strncmp(forms[n].name, "f16v4si", 7))
                    new_f32_partials(runs[r].world);
                if (i % 32 == 0)
                    new_weights(runs[r].world, f32);
                one((int)n, rnd(8) ? LANES_ALL : rnd(64), runs[r].must_accept);
            }
            refused = g.calls[n] - g.accepted[n];
            if (runs[r].must_accept && refused)
                fail_msg("%s refused %u of %u in world %d", forms[n].name, refused, g.calls[n],
                         runs[r].world);
        }
    }
    done();
}

/* f32 partial sums in f16 steps, which networks with f32 partials use: always taken. */
static void test_f32_partials(void **state)
{
    (void)state;
    init(3, "mk2");
    new_weights(NETWORK, false);
    new_accumulators(NETWORK);
    for (int i = 0; i < 20000; i++) {
        const struct form_sample *f = &forms[rnd(2) ? 2 : 8]; /* f16v4sisoamp, f16v4sisoslic */
        struct insn in = { .a = 0, .b = 2, .d = 4, .i = i % 2 };
        int taken;

        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            for (unsigned k = 0; k < 2; k++) {
                set_both(lane, k, random_word(NETWORK, false));
                set_both(lane, 2 + k, random_word(NETWORK, true));
            }
        }
        run_plain(&g.plain, LANES_ALL, &in, f->plain);
        taken = f->fast(&g.fast, LANES_ALL, &in);
        assert_int_equal(taken, 1);
        compare(f, &in, LANES_ALL, g.seed);
    }
    done();
}

/* What is believed of one set must not be taken for both: forms of one and of two sets alternate,
 * and the second set holds larger values than the first. */
static void test_alternating_sets(void **state)
{
    (void)state;
    init(7, "mk2");
    for (int i = 0; i < 3000; i++) {
        if (i % 10 == 0) {
            /* Products are small but not fine, so that f64 holds the sums. */
            for (unsigned reg = 0; reg < 8; reg++)
                for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
                    set_both(lane, reg, 0x24002400 | (rnd(2) << 31) | (rnd(2) << 15));
            for (unsigned k = 0; k < TILE_WEIGHTS; k++)
                g.plain.weight[k] = g.fast.weight[k] =
                    0x2400240024002400u | (random_next(&g.seed) & 0x8000800080008000u);
            g.plain.weight_generation++;
            g.fast.weight_generation++;
            for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
                for (unsigned n = 0; n < TILE_ACC; n++) {
                    double scale = n % 2 || n < 16 ? 1 : 1000;
                    uint32_t v = fp_bits((float)(random_normal(&g.seed) * scale));

                    tile_set_acc(&g.plain, lane, n, v);
                    tile_set_acc(&g.fast, lane, n, v);
                }
            }
        }
        one(i % 2 ? 3 : 0, LANES_ALL, true); /* f16v4hihov4amp, f16v4hihoamp */
    }
    done();
}

/* Stochastic rounding of the smallest values, where only the largest random numbers round up, and
 * of f32 subnormals, where none do. */
static void test_stochastic_small(void **state)
{
    const struct insn in = { .d = 4 };

    (void)state;
    init(8, "mk2");
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        g.plain.fp_ctl[lane] = g.fast.fp_ctl[lane] = FP_CTL_ESR;
    for (int i = 0; i < 40000; i++) {
        int refused;

        for (unsigned lane = 0; i % 100 == 0 && lane < TILE_WORKERS; lane++) {
            for (unsigned m = 0; m < 4; m++) {
                uint32_t v =
                    (uint32_t)(random_next(&g.seed) & 0x807fffff) | (m ? rnd(110) << 23 : 0);

                tile_set_acc(&g.plain, lane, 2 * m, v);
                tile_set_acc(&g.fast, lane, 2 * m, v);
            }
        }
        run_plain(&g.plain, LANES_ALL, &in, exec_f16v4gacc);
        refused = !fast_f16v4gacc(&g.fast, LANES_ALL, &in);
        assert_int_equal(refused, 0);
        compare(&forms[25], &in, LANES_ALL, g.seed);
    }
    done();
}

static uint16_t f16_power(int e, bool negative)
{
    double v = fp_f64((uint64_t)(1023 + e) << 52);

    return f16_of(negative ? -v : v);
}

static int clamped(int e, int lo, int hi)
{
    return e < lo ? lo : e > hi ? hi : e;
}

static int random_power(int middle, int spread)
{
    return clamped(middle + (int)rnd(2 * (unsigned)spread + 1) - spread, -14, 15);
}

/* Mostly near the smallest f16. */
static int random_tiny(void)
{
    return (int)rnd(rnd(25) + 1) - 24;
}

/* Sums that lie in the middle between two f32 but for a term far below: one product is half a unit
 * of the last place of the accumulator, the second decides. For cmac and the matrix alike. */
static void test_ties(void **state)
{
    (void)state;
    init(5, "mk2");
    for (int i = 0; i < 6000; i++) {
        int unit_power[16], x_power[TILE_WORKERS], middle = (int)rnd(30) - 14, spread = (int)rnd(8);

        for (unsigned u = 0; u < 16; u++) {
            unit_power[u] = random_power(middle, spread);
            for (unsigned n = 0; n < 4; n++) {
                uint64_t w = f16_power(unit_power[u], rnd(2));

                w |= (uint64_t)f16_power(random_tiny(), rnd(2)) << 16;
                w |= rnd(4) ? 0 : (uint64_t)f16_power(random_tiny(), rnd(2)) << 32;
                g.plain.weight[4 * u + n] = g.fast.weight[4 * u + n] = w;
            }
        }
        g.plain.weight_generation++;
        g.fast.weight_generation++;
        new_registers(SMALL_INTEGERS, false);
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            x_power[lane] = random_power(middle, spread);
            set_both(
                lane, 0,
                fp_f16_pack(f16_power(x_power[lane], false), f16_power(random_tiny(), rnd(2))));
            set_both(lane, 1, rnd(4) ? 0 : fp_f16_pack(f16_power(random_tiny(), rnd(2)), 0));
            for (unsigned n = 0; n < TILE_ACC; n++) {
                int e = x_power[lane] + unit_power[n / 2] + 24;
                uint32_t v = (uint32_t)(random_next(&g.seed) & 0x807fffff) | (uint32_t)(127 + e)
                                                                                 << 23;

                if (!rnd(8)) /* the products make the tie and the accumulator decides */
                    v = (uint32_t)(random_next(&g.seed) & 0x80000000) | (127 - rnd(90)) << 23;
                tile_set_acc(&g.plain, lane, n, v);
                tile_set_acc(&g.fast, lane, n, v);
            }
        }
        for (int k = 0; k < 4; k++) {
            const struct form_sample *f = &forms[rnd(10)];
            struct insn in = { .a = 0, .b = 2, .d = 8, .i = (int32_t)rnd((unsigned)f->common) };

            if (!strncmp(f->name, "f32", 3))
                continue;
            run_plain(&g.plain, LANES_ALL, &in, f->plain);
            if (!f->fast(&g.fast, LANES_ALL, &in))
                run_plain(&g.fast, LANES_ALL, &in, f->plain);
            compare(f, &in, LANES_ALL, g.seed);
            check_bounds(f);
        }
    }
    done();
}

/* The same for f16v4cmac: every worker's operands are chosen for its accumulator. */
static void test_ties_cmac(void **state)
{
    const struct insn in = { .a = 0, .b = 2 };

    (void)state;
    init(6, "mk2");
    for (int i = 0; i < 30000; i++) {
        int refused;

        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            for (unsigned k = 0; k < 2; k++) {
                int a = (int)rnd(30) - 14, b = (int)rnd(30) - 14;
                uint32_t v = (uint32_t)(random_next(&g.seed) & 0x807fffff);

                set_both(lane, k, fp_f16_pack(f16_power(a, rnd(2)), f16_power(random_tiny(), 0)));
                set_both(lane, 2 + k,
                         fp_f16_pack(f16_power(b, 0), f16_power(random_tiny(), rnd(2))));
                v |= (uint32_t)clamped(127 + a + b + 24, 0, 127 + 33) << 23;
                tile_set_acc(&g.plain, lane, 2 * k, v);
                tile_set_acc(&g.fast, lane, 2 * k, v);
            }
        }
        run_plain(&g.plain, LANES_ALL, &in, exec_f16v4cmac);
        refused = !fast_f16v4cmac(&g.fast, LANES_ALL, &in);
        assert_int_equal(refused, 0);
        compare(&forms[19], &in, LANES_ALL, g.seed);
    }
    done();
}

/* One set of units only: both refuse the chains of the other set. */
static void test_one_set(void **state)
{
    (void)state;
    init(4, "mk1");
    new_weights(SMALL_INTEGERS, false);
    for (unsigned n = 0; n < FORMS; n++) {
        for (int i = 0; i < forms[n].immediates; i++) {
            struct insn in = { .i = i, .d = 4 };

            if (isa_form_find(forms[n].name, strlen(forms[n].name))->since > ISA_IPU1)
                continue; /* the machine lacks it */

            new_registers(SMALL_INTEGERS, false);
            memset(g.plain.acc, 0, sizeof(g.plain.acc));
            memset(g.fast.acc, 0, sizeof(g.fast.acc));
            run_plain(&g.plain, LANES_ALL, &in, forms[n].plain);
            if (!forms[n].fast(&g.fast, LANES_ALL, &in))
                run_plain(&g.fast, LANES_ALL, &in, forms[n].plain);
            compare(&forms[n], &in, LANES_ALL, 0);
            clear_faults(&g.plain);
            clear_faults(&g.fast);
        }
    }
    done();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_f32_partials),
        cmocka_unit_test(test_alternating_sets),
        cmocka_unit_test(test_stochastic_small),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_ties_cmac),
        cmocka_unit_test(test_one_set),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
