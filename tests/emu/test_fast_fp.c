/* test_fast_fp.c - every fast function of the auxiliary lane against the plain one, on random
 * groups of workers, registers and bit patterns chosen to sit on the edges of the formats. Bits,
 * flags, untouched lanes and refusals are compared. */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "emu/fast/fast.h"
#include "emu/exec/exec_rows.h"
#include "emu/isa/insn_ops.h"

enum { ROUNDS = 100000, MAX_FAST_ROWS = 512 };

struct fast_row {
    uint16_t op;
    fast_fn *fast;
};

static uint64_t seed;

static uint32_t draw(void)
{
    return random_u32(&seed);
}

static uint32_t below(uint32_t n)
{
    return (uint32_t)((uint64_t)draw() * n >> 32);
}

static const uint32_t edge32[] = {
    0,          0x80000000, 1,          0x007fffff, 0x00800000, 0x00800001, 0x80800000, 0x7f7fffff,
    0x7f800000, 0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001, 0x3f800000, 0xbf800000, 0x3f000000,
    0x33000000, 0x33000001, 0x32ffffff, 0x33800000, 0x387fc000, 0x387fe000, 0x387fffff, 0x38800000,
    0x477fe000, 0x477fefff, 0x477ff000, 0x47800000, 0xc77ff000, 0xffffffff,
};
static const uint16_t edge16[] = {
    0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401,
    0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00,
    0xfe01, 0x7c01, 0xffff, 0x1400, 0x6800, 0x7800, 0x0c00,
};

static uint32_t half_of(unsigned kind)
{
    switch (kind) {
    case 0:
        return draw() & 0xffff;
    case 1:
        return edge16[below(EMU_COUNT_OF(edge16))];
    case 2: /* sums need more than 24 bits, or products become subnormal */
        return (draw() & 0x83ff) | (1 + below(30)) << 10;
    default: /* a small integer or zero */
        return draw() & 1 ? 0 : (uint32_t)(0x4000 + (below(8) << 7));
    }
}

/* A number whose f16 neighbours are far, near, or exactly as far as the format allows. */
static uint32_t near_half(void)
{
    uint32_t exponent = 127 - 27 + below(44), cut = draw() & 0x007fe000;

    return (draw() & 0x80000000) | exponent << 23 | cut | (0x1000 + below(3) - 1);
}

enum { KINDS = 11, ORDINARY = 3 };

static uint32_t word_of(unsigned kind)
{
    switch (kind) {
    case 0:
        return draw();
    case 1:
        return edge32[below(EMU_COUNT_OF(edge32))];
    case 2:
        return near_half();
    case ORDINARY: /* normal as f32, and so is any sum or product; as two f16 too */
        return (draw() & 0x83ff83ff) | (11 + below(5)) << 26 | (11 + below(5)) << 10;
    case 4: /* products around the smallest normal f32 */
        return (draw() & 0x807fffff) | (60 + below(8)) << 23;
    case 5: /* sums around the smallest normal f32 */
        return (draw() & 0x807fffff) | below(4) << 23;
    case 6: /* sums around the largest f32 */
        return (draw() & 0x807fffff) | (252 + below(3)) << 23;
    case 7:
        return draw() & 1 ? 0 : (draw() & 0x80000000) | 0x3f800000;
    default:
        return half_of(kind - 8) | half_of(kind - 8) << 16;
    }
}

static unsigned register_of(const struct operand *o)
{
    switch (o->kind) {
    case OPD_A2:
        return below(8) * 2;
    case OPD_A4:
        return below(4) * 4;
    default:
        return below(16);
    }
}

static struct insn random_insn(const struct insn_form *f)
{
    struct insn in = { .op = f->op };

    for (unsigned k = 0; k < f->operand_count; k++) {
        const struct operand *o = &f->operand[k];

        if (o->letter == 'd')
            in.d = (uint8_t)register_of(o);
        else if (o->letter == 'a')
            in.a = (uint8_t)register_of(o);
        else if (o->letter == 'b')
            in.b = (uint8_t)register_of(o);
        else
            in.i = (int32_t)(o->kind == OPD_HIMM ? draw() << 20 : draw() & ((1u << o->bits) - 1));
    }
    return in;
}

static void fill(struct tile *t, unsigned kind, int mixed)
{
    for (unsigned r = 0; r < 14; r++) {
        for (unsigned lane = 0; lane < TILE_LANES; lane++)
            t->a[r][lane] = word_of(mixed && !below(8) ? below(KINDS) : kind);
    }
}

static uint32_t random_ctl(void)
{
    if (below(8))
        return draw() & FP_CTL_NANOO;
    return draw() & (7 | 7u << FP_CTL_RND_SHIFT | FP_CTL_ESR | FP_CTL_NANOO);
}

static struct tile before, fast, plain;

static int run_fast(const struct fast_row *row, uint32_t lanes, const struct insn *in)
{
    memcpy(&fast, &before, sizeof(fast));
    return row->fast(&fast, lanes, in);
}

/* The tile after the fast function is what the plain ones make of it, or what it was before. */
static void compare(const struct fast_row *row, uint32_t lanes, const struct insn *in)
{
    int done = run_fast(row, lanes, in);

    memcpy(&plain, &before, sizeof(plain));
    if (done) {
        for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
            if (lanes >> lane & 1)
                exec_table[in->op](&plain, lane, in);
        }
    }
    if (memcmp(&plain, &fast, sizeof(fast)))
        fail_msg("%s lanes %02x d %u a %u b %u: %s", isa_op_form(in->op)->name, lanes, in->d, in->a,
                 in->b, done ? "not as plain" : "refused, but changed something");
}

/* Rows that work on accumulators have their own test. */
static int touches_accumulators(const char *id)
{
    static const char *const ending[] = { "acc",  "mac",  "axpy",  "aop",   "mix",
                                          "gina", "oamp", "v4amp", "v2amp", "slic" };

    for (size_t k = 0; k < EMU_COUNT_OF(ending); k++) {
        size_t n = strlen(id), m = strlen(ending[k]);

        if (n > m && !strcmp(id + n - m, ending[k]))
            return 1;
    }
    return 0;
}

static size_t aux_rows(struct fast_row out[MAX_FAST_ROWS])
{
    size_t n = 0;

    for (unsigned op = 0; op < INSN_COUNT; op++) {
        const struct insn_form *f = isa_op_form(op);

        if (fast_find(op) != fast_none && f->lane == LANE_A && !touches_accumulators(f->name))
            out[n++] = (struct fast_row){ (uint16_t)op, fast_find(op) };
    }
    return n;
}

static void test_same_bits(void **state)
{
    struct fast_row row[MAX_FAST_ROWS];
    size_t n = aux_rows(row);

    (void)state;
    seed = 20;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint32_t lanes = below(2) ? LANES_ALL : 1 + below(LANES_ALL);

        if (round % 4 == 0) {
            fill(&before, below(KINDS), below(2));
            for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
                before.fp_ctl[lane] = random_ctl();
                before.fp_sts[lane] = draw() & 7;
                prng_seed(&before.prng[lane], draw());
            }
        }
        for (size_t k = 0; k < n; k++) {
            struct insn in = random_insn(isa_op_form(row[k].op));

            compare(&row[k], lanes, &in);
        }
    }
}

/* A fast function that always refused would pass the comparison: ordinary operands must be taken,
 * whatever stands in the lanes of the workers that do not take part. */
static void test_takes_ordinary(void **state)
{
    struct fast_row row[MAX_FAST_ROWS];
    size_t n = aux_rows(row);

    (void)state;
    seed = 21;
    memset(&before, 0, sizeof(before));
    assert_true(n >= 131);
    for (unsigned round = 0; round < 200; round++) {
        unsigned idle = below(TILE_WORKERS);
        uint32_t lanes = LANES_ALL & ~(1u << idle);

        fill(&before, ORDINARY, 0);
        for (unsigned r = 0; r < 14; r++) {
            before.a[r][idle] = round & 1 ? 0x7f800001 : 0x7c017e00;
            before.a[r][below(TILE_WORKERS)] &= 0x80008000; /* zeros are ordinary */
        }
        memset(before.fp_ctl, 0, sizeof(before.fp_ctl));
        before.fp_ctl[idle] = FP_CTL_ESR;
        for (size_t k = 0; k < n; k++) {
            struct insn in = random_insn(isa_op_form(row[k].op));

            if (!run_fast(&row[k], lanes, &in))
                fail_msg("%s refused", isa_op_form(row[k].op)->name);
        }
    }
}

/* Every pair of edges as f32, and as halves, through every row at once, six pairs at a time. */
static void test_edge_pairs(void **state)
{
    enum { N = EMU_COUNT_OF(edge32) + EMU_COUNT_OF(edge16) };
    struct fast_row row[MAX_FAST_ROWS];
    size_t n = aux_rows(row);
    uint32_t value[N];

    (void)state;
    for (unsigned k = 0; k < N; k++) {
        unsigned h = k - (unsigned)EMU_COUNT_OF(edge32);

        value[k] = k < EMU_COUNT_OF(edge32) ? edge32[k] : edge16[h] * 0x10001u;
    }
    memset(&before, 0, sizeof(before));
    for (unsigned p = 0; p < N * N; p++) {
        uint32_t lanes = 1u << p % TILE_WORKERS;

        for (unsigned r = 0; r < 4; r++) {
            before.a[r][p % TILE_WORKERS] = value[p / N];
            before.a[4 + r][p % TILE_WORKERS] = value[p % N];
        }
        for (size_t k = 0; k < n; k++) {
            struct insn in = { .op = row[k].op, .d = 8, .a = 0, .b = 4 };

            compare(&row[k], lanes, &in);
        }
    }
}

/* The two rows that look their results up: every pair {x, x + 1}, six at a time, is taken unless
 * one of them is infinite or NaN, and has the plain bits. */
static void test_all_halves(void **state)
{
    static const uint16_t op[] = { INSN_f16v2tanh, INSN_f16v2sigm };
    struct fast_row row[MAX_FAST_ROWS];
    size_t n = aux_rows(row), found = 0;

    (void)state;
    memset(&before, 0, sizeof(before));
    for (size_t k = 0; k < n; k++) {
        if (row[k].op != op[0] && row[k].op != op[1])
            continue;
        found++;
        for (uint32_t x = 0; x < 0x10000; x += 2 * TILE_WORKERS) {
            struct insn in = { .op = row[k].op, .d = 8, .a = 1 };
            int special = 0;

            for (unsigned lane = 0; lane < TILE_WORKERS; lane++) {
                uint32_t lo = (x + 2 * lane) & 0xffff, hi = lo + 1;

                before.a[1][lane] = lo | hi << 16;
                special |= (lo & 0x7c00) == 0x7c00 || (hi & 0x7c00) == 0x7c00;
            }
            compare(&row[k], LANES_ALL, &in);
            assert_int_equal(run_fast(&row[k], LANES_ALL, &in), !special);
        }
    }
    assert_int_equal(found, EMU_COUNT_OF(op));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bits),
        cmocka_unit_test(test_takes_ordinary),
        cmocka_unit_test(test_edge_pairs),
        cmocka_unit_test(test_all_halves),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
