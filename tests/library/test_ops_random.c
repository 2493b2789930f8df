/* test_ops_random.c - stochastic rounding and masks: the kernels bit by bit against their meaning,
 * cycles against the formulas, and what is promised of them: exact numbers stay, means are exact,
 * equal seeds give equal bits, masks are those of the host wherever they lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "emu/base/prng_draw.h"
#include "programs/library/ops_random.h"
#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"
#include "tests/fixtures/ops_fixture.h"

/* ---- kernels ---- */

static void test_round(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "round_f32_f16");
    struct codelet_case c = codelet_case("round_f32_f16", 1);

    (void)state;
    for (uint32_t n = 0; n <= 200; n += n < 100 ? 4 : 20) {
        for (unsigned k = 0; k < LAYOUT_FAR; k++) {
            c.seed++;
            c.layout = (enum kernel_layout)k;
            c.tame = n % 8 != 0;
            c.elements[drawn__x] = c.elements[drawn__y] = n;
            c.elements[drawn__seed] = 8;
            c.phase[drawn__x] = k * 8;
            c.phase[drawn__seed] = k * 8;
            c.value[drawn__operation] = 7 * n + 1;
            kernel_fixture_call(rig, &c);
            assert_int_equal(rig->cycles, rig->formula);
        }
    }
    kernel_fixture_free(rig);
}

static void test_mask(void **state)
{
    static const uint32_t keep[] = { 0, 1, 32768, 65535, RANDOM_CERTAIN };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "mask_f16");
    struct codelet_case c = codelet_case("mask_f16", 1);

    (void)state;
    for (uint32_t blocks = 0; blocks <= 13; blocks++) {
        c.seed++;
        c.elements[mask__y] = blocks * RANDOM_BLOCK;
        c.elements[mask__seed] = RANDOM_SEED_WORDS;
        c.value[mask__operation] = blocks;
        c.value[mask__first] = 5 * blocks;
        c.value[mask__keep] = keep[blocks % EMU_COUNT_OF(keep)];
        c.value[mask__factor] = 0x3d003d00;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

/* ---- rounding ---- */

enum { SEEDS = 3, N = 4096 };

static struct tensor seed_of(struct ops_fixture *r, const uint32_t *words)
{
    const uint32_t shape = RANDOM_SEED_WORDS;
    struct tensor t = ss_graph_constant(r->g, ELEM_U32, 1, &shape, words, "words");

    ss_graph_map(r->g, t, 0);
    return ss_op_seed(r->g, r->seq, t, "seed");
}

/* All elements `x`, rounded with some seeds. */
static void round_all(struct ops_fixture *r, double x, const uint32_t seed[SEEDS][2],
                      uint32_t operation, struct ops_output **y)
{
    double *numbers = calloc(N, sizeof(*numbers));
    struct tensor t;

    for (uint32_t k = 0; k < N; k++)
        numbers[k] = x;
    ops_fixture_new(r, "toy16", 0);
    t = ops_input(r, ELEM_F32, 1, (const uint32_t[]){ N }, MAP_EVEN, numbers);
    for (unsigned k = 0; k < SEEDS; k++)
        y[k] =
            ops_output(r, ss_op_round_random(r->g, r->seq, t, seed_of(r, seed[k]), operation, "y"));
    ops_run(r);
    free(numbers);
}

static double mean_of(const struct ops_output *y)
{
    double sum = 0;

    for (uint32_t k = 0; k < N; k++)
        sum += y->value[k];
    return sum / N;
}

static const uint32_t seeds[SEEDS][2] = { { 1, 2 }, { 1, 3 }, { 1, 2 } };

/* A number between two neighbours a and a + unit becomes one of them, with the mean of itself: each
 * draw has a deviation of unit root(p (1 - p)). */
static void check_mean(double a, double unit, double p)
{
    double x = (double)(float)(a + p * unit), sum = 0, deviation = unit * sqrt(p * (1 - p));
    struct ops_output *y[SEEDS];
    struct ops_fixture r;

    round_all(&r, x, seeds, 3, y);
    for (unsigned k = 0; k < SEEDS; k++) {
        for (uint32_t i = 0; i < N; i++)
            assert_true(y[k]->value[i] == a || y[k]->value[i] == a + unit);
        assert_true(fabs(mean_of(y[k]) - x) < 4 * deviation / sqrt(N));
    }
    sum = (mean_of(y[0]) + mean_of(y[1])) / 2;
    assert_true(fabs(sum - x) < 4 * deviation / sqrt(2 * N));
    assert_memory_equal(y[0]->bits, y[2]->bits, N * sizeof(uint16_t)); /* the same seed */
    assert_memory_not_equal(y[0]->bits, y[1]->bits, N * sizeof(uint16_t));
    ops_fixture_free(&r);
}

static void test_means(void **state)
{
    (void)state;
    check_mean(1, 0x1p-10, 0.25);
    check_mean(0.046875, 0x1p-15, 0.03125);
    check_mean(-2, 0x1p-10, 0.5);
    check_mean(0, 0x1p-24, 0.75); /* below the smallest f16 */
}

static void test_exact_numbers_stay(void **state)
{
    static const double exact[] = { 0, 1, -2044 * 0x1p-14, 65504, 0x1p-24 };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(exact); i++) {
        struct ops_output *y[SEEDS];
        struct ops_fixture r;

        round_all(&r, exact[i], seeds, (uint32_t)i, y);
        for (unsigned k = 0; k < SEEDS; k++) {
            for (uint32_t j = 0; j < N; j++)
                assert_true(y[k]->value[j] == exact[i]);
        }
        ops_fixture_free(&r);
    }
}

/* ---- masks ---- */

static void check_mask(const char *machine, uint32_t elements, uint32_t keep, uint32_t operation)
{
    static const uint32_t seed[2] = { 0x12345678, 9 };
    uint8_t kept[RANDOM_BLOCK];
    double share = keep / (double)RANDOM_CERTAIN, count = 0;
    struct ops_fixture r;
    struct ops_output *y;
    struct prng p;

    ops_fixture_new(&r, machine, 0);
    y = ops_output(
        &r, ss_op_mask(r.g, r.seq, elements, keep, 1.25F, seed_of(&r, seed), operation, "mask"));
    ops_run(&r);
    for (uint32_t k = 0; k < elements; k++) {
        if (k % RANDOM_BLOCK == 0) {
            prng_begin(&p, seed, k / RANDOM_BLOCK, operation ^ RANDOM_OPERATION);
            prng_mask(&p, keep, kept);
        }
        assert_true(y->value[k] == (kept[k % RANDOM_BLOCK] ? 1.25 : 0));
        count += kept[k % RANDOM_BLOCK];
    }
    assert_true(fabs(count - elements * share) <= 4 * sqrt(elements * share * (1 - share)));
    ops_fixture_free(&r);
}

static void test_masks(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 8; k++)
        check_mask(k % 2 ? "toy16" : "toy4", 1 + 997 * k, 8192 * (k + 1), k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round), cmocka_unit_test(test_mask),
        cmocka_unit_test(test_means), cmocka_unit_test(test_exact_numbers_stay),
        cmocka_unit_test(test_masks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
