/* test_ops_product.c - batched products of matrices: odd sizes, views, few and many tiles, against
 * f64, and to the bit against the interpreter.
 */
#include "programs/library/matmul/product.h"
#include "programs/library/ops.h"
#include "tests/fixtures/ops_fixture.h"

/* An operand [batch][rows][columns] in its variable. */
struct stored {
    int turned;      /* [batch][columns][rows] */
    int once;        /* one matrix for all of the batch */
    uint32_t margin; /* columns around it that do not belong to it */
    enum ops_map map;
};

struct product_test {
    const char *on; /* machine */
    uint32_t tiles; /* of it; 0: all */
    uint32_t batch, m, n, k;
    struct stored a, b;
};

struct factor {
    struct stored how;
    uint32_t batch, rows, columns;
    double *x; /* owned; the numbers of the variable */
};

static void variable_shape(const struct factor *o, uint32_t shape[3])
{
    shape[0] = o->how.once ? 1 : o->batch;
    shape[1] = o->how.turned ? o->columns : o->rows;
    shape[2] = (o->how.turned ? o->rows : o->columns) + 2 * o->how.margin;
}

static struct factor new_factor(struct stored how, uint32_t batch, uint32_t rows, uint32_t columns,
                                uint64_t seed)
{
    struct factor o = { how, batch, rows, columns, NULL };
    uint32_t shape[3];

    variable_shape(&o, shape);
    o.x = ops_numbers((uint64_t)shape[0] * shape[1] * shape[2], seed);
    return o;
}

/* The view that a product reads. */
static struct tensor view(struct ops_fixture *r, const struct factor *o, enum elem e)
{
    uint32_t shape[3];
    struct tensor t;

    variable_shape(o, shape);
    t = ops_input(r, e, 3, shape, o->how.map, o->x);
    t = ss_tensor_slice(r->g, t, 2, o->how.margin, shape[2] - o->how.margin);
    if (o->how.turned)
        t = ss_tensor_transpose(r->g, t, (const unsigned[]){ 0, 2, 1 });
    return o->how.once ? ss_tensor_broadcast(r->g, t, 0, o->batch) : t;
}

static double number(const struct factor *o, uint32_t matrix, uint32_t row, uint32_t column)
{
    uint32_t shape[3], i = o->how.turned ? column : row, k = o->how.turned ? row : column;

    variable_shape(o, shape);
    return o
        ->x[((uint64_t)(o->how.once ? 0 : matrix) * shape[1] + i) * shape[2] + o->how.margin + k];
}

/* Compares with a sum in f64: every block and every tile that adds may round by half a unit of what
 * the magnitudes add up to, and in f32 every term. */
static void compare(const struct product_test *t, enum elem e, const struct factor *a,
                    const struct factor *b, const double *got)
{
    double unit = e == ELEM_F16 ? 0x1p-11 : 0x1p-24, steps = e == ELEM_F16 ? t->k / 16 : t->k;

    for (uint32_t i = 0; i < t->batch * t->m * t->n; i++) {
        uint32_t column = i % t->n, row = i / t->n % t->m, matrix = i / t->n / t->m;
        double sum = 0, size = 0;

        for (uint32_t k = 0; k < t->k; k++) {
            double x = number(a, matrix, row, k) * number(b, matrix, k, column);

            sum += x;
            size += fabs(x);
        }
        if (!(fabs(got[i] - sum) <= unit * (steps + 2) * size))
            fail_msg("%s, %u x %u x %u x %u: [%u][%u][%u] is %g, not %g", t->on, t->batch, t->m,
                     t->n, t->k, matrix, row, column, got[i], sum);
    }
}

/* Returns the cycles. */
static uint64_t product(const struct product_test *t, enum elem e)
{
    struct factor a = new_factor(t->a, t->batch, t->m, t->k, t->n);
    struct factor b = new_factor(t->b, t->batch, t->k, t->n, t->m + 1000);
    struct ops_fixture r;
    struct ops_output *y;
    uint64_t cycles;

    ops_fixture_new(&r, t->on, t->tiles);
    y = ops_output(&r, ss_op_product(r.g, r.seq, view(&r, &a, e), view(&r, &b, e), "c"));
    OPS_OK(ss_graph_status(r.g));
    assert_int_equal(ss_tensor_rank(r.g, y->t), 3);
    ops_run(&r);
    compare(t, e, &a, &b, y->value);
    cycles = r.cycles;
    ops_fixture_free(&r);
    free(a.x);
    free(b.x);
    return cycles;
}

#define EVEN      .map = MAP_EVEN
#define ODD       .map = MAP_ODD
#define SCATTERED .map = MAP_SCATTERED
#define ONE       .map = MAP_ONE
#define TURNED    .turned = 1
#define ONCE      .once = 1
#define WIDE(n)   .margin = n

static void test_sizes(void **state)
{
    static const struct product_test t[] = {
        { "toy4", 0, 1, 1, 1, 1, { EVEN }, { ODD } },
        { "toy4", 0, 3, 1, 5, 1, { ODD }, { SCATTERED, TURNED } },
        { "toy4", 0, 2, 5, 1, 33, { ODD, TURNED }, { SCATTERED } },
        { "toy16", 0, 1, 16, 16, 16, { EVEN }, { ODD } },
        { "toy16", 0, 1, 40, 24, 56, { EVEN }, { ODD, TURNED } },
        { "toy16", 0, 2, 17, 31, 15, { ONE, TURNED }, { EVEN, TURNED } },
        { "toy16", 0, 2, 90, 32, 100, { EVEN, TURNED }, { ODD, WIDE(2) } },
        { "toy64", 0, 3, 37, 37, 64, { EVEN }, { ODD, TURNED } },
        { "toy64", 0, 3, 37, 64, 37, { EVEN }, { ODD } },
        { "toy64", 0, 1, 1, 300, 70, { ODD }, { EVEN } },
        { "toy64", 0, 1, 7, 3, 700, { EVEN }, { ODD } },
        { "toy64", 0, 200, 3, 5, 4, { EVEN }, { ODD, ONCE } },
        { "toy16", 0, 70, 4, 33, 2, { EVEN, TURNED }, { ODD, TURNED } },
        { "mk2", 90, 2, 50, 50, 64, { EVEN, WIDE(1) }, { ODD, TURNED } },
        { "mk2", 90, 2, 50, 64, 50, { ODD, ONCE }, { SCATTERED, WIDE(3) } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        product(&t[i], ELEM_F16);
        product(&t[i], ELEM_F32);
    }
}

static struct stored random_stored(uint64_t *seed, uint64_t elements)
{
    struct stored s = { random_next(seed) % 2 == 0, random_next(seed) % 4 == 0,
                        random_next(seed) % 3 ? 0 : (uint32_t)(random_next(seed) % 5), MAP_EVEN };

    s.map = (enum ops_map)(random_next(seed) % MAP_COUNT);
    if (s.map >= MAP_SCATTERED && elements > 2000) /* tiles are small */
        s.map = MAP_EVEN;
    return s;
}

static void test_random(void **state)
{
    static const char *const on[] = { "toy4", "toy16", "toy64" };
    uint64_t seed = 15;

    (void)state;
    for (unsigned i = 0; i < 60; i++) {
        uint32_t most = i % 4 ? 40 : 130;
        struct product_test t = { .on = on[i % 4 ? random_next(&seed) % 3 : 2] };

        t.batch = 1 + (uint32_t)(random_next(&seed) % (i % 4 ? 9 : 2));
        t.m = 1 + (uint32_t)(random_next(&seed) % most);
        t.n = 1 + (uint32_t)(random_next(&seed) % most);
        t.k = 1 + (uint32_t)(random_next(&seed) % most);
        t.a = random_stored(&seed, (uint64_t)t.batch * t.m * t.k);
        t.b = random_stored(&seed, (uint64_t)t.batch * t.k * t.n);
        product(&t, i % 3 ? ELEM_F16 : ELEM_F32);
    }
}

/* Scores of attention, 12 heads on a whole chip: as the plan says, as long as nothing has to be
 * copied on the tiles. */
static void test_attention(void **state)
{
    static const struct product_test t[] = {
        { "mk2", 0, 12, 128, 128, 64, { .map = MAP_EVEN }, { .turned = 1, .map = MAP_EVEN } },
        { "mk2", 0, 12, 384, 384, 64, { .map = MAP_EVEN }, { .turned = 1, .map = MAP_EVEN } },
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(t); i++) {
        const struct product_shape s = { ELEM_F16, t[i].batch, t[i].m, t[i].n, t[i].k };
        const struct arch *a = ss_arch_preset(t[i].on);
        struct product_plan p;
        uint64_t cycles;

        OPS_OK(plan_product(a, &s, a->tiles, &p));
        cycles = product(&t[i], ELEM_F16);
        print_message("12 x %u x %u x %u: %llu cycles, predicted %llu\n", s.m, s.n, s.k,
                      (unsigned long long)cycles, (unsigned long long)p.cost.total);
        assert_in_range(cycles * 100, p.cost.total * 80, p.cost.total * 130);
    }
}

/* Sums of nothing are zero, and products without elements take no step. */
static void test_empty(void **state)
{
    struct ops_fixture r;
    struct ops_output *y;
    struct tensor none;

    (void)state;
    ops_fixture_new(&r, "toy4", 0);
    y = ops_output(
        &r, ss_op_product(r.g, r.seq,
                          ops_input(&r, ELEM_F16, 3, (uint32_t[]){ 2, 3, 0 }, MAP_ONE, NULL),
                          ops_input(&r, ELEM_F16, 3, (uint32_t[]){ 2, 0, 4 }, MAP_ONE, NULL), "c"));
    none = ss_op_product(r.g, r.seq, ss_tensor_slice(r.g, y->t, 1, 0, 0),
                         ss_tensor_transpose(r.g, y->t, (const unsigned[]){ 0, 2, 1 }), "none");
    OPS_OK(ss_graph_status(r.g));
    assert_int_equal(ss_tensor_elements(r.g, none), 0);
    ops_run(&r);
    assert_int_equal(y->n, 24);
    for (unsigned i = 0; i < 24; i++)
        assert_true(y->value[i] == 0);
    ops_fixture_free(&r);
}

static void refused(enum elem a, const uint32_t as[3], enum elem b, const uint32_t bs[3])
{
    struct ops_fixture r;

    ops_fixture_new(&r, "toy4", 0);
    ss_op_product(r.g, r.seq, ss_graph_variable(r.g, a, 3, as, "a"),
                  ss_graph_variable(r.g, b, 3, bs, "b"), "c");
    assert_int_not_equal(ss_graph_status(r.g), EMU_OK);
    if (!strstr(ss_error(), "c: "))
        fail_msg("%s", ss_error());
    ops_fixture_free(&r);
}

static void test_errors(void **state)
{
    (void)state;
    refused(ELEM_F16, (uint32_t[]){ 2, 3, 4 }, ELEM_F32, (uint32_t[]){ 2, 4, 3 });
    refused(ELEM_I32, (uint32_t[]){ 2, 3, 4 }, ELEM_I32, (uint32_t[]){ 2, 4, 3 });
    refused(ELEM_F16, (uint32_t[]){ 2, 3, 4 }, ELEM_F16, (uint32_t[]){ 2, 3, 4 });
    refused(ELEM_F16, (uint32_t[]){ 2, 3, 4 }, ELEM_F16, (uint32_t[]){ 1, 4, 3 });
    refused(ELEM_F16, (uint32_t[]){ 1, 1u << 17, 1 }, ELEM_F16, (uint32_t[]){ 1, 1, 1u << 17 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_attention), cmocka_unit_test(test_empty),
        cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
