/* test_exec_amp.c - the matrix and sliding instructions as software sees them: streams of inputs
 * and partial sums go in, results come out a fixed number of instructions later. What must come
 * out is computed from the definition of a matrix product or a convolution, not from the state
 * machine of the unit; each step is an exact MPFR sum rounded once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/base/random.h"
#include "emu/arch/arch.h"
#include "emu/exec/exec_rows.h"
#include "tests/fixtures/amp_oracle.h"

enum { MAX_ROUNDS = 12, MAX_OUT = 16, MAX_IN = 16 };

static struct tile t;
static uint8_t mem[1 << 20];
static struct oracle o;
static uint64_t seed;

static int setup(void **state)
{
    (void)state;
    oracle_init(&o);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    oracle_clear(&o);
    return 0;
}

static void start(const char *machine)
{
    assert_int_equal(tile_init(&t, ss_arch_preset(machine), 0, mem), EMU_OK);
    seed = 1;
}

static void stop(void)
{
    tile_free(&t);
}

/* One instruction of a worker, with x in $a0:1, the partial sums in $a2:3, results to $a4:5. */
static void issue(exec_fn *fn, unsigned lane, int immediate, const uint32_t x[2],
                  const uint32_t partial[2], uint32_t out[2])
{
    const struct insn in = { .d = 4, .a = 0, .b = 2, .i = immediate };

    for (unsigned k = 0; k < 2; k++) {
        t.a[k][lane] = x[k];
        t.a[2 + k][lane] = partial[k];
        t.a[4 + k][lane] = 0xdeadbeef;
    }
    assert_int_equal(fn(&t, lane, &in), FAULT_NONE);
    out[0] = t.a[4][lane];
    out[1] = t.a[5][lane];
}

/* ---- f16 matrix products ---- */

struct f16_form {
    const char *name;
    exec_fn *fn;
    unsigned sets;
    int half_in, half_out;
};

static const struct f16_form f16_forms[] = {
    { "f16v4hihoamp", exec_f16v4hihoamp, .sets = 1, .half_in = 1, .half_out = 1 },
    { "f16v4sihoamp", exec_f16v4sihoamp, .sets = 1, .half_out = 1 },
    { "f16v4sisoamp", exec_f16v4sisoamp, .sets = 1 },
    { "f16v4hihov4amp", exec_f16v4hihov4amp, .sets = 2, .half_in = 1, .half_out = 1 },
};

/* Phase groups: immediates first .. first + phases - 1, units per set. */
static const struct phases {
    int first;
    unsigned phases, units;
} f16_phases[] = { { 0, 4, 8 }, { 4, 2, 4 }, { 6, 1, 2 } };

/* A stream of rounds. Each has 4 * phases inputs and units * sets results. */
struct f16_stream {
    uint16_t w[MAX_OUT][MAX_IN];
    uint16_t x[MAX_ROUNDS][MAX_IN];
    uint32_t partial[MAX_ROUNDS][MAX_OUT]; /* f32 bits, or f16 bits if half_in */
    uint32_t want[MAX_ROUNDS][MAX_OUT];    /* f32 bits, or f16 bits if half_out */
};

static struct f16_stream s;

/* Which unit (set * 8 + m) makes output channel c: pairs of channels alternate between the sets. */
static unsigned unit_of(unsigned c, unsigned sets)
{
    unsigned pair = c / 2;

    return sets == 1 ? c : 8 * (pair % 2) + 2 * (pair / 2) + c % 2;
}

enum data { INTEGERS, ORDINARY, EXTREME };

static uint16_t draw_half(enum data data)
{
    if (data == INTEGERS)
        return oracle_integer(&seed, 8);
    return data == ORDINARY ? oracle_half(&seed, 8, 16) : oracle_half(&seed, 0, 22);
}

static void draw_f16_stream(const struct f16_form *f, const struct phases *p, enum data data)
{
    for (unsigned c = 0; c < p->units * f->sets; c++)
        for (unsigned i = 0; i < 4 * p->phases; i++)
            s.w[c][i] = draw_half(data);
    for (unsigned r = 0; r < MAX_ROUNDS; r++) {
        for (unsigned i = 0; i < 4 * p->phases; i++)
            s.x[r][i] = draw_half(data);
        for (unsigned c = 0; c < p->units * f->sets; c++) {
            if (f->half_in)
                s.partial[r][c] = draw_half(data);
            else if (data == INTEGERS)
                s.partial[r][c] = oracle_bits_of_f32((float)(int)random_below(&seed, 1000) - 500);
            else
                s.partial[r][c] = oracle_single(&seed, data == EXTREME ? 0 : 110, 140);
        }
    }
}

/* The results by definition: partial sum, then one rounded dot product of four per phase. */
static void want_f16(const struct f16_form *f, const struct phases *p, enum data data)
{
    for (unsigned r = 0; r < MAX_ROUNDS; r++) {
        for (unsigned c = 0; c < p->units * f->sets; c++) {
            uint32_t acc = s.partial[r][c];
            double plain;

            if (f->half_in)
                acc = oracle_bits_of_f32((float)oracle_f16((uint16_t)acc));
            plain = oracle_f32_of_bits(acc);
            for (unsigned n = 0; n < p->phases; n++) {
                acc = oracle_dot(&o, acc, &s.x[r][4 * n], &s.w[c][4 * n]);
                for (unsigned i = 4 * n; i < 4 * n + 4; i++)
                    plain += oracle_f16(s.x[r][i]) * oracle_f16(s.w[c][i]);
            }
            if (data == INTEGERS) /* then there is nothing to round in f32 */
                assert_true(plain == oracle_f32_of_bits(acc));
            s.want[r][c] = f->half_out ? oracle_to_f16(&o, acc) : acc;
        }
    }
}

static void load_f16_weights(const struct f16_form *f, const struct phases *p)
{
    memset(t.weight, 0x5a, sizeof(t.weight)); /* units that do not take part hold rubbish */
    for (unsigned c = 0; c < p->units * f->sets; c++)
        for (unsigned n = 0; n < p->phases; n++)
            memcpy(&t.weight[4 * unit_of(c, f->sets) + n], &s.w[c][4 * n], 8);
    t.weight_generation++;
}

/* Channels 2 * k and 2 * k + 1 of each set are the k-th pair of a round: what the instruction takes
 * in one register (f16) or two (f32). */
static void pack_pairs(const uint32_t *value, unsigned k, unsigned sets, int half, uint32_t out[2])
{
    const uint32_t *v = value + 2 * sets * k;

    out[0] = half ? v[0] | v[1] << 16 : v[0];
    out[1] = half ? (sets == 2 ? v[2] | v[3] << 16 : 0) : v[1];
}

/* Runs the rounds of a stream in one worker: the partial sums of a round go in while the round
 * before computes, its results come out while the round after does. */
static void run_f16_stream(const struct f16_form *f, const struct phases *p, unsigned lane)
{
    static const uint32_t zero[MAX_OUT];
    static const uint16_t nothing[MAX_IN];

    for (int r = -1; r < MAX_ROUNDS + 1; r++) {
        for (unsigned k = 0; k < p->phases; k++) {
            const uint16_t *x = r >= 0 && r < MAX_ROUNDS ? s.x[r] : nothing;
            uint32_t in[2], got[2], want[2], words[2];

            memcpy(words, x + 4 * k, 8);
            pack_pairs(r + 1 < MAX_ROUNDS ? s.partial[r + 1] : zero, k, f->sets, f->half_in, in);
            issue(f->fn, lane, p->first + (int)k, words, in, got);
            if (r < 1)
                continue;
            pack_pairs(s.want[r - 1], k, f->sets, f->half_out, want);
            if (got[0] != want[0] || ((!f->half_out || f->sets == 2) && got[1] != want[1]))
                fail_msg("%s, %u units, round %d pair %u: %08x %08x, want %08x %08x", f->name,
                         p->units, r - 1, k, got[0], got[1], want[0], want[1]);
        }
    }
}

/* Immediates 0..3, 4..5 and 6; workers do not disturb each other, nor rubbish in other units. */
static void test_f16_streams(void **state)
{
    (void)state;
    start("mk2");
    for (size_t i = 0; i < EMU_COUNT_OF(f16_forms); i++) {
        for (size_t k = 0; k < EMU_COUNT_OF(f16_phases); k++) {
            for (enum data data = INTEGERS; data <= EXTREME; data++) {
                for (int times = 0; times < 6; times++) {
                    draw_f16_stream(&f16_forms[i], &f16_phases[k], data);
                    want_f16(&f16_forms[i], &f16_phases[k], data);
                    load_f16_weights(&f16_forms[i], &f16_phases[k]);
                    run_f16_stream(&f16_forms[i], &f16_phases[k], (unsigned)times);
                }
            }
        }
    }
    stop();
}

/* A stream may be interrupted: another worker runs, the worker is launched again. Accumulators and
 * registers stay, so the results are those of an uninterrupted stream. */
static void test_retention(void **state)
{
    const struct f16_form *f = &f16_forms[3];
    const struct phases *p = &f16_phases[0];
    static const uint32_t zero[2];
    uint32_t out[2], in[2], words[2], want[2];

    (void)state;
    start("mk2");
    draw_f16_stream(f, p, ORDINARY);
    want_f16(f, p, ORDINARY);
    load_f16_weights(f, p);
    for (int step = 0; step < 4 * 6; step++) {
        int r = step / 4 - 1;
        unsigned k = (unsigned)step % 4;

        t.state[3] = CONTEXT_INACTIVE;
        tile_launch(&t, 3, 0, 0);
        memcpy(words, r >= 0 ? &s.x[r][4 * k] : (const uint16_t *)zero, 8);
        pack_pairs(s.partial[r + 1], k, 2, 1, in);
        issue(f->fn, 3, (int)k, words, in, out);
        if (r >= 1) {
            pack_pairs(s.want[r - 1], k, 2, 1, want);
            assert_int_equal(out[0], want[0]);
            assert_int_equal(out[1], want[1]);
        }
        issue(f->fn, 2, (int)random_below(&seed, 7), words, in, out);
    }
    stop();
}

/* ---- f32 matrix products ---- */

static const struct phases f32_phases[] = { { 0, 8, 8 }, { 8, 4, 4 } };

struct f32_stream {
    uint32_t w[MAX_OUT][8], x[MAX_ROUNDS][8];
    uint32_t partial[MAX_ROUNDS][MAX_OUT], want[MAX_ROUNDS][MAX_OUT];
};

static struct f32_stream s32;

static void draw_f32_stream(const struct phases *p, unsigned sets, enum data data)
{
    unsigned lo = data == EXTREME ? 50 : 120, hi = data == EXTREME ? 160 : 130;

    for (unsigned c = 0; c < p->units * sets; c++)
        for (unsigned i = 0; i < p->phases; i++)
            s32.w[c][i] = data == INTEGERS ? oracle_bits_of_f32((float)(int)random_below(&seed, 9))
                                           : oracle_single(&seed, lo, hi);
    for (unsigned r = 0; r < MAX_ROUNDS; r++) {
        for (unsigned i = 0; i < p->phases; i++)
            s32.x[r][i] = data == INTEGERS
                              ? oracle_bits_of_f32((float)(int)random_below(&seed, 9) - 4)
                              : oracle_single(&seed, lo, hi);
        for (unsigned c = 0; c < p->units * sets; c++) {
            uint32_t acc = data == INTEGERS ? oracle_bits_of_f32((float)(int)random_below(&seed, 9))
                                            : oracle_single(&seed, data == EXTREME ? 0 : lo, hi);

            s32.partial[r][c] = acc;
            for (unsigned i = 0; i < p->phases; i++) {
                oracle_begin(&o, acc);
                oracle_add_f32(&o, s32.x[r][i], s32.w[c][i]);
                acc = oracle_end(&o);
            }
            s32.want[r][c] = acc;
        }
    }
}

/* In the form of two sets the pairs of a round alternate between the sets, so that channel pairs do
 * too; with one set there is a pair in every other phase. */
static void run_f32_stream(const struct phases *p, unsigned sets, unsigned lane)
{
    exec_fn *fn = sets == 2 ? exec_f32sisov2amp : exec_f32sisoamp;

    memset(t.weight, 0x5a, sizeof(t.weight));
    for (unsigned c = 0; c < p->units * sets; c++)
        for (unsigned i = 0; i < p->phases; i++)
            memcpy((uint8_t *)&t.weight[4 * unit_of(c, sets)] + 4 * i, &s32.w[c][i], 4);
    t.weight_generation++;
    for (int r = -1; r < MAX_ROUNDS + 1; r++) {
        for (unsigned k = 0; k < p->phases; k++) {
            unsigned pair = sets == 2 ? k : k / 2;
            int moves = sets == 2 || k % 2 == 0;
            uint32_t x[2] = { r >= 0 && r < MAX_ROUNDS ? s32.x[r][k] : 0, 0 }, in[2] = { 0, 0 };
            uint32_t got[2];

            if (r + 1 < MAX_ROUNDS && moves)
                memcpy(in, &s32.partial[r + 1][2 * pair], 8);
            if (!moves)
                in[0] = in[1] = 0x7fc01234; /* the operand is not looked at */
            issue(fn, lane, p->first + (int)k, x, in, got);
            if (!moves)
                assert_true(got[0] == 0 && got[1] == 0);
            if (r < 1 || !moves)
                continue;
            if (memcmp(got, &s32.want[r - 1][2 * pair], 8))
                fail_msg("f32, %u sets, %u units, round %d pair %u: %08x %08x, want %08x %08x",
                         sets, p->units, r - 1, pair, got[0], got[1], s32.want[r - 1][2 * pair],
                         s32.want[r - 1][2 * pair + 1]);
        }
    }
}

static void test_f32_streams(void **state)
{
    (void)state;
    start("mk2");
    for (unsigned sets = 1; sets <= 2; sets++) {
        for (size_t k = 0; k < EMU_COUNT_OF(f32_phases); k++) {
            for (enum data data = INTEGERS; data <= EXTREME; data++) {
                for (unsigned times = 0; times < 12; times++) {
                    draw_f32_stream(&f32_phases[k], sets, data);
                    run_f32_stream(&f32_phases[k], sets, times % 6);
                }
            }
        }
    }
    stop();
}

/* Immediate 12 fetches the pair that waits in the odd accumulators of units 0 and 1, lets another
 * in, and with x = 0 changes nothing else. */
static void test_f32_fetch(void **state)
{
    static const uint32_t zero[2], in[2] = { 0x41414141, 0x42424242 };
    uint32_t before[TILE_ACC], out[2];

    (void)state;
    start("mk2");
    for (unsigned n = 0; n < TILE_ACC; n++) {
        before[n] = 0x3f800000 + 0x1000 * n;
        tile_set_acc(&t, 1, n, before[n]);
    }
    issue(exec_f32sisoamp, 1, 12, zero, in, out);
    assert_int_equal(out[0], before[1]);
    assert_int_equal(out[1], before[3]);
    before[1] = in[0];
    before[3] = in[1];
    for (unsigned n = 0; n < TILE_ACC; n++)
        assert_int_equal(tile_acc(&t, 1, n), before[n]);
    stop();
}

/* ---- sliding convolution ---- */

static const struct f16_form slic_forms[] = {
    { "f16v4hihoslic", exec_f16v4hihoslic, .sets = 1, .half_in = 1, .half_out = 1 },
    { "f16v4sihoslic", exec_f16v4sihoslic, .sets = 1, .half_out = 1 },
    { "f16v4sisoslic", exec_f16v4sisoslic, .sets = 1 },
    { "f16v4hihov4slic", exec_f16v4hihov4slic, .sets = 2, .half_in = 1, .half_out = 1 },
};

enum { WIDTH = 40, KERNEL = 4 };

static uint16_t line[WIDTH + 2 * KERNEL][4];    /* inputs; the end stays 0 */
static uint16_t kernel[KERNEL][4][4];           /* [position][output channel][input channel] */
static uint32_t slic_in[WIDTH + 2 * KERNEL][4]; /* partial sums [position][output channel] */
static uint32_t slic_want[WIDTH][4];

static void draw_line(const struct f16_form *f, enum data data)
{
    memset(line, 0, sizeof(line));
    memset(slic_in, 0, sizeof(slic_in));
    for (unsigned j = 0; j < KERNEL; j++)
        for (unsigned c = 0; c < 4; c++)
            for (unsigned i = 0; i < 4; i++)
                kernel[j][c][i] = draw_half(data);
    for (unsigned k = 0; k < WIDTH + KERNEL; k++)
        for (unsigned i = 0; i < 4; i++)
            line[k][i] = draw_half(data);
    for (unsigned k = 0; k < WIDTH; k++)
        for (unsigned c = 0; c < 4; c++)
            slic_in[k][c] = f->half_in ? draw_half(data) : oracle_single(&seed, 110, 140);
    /* By definition of a convolution: position j of the kernel lies over input k + j. */
    for (unsigned k = 0; k < WIDTH; k++) {
        for (unsigned c = 0; c < 4; c++) {
            uint32_t acc = slic_in[k][c];

            if (f->half_in)
                acc = oracle_bits_of_f32((float)oracle_f16((uint16_t)acc));
            for (unsigned j = 0; j < KERNEL; j++)
                acc = oracle_dot(&o, acc, line[k + j], kernel[j][c]);
            slic_want[k][c] = f->half_out ? oracle_to_f16(&o, acc) : acc;
        }
    }
}

/* Kernel position j is held by units 6 - 2j and 7 - 2j; results leave four steps after entry. */
static void run_line(const struct f16_form *f, unsigned lane, unsigned wsel)
{
    for (unsigned k = 0; k < TILE_WEIGHTS; k++)
        t.weight[k] = random_next(&seed);
    for (unsigned j = 0; j < KERNEL; j++)
        for (unsigned c = 0; c < 2 * f->sets; c++)
            memcpy(&t.weight[4 * (8 * (c / 2) + 6 - 2 * j + c % 2) + wsel], kernel[j][c], 8);
    t.weight_generation++;
    for (unsigned n = 0; n < TILE_ACC; n++)
        tile_set_acc(&t, lane, n, 0x33330000 + n);
    for (unsigned k = 0; k < WIDTH + KERNEL; k++) {
        uint32_t words[2], in[2], got[2], want[2];

        memcpy(words, line[k], 8);
        pack_pairs(slic_in[k], 0, f->sets, f->half_in, in);
        issue(f->fn, lane, (int)wsel, words, in, got);
        if (k < KERNEL)
            continue;
        pack_pairs(slic_want[k - KERNEL], 0, f->sets, f->half_out, want);
        if (got[0] != want[0] || ((!f->half_out || f->sets == 2) && got[1] != want[1]))
            fail_msg("%s, position %u: %08x %08x, want %08x %08x", f->name, k - KERNEL, got[0],
                     got[1], want[0], want[1]);
    }
    for (unsigned n = 1; n < TILE_ACC; n += 2)
        assert_int_equal(tile_acc(&t, lane, n), 0x33330000 + n);
}

static void test_slic(void **state)
{
    (void)state;
    start("mk2");
    for (size_t i = 0; i < EMU_COUNT_OF(slic_forms); i++) {
        for (enum data data = INTEGERS; data <= EXTREME; data++) {
            for (unsigned times = 0; times < 12; times++) {
                draw_line(&slic_forms[i], data);
                run_line(&slic_forms[i], times % 6, times % 2);
            }
        }
    }
    stop();
}

/* ---- modes and refusals ---- */

/* Results rounded to f16 draw once per instruction, whatever their number; lane i takes the bits
 * 16i .. 16i + 12. Results in f32 do not draw. */
static void test_stochastic(void **state)
{
    static const uint32_t zero[2];
    unsigned differs = 0;

    (void)state;
    start("mk2");
    for (int i = 0; i < 4000; i++) {
        uint32_t v[4], out[2];
        uint16_t want[4];
        struct prng copy;
        uint64_t random;

        t.fp_ctl[0] = FP_CTL_ESR;
        for (unsigned k = 0; k < 4; k++) {
            v[k] = oracle_single(&seed, i % 2 ? 0 : 100, 127 + 14);
            tile_set_acc(&t, 0, 16 * (k / 2) + 2 * (k % 2), v[k]);
        }
        copy = t.prng[0];
        random = prng_next(&copy);
        issue(i % 3 ? exec_f16v4hihov4amp : exec_f16v4hihov4slic, 0, 0, zero, zero, out);
        assert_memory_equal(&copy, &t.prng[0], sizeof(copy));
        for (unsigned k = 0; k < 4; k++) {
            want[k] = oracle_to_f16_stochastic(v[k], random >> 16 * k & 0x1fff);
            differs += want[k] != oracle_to_f16(&o, v[k]);
        }
        assert_memory_equal(out, want, sizeof(want));
        copy = t.prng[0];
        issue(exec_f16v4sisoamp, 0, 1, zero, zero, out);
        issue(exec_f32sisoamp, 0, 1, zero, zero, out);
        assert_memory_equal(&copy, &t.prng[0], sizeof(copy));
    }
    assert_true(differs > 1000);
    stop();
}

/* Flags of all units are joined; an enabled exception leaves everything as it was. */
static void test_exceptions(void **state)
{
    static const struct {
        exec_fn *fn;
        uint32_t x, weight, acc, partial;
        uint32_t flags;
    } row[] = {
        { exec_f16v4hihoamp, .x = 0x7c00, .flags = FP_INV },  /* inf * 0 */
        { exec_f16v4hihoamp, .x = 0x7c00, .weight = 0x3c00 }, /* inf: not made here */
        { exec_f16v4hihoamp, .x = 0x7c00, .weight = 0x3c00, .acc = 0xff800000,
          .flags = FP_INV },                                 /* inf - inf */
        { exec_f16v4hihoamp, .x = 0x7e00 },                  /* quiet NaN */
        { exec_f16v4hihoamp, .x = 0x7d00, .flags = FP_INV }, /* signalling NaN */
        { exec_f16v4hihoamp, .x = 0x3c00, .weight = 0x3c00,
          .acc = 0x7f7fffff },                                      /* 1 is far below half an ulp */
        { exec_f16v4hihoamp, .acc = 0x47800000, .flags = FP_OFLO }, /* E(0) + 0 = 65536 to f16 */
        { exec_f16v4hihoamp, .partial = 0x7d00, .flags = FP_INV },  /* partial sum */
        { exec_f16v4sisoamp, .acc = 0x47800000,
          .partial = 0x7f812345 }, /* f32 partials are moved */
        { exec_f32sisoamp, .x = 0x7f7fffff, .weight = 0x40000000, .flags = FP_OFLO },
        { exec_f32sisoamp, .x = 0x7f7fffff, .weight = 0x7f7fffff, .acc = 0x7f800000 },
        { exec_f32sisoamp, .x = 0x00000001, .weight = 0x7f800000,
          .flags = FP_INV }, /* subnormal: 0 * inf */
    };
    const struct insn in = { .d = 4, .a = 0, .b = 2, .i = 0 };

    (void)state;
    start("mk2");
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        static struct tile before;

        memset(t.acc, 0, sizeof(t.acc));
        memset(t.a, 0, sizeof(t.a));
        for (unsigned m = 0; m < 16; m++)
            t.weight[4 * m] = row[i].weight;
        t.a[0][2] = row[i].x;
        t.a[2][2] = row[i].partial;
        for (unsigned m = 0; m < 16; m++) /* phase 0 starts with the odd ones */
            tile_set_acc(&t, 2, 2 * m + 1, row[i].acc);
        if (row[i].acc == 0x47800000)
            tile_set_acc(&t, 2, 0, row[i].acc); /* to be handed out */
        t.fp_sts[2] = 0;
        t.fp_ctl[2] = FP_INV | FP_OFLO | FP_DIV0;
        before = t;
        assert_int_equal(row[i].fn(&t, 2, &in), row[i].flags ? FAULT_FP : FAULT_NONE);
        if (row[i].flags) {
            assert_memory_equal(before.a, t.a, sizeof(t.a));
            assert_memory_equal(before.acc, t.acc, sizeof(t.acc));
            assert_int_equal(t.fp_sts[2], 0);
            assert_int_equal(t.fault.kind, FAULT_FP);
        }
        t.fault.kind = FAULT_NONE;
        memcpy(t.acc, before.acc, sizeof(t.acc));
        memcpy(t.a, before.a, sizeof(t.a));
        acc_changed(&t);
        t.fp_ctl[2] = 0;
        assert_int_equal(row[i].fn(&t, 2, &in), FAULT_NONE);
        assert_int_equal(t.fp_sts[2], row[i].flags);
    }
    stop();
}

/* Immediates that mean nothing, forms of two sets on a machine with one, and the f32 slic. */
static void test_refusals(void **state)
{
    static const struct {
        const char *machine;
        exec_fn *fn;
        int first_bad;
    } row[] = {
        { "mk2", exec_f16v4hihoamp, 7 },  { "mk2", exec_f16v4sihoamp, 7 },
        { "mk2", exec_f16v4sisoamp, 7 },  { "mk2", exec_f16v4hihov4amp, 7 },
        { "mk2", exec_f32sisoamp, 13 },   { "mk2", exec_f32sisov2amp, 13 },
        { "mk2", exec_f16v4hihoslic, 2 }, { "mk2", exec_f16v4sihoslic, 2 },
        { "mk2", exec_f16v4sisoslic, 2 }, { "mk2", exec_f16v4hihov4slic, 2 },
        { "mk2", exec_f32sisoslic, 0 },   { "mk2", exec_f32sisov2slic, 0 },
        { "mk1", exec_f16v4hihoamp, 7 },  { "mk1", exec_f32sisoamp, 13 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        start(row[i].machine);
        for (int n = 0; n < 64; n++) {
            const struct insn in = { .d = 4, .a = 0, .b = 2, .i = n };
            struct prng before = t.prng[0];
            enum fault want = n < row[i].first_bad ? FAULT_NONE : FAULT_INVALID_INSTR;

            t.fp_ctl[0] = want == FAULT_NONE ? 0 : FP_CTL_ESR;
            assert_int_equal(row[i].fn(&t, 0, &in), want);
            assert_memory_equal(&before, &t.prng[0], sizeof(before));
        }
        stop();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_streams), cmocka_unit_test(test_retention),
        cmocka_unit_test(test_f32_streams), cmocka_unit_test(test_f32_fetch),
        cmocka_unit_test(test_slic),        cmocka_unit_test(test_stochastic),
        cmocka_unit_test(test_exceptions),  cmocka_unit_test(test_refusals),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, setup, teardown);
}
