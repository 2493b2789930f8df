/* test_validate.c - the figures that `superstep validate` measures quickly, held to what silicon
 * does; their names; what the host adds to a run.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/fail.h"
#include "models/answer/host_cost.h"
#include "models/ask/model_request.h"
#include "models/validate/validate.h"

OPTION_READ(NUMBER, threads)

static double measured(measure_figure *measure)
{
    struct request m = { .use = USE_VALIDATE };
    struct validation v = { .q = &m };
    struct outcome o = { 0 };

    m.value[OPTION_NUMBER_threads].number = 2;
    assert_int_equal(measure(&v, &o), EMU_OK);
    assert_string_equal(o.skipped, "");
    return o.value;
}

static void test_matrix_call(void **state)
{
    (void)state;
    assert_true(fabs(measured(amp_slope) - 3.99996) < 0.01);
    assert_true(fabs(measured(amp_call) - 293) < 2); /* of a program, with its start, 336 */
}

/* The nearest and the farthest tile: 112 events, the mux's, 52 + 2 x row to memory. */
static void test_exchange(void **state)
{
    (void)state;
    assert_true(measured(exchange_first) == 112 + 52);
    assert_true(measured(exchange_last) == 112 + 52 + 2 * 22);
}

static void test_sync_and_superstep(void **state)
{
    double cycles;

    (void)state;
    assert_true(measured(sync_chip) == 64);
    cycles = measured(superstep_overhead);
    assert_true(cycles > 120 && cycles < 200);
}

/* Without what a figure needs it is skipped, by name. */
static void test_skipped(void **state)
{
    measure_figure *const needy[] = { amp_poplibs_slope, layers_all, batch_b4, training };
    static const char *const needs[] = { "--poplibs DIR", "--all", "--all", "pipelines" };
    struct request m = { .use = USE_VALIDATE };
    struct validation v = { .q = &m };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(needy); i++) {
        struct outcome o = { 0 };

        assert_int_equal(needy[i](&v, &o), EMU_OK);
        assert_non_null(strstr(o.skipped, needs[i]));
    }
}

static void test_names(void **state)
{
    static const char *const id[] = {
#define FIGURE(id, ...) #id,
#include "models/answer/published.def"
#include "models/ask/model_request.h"
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(id); i++) {
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(id[i], id[k]);
    }
}

/* 380 x 380 in three colours, f16, over 5,500 MB/s and 10 us; 1,000 scores; two syncs of 1,500
 * cycles at 1,330 MHz. */
static void test_host_cost(void **state)
{
    struct model_facts f = { .batch = 1, .input_bytes = 2 * 3 * 380 * 380, .output_bytes = 2000 };
    struct host_cost c = host_cost_of(ss_arch_preset("mk2"), &f);

    (void)state;
    assert_int_equal(c.input_bytes, 866400);
    assert_int_equal(c.output_bytes, 2000);
    assert_true(fabs(c.launch - 3000 / 1330e6) < 1e-12);
    assert_true(fabs(c.input - (10e-6 + 866400 / 5500e6)) < 1e-12);
    assert_true(fabs(host_cost_seconds(&c) - c.launch - c.input - c.output) < 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix_call),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_sync_and_superstep),
        cmocka_unit_test(test_skipped),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_host_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
