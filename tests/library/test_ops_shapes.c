/* test_ops_shapes.c - convolutions of any shape on small machines against plain C: kernels,
 * strides, dilations and paddings that differ by axis, groups of any width, fields smaller than the
 * kernel.
 *
 * Inputs and weights are multiples of 1/2 of at most 1, so sums below 512 are exact in f16 in any
 * order.
 */
#include "emu/base/random.h"
#include "tests/fixtures/nn_fixture.h"

enum { EXACT = 512, ROUNDS = 64, DEAR = 1 << 20 /* cycles per KiB: nothing is held twice */ };

/* What a row of a table leaves out is 1, or 0 for what follows `groups`; of out, c. */
struct shape {
    const char *on; /* toy16; mk2: 16 tiles of it */
    uint32_t n, c, h, w, out, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t groups;
    uint32_t pad_top, pad_bottom, pad_left, pad_right;
    enum activation_function act;
    enum conv_partials partials;
    enum conv_depthwise depthwise;
    uint32_t add, kib_price;
};

static void say(const struct shape *t, const char *what)
{
    fail_msg("%s: on %s, %u x %u x %u x %u to %u in %u groups, kernel %u x %u, stride %u x %u, "
             "dilation %u x %u, pads %u %u %u %u, act %d, f32 %d, add %u, price %u",
             what, t->on, t->n, t->c, t->h, t->w, t->out, t->groups, t->kernel_h, t->kernel_w,
             t->stride_h, t->stride_w, t->dilation_h, t->dilation_w, t->pad_top, t->pad_bottom,
             t->pad_left, t->pad_right, (int)t->act, (int)t->partials, t->add, t->kib_price);
}

/* Multiples of 1/2 in [-1, 1]. */
static float *halves(struct nn_fixture *r, size_t n)
{
    float *x = calloc(n + 1, sizeof(*x));

    for (size_t i = 0; i < n; i++)
        x[i] = (float)random_below(&r->seed, 5) / 2 - 1;
    return x;
}

/* A field of whole blocks: memory has zeros for the channels behind the last one. */
static struct activation whole(struct activation x)
{
    x.c = channel_blocks(x.c) * CHANNEL_BLOCK;
    return x;
}

static float *whole_numbers(struct nn_fixture *r, const struct activation *x)
{
    size_t field = (size_t)x->h * x->w, each = channel_blocks(x->c) * CHANNEL_BLOCK;
    float *v = halves(r, x->n * each * field);

    for (size_t i = 0; i < x->n * each * field; i++)
        v[i] = i / field % each < x->c ? v[i] : 0;
    return v;
}

static struct activation new_input(struct nn_fixture *r, const struct activation *size)
{
    struct activation x = input(r, size->n, whole(*size).c, size->h, size->w);

    x.c = size->c;
    return x;
}

/* ---- convolutions ---- */

/* A sum and that of its terms' absolute values. */
struct sum {
    double value, size;
};

static void add_term(struct sum *s, double v)
{
    s->value += v;
    s->size += fabs(v);
}

/* One number of the result, without residual and activation function. */
static struct sum convolve(const struct activation *x, const float *in, const struct conv_layer *l,
                           uint32_t n, uint32_t o, uint32_t oy, uint32_t ox)
{
    uint32_t each = x->c / l->groups, first = o / (l->out_c / l->groups) * each;
    uint32_t taps = l->kernel_h * l->kernel_w, all = whole(*x).c;
    struct sum s = { 0, 0 };

    add_term(&s, (double)l->bias[o]);
    for (uint32_t c = 0; c < each; c++)
        for (uint32_t i = 0; i < taps; i++) {
            int64_t y = (int64_t)oy * l->stride_h + i / l->kernel_w * l->dilation_h - l->pad_top;
            int64_t q = (int64_t)ox * l->stride_w + i % l->kernel_w * l->dilation_w - l->pad_left;

            if (y >= 0 && q >= 0 && y < x->h && q < x->w)
                add_term(&s,
                         (double)l->weights[((size_t)o * each + c) * taps + i] *
                             (double)in[((n * (size_t)all + first + c) * x->h + (size_t)y) * x->w +
                                        (size_t)q]);
        }
    return s;
}

static void check(const struct shape *t, const struct activation *x, const float *in,
                  const struct conv_layer *l, const float *residual, const struct activation *y,
                  const double *got)
{
    uint32_t field = y->h * y->w, all = whole(*y).c;
    struct activation memory = whole(*y);

    for (uint32_t k = 0; k < y->n * all * field; k++) {
        uint32_t n = k / field / all, o = k / field % all, oy = k % field / y->w, ox = k % y->w;
        double g = got[at(&memory, n, o, oy, ox)], bound = 0, want;
        struct sum s = { 0, 0 };

        if (o < y->c)
            s = convolve(x, in, l, n, o, oy, ox);
        if (residual)
            add_term(&s, (double)residual[k]);
        want = activate(s.value, l->act);
        if (s.size >= EXACT)
            bound = s.size * ROUNDS / 2048;
        if (l->act == ACT_SWISH)
            bound += 0.005 * (1 + fabs(want));
        if (!(fabs(g - want) <= bound)) {
            print_message("[%u][%u][%u][%u] is %g, plain C says %g\n", n, o, oy, ox, g, want);
            say(t, "a wrong number");
        }
    }
}

static struct conv_layer layer_of(const struct shape *t)
{
    return (struct conv_layer){ .out_c = t->out,
                                .groups = t->groups,
                                .kernel_h = t->kernel_h,
                                .kernel_w = t->kernel_w,
                                .stride_h = t->stride_h,
                                .stride_w = t->stride_w,
                                .dilation_h = t->dilation_h,
                                .dilation_w = t->dilation_w,
                                .pad_top = t->pad_top,
                                .pad_bottom = t->pad_bottom,
                                .pad_left = t->pad_left,
                                .pad_right = t->pad_right,
                                .act = t->act,
                                .partials = t->partials,
                                .depthwise = t->depthwise };
}

/* Runs a convolution and compares it; returns how it was cut. */
static struct conv_plan conv(const struct shape *t, uint64_t seed)
{
    struct activation size = { .n = t->n, .c = t->c, .h = t->h, .w = t->w }, x, y, memory, add;
    struct conv_layer l = layer_of(t);
    struct conv_shape s = ss_conv_layer_shape(&size, &l);
    int slides = t->groups == t->c && t->c == t->out && t->c > 1 && ss_conv_slides(&s);
    const char *on = slides ? "mk2" : t->on;
    struct nn_fixture r = nn_fixture_new(on, !strcmp(on, "mk2") ? 16 : 0);
    float *in, *w, *bias, *residual = NULL;
    struct conv_plan plan;
    double *got;

    r.seed = seed;
    x = new_input(&r, &size);
    in = whole_numbers(&r, &size);
    w = halves(&r, (size_t)t->out * (t->c / t->groups) * t->kernel_h * t->kernel_w);
    bias = halves(&r, t->out);
    l.weights = w;
    l.bias = bias;
    size = (struct activation){ .n = t->n, .c = t->out, .h = s.out_h, .w = s.out_w };
    if (t->add) {
        add = new_input(&r, &size);
        residual = whole_numbers(&r, &size);
        l.add = &add;
    }
    ss_nn_set_price(r.nn, t->kib_price);
    y = ss_op_conv(r.nn, x, &l, &plan, "conv");
    if (ss_graph_status(r.g) != EMU_OK)
        say(t, ss_error());
    assert_int_equal(y.c, t->out);
    assert_int_equal(y.h, s.out_h);
    assert_int_equal(y.w, s.out_w);
    memory = whole(y);
    if (t->add)
        add = whole(add);
    got = run(&r, whole(x), in, t->add ? &add : NULL, residual, memory);
    check(t, &x, in, &l, residual, &y, got);
    free(got);
    free(in);
    free(w);
    free(bias);
    free(residual);
    nn_fixture_free(&r);
    return plan;
}

static uint32_t or_one(uint32_t v)
{
    return v ? v : 1;
}

static struct shape with_defaults(struct shape t)
{
    t.on = t.on ? t.on : "toy16";
    t.n = or_one(t.n);
    t.out = t.out ? t.out : t.c;
    t.kernel_h = or_one(t.kernel_h);
    t.kernel_w = or_one(t.kernel_w);
    t.stride_h = or_one(t.stride_h);
    t.stride_w = or_one(t.stride_w);
    t.dilation_h = or_one(t.dilation_h);
    t.dilation_w = or_one(t.dilation_w);
    t.groups = or_one(t.groups);
    return t;
}

/* Shapes of known networks and of ONNX's tests, and what else only one of these has. */
static void test_known(void **state)
{
    static const struct {
        struct shape t;
        enum conv_method method;
    } row[] = {
        /* Inception: 1 x 7, 7 x 1, 1 x 3, 3 x 1 */
        { { .c = 32, .h = 9, .w = 9, .kernel_w = 7, .pad_left = 3, .pad_right = 3 }, CONV_WINDOW },
        { { .c = 32, .h = 9, .w = 8, .kernel_h = 7, .pad_top = 3, .pad_bottom = 3 }, CONV_WINDOW },
        { { .c = 48, .h = 5, .w = 4, .out = 16, .kernel_h = 3, .pad_top = 1, .pad_bottom = 1 },
          CONV_WINDOW },
        /* SSD: 3 x 3 with dilation 6 */
        { { .on = "toy64",
            .c = 32,
            .h = 10,
            .w = 10,
            .out = 48,
            .kernel_h = 3,
            .kernel_w = 3,
            .dilation_h = 6,
            .dilation_w = 6,
            .pad_top = 6,
            .pad_bottom = 6,
            .pad_left = 6,
            .pad_right = 6,
            .act = ACT_RELU },
          CONV_WINDOW },
        /* pictures as fields, where a picture would be a first layer; stride 1, and 4 x 1 */
        { { .c = 3,
            .h = 9,
            .w = 8,
            .out = 20,
            .kernel_h = 3,
            .kernel_w = 3,
            .stride_h = 2,
            .stride_w = 2 },
          CONV_WINDOW },
        { { .c = 1, .h = 7, .w = 5, .out = 1, .kernel_h = 3, .kernel_w = 3, .stride_h = 2 },
          CONV_WINDOW },
        { { .c = 3, .h = 16, .w = 3, .kernel_h = 4, .stride_h = 4 }, CONV_WINDOW },
        /* kernel 1 with strides, and with zeros around: results of nothing but bias */
        { { .c = 20, .h = 7, .w = 9, .stride_h = 3, .stride_w = 2 }, CONV_GEMM },
        { { .c = 20, .h = 3, .w = 2, .pad_top = 2, .pad_left = 3, .pad_right = 1, .stride_w = 2 },
          CONV_WINDOW },
        /* a kernel larger than the field, and zeros beyond the kernel */
        { { .c = 16,
            .h = 2,
            .w = 1,
            .kernel_h = 5,
            .kernel_w = 4,
            .pad_top = 4,
            .pad_bottom = 5,
            .pad_left = 7,
            .pad_right = 2 },
          CONV_WINDOW },
        /* depthwise: 7 x 7, dilation, stride 3, 3 x 5, two outputs a channel, channels that do not
         * fill blocks */
        { { .c = 24,
            .h = 8,
            .w = 7,
            .kernel_h = 7,
            .kernel_w = 7,
            .groups = 24,
            .pad_top = 3,
            .pad_bottom = 3,
            .pad_left = 3,
            .pad_right = 3,
            .act = ACT_SWISH },
          CONV_WINDOW },
        { { .c = 32,
            .h = 9,
            .w = 9,
            .kernel_h = 3,
            .kernel_w = 3,
            .dilation_h = 2,
            .dilation_w = 2,
            .groups = 32,
            .add = 1 },
          CONV_WINDOW },
        { { .c = 40,
            .h = 8,
            .w = 8,
            .kernel_h = 3,
            .kernel_w = 3,
            .stride_h = 3,
            .stride_w = 3,
            .groups = 40,
            .partials = PARTIALS_F32,
            .add = 1 },
          CONV_WINDOW },
        { { .c = 40, .h = 6, .w = 6, .kernel_h = 3, .kernel_w = 5, .groups = 40 }, CONV_WINDOW },
        { { .c = 24, .h = 6, .w = 6, .out = 48, .kernel_h = 3, .kernel_w = 3, .groups = 24 },
          CONV_WINDOW },
        { { .c = 40, .h = 5, .w = 5, .groups = 40 }, CONV_GEMM },
        { { .c = 7, .h = 5, .w = 5, .groups = 7 }, CONV_GEMM },
        { { .c = 32, .h = 5, .w = 6, .kernel_h = 5, .kernel_w = 5, .groups = 32, .pad_top = 6 },
          CONV_DEPTHWISE },
        { { .c = 32,
            .h = 3,
            .w = 4,
            .kernel_h = 3,
            .kernel_w = 3,
            .groups = 32,
            .pad_top = 1,
            .act = ACT_SWISH,
            .add = 1 },
          CONV_DEPTHWISE },
        /* groups of 20, of 58 */
        { { .c = 80, .h = 4, .w = 4, .kernel_h = 3, .kernel_w = 3, .groups = 4 }, CONV_WINDOW },
        { { .c = 116, .h = 3, .w = 4, .kernel_h = 1, .kernel_w = 2, .groups = 2 }, CONV_WINDOW },
        /* a stride that is no multiple of the dilation, and one beyond the kernel */
        { { .c = 16,
            .h = 14,
            .w = 13,
            .kernel_h = 3,
            .kernel_w = 2,
            .stride_h = 3,
            .stride_w = 4,
            .dilation_h = 2,
            .dilation_w = 3 },
          CONV_WINDOW },
        { { .c = 64, .h = 11, .w = 9, .kernel_h = 2, .stride_h = 4, .stride_w = 3, .groups = 2 },
          CONV_WINDOW },
        { { .c = 64, .h = 11, .w = 9, .stride_h = 4, .stride_w = 3, .groups = 2 }, CONV_GEMM },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(row); i++) {
        struct shape t = with_defaults(row[i].t);
        enum conv_method method = conv(&t, i + 1).method;

        if (method != row[i].method)
            say(&t, ss_conv_method_name(method));
    }
}

/* 1 to most, small numbers more often. */
static uint32_t small(uint64_t *seed, uint32_t most)
{
    return 1 + random_below(seed, 1 + random_below(seed, most));
}

static uint32_t pick(uint64_t *seed, const uint32_t *from, uint32_t n)
{
    return from[random_below(seed, n)];
}

/* Zeros before and after an axis, so that at least one window fits. */
static void pad_axis(uint64_t *seed, uint32_t size, uint32_t reach, uint32_t *before,
                     uint32_t *after)
{
    *before = random_below(seed, 2) ? random_below(seed, reach + 2) : reach / 2;
    *after = random_below(seed, 2) ? random_below(seed, reach + 2) : *before;
    if (size + *before + *after < reach)
        *after = reach - size - *before;
}

/* In blocks of 16 x 16, all groups joined, and in blocks of 16: more may be more than a tile of the
 * small machines has. */
enum { WEIGHTS_MAX = 48, INPUT_MAX = 512 };

static struct shape random_shape(uint64_t *seed)
{
    static const char *const machine[] = { "toy4", "toy16", "toy64", "toy64" };
    static const uint32_t width[] = { 1, 1, 2, 5, 8, 16, 20, 32, 58 };
    struct shape t = { .on = machine[random_below(seed, 4)], .n = small(seed, 3) };

    t.h = small(seed, 14);
    t.w = small(seed, 14);
    t.kernel_h = small(seed, 7);
    t.kernel_w = random_below(seed, 3) ? small(seed, 7) : t.kernel_h;
    t.stride_h = small(seed, 4);
    t.stride_w = random_below(seed, 2) ? small(seed, 4) : t.stride_h;
    t.dilation_h = small(seed, 4);
    t.dilation_w = random_below(seed, 2) ? small(seed, 4) : t.dilation_h;
    if (random_below(seed, 2)) {
        t.groups = 1;
        t.c = small(seed, 70);
        t.out = small(seed, 70);
    } else {
        uint32_t in = pick(seed, width, EMU_COUNT_OF(width));

        t.groups = small(seed, in > 8 ? 4 : 40);
        t.c = in * t.groups;
        t.out = (random_below(seed, 2) ? in : small(seed, 3)) * t.groups;
    }
    if (channel_blocks(t.c) * channel_blocks(t.out) * t.kernel_h * t.kernel_w > WEIGHTS_MAX ||
        t.n * t.h * t.w * channel_blocks(t.c) > INPUT_MAX)
        t.on = "mk2";
    pad_axis(seed, t.h, conv_reach(t.kernel_h, t.dilation_h), &t.pad_top, &t.pad_bottom);
    pad_axis(seed, t.w, conv_reach(t.kernel_w, t.dilation_w), &t.pad_left, &t.pad_right);
    t.act = (enum activation_function)random_below(seed, ACT_SWISH + 1);
    t.partials = random_below(seed, 4) ? PARTIALS_F16 : PARTIALS_F32;
    t.depthwise = random_below(seed, 2) ? DEPTHWISE_MIXED : DEPTHWISE_SLIDING;
    t.add = !random_below(seed, 3);
    t.kib_price = !strcmp(t.on, "mk2") || random_below(seed, 3) ? 0 : DEAR;
    return t;
}

static void test_random(void **state)
{
    uint64_t seed = 15;

    (void)state;
    for (int i = 0; i < 200; i++) {
        struct shape t = random_shape(&seed);

        (void)conv(&t, seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
