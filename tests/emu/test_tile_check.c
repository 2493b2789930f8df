/* test_tile_check.c - the checking mode: each kind of damage is planted and must be found, and what
 * is in order must not be reported. */
#include "tests/fixtures/tile_fixture.h"

#include "emu/tile/tile_check.h"

static uint32_t base; /* first address of the tile's memory */

static void setup(struct tile *t)
{
    zero_tile_new(t, ss_arch_preset("toy4"), 0);
    assert_int_equal(tile_check_new(t), EMU_OK);
    base = t->mem_base;
}

static void teardown(struct tile *t)
{
    assert_int_equal(t->fault.kind, FAULT_NONE);
    tile_check_free(t);
    tile_check_free(t); /* off already */
    zero_tile_free(t);
}

/* Accesses of a lane at a pc of its own, so that reports do not fold. */
static void load(struct tile *t, unsigned lane, uint32_t pc, uint32_t off, uint32_t bytes)
{
    uint32_t v[4];

    t->pc[lane] = pc;
    t->cycle = 10 * pc;
    switch (bytes) {
    case 1:
        assert_int_equal(tile_load8(t, lane, base + off, (uint8_t *)v), FAULT_NONE);
        break;
    case 4:
        assert_int_equal(tile_load32(t, lane, base + off, v), FAULT_NONE);
        break;
    case 16:
        assert_int_equal(tile_load128(t, lane, base + off, v), FAULT_NONE);
        break;
    default:
        assert_int_equal(tile_load64(t, lane, base + off, v), FAULT_NONE);
        break;
    }
}

static void store(struct tile *t, unsigned lane, uint32_t pc, uint32_t off, uint32_t bytes)
{
    uint32_t v[2] = { 0, 0 };

    t->pc[lane] = pc;
    t->cycle = 10 * pc;
    if (bytes == 4)
        assert_int_equal(tile_store32(t, lane, base + off, 0), FAULT_NONE);
    else
        assert_int_equal(tile_store64(t, lane, base + off, v), FAULT_NONE);
}

static void expect_last(const struct tile *t, size_t count, enum tile_check_kind kind,
                        unsigned lane, unsigned other, uint32_t pc, uint32_t off, uint32_t bytes)
{
    const struct tile_check_report *r;

    assert_int_equal(tile_check_count(t), count);
    r = tile_check_report(t, count - 1);
    assert_int_equal(r->kind, kind);
    assert_int_equal(r->lane, lane);
    assert_int_equal(r->other, other);
    assert_int_equal(r->pc, pc);
    assert_int_equal(r->addr, base + off);
    assert_int_equal(r->bytes, bytes);
    assert_int_equal(r->cycle, 10 * pc);
}

static void test_unwritten(void **state)
{
    static const uint8_t data[3];
    struct tile t;

    (void)state;
    setup(&t);
    load(&t, 2, 1, 64, 4);
    expect_last(&t, 1, TILE_CHECK_UNWRITTEN, 2, TILE_CHECK_NOBODY, 1, 64, 4);
    store(&t, 2, 2, 64, 4);
    load(&t, 2, 3, 64, 4);
    assert_int_equal(tile_check_count(&t), 1);
    load(&t, 2, 4, 64, 8); /* half of it */
    expect_last(&t, 2, TILE_CHECK_UNWRITTEN, 2, TILE_CHECK_NOBODY, 4, 64, 8);

    assert_int_equal(tile_write(&t, base + 1021, data, 3),
                     1); /* by the host, up to a bitmap edge */
    load(&t, LANE_SUPER, 5, 1021, 1);
    load(&t, LANE_SUPER, 6, 1023, 1);
    assert_int_equal(tile_check_count(&t), 2);
    load(&t, LANE_SUPER, 7, 1020, 1);
    load(&t, LANE_SUPER, 8, 1024, 1);
    assert_int_equal(tile_check_count(&t), 4);
    teardown(&t);
}

static void test_written_by_fabric(void **state)
{
    struct tile t;

    (void)state;
    setup(&t);
    tile_written(&t, 4096, 4); /* what a delivered word calls */
    load(&t, 0, 1, 4096, 4);
    assert_int_equal(tile_check_count(&t), 0);
    teardown(&t);
}

static void test_race(void **state)
{
    struct tile t;
    uint8_t zero[256] = { 0 };

    (void)state;
    setup(&t);
    assert_int_equal(tile_write(&t, base, zero, sizeof(zero)), 1);
    store(&t, 0, 1, 0, 8); /* no run: no race */
    load(&t, 1, 2, 0, 8);
    load(&t, 1, 2, 128, 8);
    tile_check_launch(&t, 0);
    store(&t, 0, 3, 128, 8);
    load(&t, 0, 3, 0, 8); /* reads are shared */
    load(&t, 1, 4, 0, 8);
    store(&t, 0, 5, 8, 8); /* one's own bytes */
    load(&t, 0, 6, 8, 8);
    store(&t, 1, 7, 16, 4); /* neighbours */
    store(&t, 2, 8, 20, 4);
    assert_int_equal(tile_check_count(&t), 0);

    store(&t, 3, 9, 0, 8); /* write after two workers have read */
    expect_last(&t, 1, TILE_CHECK_RACE, 3, 0, 9, 0, 8);
    load(&t, 5, 10, 23, 1); /* read after write, one byte */
    expect_last(&t, 2, TILE_CHECK_RACE, 5, 2, 10, 23, 1);
    store(&t, 4, 11, 8, 4); /* write after write */
    expect_last(&t, 3, TILE_CHECK_RACE, 4, 0, 11, 8, 4);

    tile_check_idle(&t);
    store(&t, 1, 12, 8, 4); /* between runs */
    tile_check_launch(&t, 0);
    load(&t, 2, 13, 8, 4); /* a new run knows nothing of the old one */
    load(&t, 0, 14, 0, 8);
    assert_int_equal(tile_check_count(&t), 3);
    tile_check_launch(&t, 1); /* another worker joins: the run goes on */
    store(&t, 3, 15, 8, 4);
    expect_last(&t, 4, TILE_CHECK_RACE, 3, 2, 15, 8, 4);
    teardown(&t);
}

/* The last word of a vector, of memory too; and nothing is left for the next run, wherever it was.
 */
static void test_race_in_a_wide_load(void **state)
{
    uint8_t zero[512] = { 0 };
    struct tile t;
    uint32_t low;

    (void)state;
    setup(&t);
    low = t.mem_bytes - sizeof(zero);
    assert_int_equal(tile_write(&t, base + low, zero, sizeof(zero)), 1);
    for (uint32_t off = low; off < t.mem_bytes; off += 240) {
        tile_check_launch(&t, 0);
        load(&t, 0, 1, off, 16);
        store(&t, 1, 2, off + 16 < t.mem_bytes ? off + 16 : off - 4, 4); /* neighbours */
        tile_check_idle(&t);
    }
    assert_int_equal(tile_check_count(&t), 0);
    tile_check_launch(&t, 0);
    for (uint32_t off = low; off < t.mem_bytes; off += 4)
        store(&t, 3, 3, off, 4);
    assert_int_equal(tile_check_count(&t), 0);
    load(&t, 0, 4, t.mem_bytes - 16, 16);
    expect_last(&t, 1, TILE_CHECK_RACE, 0, 3, 4, t.mem_bytes - 16, 16);
    tile_check_idle(&t);
    tile_check_launch(&t, 0);
    load(&t, 0, 5, t.mem_bytes - 16, 16);
    store(&t, 2, 6, t.mem_bytes - 4, 4);
    expect_last(&t, 2, TILE_CHECK_RACE, 2, 0, 6, t.mem_bytes - 4, 4);
    teardown(&t);
}

static void test_race_with_supervisor(void **state)
{
    struct tile t;

    (void)state;
    setup(&t);
    tile_check_launch(&t, 0);
    store(&t, 1, 1, 0, 4);
    load(&t, LANE_SUPER, 2, 0, 4);
    expect_last(&t, 1, TILE_CHECK_RACE_SUPER, LANE_SUPER, 1, 2, 0, 4);
    store(&t, LANE_SUPER, 3, 32, 4);
    load(&t, 4, 4, 32, 4);
    expect_last(&t, 2, TILE_CHECK_RACE_SUPER, 4, LANE_SUPER, 4, 32, 4);
    teardown(&t);
}

static void test_stack(void **state)
{
    struct tile t;

    (void)state;
    setup(&t);
    tile_check_stack(&t, LANE_SUPER, base + 0x1000, base + 0x1100);
    for (unsigned w = 0; w < TILE_WORKERS; w++)
        tile_check_stack(&t, w, base + 0x1100 + 64 * w, base + 0x1140 + 64 * w);
    tile_check_stack(&t, TILE_CHECK_GUARD, base + 0x1280, base + 0x1290);

    tile_set_m(&t, LANE_SUPER, 11, base + 0x1000);
    store(&t, LANE_SUPER, 1, 0x1000, 4); /* its last free word */
    store(&t, LANE_SUPER, 2, 0xff8, 4);  /* below $sp: some variable */
    store(&t, 1, 3, 0x1140, 8);          /* its own stack */
    store(&t, 1, 4, 0x1178, 8);
    store(&t, 1, 5, 0x400, 8);  /* elsewhere */
    store(&t, 5, 6, 0x1290, 8); /* after the guard */
    assert_int_equal(tile_check_count(&t), 0);

    tile_set_m(&t, LANE_SUPER, 11, base + 0xff0);
    store(&t, LANE_SUPER, 7, 0xffc, 4);
    expect_last(&t, 1, TILE_CHECK_STACK, LANE_SUPER, LANE_SUPER, 7, 0xffc, 4);
    store(&t, 1, 8, 0x1180, 8); /* over its end, into worker 2's */
    expect_last(&t, 2, TILE_CHECK_STACK, 1, 2, 8, 0x1180, 8);
    store(&t, 5, 9, 0x1288, 8);
    expect_last(&t, 3, TILE_CHECK_STACK, 5, TILE_CHECK_GUARD, 9, 0x1288, 8);
    teardown(&t);
}

static void test_conflict(void **state)
{
    struct tile t;

    (void)state;
    setup(&t);
    t.pc[3] = 5;
    assert_int_equal(tile_conflict(&t, 3, base, base + 8), FAULT_CONFLICT);
    assert_int_equal(tile_check_count(&t), 1);
    assert_int_equal(tile_check_report(&t, 0)->kind, TILE_CHECK_CONFLICT);
    assert_int_equal(tile_check_report(&t, 0)->addr2, base + 8);
    assert_int_equal(t.fault.kind, FAULT_CONFLICT);
    memset(&t.fault, 0, sizeof(t.fault));
    teardown(&t);
}

static void test_folding(void **state)
{
    struct tile t;

    (void)state;
    setup(&t);
    load(&t, 1, 7, 100, 4);
    load(&t, 2, 7, 200, 4);
    assert_int_equal(tile_check_count(&t), 1);
    assert_int_equal(tile_check_report(&t, 0)->count, 2);
    assert_int_equal(tile_check_report(&t, 0)->lane, 1);
    tile_check_stack(&t, TILE_CHECK_GUARD, base + 400, base + 404);
    store(&t, 1, 7, 400, 4); /* another kind at the same pc */
    assert_int_equal(tile_check_count(&t), 2);
    for (uint32_t pc = 1000; pc < 1000 + TILE_CHECK_MAX; pc++)
        load(&t, 0, pc, 300, 4);
    assert_int_equal(tile_check_count(&t), TILE_CHECK_MAX);
    assert_int_equal(tile_check_dropped(&t), 2);
    assert_string_equal(tile_check_name(TILE_CHECK_RACE), "RACE");
    teardown(&t);
}

/* The mode observes: same memory, same faults, with and without. */
static void test_observes_only(void **state)
{
    struct tile t;
    uint32_t v;

    (void)state;
    setup(&t);
    assert_int_equal(tile_load32(&t, 0, base + 2, &v), FAULT_INVALID_ADDR);
    assert_int_equal(tile_load32(&t, 0, base - 4, &v), FAULT_INVALID_ADDR);
    assert_int_equal(tile_store32(&t, 0, base - 4, 0), FAULT_INVALID_ADDR);
    assert_int_equal(tile_check_count(&t), 0);
    memset(&t.fault, 0, sizeof(t.fault));
    teardown(&t);
}

static void test_allocation_fails(void **state)
{
    struct tile t;
    long live;
    int n = 0;

    (void)state;
    assert_int_equal(tile_init(&t, ss_arch_preset("toy4"), 0, NULL), EMU_OK);
    live = alloc_live();
    for (;; n++) {
        alloc_test_fail_at(n);
        if (tile_check_new(&t) == EMU_OK)
            break;
        assert_null(t.check);
        assert_int_equal(alloc_live(), live);
    }
    alloc_test_fail_at(-1);
    assert_int_equal(n, 4);
    tile_check_free(&t);
    assert_int_equal(tile_check_count(&t), 0);
    tile_free(&t);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unwritten),
        cmocka_unit_test(test_written_by_fabric),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_race_in_a_wide_load),
        cmocka_unit_test(test_race_with_supervisor),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_conflict),
        cmocka_unit_test(test_folding),
        cmocka_unit_test(test_observes_only),
        cmocka_unit_test(test_allocation_fails),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
