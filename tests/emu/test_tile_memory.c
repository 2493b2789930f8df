/* test_tile_memory.c - alignment, bounds and regions of accesses, memory elements, dirty and code
 * pages, host access, the fault record. */
#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

static const char *const machines[] = { "mk1", "mk2", "toy4" };

static void setup(struct tile *t, const struct arch *a)
{
    zero_tile_new(t, a, 5);
}

static void forget_fault(struct tile *t)
{
    memset(&t->fault, 0, sizeof(t->fault));
    memset(t->state, 0, sizeof(t->state));
}

static enum fault load(struct tile *t, uint32_t addr, uint32_t bytes, void *out)
{
    switch (bytes) {
    case 1:
        return tile_load8(t, 0, addr, out);
    case 2:
        return tile_load16(t, 0, addr, out);
    case 4:
        return tile_load32(t, 0, addr, out);
    case 8:
        return tile_load64(t, 0, addr, out);
    default:
        return tile_load128(t, 0, addr, out);
    }
}

static enum fault store(struct tile *t, uint32_t addr, uint32_t bytes, const uint32_t *v)
{
    return bytes == 4 ? tile_store32(t, 0, addr, *v) : tile_store64(t, 0, addr, v);
}

static void check_access(struct tile *t, uint32_t addr, uint32_t bytes, enum fault want)
{
    uint32_t word[4] = { 0xdeadbeef, 0xdeadbeef, 0xdeadbeef, 0xdeadbeef };

    assert_int_equal(load(t, addr, bytes, word), want);
    assert_int_equal(t->fault.kind, want);
    if (want != FAULT_NONE) {
        assert_int_equal(t->fault.addr, addr);
        assert_int_equal(word[0], 0xdeadbeef);
        assert_int_equal(t->state[0], CONTEXT_EXCEPTED);
    }
    forget_fault(t);
    if (bytes == 4 || bytes == 8) {
        assert_int_equal(store(t, addr, bytes, word), want);
        forget_fault(t);
    }
}

/* First and last item of memory are fine, their neighbours outside are not, nor is any other
 * alignment. */
static void test_access(void **state)
{
    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(machines); i++) {
        const struct arch *a = ss_arch_preset(machines[i]);
        uint32_t end = a->mem_base + a->mem_bytes, region1 = a->mem_base + a->region0_bytes;
        struct tile t;

        setup(&t, a);
        for (uint32_t bytes = 1; bytes <= 16; bytes *= 2) {
            uint32_t first = bytes == 16 ? region1 : a->mem_base;

            check_access(&t, first, bytes, FAULT_NONE);
            check_access(&t, end - bytes, bytes, FAULT_NONE);
            check_access(&t, first - bytes, bytes, FAULT_INVALID_ADDR);
            check_access(&t, end, bytes, FAULT_INVALID_ADDR);
            check_access(&t, 0, bytes, FAULT_INVALID_ADDR);
            check_access(&t, UINT32_MAX - bytes + 1, bytes, FAULT_INVALID_ADDR);
            for (uint32_t k = 1; k < bytes; k++) {
                check_access(&t, region1 + k, bytes, FAULT_INVALID_ADDR);
                check_access(&t, end - k, bytes, FAULT_INVALID_ADDR);
            }
        }
        zero_tile_free(&t);
    }
}

/* A memory that ends inside an aligned item. */
static void test_ragged_end(void **state)
{
    struct arch a = *ss_arch_preset("toy4");
    struct tile t;
    uint32_t v[2];

    (void)state;
    a.mem_bytes -= 4;
    setup(&t, &a);
    assert_int_equal(tile_load32(&t, 0, a.mem_base + a.mem_bytes - 4, v), FAULT_NONE);
    assert_int_equal(tile_load64(&t, 0, a.mem_base + a.mem_bytes - 4, v), FAULT_INVALID_ADDR);
    zero_tile_free(&t);
}

static void test_little_endian(void **state)
{
    const struct arch *a = ss_arch_preset("toy4");
    uint32_t at = a->mem_base + a->region0_bytes + 32, pair[2] = { 0x44332211, 0x88776655 };
    uint32_t word, quad[4];
    uint8_t byte;
    uint16_t half;
    struct tile t;

    (void)state;
    setup(&t, a);
    assert_int_equal(tile_store64(&t, 3, at, pair), FAULT_NONE);
    assert_int_equal(tile_store32(&t, 3, at + 12, 0xccbbaa99), FAULT_NONE);
    for (unsigned k = 0; k < 8; k++)
        assert_int_equal(t.mem[a->region0_bytes + 32 + k], 0x11 * (k + 1));
    assert_int_equal(tile_load8(&t, 0, at + 1, &byte), FAULT_NONE);
    assert_int_equal(byte, 0x22);
    assert_int_equal(tile_load16(&t, 0, at + 2, &half), FAULT_NONE);
    assert_int_equal(half, 0x4433);
    assert_int_equal(tile_load32(&t, 0, at + 4, &word), FAULT_NONE);
    assert_int_equal(word, 0x88776655);
    assert_int_equal(tile_load128(&t, 0, at, quad), FAULT_NONE);
    assert_int_equal(quad[0], 0x44332211);
    assert_int_equal(quad[1], 0x88776655);
    assert_int_equal(quad[2], 0);
    assert_int_equal(quad[3], 0xccbbaa99);
    zero_tile_free(&t);
}

static void test_first_fault(void **state)
{
    struct tile t;
    uint32_t v;

    (void)state;
    setup(&t, ss_arch_preset("toy4"));
    t.pc[2] = 0x100;
    t.cycle = 77;
    assert_int_equal(tile_load32(&t, 2, 3, &v), FAULT_INVALID_ADDR);
    assert_int_equal(tile_fault(&t, LANE_SUPER, FAULT_EXERR, 9, "later"), FAULT_EXERR);
    assert_int_equal(t.fault.kind, FAULT_INVALID_ADDR);
    assert_int_equal(t.fault.lane, 2);
    assert_int_equal(t.fault.pc, 0x100);
    assert_int_equal(t.fault.addr, 3);
    assert_int_equal(t.fault.cycle, 77);
    assert_non_null(t.fault.detail);
    assert_int_equal(t.state[2], CONTEXT_EXCEPTED);
    assert_int_equal(t.state[LANE_SUPER], CONTEXT_EXCEPTED);
    assert_string_equal(fault_name(FAULT_INVALID_ADDR), "INVALID_ADDR");
    assert_int_equal(fault_etype(FAULT_IBRK), 15);
    assert_string_equal(fault_name((enum fault)99), "?");
    zero_tile_free(&t);
}

/* Offsets, relative to region 1 from the `in_region1` rows on; all on 16 KiB elements. */
static void test_conflict_edges(void **state)
{
    static const struct {
        int in_region1;
        uint32_t off1, off2;
        enum fault want;
    } edge[] = {
        { .want = FAULT_CONFLICT },
        { .off2 = 8, .want = FAULT_CONFLICT },
        { .off2 = 0x3ff8, .want = FAULT_CONFLICT },
        { .off2 = 0x4000, .want = FAULT_NONE },
        { .off1 = 0x3ff8, .off2 = 0x4000, .want = FAULT_NONE },
        { .off1 = 0x4000, .off2 = 0x7ffc, .want = FAULT_CONFLICT },
        { .in_region1 = 1, .want = FAULT_CONFLICT },
        { .in_region1 = 1, .off2 = 4, .want = FAULT_CONFLICT },
        { .in_region1 = 1, .off2 = 8, .want = FAULT_NONE },
        { .in_region1 = 1, .off1 = 8, .want = FAULT_NONE },
        { .in_region1 = 1, .off2 = 16, .want = FAULT_CONFLICT },
        { .in_region1 = 1, .off1 = 8, .off2 = 0x7ff8, .want = FAULT_CONFLICT },
        { .in_region1 = 1, .off2 = 0x7ff8, .want = FAULT_NONE },
        { .in_region1 = 1, .off2 = 0x8000, .want = FAULT_NONE },
        { .in_region1 = 1, .off1 = 0x7ff0, .off2 = 0x8000, .want = FAULT_NONE },
        { .in_region1 = 1,
          .off1 = 0xfffffff8,
          .want = FAULT_NONE }, /* last word of region 0, first of region 1 */
        { .in_region1 = 1, .off1 = 0xfffffff8, .off2 = 8, .want = FAULT_NONE },
    };
    const struct arch *a = ss_arch_preset("mk2");
    struct tile t;

    (void)state;
    setup(&t, a);
    for (size_t i = 0; i < EMU_COUNT_OF(edge); i++) {
        uint32_t base = a->mem_base + (edge[i].in_region1 ? a->region0_bytes : 0);

        assert_int_equal(tile_conflict(&t, 1, base + edge[i].off1, base + edge[i].off2),
                         edge[i].want);
        assert_int_equal(t.fault.kind, edge[i].want);
        if (edge[i].want) {
            assert_int_equal(t.fault.addr, base + edge[i].off1);
            assert_int_equal(t.fault.addr2, base + edge[i].off2);
        }
        forget_fault(&t);
    }
    assert_int_equal(tile_conflict(&t, 1, 0, 0),
                     FAULT_NONE); /* outside: the access itself faults */
    zero_tile_free(&t);
}

/* The record of two collisions is that of the lower cycle, with both its addresses. */
static void test_conflict_record(void **state)
{
    struct tile t;

    (void)state;
    setup(&t, ss_arch_preset("mk2"));
    for (int later_first = 0; later_first < 2; later_first++) {
        for (int k = 0; k < 2; k++) {
            uint32_t later = (uint32_t)(k ^ later_first), addr = t.mem_base + 64 * later;

            t.cycle = 100 + later;
            assert_int_equal(tile_conflict(&t, 1 + later, addr, addr + 8), FAULT_CONFLICT);
        }
        assert_int_equal(t.fault.cycle, 100);
        assert_int_equal(t.fault.lane, 1);
        assert_int_equal(t.fault.addr, t.mem_base);
        assert_int_equal(t.fault.addr2, t.mem_base + 8);
        forget_fault(&t);
    }
    zero_tile_free(&t);
}

/* Random pairs, near and far, against the rule of docs/machine.md 2 with its constants written out.
 */
static void test_conflict_random(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    uint32_t region1 = a->mem_base + a->region0_bytes;
    uint64_t seed = 1;
    int conflicts = 0;
    struct tile t;

    (void)state;
    setup(&t, a);
    for (int i = 0; i < 200000; i++) {
        uint32_t x = a->mem_base + random_u32(&seed) % a->mem_bytes;
        uint32_t y = a->mem_base + random_u32(&seed) % a->mem_bytes;
        int want;

        if (i & 1)
            y = x ^ (random_u32(&seed) & 0xffff);
        if (y - a->mem_base >= a->mem_bytes)
            continue;
        if (x < region1 || y < region1)
            want = x / 0x4000 == y / 0x4000;
        else
            want = (x - region1) / 0x8000 == (y - region1) / 0x8000 && ((x ^ y) & 8) == 0;
        conflicts += want;
        assert_int_equal(tile_conflict(&t, 0, x, y), want ? FAULT_CONFLICT : FAULT_NONE);
        forget_fault(&t);
    }
    assert_true(conflicts > 1000);
    zero_tile_free(&t);
}

static void test_code_pages(void **state)
{
    const struct arch *a = ss_arch_preset("toy4");
    uint32_t pages = a->region0_bytes >> CODE_PAGE_BITS, pair[2] = { 1, 2 };
    struct code_page *decoded = (struct code_page *)(uintptr_t)16; /* opaque to the tile */
    uint32_t next = a->mem_base + (1u << CODE_PAGE_BITS);
    struct tile t;
    uint8_t block[3000] = { 0 };

    (void)state;
    setup(&t, a);
    for (uint32_t p = 0; p < pages; p++)
        t.page[p] = decoded;
    t.code_end = 4u << CODE_PAGE_BITS;
    assert_int_equal(tile_store32(&t, 0, next + 4 * CODE_REACH_WORDS, 1), FAULT_NONE);
    assert_non_null(t.page[0]);
    assert_null(t.page[1]);
    assert_non_null(t.page[2]);
    t.page[1] = decoded;
    assert_int_equal(tile_store32(&t, 0, next + 4 * (CODE_REACH_WORDS - 1), 1), FAULT_NONE);
    assert_null(t.page[0]); /* it reaches into page 1 */
    assert_null(t.page[1]);
    t.page[0] = t.page[1] = decoded;
    assert_int_equal(tile_store64(&t, 0, next, pair), FAULT_NONE);
    assert_null(t.page[0]);
    assert_null(t.page[1]);
    assert_non_null(t.page[2]);
    assert_int_equal(tile_store32(&t, 0, a->mem_base + 4 * 1024, 1), FAULT_NONE);
    assert_non_null(t.page[4]); /* after code_end: nothing is decoded there */
    assert_int_equal(t.dirty[0], 1);
    assert_int_equal(t.dirty[1], 1);
    assert_int_equal(t.dirty[2], 0);

    assert_int_equal(tile_write(&t, a->mem_base + 3 * 1024 - 1, block, 2), 1);
    assert_null(t.page[2]);
    assert_null(t.page[3]);
    assert_int_equal(tile_write(&t, a->mem_base + a->region0_bytes - 1, block, 3000), 1);
    assert_null(t.page[pages - 1]);
    assert_non_null(t.page[pages - 2]);
    assert_int_equal(t.dirty[a->region0_bytes >> DIRTY_PAGE_BITS], 1);
    assert_int_equal(t.dirty[(a->region0_bytes >> DIRTY_PAGE_BITS) - 1], 1);
    assert_int_equal(t.dirty[(a->region0_bytes >> DIRTY_PAGE_BITS) + 1], 0);
    zero_tile_free(&t);
}

static void test_host(void **state)
{
    const struct arch *a = ss_arch_preset("toy4");
    uint32_t end = a->mem_base + a->mem_bytes;
    uint8_t in[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, out[9] = { 0 };
    struct tile t;

    (void)state;
    setup(&t, a);
    assert_int_equal(tile_write(&t, end - 9, in, 9), 1);
    assert_int_equal(tile_read(&t, end - 9, out, 9), 1);
    assert_memory_equal(in, out, 9);
    assert_int_equal(t.dirty[(a->mem_bytes - 1) >> DIRTY_PAGE_BITS], 1);
    assert_int_equal(tile_write(&t, end - 8, in, 9), 0);
    assert_int_equal(tile_read(&t, end - 8, out, 9), 0);
    assert_int_equal(tile_read(&t, a->mem_base - 1, out, 1), 0);
    assert_int_equal(tile_read(&t, a->mem_base, out, UINT32_MAX), 0);
    assert_int_equal(tile_write(&t, end, in, 0), 1);
    assert_int_equal(tile_write(&t, end, in, 1), 0);
    assert_int_equal(t.fault.kind, FAULT_NONE);
    zero_tile_free(&t);
}

static void test_init_fails(void **state)
{
    struct arch a = *ss_arch_preset("toy4");
    struct tile t;
    int n = 0;

    (void)state;
    for (;; n++) {
        alloc_test_fail_at(n);
        if (tile_init(&t, &a, 0, NULL) == EMU_OK)
            break;
        assert_int_equal(alloc_live(), 0);
    }
    alloc_test_fail_at(-1);
    tile_free(&t);
    assert_int_equal(alloc_live(), 0);
    assert_int_equal(n, 2);
    a.workers = TILE_WORKERS + 1;
    assert_int_equal(tile_init(&t, &a, 0, NULL), EMU_BAD_MACHINE);
    tile_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_access),
        cmocka_unit_test(test_ragged_end),
        cmocka_unit_test(test_little_endian),
        cmocka_unit_test(test_first_fault),
        cmocka_unit_test(test_conflict_edges),
        cmocka_unit_test(test_conflict_record),
        cmocka_unit_test(test_conflict_random),
        cmocka_unit_test(test_code_pages),
        cmocka_unit_test(test_host),
        cmocka_unit_test(test_init_fails),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
