/* test_ops_conv.c - every method of a convolution on small machines against plain C: sums in f16
 * and f32, parameters held and fetched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/fixtures/nn_fixture.h"

/* ---- one convolution ---- */

/* A convolution and where it runs. Comments say what holds for a row that leaves a field out. */
struct conv_test {
    const char *on;                       /* toy16; for depthwise ones 16 tiles of mk2 */
    uint32_t n, c, h, w;                  /* one picture, as wide as high */
    uint32_t out, kernel, stride, groups; /* as many channels as there are; 1, 1, 1 */
    int uneven; /* kernel / 2 zeros are around the picture; if uneven, one fewer above and left */
    int add;    /* no residual is added */
    enum activation_function act;  /* none */
    enum conv_partials partials;   /* f16 */
    enum conv_depthwise depthwise; /* mixed */
    uint32_t kib_price;            /* parameters cost nothing */
};

enum { DEAR = 1 << 20 }; /* cycles per KiB: nothing is held twice at that price */

static struct conv_test with_defaults(struct conv_test t)
{
    t.n = t.n ? t.n : 1;
    t.w = t.w ? t.w : t.h;
    t.out = t.out ? t.out : t.c;
    t.kernel = t.kernel ? t.kernel : 1;
    t.stride = t.stride ? t.stride : 1;
    t.groups = t.groups ? t.groups : 1;
    return t;
}

static struct nn_fixture machine_of(const struct conv_test *t)
{
    if (t->groups == t->c)
        return nn_fixture_new("mk2", 16);
    return nn_fixture_new(t->on ? t->on : "toy16", 0);
}

/* One number of the result, without residual and activation function. */
static double convolve(const struct activation *x, const float *in, const struct conv_layer *l,
                       uint32_t n, uint32_t o, uint32_t oy, uint32_t ox)
{
    uint32_t each = x->c / l->groups, k = l->kernel_h, group = o / (l->out_c / l->groups);
    double sum = (double)l->bias[o];

    for (uint32_t c = 0; c < each; c++)
        for (uint32_t i = 0; i < k * k; i++) {
            int64_t y = (int64_t)oy * l->stride_h + i / k - l->pad_top;
            int64_t q = (int64_t)ox * l->stride_w + i % k - l->pad_left;

            if (y >= 0 && q >= 0 && y < x->h && q < x->w)
                sum +=
                    (double)l->weights[((size_t)o * each + c) * k * k + i] *
                    (double)in[((n * (size_t)x->c + group * each + c) * x->h + (size_t)y) * x->w +
                               (size_t)q];
        }
    return sum;
}

/* Compares y with plain C. residual: [n][c][h][w] or NULL. */
static void check(const struct activation *x, const float *in, const struct conv_layer *l,
                  const float *residual, const struct activation *y, const double *got,
                  const char *method)
{
    uint32_t field = y->h * y->w, each = x->c / l->groups;

    for (uint32_t k = 0; k < y->n * y->c * field; k++) {
        uint32_t n = k / field / y->c, o = k / field % y->c, oy = k % field / y->w, ox = k % y->w;
        double want = convolve(x, in, l, n, o, oy, ox), g = got[at(y, n, o, oy, ox)];

        want = activate(want + (residual ? (double)residual[k] : 0), l->act);
        if (!(fabs(g - want) <= 0.01 * (1 + fabs(want) + each * 0.1)))
            fail_msg("%s %ux%u k%u s%u: [%u][%u][%u][%u] is %g, plain C says %g", method, x->h,
                     x->w, l->kernel_h, l->stride_h, n, o, oy, ox, g, want);
    }
}

/* Compiles, runs and compares a row, and returns how it was cut. */
static struct conv_plan conv(const struct conv_test *row)
{
    const struct conv_test t = with_defaults(*row);
    uint32_t after = t.kernel / 2, before = after - (t.uneven != 0);
    struct nn_fixture r = machine_of(&t);
    struct activation x = input(&r, t.n, t.c, t.h, t.w), y, add = { .n = 0 };
    float *in = numbers(&r, (size_t)t.n * t.c * t.h * t.w), *residual = NULL;
    float *w = numbers(&r, (size_t)t.out * (t.c / t.groups) * t.kernel * t.kernel);
    float *bias = numbers(&r, t.out);
    struct conv_layer l = { .out_c = t.out,
                            .kernel_h = t.kernel,
                            .kernel_w = t.kernel,
                            .stride_h = t.stride,
                            .stride_w = t.stride,
                            .dilation_h = 1,
                            .dilation_w = 1,
                            .groups = t.groups,
                            .pad_top = before,
                            .pad_left = before,
                            .pad_bottom = after,
                            .pad_right = after,
                            .weights = w,
                            .bias = bias,
                            .act = t.act,
                            .partials = t.partials,
                            .depthwise = t.depthwise };
    struct conv_plan plan;
    double *got;

    if (t.add) {
        add = nn_activation(r.nn, t.n, t.out, t.h, t.w, "add");
        ss_graph_map_linear(r.g, add.t, 16, 16, 0, r.arch.tiles);
        ss_graph_keep(r.g, add.t);
        residual = numbers(&r, (size_t)t.n * t.out * t.h * t.w);
        l.add = &add;
    }
    ss_nn_set_price(r.nn, t.kib_price);
    y = ss_op_conv(r.nn, x, &l, &plan, "conv");
    must(ss_graph_status(r.g));
    got = run(&r, x, in, t.add ? &add : NULL, residual, y);
    check(&x, in, &l, residual, &y, got, ss_conv_method_name(plan.method));
    free(got);
    free(in);
    free(w);
    free(bias);
    free(residual);
    nn_fixture_free(&r);
    return plan;
}

static void conv_all(const struct conv_test *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)conv(&t[i]);
}

/* ---- matrix products, depthwise, first layers ---- */

static void test_gemm(void **state)
{
    static const struct conv_test t[] = {
        { .on = "toy4", .c = 16, .h = 3, .w = 4 },
        { .c = 40, .h = 6, .w = 5, .out = 24, .act = ACT_SWISH },
        { .n = 2, .c = 48, .h = 5, .out = 80, .act = ACT_RELU },
        { .on = "toy64", .c = 160, .h = 6, .out = 48, .add = 1 },
        { .on = "toy64", .c = 512, .h = 3, .out = 32, .act = ACT_SWISH, .add = 1 },
        { .on = "toy4", .c = 16, .h = 7, .out = 32, .add = 1 },
        { .c = 32, .h = 7, .stride = 2 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* Groups of several blocks: parts with several groups, parts of one group, and input channels of a
 * group over several tiles. */
static void test_gemm_groups(void **state)
{
    static const struct {
        struct conv_test t;
        uint32_t cut_out_above, cut_in_above;
    } row[] = {
        { { .on = "toy4", .c = 96, .h = 3, .w = 4, .out = 192, .groups = 6 }, 0, 0 },
        { { .on = "toy64", .c = 64, .h = 5, .groups = 2, .act = ACT_SWISH }, 0, 0 },
        { { .on = "toy64", .c = 96, .h = 2, .out = 480, .groups = 3, .act = ACT_RELU }, 3, 0 },
        { { .on = "toy64", .c = 512, .h = 2, .out = 64, .groups = 2, .add = 1 }, 0, 1 },
        { { .on = "toy64", .c = 512, .h = 1, .out = 160, .groups = 2, .add = 1 }, 2, 1 },
        { { .n = 2, .c = 80, .h = 4, .stride = 2, .out = 160, .groups = 5 }, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        for (int f32 = 0; f32 < 2; f32++) {
            for (uint32_t price = 0; price <= DEAR; price += DEAR) {
                struct conv_test t = row[i].t;
                struct conv_plan p;

                t.partials = f32 ? PARTIALS_F32 : PARTIALS_F16;
                t.kib_price = price;
                p = conv(&t);
                assert_int_equal(p.method, CONV_GEMM);
                if (f32 || price)
                    continue;
                assert_true(!row[i].cut_out_above || p.cut_out > row[i].cut_out_above);
                assert_true(!row[i].cut_in_above || p.cut_in > row[i].cut_in_above);
            }
        }
    }
}

static void test_depthwise(void **state)
{
    static const struct conv_test t[] = {
        { .c = 16, .h = 6, .kernel = 3, .groups = 16 },
        { .c = 40, .h = 9, .w = 7, .kernel = 3, .groups = 40, .act = ACT_SWISH },
        { .n = 2, .c = 32, .h = 8, .kernel = 5, .groups = 32, .act = ACT_SWISH },
        { .c = 32, .h = 8, .kernel = 3, .stride = 2, .groups = 32, .uneven = 1 },
        { .c = 48, .h = 11, .kernel = 5, .stride = 2, .groups = 48, .act = ACT_SWISH },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct conv_test row = t[i];
        uint64_t mixed = conv(&row).cost.compute;

        row.depthwise = DEPTHWISE_SLIDING;
        assert_true(conv(&row).cost.compute > mixed);
    }
}

static void test_first(void **state)
{
    static const struct conv_test t[] = {
        { .on = "toy4", .c = 3, .h = 8, .out = 16, .kernel = 3, .stride = 2, .uneven = 1 },
        { .n = 2, .c = 3, .h = 13, .w = 12, .out = 48, .kernel = 3, .stride = 2, .act = ACT_SWISH },
        { .c = 3, .h = 17, .w = 19, .out = 32, .kernel = 7, .stride = 2, .act = ACT_RELU },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* ---- by windows ---- */

static void test_window_groups(void **state)
{
    static const struct conv_test t[] = {
        { .on = "toy4", .c = 32, .h = 6, .kernel = 3, .groups = 2 },
        { .c = 48, .h = 9, .w = 7, .kernel = 3, .groups = 3, .act = ACT_SWISH },
        { .n = 2, .c = 64, .h = 8, .kernel = 5, .groups = 4 },
        { .c = 32, .h = 8, .kernel = 3, .stride = 2, .groups = 2, .act = ACT_SWISH, .uneven = 1 },
        { .on = "toy64",
          .c = 48,
          .h = 11,
          .w = 10,
          .kernel = 5,
          .stride = 2,
          .groups = 3,
          .act = ACT_RELU },
        { .c = 64, .h = 5, .kernel = 3, .groups = 2 },
        { .c = 32, .h = 5, .out = 64, .kernel = 3, .groups = 2 },
        { .c = 64, .h = 7, .stride = 2, .groups = 4 },
    };

    (void)state;
    conv_all(t, EMU_COUNT_OF(t));
}

/* Wide groups on small fields: tiles take a part of the outputs of one group. */
static void test_window_parts_of_groups(void **state)
{
    static const struct conv_test t[] = {
        { .on = "toy64", .c = 64, .h = 2, .out = 192, .kernel = 3, .groups = 2 },
        { .on = "toy64", .c = 32, .h = 2, .out = 224, .kernel = 3, .groups = 2, .act = ACT_SWISH },
        { .on = "toy64", .n = 2, .c = 96, .h = 2, .out = 240, .kernel = 3, .groups = 3, .add = 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        for (int f32 = 0; f32 < 2; f32++) {
            struct conv_test row = t[i];

            row.partials = f32 ? PARTIALS_F32 : PARTIALS_F16;
            assert_true(conv(&row).cut_out > row.groups);
        }
    }
}

/* Groups that are no whole blocks of 16 channels: joined in pairs, in fours, to one. */
static void test_joined_groups(void **state)
{
    static const struct conv_test t[] = {
        { .c = 40, .h = 7, .w = 6, .kernel = 3, .groups = 2, .act = ACT_SWISH },
        { .n = 3, .c = 56, .h = 6, .kernel = 3, .stride = 2, .groups = 2, .uneven = 1 },
        { .c = 64, .h = 6, .w = 5, .kernel = 3, .groups = 8, .act = ACT_RELU },
        { .on = "toy64", .n = 2, .c = 160, .h = 5, .out = 80, .kernel = 3, .groups = 8 },
        { .c = 32, .h = 5, .groups = 4 },
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
        { .on = "toy64", .c = 32, .h = 4, .kernel = 5, .groups = 2, .act = ACT_SWISH },
        { .on = "toy64", .c = 64, .h = 3, .kernel = 5, .groups = 2, .add = 1 },
        { .on = "toy64", .c = 32, .h = 7, .kernel = 5, .stride = 2, .groups = 2, .act = ACT_RELU },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        assert_true(conv(&t[i]).cut_in > 1);
}

static void test_window_dense(void **state)
{
    static const struct conv_test t[] = {
        { .on = "toy4", .c = 16, .h = 6, .kernel = 3, .act = ACT_RELU },
        { .n = 2, .c = 40, .h = 7, .w = 5, .out = 24, .kernel = 3 },
        { .on = "toy64", .c = 128, .h = 4, .out = 32, .kernel = 3, .act = ACT_RELU },
        { .on = "toy64", .c = 96, .h = 8, .out = 32, .kernel = 3, .stride = 2, .act = ACT_RELU },
        { .c = 32, .h = 6, .kernel = 3, .act = ACT_RELU, .add = 1 },
        { .on = "toy64", .c = 192, .h = 3, .out = 16, .kernel = 3, .add = 1 },
        { .c = 20, .h = 1, .w = 9, .kernel = 3 },
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
        { .on = "toy4", .c = 16, .h = 3, .w = 4 },
        { .n = 2, .c = 48, .h = 5, .out = 80, .act = ACT_RELU },
        { .on = "toy64", .c = 512, .h = 3, .out = 40, .act = ACT_SWISH },
        { .on = "toy64", .c = 160, .h = 6, .out = 48, .act = ACT_RELU, .add = 1 },
        { .c = 32, .h = 7, .stride = 2 },
        { .c = 32, .h = 6, .w = 7, .kernel = 3 },
        { .n = 2, .c = 32, .h = 7, .w = 6, .out = 48, .kernel = 3, .stride = 2, .act = ACT_SWISH },
        { .on = "toy64", .c = 128, .h = 4, .out = 32, .kernel = 3 },
        { .c = 64, .h = 6, .kernel = 3, .groups = 4 },
        { .c = 64, .h = 6, .kernel = 3, .groups = 2, .act = ACT_RELU },
        { .on = "toy64", .c = 16, .h = 3, .kernel = 5 },
        { .n = 2, .c = 3, .h = 13, .w = 12, .out = 48, .kernel = 3, .stride = 2, .act = ACT_SWISH },
        { .c = 4, .h = 17, .w = 19, .out = 32, .kernel = 7, .stride = 2 },
        { .c = 32, .h = 8, .kernel = 3, .stride = 2, .groups = 32, .uneven = 1 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct conv_test row = t[i];

        row.partials = PARTIALS_F32;
        (void)conv(&row);
    }
}

/* ---- parameters on one tile each ---- */

/* They are fetched by all tiles that use them, unless only one does. */
static void test_fetched_parameters(void **state)
{
    static const struct conv_test t[] = {
        { .c = 40, .h = 6, .w = 5, .out = 24, .act = ACT_SWISH },
        { .on = "toy64", .c = 160, .h = 6, .out = 48, .add = 1 },
        { .n = 3, .c = 32, .h = 7, .stride = 2, .act = ACT_RELU },
        { .c = 40, .h = 9, .w = 7, .kernel = 3, .groups = 40, .act = ACT_SWISH },
        { .n = 2, .c = 48, .h = 11, .kernel = 5, .stride = 2, .groups = 48, .act = ACT_SWISH },
        { .n = 2, .c = 3, .h = 13, .w = 12, .out = 48, .kernel = 3, .stride = 2, .act = ACT_SWISH },
        { .n = 2, .c = 64, .h = 8, .kernel = 5, .groups = 4 },
        { .c = 64, .h = 5, .kernel = 3, .groups = 2 },
        { .on = "toy64", .c = 64, .h = 3, .kernel = 5, .groups = 2, .add = 1 },
        { .n = 2, .c = 40, .h = 7, .w = 5, .out = 24, .kernel = 3 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        struct conv_test row = t[i];
        struct conv_plan p;

        row.kib_price = DEAR;
        p = conv(&row);
        if ((uint64_t)p.cut_n * p.cut_h * p.cut_w > 1)
            assert_true(p.fetched);
        else
            assert_false(p.fetched);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_gemm_groups),
        cmocka_unit_test(test_depthwise),
        cmocka_unit_test(test_first),
        cmocka_unit_test(test_window_groups),
        cmocka_unit_test(test_window_parts_of_groups),
        cmocka_unit_test(test_joined_groups),
        cmocka_unit_test(test_window_rows),
        cmocka_unit_test(test_window_dense),
        cmocka_unit_test(test_f32_partials),
        cmocka_unit_test(test_fetched_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
