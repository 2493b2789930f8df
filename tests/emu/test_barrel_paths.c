/* test_barrel_paths.c - programs made for the fast paths of the barrel: bodies of repeats, loads
 * and stores at packed addresses that leave memory in any iteration, code across the borders of
 * decoded pages, workers apart, loads of weights. Stopped at any cycle, the tile is that of the
 * plain path.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/base/random.h"
#include "tests/fixtures/tile_fixture.h"

enum { TEXT_BYTES = 4096 };

/* Ordinary f16 in all of region 1, in the weights and in the partial sums. */
static void fill(struct tile *t)
{
    uint64_t seed = 20;

    for (uint32_t off = t->region0_bytes; off < t->mem_bytes; off += 4) {
        uint32_t v = 0x3c00b800u ^ random_below(&seed, 1 << 10) << 16 ^ random_below(&seed, 1024);

        memcpy(t->mem + off, &v, 4);
    }
    memcpy(t->weight, t->mem + t->region0_bytes, sizeof(t->weight));
    t->weight_generation++;
    for (unsigned lane = 0; lane < TILE_WORKERS; lane++)
        for (unsigned a = 0; a < 8; a++)
            t->a[a][lane] = 0x3c003800u + 0x10001 * (8 * lane + a);
}

static enum barrel_stop run_to(struct tile_fixture *r, int plain, uint64_t limit)
{
    tile_fixture_reset(r, &(struct barrel_options){ .plain = plain });
    fill(r->tile);
    return barrel_run(&r->barrel, r->tile, tile_fixture_symbol(r, "stop"), limit);
}

static void compare(const struct tile_fixture *f, const struct tile_fixture *p)
{
    const struct tile *a = f->tile, *b = p->tile;

    assert_int_equal(a->fault.kind, b->fault.kind);
    assert_int_equal(a->fault.pc, b->fault.pc);
    assert_int_equal(a->fault.lane, b->fault.lane);
    assert_int_equal(a->fault.addr, b->fault.addr);
    assert_int_equal(a->fault.cycle, b->fault.cycle);
    assert_memory_equal(a->m, b->m, sizeof(a->m));
    assert_memory_equal(a->a, b->a, sizeof(a->a));
    assert_memory_equal(a->acc, b->acc, sizeof(a->acc));
    assert_memory_equal(a->weight, b->weight, sizeof(a->weight));
    assert_memory_equal(a->pc, b->pc, sizeof(a->pc));
    assert_memory_equal(a->rpt_count, b->rpt_count, sizeof(a->rpt_count));
    assert_int_equal(a->cccsload, b->cccsload);
    assert_memory_equal(a->mem, b->mem, a->mem_bytes);
    assert_memory_equal(a->dirty, b->dirty, a->mem_bytes >> DIRTY_PAGE_BITS);
    assert_int_equal(f->barrel.cycle, p->barrel.cycle);
    assert_int_equal(f->barrel.running, p->barrel.running);
    assert_memory_equal(f->barrel.next, p->barrel.next, sizeof(f->barrel.next));
    assert_memory_equal(f->barrel.issued, p->barrel.issued, sizeof(f->barrel.issued));
    assert_memory_equal(f->barrel.instructions, p->barrel.instructions,
                        sizeof(f->barrel.instructions));
}

/* Runs a program to its end, or to its fault, and to cycles before it. */
static void expect_equal(const char *text, enum barrel_stop end, unsigned step)
{
    struct tile_fixture *fast = tile_fixture_new("mk2", text);
    struct tile_fixture *plain = tile_fixture_new("mk2", text);
    uint64_t cycles;

    assert_int_equal(run_to(plain, 1, UINT64_MAX), end);
    assert_int_equal(run_to(fast, 0, UINT64_MAX), end);
    compare(fast, plain);
    cycles = end == BARREL_FAULT ? plain->tile->fault.cycle : plain->barrel.cycle;
    for (uint64_t limit = 1; limit < cycles; limit += step) {
        assert_int_equal(run_to(fast, 0, limit), run_to(plain, 1, limit));
        compare(fast, plain);
    }
    tile_fixture_free(fast);
    tile_fixture_free(plain);
}

#define LAUNCH                                                                                     \
    "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n .align 8\n .space %u\n"

/* Inputs, partial sums and results of worker n lie n << %u bytes after three addresses. The step
 * stores what the one before left in the registers it writes itself. */
static const char matrix[] = LAUNCH
    "w: setzi $m8, 0x%x / 2\n setzi $m9, 0x%x / 2\n setzi $m10, 0x%x / 2\n shl $m8, $m8, 1\n"
    "shl $m9, $m9, 1\n shl $m10, $m10, 1\n get $m1, $WSR\n"
    "and $m1, $m1, 7\n shl $m2, $m1, %u\n add $m8, $m8, $m2\n add $m9, $m9, $m2\n"
    "add $m10, $m10, $m2\n tapack $m4:5, $m8, $m9, $m10\n setzi $m3, %u\n nop\n rpt $m3, 4\n"
    "{ ld2xst64pace $a0:3, $a4:5, $m4:5+=, $mzero, 0; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 0 }\n"
    "{ ld2xst64pace $a0:3, $a4:5, $m4:5+=, $mzero, 0; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 1 }\n"
    "{ ldst64pace $a0:1, $a4:5, $m4:5+=, $mzero, 0; f16v4hihov4slic $a4:5, $a0:1, $a2:3, 1 }\n"
    "{ st64pace $a4:5, $m4:5+=, $mzero, 0; f16v2add $a4, $a0, $a1 }\n"
    "{ nop; f32exp $a6, $a7 }\n exitz $mzero\n";

static void test_repeat_bodies(void **state)
{
    char text[TEXT_BYTES];

    (void)state;
    /* the body begins at any place before the border of a page, and after it */
    for (unsigned space = 896; space < 1000; space += 8) {
        snprintf(text, sizeof(text), matrix, space, 0x8c000, 0xac000, 0xb4008, 9, 5);
        expect_equal(text, BARREL_HALT, 101);
    }
    snprintf(text, sizeof(text), matrix, 8, 0x8c000, 0xac000, 0xb4008, 9, 5);
    expect_equal(text, BARREL_HALT, 1);
}

/* Address 0, 1 or 2 of the last worker leaves memory in iteration k of five. */
static void test_packed_addresses_leave_memory(void **state)
{
    const uint32_t end = 0xe8000 - 5 * 0x200;
    char text[TEXT_BYTES];

    (void)state;
    for (unsigned k = 0; k < 20; k++) {
        uint32_t at = end - 8 * k;

        snprintf(text, sizeof(text), matrix, 8, 0x8c000, 0xac000 + (k & 1 ? 0 : 8), at, 9, 5);
        expect_equal(text, BARREL_FAULT, 29);
        snprintf(text, sizeof(text), matrix, 8, 0x8c000, at, 0xb4000 + (k & 1 ? 0 : 8), 9, 12);
        expect_equal(text, BARREL_FAULT, 97);
        snprintf(text, sizeof(text), matrix, 8, at, 0xac000, 0xb4008, 9, 12);
        expect_equal(text, BARREL_FAULT, 97);
    }
    /* below memory, misaligned, two accesses in one element, the second load from region 0, an
       address that wraps at 2^21 */
    static const uint32_t bad[][3] = {
        { 0x8, 0xac000, 0xb4008 },      { 0x8c004, 0xac000, 0xb4008 },
        { 0x8c000, 0xac000, 0xac010 },  { 0x8c000, 0x5c000, 0xb4008 },
        { 0x8c000, 0xac000, 0x1ffff8 },
    };

    for (size_t i = 0; i < EMU_COUNT_OF(bad); i++) {
        snprintf(text, sizeof(text), matrix, 8, bad[i][0], bad[i][1], bad[i][2], 9, 5);
        expect_equal(text, BARREL_FAULT, 13);
    }
    /* stores to what the next worker loads in that round */
    snprintf(text, sizeof(text), matrix, 8, 0x8c040, 0xa4100, 0x94028, 15, 5);
    expect_equal(text, BARREL_HALT, 13);
}

/* Even workers in one body, odd ones in another: first equal main halves, then different ones,
 * which all store what aux halves overwrite. */
static void test_workers_apart(void **state)
{
    static const char text[] =
        "start: setzi $m0, w\n runall $m0, $mzero, 0\n sync 2\n stop: nop\n .align 8\n"
        "w: setzi $m8, 0x8c000\n setzi $m9, 0xac000\n setzi $m10, 0xb4008\n get $m1, $WSR\n"
        "and $m1, $m1, 7\n shl $m2, $m1, 9\n add $m8, $m8, $m2\n add $m9, $m9, $m2\n"
        "add $m10, $m10, $m2\n tapack $m4:5, $m8, $m9, $m10\n add $m3, $m1, 9\n and $m1, $m1, 1\n"
        "brz $m1, even\n"
        "rpt $m3, 1\n"
        "{ ldst64pace $a0:1, $a4:5, $m4:5+=, $mzero, 0; f16v4hihov4slic $a4:5, $a0:1, $a2:3, 1 }\n"
        "{ ldst64pace $a2:3, $a6:7, $m4:5+=, $mzero, 0; f16v2add $a6, $a2, $a1 }\n exitz $mzero\n"
        "even: rpt $m3, 1\n"
        "{ ldst64pace $a0:1, $a4:5, $m4:5+=, $mzero, 0; f16v4hihov4slic $a4:5, $a0:1, $a2:3, 0 }\n"
        "{ ld2xst64pace $a0:3, $a6:7, $m4:5+=, $mzero, 0; f16v4hihov4amp $a6:7, $a0:1, $a2:3, 0 }\n"
        "exitz $mzero\n";

    (void)state;
    expect_equal(text, BARREL_HALT, 1);
}

/* Worker 0 stores over code of the next page that lies so near that it was decoded with this one;
 * the page runs into it. */
static void test_store_into_the_next_page(void **state)
{
    static const char format[] =
        LAUNCH "w: setzi $m3, patch\n setzi $m4, new\n ld32 $m2, $m4, $mzero, 0\n get $m1, $WSR\n"
               "and $m1, $m1, 7\n brnz $m1, on\n st32 $m2, $m3, $mzero, 0\n"
               "on: .rept 24\n add $m6, $m6, 1\n .endr\n patch: add $m5, $m5, 1\n exitz $mzero\n"
               "new: add $m5, $m5, 16\n";
    char text[TEXT_BYTES];

    (void)state;
    for (unsigned space = 864; space < 1024; space += 16) {
        struct tile_fixture *r;

        snprintf(text, sizeof(text), format, space);
        expect_equal(text, BARREL_HALT, 37);
        r = tile_fixture_new("mk2", text);
        assert_int_equal(run_to(r, 0, UINT64_MAX), BARREL_HALT);
        assert_int_equal(r->tile->m[5][0], 16);
        tile_fixture_free(r);
    }
}

/* Loads of weights one after the other: up to the end of memory, of an entry that does not exist,
 * and while workers still hold their slots. */
static void test_weight_loads(void **state)
{
    static const char format[] =
        "start: ldconst $m1, 0x%x\n put $CCCSLOAD, $m1\n %s"
        "ld128putcs 0\n ld128putcs 2\n ld128putcs 62\n ld128putcs 8\n ld128putcs %u\n"
        "ld64putcs 5\n ld64putcs 6\n ld128putcs 32\n ld128putcs 34\n sync 2\n stop: nop\n"
        "w: nop\n nop\n exitz $mzero\n";
    static const char *const before[] = { "", "setzi $m0, w\n run $m0, $mzero, 0\n",
                                          "setzi $m0, w\n runall $m0, $mzero, 0\n" };
    char text[TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(before); i++) {
        snprintf(text, sizeof(text), format, 0x8c100, before[i], 10);
        expect_equal(text, BARREL_HALT, 1);
        for (unsigned entry = 9; entry < 256; entry += 55) {
            snprintf(text, sizeof(text), format, 0x8c100, before[i], entry);
            expect_equal(text, BARREL_FAULT, 1);
        }
        for (unsigned k = 0; k < 8; k++) {
            snprintf(text, sizeof(text), format, 0xe8000 - 16 * k, before[i], 10);
            expect_equal(text, BARREL_FAULT, 1);
        }
        snprintf(text, sizeof(text), format, 0x8c008, before[i], 10);
        expect_equal(text, BARREL_FAULT, 1);
        snprintf(text, sizeof(text), format, 0x7fff0, before[i], 10);
        expect_equal(text, BARREL_FAULT, 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeat_bodies), cmocka_unit_test(test_packed_addresses_leave_memory),
        cmocka_unit_test(test_workers_apart), cmocka_unit_test(test_store_into_the_next_page),
        cmocka_unit_test(test_weight_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
