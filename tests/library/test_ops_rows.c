/* test_ops_rows.c - operations over the rows of a matrix: against plain f64, and to the bit against
 * the interpreter. One row and many, short and long ones, rows in any place and any order.
 */
#include "programs/library/rows/row_cut.h"
#include "tests/fixtures/ops_fixture.h"

static const uint32_t shapes[][2] = { { 1, 1 },   { 1, 3 },  { 2, 4 },    { 5, 1 },
                                      { 3, 23 },  { 7, 64 }, { 130, 5 },  { 13, 197 },
                                      { 64, 24 }, { 1, 65 }, { 400, 10 }, { 33, 100 } };

enum { CASES = EMU_COUNT_OF(shapes) * MAP_COUNT };

struct rows_case {
    struct ops_fixture f;
    struct tensor t;
    enum elem e;
    uint32_t r, n;
    double *x;
};

/* A matrix of random numbers. Every third one is the transpose of what is in memory. */
static void rows_case_new(struct rows_case *c, const char *machine, uint32_t r, uint32_t n,
                          unsigned i)
{
    static const unsigned turned[] = { 1, 0 };
    double *in;

    c->r = r;
    c->n = n;
    c->e = i % 2 ? ELEM_F16 : ELEM_F32;
    c->x = ops_numbers((uint64_t)r * n, i + 1);
    ops_fixture_new(&c->f, machine, 0);
    if (i % 3) {
        c->t = ops_input(&c->f, c->e, SHAPE(r, n), i % MAP_COUNT, c->x);
        return;
    }
    in = ops_numbers((uint64_t)r * n, 1);
    for (uint64_t k = 0; k < (uint64_t)r * n; k++)
        in[k % n * r + k / n] = c->x[k];
    c->t = ops_input(&c->f, c->e, SHAPE(n, r), i % MAP_COUNT, in);
    c->t = ss_tensor_transpose(c->f.g, c->t, turned);
    free(in);
}

static void rows_case_free(struct rows_case *c)
{
    ops_fixture_free(&c->f);
    free(c->x);
}

/* Within so much of the largest magnitude that went into it, and of the rounding of the type. */
static void near(const char *what, const struct rows_case *c, uint64_t i, enum elem e, double got,
                 double want, double size)
{
    double unit = e == ELEM_F16 ? 0x1p-11 : 0x1p-22;

    if (!(fabs(got - want) <= unit * fabs(want) + 0x1p-20 * size + (e == ELEM_F16 ? 0x1p-24 : 0)))
        fail_msg("%s of %u x %u, %llu: %.9g, expected %.9g", what, c->r, c->n,
                 (unsigned long long)i, got, want);
}

/* ---- reductions ---- */

static double plain_reduce(enum row_op op, const double *x, uint32_t n, double *size)
{
    double y = op == ROW_OP_PROD ? 1 : op == ROW_OP_MAX || op == ROW_OP_MIN ? x[0] : 0;

    *size = 0;
    for (uint32_t i = 0; i < n; i++) {
        *size += op == ROW_OP_SUMSQ ? x[i] * x[i] : fabs(x[i]);
        switch (op) {
        case ROW_OP_PROD:
            y *= x[i];
            break;
        case ROW_OP_MAX:
            y = fmax(y, x[i]);
            break;
        case ROW_OP_MIN:
            y = fmin(y, x[i]);
            break;
        case ROW_OP_SUMSQ:
            y += x[i] * x[i];
            break;
        default:
            y += op == ROW_OP_MEAN ? x[i] / n : x[i];
        }
    }
    if (op == ROW_OP_PROD)
        *size = n * fabs(y);
    return y;
}

static void one_reduce(const char *machine, uint32_t r, uint32_t n, unsigned i)
{
    struct ops_output *out[ROW_OP_COUNT];
    struct rows_case c;
    enum elem to = i / 2 % 2 ? ELEM_F16 : ELEM_F32;

    rows_case_new(&c, machine, r, n, i);
    for (unsigned op = 0; op < ROW_OP_COUNT; op++)
        out[op] = ops_output(&c.f, ss_op_row_reduce(c.f.g, c.f.seq, op, c.t, to, "reduce"));
    ops_run(&c.f);
    for (unsigned op = 0; op < ROW_OP_COUNT; op++) {
        assert_int_equal(out[op]->n, r);
        for (uint32_t k = 0; k < r; k++) {
            double size, want = plain_reduce(op, c.x + (uint64_t)k * n, n, &size);

            if (to == ELEM_F16 && fabs(want) > 65504)
                continue;
            near("reduction", &c, k, to, out[op]->value[k], want, size);
        }
    }
    rows_case_free(&c);
}

/* A few tiles for what fits there. */
static const char *machine_of(const uint32_t shape[2], unsigned i)
{
    return i % 5 || shape[0] * shape[1] > 400 ? "toy64" : "toy4";
}

static void test_reduce(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        const uint32_t *s = shapes[i / MAP_COUNT];

        one_reduce(machine_of(s, i), s[0], s[1], i);
    }
}

/* ---- softmax, norm ---- */

static void one_softmax(const char *machine, uint32_t r, uint32_t n, unsigned i)
{
    struct ops_output *out[2];
    struct rows_case c;

    rows_case_new(&c, machine, r, n, i);
    out[0] = ops_output(&c.f, ss_op_row_softmax(c.f.g, c.f.seq, c.t, ROW_SOFTMAX, "softmax"));
    out[1] = ops_output(&c.f, ss_op_row_softmax(c.f.g, c.f.seq, c.t, ROW_LOG_SOFTMAX, "log"));
    ops_run(&c.f);
    for (uint32_t k = 0; k < r; k++) {
        const double *x = c.x + (uint64_t)k * n;
        double most = x[0], sum = 0, off = 0;

        for (uint32_t j = 0; j < n; j++)
            most = fmax(most, x[j]);
        for (uint32_t j = 0; j < n; j++) {
            sum += exp(x[j] - most);
            off += exp(x[j] - most) * (most - x[j] + 1);
        }
        off /= sum;
        for (uint32_t j = 0; j < n; j++) {
            double far = most - x[j], want = exp(-far) / sum, half = c.e == ELEM_F16 ? 0x1p9 : 0;

            /* In f16 x - most and exponentials are rounded to 2^-11 of themselves. */
            near("softmax", &c, k, c.e, out[0]->value[(uint64_t)k * n + j], want,
                 16 + half * want * (far + 1 + off));
            near("log softmax", &c, k, c.e, out[1]->value[(uint64_t)k * n + j], -far - log(sum),
                 16 * (1 + fabs(x[j]) + fabs(most)) + half * off);
        }
    }
    rows_case_free(&c);
}

static void test_softmax(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        const uint32_t *s = shapes[i / MAP_COUNT];

        one_softmax(machine_of(s, i), s[0], s[1], i);
    }
}

static void one_norm(const char *machine, uint32_t r, uint32_t n, unsigned i)
{
    enum row_axis axis = i % 2 ? ROW_BY_ROW : ROW_BY_COLUMN;
    uint32_t parameters = axis == ROW_BY_ROW ? r : n;
    float *gamma = malloc(parameters * sizeof(*gamma)), *beta = malloc(parameters * sizeof(*beta));
    struct ops_output *out;
    struct rows_case c;

    for (uint32_t k = 0; k < parameters; k++) {
        gamma[k] = 1 + (float)(k % 5) / 4;
        beta[k] = (float)(k % 7) / 8;
    }
    rows_case_new(&c, machine, r, n, i);
    out = ops_output(&c.f, ss_op_row_norm(c.f.g, c.f.seq, c.t, axis, gamma, beta, 1e-3f, "norm"));
    ops_run(&c.f);
    for (uint32_t k = 0; k < r; k++) {
        const double *x = c.x + (uint64_t)k * n;
        double mean = 0, variance = 0;

        for (uint32_t j = 0; j < n; j++)
            mean += x[j] / n;
        for (uint32_t j = 0; j < n; j++)
            variance += (x[j] - mean) * (x[j] - mean) / n;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t p = axis == ROW_BY_ROW ? k : j;
            double scale = gamma[p] / sqrt(variance + 1e-3);

            near("norm", &c, k, c.e, out->value[(uint64_t)k * n + j],
                 (x[j] - mean) * scale + beta[p], 16 * (scale * (fabs(x[j]) + fabs(mean)) + 1));
        }
    }
    rows_case_free(&c);
    free(gamma);
    free(beta);
}

static void test_norm(void **state)
{
    (void)state;
    for (unsigned i = 0; i < CASES; i++) {
        const uint32_t *s = shapes[i / MAP_COUNT];

        one_norm(machine_of(s, i), s[0], s[1], i);
    }
}

/* ---- few rows and long ones ---- */

/* So many partial results that they are brought together in steps, on the way to the result and
 * before kernels that read them. */
static void test_long_rows(void **state)
{
    static const uint32_t sizes[][2] = { { 1, 20011 }, { 2, 9000 }, { 5, 4001 }, { 40, 1002 } };
    static const unsigned number[] = { 1, 2, 4, 5 }; /* not turned: single elements to fetch */

    (void)state;
    for (unsigned i = 0; i < EMU_COUNT_OF(sizes); i++) {
        one_reduce("toy64", sizes[i][0], sizes[i][1], number[i]);
        one_softmax("toy64", sizes[i][0], sizes[i][1], number[i]);
        one_norm("toy64", sizes[i][0], sizes[i][1], number[i]);
    }
}

/* Partial results that are brought together down to a number, whatever a cut would leave. */
static void test_join(void **state)
{
    double *x = ops_numbers(3 * 500, 1);
    struct ops_output *few;
    struct ops_fixture r;

    (void)state;
    ops_fixture_new(&r, "toy64", 0);
    few = ops_output(&r, row_join(r.g, r.seq, ROW_FOLD_MAX,
                                  ops_input(&r, ELEM_F32, SHAPE(3, 500), MAP_EVEN, x),
                                  ROW_MOST_PARTIALS, "join"));
    ops_run(&r);
    assert_in_range(few->n / 3, 1, ROW_MOST_PARTIALS);
    for (uint32_t k = 0; k < 3; k++) {
        double want = -INFINITY, got = -INFINITY;

        for (uint32_t i = 0; i < 500; i++)
            want = fmax(want, x[k * 500 + i]);
        for (uint64_t i = 0; i < few->n / 3; i++)
            got = fmax(got, few->value[k * (few->n / 3) + i]);
        assert_true(got == want);
    }
    ops_fixture_free(&r);
    free(x);
}

/* ---- what is refused, and no memory ---- */

static void test_refused(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 9; i++) {
        struct ops_fixture r;
        struct tensor t;

        ops_fixture_new(&r, "toy4", 0);
        t = i % 3 == 0   ? ops_tensor(&r, ELEM_F32, SHAPE(3), MAP_ONE)
            : i % 3 == 1 ? ops_tensor(&r, ELEM_U8, SHAPE(3, 4), MAP_ONE)
                         : ss_graph_variable(r.g, ELEM_F16, SHAPE(3, 0), "none");
        if (i / 3 == 0)
            ss_op_row_reduce(r.g, r.seq, ROW_OP_SUM, t, ELEM_F32, "rows");
        else if (i / 3 == 1)
            ss_op_row_softmax(r.g, r.seq, t, ROW_SOFTMAX, "rows");
        else
            ss_op_row_norm(r.g, r.seq, t, ROW_BY_ROW, NULL, NULL, 1, "rows");
        assert_int_equal(ss_graph_status(r.g), EMU_BAD_PROGRAM);
        error_says("rows: expected a matrix of f16 or f32 that is not empty, got ");
        ops_fixture_free(&r);
    }
}

static void build_all(struct ops_fixture *r, struct tensor t)
{
    static const float ones[7] = { 1, 1, 1, 1, 1, 1, 1 };

    t = ss_op_row_softmax(r->g, r->seq, t, ROW_SOFTMAX, "softmax");
    t = ss_op_row_norm(r->g, r->seq, t, ROW_BY_COLUMN, ones, NULL, 1, "norm");
    t = ss_op_row_norm(r->g, r->seq, t, ROW_BY_ROW, ones, ones, 1, "norm");
    ss_op_row_reduce(r->g, r->seq, ROW_OP_MEAN, t, ELEM_F16, "mean");
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(ops_each_allocation(ELEM_F16, build_all) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce),    cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_norm),      cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_join),      cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
