/* test_ops_linear.c - fully connected layers, means, factors, scores: odd channels, several
 * pictures, small and large machines, against plain C and the interpreter; and where the parts lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/layout/tile_choice.h"
#include "programs/library/linear/linear_plan.h"
#include "tests/fixtures/clean_run.h"
#include "tests/fixtures/nn_fixture.h"

/* What is after the last channel is zero. */
static void zero_after_channels(const struct activation *y, const double *got)
{
    for (size_t k = 0; k < values(y); k++)
        assert_true(k / 16 / (y->h * y->w) / y->n * 16 + k % 16 < y->c || got[k] == 0);
}

/* ---- fully connected ---- */

struct linear_test {
    const char *on; /* machine */
    uint32_t tiles; /* of it; 0: all */
    uint32_t n, in, out;
    enum activation_function act;
    int no_bias;
};

static double plain_row(const struct linear_test *t, const float *w, const float *bias,
                        const float *x, uint32_t n, uint32_t c)
{
    double sum = t->no_bias ? 0 : (double)bias[c];

    for (uint32_t i = 0; i < t->in; i++)
        sum += (double)w[(size_t)c * t->in + i] * (double)x[n * t->in + i];
    return activate(sum, t->act);
}

static void linear(const struct linear_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, t->tiles);
    struct activation x = input(&r, t->n, t->in, 1, 1), y;
    float *in = numbers(&r, t->n * t->in), *w = numbers(&r, (size_t)t->out * t->in);
    float *bias = numbers(&r, t->out);
    double *got;

    y = ss_op_linear(r.nn, x, t->out, w, t->no_bias ? NULL : bias, t->act, "fc");
    must(ss_graph_status(r.g));
    assert_int_equal(y.c, t->out);
    assert_int_equal(y.n, t->n);
    got = run(&r, x, in, NULL, NULL, y);
    for (uint32_t n = 0; n < t->n; n++) {
        for (uint32_t c = 0; c < t->out; c++) {
            double want = plain_row(t, w, bias, in, n, c), g = got[at(&y, n, c, 0, 0)];

            if (!(fabs(g - want) <= 0.002 * (1 + fabs(want)))) {
                print_error("%s, %u to %u: [%u][%u] is %g, plain C says %g\n", t->on, t->in, t->out,
                            n, c, g, want);
                fail();
            }
        }
    }
    zero_after_channels(&y, got);
    free(got);
    free(in);
    free(w);
    free(bias);
    nn_fixture_free(&r);
}

static void test_linear(void **state)
{
    static const struct linear_test t[] = {
        { .on = "toy4", .n = 1, .in = 16, .out = 16 },
        { .on = "toy4", .n = 3, .in = 40, .out = 12, .act = ACT_SWISH },
        { .on = "toy16", .n = 1, .in = 7, .out = 5, .act = ACT_RELU },
        { .on = "toy16", .n = 5, .in = 21, .out = 33, .act = ACT_SIGMOID, .no_bias = 1 },
        { .on = "toy64", .n = 1, .in = 400, .out = 20, .act = ACT_SWISH },
        { .on = "toy64", .n = 2, .in = 403, .out = 70, .act = ACT_SIGMOID },
        { .on = "toy64", .n = 1, .in = 640, .out = 10, .no_bias = 1 },
        { .on = "toy64", .n = 32, .in = 34, .out = 50, .act = ACT_RELU },
        { .on = "mk2", .tiles = 200, .n = 1, .in = 960, .out = 40, .act = ACT_SWISH },
        { .on = "mk2", .tiles = 200, .n = 3, .in = 960, .out = 40, .act = ACT_SIGMOID },
        { .on = "mk2", .tiles = 200, .n = 1, .in = 40, .out = 960, .act = ACT_SIGMOID },
        { .on = "mk2", .tiles = 200, .n = 4, .in = 512, .out = 100 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        linear(&t[i]);
}

static void test_linear_errors(void **state)
{
    float one[256] = { 0 };
    struct nn_fixture r = nn_fixture_new("toy4", 0);
    struct activation x = input(&r, 1, 16, 2, 2);

    (void)state;
    ss_op_linear(r.nn, x, 16, one, NULL, ACT_NONE, "fc");
    assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
    nn_fixture_free(&r);
}

/* ---- mean and factors ---- */

struct mean_test {
    const char *on; /* machine */
    uint32_t tiles; /* of it; 0: all */
    uint32_t n, c, h, w;
};

static void mean(const struct mean_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, t->tiles);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), y;
    uint32_t field = t->h * t->w;
    float *in = numbers(&r, (size_t)t->n * t->c * field);
    double *got;

    y = ss_op_global_pool(r.nn, x, "pool");
    must(ss_graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    for (uint32_t k = 0; k < t->n * t->c; k++) {
        double want = 0;

        for (uint32_t i = 0; i < field; i++)
            want += (double)in[(size_t)k * field + i] / field;
        assert_true(fabs(got[at(&y, k / t->c, k % t->c, 0, 0)] - want) < 0.0006);
    }
    zero_after_channels(&y, got);
    free(got);
    free(in);
    nn_fixture_free(&r);
}

static void test_mean(void **state)
{
    static const struct mean_test t[] = {
        { .on = "toy4", .n = 1, .c = 16, .h = 4, .w = 4 },
        { .on = "toy16", .n = 3, .c = 24, .h = 5, .w = 3 },
        { .on = "toy64", .n = 1, .c = 16, .h = 24, .w = 24 },
        { .on = "toy64", .n = 2, .c = 40, .h = 9, .w = 11 },
        { .on = "mk2", .tiles = 150, .n = 1, .c = 20, .h = 40, .w = 40 },
        { .on = "toy16", .n = 20, .c = 16, .h = 2, .w = 2 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        mean(&t[i]);
}

/* Squeeze and excite: y = x s(mean of x), in place. */
static void squeeze(const char *machine, uint32_t tiles, struct activation s, uint32_t mid_c)
{
    uint32_t field = s.h * s.w;
    struct nn_fixture r = nn_fixture_new(machine, tiles);
    struct activation x = input(&r, s.n, s.c, s.h, s.w), y;
    float *in = numbers(&r, s.n * s.c * field), *w1 = numbers(&r, mid_c * s.c),
          *b1 = numbers(&r, mid_c);
    float *w2 = numbers(&r, s.c * mid_c), *b2 = numbers(&r, s.c);
    double *got;

    y = ss_op_global_pool(r.nn, x, "pool");
    y = ss_op_linear(r.nn, y, mid_c, w1, b1, ACT_SWISH, "fc1");
    y = ss_op_linear(r.nn, y, s.c, w2, b2, ACT_SIGMOID, "fc2");
    y = ss_op_channel_scale(r.nn, x, y, "scale");
    must(ss_graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    for (uint32_t n = 0; n < s.n; n++) {
        double *mid = calloc(mid_c, sizeof(*mid));

        for (uint32_t m = 0; m < mid_c; m++) {
            mid[m] = (double)b1[m];
            for (uint32_t i = 0; i < s.c * field; i++)
                mid[m] += (double)w1[m * s.c + i / field] * (double)in[n * s.c * field + i] / field;
            mid[m] = activate(mid[m], ACT_SWISH);
        }
        for (uint32_t c = 0; c < s.c; c++) {
            double factor = (double)b2[c];

            for (uint32_t m = 0; m < mid_c; m++)
                factor += (double)w2[c * mid_c + m] * mid[m];
            factor = activate(factor, ACT_SIGMOID);
            for (uint32_t i = 0; i < field; i++)
                assert_true(fabs(got[at(&y, n, c, i / s.w, i % s.w)] -
                                 factor * (double)in[(n * s.c + c) * field + i]) < 0.01);
        }
        free(mid);
    }
    zero_after_channels(&y, got);
    free(got);
    free(in);
    free(w1);
    free(b1);
    free(w2);
    free(b2);
    nn_fixture_free(&r);
}

static void test_squeeze(void **state)
{
    (void)state;
    squeeze("toy16", 0, (struct activation){ .n = 2, .c = 40, .h = 5, .w = 7 }, 12);
    squeeze("mk2", 100, (struct activation){ .n = 3, .c = 72, .h = 6, .w = 5 }, 10);
}

/* ---- scores ---- */

static void scores(const char *machine, uint32_t tiles, uint32_t n, uint32_t c, float factor)
{
    struct nn_fixture r = nn_fixture_new(machine, tiles);
    struct activation x = input(&r, n, c, 1, 1);
    struct compile_options co = { .threads = 1 };
    struct session_options so = { .threads = 1, .check = 1 };
    float *in = numbers(&r, n * c), *got = calloc(n * c, sizeof(*got));
    float *want = calloc(n * c, sizeof(*want));
    struct tensor y = ss_op_scores(r.nn, x, "scores");
    struct compiled *compiled;
    struct session *s;
    struct interpreter *p;
    uint16_t *data;

    for (uint32_t i = 0; i < n * c; i++)
        in[i] *= factor;
    data = to_layout(&x, in);
    must(ss_graph_status(r.g));
    assert_int_equal(ss_tensor_shape(r.g, y)[0], n);
    assert_int_equal(ss_tensor_shape(r.g, y)[1], c);
    ss_graph_keep(r.g, y);
    ss_graph_set_program(r.g, r.seq);
    must(ss_graph_compile(r.g, &co, &compiled));
    must(ss_session_new(compiled, &so, &s));
    must(ss_interpreter_new(r.g, &p));
    must(ss_session_write(s, x.t, data));
    must(ss_interpreter_write(p, x.t, data));
    must(ss_session_run(s));
    expect_clean(s);
    must(ss_interpreter_run(p, 1000000));
    must(ss_session_read(s, y, got));
    must(ss_interpreter_read(p, y, want));
    assert_memory_equal(got, want, n * c * sizeof(*got));
    for (uint32_t k = 0; k < n; k++) {
        double most = -INFINITY, sum = 0;

        for (uint32_t i = 0; i < c; i++)
            most = fmax(most, (double)in[k * c + i]);
        for (uint32_t i = 0; i < c; i++)
            sum += exp((double)in[k * c + i] - most);
        for (uint32_t i = 0; i < c; i++) {
            double e = exp((double)in[k * c + i] - most) / sum;

            assert_true(fabs((double)got[k * c + i] - e) <= 1e-5 * e + 1e-30);
        }
    }
    ss_interpreter_free(p);
    ss_session_free(s);
    ss_compiled_free(compiled);
    free(in);
    free(got);
    free(want);
    free(data);
    nn_fixture_free(&r);
}

static void test_scores(void **state)
{
    (void)state;
    scores("toy4", 0, 1, 5, 1);
    scores("toy4", 0, 9, 10, 20);
    scores("toy16", 0, 2, 101, 8);
    scores("toy64", 0, 1, 1000, 3000); /* far beyond what an exponential of f32 can hold */
    scores("mk2", 150, 3, 1000, 1);
}

/* ---- tiles ---- */

static int is_even(const void *ctx, uint32_t tile)
{
    (void)ctx;
    return tile % 2 == 0;
}

/* Every tile gets a part before one gets two; those to be avoided come last. */
static void test_spread(void **state)
{
    struct nn_fixture r = nn_fixture_new("toy16", 0);
    uint32_t parts[16] = { 0 };
    struct tile_choice s;

    (void)state;
    must(tile_choice_new(r.nn, 5, &s));
    for (uint32_t k = 0; k < 17; k++) {
        uint32_t tile = tile_choice_take(&s, is_even, NULL);

        assert_true(tile < 16);
        assert_true(k >= 8 || tile % 2 == 1);
        assert_true(k >= 16 || !parts[tile]);
        parts[tile]++;
    }
    tile_choice_free(&s);
    nn_fixture_free(&r);
}

/* ---- plans ---- */

/* Parts are small and the time is near to what a few steps must take. */
static void test_plans(void **state)
{
    static const struct {
        uint32_t n, in, out;
        uint64_t most; /* cycles */
    } t[] = {
        { .n = 1, .in = 1632, .out = 80, .most = 1400 },
        { .n = 1, .in = 80, .out = 1632, .most = 900 },
        { .n = 1, .in = 48, .out = 16, .most = 800 },
        { .n = 1, .in = 1792, .out = 1008, .most = 1600 },
        { .n = 32, .in = 1632, .out = 80, .most = 4500 },
    };
    const struct arch *a = ss_arch_preset("mk2");

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct linear_shape s = { t[i].n, t[i].in, t[i].out, KERNEL_ROW(linear_swish_f16),
                                  KERNEL_ROW(sum_bias_swish_f16) };
        struct linear_plan p;
        uint64_t weights = (uint64_t)t[i].in * t[i].out;

        must(plan_linear(a, &s, a->tiles, &p));
        assert_true(p.cost.total <= t[i].most);
        assert_true(p.cut_in * p.cut_out <= a->tiles);
        assert_true(p.cut_in == 1 || p.columns);
        assert_true(weights / (p.cut_in * p.cut_out) <= 8192);
    }
}

static void test_plan_errors(void **state)
{
    struct linear_shape s = { .n = 0,
                              .in = 16,
                              .out = 16,
                              .whole = KERNEL_ROW(linear_f16),
                              .sum = KERNEL_ROW(sum_bias_f16) };
    struct linear_plan p;

    (void)state;
    assert_int_equal(plan_linear(ss_arch_preset("mk2"), &s, 16, &p), EMU_USAGE);
}

/* One stage for few partial results, more for many: the root of them each. */
static void test_plan_sums(void **state)
{
    const struct arch *a = ss_arch_preset("mk2");
    struct sums_plan few, many;

    (void)state;
    plan_sums(a, 12, 100, &few);
    plan_sums(a, 490, 3, &many);
    assert_int_equal(few.stages, 1);
    assert_int_equal(few.fan_in[0], 12);
    assert_int_equal(many.stages, 2);
    assert_true(many.fan_in[0] * many.fan_in[1] >= 490);
    assert_true(many.cost.total < 3 * few.cost.total);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear),    cmocka_unit_test(test_linear_errors),
        cmocka_unit_test(test_mean),      cmocka_unit_test(test_squeeze),
        cmocka_unit_test(test_scores),    cmocka_unit_test(test_spread),
        cmocka_unit_test(test_plans),     cmocka_unit_test(test_plan_errors),
        cmocka_unit_test(test_plan_sums),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
