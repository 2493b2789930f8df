/* test_ops_pieces.c - sums and factors of the pieces of a list, whatever tiles they lie on, against
 * their definition; parts of a list have every element once, and as many of each tile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "emu/base/alloc.h"
#include "programs/library/ops_pieces.h"
#include "tests/fixtures/ops_fixture.h"

enum { N = 1280, NUMBERS = 5 };

/* Number 3 has two pieces, 4 none. */
static const struct list_piece piece[] = {
    { 0, 16, 0 }, { 16, 560, 3 }, { 560, 592, 1 }, { 592, 1200, 2 }, { 1200, N, 3 },
};

static uint32_t number_of(uint32_t element)
{
    uint32_t k = 0;

    while (piece[k].end <= element)
        k++;
    return piece[k].number;
}

static void check_totals(enum elem e, enum ops_map map, enum reduce_op op)
{
    double *x = ops_numbers(N, 3), want[NUMBERS] = { 0 };
    struct ops_output *y;
    struct ops_fixture r;
    struct tensor t;

    ops_fixture_new(&r, "toy16", 0);
    t = ops_input(&r, e, 1, (const uint32_t[]){ N }, map, x);
    y = ops_output(&r,
                   ss_op_piece_totals(r.g, r.seq, op, t, piece, EMU_COUNT_OF(piece), NUMBERS, "y"));
    ops_run(&r);
    for (uint32_t k = 0; k < N; k++)
        want[number_of(k)] += op == REDUCE_SUMSQ ? x[k] * x[k] : x[k];
    for (uint32_t k = 0; k < NUMBERS; k++) /* numbers are multiples of 1/64: sums are exact */
        assert_true(y->value[k] == want[k]);
    ops_fixture_free(&r);
    free(x);
}

static void test_totals(void **state)
{
    (void)state;
    for (unsigned map = 0; map < MAP_COUNT; map++) {
        check_totals(ELEM_F32, (enum ops_map)map, REDUCE_SUM);
        check_totals(ELEM_F16, (enum ops_map)map, REDUCE_SUMSQ);
    }
}

static void test_factors(void **state)
{
    static const double factor[NUMBERS] = { 2, -0.5, 1, 0.25, 7 };
    double *x = ops_numbers(N, 4);
    struct ops_output *y;
    struct ops_fixture r;
    struct tensor t, f;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    t = ss_graph_variable(r.g, ELEM_F32, 1, (const uint32_t[]){ N }, "x");
    for (uint32_t k = 0; k < N / 16; k++) /* rows of tiles in no order */
        ss_graph_map(r.g, ss_tensor_slice(r.g, t, 0, 16 * k, 16 * (k + 1)), 7 * k % 5);
    ss_graph_keep(r.g, t);
    ops_fill(&r, t, x);
    f = ops_input(&r, ELEM_F32, 1, (const uint32_t[]){ NUMBERS }, MAP_ONE, factor);
    f = ss_op_piece_numbers(r.g, r.seq, f, "factors");
    y = ops_output(&r, ss_op_piece_mul(r.g, r.seq, t, piece, EMU_COUNT_OF(piece), f, "y"));
    ops_run(&r);
    for (uint32_t k = 0; k < N; k++)
        assert_true(y->value[k] == x[k] * factor[number_of(k)]);
    ops_fixture_free(&r);
    free(x);
}

static void test_parts(void **state)
{
    enum { ROW = 16, MOST = 100 };
    uint8_t seen[N] = { 0 };
    struct ops_fixture r;
    struct tensor t;
    uint32_t parts;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    t = ss_graph_variable(r.g, ELEM_F16, 1, (const uint32_t[]){ N }, "x");
    for (uint32_t k = 0; k < N / ROW; k++)
        ss_graph_map(r.g, ss_tensor_slice(r.g, t, 0, ROW * k, ROW * (k + 1)), 7 * k % 5);
    parts = ss_op_list_parts(r.g, t, MOST);
    assert_int_equal(parts, (N / 5 + MOST - 1) / MOST);
    for (uint32_t i = 0; i < parts; i++) {
        struct list_piece *run;
        uint32_t runs;

        OPS_OK(ss_op_list_part(r.g, t, ROW, i, parts, &run, &runs));
        for (uint32_t k = 0; k < runs; k++) {
            assert_true(!k || run[k].number >= run[k - 1].number);
            for (uint32_t at = run[k].begin; at < run[k].end; at++) {
                assert_int_equal(ss_graph_tile_of(r.g, t, at), run[k].number);
                assert_int_equal(seen[at]++, 0);
            }
        }
        ss_free(run);
    }
    for (uint32_t k = 0; k < N; k++)
        assert_int_equal(seen[k], 1);
    ops_fixture_free(&r);
}

/* A list of which one tile has far more than its share: what is computed of a part lies where the
 * part does, so it has whole rows, as factors want them. */
static void test_uneven_parts(void **state)
{
    enum { ROW = 16, TILES = 16, FULL = 1536, ALL = FULL + (TILES - 1) * ROW };
    const uint32_t even = TILES * FULL, all = ALL;
    struct ops_fixture r;
    struct tensor t, same;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    t = ss_graph_variable(r.g, ELEM_F32, 1, &all, "x");
    ss_graph_map(r.g, ss_tensor_slice(r.g, t, 0, 0, FULL), 0);
    for (uint32_t k = 1; k < TILES; k++)
        ss_graph_map(r.g, ss_tensor_slice(r.g, t, 0, FULL + (k - 1) * ROW, FULL + k * ROW), k);
    same = ss_graph_variable(r.g, ELEM_F32, 1, &even, "y");
    for (uint32_t k = 0; k < TILES; k++)
        ss_graph_map(r.g, ss_tensor_slice(r.g, same, 0, k * FULL, (k + 1) * FULL), k);
    assert_int_equal(ss_op_list_parts(r.g, same, 2 * FULL), 1);
    assert_int_equal(ss_op_list_parts(r.g, t, 2 * FULL), 2);
    for (uint32_t i = 0; i < 2; i++) {
        struct list_piece *run;
        struct tensor part, sum;
        uint32_t runs;

        OPS_OK(ss_op_list_part(r.g, t, ROW, i, 2, &run, &runs));
        part = ss_tensor_slice(r.g, t, 0, run[0].begin, run[0].end);
        for (uint32_t k = 1; k < runs; k++)
            part = ss_tensor_concat(
                r.g,
                (struct tensor[]){ part, ss_tensor_slice(r.g, t, 0, run[k].begin, run[k].end) }, 2,
                0);
        sum = ss_op_binary(r.g, r.seq, BINARY_ADD, part, part, "sum");
        for (uint32_t at = 0; at < run[0].end - run[0].begin; at++)
            assert_int_equal(ss_graph_tile_of(r.g, sum, at), 0);
        ss_free(run);
    }
    ops_fixture_free(&r);
}

/* A list whose pieces leave something out, and rows that tiles have parts of, are refused. */
static void test_refusals(void **state)
{
    double *x = ops_numbers(N, 4);
    struct ops_fixture r;
    struct tensor t, f;

    (void)state;
    ops_fixture_new(&r, "toy16", 0);
    t = ops_input(&r, ELEM_F32, 1, (const uint32_t[]){ N }, MAP_EVEN, x);
    ss_op_piece_totals(r.g, r.seq, REDUCE_SUM, t, piece, 3, NUMBERS, "y");
    assert_int_equal(ss_graph_status(r.g), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "of no piece"));
    ops_fixture_free(&r);
    ops_fixture_new(&r, "toy16", 0);
    t = ops_input(&r, ELEM_F32, 1, (const uint32_t[]){ N }, MAP_SCATTERED, x);
    f = ss_op_piece_numbers(r.g, r.seq, ss_tensor_slice(r.g, t, 0, 0, NUMBERS), "f");
    ss_op_piece_mul(r.g, r.seq, t, piece, EMU_COUNT_OF(piece), f, "y");
    assert_int_equal(ss_graph_status(r.g), EMU_BAD_PROGRAM);
    assert_non_null(strstr(ss_error(), "whole rows"));
    ops_fixture_free(&r);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),   cmocka_unit_test(test_factors),
        cmocka_unit_test(test_parts),    cmocka_unit_test(test_uneven_parts),
        cmocka_unit_test(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
