/* test_ops_nn.c - group norm, numbers for each channel, sums and pools over windows on small
 * machines against plain C and the interpreter (convolutions: test_ops_conv.c; means of channels,
 * fully connected layers: test_ops_linear.c).
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
    int strided;
    enum activation_function act;
    float offset; /* of the mean, in deviations */
};

/* Number i of group g of all pictures: its place in [n][c][field]. */
static size_t in_group(const struct norm_test *t, uint32_t g, size_t i)
{
    uint32_t field = t->h * t->w, each = t->c / t->groups, k = (uint32_t)(i / field);
    uint32_t channel = t->strided ? k * t->groups + g % t->groups : g % t->groups * each + k;

    return ((size_t)(g / t->groups) * t->c + channel) * field + i % field;
}

static double *plain_norm(const struct norm_test *t, const float *in, const float *gamma,
                          const float *beta, double eps)
{
    uint32_t field = t->h * t->w, each = t->c / t->groups;
    double *y = calloc((size_t)t->n * t->c * field, sizeof(*y));

    for (uint32_t g = 0; g < t->n * t->groups; g++) {
        const size_t count = (size_t)each * field;
        double mean = 0, variance = 0;

        for (size_t i = 0; i < count; i++)
            mean += (double)in[in_group(t, g, i)] / (double)count;
        for (size_t i = 0; i < count; i++) {
            double d = (double)in[in_group(t, g, i)] - mean;

            variance += d * d / (double)count;
        }
        for (size_t i = 0; i < count; i++) {
            size_t k = in_group(t, g, i), c = k / field % t->c;

            y[k] = activate(((double)in[k] - mean) / sqrt(variance + eps) * (double)gamma[c] +
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
    y = ss_op_group_norm(r.nn, x,
                         &(struct group_norm_layer){ t->groups, t->strided, 1e-3f, gamma, beta },
                         t->act, "norm");
    must(ss_graph_status(r.g));
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
        { .on = "toy4", .n = 1, .c = 40, .h = 1, .w = 1, .groups = 20 }, /* all on one tile */
        { .on = "toy4", .n = 1, .c = 16, .h = 4, .w = 4, .groups = 4, .strided = 1 },
        { .on = "toy16", .n = 2, .c = 24, .h = 5, .w = 5, .groups = 4, .strided = 1 },
        { .on = "toy64",
          .n = 1,
          .c = 160,
          .h = 6,
          .w = 6,
          .groups = 4,
          .strided = 1,
          .act = ACT_SWISH },
        { .on = "toy64", .n = 1, .c = 24, .h = 23, .w = 19, .groups = 4, .strided = 1 },
        { .on = "toy64",
          .n = 3,
          .c = 36,
          .h = 11,
          .w = 13,
          .groups = 4,
          .strided = 1,
          .offset = 4,
          .act = ACT_RELU },
        { .on = "toy64", .n = 1, .c = 40, .h = 9, .w = 9, .groups = 8, .strided = 1 },
        { .on = "toy16", .n = 3, .c = 18, .h = 4, .w = 4, .groups = 6, .strided = 1 },
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

        ss_op_group_norm(r.nn, x, &(struct group_norm_layer){ i ? 4 : 5, 0, 1e-3f, one, one },
                         i ? ACT_SIGMOID : ACT_NONE, "norm");
        assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
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

    ss_graph_map_linear(r.g, b.t, 16, 32, 1, r.arch.tiles - 1);
    ss_graph_keep(r.g, b.t);
    y = ss_op_activation_add(r.nn, a, b, t->act, "sum");
    must(ss_graph_status(r.g));
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

        ss_op_activation_add(r.nn, a, b, i ? ACT_SWISH : ACT_NONE, "sum");
        assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
        nn_fixture_free(&r);
    }
}

/* ---- a factor and a summand for each channel ---- */

struct affine_test {
    const char *on;              /* machine */
    uint32_t n, c, h, w, pieces; /* pieces: of equal channels, which lie on different tiles */
    enum activation_function act;
    int scale, shift; /* 1: given */
};

/* x as joined results of several layers lie: each piece on all tiles. */
static struct activation in_pieces(struct nn_fixture *r, struct activation x, uint32_t pieces)
{
    struct graph *g = r->g;
    uint32_t tiles = ss_graph_compute_tiles(g), blocks = x.c / CHANNEL_BLOCK / pieces;
    struct activation y = nn_activation(r->nn, x.n, x.c, x.h, x.w, "pieces");

    for (uint32_t k = 0; k < pieces; k++) {
        struct tensor t = ss_tensor_slice(g, y.t, 0, k * blocks, (k + 1) * blocks);

        ss_graph_map_linear(g, t, CHANNEL_BLOCK, CHANNEL_BLOCK, 0, tiles);
    }
    ss_program_add(g, r->seq, ss_program_copy(g, x.t, y.t));
    return y;
}

static int same_runs(const struct tile_run *a, const struct tile_run *b, size_t runs)
{
    for (size_t k = 0; k < runs; k++) {
        if (a[k].begin != b[k].begin || a[k].end != b[k].end || a[k].tile != b[k].tile)
            return 0;
    }
    return 1;
}

/* dealt: the result does not lie where x does. */
static void affine(const struct affine_test *t, int dealt)
{
    struct nn_fixture r = nn_fixture_new(t->on, 0);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), y, from = x;
    size_t n = (size_t)t->n * t->c * t->h * t->w, field = (size_t)t->h * t->w;
    float *in = numbers(&r, n), *scale = numbers(&r, t->c), *shift = numbers(&r, t->c);
    double *got, *want = calloc(n, sizeof(*want));
    struct tile_run *run_x = NULL, *run_y = NULL;
    size_t runs_x, runs_y;

    if (t->pieces)
        from = in_pieces(&r, x, t->pieces);
    y = ss_op_channel_affine(r.nn, from, t->scale ? scale : NULL, t->shift ? shift : NULL, t->act,
                             "affine");
    must(ss_graph_status(r.g));
    must(ss_graph_tile_runs(r.g, from.t, &run_x, &runs_x));
    must(ss_graph_tile_runs(r.g, y.t, &run_y, &runs_y));
    assert_int_equal(dealt, runs_x != runs_y || !same_runs(run_x, run_y, runs_x));
    got = run(&r, x, in, NULL, NULL, y);
    for (size_t k = 0; k < n; k++) {
        size_t c = k / field % t->c;

        want[k] = activate((double)in[k] * (t->scale ? (double)scale[c] : 1) +
                               (t->shift ? (double)shift[c] : 0),
                           t->act);
    }
    compare(&y, got, want, 0.003, "affine");
    ss_free(run_x);
    ss_free(run_y);
    free(got);
    free(want);
    free(in);
    free(scale);
    free(shift);
    nn_fixture_free(&r);
}

static void test_affine(void **state)
{
    static const struct affine_test local[] = {
        { "toy4", 1, 16, 5, 5, 0, ACT_NONE, 1, 1 },
        { "toy16", 1, 24, 6, 6, 0, ACT_SWISH, 0, 1 },
        { "toy16", 1, 160, 8, 8, 10, ACT_RELU, 1, 1 },
    };
    static const struct affine_test dealt[] = {
        { "toy16", 2, 40, 7, 3, 0, ACT_RELU, 1, 1 },
        { "toy16", 3, 17, 1, 4, 0, ACT_NONE, 1, 0 },
        { "toy16", 2, 320, 4, 6, 20, ACT_NONE, 1, 1 },
        { "toy64", 1, 256, 5, 7, 16, ACT_SWISH, 1, 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(local); i++)
        affine(&local[i], 0);
    for (size_t i = 0; i < EMU_COUNT_OF(dealt); i++)
        affine(&dealt[i], 1);
}

static void test_affine_errors(void **state)
{
    struct nn_fixture r = nn_fixture_new("toy4", 0);

    (void)state;
    ss_op_channel_affine(r.nn, input(&r, 1, 16, 4, 4), NULL, NULL, ACT_SIGMOID, "affine");
    assert_int_equal(ss_graph_status(r.g), EMU_BAD_PROGRAM);
    nn_fixture_free(&r);
}

/* ---- pools over windows ---- */

struct pool_test {
    const char *on; /* machine */
    uint32_t n, c, h, w;
    struct pool_layer layer;
};

/* One window: its largest input, or the mean of what it counts; the sum of magnitudes of that. */
static double plain_window(const struct pool_test *t, const float *plane, int64_t top, int64_t left,
                           double *size)
{
    const struct pool_layer *l = &t->layer;
    double most = -INFINITY, sum = 0, count = 0;

    *size = 0;
    for (int64_t d = 0; d < (int64_t)l->kernel_h * l->kernel_w; d++) {
        int64_t row = top + d / l->kernel_w * l->dilation_h;
        int64_t column = left + d % l->kernel_w * l->dilation_w;
        int inside = row >= 0 && column >= 0 && row < t->h && column < t->w;
        int in_pads = row < (int64_t)t->h + l->pad_bottom && column < (int64_t)t->w + l->pad_right;
        double v = inside ? (double)plane[row * t->w + column] : 0;

        most = inside ? fmax(most, v) : most;
        sum += v;
        *size += fabs(v);
        count += l->count_pads ? in_pads : inside;
    }
    *size /= count;
    return l->function == POOL_MAX ? most : sum / count;
}

/* How far a mean may be off: rounded to f16, after sums and a product in f32. */
static double pool_bound(const struct pool_test *t, double mean, double size)
{
    const struct pool_layer *l = &t->layer;

    if (l->function == POOL_MAX)
        return 0;
    return ldexp(fabs(mean), -11) + ldexp(size, -23) * l->kernel_h * l->kernel_w + ldexp(1, -25);
}

static void check_pool(const struct pool_test *t, const struct activation *y, const double *got,
                       const float *in)
{
    const struct pool_layer *l = &t->layer;

    for (uint32_t k = 0; k < y->n * y->c * y->h * y->w; k++) {
        uint32_t j = k % y->w, i = k / y->w % y->h, plane = k / y->w / y->h;
        double g = got[at(y, plane / y->c, plane % y->c, i, j)], size;
        double want =
            plain_window(t, in + (size_t)plane * t->h * t->w, (int64_t)i * l->stride_h - l->pad_top,
                         (int64_t)j * l->stride_w - l->pad_left, &size);

        if (!(fabs(g - want) <= pool_bound(t, want, size)))
            fail_msg("plane %u, %u x %u: %g, plain C says %g", plane, i, j, g, want);
    }
    for (size_t k = 0; k < values(y); k++)
        assert_true(k / 16 / (y->h * y->w) / y->n * 16 + k % 16 < y->c || got[k] == 0);
}

static void pool(const struct pool_test *t)
{
    struct nn_fixture r = nn_fixture_new(t->on, 0);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), y;
    float *in = numbers(&r, (size_t)x.n * x.c * x.h * x.w);
    double *got;

    y = ss_op_pool(r.nn, x, &t->layer, "pool");
    must(ss_graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, y);
    check_pool(t, &y, got, in);
    free(got);
    free(in);
    nn_fixture_free(&r);
}

/* Kernel, stride, dilation, pads and results of both dimensions. */
#define WINDOWS(kh, kw, sh, sw, dh, dw, top, bottom, left, right, oh, ow)                          \
    .kernel_h = kh, .kernel_w = kw, .stride_h = sh, .stride_w = sw, .dilation_h = dh,              \
    .dilation_w = dw, .pad_top = top, .pad_bottom = bottom, .pad_left = left, .pad_right = right,  \
    .out_h = oh, .out_w = ow

static void test_pool(void **state)
{
    static const struct pool_test t[] = {
        { "toy4", 1, 16, 6, 6, { WINDOWS(2, 2, 2, 2, 1, 1, 0, 0, 0, 0, 3, 3) } },
        { "toy16", 2, 40, 9, 8, { WINDOWS(3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 5, 4) } },
        { "toy64", 1, 64, 16, 16, { WINDOWS(3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 8, 8) } },
        { "toy16", 1, 32, 7, 5, { WINDOWS(3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 7, 5) } },
        { "toy16", 2, 24, 8, 11, { WINDOWS(1, 4, 1, 3, 1, 1, 0, 0, 3, 0, 8, 4) } },
        { "toy16", 1, 20, 10, 9, { WINDOWS(3, 2, 2, 1, 2, 3, 2, 1, 0, 2, 5, 8) } },
        /* Windows that reach beyond the pads: sizes rounded up. */
        { "toy64", 1, 48, 11, 11, { WINDOWS(3, 3, 2, 2, 1, 1, 0, 0, 0, 0, 5, 5) } },
        { "toy64", 1, 48, 12, 12, { WINDOWS(3, 3, 2, 2, 1, 1, 0, 0, 0, 0, 6, 6) } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct pool_test mean = t[i];

        pool(&t[i]);
        mean.layer.function = POOL_MEAN;
        pool(&mean);
        mean.layer.count_pads = 1;
        pool(&mean);
    }
}

static void test_pool_errors(void **state)
{
    static const struct pool_layer wrong[] = {
        { WINDOWS(3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 0, 4) }, /* no result */
        { WINDOWS(3, 3, 2, 0, 1, 1, 1, 1, 1, 1, 4, 4) }, /* no stride */
        { WINDOWS(3, 3, 2, 2, 1, 1, 3, 0, 0, 0, 4, 4) }, /* the first row sees pads only */
        { WINDOWS(3, 3, 2, 2, 1, 1, 1, 1, 1, 1, 4, 6) }, /* the last column is beyond the field */
        { WINDOWS(2, 2, 1, 1, 9, 1, 1, 1, 0, 0, 1, 1) }, /* the field falls into a gap */
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(wrong); i++) {
        struct nn_fixture r = nn_fixture_new("toy4", 0);

        ss_op_pool(r.nn, input(&r, 1, 16, 8, 8), &wrong[i], "pool");
        assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
        nn_fixture_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_group_norm), cmocka_unit_test(test_norm_errors),
        cmocka_unit_test(test_sum),        cmocka_unit_test(test_sum_errors),
        cmocka_unit_test(test_affine),     cmocka_unit_test(test_affine_errors),
        cmocka_unit_test(test_pool),       cmocka_unit_test(test_pool_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
