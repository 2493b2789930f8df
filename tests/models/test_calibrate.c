/* test_calibrate.c - exponentials with the same bits everywhere; the f64 reference on any number of
 * threads; what calibration makes of seeded parameters; drawn pictures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>
#include <omp.h>

#include "emu/base/alloc.h"
#include "models/operators/op_exp.h"
#include "models/weights/calibrate.h"
#include "tests/fixtures/picture_fixture.h"

/* ---- exp ---- */

static void exponential(void **state)
{
    (void)state;
    for (int i = 0; i <= 200000; i++) {
        double x = -708 + i * (1417.0 / 200000), want = exp(x);

        if (fabs(op_exp(x) - want) > 3 * 0x1p-52 * want)
            fail_msg("exp(%a): %a, expected %a", x, op_exp(x), want);
    }
    assert_true(op_exp(0) == 1 && op_exp(-709) == 0 && isinf(op_exp(710)));
    assert_true(isnan(op_exp(NAN)));
    assert_true(op_sigmoid(0) == 0.5 && op_sigmoid(-800) == 0 && op_sigmoid(800) == 1);
}

/* ---- networks ---- */

enum { CLASSES = 50 };

struct seeded_net {
    struct net *n; /* its outputs are scores and logits */
    struct weights *w;
    struct op_tensor input;
};

static struct seeded_net seeded_net_new(const char *name, uint32_t side, uint32_t batch)
{
    struct net_options o = { .resolution = side, .batch = batch, .classes = CLASSES };
    float *picture = emu_alloc((size_t)3 * batch * side * side, sizeof(*picture));
    struct seeded_net r;
    struct op_graph *g;

    if (net_new(name, &o, &r.n) != EMU_OK || weights_new(r.n, &r.w) != EMU_OK)
        fail_msg("%s", ss_error());
    weights_seed(r.w, r.n, 1);
    weights_attach(r.w, r.n);
    g = r.n->graph;
    assert_int_equal(op_graph_output(g, op_value_find(g, net_logits)), EMU_OK);
    assert_int_equal(op_tensor_new(&g->value[g->input[0]].shape, &r.input), EMU_OK);
    synthetic_pictures(side, 21, batch, picture);
    for (uint64_t i = 0; i < op_shape_count(&r.input.shape); i++)
        r.input.f[i] = (double)picture[i];
    ss_free(picture);
    return r;
}

static void seeded_net_free(struct seeded_net *r)
{
    net_free(r->n);
    weights_free(r->w);
    op_tensor_free(&r->input);
}

/* Scores and logits. */
struct results {
    struct op_tensor out[2];
};

static struct results run(const struct seeded_net *r)
{
    struct results y;

    if (op_graph_run(r->n->graph, &r->input, 0, y.out) != EMU_OK)
        fail_msg("%s", ss_error());
    return y;
}

static void results_free(struct results *y)
{
    op_tensor_free(&y->out[0]);
    op_tensor_free(&y->out[1]);
}

/* On one thread or three: the same bits. The picture of a batch does not see its neighbours. */
static void same_bits(void **state)
{
    static const char *const name[] = { "efficientnet-b0", "efficientnet-b1-g16", "resnet-50" };
    int threads = omp_get_max_threads();

    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        struct seeded_net r = seeded_net_new(name[i], 24, 2), one = seeded_net_new(name[i], 24, 1);
        struct results a, b, c;

        omp_set_num_threads(1);
        a = run(&r);
        omp_set_num_threads(3);
        b = run(&r);
        c = run(&one);
        omp_set_num_threads(threads);
        assert_memory_equal(a.out[0].f, b.out[0].f, 2 * CLASSES * 8);
        assert_memory_equal(a.out[0].f, c.out[0].f, CLASSES * 8);
        results_free(&a);
        results_free(&b);
        results_free(&c);
        seeded_net_free(&r);
        seeded_net_free(&one);
    }
    assert_int_equal(alloc_live(), 0);
}

/* ---- calibrated networks ---- */

/* What pictures unlike those of calibration do to each layer. */
struct range {
    double largest; /* of what all nodes read first */
    const char *where;
};

static enum emu_status widen(void *arg, const struct op_node *n, const struct op_tensor *x)
{
    struct range *r = arg;

    for (uint64_t i = 0; i < op_shape_count(&x->shape); i++) {
        if (!(fabs(x->f[i]) <= r->largest)) {
            r->largest = fabs(x->f[i]);
            r->where = n->name;
        }
    }
    return EMU_OK;
}

static void read_unlike(struct seeded_net *r)
{
    uint32_t side = r->n->resolution;
    size_t each = (size_t)3 * side * side;
    const struct picture_recipe recipe = picture_recipe_of(r->n, NULL);
    float *picture = emu_alloc(each, sizeof(*picture));

    for (unsigned i = 0; i < UNLIKE_PICTURES; i++) {
        struct picture p;

        if (unlike_picture(i, side, &p) != EMU_OK)
            fail_msg("%s", ss_error());
        picture_normalise(&p, &recipe, picture);
        for (size_t k = 0; k < each; k++)
            r->input.f[i * each + k] = (double)picture[k];
        picture_free(&p);
    }
    ss_free(picture);
}

static double deviation(const double *x, unsigned n)
{
    double mean = 0, variance = 0;

    for (unsigned i = 0; i < n; i++)
        mean += x[i] / n;
    for (unsigned i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean) / n;
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
        struct range range = { .largest = 0 };
        struct results y;

        assert_int_equal(weights_calibrate(r.w, r.n, 16), EMU_OK);
        read_unlike(&r);
        assert_int_equal(op_graph_walk(r.n->graph, &r.input, widen, &range), EMU_OK);
        y = run(&r);
        if (!(range.largest < 100))
            fail_msg("%s: %g in %s", kind[i].name, range.largest, range.where);
        check_logits(kind[i].name, y.out[1].f);
        results_free(&y);
        seeded_net_free(&r);
    }
    assert_int_equal(alloc_live(), 0);
}

/* Deviation of what activation functions and sums read, which are batch norms' results: of the last
 * norm of a branch in units of its scale. */
static enum emu_status check_norm(void *arg, const struct op_node *n, const struct op_tensor *x)
{
    uint64_t count = op_shape_count(&x->shape);
    double sum = 0;

    (void)arg;
    if (strstr(n->name, ".se.") || (!op_node_is(n, OP_Swish) && !op_node_is(n, OP_Add)))
        return EMU_OK;
    for (uint64_t i = 0; i < count; i++)
        sum += x->f[i] * x->f[i];
    sum = sqrt(sum / (double)count);
    if (op_node_is(n, OP_Add))
        sum /= 0.3;
    if (sum < 0.5 || sum > 2)
        fail_msg("%s: deviation %g", n->name, sum);
    return EMU_OK;
}

/* Deviation over classes of the mean of all pictures' logits. */
static double common_deviation(const struct seeded_net *r)
{
    struct results y = run(r);
    double sum[CLASSES] = { 0 };

    for (uint32_t i = 0; i < CLASSES * r->n->batch; i++)
        sum[i % CLASSES] += y.out[1].f[i] / r->n->batch;
    results_free(&y);
    return deviation(sum, CLASSES);
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
    assert_int_equal(op_graph_walk(r.n->graph, &r.input, check_norm, NULL), EMU_OK);
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
    synthetic_pictures(SIDE, 3, 8, a);
    synthetic_pictures(SIDE, 3, 1, b);
    assert_memory_equal(a, b, ALL * 4);
    assert_memory_not_equal(a, a + ALL, ALL * 4);
    assert_memory_not_equal(a, a + ALL / 3, ALL / 3 * 4);
    for (int i = 0; i < 8 * ALL; i++) {
        sum += a[i];
        squares += (double)a[i] * a[i];
    }
    assert_true(fabs(sum / (8 * ALL)) < 0.5);
    assert_true(fabs(sqrt(squares / (8 * ALL)) - 1) < 0.3);
    ss_free(a);
    ss_free(b);
}

static void out_of_memory(void **state)
{
    struct seeded_net r = seeded_net_new("efficientnet-b0", 8, 1);
    long live = alloc_live();
    struct results y;
    long k = 0;

    (void)state;
    for (;; k += 31) {
        alloc_test_fail_at(k);
        if (op_graph_run(r.n->graph, &r.input, 0, y.out) == EMU_OK)
            break;
        results_free(&y);
        assert_int_equal(alloc_live(), live);
    }
    alloc_test_fail_at(-1);
    assert_true(k > r.n->graph->nodes);
    results_free(&y);
    alloc_test_fail_at(1);
    assert_int_equal(weights_calibrate(r.w, r.n, 1), EMU_NO_MEMORY);
    alloc_test_fail_at(-1);
    seeded_net_free(&r);
    assert_int_equal(alloc_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponential),      cmocka_unit_test(same_bits),
        cmocka_unit_test(calibration),      cmocka_unit_test(pictures),
        cmocka_unit_test(calibrated_range), cmocka_unit_test(out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
