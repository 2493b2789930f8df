/* test_bsp_probe.c - g and l: what the numbers of a machine say they must be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "emu/arch/arch.h"
#include "emu/arch/arch_geometry.h"
#include "emu/job/bsp_probe.h"

static struct bsp_cost probe(const struct arch *a, unsigned threads)
{
    struct bsp_cost c;

    if (bsp_probe(a, threads, &c) != EMU_OK)
        fail_msg("%s", emu_error());
    return c;
}

static struct arch machine(const char *name, const char *set)
{
    struct arch a = *arch_preset(name);

    if (set && (arch_set(&a, set) != EMU_OK || arch_check(&a) != EMU_OK))
        fail_msg("%s", emu_error());
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

static void one_tile(void **state)
{
    struct arch a = machine("toy4", "tiles=1");
    struct bsp_cost c;

    (void)state;
    c = probe(&a, 1);
    near(c.g, 0);
    assert_true(c.l >= a.sync_chip_cycles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_machines),
        cmocka_unit_test(a_chip),
        cmocka_unit_test(one_tile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
