/* test_exec_check.c - what depends on bytes that nothing has written is reported, with the load of
 * them; what moves, drops or puts such bytes back is not. And stores beyond what the program has.
 */
#include "tests/fixtures/tile_fixture.h"

#include "emu/exec/exec_rows.h"
#include "emu/isa/insn_ops.h"
#include "emu/tile/tile_check.h"

enum { WORKER = 2, ZERO = 15, STEP = 8 };

static struct tile t, plain;
static uint32_t base;

static int setup(void **state)
{
    const uint32_t words[4] = { 0x11112222, 0x3f800000, 0x40000000, 0x33334444 };

    (void)state;
    zero_tile_new(&t, ss_arch_preset("toy4"), 0);
    assert_int_equal(tile_check_new(&t), EMU_OK);
    base = t.mem_base;
    assert_int_equal(tile_write(&t, base, words, sizeof(words)), 1);
    t.m[0][WORKER] = base;
    tile_check_launch(&t, WORKER);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    tile_check_free(&t);
    zero_tile_free(&t);
    return 0;
}

/* Each instruction has an address of its own. */
static void bundle(const struct insn *main, const struct insn *aux)
{
    t.pc[WORKER] += STEP;
    t.cycle += 6;
    assert_int_equal(exec_checked(&t, WORKER, main, aux), FAULT_NONE);
}

static void run(struct insn in)
{
    bundle(&in, NULL);
}

static void load_half(unsigned d, unsigned half)
{
    run((struct insn){ .op = INSN_ldz16_mi, .d = (uint8_t)d, .b = ZERO, .i = (int32_t)half });
}

static void load_word(unsigned d, unsigned word)
{
    run((struct insn){ .op = INSN_ld32_mi, .d = (uint8_t)d, .b = ZERO, .i = (int32_t)word });
}

static void store_word(unsigned s, unsigned word)
{
    run((struct insn){ .op = INSN_st32_mi, .s = (uint8_t)s, .b = ZERO, .i = (int32_t)word });
}

static void expect_unwritten(size_t count, uint32_t pc, uint32_t off)
{
    const struct tile_check_report *r;

    assert_int_equal(tile_check_count(&t), count);
    r = tile_check_report(&t, count - 1);
    assert_int_equal(r->kind, TILE_CHECK_UNWRITTEN);
    assert_int_equal(r->lane, WORKER);
    assert_int_equal(r->pc, pc);
    assert_int_equal(r->addr, base + off);
}

/* A half is stored with the word around it, whose other half nobody has written. */
static void a_narrow_store_puts_back(void **state)
{
    (void)state;
    load_half(1, 0);
    load_half(2, 21);
    run((struct insn){ .op = INSN_sort4x16lo_m, .d = 3, .a = 1, .b = 2 });
    store_word(3, 10);
    assert_int_equal(tile_check_count(&t), 0);
    assert_int_equal(t.mem[40], 0x22);
    load_half(4, 20); /* it is written now */
    run((struct insn){ .op = INSN_brz, .a = 4 });
    assert_int_equal(tile_check_count(&t), 0);
    load_half(4, 21); /* but not its neighbour */
    run((struct insn){ .op = INSN_brz, .a = 4 });
    expect_unwritten(1, 7 * STEP, 42);
}

/* Garbage that is copied to another place, and what was never read there. */
static void a_copy_is_a_use(void **state)
{
    (void)state;
    load_word(1, 20);
    assert_int_equal(tile_check_count(&t), 0);
    store_word(1, 30);
    expect_unwritten(1, STEP, 80);
    load_word(2, 30); /* reported once: it counts as written */
    run((struct insn){ .op = INSN_brz, .a = 2 });
    assert_int_equal(tile_check_count(&t), 1);
}

static void a_changed_byte_is_a_use(void **state)
{
    (void)state;
    load_word(1, 20);
    run((struct insn){ .op = INSN_add_mu16, .d = 1, .a = 1, .i = 1 });
    store_word(1, 20);
    expect_unwritten(1, STEP, 80);
}

static void bits_that_are_cut_off_are_none(void **state)
{
    (void)state;
    load_word(1, 20);
    run((struct insn){ .op = INSN_and_mu12, .d = 2, .a = 1, .i = 0 });
    run((struct insn){ .op = INSN_brz, .a = 2 });
    run((struct insn){ .op = INSN_shr_mu12, .d = 3, .a = 1, .i = 32 });
    store_word(3, 1);
    load_word(1, 0); /* the register is loaded anew */
    run((struct insn){ .op = INSN_brz, .a = 1 });
    assert_int_equal(tile_check_count(&t), 0);
    assert_int_equal(t.mem[4], 0);
}

static void addresses_and_arithmetic_are_uses(void **state)
{
    const struct insn add = { .op = INSN_f32add, .d = 2, .a = 0, .b = 1 };
    const struct insn nothing = { .op = INSN_nop };

    (void)state;
    load_word(1, 20);
    run((struct insn){ .op = INSN_ld32_mi, .d = 2, .a = 0, .b = 1 });
    expect_unwritten(1, STEP, 80);
    run((struct insn){ .op = INSN_ld64_ai, .d = 0, .b = ZERO, .i = 10 });
    bundle(&nothing, &add);
    expect_unwritten(2, 3 * STEP, 80);
}

/* A vector is loaded beyond the end of an array, moved, and its first half stored. */
static void a_vector_beyond_the_end(void **state)
{
    (void)state;
    run((struct insn){ .op = INSN_ld64_ai, .d = 0, .b = ZERO, .i = 1 });
    run((struct insn){ .op = INSN_ld64_ai, .d = 2, .b = ZERO, .i = 2 });
    run((struct insn){ .op = INSN_roll32, .d = 4, .a = 0, .b = 2 });
    run((struct insn){ .op = INSN_st32_ai, .s = 4, .b = ZERO, .i = 1 });
    assert_int_equal(tile_check_count(&t), 0);
    run((struct insn){ .op = INSN_st32_ai, .s = 5, .b = ZERO, .i = 2 });
    expect_unwritten(1, 2 * STEP, 16);
}

/* The halves of a bundle see the registers before it. */
static void halves_of_a_bundle(void **state)
{
    const struct insn load = { .op = INSN_ld32_ai, .d = 1, .b = ZERO, .i = 20 };
    const struct insn move = { .op = INSN_or_a, .d = 2, .a = 1, .b = ZERO };
    const struct insn use = { .op = INSN_f32add, .d = 3, .a = 2, .b = 2 };
    const struct insn nothing = { .op = INSN_nop };

    (void)state;
    run((struct insn){ .op = INSN_ld32_ai, .d = 1, .b = ZERO, .i = 1 });
    bundle(&load, &move); /* moves what was there before */
    bundle(&nothing, &use);
    assert_int_equal(tile_check_count(&t), 0);
    bundle(&load, &move);
    bundle(&nothing, &use);
    expect_unwritten(1, 2 * STEP, 80);
}

/* The checked tile does what an unchecked one does. */
static void it_observes_only(void **state)
{
    const struct insn in[] = {
        { .op = INSN_ld64step_ai, .d = 0, .a = 0, .x = 1, .i = 3 },
        { .op = INSN_ld32_mi, .d = 2, .b = ZERO, .i = 20 },
        { .op = INSN_roll16_m, .d = 3, .a = 2, .b = 0 },
        { .op = INSN_st32step_mi, .s = 3, .a = 0, .x = 1, .i = 1 },
        { .op = INSN_st64_ai, .s = 0, .b = ZERO, .i = 4 },
    };

    (void)state;
    plain = t;
    plain.check = NULL;
    plain.mem = emu_alloc(t.mem_bytes, 1);
    memcpy(plain.mem, t.mem, t.mem_bytes);
    for (unsigned k = 0; k < EMU_COUNT_OF(in); k++) {
        run(in[k]);
        plain.pc[WORKER] += STEP;
        plain.cycle += 6;
        assert_int_equal(exec_table[in[k].op](&plain, WORKER, &in[k]), FAULT_NONE);
        assert_memory_equal(plain.m, t.m, sizeof(t.m));
        assert_memory_equal(plain.a, t.a, sizeof(t.a));
        assert_memory_equal(plain.mem, t.mem, t.mem_bytes);
    }
    ss_free(plain.mem);
}

/* An array of 5 words: the sixth belongs to nothing. */
static void stores_beyond_what_there_is(void **state)
{
    const struct tile_check_report *r;

    (void)state;
    assert_int_equal(tile_check_own(&t, base, 20), EMU_OK);
    load_word(1, 0);
    store_word(1, 4);
    assert_int_equal(tile_check_count(&t), 0);
    load_word(2, 5);
    store_word(2, 5); /* puts back */
    assert_int_equal(tile_check_count(&t), 0);
    store_word(1, 5);
    assert_int_equal(tile_check_count(&t), 1);
    r = tile_check_report(&t, 0);
    assert_int_equal(r->kind, TILE_CHECK_OUTSIDE);
    assert_int_equal(r->pc, 5 * STEP);
    assert_int_equal(r->addr, base + 20);
}

/* A vertex with a field of 4 words to read and one of 2 to write behind it. */
static void begin_vertex(void)
{
    const uint8_t zeros[512] = { 0 };
    const struct tile_check_use common = { base + 256, 8, 1, 1 };
    const struct tile_check_use use[] = { { base + 16, 8, 1, 1 }, { base, 16, 1, 0 } };

    assert_int_equal(tile_write(&t, base + 16, zeros, sizeof(zeros)), 1);
    assert_int_equal(tile_check_vertex(&t, 0, &common, 1), EMU_OK);
    assert_int_equal(tile_check_vertex(&t, base + 1024, use, EMU_COUNT_OF(use)), EMU_OK);
    tile_check_site(&t, base + 1020); /* none of a vertex */
    tile_check_launch(&t, WORKER);
    assert_int_equal(tile_check_site_of(&t, WORKER), 0);
    tile_check_site(&t, base + 1024);
    tile_check_launch(&t, WORKER);
    tile_check_site(&t, base + 2000); /* in code that it has called */
    tile_check_launch(&t, WORKER);
    assert_int_equal(tile_check_site_of(&t, WORKER), base + 1024);
}

static void expect_at(size_t count, enum tile_check_kind kind, uint32_t addr)
{
    const struct tile_check_report *r;

    assert_int_equal(tile_check_count(&t), count);
    r = tile_check_report(&t, count - 1);
    assert_int_equal(r->kind, kind);
    assert_int_equal(r->addr, addr);
    assert_int_equal(r->site, base + 1024);
}

static void stores_outside_the_fields_of_a_vertex(void **state)
{
    (void)state;
    begin_vertex();
    load_word(1, 0);
    store_word(1, 4);
    store_word(1, 5);
    store_word(1, 64); /* what all vertices may use */
    assert_int_equal(tile_check_count(&t), 0);
    load_word(2, 7);
    store_word(2, 7); /* puts back */
    assert_int_equal(tile_check_count(&t), 0);
    store_word(1, 6); /* a neighbour */
    expect_at(1, TILE_CHECK_OUTSIDE, base + 24);
    store_word(1, 3); /* a field that is only read */
    expect_at(2, TILE_CHECK_OUTSIDE, base + 12);
}

/* The whole memory has been written, so only what lies outside the fields means nothing. */
static void uses_what_is_in_no_field(void **state)
{
    (void)state;
    begin_vertex();
    load_word(1, 6); /* loaded, moved and dropped: no mistake */
    run((struct insn){ .op = INSN_or_m, .d = 2, .a = 1, .b = ZERO });
    load_word(1, 3);
    run((struct insn){ .op = INSN_brz, .a = 1 });
    assert_int_equal(tile_check_count(&t), 0);
    run((struct insn){ .op = INSN_brz, .a = 2 });
    expect_at(1, TILE_CHECK_FOREIGN, base + 24);
}

/* What a lane has met before is no field of the next vertex that it works for. */
static void the_next_vertex_has_fields_of_its_own(void **state)
{
    const struct tile_check_use use = { base + 24, 8, 1, 1 };

    (void)state;
    begin_vertex();
    assert_int_equal(tile_check_vertex(&t, base + 1028, &use, 1), EMU_OK);
    load_word(1, 4);
    store_word(1, 4);
    load_word(2, 0);
    store_word(2, 5);
    assert_int_equal(tile_check_count(&t), 0);
    tile_check_site(&t, base + 1028);
    tile_check_launch(&t, WORKER);
    store_word(1, 6);
    assert_int_equal(tile_check_count(&t), 0);
    store_word(1, 5);
    assert_int_equal(tile_check_count(&t), 1);
    assert_int_equal(tile_check_report(&t, 0)->kind, TILE_CHECK_OUTSIDE);
    load_word(1, 0);
    run((struct insn){ .op = INSN_brz, .a = 1 });
    assert_int_equal(tile_check_count(&t), 2);
    assert_int_equal(tile_check_report(&t, 1)->kind, TILE_CHECK_FOREIGN);
    assert_int_equal(tile_check_report(&t, 1)->site, base + 1028);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_narrow_store_puts_back),
        TEST(a_copy_is_a_use),
        TEST(a_changed_byte_is_a_use),
        TEST(bits_that_are_cut_off_are_none),
        TEST(addresses_and_arithmetic_are_uses),
        TEST(a_vector_beyond_the_end),
        TEST(halves_of_a_bundle),
        TEST(it_observes_only),
        TEST(stores_beyond_what_there_is),
        TEST(stores_outside_the_fields_of_a_vertex),
        TEST(uses_what_is_in_no_field),
        TEST(the_next_vertex_has_fields_of_its_own),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
