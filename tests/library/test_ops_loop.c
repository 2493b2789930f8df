/* test_ops_loop.c - loops over the rows of matrices, and products in them: against plain f64, and
 * to the bit against the interpreter.
 */
#include "programs/library/ops.h"
#include "tests/fixtures/ops_fixture.h"

struct loop_case {
    const char *machine;
    enum elem elem;
    uint32_t rows, k, n;
    enum ops_map map;
};

/* Running sums of the rows of x [rows][k][n], y[i] = y[i - 1] + x[i]. */
static void one_loop(const struct loop_case *c)
{
    uint32_t size = c->k * c->n;
    double *x = ops_numbers((uint64_t)c->rows * size, c->n + c->rows), sum;
    struct program body;
    struct loop_rows in, out;
    struct ops_output *got;
    struct row_loop loop;
    struct ops_fixture r;
    struct tensor t, state;

    ops_fixture_new(&r, c->machine, 0);
    t = ops_input(&r, c->elem, SHAPE(c->rows, c->k, c->n), c->map, x);
    loop = ss_op_row_loop(r.g, c->rows, "loop");
    in = ss_op_loop_rows(r.g, &loop, c->elem, c->k, c->n, "in");
    out = ss_op_loop_rows(r.g, &loop, c->elem, c->k, c->n, "out");
    state = ss_graph_variable(r.g, c->elem, 2, (const uint32_t[]){ c->k, c->n }, "state");
    ops_map(&r, state, c->map);
    ss_program_add(r.g, r.seq, ss_program_copy(r.g, t, in.all));
    ss_op_fill(r.g, r.seq, state, 0, "start");
    body = ss_program_sequence(r.g);
    t = ss_op_row_get(r.g, body, &loop, &in, "row");
    t = ss_op_binary(r.g, body, BINARY_ADD, t, state, "sum");
    ss_op_row_put(r.g, body, &loop, &out, t, "store");
    ss_op_row_next(r.g, body, &loop, "next");
    ss_program_add(r.g, body, ss_program_copy(r.g, t, state));
    ss_program_add(r.g, r.seq, ss_program_repeat(r.g, c->rows, body));
    got = ops_output(&r, out.all);
    ops_run(&r);
    for (uint32_t i = 0; i < size; i++) {
        sum = 0;
        for (uint32_t k = 0; k < c->rows; k++) {
            sum += x[k * size + i]; /* multiples of 2^-6 below 16: exact */
            if (got->value[k * size + i] != sum)
                fail_msg("%s [%u][%u][%u]: sum %u of column %u is %g, plain C says %g", c->machine,
                         c->rows, c->k, c->n, k, i, got->value[k * size + i], sum);
        }
    }
    ops_fixture_free(&r);
    free(x);
}

static void test_rows(void **state)
{
    static const uint32_t sizes[][3] = { { 1, 1, 1 }, { 2, 3, 5 },  { 7, 1, 16 },  { 3, 4, 17 },
                                         { 5, 2, 8 }, { 4, 1, 70 }, { 6, 3, 300 }, { 2, 1, 1000 } };
    unsigned i = 0;

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(sizes); k++) {
        for (unsigned map = 0; map < MAP_COUNT; map++, i++) {
            const struct loop_case c = { i % 3 ? "toy4" : "toy16",
                                         i % 2 ? ELEM_F16 : ELEM_F32,
                                         sizes[k][0],
                                         sizes[k][1],
                                         sizes[k][2],
                                         (enum ops_map)map };

            one_loop(&c);
        }
    }
}

/* A loop may run again: all counters are 0 after it. */
static void test_again(void **state)
{
    const double x[] = { 1, 2, 3, 4, 5, 6 };
    struct ops_output *got;
    struct loop_rows in;
    struct row_loop loop;
    struct program body, twice;
    struct ops_fixture r;
    struct tensor t, last;

    (void)state;
    ops_fixture_new(&r, "toy4", 0);
    t = ops_input(&r, ELEM_F32, SHAPE(3, 1, 2), MAP_EVEN, x);
    last = ops_tensor(&r, ELEM_F32, SHAPE(1, 2), MAP_ONE);
    loop = ss_op_row_loop(r.g, 3, "loop");
    in = ss_op_loop_rows(r.g, &loop, ELEM_F32, 1, 2, "in");
    ss_program_add(r.g, r.seq, ss_program_copy(r.g, t, in.all));
    body = ss_program_sequence(r.g);
    t = ss_op_row_get(r.g, body, &loop, &in, "row");
    ss_program_add(r.g, body, ss_program_copy(r.g, t, last));
    ss_op_row_next(r.g, body, &loop, "next");
    twice = ss_program_sequence(r.g);
    ss_program_add(r.g, twice, ss_program_repeat(r.g, 3, body));
    ss_program_add(r.g, r.seq, ss_program_repeat(r.g, 2, twice));
    got = ops_output(&r, last);
    ops_run(&r);
    assert_true(got->value[0] == 5 && got->value[1] == 6);
    ops_fixture_free(&r);
}

/* ---- products ---- */

/* s = s b + 1, again and again, with b where products use it. */
static void one_product(const char *machine, enum elem e, uint32_t m, uint32_t n)
{
    enum { TURNS = 3 };
    double *b = ops_numbers((uint64_t)n * n, n), want[2][64 * 64];
    struct ops_output *got;
    struct ops_fixture r;
    struct program body;
    struct tensor w, s, t;

    for (uint32_t i = 0; i < n * n; i++)
        b[i] /= 16;
    ops_fixture_new(&r, machine, 0);
    w = ops_input(&r, e, SHAPE(1, n, n), MAP_ODD, b);
    s = ops_tensor(&r, e, SHAPE(1, m, n), MAP_EVEN);
    ss_op_fill(r.g, r.seq, s, 0, "start");
    w = ss_op_product_hold(r.g, r.seq, m, w, "hold");
    body = ss_program_sequence(r.g);
    t = ss_op_product(r.g, body, s, w, "product");
    t = ss_op_binary_scalar(r.g, body, BINARY_ADD, t, 1, "sum");
    ss_program_add(r.g, body, ss_program_copy(r.g, t, s));
    ss_program_add(r.g, r.seq, ss_program_repeat(r.g, TURNS, body));
    got = ops_output(&r, s);
    ops_run(&r);
    memset(want, 0, sizeof(want));
    for (unsigned turn = 0; turn < TURNS; turn++) {
        for (uint32_t i = 0; i < m * n; i++) {
            double sum = 1;

            for (uint32_t k = 0; k < n; k++)
                sum += want[turn % 2][i / n * n + k] * b[k * n + i % n];
            want[(turn + 1) % 2][i] = sum;
        }
    }
    for (uint32_t i = 0; i < m * n; i++) {
        if (!(fabs(got->value[i] - want[TURNS % 2][i]) <= (e == ELEM_F16 ? 0.05 : 1e-4)))
            fail_msg("%s %u x %u: element %u is %g, plain C says %g", machine, m, n, i,
                     got->value[i], want[TURNS % 2][i]);
    }
    ops_fixture_free(&r);
    free(b);
}

static void test_products(void **state)
{
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 16 }, { 2, 17 }, { 3, 40 }, { 1, 64 } };

    (void)state;
    for (size_t k = 0; k < EMU_COUNT_OF(sizes); k++) {
        one_product("toy16", ELEM_F16, sizes[k][0], sizes[k][1]);
        one_product("toy4", ELEM_F32, sizes[k][0], sizes[k][1]);
    }
}

/* What cannot be held is the operand itself: rows are cut over tiles, or there is a batch. */
static void test_not_held(void **state)
{
    struct ops_fixture r;
    struct tensor wide, batch;

    (void)state;
    ops_fixture_new(&r, "toy4", 0);
    wide = ops_tensor(&r, ELEM_F16, SHAPE(1, 16, 16), MAP_EVEN);
    batch = ops_tensor(&r, ELEM_F16, SHAPE(2, 16, 16), MAP_EVEN);
    assert_int_equal(ss_op_product_hold(r.g, r.seq, 1000, wide, "rows").view, wide.view);
    assert_int_equal(ss_op_product_hold(r.g, r.seq, 1, batch, "batch").view, batch.view);
    assert_int_not_equal(ss_op_product_hold(r.g, r.seq, 1, wide, "held").view, wide.view);
    ops_fixture_free(&r);
}

/* ---- without memory ---- */

static void build(struct ops_fixture *r, struct tensor t)
{
    struct row_loop loop = ss_op_row_loop(r->g, 5, "loop");
    struct loop_rows rows = ss_op_loop_rows(r->g, &loop, ELEM_F32, 1, 7, "rows");
    struct program body = ss_program_sequence(r->g);

    ss_program_add(r->g, r->seq,
                   ss_program_copy(r->g,
                                   ss_tensor_reshape(r->g, t, 3, (const uint32_t[]){ 5, 1, 7 }),
                                   rows.all));
    t = ss_op_row_get(r->g, body, &loop, &rows, "row");
    ss_op_row_put(r->g, body, &loop, &rows, t, "store");
    ss_op_row_next(r->g, body, &loop, "next");
    ss_program_add(r->g, r->seq, ss_program_repeat(r->g, 5, body));
    t = ss_tensor_reshape(r->g, t, 3, (const uint32_t[]){ 1, 7, 1 });
    ops_output(r, ss_op_product_hold(r->g, r->seq, 1, t, "held"));
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(ops_each_allocation(ELEM_F32, build) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),      cmocka_unit_test(test_again),
        cmocka_unit_test(test_products),  cmocka_unit_test(test_not_held),
        cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
