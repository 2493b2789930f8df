/* test_codelets_rows.c - the kernels of rows on one tile: bit by bit against the references, cycles
 * against the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"

static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 5, 7, 8, 9, 23, 24, 25, 47, 48, 49, 197, 1000 };
static const uint32_t heights[] = { 0, 1, 2, 3, 5, 6, 7, 13 };
static const uint32_t parts[] = { 1, 2, 3, 6 };

enum { CASES = EMU_COUNT_OF(lengths) * EMU_COUNT_OF(heights) * EMU_COUNT_OF(parts) };

/* The fields that all kernels of rows have, for case i. Returns the elements of x. */
static uint32_t share(const struct kernel_fixture *rig, struct codelet_case *c, unsigned bits,
                      uint32_t i)
{
    uint32_t n = lengths[i / EMU_COUNT_OF(parts) % EMU_COUNT_OF(lengths)], lanes = 64 / bits;
    uint32_t rows = heights[i / EMU_COUNT_OF(parts) / EMU_COUNT_OF(lengths)];
    uint32_t vectors = (n + lanes - 1) / lanes, k = parts[i % EMU_COUNT_OF(parts)];

    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUT_FAR); /* up to five edges */
    c->tame = c->seed / 2 % 4 != 0;
    c->value[row_fold__n] = n;
    c->value[row_fold__rows] = rows;
    c->value[row_fold__parts] = k;
    c->value[row_fold__step] = rig->arch.workers / k;
    c->value[row_fold__each] = (vectors + k - 1) / k + i % 3 / 2; /* more is allowed */
    return rows * vectors * lanes;
}

static unsigned bits_of(const char *name)
{
    return strstr(name, "_f16") ? 16 : 32;
}

static void call_exact(struct kernel_fixture *rig, const struct codelet_case *c)
{
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void fold_all(const char *name)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("row_fold", 1);

    for (uint32_t i = 0; i < CASES; i++) {
        c.elements[row_fold__x] = share(rig, &c, bits_of(name), i);
        c.elements[row_fold__out] = c.value[row_fold__rows] * c.value[row_fold__parts];
        c.phase[row_fold__x] = i % 2 * 8;
        c.phase[row_fold__out] = i % 4 * 4;
        call_exact(rig, &c);
    }
    kernel_fixture_free(rig);
}

static void test_fold(void **state)
{
    static const char *const names[] = { "row_sum_f16",   "row_sum_f32",   "row_max_f16",
                                         "row_max_f32",   "row_min_f16",   "row_min_f32",
                                         "row_sumsq_f16", "row_sumsq_f32", "row_prod_f16",
                                         "row_prod_f32" };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(names); i++)
        fold_all(names[i]);
}

/* Kernels that read partial results. Fields: of edges with as many elements as x, of partial
 * results that are read and written, of their number; 0: there is none. */
struct row_kernel {
    const char *name;
    unsigned x, y, read[2], written, p;
};

static void partials_all(const struct row_kernel *k, unsigned params, int by_columns)
{
    static const uint32_t numbers[] = { 1, 2, 6, 13 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", k->name);
    struct codelet_case c = codelet_case(k->name, 1);

    for (uint32_t i = 0; i < CASES; i++) {
        uint32_t p = numbers[i / 2 % EMU_COUNT_OF(numbers)];
        uint32_t elements = share(rig, &c, bits_of(k->name), i), rows = c.value[row_fold__rows];

        c.elements[k->x] = elements;
        c.phase[k->x] = i % 2 * 8;
        if (k->y)
            c.elements[k->y] = elements;
        for (unsigned e = 0; e < 2 && k->read[e]; e++)
            c.elements[k->read[e]] = rows * p;
        if (k->written)
            c.elements[k->written] = rows * c.value[row_fold__parts];
        if (params)
            c.elements[params] = 2 * (!by_columns ? rows : rows ? elements / rows : 0);
        c.value[k->p] = p;
        call_exact(rig, &c);
    }
    kernel_fixture_free(rig);
}

#define BOTH_TYPES(name, ...)                                                                      \
    { name "_f16", __VA_ARGS__ },                                                                  \
    {                                                                                              \
        name "_f32", __VA_ARGS__                                                                   \
    }

static void test_softmax(void **state)
{
    static const struct row_kernel kernels[] = {
        BOTH_TYPES("row_exp", row_exp__x, row_exp__y, { row_exp__max }, row_exp__sum, row_exp__p),
        BOTH_TYPES("row_scale", row_scale__x, row_scale__y, { row_scale__sum }, 0, row_scale__p),
        BOTH_TYPES("row_log", row_log__x, row_log__y, { row_log__max, row_log__sum }, 0,
                   row_log__p),
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(kernels); i++)
        partials_all(&kernels[i], 0, 0);
}

static void test_norm(void **state)
{
    static const struct row_kernel kernels[] = {
        BOTH_TYPES("row_deviation", row_deviation__x, 0, { row_deviation__sum }, row_deviation__out,
                   row_deviation__p),
        BOTH_TYPES("row_norm", row_norm__x, row_norm__y, { row_norm__sum, row_norm__squares }, 0,
                   row_norm__p),
        BOTH_TYPES("row_norm_columns", row_norm__x, row_norm__y,
                   { row_norm__sum, row_norm__squares }, 0, row_norm__p),
    };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(kernels); i++)
        partials_all(&kernels[i], i < 2 ? 0 : row_norm__params, i >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_norm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
