/* test_exec_int.c - integer and bit instructions of both lanes: edges as a table, then random
 * operands and registers against expressions written another way (wide arithmetic, loops over bits
 * and bytes). */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include "emu/exec/exec_rows.h"
#include "emu/isa/insn_ops.h"

/* Operands as one instruction sees them; d is the old destination, pairs are little endian. */
struct operands {
    uint64_t a, b, d;
    uint32_t i;
};

typedef uint64_t want_fn(struct operands o);

static int64_t s32(uint64_t v)
{
    return (int64_t)(v & 0xffffffff) - (v & 0x80000000 ? 0x100000000 : 0);
}

/* Bytes of x and y picked by four digits: 0..3 of x, 4..7 of y, least significant first. */
static uint64_t pick_bytes(uint64_t x, uint64_t y, const char *digits)
{
    uint64_t all = (x & 0xffffffff) | y << 32, v = 0;

    for (int k = 0; k < 4; k++)
        v |= (all >> 8 * (digits[k] - '0') & 0xff) << 8 * k;
    return v;
}

/* The same with halves. */
static uint64_t pick_halves(uint64_t x, uint64_t y, int lo, int hi)
{
    uint64_t all = (x & 0xffffffff) | y << 32;

    return (all >> 16 * lo & 0xffff) | (all >> 16 * hi & 0xffff) << 16;
}

static uint64_t bit_reversed_bytes(uint64_t v)
{
    uint64_t r = 0;

    for (int k = 0; k < 32; k++)
        r |= (v >> k & 1) << (k / 8 * 8 + 7 - k % 8);
    return r;
}

static uint64_t count_ones(uint64_t v)
{
    uint64_t n = 0;

    for (; v & 0xffffffff; v &= v - 1)
        n++;
    return n;
}

/* How many bits from `bit` downwards equal the value. */
static uint64_t run_length(uint64_t v, int bit, unsigned value)
{
    uint64_t n = 0;

    while (bit >= 0 && (v >> bit-- & 1) == value)
        n++;
    return n;
}

static uint64_t arithmetic_shift(uint64_t v, uint64_t n)
{
    return n > 31 ? (s32(v) < 0 ? 0xffffffff : 0) : (uint64_t)(s32(v) >> n);
}

static uint64_t most(int64_t x, int64_t y)
{
    return (uint64_t)(x >= y ? x : y);
}

static uint64_t least(int64_t x, int64_t y)
{
    return (uint64_t)(x <= y ? x : y);
}

/* WANT(id, expression of o.a o.b o.d o.i) */
#define WANT_M                                                                                     \
    WANT(add_m, o.a + o.b)                                                                         \
    WANT(add_mu16, o.a + o.i)                                                                      \
    WANT(add_ms16, o.a + o.i)                                                                      \
    WANT(sub_m, o.a + ~o.b + 1)                                                                    \
    WANT(sub_mu16, o.i + ~o.b + 1)                                                                 \
    WANT(sub_ms16, o.i + ~o.b + 1)                                                                 \
    WANT(mul_m, (uint64_t)(s32(o.a) * s32(o.b)))                                                   \
    WANT(mul_ms16, (uint64_t)(s32(o.a) * s32(o.i)))                                                \
    WANT(abs, (uint64_t)(s32(o.a) < 0 ? -s32(o.a) : s32(o.a)))                                     \
    WANT(max_m, most(s32(o.a), s32(o.b)))                                                          \
    WANT(max_mu16, most(s32(o.a), s32(o.i)))                                                       \
    WANT(max_ms16, most(s32(o.a), s32(o.i)))                                                       \
    WANT(min_m, least(s32(o.a), s32(o.b)))                                                         \
    WANT(min_mu16, least(s32(o.a), s32(o.i)))                                                      \
    WANT(min_ms16, least(s32(o.a), s32(o.i)))                                                      \
    WANT(and_m, o.a &o.b)                                                                          \
    WANT(and_mu12, o.a &o.i)                                                                       \
    WANT(andc_m, o.a &(o.b ^ UINT64_MAX))                                                          \
    WANT(andc_mu12, o.a - (o.a & o.i))                                                             \
    WANT(or_m, o.a + o.b - (o.a & o.b))                                                            \
    WANT(or_mu12, o.a + o.i - (o.a & o.i))                                                         \
    WANT(or_mh12, o.a + o.i - (o.a & o.i))                                                         \
    WANT(xor_m, (o.a | o.b) - (o.a & o.b))                                                         \
    WANT(xnor, 0xffffffff - ((o.a | o.b) - (o.a & o.b)))                                           \
    WANT(shl_m, o.b > 31 ? 0 : o.a << o.b)                                                         \
    WANT(shl_mu12, o.i > 31 ? 0 : o.a << o.i)                                                      \
    WANT(shr_m, o.b > 31 ? 0 : o.a >> o.b)                                                         \
    WANT(shr_mu12, o.i > 31 ? 0 : o.a >> o.i)                                                      \
    WANT(shrs_m, arithmetic_shift(o.a, o.b))                                                       \
    WANT(shrs_mu12, arithmetic_shift(o.a, o.i))                                                    \
    WANT(clz, run_length(o.a, 31, 0))                                                              \
    WANT(cms, run_length(o.a, 30, (unsigned)(o.a >> 31)))                                          \
    WANT(popc, count_ones(o.a))                                                                    \
    WANT(bitrev8, bit_reversed_bytes(o.a))                                                         \
    WANT(cmpeq_m, !(o.a ^ o.b))                                                                    \
    WANT(cmpeq_mu16, !(o.a ^ o.i))                                                                 \
    WANT(cmpeq_ms16, !(o.a ^ o.i))                                                                 \
    WANT(cmpne, !!(o.a ^ o.b))                                                                     \
    WANT(cmpslt_m, s32(o.a) - s32(o.b) < 0)                                                        \
    WANT(cmpslt_ms16, s32(o.a) - s32(o.i) < 0)                                                     \
    WANT(cmpult_m, (o.a - o.b) >> 63)                                                              \
    WANT(cmpult_mu16, (o.a - o.i) >> 63)                                                           \
    WANT(movnz, o.a ? o.b : o.d)                                                                   \
    WANT(setzi_m, o.i)                                                                             \
    WANT(roll16_m, pick_halves(o.a, o.b, 1, 2))                                                    \
    WANT(roll8r, pick_bytes(o.a, o.b, "1234"))                                                     \
    WANT(roll8l, pick_bytes(o.a, o.b, "3456"))                                                     \
    WANT(sort4x16lo_m, pick_halves(o.a, o.b, 0, 2))                                                \
    WANT(sort4x16hi_m, pick_halves(o.a, o.b, 1, 3))                                                \
    WANT(sort8x8lo, pick_bytes(o.a, o.b, "0246"))                                                  \
    WANT(sort8x8hi, pick_bytes(o.a, o.b, "1357"))                                                  \
    WANT(shuf8x8lo, pick_bytes(o.a, o.b, "0415"))                                                  \
    WANT(shuf8x8hi, pick_bytes(o.a, o.b, "2637"))                                                  \
    WANT(sort8, pick_bytes(o.a, 0, "0213"))                                                        \
    WANT(swap8, pick_bytes(o.a, 0, "1032"))

#define WANT_A                                                                                     \
    WANT(and_a, o.a &o.b)                                                                          \
    WANT(and_au12, o.a &o.i)                                                                       \
    WANT(and_ah12, o.a &o.i)                                                                       \
    WANT(andc_a, o.a - (o.a & o.b))                                                                \
    WANT(andc_au12, o.a - (o.a & o.i))                                                             \
    WANT(andc_ah12, o.a - (o.a & o.i))                                                             \
    WANT(or_a, o.a + o.b - (o.a & o.b))                                                            \
    WANT(or_au12, o.a + o.i - (o.a & o.i))                                                         \
    WANT(or_ah12, o.a + o.i - (o.a & o.i))                                                         \
    WANT(not, 0xffffffff - o.a)                                                                    \
    WANT(and64, o.a &o.b)                                                                          \
    WANT(andc64, o.a - (o.a & o.b))                                                                \
    WANT(or64, o.a + o.b - (o.a & o.b))                                                            \
    WANT(not64, UINT64_MAX - o.a)                                                                  \
    WANT(setzi_a, o.i)                                                                             \
    WANT(roll16_a, pick_halves(o.a, o.b, 1, 2))                                                    \
    WANT(roll32, o.a >> 32 | o.b << 32)                                                            \
    WANT(sort4x16lo_a, pick_halves(o.a, o.b, 0, 2))                                                \
    WANT(sort4x16lo_bu, pick_halves(o.a, o.b, 1, 2))                                               \
    WANT(sort4x16hi_a, pick_halves(o.a, o.b, 1, 3))                                                \
    WANT(sort4x16hi_bl, pick_halves(o.a, o.b, 0, 3))                                               \
    WANT(sort4x32lo, (o.a & 0xffffffff) | o.b << 32)                                               \
    WANT(sort4x32hi, o.a >> 32 | (o.b & 0xffffffff00000000))

#define WANT(id, expr)                                                                             \
    static uint64_t want_##id(struct operands o)                                                   \
    {                                                                                              \
        return expr;                                                                               \
    }
WANT_M
WANT_A
#undef WANT

static const struct {
    enum insn_op op;
    exec_fn *fn;
    want_fn *want;
} rows[] = {
#define WANT(id, expr) { INSN_##id, exec_##id, want_##id },
    WANT_M WANT_A
#undef WANT
};

static uint64_t seed = 12345;

static uint32_t random32(void)
{
    return random_u32(&seed);
}

/* Half of them special: small, extreme, equal halves. */
static uint32_t random_operand(void)
{
    static const uint32_t special[] = {
        0,      1,       2,          31,         32,         33,         0x7fff,    0x8000,
        0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xffff8000
    };
    uint32_t r = random32();

    if (r & 1)
        return random32();
    if (r & 2)
        return random32() % 64;
    return special[(r >> 2) % EMU_COUNT_OF(special)];
}

static int32_t random_immediate(const struct operand *o)
{
    uint32_t v = random_operand() & ((1u << o->bits) - 1);

    if (o->kind == OPD_SIMM)
        return (int32_t)(v ^ 1u << (o->bits - 1)) - (1 << (o->bits - 1));
    return o->kind == OPD_HIMM ? (int32_t)(v << 20) : (int32_t)v;
}

/* Fills d, a, b, i of an instruction as its row of insn.def allows; returns the width of a in
 * registers. */
static unsigned random_insn(enum insn_op op, struct insn *in)
{
    const struct insn_form *f = isa_op_form(op);
    unsigned width = 1;

    memset(in, 0, sizeof(*in));
    in->op = (uint16_t)op;
    for (unsigned k = 0; k < f->operand_count; k++) {
        const struct operand *o = &f->operand[k];
        unsigned pair = o->kind == OPD_A2;
        uint8_t r = (uint8_t)(pair ? random32() % 8 * 2 : random32() % 16);

        if (o->letter == 'd')
            in->d = r;
        else if (o->letter == 'a')
            in->a = r;
        else if (o->letter == 'b')
            in->b = r;
        else
            in->i = random_immediate(o);
        width += o->letter == 'd' && pair;
    }
    return width;
}

static void randomize(struct tile *t)
{
    for (unsigned lane = 0; lane < TILE_LANES; lane++) {
        for (unsigned r = 0; r < 14; r++) {
            t->m[r][lane] = r < 12 || lane != LANE_SUPER ? random_operand() : 0;
            t->a[r][lane] = random_operand();
        }
    }
}

static uint64_t read_file(const struct tile *t, unsigned lane, int main_lane, unsigned r,
                          unsigned width)
{
    if (main_lane)
        return tile_m(t, lane, r);
    return tile_a(t, lane, r) | (width == 2 ? (uint64_t)tile_a(t, lane, r + 1) << 32 : 0);
}

/* Runs one instruction and compares the whole register file with what the expression says. */
static void check_random(size_t row)
{
    int main_lane = isa_op_form(rows[row].op)->lane == LANE_M;
    unsigned lane = random32() % (main_lane ? 7 : 6), width;
    static struct tile t, want;
    struct operands o;
    struct insn in;
    uint64_t v;

    width = random_insn(rows[row].op, &in);
    randomize(&t);
    want = t;
    o.a = read_file(&t, lane, main_lane, in.a, width);
    o.b = read_file(&t, lane, main_lane, in.b, width);
    o.d = read_file(&t, lane, main_lane, in.d, width);
    o.i = (uint32_t)in.i;
    v = rows[row].want(o);
    if (main_lane && in.d < 12)
        want.m[in.d][lane] = (uint32_t)v;
    if (!main_lane && in.d < 14)
        want.a[in.d][lane] = (uint32_t)v;
    if (width == 2 && in.d < 14)
        want.a[in.d + 1][lane] = (uint32_t)(v >> 32);
    assert_int_equal(rows[row].fn(&t, lane, &in), FAULT_NONE);
    if (memcmp(&t, &want, sizeof(t)) != 0)
        fail_msg("%s d=%u a=%u b=%u i=%d: a %#llx b %#llx want %#llx got %#llx",
                 isa_op_form(rows[row].op)->name, in.d, in.a, in.b, in.i, (unsigned long long)o.a,
                 (unsigned long long)o.b, (unsigned long long)v,
                 (unsigned long long)read_file(&t, lane, main_lane, in.d, width));
}

static void test_random(void **state)
{
    (void)state;
    for (size_t row = 0; row < EMU_COUNT_OF(rows); row++)
        for (int k = 0; k < 2000; k++)
            check_random(row);
}

static void test_edges(void **state)
{
    static const struct {
        exec_fn *fn;
        uint32_t a, b;
        int32_t i;
        uint32_t want;
    } edge[] = {
        { exec_abs, .a = 0x80000000, .want = 0x80000000 },
        { exec_abs, .a = 0xffffffff, .want = 1 },
        { exec_sub_m, .a = 5, .b = 7, .want = 0xfffffffe }, /* second operand minus third */
        { exec_sub_mu16, .a = 0, .b = 7, .i = 5, .want = 0xfffffffe },
        { exec_mul_ms16, .a = 3, .i = -7, .want = 0xffffffeb },
        { exec_max_mu16, .a = 0x80000000, .i = 0xffff, .want = 0xffff },
        { exec_min_ms16, .a = 0, .i = -1, .want = 0xffffffff },
        { exec_shl_m, .a = 1, .b = 31, .want = 0x80000000 },
        { exec_shl_m, .a = 1, .b = 32, .want = 0 },
        { exec_shl_m, .a = 1, .b = 0x80000000, .want = 0 },
        { exec_shr_mu12, .a = 0xffffffff, .i = 4095, .want = 0 },
        { exec_shrs_m, .a = 0x80000000, .b = 31, .want = 0xffffffff },
        { exec_shrs_m, .a = 0x80000000, .b = 32, .want = 0xffffffff },
        { exec_shrs_m, .a = 0x7fffffff, .b = 99, .want = 0 },
        { exec_shrs_m, .a = 0x80000000, .want = 0x80000000 },
        { exec_clz, .a = 0, .want = 32 },
        { exec_clz, .a = 0x80000000, .want = 0 },
        { exec_cms, .a = 0, .want = 31 },
        { exec_cms, .a = 0xffffffff, .want = 31 },
        { exec_cms, .a = 0x40000000, .want = 0 },
        { exec_cms, .a = 0xc0000000, .want = 1 },
        { exec_popc, .a = 0xffffffff, .want = 32 },
        { exec_bitrev8, .a = 0x01020480, .want = 0x80402001 },
        { exec_or_mh12, .a = 0x000fffff, .i = (int32_t)0xabc00000, .want = 0xabcfffff },
        { exec_cmpslt_m, .a = 0x80000000, .want = 1 },
        { exec_cmpult_m, .a = 0x80000000, .want = 0 },
        { exec_cmpslt_ms16, .a = 0xffffffff, .i = -1, .want = 0 },
        { exec_roll16_m, .a = 0xaaaabbbb, .b = 0xccccdddd, .want = 0xddddaaaa },
        { exec_roll8r, .a = 0x44332211, .b = 0x88776655, .want = 0x55443322 },
        { exec_roll8l, .a = 0x44332211, .b = 0x88776655, .want = 0x77665544 },
        { exec_sort8x8lo, .a = 0x44332211, .b = 0x88776655, .want = 0x77553311 },
        { exec_shuf8x8hi, .a = 0x44332211, .b = 0x88776655, .want = 0x88447733 },
        { exec_sort8, .a = 0x44332211, .want = 0x44223311 },
        { exec_swap8, .a = 0x44332211, .want = 0x33441122 },
    };
    static struct tile t;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(edge); k++) {
        struct insn in = { .d = 3, .a = 1, .b = 2, .i = edge[k].i };

        t.m[1][0] = edge[k].a;
        t.m[2][0] = edge[k].b;
        t.m[3][0] = 0x55555555;
        assert_int_equal(edge[k].fn(&t, 0, &in), FAULT_NONE);
        if (tile_m(&t, 0, 3) != edge[k].want)
            fail_msg("row %zu: %#x, want %#x", k, tile_m(&t, 0, 3), edge[k].want);
    }
}

static void test_atom(void **state)
{
    static struct tile t;
    struct insn in = { .d = 4, .a = 13 };

    (void)state;
    t.a[13][5] = 0x7fc00001;
    assert_int_equal(exec_atom(&t, 5, &in), FAULT_NONE);
    assert_int_equal(tile_m(&t, 5, 4), 0x7fc00001);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_edges), cmocka_unit_test(test_random),
                                        cmocka_unit_test(test_atom) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
