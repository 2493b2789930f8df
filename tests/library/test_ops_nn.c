/* test_ops_nn.c - group norm, sums and maxima of windows on small machines against plain C and the
 * interpreter (convolutions: test_ops_conv.c; pooling, fully connected layers: test_ops_linear.c).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/nn_fixture.h"

static size_t plain_at(const struct activation *f, uint32_t n, uint32_t c, uint32_t i)
{
    return ((size_t)n * f->c + c) * f->h * f->w + i;
}

/* Compares y with want [n][c][h][w]. */
static void compare(const struct activation *y, const double *got, const double *want,
                    double tolerance, const char *what)
{
    for (uint32_t n = 0; n < y->n; n++)
        for (uint32_t c = 0; c < y->c; c++)
            for (uint32_t i = 0; i < y->h * y->w; i++) {
                double g = got[at(y, n, c, i / y->w, i % y->w)], w = want[plain_at(y, n, c, i)];

                if (!(fabs(g - w) <= tolerance * (1 + fabs(w)))) {
                    print_error("%s: [%u][%u][%u] is %g, plain C says %g\n", what, n, c, i, g, w);
                    fail();
                }
            }
    /* What is after the last channel stays zero. */
    for (size_t k = 0; k < values(y); k++)
        assert_true(k / 16 / (y->h * y->w) / y->n * 16 + k % 16 < y->c || got[k] == 0);
}

/* ---- group norm ---- */

struct norm_test {
    const char *on; /* machine */
    uint32_t n, c, h, w, groups;
    enum activation_function act;
    float offset; /* of the mean, in deviations */
};

static double *plain_norm(const struct norm_test *t, const float *in, const float *gamma,
                          const float *beta, double eps)
{
    uint32_t field = t->h * t->w, each = t->c / t->groups;
    double *y = calloc((size_t)t->n * t->c * field, sizeof(*y));

    for (uint32_t g = 0; g < t->n * t->groups; g++) {
        const size_t first = (size_t)g * each * field, count = (size_t)each * field;
        double mean = 0, variance = 0;

        for (size_t i = first; i < first + count; i++)
            mean += (double)in[i] / (double)count;
        for (size_t i = first; i < first + count; i++)
            variance += ((double)in[i] - mean) * ((double)in[i] - mean) / (double)count;
        for (size_t i = first; i < first + count; i++) {
            uint32_t c = (uint32_t)(i / field % t->c);

            y[i] = activate(((double)in[i] - mean) / sqrt(variance + eps) * (double)gamma[c] +
                                (double)beta[c],
                            t->act);
        }
    }
    return y;
}

static void norm(const struct norm_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, 0);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), y;
    size_t n = (size_t)t->n * t->c * t->h * t->w;
    float *in = numbers(&r, n), *gamma = numbers(&r, t->c), *beta = numbers(&r, t->c);
    double *got, *want;

    for (size_t i = 0; i < n; i++)
        in[i] += t->offset + (float)(i / (t->h * t->w) % t->c) / 16.0f;
    for (size_t i = 0; i < n; i++) {
        struct fp_env env = { 0 };

        in[i] = (float)fp_f16_value(fp_f16_from_f64((double)in[i], 0, &env));
    }
    y = op_group_norm(r.nn, x, t->groups, 1e-3f, gamma, beta, t->act, "norm");
    must(graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    want = plain_norm(t, in, gamma, beta, 1e-3);
    compare(&y, got, want, t->offset != 0 ? 0.02 : 0.005, "norm");
    free(got);
    free(want);
    free(in);
    free(gamma);
    free(beta);
    nn_fixture_free(&r);
}

static void test_group_norm(void **state)
{
    static const struct norm_test t[] = {
        { .on = "toy4", .n = 1, .c = 16, .h = 4, .w = 4, .groups = 4 },
        { .on = "toy4", .n = 1, .c = 32, .h = 5, .w = 3, .groups = 1, .act = ACT_RELU },
        { .on = "toy16", .n = 1, .c = 48, .h = 7, .w = 6, .groups = 4, .act = ACT_SWISH },
        { .on = "toy16", .n = 2, .c = 24, .h = 5, .w = 5, .groups = 4, .act = ACT_SWISH },
        { .on = "toy16", .n = 3, .c = 56, .h = 3, .w = 3, .groups = 4 },
        { .on = "toy64", .n = 1, .c = 160, .h = 6, .w = 6, .groups = 4, .act = ACT_SWISH },
        { .on = "toy64", .n = 1, .c = 40, .h = 20, .w = 20, .groups = 8, .act = ACT_RELU },
        { .on = "toy16", .n = 1, .c = 48, .h = 7, .w = 6, .groups = 4, .offset = 4 },
        { .on = "toy64", .n = 2, .c = 20, .h = 9, .w = 9, .groups = 20 },
        { .on = "toy16", .n = 1, .c = 18, .h = 4, .w = 4, .groups = 6 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        norm(&t[i]);
}

static void test_norm_errors(void **state)
{
    float one[48] = { 0 };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nn_fixture r = nn_fixture_new("toy4", 0);
        struct activation x = input(&r, 1, 48, 4, 4);

        op_group_norm(r.nn, x, i ? 4 : 5, 1e-3f, one, one, i ? ACT_SIGMOID : ACT_NONE, "norm");
        assert_int_equal(graph_status(r.g), EMU_USAGE);
        nn_fixture_free(&r);
    }
}

/* ---- sums ---- */

struct sum_test {
    const char *on; /* machine */
    uint32_t n, c, h, w;
    enum activation_function act;
};

static void sum(const struct sum_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, 0);
    struct activation a = input(&r, t->n, t->c, t->h, t->w), y;
    struct activation b = nn_activation(r.nn, t->n, t->c, t->h, t->w, "b");
    size_t count = (size_t)t->n * t->c * t->h * t->w;
    float *x = numbers(&r, count), *x2 = numbers(&r, count);
    double *want = calloc(count, sizeof(*want)), *got;

    graph_map_linear(r.g, b.t, 16, 32, 1, r.arch.tiles - 1);
    graph_keep(r.g, b.t);
    y = op_activation_add(r.nn, a, b, t->act, "sum");
    must(graph_status(r.g));
    got = run(&r, a, x, &b, x2, y);
    for (size_t i = 0; i < count; i++)
        want[i] = activate((double)x[i] + (double)x2[i], t->act);
    compare(&y, got, want, 0.001, "sum");
    free(x);
    free(x2);
    free(got);
    free(want);
    nn_fixture_free(&r);
}

static void test_sum(void **state)
{
    static const struct sum_test t[] = {
        { .on = "toy4", .n = 1, .c = 16, .h = 5, .w = 5 },
        { .on = "toy16", .n = 2, .c = 40, .h = 5, .w = 3, .act = ACT_RELU },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        sum(&t[i]);
}

static void test_sum_errors(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct nn_fixture r = nn_fixture_new("toy4", 0);
        struct activation a = input(&r, 1, 32, 4, 4), b = input(&r, 1, 32, 4, i ? 4 : 5);

        op_activation_add(r.nn, a, b, i ? ACT_SWISH : ACT_NONE, "sum");
        assert_int_equal(graph_status(r.g), EMU_USAGE);
        nn_fixture_free(&r);
    }
}

/* ---- maxima ---- */

struct pool_test {
    const char *on; /* machine */
    uint32_t n, c, h, w, kernel, stride, pad;
};

static double *plain_pool(const struct pool_test *t, const struct activation *x,
                          const struct activation *y, const float *in)
{
    double *want = calloc((size_t)y->n * y->c * y->h * y->w, sizeof(*want));

    for (uint32_t k = 0; k < y->n * y->c * y->h * y->w; k++) {
        uint32_t i = k % (y->h * y->w), plane = k / (y->h * y->w);

        want[k] = -INFINITY;
        for (uint32_t d = 0; d < t->kernel * t->kernel; d++) {
            int64_t row = (int64_t)(i / y->w) * t->stride + d / t->kernel - t->pad;
            int64_t column = (int64_t)(i % y->w) * t->stride + d % t->kernel - t->pad;

            if (row >= 0 && column >= 0 && row < x->h && column < x->w)
                want[k] =
                    fmax(want[k],
                         (double)in[((size_t)plane * x->h + (size_t)row) * x->w + (size_t)column]);
        }
    }
    return want;
}

static void max_pool(const struct pool_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, 0);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), y;
    float *in = numbers(&r, (size_t)x.n * x.c * x.h * x.w);
    double *got, *want;

    y = op_max_pool(r.nn, x, t->kernel, t->stride, t->pad, "pool");
    must(graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    want = plain_pool(t, &x, &y, in);
    compare(&y, got, want, 0, "pool");
    free(got);
    free(want);
    free(in);
    nn_fixture_free(&r);
}

static void test_max_pool(void **state)
{
    static const struct pool_test t[] = {
        { .on = "toy4", .n = 1, .c = 16, .h = 6, .w = 6, .kernel = 2, .stride = 2 },
        { .on = "toy16", .n = 2, .c = 40, .h = 9, .w = 8, .kernel = 3, .stride = 2, .pad = 1 },
        { .on = "toy64", .n = 1, .c = 64, .h = 16, .w = 16, .kernel = 3, .stride = 2, .pad = 1 },
        { .on = "toy16", .n = 1, .c = 32, .h = 7, .w = 5, .kernel = 3, .stride = 1, .pad = 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        max_pool(&t[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_norm), cmocka_unit_test(test_norm_errors),
        cmocka_unit_test(test_sum),        cmocka_unit_test(test_sum_errors),
        cmocka_unit_test(test_max_pool),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
