/* test_codelets_reduce.c - sums and maxima: of partial results, with a bias, over positions, of all
 * elements; bit by bit against the references, cycles against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"

static const uint32_t sizes[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,   9,   10,  11,  12,   13,  16,
                                  23, 24, 25, 26, 47, 48, 49, 96, 100, 101, 250, 256, 1001, 2400 };

/* Turns seed, layout and tameness. */
static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    c->tame = c->seed / LAYOUTS % 2;
}

/* ---- partial results ---- */

static void reduce_all(const char *name)
{
    static const uint32_t p[] = { 1, 2, 3, 5, 16, 33 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("reduce", 1);

    for (size_t i = 0; i < 3 * (EMU_COUNT_OF(sizes) - 2) * EMU_COUNT_OF(p); i++) {
        uint32_t n = sizes[i / 3 / EMU_COUNT_OF(p)];

        next_case(&c);
        c.value[reduce__p] = p[i / 3 % EMU_COUNT_OF(p)];
        c.elements[reduce__partials] = n * c.value[reduce__p];
        c.elements[reduce__out] = n;
        c.phase[reduce__partials] =
            rig->codelet->field[reduce__partials].align == 8 ? c.seed / 5 % 2 * 8 : 0;
        c.phase[reduce__out] = c.seed % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_reduce(void **state)
{
    (void)state;
    reduce_all("reduce_sum_f16_f16");
    reduce_all("reduce_sum_f16_f32");
    reduce_all("reduce_sum_f32_f32");
    reduce_all("reduce_sumsq_f16_f16");
    reduce_all("reduce_sumsq_f16_f32");
    reduce_all("reduce_sumsq_f32_f32");
    reduce_all("reduce_max_f16_f16");
    reduce_all("reduce_max_f16_f32");
    reduce_all("reduce_max_f32_f32");
}

/* Sums of an even number of columns. */
static const uint32_t pairs_n[] = { 0, 2, 4, 8, 10, 12, 14, 24, 26, 250 };
static const uint32_t pairs_p[] = { 0, 1, 2, 5, 33 };

static void test_reduce_pairs(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "reduce_pairs_f32");
    struct codelet_case c = codelet_case("pairs", 1);

    (void)state;
    for (size_t i = 0; i < 4 * EMU_COUNT_OF(pairs_n) * EMU_COUNT_OF(pairs_p); i++) {
        next_case(&c);
        c.value[reduce_pairs__p] = pairs_p[i / 4 % EMU_COUNT_OF(pairs_p)];
        c.elements[reduce_pairs__out] = pairs_n[i / 4 / EMU_COUNT_OF(pairs_p)];
        c.elements[reduce_pairs__partials] =
            c.elements[reduce_pairs__out] * c.value[reduce_pairs__p];
        c.phase[reduce_pairs__partials] = c.seed / 2 % 2 * 8;
        c.phase[reduce_pairs__out] = c.seed % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_reduce_own(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "reduce_own_f32");
    struct codelet_case c = codelet_case("own", 1);

    (void)state;
    for (size_t i = 0; i < 5 * EMU_COUNT_OF(pairs_n) * EMU_COUNT_OF(pairs_p); i++) {
        uint32_t others = pairs_p[i / 5 % EMU_COUNT_OF(pairs_p)];

        next_case(&c);
        c.value[reduce_own__before] = others * (uint32_t)(i % 5) / 4;
        c.value[reduce_own__p] = others - c.value[reduce_own__before];
        c.elements[reduce_own__own] = c.elements[reduce_own__out] =
            pairs_n[i / 5 / EMU_COUNT_OF(pairs_p)];
        c.elements[reduce_own__partials] = c.elements[reduce_own__out] * others;
        c.phase[reduce_own__partials] = c.seed / 2 % 2 * 8;
        c.phase[reduce_own__own] = c.seed / 4 % 2 * 8;
        c.phase[reduce_own__out] = c.seed % 2 * 8;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void reduce_bias_all(const char *name)
{
    static const uint32_t partials[] = { 1, 2, 3, 4, 8, 17 };
    static const uint32_t positions[] = { 0, 1, 2, 3, 4, 5, 6, 7, 13, 24, 64, 100 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("reduce", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(partials) * EMU_COUNT_OF(positions); i++) {
        uint32_t p = partials[i / EMU_COUNT_OF(positions)];
        uint32_t n = 16 * positions[i % EMU_COUNT_OF(positions)];

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.elements[reduce_bias__partials] = p * n;
        c.elements[reduce_bias__bias] = 16;
        c.elements[reduce_bias__out] = n;
        c.phase[reduce_bias__bias] = c.seed % 2 * 8;
        c.phase[reduce_bias__out] = c.seed / 2 % 2 * 8;
        c.value[reduce_bias__p] = p;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_reduce_bias(void **state)
{
    (void)state;
    reduce_bias_all("reduce_bias_f16");
    reduce_bias_all("reduce_bias_relu_f16");
    reduce_bias_all("reduce_bias_swish_f16");
    reduce_bias_all("reduce_bias_f32");
    reduce_bias_all("reduce_bias_relu_f32");
    reduce_bias_all("reduce_bias_swish_f32");
}

static void sum_all(const char *name, int scaled)
{
    static const uint32_t partials[] = { 1, 2, 3, 8, 17, 100 };
    static const uint32_t columns[] = { 0, 1, 2, 5, 6, 7, 12, 13, 30, 43 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("sums", 1);

    for (unsigned i = 0; i < EMU_COUNT_OF(partials) * EMU_COUNT_OF(columns); i++) {
        uint32_t p = partials[i / EMU_COUNT_OF(columns)];
        uint32_t n = 4 * columns[i % EMU_COUNT_OF(columns)];

        c.seed++;
        c.layout = (enum kernel_layout)(i % LAYOUTS);
        c.tame = c.seed % 4 != 0;
        c.elements[sum_bias__partials] = p * n;
        c.elements[sum_bias__bias] = scaled ? 0 : n;
        c.elements[sum_bias__out] = n;
        c.phase[sum_bias__bias] = c.seed % 2 * 8;
        c.phase[sum_bias__out] = c.seed / 2 % 2 * 8;
        c.value[sum_scale__scale] = scaled ? 0x3de38e39 : 0; /* 1 / 9 */
        c.value[sum_bias__p] = p;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_sum_bias(void **state)
{
    (void)state;
    sum_all("sum_scale_f16", 1);
    sum_all("sum_bias_f16", 0);
    sum_all("sum_bias_relu_f16", 0);
    sum_all("sum_bias_swish_f16", 0);
    sum_all("sum_bias_sigmoid_f16", 0);
}

/* ---- all elements ---- */

static void total_all(const char *name)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("total", 1);

    c.elements[total__out] = rig->arch.workers;
    for (uint32_t i = 0; i < 200; i++) {
        uint64_t cycles;

        next_case(&c);
        c.elements[total__x] = i < 110 ? i : i * 11;
        c.phase[total__x] = i % 2 * 8;
        c.phase[total__out] = i % 4 * 4;
        cycles = kernel_fixture_call(rig, &c);
        assert_int_equal(
            cycles, total_cycles_at(&rig->call, rig->codelet, kernel_fixture_at(rig, total__x)));
    }
    kernel_fixture_free(rig);
}

static void test_total(void **state)
{
    (void)state;
    total_all("total_sum_f16");
    total_all("total_sum_f32");
    total_all("total_sumsq_f16");
    total_all("total_sumsq_f32");
    total_all("total_max_f16");
    total_all("total_max_f32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce),     cmocka_unit_test(test_reduce_pairs),
        cmocka_unit_test(test_reduce_own), cmocka_unit_test(test_reduce_bias),
        cmocka_unit_test(test_sum_bias),   cmocka_unit_test(test_total),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
