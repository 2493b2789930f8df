/* test_ops.c - whole operations on small machines: against plain C, and to the bit against the
 * interpreter. Odd sizes, mappings in pieces that nothing is aligned to, few and many tiles.
 */
#include "programs/library/layout/plan_cost.h"
#include "tests/fixtures/ops_fixture.h"

/* ---- reductions ---- */

struct reduction_case {
    const char *machine;
    uint32_t tiles, p, n;
    enum ops_map map;
    enum elem from, to;
};

/* How far a sum of p terms may be off: f32 sums and at most `stages` roundings to f16. */
static void check_reduced(const struct reduction_case *c, enum reduce_op op, const double *x,
                          const struct ops_output *got)
{
    for (uint32_t i = 0; i < c->n; i++) {
        double want = op == REDUCE_MAX ? -INFINITY : 0, size = 0;

        for (uint32_t k = 0; k < c->p; k++) {
            double v = x[k * c->n + i];

            want = op == REDUCE_MAX ? fmax(want, v) : want + (op == REDUCE_SUM ? v : v * v);
            size += op == REDUCE_SUM ? fabs(v) : v * v;
        }
        /* numbers are multiples of 2^-6, squares of 2^-12: f32 sums below 2^11 are exact */
        if (op != REDUCE_MAX && c->to == ELEM_F16)
            assert_true(fabs(got->value[i] - want) <= 5 * size * 0x1p-11);
        else if (got->value[i] != want)
            fail_msg("%s [%u][%u] op %d: %.9g, plain C says %.9g", c->machine, c->p, c->n, op,
                     got->value[i], want);
    }
}

static void one_reduction(const struct reduction_case *c)
{
    double *x = ops_numbers((uint64_t)c->p * c->n, c->p + c->n);
    struct ops_output *out[REDUCE_COUNT];
    struct tensor t;
    struct ops_fixture r;

    ops_fixture_new(&r, c->machine, c->tiles);
    t = ops_input(&r, c->from, SHAPE(c->p, c->n), c->map, x);
    for (unsigned op = 0; op < REDUCE_COUNT; op++) {
        char name[20];

        snprintf(name, sizeof(name), "reduce%u", op);
        out[op] = ops_output(&r, ss_op_reduce(r.g, r.seq, op, t, c->to, name));
    }
    ops_run(&r);
    for (unsigned op = 0; op < REDUCE_COUNT; op++)
        check_reduced(c, op, x, out[op]);
    ops_fixture_free(&r);
    free(x);
}

static void test_reduce(void **state)
{
    static const uint32_t sizes[][2] = { { 1, 1 }, { 1, 9 }, { 2, 3 },  { 3, 16 },
                                         { 5, 7 }, { 7, 2 }, { 40, 1 }, { 9, 33 } };
    static const enum elem types[][2] = { { ELEM_F32, ELEM_F32 },
                                          { ELEM_F16, ELEM_F32 },
                                          { ELEM_F16, ELEM_F16 },
                                          { ELEM_F32, ELEM_F16 } };
    unsigned n = 0;

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++, n++) {
            struct reduction_case c = { .machine = n % 3 ? "toy4" : "toy16",
                                        .tiles = n % 5 ? 0 : 1,
                                        .p = sizes[i][0],
                                        .n = sizes[i][1],
                                        .map = map,
                                        .from = types[(i + n) % 4][0],
                                        .to = types[(i + n) % 4][1] };

            one_reduction(&c);
        }
    }
}

/* Rows that end in the middle of a tile's elements: parts of a tile overlap. */
static void test_reduce_ragged(void **state)
{
    for (uint32_t n = 2; n <= 13; n++) {
        struct reduction_case c = { "toy4", n % 4 + 1, 11, n, MAP_ODD, ELEM_F32, ELEM_F32 };

        (void)state;
        one_reduction(&c);
    }
}

/* The result is no view of the operand, not even of a single row. */
static void test_reduce_copies(void **state)
{
    for (uint32_t rows = 1; rows <= 3; rows++) {
        const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
        struct ops_output *sum;
        struct tensor t;
        struct ops_fixture r;

        (void)state;
        ops_fixture_new(&r, "toy4", 0);
        t = ops_input(&r, ELEM_F32, SHAPE(rows, 3), MAP_EVEN, x);
        sum = ops_output(&r, ss_op_reduce(r.g, r.seq, REDUCE_SUM, t, ELEM_F32, "sum"));
        ss_op_fill(r.g, r.seq, t, 100, "fill");
        ops_run(&r);
        assert_true(sum->value[0] == (rows == 1 ? 1 : rows == 2 ? 5 : 12));
        ops_fixture_free(&r);
    }
}

/* Enough tiles for several stages between them. */
static void test_reduce_stages(void **state)
{
    struct reduce_plan plan;
    struct reduction_case wide = { "mk2", 96, 192, 3, MAP_ODD, ELEM_F32, ELEM_F32 };
    struct reduction_case long_one = { "mk2", 300, 600, 1, MAP_EVEN, ELEM_F32, ELEM_F32 };

    (void)state;
    assert_int_equal(plan_reduce(ss_arch_preset("mk2"), 300, 1, ELEM_F32, 1472, &plan), EMU_OK);
    assert_true(plan.stages >= 2);
    one_reduction(&wide);
    one_reduction(&long_one);
}

/* Operations that take turns compute the same, and leave their results on other tiles each time. */
static void test_turns(void **state)
{
    enum { AGAIN = 12 };
    double *x = ops_numbers(4 * 6, 5);
    struct ops_output *sum[AGAIN], *row[AGAIN], *turned[AGAIN];
    uint32_t used[3] = { 0 };
    struct ops_fixture r;
    struct tensor t;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    ss_graph_take_turns(r.g);
    t = ops_input(&r, ELEM_F32, SHAPE(4, 6), MAP_ODD, x);
    for (unsigned k = 0; k < AGAIN; k++) {
        sum[k] = ops_output(&r, ss_op_reduce(r.g, r.seq, REDUCE_SUM, t, ELEM_F32, "sum"));
        row[k] = ops_output(&r, ss_op_row_reduce(r.g, r.seq, ROW_OP_SUM, t, ELEM_F32, "row"));
        turned[k] = ops_output(&r, ss_op_transpose(r.g, r.seq, t, "turned"));
        used[0] |= 1u << ss_graph_tile_of(r.g, sum[k]->t, 0);
        used[1] |= 1u << ss_graph_tile_of(r.g, row[k]->t, 0);
        used[2] |= 1u << ss_graph_tile_of(r.g, turned[k]->t, 0);
    }
    ops_run(&r);
    for (unsigned k = 0; k < AGAIN; k++) {
        assert_memory_equal(sum[k]->value, sum[0]->value, 6 * sizeof(double));
        assert_memory_equal(row[k]->value, row[0]->value, 4 * sizeof(double));
        for (uint32_t i = 0; i < 24; i++)
            assert_true(turned[k]->value[i % 6 * 4 + i / 6] == x[i]);
    }
    for (unsigned k = 0; k < EMU_COUNT_OF(used); k++)
        assert_true(__builtin_popcount(used[k]) > 2);
    ops_fixture_free(&r);
    free(x);
}

/* ---- over all elements ---- */

static void one_total(enum elem e, const uint32_t shape[2], enum ops_map map)
{
    uint32_t n = shape[0] * shape[1];
    double *x = ops_numbers(n, 7 * n), sum = 0, squares = 0, max = -INFINITY, all = 0;
    struct ops_output *total[REDUCE_COUNT], *soft;
    struct tensor t;
    struct ops_fixture r;
    char name[20];

    ops_fixture_new(&r, n % 3 ? "toy4" : "toy16", 0);
    t = ops_input(&r, e, 2, shape, map, x);
    for (unsigned op = 0; op < REDUCE_COUNT; op++) {
        snprintf(name, sizeof(name), "total%u", op);
        total[op] = ops_output(&r, ss_op_total(r.g, r.seq, op, t, name));
    }
    soft = ops_output(&r, ss_op_softmax(r.g, r.seq, t, "softmax"));
    ops_run(&r);
    for (uint32_t i = 0; i < n; i++) {
        sum += x[i];
        squares += x[i] * x[i];
        max = fmax(max, x[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        all += exp(x[i] - max);
    assert_true(total[REDUCE_SUM]->value[0] == sum);
    assert_true(total[REDUCE_SUMSQ]->value[0] == squares);
    assert_true(total[REDUCE_MAX]->value[0] == max);
    for (uint32_t i = 0; i < n; i++)
        ops_near("softmax", i, ELEM_F32, soft->value[i], exp(x[i] - max) / all, 40);
    ops_fixture_free(&r);
    free(x);
}

static void test_totals(void **state)
{
    static const uint32_t shapes[][2] = { { 1, 1 }, { 1, 5 }, { 3, 7 }, { 2, 24 }, { 11, 13 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++)
            one_total((i + map) % 2 ? ELEM_F16 : ELEM_F32, shapes[i], map);
    }
}

/* The first of equal maxima wins, wherever the others lie. */
static void test_argmax(void **state)
{
    static const uint32_t sizes[] = { 1, 2, 13, 64, 131 };

    (void)state;
    for (size_t i = 0; i < 2 * EMU_COUNT_OF(sizes) * MAP_COUNT; i++) {
        uint32_t n = sizes[i / 2 / MAP_COUNT], want = (uint32_t)(i * 37 % n);
        double *x = ops_numbers(n, i);
        struct ops_output *at;
        struct ops_fixture r;

        for (uint32_t k = want; k < n; k += k == want ? 1 : 3)
            x[k] = 2.5; /* above all others */
        ops_fixture_new(&r, "toy4", 0);
        at = ops_output(&r, ss_op_argmax(r.g, r.seq,
                                         ops_input(&r, i % 2 ? ELEM_F16 : ELEM_F32, 1, &n,
                                                   i / 2 % MAP_COUNT, x),
                                         "argmax"));
        ops_run(&r);
        assert_int_equal((uint32_t)at->value[0], want);
        ops_fixture_free(&r);
        free(x);
    }
}

/* ---- moves ---- */

static void test_transpose(void **state)
{
    static const uint32_t sizes[] = { 1, 2, 3, 8, 15, 16, 17, 33, 64 };
    enum { SIZES = EMU_COUNT_OF(sizes) };

    (void)state;
    for (unsigned i = 0; i < SIZES * SIZES; i++) {
        uint32_t rows = sizes[i / SIZES], cols = sizes[i % SIZES];
        double *x = ops_numbers((uint64_t)rows * cols, i);
        struct ops_output *y;
        struct ops_fixture r;

        ops_fixture_new(&r, i % 2 ? "toy4" : "toy16", i % 7 ? 0 : 3);
        y = ops_output(&r, ss_op_transpose(r.g, r.seq,
                                           ops_input(&r, i % 3 ? ELEM_F16 : ELEM_F32,
                                                     SHAPE(rows, cols), i % MAP_COUNT, x),
                                           "turned"));
        ops_run(&r);
        for (uint32_t k = 0; k < rows * cols; k++)
            assert_true(y->value[k % cols * rows + k / cols] == x[k]);
        ops_fixture_free(&r);
        free(x);
    }
}

/* ---- matrix products ---- */

/* Small whole numbers: every sum is exact in f16, in any order. */
static void one_matmul(const struct matmul_plan *p)
{
    double *x = ops_numbers((uint64_t)p->m * p->k, 1), *y = ops_numbers((uint64_t)p->k * p->n, 2);
    struct matmul_operand a, b;
    struct ops_output *c;
    struct ops_fixture r;

    for (uint32_t i = 0; i < p->m * p->k; i++)
        x[i] = floor(x[i]);
    for (uint32_t i = 0; i < p->k * p->n; i++)
        y[i] = floor(y[i]);
    ops_fixture_new(&r, "toy64", 0);
    a = ss_op_matmul_left(r.g, p, "a");
    b = ss_op_matmul_right(r.g, p, "b");
    ss_graph_keep(r.g, a.matrix);
    ss_graph_keep(r.g, b.matrix);
    ops_fill(&r, a.matrix, x);
    ops_fill(&r, b.matrix, y);
    c = ops_output(&r, ss_op_matmul(r.g, r.seq, p, a, b, "c"));
    ops_run(&r);
    for (uint32_t i = 0; i < p->m; i++) {
        for (uint32_t j = 0; j < p->n; j++) {
            double sum = 0;

            for (uint32_t k = 0; k < p->k; k++)
                sum += x[i * p->k + k] * y[k * p->n + j];
            if (c->value[i * p->n + j] != sum)
                fail_msg("%u x %u x %u in %u x %u x %u: c[%u][%u] is %g, expected %g", p->m, p->n,
                         p->k, p->sm, p->sn, p->sk, i, j, c->value[i * p->n + j], sum);
        }
    }
    ops_fixture_free(&r);
    free(x);
    free(y);
}

static void test_matmul_cuts(void **state)
{
    static const uint32_t cuts[][3] = { { 1, 1, 1 }, { 5, 1, 1 }, { 1, 3, 1 }, { 1, 1, 5 },
                                        { 2, 3, 1 }, { 3, 1, 4 }, { 1, 2, 3 }, { 4, 3, 5 },
                                        { 5, 2, 2 }, { 7, 3, 2 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(cuts); i++) {
        struct matmul_plan p = { .m = 13,
                                 .n = 48,
                                 .k = 80,
                                 .sm = cuts[i][0],
                                 .sn = cuts[i][1],
                                 .sk = cuts[i][2],
                                 .first_tile = (uint32_t)i % 3,
                                 .tiles = 61 };

        one_matmul(&p);
    }
}

static void test_matmul_sizes(void **state)
{
    static const uint32_t sizes[][3] = {
        { 1, 16, 16 }, { 2, 16, 48 }, { 6, 64, 16 }, { 37, 32, 64 }, { 100, 16, 80 }
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(sizes); i++) {
        const struct arch *a = ss_arch_preset("toy64");
        struct matmul_plan p;

        OPS_OK(ss_plan_matmul(a, sizes[i][0], sizes[i][1], sizes[i][2], 0, a->tiles,
                              a->mem_bytes / 2, &p));
        one_matmul(&p);
    }
}

/* ---- what is refused ---- */

/* The graph has an error that says all this; another graph begins. */
static void says(struct ops_fixture *r, const char *texts)
{
    assert_int_not_equal(ss_graph_status(r->g), EMU_OK);
    error_says(texts);
    ops_fixture_free(r);
    ops_fixture_new(r, "toy4", 0);
}

static void test_refused(void **state)
{
    struct matmul_plan p = { .m = 4, .n = 32, .k = 32, .sm = 1, .sn = 3, .sk = 1, .tiles = 4 };
    struct matmul_operand o;
    struct ops_fixture r;
    struct tensor a, b, t;

    (void)state;
    ops_fixture_new(&r, "toy4", 0);
    a = ops_tensor(&r, ELEM_F32, SHAPE(3, 4), MAP_EVEN);
    b = ops_tensor(&r, ELEM_F32, SHAPE(4, 3), MAP_EVEN);
    ss_op_binary(r.g, r.seq, BINARY_ADD, a, b, "sum");
    says(&r, "sum: the second operand has neither the shape");
    a = ops_tensor(&r, ELEM_F32, SHAPE(8), MAP_EVEN);
    b = ops_tensor(&r, ELEM_F32, SHAPE(4), MAP_EVEN);
    ss_op_axpy(r.g, r.seq, 1, a, b, "axpy");
    says(&r, "axpy: the operands have different shapes");
    a = ops_tensor(&r, ELEM_F32, SHAPE(8), MAP_EVEN);
    ss_op_select(r.g, r.seq, a, a, ss_tensor_reshape(r.g, a, SHAPE(2, 4)), "select");
    says(&r, "select: the operands have different shapes");
    t = ss_graph_variable(r.g, ELEM_F32, SHAPE(10), "t");
    ss_graph_map(r.g, ss_tensor_slice(r.g, t, 0, 0, 7), 1);
    ss_op_total(r.g, r.seq, REDUCE_SUM, t, "total");
    says(&r, "total: |elements [7, 10)|on no tile");
    ss_op_argmax(r.g, r.seq, ss_graph_variable(r.g, ELEM_F32, SHAPE(0), "none"), "argmax");
    says(&r, "argmax: |no elements");
    ss_op_reduce(r.g, r.seq, REDUCE_SUM, ops_tensor(&r, ELEM_F32, SHAPE(3), MAP_ONE), ELEM_F32,
                 "r");
    says(&r, "r: |expected a matrix that is not empty, got 1 dimensions");
    ss_op_transpose(r.g, r.seq, ops_tensor(&r, ELEM_F32, SHAPE(3), MAP_ONE), "turned");
    says(&r, "turned: expected a matrix, got 1 dimensions");
    ss_op_unary(r.g, r.seq, UNARY_EXP, ops_tensor(&r, ELEM_U8, SHAPE(3), MAP_ONE), "exp");
    says(&r, "exp_u8");
    ss_op_matmul_left(r.g, &p, "left");
    says(&r, "left: |32 of a matrix product in 1 x 3 x 1 parts|block");
    p.sn = 2;
    o = ss_op_matmul_left(r.g, &p, "left");
    ss_op_matmul(r.g, r.seq, &p, o, o, "product");
    says(&r, "product: |not those of the plan");
    ops_fixture_free(&r);
}

/* Adds one operation of every table of kernels, by number; returns whether there are so many. */
static int add_typed(struct ops_fixture *r, unsigned k, enum elem e, enum elem to)
{
    struct tensor t = ops_tensor(r, e, SHAPE(4, 8), MAP_ONE), c = ss_tensor_index(r->g, t, 0);
    enum { FIRST_BINARY = UNARY_COUNT, FIRST_REDUCE = FIRST_BINARY + 4 * BINARY_COUNT };
    enum { FIRST_OTHER = FIRST_REDUCE + 2 * REDUCE_COUNT };
    unsigned binary = (k - FIRST_BINARY) / 4;

    if (k < FIRST_BINARY)
        ss_op_unary(r->g, r->seq, k, t, "y");
    else if (k < FIRST_REDUCE && (k - FIRST_BINARY) % 4 == 3)
        ss_op_scalar_binary(r->g, r->seq, binary, 1, t, "y");
    else if (k < FIRST_REDUCE && (k - FIRST_BINARY) % 4 == 2)
        ss_op_binary_scalar(r->g, r->seq, binary, t, 1, "y");
    else if (k < FIRST_REDUCE)
        ss_op_binary(r->g, r->seq, binary, t, (k - FIRST_BINARY) % 4 ? t : c, "y");
    else if (k < FIRST_OTHER && (k - FIRST_REDUCE) % 2)
        ss_op_total(r->g, r->seq, (k - FIRST_REDUCE) / 2, t, "y");
    else if (k < FIRST_OTHER)
        ss_op_reduce(r->g, r->seq, (k - FIRST_REDUCE) / 2, t, to, "y");
    else if (k == FIRST_OTHER)
        ss_op_cast(r->g, r->seq, t, to, "y");
    else if (k == FIRST_OTHER + 1)
        ss_op_fill(r->g, r->seq, t, 1, "y");
    else if (k == FIRST_OTHER + 2)
        ss_op_axpy(r->g, r->seq, 1, t, t, "y");
    else if (k == FIRST_OTHER + 3)
        ss_op_argmax(r->g, r->seq, t, "y");
    else if (k == FIRST_OTHER + 4)
        ss_op_transpose(r->g, r->seq, t, "y");
    else if (k == FIRST_OTHER + 5)
        ss_op_clamp(r->g, r->seq, t, 0, 1, "y");
    else if (k == FIRST_OTHER + 6)
        ss_op_hard_sigmoid(r->g, r->seq, t, 0, 1, "y");
    else if (k == FIRST_OTHER + 7)
        ss_op_leaky_relu(r->g, r->seq, t, 0.5f, "y");
    else if (k == FIRST_OTHER + 8)
        ss_op_select(r->g, r->seq, t, t, t, "y");
    else
        return 0;
    return 1;
}

/* All types of elements: where the table of an operation has no kernel, the graph names it. */
static void test_all_types(void **state)
{
    unsigned there = 0, missing = 0;

    (void)state;
    for (unsigned i = 0; i < ELEM_COUNT * ELEM_COUNT; i++) {
        enum elem e = i / ELEM_COUNT, to = i % ELEM_COUNT;
        int more = 1;

        for (unsigned k = 0; more; k++) {
            struct ops_fixture r;

            ops_fixture_new(&r, "toy4", 0);
            more = add_typed(&r, k, e, to);
            if (ss_graph_status(r.g) == EMU_OK) {
                there += more;
            } else {
                error_says("there is no codelet ");
                missing++;
            }
            ops_fixture_free(&r);
        }
    }
    print_message("%u operations on types, %u without a kernel\n", there, missing);
    assert_int_equal(there, 738);
}

/* Matrices without elements are nothing to do. */
static void test_empty(void **state)
{
    struct ops_fixture r;
    struct tensor t;

    (void)state;
    ops_fixture_new(&r, "toy4", 0);
    t = ss_op_transpose(r.g, r.seq, ops_tensor(&r, ELEM_F32, SHAPE(0, 3), MAP_EVEN), "turned");
    assert_int_equal(ss_tensor_shape(r.g, t)[0], 3);
    ss_op_unary(r.g, r.seq, UNARY_EXP, ops_tensor(&r, ELEM_F32, SHAPE(0), MAP_EVEN), "exp");
    ops_run(&r);
    ops_fixture_free(&r);
}

/* ---- every allocation fails once ---- */

static void build_all(struct ops_fixture *r, struct tensor t)
{
    struct matmul_plan p = { .m = 3, .n = 16, .k = 32, .sm = 2, .sn = 1, .sk = 2, .tiles = 4 };
    struct tensor y = ss_op_binary(r->g, r->seq, BINARY_ADD, t, ss_tensor_index(r->g, t, 0), "sum");

    ss_op_axpy(r->g, r->seq, 1, t, y, "axpy");
    ss_op_reduce(r->g, r->seq, REDUCE_SUM, y, ELEM_F16, "columns");
    ss_op_argmax(r->g, r->seq, y, "argmax");
    ss_op_softmax(r->g, r->seq, y, "softmax");
    ss_op_transpose(r->g, r->seq, y, "turned");
    ss_op_matmul(r->g, r->seq, &p, ss_op_matmul_left(r->g, &p, "a"),
                 ss_op_matmul_right(r->g, &p, "b"), "c");
}

static void test_no_memory(void **state)
{
    (void)state;
    assert_true(ops_each_allocation(ELEM_F32, build_all) > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce),        cmocka_unit_test(test_reduce_ragged),
        cmocka_unit_test(test_reduce_copies), cmocka_unit_test(test_reduce_stages),
        cmocka_unit_test(test_turns),         cmocka_unit_test(test_totals),
        cmocka_unit_test(test_argmax),        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_matmul_cuts),   cmocka_unit_test(test_matmul_sizes),
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_all_types),
        cmocka_unit_test(test_empty),         cmocka_unit_test(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
