/* test_ops_norm_train.c - norms in training and their gradients on small machines against their
 * definition in f64: batch norm, groups of neighbouring and of strided channels, channels that do
 * not fill a block.
 */
#include "tests/fixtures/nn_fixture.h"

struct norm_test {
    uint32_t n, c, h, w, groups;
    int strided, still; /* still: no running statistics */
    enum activation_function act;
    double mean; /* added to x: statistics must not drown in it */
};

static const struct norm_test cases[] = {
    { .n = 2, .c = 16, .h = 3, .w = 5 },
    { .n = 3, .c = 20, .h = 4, .w = 4, .act = ACT_RELU },
    { .n = 1, .c = 48, .h = 7, .w = 3, .act = ACT_SWISH },
    { .n = 4, .c = 40, .h = 1, .w = 1 },
    { .n = 2, .c = 33, .h = 5, .w = 5, .mean = 4 },
    { .n = 1, .c = 32, .h = 4, .w = 6, .groups = 2 },
    { .n = 2, .c = 20, .h = 3, .w = 3, .groups = 5, .act = ACT_SWISH },
    { .n = 2, .c = 36, .h = 3, .w = 4, .groups = 4, .strided = 1 },
    { .n = 2, .c = 36, .h = 3, .w = 4, .groups = 4, .strided = 1, .still = 1 },
    { .n = 1,
      .c = 72,
      .h = 9,
      .w = 11,
      .groups = 4,
      .strided = 1,
      .still = 1,
      .act = ACT_SWISH,
      .mean = 2 },
    { .n = 2, .c = 36, .h = 3, .w = 4, .groups = 4, .still = 1 },
    { .n = 3, .c = 16, .h = 2, .w = 2, .groups = 16 },
    { .n = 1, .c = 24, .h = 2, .w = 3, .groups = 1, .strided = 1, .mean = -3 },
};

/* A case on the machine, and its numbers. */
struct norm_run {
    const struct norm_test *t;
    struct nn_fixture r;
    struct activation x, dy, y;
    struct norm_layer layer;
    struct norm_statistics statistics;
    struct norm_running running;
    struct norm_gradients back;
    uint32_t padded, items;
    float *in, *grad, *gamma, *beta, *before;
};

enum { EPS_INVERSE = 128 };
static const double epsilon = 1.0 / EPS_INVERSE, rate = 0.25;

/* A list with v of each real channel. */
static struct tensor list(struct norm_run *k, const float *v, const char *name)
{
    uint32_t n = k->items * k->padded;
    float *all = calloc(n, sizeof(*all));
    struct tensor t;

    for (uint32_t i = 0; i < n; i++)
        all[i] = i % k->padded < k->t->c ? v[i % k->padded] : 0;
    t = ss_graph_constant(k->r.g, ELEM_F32, 1, &n, all, name);
    ss_graph_map_linear(k->r.g, t, 2, 2, 0, k->r.arch.tiles);
    free(all);
    return t;
}

static struct norm_run norm_run_of(const struct norm_test *t)
{
    struct norm_run k = { .t = t, .r = nn_fixture_new("mk2", 12) };
    size_t n = (size_t)t->n * t->c * t->h * t->w;

    k.r.seed = t->c * 7 + t->h;
    k.padded = channel_blocks(t->c) * CHANNEL_BLOCK;
    k.items = t->groups ? t->n : 1;
    k.in = numbers(&k.r, n);
    k.grad = numbers(&k.r, n);
    k.gamma = numbers(&k.r, t->c);
    k.beta = numbers(&k.r, t->c);
    k.before = numbers(&k.r, t->c);
    for (size_t i = 0; i < n; i++)
        k.in[i] += (float)t->mean;
    k.x = input(&k.r, t->n, t->c, t->h, t->w);
    k.dy = input(&k.r, t->n, t->c, t->h, t->w);
    k.layer = (struct norm_layer){ .groups = t->groups, .strided = t->strided };
    k.layer.eps = (float)epsilon;
    k.layer.gamma = list(&k, k.gamma, "gamma");
    k.layer.beta = list(&k, k.beta, "beta");
    k.running.mean = list(&k, k.before, "running mean");
    k.running.variance = k.running.mean;
    k.running.rate = (float)rate;
    k.y = ss_op_norm_train(k.r.nn, k.x, &k.layer, t->act, t->still ? NULL : &k.running,
                           &k.statistics, "norm");
    k.back = ss_op_norm_gradient(k.r.nn, k.x, k.dy, &k.layer, &k.statistics, "back");
    must(ss_graph_status(k.r.g));
    return k;
}

static void norm_run_free(struct norm_run *k)
{
    nn_fixture_free(&k->r);
    free(k->in);
    free(k->grad);
    free(k->gamma);
    free(k->beta);
    free(k->before);
}

/* ---- the definition ---- */

/* Whether channel c of picture n shares statistics with channel d of picture m. */
static int share(const struct norm_test *t, uint32_t n, uint32_t c, uint32_t m, uint32_t d)
{
    if (!t->groups)
        return c == d;
    if (n != m)
        return 0;
    return t->strided ? c % t->groups == d % t->groups
                      : c / (t->c / t->groups) == d / (t->c / t->groups);
}

/* Mean, variance, and the means of g and of g h, of what shares statistics with channel c of
 * picture n. */
struct moments {
    double mean, variance, g, gh;
};

static struct moments moments_of(const struct norm_run *k, uint32_t n, uint32_t c)
{
    const struct norm_test *t = k->t;
    struct moments s = { 0 };
    double sum[4] = { 0 }, count = 0;

    for (unsigned pass = 0; pass < 3; pass++) {
        for (uint32_t i = 0; i < t->n * t->c * t->h * t->w; i++) {
            uint32_t d = i / (t->h * t->w) % t->c;
            double x = (double)k->in[i], g = (double)k->grad[i] * (double)k->gamma[d];

            if (!share(t, n, c, i / (t->h * t->w) / t->c, d))
                continue;
            count += pass == 0;
            sum[0] += pass == 0 ? x : 0;
            sum[1] += pass == 1 ? (x - s.mean) * (x - s.mean) : 0;
            sum[2] += pass == 2 ? g : 0;
            sum[3] += pass == 2 ? g * (x - s.mean) / sqrt(s.variance + epsilon) : 0;
        }
        s = (struct moments){ sum[0] / count, sum[1] / count, sum[2] / count, sum[3] / count };
    }
    return s;
}

static void near(const struct norm_run *k, const char *what, uint32_t i, double got, double want,
                 double bound)
{
    const struct norm_test *t = k->t;

    if (!(fabs(got - want) <= bound))
        fail_msg("%u x %u x %u x %u in %u groups: %s %u is %g, the definition says %g, within %g",
                 t->n, t->c, t->h, t->w, t->groups, what, i, got, want, bound);
}

/* ---- fields ---- */

/* y if back is 0, else dx; channels that there are not must be zero. */
static void check_field(const struct norm_test *t, int back)
{
    struct norm_run k = norm_run_of(t);
    struct activation f = back ? k.back.x : k.y, memory = f;
    double *got = run(&k.r, k.x, k.in, &k.dy, k.grad, f);
    uint32_t field = t->h * t->w;

    memory.c = k.padded;
    for (uint32_t i = 0; i < t->n * k.padded * field; i++) {
        uint32_t n = i / field / k.padded, c = i / field % k.padded, p = i % field;
        uint32_t plain = (n * t->c + c) * field + p;
        struct moments s = { 0 };
        double v = got[at(&memory, n, c, p / t->w, p % t->w)], r, h, want;

        if (c >= t->c) {
            near(&k, "padding", i, v, 0, 0);
            continue;
        }
        s = moments_of(&k, n, c);
        r = 1 / sqrt(s.variance + epsilon);
        h = ((double)k.in[plain] - s.mean) * r;
        want = back ? r * ((double)k.gamma[c] * (double)k.grad[plain] - s.g - h * s.gh)
                    : activate(h * (double)k.gamma[c] + (double)k.beta[c], t->act);
        /* Of y scale, product and sum are rounded, and the mean's part of them; of dx the result.
         */
        near(&k, back ? "dx" : "y", plain, v, want,
             back ? fabs(want) / 1024 + 2e-4 * r
                  : (2 + 3 * (fabs(h) + fabs(s.mean * r)) + fabs(want)) / 1024);
    }
    free(got);
    norm_run_free(&k);
}

static void test_fields(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(cases); i++) {
        check_field(&cases[i], 0);
        check_field(&cases[i], 1);
    }
}

/* ---- lists ---- */

/* Gradients of scale and shift of channel c of picture n (of batch norm: of all). */
static void check_slopes(const struct norm_run *k, uint32_t n, uint32_t c, const struct moments *s,
                         double dgamma, double dbeta)
{
    const struct norm_test *t = k->t;
    double sum = 0, dot = 0, size = 0;

    for (uint32_t i = 0; i < t->n * t->h * t->w; i++) {
        uint32_t m = i / (t->h * t->w);
        uint32_t plain = (m * t->c + c) * t->h * t->w + i % (t->h * t->w);
        double h = ((double)k->in[plain] - s->mean) / sqrt(s->variance + epsilon);

        if (t->groups && m != n)
            continue;
        sum += (double)k->grad[plain];
        dot += (double)k->grad[plain] * h;
        size += fabs((double)k->grad[plain]) * (1 + fabs(h) + fabs(s->mean));
    }
    near(k, "gradient of shift", c, dbeta, sum, 1e-5 * size);
    near(k, "gradient of scale", c, dgamma, dot, 1e-4 * size);
}

static void check_lists(const struct norm_test *t)
{
    enum { MEAN, VARIANCE, RSTD, RUNNING, RUNNING_VARIANCE, GAMMA, BETA, LISTS };
    struct norm_run k = norm_run_of(t);
    struct tensor part[LISTS] = { k.statistics.mean, k.statistics.variance, k.statistics.rstd,
                                  k.running.mean,    k.running.variance,    k.back.gamma,
                                  k.back.beta };
    float *got = run_f32(&k.r, k.x, k.in, k.dy, k.grad, ss_tensor_concat(k.r.g, part, LISTS, 0));
    uint32_t columns = k.items * k.padded;

    for (uint32_t i = 0; i < columns; i++) {
        uint32_t n = i / k.padded, c = i % k.padded;
        struct moments s;
        double v[LISTS];

        if (c >= t->c)
            continue;
        for (unsigned j = 0; j < LISTS; j++)
            v[j] = (double)got[j * columns + i];
        s = moments_of(&k, n, c);
        near(&k, "mean", i, v[MEAN], s.mean, 1e-5 * (1 + fabs(s.mean)));
        near(&k, "variance by its root", i, 1 / (v[RSTD] * v[RSTD]) - epsilon, s.variance,
             1e-5 * (1 + s.variance + s.mean * s.mean));
        check_slopes(&k, n, c, &s, v[GAMMA], v[BETA]);
        if (t->still)
            continue;
        near(&k, "variance", i, v[VARIANCE], s.variance, 1e-5 * (1 + s.mean * s.mean));
        near(&k, "running mean", i, v[RUNNING], (double)k.before[c] * (1 - rate) + v[MEAN] * rate,
             1e-5 * (1 + fabs(s.mean)));
        near(&k, "running variance", i, v[RUNNING_VARIANCE],
             (double)k.before[c] * (1 - rate) + v[VARIANCE] * rate, 1e-5);
    }
    free(got);
    norm_run_free(&k);
}

static void test_lists(void **state)
{
    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(cases); i++)
        check_lists(&cases[i]);
}

static void test_errors(void **state)
{
    struct nn_fixture r = nn_fixture_new("mk2", 12);
    struct activation x = input(&r, 2, 18, 3, 3);
    uint32_t n = 32;
    float *v = numbers(&r, n);
    struct norm_layer layer = { .groups = 4, .eps = 1e-3f };
    struct norm_statistics s;

    (void)state;
    layer.gamma = layer.beta = ss_graph_constant(r.g, ELEM_F32, 1, &n, v, "gamma");
    ss_op_norm_train(r.nn, x, &layer, ACT_NONE, NULL, &s, "norm");
    assert_int_equal(ss_graph_status(r.g), EMU_USAGE);
    free(v);
    nn_fixture_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
