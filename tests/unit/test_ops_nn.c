/* test_ops_nn.c - layers of networks on small machines against plain C: every method of a
 * convolution, pooling, fully connected layers, channel factors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/nn_rig.h"

/* ---- convolutions ---- */

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

/* ---- pooling, fully connected, factors ---- */

static void test_squeeze_excite(void **state)
{
    enum { N = 2, C = 40, H = 5, W = 7, MID = 12 };
    struct nn_rig r = nn_rig_new("toy16", 0);
    struct feature x = input(&r, N, C, H, W), y;
    float *in = numbers(&r, N * C * H * W), *w1 = numbers(&r, MID * C), *b1 = numbers(&r, MID);
    float *w2 = numbers(&r, C * MID), *b2 = numbers(&r, C);
    double *got;

    (void)state;
    y = op_global_pool(r.nn, x, "pool");
    y = op_linear(r.nn, y, MID, w1, b1, ACT_SWISH, "fc1");
    y = op_linear(r.nn, y, C, w2, b2, ACT_SIGMOID, "fc2");
    y = op_channel_scale(r.nn, x, y, "scale");
    must(graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    for (uint32_t n = 0; n < N; n++) {
        double mid[MID];

        for (uint32_t m = 0; m < MID; m++) {
            mid[m] = (double)b1[m];
            for (uint32_t i = 0; i < C * H * W; i++)
                mid[m] += (double)w1[m * C + i / (H * W)] * (double)in[n * C * H * W + i] / (H * W);
            mid[m] = activate(mid[m], ACT_SWISH);
        }
        for (uint32_t c = 0; c < C; c++) {
            double s = (double)b2[c];

            for (uint32_t m = 0; m < MID; m++)
                s += (double)w2[c * MID + m] * mid[m];
            s = activate(s, ACT_SIGMOID);
            for (uint32_t i = 0; i < H * W; i++)
                assert_true(fabs(got[at(&y, n, c, i / W, i % W)] -
                                 s * (double)in[(n * C + c) * H * W + i]) < 0.01);
        }
    }
    free(got);
    free(in);
    free(w1);
    free(b1);
    free(w2);
    free(b2);
    nn_rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),           cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_first),          cmocka_unit_test(test_f32_partials),
        cmocka_unit_test(test_squeeze_excite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
