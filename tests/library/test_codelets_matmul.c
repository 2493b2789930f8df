/* test_codelets_matmul.c - matmul, conv1x1, dot, matvec, fully connected layers: sizes from none to
 * many per worker, places, all kinds of numbers; bit by bit against the references, cycles against
 * the formulas.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "programs/library/kernel/codelet_ref.h"
#include "tests/fixtures/kernel_fixture.h"

/* Turns seed, layout and tameness. */
static void next_case(struct codelet_case *c)
{
    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    c->tame = c->seed / LAYOUTS % 2;
}

/* ---- blocks on the matrix unit ---- */

static void matmul_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t kb,
                        uint32_t nb, uint32_t f)
{
    uint32_t workers = rig->arch.workers, units = strstr(rig->codelet->name, "_f32") ? 8 : 16;
    uint32_t block = strcmp(rig->codelet->name, "matmul_f32") ? 16 : 8;

    next_case(c);
    c->elements[matmul__in] = kb * f * block;
    c->elements[matmul__out] = nb * f * units;
    c->elements[matmul__weights] = nb * kb * units * block;
    c->value[matmul__kb] = kb;
    c->value[matmul__nb] = nb;
    c->value[matmul__f] = f;
    /* For every pass: a round that ends early, instructions of the supervisor that hide. */
    c->slack = (kb * nb + 1) * 20;
    kernel_fixture_call(rig, c);
    if (f >= 3 * workers && f % workers == 0)
        assert_int_equal(rig->cycles, rig->formula);
}

static void matmul_all(const char *name)
{
    static const uint32_t f[] = { 0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 17, 18, 19, 23, 24, 29, 60 };
    static const uint32_t large[][3] = { { 1, 1, 384 }, { 2, 2, 150 }, { 2, 1, 767 },
                                         { 1, 2, 768 }, { 2, 2, 769 }, { 1, 2, 1518 },
                                         { 2, 1, 1519 } };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("matmul", 1);

    for (uint32_t i = 0; i < EMU_COUNT_OF(f) * 12; i++) {
        matmul_call(rig, &c, 1 + i % 4, 1 + i / 4 % 3, f[i / 12]);
        c.phase[matmul__in] = c.seed % 3 * 8;
        c.phase[matmul__out] = c.seed % 5 * 8;
    }
    for (uint32_t i = 0; i < EMU_COUNT_OF(large); i++)
        matmul_call(rig, &c, large[i][0], large[i][1], large[i][2]);
    for (uint32_t i = 0; i < 4; i++)
        matmul_call(rig, &c, i % 2, 0, i / 2 ? 100 : 3);
    matmul_call(rig, &c, 0, 1, 3);
    matmul_call(rig, &c, 0, 1, 100);
    kernel_fixture_free(rig);
}

static void test_matmul(void **state)
{
    (void)state;
    matmul_all("matmul_f16");
    matmul_all("matmul_add_f16");
    matmul_all("matmul_f16_f32");
    matmul_all("matmul_add_f16_f32");
    matmul_all("matmul_f32");
}

/* The block product of PopLibs' published conv 1x1 estimate, lowering of f16 partials: what one
 * more block of a call costs, in cycles of the tile. */
static void test_matmul_pass(void **state)
{
    static const uint32_t f[] = { 24, 48, 96, 150, 384, 768 };
    struct codelet_call call = { .arch = ss_arch_preset("mk2") };

    (void)state;
    for (size_t i = 0; i < EMU_COUNT_OF(f); i++) {
        uint64_t e = (f[i] + 5) / 6, pass[2], poplibs = 7 + 32 + 6 * (31 + 4 * (e - 3));

        call.arg[matmul__nb].value = 1;
        call.arg[matmul__f].value = f[i];
        for (uint32_t k = 0; k < 2; k++) {
            call.arg[matmul__kb].value = 8 + k;
            pass[k] = matmul_f16_cycles(&call);
        }
        print_message("%4u positions: %llu cycles a block, %.1f %% of the matrix unit\n", f[i],
                      (unsigned long long)(pass[1] - pass[0]),
                      400.0 * f[i] / (double)(pass[1] - pass[0]));
        assert_true(pass[1] - pass[0] < poplibs);
    }
}

static void test_conv1x1(void **state)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", "conv1x1_f16");
    struct codelet_case c = codelet_case("conv1x1", 1);

    (void)state;
    for (uint32_t n = 0; n < 60; n++) {
        next_case(&c);
        c.elements[conv1x1__in] = c.elements[conv1x1__out] = n * 16;
        c.elements[conv1x1__weights] = 256;
        c.value[conv1x1__n] = n;
        kernel_fixture_call(rig, &c);
    }
    kernel_fixture_free(rig);
}

/* ---- products with a vector ---- */

static void dot_all(const char *name)
{
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("dot", 1);

    c.elements[dot__out] = rig->arch.workers;
    for (uint32_t i = 0; i < 120; i++) {
        next_case(&c);
        c.elements[dot__x] = c.elements[dot__y] = i < 80 ? i : i * 13;
        c.phase[dot__x] = i % 2 * 8;
        c.phase[dot__out] = i % 4 * 4;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void matvec_all(const char *name, uint32_t unit)
{
    static const uint32_t k[] = { 1, 2, 3, 7, 16, 130 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("matvec", 1);

    for (uint32_t i = 0; i < 30 * EMU_COUNT_OF(k); i++) {
        uint32_t m = i / EMU_COUNT_OF(k);

        next_case(&c);
        c.elements[matvec__x] = unit * k[i % EMU_COUNT_OF(k)];
        c.elements[matvec__y] = m < 26 ? m : m * 3;
        c.elements[matvec__a] = c.elements[matvec__x] * c.elements[matvec__y];
        c.phase[matvec__x] = i % 2 * 8;
        c.phase[matvec__y] = i % 4 * 4;
        kernel_fixture_call(rig, &c);
        assert_int_equal(rig->cycles, rig->formula);
    }
    kernel_fixture_free(rig);
}

static void test_dot(void **state)
{
    (void)state;
    dot_all("dot_f16");
    dot_all("dot_f32");
    matvec_all("matvec_f16", 4);
    matvec_all("matvec_f32", 2);
}

/* ---- rows times vectors ---- */

static void linear_call(struct kernel_fixture *rig, struct codelet_case *c, uint32_t n, uint32_t m,
                        uint32_t k)
{
    int sums = codelet_state(rig->codelet) == STATE_linear_sums; /* no bias, so other numbers */
    unsigned y = sums ? linear_sums__y : linear__y;

    c->seed++;
    c->layout = (enum kernel_layout)(c->seed % LAYOUTS);
    c->tame = c->seed % 4 != 0;
    c->elements[linear__a] = m * k;
    c->elements[linear__x] = n * k;
    c->elements[linear__bias] = m;
    c->elements[y] = n * m;
    c->phase[linear__a] = c->seed % 2 * 8;
    c->phase[linear__x] = c->seed / 2 % 2 * 8;
    c->phase[y] = c->seed % 4 * 4;
    c->value[sums ? linear_sums__k : linear__k] = k;
    c->value[sums ? linear_sums__m : linear__m] = m;
    kernel_fixture_call(rig, c);
    assert_int_equal(rig->cycles, rig->formula);
}

static void linear_all(const char *name, uint32_t unit)
{
    static const uint32_t vectors[] = { 1, 2, 3, 17, 51 };
    static const uint32_t pictures[] = { 1, 2, 3, 5, 13 };
    struct kernel_fixture *rig = kernel_fixture_new("mk2", name);
    struct codelet_case c = codelet_case("linear", 1);

    for (uint32_t units = 1; units < 15; units++)
        linear_call(rig, &c, 1, units * unit, 4 * vectors[units % EMU_COUNT_OF(vectors)]);
    for (unsigned i = 0; i < EMU_COUNT_OF(vectors) * EMU_COUNT_OF(pictures); i++)
        linear_call(rig, &c, pictures[i % EMU_COUNT_OF(pictures)], unit * (1 + i * 5 % 9),
                    4 * vectors[i / EMU_COUNT_OF(pictures)]);
    linear_call(rig, &c, 1, 12, 1792);
    linear_call(rig, &c, 32, unit, 68);
    linear_call(rig, &c, 0, unit, 16);
    kernel_fixture_free(rig);
}

static void test_linear(void **state)
{
    (void)state;
    linear_all("linear_f16_f32", 1);
    linear_all("linear_f16", 2);
    linear_all("linear_relu_f16", 2);
    linear_all("linear_swish_f16", 2);
    linear_all("linear_sigmoid_f16", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matmul),  cmocka_unit_test(test_matmul_pass),
        cmocka_unit_test(test_conv1x1), cmocka_unit_test(test_dot),
        cmocka_unit_test(test_linear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
