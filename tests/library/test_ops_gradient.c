/* test_ops_gradient.c - gradients of layers on small machines against their definition in f64, over
 * all shapes that the layers have.
 *
 * Operands are multiples of 1/8 of at most 1, so that sums below 32 are exact in f16 in any order.
 */
#include "tests/fixtures/nn_fixture.h"

enum { EXACT = 32 };

struct back_test {
    uint32_t n, c, h, w, out, kernel, kernel_w, stride, groups, dilation, pad;
    uint32_t pad_after; /* bottom and right; equal to pad */
    enum conv_partials partials;
    enum conv_depthwise depthwise;
    int rows;       /* weights are no home */
    uint32_t tiles; /* 16 */
};

static struct back_test with_defaults(struct back_test t)
{
    t.n = t.n ? t.n : 1;
    t.w = t.w ? t.w : t.h;
    t.out = t.out ? t.out : t.c;
    t.kernel = t.kernel ? t.kernel : 1;
    t.kernel_w = t.kernel_w ? t.kernel_w : t.kernel;
    t.stride = t.stride ? t.stride : 1;
    t.groups = t.groups ? t.groups : 1;
    t.dilation = t.dilation ? t.dilation : 1;
    t.pad_after = t.pad_after ? t.pad_after : t.pad;
    return t;
}

static struct conv_layer layer_of(const struct back_test *t)
{
    return (struct conv_layer){ .out_c = t->out,
                                .groups = t->groups,
                                .kernel_h = t->kernel,
                                .kernel_w = t->kernel_w,
                                .stride_h = t->stride,
                                .stride_w = t->stride,
                                .dilation_h = t->dilation,
                                .dilation_w = t->dilation,
                                .pad_top = t->pad,
                                .pad_left = t->pad,
                                .pad_bottom = t->pad_after,
                                .pad_right = t->pad_after,
                                .partials = t->partials,
                                .depthwise = t->depthwise };
}

static void say(const struct back_test *t, const char *what, uint32_t k, double got, double want)
{
    fail_msg("%s: %u x %u x %u x %u to %u, kernel %u x %u, stride %u, groups %u, dilation %u, pads "
             "%u, %u: number %u is %g, the definition says %g",
             what, t->n, t->c, t->h, t->w, t->out, t->kernel, t->kernel_w, t->stride, t->groups,
             t->dilation, t->pad, t->pad_after, k, got, want);
}

/* A variable with the weights, in a home or not. */
static struct tensor weights(struct nn_fixture *r, const struct back_test *t,
                             const struct activation *x, const struct conv_layer *l, const float *w)
{
    const uint32_t shape[4] = { t->out, t->c / t->groups, t->kernel, t->kernel_w };
    struct tensor rows = ss_graph_variable(r->g, ELEM_F16, 4, shape, "weights");
    uint64_t n = ss_tensor_elements(r->g, rows);
    uint16_t *half = calloc(n + 1, sizeof(*half));
    struct conv_home home;

    for (uint64_t i = 0; i < n; i++)
        half[i] = nn_half(w[i]);
    ss_graph_set_initial(r->g, rows, half);
    ss_graph_map_linear(r->g, rows, 6, 6, 0, r->arch.tiles);
    free(half);
    if (t->rows)
        return rows;
    home = ss_conv_weights_home(r->nn, x, l, ELEM_F16, "home");
    ss_op_fill(r->g, r->seq, home.blocks, 0, "zeros");
    ss_program_add(r->g, r->seq, ss_program_copy(r->g, rows, home.weights));
    return home.blocks;
}

/* ---- of the input ---- */

/* Adds what output (n, o, y, q) and tap k say about the input. */
static void scatter(const struct back_test *t, const struct conv_shape *s, const float *dy,
                    const float *w, double *dx, double *size)
{
    uint32_t in = t->c / t->groups, taps = t->kernel * t->kernel_w, field = s->out_h * s->out_w;

    for (uint32_t i = 0; i < t->n * t->out * field; i++) {
        uint32_t n = i / field / t->out, o = i / field % t->out;
        uint32_t first = o / (t->out / t->groups) * in;

        for (uint32_t k = 0; k < in * taps; k++) {
            int64_t y = (int64_t)(i % field / s->out_w) * t->stride +
                        k % taps / t->kernel_w * t->dilation - t->pad;
            int64_t q =
                (int64_t)(i % s->out_w) * t->stride + k % t->kernel_w * t->dilation - t->pad;
            double p = (double)dy[i] * (double)w[(size_t)o * in * taps + k];
            size_t at = ((n * (size_t)t->c + first + k / taps) * t->h + (size_t)y) * t->w;

            if (y < 0 || q < 0 || y >= t->h || q >= t->w)
                continue;
            dx[at + (size_t)q] += p;
            size[at + (size_t)q] += fabs(p);
        }
    }
}

static void check_dx(const struct back_test *t, const struct conv_shape *s, const float *dy,
                     const float *w, struct activation dx, const double *got)
{
    size_t n = (size_t)t->n * t->c * t->h * t->w, field = (size_t)t->h * t->w;
    double *want = calloc(n, sizeof(*want)), *size = calloc(n, sizeof(*size));
    struct activation memory = dx;

    scatter(t, s, dy, w, want, size);
    memory.c = channel_blocks(dx.c) * CHANNEL_BLOCK;
    for (uint32_t k = 0; k < t->n * memory.c * field; k++) {
        uint32_t i = (uint32_t)(k / field / memory.c), c = (uint32_t)(k / field % memory.c);
        double g = got[at(&memory, i, c, (uint32_t)(k % field / t->w), (uint32_t)(k % t->w))];
        size_t plain = ((size_t)i * t->c + c) * field + k % field;
        double bound = c < t->c && size[plain] >= EXACT ? size[plain] * 64 / 2048 : 0;

        if (!(fabs(g - (c < t->c ? want[plain] : 0)) <= bound))
            say(t, "data", k, g, c < t->c ? want[plain] : 0);
    }
    free(want);
    free(size);
}

static void data_gradient(const struct back_test *row)
{
    struct back_test t = with_defaults(*row);
    struct conv_layer l = layer_of(&t);
    struct nn_fixture r = nn_fixture_new("mk2", 16);
    struct activation x = { .n = t.n, .c = t.c, .h = t.h, .w = t.w }, dy, dx, memory;
    struct conv_shape s = ss_conv_layer_shape(&x, &l);
    float *w, *v;
    struct tensor wt;
    double *got;

    r.seed = t.c + t.out * 7 + t.h;
    x = input(&r, t.n, t.c, t.h, t.w);
    dy = input(&r, t.n, t.out, s.out_h, s.out_w);
    w = numbers(&r, (size_t)t.out * (t.c / t.groups) * t.kernel * t.kernel_w);
    v = numbers(&r, (size_t)t.n * t.out * s.out_h * s.out_w);
    wt = weights(&r, &t, &x, &l, w);
    l.w = &wt;
    dx = ss_op_conv_data_gradient(r.nn, dy, &l, &x, "dx");
    must(ss_graph_status(r.g));
    assert_int_equal(dx.c, t.c);
    assert_int_equal(dx.h, t.h);
    assert_int_equal(dx.w, t.w);
    memory = dx;
    memory.c = channel_blocks(dx.c) * CHANNEL_BLOCK;
    got = run(&r, dy, v, NULL, NULL, memory);
    check_dx(&t, &s, v, w, dx, got);
    free(got);
    free(w);
    free(v);
    nn_fixture_free(&r);
}

static void data_all(const struct back_test *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data_gradient(&t[i]);
}

static void test_data_dense(void **state)
{
    static const struct back_test t[] = {
        { .c = 32, .h = 4, .out = 48 },
        { .n = 2, .c = 24, .h = 3, .w = 5, .out = 40, .rows = 1 },
        { .c = 24, .h = 5, .out = 40, .stride = 2 },
        { .c = 32, .h = 6, .out = 32, .stride = 3 },
        { .c = 32, .h = 6, .w = 5, .out = 16, .kernel = 3, .pad = 1 },
        { .n = 2, .c = 20, .h = 7, .out = 24, .kernel = 3, .stride = 2, .pad = 1 },
        { .c = 16, .h = 8, .out = 32, .kernel = 3, .stride = 2, .pad = 0, .pad_after = 1 },
        { .c = 16, .h = 9, .out = 32, .kernel = 3, .stride = 2 },
        { .c = 16, .h = 10, .out = 16, .kernel = 5, .stride = 2, .pad = 1, .pad_after = 2 },
        { .c = 16, .h = 9, .out = 16, .kernel = 3, .stride = 3, .pad = 2, .rows = 1 },
        { .c = 16, .h = 7, .out = 16, .kernel = 3, .dilation = 2, .pad = 2 },
        { .c = 16, .h = 9, .out = 16, .kernel = 3, .dilation = 2, .stride = 2, .pad = 2 },
        { .c = 16, .h = 6, .out = 16, .kernel = 1, .kernel_w = 3, .pad = 3 },
        { .c = 32, .h = 5, .out = 32, .kernel = 3, .pad = 1, .partials = PARTIALS_F32 },
    };

    (void)state;
    data_all(t, EMU_COUNT_OF(t));
}

static void test_data_groups(void **state)
{
    static const struct back_test t[] = {
        { .c = 64, .h = 5, .kernel = 3, .groups = 4, .pad = 1 },
        { .c = 64, .h = 3, .out = 128, .groups = 2 },
        { .c = 64, .h = 6, .kernel = 5, .groups = 2, .stride = 2, .pad = 2 },
        { .c = 64, .h = 6, .out = 32, .kernel = 3, .groups = 2, .stride = 2, .pad = 1 },
        { .c = 24, .h = 4, .out = 48, .kernel = 3, .groups = 3, .pad = 1 },
        { .n = 2, .c = 32, .h = 6, .kernel = 3, .groups = 32, .pad = 1 },
        { .c = 24, .h = 7, .kernel = 5, .groups = 24, .pad = 2, .rows = 1 },
        { .c = 32, .h = 8, .kernel = 3, .groups = 32, .stride = 2, .pad = 0, .pad_after = 1 },
        { .c = 16, .h = 9, .kernel = 5, .groups = 16, .stride = 2, .pad = 2 },
        { .c = 16,
          .h = 8,
          .kernel = 5,
          .groups = 16,
          .stride = 2,
          .pad = 2,
          .depthwise = DEPTHWISE_SLIDING },
        { .c = 16, .h = 8, .kernel = 7, .groups = 16, .pad = 3 },
    };

    (void)state;
    data_all(t, EMU_COUNT_OF(t));
}

/* ---- of the weights ---- */

/* The definition: [out][in / groups][kernel]. */
static void correlate(const struct back_test *t, const struct conv_shape *s, const float *x,
                      const float *dy, double *dw, double *size)
{
    uint32_t in = t->c / t->groups, taps = t->kernel * t->kernel_w, field = s->out_h * s->out_w;

    for (uint32_t i = 0; i < t->n * t->out * field; i++) {
        uint32_t n = i / field / t->out, o = i / field % t->out;
        uint32_t first = o / (t->out / t->groups) * in;

        for (uint32_t k = 0; k < in * taps; k++) {
            int64_t y = (int64_t)(i % field / s->out_w) * t->stride +
                        k % taps / t->kernel_w * t->dilation - t->pad;
            int64_t q =
                (int64_t)(i % s->out_w) * t->stride + k % t->kernel_w * t->dilation - t->pad;
            double p;

            if (y < 0 || q < 0 || y >= t->h || q >= t->w)
                continue;
            p = (double)dy[i] *
                (double)x[((n * (size_t)t->c + first + k / taps) * t->h + (size_t)y) * t->w +
                          (size_t)q];
            dw[(size_t)o * in * taps + k] += p;
            size[(size_t)o * in * taps + k] += fabs(p);
        }
    }
}

static void weight_gradient(const struct back_test *row)
{
    struct back_test t = with_defaults(*row);
    struct conv_layer l = layer_of(&t);
    struct nn_fixture r = nn_fixture_new("mk2", t.tiles ? t.tiles : 16);
    struct activation x = input(&r, t.n, t.c, t.h, t.w), dy;
    struct conv_shape s = ss_conv_layer_shape(&x, &l);
    uint32_t n = t.out * (t.c / t.groups) * t.kernel * t.kernel_w;
    double *want = calloc(n, sizeof(*want)), *size = calloc(n, sizeof(*size));
    float *in, *v, *got;
    struct tensor dw;

    r.seed = t.c + t.out * 5 + t.h;
    dy = input(&r, t.n, t.out, s.out_h, s.out_w);
    in = numbers(&r, (size_t)t.n * t.c * t.h * t.w);
    v = numbers(&r, (size_t)t.n * t.out * s.out_h * s.out_w);
    dw = ss_op_conv_weight_gradient(r.nn, x, dy, &l, "dw");
    must(ss_graph_status(r.g));
    got = run_f32(&r, x, in, dy, v, ss_conv_weights_matrix(r.nn, &x, &l, dw));
    correlate(&t, &s, in, v, want, size);
    for (uint32_t k = 0; k < n; k++) {
        /* All terms are multiples of 1 / 64. */
        double bound = size[k] >= EXACT ? size[k] * 16 / 2048 : 0;

        if (!(fabs((double)got[k] - want[k]) <= bound))
            say(&t, "weights", k, (double)got[k], want[k]);
    }
    free(want);
    free(size);
    free(in);
    free(v);
    free(got);
    nn_fixture_free(&r);
}

static void test_weights(void **state)
{
    static const struct back_test t[] = {
        { .c = 32, .h = 4, .out = 48 },
        { .n = 2, .c = 24, .h = 3, .w = 5, .out = 40 },
        { .c = 160, .h = 2, .out = 80, .tiles = 4 },
        { .c = 24, .h = 5, .out = 40, .stride = 2 },
        { .n = 3, .c = 16, .h = 1, .out = 32 },
        { .c = 32, .h = 6, .w = 5, .out = 16, .kernel = 3, .pad = 1 },
        { .n = 3, .c = 20, .h = 7, .out = 24, .kernel = 3, .stride = 2, .pad = 1 },
        { .c = 16,
          .h = 8,
          .out = 32,
          .kernel = 3,
          .stride = 2,
          .pad = 0,
          .pad_after = 1,
          .tiles = 4 },
        { .c = 16, .h = 9, .out = 32, .kernel = 3, .stride = 2 },
        { .c = 16, .h = 10, .out = 16, .kernel = 5, .stride = 2, .pad = 1, .pad_after = 2 },
        { .c = 16, .h = 20, .out = 16, .kernel = 3, .pad = 1, .tiles = 4 },
        { .c = 16, .h = 9, .out = 16, .kernel = 3, .stride = 3, .pad = 2 },
        { .c = 16, .h = 7, .out = 16, .kernel = 3, .dilation = 2, .pad = 2 },
        { .c = 16, .h = 9, .out = 16, .kernel = 3, .dilation = 2, .stride = 2, .pad = 2 },
        { .c = 16, .h = 2, .w = 300, .out = 16, .kernel = 1, .kernel_w = 3, .pad = 1 },
        /* Blocks of positions that go on from row to row, and blocks of one row each. */
        { .n = 4, .c = 48, .h = 5, .out = 32, .kernel = 3, .pad = 1, .tiles = 4 },
        { .n = 2, .c = 48, .h = 3, .w = 16, .out = 32, .kernel = 3, .pad = 1, .tiles = 4 },
        { .n = 2, .c = 16, .h = 7, .w = 53, .out = 16, .kernel = 5, .pad = 2, .tiles = 8 },
        { .c = 16, .h = 9, .w = 75, .out = 16, .kernel = 5, .stride = 2, .pad = 2, .tiles = 6 },
        { .c = 16, .h = 9, .w = 40, .kernel = 3, .stride = 2, .dilation = 2, .pad = 2 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        weight_gradient(&t[i]);
}

static void test_weights_groups(void **state)
{
    static const struct back_test t[] = {
        { .c = 64, .h = 5, .kernel = 3, .groups = 4, .pad = 1 },
        { .c = 64, .h = 5, .kernel = 3, .groups = 4, .pad = 1, .tiles = 4 },
        { .c = 64, .h = 3, .out = 128, .groups = 2 },
        { .c = 64, .h = 6, .kernel = 5, .groups = 2, .stride = 2, .pad = 2 },
        { .c = 24, .h = 4, .out = 48, .kernel = 3, .groups = 3, .pad = 1 },
        { .n = 2, .c = 32, .h = 6, .kernel = 3, .groups = 32, .pad = 1 },
        { .c = 24, .h = 7, .kernel = 5, .groups = 24, .pad = 2 },
        { .c = 32, .h = 8, .kernel = 3, .groups = 32, .stride = 2, .pad = 0, .pad_after = 1 },
        { .c = 16, .h = 8, .kernel = 7, .groups = 16, .pad = 3 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        weight_gradient(&t[i]);
}

static void test_weights_first(void **state)
{
    static const struct back_test t[] = {
        { .c = 3, .h = 9, .out = 32, .kernel = 3, .stride = 2, .pad = 0, .pad_after = 1 },
        { .n = 2, .c = 3, .h = 12, .out = 24, .kernel = 7, .stride = 2, .pad = 3 },
        { .c = 4, .h = 11, .out = 40, .kernel = 5, .stride = 2, .pad = 2 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        weight_gradient(&t[i]);
}

/* ---- pools ---- */

struct pool_test {
    uint32_t n, c, h, w, kernel, stride, pad, dilation;
    enum pool_function function;
    int count_pads;
};

/* The window of one output of one channel: adds its share of dy to dx. */
static void spread_window(const struct pool_test *t, const float *x, double dy, uint32_t oy,
                          uint32_t ox, double *dx)
{
    uint32_t taps = t->kernel * t->kernel, best = UINT32_MAX, inside = 0;

    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t k = 0; k < taps; k++) {
            int64_t i = (int64_t)oy * t->stride + k / t->kernel * t->dilation - t->pad;
            int64_t j = (int64_t)ox * t->stride + k % t->kernel * t->dilation - t->pad;
            uint32_t at = (uint32_t)(i * t->w + j);

            if (i < 0 || j < 0 || i >= t->h || j >= t->w)
                continue;
            if (!pass) {
                inside++;
                best = best == UINT32_MAX || x[at] > x[best] ? at : best;
            } else if (t->function == POOL_MEAN) {
                dx[at] += dy / (t->count_pads ? taps : inside);
            }
        }
    if (t->function == POOL_MAX)
        dx[best] += dy;
}

static void pool_gradient(const struct pool_test *row)
{
    struct pool_test t = *row;
    uint32_t out_h = (t.h + 2 * t.pad - (t.kernel - 1) * t.dilation - 1) / t.stride + 1;
    uint32_t out_w = (t.w + 2 * t.pad - (t.kernel - 1) * t.dilation - 1) / t.stride + 1;
    struct pool_layer l = { t.function, t.kernel,   t.kernel, t.stride,    t.stride,
                            t.dilation, t.dilation, t.pad,    t.pad,       t.pad,
                            t.pad,      out_h,      out_w,    t.count_pads };
    struct nn_fixture r = nn_fixture_new("mk2", 8);
    struct activation x = input(&r, t.n, t.c, t.h, t.w), dy = input(&r, t.n, t.c, out_h, out_w), y;
    uint32_t planes = t.n * t.c, field = t.h * t.w, outs = out_h * out_w;
    float *in = numbers(&r, (size_t)planes * field), *v = numbers(&r, (size_t)planes * outs);
    double *want = calloc((size_t)planes * field, sizeof(*want)), *got;
    struct activation dx;

    y = ss_op_pool(r.nn, x, &l, "pool");
    dx = ss_op_pool_gradient(r.nn, x, y, dy, &l, "dx");
    must(ss_graph_status(r.g));
    got = run(&r, x, in, &dy, v, dx);
    for (uint32_t k = 0; k < planes * outs; k++)
        spread_window(&t, in + (size_t)(k / outs) * field, (double)v[k], k % outs / out_w,
                      k % out_w, want + (size_t)(k / outs) * field);
    for (uint32_t k = 0; k < planes * field; k++) {
        double g = got[at(&dx, k / field / t.c, k / field % t.c, k % field / t.w, k % t.w)];

        if (!(fabs(g - want[k]) <= (t.function == POOL_MEAN ? 0.002 : 0)))
            fail_msg("pool %d, kernel %u, stride %u: number %u is %g, the definition says %g",
                     (int)t.function, t.kernel, t.stride, k, g, want[k]);
    }
    free(in);
    free(v);
    free(want);
    free(got);
    nn_fixture_free(&r);
}

static void test_pools(void **state)
{
    static const struct pool_test t[] = {
        { .n = 2, .c = 24, .h = 7, .w = 6, .kernel = 3, .stride = 2, .pad = 1, .dilation = 1 },
        { .n = 1, .c = 16, .h = 6, .w = 6, .kernel = 2, .stride = 2, .dilation = 1 },
        { .n = 1, .c = 16, .h = 8, .w = 7, .kernel = 3, .stride = 1, .pad = 1, .dilation = 2 },
        { 1, 16, 7, 7, 3, 2, 1, 1, POOL_MEAN, 0 },
        { 2, 20, 6, 5, 3, 1, 1, 1, POOL_MEAN, 1 },
        { 1, 16, 6, 6, 2, 2, 0, 1, POOL_MEAN, 0 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++)
        pool_gradient(&t[i]);
}

static void test_global_pool(void **state)
{
    struct nn_fixture r = nn_fixture_new("mk2", 8);
    struct activation x = input(&r, 2, 40, 4, 5), dy = input(&r, 2, 40, 1, 1), dx;
    float *v = numbers(&r, 80);
    double *got;

    (void)state;
    dx = ss_op_global_pool_gradient(r.nn, dy, &x, "dx");
    must(ss_graph_status(r.g));
    got = run(&r, dy, v, NULL, NULL, dx);
    for (uint32_t k = 0; k < 80 * 20; k++) {
        double g = got[at(&dx, k / 20 / 40, k / 20 % 40, k % 20 / 5, k % 5)];

        assert_true(fabs(g - (double)v[k / 20] / 20) <= 0x1p-10 * fabs(g));
    }
    free(v);
    free(got);
    nn_fixture_free(&r);
}

/* ---- cycles ---- */

enum pass { FORWARD, DATA, WEIGHTS, PASSES };

/* Cycles of a pass of a layer on the whole of mk2. */
static uint64_t cycles_of(const struct back_test *t, enum pass pass)
{
    struct conv_layer l = layer_of(t);
    struct nn_fixture r = nn_fixture_new("mk2", 0);
    struct activation x = input(&r, t->n, t->c, t->h, t->w), dy;
    struct conv_shape s = ss_conv_layer_shape(&x, &l);
    struct conv_home home = ss_conv_weights_home(r.nn, &x, &l, ELEM_F16, "weights");
    struct compile_options co = { .threads = 1 };
    struct session_options so = { .threads = 1, .timing = 1 };
    struct tensor result;
    struct compiled *c;
    struct session *run;
    uint64_t cycles;

    ss_graph_keep(r.g, home.blocks);
    l.w = &home.blocks;
    dy = input(&r, t->n, t->out, s.out_h, s.out_w);
    if (pass == FORWARD)
        result = ss_op_conv(r.nn, x, &l, NULL, "forward").t;
    else if (pass == DATA)
        result = ss_op_conv_data_gradient(r.nn, dy, &l, &x, "data").t;
    else
        result = ss_op_conv_weight_gradient(r.nn, x, dy, &l, "weights");
    must(ss_graph_status(r.g));
    ss_graph_keep(r.g, result);
    ss_graph_set_program(r.g, r.seq);
    must(ss_graph_compile(r.g, &co, &c));
    assert_true(ss_compiled_fits(c));
    must(ss_session_new(c, &so, &run));
    must(ss_session_run(run));
    cycles = ss_session_cycles(run);
    ss_session_free(run);
    ss_compiled_free(c);
    nn_fixture_free(&r);
    return cycles;
}

/* Layers of ResNet-50 and EfficientNet-B4, with the most cycles that each pass may take. */
static void test_cycles(void **state)
{
    static const struct {
        struct back_test layer;
        uint64_t most[PASSES];
    } rows[] = {
        { { .c = 64, .h = 56, .kernel = 3, .pad = 1 }, { 6000, 6700, 9500 } },
        { { .c = 256, .h = 56, .out = 128 }, { 6500, 6800, 10100 } },
        { { .n = 3, .c = 160, .h = 24, .out = 640 }, { 9000, 9200, 11600 } },
        { { .n = 3, .c = 640, .h = 24, .kernel = 5, .groups = 40, .pad = 2 },
          { 14600, 15100, 22300 } },
        { { .c = 960, .h = 24, .kernel = 5, .groups = 960, .pad = 2 }, { 7400, 7400, 9000 } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(rows); i++) {
        struct back_test t = with_defaults(rows[i].layer);
        uint64_t cycles[PASSES];

        for (enum pass p = FORWARD; p < PASSES; p++) {
            cycles[p] = cycles_of(&t, p);
            assert_in_range(cycles[p], 1, rows[i].most[p]);
        }
        print_message("%u x %u x %u x %u to %u, kernel %u, groups %u: forward %llu cycles, data "
                      "%llu, weights %llu\n",
                      t.n, t.c, t.h, t.w, t.out, t.kernel, t.groups,
                      (unsigned long long)cycles[FORWARD], (unsigned long long)cycles[DATA],
                      (unsigned long long)cycles[WEIGHTS]);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_data_dense),    cmocka_unit_test(test_data_groups),
        cmocka_unit_test(test_weights),       cmocka_unit_test(test_weights_groups),
        cmocka_unit_test(test_weights_first), cmocka_unit_test(test_pools),
        cmocka_unit_test(test_global_pool),   cmocka_unit_test(test_cycles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
