/* test_ref.c - the f64 reference against numbers worked out by hand and against convolutions
 * written another way; same bits on any number of threads; calibration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "emu/base/alloc.h"
#include "emu/base/random.h"
#include "models/ref/ref_layers.h"
#include "tests/fixtures/picture_fixture.h"

/* Numbers of -2..2 with few bits, from a seed. */
static double number(uint64_t *x)
{
    return (double)((int64_t)(random_next(x) >> 40) - (1 << 23)) * 0x1p-22;
}

/* ---- exp ---- */

static void exponential(void **state)
{
    (void)state;
    for (int i = 0; i <= 200000; i++) {
        double x = -708 + i * (1417.0 / 200000), want = exp(x);

        if (fabs(ref_exp(x) - want) > 3 * 0x1p-52 * want)
            fail_msg("exp(%a): %a, expected %a", x, ref_exp(x), want);
    }
    assert_true(ref_exp(0) == 1 && ref_exp(-709) == 0 && isinf(ref_exp(710)));
    assert_true(isnan(ref_exp(NAN)));
    assert_true(ref_sigmoid(0) == 0.5 && ref_sigmoid(-800) == 0 && ref_sigmoid(800) == 1);
}

/* ---- convolutions ---- */

/* What rows leave out: as many outputs as inputs, 1 for the others, half the kernel around. */
struct conv_case {
    uint32_t in_c, out_c, kernel, stride, groups, h, w;
    struct padding pad;
    int bias;
};

static struct conv_case with_defaults(struct conv_case t)
{
    uint32_t side = t.kernel / 2;

    t.out_c = t.out_c ? t.out_c : t.in_c;
    t.kernel = t.kernel ? t.kernel : 1;
    t.stride = t.stride ? t.stride : 1;
    t.groups = t.groups ? t.groups : 1;
    if (!t.pad.after_h)
        t.pad = (struct padding){ side, side, side, side };
    return t;
}

/* The other way: the picture is padded first, then each window becomes a column. */
static void conv_by_columns(const struct conv_case *t, const struct layer *l, uint32_t batch,
                            const float *weight, const float *bias, const double *in, double *out)
{
    uint32_t h = t->h + t->pad.before_h + t->pad.after_h,
             w = t->w + t->pad.before_w + t->pad.after_w;
    uint32_t cin = t->in_c / t->groups, cout = t->out_c / t->groups,
             terms = cin * t->kernel * t->kernel;
    double *padded = emu_alloc((size_t)t->in_c * h * w, 8), *column = emu_alloc(terms, 8);

    for (uint32_t b = 0; b < batch; b++) {
        for (uint32_t i = 0; i < t->in_c * t->h; i++)
            memcpy(padded + ((size_t)(i / t->h) * h + i % t->h + t->pad.before_h) * w +
                       t->pad.before_w,
                   in + ((size_t)b * t->in_c * t->h + i) * t->w, t->w * 8);
        for (uint32_t i = 0; i < t->groups * l->out_h * l->out_w; i++) {
            uint32_t g = i / (l->out_h * l->out_w), y = i / l->out_w % l->out_h, x = i % l->out_w;

            for (uint32_t k = 0; k < terms; k++) {
                uint32_t c = g * cin + k / (t->kernel * t->kernel);
                uint32_t dy = k / t->kernel % t->kernel, dx = k % t->kernel;

                column[k] = padded[((size_t)c * h + y * t->stride + dy) * w + x * t->stride + dx];
            }
            for (uint32_t o = g * cout; o < (g + 1) * cout; o++) {
                double sum = 0;

                for (uint32_t k = 0; k < terms; k++)
                    sum += weight[(size_t)o * terms + k] * column[k];
                out[(((size_t)b * t->out_c + o) * l->out_h + y) * l->out_w + x] =
                    sum + (bias ? bias[o] : 0);
            }
        }
    }
    emu_free(padded);
    emu_free(column);
}

static struct layer conv_layer(const struct conv_case *t)
{
    return (struct layer){
        .op = LAYER_CONV,
        .in_c = t->in_c,
        .in_h = t->h,
        .in_w = t->w,
        .out_c = t->out_c,
        .out_h = (t->h + t->pad.before_h + t->pad.after_h - t->kernel) / t->stride + 1,
        .out_w = (t->w + t->pad.before_w + t->pad.after_w - t->kernel) / t->stride + 1,
        .kernel = t->kernel,
        .stride = t->stride,
        .groups = t->groups,
        .pad = t->pad,
        .bias = t->bias,
    };
}

static void try_conv(struct conv_case row)
{
    const struct conv_case *t = &row;
    enum { BATCH = 2 };
    struct layer l = conv_layer(t);
    size_t in = BATCH * (size_t)t->in_c * t->h * t->w, out = BATCH * layer_elements(&l);
    size_t weights = (size_t)t->out_c * (t->in_c / t->groups) * t->kernel * t->kernel;
    double *x = emu_alloc(in, 8), *got = emu_alloc(out, 8), *want = emu_alloc(out, 8);
    float *w = emu_alloc(weights, 4), *b = emu_alloc(t->out_c, 4);
    uint64_t seed = 11;

    for (size_t i = 0; i < in; i++)
        x[i] = number(&seed);
    for (size_t i = 0; i < weights; i++)
        w[i] = (float)number(&seed);
    for (size_t i = 0; i < t->out_c; i++)
        b[i] = (float)number(&seed);
    for (size_t i = 0; i < out; i++)
        got[i] = NAN; /* all must be written, none read */
    ref_conv(&l, BATCH, w, t->bias ? b : NULL, x, got);
    conv_by_columns(t, &l, BATCH, w, t->bias ? b : NULL, x, want);
    for (size_t i = 0; i < out; i++) {
        if (got[i] != want[i])
            fail_msg("%u->%u %ux%u/%u g%u on %ux%u: [%zu] is %g, expected %g", t->in_c, t->out_c,
                     t->kernel, t->kernel, t->stride, t->groups, t->h, t->w, i, got[i], want[i]);
    }
    emu_free(x);
    emu_free(got);
    emu_free(want);
    emu_free(w);
    emu_free(b);
}

static void convolutions(void **state)
{
    static const struct conv_case kinds[] = {
        /* stem, SAME */
        { .in_c = 3,
          .out_c = 48,
          .h = 20,
          .w = 20,
          .kernel = 3,
          .stride = 2,
          .pad = { 0, 1, 0, 1 } },
        /* stem, torch */
        { .in_c = 3, .out_c = 16, .h = 20, .w = 17, .kernel = 3, .stride = 2 },
        /* ResNet's stem */
        { .in_c = 3, .out_c = 8, .h = 15, .w = 16, .kernel = 7, .stride = 2 },
        /* expand */
        { .in_c = 24, .out_c = 144, .h = 9, .w = 11 },
        /* several parts of a sum */
        { .in_c = 300, .out_c = 5, .h = 4, .w = 4, .bias = 1 },
        /* ResNet's shortcut */
        { .in_c = 16, .out_c = 32, .h = 9, .w = 8, .stride = 2 },
        /* depthwise */
        { .in_c = 12, .h = 7, .w = 9, .kernel = 3, .groups = 12 },
        /* depthwise, stride 2 */
        { .in_c = 12, .h = 9, .w = 7, .kernel = 5, .stride = 2, .groups = 12, .bias = 1 },
        /* the same, SAME on an even field */
        { .in_c = 12,
          .h = 8,
          .w = 8,
          .kernel = 5,
          .stride = 2,
          .groups = 12,
          .pad = { 1, 2, 1, 2 } },
        /* a window greater than the field */
        { .in_c = 6, .h = 1, .w = 2, .kernel = 5, .groups = 6 },
        /* groups of 16 */
        { .in_c = 64, .h = 6, .w = 7, .kernel = 3, .groups = 4 },
        /* groups of unlike widths */
        { .in_c = 64,
          .out_c = 32,
          .h = 11,
          .w = 10,
          .kernel = 5,
          .stride = 2,
          .groups = 4,
          .pad = { 2, 2, 1, 2 } },
        /* dense */
        { .in_c = 24, .h = 33, .w = 5, .kernel = 3 },
        /* linear */
        { .in_c = 40, .out_c = 7, .h = 1, .w = 1, .bias = 1 },
        /* two outputs for each input */
        { .in_c = 6, .out_c = 12, .h = 5, .w = 5, .kernel = 3, .groups = 6 },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(kinds); i++)
        try_conv(with_defaults(kinds[i]));
    assert_int_equal(alloc_live(), 0);
}

/* ---- by hand ---- */

/* One layer on one picture: out_c x out_h x out_w numbers. */
static void run_layer(struct layer l, const double *x, const double *y, double *out)
{
    struct layer two[2] = { l, l };
    struct net n = { .batch = 1, .layer = two, .layers = 2 };
    struct weights w = { 0 };

    ref_layer(&n, &w, 1, (const double *const[]){ x, y }, out);
}

static void assert_near(const double *got, const double *want, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(got[i] - want[i]) <= 1e-12))
            fail_msg("[%zu] is %.17g, expected %.17g", i, got[i], want[i]);
    }
}

static void small_layers(void **state)
{
    static const double x[] = { -1, 2, -3, 4, 5, -6, 7, -8 };
    const struct layer same = {
        .in_c = 2, .in_h = 2, .in_w = 2, .out_c = 2, .out_h = 2, .out_w = 2
    };
    struct layer l = same;
    double out[8];

    (void)state;
    l.op = LAYER_RELU;
    run_layer(l, x, NULL, out);
    assert_near(out, (double[]){ 0, 2, 0, 4, 5, 0, 7, 0 }, 8);
    l.op = LAYER_SWISH;
    run_layer(l, (double[]){ 0, 1, -1, 2, 0, 0, 0, 40 }, NULL, out);
    assert_near(
        out,
        (double[]){ 0, 0.73105857863000488, -0.26894142136999512, 1.7615941559557649, 0, 0, 0, 40 },
        8);
    l.op = LAYER_SIGMOID;
    run_layer(l, (double[]){ 0, 1, -1, 40, 0, 0, 0, 0 }, NULL, out);
    assert_near(out, (double[]){ 0.5, 0.73105857863000488, 0.26894142136999512, 1 }, 4);
    l.op = LAYER_SCALE;
    run_layer(l, x, (double[]){ 2, -1 }, out);
    assert_near(out, (double[]){ -2, 4, -6, 8, -5, 6, -7, 8 }, 8);
    l.op = LAYER_ADD;
    run_layer(l, x, (double[]){ 1, 1, 1, 1, 2, 2, 2, 2 }, out);
    assert_near(out, (double[]){ 0, 3, -2, 5, 7, -4, 9, -6 }, 8);
    l.op = LAYER_AVGPOOL;
    l.out_h = l.out_w = 1;
    run_layer(l, x, NULL, out);
    assert_near(out, (double[]){ 0.5, -0.5 }, 2);
    l = (struct layer){ .op = LAYER_SOFTMAX, .in_c = 3, .out_c = 3, .out_h = 1, .out_w = 1 };
    run_layer(l, (double[]){ 1000, 1000 + log(2), 1000 + log(5) }, NULL, out);
    assert_near(out, (double[]){ 0.125, 0.25, 0.625 }, 3);
}

/* Padding is no zero: a window of negative numbers has a negative maximum. */
static void max_pool(void **state)
{
    static const double x[] = { -1, -2, -3, -4, -5, -6, -7, -8, -9 };
    struct layer l = { .op = LAYER_MAXPOOL,
                       .in_c = 1,
                       .in_h = 3,
                       .in_w = 3,
                       .out_c = 1,
                       .out_h = 2,
                       .out_w = 2,
                       .kernel = 3,
                       .stride = 2,
                       .pad = { 1, 1, 1, 1 } };
    double out[4];

    (void)state;
    run_layer(l, x, NULL, out);
    assert_near(out, (double[]){ -1, -2, -4, -5 }, 4);
}

static void norms(void **state)
{
    struct layer l[2] = { { .op = LAYER_INPUT, .in_c = 4, .out_c = 4, .out_h = 1, .out_w = 2 },
                          { .op = LAYER_NORM,
                            .param = "n",
                            .in_c = 4,
                            .in_h = 1,
                            .in_w = 2,
                            .out_c = 4,
                            .out_h = 1,
                            .out_w = 2,
                            .weight_rank = 1,
                            .eps = 1 } };
    struct net n = { .name = "two", .batch = 2, .layer = l, .layers = 2 };
    const double x[16] = { 1, 3, 5, 7, 0, 0, 2, 2, -1, -3, -5, -7, 1, 1, 1, 1 };
    const double *in[2] = { x, NULL };
    struct weights *w;
    double out[16];

    (void)state;
    assert_int_equal(weights_new(&n, &w), EMU_OK);
    memcpy(weights_find(w, 1, "weight")->data, (float[]){ 1, 2, 3, 4 }, 16);
    memcpy(weights_find(w, 1, "bias")->data, (float[]){ 0, 1, 0, -1 }, 16);
    memcpy(weights_find(w, 1, "running_mean")->data, (float[]){ 1, 0, 0, 2 }, 16);
    memcpy(weights_find(w, 1, "running_var")->data, (float[]){ 3, 0, 8, 3 }, 16);
    ref_layer(&n, w, 1, in, out);
    assert_near(out, (double[]){ 0, 1, 11, 15, 0, 0, -1, -1, -1, -2, -9, -13, 1, 1, -3, -3 }, 16);
    weights_free(w);
    /* two groups of two channels: mean 4 and variance 5; mean 1 and variance 1; eps 4 / 3 */
    l[1].norm = NORM_GROUP;
    l[1].norm_groups = 2;
    l[1].eps = 4;
    n.batch = 1;
    assert_int_equal(weights_new(&n, &w), EMU_OK);
    assert_int_equal(w->params, 2);
    memcpy(weights_find(w, 1, "weight")->data, (float[]){ 1, 2, 3, 4 }, 16);
    memcpy(weights_find(w, 1, "bias")->data, (float[]){ 0, 1, 0, -1 }, 16);
    ref_layer(&n, w, 1, in, out);
    assert_near(out,
                (double[]){ -1, -1. / 3, 5. / 3, 3, -3 / sqrt(5), -3 / sqrt(5), 4 / sqrt(5) - 1,
                            4 / sqrt(5) - 1 },
                8);
    weights_free(w);
    assert_int_equal(alloc_live(), 0);
}

/* ---- networks ---- */

struct seeded_net {
    struct net *n;
    struct weights *w;
    float *input;
};

static struct seeded_net seeded_net_new(const char *name, uint32_t side, uint32_t batch)
{
    struct net_options o = { .resolution = side, .batch = batch, .classes = 50 };
    struct seeded_net r;

    if (net_new(name, &o, &r.n) != EMU_OK || weights_new(r.n, &r.w) != EMU_OK)
        fail_msg("%s", emu_error());
    weights_seed(r.w, r.n, 1);
    r.input = emu_alloc((size_t)3 * batch * side * side, 4);
    ref_pictures(side, 21, batch, r.input);
    return r;
}

static void seeded_net_free(struct seeded_net *r)
{
    net_free(r->n);
    weights_free(r->w);
    emu_free(r->input);
}

static const double *last(const struct seeded_net *r, const struct ref *f)
{
    return f->out[r->n->layers - 1];
}

static enum emu_status same_output(void *arg, uint32_t layer, const double *const in[2],
                                   const double *out)
{
    const struct seeded_net *r = ((void **)arg)[0];
    const struct ref *kept = ((void **)arg)[1];
    const struct layer *l = &r->n->layer[layer];

    assert_memory_equal(out, kept->out[layer], layer_elements(l) * r->n->batch * 8);
    assert_int_equal(!in[0], l->op == LAYER_INPUT);
    if (in[1])
        assert_memory_equal(in[1], kept->out[l->input[1]], 8);
    return layer == 100 ? EMU_FAULT : EMU_OK;
}

/* Kept, walked or dropped, on one thread or two: the same bits in every layer. The picture of a
 * batch does not see its neighbours. */
static void same_bits(void **state)
{
    static const char *const name[] = { "efficientnet-b0", "efficientnet-b1-g16", "resnet-50" };
    int threads = omp_get_max_threads();

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct seeded_net r = seeded_net_new(name[i], 24, 2), one = seeded_net_new(name[i], 24, 1);
        struct ref kept, end;

        omp_set_num_threads(1);
        assert_int_equal(ref_run(r.n, r.w, r.input, 1, &kept), EMU_OK);
        omp_set_num_threads(2);
        assert_int_equal(ref_run(r.n, r.w, r.input, 0, &end), EMU_OK);
        assert_memory_equal(last(&r, &kept), last(&r, &end), 2 * 50 * 8);
        assert_null(end.out[5]);
        ref_free(&end);
        assert_int_equal(ref_walk(r.n, r.w, r.input, same_output, (void *[]){ &r, &kept }),
                         EMU_FAULT);
        assert_int_equal(ref_run(one.n, one.w, one.input, 0, &end), EMU_OK);
        assert_memory_equal(last(&r, &kept), last(&one, &end), 50 * 8);
        ref_free(&end);
        ref_free(&kept);
        seeded_net_free(&r);
        seeded_net_free(&one);
        omp_set_num_threads(threads);
    }
    assert_int_equal(alloc_live(), 0);
}

/* ---- calibrated networks ---- */

/* What pictures unlike those of calibration do to each layer. */
struct range {
    const struct net *n;
    double largest; /* of all layers */
    const char *where;
    double logits[UNLIKE_PICTURES * 50];
};

static enum emu_status widen(void *arg, uint32_t layer, const double *const in[2],
                             const double *out)
{
    struct range *r = arg;
    const struct layer *l = &r->n->layer[layer];

    (void)in;
    for (uint64_t i = 0; i < layer_elements(l) * r->n->batch; i++) {
        if (!(fabs(out[i]) <= r->largest)) {
            r->largest = fabs(out[i]);
            r->where = l->name;
        }
    }
    if (layer == net_classifier(r->n))
        memcpy(r->logits, out, sizeof(r->logits));
    return EMU_OK;
}

static void read_unlike(struct seeded_net *r)
{
    uint32_t side = r->n->resolution;

    for (unsigned i = 0; i < UNLIKE_PICTURES; i++) {
        struct picture p;

        if (unlike_picture(i, side, &p) != EMU_OK)
            fail_msg("%s", emu_error());
        picture_normalise(&p, r->n, r->input + (size_t)i * 3 * side * side);
        picture_free(&p);
    }
}

static double deviation(const double *x, unsigned n)
{
    double mean, variance;

    ref_moments(x, n, &mean, &variance);
    return sqrt(variance);
}

/* Logits of one picture are neither flat nor so far apart that one class has all; those of one
 * class differ as much between pictures. */
static void check_logits(const char *name, const double *logits)
{
    double classes = 0, pictures = 0, one[UNLIKE_PICTURES];

    for (unsigned p = 0; p < UNLIKE_PICTURES; p++) {
        double d = deviation(logits + 50 * p, 50);

        if (!(d > 0.8 && d < 12))
            fail_msg("%s, %s: logits of deviation %g", name, unlike_name[p], d);
        classes += d / UNLIKE_PICTURES;
    }
    for (unsigned k = 0; k < 50; k++) {
        for (unsigned p = 0; p < UNLIKE_PICTURES; p++)
            one[p] = logits[50 * p + k];
        pictures += deviation(one, UNLIKE_PICTURES) / 50;
    }
    if (!(classes > 1.5 && classes < 5 && pictures > 1.5 && pictures < 5))
        fail_msg("%s: deviation of classes %g, of pictures %g", name, classes, pictures);
}

/* No layer grows or dies. Before squeeze and excitation tamed strong pictures, there were numbers
 * of 50,000. */
static void calibrated_range(void **state)
{
    static const struct {
        const char *name;
        uint32_t side;
    } kind[] = { { "efficientnet-b0", 64 }, { "efficientnet-b1-g16", 48 }, { "resnet-50", 32 } };

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(kind); i++) {
        struct seeded_net r = seeded_net_new(kind[i].name, kind[i].side, UNLIKE_PICTURES);
        struct range range = { .n = r.n };

        assert_int_equal(weights_calibrate(r.w, r.n, 16), EMU_OK);
        read_unlike(&r);
        assert_int_equal(ref_walk(r.n, r.w, r.input, widen, &range), EMU_OK);
        if (!(range.largest < 100))
            fail_msg("%s: %g in %s", kind[i].name, range.largest, range.where);
        check_logits(kind[i].name, range.logits);
        seeded_net_free(&r);
    }
    assert_int_equal(alloc_live(), 0);
}

/* Deviation of the outputs of batch norms over all channels, in units of their scale. */
static enum emu_status check_norm(void *arg, uint32_t layer, const double *const in[2],
                                  const double *out)
{
    const struct seeded_net *r = arg;
    const struct layer *l = &r->n->layer[layer];
    double sum = 0;

    (void)in;
    for (uint64_t i = 0; l->op == LAYER_NORM && i < layer_elements(l) * r->n->batch; i++)
        sum += out[i] * out[i];
    if (l->op == LAYER_NORM) {
        sum = sqrt(sum / (double)(layer_elements(l) * r->n->batch));
        if (l[1].op == LAYER_ADD)
            sum /= 0.3;
        if (sum < 0.5 || sum > 2)
            fail_msg("%s: deviation %g", l->name, sum);
    }
    return EMU_OK;
}

/* Deviation over classes of the mean of all pictures' logits. */
static double common_deviation(const struct seeded_net *r)
{
    const double *logits;
    double sum[50] = { 0 }, d;
    struct ref f;

    assert_int_equal(ref_run(r->n, r->w, r->input, 1, &f), EMU_OK);
    logits = f.out[net_classifier(r->n)];
    for (uint32_t i = 0; i < 50 * r->n->batch; i++)
        sum[i % 50] += logits[i] / r->n->batch;
    d = deviation(sum, 50);
    ref_free(&f);
    return d;
}

/* After calibration no norm runs away on other pictures of its kind, and they have little in common
 * for the classifier; statistics do not depend on a resolution beyond what is looked at. */
static void calibration(void **state)
{
    struct seeded_net r = seeded_net_new("efficientnet-b0", 64, 8);
    struct seeded_net large = seeded_net_new("efficientnet-b0", CALIBRATION_SIDE + 8, 1);
    struct seeded_net larger = seeded_net_new("efficientnet-b0", CALIBRATION_SIDE + 96, 1);

    (void)state;
    assert_int_equal(weights_calibrate(r.w, r.n, 16), EMU_OK);
    assert_int_equal(ref_walk(r.n, r.w, r.input, check_norm, &r), EMU_OK);
    assert_true(common_deviation(&r) < 1.5);
    assert_int_equal(weights_calibrate(large.w, large.n, 1), EMU_OK);
    assert_int_equal(weights_calibrate(larger.w, larger.n, 1), EMU_OK);
    for (uint32_t i = 0; i < r.w->params; i++) {
        struct param *a = &large.w->param[i], *b = &larger.w->param[i];

        assert_memory_equal(a->data, b->data, a->elements * 4);
        if (strstr(a->name, "running_var"))
            assert_memory_not_equal(a->data, r.w->param[i].data, a->elements * 4);
    }
    assert_true(large.w->classifier_gain == 0 && r.w->classifier_gain > 0); /* one: no deviation */
    seeded_net_free(&r);
    seeded_net_free(&large);
    seeded_net_free(&larger);
}

static void pictures(void **state)
{
    enum { SIDE = 48, ALL = 3 * SIDE * SIDE };
    float *a = emu_alloc(8 * ALL, 4), *b = emu_alloc(ALL, 4);
    double sum = 0, squares = 0;

    (void)state;
    ref_pictures(SIDE, 3, 8, a);
    ref_pictures(SIDE, 3, 1, b);
    assert_memory_equal(a, b, ALL * 4);
    assert_memory_not_equal(a, a + ALL, ALL * 4);
    assert_memory_not_equal(a, a + ALL / 3, ALL / 3 * 4);
    for (int i = 0; i < 8 * ALL; i++) {
        sum += a[i];
        squares += (double)a[i] * a[i];
    }
    assert_true(fabs(sum / (8 * ALL)) < 0.5);
    assert_true(fabs(sqrt(squares / (8 * ALL)) - 1) < 0.3);
    emu_free(a);
    emu_free(b);
}

static void out_of_memory(void **state)
{
    struct seeded_net r = seeded_net_new("efficientnet-b0", 8, 1);
    long live = alloc_live();
    struct ref f;
    long k = 0;

    (void)state;
    for (;; k += 31) {
        alloc_test_fail_at(k);
        if (ref_run(r.n, r.w, r.input, 1, &f) == EMU_OK)
            break;
        assert_null(f.out);
        assert_int_equal(alloc_live(), live);
    }
    alloc_test_fail_at(-1);
    assert_true(k > r.n->layers);
    ref_free(&f);
    alloc_test_fail_at(1);
    assert_int_equal(weights_calibrate(r.w, r.n, 1), EMU_NO_MEMORY);
    alloc_test_fail_at(-1);
    seeded_net_free(&r);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential),
        cmocka_unit_test(convolutions),
        cmocka_unit_test(small_layers),
        cmocka_unit_test(max_pool),
        cmocka_unit_test(norms),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(calibration),
        cmocka_unit_test(pictures),
        cmocka_unit_test(calibrated_range),
        cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
