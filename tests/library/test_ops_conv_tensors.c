/* test_ops_conv_tensors.c - layers whose parameters are tensors of the graph against the same
 * layers with constants, bit for bit: every method, weights in their home and in rows, f16 and f32.
 *
 * Inputs and weights are multiples of 1/8 of at most 1, so that all sums are exact in any order.
 */
#include "tests/fixtures/nn_fixture.h"

struct layer_test {
    uint32_t n, c, h, w, out, kernel, stride, groups, pad, dilation;
    enum conv_partials partials;
    enum conv_depthwise depthwise;
    enum activation_function act;
    uint32_t bias, add;
};

enum source { CONSTANTS, ROWS_F16, ROWS_F32, HOME_F16, HOME_F32, SOURCES };

static const char *const source_name[SOURCES] = { "constants", "rows in f16", "rows in f32",
                                                  "a home in f16", "a home in f32" };

/* A variable with contents. */
static struct tensor new_numbers(struct nn_fixture *r, enum elem e, unsigned rank,
                                 const uint32_t *shape, const float *v, const char *name)
{
    struct tensor t = ss_graph_variable(r->g, e, rank, shape, name);
    uint64_t n = ss_tensor_elements(r->g, t);
    uint16_t *half = calloc(n + 1, sizeof(*half));

    for (uint64_t i = 0; i < n; i++)
        half[i] = nn_half(v[i]);
    ss_graph_set_initial(r->g, t, e == ELEM_F16 ? (const void *)half : v);
    ss_graph_map_linear(r->g, t, 6, 6, 0, r->arch.tiles);
    free(half);
    return t;
}

/* The weights of a layer as `from` says. */
static struct tensor weights_of(struct nn_fixture *r, const struct activation *x,
                                const struct conv_layer *l, const float *w, enum source from)
{
    enum elem e = from == ROWS_F32 || from == HOME_F32 ? ELEM_F32 : ELEM_F16;
    const uint32_t shape[4] = { l->out_c, x->c / l->groups, l->kernel_h, l->kernel_w };
    struct tensor rows = new_numbers(r, e, 4, shape, w, "weights");
    struct conv_home home;

    if (from == ROWS_F16 || from == ROWS_F32)
        return rows;
    home = ss_conv_weights_home(r->nn, x, l, e, "home");
    assert_memory_equal(ss_tensor_shape(r->g, home.weights), shape, sizeof(shape));
    ss_op_fill(r->g, r->seq, home.blocks, 0, "zeros");
    ss_program_add(r->g, r->seq, ss_program_copy(r->g, rows, home.weights));
    return home.blocks;
}

static double *convolve(const struct layer_test *t, enum source from, struct activation *y,
                        enum conv_method *method)
{
    struct nn_fixture r = nn_fixture_new("mk2", 16);
    struct activation x, add;
    float *in, *w, *bias, *residual = NULL;
    struct conv_layer l = { .out_c = t->out,
                            .groups = t->groups,
                            .kernel_h = t->kernel,
                            .kernel_w = t->kernel,
                            .stride_h = t->stride,
                            .stride_w = t->stride,
                            .dilation_h = t->dilation,
                            .dilation_w = t->dilation,
                            .pad_top = t->pad,
                            .pad_left = t->pad,
                            .pad_bottom = t->pad,
                            .pad_right = t->pad,
                            .act = t->act,
                            .partials = t->partials,
                            .depthwise = t->depthwise };
    struct tensor wt, bt;
    struct conv_plan plan;
    double *got;

    r.seed = t->c * 31 + t->out;
    x = input(&r, t->n, t->c, t->h, t->w);
    in = numbers(&r, (size_t)t->n * t->c * t->h * t->w);
    w = numbers(&r, (size_t)t->out * (t->c / t->groups) * t->kernel * t->kernel);
    bias = numbers(&r, t->out);
    if (from == CONSTANTS) {
        l.weights = w;
        l.bias = t->bias ? bias : NULL;
    } else {
        wt = weights_of(&r, &x, &l, w, from);
        bt = new_numbers(&r, from == ROWS_F32 ? ELEM_F32 : ELEM_F16, 1, &t->out, bias, "bias");
        l.w = &wt;
        l.b = t->bias ? &bt : NULL;
    }
    if (t->add) {
        struct conv_shape s = ss_conv_layer_shape(&x, &l);

        add = input(&r, t->n, t->out, s.out_h, s.out_w);
        residual = numbers(&r, (size_t)t->n * t->out * s.out_h * s.out_w);
        l.add = &add;
    }
    *y = ss_op_conv(r.nn, x, &l, &plan, "conv");
    must(ss_graph_status(r.g));
    if (from != CONSTANTS)
        assert_true(plan.fetched);
    *method = plan.method;
    got = run(&r, x, in, t->add ? &add : NULL, residual, *y);
    free(in);
    free(w);
    free(bias);
    free(residual);
    nn_fixture_free(&r);
    return got;
}

static void compare(const struct layer_test *t, enum conv_method method)
{
    struct activation y;
    enum conv_method used;
    double *want = convolve(t, CONSTANTS, &y, &used);

    assert_int_equal(used, method);
    for (enum source from = CONSTANTS + 1; from < SOURCES; from++) {
        double *got = convolve(t, from, &y, &used);

        assert_int_equal(used, method);
        if (memcmp(got, want, values(&y) * sizeof(*got)) != 0)
            fail_msg("%u x %u x %u x %u to %u, kernel %u, stride %u, groups %u: weights from %s "
                     "give another result than constants",
                     t->n, t->c, t->h, t->w, t->out, t->kernel, t->stride, t->groups,
                     source_name[from]);
        free(got);
    }
    free(want);
}

static struct layer_test with_defaults(struct layer_test t)
{
    t.n = t.n ? t.n : 1;
    t.w = t.w ? t.w : t.h;
    t.out = t.out ? t.out : t.c;
    t.kernel = t.kernel ? t.kernel : 1;
    t.stride = t.stride ? t.stride : 1;
    t.groups = t.groups ? t.groups : 1;
    t.dilation = t.dilation ? t.dilation : 1;
    t.pad = t.pad ? t.pad : t.dilation * (t.kernel / 2);
    return t;
}

static void compare_all(const struct layer_test *t, size_t n, enum conv_method method)
{
    for (size_t i = 0; i < n; i++) {
        struct layer_test row = with_defaults(t[i]);

        compare(&row, method);
    }
}

static void test_gemm(void **state)
{
    static const struct layer_test t[] = {
        { .c = 32, .h = 5, .out = 48, .bias = 1, .act = ACT_SWISH },
        { .n = 2, .c = 40, .h = 3, .out = 24, .bias = 1 },
        { .c = 96, .h = 2, .out = 32, .act = ACT_RELU, .add = 1 },
        { .c = 24, .h = 5, .out = 56, .stride = 2, .bias = 1, .partials = PARTIALS_F32 },
        { .c = 64, .h = 3, .out = 128, .groups = 2, .bias = 1 },
        { .c = 160, .h = 2, .out = 16, .bias = 1, .partials = PARTIALS_F32 },
    };

    (void)state;
    compare_all(t, EMU_COUNT_OF(t), CONV_GEMM);
}

static void test_window(void **state)
{
    static const struct layer_test t[] = {
        { .c = 32, .h = 6, .out = 32, .kernel = 3, .bias = 1, .act = ACT_RELU },
        { .n = 2, .c = 20, .h = 5, .out = 40, .kernel = 3, .stride = 2, .bias = 1 },
        { .c = 64, .h = 6, .kernel = 3, .groups = 4, .act = ACT_SWISH },
        { .c = 64, .h = 6, .kernel = 5, .groups = 2, .stride = 2, .bias = 1 },
        { .c = 32, .h = 7, .kernel = 3, .groups = 2, .partials = PARTIALS_F32, .bias = 1 },
        { .c = 48, .h = 6, .out = 16, .kernel = 3, .dilation = 2, .partials = PARTIALS_F32 },
        { .c = 24, .h = 5, .kernel = 3, .groups = 3, .bias = 1 }, /* joined */
        { .c = 6, .h = 5, .kernel = 3, .groups = 2, .bias = 1 },  /* not whole blocks */
        { .c = 32, .h = 7, .kernel = 7, .groups = 32, .bias = 1 },
    };

    (void)state;
    compare_all(t, EMU_COUNT_OF(t), CONV_WINDOW);
}

static void test_depthwise(void **state)
{
    static const struct layer_test t[] = {
        { .c = 32, .h = 7, .kernel = 3, .groups = 32, .bias = 1 },
        { .n = 2, .c = 40, .h = 8, .kernel = 5, .groups = 40, .act = ACT_SWISH, .bias = 1 },
        { .c = 24, .h = 9, .kernel = 3, .stride = 2, .groups = 24 },
        { .c = 16, .h = 9, .kernel = 5, .stride = 2, .groups = 16, .bias = 1 },
        { .c = 48, .h = 6, .kernel = 5, .groups = 48, .depthwise = DEPTHWISE_SLIDING },
        { .c = 48, .h = 8, .kernel = 3, .stride = 2, .groups = 48, .depthwise = DEPTHWISE_SLIDING },
    };

    (void)state;
    compare_all(t, EMU_COUNT_OF(t), CONV_DEPTHWISE);
}

static void test_first(void **state)
{
    static const struct layer_test t[] = {
        { .c = 3, .h = 9, .out = 32, .kernel = 3, .stride = 2, .bias = 1, .act = ACT_SWISH },
        { .n = 2, .c = 3, .h = 12, .out = 24, .kernel = 7, .stride = 2 },
        { .c = 4, .h = 11, .out = 40, .kernel = 5, .stride = 2, .bias = 1 },
        { .c = 3, .h = 10, .out = 40, .kernel = 4, .stride = 2, .partials = PARTIALS_F32 },
    };

    (void)state;
    compare_all(t, EMU_COUNT_OF(t), CONV_FIRST);
}

/* ---- fully connected ---- */

static double *connect(uint32_t n, uint32_t c, uint32_t out, enum activation_function act,
                       enum elem e, int tensors, struct activation *y)
{
    struct nn_fixture r = nn_fixture_new("toy16", 0);
    struct activation x = input(&r, n, c, 1, 1);
    float *in = numbers(&r, (size_t)n * c), *w = numbers(&r, (size_t)out * c);
    float *bias = numbers(&r, out);
    double *got;

    if (tensors) {
        struct tensor wt = new_numbers(&r, e, 2, (const uint32_t[]){ out, c }, w, "weights");
        struct tensor bt = new_numbers(&r, e, 1, &out, bias, "bias");

        *y = ss_op_linear_tensors(r.nn, x, wt, &bt, act, "fc");
    } else {
        *y = ss_op_linear(r.nn, x, out, w, bias, act, "fc");
    }
    must(ss_graph_status(r.g));
    got = run(&r, x, in, NULL, NULL, *y);
    free(in);
    free(w);
    free(bias);
    nn_fixture_free(&r);
    return got;
}

static void test_linear(void **state)
{
    static const uint32_t size[][3] = {
        { 1, 32, 16 }, { 3, 40, 24 }, { 2, 18, 250 }, { 4, 400, 10 }
    };

    (void)state;
    for (uint32_t i = 0; i < EMU_COUNT_OF(size) * 4; i++) {
        const uint32_t *s = size[i / 4];
        enum activation_function act = i % 2 ? ACT_SIGMOID : ACT_NONE;
        enum elem e = i / 2 % 2 ? ELEM_F32 : ELEM_F16;
        struct activation y;
        double *want = connect(s[0], s[1], s[2], act, e, 0, &y);
        double *got = connect(s[0], s[1], s[2], act, e, 1, &y);

        if (memcmp(got, want, values(&y) * sizeof(*got)) != 0)
            fail_msg("%u vectors of %u to %u: tensors give another result than constants", s[0],
                     s[1], s[2]);
        free(got);
        free(want);
    }
}

/* Weights of another shape are refused. */
static void test_refused(void **state)
{
    struct nn_fixture r = nn_fixture_new("toy16", 0);
    struct activation x = input(&r, 1, 32, 4, 4);
    float one[64 * 32] = { 1 };
    struct tensor w = new_numbers(&r, ELEM_F16, 4, (const uint32_t[]){ 64, 16, 1, 1 }, one, "w");
    struct conv_layer l = { .out_c = 64, .groups = 1, .kernel_h = 1, .kernel_w = 1, .stride_h = 1 };

    (void)state;
    l.stride_w = l.dilation_h = l.dilation_w = 1;
    l.w = &w;
    (void)ss_op_conv(r.nn, x, &l, NULL, "conv");
    assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
    nn_fixture_free(&r);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm),      cmocka_unit_test(test_window),
        cmocka_unit_test(test_depthwise), cmocka_unit_test(test_first),
        cmocka_unit_test(test_linear),    cmocka_unit_test(test_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
