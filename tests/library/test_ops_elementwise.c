/* test_ops_elementwise.c - operations that treat each element alone, on small machines: against
 * plain C, and to the bit against the interpreter. Odd sizes, mappings in pieces that nothing is
 * aligned to, operands that repeat elements.
 */
#include "tests/fixtures/ops_fixture.h"

/* Which unary operations are tried with positive numbers only. */
static int wants_positive(enum unary_op op)
{
    return op == UNARY_SQRT || op == UNARY_RSQRT || op == UNARY_RECIPROCAL || op == UNARY_LOG;
}

static double plain_unary(enum unary_op op, double x)
{
    switch (op) {
    case UNARY_RELU:
        return x > 0 ? x : 0;
    case UNARY_SIGMOID:
        return 1 / (1 + exp(-x));
    case UNARY_SWISH:
        return x / (1 + exp(-x));
    case UNARY_TANH:
        return tanh(x);
    case UNARY_EXP:
        return exp(x);
    case UNARY_SQRT:
        return sqrt(x);
    case UNARY_RSQRT:
        return 1 / sqrt(x);
    case UNARY_NEG:
        return -x;
    case UNARY_ABS:
        return fabs(x);
    case UNARY_RECIPROCAL:
        return 1 / x;
    case UNARY_LOG:
        return log(x);
    case UNARY_FLOOR:
        return floor(x);
    case UNARY_CEIL:
        return ceil(x);
    case UNARY_ROUND:
        return rint(x);
    case UNARY_SIGN:
        return (x > 0) - (x < 0);
    case UNARY_ERF:
        return erf(x);
    case UNARY_GELU:
        return x * (1 + erf(x * M_SQRT1_2)) / 2;
    case UNARY_HARD_SWISH:
        return x * fmin(fmax(x + 3, 0), 6) / 6;
    case UNARY_SIN:
        return sin(x);
    default:
        return cos(x);
    }
}

static double plain_binary(enum binary_op op, double a, double b)
{
    switch (op) {
    case BINARY_ADD:
        return a + b;
    case BINARY_SUB:
        return a - b;
    case BINARY_MUL:
        return a * b;
    case BINARY_MAX:
        return fmax(a, b);
    case BINARY_MIN:
        return fmin(a, b);
    case BINARY_DIV:
        return a / b;
    case BINARY_POW:
        return pow(a, b);
    case BINARY_LESS:
        return a < b;
    case BINARY_LESS_OR_EQUAL:
        return a <= b;
    default:
        return a == b;
    }
}

/* ---- elementwise ---- */

static void check_unary(const struct ops_output *y, enum elem e, enum unary_op op, const double *x)
{
    /* the f16 forms round what f32 made; a few units of f32 are lost on the way */
    for (uint64_t i = 0; i < y->n; i++) {
        double want = plain_unary(op, x[i]), got = y->value[i];

        if (op >= UNARY_ERF && fabs(got - want) <= 1e-6) /* made of polynomials */
            continue;
        if (op == UNARY_GELU && e == ELEM_F16 && fabs(got - want) <= fabs(x[i]) * 0x1p-10)
            continue;
        ops_near("unary", i, e, got, want, 4);
    }
}

static void check_binary(const char *what, uint64_t i, enum elem e, enum binary_op op, double got,
                         double want)
{
    ops_near(what, i, e, got, want, op == BINARY_POW ? e == ELEM_F16 ? 2 : 32 : 1);
}

/* Inputs of one shape: a and b, and the same made positive. */
struct element_inputs {
    double *a, *b, *pa, *pb;
    struct tensor ta, tb, tpa, tpb;
};

static void element_inputs(struct ops_fixture *r, enum elem e, const uint32_t shape[2],
                           enum ops_map map, struct element_inputs *in)
{
    uint32_t n = shape[0] * shape[1];

    in->a = ops_numbers(n, n);
    in->b = ops_numbers(n, n + 1);
    in->pa = ops_numbers(n, n);
    in->pb = ops_numbers(n, n + 1);
    for (uint32_t i = 0; i < n; i++) {
        in->pa[i] = fabs(in->a[i]) + 0.25;
        in->pb[i] = fabs(in->b[i]) + 0.25;
    }
    in->ta = ops_input(r, e, 2, shape, map, in->a);
    in->tb = ops_input(r, e, 2, shape, (map + 1) % MAP_COUNT, in->b);
    in->tpa = ops_input(r, e, 2, shape, map, in->pa);
    in->tpb = ops_input(r, e, 2, shape, (map + 2) % MAP_COUNT, in->pb);
}

static void element_inputs_free(struct element_inputs *in)
{
    free(in->a);
    free(in->b);
    free(in->pa);
    free(in->pb);
}

static void one_elementwise(enum elem e, const uint32_t shape[2], enum ops_map map)
{
    struct ops_output *unary[UNARY_COUNT], *binary[BINARY_COUNT], *scalar[BINARY_COUNT];
    struct ops_output *first[BINARY_COUNT], *back, *y;
    struct element_inputs in;
    struct tensor ty;
    struct ops_fixture r;
    char name[20];

    ops_fixture_new(&r, "toy4", 0);
    element_inputs(&r, e, shape, map, &in);
    ty = ops_input(&r, e, 2, shape, (map + 2) % MAP_COUNT, in.b);
    for (unsigned k = 0; k < UNARY_COUNT; k++) {
        snprintf(name, sizeof(name), "unary%u", k);
        unary[k] =
            ops_output(&r, ss_op_unary(r.g, r.seq, k, wants_positive(k) ? in.tpa : in.ta, name));
    }
    for (unsigned k = 0; k < BINARY_COUNT; k++) {
        struct tensor a = k == BINARY_POW ? in.tpa : in.ta, b = k == BINARY_DIV ? in.tpb : in.tb;

        snprintf(name, sizeof(name), "binary%u", k);
        binary[k] = ops_output(&r, ss_op_binary(r.g, r.seq, k, a, b, name));
        scalar[k] = ops_output(&r, ss_op_binary_scalar(r.g, r.seq, k, a, 0.75f, name));
        first[k] = ops_output(&r, ss_op_scalar_binary(r.g, r.seq, k, 0.75f, b, name));
    }
    ss_op_axpy(r.g, r.seq, 0.5f, in.ta, ty, "axpy");
    y = ops_output(&r, ty);
    back =
        ops_output(&r, ss_op_cast(r.g, r.seq, in.ta, e == ELEM_F16 ? ELEM_F32 : ELEM_F16, "cast"));
    ops_run(&r);
    for (unsigned k = 0; k < UNARY_COUNT; k++)
        check_unary(unary[k], e, k, wants_positive(k) ? in.pa : in.a);
    for (uint32_t i = 0; i < shape[0] * shape[1]; i++) {
        for (unsigned k = 0; k < BINARY_COUNT; k++) {
            double a = (k == BINARY_POW ? in.pa : in.a)[i], b = (k == BINARY_DIV ? in.pb : in.b)[i];

            check_binary("binary", i, e, k, binary[k]->value[i], plain_binary(k, a, b));
            check_binary("scalar", i, e, k, scalar[k]->value[i], plain_binary(k, a, 0.75));
            check_binary("scalar first", i, e, k, first[k]->value[i], plain_binary(k, 0.75, b));
        }
        ops_near("axpy", i, e, y->value[i], 0.5 * in.a[i] + in.b[i], 1);
        ops_near("cast", i, e, back->value[i], in.a[i], 0);
    }
    ops_fixture_free(&r);
    element_inputs_free(&in);
}

static void test_elementwise(void **state)
{
    static const uint32_t shapes[][2] = { { 1, 1 }, { 1, 3 }, { 2, 2 },  { 5, 1 },  { 1, 23 },
                                          { 3, 8 }, { 7, 9 }, { 13, 5 }, { 20, 17 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++)
            one_elementwise((i + map) % 2 ? ELEM_F16 : ELEM_F32, shapes[i], map);
    }
}

/* Operations with two scalars, leaky relu on both sides of slope 1, select. */
static void one_with_scalars(enum elem e, const uint32_t shape[2], enum ops_map map)
{
    struct ops_output *clamp, *hard, *slope[2], *select;
    struct element_inputs in;
    struct ops_fixture r;
    struct tensor less;

    ops_fixture_new(&r, "toy4", 0);
    element_inputs(&r, e, shape, map, &in);
    clamp = ops_output(&r, ss_op_clamp(r.g, r.seq, in.ta, -0.5f, 1.25f, "clamp"));
    hard = ops_output(&r, ss_op_hard_sigmoid(r.g, r.seq, in.ta, 0.5f, 0.25f, "hard"));
    slope[0] = ops_output(&r, ss_op_leaky_relu(r.g, r.seq, in.ta, 0.25f, "leaky"));
    slope[1] = ops_output(&r, ss_op_leaky_relu(r.g, r.seq, in.ta, 1.5f, "steep"));
    less = ss_op_binary(r.g, r.seq, BINARY_LESS, in.ta, in.tb, "less");
    select = ops_output(&r, ss_op_select(r.g, r.seq, less, in.tpa, in.tpb, "select"));
    ops_run(&r);
    for (uint32_t i = 0; i < shape[0] * shape[1]; i++) {
        double x = in.a[i];

        ops_near("clamp", i, e, clamp->value[i], fmin(fmax(x, -0.5), 1.25), 0);
        ops_near("hard", i, e, hard->value[i], fmin(fmax(x / 2 + 0.25, 0), 1), 1);
        ops_near("leaky", i, e, slope[0]->value[i], x < 0 ? x / 4 : x, 0);
        ops_near("steep", i, e, slope[1]->value[i], x < 0 ? 1.5 * x : x, 1);
        ops_near("select", i, e, select->value[i], x < in.b[i] ? in.pa[i] : in.pb[i], 0);
    }
    ops_fixture_free(&r);
    element_inputs_free(&in);
}

static void test_with_scalars(void **state)
{
    static const uint32_t shapes[][2] = { { 1, 1 }, { 2, 3 }, { 7, 9 }, { 20, 17 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++)
            one_with_scalars((i + map) % 2 ? ELEM_F16 : ELEM_F32, shapes[i], map);
    }
}

/* What is not chosen has no effect, not even NaN; NaN passes a clamp, whose bounds may be beyond
 * f16, and compares false. */
static void test_nan(void **state)
{
    const double cond[] = { 0, 1, -2, 0, NAN }, a[] = { NAN, 1, 2, NAN, 3 };
    const double b[] = { 4, NAN, NAN, 5, NAN };
    const double select[] = { 4, 1, 2, 5, 3 };

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        enum elem e = k ? ELEM_F16 : ELEM_F32;
        struct ops_output *chosen, *clamped, *equal, *at_most;
        struct ops_fixture r;
        struct tensor tc, ta, tb;

        ops_fixture_new(&r, "toy4", 0);
        tc = ops_input(&r, e, SHAPE(5), MAP_EVEN, cond);
        ta = ops_input(&r, e, SHAPE(5), MAP_ODD, a);
        tb = ops_input(&r, e, SHAPE(5), MAP_ONE, b);
        chosen = ops_output(&r, ss_op_select(r.g, r.seq, tc, ta, tb, "select"));
        clamped = ops_output(&r, ss_op_clamp(r.g, r.seq, tc, -1e30f, 0, "clamp"));
        equal = ops_output(&r, ss_op_binary(r.g, r.seq, BINARY_EQUAL, ta, ta, "equal"));
        at_most = ops_output(&r, ss_op_scalar_binary(r.g, r.seq, BINARY_LESS_OR_EQUAL, 1, ta, "1"));
        ops_run(&r);
        for (unsigned i = 0; i < 5; i++) {
            assert_true(chosen->value[i] == select[i]);
            assert_true(isnan(cond[i]) ? isnan(clamped->value[i])
                                       : clamped->value[i] == fmin(cond[i], 0));
            assert_true(equal->value[i] == !isnan(a[i]) && at_most->value[i] == !isnan(a[i]));
        }
        ops_fixture_free(&r);
    }
}

/* ---- operands that repeat elements ---- */

/* How many tiles a tensor lies on. */
static unsigned tiles_of(const struct ops_fixture *r, struct tensor t)
{
    unsigned tiles = 0;
    uint32_t last = UINT32_MAX;

    for (uint64_t i = 0; i < ss_tensor_elements(r->g, t); i++) {
        uint32_t tile = ss_graph_tile_of(r->g, ss_tensor_flatten(r->g, t), i);

        tiles += tile != last;
        last = tile;
    }
    return tiles;
}

/* As first operand, too: the result lies like the other one, or on all tiles. */
static void test_repeated(void **state)
{
    double x[640], one = 3;

    (void)state;
    for (unsigned i = 0; i < 640; i++)
        x[i] = i % 64;
    for (unsigned map = 0; map < MAP_COUNT; map++) {
        struct ops_output *less, *square, *each, *all;
        struct tensor row, many, number, tx, t;
        struct ops_fixture r;

        ops_fixture_new(&r, "toy4", 0);
        tx = ops_input(&r, ELEM_F16, SHAPE(10, 64), map, x);
        row = ops_input(&r, ELEM_F16, SHAPE(1, 64), MAP_ONE, x);
        many = ss_tensor_broadcast(r.g, row, 0, 10);
        number = ops_input(&r, ELEM_F16, SHAPE(1, 1), MAP_ONE, &one);
        number = ss_tensor_broadcast(r.g, ss_tensor_broadcast(r.g, number, 0, 10), 1, 64);
        t = ss_op_binary(r.g, r.seq, BINARY_SUB, many, tx, "less");
        assert_int_equal(ss_graph_tile_of(r.g, t, 0), ss_graph_tile_of(r.g, tx, 0));
        assert_int_equal(tiles_of(&r, t), tiles_of(&r, tx));
        less = ops_output(&r, t);
        t = ss_op_binary(r.g, r.seq, BINARY_MUL, number, many, "square");
        assert_int_equal(tiles_of(&r, t), 4);
        square = ops_output(&r, t);
        t = ss_op_unary(r.g, r.seq, UNARY_NEG, number, "each");
        assert_int_equal(tiles_of(&r, t), 4);
        each = ops_output(&r, t);
        t = ss_op_binary(r.g, r.seq, BINARY_ADD, number, ss_tensor_index(r.g, row, 0), "all");
        all = ops_output(&r, t);
        ops_run(&r);
        for (unsigned i = 0; i < 640; i++) {
            assert_true(less->value[i] == 0 && square->value[i] == 3 * x[i]);
            assert_true(each->value[i] == -3 && all->value[i] == 3 + x[i % 64]);
        }
        ops_fixture_free(&r);
    }
}

/* What lies on one tile with much more than its share is spread. */
static void test_spread(void **state)
{
    struct ops_fixture r;
    struct tensor t, y;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    t = ops_tensor(&r, ELEM_F16, SHAPE(1600), MAP_ONE);
    y = ss_op_unary(r.g, r.seq, UNARY_ABS, t, "spread");
    assert_int_equal(tiles_of(&r, y), 16);
    y = ss_op_unary(r.g, r.seq, UNARY_ABS, ss_tensor_slice(r.g, t, 0, 0, 1000), "few");
    assert_int_equal(tiles_of(&r, y), 1);
    ops_fixture_free(&r);
}

static void test_integers(void **state)
{
    const double x[] = { 0, 1, -1, 2.5, -2.5, 1000.5, -1000.5 };
    static const int32_t whole[] = { 0, 1, -1, 2, -2, 1000, -1000 };

    (void)state;
    for (unsigned map = 0; map < MAP_COUNT; map++) {
        struct ops_output *to, *back;
        struct ops_fixture r;
        struct tensor t;

        ops_fixture_new(&r, "toy4", 0);
        t = ops_input(&r, ELEM_F16, SHAPE(7), map, x);
        t = ss_op_cast(r.g, r.seq, t, ELEM_I32, "whole");
        to = ops_output(&r, t);
        back = ops_output(&r, ss_op_cast(r.g, r.seq, t, ELEM_F16, "back"));
        ops_run(&r);
        assert_memory_equal(to->bits, whole, sizeof(whole));
        for (unsigned i = 0; i < 7; i++)
            assert_true(back->value[i] == trunc(x[i]));
        ops_fixture_free(&r);
    }
}

static void test_fill_and_cast(void **state)
{
    static const enum elem types[] = { ELEM_F16, ELEM_F32, ELEM_U8 };
    struct ops_fixture r;
    double x[77];

    (void)state;
    for (int i = 0; i < 77; i++)
        x[i] = 3 * i % 256;
    for (unsigned map = 0; map < MAP_COUNT; map++) {
        struct ops_output *filled[3], *cast[2];
        struct tensor bytes;

        ops_fixture_new(&r, "toy4", 0);
        for (unsigned k = 0; k < 3; k++) {
            struct tensor t = ops_tensor(&r, types[k], SHAPE(7, 11), map);

            ss_op_fill(r.g, r.seq, t, 2.0f, "fill");
            filled[k] = ops_output(&r, t);
        }
        bytes = ops_input(&r, ELEM_U8, SHAPE(7, 11), map, x);
        cast[0] = ops_output(&r, ss_op_cast(r.g, r.seq, bytes, ELEM_F16, "half"));
        cast[1] = ops_output(&r, ss_op_cast(r.g, r.seq, bytes, ELEM_F32, "single"));
        ops_run(&r);
        for (int i = 0; i < 77; i++) {
            for (int k = 0; k < 3; k++)
                assert_true(filled[k]->value[i] == 2);
            assert_true(cast[0]->value[i] == x[i] && cast[1]->value[i] == x[i]);
        }
        ops_fixture_free(&r);
    }
}

/* ---- a value per channel ---- */

static void one_channel(enum elem e, const uint32_t shape[3], enum ops_map map)
{
    uint32_t c = shape[2], n = shape[0] * shape[1] * c;
    double *a = ops_numbers(n, n), *b = ops_numbers(c, c + 1);
    struct ops_output *out[BINARY_COUNT];
    struct tensor ta, tb;
    struct ops_fixture r;
    char name[20];

    for (uint32_t i = 0; i < n; i++) /* what all operations are made for */
        a[i] = fabs(a[i]) + 0.25;
    for (uint32_t i = 0; i < c; i++)
        b[i] = fabs(b[i]) + 0.25;
    ops_fixture_new(&r, "toy4", 0);
    ta = ops_input(&r, e, 3, shape, map, a);
    tb = ops_input(&r, e, 1, &c, (map + 1) % MAP_COUNT, b);
    for (unsigned k = 0; k < BINARY_COUNT; k++) {
        snprintf(name, sizeof(name), "channel%u", k);
        out[k] = ops_output(&r, ss_op_binary(r.g, r.seq, k, ta, tb, name));
    }
    ops_run(&r);
    for (uint32_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < BINARY_COUNT; k++)
            check_binary("channel", i, e, k, out[k]->value[i], plain_binary(k, a[i], b[i % c]));
    }
    ops_fixture_free(&r);
    free(a);
    free(b);
}

/* Whole rows on each tile use the codelet that knows channels, others a copy of the row for each;
 * [1][1][c] has as many elements as its channels, but not their shape. */
static void test_channels(void **state)
{
    static const uint32_t shapes[][3] = { { 1, 1, 5 }, { 2, 3, 4 },  { 4, 4, 8 },
                                          { 3, 1, 6 }, { 4, 2, 12 }, { 2, 7, 3 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++)
            one_channel((i + map) % 2 ? ELEM_F16 : ELEM_F32, shapes[i], map);
    }
}

/* Fields [blocks][n][positions][c], with a list of numbers for all n, or one for each. */
static void one_block_channels(enum elem e, const uint32_t shape[4], uint32_t lists,
                               enum ops_map map)
{
    uint32_t blocks = shape[0], n = shape[1], positions = shape[2], c = shape[3];
    uint32_t all = blocks * n * positions * c, channels = blocks * c;
    double *a = ops_numbers(all, all), *b = ops_numbers(lists * channels, channels);
    struct ops_output *out[2];
    struct tensor ta, tb;
    struct ops_fixture r;

    ops_fixture_new(&r, "toy4", 0);
    ta = ops_input(&r, e, 4, shape, map, a);
    tb = ops_input(&r, e, 2, (const uint32_t[]){ lists, channels }, (map + 1) % MAP_COUNT, b);
    tb = ss_tensor_flatten(r.g, tb);
    out[0] = ops_output(&r, ss_op_binary_channels(r.g, r.seq, BINARY_SUB, ta, tb, "sub"));
    out[1] = ops_output(&r, ss_op_binary_channels(r.g, r.seq, BINARY_MUL, ta, tb, "mul"));
    ops_run(&r);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t block = i / (n * positions * c), item = i / (positions * c) % n;
        double v = b[(lists == 1 ? 0 : item) * channels + block * c + i % c];

        check_binary("sub", i, e, BINARY_SUB, out[0]->value[i], a[i] - v);
        check_binary("mul", i, e, BINARY_MUL, out[1]->value[i], a[i] * v);
    }
    ops_fixture_free(&r);
    free(a);
    free(b);
}

/* Also where a tile has a part of a position's channels, as after casts and sums. */
static void test_block_channels(void **state)
{
    static const uint32_t shapes[][4] = { { 1, 8, 1, 16 }, { 2, 3, 5, 16 }, { 1, 2, 3, 16 } };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(shapes); i++) {
        for (unsigned map = 0; map < MAP_COUNT; map++) {
            one_block_channels(map % 2 ? ELEM_F16 : ELEM_F32, shapes[i], 1, map);
            one_block_channels(map % 2 ? ELEM_F32 : ELEM_F16, shapes[i], shapes[i][1], map);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elementwise),    cmocka_unit_test(test_fill_and_cast),
        cmocka_unit_test(test_with_scalars),   cmocka_unit_test(test_nan),
        cmocka_unit_test(test_repeated),       cmocka_unit_test(test_spread),
        cmocka_unit_test(test_integers),       cmocka_unit_test(test_channels),
        cmocka_unit_test(test_block_channels),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
