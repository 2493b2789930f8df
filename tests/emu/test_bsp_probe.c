/* test_bsp_probe.c - g and l: what the numbers of a machine say they must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/arch/arch_numbers.h"
#include "emu/arch/arch_geometry.h"
#include "emu/base/alloc.h"
#include "emu/base/disk_cache.h"
#include "emu/job/bsp_probe.h"

static struct bsp_cost probe(const struct arch *a, unsigned threads)
{
    struct bsp_cost c;

    if (bsp_probe(a, threads, &c) != EMU_OK)
        fail_msg("%s", ss_error());
    return c;
}

static struct arch machine(const char *name, const char *set)
{
    struct arch a = *ss_arch_preset(name);

    if (set && (ss_arch_set(&a, set) != EMU_OK || ss_arch_check(&a) != EMU_OK))
        fail_msg("%s", ss_error());
    return a;
}

static void near(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        fail_msg("%g is not %g", a, b);
}

/* A tile receives a word a cycle; a sync that costs more makes every superstep so much longer. */
static void small_machines(void **state)
{
    static const char *const name[] = { "toy4", "toy16", "toy64" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(name); i++) {
        struct arch a = machine(name[i], NULL), b = a;
        struct bsp_cost c = probe(&a, 1), d;

        near(c.g, 1);
        assert_true(c.l > a.sync_chip_cycles);
        assert_true(c.l < a.sync_chip_cycles + 200);
        b.sync_chip_cycles += 77;
        d = probe(&b, 2);
        near(d.g, 1);
        near(d.l, c.l + 77);
        b.number[ARCH_NUMBER_exchange_clash] =
            ARCH_CLASH_FAULT; /* which the probe itself would meet */
        near(probe(&b, 1).l, d.l);
    }
}

/* docs/lab.md 9: sync and the way to the farthest tile are 284. */
static void a_chip(void **state)
{
    struct arch a = machine("mk2", NULL);
    struct bsp_cost c = probe(&a, 0);

    (void)state;
    near(c.g, 1);
    near(c.l, 283);
}

/* Two chips of toy64 on four links of 16,000 MB/s, of whose bytes 0.85 are payload: a word of a
 * chip takes its share of them, and a sync of chips costs what the machine says. */
static void between_chips(void **state)
{
    struct arch a = machine("toy64", "chips=2"), b = a;
    double rate = 4 * 16000e6 * 0.85 / (a.clock_mhz * 1e6);
    struct bsp_cost c, d;

    (void)state;
    assert_int_equal(bsp_probe_chips(&a, 1, &c), EMU_OK);
    if (fabs(c.g - 4 / rate) > 0.02 * 4 / rate)
        fail_msg("a word takes %g cycles, expected %g", c.g, 4 / rate);
    assert_true(c.l >
                arch_sync_chips_cycles(&a) + ss_arch_cycles_from_ns(&a, arch_link_latency_ns(&a)));
    b.number[ARCH_NUMBER_sync_chips_cycles] += 77;
    assert_int_equal(bsp_probe_chips(&b, 2, &d), EMU_OK);
    near(d.g, c.g);
    near(d.l, c.l + 77);
    near(probe(&a, 1).l, probe(ss_arch_preset("toy64"), 1).l); /* one chip of them */
}

static void one_tile(void **state)
{
    struct arch a = machine("toy4", "tiles=1");
    struct bsp_cost c;

    (void)state;
    c = probe(&a, 1);
    near(c.g, 0);
    assert_true(c.l >= a.sync_chip_cycles);
}

static struct bsp_cost kept(const struct arch *a, const char *folder)
{
    struct bsp_cost c;

    if (bsp_cost_of(a, 1, folder, &c) != EMU_OK)
        fail_msg("%s", ss_error());
    return c;
}

/* The key of the only entry of a cache. */
static struct hash128 only_key(const struct disk_cache *c)
{
    struct disk_cache_item *item;
    unsigned long long hi, lo;
    size_t n;

    assert_int_equal(disk_cache_list(c, &item, &n), EMU_OK);
    assert_int_equal(n, 1);
    assert_int_equal(sscanf(item[0].name, "%16llx%16llx.bsp", &hi, &lo), 2);
    ss_free(item);
    return (struct hash128){ .lo = lo, .hi = hi };
}

/* What was probed is kept for every machine, and then it is not probed again: another answer in the
 * cache is believed. */
static void the_cache(void **state)
{
    struct arch a = machine("toy4", NULL), b = machine("toy4", "sync_chip_cycles=100");
    char dir[] = "/tmp/test_bsp_probe_XXXXXX", command[64];
    const struct bsp_cost other = { 3, 5 };
    struct disk_cache_writer w;
    struct disk_cache cache;
    enum emu_status s;

    (void)state;
    assert_non_null(mkdtemp(dir));
    cache = disk_cache_of(dir);
    near(kept(&a, dir).l, probe(&a, 1).l);
    s = disk_cache_begin(&cache, only_key(&cache), "bsp", "", &w);
    assert_int_equal(s, EMU_OK);
    fwrite(&other, sizeof(other), 1, output_stream(w.out));
    assert_int_equal(disk_cache_end(&cache, &w, EMU_OK), EMU_OK);
    near(kept(&a, dir).g, 3);
    near(kept(&a, dir).l, 5);
    near(kept(&b, dir).l, probe(&b, 1).l);
    near(kept(&a, "").l, probe(&a, 1).l);
    near(kept(&a, "/dev/null").l, probe(&a, 1).l); /* nothing can be kept there */
    snprintf(command, sizeof(command), "rm -r %s", dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_machines), cmocka_unit_test(a_chip),
        cmocka_unit_test(between_chips),  cmocka_unit_test(one_tile),
        cmocka_unit_test(the_cache),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
