/* test_exec_mem.c - loads and stores, plain and stepped, against a byte-wise model with random
 * operands; paced and delta forms against independently packed addresses; what a fault leaves
 * alone. */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

#include "emu/base/hash.h"
#include "emu/exec/exec_rows.h"

enum { LOAD_ZERO, LOAD_SIGN, LOAD_TWICE, STORE };

static struct tile t;
static uint64_t seed;

static uint32_t random32(void)
{
    return random_u32(&seed);
}

static int setup(void **state)
{
    (void)state;
    zero_tile_new(&t, ss_arch_preset("mk2"), 0);
    seed = 99;
    for (uint32_t k = 0; k < t.mem_bytes; k += 4) {
        uint32_t v = random32();

        memcpy(t.mem + k, &v, 4);
    }
    for (unsigned lane = 0; lane < TILE_LANES; lane++)
        for (unsigned r = 0; r < 14; r++) {
            t.m[r][lane] = r < 12 ? random32() : 0;
            t.a[r][lane] = random32();
        }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    zero_tile_free(&t);
    return 0;
}

static uint32_t region1(void)
{
    return t.mem_base + t.region0_bytes;
}

static uint8_t *at(uint32_t addr)
{
    return t.mem + (addr - t.mem_base);
}

static uint64_t little_endian(const uint8_t *p, unsigned bytes)
{
    uint64_t v = 0;

    for (unsigned k = 0; k < bytes; k++)
        v |= (uint64_t)p[k] << 8 * k;
    return v;
}

/* ROW(id, bytes, how, file 'm' or 'a', index letter: c register, i immediate; upper case: step
 * form) */
/* clang-format off */
#define ROWS \
    ROW(ld32_mr, 4, LOAD_ZERO, 'm', 'c')       ROW(ld32_mi, 4, LOAD_ZERO, 'm', 'i')       \
    ROW(ldz16_mr, 2, LOAD_ZERO, 'm', 'c')      ROW(ldz16_mi, 2, LOAD_ZERO, 'm', 'i')      \
    ROW(lds16_mr, 2, LOAD_SIGN, 'm', 'c')      ROW(lds16_mi, 2, LOAD_SIGN, 'm', 'i')      \
    ROW(ldz8_mr, 1, LOAD_ZERO, 'm', 'c')       ROW(ldz8_mi, 1, LOAD_ZERO, 'm', 'i')       \
    ROW(lds8_mr, 1, LOAD_SIGN, 'm', 'c')       ROW(lds8_mi, 1, LOAD_SIGN, 'm', 'i')       \
    ROW(ld32_ar, 4, LOAD_ZERO, 'a', 'c')       ROW(ld32_ai, 4, LOAD_ZERO, 'a', 'i')       \
    ROW(ldb16_ar, 2, LOAD_TWICE, 'a', 'c')     ROW(ldb16_ai, 2, LOAD_TWICE, 'a', 'i')     \
    ROW(ld64_ar, 8, LOAD_ZERO, 'a', 'c')       ROW(ld64_ai, 8, LOAD_ZERO, 'a', 'i')       \
    ROW(ld128_ar, 16, LOAD_ZERO, 'a', 'c')     ROW(ld128_ai, 16, LOAD_ZERO, 'a', 'i')     \
    ROW(st32_mi, 4, STORE, 'm', 'i')           ROW(st32_ar, 4, STORE, 'a', 'c')           \
    ROW(st32_ai, 4, STORE, 'a', 'i')           ROW(st64_ar, 8, STORE, 'a', 'c')           \
    ROW(st64_ai, 8, STORE, 'a', 'i')           ROW(ld32step_mi, 4, LOAD_ZERO, 'm', 'I')   \
    ROW(ld32step_mr, 4, LOAD_ZERO, 'm', 'T')   ROW(ldz16step_mi, 2, LOAD_ZERO, 'm', 'I')  \
    ROW(ldz16step_mr, 2, LOAD_ZERO, 'm', 'T')  ROW(lds16step_mi, 2, LOAD_SIGN, 'm', 'I')  \
    ROW(lds16step_mr, 2, LOAD_SIGN, 'm', 'T')  ROW(ldz8step_mi, 1, LOAD_ZERO, 'm', 'I')   \
    ROW(ldz8step_mr, 1, LOAD_ZERO, 'm', 'T')   ROW(lds8step_mi, 1, LOAD_SIGN, 'm', 'I')   \
    ROW(lds8step_mr, 1, LOAD_SIGN, 'm', 'T')   ROW(ld32step_ai, 4, LOAD_ZERO, 'a', 'I')   \
    ROW(ld32step_ar, 4, LOAD_ZERO, 'a', 'T')   ROW(ldb16step_ai, 2, LOAD_TWICE, 'a', 'I') \
    ROW(ldb16step_ar, 2, LOAD_TWICE, 'a', 'T') ROW(ld64step_ai, 8, LOAD_ZERO, 'a', 'I')   \
    ROW(ld64step_ar, 8, LOAD_ZERO, 'a', 'T')   ROW(ld128step_ai, 16, LOAD_ZERO, 'a', 'I') \
    ROW(ld128step_ar, 16, LOAD_ZERO, 'a', 'T') ROW(st32step_mi, 4, STORE, 'm', 'I')       \
    ROW(st32step_ai, 4, STORE, 'a', 'I')       ROW(st32step_ar, 4, STORE, 'a', 'T')       \
    ROW(st64step_ai, 8, STORE, 'a', 'I')       ROW(st64step_ar, 8, STORE, 'a', 'T')
/* clang-format on */

static const struct mem_row {
    const char *name;
    exec_fn *fn;
    unsigned bytes, how;
    char file, index;
} rows[] = {
#define ROW(id, bytes, how, file, index) { #id, exec_##id, bytes, how, file, index },
    ROWS
#undef ROW
};

/* Registers m1 base, m2 delta, m3 index, m5 or a4.. data. */
static const struct insn operands = { .d = 4, .a = 1, .b = 2, .c = 3, .s = 4, .t = 3, .x = 2 };

static int is_step(const struct mem_row *r)
{
    return r->index == 'I' || r->index == 'T';
}

/* Sets registers so that the access falls on addr and the index, if a register or immediate, is n.
 */
static struct insn aim(const struct mem_row *r, unsigned lane, uint32_t addr, int32_t n)
{
    struct insn in = operands;

    in.i = n;
    t.m[1][lane] = random32();
    t.m[3][lane] = (uint32_t)n;
    t.m[2][lane] = addr - t.m[1][lane] - (is_step(r) ? 0 : (uint32_t)n * r->bytes);
    return in;
}

static uint32_t data_register(const struct mem_row *r, unsigned lane, unsigned k)
{
    return r->file == 'm' ? tile_m(&t, lane, 4) : tile_a(&t, lane, 4 + k);
}

static uint64_t extended(const struct mem_row *r, uint64_t v)
{
    unsigned bits = 8 * r->bytes;

    if (r->how == LOAD_TWICE)
        return v << 16 | v;
    return r->how == LOAD_SIGN && v >> (bits - 1) & 1 ? v | (UINT32_MAX & ~0ull << bits) : v;
}

static void check_data(const struct mem_row *r, unsigned lane, uint32_t addr)
{
    for (unsigned k = 0; k == 0 || 4 * k < r->bytes; k++) {
        uint64_t mem = little_endian(at(addr + 4 * k), r->bytes < 4 ? r->bytes : 4);
        uint64_t want = r->how == STORE ? mem : extended(r, mem);

        if (data_register(r, lane, k) != (uint32_t)want)
            fail_msg("%s word %u: register %#x memory %#llx", r->name, k, data_register(r, lane, k),
                     (unsigned long long)mem);
    }
}

static void test_random_access(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++) {
        const struct mem_row *r = &rows[i];

        for (int k = 0; k < 300; k++) {
            unsigned lane = random32() % (r->file == 'm' ? 7 : 6);
            uint32_t low = r->bytes == 16 ? region1() : t.mem_base;
            uint32_t high = t.mem_base + t.mem_bytes;
            uint32_t addr = low + random32() % (high - low) / r->bytes * r->bytes;
            int32_t n = (int32_t)(random32() % 256) - (is_step(r) ? 128 : 0);
            struct insn in = aim(r, lane, addr, n);
            uint32_t delta = t.m[2][lane];

            t.m[4][lane] = random32();
            t.a[5][lane] = random32();
            assert_int_equal(r->fn(&t, lane, &in), FAULT_NONE);
            check_data(r, lane, addr);
            assert_int_equal(t.m[2][lane], is_step(r) ? delta + (uint32_t)n * r->bytes : delta);
        }
    }
}

/* A faulting access changes no register. */
static void test_fault_writes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++) {
        const struct mem_row *r = &rows[i];
        struct insn in = aim(r, 2, t.mem_base + t.mem_bytes, 5);
        struct tile before = t;

        assert_int_equal(r->fn(&t, 2, &in), FAULT_INVALID_ADDR);
        assert_memory_equal(t.m, before.m, sizeof(t.m));
        assert_memory_equal(t.a, before.a, sizeof(t.a));
        t = before;
    }
}

static void test_step_operands(void **state)
{
    struct insn in = { .d = 2, .a = 15, .x = 2, .i = 1, .t = 6 };
    uint32_t addr = t.mem_base + 64;

    (void)state;
    t.m[2][0] = addr;
    assert_int_equal(exec_ld32step_mi(&t, 0, &in), FAULT_INVALID_OP);
    assert_int_equal(t.m[2][0], addr);
    memset(&t.fault, 0, sizeof(t.fault));

    in.d = in.t = 6; /* the stride register is overwritten by the data: the old value counts */
    t.m[6][0] = 3;
    assert_int_equal(exec_ld32step_mr(&t, 0, &in), FAULT_NONE);
    assert_int_equal(t.m[2][0], addr + 12);
    assert_int_equal(t.m[6][0], little_endian(at(addr), 4));

    in = (struct insn){ .d = 14, .a = 15, .x = 2, .t = 6 }; /* ld64step $azeros: a scaled add */
    t.m[2][0] = addr;
    t.m[6][0] = 0xffffffff;
    assert_int_equal(exec_ld64step_ar(&t, 0, &in), FAULT_NONE);
    assert_int_equal(t.m[2][0], addr - 8);
    assert_int_equal(tile_a(&t, 0, 14), 0);
    assert_int_equal(tile_a(&t, 0, 15), 0);
}

static void test_stm32(void **state)
{
    struct insn in = { .s = 7, .a = 1, .b = 2 }, step = { .s = 7, .x = 1, .t = 2 };
    uint32_t addr = t.mem_base + 128;

    (void)state;
    t.m[1][LANE_SUPER] = addr;
    t.m[2][LANE_SUPER] = 3;
    t.m[7][LANE_SUPER] = 0x1234abcd;
    assert_int_equal(exec_stm32(&t, LANE_SUPER, &in), FAULT_NONE);
    assert_int_equal(little_endian(at(addr + 12), 4), 0x1234abcd);
    t.m[2][LANE_SUPER] = 0xfffffffe;
    assert_int_equal(exec_stm32step(&t, LANE_SUPER, &step), FAULT_NONE);
    assert_int_equal(little_endian(at(addr), 4), 0x1234abcd);
    assert_int_equal(t.m[1][LANE_SUPER], addr - 8);
}

/* Three addresses packed as docs/isa.md 6 says, in 64-bit arithmetic. */
static uint64_t packed(uint32_t a0, uint32_t a1, uint32_t a2)
{
    return (uint64_t)a0 % 0x200000 + (uint64_t)(a2 % 2048) * 0x200000 +
           ((uint64_t)a1 % 0x200000 + (uint64_t)(a2 / 2048 % 1024) * 0x200000) * 0x100000000;
}

static void set_triple(unsigned lane, uint64_t p)
{
    t.m[8][lane] = (uint32_t)p;
    t.m[9][lane] = (uint32_t)(p >> 32);
}

static uint64_t get_triple(unsigned lane)
{
    return t.m[8][lane] | (uint64_t)t.m[9][lane] << 32;
}

/* Address after a step: fields of ten bits, each -512..511. */
static uint32_t moved(uint32_t addr, const int field[3], unsigned selector, int unit)
{
    return (uint32_t)((int)addr + (selector ? field[selector - 1] : 1) * unit) & 0x1fffff;
}

static uint32_t random_strides(int field[3])
{
    uint32_t v = random32() & 0xc0000000; /* the top bits are nobody's */

    for (int k = 0; k < 3; k++) {
        field[k] = (int)(random32() % 1024) - 512;
        v |= ((uint32_t)field[k] & 0x3ff) << 10 * k;
    }
    return v;
}

static uint32_t random_word(uint32_t low, uint32_t high)
{
    return low + random32() % (high - low) / 8 * 8;
}

static void test_tapack(void **state)
{
    struct insn in = { .d = 8, .a = 1, .b = 2, .c = 3 };

    (void)state;
    for (int k = 0; k < 1000; k++) {
        uint32_t a = random32(), b = random32(), c = random32();

        t.m[1][4] = a;
        t.m[2][4] = b;
        t.m[3][4] = c;
        assert_int_equal(exec_tapack(&t, 4, &in), FAULT_NONE);
        assert_true(get_triple(4) == packed(a, b, c));
    }
    in = (struct insn){ .d = 2, .a = 3, .b = 2, .c = 2 }; /* sources are read first */
    t.m[2][4] = 0x80000;
    t.m[3][4] = 0x60000;
    assert_int_equal(exec_tapack(&t, 4, &in), FAULT_NONE);
    assert_int_equal(t.m[2][4], 0x60000);
    assert_int_equal(t.m[3][4], 0x80000 | (0x80000u >> 11) << 21);
}

/* Addresses in region 0, in region 1 at even words, in region 1 at odd words: never in conflict. */
static void test_pace_random(void **state)
{
    (void)state;
    for (int k = 0; k < 20000; k++) {
        uint32_t a0 = random_word(t.mem_base, region1());
        uint32_t a1 = random_word(region1(), t.mem_base + t.mem_bytes - 8) & ~8u;
        uint32_t a2 = random_word(region1(), t.mem_base + t.mem_bytes - 8) | 8;
        struct insn in = { .d = 0, .e = 2, .s = 4, .x = 8, .t = 10, .i = random32() % 64 };
        unsigned s0 = in.i % 4, s1 = in.i / 4 % 4, s2 = in.i / 16, lane = k % 6;
        uint64_t m0 = little_endian(at(a0), 8), m1 = little_endian(at(a1), 8);
        uint64_t data = tile_a(&t, lane, 4) | (uint64_t)tile_a(&t, lane, 5) << 32;
        int field[3];

        t.m[10][lane] = random_strides(field);
        set_triple(lane, packed(a0, a1, a2));
        switch (k % 4) {
        case 0:
            assert_int_equal(exec_ld2xst64pace(&t, lane, &in), FAULT_NONE);
            a0 = moved(a0, field, s0, 8);
            a1 = moved(a1, field, s1, 8);
            assert_true(little_endian(at(a2), 8) == data);
            a2 = moved(a2, field, s2, 8);
            break;
        case 1:
            in.i &= 15;
            assert_int_equal(exec_ld2x64pace(&t, lane, &in), FAULT_NONE);
            a0 = moved(a0, field, s0, 8);
            a1 = moved(a1, field, s1, 8);
            break;
        case 2:
            in.i &= 15;
            assert_int_equal(exec_ldst64pace(&t, lane, &in), FAULT_NONE);
            a0 = moved(a0, field, s0, 8);
            assert_true(little_endian(at(a2), 8) == data);
            a2 = moved(a2, field, s1, 8);
            break;
        default:
            in.i &= 3;
            assert_int_equal(exec_st64pace(&t, lane, &in), FAULT_NONE);
            assert_true(little_endian(at(a2), 8) == data);
            a2 = moved(a2, field, s0, 8);
            break;
        }
        assert_true(get_triple(lane) == packed(a0, a1, a2));
        if (k % 4 < 3)
            assert_true((tile_a(&t, lane, 0) | (uint64_t)tile_a(&t, lane, 1) << 32) == m0);
        if (k % 4 < 2)
            assert_true((tile_a(&t, lane, 2) | (uint64_t)tile_a(&t, lane, 3) << 32) == m1);
        t.a[4][lane] = random32();
    }
}

static void test_pace_single(void **state)
{
    struct insn in = { .d = 0, .e = 3, .x = 8, .t = 15, .i = 0 };
    uint32_t a0 = t.mem_base + 8, a1 = region1() + 6;

    (void)state;
    set_triple(0, packed(a0, a1 - 2, 0));
    assert_int_equal(exec_ld64a32pace(&t, 0, &in), FAULT_NONE);
    assert_int_equal(tile_a(&t, 0, 3), little_endian(at(a1 - 2), 4));
    assert_true(get_triple(0) == packed(a0 + 8, a1 + 2, 0));
    set_triple(0, packed(a0, a1, 0x12345));
    assert_int_equal(exec_ld64b16pace(&t, 0, &in), FAULT_NONE);
    assert_int_equal(tile_a(&t, 0, 3), little_endian(at(a1), 2) * 0x10001);
    assert_int_equal(tile_a(&t, 0, 1), little_endian(at(a0 + 4), 4));
    assert_true(get_triple(0) == packed(a0 + 8, a1 + 2, 0x12345));
    in.i = 5; /* $mzero as strides: other selectors stand still */
    set_triple(0, packed(a0, a1, 0));
    assert_int_equal(exec_ld64b16pace(&t, 0, &in), FAULT_NONE);
    assert_true(get_triple(0) == packed(a0, a1, 0));
}

/* Each row breaks one rule; nothing may change, memory included. */
static void test_pace_faults(void **state)
{
    const uint32_t r0 = t.mem_base, r1 = region1(), end = t.mem_base + t.mem_bytes;
    const struct {
        exec_fn *fn;
        uint32_t a0, a1, a2;
        unsigned e;
        enum fault want;
    } bad[] = {
        { exec_ld2x64pace, .a0 = r0, .a1 = r1, .want = FAULT_INVALID_OP },
        { exec_ld2x64pace, .a0 = r0, .a1 = r0 + 8, .e = 2, .want = FAULT_CONFLICT },
        { exec_ld2x64pace, .a0 = r1, .a1 = r1 + 16, .e = 2, .want = FAULT_CONFLICT },
        { exec_ld2x64pace, .a0 = r0 + 4, .a1 = r1, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_ld2x64pace, .a0 = r0, .a1 = end, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_ld2xst64pace, .a0 = r1, .a1 = r0, .a2 = r1 + 8, .e = 2,
          .want = FAULT_INVALID_ADDR }, /* second load in region 0 */
        { exec_ld2xst64pace, .a0 = r0, .a1 = r1, .a2 = r1 + 32, .e = 2, .want = FAULT_CONFLICT },
        { exec_ld2xst64pace, .a0 = r0, .a1 = r1, .a2 = r0 + 16, .e = 2, .want = FAULT_CONFLICT },
        { exec_ld2xst64pace, .a0 = r1, .a1 = r1 + 16, .a2 = r0, .e = 2, .want = FAULT_CONFLICT },
        { exec_ld2xst64pace, .a0 = r0, .a1 = r1, .a2 = r1 + 12, .e = 2,
          .want = FAULT_INVALID_ADDR },
        { exec_ldst64pace, .a0 = r1, .a2 = r1, .e = 2, .want = FAULT_CONFLICT },
        { exec_ldst64pace, .a0 = r1, .a2 = 8, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_st64pace, .a2 = r1 + 4, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_ld64a32pace, .a0 = r0, .a1 = r1, .e = 1, .want = FAULT_INVALID_OP },
        { exec_ld64a32pace, .a0 = r0, .a1 = r1 + 2, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_ld64b16pace, .a0 = r0, .a1 = r1 + 1, .e = 2, .want = FAULT_INVALID_ADDR },
        { exec_ld64b16pace, .a0 = r0, .a1 = r0 + 2, .e = 2, .want = FAULT_CONFLICT },
    };
    struct insn in = { .d = 0, .s = 4, .x = 8, .t = 10 };
    uint64_t memory = hash64(t.mem, t.mem_bytes);

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(bad); k++) {
        struct tile before;

        in.e = (uint8_t)bad[k].e;
        set_triple(1, packed(bad[k].a0, bad[k].a1, bad[k].a2));
        before = t;
        assert_int_equal(bad[k].fn(&t, 1, &in), bad[k].want);
        assert_memory_equal(t.m, before.m, sizeof(t.m));
        assert_memory_equal(t.a, before.a, sizeof(t.a));
        t = before;
    }
    assert_true(hash64(t.mem, t.mem_bytes) == memory);
    in.d = in.e = 14; /* both results discarded */
    set_triple(1, packed(r0, r1, 0));
    assert_int_equal(exec_ld2x64pace(&t, 1, &in), FAULT_NONE);
}

/* ldd16*: the data load uses the old delta, whatever stands above its 16 bits. */
static void test_delta(void **state)
{
    static const struct {
        exec_fn *fn;
        unsigned data_bytes, delta_bytes, scale;
    } form[] = {
        { exec_ldd16a32, .data_bytes = 4, .delta_bytes = 2, .scale = 1 },
        { exec_ldd16a64, .data_bytes = 8, .delta_bytes = 2, .scale = 1 },
        { exec_ldd16b16, .data_bytes = 2, .delta_bytes = 2, .scale = 1 },
        { exec_ldd16v2a32, .data_bytes = 4, .delta_bytes = 4, .scale = 0x10000 },
    };
    struct insn in = { .d = 2, .p = 1, .b = 2, .x = 3 };
    uint32_t list = t.mem_base + 256, data = region1();

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(form); k++) {
        uint32_t delta = 24;

        t.m[1][3] = list;
        t.m[2][3] = data;
        t.m[3][3] = delta * form[k].scale + (form[k].scale == 1 ? 0xabcd0000 : 0xabcd);
        assert_int_equal(form[k].fn(&t, 3, &in), FAULT_NONE);
        if (form[k].data_bytes == 2)
            assert_int_equal(tile_a(&t, 3, 2), little_endian(at(data + delta), 2) * 0x10001);
        else
            assert_int_equal(tile_a(&t, 3, 2), little_endian(at(data + delta), 4));
        if (form[k].data_bytes == 8)
            assert_int_equal(tile_a(&t, 3, 3), little_endian(at(data + delta + 4), 4));
        assert_int_equal(t.m[3][3], little_endian(at(list), form[k].delta_bytes));
        assert_int_equal(t.m[1][3], list + form[k].delta_bytes);
        assert_int_equal(t.m[2][3], data);
    }
}

static void test_delta_faults(void **state)
{
    static exec_fn *const form[] = { exec_ldd16a32, exec_ldd16a64, exec_ldd16b16, exec_ldd16v2a32 };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(form); k++) {
        struct insn in = { .d = 2, .p = 1, .b = 2, .x = 3 };
        struct tile before;

        t.m[1][3] = t.mem_base + 256;
        t.m[2][3] = t.mem_base; /* same element as the list */
        t.m[3][3] = 0;
        before = t;
        assert_int_equal(form[k](&t, 3, &in), FAULT_CONFLICT);
        assert_memory_equal(t.m, before.m, sizeof(t.m));
        assert_memory_equal(t.a, before.a, sizeof(t.a));
        t = before;
        in.x = 1;
        assert_int_equal(form[k](&t, 3, &in), FAULT_INVALID_OP);
        t = before;
    }
}

static void test_dense_and_sparse(void **state)
{
    struct insn in = { .d = 4, .p = 1, .b = 2, .y = 3 };
    uint32_t dense = region1() + 64, sparse = t.mem_base, kept = tile_a(&t, 0, 4);

    (void)state;
    t.m[1][0] = dense;
    t.m[2][0] = sparse;
    t.m[3][0] = 0x10020;
    assert_int_equal(exec_ld64a32(&t, 0, &in), FAULT_NONE);
    assert_int_equal(tile_a(&t, 0, 4), kept);
    assert_int_equal(tile_a(&t, 0, 5), little_endian(at(sparse + 0x20), 4));
    assert_int_equal(tile_a(&t, 0, 6), little_endian(at(dense), 4));
    assert_int_equal(tile_a(&t, 0, 7), little_endian(at(dense + 4), 4));
    assert_int_equal(t.m[1][0], dense + 8);
    t.m[1][0] = sparse;
    assert_int_equal(exec_ld64a32(&t, 0, &in), FAULT_CONFLICT);
    memset(&t.fault, 0, sizeof(t.fault));
    assert_int_equal(exec_ldb16b16(&t, 0, &in), FAULT_INVALID_INSTR);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_random_access),
        TEST(test_fault_writes_nothing),
        TEST(test_step_operands),
        TEST(test_stm32),
        TEST(test_tapack),
        TEST(test_pace_random),
        TEST(test_pace_single),
        TEST(test_pace_faults),
        TEST(test_delta),
        TEST(test_delta_faults),
        TEST(test_dense_and_sparse),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
