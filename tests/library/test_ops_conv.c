/* test_ops_conv.c - every method of a convolution on small machines against plain C. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/nn_rig.h"

static void test_gemm(void **state)
{
    static const struct conv_test t[] = {
        { "toy4", 0, 1, 16, 3, 4, 16, 1, 1, 1, 0, 0, ACT_NONE, 0 },
        { "toy16", 0, 1, 40, 6, 5, 24, 1, 1, 1, 0, 0, ACT_SWISH, 0 },
        { "toy16", 0, 2, 48, 5, 5, 80, 1, 1, 1, 0, 0, ACT_RELU, 0 },
        { "toy64", 0, 1, 160, 6, 6, 48, 1, 1, 1, 0, 0, ACT_NONE, 1 },
        { "toy64", 0, 1, 512, 3, 3, 32, 1, 1, 1, 0, 0, ACT_SWISH, 1 },
        { "toy4", 0, 1, 16, 7, 7, 32, 1, 1, 1, 0, 0, ACT_NONE, 1 },
        { "toy16", 0, 1, 32, 7, 7, 32, 1, 2, 1, 0, 0, ACT_NONE, 0 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

static void test_depthwise(void **state)
{
    static const struct conv_test t[] = {
        { "mk2", 16, 1, 16, 6, 6, 16, 3, 1, 16, 1, 1, ACT_NONE, 0 },
        { "mk2", 16, 1, 40, 9, 7, 40, 3, 1, 40, 1, 1, ACT_SWISH, 0 },
        { "mk2", 16, 2, 32, 8, 8, 32, 5, 1, 32, 2, 2, ACT_SWISH, 0 },
        { "mk2", 16, 1, 32, 8, 8, 32, 3, 2, 32, 0, 1, ACT_NONE, 0 },
        { "mk2", 16, 1, 48, 11, 11, 48, 5, 2, 48, 2, 2, ACT_SWISH, 0 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

static void test_first(void **state)
{
    static const struct conv_test t[] = {
        { "toy4", 0, 1, 3, 8, 8, 16, 3, 2, 1, 0, 1, ACT_NONE, 0 },
        { "toy16", 0, 2, 3, 13, 12, 48, 3, 2, 1, 1, 1, ACT_SWISH, 0 },
        { "toy16", 0, 1, 3, 17, 19, 32, 7, 2, 1, 3, 3, ACT_RELU, 0 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* ---- by windows ---- */

static void test_window_groups(void **state)
{
    static const struct conv_test t[] = {
        { "toy4", 0, 1, 32, 6, 6, 32, 3, 1, 2, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 48, 9, 7, 48, 3, 1, 3, 1, 1, ACT_SWISH, 0 },
        { "toy16", 0, 2, 64, 8, 8, 64, 5, 1, 4, 2, 2, ACT_NONE, 0 },
        { "toy16", 0, 1, 32, 8, 8, 32, 3, 2, 2, 0, 1, ACT_SWISH, 0 },
        { "toy64", 0, 1, 48, 11, 10, 48, 5, 2, 3, 2, 2, ACT_RELU, 0 },
        { "toy16", 0, 1, 64, 5, 5, 64, 3, 1, 2, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 32, 5, 5, 64, 3, 1, 2, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 64, 7, 7, 64, 1, 2, 4, 0, 0, ACT_NONE, 0 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* Groups that are no whole blocks of 16 channels: joined in pairs, in fours, to one. */
static void test_joined_groups(void **state)
{
    static const struct conv_test t[] = {
        { "toy16", 0, 1, 40, 7, 6, 40, 3, 1, 2, 1, 1, ACT_SWISH, 0 },
        { "toy16", 0, 3, 56, 6, 6, 56, 3, 2, 2, 0, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 64, 6, 5, 64, 3, 1, 8, 1, 1, ACT_RELU, 0 },
        { "toy64", 0, 2, 160, 5, 5, 80, 3, 1, 8, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 32, 5, 5, 32, 1, 1, 4, 0, 0, ACT_NONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        uint32_t groups = conv(&t[i]).shape.groups;

        assert_true(groups < t[i].groups && (groups == 1 || t[i].c / groups % 16 == 0));
    }
}

/* Small fields of large kernels: tiles take rows of the kernel. */
static void test_window_rows(void **state)
{
    static const struct conv_test t[] = {
        { "toy64", 0, 1, 32, 4, 4, 32, 5, 1, 2, 2, 2, ACT_SWISH, 0 },
        { "toy64", 0, 1, 64, 3, 3, 64, 5, 1, 2, 2, 2, ACT_NONE, 1 },
        { "toy64", 0, 1, 32, 7, 7, 32, 5, 2, 2, 2, 2, ACT_RELU, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        assert_true(conv(&t[i]).cut_in > 1);
}

static void test_window_dense(void **state)
{
    static const struct conv_test t[] = {
        { "toy4", 0, 1, 16, 6, 6, 16, 3, 1, 1, 1, 1, ACT_RELU, 0 },
        { "toy16", 0, 2, 40, 7, 5, 24, 3, 1, 1, 1, 1, ACT_NONE, 0 },
        { "toy64", 0, 1, 128, 4, 4, 32, 3, 1, 1, 1, 1, ACT_RELU, 0 },
        { "toy64", 0, 1, 96, 8, 8, 32, 3, 2, 1, 1, 1, ACT_RELU, 0 },
        { "toy16", 0, 1, 32, 6, 6, 32, 3, 1, 1, 1, 1, ACT_RELU, 1 },
        { "toy64", 0, 1, 192, 3, 3, 16, 3, 1, 1, 1, 1, ACT_NONE, 1 },
        { "toy16", 0, 1, 20, 1, 9, 20, 3, 1, 1, 1, 1, ACT_NONE, 0 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* ---- sums in f32 ---- */

/* Sums in f32: every method, with and without a cut of the input channels, groups of one block and
 * of two, a residual. */
static void test_f32_partials(void **state)
{
    static const struct conv_test t[] = {
        { "toy4", 0, 1, 16, 3, 4, 16, 1, 1, 1, 0, 0, ACT_NONE, 0 },
        { "toy16", 0, 2, 48, 5, 5, 80, 1, 1, 1, 0, 0, ACT_RELU, 0 },
        { "toy64", 0, 1, 512, 3, 3, 40, 1, 1, 1, 0, 0, ACT_SWISH, 0 },
        { "toy64", 0, 1, 160, 6, 6, 48, 1, 1, 1, 0, 0, ACT_RELU, 1 },
        { "toy16", 0, 1, 32, 7, 7, 32, 1, 2, 1, 0, 0, ACT_NONE, 0 },
        { "toy16", 0, 1, 32, 6, 7, 32, 3, 1, 1, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 2, 32, 7, 6, 48, 3, 2, 1, 1, 1, ACT_SWISH, 0 },
        { "toy64", 0, 1, 128, 4, 4, 32, 3, 1, 1, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 64, 6, 6, 64, 3, 1, 4, 1, 1, ACT_NONE, 0 },
        { "toy16", 0, 1, 64, 6, 6, 64, 3, 1, 2, 1, 1, ACT_RELU, 0 },
        { "toy64", 0, 1, 16, 3, 3, 16, 5, 1, 1, 2, 2, ACT_NONE, 0 },
        { "toy16", 0, 2, 3, 13, 12, 48, 3, 2, 1, 1, 1, ACT_SWISH, 0 },
        { "toy16", 0, 1, 4, 17, 19, 32, 7, 2, 1, 3, 3, ACT_NONE, 0 },
        { "mk2", 16, 1, 32, 8, 8, 32, 3, 2, 32, 0, 1, ACT_NONE, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        (void)conv_with(&t[i], PARTIALS_F32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),          cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_first),         cmocka_unit_test(test_window_groups),
        cmocka_unit_test(test_joined_groups), cmocka_unit_test(test_window_rows),
        cmocka_unit_test(test_window_dense),  cmocka_unit_test(test_f32_partials),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
