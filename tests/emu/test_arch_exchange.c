/* test_arch_exchange.c - numbering of tiles, delays and directions of all pairs, machines of other
 * sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "emu/arch/arch_geometry.h"
#include "emu/arch/arch_numbers.h"
#include "emu/base/fail.h"

/* The published formula, written out once more for mk2. */
static int record_delay(int s, int d, unsigned *direction)
{
    int rs = s / 64, cs = s / 4 % 16, hs = cs / 8, ks = cs < 8 ? cs : 15 - cs, bs = s % 2;
    int rd = d / 64, cd = d / 4 % 16, hd = cd / 8, kd = cd < 8 ? cd : 15 - cd, bd = d % 2;
    int l = d % 4, e = l > 1 ? (hd == bd ? 2 : 4) : (hd == l ? 1 : 5);
    int way = 6 * (kd - ks - (hs ^ bs)) + e;
    int local = 8 * hs + cs / 2 % 4, turn = hs == hd ? cs % 8 + 1 : 16 - cs % 8;

    *direction = way < 1 ? 2 : 1;
    return (local - cd + ((cs % 8 / 2) ^ 3)) + 4 * ks + turn - 4 * kd + 2 * (rs - rd) + abs(way) -
           34;
}

static void test_physical_numbering(void **state)
{
    static const char *const names[] = { "mk1", "mk2", "toy64" };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(names); k++) {
        const struct arch *a = ss_arch_preset(names[k]);
        uint32_t found = 0;

        for (uint32_t t = 0; t < a->tiles; t++) {
            uint32_t p = arch_tile_physical(a, t);

            assert_true(p < arch_physical_count(a));
            assert_int_equal(arch_tile_logical(a, p), t); /* so ids are distinct */
            if (arch_exchange_kind(a) == ARCH_EXCHANGE_COLUMNS)
                assert_int_equal(arch_tile_physical(a, t ^ 1), p ^ 2);
            else
                assert_int_equal(p, t);
        }
        for (uint32_t p = 0; p < 0x2000; p++)
            found += arch_tile_logical(a, p) >= 0;
        assert_int_equal(found, a->tiles);
        assert_int_equal(arch_tile_logical(a, UINT32_MAX), -1);
    }
    /* mk2: block 0 goes down the rows, block 1 comes back on the other side of the column. */
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 0), 0);
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 1), 2);
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 2), 64);
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 45), 22 * 64 + 2);
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 46), 22 * 64 + 1);
    assert_int_equal(arch_tile_physical(ss_arch_preset("mk2"), 92), 4);
}

static void test_delays_of_all_pairs(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    int low = 1000, high = -1000, lands_low = 1000, lands_high = -1000, span_low, span_high;
    unsigned wrong = 0, pairs = 0;

    (void)state;
    for (uint32_t s = 0; s < 1472; s++)
        for (uint32_t d = 0; d < 1472; d++) {
            unsigned way, dir = arch_exchange_direction(a, s, d);
            int t = arch_exchange_delay(a, s, d), lands = t + (int)arch_pic_lag(a, d);
            int other = arch_exchange_delay(a, s, d ^ 2);

            pairs += s != d;
            low = t < low ? t : low;
            high = t > high ? t : high;
            lands_low = lands < lands_low ? lands : lands_low;
            lands_high = lands > lands_high ? lands : lands_high;
            wrong += t != record_delay((int)s, (int)d, &way) || dir != way;
            wrong += t - other != 1 && other - t != 1;
            wrong += dir != arch_exchange_direction(a, s, d ^ 2);
            wrong += t != arch_exchange_delay(a, s ^ 2, d);
            wrong += arch_pic_lag(a, d) != 52 + 2 * (d / 64);
        }
    assert_int_equal(pairs, 2165312);
    assert_int_equal(wrong, 0);
    assert_int_equal(low, -78);
    assert_int_equal(high, 112);
    assert_int_equal(lands_low, 18);
    assert_int_equal(lands_high, 164);
    arch_exchange_delay_span(a, &span_low, &span_high);
    assert_int_equal(span_low, low);
    assert_int_equal(span_high, high);
    /* Seen on silicon: all words at event 112 of the receivers; they land 165 to 209 cycles after
     * the sync. */
    assert_int_equal(high + (int)arch_pic_lag(a, 0) + 1, 165);
    assert_int_equal(high + (int)arch_pic_lag(a, 1471) + 1, 209);
}

static void test_span_of_part_machines(void **state)
{
    static const uint32_t sizes[] = { 2, 46, 48, 90, 92, 94, 480, 736, 1000, 1216 };
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(sizes); k++) {
        int low, high, min = 1000, max = -1000;

        a.tiles = sizes[k];
        assert_int_equal(ss_arch_check(&a), EMU_OK);
        for (uint32_t i = 0; i < a.tiles; i++)
            for (uint32_t j = 0; j < a.tiles; j++) {
                int t =
                    arch_exchange_delay(&a, arch_tile_physical(&a, i), arch_tile_physical(&a, j));

                min = t < min ? t : min;
                max = t > max ? t : max;
            }
        arch_exchange_delay_span(&a, &low, &high);
        assert_int_equal(low, min);
        assert_int_equal(high, max);
        /* The first tiles of the full machine, nothing else. */
        assert_int_equal(arch_tile_physical(&a, a.tiles - 1),
                         arch_tile_physical(ss_arch_preset("mk2"), a.tiles - 1));
        assert_int_equal(arch_tile_logical(&a, arch_tile_physical(ss_arch_preset("mk2"), a.tiles)),
                         -1);
    }
}

static void test_flat_exchange(void **state)
{
    const struct arch *a = ss_arch_preset("toy16");
    int low, high;

    (void)state;
    for (uint32_t s = 0; s < a->tiles; s++)
        for (uint32_t d = 0; d < a->tiles; d++) {
            assert_int_equal(arch_exchange_delay(a, s, d), 10);
            assert_int_equal(arch_exchange_direction(a, s, d), 3);
            assert_int_equal(arch_pic_lag(a, d), 0);
        }
    arch_exchange_delay_span(a, &low, &high);
    assert_int_equal(low, 10);
    assert_int_equal(high, 10);
}

static void test_rows_grow(void **state)
{
    struct arch a = *ss_arch_preset("mk2");

    (void)state;
    assert_int_equal(ss_arch_set(&a, "tiles=736"), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 23);
    assert_int_equal(ss_arch_set(&a, "tiles=1474"), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 24);
    assert_int_equal(arch_host_source(&a), 0x600); /* 24 rows still end below it */
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    assert_int_equal(ss_arch_set(&a, "tiles=2944"), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 46);
    assert_int_equal(arch_host_source(&a), 46 * 64);
    assert_int_equal(a.null_source, 46 * 64 + 64);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    for (uint32_t t = 0; t < a.tiles; t++)
        assert_int_equal(arch_tile_logical(&a, arch_tile_physical(&a, t)), t);
    assert_int_equal(ss_arch_set(&a, "tiles=8064"), EMU_OK);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    /* Sources that are not in the way stay where they were put. */
    a = *ss_arch_preset("mk2");
    assert_int_equal(ss_arch_set(&a, "null_source=0x700"), EMU_OK);
    assert_int_equal(ss_arch_set(&a, "tiles=1536"), EMU_OK);
    assert_int_equal(arch_host_source(&a), 0x600);
    assert_int_equal(a.null_source, 0x700);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    /* A flat machine has no rows to grow until it gets columns. */
    a = *ss_arch_preset("toy4");
    assert_int_equal(ss_arch_set(&a, "tiles=1601"), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 23);
    assert_int_equal(arch_host_source(&a), 1664);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
    assert_int_equal(ss_arch_set(&a, "tiles=1602"), EMU_OK);
    assert_int_equal(ss_arch_set(&a, "exchange_kind=columns"), EMU_OK);
    assert_int_equal(arch_exchange_rows(&a), 26);
    assert_int_equal(ss_arch_check(&a), EMU_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_physical_numbering),
        cmocka_unit_test(test_delays_of_all_pairs),
        cmocka_unit_test(test_span_of_part_machines),
        cmocka_unit_test(test_flat_exchange),
        cmocka_unit_test(test_rows_grow),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
